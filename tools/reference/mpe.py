"""Records episodes of multi-agent particle environments, which TestMPE replays.

    python -m venv /tmp/mpe && /tmp/mpe/bin/pip install mpe2==1.1.1
    /tmp/mpe/bin/python tools/reference/mpe.py --out envs/testdata

One NAME.npz an environment, of the package's parallel form with discrete actions. Half of the episodes begin as the package begins them, half with all
places drawn together, so that discs push each other. Actions are held for a while, so that agents get far. Rows and steps as in envs.py, with all seats
of a world in a row:

    meta     uint8 [..]           JSON: environment, source
    start    int32 [N + 1]        first row of each episode
    state    float64 [rows, S]    as in shaders/envs
    obs      float32 [rows, A O]  short observations have zeros at their ends
    action   uint8 [steps, A]
    reward   float64 [steps, A]
    steady   int32 [N]            steps of each episode after which the package itself has not yet multiplied a difference of places by 500
"""

import argparse
import importlib
import importlib.metadata
import json
import pathlib

import numpy as np


def moving(agents):
    return [x for a in agents for x in (*a.state.p_pos, *a.state.p_vel)]


def places(landmarks):
    return [x for l in landmarks for x in l.state.p_pos]


def everything(world):
    return moving(world.agents) + places(world.landmarks)


def speaking(world):
    speaker, listener = world.agents
    said = np.flatnonzero(speaker.state.c)
    return moving([listener]) + places(world.landmarks) + [world.landmarks.index(speaker.goal_b), said[0] if len(said) else -1]


# Module, episodes, state, observations and actions that the environments of evorl have.
ENVIRONMENTS = {
    "SimpleSpread-v3": ("simple_spread_v3", 8, everything, 18),
    "SimpleTag-v3": ("simple_tag_v3", 12, everything, 16),
    "SimpleSpeakerListener-v4": ("simple_speaker_listener_v4", 6, speaking, 11),
}


class Player:
    """The package's form of an environment, with its state and the observations of all seats as rows."""

    def __init__(self, name):
        module, self.episodes, self.state_of, self.width = ENVIRONMENTS[name]
        self.env = importlib.import_module("mpe2." + module).parallel_env(continuous_actions=False)
        self.world, self.names = self.env.unwrapped.world, self.env.possible_agents

    def begin(self, episode, change=None):
        self.env.reset(seed=episode)
        for entity in self.world.entities:
            place = np.float64(np.float32(entity.state.p_pos * (0.35 if episode % 2 else 1)))
            entity.state.p_pos = place if change is None else place + change.normal(0, 1e-9, 2)

    def state(self):
        return np.array(self.state_of(self.world), np.float64)

    def obs(self):
        seen = [np.asarray(self.env.unwrapped.observe(a), np.float32) for a in self.names]
        return np.concatenate([np.pad(x, (0, self.width - len(x))) for x in seen])

    def step(self, actions):
        paid = self.env.step(dict(zip(self.names, actions)))[1]
        return [paid[a] for a in self.names]


def steady(player, episode, states, actions):
    """The number of steps before differences of the first places have grown 500-fold."""
    most = np.zeros(len(actions))
    for seed in range(8):
        player.begin(episode, np.random.default_rng(seed))
        for i, a in enumerate(actions):
            player.step(a)
            most[i] = max(most[i], np.abs(player.state() - states[i + 1]).max() / 1e-9)
    grown = np.flatnonzero(most > 500)
    return grown[0] if len(grown) else len(actions)


def record(name):
    player, dice = Player(name), np.random.default_rng(7)
    start, state, obs, action, reward, held = [0], [], [], [], [], []
    for episode in range(player.episodes):
        player.begin(episode)
        first = len(action)
        state.append(player.state())
        obs.append(player.obs())
        actions = [0] * len(player.names)
        while player.env.agents:
            for i, a in enumerate(player.names):
                if dice.random() < (0.05 if episode % 4 == 2 else 0.3) or len(action) == first:
                    actions[i] = int(dice.integers(player.env.action_space(a).n))
            reward.append(player.step(actions))
            action.append(list(actions))
            state.append(player.state())
            obs.append(player.obs())
        held.append(steady(player, episode, state[start[-1]:], action[first:]))
        start.append(len(state))
    meta = {"environment": name, "source": "mpe2 " + importlib.metadata.version("mpe2")}
    return {
        "meta": np.frombuffer(json.dumps(meta).encode(), np.uint8), "start": np.array(start, np.int32), "state": np.array(state),
        "obs": np.array(obs), "action": np.array(action, np.uint8), "reward": np.array(reward), "steady": np.array(held, np.int32),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, required=True)
    out = parser.parse_args().out
    for name in ENVIRONMENTS:
        arrays = record(name)
        np.savez_compressed(out / f"{name}.npz", **arrays)
        print(name, {k: v.shape for k, v in arrays.items()}, "rewards", arrays["reward"].min(0), arrays["reward"].max(0), "steady", arrays["steady"])


if __name__ == "__main__":
    main()
