#!/usr/bin/env python3
"""Generations of pycma, written as ec/testdata/cma.json for the Go tests.

    pip install cma==4.5.0 && python tools/reference/ec/cma_es.py

Candidates are pycma's own. The fitness is a quadratic function whose largest value, 0, is at 1; pycma minimises its negative.
pycma begins with variances that differ by 1e-4 so that no two eigenvalues are the same; here they begin all the same.
"""

import json
import pathlib
import platform
from importlib.metadata import version

import cma
import numpy as np

GENERATIONS = 8


def fitness(x):
    dim = len(x)
    return -np.sum(100.0 ** (np.arange(dim) / dim) * (x - 1) ** 2)


def run(dim, population, sigma, gap):
    start = np.sin(3 * np.arange(dim) + 1.0).astype(np.float32).astype(np.float64)
    options = {"seed": dim + 1, "verbose": -9, "updatecovwait": gap, "conditioncov_alleviate": [1e30, 0]}
    if population:
        options["popsize"] = population
    es = cma.CMAEvolutionStrategy(start, sigma, options)
    es.sm.C = np.eye(dim)
    es.sm.B, es.sm.D = np.eye(dim), np.ones(dim)
    out = []
    for _ in range(GENERATIONS):
        x = es.ask()
        f = np.array([fitness(v) for v in x]).astype(np.float32)
        es.tell(x, -f.astype(np.float64))
        out.append({
            "candidates": np.array(x).tolist(), "fitness": f.astype(np.float64).tolist(), "mean": es.mean.tolist(), "sigma": float(es.sigma),
            "pathSigma": es.adapt_sigma.ps.tolist(), "pathC": es.pc.tolist(), "covariance": np.asarray(es.sm.C).ravel().tolist(),
        })
    return {"dim": dim, "population": es.popsize, "gap": max(1, gap), "sigma": sigma, "start": start.tolist(), "generations": out}


def main():
    data = {
        "made by": "tools/reference/ec/cma_es.py",
        "versions": {"python": platform.python_version(), "cma": version("cma"), "numpy": np.__version__},
        "cases": [run(5, 0, 0.3, 0), run(2, 0, 0.5, 0), run(9, 40, 0.2, 0), run(4, 7, 0.5, 3)],
    }
    path = pathlib.Path(__file__).resolve().parents[3] / "ec/testdata/cma.json"
    path.write_text(json.dumps(data) + "\n")
    print(path.name, path.stat().st_size)


main()
