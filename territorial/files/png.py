"""Reading and writing PNG files, from pixel chunks only."""

from __future__ import annotations

import io
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:  # Pillow is loaded for the first picture, so that `import territorial` stays quick
    from PIL import Image

SIGNATURE = b"\x89PNG\r\n\x1a\n"
Pixels = npt.NDArray[np.uint8]

MOST_CHUNKS = 2**14
"""Chunks of a file that are looked at. Encoders write 8 KB a chunk, or a row: the largest map has 1,024."""
_PIXEL_CHUNKS = (b"IHDR", b"PLTE", b"IDAT", b"IEND")


class PngError(ValueError):
    """The bytes are no PNG picture that is read here; the message says why."""


def read_png(data: bytes, min_side: int, max_side: int) -> Pixels:
    """Return the picture in ``data`` as RGB, uint8 (H, W, 3).

    Reads what the format has: grey, palettes, RGB, 1 to 16 bits, interlaced or not. Of 16 bits the upper 8
    count, and what has an alpha channel must be opaque. Sides outside ``min_side`` to ``max_side`` are
    refused before anything is decompressed, and no more is than such a picture holds. Texts, profiles and
    animations are passed over, still packed. Raises PngError.
    """
    if not data.startswith(SIGNATURE):
        raise PngError("it is not a PNG file: its first 8 bytes are not those of one")
    alone = _picture_alone(data)
    width, height = struct.unpack_from(">II", alone, 16)
    for name, side in (("high", height), ("wide", width)):
        if not min_side <= side <= max_side:
            raise PngError(f"the picture is {side:,} pixels {name}; it must be {min_side} to {max_side}")
    return _decoded(alone)


def _picture_alone(data: bytes) -> bytes:
    """Return the file without texts, profiles and animations.

    Pillow would unpack up to 64 MB of texts. To begin an animation it would fill a picture of the size that
    the last of several headers claims, before anybody can ask it for that size.
    """
    at, kept = len(SIGNATURE), [SIGNATURE]
    for number in range(MOST_CHUNKS):
        if at + 12 > len(data):
            raise PngError(f"it is cut off at byte {len(data)}, before its last chunk (IEND)")
        length, kind = struct.unpack_from(">I4s", data, at)
        if (kind == b"IHDR") != (number == 0):
            raise PngError("it must have one header (IHDR), as its first chunk")
        if kind in _PIXEL_CHUNKS:
            kept.append(data[at : at + 12 + length])
        elif kind == b"tRNS" or kind[:1].isupper():  # transparent colours, or what a reader must understand
            raise PngError(
                f"it has a chunk {kind.decode('latin-1')}, which is not read here; flatten the picture"
            )
        if kind == b"IEND":
            return b"".join(kept)
        at += 12 + length
    raise PngError(
        f"it has more than {MOST_CHUNKS:,} chunks, which no picture of a map needs; open it in "
        "a picture editor and save it again"
    )


def _decoded(data: bytes) -> Pixels:
    """Return the pixels that Pillow finds in ``data``, once it has verified all checksums."""
    from PIL import Image, UnidentifiedImageError

    def opened() -> Image.Image:
        return Image.open(io.BytesIO(data), formats=["PNG"])

    try:
        with opened() as picture:
            if not picture.tile:
                raise PngError("it has no rows (IDAT)")
            picture.verify()  # after which nothing can be read of it
        with opened() as picture:
            return _rgb(picture)
    except PngError:
        raise
    except UnidentifiedImageError:
        raise PngError("its header is damaged") from None
    except Exception as error:  # of many types: what is damaged breaks a decoder anywhere
        raise PngError(
            f"Pillow cannot read it: {error}; open it in a picture editor and save it again"
        ) from None


def _rgb(picture: Image.Image) -> Pixels:
    if picture.mode.startswith("I"):  # grey of 16 bits
        levels = (np.asarray(picture) >> 8).astype(np.uint8)
        return np.repeat(levels[:, :, None], 3, axis=2)
    if picture.mode == "P":
        num_colors = len(picture.palette.palette if picture.palette else b"") // 3
        most = np.asarray(picture).max()
        if most >= num_colors:
            raise PngError(f"it uses colour {most} of a palette (PLTE) of {num_colors}")
    pixels = np.asarray(picture.convert("RGBA"))
    alpha = pixels[:, :, 3]
    if alpha.min() < 255:
        row, column = divmod(int((alpha < 255).argmax()), alpha.shape[1])
        raise PngError(
            f"the pixel at row {row}, column {column} is transparent (alpha {alpha[row, column]}); "
            "flatten the picture"
        )
    return np.ascontiguousarray(pixels[:, :, :3])


# ---- writing -----------------------------------------------------------------------------------------


def png_file(pixels: npt.NDArray[Any]) -> bytes:
    """Return a PNG file of pixels: uint8 (H, W, 3) as RGB, bool (H, W) as 1 bit each, white where True."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()
