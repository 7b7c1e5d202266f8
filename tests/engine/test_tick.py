"""Launches, the first step of a tick, are made once and on the decision grid; who is due is found."""

import numpy as np
import pytest

from territorial import GameConfig
from territorial.constants import AGENT_CODE, FIRST_BOT_CODE
from territorial.engine.turns import seats_that_decide
from territorial.game.rules import find_due
from territorial.game.scratch import make_work
from territorial.game.state import TICK, allocate, game_of, seating_of
from territorial.jit.decorators import JIT_ENABLED


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
