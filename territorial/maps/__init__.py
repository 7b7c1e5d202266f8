"""Maps: generators, real lands, files and symmetry."""

from territorial.config.map_mix import MapMix
from territorial.maps.bank import make_maps, map_of
from territorial.maps.files import SUFFIXES, load, save
from territorial.maps.generate import generate
from territorial.maps.lands import land
from territorial.maps.regions import check_connected, largest_region
from territorial.maps.starts import capacity, symmetric_start
from territorial.maps.symmetry import is_symmetric, symmetrize

__all__ = [
    "SUFFIXES",
    "MapMix",
    "capacity",
    "check_connected",
    "generate",
    "is_symmetric",
    "land",
    "largest_region",
    "load",
    "make_maps",
    "map_of",
    "save",
    "symmetric_start",
    "symmetrize",
]
