"""The worked examples of docs/rules.md, played by the reference implementation and by the engine."""

import struct
from hashlib import blake2b

import pytest

from territorial.config import GameConfig
from territorial.config.land_mask import LandMask
from tests.reference.drawings import Example, game_on, rows_of
from tests.twin import place_spawns
from tests.twin.formulas import cadence, interest_gain, interest_rate

NEVER = 10**6
STRIP = rows_of(*["1..2"] * 16)
"""A front of 16 neutral cells for either player."""
DEFENDED = rows_of(*["1" + "2" * 16] * 10)
"""160 cells of 2 behind a front of 10."""
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


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_plays_out_as_the_rules_have_it(name):
    EXAMPLES[name].check()


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
