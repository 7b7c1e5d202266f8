"""Text on pictures: a real font, whole letters, what edges cut off, and where labels have room."""

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from territorial.render import Renderer, player_colors, render_board
from territorial.render.board import NEUTRAL_COLOR
from territorial.render.labels import (
    FULL,
    SMALLEST,
    capital_height,
    draw_text,
    find_places,
    fitting,
    text_mask,
    text_width,
)
from tests.render.support import contains, land_of, random_board

SIZES = (SMALLEST, 13, 14, 17, 18, 20, 22, 28, 36)
TEXTS = ("0123456789 12.3% 1.23M", "17  metronome-1", "AVATAR To j/x,f;W", "gjpqy")


def by_pillow(text, size):
    """What Pillow draws by itself, as coverage from 0 to 1, of the height of ``text_mask``."""
    mask = text_mask(text, size)
    page = Image.new("L", (mask.shape[1], mask.shape[0]))
    margin = (mask.shape[1] - text_width(text, size)) // 2
    ImageDraw.Draw(page).text((margin, size), text, 255, ImageFont.load_default(size), anchor="ls")
    return np.asarray(page) / 255


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("text", TEXTS)
def test_letters_put_side_by_side_are_what_pillow_draws_of_the_whole_text(text, size):
    assert np.abs(text_mask(text, size) / FULL - by_pillow(text, size)).max() <= 0.5 / FULL + 1 / 255


@pytest.mark.parametrize("size", SIZES)
def test_no_letter_is_cut_off(size):
    for character in map(chr, range(33, 127)):
        mask = text_mask(character, size)
        assert mask.any(), character
        assert (np.pad(mask[1:-1, 1:-1], 1) == mask).all(), character


@pytest.mark.parametrize("size", SIZES)
def test_letters_can_be_told_apart_and_have_some_pixels_all_of_ink(size):
    characters = "0123456789.%-ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz_:?+/#"
    assert len({text_mask(character, size).tobytes() for character in characters}) == len(characters)
    assert (text_mask("metronome 1234", size) == FULL).any()


@pytest.mark.parametrize("size", SIZES)
def test_digits_are_of_one_width_and_as_high_as_is_said(size):
    assert len({text_width(digit, size) for digit in "0123456789"}) == 1
    rows = np.flatnonzero(text_mask("H", size).any(axis=1))
    assert abs(size - rows[0] - capital_height(size)) <= 1
    assert rows[-1] == size - 1  # it stands on the baseline


def test_what_the_font_lacks_is_a_box_or_has_no_accent_and_is_never_an_error():
    for name in ("한국", "a\nb", "\x00", "\ud83d"):
        assert text_mask(name, 20).any()
    assert not text_mask("", 20).any()
    assert not np.array_equal(text_mask("a", 20), text_mask("한", 20))
    np.testing.assert_array_equal(text_mask("Ångström, é", 20), text_mask("Angstrom, e", 20))


@pytest.mark.parametrize(
    ("top", "left"), [(-5, 20), (33, 20), (12, -7), (12, 50), (-99, 0), (99, 0), (0, -99), (0, 99), (45, 62)]
)
def test_text_is_cut_off_at_every_edge(top, left):
    page, large = np.zeros((40, 60, 3), np.uint8), np.zeros((240, 260, 3), np.uint8)
    draw_text(page, top, left, "#?", (9, 9, 9), 20)
    draw_text(large, 100 + top, 100 + left, "#?", (9, 9, 9), 20)
    np.testing.assert_array_equal(page, large[100:140, 100:160])


@pytest.mark.parametrize(("align", "part"), [("left", 0), ("middle", 0.5), ("right", 1)])
def test_text_begins_has_its_middle_or_ends_at_a_column(align, part):
    page = np.zeros((30, 200, 3), np.uint8)
    draw_text(page, 22, 100, "8080808", (255, 255, 255), 20, align)
    inked = np.flatnonzero(page.any(axis=(0, 2)))
    assert inked[0] + part * (inked[-1] + 1 - inked[0]) == pytest.approx(100, abs=1.5)


def test_ink_is_laid_over_what_is_there():
    page = np.full((30, 60, 3), (10, 200, 30), np.uint8)
    draw_text(page, 22, 5, "H", (250, 0, 90), 20)
    covered = np.zeros((30, 60), int)
    mask = text_mask("H", 20)
    margin = (mask.shape[1] - text_width("H", 20)) // 2
    covered[2 : 2 + mask.shape[0], 5 - margin : 5 - margin + mask.shape[1]] = mask
    expected = ((FULL - covered)[..., None] * [10, 200, 30] + covered[..., None] * [250, 0, 90]) // FULL
    np.testing.assert_array_equal(page, expected)


def test_text_is_shortened_to_a_width():
    assert fitting("metronome", 20, 1000) == "metronome"
    short = fitting("metronome", 20, 60)
    assert "metronome".startswith(short)
    assert text_width(short, 20) <= 60 < text_width("metronome"[: len(short) + 1], 20)
    assert fitting("metronome", 20, 0) == ""


# ---- labels ------------------------------------------------------------------------------------------


WHITE, BLACK = (255, 255, 255), (0, 0, 0)


@pytest.mark.parametrize("size", [(16, 16), (60, 90), (128, 128), (300, 170), (1024, 40)])
def test_every_label_stands_on_the_land_of_its_owner(size):
    owner = random_board(*size, 9)
    owner[owner == 4] = 0
    places = find_places(owner, 9)
    for code in range(10):
        row, column = places.row[code], places.column[code]
        assert row == -1 if code == 4 else owner[row, column] == code


def test_land_of_a_single_cell_is_found_on_the_largest_board():
    owner = np.zeros((1024, 1024), np.uint8)
    owner[1001, 3], owner[17, 500] = 7, 250
    places = find_places(owner, 250)
    assert [(places.row[seat], places.column[seat]) for seat in (7, 250)] == [(1001, 3), (17, 500)]
    assert (places.row >= 0).sum() == 3


def test_a_label_keeps_away_from_edges_and_holes():
    owner = np.ones((100, 100), np.uint8)
    owner[:, 60:] = 2
    owner[48:52, 28:32] = 255
    places = find_places(owner, 2)
    row, column, across, along = (part[1] for part in places)
    assert 5 < across <= 30
    assert 5 < along <= 50
    for reach in range(1, 5):
        assert (owner[row - reach : row + reach + 1, column - reach : column + reach + 1] == 1).all()
    assert abs(places.column[2] - 80) <= 2
    assert abs(places.row[2] - 50) <= 2


def test_a_label_rests_while_its_place_will_do():
    owner = np.zeros((100, 100), np.uint8)
    owner[30:70, 20:60] = 1
    first = find_places(owner, 1)
    owner[30:70, 60:66] = 1
    second = find_places(owner, 1, first)
    assert (second.row[1], second.column[1]) == (first.row[1], first.column[1])
    owner[30:70, 20:45] = 0
    third = find_places(owner, 1, second)
    assert third.column[1] > 50
    assert find_places(np.zeros_like(owner), 1, third).row[1] == -1


def test_labels_grow_with_the_land_and_say_more():
    color = player_colors(1)[0]

    def drawn(side):
        owner = np.zeros((200, 200), np.uint8)
        owner[100 - side : 100 + side, 100 - side : 100 + side] = 1
        return Renderer(1, names=["Ann"], scale=1, panel=False).draw(owner, land_of(owner, 1), [12_345])

    def says(side, text, size):
        return any(contains(drawn(side), text, ink, size, color) for ink in (WHITE, BLACK))

    assert contains(drawn(2), "1", BLACK, 11, NEUTRAL_COLOR, rim=True)  # below the land
    assert [says(side, "12.3K", 11) for side in (2, 24)] == [False, True]
    assert [says(side, "1  Ann", 11) for side in (24, 28)] == [False, True]
    assert says(90, "1  Ann", 36)


def test_the_dead_have_no_label_and_free_land_none_either():
    owner = np.zeros((60, 60), np.uint8)
    picture = Renderer(3, scale=2, panel=False).draw(owner, [0, 0, 0], [0, 0, 0])
    np.testing.assert_array_equal(picture, render_board(owner, 3, 2))


def test_labels_at_the_edge_of_the_board_are_whole():
    owner = np.zeros((40, 40), np.uint8)
    owner[39, 20] = 1
    picture = Renderer(1, scale=1, panel=False).draw(owner, [1], [5])
    assert contains(picture, "1", BLACK, 11, NEUTRAL_COLOR, rim=True)
