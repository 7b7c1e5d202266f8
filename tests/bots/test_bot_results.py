"""What was measured of bots still holds, on fewer games played anew."""

import pytest

from territorial import LINEUPS, GameConfig
from territorial.evaluation.schedule import Contest
from territorial.evaluation.statistics import RecordArrays
from tests.league.support import play_games

pytestmark = pytest.mark.checkout

LEVELS_UP = ("normal-1", "hard-1", "very_hard-1", "impossible-1")
INVADERS = ("settler-1", "besieger-1", "opportunist-1")


def tally_of(seats, games, **changes):
    contest = Contest(config=GameConfig(num_maps=16, **changes), players=seats, games=games, seed=90_000)
    records = list(play_games(contest.schedule({})))
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
