#!/usr/bin/env python3
"""The peer that evorl's hybrids are timed against: an iteration of ERL or CEM-RL on Pendulum-v1, in JAX.

All of an iteration is one jitted program, vmapped over candidates and learners: episodes of 200 steps of all candidates, whose transitions go into
one ring; 64 updates of TD3 with batches of 64 and networks of [64, 64]; selection. What is done is what evorl's bench does in the cases erl/pendulum and
cem-rl/pendulum (S. Khadka, K. Tumer, 2018; A. Pourchot, O. Sigaud, 2019; in the order of B. Zheng et al., "EvoRL", 2025). The code is ours.

    python tools/peers/hybrid_jax.py --algorithm cem-rl --population 16 64 256 1024 --json
"""

import argparse
import json
import os
import statistics
import time

DISCOUNT, TAU, LEARNING_RATE, TARGET_NOISE, NOISE_CLIP, EXPLORATION = 0.99, 0.005, 3e-4, 0.2, 0.5, 0.1
HORIZON, ROLLOUT, OBS, ACTIONS, SLOTS = 200, 128, 3, 1, 3  # the ring holds the transitions of three iterations


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--algorithm", choices=["erl", "cem-rl"], default="erl")
    p.add_argument("--population", type=int, nargs="+", default=[16], help="candidates; several are measured in turn (default 16)")
    p.add_argument("--hidden", type=int, nargs="+", default=[64, 64], help="units of hidden layers (default 64 64)")
    p.add_argument("--batch", type=int, default=64, help="transitions of an update (default 64)")
    p.add_argument("--updates", type=int, default=64, help="updates an iteration (default 64)")
    p.add_argument("--seconds", type=float, default=3, help="measure for so long at least (default 3)")
    p.add_argument("--json", action="store_true", help="print JSON, a line for each measurement")
    a = p.parse_args()
    if min([a.batch, a.updates, *a.hidden]) < 1 or min(a.population) < 4:
        p.error("sizes must be at least 1, populations at least 4")
    return a


args = parse_arguments()

import jax  # after the arguments, so that --help is quick
import jax.numpy as jnp

jax.config.update("jax_default_prng_impl", "unsafe_rbg")  # XLA's own generator, the cheapest
tree, lax, random = jax.tree_util, jax.lax, jax.random
ACTOR, CRITIC = [OBS, *args.hidden, ACTIONS], [OBS + ACTIONS, *args.hidden, 1]


def size(sizes):
    return sum((i + 1) * o for i, o in zip(sizes, sizes[1:]))


def initial(key, sizes):
    rows = []
    for k, i, o in zip(random.split(key, len(sizes)), sizes, sizes[1:]):
        rows += [random.uniform(k, (i * o,), minval=-(i**-0.5), maxval=i**-0.5), jnp.zeros(o)]
    return jnp.concatenate(rows)


def mlp(row, x, sizes):
    """The network whose parameters are a row, as evolution wants them."""
    at = 0
    for n, (i, o) in enumerate(zip(sizes, sizes[1:])):
        w, b, at = row[at : at + i * o].reshape(i, o), row[at + i * o : at + i * o + o], at + (i + 1) * o
        x = x @ w + b
        if n < len(sizes) - 2:
            x = jax.nn.relu(x)
    return x


def act(row, obs):
    return jnp.tanh(mlp(row, obs, ACTOR))


def observe(s):
    return jnp.stack([jnp.cos(s[0]), jnp.sin(s[0]), s[1]])


def advance(s, action):
    """gymnasium 1.4.0, pendulum.py."""
    torque = 2 * jnp.clip(action[0], -1, 1)
    theta = (s[0] + jnp.pi) % (2 * jnp.pi) - jnp.pi
    reward = -(theta**2 + 0.1 * s[1] ** 2 + 0.001 * torque**2)
    speed = jnp.clip(s[1] + (15 * jnp.sin(theta) + 3 * torque) * 0.05, -8, 8)
    return jnp.stack([theta + speed * 0.05, speed]), reward


def reset(key):
    return random.uniform(key, (2,), minval=-1, maxval=1) * jnp.array([jnp.pi, 1.0])


def episode(row, s, key, steps, noise):
    """The last state, transitions (obs, action, reward, next obs), and the return."""

    def step(s, draw):
        obs = observe(s)
        action = jnp.clip(act(row, obs) + noise * draw, -1, 1)
        t, reward = advance(s, action)
        return t, (obs, action, reward, observe(t))

    draws = random.normal(key, (steps, ACTIONS)) if noise else jnp.zeros((steps, ACTIONS))
    s, transitions = lax.scan(step, s, draws)
    return s, transitions, transitions[2].sum()


def evaluate(rows, key):
    """Episodes of all rows with common random numbers: transitions [P * 200, ...], and returns."""
    _, transitions, returns = jax.vmap(lambda row: episode(row, reset(key), key, HORIZON, 0.0))(rows)
    return tree.tree_map(lambda x: x.reshape(-1, *x.shape[2:]), transitions), returns


def adam(params, m, v, grad, count):
    m, v = 0.9 * m + 0.1 * grad, 0.999 * v + 0.001 * grad**2
    return params - LEARNING_RATE * (m / (1 - 0.9**count)) / (jnp.sqrt(v / (1 - 0.999**count)) + 1e-8), m, v


def q(critics, obs, action):
    return jax.vmap(lambda row: mlp(row, jnp.concatenate([obs, action], -1), CRITIC)[:, 0])(critics)


def learn(actors, critics, ring, key):
    """Updates of TD3, delay 1, of L actors that share critics: their loss is the mean over the actors' batches."""
    n = ring[2].size
    flat = tree.tree_map(lambda x: x.reshape(n, *x.shape[2:]), ring)

    def update(carry, key):
        a, c = carry
        k_rows, k_noise = random.split(key)
        rows = random.randint(k_rows, (len(a["params"]), args.batch), 0, n)
        obs, action, reward, after = tree.tree_map(lambda x: x[rows], flat)  # [L, B, ...]
        noise = jnp.clip(TARGET_NOISE * random.normal(k_noise, action.shape), -NOISE_CLIP, NOISE_CLIP)
        next_action = jnp.clip(jax.vmap(act)(a["target"], after) + noise, -1, 1)
        whole = lambda x: x.reshape(-1, x.shape[-1])
        target = reward.reshape(-1) + DISCOUNT * q(c["target"], whole(after), whole(next_action)).min(0)
        loss = lambda critics: ((q(critics, whole(obs), whole(action)) - target) ** 2).mean(1).sum()
        params, m, v = adam(c["params"], c["m"], c["v"], jax.grad(loss)(c["params"]), c["count"] + 1)
        c = {"params": params, "m": m, "v": v, "target": c["target"] + TAU * (params - c["target"]), "count": c["count"] + 1}
        climb = lambda row, obs: -q(c["params"][:1], obs, act(row, obs)).mean()
        params, m, v = adam(a["params"], a["m"], a["v"], jax.vmap(jax.grad(climb))(a["params"], obs), a["count"] + 1)
        return ({"params": params, "m": m, "v": v, "target": a["target"] + TAU * (params - a["target"]), "count": a["count"] + 1}, c), None

    return lax.scan(update, (actors, critics), random.split(key, args.updates))[0]


def learner(rows):
    return {"params": rows, "m": jnp.zeros_like(rows), "v": jnp.zeros_like(rows), "target": rows, "count": jnp.zeros(())}


def store(ring, transitions, iteration, first=0):
    """The ring with transitions from row `first` of the iteration's slot."""
    at = lambda r: (iteration % SLOTS, first) + (0,) * (r.ndim - 2)
    return tree.tree_map(lambda r, t: lax.dynamic_update_slice(r, t[None], at(r)), ring, transitions)


def mutated(rows, fitness, key):
    """evorl's default genetic algorithm: parents are drawn from the better half; Gaussian mutation."""
    n = len(rows)
    order = jnp.argsort(-fitness)[: n // 2]
    k_pick, k_mask, k_noise = random.split(key, 3)
    parents = rows[order[random.randint(k_pick, (n,), 0, n // 2)]]
    mask = random.uniform(k_mask, rows.shape) < 0.1
    return parents + jnp.where(mask, 0.1 * random.normal(k_noise, rows.shape), 0)


def erl(s, key):
    k_pop, k_own, k_learn, k_evolve = random.split(key, 4)
    transitions, fitness = evaluate(s["rows"], k_pop)
    state, own, _ = episode(s["agent"]["params"][0], s["state"], k_own, ROLLOUT, EXPLORATION)
    ring = store(s["ring"], tree.tree_map(lambda *x: jnp.concatenate(x), transitions, own), s["iteration"])
    agent, critics = learn(s["agent"], s["critics"], ring, k_learn)
    judged, injected = evaluate(agent["params"], k_pop)
    ring = store(ring, judged, s["iteration"], ring[2].shape[1] - HORIZON)
    worst = jnp.argmin(fitness)
    rows = mutated(s["rows"].at[worst].set(agent["params"][0]), fitness.at[worst].set(injected[0]), k_evolve)
    return {**s, "rows": rows, "state": state, "ring": ring, "agent": agent, "critics": critics, "iteration": s["iteration"] + 1}


def cem_rl(s, key):
    k_ask, k_choose, k_pop, k_learn = random.split(key, 4)
    n = len(s["weights"]) * 2
    rows = s["mean"] + jnp.sqrt(s["variance"]) * random.normal(k_ask, (n, len(s["mean"])))
    learners = random.permutation(k_choose, n)[: n // 2]
    actors, critics = learn(learner(rows[learners]), s["critics"], s["ring"], k_learn)
    rows = rows.at[learners].set(actors["params"])
    transitions, fitness = evaluate(rows, k_pop)
    elites = rows[jnp.argsort(-fitness)[: n // 2]]
    return {
        **s, "mean": s["weights"] @ elites, "variance": s["weights"] @ (elites - s["mean"]) ** 2 + s["extra"], "extra": 0.999 * s["extra"] + 1e-8,
        "critics": critics, "ring": store(s["ring"], transitions, s["iteration"]), "iteration": s["iteration"] + 1,
    }


def begin(population, key):
    keys = random.split(key, 4)
    rows = population * HORIZON + (HORIZON + ROLLOUT if args.algorithm == "erl" else 0)
    ring = tuple(random.normal(keys[0], (SLOTS, rows, *x)) for x in [(OBS,), (ACTIONS,), (), (OBS,)])
    critics = learner(jax.vmap(lambda k: initial(k, CRITIC))(random.split(keys[1], 2)))
    s = {"ring": ring, "critics": critics, "iteration": jnp.zeros((), int)}
    if args.algorithm == "erl":
        rows = jax.vmap(lambda k: initial(k, ACTOR))(random.split(keys[2], population + 1))
        return {**s, "rows": rows[1:], "agent": learner(rows[:1]), "state": reset(keys[3])}
    weights = jnp.log((population // 2 + 1) / (1 + jnp.arange(population // 2)))
    mean = initial(keys[2], ACTOR)
    return {**s, "mean": mean, "variance": jnp.full_like(mean, 1e-2), "extra": jnp.full((), 1e-2), "weights": weights / weights.sum()}


def tenths(times):
    """Means of at most ten stretches of times, which are all of them where they are few."""
    n = -(-len(times) // 10)
    return [statistics.mean(times[i : i + n]) for i in range(0, len(times), n)]


def measure(population):
    s = jax.jit(begin, static_argnums=0)(population, random.key(0))
    s = tree.tree_map(lambda x: x + 0, s)  # buffers of their own, to be donated
    start = time.perf_counter()
    iteration = jax.jit(erl if args.algorithm == "erl" else cem_rl, donate_argnums=0).lower(s, random.key(1)).compile()
    compiled = time.perf_counter() - start
    for i in range(2):
        s = jax.block_until_ready(iteration(s, random.key(i)))
    times, processor = [], []
    while sum(times) < args.seconds or len(times) < 2:
        start, spent = time.perf_counter(), time.process_time()
        s = jax.block_until_ready(iteration(s, random.key(len(times))))
        times.append(time.perf_counter() - start)
        processor.append(time.process_time() - spent)
    if not bool(jnp.isfinite(s["critics"]["params"]).all()):
        raise SystemExit("parameters are not finite")
    return {
        "peer": "jax", "algorithm": args.algorithm, "population": population, "hidden": args.hidden, "batch": args.batch, "updates": args.updates,
        "seconds": statistics.median(times), "samples": tenths(times), "best_seconds": min(times), "cpu_seconds": sum(processor) / len(times), "best_cpu_seconds": min(processor),
        "compile_seconds": compiled, "device": jax.devices()[0].device_kind, "platform": jax.devices()[0].platform,
        "precision": jax.config.jax_default_matmul_precision or "default", "jax": jax.__version__, "flags": os.environ.get("XLA_FLAGS", ""),
    }


for population in args.population:
    result = measure(population)
    if args.json:
        print(json.dumps(result), flush=True)
    else:
        print("%(algorithm)s, %(population)d candidates: %(seconds).4f s an iteration (best %(best_seconds).4f, processor %(best_cpu_seconds).4f), "
              "compiled in %(compile_seconds).1f s" % result, flush=True)
