"""evorl's own environments as Gymnasium's vector environments, stepped together on the device.

    from evorlgpu.gymnasium import VectorEnv

    envs = VectorEnv("Hopper-v5", num_envs=1024)
    observations, infos = envs.reset(seed=1)

or gymnasium.make_vec("evorlgpu.gymnasium:evorl/Environment-v0", num_envs=1024, env="Hopper-v5"). The environments are in a process of
evorl, which a pipe connects; evorl/envs/vector/serve.go has the protocol.
"""

import json
import math
import struct
import subprocess
import tempfile
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple, Union

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from .program import EvorlError, program
from .runs import literal

__all__ = ["VectorEnv"]

_RESET, _STEP, _CLOSE = 1, 2, 3
_MODES = {AutoresetMode.NEXT_STEP: "next_step", AutoresetMode.SAME_STEP: "same_step"}


def _space(of: Mapping[str, Any]) -> spaces.Space:
    """A space of the server's first line."""
    if "n" in of:
        return spaces.Discrete(of["n"])
    low = np.array([-math.inf if v is None else v for v in of["low"]], np.float32)
    high = np.array([math.inf if v is None else v for v in of["high"]], np.float32)
    return spaces.Box(low.reshape(of["shape"]), high.reshape(of["shape"]), dtype=np.float32)


class VectorEnv(gymnasium.vector.VectorEnv):
    """num_envs copies of an environment of evorl. Observations are float32; actions are those of the environment with the same name in evorl.

    Arguments:
        env: the name of an environment of evorl list, with one agent.
        num_envs: copies.
        autoreset_mode: NEXT_STEP (the step after an end ignores its action and begins an episode) or SAME_STEP (the step that ends an episode begins
            the next; infos has final_obs). DISABLED is refused.
        max_episode_steps: the time limit, environment steps after which an episode is truncated; None: the environment's own.
        settings: keys of evorl's configuration for the environment, such as {"environment.action_repeat": 2}.
        device: as evorl's --device.

    A seed is of all copies together, which differ: reset(seed=1) gives every copy an episode of its own, the same ones every time. Without a seed episodes
    follow from the seed before. A single copy cannot be reset.
    """

    def __init__(self, env: str, num_envs: int = 1, autoreset_mode: Union[AutoresetMode, str] = AutoresetMode.NEXT_STEP,
                 max_episode_steps: Optional[int] = None, settings: Optional[Mapping[str, Any]] = None, device: Optional[str] = None,
                 render_mode: Optional[str] = None):
        mode = AutoresetMode(autoreset_mode)
        if mode not in _MODES:
            raise ValueError(f"autoreset_mode is {mode}; want NEXT_STEP or SAME_STEP: evorl's environments begin their next episode themselves")
        if render_mode is not None:
            raise ValueError(f"render_mode is {render_mode!r}; want None: evorl view shows episodes of runs")
        arguments = ["serve", f"--env={env}", f"--num-envs={int(num_envs)}", f"--autoreset={_MODES[mode]}"]
        if device is not None:
            arguments.append(f"--device={device}")
        if max_episode_steps is not None:
            arguments += ["--set", f"environment.time_limit={int(max_episode_steps)}"]
        for key, value in (settings or {}).items():
            arguments += ["--set", f"{key}={literal(value)}"]
        self._arguments = arguments
        self._child: Optional[subprocess.Popen] = None
        self._errors = tempfile.TemporaryFile()
        # A session of its own, where there are sessions: Ctrl-C interrupts training, not the environments under it.
        self._child = subprocess.Popen([program(), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, start_new_session=True)
        line = self._child.stdout.readline()  # type: ignore[union-attr]
        if not line:
            raise self._ended()
        hello = json.loads(line)
        if (hello["protocol"], hello["version"]) != ("evorl-vector", 1):
            self.close_extras()
            raise RuntimeError(f"evorl speaks {hello['protocol']} {hello['version']}; this package speaks evorl-vector 1: want both of one version")
        self.num_envs = hello["environments"]
        self.render_mode = None
        self.metadata = {"autoreset_mode": mode, "render_modes": [], "render_fps": 0}
        self.single_observation_space = _space(hello["observation"])
        self.single_action_space = _space(hello["action"])
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        #: Facts of the environment: time_limit, action_repeat, reward_threshold.
        self.facts: Dict[str, Any] = {name: hello[name] for name in ("env", "time_limit", "action_repeat", "reward_threshold")}
        self._mode = mode
        self._shape: Tuple[int, ...] = tuple(self.single_observation_space.shape or ())
        self._size = int(np.prod(self._shape))

    def reset(self, *, seed: Optional[Union[int, Sequence[Optional[int]]]] = None, options: Optional[Dict[str, Any]] = None) -> Tuple[Any, Dict[str, Any]]:
        """Begins an episode in every copy."""
        if seed is not None and not isinstance(seed, (int, np.integer)):
            raise ValueError(f"seed is {seed!r}; want one number: it is of all environments together")
        if options:
            raise ValueError(f"options are {sorted(options)}; want none: environments are reset together")
        super().reset(seed=None if seed is None else int(seed))
        # All seeds are drawn, so that the episodes after one without a seed follow from the last one given.
        answer = self._ask(struct.pack("<II", _RESET, int(self.np_random.integers(1 << 32))))
        return np.frombuffer(answer, "<f4").reshape((self.num_envs, *self._shape)), {}

    def step(self, actions: Any) -> Tuple[Any, Any, Any, Any, Dict[str, Any]]:
        """Takes a step in every copy."""
        if isinstance(self.single_action_space, spaces.Discrete):
            words = np.asarray(actions)
            if not np.issubdtype(words.dtype, np.integer) or words.shape != (self.num_envs,):
                raise ValueError(f"actions of type {words.dtype} and shape {words.shape}; want integers of shape {(self.num_envs,)}")
            if words.size and (words.min() < 0 or words.max() >= self.single_action_space.n):  # before they are cut to 32 bits
                raise ValueError(f"actions from {words.min()} to {words.max()}; want 0 to {self.single_action_space.n - 1}")
            words = words.astype("<i4")
        else:
            words = np.asarray(actions, "<f4")
            want = (self.num_envs, *(self.single_action_space.shape or ()))
            if words.shape != want:
                raise ValueError(f"actions of shape {words.shape}; want {want}")
        n, size = self.num_envs, self._size
        answer = self._ask(struct.pack("<II", _STEP, 0) + words.tobytes())
        observations = np.frombuffer(answer, "<f4", n * size).reshape((n, *self._shape))
        rewards = np.frombuffer(answer, "<f4", n, 4 * n * size).astype(np.float64)
        at = 4 * n * (size + 1)
        flags = np.frombuffer(answer, "u1", n, at)
        return observations, rewards, flags & 1 != 0, flags & 2 != 0, self._infos(memoryview(answer)[at + n:])

    def _infos(self, ended: memoryview) -> Dict[str, Any]:
        """What the end of an answer says of episodes that ended, with SAME_STEP."""
        if not ended:
            return {}
        of, mask = np.full(self.num_envs, None, object), np.zeros(self.num_envs, bool)
        each = 4 * (1 + self._size)
        for at in range(0, len(ended), each):
            (i,) = struct.unpack_from("<I", ended, at)
            of[i], mask[i] = np.frombuffer(ended, "<f4", self._size, at + 4).reshape(self._shape), True
        return {"final_obs": of, "_final_obs": mask, "final_info": {}, "_final_info": mask.copy()}

    def _ask(self, request: bytes) -> bytearray:
        """Sends a request and returns the answer."""
        if self._child is None:
            raise gymnasium.error.ClosedEnvironmentError("the environments are closed")
        try:
            try:
                self._child.stdin.write(request)  # type: ignore[union-attr]
                self._child.stdin.flush()  # type: ignore[union-attr]
            except OSError:
                raise self._ended() from None
            status, length = struct.unpack("<II", self._read(8))
            answer = self._read(length)
        except BaseException:  # such as KeyboardInterrupt: the rest of this answer would be taken for the next one
            self._abandon()
            raise
        if status != 0:
            raise ValueError(answer.decode("utf-8", "replace"))
        return answer

    def _read(self, length: int) -> bytearray:
        answer = bytearray(length)
        got = self._child.stdout.readinto(answer)  # type: ignore[union-attr]
        if got != length:
            raise self._ended()
        return answer

    def _abandon(self) -> None:
        """Ends the process at once, which may wait for its answer to be read."""
        if self._child is not None:
            self._child.kill()
            self.close_extras()
            self.closed = True

    def _ended(self) -> EvorlError:
        """The error of a process that ended."""
        assert self._child is not None
        for pipe in (self._child.stdin, self._child.stdout):
            try:
                pipe.close()  # type: ignore[union-attr]
            except OSError:
                pass
        status = self._child.wait()
        self._child = None
        self._errors.seek(0)
        text = self._errors.read().decode("utf-8", "replace")
        self._errors.close()
        self.closed = True
        return EvorlError(self._arguments, status, text)

    def close_extras(self, **_: Any) -> None:
        """Ends the process."""
        child, self._child = self._child, None
        if child is None:
            return
        try:
            child.stdin.write(struct.pack("<II", _CLOSE, 0))  # type: ignore[union-attr]
            child.stdin.close()  # type: ignore[union-attr]
        except OSError:
            pass  # it has ended
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        child.stdout.close()  # type: ignore[union-attr]
        self._errors.close()

    def __del__(self) -> None:
        if getattr(self, "_child", None) is not None:
            self.close_extras()


def _register() -> None:
    if "evorl/Environment-v0" not in gymnasium.registry:
        gymnasium.register("evorl/Environment-v0", vector_entry_point="evorlgpu.gymnasium:VectorEnv")


_register()
