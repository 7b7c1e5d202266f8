"""``territorial info maps``: lists, draws and exports maps."""

import argparse
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from math import isqrt
from typing import Any, Literal, NamedTuple

import numpy as np

from territorial import maps
from territorial.cli import options
from territorial.cli.options import UsageError, blamed_on, number
from territorial.config import GameConfig
from territorial.config.land_mask import LandMask
from territorial.config.map_names import KINDS, LANDS, MapKind, Terrain, parse_map_name
from territorial.constants import BLOCKED, LARGEST_SEED, MAX_PLAYERS, MAX_SIDE, MIN_PLAYERS, MIN_SIDE, NEUTRAL
from territorial.evaluation.progress import ProgressLine
from territorial.maps.lands import LAND_SIDE
from territorial.maps.regions import label_regions
from territorial.render import owner_colors, render_ansi, write_png
from territorial.render.ansi import color_depth_of
from territorial.render.board import Image
from territorial.render.figures import percent
from territorial.render.labels import capital_height, draw_text, text_width
from territorial.render.renderer import INK, blank

EXAMPLES = """\
  territorial info maps                     list all kinds, options and lands
  territorial info maps lakes europe        show two maps and their land
  territorial info maps islands:count=6,bridges=4 --num-maps 4 --picture a.png
  territorial info maps --picture maps.png  draw one map of each kind
  territorial info maps maze --export my.png   write a file: white is land
  territorial info maps my.png --num-players 8     check that 8 seats have room
  territorial demo --map my.png --num-players 8
"""

MAX_COUNT = 100
_FAINT, _OUT_OF_PLAY = (150, 156, 166), (122, 118, 106)
_GAP = 12
_SIZE = 20  # of letters, in pixels: they are read where five maps are as wide as a page
_LINE = 24


class MapListing(NamedTuple):
    """A map that was asked for."""

    name: str
    seed: int | None
    """None where the map does not depend on one."""
    whole: LandMask
    """All land, what cannot be reached included."""
    land: LandMask
    terrain: Terrain


def add_parser(topics: Any) -> None:
    """Add this topic to ``info``."""
    parser = options.new_parser(
        topics,
        "maps",
        "list maps, show them on the terminal or as a picture, write and check map files",
        EXAMPLES,
        run,
    )
    span, whole = f"{MIN_SIDE} to {MAX_SIDE}", options.whole(MIN_SIDE, MAX_SIDE)
    options.add(
        parser,
        options.option(
            "maps",
            "a kind or a land, with or without options, or a file (.png, .npy, .txt); without MAP, all "
            "kinds and lands are listed",
            nargs="*",
            metavar="MAP",
        ),
        *(
            options.option(name, span, "a map file has its own size", shown=256, type=whole, metavar="N")
            for name in ("--height", "--width")
        ),
        number("--map-seed", 0, LARGEST_SEED, default=0),
        number("--num-maps", 1, MAX_COUNT, "so many of each MAP", default=1),
        number(
            "--num-players",
            MIN_PLAYERS,
            MAX_PLAYERS,
            "maps without room for so many spawns are refused",
            shown="any map is accepted",
        ),
    )
    options.add(
        parser.add_argument_group("files"),
        options.option("--picture", "all maps are drawn on it", metavar="FILE"),
        options.option(
            "--export",
            "write the one MAP to FILE, which play --map accepts; it must end in .png, .npy or .txt",
            metavar="FILE",
        ),
        number(
            "--threshold",
            1,
            255,
            "brightness from which a pixel of a file is land",
            shown="none: the file has only black and white, and white is land",
        ),
        options.option(
            "--block-unreachable", "block land of a file that players cannot reach", action="store_true"
        ),
    )
    options.add(parser, options.JSON)


def run(parsed: argparse.Namespace) -> int:
    """List the maps, or show the given ones."""
    if parsed.picture is not None:
        options.check_picture("--picture", parsed.picture)
    if parsed.export is not None:
        if (count := len(parsed.maps) * parsed.num_maps) != 1:
            raise UsageError(f"argument --export: it writes one map, but {count} are selected")
        if not options.is_map_file(parsed.export):
            raise UsageError(
                f"argument --export: {parsed.export!r} must end in one of {', '.join(maps.SUFFIXES)}"
            )
        options.check_writable("--export", parsed.export, options.MAP)
    shown = _all_maps(parsed) if parsed.maps or parsed.picture else []
    result: dict[str, Any] = {"maps": [_facts(one) for one in shown]} if shown else catalogue()
    result |= {"picture": parsed.picture, "export": parsed.export} if shown else {}

    def draw() -> str:
        if parsed.picture is not None:
            with blamed_on("--picture"):
                write_png(parsed.picture, draw_sheet(shown))
        if parsed.export is not None:
            with blamed_on("--export"):
                maps.save(shown[0].land, parsed.export)
        return "\n".join(f"written: {path}" for path in (parsed.picture, parsed.export) if path is not None)

    has_files = bool(parsed.picture or parsed.export)
    options.report(parsed, _text(parsed, shown, result), result, *[draw] * has_files)
    return 0


# ---- what was asked for ------------------------------------------------------------------------------


def _all_maps(parsed: argparse.Namespace) -> list[MapListing]:
    """Return the maps that were asked for; one of every kind and land if none is named."""
    shown, line = list[MapListing](), ProgressLine()
    for text in parsed.maps or [*KINDS, *LANDS]:
        for one in [_file(parsed, text)] if options.is_map_file(text) else _named(parsed, text):
            enough = parsed.num_players or 0
            if maps.capacity(one.land, enough=enough) < enough:
                raise UsageError(
                    f"argument --num-players: {enough}, but only {maps.capacity(one.land)} spawns fit on "
                    f"{one.name}"
                )
            shown.append(one)
            line.show(f"{len(shown)} maps made, now making {one.name}")
    line.close()
    return shown


def _file(parsed: argparse.Namespace, path: str) -> MapListing:
    unreachable: Literal["block", "refuse"] = "block" if parsed.block_unreachable else "refuse"
    with blamed_on("MAP", ValueError):
        land = maps.load(path, threshold=parsed.threshold, unreachable=unreachable)
    return MapListing(path, None, land, land, "water")


def _named(parsed: argparse.Namespace, text: str) -> Iterator[MapListing]:
    """Yield ``--num-maps`` maps of a kind, or the one of a land."""
    size = parsed.height or GameConfig().height, parsed.width or GameConfig().width
    with blamed_on("MAP", ValueError):
        name = parse_map_name(text)
        if not name.kind.is_generated:
            whole, land = (maps.land(text, *size, connected=connected) for connected in (False, True))
            yield MapListing(str(name), None, whole, land, name.kind.terrain)
            return
        for i in range(parsed.num_maps):
            seed = (parsed.map_seed + i) & LARGEST_SEED
            whole = maps.generate(str(name), *size, seed, connected=False)
            yield MapListing(str(name), seed, whole, maps.largest_region(whole), name.kind.terrain)


def _facts(one: MapListing) -> dict[str, Any]:
    """Return the facts about a map, as values for JSON."""
    land, cells = one.land.num_land, one.land.height * one.land.width
    return {
        "name": one.name,
        "map_seed": one.seed,
        "height": one.land.height,
        "width": one.land.width,
        "terrain": one.terrain,
        "land_cells": land,
        "land_percent": float(percent(land, cells)[:-1]),
        "unreachable_cells": int((one.whole.to_array() & ~one.land.to_array()).sum()),
        "regions": int(label_regions(one.whole.to_array()).max()),
        "spawns": maps.capacity(one.land),
        "digest": one.land.hexdigest,
    }


def _text(parsed: argparse.Namespace, shown: Sequence[MapListing], result: Mapping[str, Any]) -> str:
    texts = [] if shown else [catalogue_text(result)]
    for one, facts in zip(shown, result.get("maps", ()), strict=True):
        if parsed.picture is None and parsed.export is None:
            columns = min(100, shutil.get_terminal_size().columns)
            owner = np.where(one.land.to_array(), NEUTRAL, BLOCKED).astype(np.uint8)
            colors = color_depth_of(sys.stdout)
            texts.append(render_ansi(owner, 0, columns=columns, colors=colors, terrain=one.terrain))
        seed = "" if one.seed is None else f" of map_seed {one.seed}"
        lost = f", {facts['unreachable_cells']:,} out of reach" if facts["unreachable_cells"] else ""
        texts.append(
            f"{one.name}{seed}: {one.land.height} x {one.land.width}, {facts['land_cells']:,} cells of land "
            f"({facts['land_percent']} %){lost}, room for {facts['spawns']:,} spawns, "
            f"digest {facts['digest']}"
        )
    return "\n".join(texts)


# ---- the list of all maps ------------------------------------------------------------------------------


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
    """Return :func:`catalogue` as lines of text."""
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


# ---- pictures ------------------------------------------------------------------------------------------


def draw_sheet(tiles: Sequence[MapListing]) -> Image:
    """Return an RGB picture, uint8 (h, w, 3), of maps in rows; land out of play is darker."""
    pictures = [_draw_tile(tile) for tile in tiles]
    height, width = (max(picture.shape[axis] for picture in pictures) for axis in (0, 1))
    columns = max(1, isqrt(3 * len(tiles) // 2))
    rows = -(-len(tiles) // columns)
    sheet = blank(rows * (height + _GAP) + _GAP, columns * (width + _GAP) + _GAP)
    for i, picture in enumerate(pictures):
        top, left = _GAP + i // columns * (height + _GAP), _GAP + i % columns * (width + _GAP)
        sheet[top : top + picture.shape[0], left : left + picture.shape[1]] = picture
    return sheet


def _draw_tile(tile: MapListing) -> Image:
    scale = max(1, 256 // max(tile.land.height, tile.land.width))  # of about 256 pixels
    neutral, blocked = owner_colors(0, tile.terrain)[[0, 255]]
    cells = np.where(tile.land.to_array(), 2, tile.whole.to_array())
    colors = np.array([blocked, _OUT_OF_PLAY, neutral], np.uint8)
    board = colors[cells].repeat(scale, axis=0).repeat(scale, axis=1)
    seed = "" if tile.seed is None else f"seed {tile.seed}, "
    lines = tile.name, f"{seed}{percent(tile.land.num_land, tile.land.height * tile.land.width)} in play"
    width = max(board.shape[1], *(text_width(line, _SIZE) for line in lines))
    picture = blank(board.shape[0] + len(lines) * _LINE + _GAP // 2, width)
    picture[: board.shape[0], : board.shape[1]] = board
    for i, line in enumerate(lines):
        baseline = board.shape[0] + _GAP // 2 + i * _LINE + capital_height(_SIZE)
        draw_text(picture, baseline, 0, line, INK if i == 0 else _FAINT, _SIZE)
    return picture
