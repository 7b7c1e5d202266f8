"""Encodings of actions as indices, and the legal indices.

A choice has two parts: *what* (0 holds, 1 neutral land, 2 oneself, 3.. the other seats in ego order) and
*how much* (an index into FRACTIONS). As one number it is 0 for holding and 1 + 10 * (what - 1) + how
much otherwise. Ego order begins at the player itself and goes round the seats, so that a policy cannot
tell seats apart: owner code q is ego code (q - p) mod P + 1 for player p.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.config.validation import one_of, shown
from territorial.constants import (
    FRACTION_UNIT,
    FRACTIONS,
    NEUTRAL,
    NUM_FRACTIONS,
    TARGET_NEUTRAL,
    TARGET_SELF,
)
from territorial.jit.decorators import formula

WHAT, HOW_MUCH = range(2)
"""The columns of actions: the two parts of a choice."""

NO_TARGET = -1
"""What ``owner_of_target`` returns for holding."""

FRACTION_TABLE = np.array(FRACTIONS, np.int64)  # as kernels and arrays of indices take it


def num_targets(num_players: int) -> int:
    """Return how many values the first part of an action has: hold, neutral land, every seat."""
    return num_players + 2


def num_flat_actions(num_players: int) -> int:
    """Return how many values an action has as one number."""
    return NUM_FRACTIONS * (num_players + 1) + 1


@formula
def owner_of_target(what: Any, p: Any, num_players: int) -> Any:
    """Return the owner code that the first part of player ``p``'s action names, or NO_TARGET."""
    seat = (p - 1 + what - TARGET_SELF) % num_players + 1
    nobody = what - TARGET_NEUTRAL + NEUTRAL  # neutral land, and for holding what is one less: NO_TARGET
    return (what >= TARGET_SELF) * seat + (what < TARGET_SELF) * nobody


@formula
def target_of_owner(owner: Any, p: Any, num_players: int) -> Any:
    """Return the first part of player ``p``'s action that names an owner code."""
    steps = owner - p + num_players * (owner < p)  # round the seats, from p on
    return TARGET_NEUTRAL + (owner != NEUTRAL) * (TARGET_SELF - TARGET_NEUTRAL + steps)


def action_owners(num_players: int) -> npt.NDArray[np.int64]:
    """Return int64 (P, P+2): the owner code that each first part of an action of each seat names."""
    seats = np.arange(1, num_players + 1)[:, None]
    return owner_of_target(np.arange(num_targets(num_players)), seats, num_players)


def unflatten(actions: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
    """Return the (..., 2) form of actions given as one number each."""
    flat = np.maximum(np.asarray(actions, np.int64), 0)
    return np.stack([what_of(flat), how_much_of(flat)], axis=-1)


@formula
def what_of(action: Any) -> Any:
    """Return the first part of actions given as one number each, from 0 on."""
    return (action + NUM_FRACTIONS - 1) // NUM_FRACTIONS


@formula
def how_much_of(action: Any) -> Any:
    """Return the second part of actions given as one number each, from 0 on."""
    return (action > 0) * ((action - 1) % NUM_FRACTIONS)


# ---- how much ----------------------------------------------------------------------------------------

_MOST = {"index": NUM_FRACTIONS - 1, "1024ths": FRACTION_UNIT, "percent": 100}


def convert_share(shares: npt.ArrayLike, source: str, target: str) -> Any:
    """Return how much of a balance is sent, given in one unit, in another.

    Args:
        shares: a number or an array: indices 0 to 9, which must be whole numbers, 1024ths 0 to 1024, or per
            cent 0 to 100.
        source: the unit of ``shares``: "index" (of ``territorial.constants.FRACTIONS``, as actions have it),
            "1024ths" or "percent".
        target: the unit of what is returned. "index" is that of the nearest fraction by ratio, of two equally
            near ones the smaller; "1024ths" are rounded to whole ones.

    Raises:
        ValueError: for an unknown unit, and for shares that are out of range, no numbers or no whole ones.

    Example:
        >>> from territorial.observation.action_encoding import convert_share
        >>> convert_share([0, 6, 9], "index", "percent").tolist()
        [1.5625, 25.0, 100.0]
        >>> int(convert_share(30, "percent", "1024ths")), int(convert_share(30, "percent", "index"))
        (307, 6)

    """
    most, given = _MOST[one_of("source", source, _MOST)], np.asarray(shares)
    kinds, numbers = ("iu", "whole numbers") if source == "index" else ("iuf", "numbers")
    if given.size and (given.dtype.kind not in kinds or not ((given >= 0) & (given <= most)).all()):
        raise ValueError(
            f"shares is {shown(shares)}; in the unit {source!r} it must be {numbers} from 0 to {most}"
        )
    parts = (
        FRACTION_TABLE[given.astype(int)]
        if source == "index"
        else given.astype(np.float64) * FRACTION_UNIT / most  # which overflows in narrower types
    )
    found = {
        # x lies halfway between two fractions, by their ratio, where x * x is their product
        "index": np.searchsorted([low * high for low, high in pairwise(FRACTIONS)], parts * parts),
        "1024ths": np.rint(parts).astype(np.int64),
        "percent": parts * 100 / FRACTION_UNIT,
    }
    return found[one_of("target", target, found)]
