"""Measures Gymnasium's SyncVectorEnv and AsyncVectorEnv with random actions: what BenchmarkStep of envs/bridge is to be read beside.

    python -m venv /tmp/gym && /tmp/gym/bin/pip install gymnasium
    /tmp/gym/bin/python tools/peers/vector_env.py --json
    EVORL_BRIDGE_PYTHON=/tmp/gym/bin/python go test -run XXX -bench Step -benchtime 3s ./envs/bridge

Both step as many copies of the environment as --environments names, with an action of each drawn beforehand, and restart episodes in the same step. SyncVectorEnv
is one process, AsyncVectorEnv one for every environment; evorl's bridge has --processes of BenchmarkStep, 2. The best of --runs runs counts. Run them in turns on
a machine that does nothing else.
"""

import argparse
import json
import time

import gymnasium
import numpy as np


def measure(vector, steps):
    """Returns the seconds that the steps take."""
    vector.reset(seed=0)
    single = vector.single_action_space
    actions = [np.array([single.sample() for _ in range(vector.num_envs)]) for _ in range(64)]
    for k in range(min(steps, 64)):
        vector.step(actions[k])
    begin = time.perf_counter()
    for k in range(steps):
        vector.step(actions[k % len(actions)])
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", default="CartPole-v1")
    parser.add_argument("--environments", type=int, nargs="+", default=[8, 64])
    parser.add_argument("--steps", type=int, default=2000, help="steps of all environments")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    mode = gymnasium.vector.AutoresetMode.SAME_STEP
    rows = []
    for n in args.environments:
        for name, kind in (("sync", gymnasium.vector.SyncVectorEnv), ("async", gymnasium.vector.AsyncVectorEnv)):
            best = float("inf")
            for _ in range(args.runs):
                vector = kind([lambda: gymnasium.make(args.env)] * n, autoreset_mode=mode)
                vector.single_action_space.seed(0)
                best = min(best, measure(vector, args.steps))
                vector.close()
            row = {"env": args.env, "vector": name, "environments": n, "steps_per_second": round(n * args.steps / best),
                   "microseconds_per_step": round(1e6 * best / args.steps, 1)}
            rows.append(row)
            if not args.json:
                print("%(env)s %(vector)-5s %(environments)4d environments: %(steps_per_second)8d steps/s, %(microseconds_per_step)8.1f us a step of all" % row)
    if args.json:
        print(json.dumps({"gymnasium": gymnasium.__version__, "rows": rows}))


if __name__ == "__main__":
    main()
