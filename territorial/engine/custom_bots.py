"""The custom bots of one batch that compiled code plays: their seat codes, and the table that kernels read.

The table grows while the batch lives, and no kernel is compiled again for that. Where it is full, networks
that have no seat give up their rows first: hundreds of them may come and go.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.bots.network_bot import Network
from territorial.bots.network_layers import NUM_NUMBERS
from territorial.bots.settings import NUM_SETTINGS
from territorial.bots.style import Style
from territorial.engine.seats import (
    FIRST_CUSTOM_CODE,
    CompiledBot,
    check_custom,
    is_built_in,
    with_bots_of_files,
)
from territorial.typing import Ints

ROOM = 16
"""Rows of the smallest table; it doubles when it is full."""


class CustomTable(NamedTuple):
    """What kernels know of the custom bots of a batch: row i is the seat code FIRST_CUSTOM_CODE + i."""

    lows: npt.NDArray[np.int64]  # (N, S) the least that a seat draws for each setting
    highs: npt.NDArray[np.int64]  # (N, S) the most
    networks: npt.NDArray[np.int64]  # (N, K) of a network: territorial.bots.network; of a style zeros


class CustomBots:
    """The compiled custom bots of one batch, each with a row of the table."""

    def __init__(self, bots: Iterable[CompiledBot] = ()) -> None:
        self._rows: dict[str, int] = {}
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
        return tuple(bot.name for bot in self.bots)

    @property
    def has_networks(self) -> bool:
        """Whether any of them is a network."""
        return any(isinstance(bot, Network) for bot in self.bots)

    def __reduce__(self) -> Any:
        return CustomBots, (self.bots,)

    def named(self, seats: Sequence[Any]) -> list[Any]:
        """Return ``seats`` with the bots themselves instead of their names."""
        rows, bots = self._rows, self.bots
        return [bots[rows[seat]] if isinstance(seat, str) and seat in rows else seat for seat in seats]

    def with_bots_of_files(self, seats: Any) -> Any:
        """Return ``seats`` with bots instead of texts that name files; names of bots here are left."""
        return with_bots_of_files(seats, self._rows)

    def welcome(
        self, seats: Any, others: Collection[str] = (), in_use: Callable[[], Ints] | None = None
    ) -> None:
        """Give every custom bot among ``seats`` a code and a row.

        Equal ones are one. ``others``: names that other bots of the batch have. ``in_use`` returns the codes
        of all seats: in a full table, networks with other codes are forgotten; None: none is. ValueError for
        a name that another bot has; then nothing has changed.
        """
        newcomers: dict[str, CompiledBot] = {}
        for seat in seats if isinstance(seats, Iterable) else ():
            if isinstance(seat, CompiledBot) and not self._knows(seat) and newcomers.get(seat.name) != seat:
                check_custom(seat, (*self.names, *newcomers, *others))
                newcomers[seat.name] = seat
        if in_use is not None and len(self.bots) + len(newcomers) > len(self.table.lows):
            names = {seat.name if isinstance(seat, CompiledBot) else seat for seat in seats}
            self._replace(newcomers, names, {int(code) - FIRST_CUSTOM_CODE for code in in_use()})
        self._append(newcomers)

    def _knows(self, bot: CompiledBot) -> bool:
        """Return whether ``bot`` has a code already, here or in the library."""
        row = self._rows.get(bot.name)
        is_here = row is not None and self.bots[row] == bot
        return is_here or (isinstance(bot, Style) and is_built_in(bot))

    def _replace(self, newcomers: dict[str, CompiledBot], named: set[Any], in_use: set[int]) -> None:
        """Give the first ``newcomers`` the rows of networks not in use, and take them out.

        Styles keep theirs: only their names may be given later, and those of networks name their files.
        """
        bots = list(self.bots)
        free = [
            row
            for row, bot in enumerate(bots)
            if row not in in_use and isinstance(bot, Network) and bot.name not in named
        ]
        for row, name in zip(free, list(newcomers), strict=False):
            del self._rows[bots[row].name]
            bots[row] = newcomers.pop(name)
            self._write(row, bots[row])
        self.bots = tuple(bots)

    def _append(self, newcomers: dict[str, CompiledBot]) -> None:
        """Give bots with new names the next rows."""
        first, old, had_networks = len(self.bots), self.table, self.has_networks
        self.bots += tuple(newcomers.values())
        if len(self.bots) > len(old.lows) or self.has_networks != had_networks:
            self.table = _table(_room_for(len(self.bots)))
            for copied, rows in zip(self.table, old, strict=True):
                copied[: len(rows)] = rows
        for row, bot in enumerate(newcomers.values(), start=first):
            self._write(row, bot)

    def _write(self, row: int, bot: CompiledBot) -> None:
        """Write what kernels know of a bot."""
        self._rows[bot.name] = row
        settings = bot.settings()
        self.table.lows[row] = [setting.low for setting in settings]
        self.table.highs[row] = [setting.high for setting in settings]
        self.table.networks[row] = bot.row() if isinstance(bot, Network) else 0

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
