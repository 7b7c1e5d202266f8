"""The reference packer against boards drawn by hand, and against an unpacker that knows no more than it."""

import pytest

from territorial.constants import BLOCKED
from territorial.observation.layout import NOT_LISTED, ObsLayout
from tests.twin.packing import pack_delta, pack_planes, pack_terrain

SMALL = ObsLayout(height=16, width=18, num_players=2, frames=3)


def board(*changes, layout=SMALL):
    """Return a neutral board with the codes (row, column, code) in it."""
    rows = [[0] * layout.width for _ in range(layout.height)]
    for r, c, code in changes:
        rows[r][c] = code
    return rows


def planes_of(layout, history):
    """Return the bytes of a row by (entry, plane, row)."""
    packed = pack_planes(layout, history)
    assert len(packed) == layout.nbytes("planes")
    _, planes, height, width = layout.shape("planes")

    def row(entry, plane, r):
        start = ((entry * planes + plane) * height + r) * width
        return packed[start : start + width]

    return row


# ---- by hand -----------------------------------------------------------------------------------------


def test_two_players_take_two_planes_and_blocked_cells_have_both_bits():
    row = planes_of(SMALL, [board((3, 0, 1), (3, 1, 2), (3, 9, BLOCKED), (3, 17, 1))])
    assert row(0, 0, 3) == bytes([0b00000001, 0b00000010, 0b00000010])
    assert row(0, 1, 3) == bytes([0b00000010, 0b00000010, 0b00000000])
    assert row(0, 0, 2) == row(0, 1, 4) == bytes(3)


def test_entries_after_the_newest_are_what_changed_and_nothing_before_the_first_step():
    first, second = board((0, 0, 1), (5, 8, 1)), board((0, 0, 2), (5, 8, 1))
    row = planes_of(SMALL, [first, second])
    shown = {(entry, r): [row(entry, plane, r) for plane in (0, 1)] for entry in (0, 1) for r in (0, 5)}
    assert shown == {
        (0, 0): [b"\0\0\0", b"\1\0\0"],
        (1, 0): [b"\1\0\0", b"\1\0\0"],
        (0, 5): [b"\0\1\0", b"\0\0\0"],
        (1, 5): [bytes(3), bytes(3)],
    }
    assert {row(2, plane, r) for plane in (0, 1) for r in range(16)} == {bytes(3)}


@pytest.mark.parametrize(("changed", "is_listed"), [(18, True), (19, False)])
def test_a_delta_lists_a_sixteenth_of_the_cells_at_most(changed, is_listed):
    assert SMALL.delta_capacity == 18
    found = pack_delta(SMALL, [board(), board(*[(k // 18, k % 18, 1) for k in range(changed)])])
    assert found == ((18, [(k, 1) for k in range(18)]) if is_listed else (NOT_LISTED, []))


@pytest.mark.parametrize("is_water", [True, False])
def test_terrain_says_what_is_blocked_and_whether_it_is_water(is_water):
    packed = pack_terrain(SMALL, board((0, 1, BLOCKED), (0, 16, BLOCKED), (0, 2, 2)), is_water=is_water)
    assert len(packed) == SMALL.nbytes("terrain")
    assert (packed[:3], packed[48:51]) == (b"\2\0\1", b"\2\0\1" if is_water else b"\0\0\0")
    assert sum(packed) == (6 if is_water else 3)


# ---- random histories --------------------------------------------------------------------------------
