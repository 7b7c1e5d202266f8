"""Files of contests and evaluations, and tables of leagues, that are damaged or forged."""

import json
import os
import re
from functools import partial

import numpy as np
import pytest

from territorial import GameConfig, Setting
from territorial.evaluation.evaluate import Evaluation
from territorial.evaluation.record import GameRecord, bounds_of
from territorial.evaluation.results import ContestResults, ResultsError
from territorial.evaluation.schedule import Contest
from territorial.evaluation.statistics import RecordArrays
from territorial.evaluation.trial_file import TrialFile
from territorial.evaluation.trials import TrialRecord, Tryout
from territorial.league import LeagueTable
from tests.hostile.mutate import mutated, mutated_json
from tests.hostile.support import MB, amounts, assert_loads_or_refused, needs_pipes, nested, peak_of

CONFIG = GameConfig(height=40, width=40, num_players=3, max_ticks=1000)
PLAYERS = ("banker-1", "turtle-1", "novice-1")
CONTEST = Contest(config=CONFIG, players=PLAYERS, games=4, seed=3)
TRYOUT = Tryout({"banker": "banker"}, {"small": Setting(config=CONFIG)}, seed=5)


def game(number: int) -> GameRecord:
    return GameRecord(
        game=number,
        seed=3 + number,
        seats=PLAYERS,
        places=(1.0, 2.5, 2.5),
        died=(-1, 300, 300),
        length=600,
        is_stopped=False,
        filled=200,
        num_land=1500,
        ticks=(0, 250, 500, 600),
        land=((5, 5, 5), (700, 600, 200), (1400, 0, 0), (1500, 0, 0)),
    )


@pytest.fixture
def results(tmp_path):
    """A file of a contest in which two games have been played."""
    path = tmp_path / "games.jsonl"
    list(ContestResults(CONTEST, path).add([game(0), game(1)]))
    return path


@pytest.fixture
def trials(tmp_path):
    """A file of an evaluation in which two games have been played."""
    path = tmp_path / "trials.jsonl"
    sheet = TrialFile(TRYOUT, path)
    sheet.keep([trial(0), trial(1)])
    return path


def trial(episode: int) -> TrialRecord:
    return TrialRecord("banker", "small", episode, 5 + episode, 3, (2.0,), (0.25,), (-0.5,), 600, False)


def with_field(path, number: int, name: str, value: object) -> None:
    """Change one field of one line of a file."""
    lines = path.read_text().splitlines()
    lines[number] = json.dumps({**json.loads(lines[number]), name: value})
    path.write_text("\n".join([*lines, ""]))


# ---- contests ------------------------------------------------------------------------------------------

NAN = float("nan")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("places", [1, 2], "places has 2 entries; there are 3 seats"),
        ("places", [1, 2, NAN], "it has the number NaN; numbers must be finite"),
        ("places", [1, 2, 4], "places[2] is 4; it must be a finite number from 1 to 3"),
        ("places", [1, "x", 3], "places[1] is 'x'; it must be a finite number"),
        ("places", {"a": 1, "b": 2, "c": 3}, "places is {'a': 1, 'b': 2, 'c': 3}; it must be a list"),
        ("died", [-2, 1, 1], "died[0] is -2; it must be a whole number of at least -1"),
        ("died", [1.5, 1, 1], "died[0] is 1.5; it must be a whole number"),
        ("seats", ["a", "b", 3], "seats[2] is 3; it must be of the type str"),
        ("seats", ["a"], "the number of seats is 1; it must be a whole number from 2 to 250"),
        ("game", -1, "game is -1; it must be a whole number of at least 0"),
        ("game", "0", "game is '0'"),
        ("seed", 2**64, "seed is 18446744073709551616; it must be a whole number from 0 to"),
        ("length", None, "length is None"),
        ("is_stopped", 1, "is_stopped is 1; it must be True or False"),
        ("num_land", 0, "num_land is 0; it must be a whole number from 1 to"),
        ("ticks", [], "ticks has 0 entries and land has 4"),
        ("ticks", [0, 250, 500, -1], "ticks[3] is -1"),
        ("land", [[1, 1, 1]] * 3, "ticks has 4 entries and land has 3"),
        ("land", [[1, 1, 1]] * 3 + [[1, 1]], "land[3] has 2 entries; there are 3 seats"),
        (
            "land",
            [[1, 1, 1]] * 3 + [[1, 1, 1501]],
            "land[3][2] is 1501; it must be a whole number from 0 to 1500",
        ),
        ("land", [5] * 4, "land[0] is 5; it must be a list"),
        ("more", 1, "a game has the field 'more'; it must have only the fields"),
    ],
)
def test_a_forged_game_is_refused_by_name_with_its_value(results, name, value, message):
    with_field(results, 2, name, value)
    before = results.read_bytes()
    with pytest.raises(ResultsError, match=re.escape(f"{str(results)!r}, line 3: {message}")):
        ContestResults(CONTEST, results)
    assert results.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("settings", ["height"], "line 1: settings is ['height']; it must be an object with names"),
        ("settings", {"height": NAN}, "is not a file of a contest"),
        ("players", "abc", "line 1: players is 'abc'; it must be a list"),
        ("players", [1, {}, None], "its seat 1 is '1', here it is 'banker-1'"),
        ("code", [], "line 1: code is []; it must be an object with names"),
        ("seed", {"x": 1}, "its seed is {'x': 1}, here it is 3"),
        ("format", 5, "is not a file of a contest"),
        ("format", "territorial contest, version 9", "has the format 'territorial contest, version 9'"),
    ],
)
def test_a_forged_first_line_is_refused(results, name, value, message):
    with_field(results, 0, name, value)
    with pytest.raises(ResultsError, match=re.escape(message)):
        ContestResults(CONTEST, results)


def test_a_record_is_as_long_as_a_game_can_make_it():
    """The most that a game of this config can say fits; a line with more is not read to its end."""
    looks = tuple(range(0, CONFIG.max_ticks + 1, 250))
    largest = GameRecord(
        game=10**9,
        seed=2**64 - 1,
        seats=("a_module.with.a.name:AndAClass" * 10,) * 3,
        places=(1.5, 1.5, 3.0),
        died=(-1, 10**6, 10**6),
        length=10**6,
        is_stopped=False,
        filled=-1,
        num_land=2**20,
        ticks=looks,
        land=((10**6,) * 3,) * len(looks),
    )
    bounds = bounds_of(CONFIG)
    assert GameRecord.from_json(largest.to_json().encode(), bounds) == largest
    assert bounds.nbytes < 10_000


@pytest.mark.parametrize(
    "line", [b"[" * MB, nested(10**5).encode(), b" " * 20 * MB, b'{"game": ' + b"9" * MB + b"}"]
)
def test_a_large_line_takes_little_memory(results, trials, line):
    for path, load in ((results, partial(ContestResults, CONTEST)), (trials, partial(TrialFile, TRYOUT))):
        path.write_bytes(path.read_bytes() + line + b"\n")
        with pytest.raises(ResultsError, match=r"line 4|deep"):
            load(path)
        assert peak_of(partial(load, path)) < 16 * MB


@needs_pipes
def test_what_is_no_ordinary_file_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for load in (partial(ContestResults, CONTEST), partial(TrialFile, TRYOUT)):
        with pytest.raises((ResultsError, OSError), match="pipe"):
            load(tmp_path / "pipe")


def load_contest(path, data: bytes) -> None:
    """Read a file of a contest, and make of it what is shown."""
    path.write_bytes(data)
    results = ContestResults(CONTEST, path)
    again = path.read_bytes()
    assert ContestResults(CONTEST, path).records == results.records
    assert path.read_bytes() == again
    if results.records:
        RecordArrays(results.records).table()


def changed_line(data: bytes, seed: int) -> bytes:
    """Return a file in which one line says something else, and the others are as they were."""
    lines = data.splitlines(keepends=True)
    lines[seed % len(lines)] = mutated_json(lines[seed % len(lines)], seed) + b"\n"
    return b"".join(lines)


@amounts
@pytest.mark.parametrize("change", [mutated, changed_line])
def test_damaged_contests_are_refused_or_work(results, change, amount):
    load, whole = partial(load_contest, results), results.read_bytes()
    assert ContestResults(CONTEST, results).records == (game(0), game(1))
    assert_loads_or_refused(load, change, whole, amount, errors=ResultsError)


# ---- evaluations ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("places", [], "places, land and returns have 0, 1, 1 entries; they must have one for each seat"),
        ("places", [0], "places is 0; it must be a finite number from 1 to 3"),
        ("places", [NAN], "it has the number NaN"),
        ("land", [1.5], "land is 1.5; it must be a finite number from 0 to 1"),
        ("returns", ["x"], "returns is 'x'; it must be a finite number"),
        ("returns", [1e999], "the number Infinity"),
        ("num_players", 1, "num_players is 1; it must be a whole number from 2 to 250"),
        ("policy", None, "policy is None; it must be a string"),
        ("setting", ["small"], "setting is ['small']; it must be a string"),
        ("episode", -1, "episode is -1"),
        ("episode", True, "episode is True"),
        ("seed", 7, "seed is 7, which is not the seed of episode 1"),
        ("length", 1.5, "length is 1.5"),
        ("is_left", "no", "is_left is 'no'; it must be True or False"),
        ("more", 1, "a trial has the field 'more'; it must have only the fields"),
    ],
)
def test_a_forged_trial_is_refused_by_name_with_its_value(trials, name, value, message):
    with_field(trials, 2, name, value)
    with pytest.raises(ResultsError, match=re.escape(message)) as caught:
        TrialFile(TRYOUT, trials)
    assert str(caught.value).startswith(f"{str(trials)!r}, line 3")


@pytest.mark.parametrize("value", [None, 5, ["banker"], "banker"])
@pytest.mark.parametrize("name", ["policies", "settings"])
def test_a_forged_header_is_refused(trials, name, value):
    with_field(trials, 0, name, value)
    with pytest.raises(
        ResultsError, match=re.escape(f"{name} is {value!r}; it must be an object with names")
    ):
        TrialFile(TRYOUT, trials)


def load_evaluation(path, data: bytes) -> None:
    path.write_bytes(data)
    records = list(TrialFile(TRYOUT, path).records)
    assert list(TrialFile(TRYOUT, path).records) == records
    evaluation = Evaluation(["banker"], ["small"], records)
    for metric in ("score", "place", "win", "land", "return", "length"):
        evaluation.table(metric)


@amounts
@pytest.mark.parametrize("change", [mutated, changed_line])
def test_damaged_evaluations_are_refused_or_work(trials, change, amount):
    load, whole = partial(load_evaluation, trials), trials.read_bytes()
    assert list(TrialFile(TRYOUT, trials).records) == [trial(0), trial(1)]
    assert_loads_or_refused(load, change, whole, amount, errors=ResultsError)


# ---- tables --------------------------------------------------------------------------------------------

TABLE = b'{"groups": [{"seats": 2, "players": {"trainable:main": 1, "bot:banker": 0.5}}], "shuffle": true}'


@amounts
@pytest.mark.parametrize("change", [mutated, mutated_json])
def test_damaged_tables_are_refused_or_drawn_from(change, amount):
    def load(text: bytes) -> None:
        table = LeagueTable.from_json(text.decode("utf-8"))
        table.draw(np.random.default_rng(0))
        assert LeagueTable.from_json(table.to_json()) == table

    assert_loads_or_refused(load, change, TABLE, amount)
