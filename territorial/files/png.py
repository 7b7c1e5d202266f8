"""PNG files, read and written by Pillow, which is given of a file nothing but what makes pixels."""

from __future__ import annotations

import io
import struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:  # Pillow is loaded for the first picture, so that `import territorial` stays quick
    from PIL import Image

SIGNATURE = b"\x89PNG\r\n\x1a\n"
Pixels = npt.NDArray[np.uint8]

MOST_CHUNKS = 2**14
"""Chunks of a file that are looked at. Encoders write 8 KB a chunk, or a row: the largest map has 1,024."""
_PALETTE = 3
_PIXEL_CHUNKS = (b"IHDR", b"PLTE", b"IDAT", b"IEND")


class PngError(ValueError):
    """The bytes are no PNG picture that is read here; the message says why."""


class _Header(NamedTuple):
    width: int
    height: int
    depth: int
    color: int
    compression: int
    filtering: int
    interlace: int


def read_png(data: bytes, min_side: int, max_side: int) -> Pixels:
    """Return the picture in ``data`` as RGB, uint8 (H, W, 3).

    Reads what the format has: grey, palettes, RGB, 1 to 16 bits, interlaced or not. Of 16 bits the upper 8
    count, and what has an alpha channel must be opaque. Sides outside ``min_side`` to ``max_side`` are
    refused before anything is decompressed, and no more is than such a picture holds. Texts, profiles and
    animations are passed over, still packed. Raises PngError.
    """
    if not data.startswith(SIGNATURE):
        raise PngError("it is no PNG file: it does not begin with the 8 bytes of one")
    chunks = _pixel_chunks(data)
    header = _checked_header(chunks[0], min_side, max_side)
    parts = dict(map(_split, chunks))
    if b"IDAT" not in parts:
        raise PngError("it has no rows (IDAT)")
    num_colors = _num_colors(parts.get(b"PLTE"), header)
    return _decoded(SIGNATURE + b"".join(chunks), header, num_colors)


# ---- chunks ------------------------------------------------------------------------------------------


def _pixel_chunks(data: bytes) -> list[bytes]:
    """Return the chunks that make the picture, whole; every chunk is looked at once."""
    at, kept, kinds = len(SIGNATURE), list[bytes](), set[bytes]()
    for _ in range(MOST_CHUNKS):
        kind, end = _chunk_at(data, at)
        _check_place(kind, kinds)
        if kind in _PIXEL_CHUNKS:
            kept.append(data[at:end])
        if kind == b"IEND":
            return kept
        kinds.add(kind)
        at = end
    raise PngError(
        f"it has more than {MOST_CHUNKS:,} chunks, which no picture of a map needs; open it in "
        "a picture editor and save it again"
    )


def _chunk_at(data: bytes, at: int) -> tuple[bytes, int]:
    """Return the kind of the chunk at byte ``at``, and where the next one begins."""
    if at + 12 > len(data):
        raise PngError(f"it is cut off at byte {len(data)}, before its last chunk (IEND)")
    length, kind = struct.unpack_from(">I4s", data, at)
    if not (kind.isascii() and kind.isalpha()):
        raise PngError(f"at byte {at} there is {kind!r} where the name of a chunk should be")
    left = len(data) - at - 12
    if length > left:
        raise PngError(
            f"it is cut off: chunk {kind.decode()} at byte {at} claims {length:,} bytes, and {left:,} are "
            "left"
        )
    return kind, at + 12 + length


def _check_place(kind: bytes, before: set[bytes]) -> None:
    """Raise PngError for a chunk that cannot come after those ``before``, or that changes how pixels look."""
    name = kind.decode()
    if not before and kind != b"IHDR":
        raise PngError("its first chunk is no header (IHDR of 13 bytes)")
    if kind in before and kind in (b"IHDR", b"PLTE"):
        raise PngError(f"it has two chunks {name}")
    if kind == b"tRNS":
        raise PngError("it has transparent colours (tRNS); flatten the picture")
    if kind not in _PIXEL_CHUNKS and name[0].isupper():  # a capital: a reader must understand it
        raise PngError(f"it has a chunk {name}, which is not read here")


def _split(chunk: bytes) -> tuple[bytes, bytes]:
    return chunk[4:8], chunk[8:-4]


def _checked_header(chunk: bytes, min_side: int, max_side: int) -> _Header:
    body = _split(chunk)[1]
    if len(body) != 13:
        raise PngError("its first chunk is no header (IHDR of 13 bytes)")
    header = _Header(*struct.unpack(">IIBBBBB", body))
    for name, side in (("high", header.height), ("wide", header.width)):
        if not min_side <= side <= max_side:
            raise PngError(f"the picture is {side:,} pixels {name}; it must be {min_side} to {max_side}")
    return header


def _num_colors(palette: bytes | None, header: _Header) -> int:
    """Return how many colours there are to choose from; 0 without a palette."""
    if palette is None and header.color == _PALETTE:
        raise PngError("it has no palette (PLTE), which its colour type 3 needs")
    if palette is not None and (len(palette) % 3 or not 3 <= len(palette) <= 3 * 256):
        raise PngError(f"its palette has {len(palette)} bytes; it must be 3 for each of 1 to 256 colours")
    return 0 if palette is None else len(palette) // 3


# ---- pixels ------------------------------------------------------------------------------------------


def _decoded(data: bytes, header: _Header, num_colors: int) -> Pixels:
    """Return the pixels that Pillow finds in ``data``, once it has verified all checksums."""
    from PIL import Image, UnidentifiedImageError

    def opened() -> Image.Image:
        return Image.open(io.BytesIO(data), formats=["PNG"])

    try:
        with opened() as picture:
            picture.verify()  # after which nothing can be read of it
        with opened() as picture:
            picture.load()
            return _rgb(picture, num_colors)
    except PngError:
        raise
    except UnidentifiedImageError:
        raise PngError(
            f"its header is damaged: it says colour type {header.color} with {header.depth} bits, "
            f"compression {header.compression}, filter method {header.filtering}, interlacing "
            f"{header.interlace}"
        ) from None
    except Image.DecompressionBombError as error:
        raise PngError(f"Pillow refuses its size, by PIL.Image.MAX_IMAGE_PIXELS: {error}") from None
    except Exception as error:  # of many types: what is damaged breaks a decoder anywhere
        raise PngError(f"it is damaged: {error}; open it in a picture editor and save it again") from None


def _rgb(picture: Image.Image, num_colors: int) -> Pixels:
    if picture.mode.startswith("I"):  # grey of 16 bits
        levels = (np.asarray(picture) >> 8).astype(np.uint8)
        return np.repeat(levels[:, :, None], 3, axis=2)
    if picture.mode == "P":
        _check_colors(np.asarray(picture), num_colors)
    pixels = np.asarray(picture.convert("RGBA"))
    _check_opaque(pixels[:, :, 3])
    return np.ascontiguousarray(pixels[:, :, :3])


def _check_colors(colors: npt.NDArray[Any], num_colors: int) -> None:
    if colors.max() >= num_colors:
        raise PngError(f"it uses colour {colors.max()} of a palette of {num_colors}")


def _check_opaque(alpha: Pixels) -> None:
    if alpha.min() < 255:
        row, column = divmod(int((alpha < 255).argmax()), alpha.shape[1])
        raise PngError(
            f"the pixel at row {row}, column {column} is transparent (alpha {alpha[row, column]}); "
            "flatten the picture"
        )


# ---- writing -----------------------------------------------------------------------------------------


def png_file(pixels: npt.NDArray[Any]) -> bytes:
    """Return a PNG file of pixels: uint8 (H, W, 3) as RGB, bool (H, W) as 1 bit each, white where True."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()
