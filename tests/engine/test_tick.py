"""A tick is the list of docs/rules.md; launches, its first step, are made once and on the decision grid."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

from territorial import GameConfig, VecGame
from territorial.config import make_params
from territorial.constants import AGENT_CODE, FIRST_BOT_CODE
from territorial.engine.turns import seats_that_decide
from territorial.game.launches import LaunchList, write_launch
from territorial.game.rules import find_due, tick
from territorial.game.scratch import make_work
from territorial.game.state import OVER, TAX, TICK, allocate, game_of, seating_of, view
from territorial.jit.decorators import JIT_ENABLED, kernel

RULES = Path(__file__).parents[2] / "docs" / "rules.md"


@pytest.mark.checkout
def test_a_tick_has_the_steps_of_the_rules_in_their_order():
    section = RULES.read_text(encoding="utf-8").split("\n## One tick\n")[1].split("\n### ")[0]
    listed = re.split(r"^\d\. ", section, flags=re.MULTILINE)[1:]
    steps = [re.findall(r"\[([^]]*)\]\(#", step) for step in listed]
    source = inspect.getsource(tick.py_func if JIT_ENABLED else tick)
    comments = re.findall(r"# (\d)\. (.*)", source)
    assert [int(number) for number, _ in comments] == list(range(1, len(steps) + 1))
    assert [title.lower() for _, title in comments] == [" and ".join(names).lower() for names in steps]


@kernel
def play_a_tick(state, params, work, launches):
    """Play a tick of the only game of ``state``."""
    tick(game_of(state, 0), params, work, launches)


@pytest.mark.parametrize("end", [1, 2, 3])
def test_the_launches_that_a_tick_is_given_are_made_in_it(end):
    config = GameConfig(height=16, width=16, num_players=2, map="open")
    state, rows = allocate(1, 2, 16, 16), np.zeros((3, 4), np.int64)
    for i in range(3):
        write_launch(rows, i, 0, 1, 0, 100)
    game = game_of.py_func(state, 0) if JIT_ENABLED else game_of(state, 0)
    game.alive[1:], game.troops[1:], game.fronts[1, 0] = 1, 1000, 4
    launches = LaunchList(rows, 1, end)
    play_a_tick(state, make_params(config), make_work(config, logs_changes=False), launches)
    assert game.clock[TICK] == 1
    assert game.clock[OVER] == 0
    troops, taxes = 1000, 0
    for _ in range(1, end):
        tax = troops * config.launch_tax // 1024
        troops, taxes = troops - tax - troops * 100 // 1024, taxes + tax
    assert game.ledger[TAX, 1] == taxes, "rows 1 and on, each once"


def test_launches_of_other_ticks_are_not_made():
    """All ticks up to the next decision point are given the same list."""
    config = GameConfig(height=16, width=16, num_players=2, map="open")
    state, rows = allocate(1, 2, 16, 16), np.zeros((1, 4), np.int64)
    write_launch(rows, 0, 1, 1, 0, 100)
    game = game_of.py_func(state, 0) if JIT_ENABLED else game_of(state, 0)
    game.alive[1:], game.troops[1:], game.fronts[1, 0] = 1, 1000, 4
    params, work, taxes = make_params(config), make_work(config, logs_changes=False), []
    for _ in range(3):
        play_a_tick(state, params, work, LaunchList(rows, 0, 1))
        taxes.append(int(game.ledger[TAX, 1]))
    assert taxes == [0, 11, 11], "made in tick 1 alone"


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
