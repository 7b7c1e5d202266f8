"""Who plays in a batch: the seat codes of all its players, and what they begin with."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from territorial.config import GameConfig
from territorial.engine.custom_bots import CustomBots
from territorial.engine.python_bots import Guests
from territorial.engine.saved_game import NEXT_ONES
from territorial.engine.seats import AGENT, FIRST_CUSTOM_CODE, SEAT_NAMES, Seat, seat_codes, starting_troops
from territorial.game.state import State, view
from territorial.typing import Ints


class BatchPlayers:
    """The players that the games of a batch of ``config`` have had, and may have.

    Attributes:
        guests: the bots in Python.
        custom: the custom bots that compiled code plays.

    """

    def __init__(self, config: GameConfig) -> None:
        self._config = config
        self.guests, self.custom = Guests(), CustomBots()

    def codes_of(self, seats: Sequence[Seat] | None, state: State | None = None) -> Ints:
        """Return the codes of ``seats``, whose custom bots have one from now on; None: all are agents.

        ``state``: of the games, which say who has a seat; None: there are none yet.
        """
        seats = self.custom.with_bots_of_files(seats)
        in_use = None if state is None else partial(_codes_in_use, state)
        self.custom.welcome(seats, self.guests.names, in_use)
        self.guests.welcome(seats, self.custom.names)
        return seat_codes(seats, self._config.num_players, self.guests.names, self.custom.names)

    def troops_of(self, seats: Sequence[Seat] | None) -> Ints:
        """Return what ``seats`` begin with; None: all are agents."""
        players = self._config.num_players
        names: Sequence[Seat] = [AGENT] * players if seats is None else seats
        if len(names) != players:
            raise ValueError(f"troops_of has {len(names)} entries; this game has num_players = {players}")
        return starting_troops(self.custom.named(names), self._config)

    def write_next(self, state: State, games: Any, codes: Ints, troops: Ints) -> None:
        """Write who plays ``games``, and what they start with, from the next reset on."""
        for name, values in zip(NEXT_ONES, (codes, troops, self.guests.intervals(codes)), strict=True):
            view(state, name)[games, 1:] = values

    def names_of(self, codes: Ints) -> tuple[str, ...]:
        """Return the names of players by their codes."""
        names = dict(enumerate(SEAT_NAMES + self.guests.names))
        names |= dict(enumerate(self.custom.names, start=FIRST_CUSTOM_CODE))
        return tuple(names[code] for code in codes.tolist())


def _codes_in_use(state: State) -> Ints:
    """Return the codes of all who play a game now or will play the next one."""
    return np.unique([view(state, "seats")[:, 1:], view(state, "next_seats")[:, 1:]])
