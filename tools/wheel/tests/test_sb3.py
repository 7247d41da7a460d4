"""Tests of the vector environments of Stable-Baselines3. They need it, and the program in EVORL_TEST_PROGRAM."""

import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

try:
    import numpy as np
    import stable_baselines3  # noqa: F401
except ImportError as missing:
    raise unittest.SkipTest(f"{missing}; EVORL_BRIDGE_PYTHON names a Python that has Stable-Baselines3")
if "EVORL_TEST_PROGRAM" not in os.environ:
    raise unittest.SkipTest("EVORL_TEST_PROGRAM names no program")
os.environ["EVORL_PROGRAM"] = os.environ["EVORL_TEST_PROGRAM"]

from evorlgpu.sb3 import VecEnv  # noqa: E402


class TestVecEnv(unittest.TestCase):
    def test_steps(self):
        """Ends have the last observation and whether the time limit alone ended the episode."""
        env = VecEnv("CartPole-v1", 5, max_episode_steps=12)
        self.addCleanup(env.close)
        env.seed(3)
        first = env.reset()
        self.assertEqual((first.shape, first.dtype), ((5, 4), np.float32))
        lengths, ends, cut = np.zeros(5, int), 0, 0
        for _ in range(60):
            observations, rewards, dones, infos = env.step(np.ones(5, int))
            self.assertEqual((rewards.dtype, len(infos)), (np.float32, 5))
            lengths += 1
            for i in range(5):
                self.assertEqual("terminal_observation" in infos[i], bool(dones[i]))
                if dones[i]:
                    ends += 1
                    self.assertLessEqual(np.abs(observations[i]).max(), 0.05)
                    self.assertGreater(np.abs(infos[i]["terminal_observation"]).max(), 0.05)
                    self.assertEqual(infos[i]["TimeLimit.truncated"], bool(lengths[i] == 12 and abs(infos[i]["terminal_observation"][2]) < 0.2095))
                    cut += infos[i]["TimeLimit.truncated"]
                    lengths[i] = 0
        self.assertGreater(ends, 20)
        env.seed(3)
        self.assertTrue((env.reset() == first).all())
        self.assertEqual(env.get_attr("render_mode"), [None] * 5)
        self.assertEqual(env.env_is_wrapped(object, [0, 1]), [False, False])


if __name__ == "__main__":
    unittest.main()
