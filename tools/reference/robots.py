"""Records time steps of MuJoCo, which tests of envs/mjcf take too, for models that are no environment here.

    /tmp/mujoco/bin/pip install dm_control==1.0.45
    /tmp/mujoco/bin/python tools/reference/robots.py --models DIR     # has Gymnasium's, dm_control's … MJCF files: MODELS

envs/mjcf/testdata/robots/NAME.json is the model as dump.py writes it. NAME_steps.json has

    meta     versions, the MJCF file, time steps of a row (frame_skip), rows, and how many states were left out because
             the axis of a capsule got into a cylinder (deep)
    before   float32 [rows, nq + nv + nv] positions, velocities, accelerations (the solver's warm start), in base64,
             little-endian
    control  float32 [rows, nu]
    after    float64 [rows, nq + nv] positions and velocities after frame_skip time steps
    states   some of the rows with inertia, forces and accelerations, as tools/reference/physics.py writes them

Rows are of random motions from the initial state, and of states with joints anywhere in their ranges, above the ground,
on it, and with certain geoms in touch.
"""

import argparse
import base64
import json
import pathlib
import sys

import mujoco
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "envs/mjcf"))
import dump  # noqa: E402
import physics  # noqa: E402

# The MJCF file below --models, time steps of an environment step, rows of random motions and of random states, and pairs
# of geom types of which the latter must have one in touch.
MODELS = {
    "pushing": ("gymnasium/envs/mujoco/assets/pusher_v5.xml", 5, 100, 100, {("capsule", "cylinder")}),
    "mujoco_humanoid": ("mujoco/humanoid.xml", 5, 60, 40, set()),
    "dm_cartpole": ("dm_control/suite/cartpole.xml", 1, 100, 100, set()),
    "dm_acrobot": ("dm_control/suite/acrobot.xml", 1, 100, 100, set()),
    "dm_point_mass": ("dm_control/suite/point_mass.xml", 1, 100, 100, set()),
    "dm_reacher": ("dm_control/suite/reacher.xml", 1, 100, 100, set()),
    "dm_cheetah": ("dm_control/suite/cheetah.xml", 1, 120, 120, set()),
    "dm_hopper": ("dm_control/suite/hopper.xml", 4, 120, 120, set()),
    "dm_walker": ("dm_control/suite/walker.xml", 10, 120, 120, set()),
    "parts": ("parts.xml", 4, 150, 150, set()),
    "tied": ("tied.xml", 2, 60, 60, set()),
    "rub": ("rub.xml", 3, 120, 120, set()),
    "servo": ("servo.xml", 3, 120, 120, set()),
    "balls": ("balls.xml", 3, 60, 60, set()),
    "walks": ("walks.xml", 4, 120, 0, set()),
    "flags": ("flags.xml", 3, 120, 120, set()),
}


def single(x):
    return np.asarray(x, np.float64).astype(np.float32)


class Recorder:
    def __init__(self, name, path, seed):
        _, self.skip, self.motions, self.randoms, self.pairs = MODELS[name]
        self.model = mujoco.MjModel.from_xml_path(str(path))
        self.data = mujoco.MjData(self.model)
        self.rng = np.random.default_rng([seed, *name.encode()])
        self.before, self.control, self.after, self.states, self.deep = [], [], [], [], 0

    def actions(self):
        """Controls in their range and somewhat beyond."""
        model = self.model
        low, high = np.where(model.actuator_ctrllimited[:, None], model.actuator_ctrlrange, [-1.0, 1.0]).T
        reach = 0.6 * self.rng.choice([0.3, 1.0, 1.2])
        return single(0.5 * (low + high) + reach * self.rng.uniform(low - high, high - low))

    def row(self):
        """Records a step, unless a capsule gets almost as deep into a cylinder as its axis, where the GLSL computes otherwise."""
        model, data = self.model, self.data
        for field in (data.qpos, data.qvel, data.qacc_warmstart):
            field[:] = single(field)
        before = np.concatenate([data.qpos, data.qvel, data.qacc_warmstart])
        action = self.actions()
        terms = physics.terms(model, data, action)
        data.ctrl[:] = action
        for _ in range(self.skip):
            mujoco.mj_step(model, data)
            if self.inside():
                self.deep += 1
                return
        if np.any([w.number for w in data.warning]):
            raise RuntimeError("MuJoCo warns")
        self.before.append(before)
        self.control.append(action)
        self.after.append(np.concatenate([data.qpos, data.qvel]))
        self.states.append(terms)

    def kinds(self, contact):
        return tuple(sorted(dump.GEOMS[int(self.model.geom_type[g])] for g in contact.geom))

    def inside(self):
        radius = lambda c: min(self.model.geom_size[g][0] for g in c.geom)
        return any(self.kinds(c) == ("capsule", "cylinder") and c.dist < -0.8 * radius(c) for c in self.data.contact)

    def begin(self, noise):
        mujoco.mj_resetData(self.model, self.data)
        self.data.qvel[:] = noise * self.rng.normal(size=self.model.nv)
        mujoco.mj_integratePos(self.model, self.data.qpos, noise * self.rng.normal(size=self.model.nv), 1.0)

    def motion(self):
        """Episodes of random actions; robots without an own balance fall within them."""
        while len(self.before) < self.motions:
            self.begin(0.05)
            for step in range(60):  # before shapes lie still: where an upright cylinder touches depends on the least tilt
                if step % 3 == 0 and len(self.before) < self.motions:
                    self.row()
                    continue
                self.data.ctrl[:] = self.actions()
                for _ in range(self.skip):
                    mujoco.mj_step(self.model, self.data)

    def touching(self):
        return not self.pairs or any(self.kinds(c) in self.pairs for c in self.data.contact)

    def random(self):
        """States with joints anywhere in their ranges and somewhat beyond, half of them where they touch the ground."""
        model, data = self.model, self.data
        while len(self.before) < self.motions + self.randoms:
            self.begin(0.0)
            for j in range(model.njnt):
                low, high = model.jnt_range[j]
                q = model.jnt_qposadr[j]
                if model.jnt_type[j] == int(mujoco.mjtJoint.mjJNT_FREE):
                    quaternion = self.rng.normal(size=4)
                    data.qpos[q + 3:q + 7] = quaternion / np.linalg.norm(quaternion)
                elif model.jnt_type[j] == int(mujoco.mjtJoint.mjJNT_BALL):
                    axis, angle = self.rng.normal(size=3), self.rng.uniform(0, 1.03 * high if model.jnt_limited[j] else np.pi)
                    mujoco.mju_axisAngle2Quat(data.qpos[q:q + 4], axis / np.linalg.norm(axis), angle)
                elif model.jnt_limited[j] and high - low < 10:
                    data.qpos[q] = self.rng.uniform(low - 0.03 * (high - low), high + 0.03 * (high - low))
                elif model.jnt_limited[j]: # objects on long rails
                    data.qpos[q] = self.rng.uniform(-0.3, 0.3)
                elif model.jnt_type[j] == int(mujoco.mjtJoint.mjJNT_HINGE):
                    data.qpos[q] = self.rng.uniform(-np.pi, np.pi)
            data.qvel[:] = self.rng.normal(size=model.nv)
            self.settle()
            mujoco.mj_forward(model, data)
            if self.touching():
                data.qacc_warmstart[:] = 0
                self.row()

    def settle(self):
        """Lowers a robot that can rise to where it just touches the ground, or leaves it above."""
        model, data = self.model, self.data
        free, slide = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_SLIDE)
        plane = set(np.flatnonzero(model.geom_type == int(mujoco.mjtGeom.mjGEOM_PLANE)))
        above = self.rng.random() < 0.3
        for j in range(model.njnt):
            kind, body = model.jnt_type[j], model.jnt_bodyid[j]
            if kind != free and (kind != slide or abs(model.jnt_axis[j][2]) < 0.9 or model.body_parentid[body] != 0):
                continue
            q = model.jnt_qposadr[j] + (2 if kind == free else 0)
            data.qpos[q] += 3.0
            own = {g for g in range(model.ngeom) if model.body_rootid[model.geom_bodyid[g]] == body}
            while not above:
                mujoco.mj_kinematics(model, data)
                mujoco.mj_collision(model, data)
                if data.qpos[q] < -3 or any(set(c.geom) & plane and set(c.geom) & own and c.dist < 0 for c in data.contact):
                    break
                data.qpos[q] -= 0.01

    def write(self, out, name, path):
        self.motion()
        self.random()
        encode = lambda rows, kind: base64.b64encode(np.asarray(rows, kind).tobytes()).decode()
        meta = {"source": path.name, "mujoco": mujoco.__version__, "numpy": np.__version__, "frame_skip": self.skip, "rows": len(self.before), "deep": self.deep}
        few = sorted(range(len(self.states)), key=lambda i: -self.states[i]["rows"])[:6] + [i for i in (0, self.motions, self.motions + 1) if i < len(self.states)]
        lines = ",\n".join(json.dumps(self.states[i]) for i in few)
        fields = ",\n".join(f'"{key}": "{text}"' for key, text in (
            ("before", encode(self.before, "<f4")), ("control", encode(self.control, "<f4")), ("after", encode(self.after, "<f8"))))
        (out / f"{name}_steps.json").write_text(f'{{"meta": {json.dumps(meta)},\n{fields},\n"states": [\n{lines}\n]}}\n')
        rows = [s["rows"] for s in self.states]
        print(json.dumps(meta), f"rows of constraints: median {np.median(rows):g}, most {max(rows)}; contacts: most {max(s['contacts'] for s in self.states)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", type=pathlib.Path, required=True, help="folder of the MJCF files, below it as in MODELS")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("envs/mjcf/testdata/robots"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("names", nargs="*", default=list(MODELS))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for name in args.names:
        path = args.models / MODELS[name][0]
        if not path.exists():
            path = args.out / MODELS[name][0]  # the repository's own
        (args.out / f"{name}.json").write_text(dump.text(dump.Description(path, name)()) + "\n")
        Recorder(name, path, args.seed).write(args.out, name, path)


if __name__ == "__main__":
    main()
