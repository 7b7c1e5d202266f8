"""docs/observation.md is true: its parser reads what is packed, its example is exact, its tables current."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from territorial.constants import BLOCKED
from territorial.observation.action_encoding import action_owners, owner_of_target
from territorial.observation.action_masks import target_masks
from territorial.observation.layout import ObsLayout
from tests.twin import pack_delta, pack_planes, pack_terrain


@st.composite
def histories(draw):
    """A layout and one to six boards, each a few cells away from the one before."""
    layout = ObsLayout(
        height=draw(st.integers(16, 20)),
        width=draw(st.integers(16, 34)),
        num_players=draw(st.one_of(st.sampled_from([2, 3, 6, 7, 14, 15, 249, 250]), st.integers(2, 250))),
        frames=draw(st.integers(1, 5)),
    )
    codes = st.integers(0, layout.num_players)
    cells = layout.height * layout.width
    random = draw(st.randoms(use_true_random=False))
    flat = [random.choice((BLOCKED, random.randint(0, layout.num_players))) for _ in range(cells)]
    history = [flat]
    land = [k for k in range(cells) if flat[k] != BLOCKED]
    for _ in range(draw(st.integers(0, 5))):
        flat = flat.copy()
        changed = draw(st.lists(st.tuples(st.sampled_from(land), codes), max_size=2 * cells // 16))
        for k, code in changed:
            flat[k] = code
        history.append(flat)
    return layout, [[flat[k : k + layout.width] for k in range(0, cells, layout.width)] for flat in history]


pytestmark = pytest.mark.checkout

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/observation.md"
TEXT = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""

EXAMPLE = ObsLayout(height=16, width=18, num_players=2, frames=2)
CODES = {".": 0, "1": 1, "2": 2, "#": BLOCKED}


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


def function(name: str):
    """Return the function that the page defines."""
    names: dict = {}
    exec("\n".join(block for block in blocks("python") if re.match(r"(# .*\n)?def ", block)), names)
    return names[name]


# ---- the parser --------------------------------------------------------------------------------------


@settings(max_examples=15)
@given(histories())
def test_the_parser_reads_what_the_reference_packs(given):
    layout, history = given
    sizes = (layout.height, layout.width, layout.num_players, layout.frames)
    found = function("parse_planes")(pack_planes(layout, history), *sizes)
    newest_first = history[::-1] + [history[0]] * layout.frames
    assert found == [codes_of(layout, board) for board in newest_first[: layout.frames]]


@settings(max_examples=15)
@given(histories())
def test_a_board_kept_up_to_date_by_deltas_is_the_newest_one(given):
    layout, history = given
    sizes = (layout.height, layout.width, layout.num_players, layout.frames)
    board: list[int] = []
    for k in range(1, len(history) + 1):
        count, delta = pack_delta(layout, history[:k])
        if count < 0:
            board = function("parse_planes")(pack_planes(layout, history[:k]), *sizes)[0]
        for index, code in delta:
            board[index] = code
    assert board == codes_of(layout, history[-1])


def codes_of(layout, board):
    return [layout.blocked_code if code == BLOCKED else code for row in board for code in row]


# ---- as a seat sees it -------------------------------------------------------------------------------


@pytest.mark.parametrize("players", [2, 3, 32, 250])
def test_the_ego_codes_of_the_page_are_those_of_actions(players):
    ego_code, owner_code = function("ego_code"), function("owner_code")
    for seat in range(1, players + 1):
        order = action_owners(players)[:, 1:][seat - 1].tolist()
        assert [owner_code(ego, seat, players) for ego in range(players + 1)] == order
        assert [ego_code(owner, seat, players) for owner in order] == list(range(players + 1))
        assert [owner_of_target(what, seat, players) for what in range(1, players + 2)] == order
    assert ego_code(players + 1, 1, players) == owner_code(players + 1, 1, players) == players + 1


@settings(max_examples=15)
@given(st.integers(2, 250).flatmap(lambda p: st.tuples(st.just(p), st.randoms(use_true_random=False))))
def test_the_mask_of_the_page_is_that_of_actions(given):
    players, random = given
    size = -(-(players + 2) // 8)
    masks = np.array([[random.randrange(256) for _ in range(size)] for _ in range(players)], np.uint8)
    expected = target_masks(masks[None], np.zeros(players, np.int64), np.arange(1, players + 1))
    is_legal = function("is_legal")
    for seat in {1, players, random.randint(1, players)}:
        mask = masks[seat - 1].tobytes()
        found = [is_legal(mask, what, seat, players) for what in range(players + 2)]
        assert found == expected[seat - 1].tolist()


# ---- the worked example ------------------------------------------------------------------------------


def example() -> list[list[list[int]]]:
    """The two boards of the page, the older one first."""
    drawings = [re.search(rf"^row 0, {when} +(\S+)$", TEXT, re.MULTILINE)[1] for when in ("before", "now")]
    empty = [[0] * EXAMPLE.width for _ in range(EXAMPLE.height - 1)]
    return [[[CODES[char] for char in drawing], *empty] for drawing in drawings]


def test_the_bytes_of_the_example_are_those_packed():
    lines = re.findall(r"^(planes|terrain)\[([0-9, ]+)\] +((?:[0-9a-f]{2} )+)", TEXT, re.MULTILINE)
    assert [(name, index) for name, index, _ in lines] == [
        *(("planes", f"{entry}, {plane}, 0") for entry in (0, 1) for plane in (0, 1)),
        ("terrain", "0, 0"),
    ]
    packed = {
        "planes": bytearray(pack_planes(EXAMPLE, example())),
        "terrain": bytearray(pack_terrain(EXAMPLE, example()[-1], is_water=False)),
    }
    assert {name: len(data) for name, data in packed.items()} == {"planes": 192, "terrain": 96}
    starts = []
    for name, index, digits in lines:
        array = np.frombuffer(packed[name], np.uint8).reshape(EXAMPLE.shape(name))
        row = array[tuple(int(number) for number in index.split(", "))]
        starts.append(row.ctypes.data - array.ctypes.data)
        assert row.tobytes() == bytes.fromhex(digits)
        row[:] = 0
    assert not any(packed["planes"] + packed["terrain"])  # all other bytes are 0
    written = re.search(r"these rows begin at the\nbytes (\d+), (\d+), (\d+) and (\d+)", TEXT).groups()
    assert [int(start) for start in written] == starts[:4]


def test_the_delta_of_the_example_is_the_one_listed():
    count, delta = pack_delta(EXAMPLE, example())
    assert re.search(r"^delta_count +(-?\d+)$", TEXT, re.MULTILINE)[1] == str(count)
    listed = re.search(r"^delta +((?:\d+:\d+ )+)", TEXT, re.MULTILINE)[1].split()
    assert listed == [f"{index}:{code}" for index, code in delta]
