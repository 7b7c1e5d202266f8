"""Which actions are legal, from the engine's mask bits to one array for the agents of many games."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.actions.encoding import num_targets, target_of_owner
from territorial.constants import NUM_FRACTIONS, TARGET_NEUTRAL
from territorial.jit.decorators import ONE, ZERO, kernel, lowest_bit, njit
from territorial.typing import Ints

BYTES_A_WORD = 8
Masks = npt.NDArray[np.int8]


def target_masks(bits: npt.NDArray[np.uint8], games: Ints, seats: Ints) -> Masks:
    """Return new int8 (N, P+2): where the first part of an action of ``seats`` of ``games`` is legal."""
    return masks_of(bits, games, seats, num_targets(bits.shape[1]))


def pair_masks(bits: npt.NDArray[np.uint8], games: Ints, seats: Ints) -> Masks:
    """Return new int8 (N, P+12): the masks of both parts of actions end to end."""
    return masks_of(bits, games, seats, num_targets(bits.shape[1]) + NUM_FRACTIONS)


def masks_of(bits: npt.NDArray[np.uint8], games: Ints, seats: Ints, width: int, copies: int = 1) -> Masks:
    """Return new int8 (N, width): what ``write_masks`` writes, of arrays in any order in memory."""
    masks = np.empty((len(seats), width), np.int8)
    packed = np.ascontiguousarray(bits).view()
    packed.flags.writeable = False  # all alike, whether the engine's or new, so that one kernel is compiled
    places, owners = (np.ascontiguousarray(numbers, np.int64) for numbers in (games, seats))
    write_masks(packed, places, owners, copies, masks)
    return masks


@kernel
def write_masks(bits: Any, games: Any, seats: Any, copies: int, out: Any) -> None:
    """Write what each of ``seats`` may do to ``out``, int8 (N, width): 1 where it is legal.

    ``bits``: uint8 (E, P, ceil((P+2)/8)), the engine's mask bits. ``games`` and ``seats`` (1..P): int64 (N,).
    Column 0 holds; then every other target in ego order has ``copies`` columns, one for each fraction where
    an action is one number. Columns beyond the targets are all legal.
    """
    for i in range(len(seats)):
        write_mask(bits[games[i], seats[i] - 1], seats[i], bits.shape[1], copies, out[i])


@kernel
def update_masks(
    bits: Any, games: Any, seats: Any, copies: int, out: Any, shown_bits: Any, shown_seats: Any
) -> None:
    """Make ``out`` what ``write_masks`` would write, where it shows ``shown_bits`` of ``shown_seats``.

    From one step to the next few of the bits change, and hundreds of columns do not. ``shown_bits``: uint8
    (N, ceil((P+2)/8)). ``shown_seats``: int64 (N,), 0 where nothing is shown yet. Both follow.
    """
    num_players = bits.shape[1]
    for i in range(len(seats)):
        p, mask, legal, shown = seats[i], out[i], bits[games[i], seats[i] - 1], shown_bits[i]
        if shown_seats[i] != p:
            write_mask(legal, p, num_players, copies, mask)
            shown_seats[i] = p
        elif is_same(legal, shown):
            continue
        else:
            update_mask(legal, shown, p, num_players, copies, mask)
        for byte in range(len(legal)):
            shown[byte] = legal[byte]


@njit
def is_same(legal: Any, shown: Any) -> bool:
    """Return whether two rows of mask bits are equal."""
    difference = 0
    for byte in range(len(legal)):
        difference |= legal[byte] ^ shown[byte]
    return difference == 0


@njit
def write_mask(legal: Any, p: int, num_players: int, copies: int, mask: Any) -> None:
    """Write the whole mask of player ``p``, whose bits are ``legal``."""
    end = 1 + copies * (num_players + 1)
    for column in range(len(mask)):
        mask[column] = column >= end
    mask[0] = legal[0] & 1
    for first in range(0, len(legal), BYTES_A_WORD):
        # From one to the next: a test of every bit would be guessed wrong at each that is set.
        word = word_at(legal, first)
        word &= ~ONE if first == 0 else ~ZERO
        while word != ZERO:
            owner = 8 * first + lowest_bit(word) - 1
            if owner > num_players:  # not the engine's: it leaves the last bits 0
                break
            allow(mask, owner, p, num_players, copies, 1)
            word &= word - ONE


@njit
def update_mask(legal: Any, shown: Any, p: int, num_players: int, copies: int, mask: Any) -> None:
    """Change the mask of player ``p`` where ``legal`` is not as ``shown``."""
    for first in range(0, len(legal), BYTES_A_WORD):
        word = word_at(legal, first)
        changed = word ^ word_at(shown, first)
        if first == 0:
            mask[0] = legal[0] & 1
            changed &= ~ONE
        while changed != ZERO:
            bit = lowest_bit(changed)
            owner = 8 * first + bit - 1
            if owner > num_players:
                break
            allow(mask, owner, p, num_players, copies, (word >> np.uint64(bit)) & ONE)
            changed &= changed - ONE


@njit
def word_at(legal: Any, first: int) -> Any:
    """Return the bytes from ``first`` on, at most eight, as one word, the first byte lowest."""
    word = ZERO
    for byte in range(first, min(len(legal), first + BYTES_A_WORD)):
        word |= np.uint64(legal[byte]) << np.uint64(8 * (byte - first))
    return word


@njit
def allow(mask: Any, owner: int, p: int, num_players: int, copies: int, value: Any) -> None:
    """Write ``value`` into the columns of player ``p``'s launches against ``owner``."""
    start = 1 + copies * (target_of_owner(owner, p, num_players) - TARGET_NEUTRAL)
    for column in range(start, start + copies):
        mask[column] = value
