"""Speed of pictures, as pytest-benchmark times them; benchmarks/media/render_speed.py times a whole game."""

import pytest

import territorial
from territorial.render import Renderer, TextRenderer, draw_game

GOAL = 200
"""Pictures a second of a 256 x 256 game with 32 players: 768 x 1152 pixels, labels and standings included."""

SEATS = territorial.LINEUPS["mixed-1"].seats


@pytest.fixture(scope="module")
def game():
    game = territorial.VecGame(territorial.GameConfig(), 1, seats=SEATS, observe=False)
    game.reset(seeds=[0])
    for _ in range(60):
        game.step()
    assert game.state.alive.sum() == 32  # the most labels and lines there can be
    return game


@pytest.mark.parametrize(
    "make",
    [lambda: Renderer(32, names=SEATS, scale=3), lambda: TextRenderer(32, names=SEATS, colors="24bit")],
    ids=["rgb_array", "ansi"],
)
def test_pictures_of_a_full_game(benchmark, game, make):
    drawer = make()
    drawn = benchmark(draw_game, drawer, game)
    assert len(drawn) == 768 or drawn.startswith("tick 600  32 alive")
    benchmark.extra_info["goal_pictures_per_s"] = GOAL
    if benchmark.stats is not None:  # None where benchmarks run as tests
        benchmark.extra_info["pictures_per_s"] = round(1 / benchmark.stats.stats.median)
