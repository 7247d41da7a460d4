"""Lets a policy that was trained here act in Gymnasium's own environment, and prints both mean returns.

    python -m venv /tmp/mujoco && /tmp/mujoco/bin/pip install -r envs/mjcf/requirements.txt
    /tmp/mujoco/bin/python tools/peers/transfer.py --evorl bin/evorl runs/ppo-Hopper-v5-1 …

For each run directory it calls evorl export, which writes the policy, and evorl eval, which evaluates the newest checkpoint in so many episodes. Then it runs as many
episodes in the environment of the same name of Gymnasium, with its own MuJoCo in float64. The last line is JSON. The episodes are not the same ones: the
difference of the two means is to be seen beside the standard error of the means, which is printed too.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import tomllib

import gymnasium
import numpy as np


def activation(name):
    return {
        "linear": lambda x: x,
        "relu": lambda x: np.maximum(x, 0),
        "tanh": np.tanh,
        "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
        "swish": lambda x: x / (1 + np.exp(-x)),
        "gelu": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    }[name]


class Policy:
    """The likeliest actions of a policy that evorl export --policy has written; policy.go documents the format."""

    def __init__(self, path):
        self.data = json.loads(pathlib.Path(path).read_text())
        if self.data["format"] != "evorl policy 2":  # 3: convolutions, or activations by layer
            sys.exit(f"{path}: format {self.data['format']!r}; want evorl policy 2")
        self.act = activation(self.data["activation"])
        self.layers = [{k: np.array(v, np.float32) for k, v in layer.items()} for layer in self.data["layers"]]
        self.observation = self.data["observation"]
        if self.observation:
            self.mean, self.scale = (np.array(self.observation[k], np.float32) for k in ("mean", "scale"))

    def __call__(self, obs):
        x = np.asarray(obs, np.float32)
        if self.observation:
            limit = np.float32(self.observation["limit"])
            x = np.clip((x - self.mean) * self.scale, -limit, limit)
        for i, layer in enumerate(self.layers):
            x = x @ layer["weight"] + layer["bias"]
            if i < len(self.layers) - 1:
                if "scale" in layer:
                    x = (x - x.mean()) / np.sqrt(x.var() + np.float32(1e-6)) * layer["scale"] + layer["shift"]
                x = self.act(x)
        action = self.data["action"]
        if action["discrete"]:
            if action["atoms"] > 1:
                z = x.reshape(-1, action["atoms"])
                z = z[: action["size"]] + (z[-1] - z[: action["size"]].mean(0) if action["dueling"] else 0)
                p = np.exp(z - z.max(1, keepdims=True))
                x = p @ np.arange(action["atoms"]) / p.sum(1)
            return int(np.argmax(x[: action["size"]]))
        if action["bins"] > 1:
            x = 2 * np.argmax(x.reshape(-1, action["bins"]), 1) / (action["bins"] - 1) - 1
        elif action["squash"]:
            x = np.tanh(x)
        out = [y if low is None or high is None else (low + high) / 2 + (high - low) / 2 * y for y, low, high in zip(x, action["low"], action["high"])]
        return np.array(out, np.float32)


def task(run):
    """The environment's options in a run's configuration, by the names that Gymnasium has for them."""
    options = tomllib.loads((run / "config.toml").read_text()).get("task", {})
    return {k: tuple(v) if isinstance(v, list) else v for k, v in options.items()}


def gymnasium_returns(policy, options, episodes, seed):
    env = gymnasium.make(policy.data["env"], max_episode_steps=policy.data["time_limit"] or None, **options)
    out = []
    for episode in range(episodes):
        obs, _ = env.reset(seed=seed + episode)
        total, over = 0.0, False
        while not over:
            action = policy(obs)
            for _ in range(policy.data["action_repeat"]):
                obs, reward, terminated, truncated, _ = env.step(action)
                total += float(reward)
                over = terminated or truncated
                if over:
                    break
        out.append(total)
    env.close()
    return np.array(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("runs", nargs="+", type=pathlib.Path)
    parser.add_argument("--evorl", default="bin/evorl", help="the program (default bin/evorl)")
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1000, help="of the episodes; not the one of the training's")
    parser.add_argument("--member", type=int, help="default: the best in ten episodes, which are not among those that are averaged")
    args = parser.parse_args()
    rows = []
    for run in args.runs:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "policy.json"

            def evorl(*command):
                return subprocess.run([args.evorl, *command, str(run)], check=True, capture_output=True, text=True).stdout

            chosen = [] if args.member is None else ["--member", str(args.member)]
            evorl("export", "--policy", str(path), "--seed", str(args.seed + 1), *chosen)
            policy = Policy(path)
            member = policy.data["member"]
            ours = json.loads(evorl("eval", "--json", "--episodes", str(args.episodes), "--seed", str(args.seed), "--member", str(member)).splitlines()[-1])
        theirs = gymnasium_returns(policy, task(run), args.episodes, args.seed)
        row = {
            "run": str(run), "workflow": ours["workflow"], "env": ours["env"], "iteration": ours["iteration"], "member": member, "episodes": args.episodes,
            "evorl": ours["mean_return"], "evorl_std": ours["std_return"], "gymnasium": theirs.mean(), "gymnasium_std": theirs.std(),
            "difference": theirs.mean() / ours["mean_return"] - 1,
            "standard_error": float(np.hypot(ours["std_return"], theirs.std()) / np.sqrt(args.episodes) / abs(ours["mean_return"])),
        }
        rows.append(row)
        print(f"{row['env']:<28} {row['workflow']:<8} member {member}: evorl {row['evorl']:9.1f} ± {row['evorl_std']:7.1f}   gymnasium {row['gymnasium']:9.1f} ± "
              f"{row['gymnasium_std']:7.1f}   {100 * row['difference']:+.1f}% (standard error {100 * row['standard_error']:.1f}%)", flush=True)
    import mujoco
    print(json.dumps({"gymnasium_version": gymnasium.__version__, "mujoco_version": mujoco.__version__, "runs": rows}))


if __name__ == "__main__":
    main()
