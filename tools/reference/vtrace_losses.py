"""IMPALA's update (L. Espeholt et al., 2018) in PyTorch, float64, for offpolicy_update.py; one member, trajectories [T, E] as one batch.

  ratio    pi(a|s) / mu(a|s); rho = min(rho_threshold, ratio); c = lambda min(c_threshold, ratio)
  delta_t  rho_t (r_t + discount (1 - terminated_t) V(s'_t) - V(s_t)), s' the true next observation, of before a reset
  v_t      V(s_t) + delta_t + discount (1 - terminated_t)(1 - truncated_t) c_t (v_{t+1} - V(s_{t+1})), behind the last step nothing
  q_t      r_t + discount (1 - terminated_t) w_t; w_t is v_{t+1} within an episode (mixed, as in rlax and acme: lambda v_{t+1} +
           (1 - lambda) V(s_{t+1})), and V(s'_t) at its end and in the last step
  actor    -mean(min(pg_rho_threshold, ratio) (q_t - V(s_t)) log pi), the factor a constant
  critic   mean((V - v)^2) / 2, v a constant
  total    actor_weight actor + critic_weight critic - entropy_weight mean(entropy); its gradient is scaled down to the norm max_grad_norm
           over all parameters
"""

import math

import numpy as np
import torch

from offpolicy_losses import decide, forward

T, E = 6, 3


def policy(member, obs, action):
    """Log-probability and entropy of actions."""
    out = forward(member.params["actor"], member.sizes["actor"], obs)
    if member.case["distribution"] == "categorical":
        log_probs = out.log_softmax(1)
        return log_probs.gather(1, action.long())[:, 0], -(log_probs.exp() * log_probs).sum(1)
    log_std = member.params["log_std"]
    density = -(((action - out) / log_std.exp()) ** 2) / 2 - log_std - math.log(2 * math.pi) / 2
    return density.sum(1), (log_std + (1 + math.log(2 * math.pi)) / 2).sum().expand(len(out))


def targets(member, batch, ratio, value, next_value):
    """v and q, [T, E]."""
    h = member.hyper
    going = h["discount"] * (1 - batch["terminated"])
    inside = 1 - torch.maximum(batch["terminated"], batch["truncated"])
    for name in ("rho_threshold", "c_threshold", "pg_rho_threshold"):
        decide(name, ratio - h[name])
    rho, c = ratio.clamp(max=h["rho_threshold"]), h["lambda"] * ratio.clamp(max=h["c_threshold"])
    delta = rho * (batch["reward"] + going * next_value - value)
    v, carry = torch.zeros_like(value), torch.zeros(E)
    for t in reversed(range(T)):
        carry = delta[t] + going[t] * inside[t] * c[t] * carry
        v[t] = value[t] + carry
    behind = torch.cat([v[1:], next_value[-1:]])
    if member.case["mixed"]:
        behind = h["lambda"] * behind + (1 - h["lambda"]) * next_value
    inside = torch.cat([inside[:-1], torch.zeros(1, E)])
    return v, batch["reward"] + going * (inside * behind + (1 - inside) * next_value)


def vtrace(member, batch, noise):
    h, obs = member.hyper, batch["obs"].reshape(T * E, -1)
    log_prob, entropy = policy(member, obs, batch["action"].reshape(T * E, -1))
    values = lambda obs: forward(member.params["critic"], member.sizes["critic"], obs.reshape(T * E, -1)).reshape(T, E)
    value = values(batch["obs"])
    log_prob = log_prob.reshape(T, E)
    with torch.no_grad():
        ratio = (log_prob - batch["log_prob"]).exp()
        v, q = targets(member, batch, ratio, value, values(batch["next_obs"]))
        advantage = ratio.clamp(max=h["pg_rho_threshold"]) * (q - value)
    actor, critic = -(advantage * log_prob).mean(), ((value - v) ** 2).mean() / 2
    total = h["actor_weight"] * actor + h["critic_weight"] * critic - h["entropy_weight"] * entropy.mean()
    gradient = member.descend(list(member.params), total, h["learning_rate"], member.case["max_grad_norm"])
    out = {"ratio": ratio, "value": value, "v": v, "advantage": advantage, "loss/actor": actor, "loss/critic": critic, "entropy": entropy.mean()}
    return out | {"gradient/" + k: g for k, g in gradient.items()}


def trajectories(rng, case, members, P, OBS, ACTIONS, CHOICES):
    """Trajectories [P, T, E, ...] in which every kind of end occurs, with log-probabilities of a policy near the members' own."""
    float32 = lambda x: np.asarray(x, np.float32).astype(np.float64)
    terminated, truncated = np.zeros((P, T, E)), np.zeros((P, T, E))
    for p in range(P):
        terminated[p, 1, p % E] = truncated[p, 3, (p + 1) % E] = 1
        terminated[p, T - 1, (p + 2) % E] = truncated[p, T - 1, p % E] = 1
    terminated[1, 2, 0] = truncated[1, 2, 0] = 1
    obs, final = float32(rng.normal(size=(P, T + 1, E, OBS))), float32(rng.normal(size=(P, T, E, OBS)))
    done = np.maximum(terminated, truncated)
    discrete = case["distribution"] == "categorical"
    action = rng.integers(0, CHOICES, (P, T, E, 1)).astype(float)
    if not discrete:  # actions of the members' own policies
        means = [forward(m.params["actor"], m.sizes["actor"], torch.tensor(obs[p, :T]).reshape(T * E, -1)) for p, m in enumerate(members)]
        stds = np.stack([m.params["log_std"].exp().detach().numpy() for m in members])[:, None, None]
        action = float32(np.stack([x.detach().numpy().reshape(T, E, -1) for x in means]) + stds * rng.normal(size=(P, T, E, ACTIONS)))
    own = [policy(m, torch.tensor(obs[p, :T]).reshape(T * E, -1), torch.tensor(action[p]).reshape(T * E, -1))[0] for p, m in enumerate(members)]
    log_prob = float32(np.stack([x.detach().numpy().reshape(T, E) for x in own]) + rng.normal(0, 0.3, (P, T, E)))
    next_obs = np.where(done[..., None] == 1, final, obs[:, 1:])  # the next observation unless an episode ended between
    return {
        "obs": obs[:, :T], "action": action, "reward": float32(rng.normal(0.5, 1, (P, T, E))), "next_obs": next_obs,
        "terminated": terminated, "truncated": truncated, "log_prob": log_prob,
    }
