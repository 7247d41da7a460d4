#!/usr/bin/env python3
"""CMA-ES of pycma on BBOB's functions: how many evaluations it takes to come within 1e-6 of the optimal value. A table to stand beside
BenchmarkBBOB's of ec (go test ./ec/problem -run=- -bench=BBOB), which has the same settings:

    pip install cma==4.5.0 coco-experiment==2.8.2 && python tools/peers/bbob_cma.py

Runs begin uniformly in [-4, 4] with the deviation 2 and pycma's defaults otherwise; each of the first 15 instances is run so many times. Evaluations are
counted in whole generations. Without --ipop a run ends only at the target or when its budget is spent; with it, it restarts where pycma
stops, with twice the population.
"""

import argparse
import json
import math
import time
from importlib.metadata import version

import cma
import numpy as np
from cocoex.bare_problem import BareProblem

INSTANCES = range(1, 16)
ENDLESS = {"tolfun": 0, "tolfunhist": 0, "tolfunrel": 0, "tolx": 0, "tolstagnation": 10**9, "tolflatfitness": 10**9, "tolconditioncov": 1e30, "tolxstagnation": False}


def run(problem, best, dim, rng, budget, target, ipop):
    used, population = 0, 4 + int(3 * math.log(dim))
    while used < budget:
        options = {"verbose": -9, "seed": int(rng.integers(1, 2**31)), "popsize": population, **({} if ipop else ENDLESS)}
        es = cma.CMAEvolutionStrategy(rng.uniform(-4, 4, dim), 2, options)
        while used < budget and not es.stop():
            points = es.ask()
            values = [problem(x) - best for x in points]
            used += len(points)
            if min(values) <= target:
                return used, True
            es.tell(points, values)
        population *= 2
        if not ipop:
            break
    return used, False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--functions", default="1,2,5,6,8,9,10,11,12,13,14")
    parser.add_argument("--dimension", type=int, default=10)
    parser.add_argument("--budget", type=int, default=50000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--target", type=float, default=1e-6)
    parser.add_argument("--ipop", action="store_true")
    args = parser.parse_args()
    print(f"pycma {version('cma')}, coco-experiment {version('coco-experiment')}, numpy {version('numpy')}")
    for f in map(int, args.functions.split(",")):
        begin, runs = time.perf_counter(), []
        for instance in INSTANCES:
            problem = BareProblem("bbob", f, args.dimension, instance)
            best = problem.best_value()
            for repeat in range(args.repeats):
                runs.append(run(problem, best, args.dimension, np.random.default_rng([f, instance, repeat]), args.budget, args.target, args.ipop))
        solved = sorted(n for n, ok in runs if ok)
        print(json.dumps({
            "function": f, "solved": len(solved), "runs": len(runs), "ert": round(sum(n for n, _ in runs) / len(solved)) if solved else None,
            "median": solved[len(solved) // 2] if solved else None,
            "error": round(float(np.std(solved)) / math.sqrt(len(solved))) if solved else None, "seconds": round(time.perf_counter() - begin, 1),
        }), flush=True)


main()
