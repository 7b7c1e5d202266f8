"""Checks of the options, actions, launches and seeds of a batch."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.config.validation import (
    holds_whole_numbers,
    one_of,
    true_or_false,
    whole_number,
    whole_numbers,
    whole_or_none,
)
from territorial.constants import FIRST_BOT_CODE, FRACTION_UNIT, LARGEST_SEED, NUM_FRACTIONS
from territorial.engine import step
from territorial.engine.step import AUTORESETS, Options
from territorial.game.scratch import LAUNCH_TICK
from territorial.game.state import State, view
from territorial.observation.action_encoding import num_targets
from territorial.typing import Bools, Ints

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
    bad = step.find_bad_action(copy)
    if bad >= 0:
        num_players = copy.shape[1]
        k, seat = divmod(bad, num_players)
        raise ValueError(
            f"actions[{k}, {seat}] is {array[k, seat].tolist()}; the target must be from 0 to "
            f"{num_targets(num_players) - 1} and the fraction index from 0 to {NUM_FRACTIONS - 1}"
        )


def check_on_grid(state: State, decision_every: int) -> None:
    """Raise ValueError if a game stands between two decisions, where no player may act."""
    ticks, over = view(state, "tick"), view(state, "over")
    off_grid = (ticks % decision_every != 0) & (over == 0)
    if off_grid.any():
        k = int(off_grid.argmax())
        raise ValueError(
            f"game {k} is at tick {ticks[k]}, between two decisions (every "
            f"{decision_every} ticks), and takes no actions; step(hold=True) plays until the next decision"
        )


def check_no_decision(state: State, is_idle: Bools, decision_every: int) -> None:
    """Raise ValueError if an agent has a decision to make in a game that does not stand."""
    is_due = ~is_idle & (view(state, "tick") % decision_every == 0)
    is_agent = is_due[:, None] & (view(state, "seats") < FIRST_BOT_CODE) & (view(state, "alive") != 0)
    if (found := np.argwhere(is_agent)).size:
        raise ValueError(
            f"seat {found[0, 1]} of game {found[0, 0]} is an agent with a decision to make; pass actions=, "
            f"int {(len(is_agent), is_agent.shape[1] - 1, 2)}, or hold=True to let all agents hold"
        )


# ---- launches --------------------------------------------------------------------------------------


def checked_launches(launches: Iterable[tuple[int, int, int]], num_players: int, now: int) -> Ints:
    """Return launches at the tick ``now``, each (seat, target owner code, 1024ths), as int64 (N, 4)."""
    try:
        rows = [(now, *entry) for entry in launches]
    except TypeError:
        wanted = "a list of (seat, target owner code, 1024ths)"
        raise TypeError(f"launches is {launches!r}; it must be {wanted}") from None
    return checked_launch_table(rows, num_players, now, now + 1)


def checked_launch_table(launches: npt.ArrayLike, num_players: int, now: int, until: int) -> Ints:
    """Return ``launches`` as int64 (N, 4); an error names the first entry that cannot be."""
    if len(np.atleast_1d(np.asarray(launches))) == 0:
        return np.zeros((0, 4), np.int64)
    low, high = (now, 1, 0, 1), (until - 1, num_players, num_players, FRACTION_UNIT)
    rows = whole_numbers("launches", launches, (None, 4), low, high)  # tick, seat, target owner code, 1024ths
    falls = np.diff(rows[:, LAUNCH_TICK]) < 0
    if falls.any():
        i = int(falls.argmax()) + 1
        raise ValueError(
            f"launches[{i}] is at tick {rows[i, LAUNCH_TICK]}, before the previous launch; "
            "ticks must not decrease"
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
