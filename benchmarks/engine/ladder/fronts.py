#!/usr/bin/env python3
"""The ladder of the front kernel: the size of front(p, t), from the obvious way to the one in the engine.

    python benchmarks/engine/ladder/fronts.py

Every rung is the whole function, is checked against the reference for all pairs of a board in full swing, and
is timed on the same pairs. What a rung is there to show stands in its docstring.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import territorial
from territorial.game import board
from territorial.jit.decorators import ONE, TOP_BIT, kernel, popcount
from territorial.reference import ReferenceGame

ROUNDS = 15


class BoardForms(NamedTuple):
    """A board in every form that a rung may want."""

    owner: npt.NDArray[np.uint8]  # (H+2, W+2) with a wall of 255
    planes: npt.NDArray[np.uint64]  # (P+1, strips, rows)
    occupied: npt.NDArray[np.uint64]  # (P+1, strips, groups)


def by_masks(position: BoardForms, p: int, t: int) -> int:
    """Whole-board masks of numpy: five passes over all cells."""
    own = position.owner == p
    reach = np.zeros_like(own)
    reach[1:] |= own[:-1]
    reach[:-1] |= own[1:]
    reach[:, 1:] |= own[:, :-1]
    reach[:, :-1] |= own[:, 1:]
    return int((reach & (position.owner == t)).sum())


def by_cells(position: BoardForms, p: int, t: int) -> int:
    """The same, compiled, one cell at a time: one pass, a branch for every cell."""
    return int(_by_cells(position.owner, p, t))


@kernel
def _by_cells(owner: Any, p: int, t: int) -> int:
    size = 0
    for r in range(1, owner.shape[0] - 1):
        for c in range(1, owner.shape[1] - 1):
            if owner[r, c] == t:
                is_beside = owner[r - 1, c] == p or owner[r + 1, c] == p
                size += is_beside or owner[r, c - 1] == p or owner[r, c + 1] == p
    return size


def by_words(position: BoardForms, p: int, t: int) -> int:
    """Bit planes, one word of 64 cells after the other, over the whole board."""
    return int(_by_words(position.planes, p, t))


@kernel
def _by_words(planes: Any, p: int, t: int) -> int:
    size, last = 0, planes.shape[1] - 1
    for s in range(planes.shape[1]):
        for r in range(np.uint64(1), np.uint64(planes.shape[2] - 1)):
            own = planes[p, s, r]
            near = (own << ONE) | (own >> ONE) | planes[p, s, r - ONE] | planes[p, s, r + ONE]
            if s > 0:
                near |= planes[p, s - 1, r] >> TOP_BIT
            if s < last:
                near |= planes[p, s + 1, r] << TOP_BIT
            size += popcount(near & planes[t, s, r])
    return size


def by_blocks(position: BoardForms, p: int, t: int) -> int:
    """Eight rows as one vector, only in blocks where p has or borders cells of t: the engine's own."""
    return int(_by_blocks(position.planes, position.occupied, p, t))


@kernel
def _by_blocks(planes: Any, occupied: Any, p: int, t: int) -> int:
    own, cells = board.CellSet(planes[p], occupied[p]), board.CellSet(planes[t], occupied[t])
    return board.front_size(own, cells)


RUNGS: tuple[Callable[[BoardForms, int, int], int], ...] = (by_masks, by_cells, by_words, by_blocks)


def position_of(config: territorial.GameConfig, steps: int) -> tuple[BoardForms, ReferenceGame]:
    """Return a position after so many steps of bots, and the reference in the same."""
    seats = [territorial.LINEUPS["mixed-1"].seats[i % 32] for i in range(config.num_players)]
    game = territorial.VecGame(config, 1, seats=seats, observe=False, autoreset="disabled")
    game.reset(seeds=[0])
    for _ in range(steps):
        game.step()
    twin = ReferenceGame(config, game.maps[0], 0)
    twin.owner = game.state.owner[0, 1:-1, 1:-1].tolist()
    position = BoardForms(
        game.state.owner[0].copy(), game.state.planes[0].copy(), game.state.occupied[0].copy()
    )
    return position, twin


def pairs_of(position: BoardForms) -> list[tuple[int, int]]:
    """Return all pairs that have a front."""
    codes = range(len(position.planes))
    return [(p, t) for p in codes[1:] for t in codes if p != t and by_masks(position, p, t)]


def nanoseconds(rung: Callable[[BoardForms, int, int], int], position: BoardForms, pairs: Any) -> float:
    """Return what a rung takes for a pair: the median of several rounds."""
    costs = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        for p, t in pairs:
            rung(position, p, t)
        costs.append((time.perf_counter() - started) / len(pairs) * 1e9)
    return statistics.median(costs)


def main() -> int:
    """Check and time every rung, and print a table."""
    position, twin = position_of(territorial.GameConfig(), steps=100)
    pairs = pairs_of(position)
    expected = [len(twin.front(p, t)) for p, t in pairs[::10]]
    call = nanoseconds(lambda *_: _nothing(position.planes, position.occupied, 0, 0), position, pairs)
    print(f"{len(pairs)} fronts at tick 1,000; a call of a kernel that does nothing takes {call:,.0f} ns")
    for rung in RUNGS:
        if [rung(position, p, t) for p, t in pairs[::10]] != expected:
            print(f"{rung.__name__} is not what the twin finds", file=sys.stderr)
            return 1
        print(f"{nanoseconds(rung, position, pairs):12,.0f} ns  {rung.__name__:10} {rung.__doc__}")
    return 0


@kernel
def _nothing(planes: Any, occupied: Any, p: int, t: int) -> int:
    return p + t


if __name__ == "__main__":
    sys.exit(main())
