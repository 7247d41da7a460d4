"""Records the reference trajectories that the environments' parity tests replay.

    python -m venv /tmp/reference && /tmp/reference/bin/pip install gymnasium==1.4.0 evojax==0.2.17
    /tmp/reference/bin/python tools/reference/envs.py --out envs/testdata --steps 2000 --seed 1

Classic control is recorded from Gymnasium, internal float64 state included. The cart-pole swing-up is recorded from
EvoJAX's own functions run in float64, each step checked against the independent NumPy form below; without EvoJAX the
NumPy form alone is recorded and the file's metadata says so.

One NAME.npz an environment. With N episodes of L_0 … steps, rows = sum(L_i + 1), steps = sum(L_i):

    meta     uint8 [..]        JSON: environment, source, versions, arguments, number of terminations, truncations
    start    int32 [N + 1]     first row of each episode; the last entry is the number of rows
    state    float64 [rows, S] the state at reset and after each step (row r + 1 is row r after one step)
    obs      float32 [rows, O]
    action   uint8 [steps] or float32 [steps, A]; episode i's first step is start[i] - i
    reward   float64 [steps]
    done     uint8 [steps]     bit 0 terminated, bit 1 truncated
"""

import argparse
import json
import pathlib
import platform
import sys

import gymnasium
import numpy as np


class Gymnasium:
    """An episode source over gymnasium.make; the state is read from the unwrapped environment."""

    def __init__(self, name):
        self.env = gymnasium.make(name)
        self.seed = None
        self.source = f"gymnasium {gymnasium.__version__}"

    def state(self):
        return np.array(self.env.unwrapped.state, dtype=np.float64)

    def reset(self, seed):
        obs, _ = self.env.reset(seed=seed)
        return self.state(), obs

    def step(self, action):
        obs, reward, terminated, truncated, _ = self.env.step(action)
        return self.state(), obs, float(reward), terminated, truncated


class SwingUp:
    """EvoJAX's cart-pole swing-up: a cart (0.5 kg) on a rail with friction 0.1, a uniform pole (0.5 kg, 0.6 m), theta = 0 upright."""

    g, cart, pole, length, friction, force, dt, limit, max_steps = 9.82, 0.5, 0.5, 0.6, 0.1, 10.0, 0.01, 2.4, 1000

    def __init__(self, name):
        self.hard = name.endswith("-hard")
        try:
            import evojax
            import jax
            from importlib.metadata import version
        except ImportError:
            self.package, self.source = None, "independent NumPy form of evojax/task/cartpole.py"
            return
        jax.config.update("jax_enable_x64", True)
        from evojax.task import cartpole
        self.package, self.jax = cartpole, jax
        self.update, self.observe, self.pay = jax.jit(cartpole.update_state), jax.jit(cartpole.get_obs), jax.jit(cartpole.get_reward)
        self.source = f"evojax {version('evojax')} in float64 (jax {version('jax')}), each step checked against NumPy"
        self.deviation = 0.0

    def reset(self, seed):
        self.steps = 0
        if self.package:
            key = self.jax.random.PRNGKey(seed)
            self.s = np.array((self.package.get_init_state_hard if self.hard else self.package.get_init_state_easy)(key))
        else:
            rng = np.random.default_rng(seed)
            spread = rng.uniform(-1, 1, 4) * [self.limit, 10, np.pi / 2, 10] if self.hard else 0.2 * rng.standard_normal(4)
            self.s = spread + [0, 0, np.pi, 0]
        return self.s, self.seen(self.s)

    def seen(self, s):
        obs = np.array([s[0], s[1], np.cos(s[2]), np.sin(s[2]), s[3]])
        if self.package:
            self.check(obs, self.observe(s))
        return obs.astype(np.float32)

    def check(self, mine, theirs):
        self.deviation = max(self.deviation, float(np.max(np.abs(np.asarray(mine) - np.asarray(theirs)))))
        if self.deviation > 1e-11:
            sys.exit(f"the NumPy form of the swing-up deviates from the package by {self.deviation:g}: {mine} against {theirs}")

    def step(self, action):
        u = float(np.clip(np.float64(action[0]), -1, 1)) * self.force
        x, v, theta, omega = self.s
        sin, cos = np.sin(theta), np.cos(theta)
        mass, moment = self.cart + self.pole, self.pole * self.length
        drive = u - self.friction * v
        swing = moment * omega * omega * sin
        acceleration = (4 * drive - 2 * swing + 3 * self.pole * self.g * sin * cos) / (4 * mass - 3 * self.pole * cos * cos)
        angular = (6 * drive * cos - 3 * swing * cos + 6 * mass * self.g * sin) / (self.length * (4 * mass - 3 * self.pole * cos * cos))
        # Explicit Euler: positions advance with the old velocities.
        s = self.s + self.dt * np.array([v, acceleration, omega, angular])
        reward = (np.cos(s[2]) + 1) / 2 * np.cos(s[0] / self.limit * np.pi / 2)
        if self.package:
            theirs = np.array(self.update(np.array([action[0]], np.float64), self.s))
            self.check(s, theirs)
            self.check(reward, self.pay(theirs))
            s, reward = theirs, float(self.pay(theirs))
        self.s = s
        self.steps += 1
        return s, self.seen(s), float(reward), bool(abs(s[0]) > self.limit), self.steps >= self.max_steps


def box(low, high):
    return lambda rng, s: rng.uniform(low, high, 1).astype(np.float32)


def choice(n):
    return lambda rng, s: int(rng.integers(n))


def mostly(policy, random, chance):
    return lambda rng, s: random(rng, s) if rng.random() < chance else policy(rng, s)


def towards(sign):
    return lambda rng, s: np.array([sign(s) * rng.uniform(0.5, 1.5)], np.float32)


# Per environment: its source, the random policy (continuous ones leave the action box, to see the clipping), and a second
# policy whose episodes end the other way than random ones do, with the number of episodes recorded from it.
ENVIRONMENTS = {
    "CartPole-v1": (Gymnasium, choice(2), mostly(lambda rng, s: int(s[2] + 0.3 * s[3] + 0.02 * s[0] + 0.05 * s[1] > 0), choice(2), 0.05), 1),
    "Pendulum-v1": (Gymnasium, box(-3, 3), lambda rng, s: np.array([np.sign(s[1]) * rng.uniform(1, 3)], np.float32), 2),
    "Acrobot-v1": (Gymnasium, choice(3), mostly(lambda rng, s: 2 if s[3] > 0 else 0, choice(3), 0.1), 4),
    "MountainCar-v0": (Gymnasium, choice(3), mostly(lambda rng, s: 2 if s[1] >= 0 else 0, choice(3), 0.2), 4),
    "MountainCarContinuous-v0": (Gymnasium, box(-1.5, 1.5), towards(lambda s: 1 if s[1] >= 0 else -1), 6),
    "CartPoleSwingUp-easy": (SwingUp, box(-1.5, 1.5), mostly(lambda rng, s: np.array([-s[0] - s[1]], np.float32), box(-1, 1), 0.5), 1),
    "CartPoleSwingUp-hard": (SwingUp, box(-1.5, 1.5), mostly(lambda rng, s: np.array([-s[0] - s[1]], np.float32), box(-1, 1), 0.2), 2),
}


def record(name, steps, seed):
    kind, random, second, episodes = ENVIRONMENTS[name]
    source = kind(name)
    rng = np.random.default_rng([seed, *name.encode()])
    start, state, obs, action, reward, done = [0], [], [], [], [], []

    def episode(policy, number):
        s, o = source.reset(int(rng.integers(2**31)))
        state.append(s)
        obs.append(o)
        while True:
            a = policy(rng, s)
            s, o, r, terminated, truncated = source.step(a)
            state.append(s)
            obs.append(o)
            action.append(a)
            reward.append(r)
            done.append(int(terminated) | int(truncated) << 1)
            if done[-1]:
                break
        start.append(len(state))

    while len(action) < steps:
        episode(random, len(start))
    for _ in range(episodes):
        episode(second, len(start))

    ends = np.array(done)
    meta = {
        "environment": name,
        "source": source.source,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "arguments": {"steps": steps, "seed": seed},
        "steps": len(action),
        "episodes": len(start) - 1,
        "terminated": int(np.sum(ends & 1)),
        "truncated": int(np.sum(ends >> 1)),
    }
    if getattr(source, "deviation", None) is not None:
        meta["deviation_of_numpy_form"] = source.deviation
    arrays = dict(
        meta=np.frombuffer(json.dumps(meta).encode(), np.uint8),
        start=np.array(start, np.int32),
        state=np.array(state, np.float64),
        obs=np.array(obs, np.float32),
        action=np.array(action, np.float32 if isinstance(action[0], np.ndarray) else np.uint8),
        reward=np.array(reward, np.float64),
        done=np.array(done, np.uint8),
    )
    return meta, arrays


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("envs/testdata"))
    parser.add_argument("--steps", type=int, default=2000, help="random steps an environment, at least")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("names", nargs="*", default=list(ENVIRONMENTS), help="environments (default: all)")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for name in args.names:
        meta, arrays = record(name, args.steps, args.seed)
        path = args.out / f"{name}.npz"
        np.savez_compressed(path, **arrays)
        print(json.dumps(meta), f"{path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
