"""Boards: cells in the colour of their owners, and lines where owners change."""

import numpy as np
import pytest

from territorial.render import owner_colors, render_board
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


@pytest.mark.parametrize(("scale", "players"), [*((scale, 9) for scale in (1, 2, 3, 4, 7, 8)), (5, 250)])
@pytest.mark.parametrize("terrain", ["water", "mountains"])
def test_every_pixel_is_what_the_docstring_says(scale, players, terrain):
    owner = random_board(23, 17, players)
    assert {0, 255} < set(np.unique(owner))
    image = render_board(owner, players, scale, terrain)
    assert image.dtype == np.uint8
    np.testing.assert_array_equal(image, drawn_cell_by_cell(owner, players, scale, terrain))


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
