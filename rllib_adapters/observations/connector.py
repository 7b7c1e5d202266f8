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

from rllib_adapters.envs.spaces import SHARED
from rllib_adapters.observations.frame_bank import FRAME, FrameBank
from rllib_adapters.observations.lazy_buffer import SharedObservations

__all__ = ["FRAME", "FrameBank", "FramesOnce", "ModuleFrames", "frames_for_learners", "frames_for_runners"]

BOARDS = SHARED[0]
"""The key of the boards in an observation, if it has any."""

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
    def frames(self) -> Mapping[str, npt.NDArray[Any] | Tensor] | FrameBank | None:
        """All distinct frames of this thread's batch: arrays (E, ...), or a bank that has them."""
        held: Mapping[str, npt.NDArray[Any] | Tensor] | FrameBank | None = _held_frames().get(self)
        return held

    @frames.setter
    def frames(self, frames: Mapping[str, npt.NDArray[Any] | Tensor] | FrameBank | None) -> None:
        _held_frames()[self] = frames

    def prepared(self, frames: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Return ``frames`` with what this module makes of them without weights, for others as well."""
        return frames

    def with_frames(self, seen: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Return the rows' arrays with those of the frames, on one device; unchanged if they are whole.

        Of a bank it is the frames of these rows alone, each once, and ``frame`` numbers them from 0.
        """
        if FRAME not in seen:
            return seen
        frames = self.frames
        if frames is None:
            raise RuntimeError(
                "the observations refer to frames that are missing from the batch; the connector "
                "pipeline that made them must contain FramesOnce"
            )
        device = seen[FRAME].device
        if isinstance(frames, FrameBank):
            numbers, frame = np.unique(seen[FRAME].flatten().cpu().numpy(), return_inverse=True)
            taken = {**frames.take(numbers), FRAME: frame.reshape(-1, 1)}
            return {**seen, **{name: torch.from_numpy(part).to(device) for name, part in taken.items()}}
        if not all(isinstance(part, Tensor) and part.device == device for part in frames.values()):
            self.frames = frames = {name: torch.as_tensor(part).to(device) for name, part in frames.items()}
        return {**seen, **frames}


class FramesOnce(ConnectorV2):
    """The connector that stacks every distinct frame once, for runners and for learners.

    It goes before RLlib's own pieces, whose handling of observations it replaces, and needs episodes of
    lists (``episodes_to_numpy=False``), in which the agents of a game share the very arrays of a step. Rows
    get ``frame``, int64 (1,), the number of their frame, and keep what is their own; the frames go to
    ``frames`` of all modules that are ``ModuleFrames``. TypeError if another module acts for an agent that
    sees boards. Rows of agents that see none, as those on pairs, stay as they are.

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
        own = list(
            self.single_agent_episode_iterator(episodes, agents_that_stepped_only=not self._is_for_learner)
        )
        bank, has_records = FrameBank(), any(map(_is_recorded, own))
        for episode in filter(_is_recorded, own):
            bank.add_record(episode.observations.record)
        readers = set()
        for episode in own:
            if _shows_boards(episode):
                readers.add(episode.module_id)
                rows, count, as_columns = *self._rows(bank, episode), has_records
            else:
                rows, count, as_columns = *self._plain_rows(episode), self._is_for_learner
            if as_columns and count and not _is_recorded(episode):  # RLlib batches rows or columns, not both
                rows = _columns(rows)
                _stack_actions(episode)
            self.add_n_batch_items(batch, Columns.OBS, rows, count, episode)
        frames = bank if has_records else bank.stacked()
        rl_module.foreach_module(
            lambda module_id, module: _hand_over(module_id, module, frames, module_id in readers)
        )
        return batch

    def _rows(self, bank: FrameBank, episode: Any) -> tuple[Any, int]:
        """Return an episode's rows, in a list or as columns, and how many there are."""
        if not self._is_for_learner:
            return [bank.row_of(episode.get_observations(-1))], 1
        count = len(episode)
        if _is_recorded(episode):
            return bank.recorded_rows(episode.observations, count), count
        return [bank.row_of(seen) for seen in _observations_of(episode, slice(0, count))], count

    def _plain_rows(self, episode: Any) -> tuple[Any, int]:
        """Return the rows of an episode without boards, in a list or as columns, and how many there are."""
        if not self._is_for_learner:
            return [episode.get_observations(-1)], 1
        return episode.get_observations(slice(0, len(episode))), len(episode)


def _columns(rows: Any) -> Any:
    """Return rows, of which there are some, as columns."""
    return (
        {name: np.stack([row[name] for row in rows]) for name in rows[0]} if isinstance(rows, list) else rows
    )


def _shows_boards(episode: Any) -> bool:
    """Return whether an episode's agent sees boards, and not pairs alone."""
    return _is_recorded(episode) or BOARDS in episode.get_observations(-1)


def _stack_actions(episode: Any) -> None:
    """Make arrays of an episode's actions and of what its module gave, as they are in recorded ones.

    RLlib takes episodes apart to deal them to several learners; pieces have lists. It batches arrays or
    lists, not both.
    """
    for buffer in (episode.actions, *episode.extra_model_outputs.values()):
        buffer.finalize()


def _is_recorded(episode: Any) -> bool:
    seen = episode.observations
    return isinstance(seen, SharedObservations) and not seen.is_made


def frames_for_runners(env: Any, spaces: Any, device: Any) -> FramesOnce:
    """Return the connector of runners; RLlib calls it."""
    return FramesOnce()


def frames_for_learners(observation_space: Any, action_space: Any) -> FramesOnce:
    """Return the connector of learners; RLlib calls it."""
    return FramesOnce(as_learner_connector=True)


def _observations_of(episode: Any, steps: slice) -> list[Any]:
    if episode.observations.finalized:
        raise ValueError(
            f"the episode of {episode.agent_id!r} holds stacked arrays, a copy of the frames per agent: "
            "set config.env_runners(episodes_to_numpy=False)"
        )
    observations: list[Any] = episode.get_observations(steps)
    return observations


def _hand_over(
    module_id: str, module: Any, frames: Mapping[str, npt.NDArray[Any]] | FrameBank, has_rows: bool
) -> None:
    """Give a module the frames, if it can read them; TypeError if it cannot and has rows that need them."""
    unwrapped = module.unwrapped()
    if isinstance(unwrapped, ModuleFrames):
        unwrapped.frames = frames
    elif has_rows:
        raise TypeError(
            f"the module {module_id!r} is a {type(unwrapped).__name__}, which cannot read "
            "shared frames; it must be a BoardModule, a FrozenPool or another ModuleFrames"
        )
