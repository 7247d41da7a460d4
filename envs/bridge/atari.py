"""Plays games of the Arcade Learning Environment by published protocols. docs/atari.md has them as a table. server.py follows this file."""

# Of each protocol: most no-ops at the beginning of a game; whether agents learn that an episode ends when a life is lost; whether the game is begun by FIRE;
# probability of repeating the action before; whether all 18 actions are taken; whether a frame is the maximum of the last two; whether its lower part is
# cut out of 110 rows; steps of a game.
PROTOCOLS = {
    "2013": dict(noops=0, lives=False, fire=False, sticky=0.0, all_actions=False, maximum=False, crop=True, steps=4500),
    "2015": dict(noops=30, lives=True, fire=False, sticky=0.0, all_actions=False, maximum=True, crop=False, steps=4500),
    "2018": dict(noops=0, lives=False, fire=False, sticky=0.25, all_actions=True, maximum=True, crop=False, steps=4500),
    "baselines": dict(noops=30, lives=True, fire=True, sticky=0.0, all_actions=False, maximum=True, crop=False, steps=27000),
}
SKIP, STACK, SIDE, CROP = 4, 4, 84, (110, 18)  # CROP: rows of the whole picture, and above what is cut out


def atari_needs(name):
    """Imports a package that games need, or says how to install all of them."""
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as e:
        raise Refused("%s cannot import %s (%s); want: %s -m pip install gymnasium ale-py opencv-python-headless"
                      % (sys.executable, name, e, sys.executable)) from None


def atari_arguments(protocol, arguments):
    """Completes the arguments of gymnasium.make."""
    p = PROTOCOLS[protocol]
    if arguments.setdefault("frameskip", 1) != 1:
        raise Refused("arguments have a frameskip of %r; [bridge] atari = %r skips frames itself: want none" % (arguments["frameskip"], protocol))
    arguments.setdefault("repeat_action_probability", p["sticky"])
    arguments.setdefault("full_action_space", p["all_actions"])


class Atari:
    """A game as agents see it: a step is SKIP frames, and an observation one grey picture.

    Where an episode ends with a life, reset goes on with the same game. That is where evorl learns; in episodes that no other follows (whole), as those of
    evaluations and searches are, the game is played to its end.
    """

    def __init__(self, env, protocol):
        game = env.unwrapped
        if not hasattr(game, "ale"):
            raise Refused("%s is no game of the Arcade Learning Environment; want [bridge] atari = \"none\"" % type(game).__name__)
        self.cv2 = atari_needs("cv2")
        self.cv2.setNumThreads(1)  # evorl runs a process for each processor
        import gymnasium
        import numpy

        self.numpy, self.env, self.game, self.ale, self.p = numpy, env, game, game.ale, PROTOCOLS[protocol]
        self.actions, self.action_space = game._action_set, game.action_space
        if not hasattr(self.action_space, "n"):
            raise Refused("actions are %s; want discrete ones with [bridge] atari" % self.action_space)
        meanings = game.get_action_meanings()
        self.fire = self.p["fire"] and len(meanings) > 2 and meanings[1] == "FIRE"
        self.observation_space = gymnasium.spaces.Box(0, 255, (SIDE, SIDE), numpy.uint8)
        self.screens = [numpy.zeros(self.ale.getScreenDims(), numpy.uint8) for _ in range(2)]
        self.lives, self.whole, self.goes_on = 0, False, False

    def reset(self, seed=None, options=None):
        if self.goes_on and seed is None:
            self.goes_on = False
            if not self.p["fire"]:
                return self.picture(), {}
            self.frames(0)  # as baselines' EpisodicLifeEnv
            if not self.over():
                self.begin()
                return self.picture(), {}
        self.restart(seed)
        self.begin()
        return self.picture(), {}

    def restart(self, seed):
        """Begins a game."""
        self.game.reset(seed=seed)
        most = self.p["noops"]
        for _ in range(self.game.np_random.integers(1, most + 1) if most else 0):
            self.ale.act(self.actions[0])
            if self.over():
                self.game.reset(seed=seed)
        self.ale.getScreenGrayscale(self.screens[0])
        self.screens[1].fill(0)
        self.merge()

    def begin(self):
        """Begins an episode, in a game that has begun."""
        for action in (1, 2) if self.fire else ():
            self.frames(action)
            if self.over():
                self.restart(None)
        self.lives, self.goes_on = self.ale.lives(), False

    def step(self, action):
        reward = self.frames(action)
        lives, terminated = self.ale.lives(), self.ale.game_over(with_truncation=False)
        lost = self.p["lives"] and not self.whole and 0 < lives < self.lives
        self.lives, self.goes_on = lives, lost and not self.over()
        return self.picture(), reward, terminated or lost, self.ale.game_truncated(), {}

    def over(self):
        return self.ale.game_over(with_truncation=True)

    def frames(self, action):
        """Takes an action for SKIP frames, of which the last two are seen unless the game is over before. Returns the sum of rewards."""
        reward, action = 0, self.actions[action]
        for k in range(SKIP):
            reward += self.ale.act(action)
            if self.over():
                break
            if k >= SKIP - 2:
                self.ale.getScreenGrayscale(self.screens[SKIP - 1 - k])
        self.merge()
        return reward

    def merge(self):
        if self.p["maximum"]:
            self.numpy.maximum(self.screens[0], self.screens[1], out=self.screens[0])

    def picture(self):
        rows, above = CROP if self.p["crop"] else (SIDE, 0)
        small = self.cv2.resize(self.screens[0], (SIDE, rows), interpolation=self.cv2.INTER_AREA)
        return small[above : above + SIDE]

    def close(self):
        self.env.close()


