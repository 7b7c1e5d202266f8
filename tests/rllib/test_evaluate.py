"""Evaluation on Ray: the same games as in one process, and what was lost with an actor is played again."""

import os

import pytest

from rllib_adapters.cluster import OnRay
from territorial import GameConfig, Scenario, evaluate
from territorial.bots import PythonBot
from territorial.evaluation.workers import PlayingError

pytestmark = pytest.mark.usefixtures("running_ray")

SMALL = GameConfig(height=24, width=24, num_players=4, max_ticks=400)
SCENARIOS = {"s": Scenario(config=SMALL, seats=["agent", "banker", "novice", "random"])}


class Fragile(PythonBot):
    """Ends its process the first time that it is asked."""

    name = "fragile"

    def __init__(self, path):
        self.path = path

    def decide(self, view):
        if not self.path.exists():
            self.path.write_text("gone")
            os._exit(1)
        return -1, 1024


def test_a_cluster_plays_what_one_process_plays(tmp_path):
    policies = {"a": "banker", "b": "metronome", "c": "turtle"}
    here = evaluate(policies, SCENARIOS, 20, processes=1, progress=False)
    there = evaluate(policies, SCENARIOS, 20, play=OnRay(2), progress=False, out=tmp_path / "trials.jsonl")
    assert there.records == here.records


def test_what_was_lost_with_an_actor_is_played_again(tmp_path):
    policies = {"fragile": Fragile(tmp_path / "was here")}
    found = evaluate(policies, SCENARIOS, 20, play=OnRay(2), progress=False)
    assert (tmp_path / "was here").exists()
    assert len(found.records) == 20


class Failing(PythonBot):
    """Fails at its twentieth decision."""

    name = "failing-1"

    def decide(self, view):
        if view.ticks[0] >= 200:
            raise ArithmeticError("no more")
        return -1, 1024


@pytest.mark.verify
def test_what_went_wrong_on_a_cluster_comes_out_of_it(tmp_path):
    with pytest.raises(PlayingError, match=r"^ArithmeticError: no more \(.*test_evaluate.py, line"):
        evaluate([Failing()], SCENARIOS, 4, play=OnRay(1), progress=False)
