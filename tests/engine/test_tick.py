"""Launches, the first step of a tick, are made once and on the decision grid; who is due is found."""

import numpy as np
import pytest

from territorial import GameConfig, VecGame
from territorial.constants import AGENT_CODE, FIRST_BOT_CODE
from territorial.engine.turns import seats_that_decide
from territorial.game.rules import find_due
from territorial.game.scratch import make_work
from territorial.game.state import TICK, allocate, game_of, seating_of, view
from territorial.jit.decorators import JIT_ENABLED


def begun(**rules):
    """Return a game for two, whose first player has more than enough for any launch at neutral land."""
    config = GameConfig(height=16, width=16, num_players=2, map="open", **rules)
    game = VecGame(config, num_games=1, autoreset="disabled")
    game.reset(seeds=[3])
    game.state.troops[0, 1] = 10_000
    return game


@pytest.mark.parametrize("count", [0, 1, 2])
def test_the_launches_that_a_tick_is_given_are_made_in_it(count):
    game = begun()
    game.tick(0, [(1, 0, 100)] * count)
    assert game.state.tick[0] == 1
    troops, taxes = 10_000, 0
    for _ in range(count):
        tax = troops * game.config.launch_tax // 1024
        troops, taxes = troops - tax - troops * 100 // 1024, taxes + tax
    assert view(game.blocks, "tax")[0, 1] == taxes, "each is made once"


def test_launches_of_other_ticks_are_not_made():
    """All ticks up to the next decision point are given the same list."""
    together, apart = begun(decision_every=3), begun(decision_every=3)
    together.play(0, [(3, 1, 0, 100)], 6)
    for tick in range(6):
        apart.tick(0, [(1, 0, 100)] if tick == 3 else [])
    assert view(apart.blocks, "tax")[0, 1] > 0
    assert together.digest(0) == apart.digest(0), "made in tick 3 alone"


@pytest.mark.parametrize("ticks", [1, 3, 10])
def test_launches_are_made_in_the_first_tick_of_a_decision_alone(ticks):
    config = GameConfig(height=16, width=16, num_players=2, map="open", decision_every=ticks)
    game = VecGame(config, num_games=1)
    game.reset(seeds=[3])
    troops = view(game.blocks, "troops")[0, 1]
    game.step([[[1, 1], [0, 0]]])
    assert view(game.blocks, "tax")[0, 1] == troops * config.launch_tax // 1024 > 0


@pytest.mark.parametrize("players", [2, 63, 64, 130])
def test_players_that_step_or_decide_are_found_in_every_word_of_a_set(players):
    rng, owners = np.random.default_rng(players), range(1, players + 1)
    state = allocate(1, players, 256, 256)
    game, seating = ((views.py_func if JIT_ENABLED else views)(state, 0) for views in (game_of, seating_of))
    work = make_work(GameConfig(num_players=players, map="open"), logs_changes=False)
    game.clock[TICK] = 50
    game.due[1:], seating.wake[1:] = rng.integers(45, 56, (2, players))
    game.alive[1:] = rng.integers(0, 2, players)
    seating.seats[1:] = rng.choice([AGENT_CODE, FIRST_BOT_CODE, FIRST_BOT_CODE + 1], players)
    assert work.due[: find_due(game, work)].tolist() == [p for p in owners if game.due[p] <= 50]
    decide = [int(seats_that_decide(game, seating, word)) for word in range(game.active.shape[1])]
    assert [p for p in owners if decide[p // 64] >> p % 64 & 1] == [
        p for p in owners if seating.seats[p] == AGENT_CODE or (game.alive[p] and seating.wake[p] <= 50)
    ]
    assert all(word & 1 == 0 for word in decide[:1]), "neutral land decides nothing"
