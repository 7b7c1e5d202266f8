"""What a batched runner shows to modules, and keeps for episodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from ray.rllib.env.utils.infinite_lookback_buffer import InfiniteLookbackBuffer
from torch import Tensor

from rllib_adapters.envs.agent_interface import shared_arrays
from rllib_adapters.envs.batch import TerritorialBatchEnv
from rllib_adapters.envs.env_config import PAIRS
from rllib_adapters.observations.connector import FRAME
from rllib_adapters.observations.log import ObservationLog, RowLog, SharedObservations
from territorial.typing import Bools, Ints


class ObservationSource:
    """Observes a batch of games for agents of all forms. Moment t comes after t steps, as in a ``Rollout``.

    Boards and tables are there once for all agents, in the form that ``SharedFrames`` has. Numbers of pairs
    are computed only for agents that act or have just acted.
    """

    def __init__(self, env: TerritorialBatchEnv) -> None:
        self._env, self._pairs = env, RowLog()
        self._boards = ObservationLog(env.game.layout, env.num_envs) if env.options.shows_boards else None

    def begin(self) -> None:
        """Forget everything, and observe all games, which have just begun."""
        env, self._pairs = self._env, RowLog()
        if self._boards is not None:
            self._boards = ObservationLog(env.game.layout, env.num_envs)
        self.observe(np.zeros_like(env.learners))

    def observe(self, acted: Bools) -> None:
        """Observe the games after a step, in which the seats ``acted`` (E, P) have acted.

        Of pairs it is what those see that act next, and what those saw last whose episode has ended.
        """
        env = self._env
        if self._boards is not None:
            self._boards.append(env.game.observations)
        if PAIRS in env.interfaces:
            seats = env.on(PAIRS) & (acted | env.learners | env.frozen)
            games, i = np.nonzero(seats)
            self._pairs.append(seats, env.interfaces[PAIRS].own(games, i + 1))

    def forget(self, moment: int) -> None:
        """Keep the moments from ``moment`` on alone; the buffers of earlier ones stay as they are."""
        if self._boards is not None:
            self._boards = self._boards.since(moment)  # a log of its own: episodes have the one up to now
        self._pairs.forget(moment)

    def frames(self, device: Any) -> dict[str, Tensor]:
        """Return what rows on boards share now, (E, ...) each."""
        if self._boards is None:
            return {}
        return {name: _tensor(part).to(device) for name, part in shared_arrays(self._env.game).items()}

    def rows(self, form: str, seats: Bools, device: Any) -> dict[str, Tensor]:
        """Return what ``seats``, bool (E, P), all on ``form``, see now besides, (N, ...) each."""
        if form == PAIRS:
            own = self._pairs.now(seats)
        else:
            games, i = np.nonzero(seats)
            own = {**self._env.interfaces[form].own(games, i + 1), FRAME: games[:, None]}
        return {name: torch.from_numpy(part).to(device) for name, part in own.items()}

    def buffer(self, form: str, game: int, seat: int, moments: Ints, lookback: int) -> InfiniteLookbackBuffer:
        """Return what a seat, 1..P, that learns saw of a game; ``lookback`` of ``moments`` are of before."""
        if form == PAIRS:
            return self._pairs.buffer(game, seat, moments, lookback)
        assert self._boards is not None
        return SharedObservations(self._boards, game, seat, moments, lookback)


def _tensor(array: npt.NDArray[Any]) -> Tensor:
    """Return the same memory; PyTorch would warn of the engine's, which must not be written to."""
    view = array.view()
    view.flags.writeable = True
    return torch.from_numpy(view)
