"""Which map a game is played on: a bank, a mix, a map for every game; the same in every batch."""

from collections import Counter

import numpy as np
import pytest

from territorial import GameConfig, LandMask, VecGame
from territorial.config.map_mix import MapMix, entries_of
from territorial.constants import STREAM_MAP
from territorial.engine import map_bank as atlas_module
from territorial.maps import bank, capacity, generate, land, make_maps, map_of
from tests.episodes import advance, begun
from tests.twin import H

WORD = 2**64
OWN = LandMask.from_text("\n".join(["." * 24 + "#" * 8] * 20 + ["." * 32] * 12))
SMALL = {"height": 32, "width": 32, "num_players": 4, "max_ticks": 200}
CONFIGS = {
    "one map": GameConfig(**SMALL),
    "a bank": GameConfig(num_maps=3, map_seed=WORD - 1, map="mountains", **SMALL),
    "a land": GameConfig(map="europe", **SMALL),
    "a mask": GameConfig(map=OWN, **SMALL),
    "a mix": GameConfig(
        map=MapMix({"lakes": 3, OWN: 1, "maze:walls=3": 2, "iceland": 1}), num_maps=2, **SMALL
    ),
    "a map a game": GameConfig(num_maps=0, map_seed=7, **SMALL),
    "a mixed map a game": GameConfig(
        map=MapMix(["lakes", OWN, "islands:count=3", "mountains"]), num_maps=0, **SMALL
    ),
}
BOTS = ["metronome", "banker", "novice", "random"]


def games_of(config, num_games=5, seed=3, **options):
    return begun(VecGame(config, num_games, seed=seed, seats=BOTS, **options))


def played_land(game, k):
    """The land of a game as the board shows it."""
    return LandMask.from_array(game.state.owner[k, 1:-1, 1:-1] != 255)


def seeds_of(game):
    return [int(seed) for seed in game.state.seed]


@pytest.mark.parametrize("name", CONFIGS)
def test_the_map_of_a_game_depends_on_its_seed_alone(name):
    config = CONFIGS[name].replace(max_ticks=50)
    game = games_of(config)
    for _ in range(12):  # every game is replaced twice
        for k, seed in enumerate(seeds_of(game)):
            expected = map_of(config, seed)
            assert game.land(k) == game.maps[game.state.map_id[k]] == played_land(game, k) == expected
            assert game.state.num_land[k] == expected.num_land
        game.step()
    assert game.state.episode.min() == 2


@pytest.mark.parametrize("name", ["a mix", "a map a game", "a mixed map a game"])
def test_the_same_seed_is_the_same_game_alone_and_among_others(name):
    config = CONFIGS[name]
    together, alone = games_of(config, 6, num_threads=2), games_of(config, 1, autoreset="disabled")
    together.reset(seeds=range(100, 106))
    for k in range(6):
        alone.reset(seeds=[100 + k])
        assert alone.digest(0) == together.digest(k)
    advance(together, 12)
    for k in range(6):
        alone.reset(seeds=[100 + k])
        advance(alone, 12)
        assert alone.digest(0) == together.digest(k)
        np.testing.assert_array_equal(alone.terrain(0), together.terrain(k))


def test_weights_are_how_often_maps_are_played():
    """No map is made here: which one it is comes from a word that the game's seed gives."""
    config = CONFIGS["a mix"]
    words = (H(seed, STREAM_MAP, 0, 0) for seed in range(1400))
    counts = Counter(bank._picked(config, word) for word in words)
    for entry, weight in entries_of(config.map):
        of_entry = [count for (one, _), count in counts.items() if one == entry]
        assert (len(of_entry), sum(of_entry)) == (config.num_maps, pytest.approx(200 * weight, rel=0.25))


def test_a_bank_lists_the_maps_of_a_mix_in_order():
    lakes, mazes = ([generate(kind, 32, 32, i) for i in (0, 1)] for kind in ("lakes", "maze:walls=3"))
    maps = make_maps(CONFIGS["a mix"])
    assert maps == [*lakes, OWN, *mazes, land("iceland", 32, 32)]
    assert games_of(CONFIGS["a mix"]).maps == tuple(maps)


def test_a_map_a_game_is_generated_from_the_games_seed():
    config = CONFIGS["a map a game"]
    assert len({map_of(config, seed) for seed in range(50)}) == 50
    for seed in (0, 5, WORD - 1):
        assert map_of(config, seed) == generate("lakes", 32, 32, (7 + H(seed, STREAM_MAP, 1, 0)) % WORD)
    assert map_of(config.replace(map_seed=8), 5) != map_of(config, 5)


def test_a_map_without_room_is_drawn_again(monkeypatch):
    config, seed = CONFIGS["a map a game"], 5
    drawn = [generate("lakes", 32, 32, (7 + H(seed, STREAM_MAP, 1, i)) % WORD) for i in range(16)]
    crowded = config.replace(num_players=capacity(drawn[0]) + 1)
    assert map_of(crowded, seed) == next(m for m in drawn if capacity(m) >= crowded.num_players)
    monkeypatch.setattr(bank, "_first_with_room", lambda *_: None)
    assert map_of(crowded, seed).num_land == 32 * 32, "the last resort is open land"


def test_lookups_generate_no_map_twice(monkeypatch):
    made = Counter()
    real = bank.generate
    monkeypatch.setattr(bank, "generate", lambda *args: (made.update([args]), real(*args))[1])
    game = games_of(CONFIGS["a map a game"], 3, autoreset="disabled")
    made.clear()
    game.reset()
    assert sum(made.values()) == 3
    for k in range(3):
        game.land(k), game.terrain(k), game.maps
    advance(game, 20)
    assert sum(made.values()) == 3
    game = games_of(CONFIGS["a map a game"], 3)
    made.clear()
    advance(game, 40)
    assert game.state.episode.tolist() == [2, 2, 2]
    # Those after the present ones are ready before the step in which a game may end.
    assert [*made.values()] == [1] * 6


def test_a_step_that_was_interrupted_while_maps_were_made_can_be_repeated(monkeypatch):
    config = CONFIGS["a map a game"]
    undisturbed, game = games_of(config, 4), games_of(config, 4)
    real, calls = atlas_module.write_map, []

    def interrupted(*args):
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        real(*args)

    monkeypatch.setattr(atlas_module, "write_map", interrupted)
    with pytest.raises(KeyboardInterrupt):
        game.step()
    monkeypatch.undo()
    advance(game, 45)
    advance(undisturbed, 45)
    assert [game.digest(k) for k in range(4)] == [undisturbed.digest(k) for k in range(4)]


def test_a_saved_game_takes_its_map_along():
    config = CONFIGS["a map a game"]
    game, other = games_of(config), games_of(config, 2, seed=99)
    advance(game, 5)
    other.restore(1, game.save(4))
    assert (other.land(1), other.maps[1], other.state.map_id.tolist()) == (
        game.land(4),
        other.land(1),
        [0, 1],
    )
    np.testing.assert_array_equal(other.terrain(1), game.terrain(4))
    for _ in range(14):
        game.step()
        other.step()
        assert other.digest(1) == game.digest(4)
    for _ in range(10):  # the next game of the slot
        other.step()
        assert played_land(other, 1) == map_of(config, seeds_of(other)[1])


def test_a_terrain_that_was_handed_out_stays_as_it_is():
    game = games_of(CONFIGS["a map a game"], 1)
    before = game.terrain(0)
    kept = before.copy()
    advance(game, 45)
    np.testing.assert_array_equal(before, kept)
    assert not np.array_equal(game.terrain(0), kept)


def test_only_maps_of_games_that_are_played_or_come_next_are_kept():
    game = games_of(CONFIGS["a map a game"], 3)
    advance(game, 200)
    assert game.state.episode.min() >= 9
    assert len(game._maps._own) <= 6
    assert game.bytes_per_game < 2 * games_of(CONFIGS["one map"], 3).bytes_per_game


REFUSED = {
    "no room on a map of the bank": (
        {"map": "lakes + archipelago", "num_players": 40},
        "num_players is 40, but only [0-9]+ spawns fit on the map 'archipelago' of map_seed 0, which has",
    ),
    "no room on a land": (
        {"map": "new_zealand", "num_players": 40},
        "fit on the map 'new_zealand', which has",
    ),
    "no room on a mask": (
        {"map": LandMask.from_text("\n".join(["." * 8 + "#" * 24] * 8 + ["#" * 32] * 24)), "num_players": 5},
        "only [0-9]+ spawns fit on the map given",
    ),
    "no room on any map": (
        {"map": "archipelago:blocked=80", "num_maps": 0, "num_players": 60},
        "only [0-9]+ spawns fit on the map 'archipelago:blocked=80' of map_seed 0",
    ),
    "no room even on open land": (
        {"num_maps": 0, "num_players": 85},
        "only [0-9]+ spawns fit on the map",
    ),
    "a mask in two pieces": (
        {"map": LandMask.from_text("\n".join(["." * 15 + "##" + "." * 15] * 32))},
        "has 2 regions",
    ),
}


@pytest.mark.parametrize(("fields", "message"), REFUSED.values(), ids=REFUSED)
def test_a_config_without_room_is_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        VecGame(GameConfig(**(SMALL | fields)), 1)
