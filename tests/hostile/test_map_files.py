"""Map files that are damaged, or forged with right checksums: each is a map or is refused with the reason."""

import io
import struct
import zlib
from functools import cache

import numpy as np
import pytest
from PIL import Image

from territorial import LandMask
from territorial.maps import files, generate, load, save
from tests.hostile.mutate import mutated
from tests.hostile.support import amounts, assert_loads_or_refused, chunk, peak_of


@cache
def good_map():
    return generate("islands", 40, 57, 1)


def forged(data, seed):
    """A picture with one chunk damaged under a checksum that is right."""
    chunks, at = [], 8
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        chunks.append((data[at + 4 : at + 8], data[at + 8 : at + 8 + length]))
        at += 12 + length
    kind, body = chunks[seed % (len(chunks) - 1)]
    is_rows = kind == b"IDAT" and seed % 2
    changed = zlib.compress(mutated(zlib.decompress(body), seed)) if is_rows else mutated(body, seed)
    chunks[seed % (len(chunks) - 1)] = kind, changed
    return data[:8] + b"".join(chunk(*parts) for parts in chunks)


def picture(mode):
    file = io.BytesIO()
    Image.fromarray(np.where(good_map().to_array(), 255, 0).astype(np.uint8)).convert(mode).save(file, "PNG")
    return file.getvalue()


@cache
def good_files(folder):
    made = {}
    for suffix in files.SUFFIXES:
        save(good_map(), folder / f"good{suffix}")
        made[suffix] = (folder / f"good{suffix}").read_bytes()
    return made | {f"{mode}.png": picture(mode) for mode in ("P", "RGBA")}


@amounts
@pytest.mark.parametrize(
    ("kind", "change"),
    [(".npy", mutated), (".txt", mutated)]
    + [(kind, change) for kind in (".png", "P.png", "RGBA.png") for change in (mutated, forged)],
)
def test_a_damaged_file_is_a_map_or_refused_with_the_reason(tmp_path_factory, tmp_path, kind, change, amount):
    good, path = good_files(tmp_path_factory.getbasetemp())[kind], tmp_path / "map"

    has_checksums = "png" in kind and change is mutated

    def loaded(data):
        path.write_bytes(data)
        threshold = 128 if "png" in kind and len(data) % 2 else None
        found = load(path, threshold=threshold, unreachable="block")
        assert found == good_map() if has_checksums else isinstance(found, LandMask)

    path.write_bytes(good)
    assert load(path) == good_map()
    assert_loads_or_refused(loaded, change, good, amount, least=0.25)


# ---- drawings and arrays that are too much -----------------------------------------------------------


def test_a_drawing_of_many_lines_is_looked_at_once():
    """Lines are counted here, as clocks are not to be trusted: every list is gone through a few times."""
    steps = []

    class Line(str):
        def __bool__(self):
            steps.append(1)
            return len(self) > 0

    class Text(str):
        def splitlines(self):
            return [Line(line) for line in super().splitlines()]

    for count in (1000, 2000):
        steps.clear()
        assert (
            LandMask.from_text(Text("\n" * count + "\n".join(["." * 16] * 16) + "\n" * count)).num_land == 256
        )
        assert len(steps) <= 2 * count + 20


def test_an_error_lists_a_few_widths_and_not_all():
    with pytest.raises(ValueError, match="rows of one width; row 0 has 1, row 1") as told:
        LandMask.from_text("\n".join("." * width for width in range(1, 900)))
    assert len(str(told.value)) < 200


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\n" * (files.MAX_FILE_BYTES - 1) + b".", "as a drawing, it has 16,777,216 bytes; the largest map"),
        (b"." * (files.MAX_FILE_BYTES - 1) + b"x", "line 1 has 'x' at place 16777216"),
        (b".\n" * (files.MAX_FILE_BYTES // 2), "as a drawing, it has 16,777,216 bytes"),
        (
            b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**24 - 12) + b"{" * (2**24 - 12),
            "it is damaged: Header info length",
        ),
    ],
)
def test_a_file_of_the_largest_size_takes_a_few_times_its_bytes(tmp_path, data, reason):
    path = tmp_path / "map"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=reason):
        load(path)
    assert peak_of(lambda: load(path)) <= 4 * files.MAX_FILE_BYTES
