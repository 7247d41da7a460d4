#!/usr/bin/env python3
"""What pymoo makes of several objectives, written for the Go tests: functions and indicators, non-dominated sort, crowding distance, the
normalization and association of NSGA-III, the decompositions of MOEA/D.

    pip install pymoo==0.6.2 && python tools/reference/ec/several.py

pymoo minimises; all values here are as it has them. Points and objectives are float32 numbers.
"""

import json
import pathlib
import platform
from importlib.metadata import version

import numpy as np
from pymoo.algorithms.moo.nsga3 import HyperplaneNormalization, associate_to_niches
from pymoo.decomposition.pbi import PBI
from pymoo.decomposition.tchebicheff import Tchebicheff
from pymoo.indicators.gd import GD
from pymoo.indicators.hv import HV
from pymoo.indicators.igd import IGD
from pymoo.indicators.igd_plus import IGDPlus
from pymoo.operators.survival.rank_and_crowding.metrics import calc_crowding_distance
from pymoo.problems import get_problem
from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting
from pymoo.util.ref_dirs import get_reference_directions

rng = np.random.default_rng(7)
ROOT = pathlib.Path(__file__).resolve().parents[3] / "ec"
VERSIONS = {"python": platform.python_version(), **{p: version(p) for p in ("pymoo", "numpy")}}


def float32(x):
    return np.asarray(x, np.float32).astype(float)


def rounded(x):
    """Lists of numbers with 9 significant digits: float32 ones survive it."""
    if isinstance(x, dict):
        return {k: rounded(v) for k, v in x.items()}
    if isinstance(x, (list, tuple, np.ndarray)):
        return [rounded(v) for v in x]
    return x if isinstance(x, (str, int, np.integer)) else float(f"{x:.9g}")


def write(path, data):
    path = ROOT / path / "testdata" / "several.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"versions": VERSIONS, **rounded(data)}, default=int) + "\n")


def functions():
    cases = []
    for name in ("zdt1", "zdt2", "zdt3", "zdt4", "zdt6"):
        cases.append((name, get_problem(name)))
    for n in range(1, 8):
        for k in (3, 5):
            cases.append((f"dtlz{n}", get_problem(f"dtlz{n}", n_obj=k, n_var=k + 6)))
    out = []
    for name, p in cases:
        x = float32(p.xl + rng.random((4, p.n_var)) * (p.xu - p.xl))
        if name.startswith("dtlz"):
            x[0, p.n_obj - 1 :] = 0.5  # near the front, where cancellation would show
        else:
            x[0, 1:] = 0
        out.append({"name": name, "objectives": p.n_obj, "x": x, "f": p.evaluate(x)})
    # ZDT5 of pymoo has bits.
    p = get_problem("zdt5", normalize=False)
    x = rng.random((4, p.n_var)) < 0.5
    x[0] = True
    out.append({"name": "zdt5", "objectives": 2, "x": x.astype(float), "f": p.evaluate(x)})
    write("problem", {"functions": out})


def indicators():
    out = []
    for k in (2, 3):
        for n, m in ((1, 1), (7, 20), (30, 11)):
            a, front = float32(rng.random((n, k)) * 2), float32(rng.random((m, k)))
            front /= np.linalg.norm(front, axis=1, keepdims=True)
            front = float32(front)
            reference = np.full(k, 1.5)
            out.append({
                "set": a, "front": front, "reference": reference,
                "gd": GD(front)(a), "igd": IGD(front)(a), "igd_plus": IGDPlus(front)(a), "hypervolume": HV(ref_point=reference)(a),
            })
    write("indicator", {"indicators": out})


def selection():
    sorts = []
    for n, k in ((2, 2), (13, 2), (40, 2), (37, 3), (33, 5)):
        f = float32(rng.random((n, k)))
        fronts, rank = NonDominatedSorting().do(f, return_rank=True)
        distance = np.zeros(n)
        for front in fronts:
            distance[front] = np.inf if len(front) <= 2 else calc_crowding_distance(f[front]) * k
        sorts.append({"f": f, "front": rank, "distance": np.where(np.isinf(distance), -1, distance)})

    # Merged populations of generations that come nearer to a front whose axes have different lengths.
    nsga3 = []
    for k, partitions in ((2, 7), (3, 4), (5, 2)):
        lines = get_reference_directions("das-dennis", k, n_partitions=partitions)
        norm, generations = HyperplaneNormalization(k), []
        survive = len(lines)
        for g in range(5):
            w = rng.random((2 * survive, k)) + 1e-3
            f = w / np.linalg.norm(w, axis=1, keepdims=True) * (1 + rng.random((2 * survive, 1)) / (g + 1)) * (1 + np.arange(k)) + 3
            if g == 4:
                f[:, 1] = f[0, 1]  # no hyperplane
            f = float32(f)
            fronts = NonDominatedSorting().do(f, n_stop_if_ranked=survive)
            norm.update(f, nds=fronts[0])
            chosen = np.sort(np.concatenate(fronts))
            niche, distance, _ = associate_to_niches(f[chosen], lines, norm.ideal_point, norm.nadir_point.copy())
            generations.append({
                "f": f, "ideal": norm.ideal_point.copy(), "nadir": norm.nadir_point.copy(), "chosen": chosen, "niche": niche, "distance": distance,
            })
        nsga3.append({"objectives": k, "partitions": partitions, "lines": lines, "generations": generations})

    decompositions = []
    for k in (2, 3):
        f, w, ideal = float32(rng.random((6, k))), float32(rng.random((6, k))), float32(-rng.random(k))
        decompositions.append({
            "f": f, "weights": w, "ideal": ideal,
            "tchebycheff": [Tchebicheff(eps=0).do(f[i : i + 1], w[i : i + 1], utopian_point=ideal).item() for i in range(6)],
            "pbi": [PBI(eps=0).do(f[i : i + 1], w[i : i + 1], ideal_point=ideal, theta=5).item() for i in range(6)],
        })
    write(".", {"sorts": sorts, "nsga3": nsga3, "decompositions": decompositions})


functions()
indicators()
selection()
