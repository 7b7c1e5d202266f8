"""``MaskableVecEnv``: a Stable-Baselines3 ``VecEnv`` with one sub-environment per agent."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as error:
    raise ImportError('MaskableVecEnv needs Stable-Baselines3: pip install "territorial-env[sb3]"') from error

from territorial.envs.vector import make_vec
from territorial.files.arrays import WritableArrays


class MaskableVecEnv(WritableArrays, VecEnv):
    """E games of A agents as E * A environments for Stable-Baselines3, and with masks for ``MaskablePPO``.

    Environment k * A + i is agent i of game k. All agents of a game begin and end together: eliminated
    agents observe, hold and get nothing until their game ends. Observations are one array, so "MlpPolicy"
    takes "features". Those of the forms "packed" and "pairs" are a dict for "MultiInputPolicy".

    Infos are empty but at the end of a game: ``terminal_observation``, ``TimeLimit.truncated``, ``place``,
    ``land``, ``illegal`` and ``tick`` of the game that ended.

    Args:
        num_games: E.
        keywords: those of :func:`~territorial.make_vec` but ``autoreset``, ``agent_death`` and
            ``action_mask``, which are fixed; ``obs`` is "features" unless given.
            Few bots and ``end_when="no_agents"`` waste least on eliminated agents.

    """

    render_mode: str | None = None

    def __init__(self, num_games: int, **keywords: Any) -> None:
        fixed = {"autoreset": "same_step", "agent_death": "keep", "action_mask": "none"}
        self.vec = make_vec(num_games, **({"obs": "features"} | keywords | fixed))
        self.vec.check_room(arrays_per_agent=bool(self.vec.shared_keys))  # as boards of its own
        spaces = self.vec.single_observation_space, self.vec.single_action_space
        super().__init__(self.vec.num_envs * self.vec.num_agents, *spaces)
        self._actions: npt.NDArray[Any] = np.zeros(0)

    def reset(self) -> Any:
        """Begin new games; after ``seed()`` they follow from that seed."""
        shown, _ = self.vec.reset(self._seeds[0])
        self._reset_seeds()
        self._reset_options()
        return self.vec.per_agent(shown)

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Note ``actions``, one an agent, for ``step_wait``."""
        array = np.asarray(actions)
        self._actions = array.reshape(self.vec.num_envs, self.vec.num_agents, *array.shape[1:])

    def step_wait(self) -> tuple[Any, npt.NDArray[np.float32], npt.NDArray[np.bool_], list[dict[str, Any]]]:
        """Play them; return observations, rewards, dones and infos."""
        shown, rewards, ends, cuts, info = self.vec.step(self._actions)
        dones = (ends | cuts).ravel()
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        if info["final_obs"] is not None:
            last = self.vec.per_agent(info["final_obs"])
            final = {name: info["final_info"][name].ravel() for name in ("place", "land", "illegal", "tick")}
            for row, i in enumerate(np.flatnonzero(dones)):
                infos[i] = {name: array[row].item() for name, array in final.items()}
                infos[i]["terminal_observation"] = _row(last, row)
                infos[i]["TimeLimit.truncated"] = bool(cuts.ravel()[i])
        return self.vec.per_agent(shown), rewards.ravel(), dones, infos

    def action_masks(self) -> npt.NDArray[np.int8]:
        """Return int8 (E * A, M): 1 for every legal action, the masks of two parts end to end."""
        return self.vec.action_masks().reshape(self.num_envs, -1)

    def close(self) -> None:
        """Free the engine's memory outside Python."""
        self.vec.close()

    # ---- what trainers ask of the single environments ------------------------------------------------

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return the attribute, the same of all, for each environment."""
        return [getattr(self, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Raise AttributeError: the environments are rows of arrays."""
        raise AttributeError(f"{attr_name} cannot be set: make a MaskableVecEnv with other keywords")

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Return the mask of each environment for "action_masks"; there is no other method."""
        if method_name != "action_masks":
            raise AttributeError(f"the environments have no method {method_name!r}; they have 'action_masks'")
        masks = self.action_masks()
        return [masks[i] for i in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Return False for each environment."""
        return [False for _ in self._get_indices(indices)]


def _row(rows: Any, i: int) -> Any:
    return {key: array[i] for key, array in rows.items()} if isinstance(rows, dict) else rows[i]
