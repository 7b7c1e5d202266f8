"""LandMask: from arrays and drawings and back, equality, hashing, errors."""

import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from territorial import LandMask

DRAWING = "\n".join(["." * 10 + "#" * 7] * 5 + ["~" * 17] * 11)


@given(st.integers(16, 80), st.integers(16, 140), st.integers(0, 2**32))
def test_an_array_survives_the_way_to_a_mask_and_back(height, width, seed):
    land = np.random.default_rng(seed).random((height, width)) < 0.5
    mask = LandMask.from_array(land)
    assert np.array_equal(mask.to_array(), land)
    assert (mask.height, mask.width, mask.num_land) == (height, width, land.sum())


def test_bits_lie_as_documented():
    """Column c of a row is bit c % 8 of byte c // 8; rows are padded to whole bytes."""
    land = np.random.default_rng(1).random((16, 19)) < 0.5
    bits = LandMask.from_array(land).bits
    assert len(bits) == 16 * 3
    for r in range(16):
        for c in range(24):
            is_set = bool(bits[3 * r + c // 8] >> c % 8 & 1)
            assert is_set == (c < 19 and land[r, c])


def test_numbers_0_and_1_are_blocked_and_land():
    land = np.random.default_rng(1).integers(0, 2, (16, 16))
    assert np.array_equal(LandMask.from_array(land).to_array(), land == 1)
    assert LandMask.from_array(land.tolist()) == LandMask.from_array(land.astype(bool))
    for dtype in (np.uint8, np.int8, np.uint64, np.float16, np.float64):
        assert LandMask.from_array(land.astype(dtype)) == LandMask.from_array(land.astype(bool))


def test_a_drawing_has_blocked_cells_where_it_says_so():
    wanted = np.ones((16, 17), bool)
    wanted[:5, 10:] = False
    assert np.array_equal(LandMask.from_text(DRAWING).to_array(), wanted)


def test_a_row_of_spaces_is_a_row_of_land():
    land = LandMask.from_text("\n".join([" " * 16, *["#" * 16] * 15, "\t" * 16])).to_array()
    assert land.all(axis=1).tolist() == [True, *[False] * 15, True]


def test_equal_masks_are_one_value():
    a, b = LandMask.from_text(DRAWING), LandMask.from_text(DRAWING.replace("~", "."))
    assert len({a, b, pickle.loads(pickle.dumps(a))}) == 1
    assert a.hexdigest == b.hexdigest == f"{int(a.hexdigest, 16):016x}"
    with pytest.raises(AttributeError):
        a.height = 3


def one_wrong(value, dtype):
    land = np.ones((16, 20), dtype)
    land[3, 5] = value
    return land


@pytest.mark.parametrize("width", range(17, 25))
def test_bits_beyond_the_width_are_refused(width):
    bits = bytearray(48)
    bits[3 * 5 + 2] = full = 2 ** (width - 16) - 1
    assert LandMask(16, width, bytes(bits)).num_land == width - 16
    for column in range(width, 24):
        bits[3 * 5 + 2] = wrong = full | 1 << column - 16
        message = f"map bits of row 5 end in the byte {wrong:#04x}; it must be at most .* beyond the width"
        with pytest.raises(ValueError, match=message):
            LandMask(16, width, bytes(bits))


SIDES = "it must be a whole number from 16 to 1024"
BAD_ARRAYS = [
    (np.ones((15, 16), bool), ValueError, f"map height is 15; {SIDES}"),
    (np.ones((16, 1025), bool), ValueError, f"map width is 1025; {SIDES}"),
    (np.ones((16, 0), bool), ValueError, f"map width is 0; {SIDES}"),
    (np.ones(16, bool), ValueError, "a map is a 2-D array (height, width); got shape (16,)"),
    (np.ones((16, 16, 3), bool), ValueError, "2-D array (height, width); got shape (16, 16, 3)"),
    (True, ValueError, "2-D array (height, width); got shape ()"),
    ([], ValueError, "got shape (0,)"),
    (np.full((16, 16), 2), ValueError, "only 0 (blocked) and 1 (land)"),
    (one_wrong(2, np.int64), ValueError, "is 2 at row 3, column 5; a map array"),
    (one_wrong(-1, np.int8), ValueError, "is -1 at row 3, column 5"),
    (one_wrong(255, np.uint8), ValueError, "is 255 at row 3, column 5"),
    (one_wrong(0.5, np.float32), ValueError, "is 0.5 at row 3, column 5"),
    (one_wrong(np.nan, np.float64), ValueError, "is nan at row 3, column 5"),
    (one_wrong(np.inf, np.float64), ValueError, "is inf at row 3, column 5"),
    ([[1] * 16] * 15 + [[1] * 17], ValueError, "with rows of one width; numpy says"),
    ([[1] * 16] * 15 + [1], ValueError, "with rows of one width; numpy says"),
    *(
        (land, TypeError, f"the land of a map is {given}; it must be a 2-D array")
        for land, given in (
            (np.ones((16, 16), object), "an array of object"),
            (np.ones((16, 16), complex), "an array of complex128"),
            (np.full((16, 16), "1"), "an array of <U1"),
            (np.zeros((16, 16), "datetime64[s]"), "an array of datetime64[s]"),
            ([[1] * 15 + [None]] * 16, "an array of object"),
            (None, "of type NoneType"),
            (DRAWING, "of type str"),
            (LandMask.from_text(DRAWING), "of type LandMask"),
            (iter([[1] * 16] * 16), "of type list_iterator"),
            ({1, 2}, "of type set"),
        )
    ),
]
BAD_DRAWINGS = [
    ("...\n....", ValueError, "rows of one width; row 0 has 3, row 1 has 4"),
    (f"{DRAWING}\n\n{DRAWING}", ValueError, "row 0 has 17, row 16 has 0"),
    (f"{DRAWING}\n   \n", ValueError, "row 0 has 17, row 16 has 3"),
    ("", ValueError, "the map drawing is empty; it needs rows of one width"),
    ("\n\n", ValueError, "the map drawing is empty; it needs rows of one width"),
    *(
        (text, TypeError, "it must be a string, one line a row")
        for text in (None, 5, DRAWING.encode(), DRAWING.splitlines())
    ),
]
BAD_MASKS = [
    ((16, 17, b"abc"), ValueError, "map bits hold 3 bytes; 16 x 17 needs 48"),
    *(
        ((16, 16, bits), TypeError, "it must be bytes; LandMask.from_array")
        for bits in (None, "a" * 32, bytearray(32), memoryview(bytes(32)), np.zeros(32, np.uint8))
    ),
    *(
        ((*sides, bytes(32)), error, f"map {name} is {side!r}; {SIDES}")
        for error, values in (
            (TypeError, ("16", None, 16.0, True, np.True_, [16], np.float64(16))),
            (ValueError, (15, 0, -16, 1025, 10**30)),
        )
        for side in values
        for name, sides in (("height", (side, 16)), ("width", (16, side)))
    ),
]


@pytest.mark.parametrize(
    ("make", "arguments", "error", "message"),
    [
        *((LandMask.from_array, (land,), error, message) for land, error, message in BAD_ARRAYS),
        *((LandMask.from_text, (text,), error, message) for text, error, message in BAD_DRAWINGS),
        *((LandMask, arguments, error, message) for arguments, error, message in BAD_MASKS),
    ],
)
def test_what_is_no_map_is_refused(make, arguments, error, message):
    with pytest.raises(error, match=re.escape(message)):
        make(*arguments)
