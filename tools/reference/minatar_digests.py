"""Records digests of MinAtar's games, which TestMinAtar compares with evorl's.

    python -m venv /tmp/minatar && /tmp/minatar/bin/pip install minatar==1.0.15
    /tmp/minatar/bin/python tools/reference/minatar_digests.py --out envs/testdata/minatar.json

The package is run as it is, with its random source replaced: what it draws are evorl's random numbers, Philox4x32-10 with the key
(seed, stream "env") and the counter (member 0, environment, step, draw / 4). A rand() is the 24 high bits of a word over 2^24, a
randint(n) the high word of the product with n. The reset of step 0 draws from counters of its own; one inside a step
continues that step's.

Two runs a game, of the minimal actions:

    random   64 environments of 15,625 steps, a million; actions are drawn as randint, with the key (seed, 1)
    played   16 environments of 1,500 steps by a player that looks ahead for a way to survive, so that games become hard; its actions
             are in the file, four bits each in hexadecimal, environment by environment

A digest is that (SHA-256) of the digests of all environments, each of its steps: the observation's bits, eight a byte, first in the lowest, the
reward and the end, a byte each, and after an end the observation's bits of the next episode.
"""

import argparse
import copy
import functools
import hashlib
import importlib.metadata
import json
import pathlib

import minatar
import numpy as np

SEED, ACTIONS = 7, 1
ENV = functools.reduce(lambda h, c: (h ^ c) * 0x01000193 & 0xFFFFFFFF, b"env", 0x811C9DC5)  # FNV-1a
GAMES = ["Breakout", "Freeway", "SpaceInvaders", "Asterix", "Seaquest"]
MODULES = {"SpaceInvaders": "space_invaders"}


def philox(key, counter):
    """The four words of each counter; key and counter are lists of two and four numbers or arrays."""
    mask = np.uint64(0xFFFFFFFF)
    k0, k1 = (np.uint64(k) for k in key)
    c = [np.asarray(x, np.uint64) for x in np.broadcast_arrays(*counter)]
    for i in range(10):
        if i:
            k0, k1 = (k0 + np.uint64(0x9E3779B9)) & mask, (k1 + np.uint64(0xBB67AE85)) & mask
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(b >> np.uint64(32)) ^ c[1] ^ k0, b & mask, (a >> np.uint64(32)) ^ c[3] ^ k1, a & mask]
    return np.stack(c, -1).astype(np.uint32)


class Draws:
    """A random source of one environment, in place of NumPy's."""

    def __init__(self, environment, steps):
        self.environment, self.draw, self.step = environment, 0, 0
        # The first eight words of every step at once: Philox of a single counter takes NumPy long.
        self.words = [philox([SEED, ENV], [0, environment, np.arange(steps + 1), block]) for block in range(2)]

    def begin(self, step):
        self.step, self.draw = step, 0

    def __deepcopy__(self, memo):
        return copy.copy(self)

    def word(self):
        block, at = divmod(self.draw, 4)
        self.draw += 1
        if block < len(self.words):
            return int(self.words[block][self.step][at])
        return int(philox([SEED, ENV], [0, self.environment, self.step, block])[at])

    def rand(self, *shape):
        if shape:
            return np.array([self.rand() for _ in range(shape[0])])
        return (self.word() >> 8) / 2**24

    def randint(self, low, high=None, size=None):
        if high is None:
            low, high = 0, low
        if size is not None:
            return np.array([self.randint(low, high) for _ in range(size)])
        return low + (self.word() * (high - low) >> 32)


class Game:
    """One environment, with the random source of its number."""

    def __init__(self, game, number, steps, sticky=0.1):
        self.env = minatar.Environment(MODULES.get(game, game.lower()), sticky_action_prob=float(np.float32(sticky)))
        self.draws = Draws(number, steps)
        self.env.random = self.env.env.random = self.draws
        self.actions = self.env.minimal_action_set()
        self.hash, self.steps = hashlib.sha256(), 0
        self.draws.begin(0)
        self.env.reset()

    def bits(self):
        return np.packbits(self.env.state().reshape(-1).astype(np.uint8), bitorder="little").tobytes()

    def step(self, action):
        self.steps += 1
        self.draws.begin(self.steps)
        reward, end = self.env.act(self.actions[action])
        self.hash.update(self.bits() + bytes([int(reward), int(end)]))
        if end:
            self.env.reset()
            self.hash.update(self.bits())
        return reward, end


def randomly(game, environments, steps, early):
    """Returns the digests after the first `early` steps and after all."""
    digests = {early: hashlib.sha256(), steps: hashlib.sha256()}
    for e in range(environments):
        g = Game(game, e, steps)
        words = philox([SEED, ACTIONS], [0, e, np.arange(1, steps + 1), 0])[:, 0].astype(np.uint64)
        for t, action in enumerate((words * np.uint64(len(g.actions)) >> np.uint64(32)).tolist()):
            g.step(action)
            if t + 1 in digests:
                digests[t + 1].update(g.hash.digest())
        print(game, "environment", e, flush=True)
    return {str(t): d.hexdigest() for t, d in digests.items()}


def value(env, source, actions, depth, dice):
    """Plays on at random from a copy; returns how many of `depth` steps it survived, and the rewards."""
    env, total = copy.deepcopy(env), 0
    env.random = env.env.random = source
    for t in range(depth):
        reward, end = env.act(actions[dice.integers(len(actions))])
        total += reward
        if end:
            return t, total
    return depth, total


def follow(env):
    """Breakout's player keeps the paddle below the ball."""
    board = env.state()
    paddle, ball = (int(np.argmax(board[:, :, c].any(axis=0))) for c in (0, 1))
    return 0 if paddle == ball else 1 if ball < paddle else 2


def goal(env):
    """How near Seaquest's player is to what makes the game hard: divers, then surfacing, and once six divers have been brought up, which leaves
    the package with -1 of them, surfacing again and again."""
    g = env.env
    y, divers = g.sub_y, g.diver_count
    if divers < 0 and g.e_spawn_speed > 1:
        return 10 * g.ramp_index + (0 if y == 0 else 6 - y)
    if divers == 6 or divers != 0 and g.oxygen < 60:
        return 20 * divers - y
    if divers >= 0 and g.divers:
        return 20 * divers - min(abs(d[0] - g.sub_x) + abs(d[1] - y) for d in g.divers)
    return 20 * divers - abs(y - 4) - 9


def played(game, environments, steps):
    """A player's actions, and their digest. It takes the action from which random play, with random numbers of its own, survives longest; of these
    in Seaquest the one that is nearest to its goal."""
    digest, taken = hashlib.sha256(), ""
    for e in range(environments):
        g, dice, best_return, ret = Game(game, e, steps), np.random.default_rng(e), 0, 0
        source = np.random.RandomState(e)
        for _ in range(steps):
            scores = []
            for a in range(len(g.actions) if game != "Breakout" else 0):
                env = copy.deepcopy(g.env)
                env.random = env.env.random = source
                reward, end = env.act(g.actions[a])
                aim = goal(env) if game == "Seaquest" else 0
                tries = [(0, 0)] if end else [value(env, source, g.actions, 8, dice) for _ in range(3)]
                scores.append((max(s for s, _ in tries), aim, reward + max(r for _, r in tries), dice.random()))
            action = max(range(len(scores)), key=lambda a: scores[a]) if scores else follow(g.env)
            reward, end = g.step(action)
            ret = (0 if end else ret + reward)
            best_return = max(best_return, ret)
            taken += f"{action:x}"
        digest.update(g.hash.digest())
        print(game, "played", e, "return", best_return, flush=True)
    return {"actions": taken, "digest": digest.hexdigest()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--games", nargs="*", default=GAMES)
    parser.add_argument("--environments", type=int, default=64)
    parser.add_argument("--steps", type=int, default=15625)
    parser.add_argument("--early", type=int, default=250)
    parser.add_argument("--played", type=int, default=16)
    parser.add_argument("--played-steps", type=int, default=1500)
    args = parser.parse_args()
    out = json.loads(args.out.read_text()) if args.out.exists() else {}
    out["source"], out["seed"] = f"MinAtar {importlib.metadata.version('minatar')}", SEED
    for game in args.games:
        out[game] = {
            "environments": args.environments, "random": randomly(game, args.environments, args.steps, args.early),
            "played": {"environments": args.played, **played(game, args.played, args.played_steps)},
        }
        args.out.write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
