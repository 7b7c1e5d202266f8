"""Actions: what an index means, in every form that trainers use, and which indices are legal.

A choice has two parts: *what* (0 holds, 1 neutral land, 2 oneself, 3.. the other seats in ego order) and
*how much* (an index into FRACTIONS). As one number it is 0 for holding and 1 + 10 * (what - 1) + how
much otherwise. Ego order begins at the player itself and goes round the seats, so that a policy cannot
tell seats apart: owner code q is ego code (q - p) mod P + 1 for player p.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.constants import (
    HOLD,
    NEUTRAL,
    NUM_FRACTIONS,
    TARGET_NEUTRAL,
    TARGET_SELF,
)
from territorial.jit.decorators import njit

WHAT, HOW_MUCH = range(2)
"""The columns of actions: the two parts of a choice."""

NO_TARGET = -1
"""What ``owner_of_target`` returns for holding."""


def num_targets(num_players: int) -> int:
    """Return how many values the first part of an action has: hold, neutral land, every seat."""
    return num_players + 2


def num_flat_actions(num_players: int) -> int:
    """Return how many values an action has as one number."""
    return NUM_FRACTIONS * (num_players + 1) + 1


@njit
def owner_of_target(what: int, p: int, num_players: int) -> int:
    """Return the owner code that the first part of player ``p``'s action names, or NO_TARGET."""
    if what == HOLD:
        return NO_TARGET
    if what == TARGET_NEUTRAL:
        return NEUTRAL
    return (p - 1 + what - TARGET_SELF) % num_players + 1


def ego_owners(num_players: int) -> npt.NDArray[np.int64]:
    """Return int64 (P, P+1): row p - 1 lists the owner codes in the ego order of player p, neutral first."""
    seats = np.arange(num_players)
    others = (seats[:, None] + seats[None, :]) % num_players + 1
    return np.concatenate([np.full((num_players, 1), NEUTRAL), others], axis=1)


def unflatten(actions: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
    """Return the (..., 2) form of actions given as one number each."""
    flat = np.asarray(actions, np.int64)
    launches = np.maximum(flat - 1, 0)
    is_launch = flat > 0
    what = np.where(is_launch, launches // NUM_FRACTIONS + 1, HOLD)
    return np.stack([what, np.where(is_launch, launches % NUM_FRACTIONS, 0)], axis=-1)


def flatten(actions: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
    """Return the one-number form of (..., 2) actions."""
    pairs = np.asarray(actions, np.int64)
    what, how_much = pairs[..., WHAT], pairs[..., HOW_MUCH]
    return np.where(what == HOLD, 0, 1 + NUM_FRACTIONS * (what - 1) + how_much)


def target_mask(masks: npt.NDArray[np.uint8], ego: npt.NDArray[np.int64]) -> npt.NDArray[np.int8]:
    """Return int8 (P, P+2): 1 where the first part of an action is legal, in ego order.

    ``masks``: uint8 (P, ceil((P+2)/8)), the engine's mask bits: bit 0 holds, bit t + 1 is owner code t.
    ``ego``: the table of ``ego_owners``.
    """
    num_players = len(ego)
    bits = np.unpackbits(masks, axis=1, count=num_players + 2, bitorder="little")
    order = np.concatenate([np.zeros((num_players, 1), np.int64), ego + 1], axis=1)
    return np.take_along_axis(bits, order, axis=1).view(np.int8)


def flat_mask(targets: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """Return int8 (P, 10 * (P+1) + 1), the mask of one-number actions, from that of the first parts."""
    launches = np.repeat(targets[:, 1:], NUM_FRACTIONS, axis=1)
    return np.concatenate([targets[:, :1], launches], axis=1)


def pair_mask(targets: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """Return int8 (P, P+12): the masks of both parts end to end; every fraction is always legal."""
    fractions = np.ones((len(targets), NUM_FRACTIONS), np.int8)
    return np.concatenate([targets, fractions], axis=1)
