"""The maps that a game's configuration plays on."""

from __future__ import annotations

from territorial.config import GameConfig
from territorial.landmask import LandMask
from territorial.maps.generate import generate
from territorial.maps.regions import check_connected


def make_maps(config: GameConfig) -> list[LandMask]:
    """Return the bank of maps of ``config``: its own map, or ``num_maps`` generated ones.

    Map i is generated from seed (map_seed + i) mod 2**64. Raises ValueError if a map of one's own
    is not one 4-connected region of land.
    """
    if isinstance(config.map, LandMask):
        check_connected(config.map)
        return [config.map]
    return [
        generate(config.map, config.height, config.width, (config.map_seed + i) % 2**64)
        for i in range(config.num_maps)
    ]
