"""``PairObserver``: observations "pairs" of chosen seats, on request."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.config import GameConfig, Params, interest_rates, make_params
from territorial.config.validation import whole_number, whole_numbers
from territorial.constants import HOLD, MAX_ALLIES, MAX_CANDIDATES, NUM_ALLIES, NUM_CANDIDATES
from territorial.game.formulas import is_affordable, largest_need, need_at_front
from territorial.game.state import State, game_of
from territorial.jit.arguments import BoundArguments
from territorial.jit.decorators import arguments_of, kernel, njit
from territorial.jit.simd import fill
from territorial.observation.action_encoding import target_of_owner
from territorial.observation.pair_columns import OWN, UNIT, pair_columns
from territorial.observation.pairs import (
    PairTotals,
    allocate_totals,
    find_allies,
    find_candidates,
    may_give,
    see_allies,
    see_pairs,
    sum_up,
)
from territorial.typing import Array, Ints

DTYPES = ("float32", "int16")


class PairObservations(NamedTuple):
    """Observations "pairs" of N seats (docs/observation.md): C candidates each, with teams D allies."""

    own: npt.NDArray[Any]  # (N, 35) numbers of the seat itself
    pairs: npt.NDArray[Any]  # (N, C + D, 26) of each, 0 where there is none; with teams (N, C + D, 27)
    targets: npt.NDArray[np.int32]  # (N, C + D) first part of an action against it, 0 where there is none

    def as_floats(self) -> PairObservations:
        """Return the numbers, whole ones of 4096ths, as float32: exactly."""
        unit = np.float32(1 / UNIT)
        return self._replace(own=self.own * unit, pairs=self.pairs * unit)


class PairCandidates(NamedTuple):
    """Candidates of N seats in formats of actions that name candidates; C + D of them each."""

    targets: npt.NDArray[np.int32]  # (N, C + D) as in PairObservations
    legal: npt.NDArray[np.bool_]  # (N, C + D) whether a launch is legal


class PairArguments(NamedTuple):
    """All that the kernels of this module have to know of a batch."""

    state: State
    params: Params
    interest_rates: Ints
    totals: PairTotals


class PairObserver:
    """Shows seats of the games of ``state``, in memory of its own: one thread at a time may ask.

    Its arguments are unboxed once, with the first question, as ``state`` stays where it is.
    """

    def __init__(self, state: State, config: GameConfig) -> None:
        self._state, self._config = state, config
        self._num_columns = len(pair_columns(teams=config.teams is not None))

    @cached_property
    def _bound(self) -> BoundArguments[PairArguments]:
        config, totals = self._config, allocate_totals(self._config.num_players)
        arguments = PairArguments(self._state, make_params(config), interest_rates(config), totals)
        return BoundArguments(arguments)

    def observe_checked(
        self, games: Any, seats: Any, num_candidates: Any, num_allies: Any, dtype: Any
    ) -> PairObservations:
        """Return the pairs of ``seats`` of ``games``; errors name a bad argument."""
        rows = rows_shown(self._config, num_candidates, num_allies)
        if dtype not in DTYPES:
            raise ValueError(f"dtype is {dtype!r}; it must be {' or '.join(map(repr, DTYPES))}")
        numbers = whole_numbers("games", games, (None,), 0, len(self._state.seed) - 1)
        own = whole_numbers("seats", seats, (None,), 1, self._config.num_players)
        if len(numbers) != len(own):
            raise ValueError(
                f"games has {len(numbers)} entries and seats has {len(own)}; both must have the same number"
            )
        seen = self.observe(numbers, own, rows)
        return seen.as_floats() if dtype == "float32" else seen

    def see(self, games: Ints, seats: Ints) -> PairObservations:
        """Return the pairs of ``seats`` of ``games`` for bots in Python: as ``observe``, but floats."""
        return self.observe(games, seats, rows_shown(self._config)).as_floats()

    def observe(self, games: Ints, seats: Ints, rows: ShownRows) -> PairObservations:
        """Return the pairs of ``seats``, 1..P, of ``games``, new arrays of 4096ths; quickest if sorted.

        Both are int64 (N,), in range.
        """
        seen = self.allocate(len(games), rows)
        observe_pairs(*self.arguments(games, seats, rows, seen))
        return seen

    def allocate(self, count: int, rows: ShownRows) -> PairObservations:
        """Return memory for the pairs of ``count`` seats, in 4096ths."""
        return PairObservations(
            own=np.empty((count, len(OWN)), np.int16),
            pairs=np.empty((count, rows.total, self._num_columns), np.int16),
            targets=np.empty((count, rows.total), np.int32),
        )

    def candidates(self, games: Ints, seats: Ints, rows: ShownRows) -> PairCandidates:
        """Return the candidates and allies alone, of ``seats`` and ``games`` as in ``observe``."""
        shape = len(games), rows.total
        found = PairCandidates(np.empty(shape, np.int32), np.empty(shape, np.bool_))
        list_candidates(*self.arguments(games, seats, rows, found))
        return found

    def arguments(
        self, games: Ints, seats: Ints, rows: ShownRows, written: tuple[Array, ...]
    ) -> tuple[Any, ...]:
        """Return what a kernel takes to fill the arrays ``written``: with scratch memory for ``rows``."""
        # In one piece, as it takes them: ``np.nonzero`` returns columns of a table.
        numbers = [np.ascontiguousarray(array, np.int64) for array in (games, seats)]
        room = [np.zeros(count, np.int64) for count in rows]
        return self._bound, *numbers, *room, *written


class ShownRows(NamedTuple):
    """How many owners the form "pairs" shows at most."""

    candidates: int
    """C, neutral land and enemies that can be attacked."""
    allies: int
    """D, living allies; 0 without teams."""

    @property
    def total(self) -> int:
        """C + D."""
        return self.candidates + self.allies


def rows_shown(config: GameConfig, num_candidates: Any = None, num_allies: Any = None) -> ShownRows:
    """Return the rows that are shown in games of ``config``; None: by default."""
    candidates = NUM_CANDIDATES if num_candidates is None else num_candidates
    count = whole_number("num_candidates", candidates, 1, MAX_CANDIDATES)
    if num_allies is None:
        return ShownRows(count, 0 if config.teams is None else NUM_ALLIES)
    allies = whole_number("num_allies", num_allies, 0, MAX_ALLIES)
    if allies > 0 and config.teams is None:
        raise ValueError(f"num_allies is {allies}; it must be 0 or None, as these games have no teams")
    return ShownRows(count, allies)


@kernel
def observe_pairs(
    bound: BoundArguments[PairArguments],
    games: Any,
    seats: Any,
    owners: Any,
    allies: Any,
    own: Any,
    pairs: Any,
    targets: Any,
) -> None:
    """Write the pairs of ``seats`` of ``games``, int64 (N,), into ``PairObservations``, int16.

    ``owners``, int64 (C,), and ``allies``, int64 (D,), are scratch memory.
    """
    state, params, rates, totals = arguments_of(bound)
    for i in range(len(games)):
        game = game_of(state, games[i])
        if i == 0 or games[i] != games[i - 1]:
            sum_up(game, params, totals)
        p, first, most = seats[i], pairs[i, : len(owners)], len(owners)
        count = see_pairs(game, params, rates, totals, p, own[i], first, owners)
        name_rows(params, p, owners, count, first, targets[i, :most])
        if len(allies) > 0:
            last = pairs[i, most:]
            count = see_allies(game, params, totals, p, last, allies)
            name_rows(params, p, allies, count, last, targets[i, most:])


@njit
def name_rows(params: Params, p: int, owners: Any, count: int, rows: Any, targets: Any) -> None:
    """Write the actions against the first ``count`` of ``owners``, and zeros for the rest."""
    for c in range(len(owners)):
        targets[c] = HOLD
        if c < count:
            targets[c] = target_of_owner(owners[c], p, params.num_players)
        else:
            fill(rows[c], 0)


@kernel
def list_candidates(
    bound: BoundArguments[PairArguments],
    games: Any,
    seats: Any,
    owners: Any,
    allies: Any,
    targets: Any,
    legal: Any,
) -> None:
    """Write the candidates of ``seats`` of ``games``, int64 (N,), into the arrays of ``PairCandidates``.

    ``owners``, int64 (C,), and ``allies``, int64 (D,), are scratch memory.
    """
    state, params, _, _ = arguments_of(bound)
    for i in range(len(games)):
        game, p = game_of(state, games[i]), seats[i]
        count, largest = find_candidates(game, params, p, owners), largest_need(game.troops[p], params)
        for c in range(len(owners)):
            targets[i, c], legal[i, c] = HOLD, False
            if c < count:
                target = owners[c]
                need = need_at_front(game.fronts[p, target], game.pools[p, target], params)
                targets[i, c] = target_of_owner(target, p, params.num_players)
                legal[i, c] = is_affordable(need, largest)
        count = find_allies(game, params, p, allies)
        for d in range(len(allies)):
            row = len(owners) + d
            targets[i, row], legal[i, row] = HOLD, False
            if d < count:
                targets[i, row] = target_of_owner(allies[d], p, params.num_players)
                legal[i, row] = may_give(game, params, p, allies[d])
