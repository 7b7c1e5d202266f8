"""Maps: generators, the bank of maps of a configuration, and checks of maps of one's own."""

from territorial.maps.bank import make_maps
from territorial.maps.capacity import capacity
from territorial.maps.generate import generate
from territorial.maps.regions import check_connected, largest_region

__all__ = ["capacity", "check_connected", "generate", "largest_region", "make_maps"]
