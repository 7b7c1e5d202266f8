"""Pictures of games: size, parts, the standings, texts and numbers in them; and boards, cell by cell."""

import numpy as np
import pytest

import territorial
from territorial.render import (
    Renderer,
    beside,
    make_renderer,
    owner_colors,
    player_colors,
    render_board,
    render_game,
    standings_panel,
)
from territorial.render.figures import short
from territorial.render.renderer import FAINT, INK, PAPER, fitting_scale, letter_size, panel_size
from tests.episodes import after_steps
from tests.render.support import BOARD, contains, land_of, random_board


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


@pytest.mark.parametrize(("seats", "size", "letters"), [(32, 2, 20), (33, 1, 11)])
def test_letters_are_large_where_all_seats_fit(seats, size, letters):
    land = np.arange(1, seats + 1)
    assert panel_size(768, seats) == size
    last = standings_panel(768, land, land, 1000, size=size)
    assert contains(last, "0.1%", INK, letters)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_longest_texts_do_not_run_into_one_another(size):
    """Each column of the widest line is followed by a line of paper, and nothing is cut off at the edges."""
    land, troops = np.array([1000] * 250), np.array([1_230_000] * 250)
    panel = standings_panel(300 * size, land, troops, 1000, names=["W" * 40] * 250, size=size)
    is_empty = (panel[25 * size : 35 * size] == PAPER).all(axis=(0, 2))
    for column in (27 * size, 39 * size, is_empty.size - 2):
        assert is_empty[column], column
    assert is_empty[41 * size : 148 * size][60 * size :].any()  # names and land
    assert is_empty[148 * size : 160 * size].any()  # land and troops


def test_pictures_of_different_heights_stand_beside_each_other():
    left, right = np.full((4, 3, 3), 1, np.uint8), np.full((6, 2, 3), 2, np.uint8)
    wanted = np.full((6, 5, 3), PAPER, np.uint8)
    wanted[:4, :3], wanted[:, 3:] = 1, 2
    np.testing.assert_array_equal(beside(left, right), wanted)


def test_troops_are_short_and_never_rounded_up():
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


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ((256, 256), (768, 1152)),
        ((256, 200), (768, 984)),
        ((1024, 1024), (1024, 1408)),
        ((16, 16), (768, 1152)),
        ((16, 1024), (160, 1024 + 192)),  # low, but with room for standings, in small letters
    ],
)
def test_pictures_have_a_board_of_768_pixels_and_a_panel(shape, size):
    owner = random_board(*shape, 8)
    picture = Renderer(8).draw(owner, land_of(owner, 8), np.zeros(8, np.int64), tick=1)
    assert (picture.shape, picture.dtype) == ((*size, 3), np.uint8)
    assert contains(picture[:40], "tick 1  8 alive", INK, 11 if shape[0] == 16 < shape[1] else 20)


def test_every_picture_is_new():
    owner = random_board(30, 30, 3)
    renderer = Renderer(3, scale=2)
    first = renderer.draw(owner, land_of(owner, 3), [1, 2, 3])
    kept = first.copy()
    renderer.draw(owner[::-1], land_of(owner, 3), [4, 5, 6])
    np.testing.assert_array_equal(first, kept)


def test_drawing_changes_nothing_that_it_is_given():
    owner, land, troops = random_board(30, 30, 3), np.array([1, 2, 3]), np.array([4, 5, 6])
    for array in (owner, land, troops):
        array.flags.writeable = False
    for mode in ("ansi", "rgb_array"):
        make_renderer(mode, 3, ["a", "b", "c"], 20).draw(owner, land, troops, tick=0)


def test_a_game_of_a_batch_is_drawn_with_the_names_of_its_seats():
    config = territorial.GameConfig(height=40, width=40, num_players=3, map="mountains")
    game = after_steps(
        territorial.VecGame(config, 2, seats=["banker", "turtle", "novice"], observe=False), 30
    )
    picture = render_game(game, 1)
    assert picture.shape == (760, 760 + 384, 3)
    for word in ("banker", "turtle", "novice", f"tick {game.state.tick[1]}"):
        assert contains(picture[:160, 760:], word, INK, 20), word
    owner = game.state.owner[1, 1:-1, 1:-1]
    bare = render_game(game, 1, scale=3, labels=False, panel=False)
    np.testing.assert_array_equal(bare, render_board(owner, 3, 3, "mountains"))
    assert (render_game(game, 0) != picture).any()
    assert contains(render_game(game, 0, names=["Ann", "Bob", "Cid"])[:160, 760:], "Bob", INK, 20)


def test_scales_fill_the_side_and_stay_in_range():
    assert [fitting_scale((side, 9)) for side in (9, 100, 256, 384, 768, 1024)] == [64, 7, 3, 2, 1, 1]
    assert fitting_scale((10, 100), 512) == 5


DRAWN = random_board(20, 20, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Renderer(0), "num_players is 0"),
        (lambda: Renderer(2, names=["a"]), r"names has shape \(1,\); it must be \(2,\)"),
        (lambda: Renderer(2, scale=0), "scale is 0"),
        (lambda: Renderer(2, scale=65), "scale is 65"),
        (
            lambda: Renderer(3).draw(DRAWN, [1, 2], [1, 2, 3]),
            r"land has shape \(2,\); it must be \(3,\): one for each seat",
        ),
        (lambda: Renderer(3).draw(DRAWN, [1, 2, 3], [1, 2, 3, 4]), r"troops has shape \(4,\)"),
        (lambda: Renderer(3).draw(DRAWN.astype(int), [1, 2, 3], [1, 2, 3]), "owner is a"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# ---- boards ----------------------------------------------------------------------------------------------


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
