"""Plays a game by Gymnasium's AtariPreprocessing and FrameStackObservation, for tests: reads JSON from the standard input, and writes to the standard output
for each observation a byte of flags (1: the episode ended, 2: its first observation follows), a reward as 8 bytes, and its bytes, [84, 84, 4]."""

import json
import struct
import sys

import ale_py
import gymnasium
import numpy
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation

ask = json.load(sys.stdin)
fire, lives = ask["fire"], ask["lives"]
game = gymnasium.make(ask["id"], frameskip=1, repeat_action_probability=ask["sticky"], full_action_space=ask["all_actions"])
stack = FrameStackObservation(AtariPreprocessing(game, noop_max=ask["noops"], frame_skip=4), 4)
ale = game.unwrapped.ale


def write(flags, reward, obs):
    sys.stdout.buffer.write(struct.pack("<Bd", flags, reward) + numpy.moveaxis(obs, 0, -1).astype(numpy.uint8).tobytes())


def first(obs):
    """Returns the stack of an episode's first observation: its newest picture, repeated."""
    for _ in range(3):
        stack.obs_queue.append(obs[-1])
    stack.obs_queue.append(obs[-1])
    return numpy.stack([obs[-1]] * 4)


def light(obs):
    """Begins as baselines' FireResetEnv does."""
    for action in (1, 2) if fire else ():
        obs, _, ended, _, _ = stack.step(action)
        if ended:
            obs, _ = stack.reset()
    return obs


obs, _ = stack.reset(seed=ask["seed"])
write(2, 0, first(light(obs)))
left = ale.lives()
for action in ask["actions"]:
    obs, reward, over, truncated, _ = stack.step(action)
    lost = lives and not over and 0 < ale.lives() < left
    left = ale.lives()
    if not over and not lost:
        write(0, reward, obs)
        continue
    write(1, reward, obs)
    if over:
        obs, _ = stack.reset()
    elif fire:
        obs, _, ended, _, _ = stack.step(0)
        if ended:
            obs, _ = stack.reset()
    write(2, 0, first(light(obs)))
    left = ale.lives()
