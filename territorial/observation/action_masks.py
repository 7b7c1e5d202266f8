"""Action masks of agents, from the engine's mask bits."""

from typing import Any

import numpy as np

from territorial.constants import NUM_FRACTIONS, TARGET_NEUTRAL
from territorial.jit.decorators import ONE, ZERO, kernel, lowest_bit, njit
from territorial.observation.action_encoding import num_targets, target_of_owner
from territorial.typing import Array, Bytes, Ints, Ints8

BYTES_A_WORD = 8
Masks = Ints8


def target_masks(bits: Bytes, games: Ints, seats: Ints) -> Masks:
    """Return new int8 (N, P+2): where the first part of an action of ``seats`` of ``games`` is legal."""
    return masks_of(bits, games, seats, num_targets(bits.shape[1]))


def pair_masks(bits: Bytes, games: Ints, seats: Ints) -> Masks:
    """Return new int8 (N, P+12): the masks of both parts of actions end to end."""
    return masks_of(bits, games, seats, num_targets(bits.shape[1]) + NUM_FRACTIONS)


def read_only(array: Array) -> Array:
    """Return a view, or a copy with the entries end to end: kernels are compiled for arrays of one kind."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def masks_of(
    bits: Bytes,
    games: Ints,
    seats: Ints,
    width: int,
    copies: int = 1,
    out: Masks | None = None,
) -> Masks:
    """Return new int8 (N, width), or ``out``: the masks of ``write_masks``, from any arrays."""
    masks = np.empty((len(seats), width), np.int8) if out is None else out
    places, owners = (np.ascontiguousarray(numbers, np.int64) for numbers in (games, seats))
    write_masks(read_only(bits), places, owners, copies, masks)
    return masks


@kernel
def write_masks(bits: Any, games: Any, seats: Any, copies: int, out: Any) -> None:
    """Write the legal actions of ``seats`` to ``out``, int8 (N, width): 1 where legal.

    ``bits``: uint8 (E, P, ceil((P+2)/8)), the engine's mask bits. ``games`` and ``seats`` (1..P): int64 (N,).
    Column 0 holds; then every other target in ego order has ``copies`` columns, one for each fraction where
    an action is one number. Columns beyond the targets are all legal.
    """
    for i in range(len(seats)):
        write_mask(bits[games[i], seats[i] - 1], seats[i], bits.shape[1], copies, out[i])


@njit
def write_mask(legal: Any, p: int, num_players: int, copies: int, mask: Any) -> None:
    """Write the whole mask of player ``p`` with the bits ``legal``."""
    end = 1 + copies * (num_players + 1)
    for column in range(end):
        mask[column] = 0
    for column in range(end, len(mask)):
        mask[column] = 1
    mask[0] = legal[0] & 1
    for first in range(0, len(legal), BYTES_A_WORD):
        # From one to the next: a test of every bit would be guessed wrong at each that is set.
        word = word_at(legal, first)
        word &= ~ONE if first == 0 else ~ZERO
        while word != ZERO:
            owner = 8 * first + lowest_bit(word) - 1
            if owner > num_players:  # not the engine's: it leaves the last bits 0
                break
            start = 1 + copies * (target_of_owner(owner, p, num_players) - TARGET_NEUTRAL)
            mask[start] = 1
            if copies == NUM_FRACTIONS:  # so many as the compiler knows: that takes a sixth less
                for column in range(start + 1, start + NUM_FRACTIONS):
                    mask[column] = 1
            word &= word - ONE


@njit
def word_at(legal: Any, first: int) -> Any:
    """Return the bytes from ``first`` on, at most eight, as one word, the first byte lowest."""
    word = ZERO
    for byte in range(first, min(len(legal), first + BYTES_A_WORD)):
        word |= np.uint64(legal[byte]) << np.uint64(8 * (byte - first))
    return word
