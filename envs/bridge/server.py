"""Steps environments of Gymnasium's interface for evorl. docs/bridge.md describes the protocol.

evorl runs it, one process for a part of a run's environments. It needs nothing but Python 3.8, and what the environments need.
"""

import importlib
import json
import math
import mmap
import os
import select
import signal
import socket
import struct
import sys
import traceback

VERSION, MAGIC, HEADER = 1, b"EVORLBR1", 256
MAP, READY, GO, DONE, CLOSE = 1, 2, 3, 4, 5  # messages
STEP, RESET, ANEW, LAST, STAY = 1, 2, 3, 0x10, 0x20  # commands
TERMINATED, TRUNCATED = 1, 2
MOST_ACTIONS, MOST_FAULTS = 4096, 4096

numpy = None  # once an environment has imported it; those in plain Python do without


class Refused(Exception):
    """What an environment has that evorl does not take; its text is for the user."""


def guard(sock):
    """Ends the whole process group when evorl is gone, even if an environment hangs. Returns the guard's process id."""
    pid = os.fork()
    if pid:
        return pid
    for fd in range(64):  # so that nobody waits for the guard
        if fd != sock.fileno():
            try:
                os.close(fd)
            except OSError:
                pass
    gone = select.poll()
    gone.register(sock, 0)  # hanging up is always reported
    while not gone.poll():
        pass
    os.killpg(0, signal.SIGKILL)


def maker(name, arguments):
    """Returns the function that makes an environment, its step limit, its reward threshold, and what it is made by."""
    kind, _, rest = name.partition(":")
    if kind == "gymnasium":
        protocol = os.environ.get("EVORL_BRIDGE_ATARI") or "none"
        if rest.startswith("ALE/") or protocol != "none":
            for package in ("gymnasium", "ale_py"):
                by = atari_needs(package)
        try:
            import gymnasium
        except ImportError as e:
            raise Refused("%s cannot import gymnasium (%s); want: %s -m pip install gymnasium" % (sys.executable, e, sys.executable)) from None
        if int(gymnasium.__version__.partition(".")[0]) < 1:  # there a limit of -1 steps ends every episode at its first step
            raise Refused("%s has gymnasium %s; want 1.0 or newer: %s -m pip install --upgrade gymnasium"
                          % (sys.executable, gymnasium.__version__, sys.executable))
        module, _, plain = rest.rpartition(":")
        if module:
            sys.path.insert(0, os.getcwd())
            importlib.import_module(module)
        spec = gymnasium.spec(plain)
        arguments.setdefault("disable_env_checker", True)
        arguments.setdefault("max_episode_steps", -1)  # the time limit is evorl's
        if protocol != "none":
            atari_arguments(protocol, arguments)
            return (lambda: Atari(gymnasium.make(plain, **arguments), protocol), PROTOCOLS[protocol]["steps"], spec.reward_threshold,
                    "ale-py %s, gymnasium %s" % (by.__version__, gymnasium.__version__))
        return lambda: gymnasium.make(plain, **arguments), spec.max_episode_steps or 0, spec.reward_threshold, "gymnasium " + gymnasium.__version__
    sys.path.insert(0, os.getcwd())
    if kind == "pettingzoo":
        try:
            found = importlib.import_module(rest)
        except ImportError as e:
            raise Refused("%s cannot import %s (%s); want: %s -m pip install pettingzoo, and the world's package"
                          % (sys.executable, rest, e, sys.executable)) from None
        make = getattr(found, "parallel_env", None)
        if not callable(make):
            raise Refused("module %s (%s) has no parallel_env; want a world of PettingZoo's parallel API" % (rest, found.__file__))
        by = getattr(sys.modules.get("pettingzoo"), "__version__", None)
        return lambda: make(**arguments), getattr(make, "max_steps", 0), getattr(make, "reward_threshold", None), "pettingzoo " + by if by else rest
    module, _, function = rest.partition(":")
    found = importlib.import_module(module)
    make = getattr(found, function, None)
    if not callable(make):
        raise Refused("module %s (%s) has no function %r that makes an environment" % (module, found.__file__, function))
    return lambda: make(**arguments), int(getattr(make, "max_steps", 0) or 0), getattr(make, "reward_threshold", None), module


def flat(value):
    """Lists the numbers of nested sequences, row-major, and their shape."""
    if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
        return value.ravel().tolist(), value.shape
    if not hasattr(value, "__len__"):
        return [value], ()
    if not len(value):
        return [], (0,)
    if not hasattr(value[0], "__len__"):
        return list(value), (len(value),)
    parts = [flat(v) for v in value]
    if any(p[1] != parts[0][1] for p in parts):
        raise ValueError("rows of different shapes")
    return [x for p in parts for x in p[0]], (len(parts),) + parts[0][1]


def bounds(space, size):
    """Returns a box's bounds for JSON: one if all are equal, null if infinite."""
    out = []
    for value in (space.low, space.high):
        row = [float(x) for x in flat(value)[0]]
        row = [x if math.isfinite(x) else None for x in row]
        if len(row) not in (1, size):
            raise Refused("a box of %d elements has %d bounds" % (size, len(row)))
        out.append(row[:1] if all(x == row[0] for x in row) else row)
    return out


def kind_of(space):
    names = [c.__name__ for c in type(space).__mro__]
    for kind in ("Dict", "Tuple", "Text", "Graph", "Sequence", "OneOf", "MultiBinary", "MultiDiscrete", "Discrete", "Box"):
        if kind in names:
            return kind
    if hasattr(space, "low") and hasattr(space, "high"):
        return "Box"
    if hasattr(space, "nvec"):
        return "MultiDiscrete"
    return "Discrete" if hasattr(space, "n") else names[0]


def box_shape(space):
    shape = getattr(space, "shape", None)
    return tuple(int(n) for n in (flat(space.low)[1] if shape is None else shape))


def choices(space):
    """Returns the number of values of each element of a discrete space, and the first value of each; a MultiBinary's are 2 and 0."""
    kind = kind_of(space)
    if kind == "Discrete":
        return [int(space.n)], [int(getattr(space, "start", 0))]
    if kind == "MultiBinary":
        size = math.prod(flat(space.n)[0])
        return [2] * size, [0] * size
    n = [int(x) for x in flat(space.nvec)[0]]
    start = getattr(space, "start", None)
    return n, [0] * len(n) if start is None else [int(x) for x in flat(start)[0]]


def whole_shape(space):
    """Returns the shape of a MultiDiscrete's or a MultiBinary's values; a Discrete's is ()."""
    shape, kind = getattr(space, "shape", None), kind_of(space)
    if shape is not None or kind == "Discrete":
        return tuple(int(n) for n in shape or ())
    if kind == "MultiBinary":
        return tuple(int(n) for n in flat(space.n)[0])
    return flat(space.nvec)[1]


def nested(values, shape):
    """Returns numbers in nested lists of a shape, row-major: the reverse of flat."""
    if len(shape) < 2:
        return values
    size = len(values) // shape[0]
    return [nested(values[i * size : (i + 1) * size], shape[1:]) for i in range(shape[0])]


class Observations:
    """How observations are described and written: boxes as they are, whole numbers as one-hot vectors."""

    def __init__(self, space):
        kind = kind_of(space)
        self.bytes, self.n = False, None
        if kind == "Box":
            self.shape = box_shape(space)
            self.size = math.prod(self.shape)
            dtype = str(getattr(space, "dtype", "float32"))
            self.bytes = dtype == "uint8"
            if not self.bytes and not dtype.startswith(("float", "int", "uint", "bool")):
                raise Refused("observations are a box of %s; want numbers" % dtype)
            self.low, self.high = ([0], [255]) if self.bytes else bounds(space, self.size)
        elif kind in ("Discrete", "MultiDiscrete", "MultiBinary"):
            self.n, self.start = choices(space)
            self.size = len(self.n) if kind == "MultiBinary" else sum(self.n)
            self.binary = kind == "MultiBinary"
            self.shape, self.low, self.high = (self.size,), [0], [1]
        else:
            raise Refused("observations are a %s; want a Box, Discrete, MultiDiscrete or MultiBinary (gymnasium.wrappers.FlattenObservation makes a Box)" % kind)
        if not 0 < self.size <= 1 << 24:
            raise Refused("observations have %d elements; want 1 to %d" % (self.size, 1 << 24))

    def describe(self):
        shape = self.shape if self.shape else (1,)
        return {"type": "uint8" if self.bytes else "float32", "shape": list(shape), "low": self.low, "high": self.high}

    def details(self):
        """Returns what describe leaves out and the agents of a world have in common."""
        return {"shape": list(self.shape)} if self.n is None else {"choices": self.n, "start": self.start}

    def writer(self, memory, at, rows):
        """Returns write(i, observation) for rows at an offset of the shared memory."""
        size, shape, n = self.size, self.shape, self.n
        code, width = ("B", 1) if self.bytes else ("f", 4)
        view = memoryview(memory)[at : at + rows * size * width].cast(code)
        if n is not None:
            return lambda i, obs: self.write_whole(view[i * size : (i + 1) * size], obs)
        if numpy is not None:
            array = numpy.frombuffer(view, numpy.uint8 if self.bytes else numpy.float32).reshape((rows,) + shape)
            want = numpy.dtype("uint8") if self.bytes else None

            def write(i, obs):
                if type(obs) is not numpy.ndarray:
                    obs = numpy.asarray(obs)
                if obs.shape != shape:
                    raise ValueError("an observation has the shape %s; want %s" % (obs.shape, shape))
                if want is not None and obs.dtype != want:
                    raise ValueError("an observation has elements of %s; want uint8" % obs.dtype)
                array[i] = obs

            return write

        def write_plain(i, obs):
            row, got = flat(obs)
            if got != shape:
                raise ValueError("an observation has the shape %s; want %s" % (got, shape))
            at = i * size
            for value in row:
                view[at] = value
                at += 1

        return write_plain

    def write_whole(self, row, obs):
        values = flat(obs)[0]
        if len(values) != len(self.n):
            raise ValueError("an observation has %d whole numbers; want %d" % (len(values), len(self.n)))
        row[:] = memoryview(bytes(4 * len(row))).cast("f")
        at = 0
        for value, n, start in zip(values, self.n, self.start):
            k = int(value) - start
            if not 0 <= k < n:
                raise ValueError("an observation has the whole number %d; want %d to %d" % (value, start, start + n - 1))
            if self.binary:
                row[at] = k
                at += 1
            else:
                row[at + k] = 1
                at += n


class Actions:
    """How actions are described and read: boxes as they are; of several whole numbers every combination is an action."""

    def __init__(self, space):
        kind = kind_of(space)
        self.n = None
        if kind == "Box":
            self.shape = box_shape(space)
            self.size = math.prod(self.shape)
            self.low, self.high = bounds(space, self.size)
            self.least, self.most = flat(space.low)[0], flat(space.high)[0]
            self.dtype = str(getattr(space, "dtype", "float32"))
            if not self.dtype.startswith("float"):
                raise Refused("actions are a box of %s; want floats, or a Discrete or MultiDiscrete space" % self.dtype)
        elif kind in ("Discrete", "MultiDiscrete", "MultiBinary"):
            self.n, self.start = choices(space)
            self.single, self.size, self.shape = kind == "Discrete", 1, whole_shape(space)
            self.dtype = getattr(space, "dtype", None) or "int64"
            if math.prod(self.n) > MOST_ACTIONS:
                raise Refused("there are %d combinations of actions; want at most %d" % (math.prod(self.n), MOST_ACTIONS))
        else:
            raise Refused("actions are a %s; want a Box, Discrete, MultiDiscrete or MultiBinary" % kind)

    def describe(self):
        if self.n is not None:
            return {"n": math.prod(self.n)}
        return {"shape": [self.size], "low": self.low, "high": self.high}

    def details(self):
        """Returns what describe leaves out and the agents of a world have in common."""
        shape = {"shape": list(self.shape)}
        return shape if self.n is None else dict(shape, choices=self.n, start=self.start)

    def bounded(self):
        """Returns a function that moves numbers within a box's own bounds, which are between those of evorl's if float32 lacks them."""
        one = len(self.least) == 1
        least, most = (self.least * self.size, self.most * self.size) if one else (self.least, self.most)
        if numpy is None:
            return lambda row: [min(max(x, low), high) for x, low, high in zip(row, least, most)]
        if self.dtype == "float32":
            return lambda row: row
        least, most = (numpy.array(x, self.dtype).reshape(self.shape) for x in (least, most))
        return lambda row: numpy.clip(row, least, most)

    def reader(self, memory, at, rows):
        """Returns read(i), the action of a row."""
        size = self.size
        view = memoryview(memory)[at : at + 4 * rows * size].cast("f" if self.n is None else "i")
        if self.n is None:
            bounded = self.bounded()
            if numpy is None:
                return lambda i: bounded(view[i * size : (i + 1) * size].tolist())
            array = numpy.frombuffer(view, numpy.float32).reshape((rows,) + self.shape)
            return lambda i: bounded(array[i].astype(self.dtype))
        if self.single:
            start = self.start[0]
            if numpy is None:
                return lambda i: view[i] + start
            values = [numpy.dtype(self.dtype).type(start + k) for k in range(self.n[0])]
            return lambda i: values[view[i]]

        def read(i):
            index, out = view[i], []
            for n, start in zip(reversed(self.n), reversed(self.start)):
                index, k = divmod(index, n)
                out.append(start + k)
            out.reverse()
            return nested(out, self.shape) if numpy is None else numpy.array(out, self.dtype).reshape(self.shape)

        return read


def together(env):
    """Returns the agents of a world, and the space of observations and of actions that all of them have."""
    agents = list(env.possible_agents)
    if not agents:
        raise Refused("the world has no possible_agents; want at least one")
    for what, space in (("observations", env.observation_space), ("actions", env.action_space)):
        kind = Observations if what == "observations" else Actions
        first = kind(space(agents[0]))
        for agent in agents[1:]:
            other = kind(space(agent))
            spaces = [first.describe(), other.describe()]
            if spaces[0] == spaces[1]:
                spaces = [first.details(), other.details()]
            if spaces[0] != spaces[1]:
                raise Refused("%s of %s are %s, and of %s %s; want equal spaces, as SuperSuit's pad_observations_v0 and pad_action_space_v0 make them"
                              % (what, agents[0], json.dumps(spaces[0]), agent, json.dumps(spaces[1])))
    return agents, env.observation_space(agents[0]), env.action_space(agents[0])


class Half:
    """The block of one half of the environments in the shared memory. Of a world of several agents each counts as one."""

    def __init__(self, memory, at, envs, observations, actions, agents):
        self.agents = agents
        (self.n, offsets) = (len(envs) * max(1, len(agents)), struct.unpack_from("<9Q", memory, at))
        command, seed, action, reward, ended, status, obs, final, fault = offsets
        view = memoryview(memory)
        self.envs, n, self.games = envs, self.n, bool(envs) and isinstance(envs[0], Atari)
        self.command, self.seed = view[command : command + n], view[seed : seed + 4 * n].cast("I")
        self.reward = view[reward : reward + 4 * n].cast("f")
        self.ended, self.status = view[ended : ended + n], view[status : status + n]
        self.action = actions.reader(memory, action, n)
        self.obs, self.final = observations.writer(memory, obs, n), observations.writer(memory, final, n)
        width = observations.size * (1 if observations.bytes else 4)
        self.rows, self.blank = view[obs : obs + n * width], bytes(width)
        self.fault = view[fault : fault + MOST_FAULTS]


def refuse(result):
    count = len(result) if isinstance(result, tuple) else type(result).__name__
    raise TypeError("step returned %s values; want five: observation, reward, terminated, truncated, info" % count)


def begin(half, i, result):
    if not isinstance(result, tuple) or len(result) != 2:
        raise TypeError("reset returned %s; want two values: observation, info" % type(result).__name__)
    half.obs(i, result[0])


def cause(error):
    """Describes an exception in one line, with the place where it was raised."""
    text = " ".join(("%s: %s" % (type(error).__name__, error)).split())
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename != __file__]
    return "%s (%s:%d)" % (text, frames[-1].filename, frames[-1].lineno) if frames else text


def close(env):
    try:
        env.close()
    except Exception:  # it may have failed before, or have no such method
        pass


def begin_together(half, at, result):
    if not isinstance(result, tuple) or len(result) != 2:
        raise TypeError("reset returned %s; want two values: observations, infos" % type(result).__name__)
    for k, agent in enumerate(half.agents):
        if agent not in result[0]:
            raise ValueError("%s takes no part in the episode; want an observation of each of possible_agents" % agent)
        half.obs(at + k, result[0][agent])


def step_together(half, at, env, commands):
    """Takes a step of the agents of a world that have not left."""
    acting = [(k, agent) for k, agent in enumerate(half.agents) if commands[k]]
    result = env.step({agent: half.action(at + k) for k, agent in acting})
    if not isinstance(result, tuple) or len(result) != 5:
        refuse(result)
    obs, rewards, terminations, truncations, _ = result
    over, left = True, []
    for k, agent in acting:
        i, terminated, truncated = at + k, terminations[agent], truncations[agent]
        half.reward[i] = rewards[agent]
        if terminated or truncated or commands[k] & LAST:
            half.ended[i] = (TERMINATED if terminated else 0) | (TRUNCATED if truncated else 0)
            half.final(i, obs[agent])
            left.append(i)
            continue
        if agent not in env.agents:
            raise ValueError("%s is not among the agents any more, and neither terminated nor truncated" % agent)
        half.obs(i, obs[agent])
        over = False
    if not over:
        for i in left:
            half.rows[i * len(half.blank) : (i + 1) * len(half.blank)] = half.blank
    elif not commands[acting[0][0]] & STAY:
        begin_together(half, at, env.reset())


def act_together(half, make, now, first):
    """Is act for worlds of several agents."""
    faults, envs, size = [], half.envs, len(half.agents)
    every = half.command.tobytes()
    for w in range(len(envs)):
        at, commands = w * size, every[w * size : (w + 1) * size]
        if not any(commands):
            continue
        now[0] = first + at
        try:
            what = max(c & 15 for c in commands)
            if what == STEP:
                step_together(half, at, envs[w], commands)
                continue
            if what == ANEW or envs[w] is None:
                if envs[w] is not None:
                    close(envs[w])
                envs[w] = make()
            begin_together(half, at, envs[w].reset(seed=half.seed[at]))
        except (Exception, SystemExit) as e:
            half.status[at : at + size] = bytes([1]) * size
            faults.append("%d\t%s\n" % (at + [bool(c) for c in commands].index(True), cause(e)))
            if envs[w] is not None:
                close(envs[w])
                envs[w] = None
    now[0] = 0xFFFFFFFF
    return tell(half, faults)


def tell(half, faults):
    if faults:
        text = "".join(faults).encode("utf-8", "replace")[: MOST_FAULTS - 1]
        half.fault[: len(text) + 1] = text + b"\0"
    return len(faults)


def act(half, make, now, first):
    """Does what the commands of a half say, and returns the number of environments that failed."""
    faults, envs, action, write, rewards = [], half.envs, half.action, half.obs, half.reward
    for i, command in enumerate(half.command.tobytes()):
        if not command:
            continue
        now[0] = first + i
        try:
            what = command & 15
            if what != STEP:
                if what == ANEW or envs[i] is None:
                    if envs[i] is not None:
                        close(envs[i])
                    envs[i] = make()
                begin(half, i, envs[i].reset(seed=half.seed[i]))
                continue
            env = envs[i]
            if half.games:
                env.whole = command & STAY
            result = env.step(action(i))
            if not isinstance(result, tuple) or len(result) != 5:
                refuse(result)
            obs, reward, terminated, truncated, _ = result
            rewards[i] = reward
            if terminated or truncated or command & LAST:
                half.ended[i] = (TERMINATED if terminated else 0) | (TRUNCATED if truncated else 0)
                half.final(i, obs)
                if not command & STAY:
                    begin(half, i, env.reset())
            else:
                write(i, obs)
        except (Exception, SystemExit) as e:
            half.status[i] = 1
            if envs[i] is not None:
                close(envs[i])
                envs[i] = None
            faults.append("%d\t%s\n" % (i, cause(e)))
    now[0] = 0xFFFFFFFF
    return tell(half, faults)


def receive(sock):
    """Returns the next message, (sequence, half, what, count); None: evorl has ended."""
    data = b""
    while len(data) < 8:
        part = sock.recv(8 - len(data))
        if not part:
            return None
        data += part
    return struct.unpack("<IBBH", data)


def serve(sock):
    arguments = json.loads(os.environ.get("EVORL_BRIDGE_ARGUMENTS") or "{}")
    make, limit, threshold, by = maker(os.environ["EVORL_BRIDGE_ENV"], arguments)
    first = make()
    global numpy
    numpy = sys.modules.get("numpy")
    agents = []
    if os.environ["EVORL_BRIDGE_ENV"].startswith("pettingzoo:"):
        agents, space, acts = together(first)
        observations, actions = Observations(space), Actions(acts)
    else:
        observations, actions = Observations(first.observation_space), Actions(first.action_space)
    hello = {
        "protocol": "evorl-bridge", "version": VERSION, "by": "%s, Python %s" % (by, sys.version.split()[0]), "observation": observations.describe(),
        "action": actions.describe(), "max_steps": limit, "reward_threshold": threshold, "agents": len(agents),
    }
    if isinstance(first, Atari):
        hello.update(stack=STACK, sign_rewards=True)
    sock.sendall(json.dumps(hello).encode() + b"\n")
    message = receive(sock)
    if message is None or message[2] != MAP:
        return [first]
    memory = mmap.mmap(int(os.environ["EVORL_BRIDGE_FILE"]), 0)
    magic, version, header = struct.unpack_from("<8sII", memory)
    if magic != MAGIC or version != VERSION or header != HEADER:
        raise Refused("evorl speaks version %d of the protocol; this server speaks %d" % (version, VERSION))
    seats = max(1, len(agents))
    envs = [first] + [make() for _ in range(struct.unpack_from("<I", memory, 28)[0] // seats - 1)]
    split, at0, at1 = struct.unpack_from("<I4xQQ", memory, 48)
    worlds = split // seats
    now = memoryview(memory)[128:132].cast("I")
    halves = [Half(memory, at0, envs[:worlds], observations, actions, agents)]
    if worlds < len(envs):
        halves.append(Half(memory, at1, envs[worlds:], observations, actions, agents))
    sock.sendall(struct.pack("<IBBH", message[0], 0, READY, 0))
    while True:
        message = receive(sock)
        if message is None or message[2] != GO:
            return [env for half in halves for env in half.envs]
        sequence, which, _, _ = message
        failed = (act_together if agents else act)(halves[which], make, now, split if which else 0)
        sock.sendall(struct.pack("<IBBH", sequence, which, DONE, failed))


def main():
    sock = socket.socket(fileno=int(os.environ["EVORL_BRIDGE_SOCKET"]))
    pid = guard(sock)
    status = 0
    try:
        for env in serve(sock):
            if env is not None:
                close(env)
    except Refused as e:
        print("evorl: %s" % e, file=sys.stderr)
        status = 3
    except Exception as e:
        print("evorl: %s" % cause(e), file=sys.stderr)
        status = 3
    sys.stdout.flush()
    sys.stderr.flush()
    os.kill(pid, signal.SIGKILL)
    os._exit(status)


if __name__ == "__main__":
    main()
