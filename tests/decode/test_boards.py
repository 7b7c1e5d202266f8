"""Boards as each agent sees them, against a decoder in plain Python, on boards of all shapes."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from territorial import GameConfig, VecGame
from territorial.decode.boards import density_thresholds, level_values
from territorial.decode.numpy import Decoder
from territorial.observation.action_encoding import owner_of_target
from territorial.observation.layout import ObsLayout
from tests.decode.support import (
    SMALL,
    arguments,
    batch,
    config_of,
    layouts,
    pack,
    random_tables,
    slow_codes,
    slow_onehot,
    slow_owners,
    slow_pooled,
    slow_semantic,
)

HARD_CAP = 150
CONFIG = GameConfig(height=18, width=70, num_players=7, hard_cap=HARD_CAP)


def fractions_of(exact):
    """The semantic planes that the exact ones of the slow decoder stand for."""
    planes = exact.astype(np.float32)
    planes[-2] /= np.float32(255)
    return planes


# ---- against the slow decoder --------------------------------------------------------------------


@given(layouts(), st.integers(0, 2**32))
@settings(max_examples=12)
def test_owners_and_onehot_are_those_of_the_slow_decoder(layout, seed):
    boards, planes, seats, games = batch(layout, seed=seed)
    decoder = Decoder(layout)
    codes = [slow_codes(packed, layout) for packed in planes]
    assert np.array_equal(codes, boards[:, ::-1]), "the slow decoder reads what was packed"
    owners = decoder.owners(np.ascontiguousarray(planes), seats, games)
    onehot = decoder.onehot(planes, seats, games, dtype=np.uint8)
    assert owners.dtype == onehot.dtype == np.uint8
    for i, (seat, game) in enumerate(zip(seats, games, strict=True)):
        assert np.array_equal(owners[i], slow_owners(codes[game], seat, layout))
        assert np.array_equal(onehot[i], slow_onehot(codes[game], seat, layout))


@given(layouts(), st.integers(0, 2**32), st.sampled_from([1, 3, 8, 16, 100, 1024]))
@settings(max_examples=12)
def test_semantic_and_pooled_are_those_of_the_slow_decoder(layout, seed, factor):
    if 12 * layout.num_players > layout.height * layout.width:
        layout = replace(layout, num_players=20)
    config = config_of(layout)
    boards, planes, seats, games = batch(layout, seed=seed)
    players, borders = random_tables(layout, len(planes), np.random.default_rng(seed), config.hard_cap)
    decoder = Decoder(layout, config)
    semantic = decoder.semantic(planes, seats, players, borders, games)
    pooled = decoder.pooled(planes, seats, players, borders, games, factor=factor)
    assert semantic.dtype == pooled.dtype == np.float32
    for i, (seat, game) in enumerate(zip(seats, games, strict=True)):
        tables = players[game], borders[game], config.hard_cap
        exact = slow_semantic(boards[game, ::-1], seat, layout, *tables)
        assert np.array_equal(semantic[i], fractions_of(exact))
        assert np.array_equal(pooled[i], slow_pooled(exact, factor))


@pytest.mark.parametrize(
    ("method", "dtype"),
    [
        *(("onehot", dtype) for dtype in (np.float16, np.float32, np.uint8, np.int8)),
        *((method, dtype) for method in ("semantic", "pooled") for dtype in (np.float16, np.float32)),
    ],
)
def test_every_type_is_the_float32_result_rounded_and_fills_a_given_array(method, dtype):
    arrays, call = arguments(config=CONFIG)[method], getattr(Decoder(SMALL, CONFIG), method)
    expected = call(*arrays).astype(dtype)
    seen = call(*arrays, dtype=dtype)
    assert seen.dtype == dtype
    assert np.array_equal(seen, expected)
    if method != "pooled":
        out = np.full(expected.shape, 77, dtype)
        assert call(*arrays, dtype=dtype, out=out) is out
        assert np.array_equal(out, expected)


def test_codes_that_no_engine_writes_count_as_blocked():
    layout = ObsLayout(height=16, width=20, num_players=4, frames=1)  # codes 6 and 7 have no meaning
    config = GameConfig(height=16, width=20, num_players=4)
    boards = np.full((1, 1, 16, 20), 5, np.uint8)
    right, wrong = pack(boards, layout), pack(boards + 2, layout)
    tables = random_tables(layout, 1, np.random.default_rng(0), HARD_CAP)
    decoder = Decoder(layout, config)
    assert not np.array_equal(right, wrong)
    assert np.array_equal(decoder.owners(wrong, [1]), decoder.owners(right, [1]))
    assert not decoder.onehot(wrong, [1]).any()
    for method in (decoder.semantic, decoder.pooled):
        assert np.array_equal(method(wrong, [1], *tables), method(right, [1], *tables))


# ---- seats ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)], ids=["vector", "column"])
@pytest.mark.parametrize("dtype", [np.int32, np.uint8])
def test_seats_and_games_may_be_columns_of_any_whole_numbers(shape, dtype):
    """The key ``seat`` of the environment's observations is (1,), and in a batch (N, 1)."""
    decoder = Decoder(SMALL, CONFIG)
    for name, arrays in arguments(config=CONFIG).items():
        given = [array.astype(dtype).reshape(shape) if array.ndim == 1 else array for array in arrays]
        assert np.array_equal(getattr(decoder, name)(*given), getattr(decoder, name)(*arrays))


def test_of_nobody_nothing_is_decoded():
    decoder = Decoder(SMALL, CONFIG)
    for name, arrays in arguments(config=CONFIG).items():
        some = getattr(decoder, name)(*arrays)
        none = getattr(decoder, name)(*([] if array.ndim == 1 else array for array in arrays))
        assert (none.shape, none.dtype) == ((0, *some.shape[1:]), some.dtype)


# ---- densities -----------------------------------------------------------------------------------


@pytest.mark.parametrize("hard_cap", [1, 7, 150, 255, 9999])
def test_a_density_has_the_level_that_exact_arithmetic_gives(hard_cap):
    """Each threshold is the least float32 for which 255 * density >= level * cap."""
    thresholds = density_thresholds(hard_cap)
    assert thresholds.dtype == np.float32
    below = np.nextafter(thresholds, np.float32(0))
    levels = np.arange(1, 256)
    # 32 bits times 14: exact in float64
    assert (255 * thresholds.astype(np.float64) >= levels * hard_cap).all()
    assert (255 * below.astype(np.float64) < levels * hard_cap).all()


def test_levels_stand_for_255ths():
    assert level_values().tolist() == [np.float32(k) / np.float32(255) for k in range(256)]


# ---- whole observations --------------------------------------------------------------------------


def test_action_masks_have_a_bit_for_every_owner_that_an_action_names():
    masks = np.random.default_rng(0).integers(0, 256, (3, 7, 2)).astype(np.uint8)
    seats, games = np.repeat(np.arange(1, 8), 3), np.tile(np.arange(3), 7)
    shown = Decoder(SMALL).action_mask(masks, seats, games)
    assert shown.dtype == np.int8
    for i, (seat, game) in enumerate(zip(seats, games, strict=True)):
        for what in range(9):
            bit = owner_of_target(what, seat, 7) + 1  # holding names no owner, -1, and is bit 0
            assert shown[i, what] == masks[game, seat - 1, bit // 8] >> bit % 8 & 1
    shown = VecGame(CONFIG, 3, 0).reset().masks
    assert (Decoder(SMALL).action_mask(shown, [1, 2, 3])[:, 0] == 1).all()


# ---- what is refused -----------------------------------------------------------------------------

PLANES = np.zeros((2, 3, 4, 18, 9), np.uint8)
PLAYERS, BORDERS = np.zeros((2, 7, 20), np.float32), np.zeros((2, 6, 8, 8), np.float32)
GLOBALS, MASKS = np.zeros((2, 6), np.float32), np.zeros((2, 7, 2), np.uint8)
READ_ONLY = np.zeros((2, 3, 18, 70), np.uint8)
READ_ONLY.flags.writeable = False

REFUSED = {
    "planes of another shape": (
        lambda d: d.owners(PLANES[:, :2], [1, 1]),
        ValueError,
        "planes has the shape (2, 2, 4, 18, 9); it must have (E, 3, 4, 18, 9), that is (E, F, B,",
    ),
    "planes of one game": (
        lambda d: d.owners(PLANES[0], [1]),
        ValueError,
        "planes has the shape (3, 4, 18, 9)",
    ),
    "planes of another type": (
        lambda d: d.onehot(PLANES.astype(bool), [1, 1]),
        TypeError,
        "planes has the type bool; it must have uint8",
    ),
    "planes in a list": (
        lambda d: d.owners(PLANES.tolist(), [1, 1]),
        TypeError,
        "; it must be a numpy array",
    ),
    "seat 0": (
        lambda d: d.owners(PLANES, [1, 0]),
        ValueError,
        "seats has 0; it must have numbers from 1 to 7",
    ),
    "seat 8": (
        lambda d: d.onehot(PLANES, [8, 1]),
        ValueError,
        "seats has 8; it must have numbers from 1 to 7",
    ),
    "half a seat": (
        lambda d: d.owners(PLANES, [1.5, 1]),
        TypeError,
        "seats has the type float64; it must be of whole numbers",
    ),
    "one seat alone": (
        lambda d: d.owners(PLANES, 1),
        ValueError,
        "seats has the shape (); it must have (N,) or (N, 1)",
    ),
    "two seats an entry": (
        lambda d: d.owners(PLANES, [[1, 2], [3, 4]]),
        ValueError,
        "seats has the shape (2, 2); it must have (N,) or (N, 1)",
    ),
    "game 2 of 2": (
        lambda d: d.owners(PLANES, [1], [2]),
        ValueError,
        "games has 2; it must have numbers from 0 to 1",
    ),
    "game -1": (lambda d: d.owners(PLANES, [1], [-1]), ValueError, "games has -1;"),
    "fewer games than seats": (
        lambda d: d.owners(PLANES, [1, 2], [0]),
        ValueError,
        "games has the shape (1,); it must have (2,) or (2, 1)",
    ),
    "no games": (
        lambda d: d.owners(PLANES, [1, 2, 3]),
        ValueError,
        "games is None, but there are 3 seats of 2 games",
    ),
    "one-hot of float64": (
        lambda d: d.onehot(PLANES, [1, 1], dtype=np.float64),
        ValueError,
        "; it must be one of float16, float32, uint8, int8",
    ),
    "fractions in whole numbers": (
        lambda d: d.semantic(PLANES, [1, 1], PLAYERS, BORDERS, dtype=np.uint8),
        ValueError,
        "dtype is 'uint8'; it must be one of float16, float32",
    ),
    "squares without cells": (
        lambda d: d.pooled(PLANES, [1, 1], PLAYERS, BORDERS, factor=0),
        ValueError,
        "factor is 0; it must be a whole number from 1 to 1024",
    ),
    "squares of 2.5 cells": (
        lambda d: d.pooled(PLANES, [1, 1], PLAYERS, BORDERS, factor=2.5),
        TypeError,
        "factor is 2.5; it must be a whole number from 1 to 1024",
    ),
    "out of another shape": (
        lambda d: d.owners(PLANES, [1, 1], out=np.zeros((1, 3, 18, 70), np.uint8)),
        ValueError,
        "out has the shape (1, 3, 18, 70); it must have (2, 3, 18, 70)",
    ),
    "out of another type": (
        lambda d: d.owners(PLANES, [1, 1], out=np.zeros((2, 3, 18, 70), np.int8)),
        TypeError,
        "out has the type int8; it must have uint8",
    ),
    "out that cannot be written": (
        lambda d: d.owners(PLANES, [1, 1], out=READ_ONLY),
        ValueError,
        "out is a view or read-only; it must be a C-contiguous array to write to",
    ),
    "players of other games": (
        lambda d: d.semantic(PLANES, [1, 1], PLAYERS[:1], BORDERS),
        ValueError,
        "players has the shape (1, 7, 20); it must have (2, 7, 20), that is (E, P, C)",
    ),
    "borders of another type": (
        lambda d: d.pooled(PLANES, [1, 1], PLAYERS, BORDERS.astype(np.float64)),
        TypeError,
        "borders has the type float64; it must have float32",
    ),
    "globals of another shape": (
        lambda d: d.features(PLAYERS, BORDERS, GLOBALS[:, :5], [1, 1]),
        ValueError,
        "globals has the shape (2, 5); it must have (2, 6)",
    ),
    "masks of another shape": (
        lambda d: d.action_mask(MASKS[:, :6], [1, 1]),
        ValueError,
        "masks has the shape (2, 6, 2); it must have (E, 7, 2)",
    ),
    "semantic planes without a configuration": (
        lambda d: Decoder(SMALL).semantic(PLANES, [1, 1], PLAYERS, BORDERS),
        ValueError,
        "semantic needs the configuration of the game; make a Decoder",
    ),
    "squares without a configuration": (
        lambda d: Decoder(SMALL).pooled(PLANES, [1, 1], PLAYERS, BORDERS),
        ValueError,
        "pooled needs the configuration of the game; make a Decoder",
    ),
    "features without a configuration": (
        lambda d: Decoder(SMALL).features(PLAYERS, BORDERS, GLOBALS, [1, 1]),
        ValueError,
        "features needs the configuration of the game; make a Decoder",
    ),
    "a layout without boards": (
        lambda d: Decoder(replace(SMALL, frames=0), CONFIG).owners(PLANES[:, :0], [1, 1]),
        ValueError,
        "the layout has frames = 0, so there are no boards to decode",
    ),
    "no layout": (
        lambda d: Decoder(CONFIG),
        TypeError,
        "; it must be an ObsLayout",
    ),
    "no configuration": (
        lambda d: Decoder(SMALL, SMALL),
        TypeError,
        "; it must be a GameConfig or None",
    ),
    "another configuration": (
        lambda d: Decoder(SMALL, CONFIG.replace(width=60)),
        ValueError,
        "width is 60 in the config and 70 in the layout",
    ),
}


@pytest.mark.parametrize(("call", "error", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_does_not_fit_is_refused_by_name_and_value(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call(Decoder(SMALL, CONFIG))
