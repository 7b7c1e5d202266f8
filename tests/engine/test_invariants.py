"""What section "What always holds" of docs/rules.md promises, on games of the engine, small and full size."""

import numpy as np
import pytest

from territorial import LINEUPS, GameConfig, VecGame
from tests.engine.support import game_on, rows_of
from tests.episodes import random_actions
from tests.twin.differential import setting_of
from tests.twin.invariants import check_games

BOTS = ("metronome", "banker", "turtle", "novice", "random")
SMALL = {
    f"{height}x{width}-{kind}": GameConfig(height=height, width=width, num_players=players, map=kind, **rest)
    for height, width, players, kind, rest in (
        (24, 24, 5, "lakes", {}),
        (20, 65, 8, "mountains", {"decision_every": 3}),
        (40, 30, 12, "open", {"deaths": False}),
        (48, 66, 70, "open", {"max_ticks": 600}),
        (30, 200, 30, "lakes", {"teams": 4, "team_deal": "random"}),
        (70, 63, 2, "lakes", {}),
        (521, 64, 9, "mountains", {}),
    )
}


@pytest.mark.parametrize("by_bots", [True, False], ids=["bots", "clueless agents"])
@pytest.mark.parametrize("config", SMALL.values(), ids=SMALL.keys())
def test_every_promise_is_kept_after_every_step_of_a_small_game(config, by_bots):
    seats = [BOTS[seat % len(BOTS)] for seat in range(config.num_players)]
    game, rng = VecGame(config, 2, seed=5, seats=seats if by_bots else None), np.random.default_rng(0)
    game.reset()
    check_games(game)
    for _ in range(60):
        game.step(random_actions(game, rng))
        check_games(game)


@pytest.mark.parametrize("seed", range(24))
def test_every_promise_is_kept_in_a_game_of_random_rules(seed):
    """Every second game is without teams: there, each seat is a team."""
    config = setting_of(seed, with_teams=seed % 2 == 1).config
    game, rng = VecGame(config, 1, seed=seed, autoreset="disabled"), np.random.default_rng(seed)
    game.reset()
    for _ in range(300):
        if game.state.over[0]:
            break
        game.step(random_actions(game, rng))
        check_games(game)
    of_team = dict(
        zip(game.state.team[0, 1:].tolist(), game.state.doubled_place[0, 1:].tolist(), strict=True)
    )
    assert not game.state.over[0] or sum(of_team.values()) == len(of_team) * (len(of_team) + 1)


def test_fronts_and_borders_are_counted_anew_whatever_was_kept_of_them():
    game = game_on(rows_of(*["11.22233."] * 16), (10, 10, 10))
    kept = game.state.fronts.copy(), game.state.bordering.copy()
    assert kept[1][0, :, 0].tolist() == [0b1110, 0b0001, 0b1001, 0b0101]
    game.state.fronts[...], game.state.bordering[...] = 5, ~np.uint64(0)
    game.play(0, np.zeros((0, 4), np.int64), 0)
    assert np.array_equal(game.state.fronts, kept[0])
    assert np.array_equal(game.state.bordering, kept[1])


def test_every_promise_is_kept_at_full_size():
    lineup = LINEUPS["mixed-1"]
    game = VecGame(
        GameConfig(), 3, seed=1, seats=lineup.seats, autoreset="disabled", observe=False, num_threads=2
    )
    game.reset(seeds=lineup.seeds[:3])
    while not game.state.over.all():
        for _ in range(20):
            game.step()
        check_games(game)
    assert (game.state.doubled_place[:, 1:].sum(axis=1) == 32 * 33).all()
    assert (game.state.illegal == 0).all()
