#!/usr/bin/env python3
"""The peer that evorl's recurrent PPO is timed against: PPO with a GRU on CartPole-v1 without velocities, in JAX.

The shape is that of PureJaxRL's PPO-RNN (Lu et al. 2022, github.com/luchris429/purejaxrl): one jitted lax.scan over
updates, minibatches of whole trajectories, which are replayed from the memory before their first step, and memory that
an episode's end clears. Networks and settings are those of configs/ppo-rnn-masked-cartpole.toml: for the actor and for
the critic apart a dense layer and a GRU of 64 units each, 32 environments of 128 steps, 4 epochs of 4 minibatches.
With --shared the network is PureJaxRL's own: one dense layer and one GRU of 128 units for both, and behind them a dense
layer of 128 each, all with ReLU (evorl: network.preset=ppo-rnn network.shared=cell). The code is ours, as fast as we
could make it: what does not depend on the memory is one product over all steps, and the GRU's three products by the
memory are one. As in PureJaxRL, the time limit is an end like any other.

    python tools/peers/ppo_rnn_jax.py --updates 20

It prints one line of JSON; the time to compile is apart from the rate.
"""

import argparse
import json
import time

import jax
import jax.numpy as jnp
import optax

from ppo_jax import RESET_RANGE, env_step

NUM_ENVS, NUM_STEPS, EPOCHS, MINIBATCHES, UNITS = 32, 128, 4, 4, 64
BATCH = NUM_ENVS * NUM_STEPS
DISCOUNT, GAE_LAMBDA, CLIP, VALUE_WEIGHT, ENTROPY_WEIGHT = 0.995, 0.95, 0.2, 0.5, 0.003


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--updates", type=int, default=20)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--shared", action="store_true", help="PureJaxRL's network, shared up to the GRU")
    return p.parse_args()


def initial(key, shared):
    """Networks of actor and critic; shared: the actor's has the layers of both."""
    init, k_actor, k_critic = jax.nn.initializers.orthogonal, *jax.random.split(key)
    units = 128 if shared else UNITS

    def network(key):
        k = jax.random.split(key, 3)
        return {
            "dense": (init(2**0.5)(k[0], (2, units)), jnp.zeros(units)),
            "inputs": (init(1.0)(k[1], (units, 3 * units)), jnp.zeros(3 * units)),
            "memory": (init(1.0)(k[2], (units, 3 * units)), jnp.zeros(units)),
        }

    def head(key, outputs, gain):
        k = jax.random.split(key)
        layers = {"output": (init(gain)(k[0], (units, outputs)), jnp.zeros(outputs))}
        if shared:
            layers["behind"] = (init(2**0.5)(k[1], (units, units)), jnp.zeros(units))
        return layers

    actor, critic = network(k_actor), {} if shared else network(k_critic)
    k_actor, k_critic = jax.random.fold_in(k_actor, 1), jax.random.fold_in(k_critic, 1)
    return {"actor": actor | head(k_actor, 2, 0.01), "critic": critic | head(k_critic, 1, 1.0)}


def cell(net, memory, gates):
    """One step of the GRU: gates [B, 3 H] of the inputs, the reset, update and new gate's."""
    u, b = net["memory"]
    units = memory.shape[-1]
    product = memory @ u
    r = jax.nn.sigmoid(gates[:, :units] + product[:, :units])
    z = jax.nn.sigmoid(gates[:, units : 2 * units] + product[:, units : 2 * units])
    new = jnp.tanh(gates[:, 2 * units :] + r * (product[:, 2 * units :] + b))
    return (1 - z) * new + z * memory


def before(net, obs):
    (w, b), (v, c) = net["dense"], net["inputs"]
    hidden = obs @ w + b
    return (jax.nn.relu(hidden) if w.shape[1] > UNITS else jnp.tanh(hidden)) @ v + c


def after(net, memory):
    if "behind" in net:
        w, b = net["behind"]
        memory = jax.nn.relu(memory @ w + b)
    w, b = net["output"]
    return memory @ w + b


def sequence(net, memory, obs, begins):
    """Memories of trajectories obs [T, B, 2], the last and all, from memory [B, H]; begins [T, B] says where episodes begin."""

    def step(memory, now):
        gates, begins = now
        memory = cell(net, jnp.where(begins[:, None], 0.0, memory), gates)
        return memory, memory

    return jax.lax.scan(step, memory, (before(net, obs), begins))


def both(weights, memory, obs, begins):
    """Memories (actor's and critic's, or one for both) after trajectories obs [T, B, 2], and the logits and values of all steps."""
    ends, outputs = [], []
    for net, first in zip((weights["actor"], weights["critic"]), memory):
        last, memories = sequence(net, first, obs, begins)
        ends.append(last)
        outputs.append(memories)
    return tuple(ends), after(weights["actor"], outputs[0]), after(weights["critic"], outputs[-1])[..., 0]


def training(updates, shared):
    rates = optax.linear_schedule(1e-3, 0.0, 1_000_000 // BATCH * EPOCHS * MINIBATCHES)
    optimizer = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(rates, eps=1e-5))

    def loss(weights, batch):
        (obs, begins, action, old_log_prob, old_value, advantage, target), memory = batch
        _, logits, value = both(weights, memory, obs, begins)
        log_probs = jax.nn.log_softmax(logits)
        log_prob = jnp.where(action == 1, log_probs[..., 1], log_probs[..., 0])
        ratio = jnp.exp(log_prob - old_log_prob)
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        policy = -jnp.minimum(ratio * advantage, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * advantage).mean()
        clipped = old_value + jnp.clip(value - old_value, -CLIP, CLIP)
        error = 0.5 * jnp.maximum((value - target) ** 2, (clipped - target) ** 2).mean()
        entropy = -(jnp.exp(log_probs) * log_probs).sum(-1).mean()
        return policy + VALUE_WEIGHT * error - ENTROPY_WEIGHT * entropy

    def update(carry, key):
        weights, opt, env, memory = carry
        k_noise, k_fresh, k_order = jax.random.split(key, 3)
        first = memory

        def step(carry, random):
            (state, age, returns, begins), actor = carry
            uniform, fresh = random
            obs = state[:, ::2]  # position and angle
            actor = cell(weights["actor"], jnp.where(begins[:, None], 0.0, actor), before(weights["actor"], obs))
            logits = after(weights["actor"], actor)
            action = (uniform < jax.nn.sigmoid(logits[:, 1] - logits[:, 0])).astype(jnp.float32)
            log_probs = jax.nn.log_softmax(logits)
            log_prob = jnp.where(action == 1, log_probs[:, 1], log_probs[:, 0])
            state, age, done = env_step(jnp, state, age, action)
            returns = returns + 1.0
            out = (obs, begins, action, log_prob, done, returns)
            env = (jnp.where(done[:, None], fresh, state), jnp.where(done, 0, age), jnp.where(done, 0.0, returns), done)
            return (env, actor), out

        noise = jax.random.uniform(k_noise, (NUM_STEPS, NUM_ENVS))
        fresh = jax.random.uniform(k_fresh, (NUM_STEPS, NUM_ENVS, 4), minval=-RESET_RANGE, maxval=RESET_RANGE)
        (env, actor), (obs, begins, action, log_prob, done, returns) = jax.lax.scan(step, (env, memory[0]), (noise, fresh))
        # The critic does not act: one pass over the trajectory, and one step ahead. XLA leaves out the logits, which nothing reads.
        memory, _, values = both(weights, memory, obs, begins)
        last = both(weights, memory, env[0][None, :, ::2], env[3][None])[2][0]
        done_f = done.astype(jnp.float32)

        def gae(carry, now):
            advantage, following = carry
            value, done = now
            delta = 1.0 + DISCOUNT * following * (1 - done) - value
            advantage = delta + DISCOUNT * GAE_LAMBDA * (1 - done) * advantage
            return (advantage, value), advantage

        _, advantage = jax.lax.scan(gae, (jnp.zeros(NUM_ENVS), last), (values, done_f), reverse=True)
        data = (obs, begins, action, log_prob, values, advantage, advantage + values)

        def minibatch(learner, environments):
            weights, opt = learner
            batch = jax.tree.map(lambda x: x[:, environments], data), jax.tree.map(lambda x: x[environments], first)
            steps, opt = optimizer.update(jax.grad(loss)(weights, batch), opt, weights)
            return (optax.apply_updates(weights, steps), opt), None

        order = jax.vmap(lambda k: jax.random.permutation(k, NUM_ENVS))(jax.random.split(k_order, EPOCHS)).reshape(EPOCHS * MINIBATCHES, -1)
        (weights, opt), _ = jax.lax.scan(minibatch, (weights, opt), order)
        return (weights, opt, env, (actor, *memory[1:])), ((returns * done_f).sum(), done_f.sum())

    def run(key):
        k_init, k_reset, k_run = jax.random.split(key, 3)
        weights = initial(k_init, shared)
        state = jax.random.uniform(k_reset, (NUM_ENVS, 4), minval=-RESET_RANGE, maxval=RESET_RANGE)
        env = (state, jnp.zeros(NUM_ENVS, jnp.int32), jnp.zeros(NUM_ENVS), jnp.ones(NUM_ENVS, bool))
        memory = (jnp.zeros((NUM_ENVS, 128)),) if shared else (jnp.zeros((NUM_ENVS, UNITS)),) * 2
        _, (returns, episodes) = jax.lax.scan(update, (weights, optimizer.init(weights), env, memory), jax.random.split(k_run, updates))
        return returns[-5:].sum() / jnp.maximum(episodes[-5:].sum(), 1)

    return run


def main():
    a = parse_arguments()
    jax.config.update("jax_default_prng_impl", "unsafe_rbg")  # the generator that is cheapest on a processor
    begin = time.time()
    compiled = jax.jit(training(a.updates, a.shared)).lower(jax.random.key(a.seed)).compile()
    ready = time.time()
    result = float(compiled(jax.random.key(a.seed)))
    seconds = time.time() - ready
    steps = a.updates * BATCH
    print(json.dumps({
        "env_steps": steps, "seconds": round(seconds, 2), "compile_seconds": round(ready - begin, 2), "steps_per_second": round(steps / seconds),
        "mean_return": round(result, 2), "device": jax.devices()[0].device_kind, "jax": jax.__version__,
    }))


if __name__ == "__main__":
    main()
