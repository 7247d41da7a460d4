#!/usr/bin/env python3
"""Generations of pycma on Rosenbrock's function of 1000 numbers, 128 candidates, and what of them eigenvectors take: the case cma-es/dim1000/p128 of
`evorl bench --suite ec`. Wall and processor seconds, one line of JSON.

    pip install cma==4.5.0 numpy && python tools/peers/cma_es.py
"""

import json
import time
from importlib.metadata import version

import cma
import numpy as np

DIM, POPULATION, WARM_UP, GENERATIONS = 1000, 128, 16, 8


def main():
    spent = [0.0, 0.0]

    def eigh(matrix):
        wall, cpu = time.perf_counter(), time.process_time()
        out = np.linalg.eigh(matrix)
        spent[0] += time.perf_counter() - wall
        spent[1] += time.process_time() - cpu
        return out

    start = np.random.default_rng(1).uniform(-2, 2, DIM)
    es = cma.CMAEvolutionStrategy(start, 0.1, {"popsize": POPULATION, "seed": 1, "verbose": -9, "CMA_eigenmethod": eigh})

    def generation():
        x = es.ask()
        a = np.asarray(x)
        es.tell(x, list(np.sum(100 * (a[:, :-1] ** 2 - a[:, 1:]) ** 2 + (a[:, :-1] - 1) ** 2, axis=1)))

    for _ in range(WARM_UP):
        generation()
    spent[:] = [0.0, 0.0]
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(GENERATIONS):
        generation()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(json.dumps({
        "cma": version("cma"), "numpy": np.__version__, "seconds": wall / GENERATIONS, "cpu_seconds": cpu / GENERATIONS,
        "eigen_share": 100 * spent[0] / wall, "eigen_cpu_share": 100 * spent[1] / cpu,
    }))


main()
