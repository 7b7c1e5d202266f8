"""Reading and writing PNG files by Pillow."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:  # Pillow is loaded for the first picture, so that `import territorial` stays quick
    from PIL import Image

SIGNATURE = b"\x89PNG\r\n\x1a\n"
Pixels = npt.NDArray[np.uint8]


class PngError(ValueError):
    """The bytes are no PNG picture that is read here; the message says why."""


def read_png(data: bytes, min_side: int, max_side: int) -> Pixels:
    """Return the picture in ``data`` as RGB, uint8 (H, W, 3).

    Reads what the format has: grey, palettes, RGB, 1 to 16 bits, interlaced or not. Of 16 bits the upper 8
    count, and nothing may be transparent. Sides outside ``min_side`` to ``max_side`` are refused before
    Pillow reads anything, and no more rows are decompressed than such a picture holds. Raises PngError.
    """
    from PIL import Image, UnidentifiedImageError

    if not data.startswith(SIGNATURE):
        raise PngError("it is not a PNG file: its first 8 bytes are not those of one")
    if data.count(b"IHDR") != 1:  # Pillow begins an animation with room for the size that the last one claims
        raise PngError("it must have one header (IHDR)")
    size = data.partition(b"IHDR")[2]
    for name, side in (("high", int.from_bytes(size[4:8])), ("wide", int.from_bytes(size[:4]))):
        if not min_side <= side <= max_side:
            raise PngError(f"the picture is {side:,} pixels {name}; it must be {min_side} to {max_side}")

    def opened() -> Image.Image:
        return Image.open(io.BytesIO(data), formats=["PNG"])

    try:
        with opened() as picture:
            if not picture.tile:
                raise PngError("it has no rows (IDAT)")
            picture.verify()  # all checksums; after which nothing can be read of it
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
