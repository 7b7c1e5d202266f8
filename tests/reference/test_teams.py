"""The rules of teams in docs/rules.md, each as an example on a board drawn in text (``drawings.py``)."""

import pytest

from tests.reference.drawings import Example, game_on, rows_of
from tests.twin import H
from tests.twin.teams import anchors_together

APART = rows_of(*["1.2.3"] * 16)
"""Three players of 16 cells, so with caps of 2400, none of whom touches another."""


def apart(*troops, launches=(), rules=(), **fields):
    """Return an example of two allies and an enemy that lie apart."""
    rules = {"teams": (1, 1, 2), **dict(rules)}
    return Example(APART, troops=troops, launches=(launches,), rules=rules, **fields)


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
        APART,
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
EXAMPLES = ATTACKS | DONATIONS | ENDS


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_plays_out_as_the_rules_have_it(name):
    EXAMPLES[name].check()


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
