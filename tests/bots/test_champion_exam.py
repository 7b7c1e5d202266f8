"""benchmarks/bots/champion.py and champion_ways.py: the bars of the examination, and what launches say."""

import copy

import numpy as np
import pytest

champion = pytest.importorskip("benchmarks.bots.champion", reason="the benchmarks are not here")

from benchmarks.bots import champion_ways  # noqa: E402 - only where they are
from benchmarks.derived_figures import bars_missed_by_champion  # noqa: E402
from benchmarks.tables import champion as tables  # noqa: E402
from territorial import bots  # noqa: E402
from territorial.evaluation.statistics import Estimate  # noqa: E402
from territorial.observation.pair_columns import OWN, PAIRS, column  # noqa: E402
from territorial.replay import Decisions  # noqa: E402

pytestmark = pytest.mark.checkout


def around(value, half=0.1):
    return Estimate(value, value - half, value + half)._asdict()


def small(above):
    return {
        every: {
            "above": {bot: around(above, 0.02) for bot in bots.NAMES},
            "worst": bots.NAMES[0],
            "mean": above,
        }
        for every in ("10", "50")
    }


def passed():
    """An examination in which every bar is met, by little."""
    unseen = {
        name: {
            "place": around(4.0),
            "best_bot": "turtle-1",
            "place_of_best_bot": around(4.3),
            "fair": around(9.0),
        }
        for name in (*champion.DISJOINT, "64 x 64, 8 players")
    }
    return {
        "player": "champion-1",
        "games": 400,
        "small": small(0.9),
        "full": {name: {"place": around(3.4), "fair": around(12.1)} for name in ("mixed-2", "dealt")},
        "besiegers": {"place": around(8.0), "fair": around(3.2)},
        "unseen": unseen,
        "alone": {
            "undecided": 0.5,
            "median_ticks": 9000.0,
            "long_undecided": 0.0,
            "long_median_ticks": 9500.0,
        },
    }


def test_an_examination_that_meets_every_bar_misses_none():
    assert list(champion.misses(passed())) == []
    assert bars_missed_by_champion(passed()) == 0


@pytest.mark.parametrize(
    ("path", "value", "word"),
    [
        (("small", "10", "above", "turtle-1"), around(0.64, 0.01), "turtle-1"),
        (("small", "50", "above", "drip-1"), around(0.7, 0.11), "drip-1"),
        (("small", "50", "mean"), 0.87, "seats of all bots"),
        (("full", "dealt", "fair"), around(11.9), "dealt"),
        (("full", "mixed-2", "fair"), around(12.5, 2.1), "mixed-2"),
        (("full", "mixed-2", "place"), around(3.6), "mean place"),
        (("besiegers", "fair"), around(2.9), "besiegers"),
        (("unseen", "64 x 64, 8 players", "place"), around(4.4), "better mean place"),
        (("alone", "long_undecided"), 0.01, "do not end"),
        (("unseen", "lakes", "place_of_best_bot"), around(4.15), "overlaps"),
        (("unseen", champion.LARGE_NAME, "place_of_best_bot"), around(4.1), "overlaps"),
    ],
)
def test_each_bar_can_be_missed(path, value, word):
    result = copy.deepcopy(passed())
    *way, last = path
    place = result
    for key in way:
        place = place[key]
    place[last] = value
    (line,) = champion.misses(result)
    assert word in line
    assert bars_missed_by_champion(result) == 1


def test_intervals_may_overlap_in_the_smallest_field_alone():
    result = passed()
    result["unseen"]["64 x 64, 8 players"]["place_of_best_bot"] = around(4.05)
    assert list(champion.misses(result)) == []


def test_the_tables_have_every_part_of_an_examination():
    found = passed() | {"machine": {"cpu": "Alpha"}}
    text = tables.exam(found)
    for word in ("mixed-2", "dealt", "besiegers", "64 x 64", "lands", "12.1", "Alpha"):
        assert word in text
    assert tables.hardest(found).count("\n") == 1 + len(bots.NAMES)
    for table in (tables.exam, tables.hardest, tables.ways):
        assert "no result is on file" in table(None)


# ---- what it does --------------------------------------------------------------------------------------


def decisions(tick, action, targets):
    """Rows whose first two candidates are free land and a player; ``targets``: the player's troops_ratio."""
    pairs = np.zeros((len(tick), 8, len(PAIRS)), np.int16)
    pairs[:, 0, column(PAIRS, "neutral")] = 4096
    pairs[:, 1, column(PAIRS, "troops_ratio")] = targets
    own = np.zeros((len(tick), len(OWN)), np.int16)
    own[:, column(OWN, "density")], own[:, column(OWN, "land_share")] = 2048, 1024
    nothing = np.zeros(len(tick))
    return Decisions(own, pairs, np.array(action), nothing, nothing, np.array(tick), nothing, nothing)


def test_launches_are_counted_by_time_target_and_part():
    at = [100, 110, 190, 200, 210, 220, 230]
    action = [0, 1 + 6, 1 + 9, 1 + 10 + 4, 1 + 10 + 4, -1, 0]
    found = champion_ways.launches_of(decisions(at, action, [0, 0, 0, -5, 5, 0, 0]))
    first, second = champion_ways.parts_of(found)
    assert (first["first"], first["end"], second["first"]) == (100, 200, 200)
    assert first["launches"] == pytest.approx(10 * 2 / 3)
    assert first["part"] == pytest.approx((256 + 1024) / 2 / 1024)
    assert (first["at_neutral"], first["at_weaker"]) == (1.0, None)
    assert second["launches"] == pytest.approx(10 * 3 / 4)
    assert second["part"] == pytest.approx(128 / 1024)
    assert second["at_neutral"] == 0.0
    assert second["at_weaker"] == pytest.approx(1 / 3), "a target that no row shows counts as none of these"
    assert (second["density"], second["land"]) == (0.5, 0.25)
    table = tables.ways({"games": 3, "parts": [first, second], "machine": {"cpu": "Alpha"}})
    assert "| 100 to 200 | 6.67 | 62 % | 100 % | - | 50 % | 25.0 % |" in table


def test_games_are_looked_at_with_the_bots_of_the_library():
    found = champion_ways.played("banker-1", 1, 1)
    assert set(np.unique(found.tick % champion_ways.GRID)) == {0}
    assert found.is_launch.any()
    assert found.at_neutral.any()
    for part in champion_ways.parts_of(found):
        assert "launches in 100 ticks" in champion_ways.line_of(part)
