"""Records episodes of JaxMARL's Overcooked, which TestOvercooked replays.

    python -m venv /tmp/jaxmarl && /tmp/jaxmarl/bin/pip install jax chex flax jaxtyping && /tmp/jaxmarl/bin/pip install --no-deps jaxmarl==0.2.0
    /tmp/jaxmarl/bin/python tools/reference/overcooked.py --out envs/testdata

OvercookedCrampedRoom-v0.npz has whole episodes of random actions in the layout cramped_room; all but the first begin with what the package draws for hands, places and
the pot. Observations are read from the package's 26 maps. Rows and steps as in mpe.py:

    meta     uint8 [..]           JSON: environment, source, how often what paid
    start    int32 [N + 1]        first row of each episode
    state    float32 [rows, 18]    as in shaders/envs/overcooked.glsl
    obs      float32 [rows, 94]   of both cooks
    action   uint8 [steps, 2]
    reward   uint8 [steps, 2]
    steady   int32 [N]            steps of each episode: all
"""

import argparse
import importlib.metadata
import json
import pathlib
import warnings

import jax
import numpy as np

warnings.filterwarnings("ignore")
from jaxmarl.environments.overcooked.common import OBJECT_TO_INDEX  # noqa: E402
from jaxmarl.environments.overcooked.overcooked import Overcooked  # noqa: E402

THINGS = [OBJECT_TO_INDEX[name] for name in ("empty", "onion", "plate", "dish")]
COUNTERS = [(0, 1), (0, 3), (2, 0), (2, 4), (3, 2)]
POT = (0, 2)
EPISODES = 8


def maps(state):
    pad = (state.maze_map.shape[0] - 4) // 2
    return np.asarray(state.maze_map)[pad : pad + 4, pad : pad + 5]


def state_of(state, worth):
    table = maps(state)
    pot = int(table[POT][2])
    out = []
    for (x, y), facing, held in zip(np.asarray(state.agent_pos), state.agent_dir_idx, state.agent_inv):
        out += [int(y), int(x), int(facing), THINGS.index(int(held))]
    out += [min(23 - pot, 3), pot if pot <= 20 else 0]
    for c in COUNTERS:
        thing = int(table[c][0])
        out.append(THINGS.index(thing) if thing in THINGS else 0)
    return out + [int(w) for w in worth] + [int(state.step)]


def things(seen, at):
    """An onion, a plate or a soup at a place of the package's maps."""
    return [float(seen[at][23]), float(seen[at][22]), float(seen[at][21])]


def obs_of(seen):
    out = []
    for who in range(2):
        at = tuple(np.argwhere(seen[..., who])[0])
        out += [float(3 * (at[0] - 1) + at[1] - 1 == i) for i in range(6)]
        out += [float(seen[at][2 + 4 * who + i]) for i in range(4)]
        out += things(seen, at)
    pot = seen[POT]
    onions = int(pot[16]) + int(pot[18])
    out += [float(onions == i + 1) for i in range(3)] + [float(pot[20]) / 20, float(pot[21])]
    for c in COUNTERS:
        out += things(seen, c)
    return out + [float(seen[0, 0, 25])]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, required=True)
    args = parser.parse_args()
    dice, steps = np.random.default_rng(3), 400
    start, state, obs, action, reward = [0], [], [], [], []
    paid = {}

    def row(seen, world, worth):
        state.append(state_of(world, worth))
        obs.append(sum((obs_of(np.asarray(seen[f"agent_{a}"], np.float32)) for a in range(2)), []))

    for episode in range(EPISODES):
        env = Overcooked(random_reset=episode > 0)
        step = jax.jit(env.step_env)
        seen, world = env.reset(jax.random.PRNGKey(episode))
        row(seen, world, (0, 0))
        for _ in range(steps):
            act = [int(a) for a in dice.choice(6, 2, p=[0.13, 0.13, 0.13, 0.13, 0.04, 0.44])]
            seen, world, pay, _, info = step(jax.random.PRNGKey(0), world, {f"agent_{a}": act[a] for a in range(2)})
            worth = [float(info["shaped_reward"][f"agent_{a}"]) for a in range(2)]
            for w in worth + [float(pay["agent_0"])]:
                paid[w] = paid.get(w, 0) + 1
            action.append(act)
            reward.append([float(pay[f"agent_{a}"]) for a in range(2)])
            row(seen, world, worth)
        start.append(len(state))
    meta = {"environment": "OvercookedCrampedRoom-v0", "source": "jaxmarl " + importlib.metadata.version("jaxmarl"), "paid": paid}
    print(meta)
    np.savez_compressed(
        args.out / "OvercookedCrampedRoom-v0.npz", meta=np.frombuffer(json.dumps(meta).encode(), np.uint8), start=np.array(start, np.int32),
        state=np.array(state, np.float32), obs=np.array(obs, np.float32), action=np.array(action, np.uint8), reward=np.array(reward, np.uint8),
        steady=np.full(EPISODES, steps, np.int32),
    )


if __name__ == "__main__":
    main()
