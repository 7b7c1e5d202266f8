"""Pictures of every kind by an encoder of the test's own, and files that lie about themselves."""

import io
import struct
import zlib
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from territorial.files import png
from territorial.files.png import SIGNATURE, PngError, read_png
from tests.hostile.support import chunk, peak_of

GRAY, RGB, PALETTE, GRAY_ALPHA, RGB_ALPHA = 0, 2, 3, 4, 6
CHANNELS = {GRAY: 1, RGB: 3, PALETTE: 1, GRAY_ALPHA: 2, RGB_ALPHA: 4}


def header(width, height, depth=8, color=GRAY, compression=0, filtering=0, interlace=0):
    fields = (width, height, depth, color, compression, filtering, interlace)
    return chunk(b"IHDR", struct.pack(">IIBBBBB", *fields))


def file_of(*chunks):
    return SIGNATURE + b"".join(chunks)


END = chunk(b"IEND", b"")


def picture_file(rows, width, color, *, depth=8, palette=b""):
    data = zlib.compress(b"".join(b"\0" + row for row in rows))
    colors = [chunk(b"PLTE", palette)] if palette else []
    text = chunk(b"tEXt", b"Comment\0of no importance")
    return file_of(header(width, len(rows), depth, color), text, *colors, chunk(b"IDAT", data), END)


# ---- files that are refused ------------------------------------------------------------------------

GOOD = picture_file([bytes(range(20))] * 16, 20, GRAY)
ROWS = zlib.compress(bytes(21 * 16))
IDAT = chunk(b"IDAT", ROWS)
PLTE = chunk(b"PLTE", bytes(6))

REFUSED = {
    "nothing": (b"", "not a PNG file"),
    "a JPEG": (b"\xff\xd8\xff\xe0" + bytes(50), "not a PNG file"),
    "a signature": (SIGNATURE, "one header"),
    "no header": (file_of(IDAT, END), "it must have one header"),
    "a short header": (file_of(chunk(b"IHDR", bytes(12)), END), "0 pixels high"),
    "two headers": (file_of(header(20, 16), header(20, 16), IDAT, END), "it must have one header"),
    "no palette": (file_of(header(20, 16, 8, PALETTE), IDAT, END), r"colour 0 of a palette \(PLTE\) of 0"),
    "a palette of 2 bytes": (
        file_of(header(20, 16, 8, PALETTE), chunk(b"PLTE", bytes(2)), IDAT, END),
        "colour 0 of a palette .* of 0",
    ),
    "a colour beyond the palette": (
        picture_file([b"\x03" * 20] * 16, 20, PALETTE, palette=bytes(9)),
        r"colour 3 of a palette \(PLTE\) of 3",
    ),
    "a palette of 257": (
        file_of(header(20, 16, 8, PALETTE), chunk(b"PLTE", bytes(771)), IDAT, END),
        "Pillow cannot read it",
    ),
    "transparent colours": (
        file_of(header(20, 16), chunk(b"tRNS", bytes(2)), IDAT, END),
        r"row 0, column 0 is transparent \(alpha 0\); flatten",
    ),
    "a transparent pixel": (
        picture_file([bytes([7, 255] * 19 + [9, 254])] * 16, 20, GRAY_ALPHA),
        r"row 0, column 19 is transparent \(alpha 254\); flatten",
    ),
    "a chunk without a name": (file_of(header(20, 16), chunk(b"\0\0\0\0", b"")), "its header is damaged"),
    "a palette between rows": (
        file_of(header(20, 16), chunk(b"IDAT", ROWS[:5]), PLTE, chunk(b"IDAT", ROWS[5:]), END),
        "Pillow cannot read it: image file is truncated",
    ),
    "no rows": (file_of(header(20, 16), END), r"no rows \(IDAT\)"),
    "too few rows": (
        file_of(header(20, 16), chunk(b"IDAT", zlib.compress(bytes(335))), END),
        "Pillow cannot read it: image file is truncated .*; open it in a picture editor and save it again",
    ),
    "rows cut off": (file_of(header(20, 16), chunk(b"IDAT", ROWS[:-9]), END), "image file is truncated"),
    "rows that are no deflate": (
        file_of(header(20, 16), chunk(b"IDAT", b"x" * 40), END),
        "Pillow cannot read it: broken data stream",
    ),
    "an unknown filter": (
        file_of(header(20, 16), chunk(b"IDAT", zlib.compress(b"\5" + bytes(335))), END),
        "Pillow cannot read it: unrecognized data stream contents",
    ),
    "no end": (file_of(header(20, 16), IDAT), "Pillow cannot read it: truncated PNG file"),
    "a chunk longer than the file": (
        file_of(header(20, 16)) + struct.pack(">I4s", 2**31, b"IDAT") + bytes(50),
        "Pillow cannot read it: Truncated File Read",
    ),
    "a wrong checksum": (GOOD[:-15] + bytes([GOOD[-15] ^ 1]) + GOOD[-14:], "bad header checksum in b'IDAT'"),
    "another filter method": (
        file_of(header(20, 16, filtering=1), IDAT, END),
        "its header is damaged",
    ),
    "12 bits": (file_of(header(20, 16, 12), IDAT, END), "its header is damaged"),
    "colour type 1": (file_of(header(20, 16, 8, 1), IDAT, END), "its header is damaged"),
    "RGB of 4 bits": (file_of(header(20, 16, 4, RGB), IDAT, END), "its header is damaged"),
    "too high": (file_of(header(20, 1025), IDAT, END), "1,025 pixels high; it must be 16 to 1024"),
    "too narrow": (file_of(header(15, 16), IDAT, END), "15 pixels wide; it must be 16 to 1024"),
    "four thousand million pixels": (file_of(header(65_535, 65_535), IDAT, END), "65,535 pixels high"),
}


@pytest.mark.parametrize(("data", "message"), REFUSED.values(), ids=REFUSED)
def test_a_picture_that_cannot_be_read_says_why(data, message):
    with pytest.raises(PngError, match=message):
        read_png(data, 16, 1024)


# ---- what a file can cost ----------------------------------------------------------------------------


@pytest.fixture
def given_to_pillow(monkeypatch):
    """The bytes of every file that Pillow is asked to open, and how many of them it reads."""
    seen = []

    class Counted(io.BytesIO):
        def __init__(self, data):
            super().__init__(data)
            self.size, self.num_read, self.num_reads = len(data), 0, 0
            seen.append(self)

        def read(self, *size):
            data = super().read(*size)
            self.num_read, self.num_reads = self.num_read + len(data), self.num_reads + 1
            return data

    monkeypatch.setattr(png, "io", SimpleNamespace(BytesIO=Counted))
    return seen


def test_a_picture_in_many_pieces_is_read_in_time_that_grows_with_its_length(given_to_pillow):
    rows, reads = zlib.compress(bytes(17 * 16)), []
    for count in (2000, 4000):
        pieces = [chunk(b"IDAT", rows[i : i + 1]) for i in range(len(rows))] + [chunk(b"IDAT", b"")] * count
        assert not read_png(
            file_of(header(16, 16), *[chunk(b"tEXt", b"")] * count, *pieces, END), 16, 16
        ).any()
        reads.append(sum(file.num_reads for file in given_to_pillow))
        assert sum(file.num_read for file in given_to_pillow) <= 2 * sum(
            file.size for file in given_to_pillow
        )
        given_to_pillow.clear()
    assert reads[1] < 2 * reads[0]


@cache
def bomb(num_megabytes):
    packer = zlib.compressobj(9)
    data = b"".join(packer.compress(bytes(2**20)) for _ in range(num_megabytes)) + packer.flush()
    assert len(data) < num_megabytes * 2**11
    return data


def test_rows_that_would_grow_a_thousandfold_are_unpacked_as_far_as_the_picture_goes(given_to_pillow):
    """Pillow unpacks row by row, and has read no more of 128 MB than its first block when it has all rows."""
    rows = bomb(128)
    pieces = [chunk(b"IDAT", rows[at : at + 4096]) for at in range(0, len(rows), 4096)]
    data = file_of(header(16, 16), *pieces, END)
    assert not read_png(data, 16, 1024).any()
    assert given_to_pillow[1].num_read <= 2 * len(data)
    assert peak_of(lambda: read_png(data, 16, 1024)) < 4 * len(data)


def test_a_size_is_refused_before_pillow_sees_the_file(given_to_pillow):
    for width, height in ((65_535, 65_535), (1025, 16), (16, 15), (2**31, 2**31), (0, 0)):
        with pytest.raises(PngError, match="it must be 16 to 1024"):
            read_png(file_of(header(width, height), IDAT, END), 16, 1024)
    assert given_to_pillow == []


def test_the_limit_that_a_program_sets_for_pillow_holds_here_too(monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(PngError, match=r"Pillow cannot read it: Image size \(320 pixels\) exceeds limit"):
        read_png(GOOD, 16, 1024)


def test_other_formats_are_not_tried(monkeypatch):
    """A file that begins like a PNG file is read as one or not at all, whatever decoders are installed."""
    opened, real = [], Image.open
    monkeypatch.setattr(
        Image, "open", lambda file, **options: opened.append(options) or real(file, **options)
    )
    read_png(GOOD, 16, 1024)
    assert opened == [{"formats": ["PNG"]}] * 2


def test_the_largest_picture_takes_memory_for_its_pixels_only():
    rows = zlib.compress((b"\4" + b"\0\0\0\xff" + bytes(4092)) + (b"\4" + bytes(4096)) * 1023)
    data = file_of(header(1024, 1024, 8, RGB_ALPHA), chunk(b"IDAT", rows), END)
    assert np.array_equal(read_png(data, 16, 1024), np.zeros((1024, 1024, 3)))
    assert peak_of(lambda: read_png(data, 16, 1024)) < 64 * 2**20


# ---- kinds of picture --------------------------------------------------------------------------------


KINDS = [(8, color) for color in CHANNELS] + [(16, color) for color in CHANNELS if color != PALETTE]


@pytest.mark.parametrize(("depth", "color"), KINDS)
def test_every_kind_of_picture_is_read(depth, color):
    """Samples of 16 bits count by their upper byte; alpha channels are full."""
    rng, channels, size = np.random.default_rng(depth + color), CHANNELS[color], depth // 8
    samples = rng.integers(0, 256, (18, 21, channels, size), dtype=np.uint8)
    if color in (GRAY_ALPHA, RGB_ALPHA):
        samples[:, :, -1] = 255
    palette = rng.integers(0, 256, (256, 3), dtype=np.uint8)
    expected = samples[:, :, : 3 if channels > 2 else 1, 0]
    expected = palette[expected[:, :, 0]] if color == PALETTE else np.broadcast_to(expected, (18, 21, 3))
    colors = palette.tobytes() if color == PALETTE else b""
    data = picture_file([row.tobytes() for row in samples], 21, color, depth=depth, palette=colors)
    np.testing.assert_array_equal(read_png(data, 16, 32), expected)
