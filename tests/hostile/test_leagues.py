"""Damaged and forged files of leagues, games and tables: refused before they take time or memory."""

import io
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
from territorial.league import League, LeagueConfig, Learner, LineUpDistribution, Opponents, league_file
from territorial.league.config import MAX_CAPACITY
from tests.hostile.mutate import mutated, mutated_json, mutated_zip, unzipped, zipped
from tests.hostile.support import (
    MB,
    Counted,
    amounts,
    assert_loads_or_refused,
    needs_pipes,
    nested,
    peak_of,
)
from tests.league.support import fixtures_of


def played() -> League:
    parts = Opponents(seats=2, among=("snapshots", "bots")), Opponents(seats=1, strategy="near")
    main = Learner(name="main", opponents=parts)
    other = Learner(name="breaker", role="main_exploiter", opponents=(Opponents(seats=3, among=("mains",)),))
    config = LeagueConfig(num_players=4, learners=(main, other), bots=("banker", "novice"), capacity=4)
    league, rng = League(config, rated=False), np.random.default_rng(0)
    for step in range(6):
        for learner in ("main", "breaker"):
            league.advance(learner)
            league.record(league.draw(learner), rng.permutation(4) + 1)
        league.freeze("main")
        league.note(step, above={"bot:banker": 0.5})
    return league


WHOLE = played().to_bytes()
MEMBERS = dict(unzipped(WHOLE))
ABOUT = json.loads(MEMBERS["about.npy"][128:])


def array(content: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, content)
    return file.getvalue()


def text_member(text: str | bytes) -> bytes:
    return array(np.frombuffer(text.encode() if isinstance(text, str) else text, np.uint8))


def with_member(name: str, content: bytes) -> bytes:
    return zipped({**MEMBERS, f"{name}.npy": content}.items())


def with_number(name: str, place: tuple[int, ...], value: float) -> bytes:
    changed = np.load(io.BytesIO(MEMBERS[f"{name}.npy"])).copy()
    changed[place] = value
    return with_member(name, array(changed))


def changed(path: str, value: object) -> dict[str, object]:
    """Return the fields of ``about`` with one entry, such as ``snapshots.0.name``, replaced."""
    copy = json.loads(json.dumps(ABOUT))
    holder, names = copy, path.split(".")
    for name in names[:-1]:
        holder = holder[int(name)] if isinstance(holder, list) else holder[name]
    holder[int(names[-1]) if isinstance(holder, list) else names[-1]] = value
    return copy


NAN, INFINITE = float("nan"), float("inf")
FORGED = [
    # path, value, what the error says
    (
        "snapshots.0.name", "../../x",
        "snapshots[0]: name is '../../x'; it must be main-N with N at least 0 and below 6",
    ),
    ("snapshots.0.name", "main-7", "name is 'main-7'; it must be main-N"),
    ("snapshots.0.name", "main-01", "name is 'main-01'"),
    ("snapshots.0.name", "main-٣", "name is 'main-٣'"),
    ("snapshots.0.name", "main-" + "9" * 5000, "name is 'main-999"),
    ("snapshots.0.name", None, "snapshots[0]: name is None"),
    (
        "snapshots.1.name", "main-2",
        "snapshots[1]: name is 'main-2'; it must be main-N with N at least 0 and below 6, and occur",
    ),
    ("snapshots.0.learner", "maine", "snapshots[0]: learner is 'maine'; it must be one of main, breaker"),
    ("snapshots.0.learner", ["main"], "snapshots[0]: learner is ['main']"),
    ("snapshots.0.step", 10**9, "snapshots[0]: step is 1000000000; it must be a whole number from 0 to 6"),
    ("snapshots.0.step", 1.5, "snapshots[0]: step is 1.5"),
    ("snapshots.0", [], "snapshots[0] is []; it must be a mapping of fields"),
    ("snapshots", {}, "snapshots is {}; it must be a list"),
    ("snapshots", [ABOUT["snapshots"][0]] * 5, "snapshots has 5 entries; it must have at most 4"),
    ("steps.main", -1, "steps['main'] is -1; it must be a whole number from 0"),
    ("steps.main", NAN, "about: it has the number 'NaN'; numbers must be finite"),
    ("steps.main", INFINITE, "the number 'Infinity'"),
    ("steps.main", True, "steps['main'] is True"),
    ("steps", {"main": 6}, "steps has no 'breaker'; it must have the fields breaker, main"),
    (
        "steps", {"main": 6, "breaker": 6, "x": 1},
        "steps has the field 'x'; it must have only the fields breaker, main",
    ),
    ("frozen_at.main", 7, "frozen_at['main'] is 7; it must be a whole number from 0 to 6"),
    ("count.main", "6", "count['main'] is '6'; it must be a whole number"),
    ("num_games", 2**60, "num_games is 1152921504606846976; it must be a whole number from 0 to"),
    (
        "players.0", "trainable:nobody",
        "players[0] is 'trainable:nobody'; the league has no trainable of that name",
    ),
    (
        "players.0", "snapshot:../../x",
        "players[0] is 'snapshot:../../x'; the league has no snapshot of that name",
    ),
    ("players.0", "bot:nobody", "players[0]: a player is 'bot:nobody'; bots are "),
    ("players.0", 5, "players[0]: a player is 5"),
    ("players.1", "trainable:main", "players[1] is 'trainable:main', which occurs before"),
    ("players", [], "sums"),
    ("ratings", {"trainable:main": [25.0, 0.0]}, "ratings['trainable:main'] has the standard deviation 0.0"),
    ("ratings", {"trainable:main": [25.0]}, "ratings['trainable:main'] is [25.0]; it must be a mean and"),
    ("ratings", {"trainable:main": ["x", 1]}, "ratings['trainable:main'] is 'x'; it must be a finite number"),
    ("ratings", {"snapshot:x": [25.0, 1.0]}, "ratings is 'snapshot:x'; the league has no snapshot"),
    ("ratings", [], "ratings is []; it must be an object with names"),
    ("history.2", 5, "history[2] is 5; it must be an object with names"),
    ("history.2", {"step": 1}, "history[2] has no 'games'"),
    ("history.2.step", "x", "history[2]: step is 'x'; it must be a finite number"),
    ("history.2.ratings", {"main": 5}, "history[2]: ratings['main'] is 5"),
    ("history.2.above", [0.5], "history[2]: above is [0.5]"),
    ("history", [ABOUT["history"][0]] * 1001, "history has 1,001 entries; it must have at most 1,000"),
    ("rng.state", {"state": 1}, "rng: state has no 'inc'"),
    ("rng.state.state", 2**128, "rng: state['state'] is 340282366920938463463374607431768211456; it must be"),
    ("rng.bit_generator", "MT19937", "rng: bit_generator is 'MT19937'; it must be 'PCG64'"),
    ("rng.has_uint32", 2, "rng: has_uint32 is 2; it must be a whole number from 0 to 1"),
    (
        "config.capacity", 10**6,
        f"config: capacity is 1000000; it must be a whole number from 3 to {MAX_CAPACITY}",
    ),
    ("config.fading", NAN, "the number 'NaN'"),
    ("config.fading", "x", "config: fading is 'x'; it must be a finite number from 0 to 1"),
    ("config.learners", 5, "learners is 5; it must be a list"),
    ("config.learners.0.name", "../x", "learners[0]: name is '../x'"),
    (
        "config.learners.0.gate.beats", None,
        "learners[0]: gate: beats is None; it must be a finite number",
    ),
    ("config.learners.0.gate", {"beats": 0.5}, "learners[0]: gate has no 'against'"),
    ("config.learners.0.gate.against", "all", "learners[0]: gate: against is 'all'; it must be a list"),
    ("config.learners.0.opponents.0.among", 5, "learners[0]: opponents[0]: among is 5; it must be a list"),
    ("config.learners.0.opponents.0.power", [1], "opponents[0]: power is [1]; it must be a finite number"),
    ("config.learners.0.opponents.0.strategy", [1], "opponents[0]: strategy is [1]; it must be one of"),
    ("config.learners.0.opponents", None, "learners[0]: opponents is None; it must be a list"),
    ("config.learners.0.x", 1, "learners[0] has the field 'x'; it must have only the fields"),
    ("config.bots", ["nobody"], "config: bots has 'nobody'"),
    ("config.bots", [["banker"]], "config: bots[0] is ['banker']; it must be of the type str"),
    ("config", None, "config is None; it must be a mapping of fields"),
    (
        "format", "territorial league, version 2",
        "it has the format 'territorial league, version 2'; this release",
    ),
    ("x", 1, "it has the field 'x'; it must have only the fields config, count"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "message"), FORGED, ids=lambda one: str(one)[:40])
def test_a_forged_entry_is_refused_by_name_with_its_value(path, value, message, tmp_path):
    file = tmp_path / "league.npz"
    file.write_bytes(with_member("about", text_member(json.dumps(changed(path, value)))))
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        League.load(file)
    assert str(caught.value).startswith(f"{str(file)!r}: this is not a league: ")
    assert len(str(caught.value)) < 1500


@pytest.mark.parametrize("name", ABOUT)
def test_a_missing_entry_is_named(name):
    text = json.dumps({key: value for key, value in ABOUT.items() if key != name})
    with pytest.raises(ValueError, match=f"has no {name!r}|format None"):
        League.from_bytes(with_member("about", text_member(text)))


TABLES = [
    ("sums", (1, 0, 1), NAN, "above of trainable:main and .* is nan; it must be from 0 to met"),
    ("sums", (0, 0, 1), INFINITE, "met of trainable:main and .* is inf"),
    ("sums", (0, 0, 1), 0.0, "met of trainable:main and .* is 0.0; it must be from 1 to the number of games"),
    ("sums", (1, 0, 1), -0.1, "above of trainable:main and"),
    ("sums", (2, 0, 1), 1e9, "won of trainable:main and .* is 1000000000.0"),
    (
        "sums", (3, 0, 1), 1e9,
        "places of trainable:main and .* is 1000000000.0; it must be at most 250 a game",
    ),
    ("counts", (0, 0, 1), -1, "games of trainable:main and .* is -1; it must be from 0 to 12"),
    ("counts", (0, 0, 0), 1, "games of trainable:main and trainable:main is 1"),
    ("counts", (0, 0, 1), 2**62, "games of"),
    ("counts", (1, 0, 1), 0, "pairs of"),
    ("last", (0,), 13, "last of trainable:main is 13; it must be from 0 to 12"),
    ("num_games", (), -1, "num_games is -1"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "place", "value", "message"), TABLES)
def test_numbers_that_no_games_lead_to_are_refused(name, place, value, message):
    with pytest.raises(ValueError, match=message):
        League.from_bytes(with_number(name, place, value))


# ---- bounds --------------------------------------------------------------------------------------------


def zeros(dtype: str, *shape: int) -> bytes:
    """Return an array of zeros as a file, made without an array."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (117 - len(header)) + b"\n"
    return (
        b"\x93NUMPY\1\0"
        + len(header).to_bytes(2, "little")
        + header
        + bytes(np.dtype(dtype).itemsize * int(np.prod(shape)))
    )


LARGE = bytes(16 * MB)
# Small files that say, or hold, 16 MB and more.
BOMBS = {
    "another member": lambda: zipped([*MEMBERS.items(), ("x.npy", LARGE)]),
    "another member instead": lambda: zipped([*list(MEMBERS.items())[:-1], ("x.npy", LARGE)]),
    "a table": lambda: with_member("sums", zeros("<f8", 4, 724, 724)),
    "a table and more": lambda: with_member("sums", MEMBERS["sums.npy"] + LARGE),
    "no array": lambda: with_member("counts", LARGE),
    "a text": lambda: with_member("about", text_member(bytes(33 * MB))),
    "a header": lambda: with_member("num_games", b"\x93NUMPY\2\0" + (16 * MB).to_bytes(4, "little") + LARGE),
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_is_too_large_is_not_unpacked(name):
    data = BOMBS[name]()
    assert len(data) < MB / 10
    with pytest.raises(ValueError, match="this is not a league"):
        League.from_bytes(data)
    assert peak_of(partial(League.from_bytes, data)) < MB


TEXTS = {
    "lists": "[" + "[]," * (4 * MB) + "[]]",
    "depth": nested(10**6),
    "digits": '{"format": ' + "9" * MB + "}",
    "names": "{" + ",".join(f'"{i}": 0' for i in range(30_000)) + ', "0": 1}',
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_becomes_little_more_than_it_is(name):
    data = with_member("about", text_member(TEXTS[name]))
    with pytest.raises(ValueError, match="this is not a league: about: "):
        League.from_bytes(data)
    assert peak_of(partial(League.from_bytes, data)) < 3 * len(TEXTS[name]) + 20 * MB


def lying(data: bytes, name: str, size: int) -> bytes:
    """Return an archive whose directory gives another size for a member, unpacked."""
    place = data.rindex(f"{name}.npy".encode()) - 46
    assert data[place : place + 4] == b"PK\1\2"
    return data[: place + 24] + size.to_bytes(4, "little") + data[place + 28 :]


@pytest.mark.parametrize("size", [0, 100, 2**32 - 2])
@pytest.mark.parametrize("name", ["about", "sums", "num_games"])
def test_a_member_that_unpacks_to_something_else_than_it_says_is_refused(name, size):
    data = lying(WHOLE, name, size)
    with pytest.raises(ValueError, match="this is not a league"):
        League.from_bytes(data)
    assert peak_of(partial(League.from_bytes, data)) < MB


def test_no_more_is_unpacked_than_a_member_says():
    file = Counted(lying(with_member("sums", LARGE), "sums", len(MEMBERS["sums.npy"])))
    with pytest.raises(ValueError, match=r"CRC|sums"):
        League._read(file)
    assert peak_of(partial(League._read, file)) < MB


def test_of_a_long_file_only_the_members_are_read():
    file = Counted(LARGE + WHOLE)
    League._read(file)
    assert file.nbytes < 2 * len(WHOLE)


def test_what_is_pickled_an_expression_or_larger_than_its_member_is_refused(tmp_path):
    class Trap:
        def __reduce__(self):
            return (tmp_path / "trap").touch, ()

    pickled = io.BytesIO()
    np.save(pickled, np.array([Trap()], object), allow_pickle=True)
    header = b"{'descr': '<i8', 'fortran_order': False, 'shape': (" + b"-" * 50_000 + b"1,), }\n"
    expression = b"\x93NUMPY\2\0" + len(header).to_bytes(4, "little") + header
    claims = array(np.zeros(1)).replace(b"(1,), }" + b" " * 12, b"(%d,), }" % 10**12)
    assert b"(1000000000000,), }" in claims
    for content in (pickled.getvalue(), expression, claims):
        for name in ("about", "sums", "num_games"):
            with pytest.raises(ValueError, match=f"this is not a league: {name}"):
                League.from_bytes(with_member(name, content))
    assert list(tmp_path.iterdir()) == []


@needs_pipes
def test_a_pipe_and_a_folder_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="is not a regular file"):
        League.load(tmp_path / "pipe")
    with pytest.raises(IsADirectoryError):
        League.load(tmp_path)


# ---- what is written can be read -----------------------------------------------------------------------


def test_a_history_that_is_too_long_for_a_file_is_thinned(monkeypatch):
    league = played()
    for step in range(200):
        league.note(6 + step)
    monkeypatch.setattr("territorial.league.league.BOUNDS", league_file.BOUNDS._replace(nbytes=10_000))
    again = League.from_bytes(league.to_bytes())
    assert 10 < len(again.history) < 150
    assert (again.history[0], again.history[-1]) == (league.history[0], league.history[-1])
    assert (len(league.history), again.to_bytes()) == (206, league.to_bytes())


def test_what_no_file_could_hold_is_refused_when_it_is_said():
    league = played()
    before = league.to_bytes()
    for more, message in (
        ({"loss": NAN}, "not JSON compliant|Out of range"),
        ({"above": {"x": "y"}}, r"above\['x'\] is 'y'; it must be a finite number"),
        ({"above": {"x": 2}}, r"above\['x'\] is 2; it must be a finite number from 0 to 1"),
        ({"met": {"x": -1}}, r"met\['x'\] is -1"),
        ({"x": json.loads(nested(40))}, "deep"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            league.note(1, **more)
    for places in ([0, 1], [1, INFINITE], [1, 251]):
        with pytest.raises(ValueError, match="a place is a number from 1 to 250"):
            league.record(["trainable:main", "bot:banker"], places)
    assert league.to_bytes() == before


# ---- any damage ----------------------------------------------------------------------------------------


def changed_member(name: str, content: bytes, seed: int) -> bytes:
    """Return another array: the text says something else, or bytes after the header are others."""
    if seed % 4 == 0:
        return mutated(content, seed)
    if name == "about.npy":
        return text_member(mutated_json(content[128:], seed))
    return content[:128] + mutated(content[128:], seed)


def load_and_use(data: bytes) -> None:
    """Load a league, and do what is done with one: whatever loads must work."""
    league = League.from_bytes(data)
    assert League.from_bytes(league.to_bytes()).to_bytes() == league.to_bytes()
    for learner in league.steps:
        league.gate(learner)
        league.record(league.draw(learner), range(1, league.config.num_players + 1))
        league.freeze(learner)
    for first in league.payoff.names:
        for other in league.payoff.names:
            league.payoff.of(first, other)
    league.note(1)
    league.to_bytes()


@amounts
@pytest.mark.parametrize(
    "change", [mutated, partial(mutated_zip, change=changed_member)], ids=["bytes", "entries"]
)
def test_damaged_leagues_are_refused_or_work(change, amount):
    assert_loads_or_refused(load_and_use, change, WHOLE, amount)


# ---- games, and tables of leagues --------------------------------------------------------------------


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

FORGED_GAMES = [
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


@pytest.mark.parametrize(("name", "value", "message"), FORGED_GAMES)
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
