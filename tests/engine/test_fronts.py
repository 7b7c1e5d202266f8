"""The front sizes that the engine keeps against counting them on the board of owner codes."""

import numpy as np
import pytest

from territorial import GameConfig, VecGame
from territorial.bots import NAMES
from territorial.constants import NEUTRAL
from tests.engine.support import board, game_on, rows_of
from tests.engine.test_observe import slow_fronts


def counted(game, k):
    """Return the sizes of all fronts, counted cell by cell; neutral land has none."""
    sizes = slow_fronts(board(game, k), game.config.num_players)
    sizes[NEUTRAL] = 0
    np.fill_diagonal(sizes, 0)
    return sizes


@pytest.mark.parametrize("seed", range(6))
def test_kept_fronts_equal_counted_ones_in_games_of_every_size(seed):
    rng = np.random.default_rng(seed)
    players = int(rng.choice([2, 3, 8, 30, 70]))
    height, width = int(rng.integers(40, 100)), int(rng.choice([40, 63, 64, 65, 128, 130, 200]))
    kind, deaths = str(rng.choice(["open", "lakes", "mountains"])), bool(seed % 3)
    config = GameConfig(
        height=height, width=width, num_players=players, map=kind, deaths=deaths, max_ticks=1500
    )
    game = VecGame(config, 2, seed=seed, seats=[str(name) for name in rng.choice(NAMES, players)])
    game.reset()
    captures = 0
    for step in range(100):
        game.step()
        if step % 4 == 0:
            for k in range(2):
                assert np.array_equal(game.state.fronts[k], counted(game, k)), f"game {k}, step {step}"
            captures += int(game.state.taken.sum())
    assert captures > 0


def test_a_front_across_the_edge_of_a_strip_is_followed():
    drawing = rows_of(*["1" * 60 + "2" * 8 + "." * 62] * 20)
    game = game_on(drawing, (50_000, 10), pools={(1, 2): 40_000, (1, 0): 0})
    for _ in range(16):
        game.tick(0)
        assert np.array_equal(game.state.fronts[0], counted(game, 0))
    assert game.state.taken[0, 1, 2] >= 100, "over column 64"


def test_a_death_turns_fronts_with_the_dead_into_fronts_with_neutral_land():
    game = game_on(rows_of(*["11.22233."] * 16), (10, 10, 10), peak=(32, 1000, 32))
    assert game.state.fronts[0, 3, 2] == 16
    game.tick(0)
    assert game.state.alive[0].tolist() == [0, 1, 0, 1]
    assert game.state.fronts[0, 3].tolist() == [32, 0, 0, 0]
    assert np.array_equal(game.state.fronts[0], counted(game, 0))


def test_fronts_and_borders_are_counted_anew_whatever_was_kept_of_them():
    game = game_on(rows_of(*["11.22233."] * 16), (10, 10, 10))
    game.state.fronts[...], game.state.bordering[...] = 5, ~np.uint64(0)
    game.play(0, np.zeros((0, 4), np.int64), 0)
    sizes = counted(game, 0)
    assert np.array_equal(game.state.fronts[0], sizes)
    touches = (sizes > 0) | (sizes > 0).T
    assert np.array_equal(game.state.bordering[0, :, 0], touches @ (1 << np.arange(4)))
    assert not game.state.bordering[0, :, 1:].any()
