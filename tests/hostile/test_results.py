"""Files of games, and tables of leagues, that are damaged or forged."""

import json
import os
import re
from functools import partial

import numpy as np
import pytest

from territorial import GameConfig, Scenario
from territorial.evaluation.evaluate import METRICS, Evaluation
from territorial.evaluation.match import RecordArrays
from territorial.evaluation.record import GameRecord, GameResults, ResultsError, bounds_of
from territorial.evaluation.schedule import Contest, Schedule
from territorial.league import LineUpDistribution
from tests.hostile.mutate import mutated, mutated_json
from tests.hostile.support import MB, amounts, assert_loads_or_refused, needs_pipes, nested, peak_of
from tests.league.support import fixtures_of

CONFIG = GameConfig(height=40, width=40, num_players=3, max_ticks=1000)
PLAYERS = ("banker-1", "turtle-1", "novice-1")
MATCH = Contest(config=CONFIG, players=PLAYERS, games=4, seed=3).schedule({})
TRIALS = Schedule(
    players={},
    scenarios={"small": Scenario(config=CONFIG, seats=["agent", *PLAYERS[1:]])},
    pairs=[("banker-1", "small")],
    games=4,
    seed=3,
    code={"banker-1": "banker-1"},
    apart=False,
)


def games_of(schedule: Schedule) -> tuple[GameRecord, ...]:
    """Return records of the first two games."""
    return tuple(
        GameRecord(
            **fixture._asdict(),
            places=(1.0, 2.5, 2.5),
            died=(-1, 300, 300),
            length=600,
            is_stopped=False,
            filled=200,
            num_land=1500,
            ticks=(0, 250, 500, 600),
            land=((5, 5, 5), (700, 600, 200), (1400, 0, 0), (1500, 0, 0)),
            returns=(0.5, -0.5, 0.0) if fixture.own else (),
        )
        for fixture in fixtures_of(schedule)[:2]
    )


@pytest.fixture(params=[MATCH, TRIALS], ids=["match", "trials"])
def schedule(request):
    return request.param


@pytest.fixture
def results(tmp_path, schedule):
    """A file in which two games have been played."""
    path = tmp_path / "games.jsonl"
    list(GameResults(schedule, path).add(games_of(schedule)))
    return path


def with_field(path, number: int, name: str, value: object) -> None:
    """Change one field of one line of a file."""
    lines = path.read_text().splitlines()
    lines[number] = json.dumps({**json.loads(lines[number]), name: value})
    path.write_text("\n".join([*lines, ""]))


# ---- games ---------------------------------------------------------------------------------------------

NAN = float("nan")
FORGED = [
    ("places", [1, 2], "places has 2 entries; it must have 3"),
    ("places", [1, 2, NAN], "it has the number 'NaN'; numbers must be finite"),
    ("places", [1, 2, 4], "places[2] is 4; it must be a finite number from 1 to 3"),
    ("places", [1, "x", 3], "places[1] is 'x'; it must be a finite number"),
    ("places", {"a": 1, "b": 2, "c": 3}, "places is {'a': 1, 'b': 2, 'c': 3}; it must be a list"),
    ("died", [-2, 1, 1], "died[0] is -2; it must be a whole number from -1 to 10000000"),
    ("died", [10**30, 1, 1], "died[0] is 1000000000000000000000000000000"),
    ("died", [1.5, 1, 1], "died[0] is 1.5; it must be a whole number"),
    ("seats", ["a", "b", 3], "seats[2] is 3; it must be of the type str"),
    ("seats", ["a"], "the number of seats is 1; it must be a whole number from 2 to 250"),
    ("game", -1, "game is -1; it must be a whole number of at least 0"),
    ("game", "0", "game is '0'"),
    ("seed", 2**64, "seed is 18446744073709551616; it must be a whole number from 0 to"),
    ("length", None, "length is None"),
    ("length", 10**30, "length is 1000000000000000000000000000000; it must be a whole number from 0 to"),
    ("filled", 10**30, "filled is 1000000000000000000000000000000; it must be a whole number from -1 to"),
    ("is_stopped", 1, "is_stopped is 1; it must be True or False"),
    ("num_land", 0, "num_land is 0; it must be a whole number from 1 to"),
    ("ticks", [], "ticks has 0 entries; it must have 4"),
    ("ticks", [0, 250, 500, -1], "ticks[3] is -1"),
    ("ticks", [0, 250, 500, 10**30], "ticks[3] is 1000"),
    ("land", [[1, 1, 1]] * 3, "ticks has 4 entries; it must have 3"),
    ("land", [[1, 1, 1]] * 3 + [[1, 1]], "land[3] has 2 entries; it must have 3"),
    (
        "land",
        [[1, 1, 1]] * 3 + [[1, 1, 1501]],
        "land[3][2] is 1501; it must be a whole number from 0 to 1500",
    ),
    ("land", [5] * 4, "land[0] is 5; it must be a list"),
    ("more", 1, "a game has the field 'more'; it must have only the fields"),
    ("policy", None, "policy is None; it must be a string"),
    ("scenario", ["small"], "scenario is ['small']; it must be a string"),
    ("own", [0], "own[0] is 0; it must be a whole number from 1 to 3"),
    ("returns", [1.0], "returns has 1 entries; it must have"),
    ("returns", [1e308, 0, 0], "returns"),
    ("seed", 7, "seed is 7, which is not the seed of game 1"),
    ("seats", ["hard-1"] * 3, "the seats of game 1 are not those of its scenario"),
    ("own", [1], None),
]


@pytest.mark.parametrize(("name", "value", "message"), FORGED)
def test_a_forged_game_is_refused_by_name_with_its_value(results, schedule, name, value, message):
    with_field(results, 2, name, value)
    before = results.read_bytes()
    with pytest.raises(ResultsError, match=re.escape(f"{str(results)!r}, line 3: {message or ''}")):
        GameResults(schedule, results)
    assert results.read_bytes() == before


@pytest.mark.parametrize("line", ["{", "[]", "{}", '{"game": 0}'])
def test_what_is_no_game_is_refused(results, schedule, line):
    results.write_text(results.read_text() + line + "\n")
    with pytest.raises(ResultsError, match="line 4: "):
        GameResults(schedule, results)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("scenarios", ["x"], "its scenarios is ['x'], here it is {"),
        ("scenarios", {"height": NAN}, "the number 'NaN'"),
        ("code", [], "its code is [], here it is {"),
        ("seed", {"x": 1}, "its seed is {'x': 1}, here it is 3"),
        ("rules", None, "its rules is None, here it is "),
        ("format", 5, "is not a file of games"),
        ("format", "territorial games, version 9", "the format is 'territorial games, version 9'"),
    ],
)
def test_a_forged_first_line_is_refused(results, schedule, name, value, message):
    with_field(results, 0, name, value)
    with pytest.raises(ResultsError, match=re.escape(message)):
        GameResults(schedule, results)


def test_a_record_is_as_long_as_a_game_can_make_it():
    """The most that a game of this config can say fits; a line with more is not read to its end."""
    looks = tuple(range(0, CONFIG.max_ticks + 1, 250))
    largest = GameRecord(
        game=10**9,
        seed=2**64 - 1,
        seats=("a_module.with.a.name:AndAClass" * 10,) * 250,
        places=(125.5,) * 250,
        died=(10**6,) * 250,
        length=10**6,
        is_stopped=False,
        filled=-1,
        num_land=2**20,
        ticks=looks,
        land=((10**6,) * 250,) * len(looks),
    )
    line, bounds = largest.to_json().encode(), bounds_of(CONFIG.max_ticks)
    assert bounds.nbytes / 10 < len(line) < bounds.nbytes
    assert GameRecord.from_dict(json.loads(line)) == largest


@pytest.mark.parametrize(
    "line", [b"[" * MB, nested(10**5).encode(), b" " * 20 * MB, b'{"game": ' + b"9" * MB + b"}"]
)
def test_a_large_line_takes_little_memory(results, schedule, line):
    results.write_bytes(results.read_bytes() + line + b"\n")
    with pytest.raises(ResultsError, match=r"line 4|deep"):
        GameResults(schedule, results)
    assert peak_of(partial(GameResults, schedule, results)) < 16 * MB


@needs_pipes
def test_what_is_no_ordinary_file_is_refused_and_not_waited_for(tmp_path, schedule):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises((ResultsError, OSError), match="pipe"):
        GameResults(schedule, tmp_path / "pipe")


def changed_line(data: bytes, seed: int) -> bytes:
    """Return a file in which one line says something else, and the others are as they were."""
    lines = data.splitlines(keepends=True)
    lines[seed % len(lines)] = mutated_json(lines[seed % len(lines)], seed) + b"\n"
    return b"".join(lines)


@amounts
@pytest.mark.parametrize("change", [mutated, changed_line])
def test_damaged_files_are_refused_or_work(results, schedule, change, amount):
    def load(data: bytes) -> None:
        """Read a file of games, and make of it what is shown."""
        results.write_bytes(data)
        records = GameResults(schedule, results).records
        again = results.read_bytes()
        assert GameResults(schedule, results).records == records
        assert results.read_bytes() == again
        if schedule is MATCH and records:
            RecordArrays(records).table()
        for metric in METRICS if schedule is TRIALS else ():
            Evaluation(["banker-1"], ["small"], records).table(metric)

    whole = results.read_bytes()
    assert GameResults(schedule, results).records == games_of(schedule)
    assert_loads_or_refused(load, change, whole, amount, errors=ResultsError)


# ---- tables --------------------------------------------------------------------------------------------

TABLE = (
    b'{"groups": [{"seats": 2, "players": {"trainable:main": 1, "bot:banker": 0.5}, "together": false}], '
    b'"shuffle": true}'
)


@amounts
@pytest.mark.parametrize("change", [mutated, mutated_json])
def test_damaged_tables_are_refused_or_drawn_from(change, amount):
    def load(text: bytes) -> None:
        table = LineUpDistribution.from_json(text.decode("utf-8"))
        table.draw(np.random.default_rng(0))
        assert LineUpDistribution.from_json(table.to_json()) == table

    assert_loads_or_refused(load, change, TABLE, amount)
