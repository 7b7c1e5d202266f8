"""``PythonBot``: base class of bots in Python, called once for all seats.

They play by the same rules as the compiled bots, at the same decision ticks and with the same random
numbers. So the same idea gives the same game in either form; it is only slower.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.bots.settings import LAUNCHES
from territorial.bots.targets import DRAWS, HOLD_ALL
from territorial.config import GameConfig
from territorial.config.validation import whole_number
from territorial.constants import FRACTION_UNIT, HOLD, STREAM_BOT_MOVE
from territorial.game.formulas import (
    are_allies,
    draw,
    fraction_for,
    is_legal,
    largest_need,
    may_donate,
    need_for,
)
from territorial.game.state import State, view
from territorial.observation.action_encoding import owner_of_target
from territorial.typing import Bools, Ints

SeePairs = Callable[[Ints, Ints], Any]
"""Returns what ``seats`` of ``games``, both int64 (N,), see in the form "pairs": ``VecGame.pairs``."""
Foresee = Callable[[int, int, int, int], dict[str, Any]]
"""``foresee(game, seat, owner, 1024ths)`` returns what a launch comes to: ``VecGame.forecasts``."""


class Senses(NamedTuple):
    """What a view asks its batch for: all that is not among the numbers of the state."""

    see_pairs: SeePairs
    see_boards: Callable[[], npt.NDArray[np.uint8]]
    """Returns the owner codes of all games, with a ring around each: ``GameArrays.owner``."""
    foresee: Foresee


class PythonBot(ABC):
    """A bot to derive custom bots from; an instance of it goes into ``seats`` like the name of any other.

    ``name`` is what the bot is called, with a version by custom: ``"patient-1"``. ``interval`` is the ticks
    from one of its decisions to the next; the first is at a random phase of that clock, and all are at the
    decision points of the game. Whatever belongs to a game is kept in ``View.memory``, not in the bot.
    """

    name: str
    interval: int = 100

    @abstractmethod
    def decide(self, view: View) -> tuple[npt.ArrayLike, npt.ArrayLike]:
        """Return targets and amounts, one entry for each of the N seats in ``view``.

        Targets are owner codes, 0 for neutral land, or HOLD_ALL (-1); amounts are 1024ths of the balance, 1
        to 1024, and mean nothing where no player is attacked. ``view.fraction`` makes them of troops.
        """


def _of_game(name: str, seen: View) -> Ints:
    return view(seen._blocks, name)[seen.games]


def _from_here(name: str, seen: View) -> Ints:
    return view(seen._blocks, name)[seen.games, seen.seats]


def _to_here(name: str, seen: View) -> Ints:
    return view(seen._blocks, name)[seen.games, :, seen.seats]


def _field(read: Callable[[str, View], Ints], name: str, meaning: str) -> cached_property[Ints]:
    """Return a property of views: what they ``read`` of a field of the state when it is first looked at."""
    found = cached_property(partial(read, name))
    found.__doc__ = meaning
    return found


class View:
    """Observations of the N seats for which a bot decides now, in any games of the batch.

    Arrays have a row a seat and, but for ``games``, ``seats``, ``ticks`` and ``memory``, a column for each
    owner code 0..P, seats by their own numbers. ``troops[i, q]`` are those of seat q in the game of row i.
    All are copies, int64 unless said otherwise.
    """

    ticks = _field(_of_game, "tick", "(N,) the tick of each game.")
    num_land = _field(_of_game, "num_land", "(N,) land cells of each map.")
    troops = _field(_of_game, "troops", "(N, P+1) troops at home.")
    land = _field(_of_game, "land", "(N, P+1) cells owned; column 0 is neutral land.")
    peak = _field(_of_game, "peak", "(N, P+1) the largest land so far, sinking slowly.")
    team = _field(
        _of_game, "team", "(N, P+1) the team 1..N of each seat; without teams each seat is a team of one."
    )
    fronts = _field(_from_here, "fronts", "(N, P+1) cells of each owner beside own cells.")
    sent = _field(_from_here, "pools", "(N, P+1) own pools in the field against each owner.")
    attacks = _field(_to_here, "pools", "(N, P+1) pools of each owner against this seat.")
    taken = _field(_from_here, "taken", "(N, P+1) cells that this seat has taken from each owner so far.")
    lost = _field(_to_here, "taken", "(N, P+1) cells that each owner has taken from this seat so far.")

    def __init__(
        self,
        blocks: State,
        config: GameConfig,
        games: Ints,
        seats: Ints,
        senses: Senses | None = None,
    ) -> None:
        self._blocks, self._given_senses = blocks, senses
        self.config = config
        """The rules of all games."""
        self.games = games
        """(N,) which game of the batch."""
        self.seats = seats
        """(N,) which seat, 1..P."""
        self.rows = np.arange(len(games))
        """(N,) 0, 1, 2 ..., to index the other arrays with."""

    def own(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the own entry of each row: ``own(troops)`` is the troops at home, (N,)."""
        return array[self.rows, self.seats]

    @cached_property
    def seeds(self) -> npt.NDArray[np.uint64]:
        """(N,) uint64, the seed of each game, to say which one it is."""
        return view(self._blocks, "seed")[self.games]

    @cached_property
    def alive(self) -> Bools:
        """(N, P+1) bool."""
        return _of_game("alive", self) != 0

    @cached_property
    def allies(self) -> Bools:
        """(N, P+1) bool, allies: other seats of the same team."""
        owners, seats = np.arange(self.team.shape[1]), self.seats[:, None]
        return are_allies(seats, owners, self.own(self.team)[:, None], self.team)

    @cached_property
    def needs(self) -> Ints:
        """(N, P+1) troops that a launch at each owner needs; 0 without a front, and for allies."""
        return need_for(self.fronts * ~self.allies, self.sent, self.config)

    @cached_property
    def gifts(self) -> Bools:
        """(N, P+1) bool, which allies a donation to is legal."""
        troops = self.own(self.troops)[:, None]
        return self.allies & may_donate(troops, self.troops, self.land, self.config)

    @cached_property
    def legal(self) -> Bools:
        """(N, P+1) bool, legal targets: neutral land and enemies."""
        return is_legal(self.needs, largest_need(self.own(self.troops), self.config)[:, None])

    @cached_property
    def pairs(self) -> Any:
        """Observations "pairs": ``own`` float32 (N, 35), ``pairs`` float32 (N, 8, 26), and ``targets``.

        They are those of ``VecGame.pairs``, described in docs/observation.md. ``candidates`` has the owner
        codes of the rows.
        """
        return self._senses("pairs").see_pairs(self.games, self.seats)

    @cached_property
    def candidates(self) -> Ints:
        """(N, 8) the owner code of each row of ``pairs.pairs``, or HOLD_ALL where there is none."""
        targets = self.pairs.targets.astype(np.int64)
        owners: Ints = owner_of_target(targets, self.seats[:, None], self.config.num_players)
        return np.where(targets == HOLD, HOLD_ALL, owners)

    @cached_property
    def board(self) -> npt.NDArray[np.uint8]:
        """(N, H, W) uint8, the owner code of each cell: 0 neutral, 1..P seats, 255 blocked."""
        return self._senses("board").see_boards()[self.games, 1:-1, 1:-1]

    def forecast(self, row: int, target: int, fraction: int) -> dict[str, Any]:
        """Return what a launch of the seat in this row would come to if all others held.

        ``target`` is an owner code 0..P, ``fraction`` 1024ths of the balance, 1 to 1024. The launch is played
        in a copy of the game, which takes about half a millisecond a decision: see ``VecGame.forecasts``.
        ValueError or TypeError for other numbers.
        """
        row = whole_number("row", row, 0, len(self.rows) - 1)
        target = whole_number("target", target, 0, self.config.num_players)
        fraction = whole_number("fraction", fraction, 1, FRACTION_UNIT)
        return self._senses("forecast").foresee(int(self.games[row]), int(self.seats[row]), target, fraction)

    @cached_property
    def memory(self) -> npt.NDArray[np.int32]:
        """(N, M) int32: writable memory of the bot, zero when a game begins.

        M is P + 8 or more. They are part of the game: saved, restored and forgotten with it.
        """
        return view(self._blocks, "memory")[self.games, self.seats, LAUNCHES:]

    def keep_memory(self) -> None:
        """Write ``memory`` back, if the bot has looked at it."""
        if "memory" in self.__dict__:
            view(self._blocks, "memory")[self.games, self.seats, LAUNCHES:] = self.memory

    def fraction(self, amounts: npt.ArrayLike) -> Ints:
        """Return (N,) the 1024ths of the balance that are at least ``amounts`` troops, 1 to 1024."""
        return fraction_for(np.asarray(amounts, np.int64), np.maximum(1, self.own(self.troops)))

    def draw(self, index: npt.ArrayLike) -> npt.NDArray[np.uint64]:
        """Return (N,) random numbers of this decision, number ``index`` of each seat: 256 to 511 are free."""
        number = self.seats * DRAWS + np.asarray(index, np.int64)
        return draw(_of_game("future", self), STREAM_BOT_MOVE, self.ticks, number)

    def least(
        self, over: npt.NDArray[Any], under: npt.NDArray[Any] | int = 1, among: Bools | None = None
    ) -> Ints:
        """Return (N,) the player with the least ``over`` / ``under``, or HOLD_ALL if there is none.

        ``over`` and ``under`` are whole numbers (N, P+1), ``among`` bool (N, P+1) who can be chosen; None:
        those who can legally be attacked. Fractions are compared exactly, and equals draw lots.
        """
        among = self.legal if among is None else among
        under = np.broadcast_to(np.asarray(under, np.int64), over.shape)
        best = np.full(len(self.rows), HOLD_ALL)
        for q in range(1, over.shape[1]):
            behind = over[:, q] * under[self.rows, best] - over[self.rows, best] * under[:, q]
            wins = among[:, q] & ((best == HOLD_ALL) | (behind < 0))
            is_tie = among[:, q] & (best != HOLD_ALL) & (behind == 0)
            if is_tie.any():
                wins |= is_tie & (self.draw(q) < self.draw(np.maximum(best, 0)))
            best = np.where(wins, q, best)
        return best

    def _senses(self, what: str) -> Senses:
        if self._given_senses is None:
            raise ValueError(f"{what} is for bots that play; this View was made without senses")
        return self._given_senses
