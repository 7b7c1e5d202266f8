"""Pictures: colours one can tell apart, borders where owners change, PNG files others can read."""

import struct
import zlib

import numpy as np
import pytest

from territorial.maps import generate
from territorial.render import (
    beside,
    owner_colors,
    player_colors,
    render_board,
    standings_panel,
    write_png,
)
from territorial.render.font import text_mask
from territorial.render.palette import NEUTRAL_COLOR, TERRAIN_COLORS


def cielab(rgb):
    """CIELAB coordinates (D65) of an (n, 3) array of sRGB colours."""
    c = np.asarray(rgb) / 255
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array(
        [
            [0.4124564, 0.3575761, 0.1804375],
            [0.2126729, 0.7151522, 0.0721750],
            [0.0193339, 0.1191920, 0.9503041],
        ]
    )
    xyz = linear @ to_xyz.T / (0.95047, 1, 1.08883)
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    x, y, z = f.T
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)


def smallest_distance(rgb):
    lab = cielab(rgb)
    distance = np.linalg.norm(lab[:, None] - lab, axis=2)
    return distance[~np.eye(len(lab), dtype=bool)].min()


def decode_png(data):
    """The picture in an unfiltered 8-bit RGB file; every length and checksum is verified."""
    assert data[:8] == bytes([137, 80, 78, 71, 13, 10, 26, 10])
    chunks, at = [], 8
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack_from(">I", data, at + 8 + length)[0] == zlib.crc32(kind + body)
        chunks.append((kind, body))
        at += 12 + length
    assert [kind for kind, _ in chunks] == [b"IHDR", b"IDAT", b"IEND"]
    width, height, *form = struct.unpack(">IIBBBBB", chunks[0][1])
    assert form == [8, 2, 0, 0, 0]
    lines = np.frombuffer(zlib.decompress(chunks[1][1]), np.uint8).reshape(height, 1 + 3 * width)
    assert not lines[:, 0].any()
    return lines[:, 1:].reshape(height, width, 3)


def test_thirty_two_seats_and_the_terrain_are_far_apart_in_cielab():
    terrain = [NEUTRAL_COLOR, *TERRAIN_COLORS.values()]
    for color in terrain:
        assert smallest_distance(np.vstack([player_colors(32), [color]])) > 30


def test_all_seats_there_can_be_differ_visibly():
    assert smallest_distance(player_colors(250)) > 12


def test_a_seats_colour_does_not_depend_on_the_number_of_seats():
    every = player_colors(250)
    for num_players in (2, 32, 33, 249):
        np.testing.assert_array_equal(player_colors(num_players), every[:num_players])
    with pytest.raises(ValueError, match="num_players is 251"):
        player_colors(251)


def test_nobody_can_spoil_the_palette():
    player_colors(250)[:] = 0
    player_colors(32)[:] = 0
    assert player_colors(250).any()
    assert player_colors(32).any()


BOARD = np.array([[0, 0, 0, 0], [0, 1, 1, 2], [0, 1, 1, 2], [255, 255, 2, 2]], np.uint8)


def test_a_board_of_one_owner_has_no_lines():
    image = render_board(np.full((3, 5), 7, np.uint8), 7, scale=4)
    assert image.shape == (12, 20, 3)
    assert image.dtype == np.uint8
    assert (image == player_colors(7)[6]).all()


def test_sides_are_darker_where_the_owner_changes():
    scale = 5
    image = render_board(BOARD, 2, scale)
    colors = owner_colors(2)
    middle = image[scale // 2 :: scale, scale // 2 :: scale]
    np.testing.assert_array_equal(middle, colors[BOARD])
    row, column = 1 * scale, 2 * scale  # seat 1 at (1, 2): neutral above, seat 2 to the right
    dark = colors[1] * np.uint16(9) // 16
    assert (image[row, column : column + scale] == dark).all()
    assert (image[row : row + scale, column + scale - 1] == dark).all()
    assert (image[row + 1 : row + scale, column : column + scale - 1] == colors[1]).all()
    assert (image[:scale] == NEUTRAL_COLOR).all()  # neutral land has no lines


@pytest.mark.parametrize("scale", [1, 2, 3, 8])
def test_pictures_turn_with_the_board(scale):
    owner = np.random.default_rng(0).choice(np.array([0, 1, 2, 3, 255], np.uint8), (9, 14))
    image = render_board(owner, 3, scale)
    assert image.shape == (9 * scale, 14 * scale, 3)
    np.testing.assert_array_equal(render_board(owner.T, 3, scale), image.transpose(1, 0, 2))
    np.testing.assert_array_equal(render_board(owner[::-1], 3, scale), image[::-1])


def test_terrain_changes_the_colour_of_blocked_cells_only():
    water, mountains = render_board(BOARD, 2, 3), render_board(BOARD, 2, 3, "mountains")
    differs = (water != mountains).any(axis=2)
    np.testing.assert_array_equal(differs, (BOARD == 255).repeat(3, 0).repeat(3, 1))


def test_boards_that_are_none_are_refused():
    with pytest.raises(ValueError, match="int64 array"):
        render_board(BOARD.astype(np.int64), 2)
    with pytest.raises(ValueError, match="scale is 0"):
        render_board(BOARD, 2, 0)
    with pytest.raises(ValueError, match="'lava'; it must be one of water, mountains"):
        render_board(BOARD, 2, 3, "lava")


def test_png_files_hold_the_picture(tmp_path):
    land = generate("lakes", 40, 57, 1).to_array()
    image = render_board(np.where(land, 1, 255).astype(np.uint8), 1, 3)
    for picture in (image, image[::2, 5:6], np.full((1, 1, 3), 9, np.uint8)):
        write_png(tmp_path / "board.png", picture)
        np.testing.assert_array_equal(decode_png((tmp_path / "board.png").read_bytes()), picture)


@pytest.mark.parametrize("shape", [(4, 4), (4, 4, 4), (0, 4, 3)])
def test_only_rgb_pictures_become_files(tmp_path, shape):
    with pytest.raises(ValueError, match="shape"):
        write_png(tmp_path / "no.png", np.zeros(shape, np.uint8))
    assert not (tmp_path / "no.png").exists()


def contains(image, text, color):
    """Whether ``text`` stands somewhere in ``image``, written at size 1 in ``color``."""
    ink = (image == color).all(axis=2)
    windows = np.lib.stride_tricks.sliding_window_view(ink, text_mask(text).shape)
    return bool((windows == text_mask(text)).all(axis=(2, 3)).any())


def test_standings_put_the_leader_on_top_and_the_dead_in_grey():
    land, troops = np.array([100, 0, 500]), np.array([9999, 0, 1_234_567])
    panel = standings_panel(80, land, troops, 1000, title="tick 9", size=1)
    assert panel.shape == (80, 174, 3)
    swatches = [panel[10 * line + 2, 8] for line in (2, 3, 4)]
    np.testing.assert_array_equal(swatches, player_colors(3)[[2, 0, 1]])
    light, faint = (226, 228, 232), (120, 126, 136)
    for text, color in (
        ("TICK 9", faint),
        ("P3", light),
        ("50.0%", light),
        ("1.23M", light),
        ("9999", light),
        ("P2", faint),
    ):
        assert contains(panel, text, color), text
    assert not contains(panel, "P4", light)


def test_standings_cut_off_what_does_not_fit():
    many = np.arange(250)
    for height in (1, 7, 33, 200):
        for size in (1, 2):
            names = ["a name too long for its column"] * 250
            panel = standings_panel(height, many, many, 40_000, names=names, size=size)
            assert panel.shape == (height, 174 * size, 3)
    with pytest.raises(ValueError, match="one entry for each seat"):
        standings_panel(99, many, many, 1, names=["one"])


def test_pictures_of_different_heights_stand_beside_each_other():
    left, right = np.full((4, 3, 3), 1, np.uint8), np.full((6, 2, 3), 2, np.uint8)
    image = beside(left, right)
    assert image.shape == (6, 5, 3)
    assert (image[:4, :3] == 1).all()
    assert (image[:, 3:] == 2).all()


def test_every_glyph_is_its_own():
    characters = "0123456789.%-ABCDEFGHIJKLMNOPQRSTUVWXYZ_:?+/#=,* "
    assert len({text_mask(c).tobytes() for c in characters}) == len(characters)
    np.testing.assert_array_equal(text_mask("a~ß", 2), text_mask("A??", 2))
