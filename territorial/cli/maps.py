"""``territorial info maps``: the maps there are, how they look, and maps as files."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from territorial import maps
from territorial.cli import options
from territorial.cli.map_catalogue import catalogue, catalogue_text
from territorial.cli.map_pictures import MapTile, draw_sheet, draw_text
from territorial.cli.option_names import explained
from territorial.cli.options import UsageError
from territorial.config import GameConfig
from territorial.config.land_mask import LandMask
from territorial.config.map_names import KINDS, LANDS, MapName, Terrain, parse_map_name
from territorial.constants import MAX_PLAYERS, MAX_SIDE, MIN_PLAYERS, MIN_SIDE
from territorial.maps.regions import label_regions
from territorial.render import write_png
from territorial.render.figures import percent

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
PREVIEW_COLUMNS = 100
"""At most; a narrower terminal gets a smaller preview."""


PROGRESS_SECONDS = 2.0
"""From one line of progress to the next."""


class Shown(NamedTuple):
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
    summary = "list maps, show them on the terminal or as a picture, write and check map files"
    parser = options.new_parser(topics, "maps", summary, EXAMPLES)
    parser.add_argument(
        "maps",
        nargs="*",
        metavar="MAP",
        help="a kind or a land, with or without options, or a file (.png, .npy, .txt); without MAP, all "
        "kinds and lands are listed",
    )
    side = options.whole(MIN_SIDE, MAX_SIDE)
    for option in ("--height", "--width"):
        parser.add_argument(
            option,
            type=side,
            metavar="N",
            help=explained(option, f"{MIN_SIDE} to {MAX_SIDE}; a map file has its own size", default=256),
        )
    parser.add_argument(
        "--map-seed",
        type=options.whole(0, options.SEED_LIMIT - 1),
        default=0,
        metavar="N",
        help=explained("--map-seed", "0 to 2**64 - 1", default=0),
    )
    parser.add_argument(
        "--num-maps",
        type=options.whole(1, MAX_COUNT),
        default=1,
        metavar="N",
        help=explained("--num-maps", f"so many of each MAP; 1 to {MAX_COUNT}", default=1),
    )
    parser.add_argument(
        "--num-players",
        type=options.whole(MIN_PLAYERS, MAX_PLAYERS),
        metavar="N",
        help=explained(
            "--num-players",
            f"maps without room for so many spawns are refused; {MIN_PLAYERS} to {MAX_PLAYERS}",
            default="any map is accepted",
        ),
    )
    _add_file_options(parser)
    options.add_json_option(parser)
    parser.set_defaults(run=run)


def _add_file_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("files")
    group.add_argument("--picture", metavar="FILE", help=explained("--picture", "all maps are drawn on it"))
    group.add_argument(
        "--export",
        metavar="FILE",
        help="write the one MAP to FILE, which play --map accepts; it must end in .png, .npy or .txt",
    )
    group.add_argument(
        "--threshold",
        type=options.whole(1, 255),
        metavar="N",
        help="brightness from which a pixel of a file is land; 1 to 255 (default: the file is black and "
        "white only, and white is land)",
    )
    group.add_argument(
        "--block-unreachable", action="store_true", help="block land of a file that players cannot reach"
    )


def run(parsed: argparse.Namespace) -> int:
    """List the maps, or show those that were asked for."""
    _check_arguments(parsed)
    shown = _all_maps(parsed) if parsed.maps or parsed.picture else []
    result: dict[str, Any] = {"maps": [_facts(one) for one in shown]} if shown else catalogue()
    _write_files(parsed, shown)
    result |= {"picture": parsed.picture, "export": parsed.export} if shown else {}
    options.report(parsed, _text(parsed, shown, result), result)
    return 0


def _check_arguments(parsed: argparse.Namespace) -> None:
    """Refuse what cannot be done before time is spent on it."""
    options.check_json(parsed)
    if parsed.picture is not None:
        if not parsed.picture.lower().endswith(".png"):
            raise UsageError(f"argument --picture: {parsed.picture!r} must end in .png")
        options.check_writable("--picture", parsed.picture, options.PICTURE)
    if parsed.export is not None:
        if (count := len(parsed.maps) * parsed.num_maps) != 1:
            raise UsageError(f"argument --export: it writes one map, and {count} were asked for")
        if not options.is_map_file(parsed.export):
            raise UsageError(
                f"argument --export: {parsed.export!r} must end in one of {', '.join(maps.SUFFIXES)}"
            )
        options.check_writable("--export", parsed.export, options.MAP)


# ---- what was asked for ------------------------------------------------------------------------------


def _all_maps(parsed: argparse.Namespace) -> list[Shown]:
    """Return the maps that were asked for; one of every kind and land if none is named."""
    shown, due = list[Shown](), time.perf_counter() + PROGRESS_SECONDS
    for text in parsed.maps or [*KINDS, *LANDS]:
        for one in [_file(parsed, text)] if options.is_map_file(text) else _named(parsed, text):
            _check_room(parsed.num_players, one)
            shown.append(one)
            if time.perf_counter() > due:
                due = time.perf_counter() + PROGRESS_SECONDS
                print(f"{len(shown)} maps made, now making {one.name}", file=sys.stderr, flush=True)
    return shown


def _file(parsed: argparse.Namespace, path: str) -> Shown:
    unreachable: Literal["block", "refuse"] = "block" if parsed.block_unreachable else "refuse"
    try:
        land = maps.load(path, threshold=parsed.threshold, unreachable=unreachable)
    except OSError as error:
        raise UsageError(f"argument MAP: {path!r} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"argument MAP: {error}") from None
    return Shown(path, None, land, land, "water")


def _named(parsed: argparse.Namespace, text: str) -> Iterator[Shown]:
    """Yield ``--num-maps`` maps of a kind, or the one of a land."""
    size = parsed.height or GameConfig().height, parsed.width or GameConfig().width
    try:
        name = parse_map_name(text)
        if not name.kind.is_generated:
            whole, land = (maps.land(text, *size, connected=connected) for connected in (False, True))
            yield Shown(str(name), None, whole, land, name.kind.terrain)
            return
        for i in range(parsed.num_maps):
            yield _generated(name, size, (parsed.map_seed + i) % options.SEED_LIMIT)
    except ValueError as error:
        raise UsageError(f"argument MAP: {error}") from None


def _generated(name: MapName, size: tuple[int, int], seed: int) -> Shown:
    whole = maps.generate(str(name), *size, seed, connected=False)
    return Shown(str(name), seed, whole, maps.largest_region(whole), name.kind.terrain)


def _check_room(num_players: int | None, one: Shown) -> None:
    if num_players is not None and maps.capacity(one.land, enough=num_players) < num_players:
        fitting = maps.capacity(one.land)
        raise UsageError(
            f"argument --num-players: {num_players}, but only {fitting} spawns fit on {one.name}"
        )


def _facts(one: Shown) -> dict[str, Any]:
    """Return what there is to know about a map, as values that JSON has."""
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


def _write_files(parsed: argparse.Namespace, shown: Sequence[Shown]) -> None:
    try:
        if parsed.picture is not None:
            write_png(parsed.picture, draw_sheet([_tile(one) for one in shown]))
        if parsed.export is not None:
            maps.save(shown[0].land, parsed.export)
    except OSError as error:
        raise UsageError(f"{error.filename!r} cannot be written: {error.strerror}") from None


def _tile(one: Shown) -> MapTile:
    facts = _facts(one)
    seed = "" if one.seed is None else f"seed {one.seed}, "
    return MapTile(one.whole, one.land, one.terrain, (one.name, f"{seed}{facts['land_percent']}% in play"))


def _text(parsed: argparse.Namespace, shown: Sequence[Shown], result: Mapping[str, Any]) -> str:
    texts = [] if shown else [catalogue_text(result)]
    for one, facts in zip(shown, result.get("maps", ()), strict=True):
        if parsed.picture is None and parsed.export is None:
            columns = min(PREVIEW_COLUMNS, shutil.get_terminal_size().columns)
            texts.append(draw_text(one.land, columns, sys.stdout.encoding))
        texts.append(_facts_text(facts))
    texts += [f"written: {path}" for path in (parsed.picture, parsed.export) if path is not None]
    return "\n".join(texts)


def _facts_text(facts: Mapping[str, Any]) -> str:
    seed = "" if facts["map_seed"] is None else f" of map_seed {facts['map_seed']}"
    lost = f", {facts['unreachable_cells']:,} out of reach" if facts["unreachable_cells"] else ""
    return (
        f"{facts['name']}{seed}: {facts['height']} x {facts['width']}, {facts['land_cells']:,} cells of land "
        f"({facts['land_percent']} %){lost}, room for {facts['spawns']:,} spawns, digest {facts['digest']}"
    )
