#!/usr/bin/env python3
"""The peer that evorl's policy search is timed against: OpenES on EvoJAX's cart-pole swing-up in JAX, a generation in one jit.

The shape is that of EvoJAX and evosax (Tang et al. 2022; Lange 2022): candidates are formed from mirrored noise as an
array [population, parameters], episodes are a lax.scan over all 1000 steps of a vmap over the candidates, an episode
that is over goes on masked, fitness becomes centred ranks, and Adam takes a step along the estimated gradient.
Networks are of tanh layers with a tanh output, one episode a candidate, the same initial state for all. The code is
ours.

It is meant to be as fast as a competent JAX user would make it, which on a CPU asks for more than vmap:

- one XLA host device a core, candidates sharded over them;
- candidates evaluated in chunks whose networks stay in the cache;
- products of one row by a matrix as sums of products, which XLA fuses with the activation (--product dot: as matrix products).

--devices 1 --chunk 0 --product dot leaves them out: one vmap over all candidates on JAX's defaults.

One run prints one measurement, the time counted from the start of the process.

    python tools/peers/openes_jax.py --population 4096 --hidden 64 64 --json
"""

import argparse
import json
import os
import statistics
import sys
import time

SCRIPT_START = time.time()

STEPS = 1000
NOISE_STD, LEARNING_RATE, WEIGHT_DECAY = 0.02, 0.01, 0.005
ADAM_BETA1, ADAM_BETA2, ADAM_EPSILON = 0.9, 0.999, 1e-8
IN, OUT = 5, 1


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--population", type=int, default=4096, help="candidates a generation, an even number (default 4096)")
    p.add_argument("--hidden", type=int, nargs="+", default=[64, 64], help="units of each hidden layer (default 64 64)")
    p.add_argument("--generations", type=int, default=3, help="generations that are timed, after a first one (default 3)")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--devices", type=int, default=0, help="XLA devices to shard candidates over (default: the cores on a CPU, 1 on a GPU)")
    p.add_argument("--chunk", type=int, default=-1, help="candidates a vmap, chunks in sequence; 0: all at once (default: 32 on a CPU, 0 on a GPU)")
    p.add_argument("--product", choices=("sum", "dot"), help="how products are computed (default: sum on a CPU, dot on a GPU)")
    p.add_argument("--json", action="store_true", help="print one JSON object")
    a = p.parse_args()
    if a.population < 2 or a.population % 2 or a.generations < 1 or min(a.hidden) < 1:
        p.error("want an even population of at least 2, at least one generation, and at least one unit a layer")
    return a


def seconds_since_process_start():
    """Age of this process; where /proc is missing, time since this script began (without the interpreter's start)."""
    try:
        with open("/proc/self/stat") as f:
            started = int(f.read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        return time.clock_gettime(time.CLOCK_BOOTTIME) - started
    except (OSError, AttributeError):
        return time.time() - SCRIPT_START


# ---- swing-up, with the equations and constants of evojax 0.2.17, task/cartpole.py ----

GRAVITY, POLE_MASS, TOTAL_MASS, LENGTH, FRICTION, FORCE, TIME_STEP, X_LIMIT = 9.82, 0.5, 1.0, 0.6, 0.1, 10.0, 0.01, 2.4


def env_reset(jax, jnp, key):
    return jnp.array([0.0, 0.0, jnp.pi, 0.0]) + 0.2 * jax.random.normal(key, (4,))


def env_observe(jnp, s):
    return jnp.stack([s[0], s[1], jnp.cos(s[2]), jnp.sin(s[2]), s[3]])


def env_step(jnp, s, action):
    x, x_dot, theta, theta_dot = s
    sin, cos = jnp.sin(theta), jnp.cos(theta)
    drive = FORCE * action - FRICTION * x_dot
    swing = POLE_MASS * LENGTH * theta_dot**2 * sin
    inertia = 4 * TOTAL_MASS - 3 * POLE_MASS * cos**2
    x_acc = (4 * drive - 2 * swing + 3 * POLE_MASS * GRAVITY * sin * cos) / inertia
    theta_acc = (6 * drive * cos - 3 * swing * cos + 6 * TOTAL_MASS * GRAVITY * sin) / (LENGTH * inertia)
    s = jnp.stack([x + TIME_STEP * x_dot, x_dot + TIME_STEP * x_acc, theta + TIME_STEP * theta_dot, theta_dot + TIME_STEP * theta_acc])
    reward = 0.5 * (jnp.cos(s[2]) + 1) * jnp.cos(0.5 * jnp.pi / X_LIMIT * s[0])
    return s, reward, jnp.abs(s[0]) > X_LIMIT


# ---- a generation ----


def shapes(hidden):
    sizes = [IN] + list(hidden) + [OUT]
    return list(zip(sizes[:-1], sizes[1:]))


def policy(jnp, product, layers, params, x):
    at = 0
    for i, o in layers:
        w, b = params[at : at + i * o].reshape(i, o), params[at + i * o : at + i * o + o]
        at += i * o + o
        x = jnp.tanh((x @ w if product == "dot" else (x[:, None] * w).sum(0)) + b)
    return x[0]


def make_episode(jax, jnp, product, layers):
    def episode(params, state):
        def step(carry, _):
            s, total, over = carry
            s, reward, out = env_step(jnp, s, policy(jnp, product, layers, params, env_observe(jnp, s)))
            return (s, total + jnp.where(over, 0.0, reward), over | out), None

        return jax.lax.scan(step, (state, 0.0, False), None, STEPS)[0][1]

    return episode


def main():
    args = parse_arguments()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if args.devices > 1 or args.devices == 0 and cores > 1:
        os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=%d" % (args.devices or cores)
    import jax
    import jax.numpy as jnp

    platform = jax.default_backend()
    count = args.devices or (cores if platform == "cpu" else 1)
    while args.population // 2 % count:
        count -= 1
    devices = jax.devices()[:count]
    product = args.product or ("sum" if platform == "cpu" else "dot")
    layers = shapes(args.hidden)
    dim = sum(i * o + o for i, o in layers)
    a_device = args.population // count
    chunk = min((args.chunk if args.chunk >= 0 else (32 if platform == "cpu" else 0)) or a_device, a_device)
    while a_device % chunk:
        chunk -= 1
    episode = make_episode(jax, jnp, product, layers)
    mesh = jax.sharding.Mesh(devices, ("candidates",))
    spec = jax.sharding.PartitionSpec

    def evaluate(mean, signs, keys, state):
        """Returns of this device's candidates, and its share of the sum of weighted noise, which needs all their ranks."""

        def noise(pair):
            return jax.random.normal(pair, (dim,))

        def of(part):
            sign, key = part
            z = jax.vmap(noise)(key) * sign[:, None]
            return jax.vmap(episode, (0, None))(mean + NOISE_STD * z, state)

        if chunk == a_device:
            return of((signs, keys))
        parts = jax.tree_util.tree_map(lambda x: x.reshape(-1, chunk, *x.shape[1:]), (signs, keys))
        return jax.lax.map(of, parts).reshape(-1)

    sharded = jax.shard_map(evaluate, mesh=mesh, in_specs=(spec(), spec("candidates"), spec("candidates"), spec()), out_specs=spec("candidates"), check_vma=False)

    def generation(carry, key):
        mean, m, v, t = carry
        start, draw = jax.random.split(key)
        pairs = jax.random.split(draw, args.population // 2)
        keys, signs = jnp.repeat(pairs, 2, 0), jnp.tile(jnp.array([1.0, -1.0]), args.population // 2)
        fitness = sharded(mean, signs, keys, env_reset(jax, jnp, start))
        weights = jnp.argsort(jnp.argsort(fitness)) / (args.population - 1) - 0.5
        # The noise of a pair again, in blocks: the gradient needs no array [population, parameters].
        pair_weights = (weights[0::2] - weights[1::2]).reshape(-1, min(64, args.population // 2)) if args.population // 2 % 64 == 0 else (weights[0::2] - weights[1::2])[None]
        blocks = pairs.reshape(*pair_weights.shape, *pairs.shape[1:])

        def add(total, block):
            w, k = block
            return total + w @ jax.vmap(lambda q: jax.random.normal(q, (dim,)))(k), None

        gradient = jax.lax.scan(add, jnp.zeros(dim), (pair_weights, blocks))[0] / (args.population * NOISE_STD) - WEIGHT_DECAY * mean
        t += 1
        m = ADAM_BETA1 * m + (1 - ADAM_BETA1) * gradient
        v = ADAM_BETA2 * v + (1 - ADAM_BETA2) * gradient**2
        mean += LEARNING_RATE * (m / (1 - ADAM_BETA1**t)) / (jnp.sqrt(v / (1 - ADAM_BETA2**t)) + ADAM_EPSILON)
        return (mean, m, v, t), fitness.mean()

    key = jax.random.PRNGKey(args.seed)
    mean = jnp.concatenate([jnp.concatenate([jax.random.normal(jax.random.fold_in(key, n), (i * o,)) / i**0.5, jnp.zeros(o)]) for n, (i, o) in enumerate(layers)])
    carry = (mean, jnp.zeros(dim), jnp.zeros(dim), jnp.float32(0))
    ready = seconds_since_process_start()
    compiled = jax.jit(generation).lower(carry, key).compile()
    compiled_at = seconds_since_process_start()
    carry, first = jax.block_until_ready(compiled(carry, key))
    first_at = seconds_since_process_start()
    cpu = time.process_time()
    times = []
    for g in range(args.generations):
        begin = time.perf_counter()
        carry, fitness = jax.block_until_ready(compiled(carry, jax.random.fold_in(key, 1000 + g)))
        times.append(time.perf_counter() - begin)
    each = statistics.median(times)
    result = {
        "population": args.population,
        "hidden": args.hidden,
        "generation_seconds": round(each, 6),
        "samples": [round(x, 6) for x in times],
        "generation_cpu_seconds": round((time.process_time() - cpu) / args.generations, 4),
        "candidate_steps_per_second": round(args.population * STEPS / each, 1),
        "start_up_seconds": round(ready, 3),
        "compile_seconds": round(compiled_at - ready, 3),
        "to_first_generation_seconds": round(first_at, 3),
        "load_average": round(os.getloadavg()[0], 2),
        "mean_fitness": [round(float(first), 2), round(float(fitness), 2)],
        "platform": platform,
        "precision": jax.config.jax_default_matmul_precision or "default",
        "device": devices[0].device_kind,
        "devices": count,
        "chunk": chunk,
        "product": product,
        "jax": jax.__version__,
        "python": "%d.%d.%d" % sys.version_info[:3],
        "xla_flags": os.environ.get("XLA_FLAGS", "").strip(),
    }
    if args.json:
        print(json.dumps(result))
    else:
        for k, v in result.items():
            print("%-32s %s" % (k, v))


if __name__ == "__main__":
    main()
