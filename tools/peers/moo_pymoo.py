"""IGD of pymoo's NSGA-II and NSGA-III on ZDT1-4, 6 and DTLZ1-4, 7, for comparison with BenchmarkSeveralObjectives of ec/problem (same populations,
budgets, operators and reference fronts).

    pip install pymoo==0.6.2
    python tools/peers/moo_pymoo.py --seeds 15 [--only zdt4] [--json OUT]
"""

import argparse
import itertools
import json
import time

import numpy as np
import pymoo
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.algorithms.moo.nsga3 import NSGA3
from pymoo.indicators.igd import IGD
from pymoo.optimize import minimize
from pymoo.problems import get_problem
from pymoo.util.ref_dirs import get_reference_directions

# Generations: K. Deb, H. Jain, 2014, table III for DTLZ1, 2 and 4.
GENERATIONS = {
    "zdt1": 200, "zdt2": 200, "zdt3": 200, "zdt4": 300, "zdt6": 300,
    "dtlz1": 400, "dtlz2": 250, "dtlz3": 600, "dtlz4": 600, "dtlz7": 400,
}


def non_dominated(f):
    keep = [not (np.all(f <= a, axis=1) & np.any(f < a, axis=1)).any() for a in f]
    return f[keep]


def front(name, points=500):
    """The front that ec/problem measures distances from."""
    if name.startswith("zdt"):
        if name == "zdt3":
            x = np.linspace(0, 0.8518328654, 4 * points)
            return non_dominated(np.stack([x, 1 - np.sqrt(x) - x * np.sin(10 * np.pi * x)], axis=1))
        low = 0.2807753188 if name == "zdt6" else 0
        x = np.linspace(low, 1, points)
        return np.stack([x, 1 - x**2 if name in ("zdt2", "zdt6") else 1 - np.sqrt(x)], axis=1)
    if name == "dtlz7":
        side = int(np.ceil(2 * np.sqrt(points)))
        grid = np.array(list(itertools.product(np.linspace(0, 1, side), repeat=2)))
        last = 2 * (3 - np.sum(grid / 2 * (1 + np.sin(3 * np.pi * grid)), axis=1))
        return non_dominated(np.column_stack([grid, last]))
    w = get_reference_directions("das-dennis", 3, n_partitions=30)
    return 0.5 * w if name == "dtlz1" else w / np.linalg.norm(w, axis=1, keepdims=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=15)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--algorithms", nargs="*", default=["nsga-ii", "nsga-iii"])
    parser.add_argument("--json")
    args = parser.parse_args()
    out = {"pymoo": pymoo.__version__, "numpy": np.__version__, "seeds": args.seeds, "runs": []}
    for name, generations in GENERATIONS.items():
        if args.only and name not in args.only:
            continue
        two = name.startswith("zdt")
        problem = get_problem(name) if two else get_problem(name, n_obj=3, n_var={"dtlz1": 7, "dtlz7": 22}.get(name, 12))
        population = 100 if two else 92
        directions = get_reference_directions("das-dennis", 2 if two else 3, n_partitions=99 if two else 12)
        igd = IGD(front(name))
        for algorithm in args.algorithms:
            values, begin = [], time.time()
            for seed in range(1, args.seeds + 1):
                algo = NSGA2(pop_size=population) if algorithm == "nsga-ii" else NSGA3(ref_dirs=directions, pop_size=population)
                res = minimize(problem, algo, ("n_gen", generations), seed=seed, verbose=False)
                values.append(float(igd(res.pop.get("F"))))
            run = {
                "problem": name, "algorithm": algorithm, "population": population, "generations": generations,
                "igd": values, "median": float(np.median(values)), "mean": float(np.mean(values)), "seconds": time.time() - begin,
            }
            out["runs"].append(run)
            print(f"{name:6} {algorithm} population {population} generations {generations} IGD median {run['median']:.6f} mean {run['mean']:.6f} "
                  f"{run['seconds']:.1f} s", flush=True)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(out, f)


if __name__ == "__main__":
    main()
