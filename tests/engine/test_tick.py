"""A tick is the list of docs/rules.md, and launches, its first step, are made on the decision grid alone."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

from territorial import GameConfig
from territorial.config import make_params
from territorial.game.launches import LaunchList, write_launch
from territorial.game.rules import tick
from territorial.game.scratch import make_work
from territorial.game.state import OVER, TAX, TICK, allocate, game_of
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


@pytest.mark.parametrize(("now", "taxed"), [(0, True), (9, False), (10, True), (11, False)])
def test_launches_are_made_in_the_ticks_of_decisions(now, taxed):
    config = GameConfig(height=16, width=16, num_players=2, map="open")
    state, rows = allocate(1, 2, 16, 16), np.zeros((3, 4), np.int64)
    for i in range(3):
        write_launch(rows, i, now, 1, 0, 100)
    game = game_of.py_func(state, 0) if JIT_ENABLED else game_of(state, 0)
    game.clock[TICK], game.alive[1:], game.troops[1:], game.fronts[1, 0] = now, 1, 1000, 4
    launches = LaunchList(rows, 1, 2)
    play_a_tick(state, make_params(config), make_work(config, logs_changes=False), launches)
    assert game.clock[TICK] == now + 1
    assert game.clock[OVER] == 0
    assert (game.ledger[TAX, 1] == 1000 * config.launch_tax // 1024) == taxed, "row 1 alone, and once"
    assert (game.ledger[TAX, 1] > 0) == taxed
