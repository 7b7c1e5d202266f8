"""The worked examples of docs/rules.md, played by the engine on boards drawn in text."""

import numpy as np
import pytest

from territorial import GameConfig, VecGame
from territorial.constants import BLOCKED
from tests.engine.support import NEVER, drawn, game_on, rows_of, seat_values

STRIP = rows_of(*["1..2"] * 16)
"""A front of 16 neutral cells for either player."""

DEFENDED = rows_of(*["1" + "2" * 16] * 10)
"""160 cells of 2 behind a front of 10."""


# ---- interest and income --------------------------------------------------------------------------


def test_512_troops_on_12_cells_become_547_at_tick_9():
    """The rate is 100 * (13440 - 54) // 1920 = 697 basis points, and 697 * 512 // 10000 = 35."""
    game = game_on(rows_of(*["111......222"] * 4, *["." * 12] * 12), (512, 512), tick=9)
    assert seat_values(game, "land") == [12, 12]
    game.tick(0)
    assert seat_values(game, "troops") == [547, 547]
    assert seat_values(game, "interest") == [35, 35]


def test_interest_comes_at_ticks_that_end_in_9_only():
    game = game_on(STRIP, (512, 512))
    paid = []
    for _ in range(30):
        game.tick(0)
        paid.append(int(game.state.interest[0, 1]))
    assert [t for t in range(30) if paid[t] != ([0, *paid])[t]] == [9, 19, 29]


def test_income_pays_one_a_cell_up_to_150_a_cell_at_ticks_that_end_in_99():
    drawing = rows_of(*["112233"] * 10)
    game = game_on(drawing, (0, 2995, 5000), tick=98, interest_every=10_000)
    game.tick(0)
    assert seat_values(game, "income") == [0, 0, 0]
    game.tick(0)
    assert seat_values(game, "income") == [20, 5, 0]
    assert seat_values(game, "troops") == [20, 3000, 5000]


def test_the_whole_map_earns_2_6_percent():
    game = game_on(rows_of(*["1" * 16] * 16), (10_000, 0), tick=2009, win_percent=100, deaths=False)
    game.tick(0)
    assert seat_values(game, "interest")[0] == 260


# ---- launching ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("troops", "fraction", "left", "pool", "is_raised"),
    [
        (1024, 256, 1024 - 12 - 256, 256, False),
        (1024, 16, 962, 50, True),
        (800, 64, 800 - 9 - 50, 50, False),
        (200, 1024, 0, 198, False),
    ],
)
def test_a_launch_pays_the_tax_and_sends_at_least_the_need(troops, fraction, left, pool, is_raised):
    game = game_on(STRIP, (troops, 0))
    assert game.fronts(0)[1][1, 0] == 3 * 16 + 16 // 8 == 50
    game.tick(0, [(1, 0, fraction)])
    assert (game.state.troops[0, 1], game.state.pools[0, 1, 0]) == (left, pool)
    assert (game.state.raised[0, 1], game.state.illegal[0, 1]) == (is_raised, 0)
    assert game.state.tax[0, 1] == troops - left - pool
    assert game.state.next_step[0, 1] == 7


def test_a_need_above_a_quarter_of_the_balance_is_not_legal():
    game = game_on(STRIP, (199, 200))
    assert game.fronts(0)[2][1:, 0].tolist() == [False, True]
    game.tick(0, [(1, 0, 1024)])
    assert (game.state.troops[0, 1], game.state.illegal[0, 1]) == (199, 1)


# ---- neutral land ---------------------------------------------------------------------------------


def test_a_pool_of_47_cannot_take_a_neutral_front_of_16_and_comes_home():
    game = game_on(STRIP, (0, 0), pools={(1, 0): 47})
    game.tick(0)
    assert drawn(game) == STRIP
    assert (game.state.troops[0, 1], game.state.pools[0, 1, 0]) == (47, 0)


def test_a_pool_of_48_takes_a_neutral_front_of_16_for_32():
    game = game_on(STRIP, (0, 0), pools={(1, 0): 48})
    game.tick(0)
    assert drawn(game) == rows_of(*["11.2"] * 16)
    assert (game.state.troops[0, 1], game.state.pools[0, 1, 0]) == (0, 16)
    assert game.state.paid_neutral[0, 1] == 32


# ---- players --------------------------------------------------------------------------------------


def defended(pool, opposing=0):
    """1 attacks the 160 cells and 1,000 troops of 2, who may have a pool against 1 that does not step."""
    pools = {(1, 2): pool, (2, 1): opposing}
    game = game_on(DEFENDED, (0, 1000), pools=pools, next_step=(0, NEVER))
    assert (game.state.land[0, 2], game.fronts(0)[0][1, 2]) == (160, 10)
    game.tick(0)
    return game


def test_219_troops_fail_at_a_cost_of_218_and_spend_210():
    game = defended(pool=219)
    assert drawn(game) == DEFENDED
    assert seat_values(game, "troops") == [9, 1000 - 95]
    assert (game.state.paid_attack[0, 1], game.state.killed[0, 2]) == (210, 95)
    assert game.state.pools[0, 1, 2] == 0


def test_230_troops_take_the_front_at_a_cost_of_218():
    game = defended(pool=230)
    assert drawn(game) == rows_of(*["11" + "2" * 15] * 10)
    assert seat_values(game, "troops") == [0, 901]
    assert (game.state.paid_attack[0, 1], game.state.pools[0, 1, 2]) == (218, 12)
    assert game.state.taken[0, 1, 2] == 10


def test_an_opposing_pool_of_300_shields_land_and_troops():
    game = defended(pool=310, opposing=300)
    assert drawn(game) == DEFENDED
    assert seat_values(game, "troops") == [0, 1000]
    assert (game.state.paid_attack[0, 1], game.state.cancelled[0, 2]) == (310, 290)
    assert game.state.pools[0, 2, 1] == 10


def test_troops_that_only_equal_the_cost_fail():
    game = defended(pool=220, opposing=2)
    assert drawn(game) == DEFENDED
    assert seat_values(game, "troops") == [0, 1000 - 99]
    assert (game.state.paid_attack[0, 1], game.state.pools[0, 2, 1]) == (220, 0)


@pytest.mark.parametrize(("layer", "cost"), [(5, 22_000), (10, 22_002), (20, 22_010), (40, 22_032)])
def test_a_passive_strip_of_10000_troops_on_1000_cells_costs_about_22000(layer, cost):
    """Drawn as 1 and then rows of 2s, eaten from the left, layer by layer, with deaths off."""
    height, length = max(16, layer), 1000 // layer
    owner = np.full((height, length + 1), BLOCKED, np.uint8)
    owner[:layer, 0], owner[:layer, 1:] = 1, 2
    # Interest and income would feed the strip while it is eaten: none is paid in this game.
    game = game_on(
        owner,
        (0, 10_000),
        pools={(1, 2): 10**6},
        deaths=False,
        win_percent=100,
        interest_every=10_000,
        income_every=10_000,
    )
    while game.state.land[0, 2] > 0:
        assert game.state.tick[0] < 4 * length
        game.tick(0)
    assert game.state.paid_attack[0, 1] == cost
    assert game.state.taken[0, 1, 2] == 1000


def test_refunds_fill_the_balance_to_150_a_cell_and_the_rest_is_lost():
    game = game_on(STRIP, (16 * 150 - 7, 0), pools={(1, 0): 47})
    game.tick(0)
    assert (game.state.troops[0, 1], game.state.capped[0, 1]) == (16 * 150, 40)


def test_all_fronts_of_a_step_are_those_from_before_its_first_capture():
    game = game_on(rows_of("1.", *["12"] * 15), (0, 0), pools={(1, 0): 1000, (1, 2): 1000})
    game.tick(0)
    assert game.state.taken[0, 1].tolist() == [1, 0, 15], "the neutral cell adds no front against 2"


@pytest.mark.parametrize(
    ("land", "cadence"), [(999, 4), (1000, 3), (9999, 3), (10_000, 2), (59_999, 2), (60_000, 1)]
)
def test_steps_are_4_to_1_ticks_apart_by_the_land_after_the_step(land, cadence):
    """The pool is too thin and comes home, so the land stays as it is drawn."""
    owner = np.full((250, 250), 2, np.uint8)
    owner.flat[:land] = 1
    game = game_on(owner, (0, 0), pools={(1, 2): 1}, win_percent=100)
    game.tick(0)
    assert game.state.next_step[0, 1] == cadence


# ---- peaks, deaths, end ---------------------------------------------------------------------------


def test_with_a_peak_of_400_a_player_dies_with_100_cells_and_lives_with_101():
    drawing = rows_of(*["1" * 10 + "2" * 10 + "3" * 4] * 10, "." * 10 + "2" + "." * 13)
    game = game_on(drawing, peak=(400, 400, 40))
    assert seat_values(game, "land") == [100, 101, 40]
    game.tick(0)
    assert seat_values(game, "alive") == [0, 1, 1]
    assert seat_values(game, "peak") == [400, 399, 40]
    assert (seat_values(game, "death_tick"), seat_values(game, "land")) == ([0, -1, -1], [0, 101, 40])
    assert drawn(game) == rows_of(*["." * 10 + "2" * 10 + "3" * 4] * 10, "." * 10 + "2" + "." * 13)


def test_attacks_on_the_dead_go_on_against_neutral_land():
    """3 moves at tick 5 only, so that nothing else happens at the tick in which 2 dies."""
    drawing = rows_of(*["1123"] * 16)
    game = game_on(
        drawing,
        (50, 60, 70),
        pools={(1, 2): 500, (1, 0): 7, (2, 3): 80},
        peak=(32, 64, 16),
        next_step=(5, 5, 5),
    )
    game.tick(0)
    assert drawn(game) == rows_of(*["11.3"] * 16)
    assert game.state.pools[0].tolist() == [[0] * 4, [507, 0, 0, 0], [0] * 4, [0] * 4]
    assert game.state.destroyed[0].tolist() == [0, 0, 60 + 80, 0]


def test_90_percent_of_the_land_ends_the_game_and_89_percent_does_not():
    ninety = game_on(rows_of(*["1" * 10] * 9, "2" * 10))
    ninety.tick(0)
    fewer = game_on(rows_of(*["1" * 10] * 8, "1" * 9 + "2", "2" * 10))
    fewer.tick(0)
    assert (ninety.state.over[0], fewer.state.over[0]) == (1, 0)


def test_the_clock_ends_the_game_and_its_last_tick_counts():
    game = game_on(STRIP, max_ticks=2)
    game.tick(0)
    assert not game.state.over[0]
    game.tick(0)
    assert (game.state.over[0], game.state.tick[0]) == (1, 2)
    with pytest.raises(ValueError, match="over since tick 2"):
        game.tick(0)


def test_the_living_place_by_land_then_troops_and_the_dead_below_by_death():
    game = game_on(
        rows_of(*["12344556"] * 16),
        (0, 0, 9, 5, 5, 8),
        peak=(64, 64, 16, 32, 32, 16),
        max_ticks=1,
    )
    game.tick(0)
    assert seat_values(game, "place2") == [11, 11, 6, 3, 3, 8], "twice 5.5, 5.5, 3, 1.5, 1.5, 4"


def test_rewards_are_the_change_of_land_and_the_placement():
    """1 dies at once (place 3 of 3), the others stand still: 2 and 3 share what is left later."""
    game = game_on(rows_of(*["123"] * 16), peak=(64, 16, 16))
    rewards, terminated = game.step()[1:3]
    assert rewards[0].tolist() == pytest.approx([-16 / 48 - 1, 0, 0])
    assert terminated[0].tolist() == [True, False, False]
    rewards, terminated = game.step()[1:3]
    assert rewards[0].tolist() == [0, 0, 0]
    assert not terminated.any()


def test_the_twelve_cells_of_a_spawn_are_a_square_without_its_corners():
    game = VecGame(GameConfig(height=16, width=16, num_players=2, map="open"), 1)
    game.reset()
    rows, columns = np.nonzero(game.state.owner[0] == 1)
    square = game.state.owner[0, rows.min() : rows.max() + 1, columns.min() : columns.max() + 1] == 1
    assert square.astype(int).tolist() == [[0, 1, 1, 0], [1, 1, 1, 1], [1, 1, 1, 1], [0, 1, 1, 0]]
    assert seat_values(game, "troops") == [512, 512]
    assert seat_values(game, "peak") == seat_values(game, "land") == [12, 12]
