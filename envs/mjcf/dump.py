"""Writes what MuJoCo's own compiler makes of MJCF models, as the JSON that the Go command beside this script reads.

    python -m venv /tmp/mujoco && /tmp/mujoco/bin/pip install -r envs/mjcf/requirements.txt
    /tmp/mujoco/bin/python envs/mjcf/dump.py --out envs/mjcf/models               # the models of Gymnasium
    /tmp/mujoco/bin/python envs/mjcf/dump.py --out DIR my_robot.xml

Everything is in the units of MuJoCo: metres, kilograms, seconds, radians. Quaternions are w x y z. fields.py lists what
is understood; docs/physics.md says what that is. A model that differs from MuJoCo's defaults in anything else is refused,
by element, name and line. A model that limits the solver's precision is accepted with a warning.
"""

import argparse
import json
import pathlib
import re
import sys

try:
    import mujoco
    import numpy as np
except ModuleNotFoundError as err:
    print(f"dump.py: {sys.executable} has no module {err.name}; want: {sys.executable} -m pip install mujoco==3.12.0", file=sys.stderr)
    sys.exit(3)

import fields
import places

JOINTS = {int(getattr(mujoco.mjtJoint, f"mjJNT_{name.upper()}")): name for name in ("free", "ball", "slide", "hinge")}
DOFS = {mujoco.mjtJoint.mjJNT_FREE: 6, mujoco.mjtJoint.mjJNT_BALL: 3}  # 1 for others
SHAPES = ("plane", "sphere", "capsule", "box", "cylinder", "ellipsoid", "mesh")
GEOMS = {int(getattr(mujoco.mjtGeom, f"mjGEOM_{name.upper()}")): name for name in SHAPES}
KINDS = ("body", "joint", "geom", "site", "tendon", "equality", "actuator")
OBJECTS = {name: getattr(mujoco.mjtObj, f"mjOBJ_{name.upper()}") for name in KINDS}
# Arrays of a model hold NumPy's integers, which are no members of enums.
INTEGRATORS = {int(getattr(mujoco.mjtIntegrator, f"mjINT_{name.upper()}")): name for name in ("Euler", "RK4", "implicitfast")}
ELLIPTIC = int(mujoco.mjtCone.mjCONE_ELLIPTIC)
TO_JOINT = {int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT)}
TO_TENDON = int(mujoco.mjtTrn.mjTRN_TENDON)
FIXED_GAIN, NO_BIAS, AFFINE_BIAS = (
    int(e) for e in (mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtBias.mjBIAS_NONE, mujoco.mjtBias.mjBIAS_AFFINE))
OF_JOINTS, OF_TENDONS, OF_POINTS, WRAPS_JOINT = (
    int(e) for e in (mujoco.mjtEq.mjEQ_JOINT, mujoco.mjtEq.mjEQ_TENDON, mujoco.mjtEq.mjEQ_CONNECT, mujoco.mjtWrap.mjWRAP_JOINT))


class Unsupported(Exception):
    """All refusals, a line each, with the model as far as it is supported."""

    def __init__(self, lines, described):
        super().__init__("\n".join(lines))
        self.described = described


class Description:
    """A compiled model, with the places of its elements."""

    def __init__(self, path, name, dofs=None):
        self.path, self.name = places.parse(path), name
        spec = mujoco.MjSpec.from_file(str(path))
        has = sum(DOFS.get(joint.type, 1) for joint in spec.joints)
        if dofs is not None and has > dofs:
            raise Unsupported([f"{path}: {has} degrees of freedom; want at most {dofs}"], None)
        self.model = spec.compile()
        self.places = places.Places(self.path, spec)
        self.disabled, self.enabled = fields.flags(self.model)
        self.refused = []

    def label(self, kind, i):
        return mujoco.mj_id2name(self.model, OBJECTS[kind], i) or ""

    def at(self, kind, i):
        return self.places.of(kind, i)[0]

    def refusal(self, kind, i, why):
        """The text of a refusal of an element."""
        place, tag = self.places.of(kind, i)
        name = self.label(kind, i)
        return f'{place}: <{tag}>{f" {json.dumps(name)}" if name else ""}: {why}'

    def refuse(self, kind, i, why):
        """Notes a refusal; the rest of the element is described as if it were supported."""
        self.refused.append(self.refusal(kind, i, why))

    def check(self):
        """Notes what fields.py does not list."""
        model, found, counts = self.model, {}, []
        for kind, i, field, value, default in fields.deviations(model):
            why = f"{field} is {shown(value)}, not {shown(default)}"
            if kind == "option":
                place = self.places.attribute("option", OPTION_ATTRIBUTES.get(field, field))
                found.setdefault((kind, place), [f"{place}: <option>: "]).append(why)
            elif kind == "mujoco":
                place = self.places.attribute(*COUNTED.get(field, ("mujoco", "")))
                counts.append(f"{place}: {why}: not supported; want MuJoCo's default")
            else:
                found.setdefault((kind, i), [self.refusal(kind, i, "")]).append(why)
        lines = [f"{element}{', '.join(why)}: not supported; want MuJoCo's default" for element, *why in found.values()]
        for names, value in ((self.disabled - fields.DISABLE, "disable"), (self.enabled - fields.ENABLE, "enable")):
            for name in sorted(name.lower() for name in names):
                lines.append(f'{self.places.attribute("flag", name)}: <flag>: {name}="{value}" is not supported')
        if model.opt.integrator not in INTEGRATORS:
            place = self.places.attribute("option", "integrator")
            lines.append(f"{place}: <option>: this integrator is not supported; want Euler, RK4 or implicitfast")
        elif INTEGRATORS[model.opt.integrator] == "implicitfast" and (model.opt.density or model.opt.viscosity):
            place = self.places.attribute("option", "integrator")
            lines.append(f"{place}: <option>: implicitfast is not supported in a medium; want Euler or RK4, or no density and viscosity")
        if {"SPRING", "DAMPER"} <= self.disabled and (model.opt.density or model.opt.viscosity):
            place = self.places.attribute("flag", "spring")
            lines.append(f"{place}: <flag>: a medium is not supported where spring and damper are disabled")
        self.refused += lines or counts

    def warnings(self):
        for name, value, default in fields.precision(self.model):
            place = self.places.attribute("option", name)
            yield (f"{place}: <option>: {name} is {shown(value)}, not {shown(default)}: MuJoCo may stop elsewhere; "
                   "here contacts and limits are solved to the minimum (docs/physics.md)")

    def __call__(self):
        """The model, if all of it is supported."""
        described = self.described()
        if self.refused:
            raise Unsupported(self.refused, described)
        return described

    def described(self):
        """The model, with what is supported of it; refused has the rest."""
        self.refused = []
        self.check()
        model, option = self.model, self.model.opt
        tendons = [t for t in range(model.ntendon) if self.acts(t)]
        return {
            "name": self.name, "source": self.path.name, "mujoco": mujoco.__version__,
            "integrator": INTEGRATORS.get(int(option.integrator), "Euler"),
            **({"cone": "elliptic"} if option.cone == ELLIPTIC else {}), **({"impratio": option.impratio} if option.impratio != 1 else {}),
            "eulerdamp": "EULERDAMP" not in self.disabled, "multiccd": "MULTICCD" not in self.disabled,
            "timestep": option.timestep,
            "gravity": [0.0] * 3 if "GRAVITY" in self.disabled else numbers(option.gravity),
            "density": option.density, "viscosity": option.viscosity, "wind": numbers(option.wind),
            "meaninertia": model.stat.meaninertia, "nq": model.nq, "nv": model.nv,
            "bodies": [self.body(b) for b in range(model.nbody)], "tendons": [self.tendon(t) for t in tendons],
            "equalities": [e for e in (self.equality(e, tendons) for e in range(model.neq) if self.active(e)) if e],
            "actuators": [a for a in (self.actuator(a, tendons) for a in range(model.nu)) if a],
            "excluded": [[int(s) >> 16, int(s) & 0xFFFF] for s in model.exclude_signature],
        }

    def body(self, b):
        model = self.model
        joints = [self.joint(j) for j in np.flatnonzero(model.jnt_bodyid == b)]
        geoms = [self.geom(g) for g in np.flatnonzero(model.geom_bodyid == b)]
        sites = [{"name": self.label("site", s), "pos": numbers(model.site_pos[s])}
                 for s in np.flatnonzero(model.site_bodyid == b)]
        return {
            "name": self.label("body", b), "parent": int(model.body_parentid[b]), "weld": int(model.body_weldid[b]),
            "pos": numbers(model.body_pos[b]), "quat": numbers(model.body_quat[b]), "mass": float(model.body_mass[b]),
            "com": numbers(model.body_ipos[b]), "frame": numbers(model.body_iquat[b]), "inertia": numbers(model.body_inertia[b]),
            "invweight": numbers(model.body_invweight0[b]),
            **({"gravcomp": float(model.body_gravcomp[b])} if model.body_gravcomp[b] and "GRAVITY" not in self.disabled else {}), "joints": joints, "geoms": [g for g in geoms if g], "sites": sites,
        }

    def joint(self, j):
        model, kind = self.model, self.model.jnt_type[j]
        dof, q = model.jnt_dofadr[j], model.jnt_qposadr[j]
        size, width = {"free": (6, 7), "ball": (3, 4)}.get(JOINTS[kind], (1, 1))
        if np.any(model.dof_damping[dof:dof + size] != model.dof_damping[dof]):
            self.refuse("joint", j, "its degrees of freedom are damped differently")
        if np.any(model.dof_frictionloss[dof:dof + size] != model.dof_frictionloss[dof]):
            self.refuse("joint", j, "its degrees of freedom have different friction")
        force = bool(model.jnt_actfrclimited[j])
        return {
            "name": self.label("joint", j), "at": self.at("joint", j), "type": JOINTS[kind], "q": int(q),
            "dof": int(dof), "pos": numbers(model.jnt_pos[j]), "axis": numbers(model.jnt_axis[j]),
            "reference": numbers(model.qpos0[q:q + width]), "rest": numbers(model.qpos_spring[q:q + width]),
            "stiffness": self.spring(model.jnt_stiffness[j]), "damping": self.damper(model.dof_damping[dof]),
            "armature": numbers(model.dof_armature[dof:dof + size]),
            "limited": self.limited(model.jnt_limited[j]), "range": numbers(model.jnt_range[j]),
            "margin": float(model.jnt_margin[j]), "solref": numbers(model.jnt_solref[j]),
            "solimp": numbers(model.jnt_solimp[j]), "invweight": numbers(model.dof_invweight0[dof:dof + size]),
            "forcelimited": force, "forcerange": numbers(model.jnt_actfrcrange[j]) if force else [0.0, 0.0],
            **self.friction(model.dof_frictionloss[dof], model.dof_solref[dof], model.dof_solimp[dof]),
        }

    def friction(self, loss, solref, solimp):
        """The dry friction of a joint or tendon, if it has any."""
        if not loss or self.disabled & {"CONSTRAINT", "FRICTIONLOSS"}:
            return {}
        return {"friction": {"loss": float(loss), "solref": numbers(solref), "solimp": numbers(solimp)}}

    def geom(self, g):
        """A geom, or None for one that touches nothing and has no form that viewers draw."""
        model, touches = self.model, fields.touches(self.model, g)
        if model.geom_type[g] not in GEOMS or not touches and GEOMS[model.geom_type[g]] == "mesh":
            if not touches:
                return None
            kind = mujoco.mjtGeom(model.geom_type[g]).name.removeprefix("mjGEOM_").lower()
            self.refuse("geom", g, f"type {kind} is supported only where it touches nothing (contype, conaffinity 0)")
            return None
        return {
            "name": self.label("geom", g), "at": self.at("geom", g), "type": GEOMS[model.geom_type[g]],
            "pos": numbers(model.geom_pos[g]), "quat": numbers(model.geom_quat[g]), "size": numbers(model.geom_size[g]),
            "contype": int(model.geom_contype[g]) if touches else 0,
            "conaffinity": int(model.geom_conaffinity[g]) if touches else 0,
            "condim": int(model.geom_condim[g]), "priority": int(model.geom_priority[g]),
            "solmix": float(model.geom_solmix[g]), "friction": numbers(model.geom_friction[g]),
            "margin": float(model.geom_margin[g]), "solref": numbers(model.geom_solref[g]),
            "solimp": numbers(model.geom_solimp[g]), "rgba": numbers(np.round(model.geom_rgba[g].astype(float), 4)),
        }

    def acts(self, t):
        """Whether a tendon has any effect."""
        model = self.model
        driven = any(model.actuator_trntype[a] == TO_TENDON and model.actuator_trnid[a][0] == t for a in range(model.nu))
        tied = any(model.eq_type[e] == OF_TENDONS and t in (model.eq_obj1id[e], model.eq_obj2id[e])
                   for e in range(model.neq) if self.active(e))
        pulls = bool(model.tendon_stiffness[t] or model.tendon_damping[t] or model.tendon_armature[t] or model.tendon_frictionloss[t])
        return driven or tied or pulls or self.limited(model.tendon_limited[t])

    def tendon(self, t):
        model = self.model
        path = range(model.tendon_adr[t], model.tendon_adr[t] + model.tendon_num[t])
        if any(model.wrap_type[w] != WRAPS_JOINT for w in path):
            self.refuse("tendon", t, "spatial tendons are not supported; want fixed")
            path = []
        return {
            "name": self.label("tendon", t), "at": self.at("tendon", t),
            "joints": [[int(model.jnt_dofadr[model.wrap_objid[w]]), float(model.wrap_prm[w])] for w in path],
            "reference": float(model.tendon_length0[t]), "rest": numbers(model.tendon_lengthspring[t]),
            "stiffness": self.spring(model.tendon_stiffness[t]), "damping": self.damper(model.tendon_damping[t]),
            "armature": float(model.tendon_armature[t]), "limited": self.limited(model.tendon_limited[t]),
            "range": numbers(model.tendon_range[t]), "margin": float(model.tendon_margin[t]),
            "solref": numbers(model.tendon_solref_lim[t]), "solimp": numbers(model.tendon_solimp_lim[t]),
            "invweight": float(model.tendon_invweight0[t]),
            **self.friction(model.tendon_frictionloss[t], model.tendon_solref_fri[t], model.tendon_solimp_fri[t]),
        }

    def active(self, e):
        return bool(self.model.eq_active0[e]) and not self.disabled & {"CONSTRAINT", "EQUALITY"}

    def equality(self, e, tendons):
        model, kind = self.model, self.model.eq_type[e]
        if kind not in (OF_JOINTS, OF_TENDONS, OF_POINTS):
            self.refuse("equality", e, "not supported; want joint, tendon or connect")
            return None
        first, second = int(model.eq_obj1id[e]), int(model.eq_obj2id[e])
        points = {}
        if kind == OF_POINTS:
            ends, points = [], {"points": [self.point(e, first, 0), self.point(e, second, 1)]}
        elif kind == OF_JOINTS:
            ends = [{"dof": self.scalar("equality", e, j)} for j in (first, second) if j >= 0]
        else:
            ends = [{"tendon": tendons.index(t)} for t in (first, second) if t >= 0]
        return {
            "name": self.label("equality", e), "at": self.at("equality", e), "ends": ends,
            "poly": [0.0] * 5 if points else numbers(model.eq_data[e][:5]), **points,
            "solref": numbers(model.eq_solref[e]), "solimp": numbers(model.eq_solimp[e]),
        }

    def point(self, e, i, end):
        """An end of a connection: a point of a body, or a site."""
        if self.model.eq_objtype[e] == int(mujoco.mjtObj.mjOBJ_SITE):
            return {"body": int(self.model.site_bodyid[i]), "pos": numbers(self.model.site_pos[i])}
        return {"body": i, "pos": numbers(self.model.eq_data[e][3 * end:3 * end + 3])}

    def scalar(self, kind, i, joint):
        """The degree of freedom of a hinge or slide joint that an element of some kind acts on."""
        if JOINTS.get(self.model.jnt_type[joint]) not in ("hinge", "slide"):
            self.refuse(kind, i, f'acts on the joint "{self.label("joint", joint)}"; want a hinge or slide joint')
        return int(self.model.jnt_dofadr[joint])

    def actuator(self, a, tendons):
        model, transmission = self.model, self.model.actuator_trntype[a]
        if transmission in TO_JOINT:
            end = {"dof": self.scalar("actuator", a, model.actuator_trnid[a][0])}
        elif transmission == TO_TENDON:
            end = {"tendon": tendons.index(model.actuator_trnid[a][0])}
        else:
            self.refuse("actuator", a, "its transmission is not supported; want joint or tendon")
            return None
        bias = model.actuator_biastype[a]
        if model.actuator_gaintype[a] != FIXED_GAIN or bias not in (NO_BIAS, AFFINE_BIAS):
            self.refuse("actuator", a, "its gain or bias is not supported; want a fixed gain, and no bias or an affine one: "
                                       "a motor, position or velocity actuator")
        if np.any(model.actuator_gear[a][1:]):
            self.refuse("actuator", a, f"gear is {shown(model.actuator_gear[a])}; want one number")
        force = bool(model.actuator_forcelimited[a])
        return {
            "name": self.label("actuator", a), "at": self.at("actuator", a), **end,
            "gear": float(model.actuator_gear[a][0]), "gain": float(model.actuator_gainprm[a][0]),
            "bias": numbers(model.actuator_biasprm[a][:3]) if bias == AFFINE_BIAS else [0.0] * 3,
            "limited": bool(model.actuator_ctrllimited[a]) and "CLAMPCTRL" not in self.disabled,
            "range": numbers(model.actuator_ctrlrange[a]),
            "forcelimited": force, "forcerange": numbers(model.actuator_forcerange[a]) if force else [0.0, 0.0],
        }

    def limited(self, value):
        return bool(value) and not self.disabled & {"CONSTRAINT", "LIMIT"}

    def spring(self, stiffness):
        return 0.0 if "SPRING" in self.disabled else float(stiffness)

    def damper(self, damping):
        return 0.0 if "DAMPER" in self.disabled else float(damping)


# Attributes of <option> that are named otherwise than the field.
OPTION_ATTRIBUTES = {"disableactuator": "actuatorgroupdisable"}
# Tag and attribute of what makes a count differ from zero.
COUNTED = {"npair": ("pair", "geom1"), "nmocap": ("body", "mocap"), "nflex": ("flexcomp", "type"),
           "nplugin": ("plugin", "plugin"), "na": ("actuator", "")}


def numbers(values):
    return np.asarray(values, np.float64).tolist()


def shown(value):
    """A number or row as an error shows it."""
    row = np.atleast_1d(value).tolist()
    return " ".join(f"{v:g}" if isinstance(v, float) else str(int(v) if isinstance(v, bool) else v) for v in row)


def text(value, depth=0):
    """JSON with lists of numbers on one line."""
    pad = "  " * depth
    if isinstance(value, dict):
        flat = json.dumps(value)
        if len(flat) < 100 and not any(isinstance(v, (dict,)) for v in value.values()):
            return flat
        return "{\n" + ",\n".join(f"{pad}  {json.dumps(k)}: {text(v, depth + 1)}" for k, v in value.items()) + f"\n{pad}}}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(f"{pad}  {text(v, depth + 1)}" for v in value) + f"\n{pad}]"
    return json.dumps(value)


GYMNASIUM = {
    "Hopper-v5": "hopper.xml", "Walker2d-v5": "walker2d_v5.xml", "HalfCheetah-v5": "half_cheetah.xml", "Swimmer-v5": "swimmer.xml", "Ant-v5": "ant.xml",
    "Humanoid-v5": "humanoid.xml", "InvertedPendulum-v5": "inverted_pendulum.xml", "InvertedDoublePendulum-v5": "inverted_double_pendulum.xml",
    "Reacher-v5": "reacher.xml", "Pusher-v5": "pusher_v5.xml", "HumanoidStandup-v5": "humanoidstandup.xml",
}


def gymnasium_models():
    import gymnasium
    assets = pathlib.Path(gymnasium.__file__).parent / "envs/mujoco/assets"
    return {pathlib.Path(file).stem.removesuffix("_v5"): assets / file for file in GYMNASIUM.values()}


def located(path, err):
    """An error of MuJoCo on one line, with the line of the file where it names one."""
    at = re.search(r"\bline (\d+)", err)
    err = " ".join(err.split())
    return err if str(path) in err else f"{path}:{at[1]}: {err}" if at else f"{path}: {err}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--dofs", type=int, help="most degrees of freedom of a model (default: any)")
    parser.add_argument("models", nargs="*", type=pathlib.Path, help="MJCF files (default: those of Gymnasium's environments)")
    args = parser.parse_args()
    for name, path in ({path.stem: path for path in args.models} or gymnasium_models()).items():
        try:
            describe = Description(path, name, args.dofs)
            model = describe()
        except Unsupported as err:
            args.out.mkdir(parents=True, exist_ok=True)
            if err.described:
                (args.out / f"{name}.json").write_text(text(err.described) + "\n")  # from which the reader finds what else it refuses
            sys.exit("\n".join(f"dump.py: {line}" for line in str(err).split("\n")))
        except (ValueError, OSError, mujoco.FatalError) as err:
            sys.exit(f"dump.py: {located(path, str(err))}")
        for warning in describe.warnings():
            print("dump.py: warning:", warning, file=sys.stderr)
        args.out.mkdir(parents=True, exist_ok=True)
        (args.out / f"{name}.json").write_text(text(model) + "\n")
        print(f"{name}: {model['nv']} degrees of freedom, {len(model['bodies']) - 1} bodies")


if __name__ == "__main__":
    main()
