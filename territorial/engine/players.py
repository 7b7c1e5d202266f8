"""``BatchPlayers``: the bots of a batch, their seat codes and decisions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.bots.network_bot import Network
from territorial.bots.network_layers import NUM_NUMBERS
from territorial.bots.python import PythonBot, Senses, View
from territorial.bots.settings import INTERVAL, NUM_SETTINGS
from territorial.bots.style import Style
from territorial.bots.targets import HOLD_ALL
from territorial.config import GameConfig
from territorial.config.validation import holds_whole_numbers, whole_numbers
from territorial.constants import FRACTION_UNIT
from territorial.engine.seats import (
    AGENT,
    FIRST_CUSTOM_CODE,
    FIRST_PYTHON_CODE,
    SEAT_NAMES,
    CompiledBot,
    Seat,
    check_custom,
    is_built_in,
    seat_codes,
    starting_troops,
    with_bots_of_files,
)
from territorial.game.state import State, view
from territorial.typing import Bools, Ints

NEXT_ONES = ("next_seats", "next_troops", "next_interval")
"""Fields that say how a game begins next time: they belong to the slot, and no saved game changes them."""
ROOM = 16
"""Rows of the smallest table of custom bots; it doubles when it is full."""


class CustomTable(NamedTuple):
    """Custom bots of a batch for kernels: row i is the seat code FIRST_CUSTOM_CODE + i."""

    lows: npt.NDArray[np.int64]  # (N, S) the least that a seat draws for each setting
    highs: npt.NDArray[np.int64]  # (N, S) the most
    networks: npt.NDArray[np.int64]  # (N, K) of a network: territorial.bots.network; of a style zeros


class BatchPlayers:
    """The players that the games of a batch of ``config`` have had, and may have.

    Each custom bot that compiled code plays has a row of the table. It grows while the batch lives, and no
    kernel is compiled again for that. Where it is full, networks that have no seat give up their rows first:
    hundreds of them may come and go.

    Attributes:
        python_bots: the bots in Python; their codes follow those of all names, in the order they came.
        bots: the compiled custom bots, in the order of their codes.
        table: what kernels read of these; another one when it has grown, and when the first network has come.
            Compiled calls are for one table: those for another have scratch memory for networks, too.

    """

    def __init__(
        self, config: GameConfig, python_bots: Sequence[PythonBot] = (), bots: Sequence[CompiledBot] = ()
    ) -> None:
        self._config = config
        self.python_bots = [*python_bots]
        self._rows: dict[str, int] = {}
        self.bots: tuple[CompiledBot, ...] = ()
        self.table = _table(ROOM)
        self.register(bots)

    def __reduce__(self) -> Any:
        return BatchPlayers, (self._config, self.python_bots, self.bots)

    def __deepcopy__(self, memo: dict[int, Any]) -> BatchPlayers:
        """Return the players of a copied batch: the same bots in Python, as their memory is in the games."""
        return BatchPlayers(self._config, self.python_bots, self.bots)

    @property
    def python_names(self) -> tuple[str, ...]:
        """Names of the bots in Python, in the order of their codes."""
        return tuple([bot.name for bot in self.python_bots])

    @property
    def bot_names(self) -> tuple[str, ...]:
        """Names of the compiled custom bots, in the order of their codes."""
        return tuple([bot.name for bot in self.bots])

    @property
    def has_networks(self) -> bool:
        """Whether any of them is a network."""
        return any(isinstance(bot, Network) for bot in self.bots)

    def codes_of(self, seats: Sequence[Seat] | None, state: State | None = None) -> Ints:
        """Return the codes of ``seats``, giving new custom bots one; None: all are agents.

        ``state``: of the games, which say who has a seat; None: there are none yet.
        """
        seats = with_bots_of_files(seats, self._rows)
        self.register(seats, state)
        for seat in seats if isinstance(seats, Iterable) else ():
            if isinstance(seat, PythonBot) and not any(seat is bot for bot in self.python_bots):
                check_custom(seat, (*self.python_names, *self.bot_names))
                self.python_bots.append(seat)
        return seat_codes(seats, self._config.num_players, self.python_names, self.bot_names)

    def troops_of(self, seats: Sequence[Seat] | None) -> Ints:
        """Return the starting troops of ``seats``; None: all are agents."""
        players = self._config.num_players
        given: Sequence[Any] = [AGENT] * players if seats is None else seats
        if len(given) != players:
            raise ValueError(
                f"troops_of has {len(given)} entries but num_players is {players}; pass one entry per seat"
            )
        by_name = dict(zip(self.bot_names, self.bots, strict=True))
        named = [by_name.get(seat, seat) if isinstance(seat, str) else seat for seat in given]
        return starting_troops(named, self._config)

    def write_next(self, state: State, games: Any, codes: Ints, troops: Ints) -> None:
        """Write the players of ``games`` and their starting troops, from the next reset on."""
        intervals = np.zeros_like(codes)
        for code, bot in enumerate(self.python_bots, start=FIRST_PYTHON_CODE):
            intervals[codes == code] = bot.interval
        for name, values in zip(NEXT_ONES, (codes, troops, intervals), strict=True):
            view(state, name)[games, 1:] = values

    def write_intervals(self, state: State, k: int, codes: Ints) -> None:
        """Write how often the bots in Python among ``codes``, (P+1,), decide in game ``k``."""
        for code, bot in enumerate(self.python_bots, start=FIRST_PYTHON_CODE):
            view(state, "memory")[k, codes == code, INTERVAL] = bot.interval

    def names_of(self, codes: Ints) -> tuple[str, ...]:
        """Return the names of players by their codes."""
        names = dict(enumerate(SEAT_NAMES + self.python_names))
        names |= dict(enumerate(self.bot_names, start=FIRST_CUSTOM_CODE))
        return tuple(names[code] for code in codes.tolist())

    def codes_here(self, codes: Ints, bots: Sequence[CompiledBot], python_names: Sequence[str]) -> Ints:
        """Return seat codes of a batch with other bots as codes of this batch, which has all that play."""
        here = {name: code for code, name in enumerate(self.python_names, start=FIRST_PYTHON_CODE)}
        known = {code: here.get(name) for code, name in enumerate(python_names, start=FIRST_PYTHON_CODE)}
        known |= {
            code: FIRST_CUSTOM_CODE + self._rows[bot.name]
            for code, bot in enumerate(bots, start=FIRST_CUSTOM_CODE)
        }
        return np.array([known.get(code, code) for code in codes.tolist()])

    # ---- custom bots that compiled code plays -------------------------------------------------------

    def register(self, seats: Any, state: State | None = None) -> None:
        """Give every compiled custom bot among ``seats`` a code and a row.

        Equal ones are one. ``state``: of the games; in a full table, networks that have no seat there, and
        will have none in the next game, are forgotten. None: none is. ValueError for a name that another bot
        has; then nothing has changed.
        """
        newcomers: dict[str, CompiledBot] = {}
        for seat in seats if isinstance(seats, Iterable) else ():
            if isinstance(seat, CompiledBot) and not self._knows(seat) and newcomers.get(seat.name) != seat:
                check_custom(seat, (*self.bot_names, *newcomers, *self.python_names))
                newcomers[seat.name] = seat
        if state is not None and len(self.bots) + len(newcomers) > len(self.table.lows):
            codes = np.unique([view(state, "seats")[:, 1:], view(state, "next_seats")[:, 1:]])
            names = {seat.name if isinstance(seat, CompiledBot) else seat for seat in seats}
            self._replace(newcomers, names, {int(code) - FIRST_CUSTOM_CODE for code in codes})
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
            self.table = _table(max(ROOM, 1 << (len(self.bots) - 1).bit_length()))
            for copied, rows in zip(self.table, old, strict=True):
                copied[: len(rows)] = rows
        for row, bot in enumerate(newcomers.values(), start=first):
            self._write(row, bot)

    def _write(self, row: int, bot: CompiledBot) -> None:
        """Write the row of a bot in the kernels' table."""
        self._rows[bot.name] = row
        settings = bot.settings()
        self.table.lows[row] = [setting.low for setting in settings]
        self.table.highs[row] = [setting.high for setting in settings]
        self.table.networks[row] = bot.row() if isinstance(bot, Network) else 0


def _table(rows: int) -> CustomTable:
    columns = NUM_SETTINGS, NUM_SETTINGS, NUM_NUMBERS
    return CustomTable(*(np.zeros((rows, number), np.int64) for number in columns))


# ---- bots in Python --------------------------------------------------------------------------------


def have_python_bots(state: State) -> bool:
    """Return whether any seat has a bot in Python."""
    codes = view(state, "seats")
    return bool(((codes >= FIRST_PYTHON_CODE) & (codes < FIRST_CUSTOM_CODE)).any())


def ask_python_bots(
    python_bots: Sequence[PythonBot],
    config: GameConfig,
    state: State,
    is_idle: Bools,
    actions: Ints,
    senses: Senses,
) -> None:
    """Ask all due ``python_bots``, and write targets and 1024ths into ``actions``.

    ``is_idle``: which games take no step. ``senses`` are for ``View``.
    """
    tick = view(state, "tick")
    decides = ~is_idle & (tick % config.decision_every == 0)
    is_turn = (view(state, "wake") <= tick[:, None]) & (view(state, "alive") != 0) & decides[:, None]
    for code, bot in enumerate(python_bots, start=FIRST_PYTHON_CODE):
        games, seats = np.nonzero(is_turn & (view(state, "seats") == code))
        if len(games):
            seen = View(state, config, games, seats, senses)
            try:
                decision = bot.decide(seen)
            except SystemExit as error:  # which would end whoever plays, without a word
                raise RuntimeError(f"decide() of {bot.name} ends the process: sys.exit({error})") from None
            actions[games, seats - 1] = _checked(bot, seen, decision)
            seen.keep_memory()


def _checked(bot: PythonBot, seen: View, decision: Any) -> Ints:
    """Return (N, 2) targets and 1024ths; errors name the bot and the bad value."""
    what = f"decide() of {bot.name}"
    if not isinstance(decision, tuple) or len(decision) != 2:
        raise ValueError(f"{what} returned {str(decision)[:80]!r}; it must be a tuple of targets and 1024ths")
    count = len(seen.rows)
    targets, parts = (np.full(count, part) if np.ndim(part) == 0 else np.asarray(part) for part in decision)
    targets = whole_numbers(f"targets of {what}", targets, (count,), HOLD_ALL, seen.config.num_players)
    if parts.shape == targets.shape and holds_whole_numbers(parts):  # those that are not sent mean nothing
        parts = np.where(targets == HOLD_ALL, 1, parts)
    parts = whole_numbers(f"1024ths of {what}", parts, (count,), 1, FRACTION_UNIT)
    return np.stack([targets, parts], axis=1)
