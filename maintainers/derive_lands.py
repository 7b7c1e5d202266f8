#!/usr/bin/env python3
"""Derives the lands of territorial/maps/lands/ from public data.

    python -m venv lands && lands/bin/pip install numpy numba gymnasium pettingzoo global-land-mask==1.0.0
    PYTHONPATH=. lands/bin/python maintainers/derive_lands.py            write the files
    PYTHONPATH=. lands/bin/python maintainers/derive_lands.py --check    exit code 1 if that would change one

The source is the mask of land and ocean that the PyPI package ``global-land-mask`` 1.0.0 carries: 21,600 x
43,200 cells of half a minute of arc, made of the elevations of NOAA's GLOBE data set, which is in the
public domain. A cell of a land is land if at least half of 16 x 16 points spread over it are.
"""

import argparse
import hashlib
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.config.map_names import LANDS
from territorial.files.png import png_file, read_png
from territorial.maps.lands import LAND_SIDE
from territorial.maps.regions import keep_largest, label_regions

FOLDER = Path(__file__).resolve().parents[1] / "territorial/maps/lands"
TABLE = "lands.json"
SOURCE_SHA256 = "ef089657594dcdd5bff443b96a24e6fa094fa65fd08c6cd1d7c8368ed6bcbeeb"
POINTS = 16
"""Points looked at along either side of a cell."""
EARTH_KM = 6371.0

Degrees = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


class MapSquare(NamedTuple):
    """A square of the globe: Lambert's azimuthal equal-area projection round its middle."""

    latitude: float
    longitude: float
    side_km: float

    def coordinates(self, x: Degrees, y: Degrees) -> tuple[Degrees, Degrees]:
        """Return latitude and longitude in degrees of points of the unit square, y pointing down."""
        east, north = (x - 0.5) * self.side_km / EARTH_KM, (0.5 - y) * self.side_km / EARTH_KM
        distance = np.hypot(east, north)
        angle = 2 * np.arcsin(np.clip(distance / 2, 0, 1))
        middle = np.radians(self.latitude)
        sine, cosine = np.sin(angle), np.cos(angle)
        ratio = np.divide(north, distance, out=np.zeros_like(north), where=distance > 0)
        latitude = np.arcsin(np.clip(cosine * np.sin(middle) + ratio * sine * np.cos(middle), -1, 1))
        around = np.arctan2(east * sine, distance * np.cos(middle) * cosine - north * np.sin(middle) * sine)
        return np.degrees(latitude), self.longitude + np.degrees(around)

    def __str__(self) -> str:
        return (
            f"Lambert azimuthal equal-area round {abs(self.latitude):g} {'N' if self.latitude >= 0 else 'S'} "
            f"{abs(self.longitude):g} {'E' if self.longitude >= 0 else 'W'}, {self.side_km:,.0f} km a side"
        )


class Globe(NamedTuple):
    """The whole globe between two latitudes: the cylindrical equal-area projection, squeezed to a square."""

    south: float
    north: float
    west: float
    """Where the map begins; it ends there, too."""

    def coordinates(self, x: Degrees, y: Degrees) -> tuple[Degrees, Degrees]:
        """Return latitude and longitude in degrees of points of the unit square, y pointing down."""
        low, high = np.sin(np.radians(self.south)), np.sin(np.radians(self.north))
        return np.degrees(np.arcsin(high + (low - high) * y)), self.west + 360 * x

    def __str__(self) -> str:
        return (
            f"cylindrical equal-area from {abs(self.south):g} S to {self.north:g} N, "
            f"from {abs(self.west):g} W round the globe"
        )


FRAMES: dict[str, MapSquare | Globe] = {
    "world": Globe(-56, 78, -169),
    "africa": MapSquare(3, 22, 8600),
    "asia": MapSquare(38, 90, 9400),
    "australia": MapSquare(-26, 146, 6200),
    "britain": MapSquare(54.6, -3.6, 1150),
    "caribbean": MapSquare(18.5, -83, 4600),
    "europe": MapSquare(51, 14, 4700),
    "iceland": MapSquare(65, -18.8, 560),
    "italy": MapSquare(42, 12.5, 1350),
    "japan": MapSquare(38.2, 137.2, 1680),
    "mediterranean": MapSquare(38.5, 18, 4300),
    "new_zealand": MapSquare(-41, 172.7, 1490),
    "north_america": MapSquare(45, -98, 8200),
    "scandinavia": MapSquare(62.5, 18.5, 2200),
    "south_america": MapSquare(-22, -60, 8000),
}


LEFT_OUT = {"japan": ((36.5, 129.0), (43.5, 131.8))}
"""Points (latitude, longitude) on regions that are blocked: without that, they would be the largest."""


def main(argv: list[str] | None = None) -> int:
    """Write or check all files and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="change nothing, only compare")
    parsed = parser.parse_args(argv)
    if set(FRAMES) != set(LANDS):
        raise SystemExit(f"frames and names differ: {sorted(set(FRAMES) ^ set(LANDS))}")
    is_land = load_source()
    code, table = 0, {}
    for name in LANDS:
        cells = rasterized(FRAMES[name], is_land)
        for point in LEFT_OUT.get(name, ()):
            leave_out(cells, FRAMES[name], point)
        table[name] = describe(name, cells)
        code |= write_or_compare(FOLDER / f"{name}.png", picture_of(name, cells), check=parsed.check)
        print(f"{name:14} {table[name]}", flush=True)
    text = json.dumps({"source_sha256": SOURCE_SHA256, "lands": table}, indent=2) + "\n"
    return code | write_or_compare(FOLDER / TABLE, text.encode(), check=parsed.check)


def load_source() -> Callable[[Degrees, Degrees], Mask]:
    """Return a function of latitudes and longitudes, in degrees, to whether there is land."""
    spec = importlib.util.find_spec("global_land_mask")
    if spec is None or spec.origin is None:
        raise SystemExit("the source is not installed: pip install global-land-mask==1.0.0")
    path = Path(spec.origin).parent / "globe_combined_mask_compressed.npz"
    if hashlib.sha256(path.read_bytes()).hexdigest() != SOURCE_SHA256:
        raise SystemExit(f"{path} is not the file that these lands were derived from")
    ocean = np.load(path)["mask"]
    rows, columns = ocean.shape  # row 0 begins at 90 N, column 0 at 180 W

    def is_land(latitude: Degrees, longitude: Degrees) -> Mask:
        row = np.clip(np.floor((90 - latitude) / 180 * rows), 0, rows - 1).astype(np.int64)
        column = np.floor((longitude + 180) % 360 / 360 * columns).astype(np.int64) % columns
        found: Mask = ~ocean[row, column]
        return found

    return is_land


def rasterized(frame: MapSquare | Globe, is_land: Callable[[Degrees, Degrees], Mask]) -> Mask:
    """Return the land of a frame, bool (LAND_SIDE, LAND_SIDE)."""
    place = (np.arange(LAND_SIDE * POINTS) + 0.5) / (LAND_SIDE * POINTS)
    rows = [_row(frame, is_land, place, y) for y in place.reshape(LAND_SIDE, POINTS)]
    cells: Mask = 2 * np.array(rows) >= POINTS * POINTS
    return cells


def _row(
    frame: MapSquare | Globe, is_land: Callable[[Degrees, Degrees], Mask], x: Degrees, y: Degrees
) -> npt.NDArray[np.int64]:
    """Return how many points of each cell of a row are land; ``y`` are those of the row."""
    hits = is_land(*frame.coordinates(*np.meshgrid(x, y)))
    counts: npt.NDArray[np.int64] = hits.reshape(POINTS, LAND_SIDE, POINTS).sum(axis=(0, 2))
    return counts


def leave_out(cells: Mask, frame: MapSquare | Globe, point: tuple[float, float]) -> None:
    """Block the region of ``cells`` that has a point, latitude and longitude, in it."""
    place = (np.arange(LAND_SIDE) + 0.5) / LAND_SIDE
    latitude, longitude = frame.coordinates(*np.meshgrid(place, place))
    cell = np.hypot(latitude - point[0], longitude - point[1]).argmin()
    labels = label_regions(cells)
    if labels.ravel()[cell] == 0:
        raise SystemExit(f"{point} is no land")
    cells[labels == labels.ravel()[cell]] = False


def describe(name: str, cells: Mask) -> dict[str, str | float]:
    """Return what is written down about a land."""
    largest = int(keep_largest(cells).sum())
    return {
        "projection": str(FRAMES[name]),
        "land_percent": round(100 * int(cells.sum()) / cells.size, 1),
        "largest_region_percent_of_land": round(100 * largest / int(cells.sum()), 1),
    }


def picture_of(name: str, cells: Mask) -> bytes:
    """Return the file of a land: that which is there if it shows the same, however it was compressed."""
    path = FOLDER / f"{name}.png"
    kept = path.read_bytes() if path.exists() else b""
    if kept and np.array_equal(read_png(kept, LAND_SIDE, LAND_SIDE)[:, :, 0] == 255, cells):
        return kept
    return png_file(cells)


def write_or_compare(path: Path, content: bytes, *, check: bool) -> int:
    """Write ``content`` to ``path``, or return 1 if that would change it."""
    is_same = path.exists() and path.read_bytes() == content
    if check and not is_same:
        print(f"{path.name} is not what this would write", file=sys.stderr)
        return 1
    if not is_same:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
