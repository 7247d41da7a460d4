"""Targets and losses of off-policy learning in PyTorch, float64, for offpolicy_update.py: written from the papers' equations, gradients by
automatic differentiation. Everything is of one member; a batch has B rows, and all means are over them.

Common: f = factor, discount^m after the m steps of the return, 0 after a termination; r = reward, of the m steps; s = reward_scale; y is a
constant in every loss. Targets follow after the step of what they follow: theta' <- theta' + tau (theta - theta').
"""

import math

import torch
import torch.nn.functional as F

MARGIN = 2e-5  # least distance from where a decision turns at which float32 decides alike


class TooClose(Exception):
    """A decision is so close that float32 could take the other side."""


SIDES = {}  # of each decision: whether it fell on the one side, and on the other


def decide(what, distance):
    """Refuses data on which a decision, such as that of a ReLU, is close, and remembers how it fell."""
    if distance.detach().abs().min() < MARGIN:
        raise TooClose(what)
    sides = SIDES.setdefault(what, set())
    sides |= set((distance.detach() > 0).flatten().tolist())


def forward(row, sizes, x):
    """A multilayer perceptron with ReLU whose parameters are a flat row: for each layer W[in][out], then bias[out]."""
    at = 0
    for i, (n_in, n_out) in enumerate(zip(sizes[:-1], sizes[1:])):
        weight = row[at : at + n_in * n_out].reshape(n_in, n_out)
        at += n_in * n_out
        x = x @ weight + row[at : at + n_out]
        at += n_out
        if i < len(sizes) - 2:
            decide("relu", x)
            x = torch.relu(x)
    assert at == row.numel(), "a row of %d parameters for a network of %d" % (row.numel(), at)
    return x


def smaller(values):
    """The smaller of two critics' values, [2, ...] -> [...]."""
    decide("twins", values[0] - values[1])
    return values.min(0).values


def clip(what, x, low, high):
    decide(what + " below", x - low)
    decide(what + " above", x - high)
    return x.clamp(low, high)


# ---- deep Q-learning ----


def q_values(member, row, obs):
    """Q [B, A]; of distributions [B, A, atoms] the logits."""
    out = forward(row, member.sizes["q"], obs)
    actions, atoms = member.case["actions"], member.case.get("atoms", 1)
    if member.case.get("dueling"):  # Z. Wang et al., 2016, equation 9: the outputs are the advantages and, behind them, the value
        advantage, value = out[:, :actions], out[:, actions:]
        return value + advantage - advantage.mean(1, keepdim=True)
    return out.reshape(-1, actions, atoms) if atoms > 1 else out


def best(values):
    top = values.topk(2, 1)
    if (top.values[:, 0] - top.values[:, 1]).min() < MARGIN:
        raise TooClose("best action")
    return top.indices[:, 0]


def dqn(member, batch, noise):
    """V. Mnih et al., 2015; H. van Hasselt et al., 2016 (double); T. Schaul et al., 2016 (weight)."""
    rows, action = torch.arange(len(batch["reward"])), batch["action"][:, 0].long()
    reward = member.hyper["reward_scale"] * batch["reward"]
    atoms = member.case.get("atoms", 1)
    support = torch.linspace(*member.case["range"], atoms, dtype=torch.float64) if atoms > 1 else None
    mean = (lambda out: (out.softmax(2) * support).sum(2)) if atoms > 1 else (lambda out: out)
    with torch.no_grad():
        next_out = q_values(member, member.targets["q"], batch["next_obs"])
        chooser = q_values(member, member.params["q"], batch["next_obs"]) if member.case.get("double") else next_out
        chosen = next_out[rows, best(mean(chooser))]
    out = q_values(member, member.params["q"], batch["obs"])[rows, action]
    if atoms > 1:
        target = project(support, reward, batch["factor"], chosen.softmax(1))
        error = -(target * out.log_softmax(1)).sum(1)  # M. G. Bellemare et al., 2017, algorithm 1: the cross-entropy
        value, each = (out.softmax(1) * support).sum(1), error
    else:
        target = reward + batch["factor"] * chosen
        value, error = out, out - target
        if member.case.get("huber"):
            decide("huber", error.abs() - 1)
            each = F.huber_loss(out, target, reduction="none", delta=1.0)
        else:
            each = error**2
    loss = (batch["weight"] * each).mean()
    gradient = member.descend("q", loss, member.hyper["learning_rate"])
    member.follow("q")
    return {"target": target, "value": value, "error": error.abs(), "loss/q": loss, "gradient/q": gradient}


def project(support, reward, factor, probability):
    """M. G. Bellemare et al., 2017, equation 7: r + f z on the atoms, [B, atoms]."""
    low, high, step = support[0], support[-1], support[1] - support[0]
    place = ((reward[:, None] + factor[:, None] * support).clamp(low, high) - low) / step  # [B, from]
    share = (1 - (place[:, None, :] - torch.arange(len(support))[:, None]).abs()).clamp(0, 1)  # [B, to, from]
    return (share * probability[:, None, :]).sum(2)


# ---- continuous actions ----


def critic_values(member, row, obs, action):
    """The values of a member's critics, [critics, B]."""
    rows = row.reshape(member.case["critics"], -1)
    return torch.stack([forward(r, member.sizes["critics"], torch.cat([obs, action], 1))[:, 0] for r in rows])


def descend_critics(member, batch, next_value):
    """Sum over the critics of the mean squared error."""
    target = member.hyper["reward_scale"] * batch["reward"] + batch["factor"] * next_value
    values = critic_values(member, member.params["critics"], batch["obs"], batch["action"])
    loss = ((values - target) ** 2).mean(1).sum()
    gradient = member.descend("critics", loss, member.hyper["critic_learning_rate"])
    return {"target": target, "value": values, "loss/critics": loss, "gradient/critics": gradient}


def deterministic(member, batch, noise):
    """T. P. Lillicrap et al., 2016 (DDPG); S. Fujimoto et al., 2018, algorithm 1 (TD3). The actor and all targets move in every delay-th update."""
    actor = lambda row, obs: torch.tanh(forward(row, member.sizes["actor"], obs))
    with torch.no_grad():
        action = actor(member.targets["actor"], batch["next_obs"])
        if "next" in noise:  # equation 14
            limit = member.hyper["noise_clip"]
            action = clip("action", action + clip("noise", member.hyper["target_noise"] * noise["next"], -limit, limit), -1, 1)
        values = critic_values(member, member.targets["critics"], batch["next_obs"], action)
        next_value = smaller(values) if len(values) == 2 else values[0]
    out = {"next_action": action, **descend_critics(member, batch, next_value)}
    if member.updates["critics"] % member.case["delay"] == 0:
        action = actor(member.params["actor"], batch["obs"])
        loss = -critic_values(member, member.params["critics"], batch["obs"], action)[0].mean()
        out |= {"loss/actor": loss, "gradient/actor": member.descend("actor", loss, member.hyper["actor_learning_rate"])}
        member.follow("critics")
        member.follow("actor")
    return out


def fast(member, batch, noise):
    """Y. Seo et al., "FastTD3", 2025, section 2: TD3 whose critics are distributions of returns (M. G. Bellemare et al., 2017), without a target
    actor. Clipped, both critics take the projected target of the smaller mean, and the actor the smaller mean; else each takes its own, and the
    actor the average."""
    case = member.case
    support = torch.linspace(*case["range"], case["atoms"], dtype=torch.float64)
    actor = lambda row, obs: torch.tanh(forward(row, member.sizes["actor"], obs))
    def logits(row, obs, action):
        return torch.stack([forward(r, member.sizes["critics"], torch.cat([obs, action], 1)) for r in row.reshape(case["critics"], -1)])
    with torch.no_grad():
        limit = member.hyper["noise_clip"]
        action = actor(member.params["actor"], batch["next_obs"])
        action = clip("action", action + clip("noise", member.hyper["target_noise"] * noise["next"], -limit, limit), -1, 1)
        reward = member.hyper["reward_scale"] * batch["reward"]
        out = logits(member.targets["critics"], batch["next_obs"], action).softmax(2)
        target = torch.stack([project(support, reward, batch["factor"], p) for p in out])
        if case["clipped"]:
            means = (target * support).sum(2)
            decide("twins", (means[0] - means[1])[batch["factor"] != 0])  # where nothing is bootstrapped both are the same
            target = torch.where((means[0] < means[1])[:, None], target[0], target[1]).expand_as(target)
    out = logits(member.params["critics"], batch["obs"], batch["action"])
    loss = -(target * out.log_softmax(2)).sum(2).mean(1).sum()
    found = {"next_action": action, "value": (out.softmax(2) * support).sum(2), "loss/critics": loss}
    found["gradient/critics"] = member.descend("critics", loss, member.hyper["critic_learning_rate"])
    means = (logits(member.params["critics"], batch["obs"], actor(member.params["actor"], batch["obs"])).softmax(2) * support).sum(2)
    loss = -(smaller(means) if case["clipped"] else means.mean(0)).mean()
    found |= {"loss/actor": loss, "gradient/actor": member.descend("actor", loss, member.hyper["actor_learning_rate"])}
    member.follow("critics")
    return found


def squashed(member, row, obs, noise):
    """Action tanh(u), u = mean + std N, and its log-probability with the exact correction log(1 - tanh(u)^2) = 2 (log 2 - u - softplus(-2u)).
    An output h gives log std = low + (high - low) (tanh h + 1) / 2."""
    mean, h = forward(row, member.sizes["actor"], obs).chunk(2, 1)
    low, high = member.case["log_std"]
    log_std = low + (high - low) * (torch.tanh(h) + 1) / 2
    u = mean + log_std.exp() * noise
    density = -(noise**2) / 2 - log_std - math.log(2 * math.pi) / 2
    return torch.tanh(u), (density - 2 * (math.log(2) - u - F.softplus(-2 * u))).sum(1)


def sac(member, batch, noise):
    """T. Haarnoja et al., "Soft Actor-Critic Algorithms and Applications", 2018: equations 5, 9 and 17. The temperature's loss takes the
    log-probabilities of the actor's, from before its step, unless there is noise of its own."""
    alpha = member.params["log_temperature"].exp().detach()
    with torch.no_grad():
        action, log_prob = squashed(member, member.params["actor"], batch["next_obs"], noise["next"])
        values = critic_values(member, member.targets["critics"], batch["next_obs"], action)
        next_value = smaller(values) - alpha * log_prob
    out = {"next_action": action, "next_log_prob": log_prob, **descend_critics(member, batch, next_value)}
    member.follow("critics")

    action, log_prob = squashed(member, member.params["actor"], batch["obs"], noise["own"])
    value = smaller(critic_values(member, member.params["critics"], batch["obs"], action))
    loss = (alpha * log_prob - value).mean()
    gradient = member.descend("actor", loss, member.hyper["actor_learning_rate"])
    if "temperature" in noise:
        log_prob = squashed(member, member.params["actor"], batch["obs"], noise["temperature"])[1]
    surplus = member.hyper["target_entropy"] + log_prob.detach()
    return out | {"own_action": action, "own_log_prob": log_prob, "loss/actor": loss, "gradient/actor": gradient, **temperature(member, surplus)}


def temperature(member, surplus):
    """Equation 17 by log alpha: -alpha mean(target entropy - entropy)."""
    loss = -(member.params["log_temperature"].exp() * surplus).mean()
    gradient = member.descend("log_temperature", loss, member.hyper["temperature_learning_rate"])
    return {"loss/temperature": loss, "gradient/log_temperature": gradient}


def discrete_sac(member, batch, noise):
    """P. Christodoulou, "Soft Actor-Critic for Discrete Action Settings", 2019: equations 10, 12 and 11, sums over actions, means over rows."""
    alpha = member.params["log_temperature"].exp().detach()
    rows = lambda row, obs: torch.stack([forward(r, member.sizes["critics"], obs) for r in row.reshape(2, -1)])  # [2, B, A]
    policy = lambda obs: forward(member.params["actor"], member.sizes["actor"], obs).log_softmax(1)
    with torch.no_grad():
        log_prob = policy(batch["next_obs"])
        next_value = (log_prob.exp() * (smaller(rows(member.targets["critics"], batch["next_obs"])) - alpha * log_prob)).sum(1)
    target = member.hyper["reward_scale"] * batch["reward"] + batch["factor"] * next_value
    action = batch["action"][:, 0].long()
    values = rows(member.params["critics"], batch["obs"])[:, torch.arange(len(action)), action]
    loss = ((values - target) ** 2).mean(1).sum()
    out = {"target": target, "value": values, "loss/critics": loss}
    out["gradient/critics"] = member.descend("critics", loss, member.hyper["critic_learning_rate"])
    member.follow("critics")

    log_prob = policy(batch["obs"])
    value = smaller(rows(member.params["critics"], batch["obs"])).detach()
    loss = (log_prob.exp() * (alpha * log_prob - value)).sum(1).mean()
    out |= {"entropy": -(log_prob.exp() * log_prob).sum(1), "loss/actor": loss}
    out["gradient/actor"] = member.descend("actor", loss, member.hyper["actor_learning_rate"])
    return out | temperature(member, member.hyper["target_entropy"] - out["entropy"].detach())
