"""The bots in Python that play in a batch: which seat codes they have, and asking them for their launches."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.actions.encoding import HOW_MUCH, WHAT
from territorial.bots.python import PythonBot, SeePairs, View
from territorial.bots.targets import HOLD_ALL
from territorial.config import GameConfig
from territorial.config.validation import holds_whole_numbers
from territorial.constants import FRACTION_UNIT
from territorial.engine.batch_arrays import BatchArrays
from territorial.engine.seats import FIRST_CUSTOM_CODE, SEAT_NAMES, check_custom
from territorial.engine.step import FIRST_GUEST_CODE
from territorial.game.state import State, view
from territorial.typing import Bools, Ints


class Guests:
    """The bots in Python of one batch; their seat codes follow those of all names, in the order they came."""

    def __init__(self) -> None:
        self._bots: list[PythonBot] = []

    @property
    def bots(self) -> list[PythonBot]:
        """All of them, in the order of their codes: the list to which those are added that come."""
        return self._bots

    @property
    def names(self) -> tuple[str, ...]:
        """What they are called, in the order of their codes."""
        return tuple([bot.name for bot in self._bots])

    def __deepcopy__(self, memo: dict[int, Any]) -> Guests:
        """Return the Python bots of a copied batch: the same objects, as their memory is in the games."""
        copied = Guests()
        copied._bots = self._bots.copy()
        return copied

    def welcome(self, seats: Any, others: Collection[str] = ()) -> None:
        """Give every bot in Python among ``seats`` a code; errors say what is wrong with one.

        ``others``: names that other bots of the batch have.
        """
        for seat in seats if isinstance(seats, Iterable) else ():
            if isinstance(seat, PythonBot) and not any(seat is bot for bot in self._bots):
                check_custom(seat, (*self.names, *others))
                self._bots.append(seat)

    def intervals(self, codes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return how often the bots in Python with these seat codes decide; 0 for other seats."""
        table = np.array([0] * len(SEAT_NAMES) + [bot.interval for bot in self._bots], np.int64)
        is_compiled = codes >= FIRST_CUSTOM_CODE
        return np.where(is_compiled, 0, table[np.where(is_compiled, 0, codes)])


class PythonTurns:
    """Asks the bots in Python of a batch for their launches when it is their turn.

    Args:
        guests: the bots.
        config: the rules of all games.
        arrays: the games, and the actions that launches are written into.
        see_pairs: for ``View.pairs``.

    Attributes:
        bots: all that there are by now, in the order of their seat codes.

    """

    def __init__(self, guests: Guests, config: GameConfig, arrays: BatchArrays, see_pairs: SeePairs) -> None:
        self.bots = guests.bots
        self._config, self._arrays, self._see_pairs = config, arrays, see_pairs

    def may_come(self) -> bool:
        """Return whether any seat has a bot in Python."""
        if not self.bots:
            return False
        codes = view(self._arrays.state, "seats")
        return bool(((codes >= FIRST_GUEST_CODE) & (codes < FIRST_CUSTOM_CODE)).any())

    def write_launches(self) -> None:
        """Ask all whose turn it is, and write targets and 1024ths into the actions."""
        state, actions = self._arrays.state, self._arrays.actions
        is_turn = _whose_turn(state, self._config) & ~self._arrays.stands[:, None]
        for code, bot in enumerate(self.bots, start=FIRST_GUEST_CODE):
            games, seats = np.nonzero(is_turn & (view(state, "seats") == code))
            if len(games):
                seen = View(state, self._config, games, seats, self._see_pairs)
                actions[games, seats - 1] = _checked(bot, seen, bot.decide(seen))
                seen.keep_memory()


def _whose_turn(blocks: State, config: GameConfig) -> Bools:
    """Return bool (E, P+1), the seats whose bot decides in this step."""
    tick, over = view(blocks, "tick"), view(blocks, "over")
    decides = (over == 0) & (tick % config.decision_every == 0)
    is_awake = (view(blocks, "wake") <= tick[:, None]) & (view(blocks, "alive") != 0)
    is_turn: Bools = is_awake & decides[:, None]
    return is_turn


def _checked(bot: PythonBot, seen: View, decision: Any) -> Ints:
    """Return (N, 2) targets and 1024ths; ValueError names the bot and the seat for what cannot be."""
    what = f"decide() of {bot.name} returned"
    if not isinstance(decision, tuple) or len(decision) != 2:
        raise ValueError(f"{what} {str(decision)[:80]!r}; it must be a tuple of targets and 1024ths")
    table = np.zeros((len(seen.rows), 2), np.int64)
    for column, (name, values) in enumerate(zip(("targets", "1024ths"), decision, strict=True)):
        array = np.asarray(values)
        if not holds_whole_numbers(array) or array.shape not in ((), (len(table),)):
            raise ValueError(
                f"{what} {name} of {array.dtype}, shape {array.shape}; they must be whole numbers "
                f"({len(table)},)"
            )
        table[:, column] = array
    targets, fractions = table[:, WHAT], table[:, HOW_MUCH]
    players = seen.config.num_players
    is_wrong = (targets < HOLD_ALL) | (targets > players)
    is_wrong |= (targets != HOLD_ALL) & ((fractions < 1) | (fractions > FRACTION_UNIT))
    if is_wrong.any():
        i = int(is_wrong.argmax())
        raise ValueError(
            f"{what} {table[i].tolist()} for seat {seen.seats[i]} of game {seen.games[i]}; targets must be "
            f"from {HOLD_ALL} to {players}, 1024ths from 1 to {FRACTION_UNIT}"
        )
    return table
