#!/usr/bin/env python3
"""The peer that evorl's OpenES of low rank is timed against: EGGROLL on EvoJAX's cart-pole swing-up in JAX, a generation in one jit.

B. Sarkar et al., "Evolution Strategies at the Hyperscale", 2025: candidate i has the matrices W + s E_i, E_i = A_i B_i' / sqrt(rank), and noise of its own in
every bias. A layer of all candidates is one product of all rows with the shared W, plus (x A_i) B_i' row by row; no candidate's matrix is formed. The
gradient of a matrix is the product of all A_i, weighted, with all B_i. Task, network, ranks and optimizer are those of openes_jax.py, whose equations it
imports: mirrored noise, all episodes side by side over 1000 steps of a lax.scan, centred ranks, Adam. The code is ours.

It is meant to be as fast as a competent JAX user would make it: factors are drawn once a generation and shared by a pair, candidates are sharded over one XLA
host device a core, and corrections are x A_i as batched products and the rest as sums, which XLA fuses with the activation (--correction dot or sum: both as
batched products, or as sums, which are slower).

--check compares forward pass and gradient with matrices that are formed in float64, and times nothing.

One run prints one measurement, the time counted from the start of the process.

    python tools/peers/lowrank_jax.py --population 1024 --hidden 256 256 --rank 1 --json
"""

import argparse
import json
import os
import statistics
import sys
import time

from openes_jax import (
    ADAM_BETA1, ADAM_BETA2, ADAM_EPSILON, LEARNING_RATE, NOISE_STD, STEPS, WEIGHT_DECAY, env_observe, env_reset, env_step, seconds_since_process_start, shapes,
)


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--population", type=int, default=1024, help="candidates a generation, an even number (default 1024)")
    p.add_argument("--hidden", type=int, nargs="+", default=[256, 256], help="units of each hidden layer (default 256 256)")
    p.add_argument("--rank", type=int, default=1, help="of the perturbation of a matrix (default 1)")
    p.add_argument("--generations", type=int, default=3, help="generations that are timed, after a first one (default 3)")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--devices", type=int, default=0, help="XLA devices to shard candidates over (default: the cores on a CPU, 1 on a GPU)")
    p.add_argument("--correction", choices=("mixed", "sum", "dot"), default="mixed", help="how corrections are computed (default: mixed)")
    p.add_argument("--check", action="store_true", help="compare with matrices that are formed, in float64")
    p.add_argument("--json", action="store_true", help="print one JSON object")
    a = p.parse_args()
    if a.population < 2 or a.population % 2 or a.generations < 1 or min(a.hidden) < 1 or a.rank < 1:
        p.error("want an even population of at least 2, at least one generation, at least one unit a layer, and a rank of at least 1")
    return a


def draw(jax, layers, rank, pairs, key):
    """The noise of pairs of candidates, layer by layer: A [pairs, rank, in], B [pairs, rank, out] and that of the bias [pairs, out]."""
    keys = jax.random.split(key, 3 * len(layers))
    of = [(jax.random.normal(keys[3 * n], (pairs, rank, i)), jax.random.normal(keys[3 * n + 1], (pairs, rank, o))) for n, (i, o) in enumerate(layers)]
    return [(a, b, jax.random.normal(keys[3 * n + 2], (pairs, o))) for n, ((a, b), (_, o)) in enumerate(zip(of, layers))]


def forward(jnp, correction, mean, noise, x):
    """Outputs [pairs, 2, out] of candidates with +noise and -noise, from inputs [pairs, 2, in]."""
    sign = jnp.array([1.0, -1.0])[None, :, None]
    for (w, c), (a, b, z) in zip(mean, noise):
        scale = sign * NOISE_STD / a.shape[1] ** 0.5
        y = (x.reshape(-1, x.shape[-1]) @ w).reshape(*x.shape[:2], -1)
        if correction == "dot":
            low = jnp.einsum("ptr,pro->pto", jnp.einsum("pti,pri->ptr", x, a), b)
        else:
            if correction == "sum":
                p = [(x * a[:, None, q]).sum(-1) for q in range(a.shape[1])]
            else:
                p = jnp.moveaxis(jnp.einsum("pti,pri->ptr", x, a), -1, 0)
            low = sum(p[q][..., None] * b[:, None, q] for q in range(a.shape[1]))
        x = jnp.tanh(y + scale * low + c + sign * NOISE_STD * z[:, None])
    return x


def gradient_of(noise, weights):
    """Sums of noise over pairs, weighted: of each matrix one product over all draws and components."""
    sums = []
    for a, b, z in noise:
        weighted = (a * (weights[:, None, None] / a.shape[1] ** 0.5)).reshape(-1, a.shape[-1])
        sums.append((weighted.T @ b.reshape(-1, b.shape[-1]), weights @ z))
    return sums


def make_evaluate(jax, jnp, correction):
    """Returns [pairs, 2] of candidates over one episode from one state."""

    def evaluate(mean, noise, state):
        shape = (noise[0][0].shape[0], 2)

        def step(carry, _):
            s, total, over = carry
            x = jnp.moveaxis(env_observe(jnp, s), 0, -1)
            s, reward, out = env_step(jnp, s, forward(jnp, correction, mean, noise, x)[..., 0])
            return (s, total + jnp.where(over, 0.0, reward), over | out), None

        start = jnp.broadcast_to(state[:, None, None], (4, *shape))
        return jax.lax.scan(step, (start, jnp.zeros(shape), jnp.zeros(shape, bool)), None, STEPS)[0][1]

    return evaluate


def check(jax, jnp, args, layers):
    """The forward pass and the gradient equal those of candidates whose matrices are formed."""
    import numpy as np

    pairs = args.population // 2
    key = jax.random.PRNGKey(args.seed)
    noise = draw(jax, layers, args.rank, pairs, jax.random.fold_in(key, 1))
    mean = [(jax.random.normal(jax.random.fold_in(key, 10 + n), (i, o)) / i**0.5, jnp.full(o, 0.1 * n)) for n, (i, o) in enumerate(layers)]
    x = jax.random.normal(jax.random.fold_in(key, 2), (pairs, 2, layers[0][0]))
    weights = jax.random.normal(jax.random.fold_in(key, 3), (pairs,))
    wide = lambda v: np.asarray(v, np.float64)
    want, sums = np.zeros((pairs, 2, layers[-1][1])), [(np.zeros((i, o)), np.zeros(o)) for i, o in layers]
    for p in range(pairs):
        formed = [(wide(a[p]).T @ wide(b[p]) / args.rank**0.5, wide(z[p])) for a, b, z in noise]
        for t, sign in enumerate((1.0, -1.0)):
            h = wide(x[p, t])
            for (w, c), (e, z) in zip(mean, formed):
                h = np.tanh(h @ (wide(w) + sign * NOISE_STD * e) + wide(c) + sign * NOISE_STD * z)
            want[p, t] = h
        for s, f in zip(sums, formed):
            s[0][:] += float(weights[p]) * f[0]
            s[1][:] += float(weights[p]) * f[1]
    worst = {"forward/" + c: float(np.abs(wide(forward(jnp, c, mean, noise, x)) - want).max()) for c in ("mixed", "sum", "dot")}
    for got, (w, c) in zip(gradient_of(noise, weights), sums):
        for g, s in zip(got, (w, c)):
            worst["gradient"] = max(worst.get("gradient", 0.0), float(np.abs(wide(g) - s).max() / np.abs(s).max()))
    print(json.dumps(worst))
    return 0 if max(worst.values()) <= 1e-5 else 1


def main():
    args = parse_arguments()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if args.devices > 1 or args.devices == 0 and cores > 1:
        os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=%d" % (args.devices or cores)
    import jax
    import jax.numpy as jnp

    layers, pairs = shapes(args.hidden), args.population // 2
    if args.check:
        return check(jax, jnp, args, layers)
    platform = jax.default_backend()
    count = args.devices or (cores if platform == "cpu" else 1)
    while pairs % count:
        count -= 1
    devices = jax.devices()[:count]
    mesh = jax.sharding.Mesh(devices, ("pairs",))
    spec = jax.sharding.PartitionSpec
    evaluate = make_evaluate(jax, jnp, args.correction)
    sharded = jax.shard_map(evaluate, mesh=mesh, in_specs=(spec(), spec("pairs"), spec()), out_specs=spec("pairs"), check_vma=False)

    def generation(carry, key):
        mean, m, v, t = carry
        start, drawn = jax.random.split(key)
        noise = draw(jax, layers, args.rank, pairs, drawn)
        fitness = sharded(mean, noise, env_reset(jax, jnp, start)).reshape(-1)
        weights = jnp.argsort(jnp.argsort(fitness)) / (args.population - 1) - 0.5
        sums = gradient_of(noise, weights[0::2] - weights[1::2])
        gradient = jax.tree_util.tree_map(lambda g, x: g / (args.population * NOISE_STD) - WEIGHT_DECAY * x, sums, mean)
        t += 1
        m = jax.tree_util.tree_map(lambda m, g: ADAM_BETA1 * m + (1 - ADAM_BETA1) * g, m, gradient)
        v = jax.tree_util.tree_map(lambda v, g: ADAM_BETA2 * v + (1 - ADAM_BETA2) * g**2, v, gradient)
        rate = lambda x, m, v: x + LEARNING_RATE * (m / (1 - ADAM_BETA1**t)) / (jnp.sqrt(v / (1 - ADAM_BETA2**t)) + ADAM_EPSILON)
        return (jax.tree_util.tree_map(rate, mean, m, v), m, v, t), fitness.mean()

    key = jax.random.PRNGKey(args.seed)
    mean = [(jax.random.normal(jax.random.fold_in(key, n), (i, o)) / i**0.5, jnp.zeros(o)) for n, (i, o) in enumerate(layers)]
    zeros = jax.tree_util.tree_map(jnp.zeros_like, mean)
    carry = (mean, zeros, zeros, jnp.float32(0))
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
        "rank": args.rank,
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
        "correction": args.correction,
        "jax": jax.__version__,
        "python": "%d.%d.%d" % sys.version_info[:3],
        "xla_flags": os.environ.get("XLA_FLAGS", "").strip(),
    }
    if args.json:
        print(json.dumps(result))
    else:
        for k, v in result.items():
            print("%-32s %s" % (k, v))
    return 0


if __name__ == "__main__":
    sys.exit(main())
