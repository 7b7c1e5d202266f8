"""Contests, ratings, evaluations and leagues of games of teams: places and wins are those of teams."""

import json
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from territorial import GameConfig, Scenario, VecGame, evaluate, match
from territorial.evaluation import ratings
from territorial.evaluation.evaluate import METRICS
from territorial.evaluation.match import RecordArrays
from territorial.evaluation.outcome import Outcome, team_numbers, team_parts
from territorial.evaluation.places import known_places, places_now, teams_by_seat
from territorial.evaluation.ratings import PayoffMatrix
from territorial.evaluation.record import GameRecord, ResultsError
from territorial.evaluation.schedule import Contest
from territorial.evaluation.standings import rate
from territorial.league import League, LeagueConfig, Learner, Opponents
from tests.episodes import begun
from tests.league.support import fixtures_of
from tests.league.test_statistics import record

SMALL = GameConfig(height=24, width=24, num_players=6, max_ticks=300, map="open", teams=3)
QUIET = {"processes": 1, "progress": False}

# Teams of three, one and two seats.
UNEQUAL = (1, 1, 1, 2, 3, 3)
GAMES = (
    record(0, "aabbcc", (1, 1, 1, 3, 2, 2), teams=UNEQUAL),
    record(1, "abcabc", (2.5, 2.5, 2.5, 1, 2.5, 2.5), teams=UNEQUAL),
)


# ---- statistics, by hand ---------------------------------------------------------------------------


def test_the_seats_of_a_team_are_parts_of_it():
    assert team_parts(np.array(UNEQUAL)).tolist() == [1 / 3, 1 / 3, 1 / 3, 1, 1 / 2, 1 / 2]
    assert team_numbers((), 3).tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="teams has 2 entries; there are 3 seats"):
        team_numbers((1, 2), 3)


def test_places_wins_and_fair_shares_count_teams():
    lines = {line.player: line for line in RecordArrays(GAMES).table()}
    third, half = Fraction(1, 3), Fraction(1, 2)
    held = {"a": 2 * third + third + 1, "b": third + 1 + third + half, "c": 1 + third + half}
    places = {
        "a": 2 * third * 1 + third * Fraction(5, 2) + 1,
        "b": third + 3 + (third + half) * Fraction(5, 2),
        "c": 2 + (third + half) * Fraction(5, 2),
    }
    wins = {"a": 2 * third + 1, "b": third, "c": 0}
    assert sum(held.values()) == 6, "three teams in each of two games"
    for name, line in lines.items():
        assert line.place.value == pytest.approx(float(places[name] / held[name]))
        assert line.wins.value == pytest.approx(float(Fraction(wins[name]) / 2))
        assert line.fair.value == pytest.approx(float(Fraction(wins[name]) / 2 / (held[name] / 6)))
    assert {name: line.seats for name, line in lines.items()} == {"a": 4, "b": 4, "c": 4}
    weighted = sum(lines[name].place.value * float(held[name]) for name in "abc")
    assert weighted / 6 == pytest.approx((3 + 1) / 2), "of all together it is the middle place"


def test_teams_are_compared_once_however_many_seats_they_have_and_allies_are_not():
    tally = RecordArrays([record(0, "aaabcc", (1, 1, 1, 3, 2, 2), teams=UNEQUAL)])
    assert (tally.players, tally.mixed_teams()) == (("a", "b", "c"), 0)
    assert RecordArrays(GAMES).mixed_teams() == pytest.approx(3 / 6)
    expected = np.array([[np.nan, 1, 1], [0, np.nan, 0], [0, 1, np.nan]])
    np.testing.assert_array_equal(tally.beats(), expected)
    allies = RecordArrays([record(0, "abcc", (1, 1, 2, 2), teams=(1, 1, 2, 2))]).beats()
    np.testing.assert_array_equal(allies[[0, 0, 1], [1, 2, 2]], [np.nan, 1, 1])


def test_few_games_have_intervals_between_the_places_that_teams_can_have():
    (line, other) = RecordArrays([record(0, "aabb", (1, 1, 2, 2), teams=(1, 1, 2, 2))]).table()
    assert (line.place.low, line.place.value, other.place.value, other.place.high) == (1, 1, 2, 2)
    assert 1.5 < line.place.high < 2


def test_teams_of_one_say_what_no_teams_say():
    plain = [
        record(k, "abca", (k % 4 + 1, (k + 1) % 4 + 1, (k + 2) % 4 + 1, (k + 3) % 4 + 1)) for k in range(40)
    ]
    ones = [replace(one, teams=(1, 2, 3, 4)) for one in plain]
    assert RecordArrays(plain).table() == RecordArrays(ones).table()
    np.testing.assert_array_equal(RecordArrays(plain).beats(), RecordArrays(ones).beats())
    first, second = PayoffMatrix(), PayoffMatrix()
    for one in plain:
        first.record(one.seats, one.places)
        second.record(one.seats, one.places, (4, 2, 3, 1))
    np.testing.assert_equal(first.to_arrays(), second.to_arrays())


# ---- ratings ---------------------------------------------------------------------------------------


def test_ratings_are_of_teams():
    pytest.importorskip("openskill", reason="needs the extra league: pip install '.[league]'")
    found = rate([record(0, "aabb", (1, 1, 2, 2), teams=(1, 1, 2, 2))])
    alone = rate([record(0, "ab", (1, 2))])
    assert found["a"].mu > 25 > found["b"].mu
    assert found["a"].mu - 25 == pytest.approx(25 - found["b"].mu)
    assert found["a"].mu < alone["a"].mu, "two seats of a team are no two wins"
    mixed = rate([record(0, "abcc", (1, 1, 2, 2), teams=(1, 1, 2, 2))])
    assert mixed["a"] == mixed["b"], "the win is that of both"
    assert mixed["a"].mu > 25 > mixed["c"].mu

    kept = ratings.Ratings()
    kept.record("aabbcc", [float("nan")] * 2 + [2, 2, 3, 3], (1, 1, 2, 2, 3, 3))
    assert kept["a"].mu > kept["b"].mu > kept["c"].mu, "who was not out is before all others"


# ---- payoffs and the league ------------------------------------------------------------------------


def test_a_payoff_compares_teams_and_no_allies():
    payoff = PayoffMatrix()
    payoff.record("aab" + "cbc", (1, 1, 1, 3, 2, 2), UNEQUAL)
    against = payoff.of("a", "c")
    assert (against.games, against.pairs, against.above, against.win_rate) == (1, 4, 1, 1)
    assert against.place_difference == pytest.approx((1 * 2 + 0.5 * 1) / 1.5), "the team of one counts twice"
    assert payoff.of("a", "b").pairs == 2, "the third b is an ally"
    assert payoff.of("b", "c").above == pytest.approx((1 / 3 + 1 / 6 + 0.5 * 1) / (1 / 3 + 1 / 6 + 0.5))
    alone = PayoffMatrix()
    alone.record("abcc", (1, 1, 2, 2), (1, 1, 2, 2))
    assert alone.of("a", "b").games == 0
    with pytest.raises(ValueError, match="teams has 3 entries; there are 4 seats"):
        alone.record("abcc", (1, 1, 2, 2), (1, 1, 2))


def test_teams_that_were_not_out_share_the_places_that_are_left():
    nan = float("nan")
    payoff = PayoffMatrix()
    payoff.record("aabbcc", (nan, nan, nan, nan, 3, 3), (1, 1, 2, 2, 3, 3))
    assert payoff.of("a", "b").games == 0
    assert payoff.of("a", "c").place_difference == 1.5, "places 1 and 2 are left"


def test_a_league_records_games_of_teams():
    opponents = (Opponents(seats=2, strategy="uniform", among=("bots",), together=True),)
    learner = Learner(name="main", seats=2, opponents=opponents * 2)
    league = League(LeagueConfig(num_players=6, learners=(learner,), bots=("banker", "novice")), rated=False)
    players = [str(player) for player in league.draw()]
    assert players[2::2] == players[3::2], "one draw fills a team"
    players[2:] = ["bot:banker-1"] * 2 + ["bot:novice-1"] * 2
    league.record(*Outcome(tuple(players), (1, 1, 3, 3, 2, 2), (1, 1, 2, 2, 3, 3)))
    league.record(players, (1, 1, 3, 3, 2, 2), (1, 2, 1, 2, 3, 3))
    found = league.payoff.of("trainable:main", "bot:banker-1")
    assert (found.games, found.pairs) == (2, 4 + 2)
    assert League.from_bytes(league.to_bytes()).to_bytes() == league.to_bytes()


def standing(**columns):
    """A game as of the engine, which has begun and not ended."""
    return SimpleNamespace(**{name: np.array([column]) for name, column in columns.items()})


def test_equals_share_the_mean_of_their_places_and_troops_decide_between_equal_land():
    game = begun(VecGame(SMALL.replace(teams=None), 1, seed=0, seats=["agent"] * 6, autoreset="disabled"))
    np.testing.assert_array_equal(places_now(game.state, 0), np.full(6, 3.5))

    state = standing(  # of five seats, the third of whom is out
        doubled_place=[0, 0, 0, 10, 0, 0],
        team=range(6),
        land=[0, 10, 30, 0, 10, 10],
        troops=[0, 7, 1, 0, 9, 7],
    )
    assert places_now(state, 0).tolist() == [3.5, 1.0, 5.0, 2.0, 3.5]
    assert np.isnan(known_places(state, 0)).tolist() == [True, True, False, True, True]


# ---- records, contests -----------------------------------------------------------------------------


def test_records_have_teams_where_there_are_any():
    plain, teams = record(0, "aabbcc", (1,) * 6), GAMES[0]
    assert "teams" not in json.loads(plain.to_json()), "files without teams are what they were"
    assert GameRecord.from_dict(json.loads(teams.to_json())) == teams
    for wrong, message in (
        ([1, 1, 1, 2, 3, 9], r"teams\[5\] is 9; it must be"),
        ([1] * 5, "teams has 5 entries; it must have 6"),
    ):
        with pytest.raises(ValueError, match=message):
            GameRecord.from_dict(json.loads(teams.to_json()) | {"teams": wrong})


@pytest.mark.parametrize("deal", ["blocks", "turn", "random"])
def test_players_hold_whole_teams_however_seats_are_dealt(deal):
    config = SMALL.replace(team_deal=deal)
    contest = Contest(config=config, players=("a", "b", "c"), games=20, draw="fixed_teams")
    dealt = Contest(config=config, players=("a", "b", "c", "d"), games=200, draw="balanced_teams")
    for fixture in fixtures_of(contest.schedule({})):
        assert fixture.teams == teams_by_seat(config, fixture.seed)
        assert fixture.seats == tuple("abc"[team - 1] for team in fixture.teams)
    held = dict.fromkeys("abcd", 0)
    for fixture in fixtures_of(dealt.schedule({})):
        pairs = set(zip(fixture.teams, fixture.seats, strict=True))
        assert len(pairs) == 3, "each team has one player"
        for _, name in pairs:
            held[name] += 1
    assert sum(held.values()) == 600
    assert min(held.values()) > 120
    assert (len({fixture.teams for fixture in fixtures_of(contest.schedule({}))}) > 10) == (deal == "random")


def test_a_player_is_needed_for_every_team():
    with pytest.raises(ValueError, match="there are 2 players; a game of this config has 3 teams"):
        Contest(config=SMALL, players=("a", "b"), games=1, draw="fixed_teams")
    with pytest.raises(
        ValueError, match=r"seats has 4 players; it must have at most one for each of the 3 teams"
    ):
        match(["banker", "turtle", "novice", "random"], SMALL, 1, **QUIET)


def test_a_match_of_whole_teams(tmp_path):
    path = tmp_path / "match.jsonl"
    ranking = match(["banker", "turtle"], SMALL, 6, out=path, **QUIET)
    assert ranking.contest.players == ("banker-1", "turtle-1", "banker-1")
    assert {line.player: line.seats for line in ranking.standings} == {"banker-1": 24, "turtle-1": 12}
    seats = ("banker-1",) * 2 + ("turtle-1",) * 2 + ("banker-1",) * 2
    for one in ranking.records:
        assert (one.teams, one.seats) == ((1, 1, 2, 2, 3, 3), seats)
        assert one.places[::2] == one.places[1::2]
        assert sorted(one.places[::2]) == [1, 2, 3]
        land = np.array(one.land[-1]).reshape(3, 2).sum(1)
        assert np.argmax(land) == np.argmin(one.places[::2])
        assert one.is_stopped == (one.length == SMALL.max_ticks)
    assert sum(line.wins.value for line in ranking.standings) == pytest.approx(1)
    assert "3 teams, each of one player; places and wins are those of teams" in ranking.text()
    assert ranking.to_dict()["mixed_teams"] == 0
    assert match(["banker", "turtle"], SMALL, 6, out=path, **QUIET).records == ranking.records
    with pytest.raises(ResultsError, match=r"\['players'\]\[1\] is 'turtle-1', here it is 'novice-1'"):
        match(["banker", "novice"], SMALL, 6, out=path, **QUIET)


def test_a_match_of_mixed_teams_says_so():
    seats = ["banker", "turtle", "banker", "turtle", "novice", "novice"]
    ranking = match(seats, SMALL, 2, **QUIET)
    assert (ranking.contest.draw, ranking.to_dict()["mixed_teams"]) == ("fixed", pytest.approx(2 / 3))
    assert "3 teams, 67 % of them of several players" in ranking.text()
    banker, turtle = (
        next(line for line in ranking.standings if line.player == name) for name in ("banker-1", "turtle-1")
    )
    assert banker.place == turtle.place


def test_without_teams_and_with_teams_of_one_the_same_games_are_dealt():
    names = ["banker", "turtle", "novice"]
    plain = match(names, SMALL.replace(teams=None), 3, deal=True, **QUIET)
    ones = match(names, SMALL.replace(teams=6), 3, deal=True, **QUIET)
    assert (plain.records, plain.standings) == (ones.records, ones.standings)
    assert "mixed_teams" not in plain.to_dict()
    assert "teams" not in plain.text()


# ---- evaluations -----------------------------------------------------------------------------------


def test_teams_move_on_together():
    seats = ["agent", "agent", "banker", "banker", "novice", "novice"]
    scenario = Scenario(config=SMALL, seats=seats)
    assert [scenario.at(k).index("agent") for k in range(4)] == [0, 2, 4, 0]
    assert scenario.at(1) == ("novice", "novice", "agent", "agent", "banker", "banker")
    turn = Scenario(config=SMALL.replace(team_deal="turn"), seats=["agent", "banker", "novice"] * 2)
    assert turn.at(1) == ("novice", "agent", "banker") * 2
    drawn = Scenario(config=SMALL.replace(team_deal="random"), seats=seats)
    assert drawn.at(1) == ("novice", "agent", "agent", "banker", "banker", "novice"), "as without teams"
    assert Scenario(config=SMALL.replace(teams=6), seats=seats).at(1) == drawn.at(1)
    unequal = SMALL.replace(teams=UNEQUAL)
    with pytest.raises(
        ValueError, match="rotate is True, and the teams have 3, 1, 2 seats; it must be False"
    ):
        Scenario(config=unequal, seats=seats)
    assert Scenario(config=unequal, seats=seats, rotate=False).at(5) == tuple(seats)


def test_without_seats_the_policy_has_the_first_team():
    seats = Scenario(config=SMALL).seats
    assert [seat == "agent" for seat in seats] == [True, True, False, False, False, False]
    assert Scenario(config=SMALL.replace(teams=None)).seats.count("agent") == 1


def test_an_evaluation_is_of_teams(tmp_path):
    path, seats = tmp_path / "trials.jsonl", ["agent", "agent", "novice", "novice", "turtle", "turtle"]
    scenario = {"small": Scenario(config=SMALL, seats=seats)}
    found = evaluate(["banker"], scenario, 6, out=path, **QUIET)
    for one in found.records:
        (place,) = set(one.of_policy(one.places))
        assert (one.last_place, METRICS["score"](one)) == (3, (3 - place) / 2)
    assert evaluate(["banker"], scenario, 6, out=path, **QUIET).records == found.records
    assert found.matrix("place").value[0, 0] == np.mean([one.place for one in found.records])


def test_a_policy_has_its_part_of_each_of_its_teams():
    teams = record(0, "aabbbc", (1, 1, 3, 3, 3, 2), teams=(1, 1, 2, 2, 2, 3), own=(1, 3, 4))
    assert teams.place == pytest.approx((1 / 2 + 3 / 3 + 3 / 3) / (1 / 2 + 1 / 3 + 1 / 3))
    assert METRICS["score"](teams) == pytest.approx((3 - teams.place) / 2)
    assert METRICS["win"](teams) == 1


# ---- games that are left ---------------------------------------------------------------------------


@pytest.mark.parametrize("teams", [None, 3])
def test_a_game_left_standing_is_placed_as_the_engine_would_at_its_end(teams):
    config = SMALL.replace(teams=teams, team_deal="random" if teams else "blocks")
    for seed in range(4):
        options = {"seats": ["novice"] * 6, "autoreset": "disabled", "seed": seed}
        cut, over = (
            begun(VecGame(config.replace(max_ticks=ticks), 1, **options))
            for ticks in (1000, config.max_ticks)
        )
        while not over.state.over[0]:
            cut.step()
            over.step()
        wanted = over.state.doubled_place[0, 1:] / 2
        for found in (places_now(cut.state, 0), places_now(over.state, 0), known_places(over.state, 0)):
            np.testing.assert_array_equal(found, wanted)


def test_the_places_of_teams_that_are_not_out_are_open_and_dead_members_share_them():
    state = standing(  # teams of two, the last of which is out; a member of the second is dead
        team=[0, 1, 1, 2, 2, 3, 3],
        doubled_place=[0, 0, 0, 0, 0, 6, 6],
        land=[0, 10, 20, 0, 40, 0, 0],
        troops=[0, 5, 5, 0, 1, 0, 0],
    )
    assert np.isnan(known_places(state, 0)).tolist() == [True] * 4 + [False] * 2
    assert places_now(state, 0).tolist() == [2, 2, 1, 1, 3, 3]
    state.land[0, 4] = 30
    assert places_now(state, 0).tolist() == [1, 1, 2, 2, 3, 3], "troops decide between equal land"
    state.troops[0, 4] = 10
    assert places_now(state, 0).tolist() == [1.5] * 4 + [3, 3]
