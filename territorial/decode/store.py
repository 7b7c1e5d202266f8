"""FrameStore: the boards of many games and steps as key frames and deltas, for rollouts and replay."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.config.validation import holds_whole_numbers, one_of, whole_number
from territorial.decode.blocks import (
    AGE_LIMIT,
    CUT,
    GAME,
    KEY_FRAME,
    NEWEST,
    OLDEST,
    SLOT,
    Block,
    Delta,
    Sizes,
    cell_dtype,
    find_bad_change,
    key_bytes,
    rebuild,
)
from territorial.decode.feature_kernels import read_only
from territorial.observation.layout import MAX_FRAMES, NEW_GAME, NOT_LISTED, ObsLayout, array_called

STORED = {
    name: np.dtype(array_called(name).dtype)
    for name in ("planes", "delta_index", "delta_code", "delta_count")
}
"""What is read of observations, with its dtype."""
FORMS = ("owners", "onehot", "semantic", "pooled")
"""The methods of a decoder that make something of boards."""
TABLES = ("players", "borders")
"""What the last two of them need besides."""


class FrameStore:
    """Boards of E games, step after step, in about the bytes of what changed; every stack comes back exactly.

    Args:
        layout: of the observations to be stored, with at least one frame.
        num_games: E.
        key_every: N, the longest row of deltas, in steps, that a lookup has to go through.
        budget: bytes that ``nbytes`` never exceeds; None: no limit.
        capacity: steps to keep; None: no limit.

    Steps are kept in blocks of up to N, each beginning with a key frame of every game. Where a limit would be
    exceeded, the oldest steps go: with ``capacity`` one by one, with ``budget`` in whole blocks, no block
    being larger than half the budget. The steps are numbered 0, 1, 2 ... and numbers are never
    used again: there are the steps from ``first`` up to, but without, ``end``.

    Pickling and copying keep everything. Threads must not append while others use the store; any number of
    them may look things up.

    """

    def __init__(
        self,
        layout: ObsLayout,
        num_games: int,
        *,
        key_every: int = 64,
        budget: int | None = None,
        capacity: int | None = None,
    ) -> None:
        if not isinstance(layout, ObsLayout):
            raise TypeError(f"layout is {layout!r}; it must be a territorial.observation.layout.ObsLayout")
        if layout.frames < 1:
            raise ValueError(
                "layout has frames=0, so there are no boards to store; frames must be at least 1"
            )
        self.layout = layout
        self.num_games = whole_number("num_games", num_games, 1)
        self.key_every = whole_number("key_every", key_every, 1)
        self.capacity = None if capacity is None else whole_number("capacity", capacity, 1)
        self.budget = None if budget is None else whole_number("budget", budget, 1)
        self._sealed: list[Block] = []
        self._sealed_bytes = 0
        self._open = Block.empty(0, Sizes(0, 0, 0), layout, self.num_games)
        self._ages = np.zeros(self.num_games, np.uint8)  # of the newest step, as in a block
        self._is_cut = True
        self._shapes = {name: (self.num_games, *layout.shape(name)) for name in STORED}
        self._check_budget()

    # ---- what is there ----------------------------------------------------------------------------

    @property
    def first(self) -> int:
        """The oldest step that is still there; ``end`` if there is none."""
        oldest = (self._sealed[0] if self._sealed else self._open).begin
        return oldest if self.capacity is None else max(oldest, self.end - self.capacity)

    @property
    def end(self) -> int:
        """The number that the next step gets."""
        return self._open.end

    def __len__(self) -> int:
        """Return how many steps are there; each is one of all games."""
        return self.end - self.first

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays of the store, with the room that they have to spare."""
        return self._sealed_bytes + self._open.nbytes + self._ages.nbytes

    def __repr__(self) -> str:
        layout = self.layout
        return (
            f"FrameStore({self.num_games} games, {layout.height} x {layout.width}, {layout.num_players} "
            f"players, steps from {self.first} up to {self.end}, {self.nbytes} bytes)"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_open": self._open.trimmed(), "_ages": self._ages.copy()}

    # ---- storing ----------------------------------------------------------------------------------

    def begin(self) -> None:
        """Say that the next step does not follow the last one, as steps were left out.

        What is stored stays; no stack reaches across. Not needed after ``VecGame.reset``.
        """
        self._is_cut = True

    def append(self, observations: Any) -> int:
        """Store one step of all games and return its number.

        ``observations``: what ``VecGame.reset`` or ``step`` returned; ``planes[:, 0]`` and the deltas are
        copied. A game whose ``delta_count`` is NEW_GAME begins a new stack. At the first step of
        the store and after ``begin`` all others have no earlier frames, so that their stacks of more
        than one begin some steps later.

        ValueError and TypeError name what does not fit, and nothing is stored.
        """
        boards, delta = self._check_observations(observations)
        is_new = delta.counts == NEW_GAME
        if self._is_cut:
            ages = np.where(is_new, 0, CUT)
        else:
            older = np.minimum(self._ages % CUT + 1, AGE_LIMIT) | (self._ages & CUT)
            ages = np.where(is_new, 0, older)
        # A delta that takes more bytes than a key frame is not kept.
        most = key_bytes(self.layout) // (np.dtype(cell_dtype(self.layout)).itemsize + 1)
        counts = np.where((delta.counts < 0) | (delta.counts > most), KEY_FRAME, delta.counts)

        room = self._open.room_for(counts)
        if self._is_cut or not self._may_grow(room):
            self._seal()
        if self._open.used.steps == 0:
            counts = np.full(self.num_games, KEY_FRAME, np.int32)
            room = self._open.room_for(counts)
        self._make_way(self._open.bytes_of(room))
        self._open.append(room, boards, delta._replace(counts=counts), ages, self.layout.width)
        self._ages, self._is_cut = ages.astype(np.uint8), False
        while self._sealed and self._sealed[0].end <= self.first:
            self._drop_oldest()
        return self.end - 1

    def since(self, step: int) -> FrameStore:
        """Return a store of its own that has the steps from ``step`` on, under the same numbers.

        It can be appended to, and takes about the bytes of what changed from there on and one key frame a
        game. ``step``: one that is there, or ``end``; for stacks of F frames at a step begin F - 1 earlier.
        """
        step = whole_number("step", step, self.first, self.end)
        store = copy.copy(self)
        blocks = [block for block in self._blocks() if block.end > step]
        if blocks and blocks[0].begin < step:
            games = np.arange(self.num_games)
            boards = self.planes(games, np.full(self.num_games, step), 1)
            blocks[0] = blocks[0].since(step, boards.reshape(self.num_games, *blocks[0].keys.shape[1:]))
        blocks = [block.trimmed() for block in blocks]
        open_ = blocks.pop() if blocks and self._open.used.steps else None
        if open_ is None:
            open_ = Block.empty(self.end, Sizes(0, 0, 0), self.layout, self.num_games)
        store._open, store._sealed, store._ages = open_, blocks, self._ages.copy()
        store._sealed_bytes = sum(block.nbytes for block in blocks)
        return store

    def _may_grow(self, room: Sizes) -> bool:
        """Return whether the open block may take one more step and so have this room."""
        is_small = self.budget is None or self._open.bytes_of(room) <= self.budget // 2
        return is_small and self._open.used.steps < self.key_every

    def _seal(self) -> None:
        """Begin a new block."""
        if self._open.used.steps > 0:
            self._open.trim()
            self._sealed.append(self._open)
            self._sealed_bytes += self._open.nbytes
            # The next block will be about as large; and it need not be larger, so that a budget holds.
            room = self._open.used
            self._open = Block.empty(self.end, room, self.layout, self.num_games)

    def _make_way(self, open_bytes: int) -> None:
        """Drop blocks until the open one may have so many bytes."""
        if self.budget is not None:
            while self._sealed_bytes + open_bytes + self._ages.nbytes > self.budget:
                self._drop_oldest()

    def _drop_oldest(self) -> None:
        self._sealed_bytes -= self._sealed.pop(0).nbytes

    # ---- looking up -------------------------------------------------------------------------------

    def planes(
        self, games: npt.ArrayLike, times: npt.ArrayLike, frames: int | None = None
    ) -> npt.NDArray[np.uint8]:
        """Return a new uint8 (n, F, B, H, ceil(W/8)): the stacks that an observation of F frames had.

        ``games``: (n,) whole numbers from 0 to E - 1. ``times``: (n,) numbers of steps. Any order, and any
        pair more than once. ``frames``: F; None: as many as the layout has.

        IndexError for games and steps that are not there, also where an older frame of the stack is not.
        """
        frames = self._check_frames(frames)
        games, times = self._check_places(games, times)
        blocks = self._blocks()
        newest_block = _find(blocks, times)
        oldest, has_frames = self._oldest(blocks, newest_block, games, times, frames)
        if not has_frames.all():
            i = int(has_frames.argmin())
            raise IndexError(
                f"times[{i}] is {times[i]}; of game {games[i]} the store lacks some of the "
                f"{frames} frames up to then. It holds the steps from {self.first} up to "
                f"{self.end}, and begin() ends a stack; sample() draws complete stacks only"
            )
        layout = self.layout
        stacks = np.zeros((len(games), frames, *self._open.keys.shape[1:]), np.uint8)
        oldest_block = _find(blocks, oldest)
        # A stack that lies in several blocks is rebuilt in as many pieces, the oldest first.
        pieces = newest_block - oldest_block + 1
        slot = np.repeat(np.arange(len(games)), pieces)
        block = np.repeat(oldest_block + pieces - np.cumsum(pieces), pieces) + np.arange(len(slot))
        order = np.lexsort((times[slot], games[slot], block))
        slot, block = slot[order], block[order]
        wanted = np.empty((len(slot), 4), np.int64)
        wanted[:, SLOT], wanted[:, GAME] = slot, games[slot]
        wanted[:, OLDEST], wanted[:, NEWEST] = oldest[slot], times[slot]
        bounds = np.flatnonzero(np.diff(block, prepend=-1, append=len(blocks)))
        for first, end in pairwise(bounds.tolist()):
            part = blocks[block[first]]
            steps = part.used.steps
            wanted[first:end, [OLDEST, NEWEST]] -= part.begin
            rebuild(
                part.counts[:steps],
                part.places[:steps],
                part.keys,
                part.cells,
                part.codes,
                wanted[first:end],
                stacks,
            )
        return stacks.reshape(len(games), frames, layout.num_planes, layout.height, layout.row_bytes)

    def decode(
        self,
        games: npt.ArrayLike,
        times: npt.ArrayLike,
        seats: Any,
        *,
        decoder: Any,
        form: str = "onehot",
        convert: Callable[[npt.NDArray[np.uint8]], Any] | None = None,
        **options: Any,
    ) -> Any:
        """Return what ``seats`` (n,) see of the boards of ``games`` at ``times``, see ``planes``.

        ``decoder``: of territorial.decode.numpy or territorial.decode.torch; its layout says how many frames.
        ``form``: the name of its method, one of FORMS; ``options`` go on to it, such as dtype. "semantic"
        and "pooled" need ``players`` (n, P, C) and ``borders`` (n, K, P+1, P+1) among them, the tables of
        these games at these times, which the store does not keep.
        ``convert``: makes of the planes what the decoder takes, such as ``torch.from_numpy``.
        """
        one_of("form", form, FORMS)
        if not hasattr(decoder, form):
            raise TypeError(
                f"decoder is {decoder!r}; it must be a Decoder of territorial.decode.numpy or "
                f"territorial.decode.torch"
            )
        missing = [name for name in TABLES if options.get(name) is None]
        if missing and form in ("semantic", "pooled"):
            raise ValueError(
                f"form is {form!r}, but {missing[0]} is missing; pass "
                f"{' and '.join(TABLES)}, the tables of these {np.size(times)} games and "
                "times, because the store does not keep them"
            )
        like_store = replace(self.layout, frames=decoder.layout.frames)
        if decoder.layout != like_store:
            raise ValueError(f"the decoder is for {decoder.layout}; it must be for {like_store}")
        stacks = self.planes(games, times, decoder.layout.frames)
        return getattr(decoder, form)(stacks if convert is None else convert(stacks), seats, **options)

    def sample(
        self, n: int, rng: np.random.Generator, frames: int | None = None
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return games and times, int64 (n,) each, drawn from all pairs that have their ``frames`` frames.

        All are equally likely, and may be drawn more than once. ``frames``: as for ``planes``. ValueError
        if there are none.
        """
        n, frames = whole_number("n", n, 0), self._check_frames(frames)
        if not isinstance(rng, np.random.Generator):
            raise TypeError(f"rng is {rng!r}; it must be a numpy.random.Generator")
        blocks = self._blocks()
        if not self._has_any(blocks, frames):
            raise ValueError(f"no step with all of its {frames} frames can be drawn from {self!r}")
        drawn = [np.empty((0, 2), np.int64)]
        missing = n
        while missing > 0:  # what is not whole lies at the few edges only
            games = rng.integers(self.num_games, size=n)
            times = rng.integers(self.first, self.end, size=n)
            _, has_frames = self._oldest(blocks, _find(blocks, times), games, times, frames)
            drawn.append(np.stack([games, times], axis=1)[has_frames][:missing])
            missing -= len(drawn[-1])
        games, times = np.concatenate(drawn).T.copy()
        return games, times

    def _blocks(self) -> list[Block]:
        return [*self._sealed, self._open] if self._open.used.steps > 0 else self._sealed

    def _has_any(self, blocks: list[Block], frames: int) -> bool:
        """Return whether any step of any game has so many frames: if so, one that ends a block has."""
        games = np.arange(self.num_games)
        for number in reversed(range(len(blocks))):
            times = np.full(self.num_games, blocks[number].end - 1)
            where = np.full(self.num_games, number)
            if self._oldest(blocks, where, games, times, frames)[1].any():
                return True
        return False

    def _oldest(
        self,
        blocks: list[Block],
        where: npt.NDArray[np.int64],
        games: npt.NDArray[np.int64],
        times: npt.NDArray[np.int64],
        frames: int,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Return the steps of the oldest frames of stacks, (n,), and which stacks are there, bool (n,).

        Stacks end at ``times`` in the blocks number ``where``. At the beginning of a game they are shorter.
        """
        if frames == 1:
            return times, np.ones(len(times), bool)
        at = zip(where.tolist(), games.tolist(), times.tolist(), strict=True)
        marks = np.array([blocks[b].ages[t - blocks[b].begin, k] for b, k, t in at], np.int64)
        ages = np.minimum(marks % CUT, frames - 1)
        oldest = times - ages
        return oldest, (oldest >= self.first) & ((marks < CUT) | (ages == frames - 1))

    # ---- checks -----------------------------------------------------------------------------------

    def _check_budget(self) -> None:
        if self.budget is None:
            return
        one_step = self._open.room_for(np.full(self.num_games, KEY_FRAME, np.int32))
        least = self._open.bytes_of(one_step) + self._ages.nbytes
        if self.budget < least:
            raise ValueError(
                f"budget is {self.budget} bytes; it must be at least {least}, for one step of "
                f"{self.num_games} games"
            )

    def _check_observations(self, observations: Any) -> tuple[npt.NDArray[np.uint8], Delta]:
        """Return the newest boards and the deltas of observations."""
        arrays: dict[str, Any] = {name: getattr(observations, name, None) for name in STORED}
        for name, array in arrays.items():
            shape = self._shapes[name]
            if not isinstance(array, np.ndarray) or array.dtype != STORED[name]:
                what = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
                raise TypeError(
                    f"observations.{name} is {what}; it must be an array of {STORED[name]}, as "
                    f"VecGame.reset() and step() return it"
                )
            if name == "planes" and array.ndim == 5 and array.shape[1] > 0:
                shape = (shape[0], array.shape[1], *shape[2:])  # only the newest frame is taken
            if array.shape != shape:
                raise ValueError(
                    f"observations.{name} has the shape {array.shape}; for {self.num_games} games of the "
                    f"layout it must be {shape}"
                )
        planes, *rest = arrays.values()
        delta = Delta(*(read_only(array) for array in rest))
        self._check_delta(delta)
        newest: npt.NDArray[np.uint8] = planes[:, 0]
        return newest, delta

    def _check_delta(self, delta: Delta) -> None:
        layout = self.layout
        is_wrong = (delta.counts < NOT_LISTED) | (delta.counts > layout.delta_capacity)
        if is_wrong.any():
            k = int(is_wrong.argmax())
            raise ValueError(
                f"observations.delta_count[{k}] is {delta.counts[k]}; it must be from {NOT_LISTED} to "
                f"{layout.delta_capacity}"
            )
        cells = layout.height * layout.width
        bad = find_bad_change(delta.indices, delta.codes, delta.counts, cells, layout.blocked_code)
        if bad >= 0:
            k, i = divmod(bad, layout.delta_capacity)
            raise ValueError(
                f"observations.delta_index[{k}, {i}] is {delta.indices[k, i]} and its delta_code "
                f"{delta.codes[k, i]}; they must be from 0 to {cells - 1} and from 0 to {layout.blocked_code}"
            )

    def _check_frames(self, frames: int | None) -> int:
        return self.layout.frames if frames is None else whole_number("frames", frames, 1, MAX_FRAMES)

    def _check_places(
        self, games: npt.ArrayLike, times: npt.ArrayLike
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        ranges = {"games": (games, 0, self.num_games), "times": (times, self.first, self.end)}
        checked = []
        for name, (values, low, end) in ranges.items():
            array = np.asarray(values)
            if array.ndim != 1 or (array.size > 0 and not holds_whole_numbers(array)):
                raise TypeError(
                    f"{name} is {array.dtype} {array.shape}; it must hold whole numbers and be (n,)"
                )
            is_wrong = (array < low) | (array >= end)
            if is_wrong.any():
                i = int(is_wrong.argmax())
                raise IndexError(
                    f"{name}[{i}] is {array[i]}; the store has the {name} from {low} up to, "
                    f"but not including, {end}"
                )
            checked.append(array.astype(np.int64))
        if len(checked[0]) != len(checked[1]):
            raise ValueError(
                f"games has {len(checked[0])} entries and times has {len(checked[1])}; both "
                "must have the same number"
            )
        return checked[0], checked[1]


def _find(blocks: list[Block], times: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return in which of the blocks each step lies, (n,)."""
    begins = np.array([block.begin for block in blocks])
    return np.searchsorted(begins, times, side="right") - 1
