"""Every operation on bit planes against the same operation on a plain board of owner codes.

Widths lie around the borders of the strips of 64 columns; boards go from empty over patches to confetti.
After every operation that changes a board, ``occupied`` must still have all blocks with cells of every owner.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from territorial.constants import BLOCKED
from territorial.game import board
from territorial.game.board import BlockList, CellSet, num_blocks, num_groups, num_rows, num_strips
from territorial.jit.simd import EIGHT

HEIGHTS = (1, 8, 21, 520)
WIDTHS = (1, 63, 64, 65, 128, 130, 200)
NUM_OWNERS = 4
SEEDS = range(4)


class Planes:
    """A board as bit planes, with the scratch memory that fronts need, full of rubbish."""

    def __init__(self, owner, rng, num_owners=NUM_OWNERS, slack=True):
        height, width = owner.shape
        self.shape = owner.shape
        strips, rows, groups = num_strips(width), num_rows(height), num_groups(height)
        self.planes = np.zeros((num_owners, strips, rows), np.uint64)
        for code in range(num_owners):
            for s in range(strips):
                self.planes[code, s, 1 : height + 1] = words_of(owner[:, 64 * s : 64 * s + 64] == code)
        self.occupied = self.exactly_occupied()
        if slack:
            more = rubbish(rng, self.occupied.shape) & rubbish(rng, self.occupied.shape)
            self.occupied |= more & board.all_blocks(height)
        self.front = CellSet(np.zeros((strips, rows), np.uint64), rubbish(rng, (strips, groups)))
        self.zone = np.zeros((strips, groups), np.uint64)
        room = strips * num_blocks(height) + 1
        self.room = BlockList(*(rubbish(rng, room).view(np.int64) for _ in range(2)), 0)
        self.front_list = self.zone_list = self.room

    def set_of(self, code):
        """Return the cells of an owner, as views."""
        return CellSet(self.planes[code], self.occupied[code])

    def exactly_occupied(self):
        """Return the blocks that hold cells: uint64 (owners, strips, groups)."""
        return np.stack([blocks_of(words) for words in self.planes])

    def to_array(self):
        """Return the owner codes, BLOCKED where no plane has a cell; two owners of a cell are an error."""
        owner = np.full(self.shape, BLOCKED, np.int64)
        for code in range(len(self.planes)):
            cells = self.cells(code)
            assert not (owner[cells] != BLOCKED).any(), "a cell has two owners"
            owner[cells] = code
        return owner

    def cells(self, code):
        return cells_of(self.planes[code, :, 1 : self.shape[0] + 1], self.shape[1])

    def check(self):
        """The padding is zero, no bit lies outside the map, and rows span all cells."""
        height = self.shape[0]
        assert not self.planes[:, :, 0].any()
        assert not self.planes[:, :, height + 1 :].any()
        for code in range(len(self.planes)):
            assert int(np.bitwise_count(self.planes[code]).sum()) == self.cells(code).sum()
        assert not (self.exactly_occupied() & ~self.occupied).any()
        assert not (self.occupied & ~board.all_blocks(height)).any()

    def front_of(self, owner, target):
        """Find the front in zeroed memory and return how many cells it has; its blocks are exact."""
        self.front.words.fill(0)
        self.front_list = board.find_front(self.set_of(owner), self.set_of(target), self.front, self.room)
        assert np.array_equal(self.front.blocks, blocks_of(self.front.words))
        self.check_list(self.front_list, self.front.blocks)
        return int(np.bitwise_count(self.front.words).sum())

    def take_front(self, taker, target):
        cells, all_blocks = self.set_of(target), board.all_blocks(self.shape[0])
        self.zone_list = board.lose_front(cells, self.front, self.zone, all_blocks, self.front_list)
        assert not self.zone.any()
        self.check_list(self.front_list, self.front.blocks)
        board.gain_front(self.set_of(taker), self.front, self.front_list)
        assert not self.front.words.any()

    def give_all(self, source, destination):
        cells = self.set_of(source)
        board.gain_front(self.set_of(destination), cells, board.list_blocks(cells, self.room))
        board.empty(cells.blocks)

    def check_list(self, listed, blocks):
        """A list has the blocks of a set, by number and by place, each once."""
        flags = np.unpackbits(blocks.view(np.uint8), axis=1, bitorder="little")
        numbers = listed.numbers[: listed.length]
        assert sorted(numbers) == np.flatnonzero(flags).tolist()
        strips, blocks_of_strips = np.divmod(numbers, flags.shape[1])
        rows = strips * self.planes.shape[2] + EIGHT * blocks_of_strips + 1
        assert np.array_equal(listed.places[: listed.length], rows)

    def front_cells(self, words, blocks):
        """Return the cells (H, 64 S) of a set that is valid in its blocks only."""
        is_valid = np.unpackbits(blocks.view(np.uint8), axis=1, bitorder="little").astype(bool)
        rows = np.repeat(is_valid, EIGHT, axis=1)[:, : self.shape[0]]
        return cells_of(np.where(rows, words[:, 1 : self.shape[0] + 1], np.uint64(0)), 64 * len(words))


def blocks_of(words):
    """Return the blocks of a set of cells, uint64 (strips, groups)."""
    used = words[:, 1 : 1 - EIGHT].reshape(len(words), -1, EIGHT).any(axis=2)
    padded = np.zeros((len(words), 64 * -(-used.shape[1] // 64)), np.uint8)
    padded[:, : used.shape[1]] = used
    return np.packbits(padded, axis=-1, bitorder="little").view("<u8")


def words_of(cells):
    padded = np.zeros((cells.shape[0], 64), np.uint8)
    padded[:, : cells.shape[1]] = cells
    return np.packbits(padded, axis=1, bitorder="little").view("<u8")[:, 0]


def cells_of(words, width):
    """Return the cells (H, width) of words [strip][row]."""
    rows = np.ascontiguousarray(words.T)
    return np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little")[:, :width].astype(bool)


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


def test_a_front_is_every_cell_of_the_target_beside_the_owner(boards):
    for owner, planes, _ in boards:
        for p, target in PAIRS:
            expected = (owner == target) & touching(owner, p)
            assert planes.front_of(p, target) == expected.sum()
            assert board.front_size(planes.set_of(p), planes.set_of(target)) == expected.sum()
            found = planes.front_cells(*planes.front)
            assert np.array_equal(found[:, : owner.shape[1]], expected)
            assert found.sum() == expected.sum(), "and none outside the map"


def test_the_blocks_of_those_between_whom_cells_moved_stay_exact():
    """Otherwise the longer a game, the more blocks would be looked at for nothing."""
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        planes = Planes(random_owner(rng, 40, 130), rng, slack=False)
        for p, target in rng.permutation(PAIRS * 4):
            planes.front_of(p, target)
            planes.take_front(p, target)
            assert np.array_equal(planes.occupied, planes.exactly_occupied())


def test_owner_codes_are_written_inside_the_wall_ring_and_blocked_cells_are_left(boards):
    for owner, planes, _ in boards:
        codes = np.full((owner.shape[0] + 2, owner.shape[1] + 2), BLOCKED, np.uint8)
        board.write_owner_codes(planes.planes, planes.occupied, codes)
        assert np.array_equal(codes, np.pad(owner, 1, constant_values=BLOCKED))


def test_a_bounding_box_holds_all_cells_and_no_more(boards):
    for owner, planes, _ in boards:
        for code in OWNERS:
            top, bottom, left, right = board.bounding_box(planes.set_of(code))
            rows, columns = np.nonzero(owner == code)
            if len(rows):
                expected = (rows.min(), rows.max(), columns.min(), columns.max())
                assert (top, bottom, left, right) == expected
            else:
                assert top > bottom
                assert left > right


@settings(max_examples=40)
@given(st.data())
def test_any_sequence_of_operations_plays_the_same_on_planes_and_on_cells(data):
    """Long histories: blocks that were taken from and moved must still be known wherever there are cells."""
    height = data.draw(st.sampled_from(HEIGHTS))
    width = data.draw(st.sampled_from(WIDTHS))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    owner = random_owner(rng, height, width)
    planes = Planes(owner, rng)
    assert np.array_equal(planes.to_array(), owner)
    operations = st.tuples(st.sampled_from(("take", "take", "take", "move", "set")), st.integers(0, 99))
    for name, number in data.draw(st.lists(operations, max_size=20)):
        p, target = PAIRS[number % len(PAIRS)]
        if name == "take":
            planes.front_of(p, target)
            planes.take_front(p, target)
            owner[(owner == target) & touching(owner, p)] = p
        elif name == "move":
            planes.give_all(p, 0)
            owner[owner == p] = 0
        else:
            r, c = number % height, number * 7 % width
            for code in OWNERS:
                board.drop_cell(planes.set_of(code), r, c)
            board.set_cell(planes.set_of(p), r, c)
            owner[r, c] = p
        planes.check()
    assert np.array_equal(planes.to_array(), owner)
