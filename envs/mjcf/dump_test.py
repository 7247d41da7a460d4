"""Tests of dump.py and fields.py. They need MuJoCo: python -m unittest envs/mjcf/dump_test.py"""

import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import mujoco

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import dump  # noqa: E402
import fields  # noqa: E402

# A model with one line for each of what a test puts in: options at line 2, defaults at line 3, and so on.
TEMPLATE = """<mujoco>
  <option {option}/> {top}
  <default> {default} </default>
  <worldbody> {world}
    <body name="link"> {body}
      <joint name="knee" {joint}/>
      <geom name="rod" type="capsule" size="0.1 0.2" {geom}/>
    </body>
    <body name="other" pos="0 0 2">
      <joint name="hip"/>
      <geom type="sphere" size="0.1"/>
    </body>
  </worldbody>
  <tendon> <fixed name="string" {tendon}> <joint joint="knee" coef="1"/> <joint joint="hip" coef="2"/> </fixed> {tendons} </tendon>
  <actuator> {actuator} </actuator>
  <equality> {equality} </equality> {end}
</mujoco>
"""
SLOTS = "option top default world body joint geom tendon tendons actuator equality end".split()
MESH = '<asset><mesh name="wedge" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>'


def describe(text, files=()):
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files:
            (pathlib.Path(folder) / name).write_text(content)
        path = pathlib.Path(folder) / "robot.xml"
        path.write_text(text)
        description = dump.Description(path, "robot")
        return description(), list(description.warnings())


def model(**parts):
    return TEMPLATE.format(**({slot: "" for slot in SLOTS} | parts))


class Fields(unittest.TestCase):
    def test_every_field_is_in_one_list(self):
        probe = mujoco.MjModel.from_xml_string(fields.PROBE)
        of_model = fields.READ, fields.DEFAULT, fields.HARMLESS
        of_option = fields.OPTION_READ, fields.OPTION_DEFAULT, fields.OPTION_PRECISION, fields.OPTION_HARMLESS
        for structure, lists in ((probe, of_model), (probe.opt, of_option)):
            names = fields.of(structure)
            self.assertGreater(len(names), 20)
            for name in names:
                found = sum(name in listed for listed in lists) + (structure is probe and fields.family(name))
                self.assertEqual(found, 1, f"{name} of {type(structure).__name__} is in {found} lists")
            for name in set().union(*lists):
                self.assertIn(name, names, "a list has a field that MuJoCo does not")

    def test_the_default_model_deviates_in_nothing(self):
        self.assertEqual(list(fields.deviations(mujoco.MjModel.from_xml_string(fields.PROBE))), [])
        describe(model())

    def test_a_field_that_is_not_listed_is_refused(self):
        """As a field of a newer MuJoCo is."""
        for name, part, line in (
            ("jnt_margin", {"joint": 'limited="true" range="-1 1" margin="0.1"'}, 6), ("geom_solmix", {"geom": 'solmix="3"'}, 7),
            ("tendon_armature", {"tendon": 'armature="0.1"'}, 14), ("actuator_gear", {"actuator": '<motor joint="knee" gear="2"/>'}, 15),
        ):
            describe(model(**part))
            with mock.patch.object(fields, "READ", fields.READ - {name}), self.assertRaises(dump.Unsupported) as refused:
                describe(model(**part))
            self.assertRegex(str(refused.exception), f"^robot.xml:{line}: <.*{name} is .*not supported")
        with mock.patch.object(fields, "OPTION_READ", fields.OPTION_READ - {"density"}), self.assertRaises(dump.Unsupported) as refused:
            describe(model(option='density="1000"'))
        self.assertRegex(str(refused.exception), "^robot.xml:2: <option>: density is 1000, not 0: not supported")


class Refused(unittest.TestCase):
    CASES = [
        ({"joint": 'stiffness="1 2"'}, '^robot.xml:6: <joint> "knee": jnt_stiffnesspoly is 2 0, not 0 0: not supported'),
        ({"default": '<joint damping="0.1 0.2"/>'}, 'robot.xml:10: <joint> "hip": dof_dampingpoly is 0.2 0'),
        ({"tendon": 'damping="0.1 0.2"'}, '^robot.xml:14: <fixed> "string": tendon_dampingpoly is 0.2 0, not 0 0'),
        ({"default": '<tendon damping="0.1 0.2"/>'}, '^robot.xml:14: <fixed> "string": tendon_dampingpoly is 0.2 0, not 0 0'),
        ({"tendon": 'actuatorfrclimited="true" actuatorfrcrange="-1 1"'}, 'robot.xml:14: <fixed> "string": tendon_actfrclimited is 1'),
        ({"actuator": '<motor name="m" joint="knee" delay="0.01" nsample="5"/>'},
         '^robot.xml:15: <motor> "m": actuator_delay is 0.01, not 0, actuator_history is 5 0'),
        ({"actuator": '<motor name="m" joint="knee" group="1"/>', "option": 'actuatorgroupdisable="1"'},
         "^robot.xml:2: <option>: disableactuator is 2, not 0"),
        ({"actuator": '<general name="m" joint="knee" dyntype="filter" dynprm="0.1"/>'},
         '^robot.xml:15: <general> "m": .*actuator_dyntype is 2'),
        ({"actuator": '<muscle name="m" joint="knee" lengthrange="0 1"/>'}, '^robot.xml:15: <muscle> "m": '),
        ({"actuator": '<damper name="m" joint="knee" kv="1" ctrlrange="0 1"/>'},
         '^robot.xml:15: <damper> "m": its gain or bias is not supported'),
        ({"actuator": '<motor name="m" site="here"/>', "body": '<site name="here"/>'},
         '^robot.xml:15: <motor> "m": its transmission is not supported'),
        ({"actuator": '<motor joint="knee"/>\n<motor joint="hip" nsample="3"/>'}, "^robot.xml:16: <actuator>: actuator_history is 3 0"),
        ({"tendons": '<spatial name="rope" stiffness="1"><site site="a"/><site site="b"/></spatial>',
          "body": '<site name="a"/>', "world": '<site name="b"/>'},
         '^robot.xml:14: <spatial> "rope": spatial tendons are not supported'),
        ({"body": '<geom size="0.1"/> <body name="ball" pos="0 0 1"><joint name="ball" type="ball"/><geom size="0.1"/></body>',
          "actuator": '<motor name="m" joint="ball"/>'},
         '^robot.xml:15: <motor> "m": acts on the joint "ball"; want a hinge or slide joint'),
        ({"equality": '<weld name="tied" body1="link" body2="other"/>'}, '^robot.xml:16: <weld> "tied": not supported; want joint, tendon or connect'),
        ({"option": 'noslip_iterations="3"'}, "^robot.xml:2: <option>: noslip_iterations is 3"),
        ({"option": 'integrator="implicit"'}, "^robot.xml:2: <option>: this integrator is not supported; want Euler, RK4 or implicitfast"),
        ({"option": 'integrator="implicitfast" density="1"'}, "^robot.xml:2: <option>: implicitfast is not supported in a medium"),
        ({"top": '<option><flag refsafe="disable"/></option>'}, '^robot.xml:2: <flag>: refsafe="disable" is not supported'),
        ({"top": '<option><flag override="enable"/></option>'}, '^robot.xml:2: <flag>: override="enable" is not supported'),
        ({"world": '<body name="ghost" mocap="true"/>'}, 'robot.xml:4: <body> "ghost": body_mocapid is 0, not -1'),
        ({"default": '<geom gap="0.1"/>'}, 'robot.xml:7: <geom> "rod": geom_gap is 0.1'),
        ({"geom": 'fluidshape="ellipsoid"'}, 'robot.xml:7: <geom> "rod": geom_fluid is '),
        ({"end": '<contact><pair geom1="rod" geom2="bob"/></contact>', "world": '<geom name="bob" size="1"/>'},
         "^robot.xml:16: npair is 1, not 0: not supported"),
    ]

    def test_refused(self):
        for parts, want in self.CASES:
            with self.subTest(parts), self.assertRaises(dump.Unsupported) as refused:
                describe(model(**parts))
            self.assertRegex(str(refused.exception), want)

    def test_an_included_file_is_named(self):
        with self.assertRaises(dump.Unsupported) as refused:
            part = '<mujoco>\n<worldbody><body>\n<joint name="j" stiffness="1 2"/><geom size="1"/></body></worldbody></mujoco>'
            describe('<mujoco><include file="part.xml"/></mujoco>', [("part.xml", part)])
        self.assertRegex(str(refused.exception), '^part.xml:3: <joint> "j": jnt_stiffnesspoly')

    def test_elements_without_a_name_of_an_included_file(self):
        part = ('<mujoco>\n<worldbody><body>\n<joint/><geom size="1"/>\n<frame><geom size="1" gap="0.1"/></frame>\n'
                '<body>\n<joint stiffness="1 2"/><geom size="1"/></body>\n<geom size="1"/></body></worldbody></mujoco>')
        whole = '<mujoco>\n<worldbody><geom size="1"/><body><geom size="1"/>%s</body></worldbody>\n<include file="part.xml"/></mujoco>'
        with self.assertRaises(dump.Unsupported) as refused:
            describe(whole % "", [("part.xml", part)])
        text = str(refused.exception)
        self.assertRegex(text, "(?m)^part.xml:4: <geom>: geom_gap is 0.1")
        self.assertRegex(text, "(?m)^part.xml:6: <joint>: jnt_stiffnesspoly")
        with self.assertRaises(dump.Unsupported) as refused:
            describe(whole % '<replicate count="2" offset="3 0 0"><body><geom size="1"/></body></replicate>', [("part.xml", part)])
        self.assertRegex(str(refused.exception), "(?m)^robot.xml: <geom>: geom_gap is 0.1")  # bodies are not those of the files

    def test_all_refusals_are_reported(self):
        with self.assertRaises(dump.Unsupported) as refused:
            describe(model(option='noslip_iterations="3"', joint='stiffness="1 2"', actuator='<muscle name="m" joint="knee" lengthrange="0 1"/>',
                           equality='<weld body1="link" body2="other"/>', body='<body name="b"><joint type="ball" stiffness="1 2"/><geom size="0.1"/></body>'))
        lines = str(refused.exception).split("\n")
        for line in (2, 5, 6, 15, 16):
            self.assertTrue(any(text.startswith(f"robot.xml:{line}: ") for text in lines), (line, lines))
        self.assertEqual(refused.exception.described["nv"], 5)  # the reader finds what else it refuses of that


class Accepted(unittest.TestCase):
    def test_what_has_no_effect(self):
        for parts in (
            {"end": '<keyframe><key qpos="1 1"/></keyframe>'},
            {"top": '<option><flag contact="enable" energy="enable" sensor="disable" warmstart="disable"/></option>'},
            {"top": MESH, "geom": 'mass="1"/><geom type="mesh" mesh="wedge" contype="0" conaffinity="0" condim="6"'},
            {"body": '<geom type="ellipsoid" size="1 2 3" contype="0" conaffinity="0" gap="0.1"/>'},
            {"end": '<sensor><jointpos joint="knee"/></sensor>'},
            {"tendons": '<spatial><site site="a"/><site site="b"/></spatial>',
             "body": '<site name="a"/>', "world": '<site name="b"/>'},
            {"joint": 'actuatorfrcrange="-1 1" actuatorfrclimited="false"'},
        ):
            with self.subTest(parts):
                describe(model(**parts))

    def test_general_that_is_a_motor(self):
        motor, _ = describe(model(actuator='<motor name="m" joint="knee" gear="3" ctrllimited="true" ctrlrange="-1 1"/>'))
        general, _ = describe(model(actuator='<general name="m" joint="knee" gear="3" ctrllimited="true" ctrlrange="-1 1"/>'))
        self.assertEqual(motor, general)

    def test_what_mujoco_saves(self):
        for name, path in dump.gymnasium_models().items():
            with tempfile.TemporaryDirectory() as folder:
                saved = pathlib.Path(folder) / path.name
                mujoco.mj_saveLastXML(str(saved), mujoco.MjModel.from_xml_path(str(path)))
                before, after = dump.Description(path, name)(), dump.Description(saved, name)()
            self.assertEqual(before["nv"], after["nv"])
            for one, other in zip(before["bodies"], after["bodies"]):
                self.assertEqual([j["name"] for j in one["joints"]], [j["name"] for j in other["joints"]])

    def test_precision_is_warned_of(self):
        for option, want in (('iterations="4"', "iterations is 4, not 100"), ('solver="PGS"', "solver is 0, not 2"),
                             ('ls_iterations="2"', "ls_iterations is 2, not 50"), ('tolerance="1e-4"', "tolerance is 0.0001")):
            _, warnings = describe(model(option=option))
            self.assertEqual(len(warnings), 1)
            self.assertRegex(warnings[0], "^robot.xml:2: <option>: " + want)

    def test_flags_are_carried_out(self):
        parts = {"joint": 'limited="true" range="-1 1" stiffness="1" damping="2"', "equality": '<joint joint1="knee"/>',
                 "tendon": 'limited="true" range="-1 1" stiffness="3" damping="4"',
                 "actuator": '<motor joint="knee" ctrllimited="true" ctrlrange="-1 1"/>'}
        flag = lambda name: describe(model(top=f'<option><flag {name}="disable"/></option>', **parts))[0]
        joint = lambda model: model["bodies"][1]["joints"][0]
        self.assertFalse(joint(flag("limit"))["limited"])
        self.assertFalse(flag("limit")["tendons"][0]["limited"])
        acts = lambda part: (part["stiffness"], part["damping"])
        for name, of_joint, of_tendon in (("spring", (0, 2), (0, 4)), ("damper", (1, 0), (3, 0)), ("limit", (1, 2), (3, 4))):
            self.assertEqual((acts(joint(flag(name))), acts(flag(name)["tendons"][0])), (of_joint, of_tendon))
        self.assertEqual(flag("gravity")["gravity"], [0, 0, 0])
        self.assertEqual((flag("contact")["bodies"][1]["geoms"][0]["contype"], flag("contact")["equalities"] == []), (0, False))
        self.assertEqual(flag("equality")["equalities"], [])
        self.assertFalse(flag("clampctrl")["actuators"][0]["limited"])
        self.assertFalse(flag("eulerdamp")["eulerdamp"])
        self.assertFalse(flag("multiccd")["multiccd"])
        none = flag("constraint")
        self.assertEqual((none["equalities"], joint(none)["limited"]), ([], False))
        self.assertEqual(none["bodies"][1]["geoms"][0]["contype"], 0)


class Command(unittest.TestCase):
    def run_on(self, path, *more):
        with tempfile.TemporaryDirectory() as folder:
            return subprocess.run([sys.executable, dump.__file__, "--out", folder, str(path), *more], capture_output=True, text=True)

    def test_degrees_of_freedom(self):
        with tempfile.TemporaryDirectory() as folder:
            robot = pathlib.Path(folder) / "robot.xml"
            robot.write_text('<mujoco><worldbody><body><freejoint/><geom size="1"/></body>'
                             '<replicate count="30" offset="9 0 0"><body><joint/><joint/><geom size="1"/></body></replicate></worldbody></mujoco>')
            self.assertEqual(self.run_on(robot, "--dofs", "66").returncode, 0)
            done = self.run_on(robot, "--dofs", "65")
            self.assertEqual((done.returncode, done.stderr), (1, f"dump.py: {robot}: 66 degrees of freedom; want at most 65\n"))

    def test_bad_files(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for name, content, want in (
                ("missing.xml", None, "missing.xml: no such file"), ("text.xml", "no xml", "text.xml:1: no XML"),
                ("empty.xml", "", "empty.xml:1: no XML"), ("other.xml", "<nonsense/>", "other.xml: "),
                ("include.xml", '<mujoco><include file="x.xml"/></mujoco>', "include.xml:1: "),
            ):
                if content is not None:
                    (folder / name).write_text(content)
                done = self.run_on(folder / name)
                self.assertEqual(done.returncode, 1, name)
                self.assertRegex(done.stderr, "^dump.py: ")
                self.assertIn(want, done.stderr)
                self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main()
