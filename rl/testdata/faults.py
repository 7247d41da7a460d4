"""Environments in plain Python that fail when the test tells them to, by a file that both see (rl/faults_test.go)."""

import mmap
import os
import signal
import socket
import struct
import sys
import time

# What goes wrong, from 1 on. kill and stop are signals that the test sends.
KINDS = ["raise", "exit", "reset", "nan", "inf", "shape", "four", "die", "crash", "kill", "hang", "stop", "late", "twice", "noise", "slow", "version"]

# A process has 64 bytes of the file, at 64 times the number of its first environment. These are offsets in them.
KIND, COUNTDOWN, LIVES, PID, HIT, VERSION, FAILED, AGAIN = 0, 4, 8, 12, 16, 20, 24, 32

first = int(os.environ["EVORL_BRIDGE_FIRST"])
with open("orders", "r+b") as file:
    memory = mmap.mmap(file.fileno(), 0)
with open("pids", "a") as file:
    file.write("%d\n" % os.getpid())


def get(at, form="I"):
    return struct.unpack_from("<" + form, memory, 64 * first + at)[0]


def put(at, value, form="I"):
    struct.pack_into("<" + form, memory, 64 * first + at, value)


class Space:
    def __init__(self, **fields):
        self.__dict__.update(fields)


class Echo:
    """Observes the number of its process's first environment, its life (every environment that a process ever makes has another one), its steps in all, those
    of the episode, the seed's last 16 bits and the action before. Episodes end after 3 + seed mod 4 steps, by termination if that is even, else by truncation.
    The reward is 1 for the action (steps of the episode) mod 3, and 0.5 for others."""

    observation_space = Space(low=[-1e9], high=[1e9], shape=(6,), dtype="float32")
    action_space = Space(n=3)

    def __init__(self, timeout):
        self.timeout = timeout
        self.life = get(LIVES) + 1
        put(LIVES, self.life)
        put(PID, os.getpid())
        self.steps = self.episode = self.seed = 0
        self.anew = get(FAILED, "d") != 0
        if get(VERSION):  # the server that begins anew is of another version
            put(VERSION, 0)
            sys.modules["__main__"].VERSION = 2

    def observe(self, action):
        return [first, self.life, self.steps, self.episode, self.seed, action]

    def reset(self, seed=None, options=None):
        self.seed = (self.seed + 1 if seed is None else seed) & 0xFFFF
        self.episode = 0
        if self.due(resets=True):
            raise RuntimeError("the lid is stuck")
        return self.observe(-1), {}

    def due(self, resets):
        """Returns what is to go wrong now; nothing: all is well."""
        name = KINDS[get(KIND) - 1] if get(KIND) else ""
        if name in ("", "kill", "stop") or (name == "reset") != resets:
            return ""
        if get(COUNTDOWN):
            put(COUNTDOWN, get(COUNTDOWN) - 1)
            return ""
        put(HIT, self.life)
        if name != "slow":
            put(FAILED, time.time(), "d")
        put(KIND, 0)
        return name

    def step(self, action):
        if self.anew:
            self.anew = False
            if not get(AGAIN, "d"):
                put(AGAIN, time.time(), "d")
        reward = 1 if action == self.episode % 3 else 0.5
        self.steps += 1
        self.episode += 1
        length = 3 + self.seed % 4
        ended = self.episode == length
        obs = self.observe(action)
        result = (obs, reward, ended and length % 2 == 0, ended and length % 2 == 1, {})
        what = self.due(resets=False)
        if what == "raise":
            raise ValueError("out of fuel")
        if what == "exit":
            sys.exit(7)
        if what == "nan":
            obs[5] = float("nan")
        if what == "inf":
            return obs, float("inf"), False, False, {}
        if what == "shape":
            return obs[:3], reward, False, False, {}
        if what == "four":
            return result[:4]
        if what == "die":
            os._exit(9)
        if what == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        if what == "hang":
            time.sleep(1000)
        if what in ("late", "slow"):
            time.sleep(self.timeout * (1.5 if what == "late" else 0.4))
        if what == "twice":
            twice()
        if what == "noise":
            os.write(int(os.environ["EVORL_BRIDGE_SOCKET"]), struct.pack("<IBBH", 0x7FFFFFFF, 0, 4, 0))
        if what == "version":
            put(VERSION, 1)
            os._exit(9)
        return result


def twice():
    """Makes the server send its next answer twice."""
    send = socket.socket.sendall

    def again(self, data):
        del socket.socket.sendall
        send(self, data)
        send(self, data)

    socket.socket.sendall = again


def make(timeout):
    return Echo(timeout)


make.max_steps = 100
