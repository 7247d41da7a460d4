#!/usr/bin/env python3
"""Generations of evosax's strategies that hold a population, and offspring by pymoo's operators, in float64, written as
ec/testdata/populations.json for the Go tests.

    pip install evosax==0.3.2 pymoo==0.6.2 && python tools/reference/ec/populations.py

The random numbers are evorl's, drawn here by themselves; evosax's functions get them in the place of keys, pymoo's in that of a
generator. The fitness is a quadratic function whose largest value, 0, is at 1.
"""

import json
import pathlib
import platform
from importlib.metadata import version

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import optax  # noqa: E402
from evosax.algorithms import PSO, DifferentialEvolution, SimpleGA  # noqa: E402
from pymoo.operators.crossover.sbx import cross_sbx  # noqa: E402
from pymoo.operators.mutation.pm import mut_pm  # noqa: E402
from strategies import fitness, fnv1a, philox  # noqa: E402

SEED = 23
GENERATIONS = 6
WHOLE = 0xFFFFFFFF


def words(stream, *counter):
    return philox((SEED, fnv1a(stream)), (0, *counter))


def unit(word):
    return (word >> 8) / 2**24


def below(word, n):
    return word * n >> 32


def units(stream, number, generation, dim, draw=lambda block: block):
    return np.array([unit(words(stream, number, generation, draw(i // 4))[i % 4]) for i in range(dim)])


def gaussian(w):
    z = []
    for i in (0, 2):
        radius, angle = np.sqrt(-2 * np.log(((w[i] >> 8) + 1) / 2**24)), 2 * np.pi * unit(w[i + 1])
        z += [radius * np.cos(angle), radius * np.sin(angle)]
    return z


def normals(stream, number, generation, dim, draw=lambda block: block):
    z = []
    for block in range((dim + 3) // 4):
        z += gaussian(words(stream, number, generation, draw(block)))
    return np.array(z[:dim])


def start_of(dim):
    return np.sin(3 * np.arange(dim) + 1.0).astype(np.float32).astype(np.float64)


def initial(n, dim, std):
    return np.array([start_of(dim)] + [start_of(dim) + std * normals("ec/initial", c, 0, dim) for c in range(1, n)])


class Random:
    """What takes the place of jax.random: a strategy's calls, in its own order."""

    def __init__(self, **calls):
        self.calls = calls

    def __enter__(self):
        self.saved = {name: getattr(jax.random, name) for name in self.calls}
        for name, call in self.calls.items():
            setattr(jax.random, name, call)

    def __exit__(self, *_):
        for name, call in self.saved.items():
            setattr(jax.random, name, call)


def case(name, dim, n, candidates, **more):
    return {"name": name, "dim": dim, "population": n, "start": start_of(dim).tolist(), "candidates": [np.asarray(c).tolist() for c in candidates]} | more


def pso(dim, n):
    s = PSO(n, jnp.zeros(dim))
    params = s.default_params.replace(inertia_coeff=0.6, cognitive_coeff=2.5, social_coeff=0.8)
    x = initial(n, dim, 0.8)
    state = s.init(jax.random.key(0), jnp.asarray(x), jnp.asarray(-fitness(x)), params)
    out = [x]
    for g in range(GENERATIONS):
        # Particles move when they are told, so generation g's numbers lead to the candidates of the next.
        r = jnp.asarray([[units("ec/pso", p, g, dim, lambda b: 2 * b), units("ec/pso", p, g, dim, lambda b: 2 * b + 1)] for p in range(n)])
        with Random(split=lambda key, count: r, uniform=lambda key, shape: key):
            moved, state = s._ask(None, state, params)
        out.append(np.asarray(moved))
        state = s.tell(jax.random.key(0), moved, jnp.asarray(-fitness(np.asarray(moved))), state, params)[0]
    return case("pso", dim, n, out)


def de(dim, n):
    s = DifferentialEvolution(n, jnp.zeros(dim))
    params = s.default_params.replace(elitism=False)
    x = initial(n, dim, 0.8)
    state = s.init(jax.random.key(0), jnp.asarray(x), jnp.asarray(-fitness(x)), params)
    out = [x]
    for g in range(1, GENERATIONS + 1):
        drawn = []
        for p in range(n):
            w = words("ec/de/choose", p, g, 0) + words("ec/de/choose", p, g, 1)
            crossed, taken, chosen = below(w[0], dim), [p], []
            for k in range(3):  # base and both of the difference, all different
                left = [i for i in range(n) if i not in taken]
                chosen.append(left[below(w[1 + k], len(left))])
                taken.append(chosen[-1])
            drawn.append([chosen[0], crossed, chosen[1], chosen[2], *units("ec/de/crossover", p, g, dim)])

        def split(key, count=2):
            return jnp.asarray(drawn) if key is None else (key,) * count

        def choice(key, a, shape=(), replace=True, p=None):
            if shape == (2,):
                return a[key[2:4].astype(int)]
            return key[1 if p is None else 0].astype(int)

        def uniform(key, shape, minval=0, maxval=1):
            return key[4:] if shape else jnp.asarray(0.8)

        with Random(split=split, choice=choice, uniform=uniform, fold_in=lambda key, data: key):
            trial, state = s._ask(None, state, params)
        out.append(np.asarray(trial))
        state = s.tell(jax.random.key(0), trial, jnp.asarray(-fitness(np.asarray(trial))), state, params)[0]
    return case("de", dim, n, out)


def mates(n, elites, generation, pairs):
    """The place of the parent at each of an even number of places, by tournaments of one."""
    place = [below(words("ec/mating", c, generation, 0)[0], elites) for c in range(n + n % 2)]
    return [place[c ^ 1] if pairs else place[c] for c in range(n)]


def ga(dim, n):
    s = SimpleGA(n, jnp.zeros(dim), std_schedule=optax.constant_schedule(0.3))
    params = s.default_params.replace(crossover_rate=0.4)
    elites = n // 2
    x = np.concatenate([initial(elites, dim, 0.8), np.zeros((n - elites, dim))])
    state = s.init(jax.random.key(0), jnp.asarray(x), jnp.arange(n) * 1.0, params)
    out = []
    for g in range(GENERATIONS):
        u = jnp.asarray([units("ec/crossover", c // 2, g, dim, lambda b: 2 * b) for c in range(n)])
        z = jnp.asarray([normals("ec/mutation", c, g, dim, lambda b: 2 * b) for c in range(n)])
        first, second = jnp.asarray(mates(n, elites, g, False)), jnp.asarray(mates(n, elites, g, True))
        named = {"crossover": u, "mutation": z, "first": first, "second": second}

        def split(key, count):
            return ("crossover", "mutation", "first", "second") if key is None else named[key]

        with Random(
            split=split, choice=lambda key, a, shape, p: a[named[key]], uniform=lambda key, shape: key, normal=lambda key, shape: key
        ):
            children, state = s._ask(None, state, params)
        out.append(np.asarray(children))
        state = s.tell(jax.random.key(0), children, jnp.asarray(-fitness(np.asarray(children))), state, params)[0]
    return case("ga", dim, n, out)


class Generator:
    """What takes the place of numpy's generator: arrays, one after the other."""

    def __init__(self, *arrays):
        self.arrays = list(arrays)

    def random(self, shape):
        array = self.arrays.pop(0)
        assert array.shape == ((shape,) if np.isscalar(shape) else tuple(shape))
        return array


def coded(dim, n, low, high):
    """The first children of a population between bounds by SBX and polynomial mutation."""
    start = np.clip(start_of(dim), low, high)
    x = np.array([start] + [low + (high - low) * units("ec/initial", c, 0, dim) for c in range(1, n)])
    xl, xu = np.full(dim, low), np.full(dim, high)
    a, b = x[mates(n, n, 0, False)], x[mates(n, n, 0, True)]
    pairs = n // 2
    parents = np.stack([a[::2], b[::2]])
    u = np.array([units("ec/crossover", q, 0, dim, lambda k: 2 * k) for q in range(pairs)])
    choice = np.array([[words("ec/crossover", q, 0, 2 * (i // 4) + 1)[i % 4] for i in range(dim)] for q in range(pairs)])
    pair_crossed = np.array([unit(words("ec/crossover", q, 0, WHOLE)[0]) < 0.9 for q in range(pairs)])
    apply = np.where(pair_crossed[:, None], (choice >> 8) / 2**24, 1.0)
    cross = (apply < 0.5) & (np.abs(parents[0] - parents[1]) > 1e-14)
    swapped = ((choice & 1) != 0) ^ (parents[0] > parents[1])  # pymoo's children are in the order of their values first
    q = cross_sbx(
        parents, xl, xu, np.full((pairs, 1), 15.0), 0.5, np.full((pairs, 1), 0.5),
        random_state=Generator(apply, u[cross], np.where(swapped[cross], 0.0, 1.0)),
    )  # fmt: skip
    children = np.empty((n, dim))
    children[::2], children[1::2] = q[0], q[1]
    chosen = np.array([units("ec/mutation", c, 0, dim, lambda k: 2 * k + 1) for c in range(n)])
    u = np.array([units("ec/mutation", c, 0, dim, lambda k: 2 * k) for c in range(n)])
    mutated = chosen < 0.5
    children = mut_pm(children, xl, xu, np.full(n, 20.0), np.full(n, 0.5), False, random_state=Generator(chosen, u[mutated]))
    return case("real-coded ga", dim, n, [children], low=low, high=high)


def main():
    data = {
        "versions": {"python": platform.python_version()} | {p: version(p) for p in ("evosax", "jax", "numpy", "pymoo")},
        "seed": SEED,
        "cases": [pso(7, 6), de(6, 9), ga(9, 10), coded(11, 12, -1.25, 2.0)],
    }
    path = pathlib.Path(__file__).parents[3] / "ec/testdata/populations.json"
    path.write_text(json.dumps(data, indent=1) + "\n")


if __name__ == "__main__":
    main()
