"""A world of several agents with the interface of PettingZoo's parallel API, in plain Python, for tests."""

import os


class Space:
    def __init__(self, **fields):
        self.__dict__.update(fields)


class Together:
    """Each agent observes its number, the steps of the world, those of the episode, the seed's last 16 bits and its action before. Agent k leaves after
    2 + (seed + k) mod 3 steps, by termination if that is even, else by truncation. With fail it raises an exception at that step of its life, once."""

    possible_agents = ["ada", "bob", "cleo"]

    def __init__(self, unequal="", fail=0, once=""):
        box = Space(low=[-1e9], high=[1e9], shape=(5,), dtype="float32")
        self.observations = {a: box for a in self.possible_agents}
        self.actions = {a: Space(n=5) for a in self.possible_agents}
        if unequal:
            self.actions["cleo"] = Space(n=6) if unequal == "n" else Space(n=5, start=1)
        self.fail, self.once, self.steps = fail, once, 0

    def observation_space(self, agent):
        return self.observations[agent]

    def action_space(self, agent):
        return self.actions[agent]

    def observe(self, agent, action):
        return [self.possible_agents.index(agent), self.steps, self.episode, self.seed, action]

    def reset(self, seed=None, options=None):
        self.seed = (self.seed + 1 if seed is None else seed) & 0xFFFF
        self.episode, self.agents = 0, list(self.possible_agents)
        return {a: self.observe(a, -1) for a in self.agents}, {a: {} for a in self.agents}

    def step(self, actions):
        if sorted(actions) != self.agents:
            raise ValueError("actions of %s; want of %s" % (sorted(actions), self.agents))
        self.steps += 1
        self.episode += 1
        if self.steps == self.fail:
            try:
                os.close(os.open(self.once, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                raise RuntimeError("they quarrel")
        length = {a: 2 + (self.seed + k) % 3 for k, a in enumerate(self.possible_agents)}
        observations = {a: self.observe(a, actions[a]) for a in self.agents}
        rewards = {a: self.steps / 16 + self.possible_agents.index(a) for a in self.agents}
        ended = {a: self.episode == length[a] for a in self.agents}
        terminations = {a: ended[a] and length[a] % 2 == 0 for a in self.agents}
        truncations = {a: ended[a] and length[a] % 2 == 1 for a in self.agents}
        infos = {a: {} for a in self.agents}
        self.agents = [a for a in self.agents if not ended[a]]
        return observations, rewards, terminations, truncations, infos

    def close(self):
        pass


def parallel_env(**arguments):
    return Together(**arguments)


parallel_env.max_steps = 50
