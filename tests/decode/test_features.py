"""Feature vectors, against a decoder in plain Python that goes from name to name."""

import re

import numpy as np
import pytest

from territorial import GameConfig, VecGame
from territorial.decode import FeatureDecoder, feature_names, state_names
from territorial.decode.features import LARGEST, scales
from territorial.decode.numpy import Decoder
from territorial.observation.layout import BORDERS, GLOBALS, PLAYERS, ObsLayout, index
from territorial.observation.tables import Observations


def small(**changes):
    return GameConfig(**({"height": 24, "width": 30, "num_players": 5, "max_ticks": 900} | changes))


def positions(config, seed=0, steps=40, seats=("agent", "metronome", "random", "novice", "turtle")):
    """Tables of some games as they go by, with the agent at random on every other seat."""
    game = VecGame(config, 3, seed, seats=seats[: config.num_players])
    rng = np.random.default_rng(seed)
    yield game.reset()
    for _ in range(steps):
        what = rng.integers(0, config.num_players + 2, (3, config.num_players))
        tables, *_ = game.step(np.stack([what, rng.integers(0, 10, what.shape)], axis=-1))
        yield Observations(*(table.copy() for table in tables))


def value_by_name(name, tables, k, me, config):
    """The feature ``name`` of seat ``me`` in game ``k``."""

    def owner_of(word):
        if word == "neutral":
            return 0
        return (me - 1 + int(word.removeprefix("player"))) % config.num_players + 1

    subject, column_name = name.split(".")
    if subject == "globals":
        value = tables.globals[k][index(GLOBALS, column_name)]
    elif match := re.fullmatch("(to|from)_(.*)", subject):
        other = owner_of(match[2])
        p, t = (me, other) if match[1] == "to" else (other, me)
        value = tables.borders[k][index(BORDERS, column_name)][p][t]
    else:
        value = tables.players[k][owner_of(subject) - 1][index(PLAYERS, column_name)]
    return min(value * np.float32(scales(config)[column_name]), LARGEST)


def test_features_are_those_of_the_slow_decoder():
    config = small()
    decoder = FeatureDecoder(config)
    for tables in list(positions(config))[::8]:
        features = decoder(tables.players, tables.borders, tables.globals)
        assert features.dtype == np.float32
        for k in range(3):
            for seat in range(1, 6):
                slow = [value_by_name(name, tables, k, seat, config) for name in decoder.names]
                assert features[k, seat - 1].tolist() == slow


def test_names_are_all_different_and_begin_with_the_agent_itself():
    names = feature_names(small())
    assert len(set(names)) == len(names) == FeatureDecoder(small()).num_features
    first_border = len(GLOBALS) + 5 * len(PLAYERS)
    expected = {0: "globals.tick", len(GLOBALS): "player0.alive", first_border: "to_neutral.front"}
    expected |= {first_border + len(BORDERS): "from_neutral.front", -1: "from_player4.taken"}
    assert {place: names[place] for place in expected} == expected


def test_the_state_is_the_tables_end_to_end():
    config = small()
    decoder = FeatureDecoder(config)
    *_, tables = positions(config, steps=20)
    state = decoder.state(tables.players[2], tables.borders[2], tables.globals[2])
    names = state_names(config)
    assert state.shape == (len(names),) == decoder.state_high.shape
    expected = tables.borders[2][index(BORDERS, "pool")][3][0] * np.float32(scales(config)["pool"])
    assert state[names.index("pool.3.0")] == expected
    assert state[names.index("seat4.land_share")] == tables.players[2][3][index(PLAYERS, "land_share")]
    assert state[names.index("globals.opening")] == tables.globals[2][index(GLOBALS, "opening")]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"deaths": False},
        {"starting_troops": 1_000_000},
        {"launch_delay": 400, "decision_every": 7},
        {"height": 16, "width": 16, "num_players": 2, "interest_base": 10_000, "map": "open"},
    ],
    ids=str,
)
def test_no_feature_leaves_its_bounds(changes):
    config = small(**changes)
    decoder = FeatureDecoder(config)
    for tables in positions(config, seed=1, steps=150):
        state = decoder.state(tables.players, tables.borders, tables.globals)
        assert (state >= 0).all()
        beyond = np.argwhere(state > decoder.state_high)
        assert not len(beyond), state_names(config)[beyond[0][1]]
        assert (decoder(tables.players, tables.borders, tables.globals) <= decoder.high).all()
    assert (decoder.high > 0).all()
    assert decoder.high.max() == decoder.state_high.max() == LARGEST


@pytest.mark.parametrize("form", ["numpy", "torch, kernels", "torch, operations"])
def test_large_features_are_clipped_alike(form):
    config = small(starting_troops=1_000_000, num_players=4)
    decoder, layout = FeatureDecoder(config), ObsLayout.of(config)
    *_, seen = positions(config, steps=5)
    tables = [table[:1] * np.float32(3) for table in (seen.players, seen.borders, seen.globals)]
    seats, games = np.arange(1, 5), np.zeros(4, np.int64)
    if form == "numpy":
        found = Decoder(layout, config).features(*tables, seats, games)
    else:
        torch = pytest.importorskip("torch", reason="PyTorch is not installed")
        from territorial.decode.torch import Decoder as TorchDecoder

        decoded = TorchDecoder(layout, config, use_kernels="kernels" in form)
        found = decoded.features(*map(torch.from_numpy, tables), seats, games).numpy()
    flat = np.concatenate([tables[2], tables[0].reshape(1, -1), tables[1].reshape(1, -1)], axis=1)
    exact = (flat * decoder.scale).take(decoder.index, axis=-1)[0]
    assert (exact > LARGEST).any()
    assert np.array_equal(found, np.minimum(exact, LARGEST))
    assert np.array_equal(found, decoder(*tables)[0])
