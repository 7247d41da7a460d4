"""Environments of Gymnasium's interface in plain Python, for tests."""

import os
import signal
import sys
import time


class Space:
    def __init__(self, **fields):
        self.__dict__.update(fields)


def box(low, high, shape, dtype="float32"):
    return Space(low=[low], high=[high], shape=shape, dtype=dtype)


class Echo:
    """Observes its number, its steps in all, those of the episode, the seed's last 16 bits and the action before. Episodes end after 3 + seed mod 4 steps, by
    termination if that is even, else by truncation. With fail it does what fail says at step at of its life, once a process if the file once is not there.
    A step computes for busy seconds and sleeps for idle seconds."""

    made = int(os.environ.get("EVORL_BRIDGE_FIRST", 0))

    def __init__(self, fail="", at=0, number=-1, once="", raw=False, busy=0, idle=0, actions=1000):
        self.busy, self.idle = busy, idle
        self.id, Echo.made = Echo.made, Echo.made + 1
        self.observation_space = box(-1e9, 1e9, (5,)) if not raw else box(0, 255, (2, 3), "uint8")
        self.action_space = Space(n=actions) if not raw else box(-2, 2, (2,))
        self.fail, self.at, self.number, self.once, self.raw = fail, at, number, once, raw
        self.steps = self.episode = self.seed = 0

    def observe(self, action):
        if self.raw:
            return [[self.episode, 255, 0], [1, 2, 3]]
        return [self.id, self.steps, self.episode, self.seed, action]

    def reset(self, seed=None, options=None):
        self.seed = (self.seed + 1 if seed is None else seed) & 0xFFFF
        self.episode = 0
        if self.fails("reset"):
            raise RuntimeError("the lid is stuck")
        return self.observe(-1), {}

    def fails(self, when):
        if not self.fail.startswith(when) or self.steps != self.at or self.number not in (-1, self.id):
            return False
        if self.once:
            try:
                os.close(os.open(self.once, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return False
        return True

    def step(self, action):
        self.steps += 1
        self.episode += 1
        if self.idle:
            time.sleep(self.idle)
        if self.busy:
            end = time.perf_counter() + self.busy
            while time.perf_counter() < end:
                pass
        obs, reward = self.observe(float(action[0]) if self.raw else action), self.steps / 16
        length = 3 + self.seed % 4
        ended = self.episode == length
        result = (obs, reward, ended and length % 2 == 0, ended and length % 2 == 1, {})
        if not self.fails("step"):
            return result
        what = self.fail[5:]
        if what == "raise":
            raise ValueError("out of\nfuel")
        if what == "exit":
            sys.exit(7)
        if what == "die":
            print("last words")
            sys.stdout.flush()
            os._exit(9)
        if what == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "hang":
            time.sleep(1000)
        if what == "nan":
            obs[4] = float("nan")
        if what == "inf":
            return obs, float("inf"), False, False, {}
        if what == "shape":
            return obs[:3], reward, False, False, {}
        if what == "four":
            return result[:4]
        if what == "twice":
            answer(1)
        if what == "noise":
            answer(77)
        return result

    def close(self):
        if self.once == "closed":
            open("closed-%d" % self.id, "w").close()


def answer(sequence):
    """Writes a message of evorl's socket that is not due."""
    os.write(int(os.environ["EVORL_BRIDGE_SOCKET"]), sequence.to_bytes(4, "little") + bytes([0, 4, 0, 0]))


def echo(**arguments):
    return Echo(**arguments)


echo.max_steps = 100


def whole(obs="discrete", action="discrete"):
    """Has spaces of whole numbers, or others."""

    class Discrete(Space):
        pass

    class MultiDiscrete(Space):
        pass

    class MultiBinary(Space):
        pass

    class Dict(Space):
        pass

    spaces = {
        "discrete": (Discrete(n=4, start=2), 3), "multi": (MultiDiscrete(nvec=[2, 3]), [1, 2]), "binary": (MultiBinary(n=3), [1, 0, 1]), "dict": (Dict(), {}),
        "text": (box(0, 1, (2,), "str"), ["a", "b"]), "wide": (MultiDiscrete(nvec=[100, 100]), [0, 0]), "int": (box(0, 3, (1,), "int64"), [2]),
        "table": (MultiDiscrete(nvec=[[2, 3], [4, 5]]), [[0, 0], [0, 0]]), "bits": (MultiBinary(n=(2, 3)), [[0, 0, 0], [0, 0, 0]]),
    }

    class World:
        observation_space, value = spaces[obs]
        action_space = spaces[action][0]

        def reset(self, seed=None, options=None):
            return self.value, {}

        def step(self, taken):
            if taken and isinstance(taken, list) and isinstance(taken[0], list):
                taken = [x for row in taken for x in row] + [7]
            reward = taken if not isinstance(taken, list) else sum(10**k * x for k, x in enumerate(taken))
            return self.value, reward, False, False, {}

    return World()


def slow():
    time.sleep(1000)


def broken():
    raise OSError("no such game")


def children():
    """Has a child process of its own, whose number is in a file."""
    import subprocess

    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    with open("child", "w") as f:
        f.write(str(child.pid))
    return Echo()


class Film:
    """Shows pictures of bytes, 3 x 2, that follow from its number and the pictures that it has shown. Episodes end after 3 + seed mod 4 steps, as Echo's."""

    made = int(os.environ.get("EVORL_BRIDGE_FIRST", 0))

    def __init__(self, fail=0):
        self.id, Film.made = Film.made, Film.made + 1
        self.observation_space, self.action_space = box(0, 255, (3, 2), "uint8"), Space(n=3)
        self.shown = self.steps = self.episode = self.seed = 0
        self.fail = fail

    def show(self):
        self.shown += 1
        flat = [(31 * self.id + 7 * self.shown * self.shown + 13 * e + self.shown * e) % 256 for e in range(6)]
        return [flat[0:2], flat[2:4], flat[4:6]]

    def reset(self, seed=None, options=None):
        self.seed = (self.seed + 1 if seed is None else seed) & 0xFFFF
        self.episode = 0
        return self.show(), {}

    def step(self, action):
        self.episode += 1
        self.steps += 1
        if self.steps == self.fail:
            raise ValueError("the film has torn")
        length = 3 + self.seed % 4
        ended = self.episode == length
        return self.show(), 5.0 - 2 * self.episode, ended and length % 2 == 0, ended and length % 2 == 1, {}


def film(**arguments):
    return Film(**arguments)


film.max_steps = 100


def narrow():
    """Has actions within 0.3, which float32 rounds up; its reward is the largest that it was given, and it fails beyond."""

    class World:
        observation_space, action_space = box(0, 1, (1,)), box(-0.3, 0.3, (2,), "float64")

        def reset(self, seed=None, options=None):
            return [0], {}

        def step(self, action):
            if any(abs(x) > 0.3 for x in action):
                raise ValueError("action %s is not within 0.3" % action)
            return [0], max(action), False, False, {}

    return World()
