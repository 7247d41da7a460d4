"""evorl's own environments for Stable-Baselines3, whose vector environments are not Gymnasium's.

    from evorlgpu.sb3 import VecEnv
    from stable_baselines3 import PPO

    PPO("MlpPolicy", VecEnv("CartPole-v1", num_envs=16)).learn(200_000)
"""

from typing import Any, Dict, List, Mapping, Optional, Sequence

import numpy as np
import stable_baselines3.common.vec_env as base
from gymnasium.vector import AutoresetMode

from .gymnasium import VectorEnv

__all__ = ["VecEnv"]


class VecEnv(base.VecEnv):
    """num_envs copies of an environment of evorl, stepped together on the device. The arguments are those of evorlgpu.gymnasium.VectorEnv."""

    def __init__(self, env: str, num_envs: int = 1, max_episode_steps: Optional[int] = None, settings: Optional[Mapping[str, Any]] = None,
                 device: Optional[str] = None):
        self.envs = VectorEnv(env, num_envs, AutoresetMode.SAME_STEP, max_episode_steps, settings, device)
        self.render_mode = None
        self._given: Any = None
        super().__init__(num_envs, self.envs.single_observation_space, self.envs.single_action_space)

    def reset(self) -> Any:
        """Begins an episode in every copy, after seed() the ones of that seed."""
        seed = self._seeds[0]
        self._reset_seeds()
        self._reset_options()
        observations, _ = self.envs.reset(seed=None if seed is None else int(seed))
        self.reset_infos: List[Dict[str, Any]] = [{} for _ in range(self.num_envs)]
        return observations

    def step_async(self, actions: Any) -> None:
        self._given = actions

    def step_wait(self) -> Any:
        observations, rewards, terminated, truncated, more = self.envs.step(self._given)
        infos: List[Dict[str, Any]] = [{} for _ in range(self.num_envs)]
        ended = terminated | truncated
        for i in np.flatnonzero(ended):
            infos[i] = {"terminal_observation": more["final_obs"][i], "TimeLimit.truncated": bool(truncated[i] and not terminated[i])}
        return observations, rewards.astype(np.float32), ended, infos

    def close(self) -> None:
        self.envs.close()

    def _chosen(self, indices: Any) -> Sequence[int]:
        return list(self._get_indices(indices))

    def get_attr(self, attr_name: str, indices: Any = None) -> List[Any]:
        """An attribute of the copies, which share it."""
        return [getattr(self.envs, attr_name) for _ in self._chosen(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise NotImplementedError(f"{attr_name} of copies cannot be set; want settings when they are made")

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> List[Any]:
        raise NotImplementedError(f"copies have no methods, {method_name} among them")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> List[bool]:
        """False: nothing wraps a copy."""
        return [False for _ in self._chosen(indices)]
