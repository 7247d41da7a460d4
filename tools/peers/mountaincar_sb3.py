#!/usr/bin/env python3
"""The peer that evorl's DQN on MountainCar-v0 is compared with: Stable-Baselines3's DQN with the settings of its zoo, 120,000 steps.

Prints, as JSON lines, mean returns of greedy policies in 20 episodes at the steps of docs/off-policy.md, and in 100 episodes at the end, with the
processor time so far. A seed takes some five minutes of one core.

    pip install stable-baselines3==2.9.2
    python tools/peers/mountaincar_sb3.py --seed 1
"""

import argparse
import json
import time

import gymnasium
import torch
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.evaluation import evaluate_policy

STEPS, FIRST, EVERY = 120_000, 49_000, 8_000


def settings():
    """RL Baselines3 Zoo, hyperparams/dqn.yml, MountainCar-v0; what is not named has Stable-Baselines3's defaults."""
    return dict(
        learning_rate=4e-3, batch_size=128, buffer_size=10_000, learning_starts=1000, gamma=0.98, target_update_interval=600, train_freq=16,
        gradient_steps=8, exploration_fraction=0.2, exploration_final_eps=0.07, policy_kwargs=dict(net_arch=[256, 256]))


class Evaluation(BaseCallback):
    """Evaluates the greedy policy every so many steps."""

    def __init__(self, seed):
        super().__init__()
        self.seed, self.next = seed, FIRST
        self.env = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make("MountainCar-v0"))
        self.env.reset(seed=1000 + seed)

    def evaluate(self, episodes):
        mean, _ = evaluate_policy(self.model, self.env, n_eval_episodes=episodes, deterministic=True, warn=False)
        print(json.dumps(dict(seed=self.seed, steps=self.num_timesteps, mean=round(float(mean), 1), episodes=episodes,
                              processor_seconds=round(time.process_time()))), flush=True)

    def _on_step(self):
        if self.num_timesteps >= self.next:
            self.next += EVERY
            self.evaluate(20)
        return True


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--seed", type=int, default=1, help="seed of the agent (default 1)")
    seed = p.parse_args().seed
    torch.set_num_threads(1)
    agent = DQN("MlpPolicy", gymnasium.make("MountainCar-v0"), seed=seed, device="cpu", **settings())
    evaluation = Evaluation(seed)
    agent.learn(STEPS, callback=evaluation)
    evaluation.evaluate(100)


if __name__ == "__main__":
    main()
