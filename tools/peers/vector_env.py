"""Measures vector environments with random actions: what BenchmarkStep of envs/bridge is to be read beside. Gymnasium's SyncVectorEnv and AsyncVectorEnv:

    python -m venv /tmp/gym && /tmp/gym/bin/pip install gymnasium
    /tmp/gym/bin/python tools/peers/vector_env.py --json
    EVORL_BRIDGE_PYTHON=/tmp/gym/bin/python go test -run XXX -bench 'Step/CartPole' -benchtime 3s ./envs/bridge

Other environments of Gymnasium, with EnvPool's of the same name besides, where it has them:

    /tmp/gym/bin/pip install "gymnasium[box2d,mujoco]" envpool
    /tmp/gym/bin/python tools/peers/vector_env.py --env LunarLander-v3 --envpool --seconds 2 --runs 1 --json
    EVORL_BRIDGE_PYTHON=/tmp/gym/bin/python go test -run XXX -bench 'Step/LunarLander' -benchtime 2s ./envs/bridge

Games of Atari, with ale-py's AtariVectorEnv and EnvPool besides; all take four frames a step, the maximum of the last two, 84 x 84 in grey, no sticky actions and
no end at a lost life. AsyncVectorEnv has Gymnasium's AtariPreprocessing and stacks, in one process for each game; the others have --threads:

    python -m venv /tmp/atari && /tmp/atari/bin/pip install gymnasium ale-py opencv-python-headless envpool envpool-assets
    /tmp/atari/bin/python tools/peers/vector_env.py --atari --env Pong --environments 8 64 --threads 2 --steps 1000 --json
    EVORL_BRIDGE_PYTHON=/tmp/atari/bin/python go test -run XXX -bench 'Step/Pong' -benchtime 5s ./envs/bridge

All step as many copies of the environment as --environments names, with an action of each drawn beforehand, and restart episodes. SyncVectorEnv is one process,
AsyncVectorEnv one for every environment; evorl's bridge has --processes of BenchmarkStep, 2. The best of --runs runs counts. Run them in turns on a machine that
does nothing else.
"""

import argparse
import json
import time

import gymnasium
import numpy as np


def measure(vector, steps, seconds, actions, reset):
    """Returns the seconds that a step takes, the mean of as many as are named or as fit into a time."""
    reset()
    begin = time.perf_counter()
    for k in range(64):
        vector.step(actions[k % len(actions)])
    if seconds:
        steps = max(1, round(64 * seconds / (time.perf_counter() - begin)))
    begin = time.perf_counter()
    for k in range(steps):
        vector.step(actions[k % len(actions)])
    return (time.perf_counter() - begin) / steps


def gymnasium_vector(kind, make, n):
    vector = kind([make] * n, autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP)
    single = vector.single_action_space
    single.seed(0)
    actions = [np.array([single.sample() for _ in range(n)]) for _ in range(64)]
    return vector, actions, lambda: vector.reset(seed=0)


def classic(args):
    """Yields the names of vector environments and what makes n copies."""
    make = lambda: gymnasium.make(args.env)
    for name, kind in (("sync", gymnasium.vector.SyncVectorEnv), ("async", gymnasium.vector.AsyncVectorEnv)):
        yield name, lambda n, kind=kind: gymnasium_vector(kind, make, n)
    if args.envpool:
        yield "envpool", lambda n: pooled(args, n)


def pooled(args, n):
    import envpool

    vector = envpool.make_gymnasium(args.env, num_envs=n, num_threads=min(n, args.threads))
    space = vector.action_space
    space.seed(0)
    return vector, [np.array([space.sample() for _ in range(n)], space.dtype) for _ in range(64)], vector.reset


def atari(args):
    import ale_py
    import envpool
    from ale_py.vector_env import AtariVectorEnv
    from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation

    gymnasium.register_envs(ale_py)
    rng = np.random.default_rng(0)

    def draw(n, count):
        return [rng.integers(0, count, n).astype(np.int32) for _ in range(64)]

    def one():
        game = gymnasium.make("ALE/%s-v5" % args.env, frameskip=1, repeat_action_probability=0)
        return FrameStackObservation(AtariPreprocessing(game), 4)

    def ale(n):
        vector = AtariVectorEnv(args.env.lower(), n, num_threads=min(n, args.threads), use_fire_reset=False, reward_clipping=False)
        return vector, draw(n, vector.single_action_space.n), lambda: vector.reset(seed=0)

    def pool(n):
        vector = envpool.make_gymnasium("%s-v5" % args.env, num_envs=n, num_threads=min(n, args.threads), use_fire_reset=False)
        return vector, draw(n, vector.action_space.n), vector.reset

    yield "async", lambda n: gymnasium_vector(gymnasium.vector.AsyncVectorEnv, one, n)
    yield "ale-py", ale
    yield "envpool", pool


def versions(args):
    names = ["gymnasium"] + (["ale-py", "envpool"] if args.atari else ["mujoco"] if args.env == "Ant-v5" else []) + (["envpool"] if args.envpool else [])
    import importlib.metadata

    return {name: importlib.metadata.version(name) for name in names}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", default="CartPole-v1", help="with --atari a game, such as Pong")
    parser.add_argument("--atari", action="store_true")
    parser.add_argument("--envpool", action="store_true", help="EnvPool as well; --atari has it")
    parser.add_argument("--environments", type=int, nargs="+", default=[8, 64])
    parser.add_argument("--threads", type=int, default=2, help="of ale-py and EnvPool")
    parser.add_argument("--steps", type=int, default=2000, help="steps of all environments")
    parser.add_argument("--seconds", type=float, default=0, help="as many steps as fit into about so many seconds, instead of --steps")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    rows = []
    for n in args.environments:
        for name, make in (atari if args.atari else classic)(args):
            best = float("inf")
            for _ in range(args.runs):
                vector, actions, reset = make(n)
                best = min(best, measure(vector, args.steps, args.seconds, actions, reset))
                vector.close()
            row = {"env": args.env, "vector": name, "environments": n, "steps_per_second": round(n / best), "microseconds_per_step": round(1e6 * best, 1)}
            rows.append(row)
            if not args.json:
                print("%(env)s %(vector)-7s %(environments)4d environments: %(steps_per_second)8d steps/s, %(microseconds_per_step)8.1f us a step of all" % row)
    if args.json:
        print(json.dumps(dict(versions(args), rows=rows)))


if __name__ == "__main__":
    main()
