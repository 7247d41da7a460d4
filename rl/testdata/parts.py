"""Environments in plain Python whose observations say which process they are in (outside_test.go, rl)."""

import os

with open("pids", "a") as file:
    file.write("%d\n" % os.getpid())


class Space:
    def __init__(self, **fields):
        self.__dict__.update(fields)


class Counter:
    """Observes its process, its steps in all and those of the episode, and ends after eight steps. The reward is 1 for action 1, and 0 for action 0."""

    observation_space = Space(low=[-1e9], high=[1e9], shape=(3,), dtype="float32")
    action_space = Space(n=2)

    def __init__(self):
        self.steps = self.episode = 0

    def observe(self):
        return [os.getpid(), self.steps, self.episode]

    def reset(self, seed=None, options=None):
        self.episode = 0
        return self.observe(), {}

    def step(self, action):
        self.steps += 1
        self.episode += 1
        return self.observe(), int(action), self.episode == 8, False, {}


def make():
    return Counter()
