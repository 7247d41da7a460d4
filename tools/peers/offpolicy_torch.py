#!/usr/bin/env python3
"""A population of TD3, SAC or DQN agents updated one after the other in PyTorch: what offpolicy_jax.py measures, without its compiler.

This is the baseline of A. Flajolet et al. ("Fast Population-Based Reinforcement Learning on a Single Machine", 2022, figure 2) in the form that
takes the least time on a CPU: the two critics by torch.bmm over a stack of two, Adam's fused kernel, targets by torch._foreach_lerp_. The code is ours.

    python tools/peers/offpolicy_torch.py --algorithm td3 --members 1 10 80 --threads 1 --json

--threads is what torch.set_num_threads is given. Products of this size leave little to a second thread, and on a busy machine its waiting
costs much; a process a core would take this one's time divided by the cores. There are no calls of several updates: a call is an update.
"""

import argparse
import json
import os
import time

DISCOUNT, TAU, LEARNING_RATE, TARGET_INTERVAL = 0.99, 0.005, 3e-4, 500
TARGET_NOISE, NOISE_CLIP, LOG_STD_LOW, LOG_STD_HIGH = 0.2, 0.5, -5.0, 2.0


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--algorithm", choices=["td3", "sac", "dqn"], default="td3")
    p.add_argument("--members", type=int, nargs="+", default=[1], help="agents updated one after the other; several are measured in turn (default 1)")
    p.add_argument("--hidden", type=int, nargs="+", default=None, help="units of hidden layers (default 256 256; dqn: 120 84)")
    p.add_argument("--batch", type=int, default=None, help="transitions of an update (default 256; dqn: 128)")
    p.add_argument("--seconds", type=float, default=3, help="measure for so long at least (default 3)")
    p.add_argument("--threads", type=int, default=1, help="threads of a product (default 1)")
    p.add_argument("--json", action="store_true", help="print JSON, a line for each measurement")
    a = p.parse_args()
    dqn = a.algorithm == "dqn"
    a.hidden = a.hidden or ([120, 84] if dqn else [256, 256])
    a.batch = a.batch or (128 if dqn else 256)
    a.obs, a.actions = (4, 2) if dqn else (17, 6)
    if min([a.batch, a.threads, *a.members, *a.hidden]) < 1:
        p.error("sizes must be at least 1")
    return a


class Agent:
    def __init__(self, torch, args):
        self.torch, self.args, self.turn = torch, args, 0
        self.update = getattr(self, args.algorithm)
        a = args

        def mlp(stack, *sizes):
            layers = [(torch.empty(*stack, i, o).uniform_(-(i**-0.5), i**-0.5), torch.zeros(*stack, 1, o)) for i, o in zip(sizes, sizes[1:])]
            return [x.requires_grad_() for layer in layers for x in layer]

        optimizer = lambda params: torch.optim.Adam(params, lr=LEARNING_RATE, fused=True)
        copy = lambda params: [x.detach().clone() for x in params]
        if a.algorithm == "dqn":
            self.q = mlp((), a.obs, *a.hidden, a.actions)
            self.q_target, self.q_optimizer = copy(self.q), optimizer(self.q)
            return
        self.actor = mlp((), a.obs, *a.hidden, a.actions * (2 if a.algorithm == "sac" else 1))
        self.critics = mlp((2,), a.obs + a.actions, *a.hidden, 1)
        self.actor_optimizer, self.critic_optimizer = optimizer(self.actor), optimizer(self.critics)
        self.actor_target, self.critic_target = copy(self.actor), copy(self.critics)
        if a.algorithm == "sac":
            self.log_alpha = torch.zeros((), requires_grad=True)
            self.alpha_optimizer = optimizer([self.log_alpha])

    def mlp(self, params, x):
        torch = self.torch
        for i in range(0, len(params), 2):
            w, b = params[i], params[i + 1]
            x = torch.baddbmm(b, x, w) if w.ndim == 3 else torch.addmm(b, x, w)
            if i + 2 < len(params):
                x = torch.relu_(x)
        return x

    def values(self, critics, obs, action):
        x = self.torch.cat([obs, action], 1)
        return self.mlp(critics, x.expand(2, *x.shape))[..., 0]

    def step(self, optimizer, loss, params):
        for p, g in zip(params, self.torch.autograd.grad(loss, params)):
            p.grad = g
        optimizer.step()

    def follow(self, target, params):
        self.torch._foreach_lerp_(target, [p.detach() for p in params], TAU)

    def descend_critics(self, batch, next_value):
        obs, action, reward, _, factor = batch
        error = self.values(self.critics, obs, action) - (reward + factor * next_value)
        self.step(self.critic_optimizer, error.square().sum() / error.shape[1], self.critics)

    def td3(self, batch):
        torch = self.torch
        obs, action, _, next_obs, _ = batch
        with torch.no_grad():
            noise = torch.randn_like(action).mul_(TARGET_NOISE).clamp_(-NOISE_CLIP, NOISE_CLIP)
            next_action = torch.tanh(self.mlp(self.actor_target, next_obs)).add_(noise).clamp_(-1, 1)
            next_value = self.values(self.critic_target, next_obs, next_action).amin(0)
        self.descend_critics(batch, next_value)
        self.turn += 1
        if self.turn % 2 == 0:
            first = [p.detach()[0] for p in self.critics]
            value = self.mlp([p if p.ndim > 1 else p[None] for p in first], torch.cat([obs, torch.tanh(self.mlp(self.actor, obs))], 1))
            self.step(self.actor_optimizer, -value.mean(), self.actor)
            self.follow(self.critic_target, self.critics)
            self.follow(self.actor_target, self.actor)

    def sample(self, obs):
        torch = self.torch
        mean, h = self.mlp(self.actor, obs).chunk(2, 1)
        log_std = LOG_STD_LOW + 0.5 * (LOG_STD_HIGH - LOG_STD_LOW) * (torch.tanh(h) + 1)
        noise = torch.randn_like(mean)
        u = mean + log_std.exp() * noise
        log_prob = -0.5 * noise**2 - log_std - 0.9189385332046727 - 2 * (0.6931471805599453 - u - torch.nn.functional.softplus(-2 * u))
        return torch.tanh(u), log_prob.sum(1)

    def sac(self, batch):
        torch = self.torch
        obs, _, _, next_obs, _ = batch
        alpha = self.log_alpha.detach().exp()
        with torch.no_grad():
            next_action, log_prob = self.sample(next_obs)
            next_value = self.values(self.critic_target, next_obs, next_action).amin(0) - alpha * log_prob
        self.descend_critics(batch, next_value)
        self.follow(self.critic_target, self.critics)
        action, log_prob = self.sample(obs)
        value = self.values([p.detach() for p in self.critics], obs, action).amin(0)
        self.step(self.actor_optimizer, (alpha * log_prob - value).mean(), self.actor)
        self.step(self.alpha_optimizer, -self.log_alpha.exp() * (log_prob.detach().mean() - self.args.actions), [self.log_alpha])

    def dqn(self, batch):
        torch = self.torch
        obs, action, reward, next_obs, factor = batch
        with torch.no_grad():
            target = reward + factor * self.mlp(self.q_target, next_obs).amax(1)
        value = self.mlp(self.q, obs).gather(1, action)[:, 0]
        self.step(self.q_optimizer, (value - target).square().mean(), self.q)
        self.turn += 1
        if self.turn % TARGET_INTERVAL == 0:
            self.torch._foreach_copy_(self.q_target, [p.detach() for p in self.q])


def measure(torch, args, members):
    torch.manual_seed(0)
    rows = (args.batch,)

    def batch():
        discrete = args.algorithm == "dqn"
        action = torch.randint(args.actions, rows + (1,)) if discrete else torch.rand(*rows, args.actions) * 2 - 1
        factor = torch.where(torch.rand(rows) < 0.01, 0.0, DISCOUNT)
        return torch.randn(*rows, args.obs), action, torch.randn(rows), torch.randn(*rows, args.obs), factor

    agents = [Agent(torch, args) for _ in range(members)]
    batches = [batch() for _ in range(50)]
    period = 2 if args.algorithm == "td3" else 1

    def population(i):
        for p, agent in enumerate(agents):
            agent.update(batches[(i + 7 * p) % len(batches)])

    for i in range(2 * period):
        population(i)
    times, processor, i = [], time.process_time(), 2 * period
    while sum(times) < args.seconds or len(times) < 2 or len(times) % period:
        begin = time.perf_counter()
        population(i)
        times.append(time.perf_counter() - begin)
        i += 1
    processor = time.process_time() - processor
    rounds = sorted(sum(times[j : j + period]) / period for j in range(0, len(times), period))
    return {
        "peer": "torch", "algorithm": args.algorithm, "members": members, "hidden": args.hidden, "batch": args.batch, "updates_a_call": 1,
        "milliseconds": 1e3 * sum(times) / len(times), "best_milliseconds": 1e3 * rounds[len(rounds) // 20],
        "cpu_milliseconds": 1e3 * processor / len(times), "threads": args.threads, "torch": torch.__version__,
    }


def main():
    args = parse_arguments()
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    import torch

    torch.set_num_threads(args.threads)
    for members in args.members:
        result = measure(torch, args, members)
        if args.json:
            print(json.dumps(result), flush=True)
        else:
            print("%(algorithm)s %(hidden)s, %(members)d members: %(milliseconds).3f ms an update of the population "
                  "(best %(best_milliseconds).3f, processor %(cpu_milliseconds).3f)" % result, flush=True)


if __name__ == "__main__":
    main()
