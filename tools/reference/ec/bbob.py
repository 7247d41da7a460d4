#!/usr/bin/env python3
"""What COCO makes of the functions of the black-box optimization benchmark, written for the Go tests: optima and values.

    pip install coco-experiment==2.8.2 && python tools/reference/ec/bbob.py

Points are float32 numbers; values are distances from the optimal value. Those of the noisy functions are without their noise, which is Gaussian here
and divided out: the k-th value that a process asks for has the k-th number of a known sequence.
"""

import json
import math
import pathlib
import platform
from importlib.metadata import version

import cocoex
import numpy as np
from cocoex.bare_problem import BareProblem

rng = np.random.default_rng(7)
ROOT = pathlib.Path(__file__).resolve().parents[3]
DIMENSIONS, INSTANCES = (2, 10), (1, 12)


def float32(x):
    return np.asarray(x, np.float32).astype(float)


def uniform(n, seed):
    """The generator of the benchmark's noise: Park and Miller's, shuffled."""
    state, table = max(seed, 1), [0] * 32
    for i in range(39, -1, -1):
        state = 16807 * state % 2147483647
        if i < 32:
            table[i] = state
    last, out = table[0], []
    for _ in range(n):
        state = 16807 * state % 2147483647
        at = last // 67108865
        last, table[at] = table[at], state
        out.append(last / 2147483647)
    return out


def gauss(seed):
    u = uniform(2, seed)
    return math.sqrt(-2 * math.log(u[0])) * math.cos(2 * math.pi * u[1])


# The last of a dimension's points is out of bounds.
points = {n: float32([*rng.uniform(-5, 5, (4, n)), rng.uniform(-7, 7, n)]) for n in DIMENSIONS}
functions = []
for f in range(1, 25):
    for n in DIMENSIONS:
        for i in INSTANCES:
            problem = BareProblem("bbob", f, n, i)
            x, best = np.array(problem.best_parameter()), problem.best_value()
            near = float32(x + 0.01 * rng.standard_normal(n))
            values = [problem(p) - best for p in [*points[n], near]]
            functions.append({
                "function": f, "instance": i, "x_opt": [float(f"{v:.9g}") for v in x], "f_opt": best, "near": [float(f"{v:.9g}") for v in near],
                "values": [float(f"{v:.9g}") for v in values],
            })

suite = cocoex.Suite("bbob-noisy", "instances:" + ",".join(map(str, INSTANCES)), "dimensions:" + ",".join(map(str, DIMENSIONS)))
WITHOUT = {101: 1, 104: 8, 107: 1, 110: 8, 113: 7, 116: 10, 119: 14, 122: 17, 125: 19, 128: 21}
drawn = 30
for f in range(101, 131, 3):
    for n in DIMENSIONS:
        for i in INSTANCES:
            problem = suite.get_problem_by_function_dimension_instance(f, n, i)
            best = BareProblem("bbob", WITHOUT[f], n, i).best_value()
            values = []
            for p in points[n]:
                measured = problem(p)
                drawn += 1
                outside = 100 * float(np.sum(np.maximum(np.abs(p) - 5, 0) ** 2))
                strength = 0.01 if f < 107 else 1
                values.append(float(f"{(measured - best - outside - 1.01e-8) / math.exp(strength * gauss(drawn)) + outside:.7g}"))
            functions.append({"function": f, "instance": i, "x_opt": None, "f_opt": best, "near": None, "values": values})

reference = {
    "versions": {"python": platform.python_version(), "coco-experiment": version("coco-experiment"), "numpy": version("numpy")},
    "points": [[[float(f"{v:.9g}") for v in p] for p in points[n]] for n in DIMENSIONS],
    "functions": functions,
}
out = ROOT / "ec" / "problem" / "testdata" / "bbob.json"
out.write_text(json.dumps(reference, separators=(",", ":")).replace('{"function"', '\n{"function"') + "\n")
print(f"{len(functions)} functions in {out}, {out.stat().st_size} bytes")
