"""Records where MuJoCo puts the bodies and geoms of Gymnasium's models, for the tests of what viewers draw.

    python -m venv /tmp/mujoco && /tmp/mujoco/bin/pip install -r envs/mjcf/requirements.txt
    /tmp/mujoco/bin/python tools/reference/geometry.py

Writes envs/testdata/geometry.json: for each environment states, by their positions q (float32; quaternions are not of length 1), with what
MuJoCo's forward kinematics makes of each: bodies [x y z, quaternion w x y z], geoms [x y z, rotation matrix by rows].
"""

import argparse
import json
import pathlib

import gymnasium
import mujoco
import numpy as np

NAMES = ["Hopper-v5", "Walker2d-v5", "HalfCheetah-v5", "Swimmer-v5", "Ant-v5", "Humanoid-v5", "InvertedPendulum-v5", "InvertedDoublePendulum-v5", "Reacher-v5",
         "Pusher-v5", "HumanoidStandup-v5"]


def digits(values):
    return [float(f"{v:.10g}") for v in values]


def record(name, count, seed):
    env = gymnasium.make(name).unwrapped
    model, data = env.model, env.data
    rng = np.random.default_rng([seed, *name.encode()])
    states = []
    for _ in range(count):
        data.qpos[:] = (model.qpos0 + rng.normal(size=model.nq)).astype(np.float32)
        q = data.qpos.tolist()
        mujoco.mj_kinematics(model, data)
        states.append({
            "q": q,
            "bodies": [digits([*data.xpos[b], *data.xquat[b]]) for b in range(model.nbody)],
            "geoms": [digits([*data.geom_xpos[g], *data.geom_xmat[g]]) for g in range(model.ngeom)],
        })
    return states


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("envs/testdata/geometry.json"))
    parser.add_argument("--states", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    environments = ",\n".join(f'{json.dumps(name)}: [\n' + ",\n".join(json.dumps(s) for s in record(name, args.states, args.seed)) + "\n]" for name in NAMES)
    meta = {"gymnasium": gymnasium.__version__, "mujoco": mujoco.__version__, "numpy": np.__version__, "states": args.states, "seed": args.seed}
    args.out.write_text(f'{{"meta": {json.dumps(meta)}, "environments": {{\n{environments}\n}}}}\n')


if __name__ == "__main__":
    main()
