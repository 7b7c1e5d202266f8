"""Boards to draw, and reading back what was drawn."""

import http.client
import io
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image as Pictures
from PIL import ImageSequence

from territorial.render.board import seen
from territorial.render.labels import RIM, draw_text, text_width
from territorial.render.renderer import PAPER

Image = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]

BOARD = np.array([[0, 0, 0, 0], [0, 1, 1, 2], [0, 1, 1, 2], [255, 255, 2, 2]], np.uint8)


def random_board(height: int, width: int, num_players: int, seed: int = 0) -> npt.NDArray[np.uint8]:
    """Owner codes in blobs: whoever has the nearest of some random points, free land and water among them."""
    rng = np.random.default_rng(seed)
    points = rng.integers(0, (height, width), (3 * num_players, 2))
    codes = rng.permutation(np.resize([*range(1, num_players + 1), 0, 255], len(points)))
    rows, columns = np.indices((height, width))
    distance = np.abs(rows - points[:, 0, None, None]) + np.abs(columns - points[:, 1, None, None])
    return codes.astype(np.uint8)[distance.argmin(axis=0)]


def land_of(owner: npt.NDArray[np.uint8], num_players: int) -> npt.NDArray[np.int64]:
    """Cells of seats 1..P."""
    return np.bincount(owner.ravel(), minlength=256)[1 : num_players + 1]


def contains(
    image: Image, text: str, color: tuple[int, int, int], size: int, ground: Any = PAPER, *, rim: bool = False
) -> bool:
    """Whether ``text`` stands somewhere in ``image``, every pixel of it, over a ground of one colour."""
    wanted = _packed(_written(text, color, size, ground, rim))
    found = _packed(image)
    height, width = (found.shape[axis] - wanted.shape[axis] + 1 for axis in (0, 1))
    if min(height, width) < 1:
        return False
    rows, columns = np.indices((height, width)).reshape(2, -1)
    pixels = np.argwhere(np.ones(wanted.shape, bool))
    is_ink = wanted[*pixels.T] != wanted[0, 0]  # what differs from the ground is rare: first
    for row, column in [*pixels[is_ink], *pixels[~is_ink]]:
        stays = found[rows + row, columns + column] == wanted[row, column]
        rows, columns = rows[stays], columns[stays]
    return len(rows) > 0


def _written(text: str, color: tuple[int, int, int], size: int, ground: Any, rim: bool) -> Image:
    """The smallest picture of ``text`` with one line of ground around its ink."""
    sheet = np.full((3 * size, text_width(text, size) + 2 * size, 3), ground, np.uint8)
    for down, right in RIM if rim else ():
        draw_text(sheet, 2 * size + down, size + right, text, (255, 255, 255), size)
    draw_text(sheet, 2 * size, size, text, color, size)
    is_ink = (sheet != np.array(ground, np.uint8)).any(axis=2)
    rows, columns = np.flatnonzero(is_ink.any(axis=1)), np.flatnonzero(is_ink.any(axis=0))
    return sheet[rows[0] - 1 : rows[-1] + 2, columns[0] - 1 : columns[-1] + 2]


def _packed(image: Image) -> npt.NDArray[np.int64]:
    packed: npt.NDArray[np.int64] = image @ np.array([1, 2**8, 2**16])
    return packed


def decode_png(data: bytes) -> Image:
    """The picture in an RGB file of 8 bits."""
    with Pictures.open(io.BytesIO(data), formats=["PNG"]) as picture:
        assert picture.mode == "RGB"
        return np.array(picture)


def decode_animation(data: bytes) -> tuple[list[Image], list[float]]:
    """The pictures of a GIF file as they are shown, and the seconds of each."""
    with Pictures.open(io.BytesIO(data), formats=["GIF"]) as animation:
        assert animation.info["loop"] == 0
        pictures, seconds = [], []
        for picture in ImageSequence.Iterator(animation):
            shown = np.array(picture.convert("RGBA"))
            assert (shown[:, :, 3] == 255).all()
            pictures.append(shown[:, :, :3])
            seconds.append(picture.info["duration"] / 1000)
    return pictures, seconds


def ask(address: tuple[str, int], request: bytes) -> tuple[int, dict[str, str], bytes]:
    """Return the whole answer of a server to the bytes of a request, as status, headers and body."""
    with socket.create_connection(address, timeout=300) as connection:
        connection.sendall(request)
        answer = http.client.HTTPResponse(connection, method=request.split(b" ")[0].decode())
        answer.begin()
        return answer.status, dict(answer.headers), answer.read()


@contextmanager
def running(server: Any) -> Iterator[Any]:
    """Give a server that answers within the block."""
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def ciede2000(one: Floats, other: Floats) -> Floats:
    """Return the distance CIEDE2000 of CIELAB colours (..., 3): 1 can just be seen, side by side.

    G. Sharma, W. Wu and E. N. Dalal, "The CIEDE2000 Color-Difference Formula: Implementation Notes,
    Supplementary Test Data, and Mathematical Observations", 2005; the numbers are theirs.
    """
    (l1, a1, b1), (l2, a2, b2) = np.moveaxis(one, -1, 0), np.moveaxis(other, -1, 0)
    mean_c7 = ((np.hypot(a1, b1) + np.hypot(a2, b2)) / 2) ** 7
    stretch = 1.5 - 0.5 * np.sqrt(mean_c7 / (mean_c7 + 25.0**7))
    a1, a2 = a1 * stretch, a2 * stretch
    c1, c2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = np.degrees(np.arctan2(b1, a1)) % 360, np.degrees(np.arctan2(b2, a2)) % 360
    is_grey, turn, total = c1 * c2 == 0, h2 - h1, h1 + h2
    dh = np.where(is_grey, 0, turn - 360 * (turn > 180) + 360 * (turn < -180))
    far = np.where(total < 360, (total + 360) / 2, (total - 360) / 2)
    h = np.where(is_grey, total, np.where(np.abs(turn) <= 180, total / 2, far))
    lightness, c = (l1 + l2) / 2, (c1 + c2) / 2
    t = 1 - 0.17 * _cos(h - 30) + 0.24 * _cos(2 * h) + 0.32 * _cos(3 * h + 6) - 0.20 * _cos(4 * h - 63)
    rotation = (
        -2 * np.sqrt(c**7 / (c**7 + 25.0**7)) * np.sin(np.radians(60 * np.exp(-(((h - 275) / 25) ** 2))))
    )
    dl = (l2 - l1) / (1 + 0.015 * (lightness - 50) ** 2 / np.sqrt(20 + (lightness - 50) ** 2))
    dc = (c2 - c1) / (1 + 0.045 * c)
    dh = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(dh / 2)) / (1 + 0.015 * c * t)
    distance: Floats = np.sqrt(dl**2 + dc**2 + dh**2 + rotation * dc * dh)
    return distance


def _cos(degrees: Floats) -> Floats:
    cosine: Floats = np.cos(np.radians(degrees))
    return cosine


def least_distance(rgb: npt.ArrayLike, view: str = "all cones") -> float:
    """Return the CIEDE2000 of the two of (n, 3) sRGB colours that are nearest to each other in a view."""
    lab = seen(rgb, view)
    i, j = np.triu_indices(len(lab), 1)
    return float(ciede2000(lab[i], lab[j]).min())
