"""The maps that games of a configuration are played on.

Either there is a bank of maps, made once, of which each game draws one (``num_maps`` from 1), or every game
has a map of its own (``num_maps=0``). Which map it is depends on the configuration and the game's seed alone.
"""

from typing import NamedTuple

import numpy as np

from territorial.config import GameConfig
from territorial.config.draws import random_words
from territorial.config.land_mask import LandMask
from territorial.config.map_mix import entries_of
from territorial.config.map_names import KINDS, MapName, Terrain
from territorial.config.validation import check_type, whole_number
from territorial.constants import LARGEST_SEED, STREAM_MAP
from territorial.maps.generate import generate
from territorial.maps.lands import land
from territorial.maps.regions import check_connected
from territorial.maps.starts import capacity
from territorial.typing import Bytes, Ints

MAX_ATTEMPTS = 16
"""Maps that are generated for one game until one has room for all spawns; the last resort is open land."""

# What STREAM_MAP is asked for, as the tick of H: which of the maps, and the seed of a map of a game's own.
_WHICH, _OWN_SEED = 0, 1


class Ground(NamedTuple):
    """A map as it is looked at."""

    land: LandMask
    blocked: Terrain  # what its blocked cells are
    terrain: Bytes  # (2, H, ceil(W/8)), read-only: bit planes of blocked cells, and of those that are water


def make_grounds(config: GameConfig) -> tuple[list[Ground], Ints]:
    """Return all maps of ``config``, with ``num_maps`` from 1; see :func:`make_maps` for errors.

    A game draws one of the numbers that come second: those of maps, each as often as its weight asks for.
    """
    grounds, picks = list[Ground](), list[Ints]()
    for one, weight in entries_of(config.map):
        variants = config.num_maps if _is_generated(one) else 1
        picks.append(np.tile(len(grounds) + np.arange(config.num_maps) % variants, weight))
        grounds += [_checked_ground(config, one, (config.map_seed + i) % 2**64) for i in range(variants)]
    return grounds, np.concatenate(picks)


def make_maps(config: GameConfig) -> list[LandMask]:
    """Return the bank of maps of ``config``: its own map, or ``num_maps`` generated ones.

    Map i is generated from seed (map_seed + i) mod 2**64. Of a MapMix, these are the maps of its first entry,
    then those of the second ... Raises ValueError if a custom map is not one 4-connected region, if the
    spawns of all players do not fit on every map, or if ``num_maps`` is 0.
    """
    check_type("config", config, GameConfig, "a territorial.GameConfig")
    if config.num_maps == 0:
        raise ValueError(
            "num_maps is 0, so each game has its own map and there is no bank of maps; "
            "territorial.maps.map_of(config, seed) is the map of one game"
        )
    return [ground.land for ground in make_grounds(config)[0]]


def map_of(config: GameConfig, seed: int) -> LandMask:
    """Return the map that the game with this seed, 0 to 2**64 - 1, is played on, in whatever batch.

    Raises ValueError if a custom map is not one 4-connected region, or has no room for all spawns.
    """
    check_type("config", config, GameConfig, "a territorial.GameConfig")
    return ground_of(config, whole_number("seed", seed, 0, LARGEST_SEED)).land


def ground_of(config: GameConfig, seed: int) -> Ground:
    """Return the map of the game with this seed, and its terrain."""
    one, variant = _picked(config, _draw(seed, _WHICH, 0))
    if not _is_generated(one) or config.num_maps != 0:
        return _checked_ground(config, one, (config.map_seed + variant) % 2**64)
    return _first_with_room(config, one, seed) or _ground(config, MapName("open"), 0)


def _picked(config: GameConfig, word: int) -> tuple[MapName | LandMask, int]:
    """Return which map a random word picks, and which variant of it: as ``make_grounds`` would."""
    entries = entries_of(config.map)
    variants = max(1, config.num_maps)
    every = [one for one, weight in entries for _ in range(weight)]
    which, variant = divmod(word % (variants * len(every)), variants)
    return every[which], variant


def check_own_maps(config: GameConfig) -> None:
    """Raise ValueError if, with ``num_maps=0``, there is a map on which hardly a game has enough room."""
    for one, _ in entries_of(config.map):
        if not _is_generated(one) or _first_with_room(config, one, 0) is None:
            _checked_ground(config, one, config.map_seed)
    _checked_ground(config, MapName("open"), 0)


def _first_with_room(config: GameConfig, one: MapName | LandMask, seed: int) -> Ground | None:
    """Return the first map with room for all spawns among the maps of the game's seed, or None."""
    for attempt in range(MAX_ATTEMPTS):
        map_seed = (config.map_seed + _draw(seed, _OWN_SEED, attempt)) % 2**64
        ground = _ground(config, one, map_seed)
        if _has_room(config, ground.land):
            return ground
    return None


def _checked_ground(config: GameConfig, one: MapName | LandMask, seed: int) -> Ground:
    """Return a map in one region with room for all spawns; ValueError if it is not."""
    ground = _ground(config, one, seed)
    if isinstance(one, LandMask):
        check_connected(one)
    if not _has_room(config, ground.land):
        name = "the map given" if isinstance(one, LandMask) else f"the map '{one}'"
        seeded = f" of map_seed {seed}" if _is_generated(one) else ""
        raise ValueError(
            f"num_players is {config.num_players}, but only {capacity(ground.land)} spawns "
            f"fit on {name}{seeded}, which has {ground.land.num_land} cells of land; use "
            "fewer players or a larger map"
        )
    return ground


def _ground(config: GameConfig, one: MapName | LandMask, seed: int) -> Ground:
    if isinstance(one, LandMask):
        mask, kind = one, KINDS["open"]
    elif one.kind.is_generated:
        mask, kind = generate(str(one), config.height, config.width, seed), one.kind
    else:
        mask, kind = land(str(one), config.height, config.width), one.kind
    blocked = ~np.frombuffer(mask.bits, np.uint8).reshape(mask.height, -1)
    blocked[:, -1] &= 0xFF >> (-mask.width % 8)
    terrain = np.stack([blocked, blocked if kind.terrain == "water" else np.zeros_like(blocked)])
    terrain.flags.writeable = False
    return Ground(mask, kind.terrain, terrain)


def _has_room(config: GameConfig, mask: LandMask) -> bool:
    return capacity(mask, enough=config.num_players) == config.num_players


def _is_generated(one: MapName | LandMask) -> bool:
    return isinstance(one, MapName) and one.kind.is_generated


def _draw(seed: int, tick: int, index: int) -> int:
    """Return H(seed, STREAM_MAP, tick, index) of the rules."""
    return int(random_words(seed, STREAM_MAP, tick, np.array([index], np.uint64))[0])
