"""The observation form "pairs" of the reference implementation: examples by hand.

What must hold of it in any state is checked on the engine, in tests/engine/test_pairs.py: it sees the same.
"""

import pytest

from tests.reference.drawings import game_on, rows_of
from tests.twin.pairs import (
    OWN_COLUMNS,
    PAIR_COLUMNS,
    PairsObservation,
    Quantities,
    candidates,
    log,
    observe,
)

NEUTRAL_COLUMNS = {*PAIR_COLUMNS[:8], "price"}


def own_of(game, p):
    return dict(zip(OWN_COLUMNS, observe(game, p).own, strict=True))


def pair_of(game, p, q):
    """Return the row of candidate q, by name."""
    seen = observe(game, p)
    what = 1 if q == 0 else (q - p) % game.config.num_players + 2
    return dict(zip(PAIR_COLUMNS, seen.pairs[seen.targets.index(what)], strict=True))


def assert_has(row, **expected):
    """These numbers of the row are as expected, whatever the others are."""
    assert {name: row[name] for name in expected} == expected


def eliminate(game, d):
    """Make d eliminated; it has no land on the drawing."""
    assert game.land[d] == 0
    game.alive[d], game.troops[d], game.death_tick[d] = False, 0, 0


# ---------------------------------------------------------------------------- whole rows by hand

STRIP = rows_of(*["1..2"] * 16)


def test_all_numbers_of_a_seat_beside_neutral_land_at_the_start():
    game = game_on(STRIP, troops=(1000, 500))
    assert own_of(game, 1) == {
        "land": 1040,  # log(16) = 4 * 256 + 256 * 1 // 16
        "crowding": 4 * (1288 - 1540),  # log(32) - log(64)
        "land_share": 1024,
        "density": 1706,  # 4096 * 1000 // 2400
        "over_soft_cap": 0,
        "troops": 2548,  # 9 * 256 + 256 * 489 // 512
        "time": 0,
        "time_left": 3384,  # 13 * 256 + 256 * 1809 // 8192
        "opening": 4096,
        "interest": 2867,  # 7 %, 4096 * 700 // 1000
        "alive_share": 4096,
        "players": 384,
        "neutral_share": 2048,
        "rank_by_land": 0,
        "rank_by_troops": 0,
        "peak_share": 4096,
        "pools_out": 0,
        "pools_in": 0,
        "leader_share": 1024,
        "leader_land": 0,
        "leader_density": 1706,  # seat 1 itself: as much land, more troops
        "mean_density": 1280,  # 4096 * 1500 // 4800
        "density_to_mean": 4 * ((2548 - 1040) - (2679 - 1288)),
        "neighbours": 0,
        "border_neutral": 4096,
        "border": 4 * 1040,
        "pool_on_neutral": 0,
        "thinnest_neighbour": 4096,
        "richest_neighbour": 0,
        "wait": 0,
        "force_to_mean": 4 * (2548 - 2423),  # log(750)
        "income_phase": 0,
        "first": 4096,
        "top": 4096,
        "decision_step": 819,  # 4096 * 10 // 50
    }
    row = pair_of(game, 1, 0)
    assert {name: row[name] for name in row if row[name] != 0} == {
        "there": 4096,
        "neutral": 4096,
        "legal": 4096,
        "front": 1040,
        "border_share": 4096,
        "need": 194,  # 4096 * 50 // 1051
        "price": 126,  # 4096 * 2 * 16 // 1033
    }
    assert observe(game, 1).targets == [1, 0, 0, 0, 0, 0, 0, 0]


def at_war():
    """Seat 1 lies between neutral land and seat 2, whom it fights; seat 3 lies apart."""
    game = game_on(rows_of(*["3#.122"] * 16), troops=(1000, 800, 0))
    game.pools[1][2], game.pools[1][0] = 100, 20
    game.pools[2][1] = 300
    game.pools[3][2], game.pools[3][0] = 60, 40
    game.peak[2] = 64
    game.taken[2][1], game.taken[1][2] = 5, 11
    game.tick = 2050
    return game


def test_all_numbers_of_a_candidate_at_war():
    assert pair_of(at_war(), 1, 2) == {
        "there": 4096,
        "neutral": 0,
        "legal": 4096,
        "front": 1040,
        "border_share": 2048,
        "need": 4,  # the pool of 100 is more than 50, so 1 is needed
        "pool": 372,  # 4096 * 100 // 1101
        "pool_per_cell": 4 * (1684 - 1040),  # log(100) - log(16)
        "attack": 944,  # 4096 * 300 // 1301
        "density": 4 * (2448 - 1288),  # log(800) - log(32)
        "troops_ratio": 4 * (2448 - 2548),
        "land_ratio": 4 * (1288 - 1040),
        "density_ratio": 4 * (1160 - 1508),
        "attacked": 285,  # by seat 3: 4096 * 60 // 861
        "sent": 1116,  # 4096 * 300 // 1101
        "peak_share": 2048,
        "land_share": 1638,  # 4096 * 32 // 80
        "to_leader": 4096,
        "border_neutral": 0,
        "border_ours": 4096,
        "price": 1712,  # def = 16 * 800 // 33 = 387; 32 + 387 + 300 = 719
        "kill": 4 * (2408 - 2548),  # X = 16: 719, too
        "lost": 930,  # 4096 * 5 // 22
        "taken": 1609,  # 4096 * 11 // 28
        "neighbours": 512,
        "force": 4 * (2579 - 2584),  # log(1100) - log(1120)
    }


def test_the_own_numbers_of_a_seat_at_war():
    assert_has(
        own_of(at_war(), 1),
        over_soft_cap=0,
        time=839,  # 4096 * 2050 // 10000
        opening=0,
        interest=700,  # r = 100 + isqrt(25600 * 102 // 508) = 171
        alive_share=4096,
        players=512,
        rank_by_land=1365,  # one of three has more land
        rank_by_troops=0,
        pools_out=438,  # 4096 * 120 // 1121
        pools_in=944,
        leader_land=4 * (1288 - 1040),
        leader_density=682,  # 4096 * 800 // 4800
        neighbours=512,
        border_neutral=2048,
        border=4 * (2 * 1288 - 1040),
        pool_on_neutral=80,  # 4096 * 20 // 1021
        thinnest_neighbour=682,
        richest_neighbour=1819,  # 4096 * 800 // 1801
        force_to_mean=4 * (2584 - 2435),  # log(1120) - log(773); 773 = (1800 + 520) // 3
        income_phase=2048,
        first=0,
        top=2048,
        decision_step=819,
    )


def test_a_seat_sees_when_its_pools_move_next():
    game = at_war()
    game.next_step[1] = 2053
    assert own_of(game, 1)["wait"] == 1755  # 4096 * 3 // 7
    game.next_step[1] = 2040
    assert own_of(game, 1)["wait"] == 0, "they move in this tick"
    game.pools[1] = [0] * 4
    game.next_step[1] = 2053
    assert own_of(game, 1)["wait"] == 0, "there are none"


def test_both_see_each_other_from_their_own_side():
    game = at_war()
    assert observe(game, 1).targets[:3] == [1, 3, 0]
    assert observe(game, 2).targets[:2] == [4, 0], "from seat 2, seat 3 is the next and seat 1 the one after"
    assert observe(game, 3).targets == [0] * 8, "all of its border is blocked"
    assert_has(
        pair_of(game, 2, 1),
        lost=4096 * 11 // 44,
        taken=4096 * 5 // 38,
        pool=4096 * 300 // 1101,
        attack=4096 * 100 // 901,
        price=2345,  # 16 * 1000 // 17 = 941 defend; 32 + 941 + 100 = 1073, of 800
    )
    assert own_of(game, 2)["rank_by_troops"] == 1365, "one of three has more troops"
    assert_has(own_of(game, 3), rank_by_troops=2730, rank_by_land=1365)  # seat 1 has as much land


def test_a_front_has_another_length_from_the_other_side():
    """A single cell amid another player's touches four of them, which touch one."""
    game = game_on(rows_of("22222.", "22222.", "22122.", "22222.", "22222."), troops=(100, 240))
    assert_has(
        pair_of(game, 1, 2),
        front=576,  # log(4)
        border_share=4096,
        border_ours=682,  # 1 of 6
        border_neutral=3413,  # 5 of 6
        need=434,  # 4096 * 12 // 113
        price=1281,  # def = 4 * 240 // 25 = 38; 8 + 38 = 46
    )
    assert_has(
        pair_of(game, 2, 1),
        front=256,
        border_share=682,
        border_ours=4096,
        border_neutral=0,
        need=50,  # 4096 * 3 // 244
        price=726,  # def = 1 * 100 // 2; 2 + 50 = 52
    )


# ---------------------------------------------------------------------------- edges


def test_an_eliminated_seat_is_all_zeros_and_counts_for_no_other():
    game = game_on(rows_of(*["1..244"] * 16), troops=(1000, 500, 0, 700))
    before = own_of(game, 1)
    eliminate(game, 3)
    game.taken[3][1] = 50
    seen = observe(game, 3)
    assert seen == PairsObservation([0] * 35, [[0] * 26] * 8, [0] * 8)
    assert (seen.mask, seen.masks_of_parts) == ([1] + [0] * 80, ([1] + [0] * 8, [1] * 10))
    after = own_of(game, 1)
    assert {name for name in after if after[name] != before[name]} == {
        "alive_share",
        "force_to_mean",
        "rank_by_land",
    }
    assert (after["alive_share"], after["rank_by_land"]) == (3072, 1365)
    assert own_of(game, 2)["rank_by_troops"] == 2730, "two of the three that live have more"


def test_without_troops_shares_of_the_balance_are_at_their_ends():
    game = game_on(STRIP, troops=(0, 500))
    of_mean = 4 * ((0 - 1040) - (2293 - 1288))  # log(500) - log(32) is the mean
    assert_has(own_of(game, 1), troops=0, density=0, pools_out=0, density_to_mean=of_mean)
    assert_has(pair_of(game, 1, 0), need=4096 * 50 // 51, price=4096 * 32 // 33, legal=0)
    game.pools[1][0] = 100
    assert own_of(game, 1)["pools_out"] == 4096 * 100 // 101


def test_a_living_seat_without_land_has_no_candidates_and_no_interest():
    game = game_on(rows_of(*["2."] * 16), troops=(512, 100), deaths=False)
    game.peak[1] = 12
    zeros = ("land", "land_share", "interest", "peak_share", "neighbours", "border_neutral", "border")
    assert_has(
        own_of(game, 1),
        **dict.fromkeys(zeros, 0),
        density=16384,  # 512 troops on no land
        over_soft_cap=16384,
        crowding=-4 * log(32),
        leader_land=4 * log(16),
    )
    seen = observe(game, 1)
    assert (seen.targets, seen.pairs) == ([0] * 8, [[0] * 26] * 8)


def test_troops_above_the_caps_show():
    game = game_on(STRIP, troops=(2000, 500))
    game.tick = 1920
    assert_has(
        own_of(game, 1),
        density=4096 * 2000 // 2400,
        over_soft_cap=4096 * 400 // 2400,
        interest=4096 * 90 // 1000,  # 180, less 2 * 180 * 400 // 1600
    )
    game.troops[1] = 2400
    assert own_of(game, 1)["interest"] == 0


def test_the_last_tick_and_the_time_after_it():
    game = game_on(STRIP, max_ticks=50)
    for game.tick, time, time_left in ((49, 4096 * 49 // 50, 256), (50, 4096, 0)):
        assert_has(own_of(game, 1), time=time, time_left=time_left)


@pytest.mark.parametrize(("troops", "legal"), [(199, 0), (200, 1)])
def test_a_need_above_a_quarter_of_the_balance_is_not_legal(troops, legal):
    game = game_on(STRIP, troops=(troops, 500))
    assert pair_of(game, 1, 0)["legal"] == 4096 * legal
    seen = observe(game, 1)
    assert (seen.mask, seen.masks_of_parts) == (
        [1] + [legal] * 10 + [0] * 70,
        ([1, legal] + [0] * 7, [1] * 10),
    )


# ---------------------------------------------------------------------------- candidates


def star(troops):
    """Seat 1 between seats 4 and 5, with fronts of 4; seat 3 and neutral land touch it at its ends."""
    rows = ["233" + "6" * 13] * 2 + ["415" + "6" * 13] * 4 + ["..7" + "6" * 13] * 10
    return game_on(rows_of(*rows), troops=troops)


def test_neutral_land_comes_first_and_then_the_larger_front():
    game = star(troops=(100, 0, 0, 5, 9, 0, 0))
    assert candidates(Quantities(game), 1) == [0, 5, 4, 3]
    assert observe(game, 1).targets == [1, 6, 5, 4, 0, 0, 0, 0]


def test_the_larger_front_is_that_of_the_seat_that_observes():
    game = game_on(rows_of("22222", "22222", "22122", "22222", "22222", "#####", "13333", "13333", "#3333"))
    w = Quantities(game)
    assert (w.n[1], w.n[2][1], w.n[3][1], candidates(w, 1)) == ([0, 0, 4, 2], 1, 2, [2, 3])


@pytest.mark.parametrize(
    ("troops", "land", "expected"),
    [
        ((5, 9), (8, 2), [5, 4]),
        ((9, 5), (2, 8), [4, 5]),
        ((7, 7), (3, 2), [4, 5]),
        ((7, 7), (2, 3), [5, 4]),
        ((7, 7), (2, 2), [4, 5]),
    ],
)
def test_equal_fronts_go_by_troops_then_land_then_in_a_circle(troops, land, expected):
    game = star(troops=(100, 0, 0, *troops, 0, 0))
    game.land[4:6] = land
    assert candidates(Quantities(game), 1)[1:3] == expected


@pytest.mark.parametrize(("last", "targets"), [(3, [3, 4]), (4, [4, 5])])
def test_the_circle_begins_behind_the_seat_that_observes(last, targets):
    """Those who are eliminated keep their places in it: 3 is, where 4 is the last."""
    game = game_on(rows_of(*[f"12{last}"] * 16), troops=(5,) * last)
    if last == 4:
        eliminate(game, 3)
    assert (candidates(Quantities(game), 2), observe(game, 2).targets[:2]) == ([last, 1], targets)


def test_of_more_candidates_than_rows_the_first_are_shown_and_all_count():
    game = star(troops=(100, 0, 0, 5, 9, 0, 0))
    seen = observe(game, 1, num_candidates=2)
    assert (seen.targets, len(seen.pairs), len(seen.mask)) == ([1, 6], 2, 21)
    assert_has(
        dict(zip(OWN_COLUMNS, seen.own, strict=True)),
        neighbours=4096 * 3 // 8,
        thinnest_neighbour=0,  # seat 3, which is not shown
        richest_neighbour=4096 * 9 // 110,  # seat 5
    )
    assert pair_of(game, 1, 5)["neighbours"] == 4096 * 4 // 8, "seats 1, 3, 6 and 7"
    assert pair_of(game, 1, 4)["neighbours"] == 4096 * 2 // 8, "seats 1 and 2"
    assert observe(game, 1, num_candidates=3).pairs[:2] == seen.pairs
    assert observe(game, 1, num_candidates=1).targets == [1]


def test_numbers_of_neutral_land_are_nine():
    game = at_war()
    row = observe(game, 1).pairs[0]
    others = [value for name, value in zip(PAIR_COLUMNS, row, strict=True) if name not in NEUTRAL_COLUMNS]
    assert others == [0] * 17
    assert_has(pair_of(game, 1, 0), pool=4096 * 20 // 1021, pool_per_cell=4 * (log(20) - log(16)))
    game.pools[1][0] = 3
    assert pair_of(game, 1, 0)["pool_per_cell"] == 0, "3 for 16 cells are below 0"


def test_the_largest_troops_and_pools_stay_within_16_bits():
    game = at_war()
    game.troops[1], game.troops[2] = 0, 2**41
    game.pools[2][1] = 2**60
    assert own_of(game, 2)["troops"] == 10240, "2**41 counts as 2**40"
    assert_has(pair_of(game, 1, 2), attack=4095, price=4095, troops_ratio=16384, force=16384)
    assert own_of(game, 1)["density_to_mean"] == -16384


# ---------------------------------------------------------------------------- actions
