"""Pictures of whole games: size, parts and what is asked of them."""

import numpy as np
import pytest

import territorial
from territorial.render import Renderer, make_drawer, render_board, render_game
from territorial.render.renderer import INK, fitting_scale
from tests.render.support import contains, land_of, random_board


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
    assert picture.shape == (*size, 3)
    assert picture.dtype == np.uint8
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
        make_drawer(mode, 3, ["a", "b", "c"], 20).draw(owner, land, troops, tick=0)


def test_a_game_of_a_batch_is_drawn_with_the_names_of_its_seats():
    config = territorial.GameConfig(height=40, width=40, num_players=3, map="mountains")
    game = territorial.VecGame(config, 2, seats=["banker", "turtle", "novice"], observe=False)
    game.reset()
    for _ in range(30):
        game.step()
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
        (lambda: Renderer(2, names=["a"]), "names has 1 entries; it needs 2"),
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
