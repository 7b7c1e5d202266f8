"""Contests: which games there are, playing them on any number of processes, and the file of results."""

import json
import textwrap

import numpy as np
import pytest

from territorial import GameConfig, VecGame
from territorial.bots import HOLD_ALL, PythonBot
from territorial.evaluation.play import play_games, side_by_side
from territorial.evaluation.players import Cast, Entrants, python_bot
from territorial.evaluation.record import LAND_EVERY, GameRecord, bounds_of
from territorial.evaluation.results import ContestResults, ResultsError
from territorial.evaluation.schedule import Contest
from territorial.evaluation.statistics import RecordArrays

CONFIG = GameConfig(height=40, width=40, num_players=5, map="open", max_ticks=1200, win_percent=60)
PLAYERS = ("banker-1", "turtle-1", "novice-1", "vulture-1", "hard-1")


def contest(games=6, **changes):
    return Contest(**({"config": CONFIG, "players": PLAYERS, "games": games, "seed": 3} | changes))


def played(the_contest, **options):
    return {r.game: r for r in play_games(the_contest.config, {}, the_contest.fixtures(**options))}


# ---- which games ------------------------------------------------------------------------------------


def test_a_fixed_contest_has_one_field_and_the_seeds_from_its_first_on():
    found = list(contest().fixtures())
    assert [fixture.number for fixture in found] == list(range(6))
    assert [fixture.seed for fixture in found] == list(range(3, 9))
    assert {fixture.seats for fixture in found} == {PLAYERS}
    assert [fixture.number for fixture in contest().fixtures(without=(0, 4))] == [1, 2, 3, 5]


@pytest.mark.parametrize("count", [3, 5, 7])
def test_a_balanced_contest_deals_the_seats_as_evenly_as_they_go(count):
    players = tuple(f"p{i}" for i in range(count))
    games = [contest(400, players=players, draw="balanced").fixture(k).seats for k in range(400)]
    counts = np.array([[seats.count(name) for name in players] for seats in games])
    assert (counts.sum(axis=1) == 5).all()
    assert counts.min() == 5 // count
    assert counts.max() == -(-5 // count)
    share = counts.sum(axis=0) / counts.sum()
    assert np.abs(share - 1 / count).max() < 0.03
    by_seat = np.array([[seats[i] == players[0] for i in range(5)] for seats in games]).mean(axis=0)
    assert np.abs(by_seat - 1 / count).max() < 0.1


def test_a_game_of_a_balanced_contest_follows_from_its_seed_alone():
    one, other = contest(6, draw="balanced"), contest(100, seed=5, draw="balanced")
    assert one.fixture(2).seats == other.fixture(0).seats
    assert len({one.fixture(k).seats for k in range(6)}) > 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"players": PLAYERS[:3]}, "there are 3 players; a game of this config has 5 seats"),
        ({"players": (), "draw": "balanced"}, "there are no players"),
        ({"games": 0}, "games is 0"),
        ({"seed": 2**64}, "seed is"),
        ({"draw": "swiss"}, "draw is 'swiss'; it must be one of fixed, balanced"),
    ],
)
def test_a_contest_that_cannot_be_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        contest(**changes)


# ---- playing -----------------------------------------------------------------------------------------


def test_a_record_is_what_the_game_was():
    records = played(contest())
    assert set(records) == set(range(6))
    for number, record in records.items():
        game = VecGame(CONFIG, 1, seats=PLAYERS, autoreset="disabled", observe=False)
        game.reset(seeds=[3 + number])
        looks, filled = [], -1
        while not game.state.over[0]:
            if game.state.tick[0] % LAND_EVERY == 0:
                looks.append(tuple(game.state.land[0, 1:].tolist()))
            game.step()
            if filled < 0 and 100 * game.state.land[0, 0] < game.state.num_land[0]:
                filled = int(game.state.tick[0])
        state = game.state
        assert record == GameRecord(
            game=number,
            seed=3 + number,
            seats=PLAYERS,
            places=tuple((state.place2[0, 1:] / 2).tolist()),
            died=tuple(state.death_tick[0, 1:].tolist()),
            length=int(state.tick[0]),
            is_stopped=bool((state.alive[0].sum() > 1) & (100 * state.land[0, 1:].max() < 60 * 1600)),
            filled=filled,
            num_land=1600,
            ticks=(*range(0, int(state.tick[0]), LAND_EVERY), int(state.tick[0])),
            land=(*looks, tuple(state.land[0, 1:].tolist())),
        )
        assert GameRecord.from_json(record.to_json().encode(), bounds_of(CONFIG)) == record
    assert len({record.length for record in records.values()}) > 1
    assert {record.is_stopped for record in records.values()} == {True, False}


@pytest.mark.parametrize("decision_every", [100, 400, 1000])
def test_land_has_the_ticks_at_which_it_was_looked_at(decision_every):
    config = CONFIG.replace(decision_every=decision_every, max_ticks=3000)
    the_contest = contest(3, config=config)
    records = played(the_contest)
    for number, record in records.items():
        game = VecGame(config, 1, seats=PLAYERS, autoreset="disabled", observe=False)
        game.reset(seeds=[3 + number])
        land = {0: tuple(game.state.land[0, 1:].tolist())}
        while not game.state.over[0]:
            game.step()
            land[int(game.state.tick[0])] = tuple(game.state.land[0, 1:].tolist())
        assert dict(zip(record.ticks, record.land, strict=True)).items() <= land.items()
        due = [next(tick for tick in land if tick >= k) for k in range(0, record.length, LAND_EVERY)]
        assert record.ticks == tuple(sorted({*due, record.length}))
    tally = RecordArrays(tuple(records.values()))
    assert tally.ticks[-1] == tally.lengths.max()
    means = [np.mean([r.land[min(i, len(r.land) - 1)][0] for r in records.values()]) for i in (0, 1)]
    assert tally.land(tally.ticks)[tally.players.index(PLAYERS[0]), :2] * 1600 == pytest.approx(means)


def test_a_game_is_the_same_whichever_others_are_played():
    the_contest = contest(12, draw="balanced")
    alone = played(the_contest)
    assert played(the_contest, without=set(range(12)) - {7}) == {7: alone[7]}


@pytest.mark.parametrize(
    ("games", "processes", "portion"),
    [(32, 8, 4), (8, 8, 1), (9, 8, 2), (1, 1, 1), (4000, 4, 16), (100, 4, 13), (17, 1, 9), (16, 1, 16)],
)
def test_all_processes_have_as_many_games_to_play(games, processes, portion):
    assert side_by_side(games, processes) == portion


class Holds(PythonBot):
    name = "holds-1"

    def decide(self, view):
        return HOLD_ALL, 1


# ---- players -----------------------------------------------------------------------------------------


def test_bots_in_python_play_too():
    asked = [
        "banker",
        "tests.league.test_contest:Holds",
        "turtle-1",
        "tests.league.test_contest:Holds",
        "hard",
    ]
    field = Entrants(asked)
    assert field.names == ("banker-1", "holds-1", "turtle-1", "holds-1", "hard-1")
    assert list(field.players) == ["banker-1", "holds-1", "turtle-1", "hard-1"]
    cast = Cast(field.players)
    assert cast.seat("holds-1") is cast.seat("holds-1"), "one bot has all its seats"
    the_contest = contest(2, players=field.names)
    for record in play_games(CONFIG, field.players, the_contest.fixtures()):
        assert record.seats == field.names
        assert max(record.land[-1][1], record.land[-1][3]) <= 12


def test_a_bot_may_lie_in_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine_for_a_test.py").write_text(
        textwrap.dedent(
            """
            from territorial.bots import PythonBot
            class Mine(PythonBot):
                name = "mine-1"
                def decide(self, view):
                    return -1, 1
            class Other: pass
            class Nameless(Mine):
                name = "turtle"
            class Sized(Mine):
                def __init__(self, size): ...
            class Abstract(PythonBot):
                name = "abstract-1"
            class Broken(Mine):
                def __init__(self): 1 // 0
            """
        )
    )
    (tmp_path / "wrong_for_a_test.py").write_text("class Mine(\n")
    (tmp_path / "raises_for_a_test.py").write_text("1 // 0\n")
    assert python_bot("mine_for_a_test:Mine").name == "mine-1"
    for text, message in (
        ("mine_for_a_test:Other", "is not a subclass of territorial.bots.PythonBot"),
        ("mine_for_a_test:Nobody", "cannot be loaded: .*Nobody"),
        ("no_such_module:Mine", "cannot be loaded: ModuleNotFoundError: No module named 'no_such_module'"),
        ("wrong_for_a_test:Mine", "'wrong_for_a_test:Mine' cannot be loaded: SyntaxError: .*line 1"),
        ("raises_for_a_test:Mine", "cannot be loaded: ZeroDivisionError: "),
        ("mine_for_a_test:Sized", "cannot be made without arguments: TypeError: .*'size'"),
        ("mine_for_a_test:Abstract", "cannot be made without arguments: TypeError: .*abstract.*decide"),
        ("mine_for_a_test:Broken", "cannot be made without arguments: ZeroDivisionError: "),
        (
            "mine_for_a_test:Nameless",
            "has the name 'turtle'; it must be a string that is not the name of a bot",
        ),
        ("wizard", "there is no bot 'wizard'"),
    ):
        with pytest.raises(ValueError, match=message):
            Entrants(["banker", text])


def test_the_code_of_a_bot_is_its_file_and_those_of_its_bases(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    base, bot = tmp_path / "base_for_a_test.py", tmp_path / "bot_for_a_test.py"
    base.write_text(
        "from territorial.bots import PythonBot\n"
        "class Base(PythonBot):\n    name = 'b-1'\n    def decide(self, view):\n        return -1, 1\n"
    )
    bot.write_text("from base_for_a_test import Base\nclass Bot(Base): pass\n")
    found = []
    for path in (None, base, bot, None):
        if path is not None:
            path.write_text(path.read_text() + "# changed\n")
        found.append(Entrants(["bot_for_a_test:Bot", "turtle"]).code["b-1"])
    assert len(set(found)) == 3
    assert found[2] == found[3]
    assert Entrants(["turtle"]).code == {}


# ---- the file ----------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.jsonl"


def fill(path, numbers, **changes):
    results = ContestResults(contest(**changes), path)
    everything = played(results.contest)
    list(results.add(everything[number] for number in numbers))
    return everything


def test_a_contest_goes_on_from_its_file_in_any_order(path):
    everything = fill(path, (3, 0))
    again = ContestResults(contest(), path)
    assert again.numbers == {0, 3}
    assert again.records == (everything[0], everything[3])
    list(again.add(everything[number] for number in (5, 1)))
    assert ContestResults(contest(), path).numbers == {0, 1, 3, 5}
    assert len(path.read_text().splitlines()) == 5


def test_a_game_that_was_being_written_is_played_again_and_nothing_else_is_lost(path):
    everything = fill(path, (0, 1, 2))
    whole = path.read_bytes()
    last = len(whole.splitlines(keepends=True)[-1])
    for cut in (1, 2, 100, last - 1, last):
        path.write_bytes(whole[:-cut])
        results = ContestResults(contest(), path)
        assert results.numbers == {0, 1}
        list(results.add([everything[2]]))
        assert path.read_bytes() == whole


def test_the_number_of_games_may_grow_and_shrink(path):
    everything = fill(path, (0, 5))
    fewer = ContestResults(contest(games=3), path)
    assert fewer.records == (everything[0],)
    assert ContestResults(contest(games=9), path).numbers == {0, 5}


def test_another_release_goes_on_with_a_contest(path):
    fill(path, (0,))
    lines = path.read_text().splitlines()
    header = json.loads(lines[0])
    assert header["settings"]["height"] == 40
    header["library"] = "9.9"
    path.write_text("\n".join([json.dumps(header), *lines[1:]]) + "\n")
    assert ContestResults(contest(), path).numbers == {0}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 4}, "is of another contest: its seed is 3, here it is 4$"),
        ({"config": CONFIG.replace(max_ticks=1300)}, "contest: its max_ticks is 1200, here it is 1300$"),
        (
            {"config": CONFIG.replace(num_players=6), "players": (*PLAYERS, "easy-1")},
            "contest: its num_players is 5, here it is 6$",
        ),
        (
            {"players": ("banker-1", "turtle-1", "easy-1", "vulture-1", "hard-1")},
            "contest: its seat 3 is 'novice-1', here it is 'easy-1'$",
        ),
        ({"draw": "balanced"}, "contest: its draw is 'fixed', here it is 'balanced'$"),
        (
            {"config": CONFIG.replace(max_ticks=1300, map="lakes"), "players": PLAYERS[1:] + PLAYERS[:1]},
            "its map is 'open', here it is 'lakes'; .*; its seat 3 is [^;]*; and 2 more$",
        ),
    ],
)
def test_the_file_of_another_contest_is_refused_and_left_as_it_is(path, changes, message):
    fill(path, (0,))
    before = path.read_bytes()
    with pytest.raises(ResultsError, match=message):
        ContestResults(contest(**changes), path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("players", "message"),
    [
        (PLAYERS[1:], "contest: only there plays 'banker-1'$"),
        (
            (*PLAYERS[1:], "easy-1", "easy-1"),
            "only there plays 'banker-1'; only here plays 'easy-1'; only here",
        ),
        ((*PLAYERS[:3], "hard-1", "vulture-1"), "its player 4 is 'vulture-1', here it is 'hard-1'; "),
    ],
)
def test_the_players_that_differ_are_named_where_seats_are_dealt(path, players, message):
    fill(path, (0,), draw="balanced")
    with pytest.raises(ResultsError, match=message):
        ContestResults(contest(draw="balanced", players=players), path)


def test_rewards_make_no_other_contest(path):
    fill(path, (0,))
    assert ContestResults(contest(config=CONFIG.replace(rewards={"land": 1.0})), path).numbers == {0}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: ["{}", *lines[1:]], "is not a file of a contest"),
        (lambda lines: ["hello", *lines[1:]], "is not a file of a contest"),
        (
            lambda lines: [lines[0].replace("version 2", "version 1"), *lines[1:]],
            "version 1'; this release has",
        ),
        (lambda lines: [lines[0], lines[1].replace('"ticks":[0,', '"ticks":[')], "ticks has "),
        (lambda lines: [lines[0], "{", lines[2]], "line 2: "),
        (lambda lines: [lines[0], lines[1], "{}"], "line 3: a game has no 'died'; it must have the fields"),
        (
            lambda lines: [lines[0], lines[1].replace("banker-1", "bunker-1")],
            "line 2: game 0 has other seats",
        ),
        (
            lambda lines: [lines[0], lines[1].replace('"seed":3', '"seed":4')],
            "line 2: game 0 has other seats",
        ),
        (
            lambda lines: [lines[0], lines[1].replace('"places":[', '"places":[1.0,')],
            "places has 6 entries; there are 5",
        ),
    ],
)
def test_a_damaged_file_is_refused_and_left_as_it_is(path, change, message):
    fill(path, (0, 1))
    path.write_text("\n".join(change(path.read_text().splitlines())) + "\n")
    before = path.read_bytes()
    with pytest.raises(ResultsError, match=message):
        ContestResults(contest(), path)
    assert path.read_bytes() == before


def test_a_file_without_a_line_is_no_contest_unless_it_is_the_beginning_of_this_one(path):
    path.write_bytes(b"my notes")
    with pytest.raises(ResultsError, match="is not a file of a contest"):
        ContestResults(contest(), path)
    assert path.read_bytes() == b"my notes"
    fill(path.with_name("b.jsonl"), ())
    header = path.with_name("b.jsonl").read_bytes()
    path.write_bytes(header[:20])
    ContestResults(contest(), path)
    assert path.read_bytes() == header
