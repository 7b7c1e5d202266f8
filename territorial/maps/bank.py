"""The maps that a game's configuration plays on."""

from __future__ import annotations

from territorial.config import GameConfig
from territorial.landmask import LandMask
from territorial.maps.capacity import capacity
from territorial.maps.generate import generate
from territorial.maps.regions import check_connected


def make_maps(config: GameConfig) -> list[LandMask]:
    """Return the bank of maps of ``config``: its own map, or ``num_maps`` generated ones.

    Map i is generated from seed (map_seed + i) mod 2**64. Raises ValueError if a map of one's own
    is not one 4-connected region of land, or if the spawns of all players do not fit on every map.
    """
    if not isinstance(config, GameConfig):
        raise TypeError(f"config is {config!r}; it must be a territorial.GameConfig")
    if isinstance(config.map, LandMask):
        check_connected(config.map)
        maps, names = [config.map], ["the map given"]
    else:
        seeds = [(config.map_seed + i) % 2**64 for i in range(config.num_maps)]
        maps = [generate(config.map, config.height, config.width, seed) for seed in seeds]
        names = [f"the map {config.map!r} of map_seed {seed}" for seed in seeds]
    for land, name in zip(maps, names, strict=True):
        fitting = capacity(land, enough=config.num_players)
        if fitting < config.num_players:
            raise ValueError(
                f"num_players is {config.num_players}, but only {fitting} spawns fit on {name}, which has "
                f"{land.num_land} cells of land; take fewer players or a larger map"
            )
    return maps
