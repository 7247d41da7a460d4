#!/usr/bin/env python3
"""Two exact updates of every off-policy algorithm in float64, written as rl/testdata/{dqn,deterministic,sac,impala}_update.json for the Go tests.

    pip install torch numpy && python tools/reference/offpolicy_update.py [deterministic]

The equations are those of offpolicy_losses.py and vtrace_losses.py, beside this file; gradients are PyTorch's, nothing is shared with the Go
code or the shaders. Inputs are rounded to float32 first, so that a float32 implementation starts from the same numbers. Seeds are tried in
order until no decision (the smaller critic, the best action, a clip, a ReLU) and no small gradient (Adam's first steps divide by it) is so close
that float32 could differ.

A file is {"source", "versions", "adam", "draws", "cases": [...]}, a case

  name, algorithm     which function of offpolicy_losses.py; its switches are fields of the case (double, huber, delay, ...)
  seed                of the inputs: the first that will do
  sizes               of each network, from inputs to outputs, hidden layers between
  hyper               name -> [P]
  initial             name -> tensor [P, ...]: parameters, and "target_" + name where a target differs from them
  updates             in order: {"batch": ..., "noise": ..., "expect": ...}, each name -> tensor [P, B, ...]; an empty batch is the one before

A tensor is {"shape": [...], "data": [flat, row-major]}. A network is one flat row, for each layer W[in][out] row-major, then bias[out];
"critics" are [P, critics, row], without the zeros that align rows on the device. Gaussian actors put means before what log std is made of;
dueling networks put the value behind the advantages; distributions are [action][atom]. "expect" has what an update computes
(offpolicy_losses.py returns it), its gradients "gradient/...", before clipping, and "params/..." and "target/..." after the update.

Noise is standard normal, and is drawn as the device draws it: element d of row b of member p is the d-th normal number of
Rng(k0, k1, p, b, 0), where (k0, k1, ...) = philox((seed, stream), (p, 0, iteration, update)) and stream = FNV-1a of the noise's name; seed and
iteration are "draws" of the file. A Go test either writes the noise into what it tests, or gives it these streams.
"""

import itertools
import json
import math
import pathlib
import platform
import sys

import numpy as np
import torch

import offpolicy_losses as losses
import permutation  # tools/reference/permutation.py
import vtrace_losses

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)

P, B, UPDATES = 2, 7, 2
OBS, ACTIONS, HIDDEN = 5, 2, [7, 6]
CHOICES, ATOMS = 3, 7  # of discrete actions
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
SEED, ITERATION = 7, 5  # of the run whose noise is drawn
SLACK = 1e-6  # how far a parameter may move by the errors of gradients in float32, 2e-7 of the largest

RATES = [3e-4, 1e-3]  # of each member, as all that follow
SHARED = {"tau": [0.3, 1.0], "reward_scale": [1.0, 2.5]}
AC = SHARED | {"actor_learning_rate": RATES, "critic_learning_rate": [1e-3, 2e-4]}
TD3 = AC | {"target_noise": [0.2, 0.6], "noise_clip": [0.5, 0.3]}
SAC = AC | {"temperature_learning_rate": [1e-3, 1e-2]}
VTRACE = {
    "learning_rate": RATES, "discount": [0.99, 0.9], "lambda": [0.95, 0.8], "rho_threshold": [1.0, 0.9], "c_threshold": [1.1, 0.8],
    "pg_rho_threshold": [1.0, 1.3], "actor_weight": [1.0, 0.7], "critic_weight": [0.5, 1.0], "entropy_weight": [0.01, 0.05],
}
FILES = {
    "dqn": [
        {"name": "plain"}, {"name": "double", "double": True}, {"name": "dueling", "double": True, "dueling": True},
        {"name": "huber", "huber": True, "double": True, "weighted": True},
        {"name": "c51", "atoms": ATOMS, "range": [-2.0, 2.0]},
        {"name": "double c51", "atoms": ATOMS, "range": [-2.0, 2.0], "double": True, "weighted": True},
    ],
    "deterministic": [
        {"name": "ddpg", "critics": 1, "delay": 1, "hyper": AC},
        {"name": "td3", "critics": 2, "delay": 2, "hyper": TD3, "noise": ["next"]},
        {"name": "td3 without delay", "critics": 2, "delay": 1, "hyper": TD3, "noise": ["next"]},
        {"name": "distributional", "algorithm": "fast", "critics": 2, "delay": 1, "hyper": TD3, "noise": ["next"], "atoms": ATOMS, "range": [-2.0, 3.0],
         "clipped": True, "weight_decay": 0.1, "epsilon": 1e-3},
        {"name": "distributional, unclipped", "algorithm": "fast", "critics": 2, "delay": 1, "hyper": TD3, "noise": ["next"], "atoms": ATOMS,
         "range": [-2.0, 3.0], "clipped": False, "epsilon": 1e-3},
    ],
    "sac": [
        {"name": "continuous", "algorithm": "sac", "critics": 2, "log_std": [-5.0, 2.0], "noise": ["next", "own"],
         "hyper": SAC | {"target_entropy": [-2.0, -1.0]}},
        {"name": "discrete", "algorithm": "discrete_sac", "critics": 2,
         "hyper": SAC | {"target_entropy": [f * math.log(CHOICES) for f in (0.98, 0.5)]}},
    ],
    "impala": [
        {"name": "official", "algorithm": "vtrace", "mixed": False, "distribution": "categorical"},
        {"name": "acme", "algorithm": "vtrace", "mixed": True, "distribution": "categorical"},
        {"name": "gaussian", "algorithm": "vtrace", "mixed": False, "distribution": "gaussian"},
    ],
}


def float32(x):
    return np.asarray(x, np.float32).astype(np.float64)


def complete(file, case):
    """A case with what its file's cases have in common."""
    case = {"algorithm": file, **case}
    if file == "dqn":
        case |= {"actions": CHOICES, "hyper": SHARED | {"learning_rate": RATES}}
        case["sizes"] = {"q": [OBS, *HIDDEN, CHOICES * case.get("atoms", 1) + case.get("dueling", False)]}
        return case
    if file == "impala":
        discrete = case["distribution"] == "categorical"
        case["sizes"] = {"actor": [OBS, *HIDDEN, CHOICES if discrete else ACTIONS], "critic": [OBS, *HIDDEN, 1]}
        return case | {"hyper": VTRACE, "max_grad_norm": 1.2}
    case["discrete"] = case["algorithm"] == "discrete_sac"
    outputs = CHOICES if case["discrete"] else ACTIONS * (1 + ("log_std" in case))
    critic = [OBS, *HIDDEN, CHOICES] if case["discrete"] else [OBS + ACTIONS, *HIDDEN, case.get("atoms", 1)]
    return case | {"sizes": {"actor": [OBS, *HIDDEN, outputs], "critics": critic}}


class Member:
    """Parameters, targets and Adam's moments of one member."""

    def __init__(self, case, p, initial):
        self.case, self.sizes, self.epsilon = case, case["sizes"], case.get("epsilon", EPSILON)  # of distributions most gradients are small
        self.hyper = {k: float(float32(values[p])) for k, values in case["hyper"].items()}
        get = lambda k: torch.tensor(initial[k][p]).flatten()
        self.params = {k: get(k).requires_grad_() for k in initial if not k.startswith("target_")}
        self.targets = {k.removeprefix("target_"): get(k) for k in initial if k.startswith("target_")}
        self.moments = {k: [torch.zeros_like(w), torch.zeros_like(w)] for k, w in self.params.items()}
        self.updates = {k: 0 for k in self.params}

    def descend(self, names, loss, rate, max_norm=None):
        """One step of Adam, or AdamW (I. Loshchilov, F. Hutter, 2019, algorithm 2); returns the gradient before clipping, of several names as a dictionary."""
        several = [names] if isinstance(names, str) else names
        gradient = torch.autograd.grad(loss, [self.params[k] for k in several])
        norm = torch.cat(gradient).norm()
        scale = 1.0 if max_norm is None else min(1.0, max_norm / float(norm))
        for k, g in zip(several, gradient):
            self.updates[k] += 1
            self.moments[k] = [BETA1 * self.moments[k][0] + (1 - BETA1) * scale * g, BETA2 * self.moments[k][1] + (1 - BETA2) * (scale * g) ** 2]
            m, v = (moment / (1 - beta ** self.updates[k]) for moment, beta in zip(self.moments[k], (BETA1, BETA2)))
            decay = self.case.get("weight_decay", 0) * self.params[k].detach()
            self.params[k] = (self.params[k].detach() - rate * (m / (v.sqrt() + self.epsilon) + decay)).requires_grad_()
            if rate * 2e-7 * g.abs().max() > SLACK * (g[g != 0].abs().min() + self.epsilon):
                raise losses.TooClose("small gradient")
        return gradient[0] if isinstance(names, str) else dict(zip(several, gradient), norm=norm)

    def follow(self, k):
        self.targets[k] = self.targets[k] + self.hyper["tau"] * (self.params[k].detach() - self.targets[k])


# ---- inputs ----


def parameters(rng, sizes):
    pairs = list(zip(sizes[:-1], sizes[1:]))
    return np.concatenate([x for i, o in pairs for x in (rng.normal(0, (1.5 / i) ** 0.5, i * o), rng.normal(0, 0.2, o))])


def initial(rng, case):
    """Parameters of every member; targets are parameters of their own, as after many updates."""
    out, sizes = {}, case["sizes"]
    rows = lambda k: float32([[parameters(rng, sizes[k]) for _ in range(case.get("critics", 1) if k == "critics" else 1)] for _ in range(P)])
    for k in sizes:
        out[k] = rows(k) if k == "critics" else rows(k)[:, 0]
        if case["algorithm"] in ("dqn", "deterministic") or k == "critics":
            out["target_" + k] = rows(k) if k == "critics" else rows(k)[:, 0]
    if "temperature_learning_rate" in case["hyper"]:
        out["log_temperature"] = float32([[0.0], [-1.5]])
    if case.get("distribution") == "gaussian":
        out["log_std"] = float32(rng.uniform(-0.8, 0.2, (P, ACTIONS)))
    return out


def batches(rng, case):
    """A batch of transitions; factors as of returns of 1 to 3 steps."""
    discrete = case["algorithm"] in ("dqn", "discrete_sac")
    action = rng.integers(0, CHOICES, (P, B, 1)) if discrete else rng.uniform(-1, 1, (P, B, ACTIONS))
    factor = np.array([0.99, 0.9])[:, None] ** rng.integers(1, 4, (P, B))
    factor[rng.random((P, B)) < 0.25] = 0
    factor[:, 0] = 0
    obs, next_obs = rng.normal(size=(P, B, OBS)), rng.normal(size=(P, B, OBS))
    batch = {"obs": obs, "action": action, "reward": rng.normal(0.3, 1, (P, B)), "next_obs": next_obs, "factor": factor}
    if case["algorithm"] == "dqn":
        batch["weight"] = rng.uniform(0.1, 1, (P, B)) if case.get("weighted") else np.ones((P, B))
    return {k: float32(x) for k, x in batch.items()}


def normal(words):
    """Box-Muller of two words, as Rng.Normal of engine/rng.go."""
    u, v = ((words[0] >> 8) + 1) / 2**24, (words[1] >> 8) / 2**24
    return math.sqrt(-2 * math.log(u)) * math.cos(2 * math.pi * v)


def noise(name, update, rows, width):
    out = np.zeros((P, rows, width))
    for p, b in itertools.product(range(P), range(rows)):
        key = permutation.philox((SEED, permutation.stream(name)), (p, 0, ITERATION, update))[:2]
        words = [w for block in range((2 * width + 3) // 4) for w in permutation.philox(key, (p, b, 0, block))]
        out[p, b] = [normal(words[2 * d : 2 * d + 2]) for d in range(width)]
    return float32(out)


# ---- cases ----


def run(case):
    """The case with inputs of the first seed that will do."""
    for seed in itertools.count():
        try:
            return attempt(case, seed)
        except losses.TooClose as e:
            print(case["name"], seed, e, flush=True)


def attempt(case, seed):
    rng = np.random.default_rng(seed)
    start = initial(rng, case)
    members = [Member(case, p, start) for p in range(P)]
    shared = vtrace_losses.trajectories(rng, case, members, P, OBS, ACTIONS, CHOICES) if case["algorithm"] == "vtrace" else None
    losses.SIDES.clear()
    document = {**case, "seed": seed, "hyper": {k: float32(v).tolist() for k, v in case["hyper"].items()}, "initial": tensors(start), "updates": []}
    for update in range(UPDATES):
        batch = shared or batches(rng, case)
        drawn = {name: noise(name, update, B, ACTIONS) for name in case.get("noise", [])}
        algorithm = vtrace_losses.vtrace if shared else getattr(losses, case["algorithm"])
        results = []
        for p, member in enumerate(members):
            of = lambda arrays: {k: torch.tensor(x[p]) for k, x in arrays.items()}
            found = algorithm(member, of(batch), of(drawn))
            found |= {"params/" + k: w for k, w in member.params.items()} | {"target/" + k: w for k, w in member.targets.items()}
            results.append({k: shaped(case, k, x.detach().numpy()) for k, x in found.items()})
        expect = {k: np.stack([r[k] for r in results]) for k in results[0]}
        if one_sided := [what for what, sides in losses.SIDES.items() if len(sides) < 2]:
            raise losses.TooClose("always alike: " + ", ".join(one_sided))
        document["updates"].append({"batch": {} if shared and update else tensors(batch), "noise": tensors(drawn), "expect": tensors(expect)})
    return document


def shaped(case, name, x):
    """Critics by network."""
    return x.reshape(case["critics"], -1) if name.endswith("/critics") and x.ndim else x


def tensors(arrays):
    """As the file has them: float32 numbers by the fewest digits that give them again, others by twelve."""
    return {k: {"shape": list(a.shape), "data": [shorten(f) for f in np.asarray(a, float).ravel()]} for k, a in arrays.items()}


def shorten(f):
    if f == int(f):
        return int(f)
    return float(str(np.float32(f)) if f == np.float32(f) else "%.12g" % f)


def main():
    folder = pathlib.Path(__file__).resolve().parents[2] / "rl" / "testdata"
    for file in sys.argv[1:] or FILES:
        cases = FILES[file]
        document = {
            "source": "tools/reference/offpolicy_update.py",
            "versions": {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__},
            "adam": {"beta1": BETA1, "beta2": BETA2, "epsilon": EPSILON},
            "draws": {"seed": SEED, "iteration": ITERATION},
            "cases": [run(complete(file, c)) for c in cases],
        }
        path = folder / (file + "_update.json")
        path.write_text(json.dumps(document, separators=(",", ":")) + "\n")
        print(path.name, path.stat().st_size, "bytes; seeds", [c["seed"] for c in document["cases"]])


if __name__ == "__main__":
    main()
