"""Frames once: what all agents of a game see is handed to the modules once and not in every row."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import torch
from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.core.columns import Columns
from torch import Tensor

from rllib_adapters.spaces import SHARED

FRAME = "frame"
"""The key of an observation that says which of the frames is its own, in the place of ``SHARED``."""


_local = threading.local()


def _held_frames() -> WeakKeyDictionary[Any, Any]:
    """Return the frames of this thread by module."""
    if not hasattr(_local, "frames"):
        _local.frames = WeakKeyDictionary()
    held: WeakKeyDictionary[Any, Any] = _local.frames
    return held


class ModuleFrames:
    """What a module needs to read rows that share frames.

    They are no part of the module's state, and every thread has its own: one may make batches while another
    learns from the last one.
    """

    @property
    def frames(self) -> Mapping[str, npt.NDArray[Any] | Tensor] | None:
        """The arrays of all distinct frames of this thread's batch, (E, ...) each; see ``FramesOnce``."""
        held: Mapping[str, npt.NDArray[Any] | Tensor] | None = _held_frames().get(self)
        return held

    @frames.setter
    def frames(self, frames: Mapping[str, npt.NDArray[Any] | Tensor] | None) -> None:
        _held_frames()[self] = frames

    def with_frames(self, seen: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Return the row's arrays with those of the frames, on one device; unchanged if they are whole."""
        if FRAME not in seen:
            return seen
        if self.frames is None:
            raise RuntimeError(
                "the observations name frames that nobody brought: FramesOnce must be in the connector "
                "pipeline that made them"
            )
        device = seen[FRAME].device
        if not all(isinstance(part, Tensor) and part.device == device for part in self.frames.values()):
            self.frames = {name: torch.as_tensor(part).to(device) for name, part in self.frames.items()}
        return {**seen, **self.frames}


class FramesOnce(ConnectorV2):
    """The connector that stacks every distinct frame once, for runners and for learners.

    It goes before RLlib's own pieces, whose handling of observations it replaces, and needs episodes of
    lists (``episodes_to_numpy=False``), in which the agents of a game share the very arrays of a step. Rows
    get ``frame``, int64 (1,), the number of their frame, and keep what is their own; the frames go to
    ``frames`` of all modules that are ``ModuleFrames``. Only agents whose modules can read that are put
    into the batch.

    Args:
        as_learner_connector: True takes all steps of the episodes, False the last of those who act next.

    """

    def __init__(
        self,
        input_observation_space: Any = None,
        input_action_space: Any = None,
        *,
        as_learner_connector: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_observation_space, input_action_space, **kwargs)
        self._is_for_learner = as_learner_connector

    def __call__(
        self, *, rl_module: Any, batch: dict[str, Any], episodes: list[Any], **_: Any
    ) -> dict[str, Any]:
        """Return ``batch`` with the observations in it."""
        bank = _Bank()
        for episode in self.single_agent_episode_iterator(
            episodes, agents_that_stepped_only=not self._is_for_learner
        ):
            if self._is_for_learner:
                steps = _observations_of(episode, slice(0, len(episode)))
            else:
                steps = [episode.get_observations(-1)]
            rows = [bank.row_of(seen) for seen in steps]
            self.add_n_batch_items(batch, Columns.OBS, rows, len(rows), episode)
        frames = bank.stacked()
        rl_module.foreach_module(lambda module_id, module: _hand_over(module_id, module, frames))
        return batch


def frames_for_runners(env: Any, spaces: Any, device: Any) -> FramesOnce:
    """Return the connector of runners; RLlib calls it."""
    return FramesOnce()


def frames_for_learners(observation_space: Any, action_space: Any) -> FramesOnce:
    """Return the connector of learners; RLlib calls it."""
    return FramesOnce(as_learner_connector=True)


class _Bank:
    """The distinct frames met so far, told apart by the identity of their arrays."""

    def __init__(self) -> None:
        self._numbers: dict[int, npt.NDArray[np.int64]] = {}
        self._frames: list[Mapping[str, npt.NDArray[Any]]] = []

    def row_of(self, seen: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
        """Return what is an agent's own of its observation, and the number of its frame."""
        number = self._numbers.get(id(seen["observations"]))
        if number is None:
            number = self._numbers[id(seen["observations"])] = np.array([len(self._frames)])
            self._frames.append(seen)  # which keeps the array alive, so that no other gets its identity
        return {FRAME: number, **{name: part for name, part in seen.items() if name not in SHARED}}

    def stacked(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays of all frames, (E, ...) each."""
        return {name: np.stack([seen[name] for seen in self._frames]) for name in SHARED if self._frames}


def _observations_of(episode: Any, steps: slice) -> list[Any]:
    if episode.is_numpy:
        raise ValueError(
            f"the episode of {episode.agent_id!r} holds stacked arrays, a copy of the frames per agent: "
            "set config.env_runners(episodes_to_numpy=False)"
        )
    observations: list[Any] = episode.get_observations(steps)
    return observations


def _hand_over(module_id: str, module: Any, frames: Mapping[str, npt.NDArray[Any]]) -> None:
    unwrapped = module.unwrapped()
    if not isinstance(unwrapped, ModuleFrames):
        raise TypeError(
            f"the module {module_id!r} is a {type(unwrapped).__name__} and cannot read frames handed over "
            "once; it must be a BoardModule, a FrozenPool or another ModuleFrames"
        )
    unwrapped.frames = frames
