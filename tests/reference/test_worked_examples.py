"""The worked examples of docs/rules.md, of teams too, by the reference implementation and the engine."""

import struct
from hashlib import blake2b

import pytest

from territorial.config import GameConfig
from territorial.config.land_mask import LandMask
from tests.reference.drawings import Example, game_on, rows_of
from tests.twin import H, place_spawns
from tests.twin.formulas import cadence, interest_gain, interest_rate
from tests.twin.teams import anchors_together

NEVER = 10**6
# A front of 16 neutral cells for either player.
STRIP = rows_of(*["1..2"] * 16)
# 160 cells of 2 behind a front of 10.
DEFENDED = rows_of(*["1" + "2" * 16] * 10)
PAID = {"board": rows_of(*["111......222"] * 4, *["." * 12] * 12), "troops": (512, 512)}
INCOME = {
    "board": rows_of(*["112233"] * 10),
    "troops": (0, 2995, 5000),
    "rules": {"interest_every": 10_000},
}
UNDER_ATTACK = {"board": DEFENDED, "troops": (0, 1000), "next_step": {2: NEVER}}
NO_POOLS = [[0, 0, 0], [0, 0, 0]]

EXAMPLES = {
    "512 troops on 12 cells become 547 at tick 9": Example(
        **PAID, tick=9, after={"land": [12, 12], "troops": [547, 547], "interest": [35, 35]}
    ),
    "interest comes at ticks that end in 9 only": Example(
        **PAID, tick=10, ticks=9, after={"interest": [0, 0]}
    ),
    "income pays one a cell up to 150 a cell at ticks that end in 99": Example(
        **INCOME, tick=99, after={"income": [20, 5, 0], "troops": [20, 3000, 5000]}
    ),
    "income comes at ticks that end in 99 only": Example(
        **INCOME, tick=100, ticks=99, after={"income": [0, 0, 0]}
    ),
    "a living player without land is paid nothing": Example(
        rows_of(*["2."] * 16),
        tick=99,
        troops=(512, 0),
        rules={"deaths": False, "win_percent": 100},
        after={"alive": [1, 1], "troops": [512, 17], "interest": [0, 1], "income": [0, 16]},
    ),
    "a launch costs a tax and moves the fraction named": Example(
        STRIP,
        troops=(1024, 512),
        launches=([(1, 0, 256)],),
        after={
            "troops": [1024 - 12 - 256, 512],
            "pools": [[256, 0, 0], [0, 0, 0]],
            "tax": [12, 0],
            "next_step": [7, 0],
        },
    ),
    "a launch below the need is raised to it": Example(
        STRIP,
        troops=(1024, 512),
        launches=([(1, 0, 16)],),
        after={"pools": [[50, 0, 0], [0, 0, 0]], "raised": [1, 0], "illegal": [0, 0]},
    ),
    "a launch of exactly the need is not raised": Example(
        STRIP,
        troops=(800, 512),
        launches=([(1, 0, 64)],),
        after={"pools": [[50, 0, 0], [0, 0, 0]], "raised": [0, 0], "troops": [800 - 9 - 50, 512]},
    ),
    "a second launch adds to the pool and does not delay it": Example(
        STRIP,
        troops=(1024, 512),
        rules={"decision_every": 1},
        launches=([(1, 0, 256)], [(1, 0, 1)]),
        ticks=2,
        after={"pools": [[256 + 1, 0, 0], [0, 0, 0]], "next_step": [7, 0]},
    ),
    "a launch at another target does not delay the attacks under way": Example(
        rows_of(*["213."] * 16),
        troops=(1024, 0, 0),
        rules={"decision_every": 1},
        launches=([(1, 2, 64)], [(1, 3, 64)]),
        ticks=2,
        after={"pools": [[0, 0, 64, 59], [0] * 4, [0] * 4], "next_step": [7, 0, 0]},
    ),
    "a need above a quarter of the balance is not legal, and one of a quarter is": Example(
        STRIP,
        troops=(199, 200),
        launches=([(1, 0, 1024), (2, 0, 1024)],),
        after={
            "troops": [199, 0],
            "illegal": [1, 0],
            "raised": [0, 0],
            "pools": [[0, 0, 0], [198, 0, 0]],  # the whole balance, less the tax of 2
        },
    ),
    "the player itself and those out of touch are no targets": Example(
        rows_of(*["1..2.3"] * 16),
        troops=(1024, 1024, 1024),
        launches=([(1, 1, 512), (1, 2, 512), (1, 3, 512)],),
        after={"illegal": [3, 0, 0], "troops": [1024] * 3, "pools": [[0] * 4] * 3},
    ),
    "a pool of 47 cannot take a neutral front of 16 and comes home": Example(
        STRIP,
        troops=(100, 100),
        pools={(1, 0): 47},
        after={"board": STRIP, "troops": [147, 100], "pools": NO_POOLS},
    ),
    "a pool of 48 takes a neutral front of 16 for 32": Example(
        STRIP,
        troops=(100, 100),
        pools={(1, 0): 48},
        after={
            "board": rows_of(*["11.2"] * 16),
            "troops": [100, 100],
            "pools": [[16, 0, 0], [0, 0, 0]],
            "land": [32, 16],
            "taken": [[16, 0, 0], [0, 0, 0]],
            "paid_neutral": [32, 0],
        },
    ),
    "89 troops fail against a front of 10 at a cost of 82 and spend 80": Example(
        **UNDER_ATTACK,
        pools={(1, 2): 89},
        after={
            "board": DEFENDED,
            "troops": [9, 940],
            "paid_attack": [80, 0],
            "killed": [0, 60],
            "pools": NO_POOLS,
        },
    ),
    "90 troops take a front of 10 at a cost of 82": Example(
        **UNDER_ATTACK,
        pools={(1, 2): 90},
        after={
            "board": rows_of(*["11" + "2" * 15] * 10),
            "troops": [0, 938],
            "paid_attack": [82, 0],
            "pools": [[0, 0, 8], [0, 0, 0]],
            "taken": [[0, 0, 10], [0, 0, 0]],
        },
    ),
    "an opposing pool of 300 shields the land and the troops behind it": Example(
        **UNDER_ATTACK,
        pools={(1, 2): 310, (2, 1): 300},
        after={
            "board": DEFENDED,
            "troops": [0, 1000],
            "paid_attack": [310, 0],
            "cancelled": [0, 290],
            "pools": [[0, 0, 0], [0, 10, 0]],
        },
    ),
    "troops that only equal the cost fail": Example(
        **UNDER_ATTACK,
        pools={(1, 2): 90, (2, 1): 8},
        after={
            "board": DEFENDED,
            "troops": [0, 1000 - 62],
            "paid_attack": [2 * 10 + 62 + 8, 0],
            "pools": NO_POOLS,
        },
    ),
    "refunds fill the balance to 150 a cell and the rest is lost": Example(
        STRIP,
        troops=(16 * 150 - 7, 100),
        pools={(1, 0): 47},
        after={"troops": [16 * 150, 100], "capped": [40, 0]},
    ),
    "a pool that ends after its first step has not bounced": Example(
        rows_of(*["1..3.2"] * 16),
        troops=(1024, 1024, 1024),
        launches=([(1, 0, 64)],),
        ticks=5,
        rules={"launch_delay": 0},
        after={"pools": [[0] * 4] * 3, "bounced": [0, 0, 0], "taken": [[16, 0, 0, 0], [0] * 4, [0] * 4]},
    ),
    "fronts are those of the turn even if the step takes other land first": Example(
        rows_of("1.", *["12"] * 15),
        troops=(0, 0),
        pools={(1, 0): 1000, (1, 2): 1000},
        after={"taken": [[1, 0, 15], [0, 0, 0]]},  # the neutral cell adds no front against 2
    ),
    "with a peak of 400 a player dies with 100 cells and lives with 101": Example(
        rows_of(*["1" * 10 + "2" * 10 + "3"] * 10, "." * 10 + "2" + "." * 10),
        peak={1: 400, 2: 400},
        after={
            "alive": [0, 1, 1],
            "land": [0, 101, 10],
            "troops": [0, 512, 512],
            "peak": [400, 399, 10],
            "death_tick": [0, -1, -1],
            "board": rows_of(*["." * 10 + "2" * 10 + "3"] * 10, "." * 10 + "2" + "." * 10),
        },
    ),
    "the dead leave neutral land and attacks on them go on against it": Example(
        rows_of(*["1123"] * 16),
        troops=(50, 60, 70),
        peak={2: 64},
        pools={(1, 2): 500, (1, 0): 7, (2, 3): 80},
        next_step=dict.fromkeys((1, 2, 3), NEVER),
        after={
            "board": rows_of(*["11.3"] * 16),
            "pools": [[507, 0, 0, 0], [0] * 4, [0] * 4],
            "destroyed": [0, 60 + 80, 0],
        },
    ),
    "with deaths off nobody dies and peaks still sink": Example(
        rows_of(*["12"] * 16),
        peak={1: 5016},
        rules={"deaths": False},
        after={"alive": [1, 1], "peak": [5011, 16]},
    ),
    "90 percent of the land ends the game": Example(rows_of(*["1" * 10] * 9, "2" * 10), after={"over": True}),
    "89 percent do not": Example(rows_of(*["1" * 10] * 8, "1" * 9 + "2", "2" * 10), after={"over": False}),
    "the clock ends the game after max_ticks and the last tick counts": Example(
        STRIP, rules={"max_ticks": 2}, ticks=2, after={"over": True, "tick": 2}
    ),
    "the clock does not end it before": Example(
        STRIP, rules={"max_ticks": 2}, ticks=1, after={"over": False, "tick": 1}
    ),
    "the living place by land then troops and the dead below by death": Example(
        rows_of(*["12344556"] * 16),
        troops=(0, 0, 9, 5, 5, 8),
        peak={1: 64, 2: 64},
        rules={"max_ticks": 1},
        after={"placements": [5.5, 5.5, 3, 1.5, 1.5, 4]},
    ),
}


# ---------------------------------------------------------------------------- formulas


@pytest.mark.parametrize(
    ("tick", "troops", "land", "num_land", "rate"),
    [
        *((tick, 0, 0, 1000, rate) for tick, rate in ((0, 700), (960, 400), (1919, 100), (1920, 100))),
        (9, 512, 12, 448, 697),
        (2000, 0, 1000, 1000, 260),
        *(
            (2000, t, 100, 65_536, rate)
            for t, rate in ((10_000, 100), (12_500, 50), (14_900, 2), (15_000, 0))
        ),
    ],
)
def test_the_rate_falls_from_7_percent_to_that_of_the_land_and_above_100_a_cell(
    tick, troops, land, num_land, rate
):
    assert interest_rate(GameConfig(), tick, troops, land, num_land) == rate


@pytest.mark.parametrize(
    ("troops", "gain"), [(0, 1), (10_000, 100), (14_990, 1), (14_999, 1), (15_000, 0), (20_000, 0)]
)
def test_interest_is_at_least_one_and_stops_at_150_a_cell(troops, gain):
    assert interest_gain(GameConfig(), 2000, troops, 100, 65_536) == gain


def test_steps_are_4_ticks_apart_and_more_frequent_from_1000_10000_and_60000_cells():
    sizes = (0, 999, 1000, 9999, 10_000, 59_999, 60_000)
    assert [cadence(GameConfig(), land) for land in sizes] == [4, 4, 3, 3, 2, 2, 1]


# ---------------------------------------------------------------------------- what takes more than a position


@pytest.mark.parametrize("layer", [5, 10, 20, 40])
def test_a_passive_strip_of_10000_troops_on_1000_cells_costs_11990(layer):
    game = game_on(rows_of(*["1" + "2" * (1000 // layer)] * layer), (0, 10_000), deaths=False)
    game.pools[1][2] = 10**6
    while game.land[2] > 0:
        game.attack_step(1)
    assert (game.ledger["paid_attack"][1], game.taken[1][2]) == (11_990, 1000)


def test_a_pool_whose_front_doubles_before_its_first_step_bounces():
    game = game_on(rows_of("1..", *["2.."] * 15), troops=(40, 0), launch_delay=3)
    game.step_tick([(1, 0, 1)])
    assert (game.pools[1][0], game.raised[1]) == (3, 1)
    game.owner[0][1], game.owner[1][0] = 1, 1
    while game.tick < 4:
        game.step_tick()
    assert (game.pools[1][0], game.bounced[1]) == (0, 1)


def test_a_pool_that_turns_to_neutral_land_when_its_target_dies_is_not_new_there():
    game = game_on(rows_of(*["123"] * 16), troops=(1000, 0, 0))
    game.launch(1, 2, 64)
    game.next_step[1], game.peak[2] = 1, 64
    game.step_tick()
    assert game.pools[1] == [62, 0, 0, 0]
    game.pools[1][0] = 47
    game.step_tick()
    assert (game.pools[1], game.bounced[1]) == ([0, 0, 0, 0], 0)


def test_a_player_whose_only_pool_is_cancelled_earlier_in_the_tick_steps_all_the_same():
    game = game_on(DEFENDED, troops=(0, 1000))
    game.pools[1][2], game.pools[2][1] = 1000, 50
    game.order_key = lambda p: p
    game.step_tick()
    assert (game.pools[2][1], game.ledger["cancelled"][2], game.next_step[1:]) == (0, 50, [4, 4])


def test_a_death_is_rewarded_at_the_step_it_happens_in_and_never_again():
    game = game_on(rows_of(*["123"] * 16))
    game.peak[1] = 64
    assert game.environment_step() == [-16 / 48 + -1.0, 0.0, 0.0]
    assert game.environment_step() == [0.0, 0.0, 0.0]


# -------------------------------------------------------------------------- random numbers, spawns


def test_the_digest_is_blake2b_over_the_state_in_the_order_of_the_rules():
    game = game_on(STRIP, troops=(1024, 512))
    game.seed = 2**64 - 1
    game.step_tick([(1, 0, 256)])
    cells = bytes(code for row in game.owner for code in row)
    seats = struct.pack("<12q", 1, 1, 756, 512, 16, 16, 16, 16, 7, 0, -1, -1)
    pools = struct.pack("<9q", 0, 0, 0, 256, 0, 0, 0, 0, 0)
    state = struct.pack("<qQ", 1, 2**64 - 1) + cells + seats + pools
    assert game.digest() == blake2b(state, digest_size=8).digest()


def test_spawns_are_squares_without_corners_on_land_of_their_own():
    land = LandMask.from_text("\n".join(["." * 40 + "#" * 8] * 30))
    spawns = place_spawns(GameConfig.for_map(land, num_players=8), land, 7)
    assert len({cell for cells in spawns for cell in cells}) == 8 * 12
    for cells in spawns:
        top, left = min(r for r, _ in cells), min(c for _, c in cells)
        assert max(c for _, c in cells) < 40
        assert board(cells, top, left) == [".##.", "####", "####", ".##."]


def board(cells, top, left):
    return ["".join(".#"[(top + r, left + c) in cells] for c in range(4)) for r in range(4)]


def test_spawns_are_packed_when_spreading_leaves_somebody_out():
    land = LandMask.from_text("\n".join(["." * 16] * 16))
    config = GameConfig.for_map(land, num_players=16)
    for seed in range(20):
        assert len({cell for cells in place_spawns(config, land, seed) for cell in cells}) == 16 * 12


# ---- teams -------------------------------------------------------------------------------------------


# Three players of 16 cells, so with caps of 2400, none of whom touches another.
TEAMS_APART = rows_of(*["1.2.3"] * 16)


def apart(*troops, launches=(), rules=(), **fields):
    """Return an example of two allies and an enemy that lie apart."""
    rules = {"teams": (1, 1, 2), **dict(rules)}
    return Example(TEAMS_APART, troops=troops, launches=(launches,), rules=rules, **fields)


def four(*troops, launches, after):
    """Return the same of three allies and an enemy of 16 cells each."""
    rules = {"teams": (1, 1, 1, 2)}
    return Example(rows_of(*["1.2.3.4"] * 16), after, troops, launches=(launches,), rules=rules)


# ---------------------------------------------------------------------------- where teams start


def test_anchors_are_cut_across_the_longer_side_and_each_part_again():
    """Three teams: the first takes its side of the map, the other two share the rest."""
    anchors = [(0, 0), (9, 1), (0, 30), (30, 21), (1, 20), (29, 31)]
    team_of, seed = [1, 1, 2, 2, 3, 3], 1
    first, second, third = sorted((1, 2, 3), key=lambda g: H(seed, 10, 0, g))
    found = anchors_together(anchors, team_of, seed)
    parts = {g: {found[p - 1] for p in (2 * g - 1, 2 * g)} for g in (1, 2, 3)}
    assert parts[first] == {(0, 0), (9, 1)}, "31 wide and 30 high: by column"
    assert parts[second] == {(0, 30), (1, 20)}, "11 wide and 30 high: by row"
    assert parts[third] == {(30, 21), (29, 31)}


def test_a_box_as_high_as_wide_is_cut_between_rows():
    anchors, seed = [(0, 5), (0, 0), (5, 5), (5, 0)], 3
    first = min((1, 2), key=lambda g: H(seed, 10, 0, g))
    found = anchors_together(anchors, [1, 2, 1, 2], seed)
    tops = {g: {found[p - 1][0] for p in members} for g, members in ((1, (1, 3)), (2, (2, 4)))}
    assert (tops[first], tops[3 - first]) == ({0}, {5})


def test_the_first_half_of_the_teams_gets_as_many_anchors_as_it_has_seats():
    anchors, team_of = [(0, 10 * i) for i in range(6)], [1, 2, 2, 2, 2, 2]
    for seed in range(8):
        found = anchors_together(anchors, team_of, seed)
        is_first = H(seed, 10, 0, 1) < H(seed, 10, 0, 2)
        assert found[0] == ((0, 0) if is_first else (0, 50))


@pytest.mark.parametrize("seed", range(6))
def test_allies_take_the_anchors_of_their_part_in_reading_order_by_their_draws(seed):
    found = anchors_together([(3, 1), (2, 9), (4, 4), (0, 50)], [2, 2, 1, 2], seed)
    seats = sorted((1, 2, 4), key=lambda p: H(seed, 11, 0, p))
    is_first = H(seed, 10, 0, 2) < H(seed, 10, 0, 1)
    part = [(2, 9), (3, 1), (4, 4)] if is_first else [(0, 50), (2, 9), (4, 4)]
    assert [found[p - 1] for p in seats] == part


# ---------------------------------------------------------------------------- examples

ATTACKS = {
    "an ally cannot be attacked and an enemy can": Example(
        rows_of(*["123"] * 16),
        troops=(1000, 1000, 1000),
        launches=([(2, 1, 256), (2, 3, 256)],),
        rules={"teams": (1, 1, 2)},
        after={"pools": [[0] * 4, [0, 0, 0, 184], [0] * 4], "received": [250, 0, 0]},
    ),
    "allies never take land from each other": Example(
        rows_of(*["12#3"] * 16),
        troops=(1000, 1000, 1000),
        launches=([(1, 2, 512), (2, 1, 512)], *[[]] * 9, [(1, 2, 512), (2, 1, 512)]),
        ticks=20,
        rules={"teams": (1, 1, 2)},
        after={"land": [16, 16, 16], "taken": [[0] * 4] * 3, "pools": [[0] * 4] * 3},
    ),
}
DONATIONS = {
    "a donation needs no border and costs a tax": apart(
        *(1000, 100, 100),
        launches=[(1, 2, 512)],
        after={
            "troops": [1000 - 11 - 500, 600, 100],
            "tax": [11, 0, 0],
            "donated": [500, 0, 0],
            "received": [0, 500, 0],
            "next_step": [0, 0, 0],
            "pools": [[0] * 4] * 3,
            "raised": [0, 0, 0],
            "illegal": [0, 0, 0],
        },
    ),
    "all that the tax leaves can be given": apart(
        1000, 100, 100, launches=[(1, 2, 1024)], after={"troops": [0, 100 + 989, 100]}
    ),
    **{
        f"the tax of a donation is rounded down: of {troops} it is {tax}": apart(
            troops, 0, 0, launches=[(1, 2, 1024)], after={"troops": [0, troops - tax, 0], "tax": [tax, 0, 0]}
        )
        for troops, tax in ((85, 0), (86, 1), (170, 1), (171, 2))
    },
    "a donation of less than one is raised to one": apart(
        15, 0, 0, launches=[(1, 2, 64)], after={"troops": [14, 1, 0], "raised": [1, 0, 0]}
    ),
    "64 of 1024 parts of 16 are one": apart(
        16, 0, 0, launches=[(1, 2, 64)], after={"troops": [15, 1, 0], "raised": [0, 0, 0]}
    ),
    "a single troop can be given even at the highest tax": apart(
        1, 0, 0, launches=[(1, 2, 1)], rules={"launch_tax": 1023}, after={"troops": [0, 1, 0]}
    ),
    "without troops nothing can be given": apart(
        *(0, 0, 0),
        launches=[(1, 2, 1024)],
        after={"troops": [0, 0, 0], "illegal": [1, 0, 0], "raised": [0, 0, 0]},
    ),
    "troops are given up to the cap and the rest is lost at the receiver": apart(
        *(1000, 2390, 0),
        launches=[(1, 2, 512)],
        after={
            "troops": [489, 2400, 0],
            "donated": [500, 0, 0],
            "received": [0, 500, 0],
            "capped": [0, 490, 0],
        },
    ),
    **{
        f"an ally of 16 cells with {troops} troops is {'not ' if is_full else ''}given any": apart(
            *(1000, troops, 0),
            launches=[(1, 2, 512)],
            after={"illegal": [is_full, 0, 0], "troops": [1000 if is_full else 489, max(troops, 2400), 0]},
        )
        for troops, is_full in ((2399, False), (2400, True), (2500, True))
    },
    "an ally without land cannot be given troops": Example(
        rows_of(*["1.3"] * 16),
        troops=(1000, 0, 0),
        launches=([(1, 2, 512)],),
        rules={"teams": (1, 1, 2), "deaths": False},
        after={"land": [16, 0, 16], "alive": [1, 1, 1], "illegal": [1, 0, 0]},
    ),
    "two donors fill one receiver together": four(
        *(100, 200, 2380, 100),
        launches=[(1, 3, 256), (2, 3, 256)],
        after={
            "troops": [100 - 1 - 25, 200 - 2 - 50, 2400, 100],
            "received": [0, 0, 75, 0],
            "capped": [0, 0, 55, 0],
        },
    ),
    "nobody gives to oneself": apart(
        *(1000, 0, 0), launches=[(1, 1, 512)], after={"illegal": [1, 0, 0], "troops": [1000, 0, 0]}
    ),
    "gifts that cross both arrive": apart(
        *(1000, 500, 0),
        launches=[(1, 2, 512), (2, 1, 512)],
        after={"troops": [1000 - 11 - 500 + 250, 500 - 5 - 250 + 500, 0]},
    ),
    "without a tax gifts can cancel each other": apart(
        *(800, 800, 0),
        launches=[(1, 2, 256), (2, 1, 256)],
        rules={"launch_tax": 0},
        after={"troops": [800, 800, 0], "donated": [200, 200, 0], "received": [200, 200, 0]},
    ),
    "what the receiver gives away in the same tick makes room": four(
        *(100, 1000, 2390, 100),
        launches=[(1, 3, 1024), (3, 2, 512)],
        after={"troops": [0, 1000 + 1195, 2390 - 28 - 1195 + 99, 100], "capped": [0, 0, 0, 0]},
    ),
    **{
        f"a full ally cannot be given troops even if it spends its own, {order}": apart(
            *(1000, 2400, 0),
            launches=launches,
            after={"illegal": [1, 0, 0], "troops": [1000 + 1200, 2400 - 28 - 1200, 0]},
        )
        for order, launches in (
            ("later in the tick", [(1, 2, 512), (2, 1, 512)]),
            ("earlier in the tick", [(2, 1, 512), (1, 2, 512)]),
        )
    },
    "a gift cannot be sent on in the tick in which it arrives": four(
        *(1000, 0, 0, 0),
        launches=[(1, 2, 512), (2, 3, 1024)],
        after={"troops": [489, 500, 0, 0], "illegal": [0, 1, 0, 0]},
    ),
    "a seat with two launches gives from what the first one left": four(
        *(1000, 0, 0, 0),
        launches=[(1, 2, 512), (1, 3, 512)],
        after={"troops": [489 - 5 - 244, 500, 244, 0]},
    ),
    "a seat that gave everything has nothing for a second launch": four(
        *(1000, 0, 0, 0),
        launches=[(1, 2, 1024), (1, 3, 1024)],
        after={"troops": [0, 989, 0, 0], "illegal": [1, 0, 0, 0]},
    ),
    "gifts arrive before interest is paid": apart(
        *(1000, 0, 0),
        launches=[(1, 2, 512)],
        rules={"interest_every": 1},
        after={"interest": [700 * 489 // 10_000, 700 * 500 // 10_000, 1]},
    ),
    "a gift to an ally that dies in the same tick is destroyed with it": apart(
        *(1000, 100, 0),
        peak={2: 64},
        launches=[(1, 2, 512)],
        after={"alive": [1, 0, 1], "troops": [489, 0, 0], "destroyed": [0, 600, 0], "received": [0, 500, 0]},
    ),
    "a dead ally neither gives nor gets": Example(
        TEAMS_APART,
        troops=(1000, 500, 0),
        peak={2: 64},
        launches=([], [(1, 2, 512), (2, 1, 512)]),
        ticks=2,
        rules={"teams": (1, 1, 2), "decision_every": 1},
        after={"troops": [1000, 0, 0], "illegal": [1, 1, 0]},
    ),
}
TOGETHER = rows_of(*["1" * 5 + "2" * 4 + "3"] * 10)
FOUR = rows_of(*["1234"] * 16)
ENDS = {
    "the game goes on while two teams have a member": Example(
        FOUR, peak={1: 64}, rules={"teams": (1, 2, 1, 2)}, after={"over": False}
    ),
    "the game ends when one team is left": Example(
        FOUR,
        peak={1: 64, 3: 64},
        rules={"teams": (1, 2, 1, 2)},
        after={"over": True, "placements": [2, 1, 2, 1]},
    ),
    "allies own 90 percent of the land together": Example(
        TOGETHER, rules={"teams": (1, 1, 2)}, after={"over": True, "placements": [1, 1, 2]}
    ),
    "enemies do not": Example(TOGETHER, rules={"teams": (1, 2, 1)}, after={"over": False}),
    "nor do those without teams": Example(TOGETHER, after={"over": False}),
    "teams place by the sum of their land whatever their size": Example(
        rows_of(*["112222333"] * 16),
        rules={"teams": (1, 2, 1), "max_ticks": 1},
        after={"placements": [1, 2, 1]},  # 2 + 3 columns against 4
    ),
    **{
        f"teams of equal land place by the sum of their troops at home: {troops}": Example(
            FOUR, troops=troops, rules={"teams": (1, 1, 2, 2), "max_ticks": 1}, after={"placements": places}
        )
        for troops, places in (((7, 2, 5, 5), [2, 2, 1, 1]), ((7, 3, 5, 5), [1.5] * 4))
    },
    "all teams that lose their last member in one tick share the place": Example(
        FOUR,
        peak=dict.fromkeys((1, 2, 3, 4), 64),
        rules={"teams": (1, 2, 1, 2)},
        after={"over": True, "placements": [1.5] * 4},
    ),
}
OF_TEAMS = ATTACKS | DONATIONS | ENDS


@pytest.mark.parametrize("example", [*EXAMPLES.values(), *OF_TEAMS.values()], ids=[*EXAMPLES, *OF_TEAMS])
def test_an_example_of_the_rules_plays_out_as_the_rules_have_it(example):
    example.check()


# ---------------------------------------------------------------------------- places and rewards over ticks


def test_teams_that_are_out_place_by_their_last_death_and_equals_share():
    game = game_on(rows_of(*["123456"] * 16), teams=(1, 2, 3, 2, 4, 1), max_ticks=20)
    for deaths in ([1, 2], [], [3, 4], [6]):
        for d in deaths:
            game.peak[d] = 64
        game.step_tick()
    assert game.death_tick[1:] == [0, 0, 2, 2, -1, 3]
    assert game.over
    assert game.placements() == [2, 3.5, 3.5, 3.5, 1, 2]


def test_the_place_is_known_when_the_last_member_dies_and_not_before():
    game = game_on(rows_of(*["12345"] * 16), teams=(1, 1, 2, 3, 3))
    game.peak[1] = 64
    game.step_tick()
    with pytest.raises(ValueError, match="seat 1 has an ally that is alive"):
        game.place_of_dead(1)
    game.peak[2] = 64
    game.step_tick()
    assert [game.place_of_dead(p) for p in (1, 2)] == [3, 3]
    with pytest.raises(ValueError, match="seat 3 is alive"):
        game.place_of_dead(3)


def test_placement_is_paid_once_to_all_members_when_their_team_is_out():
    game = game_on(rows_of(*["1234"] * 16), teams=(1, 1, 2, 3))
    game.peak[1] = 64
    assert game.environment_step() == [-0.25, 0, 0, 0], "seat 1 lost its land; its team is in"
    game.peak[2] = 64
    assert game.environment_step() == [-1, -0.25 - 1, 0, 0]
    game.peak[3] = 64
    assert game.environment_step() == [0, 0, -0.25, 1]
    assert game.over


def test_placement_sums_to_zero_over_teams_each_counted_once_and_not_over_seats():
    game = game_on(rows_of(*["12345"] * 16), teams=(1, 2, 2, 2, 2), max_ticks=1, rewards={"placement": 1})
    assert game.environment_step() == [-1, 1, 1, 1, 1]


def test_land_of_the_team_has_a_weight_and_goes_to_members_that_have_died_too():
    rewards = {"land": 1, "team_land": 2}
    game = game_on(rows_of(*["1.2.3"] * 16), teams=(1, 1, 2), rewards=rewards)
    game.peak[1] = 64
    assert game.environment_step() == pytest.approx([-0.2 - 0.4, -0.4, 0])
    game.pools[2][0] = 96
    rewards = game.environment_step()
    gained = (game.land[2] - 16) / game.num_land
    assert rewards == pytest.approx([2 * gained, 3 * gained, 0])
    assert gained > 0
