#!/usr/bin/env python3
"""Generations of evosax's strategies in float64, written as ec/testdata/strategies.json for the Go tests.

    pip install evosax==0.3.2 && python tools/reference/ec/strategies.py

The noise is evorl's (noise.py). evosax gets candidates of that noise and their fitness, negative as it minimises, in its own order: all first candidates of the pairs before
all second ones. The fitness is a quadratic function whose largest value, 0, is at 1.
"""

import json
import pathlib
import platform
from importlib.metadata import version

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
import noise  # noqa: E402
import numpy as np  # noqa: E402
import optax  # noqa: E402
from evosax.algorithms import ARS, PGPE, SNES, Open_ES, Sep_CMA_ES  # noqa: E402
from evosax.core.fitness_shaping import identity_fitness_shaping_fn  # noqa: E402
from evosax.core.optimizer import clipup  # noqa: E402

GENERATIONS = 6
SEED = 21


def normals(pair, generation, dim):
    return noise.normals(SEED, pair, generation, dim)


def fitness(x):
    dim = x.shape[1]
    return -np.sum(100.0 ** (np.arange(dim) / dim) * (x - 1) ** 2, axis=1)


def run(name, strategy, params, dim, population, mirrored, deviation):
    """deviation gives that of the candidates from a state of the strategy."""
    start = np.sin(3 * np.arange(dim) + 1.0).astype(np.float32).astype(np.float64)
    state = strategy.init(jax.random.key(0), jnp.asarray(start), params)
    out = []
    for g in range(GENERATIONS):
        if mirrored:
            z = np.array([normals(q, g, dim) for q in range(population // 2)])
            z = np.concatenate([z, -z])
        else:
            z = np.array([normals(c, g, dim) for c in range(population)])
        if hasattr(state, "D"):
            _, state = strategy._ask(jax.random.key(0), state, params)  # takes the roots of the variances
        x = np.asarray(state.mean) + np.asarray(deviation(state)) * z
        state, _ = strategy.tell(jax.random.key(0), jnp.asarray(x), jnp.asarray(-fitness(x)), state, params)
        row = {"mean": np.asarray(state.mean).tolist()}
        if np.ndim(deviation(state)) == 1:
            row["deviation"] = np.asarray(deviation(state)).tolist()
        if hasattr(state, "p_c"):
            row |= {"path_sigma": np.asarray(state.p_std).tolist(), "path_c": np.asarray(state.p_c).tolist(), "variance": np.asarray(state.C).tolist(), "sigma": [float(state.std)]}
            row["deviation"] = (float(state.std) * np.sqrt(np.asarray(state.C))).tolist()
        out.append(row)
    return {"name": name, "dim": dim, "population": population, "start": start.tolist(), "generations": out}


def separable(strategy, dim, std):
    """The constants of N. Hansen, 2016, table 1, with those of C larger by (dim + 2)/3 (R. Ros, N. Hansen, 2008)."""
    p = strategy.default_params
    mass = float(p.mu_eff)
    faster = (dim + 2) / 3
    c_1 = min(1, faster * 2 / ((dim + 1.3) ** 2 + mass))
    c_mu = min(1 - c_1, faster * 2 * (mass - 2 + 1 / mass) / ((dim + 2) ** 2 + mass))
    chi_n = np.sqrt(dim) * (1 - 1 / (4 * dim) + 1 / (21 * dim**2))
    return p.replace(std_init=jnp.asarray(std), c_1=jnp.asarray(c_1), c_mu=jnp.asarray(c_mu), chi_n=jnp.asarray(chi_n))


def main():
    solution = lambda dim: jnp.zeros(dim)  # noqa: E731
    std = lambda s: s.std  # noqa: E731
    cases = []

    s = Open_ES(12, solution(9), optimizer=optax.adam(0.05), std_schedule=optax.constant_schedule(0.1))
    cases.append(run("openes", s, s.default_params, 9, 12, True, std))

    s = ARS(20, solution(7), optimizer=optax.sgd(0.1), std_schedule=optax.constant_schedule(0.2), fitness_shaping_fn=identity_fitness_shaping_fn)
    cases.append(run("ars", s, s.default_params, 7, 20, True, std))

    s = PGPE(16, solution(10), optimizer=clipup(learning_rate=0.15, max_velocity=0.15, momentum=0.9, eps=0.0))
    cases.append(run("pgpe", s, s.default_params.replace(std_init=0.1, std_lr=0.1, std_max_change=0.2), 10, 16, True, std))

    s = SNES(11, solution(6))
    cases.append(run("snes", s, s.default_params.replace(std_init=0.5), 6, 11, False, std))

    s = Sep_CMA_ES(14, solution(8))
    cases.append(run("sep-cma-es", s, separable(s, 8, 0.3), 8, 14, False, lambda st: st.std * st.D))

    data = {
        "made by": "tools/reference/ec/strategies.py",
        "versions": {"python": platform.python_version(), "evosax": version("evosax"), "jax": jax.__version__, "optax": optax.__version__, "numpy": np.__version__},
        "seed": SEED,
        "cases": cases,
    }
    path = pathlib.Path(__file__).resolve().parents[3] / "ec/testdata/strategies.json"
    path.write_text(json.dumps(data, indent=1) + "\n")
    print(path.name, path.stat().st_size)


main()
