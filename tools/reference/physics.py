"""Records the reference steps of MuJoCo's environments that the parity tests replay, and the smooth dynamics that tools/mjcf is tested with.

    python -m venv /tmp/mujoco && /tmp/mujoco/bin/pip install -r tools/mjcf/requirements.txt
    /tmp/mujoco/bin/python tools/reference/physics.py --seed 1

Every environment is reset `--episodes` times and stepped `--steps` times by random actions (partly beyond their range), also after it terminated: a robot
that has fallen is where contacts are. Before every step positions, velocities and the warm start are rounded to float32, so that each recorded step begins
exactly where its test does. envs/testdata/NAME.npz has, as tools/reference/envs.py documents,

    meta, start, action, reward, done
    state    float32 [rows, S] positions, velocities, accelerations (the solver's warm start), then what the environment remembers of the last forward
             pass: see REMEMBERED
    obs      float32 [rows, O]

tools/mjcf/testdata/MODEL.json has for some of the states the inertia matrix, the forces of bias and passive elements, and accelerations.
"""

import argparse
import json
import pathlib
import platform

import gymnasium
import mujoco
import numpy as np


def torso(env):
    return env.data.body("torso").xpos[:2] - env.data.qpos[:2]


def forces(env):
    return env.data.cfrc_ext[1:].ravel()


def mass_center(env):
    mass = env.model.body_mass[:, None]
    return (np.sum(mass * env.data.xipos, axis=0) / np.sum(mass))[:2] - env.data.qpos[:2]


# Of the last forward pass inside a step, which is not one of the state after it. Positions far out are less those of the state.
REMEMBERED = {
    "InvertedDoublePendulum-v5": lambda env: [env.data.qfrc_constraint[0]],
    "Reacher-v5": lambda env: (env.get_body_com("fingertip") - env.get_body_com("target"))[:2],
    "Ant-v5": lambda env: [*torso(env), *forces(env)],
    "Humanoid-v5": lambda env: [*mass_center(env), *env.data.cinert[1:].ravel(), *env.data.cvel[1:].ravel(), *env.data.qfrc_actuator[6:], *forces(env)],
}
NAMES = {
    "Hopper-v5": "hopper", "Walker2d-v5": "walker2d", "HalfCheetah-v5": "half_cheetah", "Swimmer-v5": "swimmer", "Ant-v5": "ant", "Humanoid-v5": "humanoid",
    "InvertedPendulum-v5": "inverted_pendulum", "InvertedDoublePendulum-v5": "inverted_double_pendulum", "Reacher-v5": "reacher",
}


def single(x):
    return np.asarray(x, np.float64).astype(np.float32)


def record(name, episodes, steps, seed):
    env = gymnasium.make(name).unwrapped
    data, model = env.data, env.model
    rng = np.random.default_rng([seed, *name.encode()])
    rows = dict(start=[0], state=[], obs=[], action=[], reward=[], done=[])
    smooth = []

    def note(obs):
        rows["state"].append(np.concatenate([data.qpos, data.qvel, data.qacc_warmstart, REMEMBERED.get(name, lambda env: [])(env)]).astype(np.float32))
        rows["obs"].append(np.array(obs, np.float64))

    for episode in range(episodes):
        obs, _ = env.reset(seed=int(rng.integers(2**31)))
        for field in (data.qpos, data.qvel, data.qacc_warmstart):
            field[:] = single(field)
        note(obs)
        reach = rng.choice([0.3, 1.0, 1.2])
        for step in range(steps):
            low, high = env.action_space.low, env.action_space.high
            action = single(reach * rng.uniform(low, high))
            if step % 5 == 0 and len(smooth) < 3 * episodes:
                smooth.append(terms(model, data, action))
            obs, reward, terminated, _, _ = env.step(action)
            for field in (data.qpos, data.qvel, data.qacc_warmstart):
                field[:] = single(field)
            note(obs)
            rows["action"].append(action)
            rows["reward"].append(float(reward))
            rows["done"].append(int(terminated))
        rows["start"].append(len(rows["state"]))
    meta = {
        "environment": name, "gymnasium": gymnasium.__version__, "mujoco": mujoco.__version__, "python": platform.python_version(), "numpy": np.__version__,
        "arguments": {"episodes": episodes, "steps": steps, "seed": seed}, "terminated": int(np.sum(rows["done"])),
    }
    arrays = dict(
        meta=np.frombuffer(json.dumps(meta).encode(), np.uint8), start=np.array(rows["start"], np.int32), state=np.array(rows["state"], np.float32),
        obs=np.array(rows["obs"], np.float32), action=np.array(rows["action"], np.float32), reward=np.array(rows["reward"], np.float64),
        done=np.array(rows["done"], np.uint8),
    )
    return meta, arrays, smooth


def folded(name, count, seed):
    """States above the ground with joints anywhere in their ranges and somewhat beyond, so that links touch each other."""
    env = gymnasium.make(name).unwrapped
    env.reset(seed=seed)
    data, model = env.data, env.model
    rng = np.random.default_rng([seed, 2, *name.encode()])
    out = []
    for _ in range(count):
        data.qpos[:] = model.qpos0
        for j in np.flatnonzero(model.jnt_limited):
            low, high = model.jnt_range[j]
            data.qpos[model.jnt_qposadr[j]] = rng.uniform(low - 0.05 * (high - low), high + 0.05 * (high - low))
        if model.nq > 4:
            data.qpos[2 if model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE else 1] += 5
        data.qvel[:] = rng.normal(size=model.nv)
        for field in (data.qpos, data.qvel):
            field[:] = single(field)
        data.qacc_warmstart[:] = 0
        out.append(terms(model, data, single(rng.uniform(env.action_space.low, env.action_space.high))))
    return out


def terms(model, data, action):
    """The dynamics at the environment's state: what one forward pass computes, with the constraint problem solved to the end whatever solver the model asks for."""
    kept = model.opt.solver, model.opt.iterations, model.opt.tolerance
    model.opt.solver, model.opt.iterations, model.opt.tolerance = mujoco.mjtSolver.mjSOL_NEWTON, 100, 1e-12
    d = mujoco.MjData(model)
    d.qpos[:], d.qvel[:], d.qacc_warmstart[:], d.ctrl[:] = data.qpos, data.qvel, data.qacc_warmstart, action
    mujoco.mj_forward(model, d)
    model.opt.solver, model.opt.iterations, model.opt.tolerance = kept
    full = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, d, full)
    return {
        "q": d.qpos.tolist(), "v": d.qvel.tolist(), "warm": data.qacc_warmstart.tolist(), "control": [float(a) for a in action],
        "mass": [digits(full[i, :i + 1]) for i in range(model.nv)], "bias": digits(d.qfrc_bias), "passive": digits(d.qfrc_passive),
        "smooth": digits(d.qfrc_smooth), "acceleration": digits(d.qacc), "constraint": digits(d.qfrc_constraint), "contacts": int(d.ncon), "rows": int(d.nefc),
    }


def digits(values):
    return [float(f"{v:.11g}") for v in values]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("envs/testdata"))
    parser.add_argument("--smooth", type=pathlib.Path, default=pathlib.Path("tools/mjcf/testdata"))
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument("--steps", type=int, default=30, help="steps an episode")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("names", nargs="*", default=list(NAMES))
    args = parser.parse_args()
    for folder in (args.out, args.smooth):
        folder.mkdir(parents=True, exist_ok=True)
    for name in args.names:
        meta, arrays, smooth = record(name, args.episodes, args.steps, args.seed)
        path = args.out / f"{name}.npz"
        np.savez_compressed(path, **arrays)
        # Few states: those with the most constraints, and with the most contacts of links with each other.
        few = sorted(smooth, key=lambda s: -s["rows"])[:4] + smooth[:2] + sorted(folded(name, 200, args.seed), key=lambda s: -s["contacts"])[:3]
        lines = ",\n".join(json.dumps(s) for s in few)
        text = f'{{"meta": {json.dumps(meta)}, "states": [\n{lines}\n]}}\n'
        (args.smooth / f"{NAMES[name]}.json").write_text(text)
        print(json.dumps(meta), f"{path.stat().st_size} bytes and {len(text)}; rows {sorted(s['rows'] for s in smooth)}")


if __name__ == "__main__":
    main()
