"""Which fields of a compiled MuJoCo model the generator understands.

Every field of mjModel and mjOption is in one of the lists below. A field that is in none, of a newer MuJoCo, is treated
as one of DEFAULT: a model in which it differs from MuJoCo's default is refused.
"""

import mujoco
import numpy as np

# Handed on by dump.py, and part of the dynamics or of what a viewer draws.
READ = set("""
    nq nv nu nbody njnt ngeom nsite nexclude neq ntendon nwrap nactuator opt stat qpos0 qpos_spring body_parentid
    body_weldid body_gravcomp body_pos body_quat body_ipos body_iquat body_mass body_inertia body_invweight0 jnt_type jnt_qposadr
    jnt_dofadr jnt_bodyid jnt_limited jnt_actfrclimited jnt_actfrcrange jnt_solref jnt_solimp jnt_pos jnt_axis
    jnt_stiffness jnt_range jnt_margin dof_armature dof_damping dof_frictionloss
    dof_solref dof_solimp dof_invweight0 dof_jntid tendon_frictionloss tendon_solref_fri tendon_solimp_fri geom_type geom_contype
    geom_conaffinity geom_condim geom_bodyid geom_priority geom_solmix geom_solref geom_solimp geom_size geom_pos
    geom_quat geom_friction geom_margin geom_rgba site_bodyid site_pos exclude_signature eq_type eq_objtype eq_obj1id eq_obj2id
    eq_active0 eq_solref eq_solimp eq_data tendon_adr tendon_num tendon_limited tendon_solref_lim tendon_solimp_lim
    tendon_range tendon_margin tendon_stiffness tendon_damping tendon_armature tendon_lengthspring tendon_length0
    tendon_invweight0 wrap_type wrap_objid wrap_prm actuator_trntype actuator_gaintype actuator_biastype
    actuator_trnid actuator_gainprm actuator_biasprm actuator_ctrllimited actuator_forcelimited actuator_ctrlrange
    actuator_forcerange actuator_gear
""".split())

# Not handed on: refused where they differ from the default of their element.
DEFAULT = set("""
    na nmocap nflex npair nplugin nhistory flg_surfacevel flg_adhesion body_mocapid body_plugin jnt_actgravcomp jnt_stiffnesspoly dof_dampingpoly geom_gap geom_surfacevel
    geom_adhesion geom_fluid geom_plugin tendon_stiffnesspoly tendon_dampingpoly
    tendon_actfrclimited actuator_dyntype actuator_ctrlnum actuator_ctrlspec actuator_outnum actuator_actnum
    actuator_actearly actuator_history actuator_delay actuator_armature actuator_damping actuator_dampingpoly
    actuator_plugin
""".split())

# Without influence on the dynamics as long as DEFAULT holds: computed from other fields, sizes of arrays, names, what is
# only drawn, what sensors measure.
HARMLESS = set("""
    nout nbvh nbvhstatic nbvhdynamic noct ntree nM nB nC nD ncam nlight nefm0dof nefm0L nJfe nJfv nhfield
    nhfielddata ntex ntexdata nmat nJten nsensor nnumeric nnumericdata ntext ntextdata ntuple ntupledata nkey
    npluginattr flg_gravcomp nuser_body nuser_jnt nuser_geom nuser_site nuser_cam nuser_tendon nuser_actuator nuser_sensor nnames
    npaths nnames_map nJmom ngravcomp nemax njmax nconmax npolygonmax nuserdata nsensordata npluginstate narena
    nbuffer vis names names_map paths signature B_rownnz B_rowadr B_colind M_rownnz M_rowadr M_colind D_rownnz
    D_rowadr D_diag D_colind mapM2D mapD2M mapM2M efm0_dofid efm0_L_rownnz efm0_L_rowadr efm0_L_colind efm0_L
    body_rootid body_jntnum body_jntadr body_dofnum body_dofadr body_treeid body_geomnum body_geomadr body_simple
    body_sameframe body_subtreemass body_margin body_user body_contype body_conaffinity body_bvhadr body_bvhnum
    jnt_actuatorid jnt_group jnt_user dof_bodyid dof_parentid dof_treeid dof_Madr dof_simplenum dof_M0 dof_length tree_bodyadr tree_bodynum tree_dofadr tree_dofnum tree_sleep_policy geom_dataid
    geom_matid geom_group geom_sameframe geom_aabb geom_rbound geom_user site_type site_matid site_group
    site_sameframe site_size site_quat site_user site_rgba tendon_matid tendon_actuatorid tendon_group
    tendon_treenum tendon_treeid ten_J_rownnz ten_J_rowadr ten_J_colind tendon_width tendon_actfrcrange tendon_user tendon_rgba actuator_ctrladr actuator_outadr actuator_actadr
    actuator_cranklength actuator_dynprm actuator_actlimited actuator_actrange actuator_group actuator_user
    actuator_historyadr actuator_acc0 actuator_length0 actuator_lengthrange
""".split())

# Prefixes of fields of what a model must not have (a count of DEFAULT is not zero then), or of what the dynamics have
# nothing to do with.
FAMILIES = ("bvh_", "cam_", "flex", "hfield_", "key_", "light_", "mat_", "mesh_", "name_", "nflex", "nmesh", "nskin",
            "numeric_", "oct_", "pair_", "plugin", "sensor_", "skin_", "tex_", "text_", "tuple_")

OPTION_READ = set("impratio cone timestep gravity wind density viscosity integrator disableflags enableflags".split())
OPTION_DEFAULT = set("noslip_iterations disableactuator".split())
# How far MuJoCo solves what is solved to the end here. A model that differs from the default is accepted with a warning.
OPTION_PRECISION = set("solver iterations tolerance ls_iterations ls_tolerance ccd_iterations ccd_tolerance".split())
# For sensors, or without effect as long as DEFAULT and the flags hold.
OPTION_HARMLESS = set("""
    jacobian magnetic noslip_tolerance sleep_tolerance o_margin o_solref o_solimp o_friction sdf_initpoints sdf_iterations
""".split())

# Flags that may differ from their default: by name of the flag, as in the names of mjtDisableBit and mjtEnableBit. dump.py
# carries out those up to MULTICCD; the others do not change the motion.
DISABLE = set("""
    CONSTRAINT EQUALITY LIMIT CONTACT SPRING DAMPER GRAVITY CLAMPCTRL EULERDAMP MULTICCD FRICTIONLOSS WARMSTART
    SENSOR MIDPHASE AUTORESET NATIVECCD ISLAND
""".split())
ENABLE = set("ENERGY FWDINV INVDISCRETE".split())

# One element of each kind, all at their defaults.
PROBE = """<mujoco>
  <worldbody><body><joint name="j"/><geom size="1"/><site/></body></worldbody>
  <tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon>
  <equality><joint joint1="j"/></equality>
  <actuator><motor joint="j"/></actuator>
</mujoco>"""

# Kinds of elements by the prefixes of their fields.
KINDS = {"body": "body", "jnt": "joint", "dof": "joint", "geom": "geom", "site": "site", "tendon": "tendon",
         "eq": "equality", "actuator": "actuator"}
COUNTS = {"body": "nbody", "jnt": "njnt", "dof": "nv", "geom": "ngeom", "site": "nsite", "tendon": "ntendon",
          "eq": "neq", "actuator": "nactuator"}


def of(structure):
    """The names of a structure's fields: what is neither private nor a method."""
    return [name for name in dir(structure) if not name.startswith("_") and not callable(getattr(structure, name))]


def family(name):
    return name.startswith(FAMILIES) and name not in DEFAULT


def deviations(model):
    """Fields that dump.py does not hand on and that differ from MuJoCo's default.

    Yields (kind of element, its number or None, field, value, default).
    """
    probe = mujoco.MjModel.from_xml_string(PROBE)
    for name in of(model.opt):
        value, default = getattr(model.opt, name), getattr(probe.opt, name)
        if name not in OPTION_READ | OPTION_PRECISION | OPTION_HARMLESS and np.any(value != default):
            yield "option", None, name, value, default
    for name in of(model):
        if name in READ | HARMLESS or family(name):
            continue
        value, default = getattr(model, name), getattr(probe, name)
        prefix = name.split("_")[0]
        if prefix in COUNTS and np.ndim(value) > 0 and len(value) == getattr(model, COUNTS[prefix]):
            for i, row in enumerate(value):
                if not idle(model, name, i) and np.any(row != default[-1]):
                    yield KINDS[prefix], element(model, name, i), name, row, default[-1]
        elif np.shape(value) != np.shape(default) or np.any(value != default):
            yield "mujoco", None, name, value, default


def element(model, name, i):
    """The number of the element that row i of a field belongs to."""
    return int(model.dof_jntid[i]) if name.startswith("dof_") else i


def idle(model, name, i):
    """Whether row i of a field cannot matter: the world's body, and contacts of geoms that touch nothing."""
    if name.startswith("body_"):
        return i == 0
    return name.startswith("geom_") and name != "geom_fluid" and not touches(model, i)


def touches(model, geom):
    """Whether a geom may touch another by its masks."""
    disabled = model.opt.disableflags & (mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    return bool(model.geom_contype[geom] or model.geom_conaffinity[geom]) and not disabled


def precision(model):
    """Options of the solver's precision that differ from the default: (name, value, default)."""
    probe = mujoco.MjModel.from_xml_string(PROBE)
    pairs = [(name, getattr(model.opt, name), getattr(probe.opt, name)) for name in sorted(OPTION_PRECISION)]
    return [(name, value, default) for name, value, default in pairs if value != default]


def flags(model):
    """The flags that differ from their default: (names of those disabled, names of those enabled)."""
    def names(bits, kind, prefix):
        known = {name.removeprefix(prefix): int(bit) for name, bit in kind.__members__.items() if name.startswith(prefix)}
        found = {name for name, bit in known.items() if bits & bit}
        rest = bits & ~sum(known.values())
        return found | ({f"bits {rest:#x}"} if rest else set())
    return names(model.opt.disableflags, mujoco.mjtDisableBit, "mjDSBL_"), names(model.opt.enableflags, mujoco.mjtEnableBit, "mjENBL_")
