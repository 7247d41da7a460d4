"""Policies of runs as functions in numpy.

The file is what evorl export --safetensors writes; docs/exports.md documents it. Tests compare every head and layer with evorl's own.
"""

import json
import math
import struct
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from .metrics import PathLike

__all__ = ["Policy", "read_safetensors"]

_MAX_HEADER = 100 << 20  # as the format has it


def read_safetensors(file: PathLike) -> Tuple[Dict[str, Any], Dict[str, str]]:
    """The arrays of a safetensors file, of floats and integers, and its metadata."""
    import numpy as np

    types = {"F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8", "U32": "<u4", "U8": "u1"}
    data = Path(file).read_bytes()
    if len(data) < 8:
        raise ValueError(f"{file} has {len(data)} bytes; want a safetensors file")
    (length,) = struct.unpack("<Q", data[:8])
    if length > min(_MAX_HEADER, len(data) - 8):
        raise ValueError(f"{file} has a header of {length} bytes in {len(data)}; want a safetensors file")
    header = json.loads(data[8:8 + length])
    facts = header.pop("__metadata__", {})
    body, arrays = memoryview(data)[8 + length:], {}
    for name, of in header.items():
        begin, end = of["data_offsets"]
        if of["dtype"] not in types:
            raise ValueError(f"{file}: {name} is of type {of['dtype']}; want one of {', '.join(types)}")
        if not 0 <= begin <= end <= len(body):
            raise ValueError(f"{file}: {name} is at {begin} to {end} of {len(body)} bytes")
        arrays[name] = np.frombuffer(body[begin:end], types[of["dtype"]]).reshape(of["shape"])
    return arrays, facts


class Policy:
    """A trained policy: policy(observations) returns actions.

    Observations are [n, observations], in the environment's units; images [n, height, width, channels], or flat. Actions are int64 [n] of discrete
    spaces and float32 [n, dimensions] of others, in the environment's units, which the environment clips to its bounds. One observation without the first
    axis has one action. A policy with memory keeps that of each row from call to call: see reset.
    """

    def __init__(self, arrays: Dict[str, Any], facts: Dict[str, str]):
        import numpy as np

        self._np = np
        #: Origin and form of the policy, as text: workflow, env, iteration, member, head, activation and more.
        self.facts = dict(facts)
        self._arrays = {name: np.asarray(value, np.float64) for name, value in arrays.items()}
        self._count = int(facts["layers"])
        self.discrete = facts["discrete"] == "true"
        self.size = int(facts["size"])  # choices, or dimensions
        self._memory: Optional[Dict[int, Any]] = None
        self._cells = {}
        for i in range(self._count):
            if self._type(i) in ("gru", "lstm"):
                self._cells[i] = self._arrays[f"layers.{i}.recurrent.weight"].shape[1]

    @classmethod
    def load(cls, file: PathLike) -> "Policy":
        """A policy of a file of evorl export --safetensors."""
        arrays, facts = read_safetensors(file)
        if not facts.get("format", "").startswith("evorl policy "):
            raise ValueError(f"{file} is no policy of evorl; want a file of evorl export --safetensors")
        return cls(arrays, facts)

    def __repr__(self) -> str:
        f = self.facts
        return f"<evorlgpu.Policy: {f['workflow']} on {f['env']}, iteration {f['iteration']}, member {f['member']}>"

    @property
    def has_memory(self) -> bool:
        """Whether actions depend on earlier observations."""
        return bool(self._cells)

    def reset(self, begins: Optional[Any] = None) -> None:
        """Begins episodes: in all rows, or in those where begins [n] is true. A policy without memory needs no reset."""
        if begins is None or self._memory is None:
            self._memory = None
            return
        for state in self._memory.values():
            state[self._np.asarray(begins, bool)] = 0

    def __call__(self, observations: Any, rng: Optional[Any] = None) -> Any:
        """Actions at observations: the most likely ones or, with a numpy.random.Generator, drawn ones."""
        np = self._np
        x = np.asarray(observations, np.float64)
        inputs = self._inputs()
        batched = x.ndim > 1 and x[0].size == inputs
        if not batched and x.size != inputs:
            raise ValueError(f"observations of shape {x.shape}; want {inputs} numbers each, [n, …]")
        y = self.outputs(x.reshape(-1, inputs))
        if rng is not None and self.facts["head"] not in ("categorical", "gaussian", "binned"):
            raise ValueError(f"a {self.facts['head']} policy has no distribution of actions; want no rng")
        actions = self._choose(y, rng) if self.discrete else self._control(y, rng)
        return actions if batched else actions[0]

    def outputs(self, x: Any) -> Any:
        """The network's outputs at observations [n, observations]: logits, values or means. It replaces the memory."""
        np, limit = self._np, self.facts.get("observation_limit")
        if limit is not None:
            x = np.clip((x - self._arrays["observation.mean"]) * self._arrays["observation.scale"], -float(limit), float(limit))
        values: List[Any] = []
        image = False  # x is [n, channels, height, width], else [n, units]
        for i in range(self._count):
            x = self._layer(i, x, image)
            image = x.ndim == 4
            skip = int(self.facts.get(f"layers.{i}.skip", 0))
            if skip:
                x = x + values[i - skip]
            scale = self._arrays.get(f"layers.{i}.norm.weight")
            if scale is not None:
                x = self._normalized(x, scale, self._arrays[f"layers.{i}.norm.bias"])
            if i < self._count - 1:
                x = self._activated(i, x)
            values.append(x)
        return x

    def _type(self, i: int) -> str:
        named = self.facts.get(f"layers.{i}.type")
        if named is not None:
            return named
        return "conv" if f"layers.{i}.stride" in self.facts else "dense"

    def _inputs(self) -> int:
        if "inputs" in self.facts:
            return int(self.facts["inputs"])
        raise ValueError("the file does not say how many inputs the policy has: it is of an older version of evorl; want it exported again")

    def _layer(self, i: int, x: Any, image: bool) -> Any:
        np, kind, name = self._np, self._type(i), f"layers.{i}."
        if kind in ("conv", "max_pool", "average_pool", "activation", "layer_norm") and not image and f"{name}image" in self.facts:
            height, width, channels = (int(n) for n in self.facts[f"{name}image"].split(","))
            x = x.reshape(len(x), height, width, channels).transpose(0, 3, 1, 2)
        if kind in ("activation", "layer_norm"):
            return x
        if kind == "one_hot":
            choices = int(self.facts[f"{name}choices"])
            hot = (x.reshape(len(x), -1)[:, :, None] == np.arange(choices)).astype(np.float64)
            return hot.transpose(0, 2, 1)[:, :, None, :]
        if kind in ("conv", "max_pool", "average_pool"):
            return self._windowed(i, kind, x)
        x = x.reshape(len(x), -1)
        z = x @ self._arrays[f"{name}weight"].T + self._arrays[f"{name}bias"]
        if kind == "dense":
            return z
        return self._cell(i, kind, z)

    def _windowed(self, i: int, kind: str, x: Any) -> Any:
        np, name = self._np, f"layers.{i}."
        left, right, top, bottom = (int(n) for n in self.facts[f"{name}padding"].split(","))
        stride = int(self.facts[f"{name}stride"])
        kernel = int(self.facts[f"{name}kernel"]) if kind != "conv" else self._arrays[f"{name}weight"].shape[2]
        fill = -math.inf if kind == "max_pool" else 0.0
        padded = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=fill)
        under = np.lib.stride_tricks.sliding_window_view(padded, (kernel, kernel), axis=(2, 3))[:, :, ::stride, ::stride]
        if kind == "conv":
            return np.einsum("nchwyx,ocyx->nohw", under, self._arrays[f"{name}weight"], optimize=True) + self._arrays[f"{name}bias"][:, None, None]
        if kind == "max_pool":
            return under.max((4, 5))
        inside = np.pad(np.ones(x.shape[2:]), ((top, bottom), (left, right)))
        count = np.lib.stride_tricks.sliding_window_view(inside, (kernel, kernel))[::stride, ::stride].sum((2, 3))
        return under.sum((4, 5)) / count

    def _cell(self, i: int, kind: str, z: Any) -> Any:
        np, units, rows = self._np, self._cells[i], len(z)
        if self._memory is None:
            self._memory = {}
        state = self._memory.get(i)
        if state is None:
            state = np.zeros((rows, units * (2 if kind == "lstm" else 1)))
        if len(state) != rows:
            raise ValueError(f"{rows} observations after {len(state)} of the same episodes; want as many, or reset() before")
        h = state[:, :units]
        u = h @ self._arrays[f"layers.{i}.recurrent.weight"].T
        sigmoid = self._sigmoid
        if kind == "lstm":
            a, f, g, o = np.split(z + u, 4, axis=1)
            c = sigmoid(f) * state[:, units:] + sigmoid(a) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
            self._memory[i] = np.concatenate([h, c], axis=1)
            return h
        (zr, zz, zn), (ur, uz, un) = np.split(z, 3, axis=1), np.split(u, 3, axis=1)
        n = np.tanh(zn + sigmoid(zr + ur) * (un + self._arrays[f"layers.{i}.recurrent.bias"]))
        gate = sigmoid(zz + uz)
        h = (1 - gate) * n + gate * h
        self._memory[i] = h
        return h.copy()

    def _normalized(self, x: Any, scale: Any, shift: Any) -> Any:
        np, axis = self._np, 1
        if x.ndim == 4:
            scale, shift = scale[:, None, None], shift[:, None, None]
        mean = x.mean(axis, keepdims=True)
        return (x - mean) / np.sqrt(((x - mean) ** 2).mean(axis, keepdims=True) + 1e-6) * scale + shift

    def _sigmoid(self, x: Any) -> Any:
        return 0.5 * (1 + self._np.tanh(0.5 * x))

    def _activated(self, i: int, x: Any) -> Any:
        np, of = self._np, self.facts.get(f"layers.{i}.activation", self.facts["activation"])
        if of == "relu":
            return np.maximum(x, 0)
        if of == "tanh":
            return np.tanh(x)
        if of == "elu":
            return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))
        if of == "swish":
            return x * self._sigmoid(x)
        if of == "gelu":
            return x * self._sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
        if of == "linear":
            return x
        raise ValueError(f"activation {of}: it is of a newer version of evorl; want a newer evorlgpu")

    def _softmax(self, x: Any) -> Any:
        p = self._np.exp(x - x.max(-1, keepdims=True))
        return p / p.sum(-1, keepdims=True)

    def _index(self, logits: Any, rng: Optional[Any]) -> Any:
        """The index of the largest of the last axis, or one that is drawn."""
        np = self._np
        if rng is None:
            return logits.argmax(-1)
        below = self._softmax(logits).cumsum(-1)
        below[..., -1] = 1
        return (below > rng.random(logits.shape[:-1] + (1,))).argmax(-1)

    def _choose(self, y: Any, rng: Optional[Any]) -> Any:
        np, f = self._np, self.facts
        if f["head"] != "epsilon_greedy":
            return self._index(y[:, :self.size], rng).astype(np.int64)
        atoms = max(int(f["atoms"]), 1)
        y = y.reshape(len(y), -1, atoms)
        values = y[:, :self.size]
        if f["dueling"] == "true" and atoms > 1:  # the state's value alone changes no order
            values = values + y[:, self.size:] - values.mean(1, keepdims=True)
        if atoms > 1:
            values = (self._softmax(values) * np.arange(atoms)).sum(-1, keepdims=True)
        return values[:, :, 0].argmax(-1).astype(np.int64)

    def _control(self, y: Any, rng: Optional[Any]) -> Any:
        np, f, d = self._np, self.facts, self.size
        bins = int(f["bins"])
        if bins > 1:
            x = 2.0 * self._index(y.reshape(len(y), d, bins), rng) / (bins - 1) - 1
        else:
            x = y[:, :d]
            if rng is not None:
                x = x + np.exp(self._log_std(y)) * rng.standard_normal(x.shape)
            if f["squash"] == "true":
                x = np.tanh(x)
        return (self._arrays["action.middle"] + self._arrays["action.half"] * x).astype(np.float32)

    def _log_std(self, y: Any) -> Any:
        if "log_std" in self._arrays:
            return self._arrays["log_std"]
        if "log_std_low" not in self.facts:
            raise ValueError("the file has no deviations of the policy; want no rng")
        low, high = float(self.facts["log_std_low"]), float(self.facts["log_std_high"])
        return low + (high - low) * (self._np.tanh(y[:, self.size:]) + 1) / 2
