"""Standings, text and numbers in pictures."""

import numpy as np
import pytest

from territorial.render import beside, player_colors, standings_panel
from territorial.render.figures import percent, short
from territorial.render.font import draw_text, text_mask
from territorial.render.panel import FAINT, INK, PAPER, panel_size
from tests.render.support import contains


@pytest.mark.parametrize("size", [1, 2, 3])
def test_standings_put_the_leader_on_top_and_the_dead_in_grey(size):
    land, troops = np.array([100, 0, 500]), np.array([9999, 0, 1_234_567])
    panel = standings_panel(60 * size, land, troops, 1000, title="tick 9", names=["a", "b", "c"], size=size)
    assert panel.shape == (60 * size, 192 * size, 3)
    swatches = [panel[(10 * line + 3) * size, 32 * size] for line in (2, 3, 4)]
    np.testing.assert_array_equal(swatches, player_colors(3)[[2, 0, 1]])
    for text, color in (
        ("TICK 9", INK),
        ("3", INK),
        ("C", INK),
        ("50.0%", INK),
        ("1.23M", INK),
        ("9999", INK),
        ("B", FAINT),
    ):
        assert contains(panel, text, color, size), text
    assert not contains(panel, "B", INK, size)


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
    assert panel_size(768, 37) == 1
    land = np.arange(1, 37)
    panel = standings_panel(768, land, land, 1000, size=panel_size(768, 36))
    assert panel.shape[1] == 384
    assert contains(panel, "1  ", INK, 2)  # the last of 36


def test_pictures_of_different_heights_stand_beside_each_other():
    left, right = np.full((4, 3, 3), 1, np.uint8), np.full((6, 2, 3), 2, np.uint8)
    image = beside(left, right)
    assert image.shape == (6, 5, 3)
    assert (image[:4, :3] == 1).all()
    assert (image[4:, :3] == PAPER).all()
    assert (image[:, 3:] == 2).all()


def test_every_glyph_is_its_own():
    characters = "0123456789.%-ABCDEFGHIJKLMNOPQRSTUVWXYZ_:?+/# "
    assert len({text_mask(c).tobytes() for c in characters}) == len(characters)
    np.testing.assert_array_equal(text_mask("a~ß한", 2), text_mask("A???", 2))


def test_text_is_cut_off_at_every_edge():
    page = np.zeros((40, 60, 3), np.uint8)
    draw_text(page, 12, 20, "#?", (9, 9, 9), 2)
    inside = page.copy()
    for top, left in ((-5, 20), (33, 20), (12, -7), (12, 50), (-99, 0), (99, 0), (0, -99), (0, 99)):
        moved = np.zeros((240, 260, 3), np.uint8)
        moved[100 + top : 140 + top, 100 + left - 8 : 160 + left - 8] = 0
        draw_text(moved, 100 + top, 100 + left, "#?", (9, 9, 9), 2)
        page[:] = 0
        draw_text(page, top, left, "#?", (9, 9, 9), 2)
        np.testing.assert_array_equal(page, moved[100:140, 100:160])
    assert inside.any()


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
