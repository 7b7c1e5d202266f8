"""Playing a replay again: from its beginning, or from positions kept on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from territorial.config import GameConfig
from territorial.config.validation import whole_number
from territorial.engine.saved_game import SavedGame
from territorial.engine.seats import EXTERNAL
from territorial.engine.vec_game import VecGame
from territorial.replay.errors import DivergedError, ReplayError

SNAPSHOT_EVERY = 256
"""Ticks between two positions that a Player keeps, at least."""
SNAPSHOT_BYTES = 2**28
"""Memory that the positions of one Player may take."""


class Recording(Protocol):
    """What is read of a ``Replay``."""

    @property
    def config(self) -> GameConfig:
        """Rules, size and map of the game."""

    @property
    def seed(self) -> int:
        """Seed of the game."""

    @property
    def seats(self) -> tuple[str, ...]:
        """P names, one per seat: "agent", "external" or a bot."""

    @property
    def starting_troops(self) -> tuple[int, ...] | None:
        """What each seat started with; None: as its name says."""

    @property
    def num_ticks(self) -> int:
        """Ticks played."""

    @property
    def launches(self) -> npt.NDArray[np.int32]:
        """(N, 4): tick, seat 1..P, owner code of the target 0..P, 1024ths of the balance."""

    @property
    def launch_ticks(self) -> npt.NDArray[np.int32]:
        """(N,): the tick of every launch, ascending."""


def begin(replay: Recording) -> VecGame:
    """Return the game of a replay at tick 0: a batch of one, every seat driven by the caller."""
    return seated(replay, replay.config, [EXTERNAL] * replay.config.num_players)


def seated(replay: Recording, config: GameConfig, seats: Sequence[str]) -> VecGame:
    """Return the game of a replay at tick 0 under ``config``, with ``seats`` instead of its own."""
    try:
        game = VecGame(config, 1, seats=seats, autoreset="disabled", observe=False)
    except ValueError as error:  # such as a map that has no room for all spawns
        raise ReplayError(f"the game of the replay cannot be set up: {error}") from None
    game.set_seats(0, seats, troops_of=replay.seats)
    if replay.starting_troops is not None:
        game.state.next_troops[0, 1:] = replay.starting_troops
    game.reset(seeds=[replay.seed])
    return game


def play_to(game: VecGame, replay: Recording, tick: int) -> None:
    """Play the game of a replay on to ``tick``; DivergedError if it is over before."""
    now, ticks = int(game.state.tick[0]), replay.launch_ticks
    if now == tick:
        return
    if not game.state.over[0]:
        # Of one type, or all ticks would be copied.
        first, end = np.searchsorted(ticks, np.array((now, tick), ticks.dtype))
        game.play(0, replay.launches[first:end], tick)
    if game.state.tick[0] != tick:
        raise DivergedError(
            f"the game ends at tick {game.state.tick[0]}; the recorded game lasted to tick {replay.num_ticks}"
        )


class ReplayPlayer:
    """Takes the game of a replay to any tick, back and forth.

    Positions are kept on the way, every SNAPSHOT_EVERY ticks or as many as fit into ``snapshot_bytes``,
    so that no later call plays more ticks than lie between two of them.
    """

    def __init__(self, replay: Recording, snapshot_bytes: int = SNAPSHOT_BYTES) -> None:
        self._replay = replay
        self.game = begin(replay)
        """The game as it stands; the same object all the time, to be looked at and not to be changed."""
        start = self.game.save(0)
        room = max(1, snapshot_bytes // sum(block.nbytes for block in start.blocks))
        self._spacing = max(SNAPSHOT_EVERY, -(-replay.num_ticks // room))
        self._kept: dict[int, SavedGame] = {0: start}

    @property
    def tick(self) -> int:
        """Where the game stands."""
        return int(self.game.state.tick[0])

    def seek(self, tick: int) -> VecGame:
        """Return the game at ``tick``, from 0 to the replay's ``num_ticks``."""
        tick = whole_number("tick", tick, 0, self._replay.num_ticks)
        nearest = max(kept for kept in self._kept if kept <= tick)
        if not nearest <= self.tick <= tick:
            self.game.restore(0, self._kept[nearest])
        while self.tick < tick:
            corner = (self.tick // self._spacing + 1) * self._spacing
            play_to(self.game, self._replay, min(corner, tick))
            if self.tick == corner and corner not in self._kept:
                self._kept[corner] = self.game.save(0)
        return self.game
