"""Evaluation: the games that are played, how long they take, what is made of them, going on."""

import json
import pickle

import numpy as np
import pytest

from territorial import GameConfig, Scenario, VecGame, evaluate
from territorial.evaluation import progress
from territorial.evaluation.evaluate import Evaluation
from territorial.evaluation.record import ResultsError
from territorial.evaluation.workers import PlayingError, Processes, StoppedError
from tests.league.support import Patient, Takes
from tests.league.test_statistics import record

SMALL = GameConfig(height=24, width=24, num_players=4, max_ticks=800)
SCENARIOS = {
    "small": Scenario(config=SMALL, seats=["agent", "novice", "novice", "agent"]),
    "other": Scenario(config=SMALL.replace(width=32), seats=["agent", "banker", "novice", "random"]),
}


def quietly(*args, **options):
    return evaluate(*args, **{"progress": False, "processes": 1} | options)


def test_every_pair_is_played_with_the_same_seeds_and_seats():
    takes = Takes()
    found = quietly({"bank": "banker", "idle": Patient("idle"), "net": takes}, SCENARIOS, 18, seed=5)
    assert (found.policies, found.scenarios) == (("bank", "idle", "net"), ("small", "other"))
    assert (found.is_complete, len(found.records)) == (True, 3 * 2 * 18)
    assert {(one.game, one.seed, one.scenario, len(one.own)) for one in found.records} == {
        (k, 5 + k, scenario, count) for k in range(18) for scenario, count in (("small", 2), ("other", 1))
    }
    assert (takes.started, takes.stopped) == (4, 4)  # two chunks in each of two scenarios
    assert takes.asked > 100
    score = found.matrix("score").value
    assert (score[[0, 2]] > score[1]).all()
    assert ((score >= 0) & (score <= 1)).all()


def test_a_bot_in_the_place_of_itself_is_an_ordinary_game():
    found = quietly(["banker"], {"s": SCENARIOS["other"]}, 1, seed=9)
    (one,) = found.records
    game = VecGame(SCENARIOS["other"].config, 1, autoreset="disabled", observe=False)
    game.set_seats(0, ["banker", "banker", "novice", "random"])
    game.reset(seeds=[9])
    returned = 0
    while not game.state.over.all() and game.state.alive[0, 1]:
        returned += game.step()[1][0]
    assert (one.own, one.length) == ((1,), game.state.tick[0])
    assert one.land[-1] == tuple(game.state.land[0, 1:].tolist())
    assert one.returns == pytest.approx(returned, abs=1e-6)
    assert found.matrix("land").value[0, 0] == game.state.land[0, 1] / game.state.num_land[0]
    assert found.matrix("return").value[0, 0] == one.returns[0]
    if game.state.doubled_place[0, 1]:
        assert one.places[0] == game.state.doubled_place[0, 1] / 2


def test_seats_move_on_and_other_policies_may_be_opponents():
    scenario = Scenario(config=SMALL, seats=["agent", "idle", "novice", "banker"])
    wanted = [("agent", "idle", "novice", "banker"), *[("banker", "agent", "idle", "novice")] * 2]
    assert [scenario.at(k) for k in (0, 1, 5)] == wanted
    fixed = Scenario(config=SMALL, seats=scenario.seats, rotate=False)
    assert fixed.at(3) == fixed.at(0)
    found = quietly({"idle": Patient("idle"), "m": "metronome"}, {"s": scenario}, 2, pairs=[("m", "s")])
    assert found.policies == ("m",)
    assert [(one.own, one.seats) for one in found.records] == [
        ((1,), ("m", "idle", "novice", "banker")),
        ((2,), ("banker", "m", "idle", "novice")),
    ]


def test_games_are_left_when_time_is_up_and_the_living_are_placed_by_land():
    scenario = Scenario(config=SMALL, seats=["agent", "agent", "agent", "banker"], max_cycles=12)
    found = quietly({"idle": Patient("idle")}, {"s": scenario}, 4)
    assert {(one.is_stopped, one.length, tuple(one.of_policy(one.places))) for one in found.records} == {
        (True, 12 * SMALL.decision_every, (3.0, 3.0, 3.0))
    }


def test_matrices_have_means_and_intervals_over_games():
    records = [
        record(k, "abcde", (place, 2, 3, 4, 5), policy=policy, scenario="s", own=(1,), returns=(0.0,) * 5)
        for policy, places in (("a", (1, 2, 3, 1, 3)), ("b", (5,)))
        for k, place in enumerate(places)
    ]
    matrix = Evaluation(["a", "b", "c"], ["s"], records).matrix("place")
    assert (matrix.value[:2, 0].tolist(), matrix.games[:, 0].tolist()) == ([2.0, 5.0], [5, 1, 0])
    assert matrix.high[0, 0] - 2 == pytest.approx(2.776 * 1 / np.sqrt(5), rel=0.01)
    assert np.isnan([matrix.low[1, 0], matrix.value[2, 0]]).all()
    assert Evaluation(["a"], ["s"], records).matrix("win").value[0, 0] == pytest.approx(0.4)
    assert "2.000 ± 1.2" in Evaluation(["a"], ["s"], records).table("place")
    with pytest.raises(ValueError, match="score, place, win"):
        Evaluation(["a"], ["s"], records).matrix("fun")


def test_an_interrupted_evaluation_goes_on_where_it_was(tmp_path):
    """Chunks by copies of what plays, in another order, as in processes of their own."""
    path, policies = tmp_path / "trials.jsonl", {"bank": "banker", "m": "metronome"}
    whole, parts = quietly(policies, SCENARIOS, 20), []

    class Interrupted(Processes):
        def __call__(self, make, chunks):
            for chunk in reversed(chunks):
                parts.append(chunk)
                yield pickle.loads(pickle.dumps(make))()(chunk)
                if len(parts) == 3:
                    raise KeyboardInterrupt

    first = quietly(policies, SCENARIOS, 20, out=path, play=Interrupted(2))
    assert not first.is_complete
    assert 0 < len(first.records) < len(whole.records)
    with path.open("a") as file:
        file.write('{"policy": "ba')  # cut short while it was written
    second = quietly(policies, SCENARIOS, 20, out=path, play=Interrupted(2))
    assert second.is_complete
    assert second.records == whole.records
    assert len(parts) == len(set(parts)) == 8
    third = quietly(policies, SCENARIOS, 20, out=path, play=lambda *_: pytest.fail("nothing is left to play"))
    assert third.records == whole.records


def test_what_was_played_before_a_policy_failed_is_kept_and_its_chunk_finished(tmp_path):
    path, one = tmp_path / "trials.jsonl", {"small": SCENARIOS["small"]}

    def fails(make, chunks):
        yield list(make()(chunks[0]))[:7]
        raise PlayingError("a player failed")

    with pytest.raises(StoppedError, match="a player failed") as stopped:
        quietly(["banker"], one, 16, out=path, play=fails)
    assert len(stopped.value.result.records) == 7
    assert quietly(["banker"], one, 18, out=path).records == quietly(["banker"], one, 18).records
    games = [json.loads(line).get("game") for line in path.read_text().splitlines()]
    assert sorted(games[1:]) == list(range(18)), "each is written once"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"configs": {"small": SCENARIOS["other"]}}, r"scenarios\['small'\]"),
        ({"policies": {"p": "novice"}}, r"code\['p'\] is 'banker-1', here it is 'novice-1'"),
    ],
)
def test_files_of_something_else_are_refused(tmp_path, change, message):
    path = tmp_path / "trials.jsonl"
    given = {
        "policies": {"p": "banker"},
        "configs": {"small": SCENARIOS["small"]},
        "episodes": 1,
        "out": path,
    }
    quietly(**given)
    with pytest.raises(ResultsError, match=message):
        quietly(**{**given, **change})


REFUSED = [
    (lambda: quietly({}, SCENARIOS, 1), ValueError, "no policies"),
    (lambda: quietly("banker", SCENARIOS, 1), TypeError, "policies is 'banker'"),
    (lambda: quietly(["nobody"], SCENARIOS, 1), ValueError, "nobody"),
    (lambda: quietly({"x": 3}, SCENARIOS, 1), TypeError, r"policies\['x'\] is 3"),
    (lambda: quietly({"banker": "novice"}, SCENARIOS, 1), ValueError, "the name of a built-in bot"),
    (lambda: quietly(["banker"], {}, 1), ValueError, "no configs"),
    (lambda: quietly(["banker"], [SMALL], 1), TypeError, "configs is .*; it must be a dict of scenarios"),
    (lambda: quietly(["banker"], {"s": SMALL}, 1), TypeError, "it must be a Scenario"),
    (lambda: quietly(["banker"], SCENARIOS, 0), ValueError, "episodes is 0"),
    (
        lambda: quietly(["banker"], SCENARIOS, 1, pairs=[("a", "small")]),
        ValueError,
        "the policy of a pair is 'a'",
    ),
    (
        lambda: quietly(["banker"], SCENARIOS, 1, pairs=[("banker", "b")]),
        ValueError,
        "the scenario of a pair is 'b'",
    ),
    (lambda: quietly(["banker"], SCENARIOS, 1, pairs="bs"), TypeError, "pairs is 'bs'; it must be a list"),
    (lambda: quietly(["banker"], SCENARIOS, 1, pairs=[("banker",)]), ValueError, r"pairs has \('banker',\)"),
    (lambda: Scenario(config=SMALL, seats=["banker"] * 4), ValueError, "no seat is called 'agent'"),
    (lambda: Scenario(config=SMALL, seats=["agent"]), ValueError, "1 entries"),
    (
        lambda: quietly(["banker"], {"s": Scenario(config=SMALL, seats=["agent"] * 3 + ["who"])}, 1),
        ValueError,
        r"configs\['s'\]: seats\[3\]: there is no bot 'who'",
    ),
    (
        lambda: quietly([Takes()], SCENARIOS, 1),
        TypeError,
        r"policies\[0\] is .*Takes.*; it must be .* a name, unless it is given one as in {'mine': policy}",
    ),
    (
        lambda: quietly(["novice", Patient("idle"), Patient("idle")], SCENARIOS, 1),
        ValueError,
        r"policies\[2\]: another player has the name 'idle'",
    ),
    (lambda: quietly(Takes(), SCENARIOS, 1), TypeError, "it must be a mapping from names to policies"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_what_cannot_be_is_refused_by_name(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_list_has_policies_that_have_a_name():
    one = {"small": SCENARIOS["small"]}
    assert quietly([Patient("idle"), "novice"], one, 1).records == (
        quietly({"idle": Patient("idle"), "novice": "novice"}, one, 1).records
    )


# ---- how long the rest takes -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("done", "missing", "seconds", "text"),
    [
        (0, 500, 1.0, ""),
        (0, 500, 0.0, ""),
        (1, 500, 0.0, ""),
        (10, 0, 5.0, "0 s left"),
        (10, 10, 5.4, "5 s left"),
        (1, 119, 1.0, "119 s left"),
        (1, 120, 1.0, "2 min left"),
        (2, 300, 40.0, "100 min left"),
        (1, 3, 3600.0, "3 h left"),
        (1, 100, 3600.0, "4 days left"),
        (1, 10**9, 3600.0, "more than 999 days left"),
    ],
)
def test_what_is_left_is_told_in_a_unit_that_fits(done, missing, seconds, text):
    assert progress.time_left(done, missing, seconds) == text


def test_what_ends_before_its_first_game_says_nothing(capsys):
    progress.Progress(500).close()
    assert capsys.readouterr().err == ""
