#!/usr/bin/env python3
"""The peer that evorl's PPO is timed against: PPO on CartPole-v1 in JAX, many members in one jit.

The shape is PureJaxRL's (Lu et al. 2022, "Discovered policy optimisation", github.com/luchris429/purejaxrl): the
environment is JAX code, the whole training is one jitted lax.scan over updates, and members are a vmap over seeds.
Separate actor and critic of two tanh layers of 64, orthogonal initialisation, 4 environments of 128 steps an
update, 4 epochs of 4 minibatches, GAE, clipped value loss, global gradient-norm clipping, Adam. The code is ours.
As there (and in gymnax), the time limit counts as the end of an episode and is not bootstrapped.

It is meant to be as fast as a competent JAX user would make it, which on a CPU asks for more than vmap:

- one XLA host device a core, members sharded over them (XLA's CPU matrix products of this size use one thread);
- members trained in chunks that stay in the cache;
- random numbers drawn once an update and by the generator that compiles fastest, values and log-probabilities
  computed over the whole rollout at once, the minibatch permutation as one sort of one array of integers.

--devices 1 --chunk 0 leaves the first two out: one vmap over all members on JAX's defaults, as PureJaxRL runs.

One run prints one measurement, because start-up is part of it: the time is counted from the start of the process. It trains again, up
to three times: their median counts for steps_per_second, the first time for steps_per_second_with_start_up.

    python tools/peers/ppo_jax.py --members 256 --steps 50000 --json

A "step" is a step of one environment; --steps counts one member's, over its 4 environments.
"""

import argparse
import json
import os
import statistics
import sys
import time

SCRIPT_START = time.time()

NUM_ENVS, NUM_STEPS = 4, 128
EPOCHS, MINIBATCHES = 4, 4
BATCH = NUM_ENVS * NUM_STEPS
HIDDEN = 64
DISCOUNT, GAE_LAMBDA = 0.99, 0.95
CLIP_EPSILON, VALUE_WEIGHT, ENTROPY_WEIGHT = 0.2, 0.5, 0.01
MAX_GRAD_NORM = 0.5
ADAM_BETA1, ADAM_BETA2, ADAM_EPSILON = 0.9, 0.999, 1e-5


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--members", type=int, default=1, help="agents trained in one run (default 1)")
    p.add_argument("--steps", type=int, default=50_000, help="environment steps a member, rounded up to a multiple of %d (default 50000)" % BATCH)
    p.add_argument("--learning-rate", type=float, default=2.5e-4)
    p.add_argument("--anneal", action="store_true", help="anneal the learning rate linearly to 0")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--devices", type=int, default=0, help="XLA devices to shard members over (default: the cores on a CPU, 1 on a GPU)")
    p.add_argument("--chunk", type=int, default=-1, help="members a vmap, chunks in sequence; 0: all at once (default: 4 on a CPU, 0 on a GPU)")
    p.add_argument("--json", action="store_true", help="print one JSON object")
    a = p.parse_args()
    for name in ("members", "steps"):
        if getattr(a, name) < 1:
            p.error("--%s must be at least 1, not %d" % (name, getattr(a, name)))
    return a


def seconds_since_process_start():
    """Age of this process; where /proc is missing, time since this script began (without the interpreter's start)."""
    try:
        with open("/proc/self/stat") as f:
            started = int(f.read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        return time.clock_gettime(time.CLOCK_BOOTTIME) - started
    except (OSError, AttributeError):
        return time.time() - SCRIPT_START


# ---- CartPole-v1, from the equations of Barto, Sutton & Anderson (1983) with Gymnasium's constants ----

GRAVITY, MASS_POLE, TOTAL_MASS, HALF_LENGTH = 9.8, 0.1, 1.1, 0.5
FORCE, TAU, X_LIMIT, THETA_LIMIT = 10.0, 0.02, 2.4, 12 * 2 * 3.141592653589793 / 360
TIME_LIMIT, RESET_RANGE = 500, 0.05


def env_step(jnp, state, age, action):
    """One Euler step of every environment: state [E, 4], age [E] steps taken, action [E] in {0, 1}."""
    x, x_dot, theta, theta_dot = (state[:, i] for i in range(4))
    force = jnp.where(action == 1, FORCE, -FORCE)
    cos, sin = jnp.cos(theta), jnp.sin(theta)
    temp = (force + MASS_POLE * HALF_LENGTH * theta_dot**2 * sin) / TOTAL_MASS
    theta_acc = (GRAVITY * sin - cos * temp) / (HALF_LENGTH * (4.0 / 3.0 - MASS_POLE * cos**2 / TOTAL_MASS))
    x_acc = temp - MASS_POLE * HALF_LENGTH * theta_acc * cos / TOTAL_MASS
    state = jnp.stack([x + TAU * x_dot, x_dot + TAU * x_acc, theta + TAU * theta_dot, theta_dot + TAU * theta_acc], 1)
    age = age + 1
    done = (abs(state[:, 0]) > X_LIMIT) | (abs(state[:, 2]) > THETA_LIMIT) | (age >= TIME_LIMIT)
    return state, age, done


# ---- networks ----


def initial_params(numpy, seed, members):
    """Orthogonal weights and zero biases of every member, [members, ...].

    By NumPy, not in the jit: it saves a second of compiling, and jaxlib's batched QR inside a large program
    deadlocks on a machine of few cores (0.10.2: the factorisation blocks the pool's threads it waits for).
    """
    rng = numpy.random.default_rng(seed)

    def orthogonal(rows, columns, scale):
        tall = rng.standard_normal((members, max(rows, columns), min(rows, columns)))
        q, r = numpy.linalg.qr(tall)
        q *= numpy.sign(numpy.diagonal(r, axis1=1, axis2=2))[:, None, :]
        q = q if rows >= columns else q.transpose(0, 2, 1)
        return (scale * q).astype(numpy.float32)

    def mlp(outputs, scale):
        layers = [(4, HIDDEN, 2**0.5), (HIDDEN, HIDDEN, 2**0.5), (HIDDEN, outputs, scale)]
        return [(orthogonal(i, o, s), numpy.zeros((members, o), numpy.float32)) for i, o, s in layers]

    return {"actor": mlp(2, 0.01), "critic": mlp(1, 1.0)}


# ---- PPO ----


def make_train(jax, jnp, updates, learning_rate, anneal):
    """train(seed, params) -> trained params, (sum of returns, episodes) finished in each update [updates]; one member."""
    lax, tree = jax.lax, jax.tree_util

    def mlp(layers, x):
        for w, b in layers[:-1]:
            x = jnp.tanh(x @ w + b)
        w, b = layers[-1]
        return x @ w + b

    def loss(params, batch):
        obs, action, old_log_prob, old_value, advantage, target = batch
        log_probs = jax.nn.log_softmax(mlp(params["actor"], obs))
        log_prob = jnp.where(action == 1, log_probs[:, 1], log_probs[:, 0])
        ratio = jnp.exp(log_prob - old_log_prob)
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        clipped = jnp.clip(ratio, 1 - CLIP_EPSILON, 1 + CLIP_EPSILON)
        actor_loss = -jnp.minimum(ratio * advantage, clipped * advantage).mean()
        value = mlp(params["critic"], obs)[:, 0]
        value_clipped = old_value + jnp.clip(value - old_value, -CLIP_EPSILON, CLIP_EPSILON)
        value_loss = 0.5 * jnp.maximum((value - target) ** 2, (value_clipped - target) ** 2).mean()
        entropy = -(jnp.exp(log_probs) * log_probs).sum(1).mean()
        return actor_loss + VALUE_WEIGHT * value_loss - ENTROPY_WEIGHT * entropy

    def adam(params, grads, m, v, count):
        norm = jnp.sqrt(sum(jnp.vdot(g, g) for g in tree.tree_leaves(grads)))
        scale = jnp.minimum(1.0, MAX_GRAD_NORM / norm)
        rate = learning_rate
        if anneal:
            rate = rate * (1 - (count // (EPOCHS * MINIBATCHES)) / updates)
        t = count + 1
        c1, c2 = 1 - ADAM_BETA1**t, 1 - ADAM_BETA2**t
        m = tree.tree_map(lambda m, g: ADAM_BETA1 * m + (1 - ADAM_BETA1) * scale * g, m, grads)
        v = tree.tree_map(lambda v, g: ADAM_BETA2 * v + (1 - ADAM_BETA2) * (scale * g) ** 2, v, grads)
        params = tree.tree_map(lambda p, m, v: p - rate * (m / c1) / (jnp.sqrt(v / c2) + ADAM_EPSILON), params, m, v)
        return params, m, v, t

    def rollout(params, env, noise, fresh):
        """NUM_STEPS steps: noise [T, E] uniform picks actions, fresh [T, E, 4] holds the states of auto-resets."""

        def step(env, random):
            state, age, ret = env
            uniform, fresh = random
            logits = mlp(params["actor"], state)
            action = (uniform < jax.nn.sigmoid(logits[:, 1] - logits[:, 0])).astype(jnp.float32)
            after, age, done = env_step(jnp, state, age, action)
            ret = ret + 1.0
            out = (state, action, done, ret)
            env = (jnp.where(done[:, None], fresh, after), jnp.where(done, 0, age), jnp.where(done, 0.0, ret))
            return env, out

        return lax.scan(step, env, (noise, fresh))

    def gae(value, last_value, done):
        def step(carry, now):
            advantage, next_value = carry
            value, done = now
            delta = 1.0 + DISCOUNT * next_value * (1 - done) - value
            advantage = delta + DISCOUNT * GAE_LAMBDA * (1 - done) * advantage
            return (advantage, value), advantage

        return lax.scan(step, (jnp.zeros_like(last_value), last_value), (value, done), reverse=True, unroll=8)[1]

    def permutation(key):
        """A random order of the batch: random high bits above the index, so that one plain sort carries it along."""
        bits = jax.random.bits(key, (BATCH,), jnp.uint32)
        return lax.sort((bits & ~jnp.uint32(BATCH - 1)) | jnp.arange(BATCH, dtype=jnp.uint32)) & jnp.uint32(BATCH - 1)

    def update(carry, _):
        params, m, v, count, env, key = carry
        key, k_noise, k_fresh, k_perm = jax.random.split(key, 4)
        noise = jax.random.uniform(k_noise, (NUM_STEPS, NUM_ENVS))
        fresh = jax.random.uniform(k_fresh, (NUM_STEPS, NUM_ENVS, 4), minval=-RESET_RANGE, maxval=RESET_RANGE)
        env, (obs, action, done, ret) = rollout(params, env, noise, fresh)

        done_f = done.astype(jnp.float32)
        states = jnp.concatenate([obs, env[0][None]])
        values = mlp(params["critic"], states.reshape(-1, 4)).reshape(NUM_STEPS + 1, NUM_ENVS)
        advantage = gae(values[:-1], values[-1], done_f)
        log_probs = jax.nn.log_softmax(mlp(params["actor"], obs.reshape(-1, 4)))
        log_prob = jnp.where(action.reshape(-1) == 1, log_probs[:, 1], log_probs[:, 0])
        columns = [action.reshape(-1), log_prob, values[:-1].reshape(-1), advantage.reshape(-1), (advantage + values[:-1]).reshape(-1)]
        data = jnp.concatenate([obs.reshape(-1, 4), jnp.stack(columns, 1)], 1)  # [BATCH, 9]: one gather a minibatch

        def minibatch(learner, index):
            params, m, v, count = learner
            rows = data[index]
            grads = jax.grad(loss)(params, (rows[:, :4], *(rows[:, 4 + i] for i in range(5))))
            return adam(params, grads, m, v, count), None

        order = jax.vmap(permutation)(jax.random.split(k_perm, EPOCHS)).reshape(EPOCHS * MINIBATCHES, -1)
        learner, _ = lax.scan(minibatch, (params, m, v, count), order)
        return (*learner, env, key), ((ret * done_f).sum(), done_f.sum())

    def train(seed, params):
        k_env, key = jax.random.split(jax.random.key(seed))
        zeros = tree.tree_map(jnp.zeros_like, params)
        state = jax.random.uniform(k_env, (NUM_ENVS, 4), minval=-RESET_RANGE, maxval=RESET_RANGE)
        env = (state, jnp.zeros(NUM_ENVS, jnp.int32), jnp.zeros(NUM_ENVS))
        carry = (params, zeros, zeros, jnp.int32(0), env, key)
        carry, episodes = lax.scan(update, carry, length=updates)
        return carry[0], episodes

    return train


def main():
    args = parse_arguments()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    flags = "--xla_force_host_platform_device_count=%d" % (args.devices or cores)  # counts on a CPU only
    os.environ["XLA_FLAGS"] = " ".join([flags, *os.environ.get("XLA_FLAGS", "").split()])

    import jax
    import jax.numpy as jnp
    import numpy

    # XLA's own generator: a third less to compile than the default, threefry.
    jax.config.update("jax_default_prng_impl", "unsafe_rbg")
    devices = jax.devices()
    platform = devices[0].platform
    count = args.devices or (len(devices) if platform == "cpu" else 1)
    while args.members % count:
        count -= 1
    devices = devices[:count]
    a_device = args.members // count

    chunk = args.chunk if args.chunk >= 0 else (4 if platform == "cpu" else 0)
    chunk = min(chunk or a_device, a_device)
    while a_device % chunk:
        chunk -= 1

    updates = -(-args.steps // BATCH)
    train = make_train(jax, jnp, updates, args.learning_rate, args.anneal)

    def train_members(seeds, params):
        if chunk == a_device:
            return jax.vmap(train)(seeds, params)
        split = jax.tree_util.tree_map(lambda x: x.reshape(-1, chunk, *x.shape[1:]), (seeds, params))
        out = jax.lax.map(lambda inputs: jax.vmap(train)(*inputs), split)
        return jax.tree_util.tree_map(lambda x: x.reshape(a_device, *x.shape[2:]), out)

    mesh = jax.sharding.Mesh(devices, ("members",))
    spec = jax.sharding.PartitionSpec("members")
    sharded = jax.shard_map(train_members, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)
    inputs = (numpy.arange(args.members, dtype=numpy.int32) + args.seed, initial_params(numpy, args.seed, args.members))
    inputs = jax.device_put(inputs, jax.sharding.NamedSharding(mesh, spec))

    ready = seconds_since_process_start()
    compiled = jax.jit(sharded).lower(*inputs).compile()
    compiled_at = seconds_since_process_start()
    _, (returns, episodes) = jax.block_until_ready(compiled(*inputs))
    finished, processor = seconds_since_process_start(), time.process_time()
    # Again: the first run also loads the program, and on a GPU chooses algorithms and sets up memory. What is trained is the same.
    times = []
    while len(times) < 3 and sum(times) < 10:
        begin = time.perf_counter()
        jax.block_until_ready(compiled(*inputs))
        times.append(time.perf_counter() - begin)
    again = statistics.median(times)

    tail = max(1, updates // 10)
    mean_return = float(returns[:, -tail:].sum() / jnp.maximum(episodes[:, -tail:].sum(), 1))
    steps = args.members * updates * BATCH
    result = {
        "members": args.members,
        "steps_a_member": updates * BATCH,
        "env_steps": steps,
        "steps_per_second": round(steps / again, 1),
        "samples": [round(steps / x, 1) for x in times],
        "steps_per_second_with_start_up": round(steps / finished, 1),
        "start_up_seconds": round(ready, 3),
        "compile_seconds": round(compiled_at - ready, 3),
        "first_run_seconds": round(finished - compiled_at, 3),
        "train_seconds": round(again, 3),
        "total_seconds": round(finished, 3),
        "cpu_seconds": round(processor, 3),
        "load_average": round(os.getloadavg()[0], 2),
        "mean_return": round(mean_return, 2),
        "platform": platform,
        "precision": jax.config.jax_default_matmul_precision or "default",
        "device": devices[0].device_kind,
        "devices": count,
        "chunk": chunk,
        "jax": jax.__version__,
        "python": "%d.%d.%d" % sys.version_info[:3],
        "xla_flags": os.environ["XLA_FLAGS"].strip(),
    }
    if args.json:
        print(json.dumps(result))
    else:
        for k, v in result.items():
            print("%-32s %s" % (k, v))


if __name__ == "__main__":
    main()
