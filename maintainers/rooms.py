#!/usr/bin/env python3
"""Counts and draws the rooms of the code: the modules and packages right below each package.

    python maintainers/rooms.py                  rooms, floors, arrows and circles of the files as they are
    python maintainers/rooms.py v0.1 HEAD        of two revisions
    python maintainers/rooms.py --draw           the pictures and tables of docs/architecture.md
    python maintainers/rooms.py --check          exit code 1 if the tables are not those of the code

An arrow says that something in one room imports something in another. A room stands one floor above the
highest room that it imports from. A circle is a set of rooms, or of modules of a room, that import each
other. Imports are read by grimp, which import-linter brings; nothing is executed.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
PACKAGES = ("territorial", "rllib_adapters")
NOT_DRAWN = {
    "__main__",
    "_version",
    "_interrupts",
    "ray_private",
    "requirements",
    "typing",
}
"""Rooms of a few lines that the picture does without."""
AS_IT_IS = "the files as they are"

Graph = dict[str, set[str]]
"""From each node to those that it imports."""


@dataclass(frozen=True)
class Rooms:
    """The rooms of a package and what they import of each other."""

    arrows: Graph
    circles: list[list[str]]

    @property
    def num_arrows(self) -> int:
        """How many pairs of rooms there are of which one imports the other."""
        return sum(map(len, self.arrows.values()))

    def floors(self) -> dict[str, int]:
        """Return the floor of every room, 0 for those that import no other; circles stand on one floor."""
        floors: dict[str, int] = {}
        for group in circles_last(self.arrows):
            below = {floors[other] for room in group for other in self.arrows[room] if other not in group}
            floors.update(dict.fromkeys(group, 1 + max(below, default=-1)))
        return floors


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("revisions", nargs="*", help=f"of the repository; none: {AS_IT_IS}")
    parser.add_argument("--draw", action="store_true", help="write the pictures and the tables of the page")
    parser.add_argument("--check", action="store_true", help="only compare the tables of the page")
    parsed = parser.parse_args(argv)
    if parsed.check:
        return check()
    if parsed.draw:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        for package in PACKAGES:
            draw(package, rooms_of(ROOT, package))
        return 0
    for revision in parsed.revisions or [None]:
        with tree(revision) as folder:
            for package in PACKAGES:
                print(report(revision or AS_IT_IS, package, rooms_of(folder, package)))
    return 0


def check() -> int:
    """Return 1, with a word on stderr, if the tables of the page are not those of the code."""
    text = PAGE.read_text(encoding="utf-8")
    if filled(text) == text:
        return 0
    print("docs/architecture.md is out of date: python maintainers/rooms.py --draw", file=sys.stderr)
    return 1


def report(revision: str, package: str, rooms: Rooms) -> str:
    """Return the counts of a package as text, with all circles."""
    counts = (
        f"{len(rooms.arrows)} rooms on {len(set(rooms.floors().values()))} floors, {rooms.num_arrows} arrows"
    )
    circles = [f"    circle: {', '.join(circle)}" for circle in rooms.circles]
    return "\n".join([f"{revision}: {package}: {counts}, {len(circles)} circles", *circles])


# ---- reading the code ----------------------------------------------------------------------------


@contextmanager
def tree(revision: str | None) -> Iterator[Path]:
    """Yield a folder with the files of a revision; of None, the repository itself."""
    if revision is None:
        yield ROOT
        return
    command = ["git", "-C", str(ROOT), "archive", revision, *PACKAGES]
    files = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    with tempfile.TemporaryDirectory() as folder, tarfile.open(fileobj=BytesIO(files)) as archive:
        archive.extractall(folder, filter="data")
        yield Path(folder)


def rooms_of(folder: Path, package: str) -> Rooms:
    """Return the rooms of a package that lies in ``folder``."""
    imports = imports_of(folder, package)
    arrows: Graph = {room_of(module): set() for module in imports if module != package}
    for module, targets in imports.items():
        for target in targets - {package}:
            if module != package and room_of(module) != room_of(target):
                arrows[room_of(module)].add(room_of(target))
    return Rooms(arrows, [*circles_of(arrows), *inner_circles(imports)])


def imports_of(folder: Path, package: str) -> Graph:
    """Return what every module of a package imports of it."""
    sys.path.insert(0, str(folder))
    try:
        graph = grimp.build_graph(package, cache_dir=None)
    finally:
        sys.path.remove(str(folder))
    return {module: set(graph.find_modules_directly_imported_by(module)) for module in graph.modules}


def room_of(module: str) -> str:
    """Return the room of a module: the second part of its name."""
    return module.split(".")[1]


def inner_circles(imports: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the circles between the modules of one room."""
    inside = {
        module: {target for target in targets if room_or_none(target) == room_or_none(module)}
        for module, targets in imports.items()
        if module.count(".") > 1
    }
    return circles_of({module: targets & inside.keys() for module, targets in inside.items()})


def room_or_none(module: str) -> str | None:
    """Return the room of a module; None for the package itself."""
    return room_of(module) if "." in module else None


def circles_of(arrows: Graph) -> list[list[str]]:
    """Return the sets of nodes that can be reached from each other, of two or more."""
    return [sorted(group) for group in circles_last(arrows) if len(group) > 1]


def circles_last(arrows: Graph) -> list[list[str]]:
    """Return all nodes, those that reach each other together, after all that they import.

    Tarjan's algorithm: R. Tarjan, "Depth-first search and linear graph algorithms", 1972.
    """
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = lowest[node] = len(index)
        stack.append(node)
        for other in sorted(arrows[node]):
            if other not in index:
                visit(other)
            if other in stack:
                lowest[node] = min(lowest[node], lowest[other])
        if lowest[node] == index[node]:
            place = stack.index(node)
            groups.append(stack[place:])
            del stack[place:]

    for node in sorted(arrows):
        if node not in index:
            visit(node)
    return groups


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
        text = f"{before}{begin}\n{table(package, rooms_of(ROOT, package))}\n{end}{rest.split(end)[1]}"
    return text


def table(package: str, rooms: Rooms) -> str:
    """Return the rooms from top to bottom, with a sentence each and what they import."""
    floors = rooms.floors()
    lines = ["| floor | room | what it is for | imports from |", "|--:|---|---|---|"]
    for room in sorted(rooms.arrows.keys() - NOT_DRAWN, key=lambda room: (-floors[room], room)):
        below = ", ".join(sorted(rooms.arrows[room] - NOT_DRAWN)) or "nothing"
        lines.append(f"| {floors[room]} | `{package}/{room}` | {sentence_of(package, room)} | {below} |")
    return "\n".join(lines)


# ---- the picture ---------------------------------------------------------------------------------

WIDTH, HEIGHT, GAP = 1.6, 0.36, 0.36
"""Of a box, and between floors, in inches."""
BOX, EDGE, ARROW, TEXT = "#eef4f8", "#2a6f97", "#9fb8c8", "#10222e"


def draw(package: str, rooms: Rooms) -> None:
    """Write the picture of a package: the names of its rooms, and arrows to the rooms right below."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    floors = {room: floor for room, floor in rooms.floors().items() if room not in NOT_DRAWN}
    places = places_of(floors, rooms.arrows)
    width = max(x for x, _ in places.values()) + WIDTH
    height = max(y for _, y in places.values()) + HEIGHT
    figure = plt.figure(figsize=(width + 0.3, height + 0.3))
    axes = figure.add_axes((0, 0, 1, 1), xlim=(-0.15, width + 0.15), ylim=(-0.15, height + 0.15))
    axes.axis("off")
    for room, below in sorted(direct(rooms.arrows).items()):
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
