"""Records time steps of MuJoCo for the robots of MuJoCo Menagerie, or says why they are refused: the table of docs/physics.md.

    /tmp/mujoco/bin/python tools/reference/menagerie.py --models DIR --out OUT     # DIR: Menagerie's folders
    MJCF_ROBOTS=OUT go test ./envs/mjcf -run 'TestAcceleration|TestRobotSteps' -v

For every model of DIR OUT has what tools/reference/robots.py writes. Models touch by their own contacts, or as with contacts = "ground", which
meta says: then rows in which MuJoCo finds other contacts are left out, so that the reference is the model as published in both cases. Only the
options of MuJoCo's solver are not the published ones: it solves to the minimum, as the GLSL does (docs/physics.md).
OUT/refused.json has the refusals of the others.
"""

import argparse
import json
import pathlib

import mujoco
import numpy as np

import robots
from robots import dump

PLANE, MESH = int(mujoco.mjtGeom.mjGEOM_PLANE), int(mujoco.mjtGeom.mjGEOM_MESH)


class Recorder(robots.Recorder):
    """Records rows from random motions that begin at the first keyframe, or at the initial state."""

    def __init__(self, name, path, seed, rows, skip, ground):
        robots.MODELS[name] = (str(path), skip, rows, 0, set())
        super().__init__(name, path, seed)
        self.ground = ground
        # Those made for MJX stop MuJoCo's solver after one iteration, far from the minimum.
        option = self.model.opt
        option.solver, option.iterations, option.ls_iterations, option.tolerance = mujoco.mjtSolver.mjSOL_NEWTON, 100, 50, 1e-10

    def begin(self, noise):
        super().begin(0)
        if self.model.nkey:
            mujoco.mj_resetDataKeyframe(self.model, self.data, 0)
        self.data.qvel[:] = noise * self.rng.normal(size=self.model.nv)
        mujoco.mj_integratePos(self.model, self.data.qpos, noise * self.rng.normal(size=self.model.nv), 1.0)

    def row(self):
        super().row()
        if self.deep > 50 * self.motions:
            raise RuntimeError(f"{len(self.before)} of {len(self.before) + self.deep} rows have no other contacts; want more")

    def inside(self):
        """Whether a row is left out."""
        kinds = [[int(self.model.geom_type[g]) for g in c.geom] for c in self.data.contact]
        return super().inside() or self.ground and any(PLANE not in pair or MESH in pair for pair in kinds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--skip", type=int, default=4, help="time steps of a row")
    parser.add_argument("--contacts", choices=("all", "ground"), default="ground")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("names", nargs="*", help="files below DIR, such as unitree_go1/scene.xml (default: all that are models of their own)")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    refused = {}
    for path in [args.models / name for name in args.names] or sorted(args.models.glob("*/*.xml")):
        name = f"{path.parent.name}__{path.stem}"
        try:
            model = dump.Description(path, name)()
        except dump.Unsupported as err:
            refused[name] = str(err).split("\n")
            continue
        except ValueError as err:  # a part of a model, which others include
            print(f"{name}: {' '.join(str(err).split())[:100]}")
            continue
        recorder = Recorder(name, path, args.seed, args.rows, args.skip, args.contacts == "ground")
        try:
            recorder.write(args.out, name, path)
        except RuntimeError as err:
            refused[name] = [str(err)]
            continue
        (args.out / f"{name}.json").write_text(dump.text(model) + "\n")
        steps = args.out / f"{name}_steps.json"
        steps.write_text(steps.read_text().replace('"meta": {', f'"meta": {{"contacts": "{args.contacts}", ', 1))
    (args.out / "refused.json").write_text(json.dumps(refused, indent=1) + "\n")
    print(f"{len(refused)} refused")


if __name__ == "__main__":
    main()
