#!/usr/bin/env python3
"""The peer that evorl's SimpleSpread is timed against: JaxMARL's world, alone and with independent PPO, in one jit.

    python -m venv /tmp/jaxmarl && /tmp/jaxmarl/bin/pip install jax jaxmarl==0.2.0
    /tmp/jaxmarl/bin/python tools/peers/spread_jaxmarl.py train --json
    /tmp/jaxmarl/bin/python tools/peers/spread_jaxmarl.py worlds --worlds 4096 --json

Counterparts: `evorl bench --suite agents --only ppo/spread`, and `--only 'spread/*'`.

The world is JaxMARL's MPE_simple_spread_v3 itself (A. Rutherford et al. 2024, github.com/FLAIROx/JaxMARL): three agents, three landmarks, 18 observations, five
actions. What is equal to configs/simple-spread-ippo.toml, which has JaxMARL's settings: 16 worlds of 128 steps an iteration, one policy for all agents, actor
and critic of two layers of 64 with tanh, orthogonal weights, 4 epochs of 4 minibatches of 1536, discount .99, lambda .95, clip .2 of ratios and values, entropy
.01, value weight .5, gradient norm .5, Adam with a rate of 2.5e-4 that falls to 0. The program has the shape of JaxMARL's ippo_ff_mpe.py, and the code is ours:
the training is one jitted scan, the agents of all worlds are one batch, a minibatch is a gather by a permutation.

What differs: an episode has 26 steps there and 25 here; the end of time counts as an end there, and is bootstrapped here. Nothing is sent to the host during
training, where JaxMARL logs once an iteration, which is to its advantage. A step in the figures is one of an agent: three a step of the world, as in evorl's.
"return" is an agent's mean return in the first and the last iteration.
"""

import argparse
import json
import os
import sys
import time

WORLDS, LENGTH, EPOCHS, MINIBATCHES = 16, 128, 4, 4
HIDDEN, OBSERVATIONS, ACTIONS, AGENTS = 64, 18, 5, 3
DISCOUNT, GAE_LAMBDA, CLIP_EPSILON, VALUE_WEIGHT, ENTROPY_WEIGHT = 0.99, 0.95, 0.2, 0.5, 0.01
LEARNING_RATE, MAX_GRAD_NORM = 2.5e-4, 0.5
ADAM_BETA1, ADAM_BETA2, ADAM_EPSILON = 0.9, 0.999, 1e-5


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("what", choices=("train", "worlds"), help="train: IPPO; worlds: random actions")
    p.add_argument("--iterations", type=int, default=50, help="iterations that are timed (default 50)")
    p.add_argument("--worlds", type=int, default=4096, help="worlds with random actions (default 4096); training has %d" % WORLDS)
    p.add_argument("--steps", type=int, default=128, help="steps of each world in an iteration of random actions (default 128)")
    p.add_argument("--anneal-iterations", type=int, default=4882, help="iterations over which the learning rate falls to 0")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--json", action="store_true", help="print one JSON object")
    a = p.parse_args()
    for name in ("iterations", "worlds", "steps", "anneal_iterations"):
        if getattr(a, name) < 1:
            p.error("--%s must be at least 1, not %d" % (name.replace("_", "-"), getattr(a, name)))
    return a


def initial_params(numpy, seed):
    """Orthogonal weights and zero biases."""
    rng = numpy.random.default_rng(seed)

    def orthogonal(rows, columns, scale):
        q, r = numpy.linalg.qr(rng.standard_normal((max(rows, columns), min(rows, columns))))
        q *= numpy.sign(numpy.diagonal(r))
        return (scale * (q if rows >= columns else q.T)).astype(numpy.float32)

    def mlp(outputs, scale):
        layers = [(OBSERVATIONS, HIDDEN, 2**0.5), (HIDDEN, HIDDEN, 2**0.5), (HIDDEN, outputs, scale)]
        return [(orthogonal(i, o, s), numpy.zeros(o, numpy.float32)) for i, o, s in layers]

    return {"actor": mlp(ACTIONS, 0.01), "critic": mlp(1, 1.0)}


class Worlds:
    """JaxMARL's worlds as one batch: observations [agents · worlds, 18], agents first as in its baselines."""

    def __init__(self, jax, jnp, count):
        import jaxmarl

        self.env = jaxmarl.make("MPE_simple_spread_v3")
        self.jax, self.jnp, self.count, self.names = jax, jnp, count, self.env.agents
        if len(self.names) != AGENTS or self.env.observation_space(self.names[0]).shape != (OBSERVATIONS,):
            sys.exit("jaxmarl's simple_spread is another one; want %d agents with %d observations" % (AGENTS, OBSERVATIONS))

    def flat(self, x):
        return self.jnp.stack([x[a] for a in self.names]).reshape(AGENTS * self.count, -1)

    def reset(self, key):
        obs, state = self.jax.vmap(self.env.reset)(self.jax.random.split(key, self.count))
        return self.flat(obs), state

    def step(self, key, state, action):
        """Steps all worlds, which begin again by themselves: action [agents · worlds] int32."""
        by_name = {a: x for a, x in zip(self.names, action.reshape(AGENTS, self.count))}
        obs, state, reward, done, _ = self.jax.vmap(self.env.step)(self.jax.random.split(key, self.count), state, by_name)
        return self.flat(obs), state, self.flat(reward)[:, 0], self.flat(done)[:, 0].astype(self.jnp.float32)


def make_train(jax, jnp, worlds, iterations, anneal):
    """train(params, key) -> the mean return of an agent in the episodes that ended in each iteration, and the trained parameters."""
    lax, tree = jax.lax, jax.tree_util
    batch = AGENTS * WORLDS * LENGTH

    def mlp(layers, x):
        for w, b in layers[:-1]:
            x = jnp.tanh(x @ w + b)
        w, b = layers[-1]
        return x @ w + b

    def log_prob_of(logits, action):
        log_probs = jax.nn.log_softmax(logits)
        return log_probs, jnp.take_along_axis(log_probs, action[:, None], 1)[:, 0]

    def loss(params, rows):
        obs, action, old_log_prob, old_value, advantage, target = rows
        log_probs, log_prob = log_prob_of(mlp(params["actor"], obs), action)
        ratio = jnp.exp(log_prob - old_log_prob)
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        actor_loss = -jnp.minimum(ratio * advantage, jnp.clip(ratio, 1 - CLIP_EPSILON, 1 + CLIP_EPSILON) * advantage).mean()
        value = mlp(params["critic"], obs)[:, 0]
        value_clipped = old_value + jnp.clip(value - old_value, -CLIP_EPSILON, CLIP_EPSILON)
        value_loss = 0.5 * jnp.maximum((value - target) ** 2, (value_clipped - target) ** 2).mean()
        entropy = -(jnp.exp(log_probs) * log_probs).sum(1).mean()
        return actor_loss + VALUE_WEIGHT * value_loss - ENTROPY_WEIGHT * entropy

    def adam(params, grads, m, v, count):
        norm = jnp.sqrt(sum(jnp.vdot(g, g) for g in tree.tree_leaves(grads)))
        scale = jnp.minimum(1.0, MAX_GRAD_NORM / norm)
        rate = LEARNING_RATE * (1 - (count // (EPOCHS * MINIBATCHES)) / anneal)
        t = count + 1
        c1, c2 = 1 - ADAM_BETA1**t, 1 - ADAM_BETA2**t
        m = tree.tree_map(lambda m, g: ADAM_BETA1 * m + (1 - ADAM_BETA1) * scale * g, m, grads)
        v = tree.tree_map(lambda v, g: ADAM_BETA2 * v + (1 - ADAM_BETA2) * (scale * g) ** 2, v, grads)
        params = tree.tree_map(lambda p, m, v: p - rate * (m / c1) / (jnp.sqrt(v / c2) + ADAM_EPSILON), params, m, v)
        return params, m, v, t

    def iteration(carry, _):
        params, m, v, count, state, obs, returns, key = carry

        def act(now, _):
            state, obs, returns, key = now
            key, k_action, k_step = jax.random.split(key, 3)
            logits, value = mlp(params["actor"], obs), mlp(params["critic"], obs)[:, 0]
            action = jax.random.categorical(k_action, logits)
            _, log_prob = log_prob_of(logits, action)
            next_obs, state, reward, done = worlds.step(k_step, state, action)
            returns = returns + reward
            return (state, next_obs, returns * (1 - done), key), (obs, action, log_prob, value, reward, done, returns)

        (state, obs, returns, key), (o, a, lp, value, reward, done, finished) = lax.scan(act, (state, obs, returns, key), length=LENGTH)
        last = mlp(params["critic"], obs)[:, 0]

        def back(carry, now):
            advantage, next_value = carry
            value, reward, done = now
            delta = reward + DISCOUNT * next_value * (1 - done) - value
            advantage = delta + DISCOUNT * GAE_LAMBDA * (1 - done) * advantage
            return (advantage, value), advantage

        _, advantage = lax.scan(back, (jnp.zeros_like(last), last), (value, reward, done), reverse=True, unroll=8)
        rows = tree.tree_map(lambda x: x.reshape(batch, *x.shape[2:]), (o, a, lp, value, advantage, advantage + value))

        def epoch(learner, key):
            order = jax.random.permutation(key, batch).reshape(MINIBATCHES, -1)

            def minibatch(learner, index):
                params, m, v, count = learner
                grads = jax.grad(loss)(params, tree.tree_map(lambda x: x[index], rows))
                return adam(params, grads, m, v, count), None

            return lax.scan(minibatch, learner, order)[0], None

        key, k_epochs = jax.random.split(key)
        learner, _ = lax.scan(epoch, (params, m, v, count), jax.random.split(k_epochs, EPOCHS))
        mean = (finished * done).sum() / jnp.maximum(done.sum(), 1)
        return (*learner, state, obs, returns, key), mean

    def train(params, key):
        k_reset, key = jax.random.split(key)
        obs, state = worlds.reset(k_reset)
        zeros = tree.tree_map(jnp.zeros_like, params)
        carry = (params, zeros, zeros, jnp.int32(0), state, obs, jnp.zeros(AGENTS * WORLDS), key)
        carry, means = lax.scan(iteration, carry, length=iterations)
        return means, carry[0]

    return train


def make_worlds(jax, jnp, worlds, iterations, steps):
    """run(key) -> the sum of rewards of random actions, which keeps XLA from leaving the steps out."""

    def run(key):
        k_reset, key = jax.random.split(key)
        obs, state = worlds.reset(k_reset)

        def step(carry, _):
            state, total, key = carry
            key, k_action, k_step = jax.random.split(key, 3)
            action = jax.random.randint(k_action, (AGENTS * worlds.count,), 0, ACTIONS)
            obs, state, reward, _ = worlds.step(k_step, state, action)
            return (state, total + reward.sum() + 1e-9 * obs.sum(), key), None

        return jax.lax.scan(step, (state, jnp.float32(0) + 0 * obs.sum(), key), length=iterations * steps)[0][1]

    return run


def main():
    a = parse_arguments()
    import jax
    import jax.numpy as jnp
    import numpy

    key = jax.random.key(a.seed)
    if a.what == "train":
        worlds = Worlds(jax, jnp, WORLDS)
        run, inputs = make_train(jax, jnp, worlds, a.iterations, a.anneal_iterations), (initial_params(numpy, a.seed), key)
        steps = AGENTS * WORLDS * LENGTH * a.iterations
    else:
        worlds = Worlds(jax, jnp, a.worlds)
        run, inputs = make_worlds(jax, jnp, worlds, a.iterations, a.steps), (key,)
        steps = AGENTS * a.worlds * a.steps * a.iterations
    begin = time.time()
    compiled = jax.jit(run).lower(*inputs).compile()
    ready = time.time()
    out = jax.block_until_ready(compiled(*inputs))
    seconds, cpu = time.time() - ready, time.process_time()
    result = {
        "what": a.what,
        "worlds": worlds.count,
        "iterations": a.iterations,
        "agent_steps": steps,
        "agent_steps_per_second": round(steps / seconds, 1),
        "world_steps_per_second": round(steps / AGENTS / seconds, 1),
        "seconds": round(seconds, 3),
        "compile_seconds": round(ready - begin, 3),
        "cpu_seconds": round(cpu, 3),
        "return": [round(float(out[0][i]), 3) for i in (0, -1)] if a.what == "train" else round(float(out), 3),
        "load_average": round(os.getloadavg()[0], 2),
        "device": jax.devices()[0].device_kind,
        "jax": jax.__version__,
        "python": "%d.%d.%d" % sys.version_info[:3],
    }
    if a.json:
        print(json.dumps(result))
    else:
        for k, v in result.items():
            print("%-24s %s" % (k, v))


if __name__ == "__main__":
    main()
