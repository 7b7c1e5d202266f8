"""Forms of an action, there and back, and masks in every form."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from territorial import GameConfig, VecGame
from territorial.actions.encoding import (
    NO_TARGET,
    ego_owners,
    flat_mask,
    flatten,
    num_flat_actions,
    num_targets,
    owner_of_target,
    pair_mask,
    target_mask,
    unflatten,
)
from territorial.constants import FRACTIONS, NEUTRAL, NUM_FRACTIONS

PLAYERS = (2, 3, 7, 32, 250)


@pytest.mark.parametrize("num_players", PLAYERS)
def test_every_number_is_one_pair_and_back(num_players):
    flat = np.arange(num_flat_actions(num_players))
    pairs = unflatten(flat)
    assert np.array_equal(flatten(pairs), flat)
    assert len({tuple(pair) for pair in pairs.tolist()}) == len(flat)
    assert pairs.min() == 0
    assert pairs.max(axis=0).tolist() == [num_targets(num_players) - 1, NUM_FRACTIONS - 1]


@pytest.mark.parametrize("num_players", PLAYERS)
def test_every_pair_that_launches_is_one_number_and_back(num_players):
    what, how_much = np.meshgrid(np.arange(1, num_targets(num_players)), np.arange(NUM_FRACTIONS))
    pairs = np.stack([what, how_much], axis=-1)
    assert np.array_equal(unflatten(flatten(pairs)), pairs)


def test_holding_is_0_whatever_the_fraction():
    assert flatten(np.array([[0, j] for j in range(NUM_FRACTIONS)])).tolist() == [0] * NUM_FRACTIONS
    assert unflatten(np.array(0)).tolist() == [0, 0]


def test_target_k_with_fraction_j_is_number_1_plus_10_times_k_less_1_plus_j():
    assert unflatten(np.array([1, 10, 11, 25, 330])).tolist() == [[1, 0], [1, 9], [2, 0], [3, 4], [33, 9]]


def test_for_32_seats_there_are_34_targets_and_331_numbers():
    assert (num_targets(32), num_flat_actions(32)) == (34, 331)


@given(st.data())
def test_shapes_of_batches_are_kept(data):
    shape = tuple(data.draw(st.lists(st.integers(0, 4), max_size=3)))
    flat = np.zeros(shape, np.int64) + 12
    assert unflatten(flat).shape == (*shape, 2)
    assert np.array_equal(flatten(unflatten(flat)), flat)


@pytest.mark.parametrize("num_players", PLAYERS)
def test_targets_go_round_the_seats_beginning_with_oneself(num_players):
    for p in range(1, num_players + 1):
        owners = [owner_of_target(what, p, num_players) for what in range(num_targets(num_players))]
        round_table = [*range(p, num_players + 1), *range(1, p)]
        assert owners == [NO_TARGET, NEUTRAL, *round_table]
        assert ego_owners(num_players)[p - 1].tolist() == [NEUTRAL, *round_table]


def test_ego_codes_are_those_of_the_formula():
    num_players = 9
    table = ego_owners(num_players)
    for p in range(1, num_players + 1):
        for q in range(1, num_players + 1):
            assert table[p - 1, (q - p) % num_players + 1] == q


@pytest.mark.parametrize("num_players", [2, 6, 7, 32, 70])
def test_bits_become_masks_in_ego_order(num_players):
    rng = np.random.default_rng(num_players)
    legal = rng.random((num_players, num_players + 1)) < 0.5
    bits = np.zeros((num_players, num_players + 2), np.uint8)
    bits[:, 0], bits[:, 1:] = 1, legal
    packed = np.packbits(bits, axis=1, bitorder="little")
    targets = target_mask(packed, ego_owners(num_players))
    assert (targets.shape, targets.dtype) == ((num_players, num_players + 2), np.int8)
    for p in range(1, num_players + 1):
        assert targets[p - 1, 0] == 1
        for what in range(1, num_players + 2):
            assert targets[p - 1, what] == legal[p - 1, owner_of_target(what, p, num_players)]


def test_the_mask_of_pairs_is_both_parts_end_to_end():
    targets = np.array([[1, 0, 0, 1], [1, 1, 0, 0]], np.int8)
    mask = pair_mask(targets)
    assert (mask.shape, mask.dtype) == ((2, 2 + 12), np.int8)
    assert np.array_equal(mask[:, :4], targets)
    assert mask[:, 4:].all()
    assert pair_mask(np.zeros((32, 34), np.int8)).shape == (32, 44)


def test_the_mask_of_numbers_repeats_each_target_for_each_fraction():
    num_players = 5
    targets = (np.random.default_rng(0).random((num_players, num_players + 2)) < 0.5).astype(np.int8)
    mask = flat_mask(targets)
    assert (mask.shape, mask.dtype) == ((num_players, num_flat_actions(num_players)), np.int8)
    for number, (what, _) in enumerate(unflatten(np.arange(num_flat_actions(num_players))).tolist()):
        assert np.array_equal(mask[:, number], targets[:, what])


def test_masks_of_a_game_allow_exactly_what_the_game_does():
    config = GameConfig(height=20, width=20, num_players=4, map="open")
    game = VecGame(config, 1, seed=3)
    game.reset()
    ego = ego_owners(4)
    for step in range(12):
        masks = target_mask(game.observations.masks[0], ego)
        before = game.save(0)
        for p in range(1, 5):
            for what in range(1, 6):
                game.restore(0, before)
                counted = game.state.illegal[0, p]
                actions = np.zeros((1, 4, 2), np.int64)
                actions[0, p - 1] = what, 2
                game.step(actions)
                assert game.state.illegal[0, p] - counted == 1 - masks[p - 1, what]
        game.restore(0, before)
        game.step([[(1 + step % 3, 6)] * 4])


def test_the_fractions_rise_from_a_64th_to_everything():
    assert FRACTIONS == (16, 32, 64, 96, 128, 192, 256, 384, 512, 1024)
