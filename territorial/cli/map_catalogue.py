"""What ``territorial info maps`` lists: kinds of map with their options, and lands of the real world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from territorial import maps
from territorial.config.map_names import KINDS, LANDS, MapKind
from territorial.maps.lands import LAND_SIDE
from territorial.render.figures import percent


def catalogue() -> dict[str, Any]:
    """Return all kinds and lands, as values that JSON has."""
    return {
        "kinds": [
            {"name": name, "idea": kind.idea, "terrain": kind.terrain, "options": _options_of(kind)}
            for name, kind in KINDS.items()
        ],
        "lands": [
            {"name": name, "idea": kind.idea, "options": _options_of(kind)} | _land_facts(name)
            for name, kind in LANDS.items()
        ],
    }


def _options_of(kind: MapKind) -> list[dict[str, Any]]:
    return [
        {
            "name": option.name,
            "default": option.shown(option.default),
            "allowed": option.allowed,
            "meaning": option.meaning,
        }
        for option in kind.options
    ]


def _land_facts(name: str) -> dict[str, float]:
    whole, land = maps.land(name, connected=False).num_land, maps.land(name).num_land
    return {
        "land_percent": float(percent(whole, LAND_SIDE**2)[:-1]),
        "in_play_percent": float(percent(land, LAND_SIDE**2)[:-1]),
        "in_play_percent_of_land": float(percent(land, whole)[:-1]),
    }


def catalogue_text(result: Mapping[str, Any]) -> str:
    """Return what :func:`catalogue` says as lines to read."""
    kinds = [
        f"  {kind['name']:13} {kind['idea']}" + "".join(_option_text(option) for option in kind["options"])
        for kind in result["kinds"]
    ]
    lands = [
        f"  {land['name']:13} {land['in_play_percent']:5.1f} %  {land['in_play_percent_of_land']:5.1f} %   "
        f"{land['idea']}"
        for land in result["lands"]
    ]
    return "\n".join(
        [
            "kinds, generated from a seed in any size; options follow with their defaults (islands:count=6)",
            *kinds,
            "",
            "lands of the real world, kept at 256 x 256. Nobody has boats, so only the largest region is in",
            "play: the figures say how much that is of the map, and of its land",
            *lands,
            f"  {'all of them':13} have an option" + _option_text(result["lands"][0]["options"][0]),
            "",
            "mixes: in 3*lakes + europe, three games of four are on lakes; files: white pixels are land.",
            "`territorial info maps NAME` shows one; docs/maps.md explains all of it.",
        ]
    )


def _option_text(option: Mapping[str, Any]) -> str:
    """Return the line about an option, and the end of the line before it."""
    default = f"{option['name']}={option['default']}"
    return f"\n  {'':13}   {default:13}  {option['meaning']}; {option['allowed']}"
