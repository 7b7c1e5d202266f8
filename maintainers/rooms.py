#!/usr/bin/env python3
"""Counts and draws the rooms of the code: the modules and packages right below each package.

    python maintainers/rooms.py                  how many rooms, floors and arrows there are
    python maintainers/rooms.py --draw           the pictures and tables of docs/architecture.md
    python maintainers/rooms.py --check          exit code 1 if the tables are not those of the code

An arrow says that something in one room imports something in another. A room stands one floor above the
highest room that it imports from; import-linter sees to it that there are no circles. Imports are read by
grimp, which import-linter brings; nothing is executed.
"""

import argparse
import ast
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
PACKAGES = ("territorial", "rllib_adapters")
NOT_DRAWN = {
    "__main__",
    "_version",
    "_interrupts",
    "_log",
    "ray_private",
    "requirements",
    "typing",
}
"""Rooms of a few lines that the picture does without."""

Graph = dict[str, set[str]]
"""From each node to those that it imports."""


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draw", action="store_true", help="write the pictures and the tables of the page")
    parser.add_argument("--check", action="store_true", help="only compare the tables of the page")
    parsed = parser.parse_args(argv)
    if parsed.check:
        return check()
    if parsed.draw:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        for package in PACKAGES:
            draw(package, arrows_of(package))
        return 0
    for package in PACKAGES:
        arrows = arrows_of(package)
        floors, num_arrows = set(floors_of(arrows).values()), sum(map(len, arrows.values()))
        print(f"{package}: {len(arrows)} rooms on {len(floors)} floors, {num_arrows} arrows")
    return 0


def check() -> int:
    """Return 1, with a word on stderr, if the tables of the page are not those of the code."""
    text = PAGE.read_text(encoding="utf-8")
    if filled(text) == text:
        return 0
    print("docs/architecture.md is out of date: python maintainers/rooms.py --draw", file=sys.stderr)
    return 1


# ---- reading the code ----------------------------------------------------------------------------


def arrows_of(package: str) -> Graph:
    """Return what the rooms of a package import of each other."""
    graph = grimp.build_graph(package, cache_dir=None)
    modules = graph.modules - {package}
    arrows: Graph = {room_of(module): set() for module in modules}
    for module in modules:
        targets = graph.find_modules_directly_imported_by(module) - {package}
        arrows[room_of(module)] |= set(map(room_of, targets)) - {room_of(module)}
    return arrows


def room_of(module: str) -> str:
    """Return the room of a module: the second part of its name."""
    return module.split(".")[1]


def floors_of(arrows: Graph) -> dict[str, int]:
    """Return the floor of every room, 0 for those that import no other."""

    @cache
    def floor(room: str) -> int:
        return 1 + max(map(floor, arrows[room]), default=-1)

    return {room: floor(room) for room in arrows}


def sentence_of(package: str, room: str) -> str:
    """Return the first line of the docstring of a room."""
    folder = ROOT / package / room
    path = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    return docstring.splitlines()[0] if docstring else ""


# ---- the page ------------------------------------------------------------------------------------


def filled(text: str) -> str:
    """Return the page with the tables of the rooms between their markers."""
    for package in PACKAGES:
        begin, end = f"<!-- {package}:begin -->", f"<!-- {package}:end -->"
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{table(package, arrows_of(package))}\n{end}{rest.split(end)[1]}"
    return text


def table(package: str, arrows: Graph) -> str:
    """Return the rooms from top to bottom, with a sentence each and what they import."""
    floors = floors_of(arrows)
    lines = ["| floor | room | what it is for | imports from |", "|--:|---|---|---|"]
    for room in sorted(arrows.keys() - NOT_DRAWN, key=lambda room: (-floors[room], room)):
        below = ", ".join(sorted(arrows[room] - NOT_DRAWN)) or "nothing"
        lines.append(f"| {floors[room]} | `{package}/{room}` | {sentence_of(package, room)} | {below} |")
    return "\n".join(lines)


# ---- the picture ---------------------------------------------------------------------------------

WIDTH, HEIGHT, GAP = 1.6, 0.36, 0.36
"""Of a box, and between floors, in inches."""
BOX, EDGE, ARROW, TEXT = "#eef4f8", "#2a6f97", "#9fb8c8", "#10222e"


def draw(package: str, arrows: Graph) -> None:
    """Write the picture of a package: the names of its rooms, and arrows to the rooms right below."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    floors = {room: floor for room, floor in floors_of(arrows).items() if room not in NOT_DRAWN}
    places = places_of(floors, arrows)
    width = max(x for x, _ in places.values()) + WIDTH
    height = max(y for _, y in places.values()) + HEIGHT
    figure = plt.figure(figsize=(width + 0.3, height + 0.3))
    axes = figure.add_axes((0, 0, 1, 1), xlim=(-0.15, width + 0.15), ylim=(-0.15, height + 0.15))
    axes.axis("off")
    for room, below in sorted(direct(arrows).items()):
        for other in sorted(below) if room in places else ():
            if other in places:
                (x, y), (end_x, end_y) = places[room], places[other]
                axes.annotate(
                    "",
                    (end_x + WIDTH / 2, end_y + HEIGHT),
                    (x + WIDTH / 2, y),
                    arrowprops={"arrowstyle": "-|>", "color": ARROW, "lw": 1.1, "shrinkA": 0, "shrinkB": 1},
                    zorder=1,
                )
    for room, (x, y) in places.items():
        axes.add_patch(plt.Rectangle((x, y), WIDTH, HEIGHT, fc=BOX, ec=EDGE, lw=1, zorder=2))
        middle, style = x + WIDTH / 2, {"ha": "center", "va": "center", "color": TEXT, "zorder": 3}
        axes.text(middle, y + HEIGHT / 2, room, size=12, weight="bold", **style)
    figure.savefig(ROOT / "docs" / "images" / f"rooms_{package}.png", dpi=110, metadata={"Software": None})
    plt.close(figure)


def places_of(floors: Mapping[str, int], arrows: Graph) -> dict[str, tuple[float, float]]:
    """Return the lower left corner of every box: floors from the bottom up, rooms near those they import."""
    rows = {floor: sorted(room for room in floors if floors[room] == floor) for floor in set(floors.values())}
    widest = max(map(len, rows.values())) * (WIDTH + 0.25)
    places: dict[str, tuple[float, float]] = {}
    for level, floor in enumerate(sorted(rows)):
        row = sorted(rows[floor], key=lambda room: mean(places[to][0] for to in arrows[room] if to in places))
        start = (widest - len(row) * (WIDTH + 0.25)) / 2
        places |= {room: (start + i * (WIDTH + 0.25), level * (HEIGHT + GAP)) for i, room in enumerate(row)}
    return places


def mean(numbers: Iterable[float]) -> float:
    """Return the mean; 0 of none."""
    numbers = list(numbers)
    return sum(numbers) / len(numbers) if numbers else 0.0


def direct(arrows: Graph) -> Graph:
    """Return the arrows without those that a longer way makes needless."""

    def reach(room: str) -> set[str]:
        return set().union(*({other, *reach(other)} for other in arrows[room]), ())

    return {
        room: {to for to in below if not any(to in reach(other) for other in below - {to})}
        for room, below in arrows.items()
    }


if __name__ == "__main__":
    sys.exit(main())
