"""LandMask: from arrays and drawings and back, equality, hashing, errors."""

import pickle

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
    assert mask.num_land == land.sum()
    assert (mask.height, mask.width) == (height, width)


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


def test_a_drawing_has_blocked_cells_where_it_says_so():
    land = LandMask.from_text(DRAWING).to_array()
    assert land[:5, :10].all()
    assert not land[:5, 10:].any()
    assert land[5:].all()


def test_a_drawing_may_be_surrounded_by_empty_lines():
    assert LandMask.from_text(f"\n\n{DRAWING}\n   \n") == LandMask.from_text(DRAWING)


def test_to_array_returns_a_copy():
    mask = LandMask.from_text(DRAWING)
    mask.to_array()[:] = False
    assert mask.to_array().any()


def test_equal_masks_are_one_value():
    a, b = LandMask.from_text(DRAWING), LandMask.from_text(DRAWING.replace("~", "."))
    assert a == b
    assert hash(a) == hash(b)
    assert a.hexdigest == b.hexdigest
    assert pickle.loads(pickle.dumps(a)) == a
    assert len(a.hexdigest) == 16


def test_different_masks_have_different_names():
    masks = [
        LandMask.from_array(np.ones((16, 16), bool)),
        LandMask.from_array(np.ones((16, 17), bool)),
        LandMask.from_array(np.ones((17, 16), bool)),
        LandMask.from_array(np.zeros((16, 16), bool)),
        LandMask.from_array(~np.eye(16, dtype=bool)),
    ]
    assert len({mask.hexdigest for mask in masks}) == len(masks)
    assert len(set(masks)) == len(masks)


def test_a_mask_cannot_be_changed():
    with pytest.raises(AttributeError):
        LandMask.from_text(DRAWING).height = 3


@pytest.mark.parametrize(
    ("land", "message"),
    [
        (np.ones((15, 16), bool), "map height is 15; it must be from 16 to 1024"),
        (np.ones((16, 1025), bool), "map width is 1025; it must be from 16 to 1024"),
        (np.ones(16, bool), r"a map is a 2-D array \(height, width\); got shape \(16,\)"),
        (np.full((16, 16), 2), "only 0 .blocked. and 1 .land."),
        (np.full((16, 16), 0.5), "only 0 .blocked. and 1 .land."),
    ],
)
def test_an_array_that_is_no_map_is_refused(land, message):
    with pytest.raises(ValueError, match=message):
        LandMask.from_array(land)


def test_rows_of_several_widths_are_refused():
    with pytest.raises(ValueError, match=r"rows of one width; got widths \[3, 4\]"):
        LandMask.from_text("...\n....")


def test_an_empty_drawing_is_refused():
    with pytest.raises(ValueError, match="rows of one width"):
        LandMask.from_text("\n\n")


def test_bits_of_the_wrong_length_are_refused():
    with pytest.raises(ValueError, match="map bits hold 3 bytes; 16 x 17 needs 48"):
        LandMask(16, 17, b"abc")
