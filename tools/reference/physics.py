"""Records the reference steps of MuJoCo's environments that the parity tests replay, and the smooth dynamics that envs/mjcf is tested with.

    python -m venv /tmp/mujoco && /tmp/mujoco/bin/pip install -r envs/mjcf/requirements.txt
    /tmp/mujoco/bin/python tools/reference/physics.py --seed 1

Every environment is reset `--episodes` times and stepped `--steps` times by random actions (partly beyond their range), also after it terminated: a robot
that has fallen is where contacts are. Before every step positions, velocities and the warm start are rounded to float32, so that each recorded step begins
exactly where its test does. envs/testdata/NAME.npz has, as tools/reference/envs.py documents,

    meta, start, action, reward, done
    state    float32 [rows, S] positions, velocities, accelerations (the solver's warm start), then what the environment remembers of the last forward
             pass: see REMEMBERED
             (NAME_optionsN.npz has steps with the constructor options of OPTIONS, and still: [1, positions and velocities] after a reset without noise)
    obs      float32 [rows, O]

HumanoidStandup-v5.npz and its _options0.npz are of --seed 2: with seed 1, rounding decides at one step of each (437, 17) whether a limb touches the
ground in the last stage. If the state is rounded to float32 once more, MuJoCo's own observations change by 47 and 1 there; with seed 2 nowhere by more
than 1.2e-4.

envs/testdata/NAME_free.npz has free runs in float64, all as long: begin [episodes, positions + velocities + accelerations], position and action [episodes * steps, …],
and floor int32 [episodes, 1]: the steps until the same run deviates by 1e-2 when positions and velocities are rounded to float32 after every time step.

envs/mjcf/testdata/MODEL.json has for some of the states the inertia matrix, the forces of bias and passive elements, and accelerations.
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
    "Pusher-v5": lambda env: [*env.get_body_com("tips_arm"), *env.get_body_com("object"), *env.get_body_com("goal")],
    "HumanoidStandup-v5": lambda env: [*env.data.cinert[1:].ravel(), *env.data.cvel[1:].ravel(), *env.data.qfrc_actuator[6:], *forces(env)],
    "Humanoid-v5": lambda env: [*mass_center(env), *env.data.cinert[1:].ravel(), *env.data.cvel[1:].ravel(), *env.data.qfrc_actuator[6:], *forces(env)],
}
NAMES = {
    "Hopper-v5": "hopper", "Walker2d-v5": "walker2d", "HalfCheetah-v5": "half_cheetah", "Swimmer-v5": "swimmer", "Ant-v5": "ant", "Humanoid-v5": "humanoid",
    "InvertedPendulum-v5": "inverted_pendulum", "InvertedDoublePendulum-v5": "inverted_double_pendulum", "Reacher-v5": "reacher",
    "Pusher-v5": "pusher", "HumanoidStandup-v5": "humanoidstandup",
}

# Constructor options other than Gymnasium's, one set a file NAME_options0.npz, …: every option differs from its default in one of them.
SEEN = {"exclude_current_positions_from_observation": False}
UNHEALTHY = {"terminate_when_unhealthy": False}
OPTIONS = {
    "Hopper-v5": [
        {"forward_reward_weight": 2.5, "ctrl_cost_weight": 0.03, "healthy_reward": 0.25, "healthy_state_range": (-3.0, 2.0), "healthy_z_range": (0.9, 1.3),
         "healthy_angle_range": (-0.1, 0.15), "reset_noise_scale": 0.02},
        {"healthy_reward": 2.0, "healthy_z_range": (1.1, 1.24), **UNHEALTHY, **SEEN},
    ],
    "Walker2d-v5": [
        {"forward_reward_weight": 2.5, "ctrl_cost_weight": 0.03, "healthy_reward": 0.25, "healthy_z_range": (0.9, 1.26), "healthy_angle_range": (-0.2, 0.3),
         "reset_noise_scale": 0.02},
        {"healthy_reward": 2.0, "healthy_z_range": (1.0, 1.24), **UNHEALTHY, **SEEN},
    ],
    "HalfCheetah-v5": [{"forward_reward_weight": 2.5, "ctrl_cost_weight": 0.3, "reset_noise_scale": 0.2, **SEEN}],
    "Swimmer-v5": [{"forward_reward_weight": 2.5, "ctrl_cost_weight": 0.3, "reset_noise_scale": 0.2, **SEEN}],
    "Ant-v5": [
        {"forward_reward_weight": 2.5, "ctrl_cost_weight": 0.3, "contact_cost_weight": 0.01, "healthy_reward": 0.25, "healthy_z_range": (0.4, 0.9),
         "contact_force_range": (-0.5, 2.0), "reset_noise_scale": 0.05},
        {"healthy_reward": 2.0, "healthy_z_range": (0.5, 0.8), **UNHEALTHY, **SEEN},
    ],
    "Humanoid-v5": [
        {"forward_reward_weight": 2.5, "ctrl_cost_weight": 0.3, "contact_cost_weight": 1e-6, "contact_cost_range": (0.01, 1.0), "healthy_reward": 0.25,
         "healthy_z_range": (1.3, 1.395), "reset_noise_scale": 0.03, **UNHEALTHY},
    ],
    "InvertedPendulum-v5": [{"reset_noise_scale": 0.1}],
    "InvertedDoublePendulum-v5": [{"healthy_reward": 3.0, "reset_noise_scale": 0.2}],
    "Pusher-v5": [{"reward_near_weight": 0.7, "reward_dist_weight": 2.0, "reward_control_weight": 0.3}],
    "HumanoidStandup-v5": [{"ctrl_cost_weight": 0.3, "impact_cost_weight": 1e-6, "impact_cost_range": (0.01, 1.0), "reset_noise_scale": 0.03}],
    "Reacher-v5": [{"reward_dist_weight": 2.0, "reward_control_weight": 0.1}],
}


def single(x):
    return np.asarray(x, np.float64).astype(np.float32)


def record(name, episodes, steps, seed, options={}):
    env = gymnasium.make(name, **options).unwrapped
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
        "arguments": {"episodes": episodes, "steps": steps, "seed": seed}, "options": options, "terminated": int(np.sum(rows["done"])),
    }
    arrays = dict(
        meta=np.frombuffer(json.dumps(meta).encode(), np.uint8), start=np.array(rows["start"], np.int32), state=np.array(rows["state"], np.float32),
        obs=np.array(rows["obs"], np.float32), action=np.array(rows["action"], np.float32), reward=np.array(rows["reward"], np.float64),
        done=np.array(rows["done"], np.uint8),
    )
    return meta, arrays, smooth


def still_state(name):
    """Positions and velocities after a reset without noise."""
    env = gymnasium.make(name, reset_noise_scale=0.0).unwrapped
    env.reset(seed=1)
    return np.concatenate([env.data.qpos, env.data.qvel]).astype(np.float32)[None]


def free(name, episodes, steps, seed):
    """Free runs in float64, and how many steps the same runs take to deviate by 1e-2 when positions and velocities are rounded to float32 after every time step."""
    rng = np.random.default_rng([seed, 3, *name.encode()])
    rows = dict(begin=[], position=[], action=[], floor=[])
    env, rounded = gymnasium.make(name).unwrapped, gymnasium.make(name).unwrapped
    for _ in range(episodes):
        begin = int(rng.integers(2**31))
        for e in (env, rounded):
            e.reset(seed=begin)
            for field in (e.data.qpos, e.data.qvel, e.data.qacc_warmstart):
                field[:] = single(field)
        horizon = steps
        rows["begin"].append(np.concatenate([env.data.qpos, env.data.qvel, env.data.qacc_warmstart]).astype(np.float32))
        for step in range(steps):
            action = single(rng.uniform(env.action_space.low, env.action_space.high))
            env.step(action)
            rounded.data.ctrl[:] = action
            for _ in range(env.frame_skip):
                mujoco.mj_step(rounded.model, rounded.data)
                rounded.data.qpos[:], rounded.data.qvel[:] = single(rounded.data.qpos), single(rounded.data.qvel)
            if horizon == steps and not np.abs(rounded.data.qpos - env.data.qpos).max() <= 1e-2:
                horizon = step
            rows["position"].append(single(env.data.qpos))
            rows["action"].append(action)
        rows["floor"].append([horizon])
    meta = {"environment": name, "gymnasium": gymnasium.__version__, "mujoco": mujoco.__version__, "numpy": np.__version__,
            "arguments": {"episodes": episodes, "steps": steps, "seed": seed}}
    arrays = dict(meta=np.frombuffer(json.dumps(meta).encode(), np.uint8), begin=np.array(rows["begin"]), position=np.array(rows["position"]),
                  action=np.array(rows["action"], np.float32), floor=np.array(rows["floor"], np.int32))
    return meta, arrays


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
    model.opt.solver, model.opt.iterations, model.opt.tolerance = mujoco.mjtSolver.mjSOL_NEWTON, 100, 1e-15
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
    parser.add_argument("--smooth", type=pathlib.Path, default=pathlib.Path("envs/mjcf/testdata"))
    parser.add_argument("--episodes", type=int, default=20)
    parser.add_argument("--steps", type=int, default=30, help="steps an episode")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only-free", action="store_true", help="write NAME_free.npz alone")
    parser.add_argument("--only-options", action="store_true", help="write NAME_optionsN.npz alone")
    parser.add_argument("names", nargs="*", default=list(NAMES))
    args = parser.parse_args()
    for folder in (args.out, args.smooth):
        folder.mkdir(parents=True, exist_ok=True)
    for name in args.names:
        meta, arrays = free(name, 4, 200, args.seed)
        np.savez_compressed(args.out / f"{name}_free.npz", **arrays)
        print(json.dumps(meta), "floor", arrays["floor"].ravel().tolist())
        if args.only_free:
            continue
        for i, options in enumerate(OPTIONS[name]):
            meta, arrays, _ = record(name, 3, 12, args.seed + 1 + i, options)
            still = {} if "reset_noise_scale" not in OPTIONS[name][0] else {"still": still_state(name)}
            np.savez_compressed(args.out / f"{name}_options{i}.npz", **arrays, **still)
            print(json.dumps(meta))
        if args.only_options:
            continue
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
