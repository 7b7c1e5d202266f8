"""Games as text: what a terminal shows of it, character by character."""

import re

import numpy as np
import pytest

from territorial.render import TextRenderer, color_depth, owner_colors, render_ansi
from territorial.render.board import xterm_colors
from tests.render.support import BOARD, land_of, random_board

CODES = re.compile(r"\x1b\[([0-9;]*)m")


def shown(text):
    """What a terminal makes of ``text``: lines of (character, colour in front, colour behind)."""
    lines = []
    for line in text.split("\n"):
        front = behind = None
        cells = []
        for i, part in enumerate(CODES.split(line)):
            if i % 2 == 0:
                cells += [(character, front, behind) for character in part]
                continue
            numbers = part.split(";")
            while numbers:
                code, *numbers = numbers
                if code == "0":
                    front = behind = None
                elif code == "49":
                    behind = None
                else:
                    assert code in ("38", "48")
                    count = {"2": 4, "5": 2}[numbers[0]]
                    color, numbers = tuple(map(int, numbers[1:count])), numbers[count:]
                    front, behind = (color, behind) if code == "38" else (front, color)
        assert (front, behind) == (None, None), "a line leaves its colours behind"
        lines.append(cells)
    return lines


def cells_of(text):
    """The colours of the cells of a board, two rows to a line; letters count as what is behind them."""
    rows = []
    for line in shown(text):
        rows.append([front if character == "▀" else behind for character, front, behind in line])
        rows.append([behind for _, _, behind in line])
    return rows


@pytest.mark.parametrize("terrain", ["water", "mountains"])
@pytest.mark.parametrize("colors", ["24bit", "256"])
@pytest.mark.parametrize("height", [30, 31])
def test_every_cell_has_the_colour_of_its_owner(height, colors, terrain):
    owner = random_board(height, 44, 12)
    rgb = owner_colors(12, terrain)
    cells = cells_of(render_ansi(owner, 12, columns=44, colors=colors, terrain=terrain))
    if colors == "24bit":
        wanted = [[tuple(rgb[code].tolist()) for code in row] for row in owner]
    else:
        order = [0, 255, 252, 253, *range(1, 13)]
        rgb[253] = 255
        numbers = dict(zip(order, xterm_colors(rgb[order]).tolist(), strict=True))
        wanted = [[(numbers[code],) for code in row] for row in owner.tolist()]
    assert cells[:height] == wanted
    assert cells[height:] in ([], [[None] * 44])


def test_seat_numbers_stand_on_the_land():
    owner = np.full((20, 20), 1, np.uint8)
    owner[:, 10:] = 12
    words = ["".join(character for character, _, _ in line) for line in shown(render_ansi(owner, 12))]
    assert sorted(" ".join(words).split()) == ["1", "12"]


def test_without_colours_every_seat_is_a_sign():
    assert render_ansi(BOARD, 2, colors="none") == "....\n.112"
    assert render_ansi(BOARD[::-1], 2, colors="none", terrain="mountains") == "^^22\n.112"
    owner = np.array([[1, 9, 10, 35, 36, 61, 62, 250]] * 2, np.uint8)
    assert render_ansi(owner, 250, colors="none") == "19azAZ**"


@pytest.mark.parametrize(
    ("columns", "lines", "size"),
    [(80, None, (80, 20)), (200, None, (120, 30)), (80, 10, (40, 10)), (1, None, (1, 1)), (7, 50, (7, 2))],
)
def test_boards_are_scaled_down_to_what_fits_and_never_up(columns, lines, size):
    text = render_ansi(random_board(60, 120, 5), 5, columns=columns, lines=lines, colors="none")
    rows = text.split("\n")
    assert ((len(rows[0]), len(rows)), len({len(row) for row in rows})) == (size, 1)


def test_scaling_down_keeps_the_corners_where_they_are():
    owner = np.zeros((64, 64), np.uint8)
    owner[:32, :32], owner[:32, 32:], owner[32:, :32], owner[32:, 32:] = 1, 2, 3, 4
    assert render_ansi(owner, 4, columns=4, colors="none") == "1122\n3344"


@pytest.mark.parametrize(
    ("environ", "depth"),
    [
        ({}, "256"),
        ({"TERM": "xterm-256color"}, "256"),
        ({"COLORTERM": "truecolor"}, "24bit"),
        ({"COLORTERM": "24BIT"}, "24bit"),
        ({"WT_SESSION": "x"}, "24bit"),
        ({"COLORTERM": "truecolor", "NO_COLOR": "1"}, "none"),
        ({"COLORTERM": "truecolor", "NO_COLOR": ""}, "24bit"),
        ({"TERM": "dumb"}, "none"),
    ],
)
def test_the_environment_says_which_colours_there_are(environ, depth):
    assert color_depth(environ) == depth


@pytest.mark.parametrize("colors", ["24bit", "256", "none"])
def test_a_game_as_text_fits_the_terminal(colors):
    owner = random_board(256, 256, 32)
    for columns, lines in ((80, 24), (120, 40), (20, 8), (200, 300)):
        renderer = TextRenderer(32, names=["metronome"] * 32, columns=columns, lines=lines, colors=colors)
        rows = shown(renderer.draw(owner, land_of(owner, 32), np.arange(32), tick=123))
        assert len(rows) <= lines
        assert max(map(len, rows)) <= max(columns, 30)
        assert "".join(character for character, _, _ in rows[0]).startswith("tick 123")


def test_the_leaders_stand_below_with_their_colours():
    owner = np.full((10, 60), 2, np.uint8)
    owner[:, :10] = 1
    text = TextRenderer(3, names=["Ann", "Bob", "Cid"], colors="24bit").draw(
        owner, [100, 500, 0], [12_345, 6, 7]
    )
    last = shown(text)[-1]
    words = "".join(character for character, _, _ in last)
    assert re.fullmatch(r"■ +2 Bob +83.3% +6 +■ +1 Ann +16.6% +12.3K", words)
    assert last[0][1] == tuple(owner_colors(3)[2].tolist())
    assert shown(text)[0] == [(character, None, None) for character in "2 alive"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: render_ansi(BOARD, 2, columns=0), "columns is 0"),
        (lambda: render_ansi(BOARD, 2, lines=0), "lines is 0"),
        (lambda: render_ansi(BOARD, 1), r"owner\[1, 3\] is 2"),
        (lambda: render_ansi(BOARD, 2, colors="16"), "colors is '16'; it must be one of 24bit, 256, none"),
        (lambda: TextRenderer(2, columns=19), "columns is 19; it must be a whole number of at least 20"),
        (lambda: TextRenderer(2, lines=7), "lines is 7"),
        (lambda: render_ansi(BOARD, 2, terrain="lava", colors="none"), "terrain is 'lava'"),
    ],
)
def test_what_cannot_be_shown_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
