"""MapMix: several maps with weights, of which every game draws one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import gcd
from typing import Any, TypeAlias

from territorial.config.land_mask import LandMask
from territorial.config.map_names import ALL_MAPS, MapName, parse_map_name
from territorial.config.validation import check_type, whole_number, whole_number_in

MAX_MAPS = 100
MAX_WEIGHT = 100

OneMap: TypeAlias = str | LandMask


@dataclass(frozen=True, slots=True)
class MapMix:
    """Maps to draw from: names of maps and custom masks, each with a weight.

    ``MapMix(["lakes", "europe", mask])`` draws each as often as the others, ``MapMix({"lakes": 3,
    "islands:count=6": 1})`` the first three times as often. ``entries`` then holds (map, weight) pairs, at
    most 100; weights are whole numbers from 1 to 100. Two mixes are equal if their entries are. A mix
    of names alone can also be written "3*lakes + islands:count=6".
    """

    entries: tuple[tuple[OneMap, int], ...]

    def __init__(self, entries: Mapping[OneMap, int] | Iterable[OneMap | tuple[OneMap, int]]) -> None:
        if isinstance(entries, (str, LandMask)) or not isinstance(entries, Iterable):
            raise TypeError(
                f"entries is of type {type(entries).__name__}; a MapMix takes a list of maps, or a dict of "
                "maps and their weights"
            )
        pairs = entries.items() if isinstance(entries, Mapping) else entries
        weighted = [pair if isinstance(pair, tuple) and len(pair) == 2 else (pair, 1) for pair in pairs]
        checked = [
            (_checked_map(one), whole_number(f"the weight of the map {text_of(one)}", weight, 1, MAX_WEIGHT))
            for one, weight in weighted
        ]
        if not 1 <= len(checked) <= MAX_MAPS:
            raise ValueError(f"a MapMix has {len(checked)} maps; it must have 1 to {MAX_MAPS}")
        for i, (one, _) in enumerate(checked):
            if one in [other for other, _ in checked[:i]]:
                raise ValueError(f"the map {text_of(one)} is in a MapMix twice; give it a weight instead")
        common = gcd(*(weight for _, weight in checked))
        object.__setattr__(self, "entries", tuple((one, weight // common) for one, weight in checked))

    @classmethod
    def from_text(cls, text: str) -> MapMix:
        """Return the mix that a text such as "3*lakes + europe" describes."""
        return cls([_parse_part(part.strip(), text) for part in text.split("+")])

    def __str__(self) -> str:
        parts = [text_of(one) if weight == 1 else f"{weight}*{text_of(one)}" for one, weight in self.entries]
        return " + ".join(parts)


def text_of(game_map: OneMap | MapMix) -> str:
    """Return the name of a map: of a mask its 16 hex digits, of a mix the names of its parts."""
    return game_map.hexdigest if isinstance(game_map, LandMask) else str(game_map)


def entries_of(game_map: OneMap | MapMix) -> tuple[tuple[MapName | LandMask, int], ...]:
    """Return all maps that a game may be played on with their weights, names parsed."""
    entries = game_map.entries if isinstance(game_map, MapMix) else ((game_map, 1),)
    return tuple((parse_map_name(one) if isinstance(one, str) else one, weight) for one, weight in entries)


def checked_map(game_map: object) -> OneMap | MapMix:
    """Return a map of a config, with names in their usual spelling; errors name the fault."""
    if isinstance(game_map, MapMix):
        return game_map
    if isinstance(game_map, str) and "+" in game_map:
        return MapMix.from_text(game_map)
    return _checked_map(game_map)


def _checked_map(one: Any) -> OneMap:
    made = "a MapMix, or a LandMask, which LandMask.from_array(...) makes from an array"
    check_type("map", one, (str, LandMask), f"one of {', '.join(ALL_MAPS)}, {made}")
    return one if isinstance(one, LandMask) else str(parse_map_name(one))


def _parse_part(part: str, text: str) -> tuple[str, int]:
    """Return name and weight of "3*lakes" or "lakes"."""
    weight, sign, name = part.partition("*")
    if not sign:
        return part, 1
    number = whole_number_in(weight, 0, 10**9)
    if number is None:
        raise ValueError(
            f"map is {text!r}: {weight.strip()!r} is not a weight, which must be a whole "
            f"number from 1 to {MAX_WEIGHT}"
        )
    return name.strip(), number
