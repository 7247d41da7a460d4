#!/usr/bin/env python3
"""The peer that evorl's generations on WaterWorld are timed against: EvoJAX's task, network and PGPE.

    python -m venv /tmp/evojax && /tmp/evojax/bin/pip install jax flax pillow evojax==0.2.17
    /tmp/evojax/bin/python tools/peers/waterworld_evojax.py --generations 3 --json

Counterpart: `evorl bench --suite agents --only pgpe/waterworld`.

The world is EvoJAX's own task file (Y. Tang et al. 2022, github.com/google/evojax), and the update of centre and deviations is its own, too. What is
equal to configs/waterworld-pgpe.toml, which has EvoJAX's settings: 256 candidates in mirrored pairs, 32 episodes each that all begin alike, 500 steps, 152
inputs, one layer of 100 with tanh, four actions, centred ranks, Adam with a rate of .014, a rate of deviations of .088 from .069.

There are two programs. --program library is EvoJAX's, as its users have it: its simulation manager, which keeps all observations of a generation (2.5 GB).
--program jit, the default, is what a competent user would make of the same parts: the episodes of a generation are one jit that keeps no observations, chunks
of candidates one after the other so that they stay in the cache (--chunk; 0: all at once).

What differs: EvoJAX draws actions from the softmax of the outputs, and evorl takes the most likely action, which saves it a random number a step. The first
generation compiles and is not timed.
"""

import argparse
import json
import os
import sys
import time

EPISODES, STEPS, HIDDEN, TEST_EPISODES = 32, 500, 100, 100
LEARNING_RATE, DEVIATION_RATE, INIT_STD = 0.014, 0.088, 0.069


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--program", choices=("jit", "library"), default="jit")
    p.add_argument("--generations", type=int, default=3, help="generations that are timed (default 3)")
    p.add_argument("--population", type=int, default=256)
    p.add_argument("--episodes", type=int, default=EPISODES)
    p.add_argument("--steps", type=int, default=STEPS)
    p.add_argument("--chunk", type=int, default=8, help="candidates at once in the jit program (default 8); 0: all")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--json", action="store_true", help="print one JSON object")
    a = p.parse_args()
    for name in ("generations", "population", "episodes", "steps"):
        if getattr(a, name) < 1:
            p.error("--%s must be at least 1, not %d" % (name, getattr(a, name)))
    if a.population % 2:
        p.error("--population must be even, for pairs, not %d" % a.population)
    if a.program == "jit" and (a.chunk < 0 or a.chunk and a.population % a.chunk):
        p.error("--chunk must be 0 or divide the population of %d, not %d" % (a.population, a.chunk))
    return a


def library(task, policy, solver, a):
    """A generation by EvoJAX's simulation manager, as in its trainer."""
    from evojax.sim_mgr import SimManager

    manager = SimManager(
        n_repeats=a.episodes, test_n_repeats=1, pop_size=a.population, n_evaluations=TEST_EPISODES, policy_net=policy, train_vec_task=task, valid_vec_task=task,
        seed=a.seed,
    )
    return lambda params: manager.eval_params(params=params, test=False)[0]


def jitted(jax, jnp, task, policy, a):
    """A generation's episodes in one jit, chunks of candidates one after the other."""
    chunk = a.chunk or a.population

    def returns(params, keys):
        state = task.reset(jnp.tile(keys, (chunk, 1)))
        rows = jnp.repeat(params, a.episodes, axis=0)

        def step(carry, _):
            state, policy_state, total = carry
            action, policy_state = policy.get_actions(state, rows, policy_state)
            state, reward, _ = task.step(state, action)
            return (state, policy_state, total + reward), None

        first = (state, policy.reset(state), jnp.zeros(chunk * a.episodes))
        total = jax.lax.scan(step, first, length=a.steps)[0][2]  # no episode ends before its time
        return total.reshape(chunk, a.episodes).mean(1)

    @jax.jit
    def fitness(params, key):
        keys = jax.random.split(key, a.episodes)
        if chunk == a.population:
            return returns(params, keys)
        return jax.lax.map(lambda p: returns(p, keys), params.reshape(-1, chunk, params.shape[1])).reshape(-1)

    key = [jax.random.PRNGKey(a.seed)]

    def evaluate(params):
        key[0], now = jax.random.split(key[0])
        return fitness(params, now)

    return evaluate


def main():
    a = parse_arguments()
    import jax
    import jax.numpy as jnp
    from evojax.algo import PGPE
    from evojax.policy import MLPPolicy
    from evojax.task.waterworld import WaterWorld

    task = WaterWorld(test=False, max_steps=a.steps)
    policy = MLPPolicy(input_dim=task.obs_shape[0], hidden_dims=[HIDDEN], output_dim=task.act_shape[0], output_act_fn="softmax")
    if policy.num_params != 15704:
        sys.exit("EvoJAX's policy has %d parameters; want 15704, which evorl's has" % policy.num_params)
    solver = PGPE(
        pop_size=a.population, param_size=policy.num_params, optimizer="adam", center_learning_rate=LEARNING_RATE, stdev_learning_rate=DEVIATION_RATE,
        init_stdev=INIT_STD, seed=a.seed,
    )
    evaluate = library(task, policy, solver, a) if a.program == "library" else jitted(jax, jnp, task, policy, a)

    def generation():
        fitness = evaluate(solver.ask())
        solver.tell(fitness=fitness)
        return float(jax.block_until_ready(fitness).mean()), jax.block_until_ready(solver.best_params)

    begin = time.time()
    generation()
    ready = time.time()
    for _ in range(a.generations):
        mean, _ = generation()
    seconds = (time.time() - ready) / a.generations
    result = {
        "program": a.program,
        "population": a.population,
        "episodes": a.episodes,
        "steps": a.steps,
        "chunk": a.chunk if a.program == "jit" else 0,
        "generations": a.generations,
        "seconds_a_generation": round(seconds, 3),
        "env_steps_per_second": round(a.population * a.episodes * a.steps / seconds, 1),
        "first_generation_seconds": round(ready - begin, 3),
        "cpu_seconds": round(time.process_time(), 3),
        "fitness": round(mean, 3),
        "load_average": round(os.getloadavg()[0], 2),
        "device": jax.devices()[0].device_kind,
        "jax": jax.__version__,
        "python": "%d.%d.%d" % sys.version_info[:3],
    }
    if a.json:
        print(json.dumps(result))
    else:
        for k, v in result.items():
            print("%-26s %s" % (k, v))


if __name__ == "__main__":
    main()
