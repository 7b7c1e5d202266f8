"""The worked examples of docs/rules.md, played by the twin on boards drawn in text (``drawings.py``)."""

import struct
from hashlib import blake2b

import pytest

from territorial.config import GameConfig
from territorial.config.land_mask import LandMask
from tests.reference.drawings import game_on, rows_of
from tests.twin import H, mix, place_spawns
from tests.twin.formulas import cadence, interest_gain, interest_rate

NEVER = 10**6


def board_of(game):
    """Return the drawing of a board, blocked rows and columns at its far edges left out."""
    codes = {0: ".", 255: "#"}
    rows = ["".join(codes.get(code, str(code)) for code in row).rstrip("#") for row in game.owner]
    return "\n".join(row for row in rows if row)


# ---------------------------------------------------------------------------- interest and income


def test_a_lone_player_of_512_troops_is_paid_7_percent_at_tick_9():
    game = game_on(rows_of("1" * 12 + "...." + "2" * 12, *["." * 28] * 15))
    game.tick = 9
    assert game.land[1] == 12
    assert interest_rate(game.config, 9, 512, 12, game.num_land) == 697
    game.step_tick()
    assert game.troops[1] == 547
    assert game.ledger["interest"][1] == 35


def test_the_opening_rate_falls_from_7_percent_to_the_land_rate_by_tick_1920():
    config = GameConfig()
    rates = [interest_rate(config, tick, 0, 0, 1000) for tick in (0, 960, 1919, 1920, 5000)]
    assert rates == [700, 400, 100, 100, 100]


def test_the_whole_map_earns_2_6_percent():
    assert interest_rate(GameConfig(), 2000, 0, 1000, 1000) == 260


def test_interest_falls_above_100_a_cell_and_stops_at_150_a_cell():
    config, land, num_land = GameConfig(), 100, 65_536
    rates = [interest_rate(config, 2000, t, land, num_land) for t in (10_000, 12_500, 14_900, 15_000)]
    assert rates == [100, 50, 2, 0]
    gains = [
        interest_gain(config, 2000, t, land, num_land) for t in (0, 10_000, 14_990, 14_999, 15_000, 20_000)
    ]
    assert gains == [1, 100, 1, 1, 0, 0]


def test_a_living_player_without_land_is_paid_nothing():
    game = game_on(rows_of(*["2."] * 16), troops=(512, 0), deaths=False)
    assert (game.land[1], game.alive[1]) == (0, True)
    game.pay_interest()
    game.pay_income()
    assert game.troops[1] == 512


def test_income_pays_one_a_cell_up_to_150_a_cell():
    game = game_on(rows_of(*["112233"] * 10), troops=(0, 2995, 5000))
    game.pay_income()
    assert game.troops[1:] == [20, 3000, 5000]
    assert game.ledger["income"][1:] == [20, 5, 0]


# ---------------------------------------------------------------------------- launching


STRIP = rows_of(*["1..2"] * 16)


def test_a_launch_costs_a_tax_and_moves_the_fraction_named():
    game = game_on(STRIP, troops=(1024, 512))
    game.step_tick([(1, 0, 256)])
    assert (game.troops[1], game.pools[1][0]) == (1024 - 12 - 256, 256)
    assert (game.ledger["tax"][1], game.next_step[1]) == (12, 7)


def test_a_launch_below_the_need_is_raised_to_it():
    game = game_on(STRIP, troops=(1024, 512))
    assert game.need(1, 0) == 3 * 16 + 16 // 8 == 50
    game.step_tick([(1, 0, 16)])
    assert game.pools[1][0] == 50
    assert (game.raised[1], game.illegal[1]) == (1, 0)


def test_a_second_launch_adds_to_the_pool_and_does_not_delay_it():
    game = game_on(STRIP, troops=(1024, 512), decision_every=1)
    game.step_tick([(1, 0, 256)])
    game.step_tick([(1, 0, 1)])
    assert game.pools[1][0] == 256 + 1
    assert game.next_step[1] == 7


def test_a_launch_at_another_target_does_not_delay_the_attacks_under_way():
    game = game_on(rows_of(*["213."] * 16), troops=(1024, 0, 0), decision_every=1)
    game.step_tick([(1, 2, 64)])
    game.step_tick([(1, 3, 64)])
    assert game.pools[1] == [0, 0, 64, 59]
    assert game.next_step[1] == 7


def test_a_launch_of_exactly_the_need_is_not_raised():
    game = game_on(STRIP, troops=(800, 512))
    game.step_tick([(1, 0, 64)])
    assert (game.pools[1][0], game.raised[1]) == (50, 0)


def test_a_need_above_a_quarter_of_the_balance_is_not_legal():
    game = game_on(STRIP, troops=(199, 200))
    assert [game.is_legal(p, 0) for p in (1, 2)] == [False, True]
    game.step_tick([(1, 0, 1024), (2, 0, 1024)])
    assert (game.troops[1], game.illegal[1], game.raised[1]) == (199, 1, 0)
    assert (game.troops[2], game.pools[2][0]) == (0, 198), "the whole balance, less the tax of 2"


@pytest.mark.parametrize("target", [1, 2, 3, 4, 255, -1])
def test_the_player_itself_those_out_of_touch_and_other_codes_are_no_targets(target):
    game = game_on(rows_of(*["1..2.3"] * 16), troops=(1024, 1024, 1024))
    before = game.digest()
    game.launch(1, target, 512)
    assert game.digest() == before
    assert game.illegal == [0, 1, 0, 0]


# ---------------------------------------------------------------------------- attack steps


def test_a_pool_of_47_cannot_take_a_neutral_front_of_16():
    game = game_on(STRIP, troops=(100, 100))
    game.pools[1][0] = 47
    game.step_tick()
    assert board_of(game) == STRIP
    assert (game.troops[1], game.pools[1][0]) == (147, 0)


def test_a_pool_of_48_takes_a_neutral_front_of_16_and_keeps_16():
    game = game_on(STRIP, troops=(100, 100))
    game.pools[1][0] = 48
    game.step_tick()
    assert board_of(game) == rows_of(*["11.2"] * 16)
    assert (game.troops[1], game.pools[1][0]) == (100, 16)
    assert (game.land, game.taken[1][0], game.ledger["paid_neutral"][1]) == ([16, 32, 16], 16, 32)


DEFENDED = rows_of(*["1" + "2" * 16] * 10)


def defended(pool, opposing=0):
    """Return a game in which 1 attacks the 160 cells and 1,000 troops of 2 over a front of 10."""
    game = game_on(DEFENDED, troops=(0, 1000))
    game.pools[1][2], game.pools[2][1], game.next_step[2] = pool, opposing, NEVER
    assert (game.land[2], len(game.front(1, 2))) == (160, 10)
    game.step_tick()
    return game


def test_219_troops_fail_against_a_front_of_10_at_a_cost_of_218():
    game = defended(pool=219)
    assert board_of(game) == DEFENDED
    assert game.ledger["paid_attack"][1] == 210
    assert game.ledger["killed"][2] == 95
    assert game.troops[1:] == [9, 905]
    assert game.pools[1][2] == 0


def test_230_troops_take_a_front_of_10_at_a_cost_of_218():
    game = defended(pool=230)
    assert board_of(game) == rows_of(*["11" + "2" * 15] * 10)
    assert game.ledger["paid_attack"][1] == 218
    assert game.troops[1:] == [0, 901]
    assert (game.pools[1][2], game.taken[1][2]) == (12, 10)


def test_an_opposing_pool_of_300_shields_the_land_and_the_troops_behind_it():
    game = defended(pool=310, opposing=300)
    assert board_of(game) == DEFENDED
    assert game.ledger["paid_attack"][1] == 310
    assert game.ledger["cancelled"][2] == 290
    assert game.pools[2][1] == 10
    assert game.troops[1:] == [0, 1000]


def test_troops_that_only_equal_the_cost_fail():
    game = defended(pool=220, opposing=2)
    assert board_of(game) == DEFENDED
    assert game.ledger["paid_attack"][1] == 2 * 10 + 2 * 99 + 2
    assert game.troops[1:] == [0, 1000 - 99]


@pytest.mark.parametrize(("layer", "cost"), [(5, 22_000), (10, 22_002), (20, 22_010), (40, 22_032)])
def test_a_passive_strip_of_10000_troops_on_1000_cells_costs_about_22000(layer, cost):
    game = game_on(rows_of(*["1" + "2" * (1000 // layer)] * layer), (0, 10_000), deaths=False)
    game.pools[1][2] = 10**6
    while game.land[2] > 0:
        game.attack_step(1)
    assert game.ledger["paid_attack"][1] == cost
    assert game.taken[1][2] == 1000


def test_refunds_fill_the_balance_to_150_a_cell_and_the_rest_is_lost():
    game = game_on(STRIP, troops=(16 * 150 - 7, 100))
    game.pools[1][0] = 47
    game.step_tick()
    assert game.troops[1] == 16 * 150
    assert game.ledger["capped"][1] == 40


def test_a_pool_that_ends_after_its_first_step_has_not_bounced():
    game = game_on(rows_of(*["1..3.2"] * 16), troops=(1024, 1024, 1024), launch_delay=0)
    game.step_tick([(1, 0, 64)])
    assert (game.pools[1][0], game.next_step[1]) == (64 - 32, 4)
    while game.tick < 5:
        game.step_tick()
    assert game.pools[1] == [0, 0, 0, 0], "2 a cell are too few"
    assert game.bounced[1] == 0, "it had taken a layer before"


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
    assert (game.pools[2][1], game.ledger["cancelled"][2]) == (0, 50)
    assert game.next_step[1:] == [4, 4]


def test_fronts_are_those_of_the_turn_even_if_the_step_takes_other_land_first():
    drawing = rows_of("1.", *["12"] * 15)
    game = game_on(drawing, troops=(0, 0))
    game.pools[1][:] = [1000, 0, 1000]
    game.step_tick()
    assert game.taken[1] == [1, 0, 15], "the neutral cell taken adds no front against 2"


def test_steps_are_4_ticks_apart_and_more_frequent_from_1000_10000_and_60000_cells():
    sizes = (0, 999, 1000, 9999, 10_000, 59_999, 60_000)
    assert [cadence(GameConfig(), land) for land in sizes] == [4, 4, 3, 3, 2, 2, 1]


# ---------------------------------------------------------------------------- peaks and deaths


def test_with_a_peak_of_400_a_player_dies_with_100_cells_and_lives_with_101():
    game = game_on(rows_of(*["1" * 10 + "2" * 10 + "3"] * 10, "." * 10 + "2" + "." * 10))
    game.peak[1:3] = [400, 400]
    assert game.land[1:3] == [100, 101]
    game.step_tick()
    assert game.alive[1:3] == [False, True]
    assert game.peak[1:3] == [400, 399]
    assert (game.death_tick[1:3], game.land[1], game.troops[1]) == ([0, -1], 0, 0)


def test_the_dead_leave_neutral_land_and_attacks_on_them_go_on_against_it():
    game = game_on(rows_of(*["1123"] * 16), troops=(50, 60, 70))
    game.peak[2] = 64
    game.pools[1][2], game.pools[1][0], game.pools[2][3] = 500, 7, 80
    game.next_step = [0, NEVER, NEVER, NEVER]
    game.step_tick()
    assert board_of(game) == rows_of(*["11.3"] * 16)
    assert game.pools[1] == [507, 0, 0, 0]
    assert game.pools[2] == [0, 0, 0, 0]
    assert game.ledger["destroyed"] == [0, 0, 60 + 80, 0]


def test_with_deaths_off_nobody_dies_and_peaks_still_sink():
    game = game_on(rows_of(*["12"] * 16), deaths=False)
    game.peak[1] = 5016
    game.step_tick()
    assert game.alive == [False, True, True]
    assert game.peak[1] == 5011


# ---------------------------------------------------------------------------- the end


def test_90_percent_of_the_land_ends_the_game_and_89_percent_does_not():
    rows = ["1" * 10] * 9
    assert play_one_tick(rows_of(*rows, "2" * 10)).over
    assert not play_one_tick(rows_of(*rows[:8], "1" * 9 + "2", "2" * 10)).over


def play_one_tick(drawing, **fields):
    game = game_on(drawing, **fields)
    game.step_tick()
    return game


def test_the_clock_ends_the_game_after_max_ticks_and_the_last_tick_counts():
    game = game_on(rows_of(*["12"] * 16), max_ticks=2)
    game.step_tick()
    assert not game.over
    game.step_tick()
    assert (game.over, game.tick) == (True, 2)
    with pytest.raises(ValueError, match="over"):
        game.step_tick()


def test_the_living_place_by_land_then_troops_and_the_dead_below_by_death():
    game = game_on(rows_of(*["12344556"] * 16), troops=(0, 0, 9, 5, 5, 8), max_ticks=1)
    game.peak[1:3] = [64, 64]
    game.step_tick()
    assert game.placements() == [5.5, 5.5, 3, 1.5, 1.5, 4]
    assert game.place_of_dead(1) == 5.5
    with pytest.raises(ValueError, match="alive"):
        game.place_of_dead(3)


def test_a_death_is_rewarded_at_the_step_it_happens_in_and_never_again():
    game = game_on(rows_of(*["123"] * 16))
    game.peak[1] = 64
    assert game.environment_step() == [-16 / 48 + -1.0, 0.0, 0.0]
    assert game.environment_step() == [0.0, 0.0, 0.0]


def test_launches_are_refused_between_decisions():
    game = game_on(STRIP)
    game.step_tick()
    with pytest.raises(ValueError, match="decision_every"):
        game.step_tick([(1, 0, 64)])


# -------------------------------------------------------------------------- random numbers, spawns


def test_mix_is_splitmix64():
    assert mix(0) == 0xE220A8397B1DCDAF
    assert mix(0x9E3779B97F4A7C15) == 0x6E789E6AA1B965F4


def test_h_nests_mix_over_seed_stream_tick_and_index():
    assert H(3, 1, 4, 2) == mix(mix(mix(mix(3) ^ 1) ^ 4) ^ 2)


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
    config = GameConfig.for_map(land, num_players=8)
    spawns = place_spawns(config, land, 7)
    assert len({cell for cells in spawns for cell in cells}) == 8 * 12
    for cells in spawns:
        top, left = min(r for r, _ in cells), min(c for _, c in cells)
        assert max(c for _, c in cells) < 40
        assert board(cells, top, left) == [".##.", "####", "####", ".##."]


def board(cells, top, left):
    return ["".join(".#"[(top + r, left + c) in cells] for c in range(4)) for r in range(4)]


def test_spawns_keep_the_distance_aimed_for_where_there_is_room():
    land = LandMask.from_text("\n".join(["." * 64] * 64))
    config = GameConfig.for_map(land, num_players=4, spawn_spacing_percent=50)
    anchors = [cells[0] for cells in place_spawns(config, land, 1)]
    pairs = [(a, b) for a in anchors for b in anchors if a < b]
    assert min((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 for a, b in pairs) >= 16**2


def test_spawns_of_a_known_seed_stay_where_they_are():
    """The anchors follow from seed and map alone; this draw has a tie that the earlier one wins."""
    land = LandMask.from_text("\n".join(["." * 24] * 24))
    config = GameConfig.for_map(land, num_players=6, spawn_spacing_percent=150)
    spawns = place_spawns(config, land, 1)
    anchors = [(min(r for r, _ in cells), min(c for _, c in cells)) for cells in spawns]
    assert anchors == [(15, 17), (1, 18), (20, 0), (3, 12), (3, 2), (11, 4)]


def test_spawns_are_packed_when_spreading_leaves_somebody_out():
    land = LandMask.from_text("\n".join(["." * 16] * 16))
    config = GameConfig.for_map(land, num_players=16)
    for seed in range(20):
        spawns = place_spawns(config, land, seed)
        assert len({cell for cells in spawns for cell in cells}) == 16 * 12


def test_a_map_too_small_for_the_spawns_says_how_many_fit():
    land = LandMask.from_text("\n".join(["." * 8 + "#" * 8] * 4 + ["#" * 16] * 12))
    with pytest.raises(ValueError, match="only 2 spawns fit"):
        place_spawns(GameConfig.for_map(land, num_players=3), land, 0)
