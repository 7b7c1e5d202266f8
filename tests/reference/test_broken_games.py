"""Invariants: games keep them, and a game that breaks one is named with it."""

import numpy as np
import pytest

from territorial import GameConfig, VecGame
from tests.twin.invariants import INVARIANTS, InvariantError, check_game, check_games

CONFIG = GameConfig(height=24, width=24, num_players=4, max_ticks=1500)


def spoil(game, name, seat, change):
    """Add to a number of a seat of game 1; ``seat`` may be an index of several axes."""
    getattr(game.state, name)[(1, *np.atleast_1d(seat))] += change


BROKEN = {
    "troops balance": (("troops", 2, 1), "troops of seat 2: .*, should be"),
    "land is counted": (("land", 1, 1), "land of owner 1: 13, should be 12"),
    "nothing is negative": (("pools", (1, 1), 5), "a pool of nobody, or against oneself"),
    "teams are dealt": (("team", 2, 2), "team of seat 2: 4, should be 2"),
    "places are those of teams": (("place2", 3, 5), "the place of team 3 is 2.5, and it is not out"),
    "the dead have nothing": (("death_tick", 3, 8), "death_tick is not that of the dead"),
    "the living are large enough": (("peak", 2, 10_000), "seat 2 lives and is too small"),
    "pools are remembered": (("active", (1, 0), 4), "`active` is not the set of pools"),
    "fronts are right": (("fronts", (1, 0), 1), "the front of seat 1 against owner 0 has"),
}


@pytest.mark.parametrize("name", INVARIANTS)
def test_a_broken_promise_is_named_with_game_seed_and_tick(name):
    game = VecGame(CONFIG, 2)
    game.reset(seeds=[5, 6])
    check_games(game)
    change, message = BROKEN[name]
    spoil(game, *change)
    if name == "nothing is negative":
        game.blocks.ledger[1, 0, 1] += 5
    check_game(game, 0)
    with pytest.raises(InvariantError, match=f"^game 1, seed 6, tick 0: {name}: {message}"):
        check_games(game)


def test_cells_that_turn_into_water_are_seen():
    game = VecGame(CONFIG, 2)
    game.reset(seed=1)
    game.state.planes[1, 0, 0, 1] ^= np.uint64(1 << 4)
    game.step()
    with pytest.raises(InvariantError, match="land is counted"):
        check_games(game)
