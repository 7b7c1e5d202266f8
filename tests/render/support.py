"""Boards to draw, and reading back what was drawn."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.render.font import text_mask

Image = npt.NDArray[np.uint8]

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


def contains(image: Image, text: str, color: tuple[int, int, int], size: int = 1) -> bool:
    """Whether ``text`` stands somewhere in ``image`` in ``color``."""
    ink = (image == color).all(axis=2)
    mask = text_mask(text, size)[:, :-size]  # without the gap after the last character
    windows = np.lib.stride_tricks.sliding_window_view(ink, mask.shape)
    return bool((windows == mask).all(axis=(2, 3)).any())


def png_chunks(data: bytes) -> list[tuple[bytes, bytes]]:
    """The chunks of a PNG file; every length and checksum is verified."""
    assert data[:8] == bytes([137, 80, 78, 71, 13, 10, 26, 10])
    chunks, at = [], 8
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack_from(">I", data, at + 8 + length)[0] == zlib.crc32(kind + body)
        chunks.append((kind, body))
        at += 12 + length
    assert at == len(data)
    return chunks


def decode_png(data: bytes) -> Image:
    """The picture in an unfiltered 8-bit RGB file."""
    chunks = png_chunks(data)
    assert [kind for kind, _ in chunks] == [b"IHDR", b"IDAT", b"IEND"]
    width, height, *form = struct.unpack(">IIBBBBB", chunks[0][1])
    assert form == [8, 2, 0, 0, 0]
    return _pixels(chunks[1][1], height, width, 3)


def decode_apng(data: bytes) -> tuple[list[Image], list[float]]:
    """The pictures of an unfiltered RGBA animation as they are shown, and the seconds of each."""
    chunks = png_chunks(data)
    header, control, *frames, end = chunks
    width, height, *form = struct.unpack(">IIBBBBB", header[1])
    assert (header[0], form) == (b"IHDR", [8, 6, 0, 0, 0])
    assert (control[0], end[0]) == (b"acTL", b"IEND")
    count, plays = struct.unpack(">II", control[1])
    assert plays == 0
    assert len(frames) == 2 * count
    shown: Image = np.zeros((height, width, 3), np.uint8)
    pictures, seconds, sequence = [], [], 0
    for i, (place, pixels) in enumerate(zip(frames[::2], frames[1::2], strict=True)):
        number, w, h, x, y, delay, unit, dispose, blend = struct.unpack(">IIIIIHHBB", place[1])
        assert (place[0], number, dispose, blend) == (b"fcTL", sequence, 0, 1)
        data_of_frame, sequence = pixels[1], sequence + 1
        if i == 0:
            assert (pixels[0], x, y, w, h) == (b"IDAT", 0, 0, width, height)
        else:
            assert pixels[0] == b"fdAT"
            assert struct.unpack_from(">I", data_of_frame)[0] == sequence
            data_of_frame, sequence = data_of_frame[4:], sequence + 1
        layer = _pixels(data_of_frame, h, w, 4)
        assert set(np.unique(layer[..., 3])) <= {0, 255}
        area = shown[y : y + h, x : x + w]
        assert area.shape[:2] == (h, w)
        np.copyto(area, layer[..., :3], where=layer[..., 3:] == 255)
        pictures.append(shown.copy())
        seconds.append(delay / unit)
    return pictures, seconds


def _pixels(compressed: bytes, height: int, width: int, channels: int) -> Any:
    lines = np.frombuffer(zlib.decompress(compressed), np.uint8).reshape(height, 1 + channels * width)
    assert not lines[:, 0].any()  # no filter
    return lines[:, 1:].reshape(height, width, channels)
