"""Checks of what users give a batch of games: options, actions, launches, seeds and positions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.actions.encoding import num_targets
from territorial.config import GameConfig
from territorial.config.validation import (
    holds_whole_numbers,
    one_of,
    true_or_false,
    whole_number,
    whole_or_none,
)
from territorial.constants import BLOCKED, FRACTION_UNIT, LARGEST_SEED, LARGEST_TROOPS, NUM_FRACTIONS
from territorial.engine import step
from territorial.engine.step import AUTORESETS, Options
from territorial.game.launches import LAUNCH_TICK
from territorial.game.state import State, view
from territorial.typing import Ints

END_WHEN = ("game", "no_agents")
"""When an episode is over; the place of each is ``Options.ends_without_agents``."""


def checked_options(autoreset: object, end_when: object, observe: object) -> Options:
    """Return how a batch runs, for options of ``VecGame``."""
    return Options(
        autoreset=AUTORESETS.index(one_of("autoreset", autoreset, AUTORESETS)),
        ends_without_agents=END_WHEN.index(one_of("end_when", end_when, END_WHEN)),
        is_observed=int(true_or_false("observe", observe)),
    )


def checked_game(k: Any, num_games: int) -> int:
    """Return ``k`` as an int: a numpy scalar would compile kernels again, True would pick all games."""
    wanted = f"this batch has the games 0 to {num_games - 1}"
    whole = whole_or_none(k)
    if whole is None:
        raise TypeError(f"game {k!r}: {wanted}")
    if not 0 <= whole < num_games:
        raise IndexError(f"game {k}: {wanted}")
    return whole


def checked_seeds(seeds: Iterable[int], num_games: int) -> npt.NDArray[np.uint64]:
    """Return one seed per game, uint64 (E,)."""
    try:
        listed = list(seeds)
    except TypeError:
        raise TypeError(f"seeds is {seeds!r}; it must be one seed per game") from None
    values = [whole_number(f"seeds[{i}]", seed, 0, LARGEST_SEED) for i, seed in enumerate(listed)]
    if len(values) != num_games:
        raise ValueError(f"seeds has {len(values)} entries; this batch has {num_games} games")
    return np.array(values, np.uint64)


# ---- actions ---------------------------------------------------------------------------------------


def copy_actions(actions: npt.ArrayLike, copy: Ints) -> None:
    """Write ``actions`` into ``copy``, int64 (E, P, 2); TypeError or ValueError for anything but actions."""
    try:
        array = np.asarray(actions)
    except ValueError as error:
        raise ValueError(f"actions is not an array: {error}") from None
    if array.shape != copy.shape:
        raise ValueError(f"actions has shape {array.shape}; it must be {copy.shape}: games, seats, 2")
    if not holds_whole_numbers(array):
        raise TypeError(f"actions has dtype {array.dtype}; it must hold whole numbers")
    np.copyto(copy, array, casting="unsafe")
    num_players = copy.shape[1]
    targets = num_targets(num_players)
    bad = step.find_bad_action(copy, targets)
    if bad >= 0:
        k, seat = divmod(bad, num_players)
        raise ValueError(
            f"actions[{k}, {seat}] is {array[k, seat].tolist()}; the first part must be from 0 to "
            f"{targets - 1}, the second from 0 to {NUM_FRACTIONS - 1}"
        )


def check_on_grid(state: State, decision_every: int) -> None:
    """Raise ValueError if a game stands between two decisions, where no player may act."""
    ticks, over = view(state, "tick"), view(state, "over")
    off_grid = (ticks % decision_every != 0) & (over == 0)
    if off_grid.any():
        k = int(off_grid.argmax())
        raise ValueError(
            f"game {k} is at tick {ticks[k]}, between two decisions (every "
            f"{decision_every} ticks); step(None) plays until the next decision"
        )


# ---- launches --------------------------------------------------------------------------------------


def checked_launches(launches: Iterable[tuple[int, int, int]], num_players: int, now: int) -> Ints:
    """Return launches at the tick ``now``, each (seat, target owner code, 1024ths), as int64 (N, 4)."""
    wanted = "(seat, target owner code, 1024ths)"
    try:
        rows = [tuple(entry) for entry in launches]
    except TypeError:
        raise TypeError(f"launches is {launches!r}; it must be a list of {wanted}") from None
    ranges = (("seat", 1, num_players), ("target", 0, num_players), ("fraction", 1, FRACTION_UNIT))
    for entry in rows:
        if len(entry) != 3:
            raise ValueError(f"launch {entry!r}: it must be {wanted}")
        for value, (name, low, high) in zip(entry, ranges, strict=True):
            whole_number(f"{name} of launch {tuple(entry)!r}", value, low, high)
    return np.insert(np.array(rows, np.int64).reshape(-1, 3), LAUNCH_TICK, now, axis=1)


def checked_launch_table(launches: npt.ArrayLike, num_players: int, now: int, until: int) -> Ints:
    """Return ``launches`` as int64 (N, 4); ValueError names the first row that cannot be."""
    table = np.asarray(launches)
    if table.size == 0:
        return np.zeros((0, 4), np.int64)
    if not holds_whole_numbers(table) or table.ndim != 2 or table.shape[1] != 4:
        raise ValueError(
            f"launches is an array of {table.dtype}, shape {table.shape}; it must hold whole numbers "
            "(N, 4): tick, seat, target owner code, 1024ths"
        )
    rows = np.array(table, np.int64, order="C")
    low, high = (now, 1, 0, 1), (until - 1, num_players, num_players, FRACTION_UNIT)
    is_wrong = ((rows < low) | (rows > high)).any(axis=1)
    if is_wrong.any():
        i = int(is_wrong.argmax())
        raise ValueError(f"launches[{i}] is {rows[i].tolist()}; it must be from {low} to {high}")
    falls = np.diff(rows[:, LAUNCH_TICK]) < 0
    if falls.any():
        i = int(falls.argmax()) + 1
        raise ValueError(
            f"launches[{i}] is at tick {rows[i, LAUNCH_TICK]}, before the previous launch; "
            "ticks must not fall"
        )
    return rows


def check_may_play(state: State, k: int, rows: Ints, decision_every: int) -> None:
    """Raise ValueError if game ``k`` is over, or one of the launches ``rows`` is between two decisions."""
    if view(state, "over")[k]:
        raise ValueError(f"game {k} is over since tick {view(state, 'tick')[k]}; reset it first")
    off_grid = rows[:, LAUNCH_TICK] % decision_every != 0
    if off_grid.any():
        raise ValueError(
            f"launches are at tick {rows[off_grid.argmax(), LAUNCH_TICK]} of game {k}; they must be "
            f"at a decision, a multiple of {decision_every} ticks"
        )


# ---- positions -------------------------------------------------------------------------------------


def checked_board(owner: npt.ArrayLike, config: GameConfig) -> npt.NDArray[np.uint8]:
    """Return a copy of owner codes, uint8 (H, W)."""
    board = np.asarray(owner)
    if not holds_whole_numbers(board):
        raise TypeError(f"owner has dtype {board.dtype}; it must hold whole numbers, the owner codes")
    if board.shape != (config.height, config.width):
        raise ValueError(f"owner has shape {board.shape}; it must be {(config.height, config.width)}")
    is_code = (board == BLOCKED) | ((board >= 0) & (board <= config.num_players))
    if not is_code.all():
        row, column = np.argwhere(~is_code)[0].tolist()
        raise ValueError(
            f"owner[{row}, {column}] is {board[row, column]}; it must be 0 to "
            f"{config.num_players}, or {BLOCKED}"
        )
    if (board == BLOCKED).all():
        raise ValueError(f"owner holds only {BLOCKED}; a board must have land")
    return np.array(board, np.uint8, order="C")  # a copy: a read-only array would compile anew


def checked_per_seat(name: str, values: Any, num_players: int, largest: int) -> list[int] | None:
    """Return one whole number per seat, or None where none are given."""
    if values is None:
        return None
    try:
        listed = list(values)
    except TypeError:
        raise TypeError(f"{name} is {values!r}; it must be one whole number per seat") from None
    if len(listed) != num_players:
        raise ValueError(f"{name} has {len(listed)} entries; it needs {num_players}")
    return [whole_number(f"{name} of seat {seat}", value, 0, largest) for seat, value in enumerate(listed, 1)]


def checked_pools(pools: Mapping[tuple[int, int], int], teams: Ints) -> dict[tuple[int, int], int]:
    """Return the troops of pools by (seat, target); ``teams``: the team of every owner code, (P+1,)."""
    num_players = len(teams) - 1
    if not isinstance(pools, Mapping):
        raise TypeError(f"pools is {pools!r}; it must map (seat, target) to troops")
    checked = {}
    for pair, amount in pools.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"pools[{pair!r}]: it must be (seat, target)")
        p = whole_number(f"seat of pools[{pair}] = {amount}", pair[0], 1, num_players)
        target = whole_number(f"target of pools[{pair}] = {amount}", pair[1], 0, num_players)
        if p == target:
            raise ValueError(f"pools[{pair}] is {amount}; seat and target must differ")
        if teams[p] == teams[target]:
            raise ValueError(
                f"pools[{pair}] is {amount}; seats {p} and {target} are allies, of team {teams[p]}, and no "
                "pool may be between them"
            )
        checked[p, target] = whole_number(f"pools[{pair}] = {amount}: it", amount, 0, LARGEST_TROOPS)
    return checked
