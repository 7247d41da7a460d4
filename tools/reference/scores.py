"""Statistics of rliable (R. Agarwal et al., 2021) for engine/scores: python3 scores.py > engine/scores/testdata/rliable.json

Needs: pip install rliable. Scores are [runs, tasks]; intervals are percentiles of 3,000 stratified bootstrap draws.
"""

import json
import sys

import numpy as np
from rliable import library, metrics


def aggregates(x):
    return np.array([
        metrics.aggregate_mean(x), metrics.aggregate_median(x), metrics.aggregate_iqm(x), metrics.aggregate_optimality_gap(x, gamma=1),
    ])


def case(rng, runs, tasks, ties):
    x, y = rng.normal(0.6, 0.4, (runs, tasks)), rng.normal(0.5, 0.5, (runs + 2, tasks))
    if ties:
        x, y = np.round(x, 1), np.round(y, 1)
    points, intervals = library.get_interval_estimates({"x": x}, aggregates, reps=3000)
    chance, between = library.get_interval_estimates({"x,y": (x, y)}, metrics.probability_of_improvement, reps=3000)
    taus = np.linspace(-0.5, 1.5, 9)
    profile, around = library.create_performance_profile({"x": x}, taus, reps=3000)
    return {
        "x": x.T.tolist(), "y": y.T.tolist(), "taus": taus.tolist(),
        "aggregates": points["x"].tolist(), "intervals": intervals["x"].T.tolist(),  # of mean, median, inter-quartile mean, optimality gap
        "improvement": float(chance["x,y"]), "improvement_interval": between["x,y"].ravel().tolist(),
        "profile": profile["x"].tolist(), "profile_interval": around["x"].T.tolist(),
    }


rng = np.random.RandomState(7)
sizes = [(5, 1, False), (3, 6, False), (10, 5, True), (7, 3, False)]
json.dump([case(rng, *size) for size in sizes], sys.stdout)
