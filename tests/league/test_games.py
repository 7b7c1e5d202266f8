"""Schedules: which games there are, what is noted of them, and the file that keeps them."""

import dataclasses
import json

import numpy as np
import pytest

from territorial import GameConfig, Scenario, VecGame
from territorial.evaluation.record import LAND_EVERY, GameRecord, GameResults, ResultsError
from territorial.evaluation.schedule import Contest, Schedule
from tests.episodes import begun
from tests.league.support import fixtures_of, play_games

CONFIG = GameConfig(height=40, width=40, num_players=5, map="open", max_ticks=1200, win_percent=60)
PLAYERS = ("banker-1", "turtle-1", "novice-1", "vulture-1", "hard-1")


def contest(games=6, **changes):
    return Contest(**({"config": CONFIG, "players": PLAYERS, "games": games, "seed": 3} | changes))


def trials(games=20, **scenarios):
    """Return the schedule of an evaluation, in a scenario "s" and others."""
    named = {"s": Scenario(config=CONFIG, seats=["agent", *PLAYERS[1:]])} | scenarios
    pairs = [("banker", name) for name in named]
    code = {"banker": "banker-1"}
    return Schedule(players={}, scenarios=named, pairs=pairs, games=games, seed=3, code=code, apart=False)


def played(the_contest):
    return {record.game: record for record in play_games(the_contest.schedule({}))}


# ---- which games ------------------------------------------------------------------------------------


def test_a_fixed_contest_has_one_field_and_the_seeds_from_its_first_on():
    found = fixtures_of(contest().schedule({}))
    assert [(fixture.game, fixture.seed) for fixture in found] == [(k, 3 + k) for k in range(6)]
    assert {fixture.seats for fixture in found} == {PLAYERS}


@pytest.mark.parametrize("count", [3, 5, 7])
def test_a_balanced_contest_deals_the_seats_as_evenly_as_they_go(count):
    players = tuple(f"p{i}" for i in range(count))
    games = list(map(contest(400, players=players, draw="balanced").at, range(400)))
    counts = np.array([[seats.count(name) for name in players] for seats in games])
    assert (counts.sum(axis=1) == 5).all()
    assert (counts.min(), counts.max()) == (5 // count, -(-5 // count))
    share = counts.sum(axis=0) / counts.sum()
    assert np.abs(share - 1 / count).max() < 0.03
    by_seat = np.array([[seats[i] == players[0] for i in range(5)] for seats in games]).mean(axis=0)
    assert np.abs(by_seat - 1 / count).max() < 0.1


def test_a_game_of_a_balanced_contest_follows_from_its_seed_alone():
    one, other = contest(6, draw="balanced"), contest(100, seed=5, draw="balanced")
    assert one.at(2) == other.at(0)
    assert len(set(map(one.at, range(6)))) > 3


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


@pytest.mark.parametrize(
    ("games", "processes", "chunk"),
    [(32, 8, 4), (8, 8, 1), (9, 8, 2), (1, 1, 1), (4000, 4, 16), (100, 4, 13), (17, 1, 9), (16, 1, 16)],
)
def test_all_processes_have_as_many_games_to_play(games, processes, chunk):
    assert max(map(len, contest(games).schedule({}).chunks(processes=processes))) == chunk


def test_a_chunk_of_an_evaluation_is_always_the_same_games():
    whole = trials(20).chunks()
    assert [len(chunk) for chunk in whole] == [16, 4]
    done = {("banker", "s", number) for number in (*range(7), *range(16, 20))}
    assert trials(20).chunks(done, processes=9) == whole[:1]
    assert trials(16).chunks({("banker", "s", number) for number in range(20)}) == []


# ---- what is noted of them --------------------------------------------------------------------------


@pytest.mark.parametrize("decision_every", [10, 100, 400, 1000])
def test_a_record_is_what_the_game_was(decision_every):
    config = CONFIG.replace(decision_every=decision_every)
    records = played(contest(config=config))
    assert set(records) == set(range(6))
    for number, record in records.items():
        game = VecGame(config, 1, seats=PLAYERS, autoreset="disabled", observe=False)
        state, filled = begun(game, seeds=[3 + number]).state, -1
        land = {0: tuple(state.land[0, 1:].tolist())}
        while not state.over[0]:
            game.step()
            land[int(state.tick[0])] = tuple(state.land[0, 1:].tolist())
            if filled < 0 and 100 * state.land[0, 0] < state.num_land[0]:
                filled = int(state.tick[0])
        due = [next(tick for tick in land if tick >= k) for k in range(0, record.length, LAND_EVERY)]
        ticks = tuple(sorted({*due, record.length}))
        assert record == GameRecord(
            game=number,
            seed=3 + number,
            seats=PLAYERS,
            places=tuple((state.doubled_place[0, 1:] / 2).tolist()),
            died=tuple(state.death_tick[0, 1:].tolist()),
            length=int(state.tick[0]),
            is_stopped=bool((state.alive[0].sum() > 1) & (100 * state.land[0, 1:].max() < 60 * 1600)),
            filled=filled,
            num_land=1600,
            ticks=ticks,
            land=tuple(land[tick] for tick in ticks),
        )
        assert GameRecord.from_dict(json.loads(record.to_json())) == record
    if decision_every < 1000:
        assert len({record.length for record in records.values()}) > 1
        assert {record.is_stopped for record in records.values()} == {True, False}
    (alone,) = played(contest(1, seed=3 + 4, config=config)).values()
    assert dataclasses.replace(alone, game=4) == records[4], "whichever others are played"


# ---- the file ----------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.jsonl"


def made_up(fixture):
    """Return a record of a game that nobody has played, which is quicker."""
    places = tuple(map(float, range(1, 6)))
    return GameRecord(
        **fixture._asdict(),
        places=places,
        died=(-1,) * 5,
        length=600,
        is_stopped=False,
        filled=200,
        num_land=1600,
        ticks=(0, 600),
        land=((9,) * 5, (320,) * 5),
        returns=(0.0,) * 5 if fixture.own else (),
    )


def fill(path, schedule, numbers):
    """Play some games into a file, and return the records of all."""
    results = GameResults(schedule, path)
    everything = list(map(made_up, fixtures_of(schedule)))
    list(results.add(everything[number] for number in numbers))
    return everything


def numbers_in(path, schedule):
    return [record.game for record in GameResults(schedule, path).records]


def test_games_go_on_from_their_file_in_any_order_and_are_kept_once(path):
    schedule = contest().schedule({})
    everything = fill(path, schedule, (3, 0))
    again = GameResults(schedule, path)
    assert again.records == (everything[0], everything[3])
    other = dataclasses.replace(everything[3], length=7)
    assert list(again.add([everything[5], other, everything[1]])) == [everything[5], everything[1]]
    assert GameResults(schedule, path).records == tuple(everything[number] for number in (0, 1, 3, 5))
    assert len(path.read_text().splitlines()) == 5
    assert numbers_in(path, contest(games=2).schedule({})) == [0, 1]
    assert numbers_in(path, contest(games=9).schedule({})) == [0, 1, 3, 5]


def test_a_game_that_was_being_written_is_dropped_and_nothing_else_is_lost(path):
    schedule = contest().schedule({})
    everything = fill(path, schedule, (0, 1, 2))
    whole = path.read_bytes()
    last = len(whole.splitlines(keepends=True)[-1])
    for cut in (1, 2, 100, last - 1, last):
        path.write_bytes(whole[:-cut])
        results = GameResults(schedule, path)
        assert len(results.records) == 2
        list(results.add([everything[2]]))
        assert path.read_bytes() == whole


@pytest.mark.parametrize("schedule", [contest().schedule({}), trials(6)])
@pytest.mark.parametrize("text", [b"my notes", b"my notes\n", b"{}\n", b"[1]\n", b""])
def test_a_file_without_games_is_refused_unless_it_is_the_beginning_of_these(path, schedule, text):
    fill(path, schedule, ())
    header = path.read_bytes()
    for beginning in (header[:20], header[:-1], b""):
        path.write_bytes(beginning)
        GameResults(schedule, path)
        assert path.read_bytes() == header
    path.write_bytes(text)
    if text:
        with pytest.raises(ResultsError, match="is not a file of games"):
            GameResults(schedule, path)
        assert path.read_bytes() == text


def test_policies_settings_and_games_can_be_added_to_a_file(path):
    everything = fill(path, trials(3), range(3))
    more = trials(4, other=Scenario(config=CONFIG, seats=["agent"] * 5))
    assert GameResults(more, path).records == tuple(everything)
    lines = list(map(json.loads, path.read_text().splitlines()))
    assert ["format" in line for line in lines] == [True, False, False, False, True]
    assert GameResults(trials(3), path).records == tuple(everything)
    header = lines[0] | {"library": "9.9"}
    path.write_text("\n".join(map(json.dumps, [header, *lines[1:]])) + "\n")
    assert len(GameResults(trials(3), path).records) == 3, "another release goes on with it"


OTHERS = {
    "seed": (contest(seed=4), "its seed is 3, here it is 4$"),
    "config": (
        contest(config=CONFIG.replace(max_ticks=1300)),
        r"its scenarios\['match'\]\['settings'\]\['max_ticks'\] is 1200, here it is 1300; ",
    ),
    "seat": (
        contest(players=(*PLAYERS[:2], "easy-1", *PLAYERS[3:])),
        r"its scenarios\['match'\]\['players'\]\[2\] is 'novice-1', here it is 'easy-1'$",
    ),
    "draw": (
        contest(draw="balanced", players=PLAYERS[1:]),
        r"\['draw'\] is 'fixed', here it is 'balanced'; .*\['players'\] is \['banker-1', ",
    ),
    "all": (
        contest(config=CONFIG.replace(max_ticks=1300, map="lakes"), players=PLAYERS[1:] + PLAYERS[:1]),
        "; and 3 more$",
    ),
    "code": (contest(code={"mine": "b"}), r"its code\['mine'\] is 'a', here it is 'b'$"),
}


@pytest.mark.parametrize(("the_contest", "message"), OTHERS.values(), ids=OTHERS)
def test_the_file_of_other_games_is_refused_and_left_as_it_is(path, the_contest, message):
    fill(path, contest(code={"mine": "a"}).schedule({}), (0,))
    before = path.read_bytes()
    with pytest.raises(ResultsError, match=f"line 1: it records different games: .*{message}"):
        GameResults(the_contest.schedule({}), path)
    assert path.read_bytes() == before


def test_rewards_make_no_other_contest(path):
    fill(path, contest().schedule({}), (0,))
    assert numbers_in(path, contest(config=CONFIG.replace(rewards={"land": 1.0})).schedule({})) == [0]
