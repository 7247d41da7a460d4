"""Tests of the vector environments. They need Gymnasium, and the program in EVORL_TEST_PROGRAM."""

import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

try:
    import gymnasium
    import numpy as np
    from gymnasium.vector import AutoresetMode
except ImportError as missing:
    raise unittest.SkipTest(f"{missing}; EVORL_BRIDGE_PYTHON names a Python that has Gymnasium")
if "EVORL_TEST_PROGRAM" not in os.environ:
    raise unittest.SkipTest("EVORL_TEST_PROGRAM names no program")
os.environ["EVORL_PROGRAM"] = os.environ["EVORL_TEST_PROGRAM"]

import evorlgpu  # noqa: E402
from evorlgpu.gymnasium import VectorEnv  # noqa: E402


class TestVectorEnv(unittest.TestCase):
    def make(self, *arguments, **options):
        env = VectorEnv(*arguments, **options)
        self.addCleanup(env.close)
        return env

    def test_is_gymnasiums_cartpole(self):
        """Every step is that of Gymnasium's CartPole from the state before, in both modes, with its spaces."""
        for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
            with self.subTest(mode):
                n = 4
                envs, one = self.make("CartPole-v1", n, mode), gymnasium.make("CartPole-v1").unwrapped
                self.assertEqual(envs.single_action_space, one.action_space)
                self.assertEqual(envs.single_observation_space.shape, one.observation_space.shape)
                self.assertEqual(envs.metadata["autoreset_mode"], mode)
                self.assertEqual(envs.facts["time_limit"], 500)
                rng = np.random.default_rng(1)
                before, _ = envs.reset(seed=5)
                begins, ended = np.zeros(n, bool), 0
                for _ in range(80):
                    actions = rng.integers(2, size=n)
                    now, rewards, terminated, truncated, infos = envs.step(actions)
                    for i in range(n):
                        if begins[i]:
                            self.assertEqual((rewards[i], terminated[i], truncated[i]), (0, False, False))
                            self.assertLessEqual(np.abs(now[i]).max(), 0.05)
                            continue
                        one.reset()
                        one.state = before[i].astype(np.float64)
                        want, reward, over, _, _ = one.step(int(actions[i]))
                        got = infos["final_obs"][i] if terminated[i] and mode == AutoresetMode.SAME_STEP else now[i]
                        np.testing.assert_allclose(got, want, atol=1e-5)
                        self.assertEqual((rewards[i], terminated[i], truncated[i]), (reward, over, False))
                    if mode == AutoresetMode.NEXT_STEP:
                        begins = terminated
                        self.assertEqual(infos, {})
                    elif terminated.any():
                        np.testing.assert_array_equal(infos["_final_obs"], terminated)
                    ended += terminated.sum()
                    before = now
                self.assertGreater(ended, 5)

    def test_seeds(self):
        envs = self.make("CartPole-v1", 3)
        first, _ = envs.reset(seed=1)
        second, _ = envs.reset()
        self.assertFalse((first == second).any())
        self.assertTrue((first == envs.reset(seed=1)[0]).all())
        self.assertTrue((second == envs.reset()[0]).all())
        self.assertEqual(len(np.unique(first)), first.size)

    def test_continuous_with_wrappers(self):
        envs = gymnasium.make_vec("evorlgpu.gymnasium:evorl/Environment-v0", num_envs=3, env="Pendulum-v1", max_episode_steps=7)
        self.addCleanup(envs.close)
        self.assertEqual(envs.single_action_space, gymnasium.make("Pendulum-v1").action_space)
        envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(gymnasium.wrappers.vector.NormalizeObservation(envs))
        envs.reset(seed=1)
        lengths = []
        for _ in range(17):
            _, _, terminated, truncated, infos = envs.step(envs.action_space.sample())
            self.assertFalse(terminated.any())
            if truncated.any():
                lengths.extend(infos["episode"]["l"])
        self.assertEqual(lengths, [7] * 6)

    def test_images(self):
        envs = self.make("MinAtar-Breakout-v1", 2)
        observations, _ = envs.reset(seed=1)
        self.assertEqual(observations.shape, (2, *envs.single_observation_space.shape))
        self.assertTrue(envs.observation_space.contains(envs.step(envs.action_space.sample())[0]))

    def test_settings(self):
        envs = self.make("Pendulum-v1", 2, settings={"environment.action_repeat": 2, "environment.time_limit": 6})
        self.assertEqual(envs.facts["action_repeat"], 2)
        envs.reset(seed=1)
        ends = [bool(envs.step(np.zeros((2, 1)))[3].all()) for _ in range(3)]
        self.assertEqual(ends, [False, False, True])

    def test_refuses(self):
        envs = self.make("CartPole-v1", 2)
        with self.assertRaisesRegex(ValueError, "before the first reset"):
            envs.step(np.zeros(2, int))
        envs.reset(seed=1)
        for wrong in (np.zeros(3, int), np.zeros(2), np.array([0, 2]), np.array([0, -1]), np.array([0, 1 << 32])):
            with self.assertRaisesRegex(ValueError, "want"):
                envs.step(wrong)
        envs.step(np.zeros(2, int))
        with self.assertRaisesRegex(ValueError, "one number"):
            envs.reset(seed=[1, 2])
        with self.assertRaisesRegex(ValueError, "reset_mask"):
            envs.reset(options={"reset_mask": np.ones(2, bool)})
        for arguments, options, text in (
            (("CartPole-v1",), {"autoreset_mode": AutoresetMode.DISABLED}, "NEXT_STEP or SAME_STEP"), (("CartPole-v1",), {"render_mode": "human"}, "None"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                VectorEnv(*arguments, **options)
        for arguments, text in ((("CartPoll-v1",), "CartPole-v1"), (("CartPole-v1", 0), "want 1 to"), (("PongDuel-v0",), "2 agents")):
            with self.assertRaisesRegex(evorlgpu.EvorlError, text):
                VectorEnv(*arguments)
        envs.close()
        with self.assertRaises(gymnasium.error.ClosedEnvironmentError):
            envs.step(np.zeros(2, int))

    def test_interrupted(self):
        """Environments that are interrupted while they wait for an answer are closed: the next step does not take the answer of that one."""
        for at in (1, 2):  # the head of the answer and the rest
            with self.subTest(at):
                envs = self.make("CartPole-v1", 2)
                envs.reset(seed=1)
                pipe, reads = envs._child.stdout, []

                class Interrupted:
                    def readinto(self, into):
                        reads.append(len(into))
                        if len(reads) == at:
                            raise KeyboardInterrupt
                        return pipe.readinto(into)

                    def close(self):
                        pipe.close()

                envs._child.stdout = Interrupted()
                with self.assertRaises(KeyboardInterrupt):
                    envs.step(np.zeros(2, int))
                with self.assertRaises(gymnasium.error.ClosedEnvironmentError):
                    envs.step(np.ones(2, int))
                self.assertTrue(envs.closed)

    def test_process_that_ends(self):
        envs = self.make("CartPole-v1", 2)
        envs.reset(seed=1)
        envs._child.kill()
        with self.assertRaises(evorlgpu.EvorlError):
            for _ in range(3):
                envs.step(np.zeros(2, int))


if __name__ == "__main__":
    unittest.main()
