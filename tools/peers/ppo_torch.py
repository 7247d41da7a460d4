#!/usr/bin/env python3
"""PPO in PyTorch on an environment of Gymnasium, as CleanRL's ppo.py describes it: what configs/gymnasium-lunarlander-ppo.toml is to be read beside.

    python -m venv /tmp/lunar && /tmp/lunar/bin/pip install torch "gymnasium[box2d]"
    /tmp/lunar/bin/python tools/peers/ppo_torch.py --seeds 1 2 3 --steps 300000 --json

The settings are those of RL Baselines3 Zoo for LunarLander. As in CleanRL, copies of the environment are stepped by a SyncVectorEnv, actor and critic are networks of their
own, values are clipped like ratios, advantages are normalized in each minibatch, and an episode that is truncated counts as terminated; with --continued it goes on by the value
of its last observation, as in Stable-Baselines3 and evorl. The code is ours. At the end the most probable actions play --episodes episodes. With --json there is a line for
each seed: returns has the mean return of the episodes that ended in an iteration.
"""

import argparse
import json
import time

import gymnasium
import numpy as np
import torch
from torch import nn


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--env", default="LunarLander-v3")
    p.add_argument("--seeds", type=int, nargs="+", default=[1])
    p.add_argument("--steps", type=int, default=1_000_000, help="steps of all environments, rounded up to iterations (default 1000000)")
    p.add_argument("--environments", type=int, default=16)
    p.add_argument("--rollout-length", type=int, default=1024)
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--minibatches", type=int, default=256)
    p.add_argument("--learning-rate", type=float, default=3e-4)
    p.add_argument("--discount", type=float, default=0.999)
    p.add_argument("--gae-lambda", type=float, default=0.98)
    p.add_argument("--clip-epsilon", type=float, default=0.2)
    p.add_argument("--critic-weight", type=float, default=0.5)
    p.add_argument("--entropy-weight", type=float, default=0.01)
    p.add_argument("--max-grad-norm", type=float, default=0.5)
    p.add_argument("--continued", action="store_true", help="the last reward of an episode that is truncated includes the value of what follows")
    p.add_argument("--episodes", type=int, default=100, help="episodes of the evaluation (default 100)")
    p.add_argument("--threads", type=int, default=1, help="threads of a product (default 1)")
    p.add_argument("--json", action="store_true", help="print JSON, a line for each seed")
    return p.parse_args()


def network(inputs, outputs, gain):
    """Returns two hidden layers of 64 units; gain is that of the output."""
    layers = [nn.Linear(inputs, 64), nn.Linear(64, 64), nn.Linear(64, outputs)]
    for layer, g in zip(layers, (2**0.5, 2**0.5, gain)):
        nn.init.orthogonal_(layer.weight, g)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(layers[0], nn.Tanh(), layers[1], nn.Tanh(), layers[2])


def vector(env, n):
    return gymnasium.vector.SyncVectorEnv([lambda: gymnasium.make(env)] * n, autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP)


def advantages(rewards, values, ends, last, a):
    """Returns generalized advantage estimates, [T, E]; ends[t] is 1 where an episode ended with step t, last has the values after the last step."""
    out, following, ahead = torch.empty_like(values), last, torch.zeros_like(last)
    for t in reversed(range(len(rewards))):
        goes_on = 1 - ends[t]
        ahead = rewards[t] + a.discount * goes_on * following - values[t] + a.discount * a.gae_lambda * goes_on * ahead
        out[t], following = ahead, values[t]
    return out


def update(actor, critic, optimizer, parameters, rows, a):
    """Takes one step of the optimizer; rows are of a minibatch."""
    obs, action, before, value_before, advantage = rows
    policy = torch.distributions.Categorical(logits=actor(obs))
    ratio = (policy.log_prob(action) - before).exp()
    wanted, value = advantage + value_before, critic(obs).squeeze(1)
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    gain = torch.min(ratio * advantage, ratio.clamp(1 - a.clip_epsilon, 1 + a.clip_epsilon) * advantage)
    near = value_before + (value - value_before).clamp(-a.clip_epsilon, a.clip_epsilon)
    error = torch.max((value - wanted) ** 2, (near - wanted) ** 2).mean() / 2
    loss = -gain.mean() + a.critic_weight * error - a.entropy_weight * policy.entropy().mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(parameters, a.max_grad_norm)
    optimizer.step()


def train(seed, a):
    """Returns the actor and the mean return of the episodes that ended in each iteration."""
    torch.manual_seed(seed)
    envs = vector(a.env, a.environments)
    inputs, shape = envs.single_observation_space.shape[0], (a.rollout_length, a.environments)
    actor, critic = network(inputs, int(envs.single_action_space.n), 0.01), network(inputs, 1, 1.0)
    parameters = [*actor.parameters(), *critic.parameters()]
    optimizer = torch.optim.Adam(parameters, a.learning_rate, eps=1e-5)
    obs, actions, log_probs = torch.empty(*shape, inputs), torch.empty(shape, dtype=torch.long), torch.empty(shape)
    values, rewards, ends = torch.empty(shape), torch.empty(shape), torch.empty(shape)
    now = torch.as_tensor(envs.reset(seed=seed)[0], dtype=torch.float32)
    running, returns, batch = np.zeros(a.environments), [], a.rollout_length * a.environments
    for _ in range((a.steps + batch - 1) // batch):
        ended = []
        for t in range(a.rollout_length):
            with torch.no_grad():
                policy = torch.distributions.Categorical(logits=actor(now))
                obs[t], actions[t], values[t] = now, policy.sample(), critic(now).squeeze(1)
                log_probs[t] = policy.log_prob(actions[t])
            seen, reward, terminated, truncated, info = envs.step(actions[t].numpy())
            over, gain = terminated | truncated, reward
            if a.continued and (truncated & ~terminated).any():
                cut = np.flatnonzero(truncated & ~terminated)
                last = torch.as_tensor(np.stack(list(info["final_obs"][cut])), dtype=torch.float32)
                with torch.no_grad():
                    gain = reward.copy()
                    gain[cut] += a.discount * critic(last).squeeze(1).numpy()
            rewards[t], ends[t] = torch.as_tensor(gain, dtype=torch.float32), torch.as_tensor(over, dtype=torch.float32)
            now = torch.as_tensor(seen, dtype=torch.float32)
            running += reward
            ended += running[over].tolist()
            running[over] = 0
        returns.append(float(np.mean(ended)) if ended else None)
        with torch.no_grad():
            advantage = advantages(rewards, values, ends, critic(now).squeeze(1), a)
        rows = [x.flatten(0, 1) for x in (obs, actions, log_probs, values, advantage)]
        for _ in range(a.epochs):
            for chosen in torch.randperm(batch).chunk(a.minibatches):
                update(actor, critic, optimizer, parameters, [x[chosen] for x in rows], a)
    envs.close()
    return actor, returns


def evaluate(actor, seed, a):
    """Returns the returns of one episode in each of a.episodes environments."""
    envs = vector(a.env, a.episodes)
    seen, totals, over = envs.reset(seed=10_000 + seed)[0], np.zeros(a.episodes), np.zeros(a.episodes, bool)
    while not over.all():
        with torch.no_grad():
            choice = actor(torch.as_tensor(seen, dtype=torch.float32)).argmax(1)
        seen, reward, terminated, truncated, _ = envs.step(choice.numpy())
        totals += np.where(over, 0, reward)
        over |= terminated | truncated
    envs.close()
    return totals


def main():
    a = parse_arguments()
    torch.set_num_threads(a.threads)
    for seed in a.seeds:
        begin, used = time.perf_counter(), time.process_time()
        actor, returns = train(seed, a)
        took = {"seconds": round(time.perf_counter() - begin, 1), "processor_seconds": round(time.process_time() - used, 1)}
        played = evaluate(actor, seed, a)
        row = {"env": a.env, "seed": seed, "steps": len(returns) * a.rollout_length * a.environments, **took,
               "evaluation": round(float(played.mean()), 1), "standard_deviation": round(float(played.std()), 1),
               "returns": [None if r is None else round(r, 1) for r in returns], "torch": torch.__version__, "gymnasium": gymnasium.__version__}
        if a.json:
            print(json.dumps(row), flush=True)
        else:
            print("%(env)s seed %(seed)d: %(steps)d steps in %(seconds).0f s; return %(evaluation).1f ± %(standard_deviation).1f" % row, flush=True)


if __name__ == "__main__":
    main()
