"""benchmarks/bots: who plays in an examination, and commands stopped after so much processor time."""

import json
import signal
import sys

import numpy as np
import pytest

exam_games = pytest.importorskip("benchmarks.bots.exam_games", reason="the benchmarks are not here")

from benchmarks.bots import metered, short_exam  # noqa: E402 - only where they are
from territorial import GameConfig, bots  # noqa: E402
from territorial.bots import Network  # noqa: E402
from territorial.evaluation.statistics import Estimate  # noqa: E402
from tests.bots.networks import random_file  # noqa: E402

pytestmark = pytest.mark.checkout

GAME = GameConfig(
    height=32, width=32, num_players=6, max_ticks=600, decision_every=10, map_seed=2**21, num_maps=2
)


class Holder:
    """A policy that always holds, and notes when it was asked, of which seats."""

    frames = 1

    def __init__(self):
        self.asked = []

    def identity(self):
        return "holder 1"

    def start(self, config, layout, seed):
        def act(game, games, seats):
            self.asked.append((game.state.tick[games].copy(), games.copy(), seats.copy()))
            return np.zeros((len(games), 2), np.int64)

        return act

    def stop(self):
        self.asked.append(None)


# ---- policies that act outside the engine --------------------------------------------------------------


def test_a_policy_outside_the_engine_decides_every_so_many_ticks_for_its_own_seats_alone():
    holder = Holder()
    field = exam_games.ExamField(GAME, 2, exam_games.all_of("banker-1"))
    found = exam_games.Examiner(1).play(exam_games.ActingSeat(holder, 50), field, 3)
    *asked, end = holder.asked
    assert end is None, "it is stopped"
    _, games, seats = asked[0]
    assert games.tolist() == [0, 0, 1, 1, 2, 2]
    assert all(np.all(tick % 50 == 0) for tick, _, _ in asked)
    assert {int(tick[0]) for tick, _, _ in asked} == set(range(0, 50 * len(asked), 50))
    first = set(zip(games.tolist(), seats.tolist(), strict=True))
    assert all(set(zip(g.tolist(), s.tolist(), strict=True)) <= first for _, g, s in asked)
    assert found.places.shape == (3, 6)
    assert np.allclose(found.places.sum(axis=1), 21)
    assert found.own.mean() > found.places[:, 2:].mean(), "who holds always is below bankers"


def test_the_same_field_has_the_same_games_for_policies_inside_and_outside():
    field = exam_games.ExamField(GAME, 2, exam_games.dealt)
    examiner = exam_games.Examiner(1)
    inside = examiner.play("novice-1", field, 4)
    outside = examiner.play(exam_games.ActingSeat(Holder(), 10), field, 4)
    assert inside.opponents == outside.opponents
    again = examiner.play("novice-1", field, 4)
    assert np.array_equal(inside.places, again.places), "what was observed in between changes nothing"


def test_opponents_may_be_networks(tmp_path):
    random_file(tmp_path / "net.safetensors", 1, interval=50)
    network = Network(tmp_path / "net.safetensors")
    field = exam_games.ExamField(GAME, 2, exam_games.all_of(network))
    found = exam_games.Examiner(1).play("turtle-1", field, 2)
    assert set(found.ranking("it")) == {"it", network.name}


# ---- the short examination -----------------------------------------------------------------------------


class CountedExaminer:
    """Says of every field what was asked, and of every game the same."""

    def __init__(self):
        self.fields = []

    def play(self, player, field, games):
        self.fields.append((field, games))
        places = np.tile(np.arange(1.0, field.config.num_players + 1), (games, 1))
        return exam_games.ExamGames(field, [], places, np.zeros(games, np.int64))


@pytest.fixture
def exam(tmp_path):
    made = short_exam.ShortExam(tmp_path / "exams", 40, 1)
    made.examiner = CountedExaminer()
    return made


def test_a_short_exam_meets_every_bot_at_both_intervals_and_keeps_what_it_finds(exam, tmp_path):
    found = exam.examined("banker")
    *small, (full, full_games) = exam.examiner.fields[: len(exam.examiner.fields) // 2]  # then who holds
    assert len(small) == 2 * len(bots.NAMES)
    assert {games for _, games in small} == {2}
    assert {field.config.decision_every for field, _ in small} == {10, 50}
    alone = {field.opponents(1, np.random.default_rng(0))[0] for field, _ in small}
    assert alone == set(bots.NAMES)
    assert (full.config.num_players, full_games) == (32, 40)
    assert found["above"]["value"] == 1.0
    assert found["fair"]["value"] == 16.0
    assert found["place"]["value"] == 1.5
    count = len(exam.examiner.fields)
    assert exam.examined("banker-1") == found, "the same bot by its other name"
    assert len(exam.examiner.fields) == count
    exam.games = 20
    exam.examined("banker")
    assert len(exam.examiner.fields) == 2 * count, "of other games nothing is kept"


def test_a_player_that_never_acts_is_found_out(exam, monkeypatch):
    def play(self, player):
        acts = player == "banker" or getattr(player, "interval", 0) == 10
        one = Estimate(0.4 + acts, 0.3, 0.5)
        return short_exam.ShortExamination(one, one, one)

    monkeypatch.setattr(short_exam.ShortExam, "_play", play)
    idle, active = exam.examined("turtle"), exam.examined("banker")
    assert (idle[short_exam.HOLDS], active[short_exam.HOLDS]) == (True, False)
    assert "as if it never acted" in short_exam.line_of(idle)
    assert "never acted" not in short_exam.line_of(active)


def test_the_floor_of_an_examination_is_what_a_network_that_always_holds_comes_to():
    field = exam_games.ExamField(GAME, 2, exam_games.all_of("banker-1"))
    found = exam_games.Examiner(1).play(exam_games.ActingSeat(short_exam.Holding(), 50), field, 3)
    other = exam_games.Examiner(1).play(exam_games.ActingSeat(Holder(), 10), field, 3)
    assert np.array_equal(found.places, other.places), "how often it holds changes nothing"
    banker = exam_games.Examiner(1).play("banker-1", field, 3)
    assert not np.array_equal(found.places, banker.places)


def test_what_is_kept_is_told_apart_by_weights_and_intervals(tmp_path):
    paths = [tmp_path / f"{seed}.safetensors" for seed in (1, 2)]
    for seed, path in enumerate(paths):
        random_file(path, seed, interval=50)
    players = [
        Network(paths[0]),
        Network(paths[1]),
        Network(paths[0], interval=10),
        Network(paths[0], temperature=1),
    ]
    players.append(exam_games.ActingSeat(Holder(), 50))
    names = {short_exam.digest_of(player) for player in players}
    assert len(names) == 5
    assert not [name for name in names if "/" in name or " " in name]


def test_means_over_runs_have_an_interval_from_two_on():
    def run(value):
        one = Estimate(value, value - 1, value + 1)._asdict()
        return {"exam": dict.fromkeys(short_exam.FIGURES, one)}

    assert short_exam.over_runs([run(3.0)])["fair"] == {"value": 3.0, "low": None, "high": None}
    found = short_exam.over_runs([run(2.0), run(4.0)])["fair"]
    assert found["value"] == 3.0
    assert found["high"] - 3 == pytest.approx(12.71, abs=0.01), "Student's, of two numbers"
    json.dumps(found, allow_nan=False)


# ---- processor time ------------------------------------------------------------------------------------

BURNS = "import time\nwhile True: time.process_time()"
STARTS = f"""
import signal, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", {BURNS!r}])
try:
    time.sleep(600)
except KeyboardInterrupt:
    child.kill()
    open(sys.argv[1], "w").write("stopped")
"""


@pytest.mark.verify
@pytest.mark.skipif(sys.platform == "win32", reason="process groups are not there on Windows")
def test_a_command_is_stopped_by_the_time_of_its_children_and_may_write(tmp_path, monkeypatch):
    monkeypatch.setattr(metered, "TOLD_EVERY", 0.1)
    path, looks = tmp_path / "result", []
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a shell has it for what runs behind
    try:
        used = metered.run_for(["-c", STARTS, str(path)], 0.5, tmp_path / "log", looks.append)
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert path.read_text() == "stopped"
    assert used >= 0.5
    assert looks
    assert looks == sorted(set(looks))


@pytest.mark.skipif(sys.platform == "win32", reason="process groups are not there on Windows")
def test_a_command_that_ends_by_itself_is_not_stopped_and_one_that_fails_is_named(tmp_path):
    assert metered.run_for(["-c", "print('done')"], 300, tmp_path / "log") >= 0
    assert "done" in (tmp_path / "log").read_text()
    with pytest.raises(metered.CommandFailedError, match=r"exit code 3:\n(.|\n)*too bad"):
        metered.run_for(["-c", "print('too bad'); raise SystemExit(3)"], 300, tmp_path / "log")


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "soon"])
def test_minutes_are_a_number_above_0(text):
    with pytest.raises(metered.argparse.ArgumentTypeError, match="not a number of minutes above 0"):
        metered.minutes(text)
