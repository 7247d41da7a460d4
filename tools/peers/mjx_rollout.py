#!/usr/bin/env python3
"""Measures MJX (MuJoCo in JAX) on the models of Gymnasium's environments: what `evorl bench --suite physics` is to be read beside on a GPU.

    python -m venv /tmp/mjx && /tmp/mjx/bin/pip install -r tools/peers/requirements-mjx.txt
    /tmp/mjx/bin/python tools/peers/mjx_rollout.py --worlds 4096 HalfCheetah-v5 --json

Every world begins at a reset of Gymnasium's and takes environment steps by uniformly random actions of its own, all of them in one jit: a scan over environment steps, in it a scan
over MuJoCo's time steps, in it a vmap over the worlds. Integration alone, without observations, rewards and resets, which is to the peer's advantage. The median of three runs after a first one counts;
compilation is told by itself, and start-up from the start of the process. Humanoid's model asks for the solver PGS, which MJX lacks: it gets Newton's, as here.

--impl warp takes MJX's kernels for NVIDIA's GPUs in place of those in JAX (pip install warp-lang).
"""

import argparse
import json
import os
import platform
import statistics
import sys
import time

SCRIPT_START = time.time()

NAMES = ["HalfCheetah-v5", "Hopper-v5", "Ant-v5", "Humanoid-v5"]


def seconds_since_process_start():
    """Age of this process; where /proc is missing, time since this script began (without the interpreter's start)."""
    try:
        with open("/proc/self/stat") as f:
            started = int(f.read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        return time.clock_gettime(time.CLOCK_BOOTTIME) - started
    except (OSError, AttributeError):
        return time.time() - SCRIPT_START


def measure(jax, mujoco, mjx, name, worlds, steps, impl, start):
    """start: the seconds from the start of the process to the end of imports, which count for every measurement."""
    import gymnasium
    import jax.numpy as jnp
    import numpy as np

    begin = time.perf_counter()
    env = gymnasium.make(name).unwrapped
    model, skip = env.model, env.frame_skip
    if model.opt.solver == mujoco.mjtSolver.mjSOL_PGS:
        model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    few = []
    for seed in range(min(worlds, 64)):
        env.reset(seed=seed)
        few.append((env.data.qpos.copy(), env.data.qvel.copy()))
    of = np.arange(worlds) % len(few)
    qpos, qvel = (np.array([state[i] for state in few], np.float32)[of] for i in range(2))
    on_device = mjx.put_model(model, impl=impl)
    blank = mjx.make_data(model, impl=impl)
    worlds_data = jax.vmap(lambda q, v: blank.replace(qpos=q, qvel=v))(qpos, qvel)
    low, high = jnp.asarray(env.action_space.low), jnp.asarray(env.action_space.high)
    step = jax.vmap(mjx.step, in_axes=(None, 0))

    def rollout(model, data, key):
        def environment_step(data, key):
            data = data.replace(ctrl=jax.random.uniform(key, (worlds, low.size), minval=low, maxval=high))
            return jax.lax.scan(lambda d, _: (step(model, d), None), data, length=skip)[0], None

        return jax.lax.scan(environment_step, data, jax.random.split(key, steps))[0]

    ready = time.perf_counter()
    compiled = jax.jit(rollout).lower(on_device, worlds_data, jax.random.PRNGKey(0)).compile()
    compile_seconds = time.perf_counter() - ready
    times = []
    for run in range(4):
        began = time.perf_counter()
        out = jax.block_until_ready(compiled(on_device, worlds_data, jax.random.PRNGKey(run)))
        times.append(time.perf_counter() - began)
    times = times[1:]
    middle = statistics.median(times)
    return {
        "environment": name, "worlds": worlds, "steps": steps, "impl": impl, "env_steps_per_second": worlds * steps / middle, "physics_steps_per_second": worlds * steps * skip / middle,
        "samples": [worlds * steps / x for x in times],
        "start_up_seconds": round(start + ready - begin, 3), "compile_seconds": round(compile_seconds, 3), "finite": bool(jnp.isfinite(out.qpos).all()),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--worlds", type=int, nargs="*", default=[4096, 65536])
    parser.add_argument("--steps", type=int, default=16, help="environment steps of each world (default 16)")
    parser.add_argument("--impl", choices=("jax", "warp"), default="jax", help="MJX's implementation (default jax)")
    parser.add_argument("--json", action="store_true", help="one line of JSON for each measurement")
    parser.add_argument("names", nargs="*", default=NAMES)
    args = parser.parse_args()
    if min(args.worlds, default=0) < 1 or args.steps < 1:
        parser.error("want at least one world and one step")
    import jax
    import mujoco
    from mujoco import mjx

    device = jax.devices()[0]
    start = seconds_since_process_start()
    about = {"peer": f"MJX {mujoco.__version__}", "platform": device.platform, "device": device.device_kind, "jax": jax.__version__, "python": platform.python_version(), "precision": jax.config.jax_default_matmul_precision or "default"}
    failed = False
    for name in args.names:
        for worlds in args.worlds:
            try:
                line = about | measure(jax, mujoco, mjx, name, worlds, args.steps, args.impl, start) | {"load_average": round(os.getloadavg()[0], 2)}
            except Exception as error:  # memory may end; the others are measured all the same
                failed = True
                print(f"mjx_rollout: {name}, {worlds} worlds: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
                continue
            if args.json:
                print(json.dumps(line), flush=True)
            else:
                print(f"{name:16} {worlds:6} worlds {line['env_steps_per_second']:12.0f} env steps/s {line['physics_steps_per_second']:12.0f} physics steps/s, compiled in {line['compile_seconds']:.1f} s", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
