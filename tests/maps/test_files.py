"""Maps in files: they come back as they were, and what is no map is refused with the reason."""

import io
import re
import struct
import zlib
from functools import cache

import numpy as np
import pytest

from territorial.maps import SUFFIXES, files, generate, land, load, save
from territorial.render import write_png
from tests.hostile.support import chunk


@cache
def maps():
    """Return maps of several kinds, made when the first test asks for them."""
    return [
        generate("islands", 40, 57, 1),
        generate("open", 16, 16, 0),
        land("iceland"),
        generate("maze", 64, 17, 2),
    ]


@pytest.mark.parametrize("suffix", [*SUFFIXES, ".PNG"])
def test_what_is_saved_is_loaded(tmp_path, suffix):
    for mask in maps():
        path = tmp_path / f"map{suffix}"
        save(mask, path)
        assert (load(path), load(str(path), num_players=2)) == (mask, mask)


def test_what_a_file_is_shows_in_its_bytes_and_not_in_its_name(tmp_path):
    save(maps()[0], tmp_path / "map.png")
    (tmp_path / "map.png").rename(tmp_path / "map.txt")
    assert load(tmp_path / "map.txt") == maps()[0]


def test_a_picture_of_colours_has_a_threshold(tmp_path):
    cells = maps()[0].to_array()
    colors = np.array([(40, 58, 84), (232, 228, 214)], np.uint8)  # water and land as pictures show them
    write_png(tmp_path / "map.png", colors[cells.astype(int)])
    assert load(tmp_path / "map.png", threshold=128) == maps()[0]
    with pytest.raises(
        ValueError, match=r"row 0, column 0 has the colour \(.*, neither black .*threshold=128"
    ):
        load(tmp_path / "map.png")
    gray = np.full((16, 16, 3), 100, np.uint8)
    gray[0, 0] = 99
    write_png(tmp_path / "gray.png", gray)
    assert load(tmp_path / "gray.png", threshold=100).num_land == 255
    assert load(tmp_path / "gray.png", threshold=99).num_land == 256


@pytest.mark.parametrize("dtype", [bool, np.uint8, ">i4", np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_every_kind_of_number_are_read(tmp_path, dtype, order):
    np.save(tmp_path / "map.npy", np.asarray(maps()[0].to_array().astype(dtype), order=order))
    assert load(tmp_path / "map.npy") == maps()[0]


def test_drawings_may_have_the_line_ends_of_windows(tmp_path):
    (tmp_path / "map.txt").write_bytes(b"\r\n".join([b"." * 20] * 16) + b"\r\n")
    assert load(tmp_path / "map.txt").num_land == 320


def drawing(*rows):
    return "\n".join(rows).encode()


def npy(array, **options):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, **options)
    return buffer.getvalue()


def npy_header(text, version=(1, 0)):
    header = text.encode("latin-1") + b"\n"
    length = struct.pack("<H" if version == (1, 0) else "<I", len(header))
    return b"\x93NUMPY" + bytes(version) + length + header


def png(width, height, rows):
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


OPEN = "." * 20
REFUSED = {
    "an empty file": (b"", "the map drawing is empty"),
    "a text": (b"Hello\n", "line 1 has 'H' at place 1, where a drawing has '.' for land and '#' for blocked"),
    "a JPEG": (b"\xff\xd8\xff\xe0" + bytes(99), "not a PNG picture, .npy array or drawing"),
    "a pickle": (b"\x80\x04\x95" + bytes(40), "or drawing: "),
    "a drawing with a hole": (drawing(*[OPEN] * 15, "." * 19), "rows of one width"),
    "a drawing too low": (
        drawing(*[OPEN] * 15),
        "map height is 15; it must be a whole number from 16 to 1024",
    ),
    "a drawing too wide": (drawing(*["." * 1025] * 16), "map width is 1025"),
    "no land": (drawing(*["#" * 20] * 16), "the map has no land; a game needs one 4-connected region"),
    "a cut picture": (png(20, 16, bytes(336))[:-20], "as a PNG picture, Pillow cannot read it"),
    "a picture too large": (
        png(2000, 16, bytes(50)),
        "picture, the picture is 2,000 pixels wide; it must be 16 to",
    ),
    "a black picture": (png(20, 16, bytes(336)), "the map has no land"),
    "an array too small": (npy(np.ones((15, 20))), r"shape \(15, 20\) .* 16 to 1024 rows"),
    "an array of three dimensions": (
        npy(np.ones((16, 16, 3))),
        r"shape \(16, 16, 3\) of float64; it must have 16 to 1024 rows",
    ),
    "an array of objects": (
        npy(np.full((16, 16), None), allow_pickle=True),
        "of object; it must have 16 to 1024 rows and columns of bools",
    ),
    "an array of records": (npy(np.zeros((16, 16), "i4,f4")), r"of \[\('f0', '<i4'\), .*; it must have"),
    "an array of twos": (npy(np.full((16, 16), 2)), "the land of a map is 2 at row 0, column 0"),
    "an array of nan": (npy(np.full((16, 16), np.nan)), "the land of a map is nan at row 0"),
    "an array cut off": (
        npy(np.ones((16, 16)))[:-1],
        "it is damaged: .*expected 2048 bytes got 2047",
    ),
    "an array that claims to be huge": (
        npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (1024, 1024), }"),
        "it is damaged: .*got 0",
    ),
    "an array that claims to be endless": (
        npy_header("{'descr': '<f8', 'fortran_order': False, 'shape': (2**60, 2)}"),
        "it is damaged",
    ),
    "an array of 10**30 rows": (
        npy_header(f"{{'descr': '|b1', 'fortran_order': False, 'shape': ({10**30}, 16), }}"),
        "it must have 16 to 1024 rows",
    ),
    "an array of 10**17 rows": (
        npy_header(f"{{'descr': '|b1', 'fortran_order': False, 'shape': ({10**17}, 16), }}"),
        "it must have 16 to 1024 rows",
    ),
    "an array with negative rows": (
        npy_header("{'descr': '|b1', 'fortran_order': False, 'shape': (-16, -16), }"),
        "it must have 16 to 1024 rows",
    ),
    "a header that is code": (npy_header("__import__('os').getcwd()"), "it is damaged: malformed node"),
    "a header that is long": (npy_header("[" * 5000, (2, 0)), "it is damaged"),
    "a header that is cut": (b"\x93NUMPY\x01\x00\xff", "it is damaged: .*header length"),
    "an unknown version": (b"\x93NUMPY\x09\x00" + bytes(200), "it is damaged"),
}


@pytest.mark.parametrize(("data", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_map_is_refused_with_file_and_reason(tmp_path, data, message):
    path = tmp_path / "map.bin"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=message) as refused:
        load(path)
    assert str(refused.value).startswith(f"the map {str(path)!r} cannot be used: ")


def test_land_that_cannot_be_reached_is_refused_or_blocked(tmp_path):
    rows = [OPEN] * 10 + ["#" * 20] * 3 + [OPEN] * 2 + ["#" * 20] * 2 + ["#" * 19 + "."]
    path = tmp_path / "map.txt"
    path.write_bytes(drawing(*rows))
    message = (
        "41 of 241 land cells cannot be reached: there are 3 regions, and the cell at row 13, column 0 is "
        'not in the largest. Cells that touch only at a corner are not neighbours; unreachable="block" blocks'
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        load(path)
    assert load(path, unreachable="block").num_land == 200


def test_there_must_be_room_for_all_spawns(tmp_path):
    path = tmp_path / "map.txt"
    path.write_bytes(drawing(*["." * 8 + "#" * 8] * 4, *["#" * 16] * 12))
    assert load(path, num_players=2).num_land == 32
    with pytest.raises(ValueError, match="num_players is 3, but only 2 spawns fit on its 32 cells of land"):
        load(path, num_players=3)


def test_a_file_of_many_megabytes_is_not_even_read_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 1000)
    (tmp_path / "map.txt").write_bytes(b"." * 1001)
    with pytest.raises(ValueError, match="it has more than 1,000 bytes, which is the limit"):
        load(tmp_path / "map.txt")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"threshold": 0}, ValueError, "threshold is 0; it must be a whole number from 1 to 255"),
        ({"threshold": 0.5}, TypeError, "threshold is 0.5"),
        ({"threshold": 9}, ValueError, "it is not a picture; only a picture has a threshold"),
        ({"unreachable": "drop"}, ValueError, "unreachable is 'drop'; it must be one of refuse, block"),
        ({"num_players": 251}, ValueError, "num_players is 251"),
    ],
)
def test_options_are_checked(tmp_path, options, error, message):
    save(maps()[1], tmp_path / "map.txt")
    with pytest.raises(error, match=message):
        load(tmp_path / "map.txt", **options)


def test_a_file_that_is_not_there_and_an_end_that_means_nothing(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "map.png")
    with pytest.raises(ValueError, match=r"it must be one of \.png, \.npy, \.txt"):
        save(maps()[0], tmp_path / "map.jpg")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(TypeError, match="mask is an array of bool, shape"):
        save(maps()[0].to_array(), tmp_path / "map.png")
