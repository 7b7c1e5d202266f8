#!/usr/bin/env python3
"""Counts and draws the layers of packages, and fills their tables.

    python maintainers/layers.py                how many packages, layers and arrows there are
    python maintainers/layers.py --draw         the pictures and tables of docs/architecture.md
    python maintainers/layers.py --check        exit code 1 if the tables are not those of the code

An arrow says that something in one package imports something in another. A package stands one layer above the
highest package that it imports from; import-linter sees to it that there are no circles. Imports are read by
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
TOP_PACKAGES = ("territorial", "rllib_adapters")
NOT_DRAWN = {
    "__main__",
    "_version",
    "_lazy",
    "_log",
    "ray_private",
    "requirements",
    "typing",
}
"""Packages of a few lines that the picture and the tables do without."""

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
        for top in TOP_PACKAGES:
            draw(top, arrows_of(top))
        return 0
    for top in TOP_PACKAGES:
        arrows = arrows_of(top)
        layers, num_arrows = set(layers_of(arrows).values()), sum(map(len, arrows.values()))
        print(f"{top}: {len(arrows)} packages on {len(layers)} layers, {num_arrows} arrows")
    return 0


def check() -> int:
    """Return 1, with a word on stderr, if the tables of the page are not those of the code."""
    text = PAGE.read_text(encoding="utf-8")
    if filled(text) == text:
        return 0
    print("docs/architecture.md is out of date: python maintainers/layers.py --draw", file=sys.stderr)
    return 1


# ---- reading the code ----------------------------------------------------------------------------


def arrows_of(top: str) -> Graph:
    """Return what the packages of a top package import of each other."""
    graph = grimp.build_graph(top, cache_dir=None)
    modules = {module for module in graph.modules - {top} if package_of(module) not in NOT_DRAWN}
    arrows: Graph = {package_of(module): set() for module in modules}
    for module in modules:
        targets = graph.find_modules_directly_imported_by(module) & modules
        arrows[package_of(module)] |= set(map(package_of, targets)) - {package_of(module)}
    return arrows


def package_of(module: str) -> str:
    """Return the package of a module: the second part of its name."""
    return module.split(".")[1]


def layers_of(arrows: Graph) -> dict[str, int]:
    """Return the layer of every package, 0 for those that import no other."""

    @cache
    def layer(package: str) -> int:
        return 1 + max(map(layer, arrows[package]), default=-1)

    return {package: layer(package) for package in arrows}


def sentence_of(top: str, package: str) -> str:
    """Return the first line of the docstring of a package."""
    folder = ROOT / top / package
    path = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    return docstring.splitlines()[0] if docstring else ""


# ---- the page ------------------------------------------------------------------------------------


def filled(text: str) -> str:
    """Return the page with the tables of the packages between their markers."""
    for top in TOP_PACKAGES:
        begin, end = f"<!-- {top}:begin -->", f"<!-- {top}:end -->"
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{table(top, arrows_of(top))}\n{end}{rest.split(end)[1]}"
    return text


def table(top: str, arrows: Graph) -> str:
    """Return the packages from top to bottom, with a sentence each and what they import."""
    layers = layers_of(arrows)
    lines = ["| layer | package | what it is for | imports from |", "|--:|---|---|---|"]
    for package in sorted(arrows, key=lambda package: (-layers[package], package)):
        below = ", ".join(sorted(arrows[package])) or "nothing"
        lines.append(f"| {layers[package]} | `{top}/{package}` | {sentence_of(top, package)} | {below} |")
    return "\n".join(lines)


# ---- the picture ---------------------------------------------------------------------------------

WIDTH, HEIGHT, GAP = 1.6, 0.36, 0.36
"""Of a box, and between layers, in inches."""
BOX, EDGE, ARROW, TEXT = "#eef4f8", "#2a6f97", "#9fb8c8", "#10222e"


def draw(top: str, arrows: Graph) -> None:
    """Write the picture of a top package: the names of its packages, and arrows to those right below."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    places = places_of(layers_of(arrows), arrows)
    width = max(x for x, _ in places.values()) + WIDTH
    height = max(y for _, y in places.values()) + HEIGHT
    figure = plt.figure(figsize=(width + 0.3, height + 0.3))
    axes = figure.add_axes((0, 0, 1, 1), xlim=(-0.15, width + 0.15), ylim=(-0.15, height + 0.15))
    axes.axis("off")
    for package, below in sorted(direct(arrows).items()):
        for other in sorted(below):
            (x, y), (end_x, end_y) = places[package], places[other]
            axes.annotate(
                "",
                (end_x + WIDTH / 2, end_y + HEIGHT),
                (x + WIDTH / 2, y),
                arrowprops={"arrowstyle": "-|>", "color": ARROW, "lw": 1.1, "shrinkA": 0, "shrinkB": 1},
                zorder=1,
            )
    for package, (x, y) in places.items():
        axes.add_patch(plt.Rectangle((x, y), WIDTH, HEIGHT, fc=BOX, ec=EDGE, lw=1, zorder=2))
        middle, style = x + WIDTH / 2, {"ha": "center", "va": "center", "color": TEXT, "zorder": 3}
        axes.text(middle, y + HEIGHT / 2, package, size=12, weight="bold", **style)
    figure.savefig(ROOT / "docs" / "images" / f"layers_{top}.png", dpi=110, metadata={"Software": None})
    plt.close(figure)


def places_of(layers: Mapping[str, int], arrows: Graph) -> dict[str, tuple[float, float]]:
    """Return the lower left corner of every box: layers from the bottom up, packages near their imports."""
    rows = {
        layer: sorted(package for package in layers if layers[package] == layer)
        for layer in set(layers.values())
    }
    widest = max(map(len, rows.values())) * (WIDTH + 0.25)
    places: dict[str, tuple[float, float]] = {}
    for level, layer in enumerate(sorted(rows)):
        row = sorted(rows[layer], key=lambda package: mean(places[to][0] for to in arrows[package]))
        start = (widest - len(row) * (WIDTH + 0.25)) / 2
        places |= {
            package: (start + i * (WIDTH + 0.25), level * (HEIGHT + GAP)) for i, package in enumerate(row)
        }
    return places


def mean(numbers: Iterable[float]) -> float:
    """Return the mean; 0 of none."""
    numbers = list(numbers)
    return sum(numbers) / len(numbers) if numbers else 0.0


def direct(arrows: Graph) -> Graph:
    """Return the arrows without those that a longer way makes needless."""

    def reach(package: str) -> set[str]:
        return set().union(*({other, *reach(other)} for other in arrows[package]), ())

    return {
        package: {to for to in below if not any(to in reach(other) for other in below - {to})}
        for package, below in arrows.items()
    }


if __name__ == "__main__":
    sys.exit(main())
