"""What was measured of bots still holds, on fewer games played anew; and how it is measured."""

import json
from itertools import pairwise

import numpy as np
import pytest

from territorial import LINEUPS, GameConfig
from territorial.evaluation.play import play_games
from territorial.evaluation.schedule import Contest
from territorial.evaluation.statistics import RecordArrays

pytestmark = pytest.mark.checkout

LEVELS_UP = ("normal-1", "hard-1", "very_hard-1", "impossible-1")
INVADERS = ("settler-1", "besieger-1", "opportunist-1")
PLAIN = [name for name, lineup in LINEUPS.items() if lineup.teams is None]
"""Line-ups of games without teams."""


# ---- the same, played anew ------------------------------------------------------------------------------


def tally_of(seats, games, **changes):
    contest = Contest(config=GameConfig(num_maps=16, **changes), players=seats, games=games, seed=90_000)
    records = list(play_games(contest.config, {}, contest.fixtures()))
    return {line.player: line for line in RecordArrays(records).table()}


@pytest.mark.verify
def test_levels_still_rank_from_normal_up():
    lines = tally_of(LINEUPS["levels-1"].seats, 96)
    places = [lines[name].place.value for name in LEVELS_UP]
    assert places == sorted(places, reverse=True)
    assert lines["normal-1"].place.low > lines["hard-1"].place.high


@pytest.mark.verify
def test_nobody_dominates_the_mixed_line_up_of_today():
    """With so few games a share of three may show as five."""
    lines = tally_of(LINEUPS["mixed-2"].seats, 96)
    assert max(line.fair.value for line in lines.values()) < 5
    assert sum(line.wins.value > 0 for line in lines.values()) >= 5


@pytest.mark.verify
@pytest.mark.parametrize("name", INVADERS)
def test_turtles_can_still_be_invaded(name):
    lines = tally_of((name,) * 8 + ("turtle-1",) * 24, 48, max_ticks=60_000)
    assert lines[name].fair.value >= 0.5


# ---- the scripts that measure ----------------------------------------------------------------------------


@pytest.mark.slow
def test_what_bots_cost_is_written_down(tmp_path, capsys):
    from benchmarks.bots import bot_cost

    path = tmp_path / "cost.json"
    arguments = ["--bot-names", "turtle,drip", "--size", "small", "--num-games", "1", "--rounds", "1"]
    assert bot_cost.main([*arguments, "--json", str(path)]) in (0, 1)
    found = json.loads(path.read_text())
    assert set(found["fields"]) == {"turtle-1", "drip-1", *PLAIN}
    for cost in found["fields"].values():
        assert 0 < cost["steps"] <= 100
        assert cost["lowest_us"] <= cost["bots_us"] <= cost["highest_us"]
    assert "us a step" in capsys.readouterr().out


@pytest.mark.verify
def test_who_invades_whom_is_written_down(tmp_path, capsys):
    from benchmarks.bots import invasion

    path, games = tmp_path / "invasion.json", ["--games", "1", "--processes", "1"]
    assert invasion.main(["--bot-names", "full_sender,turtle", *games, "--json", str(path)]) == 0
    found = json.loads(path.read_text())
    assert found["bots"] == ["full_sender-1", "turtle-1"]
    assert found["fair"] == [[None, 0.0], [4.0, None]]
    assert set(found["to_the_end"]["invaders"]) == {"full_sender-1"}
    assert found["fair_low"][1][0] < found["fair_high"][1][0] == 4
    assert found["place_low"][0][1] < found["place"][0][1] < found["place_high"][0][1]
    out = capsys.readouterr().out
    assert "8 invaders" in out
    assert "compared with" not in out
    before = path.read_bytes()
    both = ["--bot-names", "full_sender,turtle", *games, "--json", str(path)]
    assert invasion.main([*both, "--check"]) == 0
    assert "no cell has changed" in capsys.readouterr().out
    kept = {**found, "games": 2000, "fair": [[None, 4.0], [0.0, None]], "rules_version": 0}
    path.write_text(json.dumps(kept))
    assert invasion.main([*both, "--check"]) == 1
    out = capsys.readouterr().out
    assert "rules_version was 0 and is 1" in out
    assert "full_sender-1 among turtle-1: fair was 4.00 and is 0.00 (p = " in out
    assert json.loads(path.read_text()) == kept
    assert invasion.main(both) == 0
    assert path.read_bytes() == before


def invaded(wins, places=None, games=40):
    """Return a result of which only ``wins`` (invaders, fields) and mean ``places`` count."""
    bots_there = [f"b{i}" for i in range(len(wins))]
    found = {"bots": bots_there, "games": games, "to_the_end": {"field": "b0", "invaders": {}}}
    found["fair"] = (4 * wins / games).tolist()
    if places is not None:
        found |= {
            "place": places.tolist(),
            "place_low": (places - 1).tolist(),
            "place_high": (places + 1).tolist(),
        }
    return found


def test_cells_that_change_are_found_and_luck_is_not():
    from benchmarks.bots import invasion

    rng = np.random.default_rng(4)
    chances = rng.choice([0, 0.02, 0.3, 0.5, 0.9, 1], (23, 23))
    places = rng.uniform(2, 30, (23, 23))
    luck = [invaded(rng.binomial(40, chances), places + rng.normal(0, 0.5, places.shape)) for _ in range(20)]
    assert sum(len(invasion.changes(*pair)) > 0 for pair in pairwise(luck)) <= 3
    other = chances.copy()
    other[1, 2], other[3, 4], chances[1, 2], chances[3, 4] = 0.9, 0, 0.1, 0.7
    before, after = (invaded(rng.binomial(40, these)) for these in (chances, other))
    found = invasion.changes(before, after)
    assert {one.cell for one in found} == {"b1 among b2", "b3 among b4"}
    assert {one.figure for one in found} == {"fair"}
    moved = places.copy()
    moved[5, 6] += 4
    (one,) = invasion.changes(invaded(40 * chances // 1, places), invaded(40 * chances // 1, moved))
    assert (one.cell, one.figure) == ("b5 among b6", "place")
    assert one.after - one.before == pytest.approx(4)


@pytest.mark.parametrize(
    ("counts", "p"),
    [((3, 10, 8, 10), 0.0698), ((1, 10, 11, 14), 0.00276), ((0, 40, 0, 40), 1), ((0, 40, 6, 40), 0.0255)],
)
def test_fishers_exact_test_is_that_of_the_tables(counts, p):
    from benchmarks.bots import invasion

    assert invasion.fisher(*counts) == pytest.approx(p, rel=2e-3)


def test_quarters_and_seats_that_are_favoured_are_found():
    """One seat has the winner's luck in one game of ten, or one quarter wins in one game of ten."""
    from benchmarks.bots import bot_health

    rng = np.random.default_rng(0)
    fair = np.array([rng.permutation(32) + 1.0 for _ in range(4000)])
    assert bot_health.friedman(fair)["p"] > 0.01
    unfair = fair.copy()
    for places in unfair[::10]:
        places[places == 1], places[0] = places[0], 1
    assert bot_health.friedman(unfair)["p"] < 0.001
    quarters = rng.integers(0, 4, (4000, 32))
    wins = fair.argsort(axis=1)[:, :1]
    assert bot_health.by_quarter(wins, quarters)["p"] > 0.01
    better = (quarters == 2).argmax(axis=1)[:, None]
    mixed = np.where(rng.random((4000, 1)) < 0.1, better, wins)
    assert bot_health.by_quarter(mixed, quarters)["p"] < 0.001


def test_spawns_lie_in_the_quarters_that_are_reported():
    from benchmarks.bots import bot_health

    found = bot_health.quarters_of(("turtle-1",) * 32, 40)
    assert found.shape == (40, 32)
    counts = [(found == quarter).sum() for quarter in range(4)]
    assert min(counts) > 240
