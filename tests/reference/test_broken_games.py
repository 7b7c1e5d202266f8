"""Invariants: games keep them, and a game that breaks one is named with it."""

import numpy as np
import pytest

from territorial import GameConfig, VecGame
from tests.episodes import play_games
from tests.twin.invariants import INVARIANTS, InvariantError, check_game, check_games

CONFIG = GameConfig(height=24, width=24, num_players=4, max_ticks=1500)


def test_random_play_keeps_every_promise_and_the_hook_sees_every_step():
    game, ticks = VecGame(CONFIG, 2, seed=3), []
    game.reset()

    def hook(seen):
        check_games(seen)
        ticks.append(int(seen.state.tick[0]))

    play_games(game, 40, seed=1, hook=hook)
    assert ticks == list(range(10, 410, 10))


def break_troops(game):
    game.state.troops[1, 2] += 1


def break_land(game):
    game.state.land[1, 1] += 1


def break_map(game):
    game.state.planes[1, 0, 0, 1] ^= np.uint64(1 << 4)


def break_pools(game):
    game.state.pools[1, 1, 1] = 5
    game.blocks.ledger[1, 0, 1] += 5


def break_deal(game):
    game.state.team[1, 2] = 4


def break_place(game):
    game.state.place2[1, 3] = 5


def break_death(game):
    game.state.death_tick[1, 3] = 7


def break_peak(game):
    game.state.peak[1, 2] = 10_000


def break_active(game):
    game.state.active[1, 1, 0] ^= np.uint64(1 << 2)


def break_fronts(game):
    game.state.fronts[1, 1, 0] += 1


BROKEN = {
    "troops balance": (break_troops, "troops of seat 2: .*, should be"),
    "land is counted": (break_land, "land of owner 1: 13, should be 12"),
    "nothing is negative": (break_pools, "a pool of nobody, or against oneself"),
    "teams are dealt": (break_deal, "team of seat 2: 4, should be 2"),
    "places are those of teams": (break_place, "the place of team 3 is 2.5, and it is not out"),
    "the dead have nothing": (break_death, "death_tick is not that of the dead"),
    "the living are large enough": (break_peak, "seat 2 lives and is too small"),
    "pools are remembered": (break_active, "`active` is not the set of pools"),
    "fronts are right": (break_fronts, "the front of seat 1 against owner 0 has"),
}


@pytest.mark.parametrize("name", INVARIANTS)
def test_a_broken_promise_is_named_with_game_seed_and_tick(name):
    game = VecGame(CONFIG, 2)
    game.reset(seeds=[5, 6])
    check_games(game)
    spoil, message = BROKEN[name]
    spoil(game)
    check_game(game, 0)
    with pytest.raises(InvariantError, match=f"^game 1, seed 6, tick 0: {name}: {message}"):
        check_games(game)


def test_cells_that_turn_into_water_are_seen():
    game = VecGame(CONFIG, 2)
    game.reset(seed=1)
    break_map(game)
    game.step()
    with pytest.raises(InvariantError, match="land is counted"):
        check_games(game)
