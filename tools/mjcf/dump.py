"""Writes what MuJoCo's own compiler makes of MJCF models, as the JSON that the Go command beside this script reads.

    python -m venv /tmp/mujoco && /tmp/mujoco/bin/pip install -r tools/mjcf/requirements.txt
    /tmp/mujoco/bin/python tools/mjcf/dump.py --out tools/mjcf/models               # the models of Gymnasium
    /tmp/mujoco/bin/python tools/mjcf/dump.py --out DIR my_robot.xml

Everything is in the units of MuJoCo: metres, kilograms, seconds, radians. Quaternions are w x y z. What the generator cannot do is refused here, by the
element and its line: the subset is trees of free, hinge and slide joints, planes, spheres and capsules that touch with condim 1 or 3 and pyramidal cones,
motors on joints, springs, dampers and limits of joints, and the fluid forces on inertia boxes.
"""

import argparse
import json
import pathlib
import sys
import xml.parsers.expat

import mujoco
import numpy as np

# The elements that have a meaning here, or none for the dynamics.
ELEMENTS = {
    "mujoco", "compiler", "option", "size", "visual", "statistic", "default", "custom", "asset", "worldbody", "body", "joint", "freejoint", "geom",
    "inertial", "site", "camera", "light", "actuator", "motor", "contact", "exclude", "sensor", "tendon", "fixed", "flag",
}
ANYTHING = {"visual", "statistic", "custom", "asset", "sensor"}  # whose children are of no concern
GEOMS = {"plane", "sphere", "capsule", "box", "cylinder", "ellipsoid"}  # the last three where they touch nothing
JOINTS = {int(mujoco.mjtJoint.mjJNT_FREE): "free", int(mujoco.mjtJoint.mjJNT_SLIDE): "slide", int(mujoco.mjtJoint.mjJNT_HINGE): "hinge"}
TYPES = {int(getattr(mujoco.mjtGeom, "mjGEOM_" + name.upper())): name for name in GEOMS}


class Unsupported(Exception):
    pass


def elements(path):
    """All elements of an MJCF file in order: (tag, attributes, line, tags of the parents)."""
    found, stack = [], []
    parser = xml.parsers.expat.ParserCreate()

    def start(tag, attributes):
        found.append((tag, attributes, parser.CurrentLineNumber, list(stack)))
        stack.append(tag)

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda tag: stack.pop()
    parser.Parse(path.read_bytes(), True)
    return found


def refuse(path, line, tag, attributes, why):
    name = f' "{attributes["name"]}"' if "name" in attributes else ""
    raise Unsupported(f"{path}:{line}: <{tag}>{name}: {why}")


def check(path):
    """Refuses what the text of the model alone shows to be out of the subset."""
    for tag, attributes, line, parents in elements(path):
        if ANYTHING.intersection(parents):
            continue
        if tag not in ELEMENTS:
            refuse(path, line, tag, attributes, f"not supported; there are {', '.join(sorted(ELEMENTS))}")
        if tag in ("joint",) and attributes.get("type") == "ball":
            refuse(path, line, tag, attributes, "ball joints are not supported; want free, hinge or slide")
        if tag == "geom" and attributes.get("type", "sphere") not in GEOMS:
            refuse(path, line, tag, attributes, f"type {attributes['type']} is not supported; want plane, sphere or capsule")
        if tag == "geom" and attributes.get("condim", "3") not in ("1", "3"):
            refuse(path, line, tag, attributes, f"condim {attributes['condim']} is not supported; want 1 or 3")
        if tag == "joint" and float(attributes.get("frictionloss", "0")) != 0:
            refuse(path, line, tag, attributes, "frictionloss is not supported; want 0")
        if tag == "fixed" and any(float(attributes.get(k, "0").split()[0]) != 0 for k in ("stiffness", "damping", "frictionloss")):
            refuse(path, line, tag, attributes, "tendons that act are not supported; want no stiffness, damping, friction or limit")
        if tag == "option" and attributes.get("cone", "pyramidal") != "pyramidal":
            refuse(path, line, tag, attributes, "elliptic cones are not supported; want pyramidal")
        if tag == "option" and attributes.get("integrator", "Euler") not in ("Euler", "RK4"):
            refuse(path, line, tag, attributes, f"integrator {attributes['integrator']} is not supported; want Euler or RK4")
        if tag == "option" and attributes.get("noslip_iterations", "0") != "0":
            refuse(path, line, tag, attributes, "noslip_iterations is not supported; want 0")
        if tag == "flag":
            refuse(path, line, tag, attributes, "flags are not supported")


def zero(model, names):
    """Refuses models in which one of the fields is used."""
    for name in names:
        if np.any(getattr(model, name)):
            raise Unsupported(f"{name} is not zero; it is not supported")


def numbers(values):
    values = np.asarray(values, np.float64)
    return values.tolist()


def describe(path, name):
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    zero(model, ["dof_frictionloss", "dof_dampingpoly", "jnt_stiffnesspoly", "tendon_stiffness", "tendon_damping", "tendon_limited", "neq", "npair",
                 "na", "body_gravcomp", "geom_gap", "geom_surfacevel", "geom_adhesion", "geom_fluid", "actuator_armature", "actuator_damping", "nmocap"])
    label = lambda kind, i: mujoco.mj_id2name(model, kind, i) or ""
    bodies = []
    for b in range(model.nbody):
        joints, geoms, sites = [], [], []
        for j in np.flatnonzero(model.jnt_bodyid == b):
            dof, q = model.jnt_dofadr[j], model.jnt_qposadr[j]
            if int(model.jnt_type[j]) not in JOINTS:
                raise Unsupported(f"joint {label(mujoco.mjtObj.mjOBJ_JOINT, j)!r}: its type is not supported; want free, hinge or slide")
            size, width = (6, 7) if JOINTS[int(model.jnt_type[j])] == "free" else (1, 1)
            joints.append({
                "name": label(mujoco.mjtObj.mjOBJ_JOINT, j), "type": JOINTS[int(model.jnt_type[j])], "q": int(q), "dof": int(dof),
                "pos": numbers(model.jnt_pos[j]), "axis": numbers(model.jnt_axis[j]),
                "reference": numbers(model.qpos0[q:q + width]), "rest": numbers(model.qpos_spring[q:q + width]),
                "stiffness": float(model.jnt_stiffness[j]), "damping": float(model.dof_damping[dof]), "armature": numbers(model.dof_armature[dof:dof + size]),
                "limited": bool(model.jnt_limited[j]), "range": numbers(model.jnt_range[j]), "margin": float(model.jnt_margin[j]),
                "solref": numbers(model.jnt_solref[j]), "solimp": numbers(model.jnt_solimp[j]), "invweight": numbers(model.dof_invweight0[dof:dof + size]),
            })
            if np.any(model.dof_damping[dof:dof + size] != model.dof_damping[dof]):
                raise Unsupported(f"joint {label(mujoco.mjtObj.mjOBJ_JOINT, j)!r}: its axes are damped differently")
        for g in np.flatnonzero(model.geom_bodyid == b):
            geoms.append({
                "name": label(mujoco.mjtObj.mjOBJ_GEOM, g), "type": TYPES[int(model.geom_type[g])], "pos": numbers(model.geom_pos[g]), "quat": numbers(model.geom_quat[g]),
                "size": numbers(model.geom_size[g]), "contype": int(model.geom_contype[g]), "conaffinity": int(model.geom_conaffinity[g]),
                "condim": int(model.geom_condim[g]), "priority": int(model.geom_priority[g]), "solmix": float(model.geom_solmix[g]),
                "friction": numbers(model.geom_friction[g]), "margin": float(model.geom_margin[g]),
                "solref": numbers(model.geom_solref[g]), "solimp": numbers(model.geom_solimp[g]), "rgba": numbers(np.round(model.geom_rgba[g].astype(float), 4)),
            })
        for s in np.flatnonzero(model.site_bodyid == b):
            sites.append({"name": label(mujoco.mjtObj.mjOBJ_SITE, s), "pos": numbers(model.site_pos[s])})
        bodies.append({
            "name": label(mujoco.mjtObj.mjOBJ_BODY, b), "parent": int(model.body_parentid[b]), "weld": int(model.body_weldid[b]),
            "pos": numbers(model.body_pos[b]), "quat": numbers(model.body_quat[b]), "mass": float(model.body_mass[b]),
            "com": numbers(model.body_ipos[b]), "frame": numbers(model.body_iquat[b]), "inertia": numbers(model.body_inertia[b]),
            "invweight": numbers(model.body_invweight0[b]), "joints": joints, "geoms": geoms, "sites": sites,
        })
    actuators = []
    for a in range(model.nu):
        title = label(mujoco.mjtObj.mjOBJ_ACTUATOR, a) or str(a)
        if (model.actuator_trntype[a] != mujoco.mjtTrn.mjTRN_JOINT or model.actuator_dyntype[a] != mujoco.mjtDyn.mjDYN_NONE
                or model.actuator_gaintype[a] != mujoco.mjtGain.mjGAIN_FIXED or model.actuator_biastype[a] != mujoco.mjtBias.mjBIAS_NONE
                or model.actuator_forcelimited[a] or np.any(model.actuator_gear[a][1:])):
            raise Unsupported(f"actuator {title!r}: not supported; want a motor on a hinge or slide joint")
        joint = model.actuator_trnid[a][0]
        actuators.append({
            "name": label(mujoco.mjtObj.mjOBJ_ACTUATOR, a), "dof": int(model.jnt_dofadr[joint]), "gear": float(model.actuator_gear[a][0] * model.actuator_gainprm[a][0]),
            "limited": bool(model.actuator_ctrllimited[a]), "range": numbers(model.actuator_ctrlrange[a]),
        })
    excluded = [[int(s) >> 16, int(s) & 0xFFFF] for s in model.exclude_signature]
    option = model.opt
    if option.cone != mujoco.mjtCone.mjCONE_PYRAMIDAL:
        raise Unsupported("elliptic cones are not supported; want pyramidal")
    return {
        "name": name, "source": path.name, "mujoco": mujoco.__version__,
        "integrator": "RK4" if option.integrator == mujoco.mjtIntegrator.mjINT_RK4 else "Euler",
        "timestep": option.timestep, "gravity": numbers(option.gravity), "density": option.density, "viscosity": option.viscosity, "wind": numbers(option.wind),
        "impratio": option.impratio, "meaninertia": model.stat.meaninertia, "nq": model.nq, "nv": model.nv, "bodies": bodies, "actuators": actuators, "excluded": excluded,
    }


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
    "Reacher-v5": "reacher.xml",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("models", nargs="*", type=pathlib.Path, help="MJCF files (default: those of Gymnasium's environments)")
    args = parser.parse_args()
    models = {path.stem: path for path in args.models}
    args.out.mkdir(parents=True, exist_ok=True)
    if not models:
        import gymnasium
        assets = pathlib.Path(gymnasium.__file__).parent / "envs/mujoco/assets"
        models = {pathlib.Path(file).stem.removesuffix("_v5"): assets / file for file in GYMNASIUM.values()}
    for name, path in models.items():
        try:
            check(path)
            model = describe(path, name)
        except (Unsupported, ValueError, xml.parsers.expat.ExpatError) as err:
            sys.exit(f"dump.py: {err if str(path) in str(err) else f'{path}: {err}'}")
        (args.out / f"{name}.json").write_text(text(model) + "\n")
        print(f"{name}: {model['nv']} degrees of freedom, {len(model['bodies']) - 1} bodies")


if __name__ == "__main__":
    main()
