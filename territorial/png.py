"""PNG files: a strict reader that believes nothing a file says of itself, and a writer of masks."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

SIGNATURE = b"\x89PNG\r\n\x1a\n"
Pixels = npt.NDArray[np.uint8]

_GRAY, _RGB, _PALETTE, _GRAY_ALPHA, _RGB_ALPHA = 0, 2, 3, 4, 6
_CHANNELS = {_GRAY: 1, _RGB: 3, _PALETTE: 1, _GRAY_ALPHA: 2, _RGB_ALPHA: 4}
_DEPTHS = {_GRAY: (1, 2, 4, 8), _PALETTE: (1, 2, 4, 8), _RGB: (8,), _GRAY_ALPHA: (8,), _RGB_ALPHA: (8,)}
_LAST_FILTER = 4


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

    @property
    def row_bytes(self) -> int:
        return -(-self.width * self.depth * _CHANNELS[self.color] // 8)


def read_png(data: bytes, min_side: int, max_side: int) -> Pixels:
    """Return the picture in ``data`` as RGB, uint8 (H, W, 3).

    Reads grey and palettes of 1 to 8 bits, RGB, and either with an alpha channel in which everything is
    opaque; not interlaced. Sides outside ``min_side`` to ``max_side`` are refused before anything is
    decompressed, and no more is than such a picture holds. Raises PngError.
    """
    if not data.startswith(SIGNATURE):
        raise PngError("it is no PNG file: it does not begin with the 8 bytes of one")
    header, palette, packed = _read_chunks(data, min_side, max_side)
    lines = np.frombuffer(_inflate(packed, header.height * (1 + header.row_bytes)), np.uint8)
    lines = lines.reshape(header.height, 1 + header.row_bytes)
    pixel_bytes = max(1, header.depth * _CHANNELS[header.color] // 8)
    return _to_rgb(_unfiltered(lines, pixel_bytes), header, palette)


def _read_chunks(data: bytes, min_side: int, max_side: int) -> tuple[_Header, bytes, bytes]:
    """Return the header, the palette (empty if there is none) and the compressed rows."""
    chunks = _chunks(data)
    kind, body = next(chunks, (b"", b""))
    if kind != b"IHDR" or len(body) != 13:
        raise PngError("its first chunk is no header (IHDR of 13 bytes)")
    header = _Header(*struct.unpack(">IIBBBBB", body))
    _check_header(header, min_side, max_side)
    palette, packed, kinds = b"", [], [kind]
    for kind, body in chunks:
        if kind == b"IDAT" and b"IDAT" in kinds and kinds[-1] != b"IDAT":
            raise PngError("its chunks IDAT do not follow each other")
        if kind in (b"IHDR", b"PLTE") and kind in kinds:
            raise PngError(f"it has two chunks {kind.decode()}")
        if kind == b"tRNS":
            raise PngError("it has transparent colours (tRNS); flatten the picture")
        if kind == b"PLTE":
            palette = _checked_palette(body)
        elif kind == b"IDAT":
            packed.append(body)
        elif kind != b"IEND" and not kind[0] & 0x20:  # a capital: whoever reads on must understand it
            raise PngError(f"it has a chunk {kind.decode()}, which is not read here")
        kinds.append(kind)
    if header.color == _PALETTE and not palette:
        raise PngError("it has no palette (PLTE), which its colour type 3 needs")
    return header, palette, b"".join(packed)


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield kind and body of every chunk; lengths and checksums are verified, IEND is the last."""
    at, kind = len(SIGNATURE), b""
    while kind != b"IEND":
        if at + 12 > len(data):
            raise PngError(f"it is cut off at byte {len(data)}, before its last chunk (IEND)")
        length, kind = struct.unpack_from(">I4s", data, at)
        if not (kind.isascii() and kind.isalpha()):
            raise PngError(f"at byte {at} there is {kind!r} where the name of a chunk should be")
        if length > len(data) - at - 12:
            raise PngError(
                f"it is cut off: chunk {kind.decode()} at byte {at} claims {length:,} bytes, and "
                f"{max(0, len(data) - at - 12):,} are left"
            )
        body = data[at + 8 : at + 8 + length]
        (checksum,) = struct.unpack_from(">I", data, at + 8 + length)
        if zlib.crc32(kind + body) != checksum:
            raise PngError(f"it is damaged: the checksum of chunk {kind.decode()} at byte {at} is wrong")
        yield kind, body
        at += 12 + length
    if at != len(data):
        raise PngError(f"{len(data) - at:,} bytes follow its last chunk (IEND)")


def _check_header(header: _Header, min_side: int, max_side: int) -> None:
    for name, side in (("high", header.height), ("wide", header.width)):
        if not min_side <= side <= max_side:
            raise PngError(f"the picture is {side:,} pixels {name}; it must be {min_side} to {max_side}")
    if header.depth not in _DEPTHS.get(header.color, ()):
        raise PngError(
            f"its colour type is {header.color} with {header.depth} bits; what is read here is grey or a "
            "palette with 1, 2, 4 or 8 bits, and RGB, RGBA or grey with alpha with 8 bits a channel"
        )
    if header.interlace != 0:
        raise PngError("it is interlaced; save it without (Adam7 or progressive switched off)")
    if header.compression != 0 or header.filtering != 0:
        raise PngError(
            f"its compression and filter methods are {header.compression} and {header.filtering}; "
            "PNG knows only 0"
        )


def _checked_palette(body: bytes) -> bytes:
    if not body or len(body) % 3 or len(body) > 3 * 256:
        raise PngError(f"its palette has {len(body)} bytes; it must be 3 for each of 1 to 256 colours")
    return body


def _inflate(packed: bytes, size: int) -> bytes:
    """Return exactly ``size`` bytes out of ``packed``; at most one more is ever made."""
    inflater = zlib.decompressobj()
    try:
        rows = inflater.decompress(packed, size)
        surplus = inflater.decompress(inflater.unconsumed_tail, 1)
    except zlib.error as error:
        raise PngError(f"it is damaged: its rows cannot be decompressed ({error})") from None
    if surplus:
        raise PngError(f"its compressed rows hold more than the {size:,} bytes of such a picture")
    if len(rows) < size or not inflater.eof:
        raise PngError(f"its compressed rows end after {len(rows):,} of {size:,} bytes")
    return rows


def _unfiltered(lines: Pixels, pixel_bytes: int) -> Pixels:
    """Return uint8 (H, row bytes) of ``lines``, uint8 (H, 1 + row bytes), that begin with their filters.

    A byte is predicted from those to its left, above, and above left. So all pixels of a diagonal can be
    worked out at once, whatever the filters of their rows.
    """
    filters = lines[:, 0]
    if filters.max() > _LAST_FILTER:
        row = int((filters > _LAST_FILTER).argmax())
        raise PngError(f"the filter of row {row} is {filters[row]}; there are 0 to {_LAST_FILTER}")
    if not filters.any():
        return lines[:, 1:]
    height, width = len(lines), (lines.shape[1] - 1) // pixel_bytes
    coded = lines[:, 1:].reshape(height, width, pixel_bytes).astype(np.int16)
    plain = np.zeros((height + 1, width + 1, pixel_bytes), np.int16)
    for diagonal in range(height + width - 1):
        r = np.arange(max(0, diagonal - width + 1), min(height, diagonal + 1))
        c = diagonal - r
        guess = _predict(filters[r, None], plain[r + 1, c], plain[r, c + 1], plain[r, c])
        plain[r + 1, c + 1] = (coded[r, c] + guess) & 255
    return plain[1:, 1:].reshape(height, -1).astype(np.uint8)


def _predict(
    filters: Pixels, left: npt.NDArray[np.int16], above: npt.NDArray[np.int16], corner: npt.NDArray[np.int16]
) -> npt.NDArray[np.int16]:
    """Return what the filters expect: nothing, left, above, their mean, or the nearest of three (Paeth)."""
    to_left, to_above = np.abs(above - corner), np.abs(left - corner)
    to_corner = np.abs(left + above - 2 * corner)
    takes_left = (to_left <= to_above) & (to_left <= to_corner)
    paeth = np.where(takes_left, left, np.where(to_above <= to_corner, above, corner))
    return np.choose(filters, [np.zeros_like(left), left, above, (left + above) >> 1, paeth])


def _to_rgb(rows: Pixels, header: _Header, palette: bytes) -> Pixels:
    """Return uint8 (H, W, 3) of unfiltered ``rows``."""
    samples = _samples(rows, header)
    if header.color == _PALETTE:
        colors = np.frombuffer(palette, np.uint8).reshape(-1, 3)
        if samples.max() >= len(colors):
            raise PngError(f"it uses colour {samples.max()} of a palette of {len(colors)}")
        return colors[samples[:, :, 0]]
    if header.color in (_GRAY_ALPHA, _RGB_ALPHA):
        _check_opaque(samples[:, :, -1])
        samples = samples[:, :, :-1]
    if header.color == _GRAY:
        samples = samples * np.uint8(255 // (2**header.depth - 1))
    return np.ascontiguousarray(np.broadcast_to(samples, (header.height, header.width, 3)))


def _samples(rows: Pixels, header: _Header) -> Pixels:
    """Return uint8 (H, W, channels), a number of ``depth`` bits each."""
    if header.depth < 8:
        bits = np.unpackbits(rows, axis=1)[:, : header.width * header.depth]
        places = 1 << np.arange(header.depth - 1, -1, -1, dtype=np.uint8)
        rows = (bits.reshape(header.height, header.width, header.depth) * places).sum(axis=2, dtype=np.uint8)
    return rows.reshape(header.height, header.width, _CHANNELS[header.color])


def _check_opaque(alpha: Pixels) -> None:
    if alpha.min() < 255:
        row, column = divmod(int((alpha < 255).argmax()), alpha.shape[1])
        raise PngError(
            f"the pixel at row {row}, column {column} is transparent (alpha {alpha[row, column]}); "
            "flatten the picture"
        )


def mask_png(cells: npt.NDArray[np.bool_]) -> bytes:
    """Return a PNG file of 1 bit a pixel, white where ``cells``, bool (H, W), is True."""
    height, width = cells.shape
    lines = np.zeros((height, 1 + -(-width // 8)), np.uint8)  # every line begins with 0, "no filter"
    lines[:, 1:] = np.packbits(cells, axis=1)
    header = struct.pack(">IIBBBBB", width, height, 1, _GRAY, 0, 0, 0)
    rows = zlib.compress(lines.tobytes(), 9)
    return SIGNATURE + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def chunk(kind: bytes, body: bytes) -> bytes:
    """Return a chunk of a PNG file: length, name, body, checksum."""
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
