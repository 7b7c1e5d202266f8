"""What a batched runner shows to modules, and keeps for episodes: one class for each form of observations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from ray.rllib.env.utils.infinite_lookback_buffer import InfiniteLookbackBuffer
from torch import Tensor

from rllib_adapters.envs.agent_interface import BothInterface
from rllib_adapters.envs.batch import TerritorialBatchEnv
from rllib_adapters.envs.env_config import BOTH, PACKED, PAIRS
from rllib_adapters.observations.connector import FRAME
from rllib_adapters.observations.log import ObservationLog, RowLog, SharedObservations
from territorial.actions.masks import pair_masks
from territorial.typing import Arrays, Bools, Ints

Rows = Mapping[str, Tensor]


class ObservationSource:
    """Observes a batch of games for agents of one form. Moment t comes after t steps, as in a ``Rollout``."""

    def __init__(self, env: TerritorialBatchEnv) -> None:
        self._env = env

    def begin(self) -> None:
        """Forget everything, and observe all games, which have just begun."""
        raise NotImplementedError

    def observe(self, acted: Bools) -> None:
        """Observe the games after a step, in which the seats ``acted`` (E, P) have acted."""
        raise NotImplementedError

    def resume(self) -> None:
        """Resume from the games as they stand, which may have changed since the last moment.

        Where nothing is done, what was seen at the last moment is acted on.
        """

    def forget(self, moment: int) -> None:
        """Keep the moments from ``moment`` on alone; the buffers of earlier ones stay as they are."""

    def rows(self, seats: Bools, device: Any) -> dict[str, Tensor]:
        """Return what ``seats``, bool (E, P), see now besides, (N, ...) each."""
        raise NotImplementedError

    def buffer(self, game: int, seat: int, moments: Ints, lookback: int) -> InfiniteLookbackBuffer:
        """Return what a seat, 1..P, that learns saw of a game; ``lookback`` of ``moments`` are of before."""
        raise NotImplementedError("frozen seats alone have this form, and no episodes")


class BoardSource(ObservationSource):
    """Boards and tables, once for all agents, in the form that ``FramesOnce`` has."""

    def __init__(self, env: TerritorialBatchEnv) -> None:
        super().__init__(env)
        self._log = ObservationLog(env.game.layout, env.num_envs)

    def begin(self) -> None:
        """Begin a new log."""
        self._log = ObservationLog(self._env.game.layout, self._env.num_envs)
        self._log.append(self._env.game.observations)

    def observe(self, acted: Bools) -> None:
        """Log the boards of all games."""
        self._log.append(self._env.game.observations)

    def resume(self) -> None:
        """See ``ObservationLog.resume``."""
        self._log.resume(self._env.game.observations)

    def forget(self, moment: int) -> None:
        """Begin a log of its own: the episodes have the one up to now."""
        self._log = self._log.since(moment)

    def frames(self, device: Any) -> dict[str, Tensor]:
        """Return boards and tables."""
        shared, _ = self._log.now(self._env.game.observations)
        return {name: _tensor(part).to(device) for name, part in shared.items()}

    def rows(self, seats: Bools, device: Any) -> dict[str, Tensor]:
        """Return seats, masks, and the numbers of their frames."""
        _, masks = self._log.now(self._env.game.observations)
        games, i = np.nonzero(seats)
        own: Arrays = {
            "seat": (i + 1).astype(np.int32)[:, None],
            "action_mask": pair_masks(masks, games, i + 1),
            FRAME: games[:, None],
        }
        return _tensors(own, device)

    def buffer(self, game: int, seat: int, moments: Ints, lookback: int) -> InfiniteLookbackBuffer:
        """Return a buffer that reads the log when it is asked."""
        return SharedObservations(self._log, game, seat, moments, lookback)


class PairSource(ObservationSource):
    """Numbers of every agent by itself, which are computed for those alone that act or have just acted."""

    def __init__(self, env: TerritorialBatchEnv) -> None:
        super().__init__(env)
        self._log = RowLog()

    def begin(self) -> None:
        """Begin a new log."""
        self._log = RowLog()
        self.observe(np.zeros_like(self._env.learners))

    def observe(self, acted: Bools) -> None:
        """Log what those see that act next, and what those saw last whose episode has ended."""
        seats = self._env.on(PAIRS) & (acted | self._env.learners | self._env.frozen)
        games, i = np.nonzero(seats)
        self._log.append(seats, self._env.interfaces.by_form[PAIRS].own(games, i + 1))

    def forget(self, moment: int) -> None:
        """Forget the rows of earlier moments: buffers have copies."""
        self._log.forget(moment)

    def rows(self, seats: Bools, device: Any) -> dict[str, Tensor]:
        """Return numbers, targets and masks."""
        return _tensors(self._log.now(seats), device)

    def buffer(self, game: int, seat: int, moments: Ints, lookback: int) -> InfiniteLookbackBuffer:
        """Return a buffer of arrays."""
        return self._log.buffer(game, seat, moments, lookback)


class BothSource(ObservationSource):
    """The rows of ``boards`` for frozen seats, with the numbers of pairs as they were observed last."""

    def __init__(self, env: TerritorialBatchEnv, boards: BoardSource) -> None:
        super().__init__(env)
        self._boards, self._log = boards, RowLog()

    def begin(self) -> None:
        """Observe what frozen seats see."""
        self.observe(np.zeros_like(self._env.frozen))

    def observe(self, acted: Bools) -> None:
        """Observe what frozen seats see, and forget what they saw before."""
        interface = self._env.interfaces.by_form[BOTH]
        assert isinstance(interface, BothInterface)
        games, i = np.nonzero(self._env.frozen)
        self._log = RowLog()
        self._log.append(self._env.frozen, interface.numbers(games, i + 1))

    def rows(self, seats: Bools, device: Any) -> dict[str, Tensor]:
        """Return what ``boards`` does, and numbers and targets."""
        return {**self._boards.rows(seats, device), **_tensors(self._log.now(seats), device)}


class ObservationSources:
    """What a batched runner shows and keeps: an ``ObservationSource`` for each form that its agents have.

    Boards are there once for all forms that show them.
    """

    def __init__(self, env: TerritorialBatchEnv) -> None:
        self._boards = BoardSource(env) if env.options.shows_boards else None
        self._by_form: dict[str, ObservationSource] = {}
        for form in env.interfaces.by_form:
            if form == PAIRS:
                self._by_form[form] = PairSource(env)
            else:
                assert self._boards is not None
                self._by_form[form] = self._boards if form == PACKED else BothSource(env, self._boards)
        self._all = list(dict.fromkeys(filter(None, (self._boards, *self._by_form.values()))))

    def begin(self) -> None:
        """Forget everything, and observe all games, which have just begun."""
        for source in self._all:
            source.begin()

    def observe(self, acted: Bools) -> None:
        """Observe the games after a step, in which the seats ``acted`` (E, P) have acted."""
        for source in self._all:
            source.observe(acted)

    def resume(self) -> None:
        """Resume from the games as they stand, which may have changed since the last moment."""
        for source in self._all:
            source.resume()

    def forget(self, moment: int) -> None:
        """Keep the moments from ``moment`` on alone; the buffers of earlier ones stay as they are."""
        for source in self._all:
            source.forget(moment)

    def frames(self, device: Any) -> dict[str, Tensor]:
        """Return what rows on boards share now, (E, ...) each."""
        return {} if self._boards is None else self._boards.frames(device)

    def rows(self, form: str, seats: Bools, device: Any) -> dict[str, Tensor]:
        """Return what ``seats``, bool (E, P), all on ``form``, see now besides, (N, ...) each."""
        return self._by_form[form].rows(seats, device)

    def buffer(self, form: str, game: int, seat: int, moments: Ints, lookback: int) -> InfiniteLookbackBuffer:
        """Return what a seat on ``form`` saw, see ``ObservationSource.buffer``."""
        return self._by_form[form].buffer(game, seat, moments, lookback)


def _tensors(arrays: Arrays, device: Any) -> dict[str, Tensor]:
    return {name: torch.from_numpy(part).to(device) for name, part in arrays.items()}


def _tensor(array: npt.NDArray[Any]) -> Tensor:
    """Return the same memory; PyTorch would warn of the engine's, which must not be written to."""
    view = array.view()
    view.flags.writeable = True
    return torch.from_numpy(view)
