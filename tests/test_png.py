"""The PNG reader against an encoder of its own, and against files that lie about themselves."""

import random
import struct
import tracemalloc
import zlib
from itertools import pairwise

import numpy as np
import pytest

from territorial.png import SIGNATURE, PngError, mask_png, read_png

GRAY, RGB, PALETTE, GRAY_ALPHA, RGB_ALPHA = 0, 2, 3, 4, 6
CHANNELS = {GRAY: 1, RGB: 3, PALETTE: 1, GRAY_ALPHA: 2, RGB_ALPHA: 4}


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def header(width, height, depth=8, color=GRAY, compression=0, filtering=0, interlace=0):
    fields = (width, height, depth, color, compression, filtering, interlace)
    return chunk(b"IHDR", struct.pack(">IIBBBBB", *fields))


def file_of(*chunks):
    return SIGNATURE + b"".join(chunks)


END = chunk(b"IEND", b"")


def filtered(rows, pixel_bytes, filters):
    """Rows of bytes filtered one after the other, byte by byte as the standard says."""
    lines, above = [], bytes(len(rows[0]))
    for row, kind in zip(rows, filters, strict=True):
        line = [kind]
        for i, value in enumerate(row):
            a = row[i - pixel_bytes] if i >= pixel_bytes else 0
            b = above[i]
            c = above[i - pixel_bytes] if i >= pixel_bytes else 0
            nearest = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            line.append((value - (0, a, b, (a + b) // 2, nearest)[kind]) % 256)
        lines.append(bytes(line))
        above = row
    return b"".join(lines)


def picture_file(rows, width, depth, color, filters, *, palette=b"", parts=1):
    pixel_bytes = max(1, depth * CHANNELS[color] // 8)
    data = zlib.compress(filtered(rows, pixel_bytes, filters))
    cuts = [len(data) * i // parts for i in range(parts + 1)]
    return file_of(
        header(width, len(rows), depth, color),
        chunk(b"tEXt", b"Comment\0of no importance"),
        *([chunk(b"PLTE", palette)] if palette else []),
        *(chunk(b"IDAT", data[a:b]) for a, b in pairwise(cuts)),
        END,
    )


def random_rows(rng, height, row_bytes):
    return [rng.integers(0, 256, row_bytes, dtype=np.uint8).tobytes() for _ in range(height)]


def test_every_filter_of_every_kind_of_picture_is_undone():
    rng, filters = np.random.default_rng(0), [0, 1, 2, 3, 4, 4, 3, 2, 1, 4, 0, 3]
    for color, channels in ((GRAY, 1), (RGB, 3)):
        for width in (1, 5, 12):
            rows = random_rows(rng, 12, width * channels)
            expected = np.array([list(row) for row in rows], np.uint8).reshape(12, width, channels)
            pixels = read_png(picture_file(rows, width, 8, color, filters, parts=3), 1, 16)
            np.testing.assert_array_equal(pixels, np.broadcast_to(expected, (12, width, 3)))


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_grey_of_few_bits_is_spread_over_all_brightnesses(depth):
    width, levels = 13, 2**depth
    values = np.random.default_rng(depth).integers(0, levels, (9, width))
    rows = [
        int("".join(f"{v:0{depth}b}" for v in row).ljust(-(-width * depth // 8) * 8, "1"), 2).to_bytes(
            -(-width * depth // 8), "big"
        )
        for row in values
    ]
    pixels = read_png(picture_file(rows, width, depth, GRAY, [4] * 9), 1, 16)
    assert pixels.shape == (9, width, 3)
    np.testing.assert_array_equal(pixels[:, :, 1], values * 255 // (levels - 1))


def test_a_palette_is_looked_up():
    palette = bytes([9, 8, 7, 255, 0, 1, 0, 0, 255])
    pixels = read_png(
        picture_file([b"\x00\x01\x02", b"\x02\x01\x00"], 3, 8, PALETTE, [0, 1], palette=palette), 1, 9
    )
    colors = [[9, 8, 7], [255, 0, 1], [0, 0, 255]]
    assert pixels.tolist() == [colors, colors[::-1]]
    with pytest.raises(PngError, match="colour 3 of a palette of 3"):
        read_png(picture_file([b"\x03"], 1, 8, PALETTE, [0], palette=palette), 1, 9)


def test_what_is_opaque_may_have_an_alpha_channel():
    rows = [bytes([1, 2, 3, 255, 4, 5, 6, 255])]
    assert read_png(picture_file(rows, 2, 8, RGB_ALPHA, [4]), 1, 9).tolist() == [[[1, 2, 3], [4, 5, 6]]]
    rows = [bytes([7, 255, 9, 254])]
    with pytest.raises(PngError, match=r"row 0, column 1 is transparent \(alpha 254\); flatten"):
        read_png(picture_file(rows, 2, 8, GRAY_ALPHA, [1]), 1, 9)


def test_black_and_white_files_come_back():
    rng = np.random.default_rng(3)
    for height, width in ((1, 1), (3, 8), (16, 17), (50, 64)):
        cells = rng.random((height, width)) < 0.5
        pixels = read_png(mask_png(cells), 1, 64)
        np.testing.assert_array_equal(pixels == 255, np.broadcast_to(cells[:, :, None], pixels.shape))


# ---- files that are refused ------------------------------------------------------------------------

GOOD = picture_file([bytes(range(20))] * 16, 20, 8, GRAY, [0, 1, 2, 3, 4, 0, 0, 0] * 2)
ROWS = zlib.compress(bytes(21 * 16))
IDAT = chunk(b"IDAT", ROWS)
PLTE = chunk(b"PLTE", bytes(6))

REFUSED = {
    "nothing": (b"", "no PNG file"),
    "a JPEG": (b"\xff\xd8\xff\xe0" + bytes(50), "no PNG file"),
    "a signature": (SIGNATURE, "cut off at byte 8"),
    "no header": (file_of(IDAT, END), "first chunk is no header"),
    "a short header": (file_of(chunk(b"IHDR", bytes(12)), END), "first chunk is no header"),
    "two headers": (file_of(header(20, 16), header(20, 16), IDAT, END), "two chunks IHDR"),
    "two palettes": (file_of(header(20, 16, 8, PALETTE), PLTE, PLTE, IDAT, END), "two chunks PLTE"),
    "no palette": (file_of(header(20, 16, 8, PALETTE), IDAT, END), r"no palette \(PLTE\)"),
    "a palette of 5 bytes": (file_of(header(20, 16), chunk(b"PLTE", bytes(5)), END), "palette has 5 bytes"),
    "a palette of 257": (file_of(header(20, 16), chunk(b"PLTE", bytes(771)), END), "palette has 771 bytes"),
    "transparent colours": (file_of(header(20, 16), chunk(b"tRNS", bytes(2)), IDAT, END), "transparent"),
    "an unknown chunk that matters": (file_of(header(20, 16), chunk(b"NEWS", b""), IDAT, END), "chunk NEWS"),
    "a chunk without a name": (file_of(header(20, 16), chunk(b"\0\0\0\0", b"")), "where the name of a chunk"),
    "rows in two places": (
        file_of(header(20, 16), IDAT, chunk(b"tIME", bytes(7)), IDAT, END),
        "IDAT do not follow each other",
    ),
    "no rows": (file_of(header(20, 16), END), "end after 0 of 336 bytes"),
    "too few rows": (
        file_of(header(20, 16), chunk(b"IDAT", zlib.compress(bytes(335))), END),
        "end after 335 of 336",
    ),
    "too many rows": (
        file_of(header(20, 16), chunk(b"IDAT", zlib.compress(bytes(337))), END),
        "more than the 336 bytes",
    ),
    "rows cut off": (file_of(header(20, 16), chunk(b"IDAT", ROWS[:-5]), END), "end after"),
    "rows that are no deflate": (
        file_of(header(20, 16), chunk(b"IDAT", b"x" * 40), END),
        "cannot be decompressed",
    ),
    "an unknown filter": (
        file_of(header(20, 16), chunk(b"IDAT", zlib.compress(b"\5" + bytes(335))), END),
        "filter of row 0 is 5",
    ),
    "no end": (file_of(header(20, 16), IDAT), "before its last chunk"),
    "more after the end": (GOOD + b"PK", "2 bytes follow its last chunk"),
    "a chunk longer than the file": (
        file_of(header(20, 16)) + struct.pack(">I4s", 2**31, b"IDAT") + bytes(50),
        "IDAT at byte 33 claims 2,147,483,648 bytes, and 46 are left",
    ),
    "a wrong checksum": (GOOD[:-5] + bytes([GOOD[-5] ^ 1]) + GOOD[-4:], "checksum of chunk|name of a chunk"),
    "an interlaced picture": (file_of(header(20, 16, interlace=1), IDAT, END), "interlaced"),
    "another compression": (file_of(header(20, 16, compression=1), IDAT, END), "methods are 1 and 0"),
    "16 bits": (file_of(header(20, 16, 16), IDAT, END), "colour type is 0 with 16 bits"),
    "colour type 1": (file_of(header(20, 16, 8, 1), IDAT, END), "colour type is 1 with 8 bits"),
    "RGB of 4 bits": (file_of(header(20, 16, 4, RGB), IDAT, END), "colour type is 2 with 4 bits"),
    "too high": (file_of(header(20, 1025), IDAT, END), "1,025 pixels high; it must be 16 to 1024"),
    "too narrow": (file_of(header(15, 16), IDAT, END), "15 pixels wide; it must be 16 to 1024"),
    "four thousand million pixels": (file_of(header(65_535, 65_535), IDAT, END), "65,535 pixels high"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_picture_that_cannot_be_read_says_why(name):
    data, message = REFUSED[name]
    with pytest.raises(PngError, match=message):
        read_png(data, 16, 1024)


def test_no_change_of_a_byte_and_no_cut_goes_unnoticed():
    assert read_png(GOOD, 16, 1024).shape == (16, 20, 3)
    for i in range(len(GOOD)):
        for flip in (1, 0x20, 0x80):
            with pytest.raises(PngError):
                read_png(GOOD[:i] + bytes([GOOD[i] ^ flip]) + GOOD[i + 1 :], 16, 1024)
        with pytest.raises(PngError):
            read_png(GOOD[:i], 16, 1024)


def test_rubbish_with_right_checksums_is_read_or_refused():
    rng, outcomes = random.Random(0), {"read": 0, "refused": 0}
    for _ in range(3000):
        fields = [
            rng.choice((16, 20)),
            16,
            rng.choice((1, 8)),
            rng.choice((0, 2, 3, 6)),
            0,
            0,
            rng.choice((0, 0, 1)),
        ]
        rows = bytearray(rng.choice((ROWS, zlib.compress(bytes(3 * 16)))))
        rows[rng.randrange(len(rows))] ^= rng.choice((0, 0, 1, 64))
        try:
            read_png(file_of(header(*fields), PLTE, chunk(b"IDAT", bytes(rows)), END), 16, 1024)
            outcomes["read"] += 1
        except PngError:
            outcomes["refused"] += 1
    assert min(outcomes.values()) > 100, outcomes


def test_a_file_that_would_grow_a_thousandfold_is_not_unpacked():
    packer = zlib.compressobj(9)
    bomb = b"".join(packer.compress(bytes(2**20)) for _ in range(128)) + packer.flush()
    assert len(bomb) < 2**20
    data = file_of(header(16, 16), chunk(b"IDAT", bomb), END)
    tracemalloc.start()
    with pytest.raises(PngError, match="more than the 272 bytes"):
        read_png(data, 16, 1024)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * len(bomb)  # of 128 MB, nothing but copies of what was packed


def test_the_largest_picture_takes_memory_for_its_pixels_only():
    rows = zlib.compress((b"\4" + b"\0\0\0\xff" + bytes(4092)) + (b"\4" + bytes(4096)) * 1023)
    data = file_of(header(1024, 1024, 8, RGB_ALPHA), chunk(b"IDAT", rows), END)
    tracemalloc.start()
    pixels = read_png(data, 16, 1024)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert pixels.shape == (1024, 1024, 3)
    assert not pixels.any()
    assert peak < 64 * 2**20
