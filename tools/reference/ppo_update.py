#!/usr/bin/env python3
"""One PPO update in float64 NumPy, written as rl/testdata/ppo_update.json for the Go tests.

    pip install numpy && python tools/reference/ppo_update.py

Gradients are derived by hand and checked here against central differences of the loss; no automatic
differentiation is involved, and nothing is shared with the Go code or the shaders. Inputs are rounded to float32
first, so that a float32 implementation starts from exactly the same numbers. The script refuses data in which a
clip decision is so close that float32 could take the other side.

The update, for each member p with its own hyperparameters (Schulman et al. 2016, 2017):

  values     V = critic(obs), V' = critic(next_obs), both before the update
  advantage  delta_t = r_t + discount V'_t (1 - terminated_t) - V_t
             A_t = delta_t + discount gae_lambda (1 - (terminated_t or truncated_t)) A_{t+1},  A_T = 0
             truncation bootstraps from V(next_obs), termination does not; both at once is a termination
  returns    R_t = A_t + V_t
  minibatch  samples i = t E + e in the order of permutation[epoch, p, :], cut into equal minibatches;
             the permutation is evorl's keyed one (permutation.py), its key drawn for (member, iteration, epoch)
             A normalised over the minibatch: (A - mean) / (std + 1e-8), population std
  actor      ratio = exp(log_prob - old_log_prob); L_actor = -mean(min(ratio A, clip(ratio, 1 +- clip_epsilon) A))
  critic     v_clipped = V + clip(v - V, +-clip_epsilon); L_critic = value_weight 0.5 mean(max((v-R)^2, (v_clipped-R)^2))
  total      L_actor + L_critic - entropy_weight mean(entropy)
  gradient   scaled by min(1, max_grad_norm / norm), the norm over actor, log_std and critic of the member together
  Adam       beta1 0.9, beta2 0.999, epsilon 1e-5 outside the root, bias correction; zero moments at the start

Log-probabilities and entropies: categorical over logits; Gaussian with a state-independent log_std [A]; "squashed"
is a = tanh(u) with u Gaussian and log_prob(a) = log N(u) - sum log(1 - tanh(u)^2). Its entropy has no closed form,
so the entropy term is that of the Gaussian before squashing. The u of the action taken is given as pre_tanh.

Layout: a network is one flat row a member, for each layer W[in][out] row-major, then bias[out]; log_std is apart.
Trajectory tensors are [T, P, E, ...]. A tensor in the file is {"shape": [...], "data": [flat, row-major]}.
"""

import json
import pathlib
import platform

import numpy as np

import permutation  # tools/reference/permutation.py
import policy  # tools/reference/policy.py

P, T, E = 3, 6, 3  # 18 samples: two minibatches of an odd 9
OBS, HIDDEN = 5, [7, 6]
EPOCHS, MINIBATCHES = 2, 2
BETA1, BETA2, ADAM_EPSILON, ADVANTAGE_EPSILON = 0.9, 0.999, 1e-5, 1e-8
SEED, ITERATION = 7, 5  # of the run that the permutations are taken from
CLIP_MARGIN = 2e-4  # least distance of a ratio or value from its clip bound
HYPER = {
    "learning_rate": [3e-4, 5e-3, 5e-2],
    "discount": [0.99, 0.9, 0.97],
    "gae_lambda": [0.95, 0.8, 1.0],
    "clip_epsilon": [0.2, 0.1, 0.3],
    "entropy_weight": [0.01, 0.0, 0.05],
    "value_weight": [0.5, 1.0, 0.25],
    "max_grad_norm": [1.25, 1.25, 1.25],
}
CASES = [
    {"name": "discrete", "distribution": "categorical", "actions": 3, "activation": "tanh", "seed": 1},
    {"name": "gaussian", "distribution": "gaussian", "actions": 2, "activation": "tanh", "seed": 3},
    {"name": "squashed", "distribution": "squashed", "actions": 2, "activation": "swish", "seed": 2},
]


def float32(x):
    return np.asarray(x, np.float32).astype(np.float64)


# ---- the loss of one member on one minibatch ----


class Member:
    def __init__(self, case, hyper, actor, log_std, critic):
        self.case, self.hyper = case, hyper
        self.params = {"actor": actor.copy(), "log_std": log_std.copy(), "critic": critic.copy()}
        self.m = {k: np.zeros_like(v) for k, v in self.params.items()}
        self.v = {k: np.zeros_like(v) for k, v in self.params.items()}
        self.steps = 0
        self.actor_sizes = [OBS, *HIDDEN, case["actions"]]
        self.critic_sizes = [OBS, *HIDDEN, 1]

    def values(self, obs):
        """V of obs [..., OBS]."""
        flat = obs.reshape(-1, OBS)
        return policy.forward(self.params["critic"], self.critic_sizes, flat, self.case["activation"])[0].reshape(obs.shape[:-1])

    def policy(self, params, obs, action):
        out, tape = policy.forward(params["actor"], self.actor_sizes, obs, self.case["activation"])
        return tape, policy.DISTRIBUTIONS[self.case["distribution"]](out, params["log_std"], action)

    def loss(self, params, batch, with_gradient=True):
        """Loss parts, and the gradient of the total by every parameter."""
        obs, action, old_log_prob, old_value, advantage, target = batch
        h, n, kind = self.hyper, len(obs), self.case["activation"]
        low, high = 1 - h["clip_epsilon"], 1 + h["clip_epsilon"]

        tape, (log_prob, entropy, dlp_out, dent_out, dlp_std, dent_std) = self.policy(params, obs, action)
        a = (advantage - advantage.mean()) / (advantage.std() + ADVANTAGE_EPSILON)
        ratio = np.exp(log_prob - old_log_prob)
        plain, clipped = ratio * a, np.clip(ratio, low, high) * a
        out, critic_tape = policy.forward(params["critic"], self.critic_sizes, obs, kind)
        value = out[:, 0]
        value_clipped = old_value + np.clip(value - old_value, -h["clip_epsilon"], h["clip_epsilon"])
        square, square_clipped = (value - target) ** 2, (value_clipped - target) ** 2
        parts = {
            "actor": -np.minimum(plain, clipped).mean(),
            "critic": h["value_weight"] * 0.5 * np.maximum(square, square_clipped).mean(),
            "entropy": entropy.mean(),
        }
        parts["total"] = parts["actor"] + parts["critic"] - h["entropy_weight"] * parts["entropy"]
        if not with_gradient:
            return parts
        # A clipped sample has no gradient. Inside the bounds old + (v - old) may differ from v by rounding, so the
        # comparison of the squares alone would not do.
        outside_value = abs(value - old_value) > h["clip_epsilon"]
        value_is_clipped = outside_value & (square_clipped > square)
        ratio_is_clipped = clipped < plain
        parts["ratio_clipped"], parts["value_clipped"] = ratio_is_clipped.sum(), value_is_clipped.sum()
        bounds = [abs(ratio - low), abs(ratio - high), abs(abs(value - old_value) - h["clip_epsilon"])]
        bounds.append(np.where(outside_value, abs(square - square_clipped), 1))
        assert np.min(bounds) > CLIP_MARGIN, "a sample lies on a clip bound: choose another seed for " + self.case["name"]

        d_log_prob = -np.where(ratio_is_clipped, 0, plain)[:, None] / n
        d_entropy = -h["entropy_weight"] / n
        d_value = h["value_weight"] * np.where(value_is_clipped, 0, value - target) / n
        gradient = {
            "actor": policy.backward(params["actor"], self.actor_sizes, tape, d_log_prob * dlp_out + d_entropy * dent_out, kind),
            "log_std": (d_log_prob * dlp_std + d_entropy * dent_std).sum(0),
            "critic": policy.backward(params["critic"], self.critic_sizes, critic_tape, d_value[:, None], kind),
        }
        return parts, gradient

    def adam(self, gradient):
        """One clipped Adam step; returns the norm before clipping."""
        norm = np.sqrt(sum((g**2).sum() for g in gradient.values()))
        scale = min(1.0, self.hyper["max_grad_norm"] / norm)
        self.steps += 1
        for k, g in gradient.items():
            self.m[k] = BETA1 * self.m[k] + (1 - BETA1) * scale * g
            self.v[k] = BETA2 * self.v[k] + (1 - BETA2) * (scale * g) ** 2
            m_hat = self.m[k] / (1 - BETA1**self.steps)
            v_hat = self.v[k] / (1 - BETA2**self.steps)
            self.params[k] = self.params[k] - self.hyper["learning_rate"] * m_hat / (np.sqrt(v_hat) + ADAM_EPSILON)
        return norm

    def difference_error(self, batch, gradient):
        """Largest deviation of the gradient from central differences, relative to its largest entry."""
        worst, step = 0.0, 1e-5
        largest = max(abs(g).max() for g in gradient.values() if g.size)
        for k, g in gradient.items():
            for i in range(g.size):
                ends = []
                for sign in (1, -1):
                    moved = {name: value.copy() for name, value in self.params.items()}
                    moved[k][i] += sign * step
                    ends.append(self.loss(moved, batch, with_gradient=False)["total"])
                worst = max(worst, abs((ends[0] - ends[1]) / (2 * step) - g[i]))
        return worst / largest


# ---- inputs ----


def make_inputs(case):
    rng = np.random.default_rng(case["seed"])
    sizes = {"actor": [OBS, *HIDDEN, case["actions"]], "critic": [OBS, *HIDDEN, 1]}

    def rows(s):
        weights = [[rng.normal(0, i**-0.5, i * o), rng.normal(0, 0.1, o)] for _ in range(P) for i, o in zip(s[:-1], s[1:])]
        return float32(np.concatenate(sum(weights, [])).reshape(P, -1))

    discrete = case["distribution"] == "categorical"
    x = {"actor": rows(sizes["actor"]), "critic": rows(sizes["critic"])}
    x["log_std"] = float32(rng.uniform(-0.8, 0.2, (P, 0 if discrete else case["actions"])))

    # Flags: each kind of end at least once a member, at the last step too, and once both together.
    terminated, truncated = np.zeros((T, P, E)), np.zeros((T, P, E))
    for p in range(P):
        terminated[1, p, p % E] = 1
        truncated[3, p, (p + 1) % E] = 1
        terminated[T - 1, p, (p + 2) % E] = 1
        truncated[T - 1, p, p % E] = 1
    terminated[2, 2, 2] = truncated[2, 2, 2] = 1
    done = np.maximum(terminated, truncated)

    obs = float32(rng.normal(size=(T + 1, P, E, OBS)))
    final = float32(rng.normal(size=(T, P, E, OBS)))
    x["obs"] = obs[:T]
    x["next_obs"] = np.where(done[..., None] == 1, final, obs[1:])  # the next observation unless an auto-reset lies between
    x["reward"] = float32(rng.normal(0.5, 1, (T, P, E)))
    x["terminated"], x["truncated"] = terminated, truncated
    if discrete:
        x["action"] = rng.integers(0, case["actions"], (T, P, E)).astype(float)
    else:
        u = float32(rng.normal(0, 0.9, (T, P, E, case["actions"])))
        x["action"] = u
        if case["distribution"] == "squashed":
            x["pre_tanh"], x["action"] = u, np.tanh(u)
    # Old log-probabilities off the current policy's, so that ratios differ from 1 and clip in the first minibatch.
    x["log_prob_offset"] = rng.normal(0, 0.2, (T, P, E))
    x["permutation"] = np.stack([[permutation.minibatches(SEED, p, ITERATION, epoch, T * E) for p in range(P)] for epoch in range(EPOCHS)]).astype(float)
    return x


# ---- the update ----


def gae(hyper, reward, value, next_value, terminated, truncated):
    advantage, carry = np.zeros_like(reward), np.zeros(E)
    for t in reversed(range(T)):
        delta = reward[t] + hyper["discount"] * next_value[t] * (1 - terminated[t]) - value[t]
        alive = 1 - np.maximum(terminated[t], truncated[t])
        carry = delta + hyper["discount"] * hyper["gae_lambda"] * alive * carry
        advantage[t] = carry
    return advantage


def run(case):
    x = make_inputs(case)
    expect = {k: np.zeros((T, P, E)) for k in ("value", "next_value", "advantage", "return")}
    updates = EPOCHS * MINIBATCHES
    names = ("actor", "critic", "entropy", "total", "ratio_clipped", "value_clipped", "grad_norm")
    losses = {k: np.zeros((updates, P)) for k in names}
    first, members, error = [], [], 0.0
    old_log_prob = np.zeros((T, P, E))
    for p in range(P):
        hyper = {k: float32(values[p]) for k, values in HYPER.items()}
        member = Member(case, hyper, x["actor"][p], x["log_std"][p], x["critic"][p])
        taken = x.get("pre_tanh", x["action"])[:, p]
        flat_action = taken.reshape(T * E, *taken.shape[2:])
        obs = x["obs"][:, p].reshape(T * E, OBS)
        current = member.policy(member.params, obs, flat_action)[1][0].reshape(T, E)
        old_log_prob[:, p] = float32(current + x["log_prob_offset"][:, p])

        value, next_value = member.values(x["obs"][:, p]), member.values(x["next_obs"][:, p])
        advantage = gae(hyper, x["reward"][:, p], value, next_value, x["terminated"][:, p], x["truncated"][:, p])
        for k, array in zip(expect, (value, next_value, advantage, advantage + value)):
            expect[k][:, p] = array
        columns = (old_log_prob[:, p], value, advantage, advantage + value)
        data = (obs, flat_action, *(c.reshape(-1) for c in columns))
        for i in range(updates):
            order = x["permutation"][i // MINIBATCHES, p].astype(int).reshape(MINIBATCHES, -1)[i % MINIBATCHES]
            batch = tuple(d[order] for d in data)
            parts, gradient = member.loss(member.params, batch)
            error = max(error, member.difference_error(batch, gradient))
            if i == 0:
                first.append(gradient)
            norm = member.adam(gradient)
            for k in names:
                losses[k][i, p] = norm if k == "grad_norm" else parts[k]
        members.append(member)
    assert error < 1e-8, "gradient and central differences disagree by %g" % error
    # The data must reach both branches of both clips, or a wrong clip would pass.
    for k in ("ratio_clipped", "value_clipped"):
        assert 0 < losses[k].sum() < updates * P * T * E // MINIBATCHES, k + " never or always: choose another seed for " + case["name"]
    clips = losses["grad_norm"] > np.array(HYPER["max_grad_norm"])
    assert clips.any() and not clips.all()

    del x["log_prob_offset"]
    x["log_prob"] = old_log_prob

    def stack(rows):
        return tensors({k: np.stack([row[k] for row in rows]) for k in ("actor", "log_std", "critic")})

    return {
        **{k: case[k] for k in ("name", "distribution", "actions", "activation")},
        "input": tensors(x),
        "expect": {
            **tensors(expect),
            "minibatch_loss": tensors(losses),
            "first_gradient": stack(first),
            "params": stack([m.params for m in members]),
            "adam_m": stack([m.m for m in members]),
            "adam_v": stack([m.v for m in members]),
        },
        "gradient_error": error,
    }


def tensors(arrays):
    """As the file has them; whole numbers without their .0."""
    shorten = lambda f: int(f) if f == int(f) else f
    return {k: {"shape": list(a.shape), "data": [shorten(f) for f in a.ravel().tolist()]} for k, a in arrays.items()}


def main():
    document = {
        "source": "tools/reference/ppo_update.py",
        "versions": {"python": platform.python_version(), "numpy": np.__version__},
        "sizes": {"members": P, "steps": T, "environments": E, "obs": OBS, "hidden": HIDDEN, "epochs": EPOCHS, "minibatches": MINIBATCHES},
        "seed": SEED,
        "iteration": ITERATION,
        "adam": {"beta1": BETA1, "beta2": BETA2, "epsilon": ADAM_EPSILON},
        "advantage_epsilon": ADVANTAGE_EPSILON,
        "hyper": {k: float32(values).tolist() for k, values in HYPER.items()},
        "cases": [run(case) for case in CASES],
    }
    path = pathlib.Path(__file__).resolve().parents[2] / "rl" / "testdata" / "ppo_update.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, separators=(",", ":")) + "\n")
    for case in document["cases"]:
        loss = case["expect"]["minibatch_loss"]
        counts = ["%s %d" % (k, sum(loss[k]["data"])) for k in ("ratio_clipped", "value_clipped")]
        print("%-9s gradient error %.1e, %s of %d samples" % (case["name"], case["gradient_error"], ", ".join(counts), EPOCHS * P * T * E))
    print(path, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
