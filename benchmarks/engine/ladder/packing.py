#!/usr/bin/env python3
"""The ladder of the packing kernel: a stack of four boards, from the obvious way to the one in the engine.

    python benchmarks/engine/ladder/packing.py

Every rung is the whole way of a stack from one step to the next, but for the list of changed cells. It is
checked against the packer of the reference, step after step of a game, and timed over the same steps. What a
rung is there to show stands in its docstring.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import territorial
from territorial.constants import BLOCKED
from territorial.game.board import block_of, num_groups, num_rows, num_strips, zeroed_words
from territorial.game.change_log import forget_entries
from territorial.game.scratch import Work, make_work
from territorial.jit.bound_arguments import Held, arguments_of, keep
from territorial.jit.decorators import ONE, ZERO, entry_of, kernel
from territorial.jit.simd import EIGHT
from territorial.observation import packing
from territorial.observation.layout import ObsLayout
from territorial.observation.tables import allocate_buffers
from territorial.reference import pack_planes

FRAMES = 4
STEPS = 60
ROUNDS = 9


class StepChange(NamedTuple):
    """What a step changes, in every form that a rung may want."""

    owner: npt.NDArray[np.uint8]  # (H, W) owner codes after the step, P + 1 where blocked
    planes: npt.NDArray[np.uint64]  # (B, S, rows) the XOR of the codes, like planes of the board
    touched: npt.NDArray[np.uint64]  # (B, S, groups) the blocks in which it may have cells
    log: dict[str, Any]  # the same as the engine logs it


class RungEntries(NamedTuple):
    """What the rung that works from entries is given; split beforehand, as the engine does it."""

    boards: npt.NDArray[np.uint64]
    history: npt.NDArray[np.uint64]
    work: Work


class BoardStack:
    """A stack of boards, and what the engine keeps beside it."""

    def __init__(self, config: territorial.GameConfig, owner: npt.NDArray[np.uint8]) -> None:
        layout = ObsLayout(
            height=config.height, width=config.width, num_players=config.num_players, frames=FRAMES
        )
        buffers, work = allocate_buffers(layout, 1), make_work(config, logs_changes=True)
        self.height, self.work = layout.height, work
        self.boards, self.history = buffers.boards[0], buffers.history[0]
        self.held = Held(RungEntries(self.boards, self.history, work), hold_entries)
        planes, groups = layout.num_planes, num_groups(layout.height)
        strips, rows = num_strips(layout.width), num_rows(layout.height)
        self.changes = zeroed_words((planes, strips, rows))
        self.touched = np.zeros((planes, strips, groups), np.uint64)
        shape = FRAMES, planes, strips, groups
        self.blocks = np.zeros(shape, np.uint64)  # where a frame is not zero, as ``history`` has it by bands
        self.board[:] = words_of(bits_of(owner, planes))

    @property
    def board(self) -> npt.NDArray[np.uint64]:
        """The rows of the newest board that are on the map, (B, H, S)."""
        return self.boards[0, :, : self.height]


def bits_of(owner: npt.NDArray[np.uint8], num_planes: int) -> npt.NDArray[np.bool_]:
    """Return the bits of the codes, bool (B, H, W)."""
    return np.stack([(owner >> b & 1).astype(np.bool_) for b in range(num_planes)])


def words_of(bits: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint64]:
    """Return bits (B, H, W) as words, uint64 (B, H, S)."""
    padded = np.zeros((*bits.shape[:2], -(-bits.shape[2] // 64) * 64), np.bool_)
    padded[..., : bits.shape[2]] = bits
    return np.packbits(padded, axis=-1, bitorder="little").view("<u8").astype(np.uint64)


def by_packing(stack: BoardStack, change: StepChange) -> None:
    """The new board packed from its codes with numpy, and all older frames moved."""
    board = words_of(bits_of(change.owner, len(stack.boards[0])))
    stack.boards[2:] = stack.boards[1:-1].copy()
    stack.boards[1, :, : stack.height] = stack.board ^ board
    stack.board[:] = board


def by_words(stack: BoardStack, change: StepChange) -> None:
    """All words of the stack moved and turned over, whether there is anything in them or not."""
    _by_words(stack.boards, change.planes)


@kernel
def _by_words(boards: Any, changes: Any) -> None:
    for b in range(boards.shape[1]):
        for r in range(boards.shape[2]):
            for s in range(boards.shape[3]):
                for entry in range(len(boards) - 1, 1, -1):
                    boards[entry, b, r, s] = boards[entry - 1, b, r, s]
                boards[1, b, r, s] = changes[b, s, r + 1]
                boards[0, b, r, s] ^= changes[b, s, r + 1]


def by_blocks(stack: BoardStack, change: StepChange) -> None:
    """Only blocks in which something is or was, word by word, as their words lie in rows of their own."""
    _by_blocks(stack.boards, stack.blocks, stack.changes, stack.touched)


@kernel
def _by_blocks(boards: Any, sets: Any, changes: Any, touched: Any) -> None:
    for b in range(boards.shape[1]):
        for s in range(boards.shape[3]):
            for group in range(touched.shape[2]):
                sets[0, b, s, group] = touched[b, s, group]
                for entry in range(len(boards) - 1, 0, -1):
                    blocks = sets[entry - 1, b, s, group] | sets[entry, b, s, group]
                    sets[entry, b, s, group] = sets[entry - 1, b, s, group]
                    while blocks != ZERO:
                        row = EIGHT * block_of(group, blocks)
                        for r in range(row, min(row + EIGHT, boards.shape[2])):
                            newer = boards[entry - 1, b, r, s] if entry > 1 else changes[b, s, r + 1]
                            boards[entry, b, r, s] = newer
                        blocks &= blocks - ONE
                blocks = touched[b, s, group]
                touched[b, s, group] = ZERO
                while blocks != ZERO:
                    row = EIGHT * block_of(group, blocks)
                    for r in range(row, min(row + EIGHT, boards.shape[2])):
                        boards[0, b, r, s] ^= changes[b, s, r + 1]
                        changes[b, s, r + 1] = ZERO
                    blocks &= blocks - ONE


def by_bands(stack: BoardStack, change: StepChange) -> None:
    """Older frames by whole bands of eight rows, which lie together, as registers."""
    _by_bands(stack.boards, stack.history, stack.changes, stack.touched)


@kernel
def _by_bands(boards: Any, history: Any, changes: Any, touched: Any) -> None:
    for b in range(boards.shape[1]):
        packing.age(packing.PackedFrames(boards, history), b)
        for s in range(boards.shape[3]):
            for group in range(touched.shape[2]):
                blocks = touched[b, s, group]
                touched[b, s, group] = ZERO
                history[1, b, group] |= blocks
                while blocks != ZERO:
                    row = EIGHT * block_of(group, blocks)
                    for r in range(row, row + EIGHT):
                        boards[0, b, r, s] ^= changes[b, s, r + 1]
                        boards[1, b, r, s] = changes[b, s, r + 1]
                        changes[b, s, r + 1] = ZERO
                    blocks &= blocks - ONE


def by_entries(stack: BoardStack, change: StepChange) -> None:
    """The log by blocks instead of by planes, so that it lies in few lines of the cache: the engine's own."""
    entry_of(_by_entries, stack.held.type)(stack.held)


@kernel
def hold_entries(entries: RungEntries, memory: Any) -> None:
    """Take ``entries`` apart."""
    keep(entries, memory)


@kernel
def _by_entries(held: Held[RungEntries]) -> None:
    stack = arguments_of(held)
    boards, history, work = stack.boards, stack.history, stack.work
    for b in range(boards.shape[1]):
        packing.age(packing.PackedFrames(boards, history), b)
        packing.apply_changes(work, packing.PackedFrames(boards, history), b)
    forget_entries(work)


def load(stack: BoardStack, change: StepChange, *, by_block: bool) -> None:
    """Write ``change`` into the log, which is empty; this is the work of the rules and not timed."""
    if by_block:
        for name, array in change.log.items():
            getattr(stack.work, name)[...] = array
    else:
        stack.changes[:], stack.touched[:] = change.planes, change.touched


def log_of(planes: npt.NDArray[np.uint64], touched: npt.NDArray[np.uint64], empty: Work) -> dict[str, Any]:
    """Return the log of a change, named as in ``game.scratch.Work``; ``empty`` has an empty one."""
    names = ("log_entries", "log_length", "log_blocks", "log_bits", "log_changes", "log_planes", "log_counts")
    log = {name: getattr(empty, name).copy() for name in names}
    flags = np.unpackbits(touched.view(np.uint8), axis=-1, bitorder="little")
    for entry, number in enumerate(np.flatnonzero(flags.any(axis=0)).tolist()):
        s, block = divmod(number, flags.shape[2])
        log["log_entries"].reshape(-1)[number], log["log_length"][0] = entry + 1, entry + 1
        log["log_blocks"][entry] = number, s, block
        log["log_changes"][entry, : len(planes)] = planes[:, s, EIGHT * block + 1 : EIGHT * block + 1 + EIGHT]
        for b in np.flatnonzero(flags[:, s, block]).tolist():
            log["log_bits"][entry] |= ONE << np.uint64(b)
            log["log_planes"][b, log["log_counts"][b]] = entry
            log["log_counts"][b] += 1
    return log


LOGGED = (by_blocks, by_bands, by_entries)
"""The rungs that work from the log, and leave it empty."""

RUNGS: tuple[Callable[[BoardStack, StepChange], None], ...] = (
    by_packing,
    by_words,
    by_blocks,
    by_bands,
    by_entries,
)


def steps_of(
    config: territorial.GameConfig, steps: int
) -> tuple[list[npt.NDArray[np.uint8]], list[StepChange], territorial.VecGame]:
    """Return the boards of a game of bots, (H, W) of codes each, the changes between them, and the game."""
    seats = [territorial.LINEUPS["mixed-1"].seats[i % 32] for i in range(config.num_players)]
    game = territorial.VecGame(config, 1, seats=seats, frames=FRAMES, autoreset="disabled")
    game.reset(seeds=[0])
    boards = [codes_of(game)]
    for _ in range(steps):
        game.step()
        boards.append(codes_of(game))
    changes = [change_of(old, new, game) for old, new in pairwise(boards)]
    return boards, changes, game


def codes_of(game: territorial.VecGame) -> npt.NDArray[np.uint8]:
    """Return the owner codes of the game's cells, those of blocked cells as the format has them."""
    owner = game.state.owner[0, 1:-1, 1:-1]
    return np.where(owner == BLOCKED, game.layout.blocked_code, owner).astype(np.uint8)


def change_of(
    old: npt.NDArray[np.uint8], new: npt.NDArray[np.uint8], game: territorial.VecGame
) -> StepChange:
    """Return what changes from one board to the next."""
    differ = words_of(bits_of(old, game.layout.num_planes) ^ bits_of(new, game.layout.num_planes))
    planes = np.zeros((len(differ), num_strips(old.shape[1]), num_rows(len(old))), np.uint64)
    planes[:, :, 1 : len(old) + 1] = differ.swapaxes(1, 2)
    blocks = planes[:, :, 1 : 1 - EIGHT].reshape(*planes.shape[:2], -1, EIGHT).any(axis=3)
    padded = np.zeros((*planes.shape[:2], 64 * num_groups(len(old))), np.bool_)
    padded[..., : blocks.shape[2]] = blocks
    touched = np.packbits(padded, axis=-1, bitorder="little").view("<u8").astype(np.uint64)
    log = log_of(planes, touched, make_work(game.config, logs_changes=True))
    return StepChange(new, planes, touched, log)


def run(rung: Callable[[BoardStack, StepChange], None], stack: BoardStack, changes: Any) -> float:
    """Take ``stack`` through all ``changes`` and return the microseconds of one, without loading the log."""
    spent = 0.0
    for change in changes:
        if rung in LOGGED:
            load(stack, change, by_block=rung is by_entries)
        started = time.perf_counter()
        rung(stack, change)
        spent += time.perf_counter() - started
    return spent / len(changes) * 1e6


def main() -> int:
    """Check and time every rung, and print a table."""
    config = territorial.GameConfig()
    boards, changes, game = steps_of(config, STEPS)
    print(f"{STEPS} steps of a game, a stack of {FRAMES}; a call from Python is in all of them")
    for rung in RUNGS:
        stack = BoardStack(config, boards[0])
        run(rung, stack, changes)
        if seen(stack, game.layout) != expected(game.layout, boards):
            print(f"{rung.__name__} does not pack what the twin packs", file=sys.stderr)
            return 1
        costs = [run(rung, BoardStack(config, boards[0]), changes) for _ in range(ROUNDS)]
        print(f"{statistics.median(costs):10,.1f} us  {rung.__name__:10} {rung.__doc__}")
    return 0


def seen(stack: BoardStack, layout: ObsLayout) -> bytes:
    """Return the stack in the form of the format."""
    return stack.boards.view(np.uint8)[..., : layout.height, : layout.row_bytes].tobytes()


def expected(layout: ObsLayout, boards: Any) -> bytes:
    """Return the stack after the last of ``boards`` as the reference packs it."""
    newest = boards[-FRAMES:]
    return pack_planes(layout, [np.where(b == layout.blocked_code, BLOCKED, b).tolist() for b in newest])


if __name__ == "__main__":
    sys.exit(main())
