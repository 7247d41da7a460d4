"""Measures MuJoCo's own threaded rollout (C) on the models of Gymnasium's environments: what `evorl bench --suite physics` is to be read beside.

    python -m venv /tmp/mujoco && /tmp/mujoco/bin/pip install -r envs/mjcf/requirements.txt
    /tmp/mujoco/bin/python tools/peers/mujoco_rollout.py --json

Every world begins at a reset of Gymnasium's and takes `--steps` environment steps by uniformly random actions of its own, by mujoco.rollout on all cores: integration alone, without
observations, rewards and resets, which is to the peer's advantage. The median of three runs counts.
"""

import argparse
import json
import os
import statistics
import time

import gymnasium
import mujoco
import mujoco.rollout
import numpy as np

NAMES = ["InvertedPendulum-v5", "InvertedDoublePendulum-v5", "Reacher-v5", "Swimmer-v5", "Hopper-v5", "HalfCheetah-v5", "Walker2d-v5", "Ant-v5", "Humanoid-v5",
         "Pusher-v5", "HumanoidStandup-v5"]


def measure(name, worlds, steps, threads):
    env = gymnasium.make(name).unwrapped
    model, skip = env.model, env.frame_skip
    rng = np.random.default_rng(0)
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    initial = np.zeros((worlds, size))
    few = []
    for seed in range(min(worlds, 64)):
        env.reset(seed=seed)
        state = np.zeros(size)
        mujoco.mj_getState(model, env.data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        few.append(state)
    initial[:] = np.array(few)[np.arange(worlds) % len(few)]
    low, high = env.action_space.low, env.action_space.high
    control = np.repeat(rng.uniform(low, high, (worlds, steps, model.nu)), skip, axis=1)
    data = [mujoco.MjData(model) for _ in range(threads)]
    state_out = np.zeros((worlds, steps * skip, size))
    sensor_out = np.zeros((worlds, steps * skip, model.nsensordata))
    times, cpu = [], []
    with mujoco.rollout.Rollout(nthread=threads) as rollout:
        for _ in range(3):
            begin, begin_cpu = time.perf_counter(), time.process_time()
            rollout.rollout(model, data, initial, control, state=state_out, sensordata=sensor_out)
            times.append(time.perf_counter() - begin)
            cpu.append(time.process_time() - begin_cpu)
    middle = statistics.median(times)
    return worlds * steps / middle, worlds * steps * skip / middle, worlds * steps / statistics.median(cpu), [worlds * steps / x for x in times]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--worlds", type=int, nargs="*", default=[1, 64, 4096])
    parser.add_argument("--steps", type=int, default=16, help="environment steps of each world; fewer where worlds are many")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--json", action="store_true")
    parser.add_argument("names", nargs="*", default=NAMES)
    args = parser.parse_args()
    for name in args.names:
        for worlds in args.worlds:
            steps = max(1, min(args.steps, 65536 // worlds))
            env_steps, physics_steps, per_cpu, samples = measure(name, worlds, steps, args.threads)
            line = {"peer": f"MuJoCo {mujoco.__version__}, mujoco.rollout", "threads": args.threads, "environment": name, "worlds": worlds, "steps": steps,
                    "env_steps_per_second": env_steps, "samples": samples, "physics_steps_per_second": physics_steps, "env_steps_per_cpu_second": per_cpu}
            print(json.dumps(line) if args.json else f"{name:26} {worlds:6} worlds {env_steps:12.0f} env steps/s {physics_steps:12.0f} physics steps/s {per_cpu:12.0f} env steps a second of one core", flush=True)


if __name__ == "__main__":
    main()
