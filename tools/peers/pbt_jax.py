#!/usr/bin/env python3
"""The peer that evorl's population based training is timed against: an iteration of PBT over SAC or PPO on Pendulum-v1, in JAX.

All of an iteration is one jitted program over all members: steps and updates of every member, an evaluation episode each, and an exchange, in which the
worst fifth become copies of the best fifth and their learning rates change. What is done is what evorl's bench does in the cases pbt-sac/pendulum and
pbt-ppo/pendulum: SAC takes 128 steps and makes 64 updates with batches of 64 from a ring that all members share; PPO takes 128 steps in each of four
environments and makes 16 updates with batches of 128. The code is ours.

    python tools/peers/pbt_jax.py --algorithm sac --population 16 64 256 --json

The second line has the sizes of configs/pbt.toml (which has more evaluation episodes):

    python tools/peers/pbt_jax.py --algorithm ppo --population 32 --environments 8 --rollout 200 --epochs 8 --minibatches 8 --chunk 4 --devices 2 --json

--chunk sets how many members learn in one vmap, chunks one after the other, and --devices over how many of XLA's host devices PPO's members
are spread: on a CPU both may take less time than one vmap over all members.
"""

import argparse
import json
import os
import statistics
import time

DISCOUNT, TAU, RATE, GAE_LAMBDA, CLIP, ENTROPY, MAX_NORM = 0.99, 0.005, 3e-4, 0.95, 0.2, 0.01, 0.5
HORIZON, OBS, ACTIONS, SLOTS = 200, 3, 1, 3  # the ring holds the transitions of three iterations
LOW, HIGH = -5.0, 2.0  # of SAC's log standard deviations


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--algorithm", choices=["sac", "ppo"], default="sac")
    p.add_argument("--population", type=int, nargs="+", default=[16], help="members; several are measured in turn (default 16)")
    p.add_argument("--hidden", type=int, nargs="+", default=[64, 64], help="units of hidden layers (default 64 64)")
    p.add_argument("--batch", type=int, default=64, help="transitions of an update of SAC (default 64)")
    p.add_argument("--updates", type=int, default=64, help="updates of SAC an iteration (default 64)")
    p.add_argument("--rollout", type=int, default=128, help="steps of an environment an iteration (default 128)")
    p.add_argument("--environments", type=int, default=4, help="environments of a member of PPO (default 4)")
    p.add_argument("--epochs", type=int, default=4, help="passes of PPO over the steps of an iteration (default 4)")
    p.add_argument("--minibatches", type=int, default=4, help="updates of a pass of PPO (default 4)")
    p.add_argument("--chunk", type=int, default=0, help="members that learn in one vmap; 0: all (default 0)")
    p.add_argument("--devices", type=int, default=1, help="XLA devices that PPO's members are spread over (default 1)")
    p.add_argument("--seconds", type=float, default=3, help="measure for so long at least (default 3)")
    p.add_argument("--json", action="store_true", help="print JSON, a line for each measurement")
    a = p.parse_args()
    if min([a.batch, a.updates, a.rollout, a.environments, a.epochs, a.minibatches, a.devices, *a.hidden]) < 1 or min(a.population) < 5:
        p.error("sizes must be at least 1, populations at least 5")
    if a.environments * a.rollout % a.minibatches or any(n % a.devices for n in a.population):
        p.error("minibatches must divide the steps of an iteration, devices the populations")
    if a.devices > 1 and a.algorithm == "sac":
        p.error("--devices is for PPO: members of SAC share a ring")
    return a


args = parse_arguments()
ROLLOUT, ENVIRONMENTS, EPOCHS, MINIBATCHES = args.rollout, args.environments, args.epochs, args.minibatches
os.environ["XLA_FLAGS"] = " ".join(["--xla_force_host_platform_device_count=%d" % args.devices, *os.environ.get("XLA_FLAGS", "").split()])

import jax  # after the arguments, so that --help is quick
import jax.numpy as jnp

jax.config.update("jax_default_prng_impl", "unsafe_rbg")  # XLA's own generator, the cheapest
tree, lax, random = jax.tree_util, jax.lax, jax.random
SAC = args.algorithm == "sac"
ACTOR, CRITIC = [OBS, *args.hidden, ACTIONS * (2 if SAC else 1)], [OBS + (ACTIONS if SAC else 0), *args.hidden, 1]
HALF_LOG_2PI = 0.9189385332046727
mesh, SPREAD = jax.sharding.Mesh(jax.devices(), ("members",)), jax.sharding.PartitionSpec("members")


def initial(key, sizes):
    layers = zip(random.split(key, len(sizes)), sizes, sizes[1:])
    return [(random.uniform(k, (i, o), minval=-(i**-0.5), maxval=i**-0.5), jnp.zeros(o)) for k, i, o in layers]


def mlp(layers, x):
    for w, b in layers[:-1]:
        x = jax.nn.relu(x @ w + b) if SAC else jnp.tanh(x @ w + b)
    return x @ layers[-1][0] + layers[-1][1]


def learner(params):
    zeros = tree.tree_map(jnp.zeros_like, params)
    return {"params": params, "m": zeros, "v": zeros, "count": jnp.zeros(())}


def adam(s, grad, rate, epsilon=1e-8):
    count = s["count"] + 1
    m = tree.tree_map(lambda m, g: 0.9 * m + 0.1 * g, s["m"], grad)
    v = tree.tree_map(lambda v, g: 0.999 * v + 0.001 * g * g, s["v"], grad)
    move = lambda p, m, v: p - rate * (m / (1 - 0.9**count)) / (jnp.sqrt(v / (1 - 0.999**count)) + epsilon)
    return {"params": tree.tree_map(move, s["params"], m, v), "m": m, "v": v, "count": count}


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


def gaussian(actor, obs):
    out = mlp(actor["layers"], obs)
    if not SAC:
        return out, jnp.broadcast_to(actor["log_std"], out.shape)
    mean, x = jnp.split(out, 2, -1)
    return mean, LOW + 0.5 * (HIGH - LOW) * (jnp.tanh(x) + 1)


def rollout(actor, env, key):
    """The steps of an environment, which begins anew after 200: the environment, and obs, noise, action, reward, next obs, end."""
    k_noise, k_fresh = random.split(key)
    fresh = reset(k_fresh)

    def step(env, noise):
        s, age = env
        obs = observe(s)
        mean, log_std = gaussian(actor, obs)
        action = mean + jnp.exp(log_std) * noise
        t, reward = advance(s, jnp.tanh(action) if SAC else action)
        end = age + 1 >= HORIZON
        return (jnp.where(end, fresh, t), jnp.where(end, 0, age + 1)), (obs, noise, action, reward, observe(t), end)

    return lax.scan(step, env, random.normal(k_noise, (ROLLOUT, ACTIONS)))


def judged(actor, key):
    """The return of an evaluation episode."""

    def step(s, _):
        mean = gaussian(actor, observe(s))[0]
        return advance(s, jnp.tanh(mean) if SAC else mean)

    return lax.scan(step, reset(key), length=HORIZON)[1].sum()


# ---- SAC ----


def squashed(actor, obs, key):
    """An action and its log-probability."""
    mean, log_std = gaussian(actor, obs)
    noise = random.normal(key, mean.shape)
    x = mean + jnp.exp(log_std) * noise
    correction = 2 * (jnp.log(2.0) - x - jax.nn.softplus(-2 * x))
    return jnp.tanh(x), (-0.5 * noise**2 - log_std - HALF_LOG_2PI - correction).sum(-1)


def q(critics, obs, action):
    return jax.vmap(lambda c: mlp(c, jnp.concatenate([obs, action], -1))[:, 0])(critics)


def sac_updates(member, flat, key):
    """Updates of a member with batches from the ring."""

    def update(m, key):
        k_rows, k_next, k_now = random.split(key, 3)
        rows = random.randint(k_rows, (args.batch,), 0, len(flat[2]))
        obs, action, reward, after = tree.tree_map(lambda x: x[rows], flat)
        temperature = jnp.exp(m["temperature"]["params"])
        next_action, log_prob = squashed(m["actor"]["params"], after, k_next)
        target = reward + DISCOUNT * (q(m["target"], after, next_action).min(0) - temperature * log_prob)
        grad = jax.grad(lambda c: ((q(c, obs, action) - target) ** 2).mean(1).sum())(m["critics"]["params"])
        critics = adam(m["critics"], grad, m["hyper"][1])

        def climb(actor):
            action, log_prob = squashed(actor, obs, k_now)
            return (temperature * log_prob - q(critics["params"], obs, action).min(0)).mean(), log_prob.mean()

        grad, log_prob = jax.grad(climb, has_aux=True)(m["actor"]["params"])
        actor = adam(m["actor"], grad, m["hyper"][0])
        temperature = adam(m["temperature"], -temperature * (log_prob - ACTIONS), m["hyper"][2])
        follow = tree.tree_map(lambda t, c: t + TAU * (c - t), m["target"], critics["params"])
        return {**m, "actor": actor, "critics": critics, "temperature": temperature, "target": follow}, None

    return lax.scan(update, member, random.split(key, args.updates))[0]


def sac(s, keys):
    env, (obs, _, action, reward, after, _) = jax.vmap(rollout)(s["member"]["actor"]["params"], s["env"], keys)
    rows = tree.tree_map(lambda x: x.reshape(-1, *x.shape[2:]), (obs, jnp.tanh(action), reward, after))
    at = s["iteration"] % SLOTS
    ring = tree.tree_map(lambda r, x: lax.dynamic_update_slice(r, x[None], (at,) + (0,) * x.ndim), s["ring"], rows)
    flat = tree.tree_map(lambda x: x.reshape(-1, *x.shape[2:]), ring)
    member = over(lambda m, k: sac_updates(m, flat, k))(s["member"], keys)
    return {**s, "env": env, "ring": ring, "member": member}


# ---- PPO ----


def ppo_updates(member, data, key):
    obs, noise, action, reward, _, end, last = data  # [E, T, ...]
    critic = lambda c, x: mlp(c, x)[..., 0]
    value = critic(member["critic"]["params"], jnp.concatenate([obs, last[:, None]], 1))  # [E, T + 1]

    def back(advantage, now):
        reward, end, value, after = now
        delta = reward + DISCOUNT * after * (1 - end) - value
        advantage = delta + DISCOUNT * GAE_LAMBDA * (1 - end) * advantage
        return advantage, advantage

    steps = tree.tree_map(lambda x: x.swapaxes(0, 1), (reward, end.astype(float), value[:, :-1], value[:, 1:]))
    advantage = lax.scan(back, jnp.zeros(ENVIRONMENTS), steps, reverse=True, unroll=8)[1].swapaxes(0, 1)
    log_prob = (-0.5 * noise**2 - member["actor"]["params"]["log_std"] - HALF_LOG_2PI).sum(-1)
    whole = lambda x: x.reshape(-1, *x.shape[2:])
    rows = tree.tree_map(whole, (obs, action, log_prob, value[:, :-1], advantage, advantage + value[:, :-1]))

    def loss(params, batch):
        obs, action, old, before, advantage, target = batch
        mean, log_std = gaussian(params[0], obs)
        ratio = jnp.exp((-0.5 * ((action - mean) / jnp.exp(log_std)) ** 2 - log_std - HALF_LOG_2PI).sum(-1) - old)
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        gain = jnp.minimum(ratio * advantage, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * advantage).mean()
        value = critic(params[1], obs)
        clipped = before + jnp.clip(value - before, -CLIP, CLIP)
        return -gain + 0.25 * jnp.maximum((value - target) ** 2, (clipped - target) ** 2).mean() - ENTROPY * log_std.sum(-1).mean()

    def minibatch(m, index):
        grad = jax.grad(loss)((m["actor"]["params"], m["critic"]["params"]), tree.tree_map(lambda x: x[index], rows))
        norm = jnp.sqrt(sum(jnp.vdot(g, g) for g in tree.tree_leaves(grad)))
        grad = tree.tree_map(lambda g: g * jnp.minimum(1.0, MAX_NORM / norm), grad)
        return {**m, "actor": adam(m["actor"], grad[0], m["hyper"][0], 1e-5), "critic": adam(m["critic"], grad[1], m["hyper"][0], 1e-5)}, None

    n = ENVIRONMENTS * ROLLOUT
    bits = jax.vmap(lambda k: random.bits(k, (n,), jnp.uint32))(random.split(key, EPOCHS))
    low = jnp.uint32((1 << (n - 1).bit_length()) - 1)  # bits that hold an index
    order = lax.sort((bits & ~low) | jnp.arange(n, dtype=jnp.uint32)) & low
    return lax.scan(minibatch, member, order.reshape(EPOCHS * MINIBATCHES, -1))[0]


def ppo(s, keys):
    def learn(member, env, key):
        env, data = jax.vmap(lambda e, k: rollout(member["actor"]["params"], e, k))(env, random.split(key, ENVIRONMENTS))
        return env, ppo_updates(member, (*data, jax.vmap(observe)(env[0])), key)

    learn_all = over(learn)
    if args.devices > 1:
        learn_all = jax.shard_map(learn_all, mesh=mesh, in_specs=SPREAD, out_specs=SPREAD, check_vma=False)
    env, member = learn_all(s["member"], s["env"], keys)
    return {**s, "env": env, "member": member}


# ---- PBT ----


def over(f):
    """f over members, in chunks."""
    return (lambda *x: lax.map(lambda y: f(*y), x, batch_size=args.chunk)) if args.chunk else jax.vmap(f)


def iterate(s, key):
    n, k_learn, k_judge, k_source, k_perturb = len(s["member"]["hyper"]), *random.split(key, 4)
    s = (sac if SAC else ppo)(s, random.split(k_learn, n))
    fitness = jax.vmap(judged)(s["member"]["actor"]["params"], random.split(k_judge, n))
    order, fifth = jnp.argsort(-fitness), max(1, n // 5)
    source = jnp.arange(n).at[order[n - fifth :]].set(order[random.randint(k_source, (fifth,), 0, fifth)])
    member = tree.tree_map(lambda x: x[source], s["member"])
    factor = jnp.where(random.bernoulli(k_perturb, shape=member["hyper"].shape), 1.2, 0.8)
    hyper = jnp.where((source == jnp.arange(n))[:, None], member["hyper"], member["hyper"] * factor)
    return {**s, "member": {**member, "hyper": hyper}, "iteration": s["iteration"] + 1}


def born(key):
    k_actor, k_critic = random.split(key)
    actor = {"layers": initial(k_actor, ACTOR), **({} if SAC else {"log_std": jnp.zeros(ACTIONS)})}
    m = {"actor": learner(actor), "hyper": jnp.full(3, RATE)}
    if not SAC:
        return {**m, "critic": learner(initial(k_critic, CRITIC))}
    critics = jax.vmap(lambda k: initial(k, CRITIC))(random.split(k_critic, 2))
    return {**m, "critics": learner(critics), "target": critics, "temperature": learner(jnp.zeros(()))}


def begin(population, key):
    keys = random.split(key, 3)
    shape = (population,) if SAC else (population, ENVIRONMENTS)
    env = (random.uniform(keys[0], (*shape, 2), minval=-1, maxval=1), jnp.zeros(shape, int))
    s = {"member": jax.vmap(born)(random.split(keys[1], population)), "env": env, "iteration": jnp.zeros((), int)}
    if SAC:
        s["ring"] = tuple(random.normal(keys[2], (SLOTS, population * ROLLOUT, *x)) for x in [(OBS,), (ACTIONS,), (), (OBS,)])
    return s


def tenths(times):
    """Means of at most ten stretches of times, which are all of them where they are few."""
    n = -(-len(times) // 10)
    return [statistics.mean(times[i : i + n]) for i in range(0, len(times), n)]


def measure(population):
    s = jax.jit(begin, static_argnums=0)(population, random.key(0))
    s = tree.tree_map(lambda x: x + 0, s)  # buffers of their own, to be donated
    place = tree.tree_map(lambda x: jax.sharding.NamedSharding(mesh, SPREAD if x.ndim and args.devices > 1 else jax.sharding.PartitionSpec()), s)
    s = jax.device_put(s, place)
    start = time.perf_counter()
    iteration = jax.jit(iterate, donate_argnums=0, out_shardings=place).lower(s, random.key(1)).compile()
    compiled = time.perf_counter() - start
    for i in range(2):
        s = jax.block_until_ready(iteration(s, random.key(i)))
    times, processor = [], []
    while sum(times) < args.seconds or len(times) < 2:
        start, spent = time.perf_counter(), time.process_time()
        s = jax.block_until_ready(iteration(s, random.key(len(times))))
        times.append(time.perf_counter() - start)
        processor.append(time.process_time() - spent)
    if not all(bool(jnp.isfinite(x).all()) for x in tree.tree_leaves(s["member"]["actor"]["params"])):
        raise SystemExit("parameters are not finite")
    return {
        "peer": "jax", "algorithm": "pbt-" + args.algorithm, "population": population, "hidden": args.hidden, "chunk": args.chunk, "devices": args.devices,
        "seconds": statistics.median(times), "samples": tenths(times), "best_seconds": min(times), "cpu_seconds": sum(processor) / len(times), "best_cpu_seconds": min(processor),
        "compile_seconds": compiled, "device": jax.devices()[0].device_kind, "platform": jax.devices()[0].platform,
        "precision": jax.config.jax_default_matmul_precision or "default", "jax": jax.__version__, "flags": os.environ.get("XLA_FLAGS", ""),
    }


for population in args.population:
    result = measure(population)
    if args.json:
        print(json.dumps(result), flush=True)
    else:
        print("%(algorithm)s, %(population)d members: %(seconds).4f s an iteration (best %(best_seconds).4f, processor %(best_cpu_seconds).4f), "
              "compiled in %(compile_seconds).1f s" % result, flush=True)
