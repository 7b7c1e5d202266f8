"""``SharedFrames``: hands the board of a game to modules only once."""

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

from rllib_adapters.envs.agent_interface import SHARED
from rllib_adapters.envs.single import OPPONENT
from rllib_adapters.league.pool import PLAYER, PoolModule
from rllib_adapters.observations.log import ObservationLog, SharedObservations
from territorial.typing import Arrays


class _Thread(threading.local):
    """The frames of this thread by module."""

    def __init__(self) -> None:
        self.frames: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


_this_thread = _Thread()


class ModuleFrames:
    """Gives a module the frames that its rows share.

    They are no part of the module's state, and every thread has its own: one may make batches while another
    learns from the last one.
    """

    @property
    def frames(self) -> Mapping[str, npt.NDArray[Any] | Tensor] | FrameBank | None:
        """All distinct frames of this thread's batch: arrays (E, ...), or a bank that has them."""
        return _this_thread.frames.get(self)

    @frames.setter
    def frames(self, frames: Mapping[str, npt.NDArray[Any] | Tensor] | FrameBank | None) -> None:
        _this_thread.frames[self] = frames

    def with_frames(self, seen: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Return the arrays of rows and of their frames on one device; unchanged if rows are whole.

        Of a bank it is the frames of these rows alone, each once, and ``frame`` numbers them from 0.
        """
        if FRAME not in seen:
            return seen
        frames = self.frames
        if frames is None:
            raise RuntimeError(
                "the observations refer to frames that are missing from the batch; the connector "
                "pipeline that made them must contain SharedFrames"
            )
        device = seen[FRAME].device
        if isinstance(frames, FrameBank):
            numbers, frame = np.unique(seen[FRAME].flatten().cpu().numpy(), return_inverse=True)
            taken = {**frames.take(numbers), FRAME: frame.reshape(-1, 1)}
            return {**seen, **{name: torch.from_numpy(part).to(device) for name, part in taken.items()}}
        if not all(isinstance(part, Tensor) and part.device == device for part in frames.values()):
            self.frames = frames = {name: torch.as_tensor(part).to(device) for name, part in frames.items()}
        return {**seen, **frames}


class SharedFrames(ConnectorV2):
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
            shares = _is_recorded(episode) or episode.get_observations(-1).keys() >= {*SHARED}
            if shares:
                readers.add(episode.module_id)
            rows, count = self._rows(bank if shares else None, episode)
            as_columns = has_records if shares else self._is_for_learner
            if as_columns and count and not _is_recorded(episode):  # RLlib batches rows or columns, not both
                if isinstance(rows, list):
                    rows = {name: np.stack([row[name] for row in rows]) for name in rows[0]}
                # Actions and what the module gave are arrays, too, as in recorded episodes: RLlib batches
                # arrays or lists, not both, and pieces of episodes for several learners have lists.
                for buffer in (episode.actions, *episode.extra_model_outputs.values()):
                    buffer.finalize()
            self.add_n_batch_items(batch, Columns.OBS, rows, count, episode)
        frames = bank if has_records else bank.stacked()
        for name, module in ((name, module.unwrapped()) for name, module in rl_module.items()):
            if isinstance(module, ModuleFrames):
                module.frames = frames
            elif name in readers:
                raise TypeError(
                    f"the module {name!r} is a {type(module).__name__}, which cannot read shared frames; it "
                    "must be a BoardModule, a FrozenPool or another ModuleFrames"
                )
        return batch

    def _rows(self, bank: FrameBank | None, episode: Any) -> tuple[Any, int]:
        """Return an episode's rows, a list or columns, and how many; without boards ``bank`` is None."""
        if not self._is_for_learner:
            seen = episode.get_observations(-1)
            return [seen if bank is None else bank.row_of(seen)], 1
        count = len(episode)
        if bank is None:
            return episode.get_observations(slice(0, count)), count
        if _is_recorded(episode):
            return bank.recorded_rows(episode.observations, count), count
        if episode.observations.finalized:
            raise ValueError(
                f"the episode of {episode.agent_id!r} holds stacked arrays, a copy of the frames per agent: "
                "set config.env_runners(episodes_to_numpy=False)"
            )
        return [bank.row_of(seen) for seen in episode.get_observations(slice(0, count))], count


def _is_recorded(episode: Any) -> bool:
    seen = episode.observations
    return isinstance(seen, SharedObservations) and not seen.is_made


class AddOpponents(ConnectorV2):
    """Adds the number of the snapshot to the rows of frozen seats, as infos name it, and to no others."""

    def __call__(
        self, *, rl_module: Any, batch: dict[str, Any], episodes: list[Any], **_: Any
    ) -> dict[str, Any]:
        """Return ``batch`` with the column ``PLAYER``."""
        for own in self.single_agent_episode_iterator(episodes, agents_that_stepped_only=True):
            pool = rl_module[own.module_id].unwrapped() if own.module_id in rl_module else None
            if isinstance(pool, PoolModule):
                self.add_batch_item(batch, PLAYER, pool.number(str(own.get_infos(-1)[OPPONENT])), own)
        return batch


def frames_for_runners(env: Any, spaces: Any, device: Any) -> SharedFrames:
    """Return the connector of runners; RLlib calls it."""
    return SharedFrames()


def frames_for_learners(observation_space: Any, action_space: Any) -> SharedFrames:
    """Return the connector of learners; RLlib calls it."""
    return SharedFrames(as_learner_connector=True)


# ---- the frames of a learner's batch ---------------------------------------------------------------------


FRAME = "frame"
"""The key of an observation that says which of the frames is its own, instead of ``SHARED``."""


class FrameBank:
    """All distinct frames of a batch.

    Those that lie in records stay there, as key frames and deltas, and are made when they are taken. What a
    bank needs is the bytes of what changed, however many agents see a frame. Others are kept as they are,
    told apart by the identity of their arrays.
    """

    def __init__(self) -> None:
        self._records: list[ObservationLog] = []
        self._begins: dict[int, int] = {}
        self._num_recorded = 0
        self._numbers: dict[int, npt.NDArray[np.int64]] = {}
        self._others: list[Mapping[str, npt.NDArray[Any]]] = []

    def add_record(self, record: ObservationLog) -> None:
        """Number the frames of a record through; all records must be added before there are others."""
        if id(record) not in self._begins:
            self._begins[id(record)] = self._num_recorded
            self._records.append(record)  # which keeps it alive, so that no other gets its identity
            self._num_recorded += len(record) * record.num_games

    def recorded_rows(self, seen: SharedObservations, count: int) -> Arrays:
        """Return the first ``count`` observations of an episode, as columns."""
        record, moments = seen.record, seen.moments[seen.lookback :][:count]
        games, seats = np.full(count, seen.game), np.full(count, seen.seat)
        numbers = self._begins[id(record)] + (moments - record.first) * record.num_games + games
        return {
            FRAME: numbers[:, None],
            "seat": seats[:, None].astype(np.int32),
            "action_mask": record.legal(games, moments, seats),
        }

    def row_of(self, seen: Mapping[str, npt.NDArray[Any]]) -> Arrays:
        """Return the agent's own part of its observation, and the number of its frame."""
        number = self._numbers.get(id(seen["observations"]))
        if number is None:
            number = np.array([self._num_recorded + len(self._others)])
            self._numbers[id(seen["observations"])] = number
            self._others.append(seen)  # which keeps the array alive, too
        return {FRAME: number, **{name: part for name, part in seen.items() if name not in SHARED}}

    def stacked(self) -> Arrays:
        """Return the arrays of all frames that lie in no record, (E, ...) each."""
        return {name: np.stack([seen[name] for seen in self._others]) for name in SHARED if self._others}

    def take(self, numbers: npt.NDArray[np.int64]) -> Arrays:
        """Return the arrays of the frames with these numbers, rising, (n, ...) each."""
        parts = []
        for record in self._records:
            begin = self._begins[id(record)]
            end = begin + len(record) * record.num_games
            own = numbers[(numbers >= begin) & (numbers < end)] - begin
            if len(own):
                moments, games = np.divmod(own, record.num_games)
                parts.append(record.frames(games, moments + record.first))
        others = [self._others[i] for i in (numbers - self._num_recorded).tolist() if i >= 0]
        if others:
            parts.append({name: np.stack([seen[name] for seen in others]) for name in SHARED})
        return {name: np.concatenate([part[name] for part in parts]) for name in SHARED}
