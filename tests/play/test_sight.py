"""Sight: what is shown of an agent's view is what an agent on that seat observes, under its names."""

import base64

import numpy as np

import territorial
from territorial.actions.encoding import owner_of_target
from territorial.decode.numpy import NumpyDecoder
from territorial.observation.pair_columns import OWN, PAIRS
from territorial.play.panels import FIELDS, KINDS, sight_of

CONFIG = territorial.GameConfig(height=40, width=56, num_players=5, max_ticks=1500)
SEAT = 3


def test_it_is_what_an_agent_observes():
    seats = ["banker", "settler", "novice", "banker", "turtle"]
    game = territorial.VecGame(CONFIG, 1, seats=seats, autoreset="disabled", observe=True)
    game.reset(seeds=[5])
    look = sight_of(game, SEAT)
    for _ in range(60):
        game.step()
    before = game.digest(0)
    seen = look(game)
    assert game.digest(0) == before
    observed = game.observations
    mask = np.unpackbits(observed.masks[0, SEAT - 1], bitorder="little")[1 : CONFIG.num_players + 2]
    assert seen["legal"] == np.flatnonzero(mask).tolist()
    assert (seen["num_legal"], seen["num_actions"]) == (1 + 10 * mask.sum(), 61)
    pairs = game.pairs([0], [SEAT])
    count = len(seen["owners"])
    assert count > 1
    assert seen["owners"] == owner_of_target(pairs.targets[0, :count], SEAT, 5).tolist()
    assert [name for name, _ in seen["own"]] == [column.name for column in OWN]
    assert [name for name, _ in seen["pairs"]] == [column.name for column in PAIRS]
    np.testing.assert_allclose([number for _, number in seen["own"]], pairs.own[0], atol=5e-4)
    np.testing.assert_allclose([row for _, row in seen["pairs"]], pairs.pairs[0, :count].T, atol=5e-4)
    sizes, needs, _ = game.fronts(0)
    assert seen["fronts"] == [sizes[SEAT, owner] for owner in seen["owners"]]
    assert seen["needs"] == [needs[SEAT, owner] for owner in seen["owners"]]


def test_its_planes_are_the_pooled_ones():
    game = territorial.VecGame(CONFIG, 1, seats=["banker"] * 5, autoreset="disabled", observe=True)
    game.reset(seeds=[5])
    look = sight_of(game, SEAT)
    for _ in range(40):
        game.step()
    planes, seen = look(game)["planes"], game.observations
    wanted = NumpyDecoder(game.layout, CONFIG).pooled(seen.planes, [SEAT], seen.players, seen.borders)[0]
    assert (planes["names"], planes["height"], planes["width"]) == ((*KINDS, *FIELDS), 5, 7)
    assert len(planes["data"]) == len(KINDS + FIELDS) == len(wanted)
    for data, plane in zip(planes["data"], wanted, strict=True):
        levels = np.frombuffer(base64.b64decode(data), np.uint8).reshape(5, 7)
        np.testing.assert_allclose(levels / 255, np.clip(plane, 0, 1), atol=0.5 / 255 + 1e-6)
