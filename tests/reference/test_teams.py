"""The rules of teams in docs/rules.md, each as an example on a board drawn in text (``drawings.py``)."""

import pytest

from territorial.config import GameConfig
from territorial.config.land_mask import LandMask
from tests.reference.drawings import game_on, rows_of
from tests.twin import H, place_spawns
from tests.twin.teams import anchors_together, deal_teams

OPEN = LandMask.from_text("\n".join(["." * 40] * 40))
APART = rows_of(*["1.2.3"] * 16)
"""Three players of 16 cells, so with caps of 2400, none of whom touches another."""


def apart(*troops, teams=(1, 1, 2), **fields):
    return game_on(APART, troops=troops, teams=teams, **fields)


def booked(game, *keys):
    return [game.ledger[key][1:] for key in keys]


# ---------------------------------------------------------------------------- who is in which team


def test_blocks_give_the_first_teams_one_seat_more():
    assert deal_teams(GameConfig(num_players=8, teams=3), 0) == [1, 1, 1, 2, 2, 2, 3, 3]


def test_seats_are_dealt_in_turn():
    assert deal_teams(GameConfig(num_players=8, teams=3, team_deal="turn"), 0) == [1, 2, 3, 1, 2, 3, 1, 2]


def test_a_random_deal_gives_blocks_to_the_seats_in_the_order_of_their_draws():
    config = GameConfig(num_players=5, teams=2, team_deal="random")
    for seed in range(20):
        order = sorted(range(1, 6), key=lambda p: H(seed, 9, 0, p))
        teams = deal_teams(config, seed)
        assert [teams[p - 1] for p in order] == [1, 1, 1, 2, 2]
    assert len({tuple(deal_teams(config, seed)) for seed in range(50)}) > 5, "each game has other teams"


@pytest.mark.parametrize("deal", ["blocks", "turn", "random"])
@pytest.mark.parametrize(("num_players", "teams"), [(2, 2), (7, 3), (9, 3), (10, 9), (250, 7)])
def test_the_config_and_the_reference_implementation_deal_alike(num_players, teams, deal):
    config = GameConfig(num_players=num_players, teams=teams, team_deal=deal)
    dealt = deal_teams(config, 5)
    order = (
        sorted(range(num_players), key=lambda i: H(5, 9, 0, i + 1))
        if deal == "random"
        else range(num_players)
    )
    assert [dealt[i] for i in order] == list(config.dealt_teams)


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
    assert tops[first] == {0}
    assert tops[3 - first] == {5}


def test_the_first_half_of_the_teams_gets_as_many_anchors_as_it_has_seats():
    anchors, team_of = [(0, 10 * i) for i in range(6)], [1, 2, 2, 2, 2, 2]
    for seed in range(8):
        found = anchors_together(anchors, team_of, seed)
        is_first = H(seed, 10, 0, 1) < H(seed, 10, 0, 2)
        assert found[0] == ((0, 0) if is_first else (0, 50))


@pytest.mark.parametrize("seed", range(6))
def test_allies_take_the_anchors_of_their_part_in_reading_order_by_their_draws(seed):
    anchors = [(3, 1), (2, 9), (4, 4), (0, 50)]
    found = anchors_together(anchors, [2, 2, 1, 2], seed)
    seats = sorted((1, 2, 4), key=lambda p: H(seed, 11, 0, p))
    is_first = H(seed, 10, 0, 2) < H(seed, 10, 0, 1)
    part = [(2, 9), (3, 1), (4, 4)] if is_first else [(0, 50), (2, 9), (4, 4)]
    assert [found[p - 1] for p in seats] == part


@pytest.mark.parametrize("deal", ["blocks", "turn", "random"])
def test_together_has_the_same_spawns_as_mixed_for_other_seats(deal):
    config = GameConfig.for_map(OPEN, num_players=9, teams=3, team_deal=deal)
    together = config.replace(team_spawns="together")
    for seed in range(5):
        mixed, near = place_spawns(config, OPEN, seed), place_spawns(together, OPEN, seed)
        assert mixed == place_spawns(GameConfig.for_map(OPEN, num_players=9), OPEN, seed)
        assert sorted(mixed) == sorted(near)
        assert spread(near, config, seed) < spread(mixed, config, seed)


def spread(spawns, config, seed):
    """Return the sum of squared distances of allies."""
    teams, anchors = deal_teams(config, seed), [cells[0] for cells in spawns]
    pairs = [(i, j) for i in range(9) for j in range(i) if teams[i] == teams[j]]
    return sum(sum((a - b) ** 2 for a, b in zip(anchors[i], anchors[j], strict=True)) for i, j in pairs)


def test_together_is_mixed_where_every_team_has_one_seat():
    config = GameConfig.for_map(OPEN, num_players=6, teams=6)
    for seed in range(5):
        together = place_spawns(config.replace(team_spawns="together"), OPEN, seed)
        assert together == place_spawns(config, OPEN, seed)


# ---------------------------------------------------------------------------- attacks


def test_an_ally_cannot_be_attacked_and_an_enemy_can():
    game = game_on(rows_of(*["123"] * 16), troops=(1000, 1000, 1000), teams=(1, 1, 2))
    game.step_tick([(2, 1, 256), (2, 3, 256)])
    assert not any(game.pools[2][:3]), "what names an ally opens no pool"
    assert game.pools[2][3] > 0


def test_allies_never_take_land_from_each_other():
    game = game_on(rows_of(*["12#3"] * 16), troops=(1000, 1000, 1000), teams=(1, 1, 2))
    for _ in range(20):
        game.step_tick([(1, 2, 512), (2, 1, 512)] if game.tick % 10 == 0 else [])
    assert game.land[1:] == [16, 16, 16]
    assert min(game.ledger["received"][1:3]) > 0
    assert game.taken[1][2] == game.taken[2][1] == 0


# ---------------------------------------------------------------------------- donations


def test_a_donation_needs_no_border_and_costs_a_tax():
    game = apart(1000, 100, 100)
    game.step_tick([(1, 2, 512)])
    assert game.troops[1:] == [1000 - 11 - 500, 600, 100]
    assert booked(game, "tax", "donated", "received") == [[11, 0, 0], [500, 0, 0], [0, 500, 0]]
    assert (game.next_step[1], any(game.pools[1]), game.raised[1], game.illegal[1]) == (0, False, 0, 0)


def test_all_that_the_tax_leaves_can_be_given():
    game = apart(1000, 100, 100)
    game.step_tick([(1, 2, 1024)])
    assert game.troops[1:3] == [0, 100 + 989]


@pytest.mark.parametrize(("troops", "tax"), [(85, 0), (86, 1), (170, 1), (171, 2)])
def test_the_tax_of_a_donation_is_rounded_down(troops, tax):
    game = apart(troops, 0, 0)
    game.step_tick([(1, 2, 1024)])
    assert (game.troops[1], game.troops[2], game.ledger["tax"][1]) == (0, troops - tax, tax)


def test_a_donation_of_less_than_one_is_raised_to_one():
    game = apart(15, 0, 0, decision_every=1)
    game.step_tick([(1, 2, 64)])
    assert (game.troops[1:3], game.raised[1]) == ([14, 1], 1)
    game.troops[1] = 16
    game.step_tick([(1, 2, 64)])
    assert (game.troops[1:3], game.raised[1]) == ([15, 2], 1), "64 of 1024 parts of 16 are one"


def test_a_single_troop_can_be_given_even_at_the_highest_tax():
    game = apart(1, 0, 0, launch_tax=1023)
    game.step_tick([(1, 2, 1)])
    assert game.troops[1:3] == [0, 1]


def test_without_troops_nothing_can_be_given():
    game = apart(0, 0, 0)
    game.step_tick([(1, 2, 1024)])
    assert (game.troops[1:], game.illegal[1], game.raised[1]) == ([0, 0, 0], 1, 0)


@pytest.mark.parametrize("target", [1, 4, 255, -1])
def test_nobody_gives_to_oneself_or_to_what_is_no_player(target):
    game = apart(1000, 0, 0)
    before = game.digest()
    game.launch(1, target, 512)
    assert (game.digest() == before, game.illegal[1]) == (True, 1)


def test_troops_are_given_up_to_the_cap_and_the_rest_is_lost_at_the_receiver():
    game = apart(1000, 2390, 0)
    game.step_tick([(1, 2, 512)])
    assert game.troops[1:3] == [489, 2400]
    assert booked(game, "donated", "received", "capped") == [[500, 0, 0], [0, 500, 0], [0, 490, 0]]


@pytest.mark.parametrize(("troops", "is_legal"), [(2399, True), (2400, False), (2500, False)])
def test_an_ally_at_its_cap_cannot_be_given_troops(troops, is_legal):
    game = apart(1000, troops, 0)
    assert game.is_legal(1, 2) == is_legal
    game.step_tick([(1, 2, 512)])
    assert game.illegal[1] == (not is_legal)
    assert game.troops[2] == max(troops, 2400)


def test_an_ally_without_land_cannot_be_given_troops():
    game = game_on(rows_of(*["1.3"] * 16), troops=(1000, 0, 0), teams=(1, 1, 2), deaths=False)
    assert (game.land[2], game.alive[2], game.is_legal(1, 2)) == (0, True, False)


def test_two_donors_fill_one_receiver_together():
    game = four(100, 200, 2380, 100)
    game.step_tick([(1, 3, 256), (2, 3, 256)])
    assert game.troops[1:4] == [100 - 1 - 25, 200 - 2 - 50, 2400]
    assert game.ledger["received"][3] == 75
    assert game.ledger["capped"][3] == 55


def four(*troops):
    """Return three allies and an enemy of 16 cells each."""
    return game_on(rows_of(*["1.2.3.4"] * 16), troops=troops, teams=(1, 1, 1, 2))


def test_gifts_that_cross_both_arrive():
    game = apart(1000, 500, 0)
    game.step_tick([(1, 2, 512), (2, 1, 512)])
    assert game.troops[1:3] == [1000 - 11 - 500 + 250, 500 - 5 - 250 + 500]


def test_without_a_tax_gifts_can_cancel_each_other():
    game = apart(800, 800, 0, launch_tax=0)
    before = list(game.troops)
    game.step_tick([(1, 2, 256), (2, 1, 256)])
    assert game.troops == before
    assert booked(game, "donated", "received") == [[200, 200, 0], [200, 200, 0]]


def test_what_the_receiver_gives_away_in_the_same_tick_makes_room():
    game = four(100, 1000, 2390, 100)
    game.step_tick([(1, 3, 1024), (3, 2, 512)])
    assert game.troops[1:4] == [0, 1000 + 1195, 2390 - 28 - 1195 + 99]
    assert game.ledger["capped"] == [0, 0, 0, 0, 0]


@pytest.mark.parametrize("is_first", [False, True])
def test_a_full_ally_cannot_be_given_troops_even_if_it_spends_its_own_in_that_tick(is_first):
    game = apart(1000, 2400, 0)
    launches = [(1, 2, 512), (2, 1, 512)]
    game.step_tick(launches[::-1] if is_first else launches)
    assert (game.illegal[1], game.troops[2]) == (1, 2400 - 28 - 1200)
    assert game.troops[1] == 1000 + 1200, "what the mask showed counts, in any order"


def test_a_gift_cannot_be_sent_on_in_the_tick_in_which_it_arrives():
    game = four(1000, 0, 0, 0)
    game.step_tick([(1, 2, 512), (2, 3, 1024)])
    assert (game.troops[1:4], game.illegal[2]) == ([489, 500, 0], 1)


def test_a_seat_with_two_launches_gives_from_what_the_first_one_left():
    game = four(1000, 0, 0, 0)
    game.step_tick([(1, 2, 512), (1, 3, 512)])
    assert game.troops[1:4] == [489 - 5 - 244, 500, 244]
    game = four(1000, 0, 0, 0)
    game.step_tick([(1, 2, 1024), (1, 3, 1024)])
    assert (game.troops[1:4], game.illegal[1]) == ([0, 989, 0], 1)


def test_gifts_arrive_before_interest_is_paid():
    game = apart(1000, 0, 0, interest_every=1)
    game.step_tick([(1, 2, 512)])
    rate = 700
    assert game.ledger["interest"][2] == rate * 500 // 10_000


def test_a_dead_ally_neither_gives_nor_gets():
    game = apart(1000, 500, 0)
    game.peak[2] = 64
    game.step_tick()
    assert game.alive == [False, True, False, True]
    assert (game.is_legal(1, 2), game.is_legal(2, 1)) == (False, False)


def test_a_gift_to_an_ally_that_dies_in_the_same_tick_is_destroyed_with_it():
    game = apart(1000, 100, 0)
    game.peak[2] = 64
    game.step_tick([(1, 2, 512)])
    assert (game.troops[2], game.ledger["destroyed"][2], game.ledger["received"][2]) == (0, 600, 500)


# ---------------------------------------------------------------------------- the end, places, rewards


def test_the_game_goes_on_until_one_team_is_left_whoever_of_it_lives():
    game = game_on(rows_of(*["1234"] * 16), teams=(1, 2, 1, 2))
    game.peak[1] = 64
    game.step_tick()
    assert not game.over
    game.peak[3] = 64
    game.step_tick()
    assert game.over
    assert game.placements() == [2, 1, 2, 1]


def test_allies_own_90_percent_of_the_land_together():
    drawing = rows_of(*["1" * 5 + "2" * 4 + "3"] * 10)
    assert after_a_tick(drawing, teams=(1, 1, 2)).over
    assert not after_a_tick(drawing, teams=(1, 2, 1)).over
    assert not after_a_tick(drawing).over


def after_a_tick(drawing, **fields):
    game = game_on(drawing, **fields)
    game.step_tick()
    return game


def test_teams_place_by_the_sum_of_their_land_whatever_their_size():
    game = after_a_tick(rows_of(*["112222333"] * 16), teams=(1, 2, 1), max_ticks=1)
    assert game.placements() == [1, 2, 1], "2 + 3 columns against 4"


def test_teams_of_equal_land_place_by_the_sum_of_their_troops_at_home():
    fields = {"teams": (1, 1, 2, 2), "max_ticks": 1}
    drawing = rows_of(*["1234"] * 16)
    assert after_a_tick(drawing, troops=(7, 2, 5, 5), **fields).placements() == [2, 2, 1, 1]
    assert after_a_tick(drawing, troops=(7, 3, 5, 5), **fields).placements() == [1.5] * 4


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


def test_all_teams_that_lose_their_last_member_in_one_tick_share_the_place():
    game = game_on(rows_of(*["1234"] * 16), teams=(1, 2, 1, 2))
    game.peak[1:] = [64] * 4
    game.step_tick()
    assert (game.over, game.placements()) == (True, [1.5] * 4)


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
    assert game.environment_step() == pytest.approx([2 * gained(game), 3 * gained(game), 0])
    assert gained(game) > 0


def gained(game):
    return (game.land[2] - 16) / game.num_land


def test_the_ledger_of_a_donation_balances_for_each_player():
    game = four(1000, 300, 2300, 0)
    start = list(game.troops)
    game.step_tick([(1, 3, 512), (2, 3, 1024), (3, 2, 64)])
    for p in game.seats:
        lost = sum(game.ledger[key][p] for key in ("tax", "donated", "capped"))
        assert game.troops[p] == start[p] + game.ledger["received"][p] - lost
    assert sum(game.ledger["received"]) == sum(game.ledger["donated"]) > 0
