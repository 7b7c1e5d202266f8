"""Forms of an action, there and back, and masks in every form."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from territorial.constants import FRACTIONS, NEUTRAL, NUM_FRACTIONS
from territorial.observation.action_encoding import (
    NO_TARGET,
    action_owners,
    convert_share,
    num_flat_actions,
    num_targets,
    owner_of_target,
    target_of_owner,
    unflatten,
)
from territorial.observation.action_formats import ActionFormat
from territorial.observation.action_masks import pair_masks, target_masks, write_masks

PLAYERS = (2, 3, 7, 32, 250)


@pytest.mark.parametrize("num_players", PLAYERS)
def test_every_number_is_a_pair_of_its_own(num_players):
    flat = np.arange(num_flat_actions(num_players))
    pairs = unflatten(flat)
    assert len({tuple(pair) for pair in pairs.tolist()}) == len(flat)
    assert pairs.min() == 0
    assert pairs.max(axis=0).tolist() == [num_targets(num_players) - 1, NUM_FRACTIONS - 1]


def test_target_k_with_fraction_j_is_number_1_plus_10_times_k_less_1_plus_j():
    assert (num_targets(32), num_flat_actions(32)) == (34, 331)
    assert unflatten(np.array([0, 1, 10, 11, 25, 330])).tolist() == [
        [0, 0],
        [1, 0],
        [1, 9],
        [2, 0],
        [3, 4],
        [33, 9],
    ]


def test_the_nearest_fraction_is_that_by_ratio_and_all_units_say_the_same():
    every, indices, fractions = np.arange(1, 1025), np.arange(NUM_FRACTIONS), np.array(FRACTIONS)
    ratios = np.maximum(every[:, None] / fractions, fractions / every[:, None])
    nearest = np.take_along_axis(ratios, convert_share(every, "1024ths", "index")[:, None], axis=1)[:, 0]
    assert nearest == pytest.approx(ratios.min(axis=1))
    for unit in ("1024ths", "percent"):
        again = convert_share(convert_share(indices, "index", unit), unit, "index")
        assert again.tolist() == indices.tolist()
    for kind in ("int8", "uint8", "int16", "float16", "float32", "int64"):  # products overflow in narrow ones
        parts = convert_share(np.array([0, 30, 50, 100], kind), "percent", "1024ths")
        indices = convert_share(parts.astype("int16"), "1024ths", "index")
        assert (parts.tolist(), indices.tolist()) == ([0, 307, 512, 1024], [0, 6, 8, 9]), kind
    assert convert_share([], "index", "percent").tolist() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((101, "percent", "index"), "shares is 101; in the unit 'percent' it must be numbers from 0 to 100"),
        (([3, -1], "index", "percent"), r"shares is \[3, -1\]; in the unit 'index' it must be whole numbers"),
        ((1, "per cent", "index"), "source is 'per cent'.*'percent'"),
        ((True, "index", "percent"), "shares is True; .* must be whole numbers from 0 to 9"),
        ((0.5, "index", "percent"), "shares is 0.5; .* must be whole numbers from 0 to 9"),
        (("3", "index", "percent"), "shares is '3'; .* must be whole numbers from 0 to 9"),
        ((["3"], "percent", "index"), r"shares is \['3'\]; .* must be numbers from 0 to 100"),
    ],
)
def test_shares_that_cannot_be(arguments, message):
    with pytest.raises(ValueError, match=message):
        convert_share(*arguments)


@given(st.data())
def test_shapes_of_batches_are_kept(data):
    shape = tuple(data.draw(st.lists(st.integers(0, 4), max_size=3)))
    assert unflatten(np.zeros(shape, np.int64) + 12).shape == (*shape, 2)


@pytest.mark.parametrize("num_players", PLAYERS)
def test_targets_go_round_the_seats_beginning_with_oneself(num_players):
    for p in range(1, num_players + 1):
        owners = [owner_of_target(what, p, num_players) for what in range(num_targets(num_players))]
        round_table = [*range(p, num_players + 1), *range(1, p)]
        assert owners == [NO_TARGET, NEUTRAL, *round_table]
        assert action_owners(num_players)[:, 1:][p - 1].tolist() == [NEUTRAL, *round_table]


@pytest.mark.parametrize("num_players", PLAYERS)
def test_targets_lead_to_owners_and_back_as_numbers_and_as_arrays(num_players):
    seats, targets = np.arange(1, num_players + 1), np.arange(1, num_targets(num_players))
    owners = owner_of_target(targets, seats[:, None], num_players)
    assert owners.tolist() == action_owners(num_players)[:, 1:].tolist()
    assert (target_of_owner(owners, seats[:, None], num_players) == targets).all()
    for p in (1, num_players):
        one_by_one = [target_of_owner(owner, p, num_players) for owner in owners[p - 1].tolist()]
        assert one_by_one == targets.tolist()


def bits_of(legal):
    """The engine's mask bits of bool (P, P+1), by owner codes; holding is legal."""
    bits = np.pad(legal.astype(np.uint8), ((0, 0), (1, 0)), constant_values=1)
    return np.packbits(bits, axis=1, bitorder="little")[None]


def every_seat(num_players):
    return np.zeros(num_players, np.int64), np.arange(1, num_players + 1)


@pytest.mark.parametrize("num_players", [2, 6, 7, 32, 70])
def test_bits_become_masks_in_ego_order(num_players):
    legal = np.random.default_rng(num_players).random((num_players, num_players + 1)) < 0.5
    targets = target_masks(bits_of(legal), *every_seat(num_players))
    assert (targets.shape, targets.dtype) == ((num_players, num_players + 2), np.int8)
    assert (targets[:, 0] == 1).all()
    assert np.array_equal(
        targets[:, 1:], np.take_along_axis(legal, action_owners(num_players)[:, 1:], axis=1)
    )


def test_masks_are_of_bits_seats_and_games_in_any_order_in_memory():
    rng = np.random.default_rng(1)
    bits = np.concatenate([bits_of(rng.random((9, 10)) < 0.5) for _ in range(4)])
    games, seats = np.nonzero(rng.random((4, 9)) < 0.5)  # views of one array
    wanted = np.stack([target_masks(bits[k : k + 1], *every_seat(9)) for k in range(4)])[games, seats]
    assert np.array_equal(target_masks(bits, games, seats + 1), wanted)
    assert np.array_equal(target_masks(np.asfortranarray(bits), games.astype(np.int32), seats + 1), wanted)


@pytest.mark.parametrize("num_players", [2, 5, 61, 62, 63, 250])
def test_bits_that_are_nobodys_change_nothing(num_players):
    """Also not the memory behind the masks: decoders are given arrays that no engine wrote."""
    bits = bits_of(np.random.default_rng(3).random((num_players, num_players + 1)) < 0.5)
    spare = np.arange(8 * bits.shape[2]) >= num_players + 2
    full = bits | np.packbits(spare, bitorder="little")
    games, seats = every_seat(num_players)
    room = np.full((num_players + 1, num_players + 2), 7, np.int8)
    write_masks(full, games, seats, 1, room[:-1])
    assert np.array_equal(room[:-1], target_masks(bits, games, seats))
    assert (room[-1] == 7).all()


def test_the_mask_of_pairs_is_both_parts_end_to_end():
    bits = bits_of(np.random.default_rng(2).random((5, 6)) < 0.5)
    mask = pair_masks(bits, *every_seat(5))
    assert (mask.shape, mask.dtype) == ((5, 5 + 12), np.int8)
    assert np.array_equal(mask[:, :7], target_masks(bits, *every_seat(5)))
    assert mask[:, 7:].all()
    assert np.array_equal(ActionFormat("multi_discrete", 5).masks(bits, *every_seat(5)), mask)


def test_the_mask_of_numbers_repeats_each_target_for_each_fraction():
    bits = bits_of(np.random.default_rng(0).random((5, 6)) < 0.5)
    targets = target_masks(bits, *every_seat(5))
    mask = ActionFormat("discrete", 5).masks(bits, *every_seat(5))
    assert (mask.shape, mask.dtype) == ((5, num_flat_actions(5)), np.int8)
    for number, (what, _) in enumerate(unflatten(np.arange(num_flat_actions(5))).tolist()):
        assert np.array_equal(mask[:, number], targets[:, what])
