"""What records say, worked out by hand for a few games."""

import numpy as np
import pytest

from territorial.evaluation.intervals import mean_of, students_t, wilson
from territorial.evaluation.match import RecordArrays
from territorial.evaluation.record import GameRecord
from territorial.evaluation.standings import FEW


def record(game, seats, places, died=None, length=1000, land=None, **changes):
    land = [[10] * len(seats)] if land is None else land
    fields = {
        "game": game,
        "seed": game,
        "seats": tuple(seats),
        "places": tuple(places),
        "died": tuple([-1] * len(seats) if died is None else died),
        "length": length,
        "is_stopped": False,
        "filled": 600,
        "num_land": 100,
        "ticks": (*range(0, 250 * (len(land) - 1), 250), length),
        "land": tuple(map(tuple, land)),
    }
    return GameRecord(**(fields | changes))


GAMES = (
    record(0, "aabc", (1, 3, 2, 4), died=(-1, 700, -1, 90), length=800),
    record(1, "abbc", (4, 2, 1, 3), died=(10, -1, -1, 700), length=2000, is_stopped=True, filled=-1),
    record(2, "acbc", (1.5, 1.5, 4, 3), length=1200, filled=620),
)


def by_player(tally):
    return {line.player: line for line in tally.table()}


def test_players_are_ranked_by_the_mean_place_of_their_seats():
    lines = RecordArrays(GAMES).table()
    assert [(line.player, line.seats) for line in lines] == [("b", 4), ("a", 4), ("c", 4)]
    assert [line.place.value for line in lines] == [
        (2 + 2 + 1 + 4) / 4,
        (1 + 3 + 4 + 1.5) / 4,
        (4 + 3 + 4.5) / 4,
    ]


def test_seats_that_win_together_share_the_game():
    found = by_player(RecordArrays(GAMES))
    shares = np.array([(found[name].wins.value, found[name].fair.value) for name in "abc"])
    np.testing.assert_allclose(shares, [(1.5 / 3, 1.5), (1 / 3, 1), (0.5 / 3, 0.5)])


def test_games_without_the_player_say_nothing():
    sums, counts = np.array([1.0, 4.0, 4.0]), np.array([1.0, 2.0, 1.0])
    found = mean_of(sums, counts)
    assert found.value == 9 / 4
    assert mean_of(np.append(sums, 0.0), np.append(counts, 0.0)) == found
    assert mean_of(np.array([1.0, 3.0]), least=1, most=4) == (2, 1, 4)


@pytest.mark.parametrize(
    ("wins", "games", "low", "high"),
    [
        (0, 10, 0, 0.2775),
        (10, 10, 0.7225, 1),
        (5, 10, 0.2366, 0.7634),
        (0, 1, 0, 0.7935),
        (1, 100, 0.0018, 0.0545),
    ],
)
def test_intervals_of_shares_are_those_of_the_tables(wins, games, low, high):
    assert wilson(wins / games, games) == pytest.approx((wins / games, low, high), abs=1e-4)


@pytest.mark.parametrize("games", [1, 5, 40, 400])
def test_who_has_won_nothing_or_everything_may_yet_do_otherwise(games):
    found = by_player(RecordArrays([record(k, "aabb", (1, 2, 3, 4)) for k in range(games)]))
    assert found["a"].wins == wilson(1, games)
    assert found["a"].wins.low < 1 == found["a"].wins.high
    assert found["b"].fair.value == found["b"].fair.low == 0
    assert found["b"].fair.high == pytest.approx(2 * wilson(0, games).high)


@pytest.mark.parametrize("games", [1, 4, 12, FEW, 100])
def test_intervals_of_places_hold_the_mean_however_few_games_there_are(games):
    """Of 200 contests: a player who is last in three games of four, and else first."""
    rng, held = np.random.default_rng(3), 0
    for _ in range(200):
        firsts = rng.random(games) < 0.25
        line = by_player(
            RecordArrays([record(k, "ab", (1, 2) if first else (2, 1)) for k, first in enumerate(firsts)])
        )
        place = line["a"].place
        assert 1 <= place.low <= place.value <= place.high <= 2
        held += place.low <= 1.75 <= place.high
    assert held >= 180


def test_who_beats_whom_counts_all_pairs_of_seats():
    a_b, b_c, a_c = (1 + 0 + 0 + 0 + 1) / 5, (1 + 2 + 0 + 0) / 5, (2 + 0 + 0.5 + 1) / 5
    wanted = [[0.5, a_b, a_c], [1 - a_b, 0.5, b_c], [1 - a_c, 1 - b_c, 0.5]]
    np.testing.assert_allclose(RecordArrays(GAMES).beats(), wanted)
    alone = RecordArrays([record(0, "ab", (1, 2)), record(1, "cd", (2, 1))]).beats()
    assert np.isnan(alone[0, [0, 2]]).all()


def test_survival_counts_seats_by_the_tick_of_their_death():
    tally = RecordArrays(GAMES)
    assert tally.survival(np.array([0, 10, 700, 5000]))[0].tolist() == [1, 0.75, 0.5, 0.5]
    assert tally.survival(np.array([89, 90, 699]))[2].tolist() == [1, 0.75, 0.75]


def test_land_is_a_share_of_the_map_and_stands_after_the_end():
    games = [
        record(0, "ab", (1, 2), land=[[10, 20], [30, 40]], num_land=100, length=240),
        record(1, "ab", (1, 2), land=[[20, 20], [20, 20], [60, 0]], num_land=200, length=400),
    ]
    tally = RecordArrays(games)
    assert tally.ticks.tolist() == [0, 250, 400]
    for ticks in (tally.ticks, np.array([239, 240, 1000])):
        assert tally.land(ticks)[0].tolist() == pytest.approx([0.1, 0.2, 0.3])


def test_the_shape_of_games():
    shape = RecordArrays(GAMES).shape()
    assert (shape["games"], shape["stopped_by_time"]) == (3, pytest.approx(1 / 3))
    assert (shape["length"]["median"], shape["neutral_gone"]["median"]) == (1200, 610)
    assert shape["alive"] == {"1000": {"min": 2, "quartile_1": 2.5, "median": 3, "quartile_3": 3.5, "max": 4}}


def test_survivors_of_games_that_are_over_are_not_counted():
    """Of five games two go on after tick 2,000: too few to say what games are like then."""
    games = [record(k, "abcd", (1, 2, 3, 4), length=length) for k, length in enumerate((900, 950, 1500))]
    games += [
        record(k, "abcd", (1, 2, 3, 4), died=(-1, 2500, 1200, 300), length=3000, land=[[10] * 4])
        for k in (3, 4)
    ]
    assert list(RecordArrays(games).shape()["alive"]) == ["1000"]
    alive = RecordArrays(games[1:]).shape()["alive"]
    assert {tick: (found["min"], found["max"]) for tick, found in alive.items()} == {
        "1000": (3, 4),
        "2000": (2, 2),
    }


def test_without_games_there_is_nothing_to_say():
    with pytest.raises(ValueError, match="there are no records"):
        RecordArrays([])


# ---- what is worked out here, and what scipy says ----------------------------------------------------


def test_students_t_is_that_of_scipy_to_half_a_per_cent():
    stats = pytest.importorskip("scipy.stats", reason="scipy is not installed: the extra `bench` has it")
    for freedom in (*range(1, 60), 100, 1000, 10**6):
        assert students_t(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=0.005), freedom
