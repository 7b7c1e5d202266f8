"""Standings, text and numbers in pictures."""

import numpy as np
import pytest

from territorial.render import beside, player_colors, standings_panel
from territorial.render.figures import percent, short
from territorial.render.renderer import FAINT, INK, PAPER, letter_size, panel_size
from tests.render.support import contains


@pytest.mark.parametrize("size", [1, 2, 3])
def test_standings_put_the_leader_on_top_and_the_dead_in_grey(size):
    land, troops = np.array([100, 0, 500]), np.array([9999, 0, 1_234_567])
    panel = standings_panel(60 * size, land, troops, 1000, title="tick 9", names=["a", "b", "c"], size=size)
    assert panel.shape == (60 * size, 192 * size, 3)
    swatches = [panel[(11 * line + 8) * size, 34 * size] for line in (2, 3, 4)]
    np.testing.assert_array_equal(swatches, player_colors(3)[[2, 0, 1]])
    for text, color in (
        ("tick 9", INK),
        ("3", INK),
        ("c", INK),
        ("50.0%", INK),
        ("1.23M", INK),
        ("9999", INK),
        ("b", FAINT),
    ):
        assert contains(panel, text, color, letter_size(size)), text
    assert not contains(panel, "b", INK, letter_size(size))


def test_standings_cut_off_what_does_not_fit():
    many = np.arange(250)
    for height in (1, 7, 33, 200):
        for size in (1, 2):
            names = ["a name too long for its column"] * 250
            panel = standings_panel(height, many, many, 40_000, names=names, size=size)
            assert panel.shape == (height, 192 * size, 3)
            assert (panel[:, -1] == PAPER).all()
    with pytest.raises(ValueError, match="one entry for each seat"):
        standings_panel(99, many, many, 1, names=["one"])


def test_letters_are_large_where_all_seats_fit():
    assert panel_size(768, 32) == 2
    assert panel_size(768, 33) == 1
    land = np.arange(1, 33)
    panel = standings_panel(768, land, land, 1000, size=panel_size(768, 32))
    assert panel.shape[1] == 384
    assert contains(panel, "0.1%", INK, 20)  # the last of 32
    small = standings_panel(768, np.arange(1, 34), np.arange(1, 34), 1000, size=panel_size(768, 33))
    assert contains(small, "0.1%", INK, 11)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_longest_texts_do_not_run_into_one_another(size):
    """Each column of the widest line is followed by a line of paper, and nothing is cut off at the edges."""
    land, troops = np.array([1000] * 250), np.array([1_230_000] * 250)
    panel = standings_panel(300 * size, land, troops, 1000, names=["W" * 40] * 250, size=size)
    row = panel[25 * size : 35 * size]
    is_empty = (row == PAPER).all(axis=(0, 2))
    for column in (27 * size, 39 * size, is_empty.size - 2):
        assert is_empty[column], column
    between = is_empty[41 * size : 148 * size]
    assert between[60 * size :].any()  # names and land
    assert is_empty[148 * size : 160 * size].any()  # land and troops


def test_pictures_of_different_heights_stand_beside_each_other():
    left, right = np.full((4, 3, 3), 1, np.uint8), np.full((6, 2, 3), 2, np.uint8)
    image = beside(left, right)
    assert image.shape == (6, 5, 3)
    assert (image[:4, :3] == 1).all()
    assert (image[4:, :3] == PAPER).all()
    assert (image[:, 3:] == 2).all()


def test_shares_and_troops_are_short_and_never_rounded_up():
    assert [percent(part, 1000) for part in (0, 1, 999, 1000)] == ["0.0%", "0.1%", "99.9%", "100.0%"]
    assert percent(39_999, 40_000) == "99.9%"
    numbers = [0, 9999, 10_000, 12_399, 99_999, 999_999, 1_239_999, 12_399_999, 999_999_999, 1_234_000_000]
    assert [short(number) for number in numbers] == [
        "0",
        "9999",
        "10.0K",
        "12.3K",
        "99.9K",
        "999K",
        "1.23M",
        "12.3M",
        "999M",
        "1.23B",
    ]
    assert max(len(short(10**power - 1)) for power in range(1, 13)) == 5
