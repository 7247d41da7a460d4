#!/usr/bin/env python3
"""Generations of CR-FM-NES by its authors' package, written as ec/testdata/crfmnes.json for the Go tests.

    pip install crfmnes==1.0.0 && python tools/reference/ec/cr_fm_nes.py

The noise is evorl's (noise.py); the package takes all first candidates of the pairs before all second ones. The fitness is a quadratic function whose
largest value, 0, is at 1; the package minimises its negative.
"""

import json
import pathlib
import platform
from importlib.metadata import version

import noise
import numpy as np
from crfmnes import CRFMNES

GENERATIONS = 6
SEED = 21


def cost(x):
    dim = x.shape[0]
    return float(np.sum(100.0 ** (np.arange(dim) / dim) * (x[:, 0] - 1) ** 2))


def run(dim, population, sigma, far):
    """far puts the start where every generation's path is long."""
    start = (np.sin(3 * np.arange(dim) + 1.0) + far).astype(np.float32).astype(np.float64)
    v = (np.cos(5 * np.arange(dim)) / np.sqrt(dim)).astype(np.float32).astype(np.float64)
    es = CRFMNES(dim, cost, start.reshape(-1, 1).copy(), sigma, population, v=v.reshape(-1, 1).copy())
    out, lengths = [], []
    for g in range(GENERATIONS):
        np.random.randn = lambda rows, columns, g=g: np.stack([noise.normals(SEED, q, g, rows) for q in range(columns)], axis=1)
        es.one_iteration()
        lengths.append(float(np.linalg.norm(es.ps) / es.chiN))
        out.append({
            "mean": es.m.ravel().tolist(), "sigma": [float(es.sigma)], "v": es.v.ravel().tolist(), "deviation": es.D.ravel().tolist(),
            "path_sigma": es.ps.ravel().tolist(), "path_c": es.pc.ravel().tolist(),
        })
    print(dim, population, "lengths of the path", np.round(lengths, 2))
    return {"dim": dim, "population": population, "std": sigma, "start": start.tolist(), "v": v.tolist(), "generations": out}


def main():
    data = {
        "made by": "tools/reference/ec/cr_fm_nes.py",
        "versions": {"python": platform.python_version(), "crfmnes": version("crfmnes"), "numpy": np.__version__},
        "seed": SEED,
        "cases": [run(10, 12, 0.2, 0), run(7, 20, 0.1, 30), run(33, 16, 0.5, 0), run(6, 64, 2.0, 0)],
    }
    path = pathlib.Path(__file__).resolve().parents[3] / "ec/testdata/crfmnes.json"
    path.write_text(json.dumps(data) + "\n")
    print(path.name, path.stat().st_size)


main()
