#!/usr/bin/env python3
"""Generations of pypop7's LM-MA-ES and xNES, written as ec/testdata/pypop.json for the Go tests.

    pip install pypop7==0.0.82 && python tools/reference/ec/pypop.py

The noise is evorl's (noise.py). The fitness is a quadratic function whose largest value, 0, is at 1; pypop7 minimises its negative.
"""

import json
import pathlib
import platform
from importlib.metadata import version

import noise
import numpy as np
from pypop7.optimizers.es.lmmaes import LMMAES
from pypop7.optimizers.nes.xnes import XNES

GENERATIONS = 6
SEED = 21


class Noise:
    """Takes the place of the optimizers' generator: candidate after candidate, generation after generation."""

    def __init__(self, population):
        self.population, self.count = population, 0

    def standard_normal(self, shape):
        z = noise.normals(SEED, self.count % self.population, self.count // self.population, shape[0])
        self.count += 1
        return z


def cost(x):
    return float(np.sum(100.0 ** (np.arange(len(x)) / len(x)) * (x - 1) ** 2))


def run(name, optimizer, dim, population, sigma):
    start = np.sin(3 * np.arange(dim) + 1.0).astype(np.float32).astype(np.float64)
    out = []

    class Watched(optimizer):
        def _update_distribution(self, *args, **kwargs):
            state = super()._update_distribution(*args, **kwargs)
            if len(out) < GENERATIONS:
                row = {"mean": state[0].tolist()}
                if name == "lm-ma-es":
                    row |= {"sigma": [float(self.sigma)], "path_sigma": state[1].tolist(), "memory": [list(m) for m in state[2]]}
                else:  # the root of the covariance matrix, whose determinant is sigma^dim
                    size = np.exp(state[3] / dim)
                    row |= {"sigma": [float(size)], "shape": [list(c) for c in (state[1] / size).T]}
                out.append(row)
            return state

    problem = {"fitness_function": cost, "ndim_problem": dim, "lower_boundary": -10 * np.ones(dim), "upper_boundary": 10 * np.ones(dim)}
    options = {"max_function_evaluations": population * (GENERATIONS + 1), "mean": start.copy(), "sigma": sigma, "n_individuals": population, "n_parents": population // 2, "verbose": False, "is_restart": False, "seed_rng": 1}
    es = Watched(problem, options)
    es.rng_optimization = Noise(population)
    es.optimize()
    assert len(out) == GENERATIONS
    return {"name": name, "dim": dim, "population": population, "std": sigma, "start": start.tolist(), "generations": out}


def main():
    data = {
        "made by": "tools/reference/ec/pypop.py",
        "versions": {"python": platform.python_version(), "pypop7": version("pypop7"), "numpy": np.__version__},
        "seed": SEED,
        "cases": [run("lm-ma-es", LMMAES, 30, 12, 0.3), run("xnes", XNES, 6, 12, 1.0)],
    }
    path = pathlib.Path(__file__).resolve().parents[3] / "ec/testdata/pypop.json"
    path.write_text(json.dumps(data) + "\n")
    print(path.name, path.stat().st_size)


main()
