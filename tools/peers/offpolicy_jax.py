#!/usr/bin/env python3
"""The peer that evorl's off-policy updates are timed against: one update of a population of TD3, SAC or DQN agents in JAX.

What is measured is what A. Flajolet et al. ("Fast Population-Based Reinforcement Learning on a Single Machine", 2022, figure 2)
measure: the time of one update of all members on random data that is on the device already, without environments, replay and
compilation, one or 50 updates a call. Shapes are HalfCheetah's (17 observations, 6 actions; DQN: CartPole's, 4 and 2). TD3 trains
its actor and moves its targets every second update, by two programs in turns rather than a select that pays for both. The code is ours.

    python tools/peers/offpolicy_jax.py --algorithm td3 --members 1 2 5 10 20 40 80 --json

On a CPU members are sharded over XLA host devices, one a core, and trained in chunks one after the other, each through all updates of a
call, so that the weights of a chunk stay in the cache. Without a vmap (--chunk 1, the default) an update of [256, 256] took a tenth less
processor time than with one over the members of a device; for [64, 64] there was no difference beyond the noise. --devices 1 --chunk 0 is one
vmap over all members, as it is on a GPU.
"""

import argparse
import json
import os
import statistics
import time


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--algorithm", choices=["td3", "sac", "dqn"], default="td3")
    p.add_argument("--members", type=int, nargs="+", default=[1], help="agents updated at once; several are measured in turn (default 1)")
    p.add_argument("--hidden", type=int, nargs="+", default=None, help="units of hidden layers (default 256 256; dqn: 120 84)")
    p.add_argument("--batch", type=int, default=None, help="transitions of an update (default 256; dqn: 128)")
    p.add_argument("--updates", type=int, nargs="+", default=[1, 50], help="updates a call (default 1 50)")
    p.add_argument("--seconds", type=float, default=3, help="measure for so long at least (default 3)")
    p.add_argument("--devices", type=int, default=0, help="XLA devices (default: the cores on a CPU, 1 on a GPU)")
    p.add_argument("--chunk", type=int, default=-1, help="members a vmap, chunks in sequence; 0: all at once (default: 1 on a CPU, 0 on a GPU)")
    p.add_argument("--unroll", type=int, default=1, help="updates that a turn of the loop takes (default 1)")
    p.add_argument("--json", action="store_true", help="print JSON, a line for each measurement")
    a = p.parse_args()
    dqn = a.algorithm == "dqn"
    a.hidden = a.hidden or ([120, 84] if dqn else [256, 256])
    a.batch = a.batch or (128 if dqn else 256)
    a.obs, a.actions = (4, 2) if dqn else (17, 6)
    if min([a.batch, a.unroll, *a.members, *a.hidden, *a.updates]) < 1:
        p.error("sizes must be at least 1")
    return a


DISCOUNT, TAU, LEARNING_RATE, TARGET_INTERVAL = 0.99, 0.005, 3e-4, 500
TARGET_NOISE, NOISE_CLIP, LOG_STD_LOW, LOG_STD_HIGH = 0.2, 0.5, -5.0, 2.0


class Algorithm:
    """One member's update. State is a dictionary of parameters, Adam's moments and targets; batch is (obs, action, reward, next_obs, factor)."""

    def __init__(self, jax, name, args):
        self.jax, self.jnp, self.args = jax, jax.numpy, args
        self.step = getattr(self, name)
        self.period = 2 if name == "td3" else 1  # updates that differ

    def initial(self, key):
        jax, jnp, a = self.jax, self.jnp, self.args
        keys = iter(jax.random.split(key, 40))

        def mlp(*sizes):
            bound = [i**-0.5 for i in sizes[:-1]]
            return [(jax.random.uniform(next(keys), (i, o), minval=-b, maxval=b), jnp.zeros(o)) for i, o, b in zip(sizes, sizes[1:], bound)]

        if a.algorithm == "dqn":
            params = {"q": mlp(a.obs, *a.hidden, a.actions)}
        else:
            outputs = a.actions * (2 if a.algorithm == "sac" else 1)
            params = {"actor": mlp(a.obs, *a.hidden, outputs), "critics": [mlp(a.obs + a.actions, *a.hidden, 1) for _ in range(2)]}
            if a.algorithm == "sac":
                params["log_alpha"] = jnp.zeros(())
        zeros = jax.tree_util.tree_map(jnp.zeros_like, params)
        targets = {k: params[k] for k in params if k in ("q", "critics") or k == "actor" and a.algorithm == "td3"}
        copy = jax.tree_util.tree_map(lambda x: x + 0, (params, zeros, zeros, targets))  # buffers of their own, to be donated
        return {"params": copy[0], "m": copy[1], "v": copy[2], "targets": copy[3], "count": jnp.zeros(()), "actor_count": jnp.zeros(())}

    def mlp(self, layers, x):
        for w, b in layers[:-1]:
            x = self.jax.nn.relu(x @ w + b)
        w, b = layers[-1]
        return x @ w + b

    def adam(self, s, name, grads, count):
        """The state with parameters of that name stepped; count is the number of the step, from 1."""
        jnp, tree = self.jnp, self.jax.tree_util
        m = tree.tree_map(lambda m, g: 0.9 * m + 0.1 * g, s["m"][name], grads)
        v = tree.tree_map(lambda v, g: 0.999 * v + 0.001 * g * g, s["v"][name], grads)
        rate, root = LEARNING_RATE / (1 - 0.9**count), 1 / jnp.sqrt(1 - 0.999**count)
        params = tree.tree_map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) * root + 1e-8), s["params"][name], m, v)
        return {**s, "params": {**s["params"], name: params}, "m": {**s["m"], name: m}, "v": {**s["v"], name: v}}

    def follow(self, s, name, share):
        moved = self.jax.tree_util.tree_map(lambda t, p: t + share * (p - t), s["targets"][name], s["params"][name])
        return {**s, "targets": {**s["targets"], name: moved}}

    def q(self, critics, obs, action):
        x = self.jnp.concatenate([obs, action], 1)
        return [self.mlp(c, x)[:, 0] for c in critics]

    def descend_critics(self, s, batch, target):
        loss = lambda critics: sum(((q - target) ** 2).mean() for q in self.q(critics, batch[0], batch[1]))
        s = {**s, "count": s["count"] + 1}
        return self.adam(s, "critics", self.jax.grad(loss)(s["params"]["critics"]), s["count"])

    def td3(self, s, batch, key, turn):
        jnp = self.jnp
        obs, action, reward, next_obs, factor = batch
        noise = jnp.clip(TARGET_NOISE * self.jax.random.normal(key, action.shape), -NOISE_CLIP, NOISE_CLIP)
        next_action = jnp.clip(jnp.tanh(self.mlp(s["targets"]["actor"], next_obs)) + noise, -1, 1)
        s = self.descend_critics(s, batch, reward + factor * jnp.minimum(*self.q(s["targets"]["critics"], next_obs, next_action)))
        if turn == 0:
            return s
        first = s["params"]["critics"][:1]
        loss = lambda actor: -self.q(first, obs, jnp.tanh(self.mlp(actor, obs)))[0].mean()
        s = {**s, "actor_count": s["actor_count"] + 1}
        s = self.adam(s, "actor", self.jax.grad(loss)(s["params"]["actor"]), s["actor_count"])
        return self.follow(self.follow(s, "critics", TAU), "actor", TAU)

    def sample(self, actor, obs, key):
        jnp = self.jnp
        mean, h = jnp.split(self.mlp(actor, obs), 2, 1)
        log_std = LOG_STD_LOW + 0.5 * (LOG_STD_HIGH - LOG_STD_LOW) * (jnp.tanh(h) + 1)
        noise = self.jax.random.normal(key, mean.shape)
        u = mean + jnp.exp(log_std) * noise
        log_prob = -0.5 * noise**2 - log_std - 0.9189385332046727 - 2 * (0.6931471805599453 - u - self.jax.nn.softplus(-2 * u))
        return jnp.tanh(u), log_prob.sum(1)

    def sac(self, s, batch, key, turn):
        jnp, jax = self.jnp, self.jax
        obs, action, reward, next_obs, factor = batch
        k_next, k_own = jax.random.split(key)
        alpha = jnp.exp(s["params"]["log_alpha"])
        next_action, log_prob = self.sample(s["params"]["actor"], next_obs, k_next)
        value = jnp.minimum(*self.q(s["targets"]["critics"], next_obs, next_action)) - alpha * log_prob
        s = self.follow(self.descend_critics(s, batch, reward + factor * value), "critics", TAU)

        def loss(actor):
            action, log_prob = self.sample(actor, obs, k_own)
            return (alpha * log_prob - jnp.minimum(*self.q(s["params"]["critics"], obs, action))).mean(), log_prob.mean()

        grads, log_prob = jax.grad(loss, has_aux=True)(s["params"]["actor"])
        s = self.adam(s, "actor", grads, s["count"])
        return self.adam(s, "log_alpha", -alpha * (log_prob - self.args.actions), s["count"])

    def dqn(self, s, batch, key, turn):
        jnp = self.jnp
        obs, action, reward, next_obs, factor = batch
        target = reward + factor * self.mlp(s["targets"]["q"], next_obs).max(1)
        loss = lambda q: ((jnp.take_along_axis(self.mlp(q, obs), action, 1)[:, 0] - target) ** 2).mean()
        s = {**s, "count": s["count"] + 1}
        s = self.adam(s, "q", self.jax.grad(loss)(s["params"]["q"]), s["count"])
        return self.follow(s, "q", jnp.where(s["count"] % TARGET_INTERVAL == 0, 1.0, 0.0))


def data(numpy, args, batches, members):
    """Batches of every member, [members, batches, ...]."""
    rng, shape = numpy.random.default_rng(0), (members, batches, args.batch)
    normal = lambda *more: rng.standard_normal(shape + more, numpy.float32)
    if args.algorithm == "dqn":
        action = rng.integers(0, args.actions, shape + (1,)).astype(numpy.int32)
    else:
        action = rng.uniform(-1, 1, shape + (args.actions,)).astype(numpy.float32)
    factor = numpy.where(rng.random(shape) < 0.01, 0, DISCOUNT).astype(numpy.float32)
    return normal(args.obs), action, normal(), normal(args.obs), factor


def main():
    args = parse_arguments()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    flags = "--xla_force_host_platform_device_count=%d" % (args.devices or cores)  # counts on a CPU only
    os.environ["XLA_FLAGS"] = " ".join([flags, *os.environ.get("XLA_FLAGS", "").split()])

    import jax
    import numpy

    jax.config.update("jax_default_prng_impl", "unsafe_rbg")  # XLA's own generator, the cheapest
    cpu = jax.devices()[0].platform == "cpu"
    for members in args.members:
        for updates in args.updates:
            report(measure(jax, numpy, args, members, updates, cpu), args.json)


def tenths(times):
    """Means of at most ten stretches of times, which are all of them where they are few."""
    n = -(-len(times) // 10)
    return [statistics.mean(times[i : i + n]) for i in range(0, len(times), n)]


def measure(jax, numpy, args, members, updates, cpu):
    lax, tree = jax.lax, jax.tree_util
    count = args.devices or (len(jax.devices()) if cpu else 1)
    while members % count:
        count -= 1
    a_device = members // count
    chunk = args.chunk if args.chunk >= 0 else (1 if cpu else 0)
    chunk = min(chunk or a_device, a_device)
    while a_device % chunk:
        chunk -= 1
    algorithm = Algorithm(jax, args.algorithm, args)
    period = algorithm.period
    blocks, rest = divmod(updates, period)

    def train(turns):
        """All updates of one member in a call; turns are those of a block."""

        def block(carry, batches):
            s, key = carry
            for i, turn in enumerate(turns):
                key, own = jax.random.split(key)
                s = algorithm.step(s, tree.tree_map(lambda x: x[i], batches), own, turn)
            return (s, key), None

        def member(s, key, batches):
            batches = tree.tree_map(lambda x: x.reshape(-1, len(turns), *x.shape[1:]), batches)
            if len(batches[0]) == 1:
                return block((s, key), tree.tree_map(lambda x: x[0], batches))[0]
            return lax.scan(block, (s, key), batches, unroll=args.unroll)[0]

        return member

    def population(turns):
        one = train(turns)

        def of_device(s, key, batches):
            if a_device == chunk == 1:
                out = one(*tree.tree_map(lambda x: x[0], (s, key, batches)))
                return tree.tree_map(lambda x: x[None], out)
            if chunk == 1:
                return lax.map(lambda x: one(*x), (s, key, batches))
            if chunk == a_device:
                return jax.vmap(one)(s, key, batches)
            split = tree.tree_map(lambda x: x.reshape(-1, chunk, *x.shape[1:]), (s, key, batches))
            out = lax.map(lambda x: jax.vmap(one)(*x), split)
            return tree.tree_map(lambda x: x.reshape(a_device, *x.shape[2:]), out)

        return jax.jit(jax.shard_map(of_device, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False), donate_argnums=(0, 1))

    mesh = jax.sharding.Mesh(jax.devices()[:count], ("members",))
    spec = jax.sharding.PartitionSpec("members")
    place = lambda x: jax.device_put(x, jax.sharding.NamedSharding(mesh, spec))
    # Calls of one update take turns; longer ones are whole blocks.
    programs = [[turn] for turn in range(period)] if updates == 1 else [list(range(period))]
    if updates > 1 and rest:
        raise SystemExit("--updates %d: want 1 or a multiple of %d" % (updates, period))
    held = max(1, 50 // updates)  # batches that calls take in turn
    batches = [place(data(numpy, args, updates, members)) for _ in range(min(held, 8))]
    state = place(jax.vmap(algorithm.initial)(jax.random.split(jax.random.key(0), members)))
    key = place(jax.random.split(jax.random.key(1), members))
    begin = time.perf_counter()
    compiled = [population(turns).lower(state, key, batches[0]).compile() for turns in programs]
    compile_seconds = time.perf_counter() - begin

    def call(i):
        nonlocal state, key
        state, key = compiled[i % len(compiled)](state, key, batches[i // len(compiled) % len(batches)])
        jax.block_until_ready(state)

    for i in range(2):
        call(i)
    times, processor, i = [], time.process_time(), 2
    while sum(times) < args.seconds or len(times) < 2 or len(times) % len(compiled):
        begin = time.perf_counter()
        call(i)
        times.append(time.perf_counter() - begin)
        i += 1
    processor = time.process_time() - processor
    n = updates * len(times)
    samples = [1e3 * x for x in tenths([sum(times[j : j + len(compiled)]) / (updates * len(compiled)) for j in range(0, len(times), len(compiled))])]
    # The 20th part of the rounds is faster: for a machine that others use too.
    rounds = sorted(sum(times[j : j + len(compiled)]) / (updates * len(compiled)) for j in range(0, len(times), len(compiled)))
    best = rounds[len(rounds) // 20]
    leaves = [x for x in tree.tree_leaves(state["params"])]
    if not all(bool(jax.numpy.isfinite(x).all()) for x in leaves):
        raise SystemExit("parameters are not finite")
    return {
        "peer": "jax", "algorithm": args.algorithm, "members": members, "hidden": args.hidden, "batch": args.batch, "updates_a_call": updates,
        "milliseconds": 1e3 * statistics.median(rounds), "samples": samples, "best_milliseconds": 1e3 * best, "cpu_milliseconds": 1e3 * processor / n,
        "compile_seconds": compile_seconds, "devices": count, "chunk": chunk, "unroll": args.unroll,
        "platform": jax.devices()[0].platform, "precision": jax.config.jax_default_matmul_precision or "default",
        "device": jax.devices()[0].device_kind, "jax": jax.__version__, "flags": os.environ["XLA_FLAGS"],
    }


def report(result, as_json):
    if as_json:
        print(json.dumps(result), flush=True)
        return
    print("%(algorithm)s %(hidden)s, %(members)d members, %(updates_a_call)d updates a call: %(milliseconds).3f ms an update of the population "
          "(best %(best_milliseconds).3f, processor %(cpu_milliseconds).3f), compiled in %(compile_seconds).1f s" % result, flush=True)


if __name__ == "__main__":
    main()
