#!/usr/bin/env python3
"""The peer that evorl's MinAtar is timed against: gymnax's Breakout, stepped at random and learned by PPO, in JAX.

The shape is PureJaxRL's (Lu et al. 2022, github.com/luchris429/purejaxrl): the whole training is one jitted
lax.scan over updates. Network and settings are those of configs/minatar-breakout-ppo.toml: MinAtar's convolution
(3 x 3, 16 channels) and 128 units for an actor and a critic apart, 64 environments of 128 steps, 4 epochs of 8
minibatches, GAE, clipped value loss, gradient-norm clipping, Adam, annealed. The code is ours, the environment is
gymnax's. As there, the time limit is an end like any other.

    python tools/peers/minatar_jax.py --random          # environment steps alone, with random actions
    python tools/peers/minatar_jax.py --updates 20      # learning

It prints one line of JSON; the time to compile is apart from the rate. --environments is for --random.
"""

import argparse
import json
import time

import gymnax
import jax
import jax.numpy as jnp
import optax

NUM_ENVS, NUM_STEPS, EPOCHS, MINIBATCHES = 64, 128, 4, 8
BATCH = NUM_ENVS * NUM_STEPS
DISCOUNT, GAE_LAMBDA, CLIP, VALUE_WEIGHT, ENTROPY_WEIGHT = 0.99, 0.95, 0.2, 0.5, 0.01


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--game", default="Breakout-MinAtar")
    p.add_argument("--random", action="store_true", help="random actions instead of learning")
    p.add_argument("--environments", type=int, default=64)
    p.add_argument("--steps", type=int, default=4000, help="of each environment, with --random")
    p.add_argument("--updates", type=int, default=20)
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


def random_steps(env, params, a):
    """One jitted scan of steps of all environments with random actions, which begin again by themselves."""

    def step(carry, key):
        state, total = carry
        keys = jax.random.split(key, a.environments)
        actions = jax.random.randint(key, (a.environments,), 0, env.num_actions)
        _, state, reward, *_ = jax.vmap(env.step, (0, 0, 0, None))(keys, state, actions, params)
        return (state, total + reward.sum()), None

    def run(key):
        k_reset, k_steps = jax.random.split(key)
        _, state = jax.vmap(env.reset, (0, None))(jax.random.split(k_reset, a.environments), params)
        return jax.lax.scan(step, (state, 0.0), jax.random.split(k_steps, a.steps))[0][1]

    return run, a.environments * a.steps


def initial(key, image, actions):
    """Orthogonal weights: [convolution, dense, output] of the actor and of the critic."""
    height, width, channels = image
    init = jax.nn.initializers.orthogonal

    def network(key, outputs, gain):
        k = jax.random.split(key, 3)
        features = (height - 2) * (width - 2) * 16
        return [
            (init(2**0.5)(k[0], (9 * channels, 16)).reshape(3, 3, channels, 16), jnp.zeros(16)),
            (init(2**0.5)(k[1], (features, 128)), jnp.zeros(128)),
            (init(gain)(k[2], (128, outputs)), jnp.zeros(outputs)),
        ]

    k_actor, k_critic = jax.random.split(key)
    return {"actor": network(k_actor, actions, 0.01), "critic": network(k_critic, 1, 1.0)}


def network(layers, x):
    (w, b), (w1, b1), (w2, b2) = layers
    if jax.default_backend() == "cpu":  # XLA's gradients of convolutions are many times slower there than a product of patches
        rows, columns = x.shape[1] - 2, x.shape[2] - 2
        patches = jnp.concatenate([x[:, i : i + rows, j : j + columns] for i in range(3) for j in range(3)], 3)
        x = patches @ w.reshape(-1, w.shape[3])
    else:
        x = jax.lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    x = jax.nn.relu(x + b).reshape(x.shape[0], -1)
    return jax.nn.relu(x @ w1 + b1) @ w2 + b2


def learning(env, params, a):
    image = env.observation_space(params).shape
    rates = optax.linear_schedule(1e-3, 0.0, 10_000_000 // BATCH * EPOCHS * MINIBATCHES)
    optimizer = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(rates, eps=1e-5))

    def loss(weights, batch):
        obs, action, old_log_prob, old_value, advantage, target = batch
        log_probs = jax.nn.log_softmax(network(weights["actor"], obs.astype(jnp.float32)))
        log_prob = jnp.take_along_axis(log_probs, action[:, None], 1)[:, 0]
        ratio = jnp.exp(log_prob - old_log_prob)
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        actor = -jnp.minimum(ratio * advantage, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * advantage).mean()
        value = network(weights["critic"], obs.astype(jnp.float32))[:, 0]
        clipped = old_value + jnp.clip(value - old_value, -CLIP, CLIP)
        critic = 0.5 * jnp.maximum((value - target) ** 2, (clipped - target) ** 2).mean()
        entropy = -(jnp.exp(log_probs) * log_probs).sum(1).mean()
        return actor + VALUE_WEIGHT * critic - ENTROPY_WEIGHT * entropy

    def act(weights, carry, key):
        obs, state, returns = carry
        k_act, k_step = jax.random.split(key)
        logits = network(weights["actor"], obs.astype(jnp.float32))
        action = jax.random.categorical(k_act, logits)
        log_prob = jnp.take_along_axis(jax.nn.log_softmax(logits), action[:, None], 1)[:, 0]
        after, state, reward, terminated, truncated, _ = jax.vmap(env.step, (0, 0, 0, None))(jax.random.split(k_step, NUM_ENVS), state, action, params)
        done = terminated | truncated
        returns = returns + reward
        return (after, state, jnp.where(done, 0.0, returns)), (obs, action, log_prob, reward, done, returns)

    def update(carry, key):
        weights, opt, env_carry = carry
        k_act, k_order = jax.random.split(key)
        env_carry, (obs, action, log_prob, reward, done, returns) = jax.lax.scan(
            lambda c, k: act(weights, c, k), env_carry, jax.random.split(k_act, NUM_STEPS)
        )
        # The critic does not act: one pass over the whole trajectory is cheaper than one a step.
        seen = jnp.concatenate([obs, env_carry[0][None]]).reshape(-1, *image)
        values = network(weights["critic"], seen.astype(jnp.float32))[:, 0].reshape(NUM_STEPS + 1, NUM_ENVS)

        def gae(carry, now):
            advantage, following = carry
            value, reward, done = now
            delta = reward + DISCOUNT * following * (1 - done) - value
            advantage = delta + DISCOUNT * GAE_LAMBDA * (1 - done) * advantage
            return (advantage, value), advantage

        _, advantage = jax.lax.scan(gae, (jnp.zeros(NUM_ENVS), values[-1]), (values[:-1], reward, done), reverse=True)
        data = (obs, action, log_prob, values[:-1], advantage, advantage + values[:-1])
        data = jax.tree.map(lambda x: x.reshape(BATCH, *x.shape[2:]), data)

        def minibatch(learner, rows):
            weights, opt = learner
            grads = jax.grad(loss)(weights, jax.tree.map(lambda x: x[rows], data))
            steps, opt = optimizer.update(grads, opt, weights)
            return (optax.apply_updates(weights, steps), opt), None

        order = jax.vmap(lambda k: jax.random.permutation(k, BATCH))(jax.random.split(k_order, EPOCHS)).reshape(EPOCHS * MINIBATCHES, -1)
        (weights, opt), _ = jax.lax.scan(minibatch, (weights, opt), order)
        return (weights, opt, env_carry), ((returns * done).sum(), done.sum())

    def run(key):
        k_init, k_reset, k_run = jax.random.split(key, 3)
        weights = initial(k_init, image, env.num_actions)
        obs, state = jax.vmap(env.reset, (0, None))(jax.random.split(k_reset, NUM_ENVS), params)
        carry = (weights, optimizer.init(weights), (obs, state, jnp.zeros(NUM_ENVS)))
        (weights, _, _), (returns, episodes) = jax.lax.scan(update, carry, jax.random.split(k_run, a.updates))
        return returns[-5:].sum() / jnp.maximum(episodes[-5:].sum(), 1)

    return run, a.updates * BATCH


def main():
    a = parse_arguments()
    jax.config.update("jax_default_prng_impl", "unsafe_rbg")  # the generator that is cheapest on a processor
    env, params = gymnax.make(a.game)
    run, steps = (random_steps if a.random else learning)(env, params, a)
    begin = time.time()
    compiled = jax.jit(run).lower(jax.random.key(a.seed)).compile()
    ready = time.time()
    result = float(compiled(jax.random.key(a.seed)))
    seconds = time.time() - ready
    print(json.dumps({
        "game": a.game, "what": "random" if a.random else "ppo", "env_steps": steps, "seconds": round(seconds, 2), "compile_seconds": round(ready - begin, 2),
        "steps_per_second": round(steps / seconds), "mean_return": None if a.random else round(result, 2), "device": jax.devices()[0].device_kind, "jax": jax.__version__,
    }))


if __name__ == "__main__":
    main()
