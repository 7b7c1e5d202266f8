"""What is of a kind that some code has forgotten is refused by name, or shows: it acts as no other kind."""

from types import SimpleNamespace

import numpy as np
import pytest

import territorial
from territorial.bots import targets
from territorial.bots.style import MEASURES
from territorial.browser import commands
from territorial.browser.session import Session
from territorial.config import make_params
from territorial.game import rewards
from territorial.league import League, LeagueConfig, Learner
from territorial.render.games import make_renderer

UNKNOWN = 99


def test_every_measure_of_targets_is_its_own_and_another_number_prefers_nobody(monkeypatch):
    monkeypatch.setattr(targets, "distance", lambda *_: 1009)
    pools, taken, fronts = np.zeros((3, 3, 3), np.int64)
    pools[2, 1], taken[2, 1], fronts[1, 2] = 13, 17, 7
    game = SimpleNamespace(
        troops=np.array([0, 900, 701]),
        land=np.array([0, 80, 61]),
        peak=np.array([0, 90, 97]),
        pools=pools,
        taken=taken,
        fronts=fronts,
    )
    bot = targets.BotTurn(1, np.zeros(1000, np.int32), 0)
    found = [targets.score.py_func(game, bot, 2, by) for by in MEASURES.values()]
    assert len({over / under for over, under in found}) == len(MEASURES), found
    assert targets.score.py_func(game, bot, 2, UNKNOWN)[0] == 0


def test_a_part_of_rewards_without_a_kernel_is_no_number():
    out, params = np.zeros(4), make_params(territorial.GameConfig())
    rewards.write_part.py_func(None, params, None, UNKNOWN, out)
    assert np.isnan(out[1:]).all()


LEAGUE = League(LeagueConfig(num_players=2, learners=[Learner(name="main", seats=2)]), rated=False)
FORGOTTEN = [
    (
        lambda: Session._do(SimpleNamespace(person=None), commands.PlayerCommand("dance")),
        AssertionError,
        "dance",
    ),
    (lambda: make_renderer("svg", 2, ["a", "b"], 20), ValueError, "svg"),
    (lambda: territorial.maps.save(territorial.maps.generate("open", 16, 16, 0), "map.gif"), KeyError, "gif"),
    (lambda: LEAGUE.pool("bot"), KeyError, "bot"),
]


@pytest.mark.parametrize(("call", "error", "name"), FORGOTTEN)
def test_what_some_code_has_forgotten_is_refused_by_name(call, error, name, monkeypatch):
    monkeypatch.setattr(territorial.maps.files, "SUFFIXES", (".png", ".npy", ".txt", ".gif"))
    with pytest.raises(error, match=name):
        call()
