#!/usr/bin/env python3
"""The peer of `evorl bench --suite placement`: a [64, 64] policy acting in many CartPoles, in JAX.

One jitted lax.scan over steps, in it the policy (two layers of 64, tanh, then logits), a sampled action, and a step of all environments with
a reset where an episode ends: what gymnax does (github.com/RobertTLange/gymnax), whose environments are written the same way; the dynamics are those of
ppo_jax.py beside this file. Nothing is kept of a step but the observation, as there is no trajectory in the suite's cases either. The median of three
runs after a first one counts; compiling is told by itself.

    python tools/peers/acting_jax.py --environments 64 1024 16384 --json

HalfCheetah has no peer here: MJX's (mjx_rollout.py) takes random actions.
"""

import argparse
import json
import statistics
import time

from ppo_jax import RESET_RANGE, env_step, initial_params


def measure(jax, jnp, numpy, environments, steps):
    layers = [(jnp.asarray(w[0]), jnp.asarray(b[0])) for w, b in initial_params(numpy, 1, 1)["actor"]]

    def rollout(layers, state, age, key):
        def step(carry, key):
            state, age = carry
            act, begin = jax.random.split(key)
            x = state
            for w, b in layers[:-1]:
                x = jnp.tanh(x @ w + b)
            w, b = layers[-1]
            action = jax.random.categorical(act, x @ w + b)
            state, age, done = env_step(jnp, state, age, action)
            first = jax.random.uniform(begin, state.shape, minval=-RESET_RANGE, maxval=RESET_RANGE)
            return (jnp.where(done[:, None], first, state), jnp.where(done, 0, age)), done.sum()

        return jax.lax.scan(step, (state, age), jax.random.split(key, steps))

    state = jax.random.uniform(jax.random.PRNGKey(0), (environments, 4), minval=-RESET_RANGE, maxval=RESET_RANGE)
    age = jnp.zeros(environments, jnp.int32)
    begin = time.perf_counter()
    compiled = jax.jit(rollout).lower(layers, state, age, jax.random.PRNGKey(0)).compile()
    compile_seconds = time.perf_counter() - begin
    times = []
    for run in range(4):
        begin = time.perf_counter()
        _, ended = jax.block_until_ready(compiled(layers, state, age, jax.random.PRNGKey(run)))
        times.append(time.perf_counter() - begin)
    times = times[1:]
    return {
        "environments": environments, "steps": steps, "steps_per_second": environments * steps / statistics.median(times),
        "samples": [environments * steps / x for x in times], "compile_seconds": round(compile_seconds, 3),
        "mean_length": environments * steps / max(1, int(ended.sum())),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--environments", type=int, nargs="*", default=[64, 1024, 16384])
    parser.add_argument("--steps", type=int, default=0, help="steps of each environment (default: 2^22 in all)")
    parser.add_argument("--json", action="store_true", help="one line of JSON for each measurement")
    args = parser.parse_args()
    if min(args.environments, default=0) < 1 or args.steps < 0:
        parser.error("want at least one environment and one step")
    import jax
    import jax.numpy as jnp
    import numpy

    device = jax.devices()[0]
    about = {"peer": "JAX", "platform": device.platform, "device": device.device_kind, "jax": jax.__version__,
             "precision": jax.config.jax_default_matmul_precision or "default"}
    for environments in args.environments:
        line = about | measure(jax, jnp, numpy, environments, args.steps or max(64, 2**22 // environments))
        if args.json:
            print(json.dumps(line), flush=True)
        else:
            print("%6d environments %12.0f steps/s, compiled in %.1f s" % (environments, line["steps_per_second"], line["compile_seconds"]), flush=True)


if __name__ == "__main__":
    main()
