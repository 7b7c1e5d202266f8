"""A recorded game played again by environment steps, in which rewards are counted, and not by ticks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from territorial import bots
from territorial.actions.encoding import HOW_MUCH, NO_TARGET, WHAT
from territorial.config import GameConfig
from territorial.engine.seats import EXTERNAL, FIRST_GUEST_CODE
from territorial.engine.step import StepResults
from territorial.game.scratch import LAUNCH_FRACTION, LAUNCH_SEAT, LAUNCH_TARGET, LAUNCH_TICK
from territorial.game.state import view
from territorial.replay.errors import DivergedError, ReplayError
from territorial.replay.player import seated
from territorial.replay.replay import Replay
from territorial.typing import Bools


@dataclass
class WakingTimes:
    """When the P seats of a game decide: built-in bots by their clocks, all others at every decision tick."""

    wake: npt.NDArray[np.int64]
    """(P,) the tick from which on each seat decides next."""
    interval: npt.NDArray[np.int64]
    """(P,) ticks between two decisions of a bot; 0 for all others."""

    def decides(self, tick: int) -> Bools:
        """Return bool (P,), which seats decide at ``tick``; to be asked for every decision tick in order."""
        is_awake: Bools = self.wake <= tick
        self.wake = np.where(is_awake, np.maximum(self.wake + self.interval, tick + 1), self.wake)
        return is_awake


class ReplaySteps:
    """The game of a replay, a batch of one, that plays the recorded launches by whole environment steps.

    ``config`` is the replay's, or one with other rewards.
    """

    def __init__(self, replay: Replay, config: GameConfig) -> None:
        _check_single(replay)
        self._replay, self._ticks = replay, replay.launch_ticks
        self._every = config.decision_every
        played = [name if name in bots.NAMES else EXTERNAL for name in replay.seats]
        self.game = seated(replay, config, played)
        self.waking_times = self._take_seats()
        blocks = self.game.blocks  # views, always current: looking them up by name takes longer than a step
        self._tick, self._over = view(blocks, "tick"), view(blocks, "over")
        self.alive = view(blocks, "alive")[0, 1:]
        """(P,) not 0 for the seats that live."""

    @property
    def tick(self) -> int:
        """Where the game stands."""
        return int(self._tick[0])

    @property
    def is_over(self) -> bool:
        """Whether it has come to its end."""
        return bool(self._over[0])

    @property
    def has_next(self) -> bool:
        """Whether another step was recorded as a whole; the last one may end with the game."""
        now, end = self.tick, self._replay.num_ticks
        return now < end and (self._replay.is_over or now + self._every <= end)

    @property
    def step_launches(self) -> npt.NDArray[np.int32]:
        """The recorded launches of the next step, (N, 4)."""
        now = self.tick
        first, end = np.searchsorted(self._ticks, np.array((now, now + self._every), np.int32))
        return self._replay.launches[first:end]

    def step(self) -> StepResults:
        """Play the next step; DivergedError if the game is over before its time."""
        if self.is_over:
            raise DivergedError(
                f"the game ends at tick {self.tick}; the recorded game lasted to tick "
                f"{self._replay.num_ticks}"
            )
        launches, actions = self.step_launches, self.game.actions[0]
        actions[:, WHAT], actions[:, HOW_MUCH] = NO_TARGET, 0
        seats = launches[:, LAUNCH_SEAT] - 1
        actions[seats, WHAT], actions[seats, HOW_MUCH] = (
            launches[:, LAUNCH_TARGET],
            launches[:, LAUNCH_FRACTION],
        )
        return self.game.step_unchecked()

    def check_end(self) -> None:
        """Raise DivergedError unless the game has come to where the recorded one ended."""
        if self.tick == self._replay.num_ticks and self.game.digest(0) != self._replay.digest:
            raise DivergedError(
                f"the game differs at tick {self.tick}: its digest is {self.game.digest(0).hex()}, "
                f"the recorded digest is {self._replay.digest.hex()}"
            )
        if self._replay.is_over and not self.is_over:
            raise DivergedError(f"the game is not over at tick {self.tick}; the recorded game was over")

    def _take_seats(self) -> WakingTimes:
        """Return when seats decide, and let the engine take the launches of all of them from ``actions``.

        It does so for bots in Python, which say owner codes and 1024ths; here no such bot is asked.
        """
        blocks = self.game.blocks
        wake, memory = view(blocks, "wake")[0, 1:], view(blocks, "memory")[0, 1:]
        times = WakingTimes(wake.copy(), memory[:, bots.INTERVAL].astype(np.int64))
        view(blocks, "seats")[0, 1:] = FIRST_GUEST_CODE
        wake[:], memory[:, bots.INTERVAL] = 0, 0
        return times


def _check_single(replay: Replay) -> None:
    """Raise ReplayError if a seat launched more than once at a tick, which no step does."""
    players = replay.config.num_players + 1
    keys = replay.launches[:, LAUNCH_TICK].astype(np.int64) * players + replay.launches[:, LAUNCH_SEAT]
    ordered = np.sort(keys)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(twice):
        tick, seat = divmod(int(twice[0]), players)
        raise ReplayError(
            f"seat {seat} launched more than once at tick {tick}; a decision is one launch at most, "
            "so this game, played by tick() or play(), has none"
        )
