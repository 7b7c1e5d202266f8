"""Pictures and films of a whole game against the clock.

Run once as tests in the ordinary way; `make bench` times them. `extra_info` holds the rate that follows from
the median, with its goal where there is one, and the bytes of films.
"""

import pytest

import territorial
from benchmarks.harness import note_rate
from territorial.render import Renderer, TextRenderer, write_gif
from territorial.replay import LiveGame

CONFIG = territorial.GameConfig()
SEATS = territorial.LINEUPS["mixed-1"].seats
GOAL = 200
"""Pictures a second of the board at three pixels per cell, labels and standings: 768 x 1152 pixels."""
FILM_PICTURES = 100


@pytest.fixture(scope="module")
def moments():
    """Every step of a game, as the arguments of a renderer."""
    game = territorial.VecGame(CONFIG, 1, seats=SEATS, autoreset="disabled", observe=False)
    game.reset(seeds=[0])
    return [(f.owner, f.land, f.troops, f.tick) for f in LiveGame(game).frames(CONFIG.decision_every)]


def drawn(renderer, moments):
    """Yield the pictures one by one: together they have gigabytes."""
    for board, land, troops, tick in moments:
        yield renderer.draw(board, land, troops, tick=tick)


@pytest.mark.benchmark(group="pictures of every step of a game of 32 bots on 256 x 256 cells")
@pytest.mark.parametrize(
    ("make", "keywords", "goal"),
    [
        pytest.param(Renderer, {"scale": 3}, GOAL, id="board-x-3-labels-standings"),
        pytest.param(Renderer, {"scale": 2}, None, id="board-x-2-labels-standings"),
        pytest.param(Renderer, {"scale": 3, "panel": False}, None, id="board-x-3-labels"),
        pytest.param(Renderer, {"scale": 3, "labels": False, "panel": False}, None, id="board-x-3"),
        pytest.param(TextRenderer, {"colors": "24bit"}, None, id="text-24-bits"),
        pytest.param(TextRenderer, {"colors": "none"}, None, id="text-no-colours"),
    ],
)
def test_pictures(benchmark, moments, make, keywords, goal):
    def draw():
        renderer = make(CONFIG.num_players, names=SEATS, **keywords)
        return sum(1 for _ in drawn(renderer, moments))

    assert benchmark.pedantic(draw, rounds=3) == len(moments)
    note_rate(benchmark, len(moments), "pictures/s", goal)


@pytest.mark.benchmark(group=f"films of {FILM_PICTURES} pictures, two pixels per cell")
def test_films_of_pictures(benchmark, moments, tmp_path):
    chosen = [moments[len(moments) * i // FILM_PICTURES] for i in range(FILM_PICTURES)]
    path = tmp_path / "game.gif"

    def film():
        write_gif(path, drawn(Renderer(CONFIG.num_players, names=SEATS, scale=2), chosen))

    benchmark.pedantic(film)
    benchmark.extra_info["bytes"] = path.stat().st_size
    note_rate(benchmark, FILM_PICTURES, "pictures/s")
