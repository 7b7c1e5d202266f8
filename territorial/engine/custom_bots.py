"""The custom bots of one batch that compiled code plays: their seat codes, and the table that kernels read.

The table grows while the batch lives, and no kernel is compiled again for that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.bots.network import NUM_NUMBERS
from territorial.bots.network_bot import Network
from territorial.bots.settings import NUM_SETTINGS
from territorial.bots.style import Style
from territorial.engine.seats import (
    FIRST_CUSTOM_CODE,
    CompiledBot,
    check_custom,
    is_built_in,
    with_bots_of_files,
)

ROOM = 16
"""Rows of the smallest table; it doubles when it is full."""


class CustomTable(NamedTuple):
    """What kernels know of the custom bots of a batch: row i is the seat code FIRST_CUSTOM_CODE + i."""

    lows: npt.NDArray[np.int64]  # (N, S) the least that a seat draws for each setting
    highs: npt.NDArray[np.int64]  # (N, S) the most
    networks: npt.NDArray[np.int64]  # (N, K) of a network: territorial.bots.network; of a style zeros


class CustomBots:
    """The compiled custom bots of one batch, in the order in which they came."""

    def __init__(self, bots: Iterable[CompiledBot] = ()) -> None:
        self._bots: dict[str, CompiledBot] = {}
        self.bots: tuple[CompiledBot, ...] = ()
        """All of them, in the order of their codes."""
        self.table = _table(ROOM)
        """What kernels read; another one when it has grown, and when the first network has come.

        Compiled calls are for one table: those for another have scratch memory for networks, too.
        """
        self.welcome(tuple(bots))

    @property
    def names(self) -> tuple[str, ...]:
        """What they are called, in the order of their codes."""
        return tuple(self._bots)

    @property
    def has_networks(self) -> bool:
        """Whether any of them is a network."""
        return any(isinstance(bot, Network) for bot in self.bots)

    def __reduce__(self) -> Any:
        return CustomBots, (self.bots,)

    def named(self, seats: Sequence[Any]) -> list[Any]:
        """Return ``seats`` with the bots themselves instead of their names."""
        return [self._bots.get(seat, seat) if isinstance(seat, str) else seat for seat in seats]

    def with_bots_of_files(self, seats: Any) -> Any:
        """Return ``seats`` with bots instead of texts that name files; names of bots here are left."""
        return with_bots_of_files(seats, self._bots)

    def welcome(self, seats: Any, others: Collection[str] = ()) -> None:
        """Give every custom bot among ``seats`` a code and a row.

        Equal ones are one. ``others``: names that other bots of the batch have. ValueError for a name that
        another bot has; then nothing has changed.
        """
        newcomers: dict[str, CompiledBot] = {}
        for seat in seats if isinstance(seats, Iterable) else ():
            if isinstance(seat, CompiledBot) and not self._knows(seat) and newcomers.get(seat.name) != seat:
                check_custom(seat, (*self.names, *newcomers, *others))
                newcomers[seat.name] = seat
        self._append(newcomers)

    def _knows(self, bot: CompiledBot) -> bool:
        """Return whether ``bot`` has a code already, here or in the library."""
        return self._bots.get(bot.name) == bot or (isinstance(bot, Style) and is_built_in(bot))

    def _append(self, newcomers: dict[str, CompiledBot]) -> None:
        """Give bots with new names the next rows."""
        first, old, had_networks = len(self._bots), self.table, self.has_networks
        self._bots |= newcomers
        self.bots = tuple(self._bots.values())
        if len(self._bots) > len(old.lows) or self.has_networks != had_networks:
            self.table = _table(_room_for(len(self._bots)))
            for copied, rows in zip(self.table, old, strict=True):
                copied[: len(rows)] = rows
        for row, bot in enumerate(newcomers.values(), start=first):
            settings = bot.settings()
            self.table.lows[row] = [setting.low for setting in settings]
            self.table.highs[row] = [setting.high for setting in settings]
            if isinstance(bot, Network):
                self.table.networks[row] = bot.row()

    def codes_here(self, codes: npt.NDArray[np.int64], bots: Sequence[CompiledBot]) -> npt.NDArray[np.int64]:
        """Return seat codes of a batch that has ``bots`` as those of this batch, which has all of them."""
        names = self.names
        numbers = np.array([names.index(bot.name) for bot in bots], np.int64)
        is_custom = codes >= FIRST_CUSTOM_CODE
        translated = codes.copy()
        translated[is_custom] = FIRST_CUSTOM_CODE + numbers[codes[is_custom] - FIRST_CUSTOM_CODE]
        return translated


def _room_for(count: int) -> int:
    """Return the rows of a table for ``count`` bots."""
    return max(ROOM, 1 << (count - 1).bit_length())


def _table(rows: int) -> CustomTable:
    columns = NUM_SETTINGS, NUM_SETTINGS, NUM_NUMBERS
    return CustomTable(*(np.zeros((rows, number), np.int64) for number in columns))
