"""Every operation on bit planes against the same operation on a plain board of owner codes.

Widths lie around the borders of the strips of 64 columns; boards go from empty over patches to confetti.
After every operation that changes a board, ``spans`` must still span all cells of every owner and strip.
"""

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from territorial import board
from territorial.board import COLUMNS, END, FIRST
from territorial.constants import BLOCKED
from territorial.state import num_strips

HEIGHTS = (1, 2, 16, 21)
WIDTHS = (1, 16, 63, 64, 65, 127, 128, 129, 130)
NUM_OWNERS = 4
SEEDS = range(12)
MARGIN = 7
"""How far ``spans`` are widened at random: they may span more than they need."""


# The operations are compiled into the engine's calls; for the tests, each gets a call of its own.


@numba.njit
def front_of(planes, spans, owner, target, reach, reach_spans, front, front_spans):
    board.spread(planes, spans, owner, reach, reach_spans)
    board.find_front(planes, spans, reach, reach_spans, target, front, front_spans)


@numba.njit
def size_of(planes, spans, owner, target, reach, reach_spans):
    board.spread(planes, spans, owner, reach, reach_spans)
    return board.front_size(planes, spans, reach, reach_spans, target)


class Planes:
    """A board as bit planes, with the scratch memory that fronts need, full of rubbish."""

    def __init__(self, owner, rng, num_owners=NUM_OWNERS, slack=True):
        height, width = owner.shape
        self.shape = owner.shape
        strips = num_strips(width)
        self.planes = np.zeros((num_owners, strips, height + 2), np.uint64)
        self.spans = np.zeros((num_owners, strips, 3), np.int64)
        self.spans[..., FIRST] = height + 2
        for code in range(num_owners):
            for s in range(strips):
                cells = owner[:, 64 * s : 64 * s + 64] == code
                self.planes[code, s, 1:-1] = words_of(cells)
                self.spans[code, s, :COLUMNS] = covering(cells, height, rng, slack)
                columns = np.bitwise_or.reduce(self.planes[code, s])
                more = rubbish(rng, 1)[0] & rubbish(rng, 1)[0] if slack else np.uint64(0)
                self.spans[code, s, COLUMNS] = (columns | more).view(np.int64)
        self.reach = rubbish(rng, (strips, height + 2))
        self.front = np.zeros((strips, height + 2), np.uint64)
        self.reach_spans = rng.integers(-5, height + 5, (strips, 3))
        self.front_spans = rng.integers(-5, height + 5, (strips, 3))

    def to_array(self):
        """Return the owner codes, BLOCKED where no plane has a cell; two owners of a cell are an error."""
        owner = np.full(self.shape, BLOCKED, np.int64)
        for code in range(len(self.planes)):
            cells = self.cells(code)
            assert not (owner[cells] != BLOCKED).any(), "a cell has two owners"
            owner[cells] = code
        return owner

    def cells(self, code):
        return cells_of(self.planes[code, :, 1:-1], self.shape[1])

    def check(self):
        """The padding is zero, no bit lies outside the map, and rows span all cells."""
        height = self.shape[0]
        assert not self.planes[:, :, 0].any()
        assert not self.planes[:, :, -1].any()
        for code in range(len(self.planes)):
            assert int(np.bitwise_count(self.planes[code]).sum()) == self.cells(code).sum()
            for s in range(self.planes.shape[1]):
                first, end, columns = self.spans[code, s]
                used = np.flatnonzero(self.planes[code, s])
                assert np.bitwise_or.reduce(self.planes[code, s]) & ~columns.view(np.uint64) == 0
                assert len(used) == 0 or (first <= used[0] and used[-1] < end)
                assert first >= end or (first >= 1 and end <= height + 1)

    def spread(self, owner):
        board.spread(self.planes, self.spans, owner, self.reach, self.reach_spans)

    def front_of(self, owner, target):
        """Find the front in zeroed memory and return how many cells it has; its spans are exact."""
        self.front.fill(0)
        front_of(
            self.planes, self.spans, owner, target, self.reach, self.reach_spans, self.front, self.front_spans
        )
        for s, words in enumerate(self.front):
            used = np.flatnonzero(words)
            first, end, columns = self.front_spans[s]
            assert columns.view(np.uint64) == np.bitwise_or.reduce(words)
            assert (first, end) == (used[0], used[-1] + 1) if len(used) else first > end
        return int(np.bitwise_count(self.front).sum())

    def size_of(self, owner, target):
        return size_of(self.planes, self.spans, owner, target, self.reach, self.reach_spans)

    def front_cells(self, words, rows):
        """Return the cells of a set that is valid in its rows only."""
        valid = np.zeros_like(words[:, 1:-1])
        for s in range(len(valid)):
            first, end = rows[s, :COLUMNS]
            if first < end:
                valid[s, first - 1 : end - 1] = words[s, first:end]
        return cells_of(valid, 64 * len(valid))


def words_of(cells):
    padded = np.zeros((cells.shape[0], 64), np.uint8)
    padded[:, : cells.shape[1]] = cells
    return np.packbits(padded, axis=1, bitorder="little").view("<u8")[:, 0]


def cells_of(words, width):
    """Return the cells (H, width) of words [strip][row]."""
    rows = np.ascontiguousarray(words.T)
    return np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little")[:, :width].astype(bool)


def covering(cells, height, rng, slack):
    """Return (first, end) that span all cells, at times more, and sometimes empty in an odd way if none."""
    used = np.flatnonzero(cells.any(axis=1)) + 1
    if len(used) == 0:
        if not slack or rng.random() < 0.5:
            return height + 2, 0
        first = int(rng.integers(1, height + 1))
        return first, int(rng.integers(first, height + 2))
    wider = rng.integers(0, MARGIN, 2) if slack else (0, 0)
    return max(1, used[0] - wider[0]), min(height + 1, used[-1] + 1 + wider[1])


def rubbish(rng, shape):
    return rng.integers(0, 2**64, shape, dtype=np.uint64)


def random_owner(rng, height, width):
    """Return owner codes: patches or confetti, some blocked, at times an owner with nothing."""
    side = int(rng.choice((1, 1, 3, 8)))
    codes = np.array([*range(NUM_OWNERS), BLOCKED])
    weights = rng.random(len(codes)) * (rng.random(len(codes)) < 0.8) + 1e-9
    coarse = rng.choice(codes, (-(-height // side), -(-width // side)), p=weights / weights.sum())
    return np.kron(coarse, np.ones((side, side), np.int64))[:height, :width]


def touching(owner, p):
    """Return the cells that have a neighbour owned by p."""
    walled = np.pad(owner == p, 1)
    return walled[:-2, 1:-1] | walled[2:, 1:-1] | walled[1:-1, :-2] | walled[1:-1, 2:]


@pytest.fixture(params=[(h, w) for h in HEIGHTS for w in WIDTHS], ids=lambda size: f"{size[0]}x{size[1]}")
def boards(request):
    """Return random boards of one size with their planes."""
    height, width = request.param
    pairs = []
    for seed in SEEDS:
        rng = np.random.default_rng([seed, height, width])
        owner = random_owner(rng, height, width)
        pairs.append((owner, Planes(owner, rng), rng))
    return pairs


OWNERS = range(NUM_OWNERS)
PAIRS = [(p, t) for p in range(1, NUM_OWNERS) for t in OWNERS if p != t]


def test_a_board_survives_the_way_to_planes_and_back(boards):
    for owner, planes, _ in boards:
        planes.check()
        assert np.array_equal(planes.to_array(), owner)


def test_spread_reaches_all_cells_beside_an_owner(boards):
    for owner, planes, _ in boards:
        for p in OWNERS:
            planes.spread(p)
            reached = planes.front_cells(planes.reach, planes.reach_spans)[:, : owner.shape[1]]
            assert np.array_equal(reached, touching(owner, p))


def test_a_front_is_every_cell_of_the_target_beside_the_owner(boards):
    for owner, planes, _ in boards:
        for p, target in PAIRS:
            expected = (owner == target) & touching(owner, p)
            assert planes.front_of(p, target) == expected.sum()
            found = planes.front_cells(planes.front, planes.front_spans)
            assert np.array_equal(found[:, : owner.shape[1]], expected)
            assert found.sum() == expected.sum(), "and none outside the map"


def test_a_front_can_be_measured_without_being_found(boards):
    for owner, planes, _ in boards:
        for p, target in PAIRS:
            expected = (owner == target) & touching(owner, p)
            assert planes.size_of(p, target) == expected.sum()


def test_taking_a_front_moves_its_cells_and_no_others(boards):
    for owner, planes, rng in boards:
        for p, target in rng.permutation(PAIRS):
            planes.front_of(p, target)
            board.take_front(planes.planes, planes.spans, p, target, planes.front, planes.front_spans)
            owner[(owner == target) & touching(owner, p)] = p
            planes.check()
            assert np.array_equal(planes.to_array(), owner)


def test_everything_of_one_owner_can_be_given_to_another(boards):
    for owner, planes, rng in boards:
        source, destination = rng.permutation(NUM_OWNERS)[:2]
        board.move_all(planes.planes, planes.spans, source, destination)
        owner[owner == source] = destination
        planes.check()
        assert (planes.spans[source, :, FIRST] >= planes.spans[source, :, END]).all()
        assert np.array_equal(planes.to_array(), owner)


def test_clearing_an_owner_takes_its_cells_off_the_board(boards):
    for owner, planes, rng in boards:
        code = int(rng.integers(NUM_OWNERS))
        board.clear_owner(planes.planes, planes.spans, code)
        owner[owner == code] = BLOCKED
        planes.check()
        assert np.array_equal(planes.to_array(), owner)
        assert (planes.spans[code] == (owner.shape[0] + 2, 0, 0)).all()


def test_tightened_rows_span_exactly_the_cells(boards):
    for owner, planes, _ in boards:
        for code in OWNERS:
            board.tighten_span(planes.planes, planes.spans, code)
            for s in range(num_strips(owner.shape[1])):
                used = np.flatnonzero((owner[:, 64 * s : 64 * s + 64] == code).any(axis=1)) + 1
                first, end = planes.spans[code, s, :COLUMNS]
                assert (first, end) == (used[0], used[-1] + 1) if len(used) else first >= end
        planes.check()
        assert np.array_equal(planes.to_array(), owner)


def test_single_cells_are_set_dropped_and_looked_up(boards):
    for owner, planes, rng in boards:
        for _ in range(20):
            r, c = int(rng.integers(owner.shape[0])), int(rng.integers(owner.shape[1]))
            old, new = owner[r, c], int(rng.integers(NUM_OWNERS))
            is_owned = [board.owns_cell(planes.planes, code, r, c) for code in OWNERS]
            assert is_owned == [code == old for code in OWNERS]
            if old != BLOCKED:
                board.drop_cell(planes.planes, old, r, c)
            board.set_cell(planes.planes, planes.spans, new, r, c)
            owner[r, c] = new
        planes.check()
        assert np.array_equal(planes.to_array(), owner)


def test_owner_codes_are_written_inside_the_wall_ring_and_blocked_cells_are_left(boards):
    for owner, planes, _ in boards:
        codes = np.full((owner.shape[0] + 2, owner.shape[1] + 2), BLOCKED, np.uint8)
        board.write_owner_codes(planes.planes, planes.spans, codes)
        assert np.array_equal(codes, np.pad(owner, 1, constant_values=BLOCKED))


def test_a_bounding_box_holds_all_cells_and_no_more(boards):
    for owner, planes, _ in boards:
        for code in OWNERS:
            board.tighten_span(planes.planes, planes.spans, code)
            top, bottom, left, right = board.bounding_box(planes.spans, code)
            rows, columns = np.nonzero(owner == code)
            if len(rows):
                expected = (rows.min(), rows.max(), columns.min(), columns.max())
                assert (top, bottom, left, right) == expected
            else:
                assert top > bottom
                assert left > right


@pytest.mark.parametrize("column", [0, 62, 63, 64, 65, 126, 127, 128, 129])
@pytest.mark.parametrize("row", [0, 1, 2])
def test_a_lone_cell_reaches_its_four_neighbours_across_strips_and_not_across_edges(row, column):
    owner = np.zeros((3, 130), np.int64)
    owner[row, column] = 1
    planes = Planes(owner, np.random.default_rng(0), slack=False)
    expected = {(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)}
    inside = {(r, c) for r, c in expected if 0 <= r < 3 and 0 <= c < 130}
    assert planes.front_of(1, 0) == len(inside)
    found = planes.front_cells(planes.front, planes.front_spans)
    assert set(zip(*np.nonzero(found), strict=True)) == inside


def test_the_last_column_is_no_neighbour_of_the_first():
    owner = np.full((3, 128), 2, np.int64)
    owner[:, 0], owner[:, 1:127], owner[:, 127] = 1, BLOCKED, 3
    planes = Planes(owner, np.random.default_rng(0), num_owners=4)
    assert [planes.size_of(1, t) for t in range(4)] == [0, 3, 0, 0], "only its own cells touch it"
    assert planes.size_of(3, 1) == 0


@given(st.data())
def test_any_sequence_of_operations_plays_the_same_on_planes_and_on_cells(data):
    """Long histories: rows that went stale by taking, moving and tightening must still span everything."""
    height = data.draw(st.sampled_from(HEIGHTS))
    width = data.draw(st.sampled_from(WIDTHS))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    owner = random_owner(rng, height, width)
    planes = Planes(owner, rng)
    operations = st.tuples(
        st.sampled_from(("take", "take", "take", "move", "tighten", "set")), st.integers(0, 99)
    )
    for name, number in data.draw(st.lists(operations, max_size=20)):
        p, target = PAIRS[number % len(PAIRS)]
        if name == "take":
            planes.front_of(p, target)
            board.take_front(planes.planes, planes.spans, p, target, planes.front, planes.front_spans)
            owner[(owner == target) & touching(owner, p)] = p
        elif name == "move":
            board.move_all(planes.planes, planes.spans, p, 0)
            owner[owner == p] = 0
        elif name == "tighten":
            board.tighten_span(planes.planes, planes.spans, p)
        else:
            r, c = number % height, number * 7 % width
            for code in OWNERS:
                board.drop_cell(planes.planes, code, r, c)
            board.set_cell(planes.planes, planes.spans, p, r, c)
            owner[r, c] = p
        planes.check()
    assert np.array_equal(planes.to_array(), owner)
