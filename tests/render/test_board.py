"""Boards: cells in the colour of their owners, and lines where owners change."""

import numpy as np
import pytest

from territorial.render import owner_colors, player_colors, render_board
from territorial.render.palette import NEUTRAL_COLOR
from tests.render.support import BOARD, random_board


def drawn_cell_by_cell(owner, num_players, scale, terrain):
    """The same picture as the docstring describes it, slowly."""
    colors = owner_colors(num_players, terrain).astype(int)
    height, width = owner.shape
    image = np.empty((height * scale, width * scale, 3), int)
    line = max(1, scale // 4)
    for (r, c), code in np.ndenumerate(owner):
        cell = image[r * scale : (r + 1) * scale, c * scale : (c + 1) * scale]
        cell[:] = colors[code]
        sides = {
            (r - 1, c): cell[:line],
            (r + 1, c): cell[-line:],
            (r, c - 1): cell[:, :line],
            (r, c + 1): cell[:, -line:],
        }
        for (row, column), side in sides.items():
            is_inside = 0 <= row < height and 0 <= column < width
            if is_inside and owner[row, column] != code and code != 0:
                side[:] = colors[code] * 9 // 16
    return image


@pytest.mark.parametrize("scale", [1, 2, 3, 4, 7, 8])
@pytest.mark.parametrize("terrain", ["water", "mountains"])
def test_every_pixel_is_what_the_docstring_says(scale, terrain):
    owner = random_board(23, 17, 9)
    assert {0, 255} < set(np.unique(owner))
    image = render_board(owner, 9, scale, terrain)
    assert image.dtype == np.uint8
    np.testing.assert_array_equal(image, drawn_cell_by_cell(owner, 9, scale, terrain))


def test_parts_of_larger_arrays_are_drawn_as_well():
    owner = random_board(40, 60, 5)
    np.testing.assert_array_equal(
        render_board(owner[1:-1:2, ::-3], 5), render_board(owner[1:-1:2, ::-3].copy(), 5)
    )


def test_a_board_of_one_owner_has_no_lines():
    image = render_board(np.full((3, 5), 7, np.uint8), 7, scale=4)
    assert image.shape == (12, 20, 3)
    assert (image == player_colors(7)[6]).all()


def test_neutral_land_has_no_lines():
    assert (render_board(BOARD, 2, 5)[:5] == NEUTRAL_COLOR).all()


@pytest.mark.parametrize("scale", [1, 2, 3, 8])
def test_pictures_turn_with_the_board(scale):
    owner = np.random.default_rng(0).choice(np.array([0, 1, 2, 3, 255], np.uint8), (9, 14))
    image = render_board(owner, 3, scale)
    assert image.shape == (9 * scale, 14 * scale, 3)
    np.testing.assert_array_equal(render_board(owner.T, 3, scale), image.transpose(1, 0, 2))
    np.testing.assert_array_equal(render_board(owner[::-1], 3, scale), image[::-1])


def test_terrain_changes_the_colour_of_blocked_cells_only():
    water, mountains = render_board(BOARD, 2, 3), render_board(BOARD, 2, 3, "mountains")
    differs = (water != mountains).any(axis=2)
    np.testing.assert_array_equal(differs, (BOARD == 255).repeat(3, 0).repeat(3, 1))


def test_as_many_players_as_there_can_be_have_their_colours():
    owner = np.arange(251, dtype=np.uint8)[None].repeat(3, axis=0)
    owner[:, 0] = 255
    image = render_board(owner, 250, 5)
    np.testing.assert_array_equal(image[7, 2::5], owner_colors(250)[owner[0]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (BOARD.astype(np.int64), 2),
            r"owner is a int64 array of shape \(4, 4\); it must be uint8, \(H, W\)",
        ),
        ((BOARD[0], 2), r"owner is a uint8 array of shape \(4,\)"),
        ((BOARD[:0], 2), r"owner is a uint8 array of shape \(0, 4\)"),
        (([[1]], 2), r"owner is \[\[1\]\]"),
        ((BOARD, 1), r"owner\[1, 3\] is 2; it must be 0 to num_players, 1, or 255"),
        ((BOARD, 2, 0), "scale is 0; it must be a whole number from 1 to 64"),
        ((BOARD, 2, 65), "scale is 65"),
        ((BOARD, 2, 3, "lava"), "'lava'; it must be one of water, mountains"),
    ],
)
def test_boards_that_are_none_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        render_board(*arguments)
