"""``image_of``: the memory of a game and of its compiled calls, for a page that plays it by WebAssembly.

The library ``web.wasm`` has the kernels of the engine. They are given the same arrays and words as here
(``territorial.jit.arguments``), at other addresses: an image holds them one behind the other. A page copies
it to ``BASE`` of the library's memory and calls the kernels with the words in it.
"""

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from territorial.bots.network_bot import Network
from territorial.engine import step
from territorial.engine.pair_observations import PairObservations, observe_pairs, rows_shown
from territorial.engine.vec_game import VecGame
from territorial.game.state import FIELDS, Position, allocate_positions, view
from territorial.jit.arguments import BoundArguments, take_apart
from territorial.jit.decorators import ZERO
from territorial.jit.library import FOLDER, TABLE, digest_of
from territorial.typing import Array

BASE = 2**22
"""Where the image begins: the library has its stack and constants below."""
LINE = 64
"""Bytes: every array begins at a line of the cache."""
LIBRARY = FOLDER / "web.wasm"


class _Memory:
    """Arrays, each at an address of the image; those that share memory here share it there."""

    def __init__(self, arrays: Sequence[Array]) -> None:
        self._arrays = [array for array in arrays if array.size]
        self._empty = {array.ctypes.data for array in arrays if not array.size}
        ends = dict[int, int]()  # of the memory that arrays share, by its beginning
        start = 0
        for here, end in sorted((one.ctypes.data, one.ctypes.data + one.nbytes) for one in self._arrays):
            start = here if not ends or here >= ends[start] else start
            ends[start] = max(end, ends.get(start, 0))
        self._starts, self._ends = list(ends), list(ends.values())
        self._places = dict[int, int]()  # in the image, in the order of the arrays, which is always the same
        self.size = BASE
        for array in self._arrays:
            start = self._starts[bisect_right(self._starts, array.ctypes.data) - 1]
            if start not in self._places:
                self._places[start] = self.size
                self.size += -(-(ends[start] - start) // LINE) * LINE

    def moved(self, here: int) -> int:
        """Return where in the image an address is; 0 of an empty array, and any other number as it is."""
        block = bisect_right(self._starts, here) - 1
        if block >= 0 and here < self._ends[block]:
            return self._places[self._starts[block]] + here - self._starts[block]
        return 0 if here in self._empty else here

    def place_of(self, array: Array) -> dict[str, Any]:
        """Return the address, dtype and shape of an array in the image, or a part of one, without gaps."""
        at = self.moved(array.ctypes.data)
        if at == array.ctypes.data or not array.flags.c_contiguous:
            raise ValueError(f"an array of shape {array.shape} is not in the image")
        return {"at": at, "dtype": str(array.dtype), "shape": array.shape}

    def bytes(self, addressed: Sequence[Array], cleared: Array) -> bytes:
        """Return the image: `addressed` arrays have its addresses in it, and `cleared` has zeros."""
        memory = bytearray(self.size - BASE)
        for array in self._arrays:
            at = self.moved(array.ctypes.data) - BASE
            memory[at : at + array.nbytes] = array.tobytes()
        for array in addressed:
            at = self.moved(array.ctypes.data) - BASE
            words = np.array([self.moved(word) for word in array.ravel().tolist()], np.int64)
            memory[at : at + array.nbytes] = words.tobytes()
        at = self.moved(cleared.ctypes.data) - BASE
        memory[at : at + cleared.nbytes] = bytes(cleared.nbytes)
        return bytes(memory)


def _arrays_in(values: Any) -> Iterator[Array]:
    """Yield the arrays in ``values``, an array or tuples of such and of numbers."""
    if isinstance(values, tuple):
        for value in values:
            yield from _arrays_in(value)
    elif isinstance(values, np.ndarray):
        yield values


def _words_of(values: tuple[Any, ...]) -> tuple[list[int | str], Array]:
    """Return the signature of arguments, and their words with room for a result and an error."""
    signature, words = list[int | str](), list[int]()
    take_apart(values, signature, words)
    return signature, np.array([*words, 0, 0], np.int64)


def image_of(game: VecGame) -> tuple[dict[str, Any], bytes]:
    """Return the memory of a batch of one game, as it stands, with all players that it has had.

    It is what a page has to know, as values that JSON has, and the bytes from BASE on. A page has to know the
    ``size`` of memory; ``arrays`` by name, each with the address that it is ``at``, its ``dtype`` as numpy
    writes it, such as "int64", and its ``shape``; ``calls`` by kernel, with the ``symbol`` to call and the
    address of its ``words``; ``entries``, the symbols of those that kernels call by address;
    ``has_networks``. ValueError if the library has no kernels for the game.
    """
    batch = game._calls.batch(0)
    bound, codes = BoundArguments(batch), np.full(game.config.num_players + 1, -1)
    room = allocate_positions(1, game.config.num_players, game.config.height, game.config.width)
    position = Position(room.board[0], room.numbers[0])
    rows, observer = rows_shown(game.config), game.pair_observer
    seen = PairObservations(*map(np.zeros_like, observer.allocate(1, rows)))
    seats = np.ones(1, np.int64)
    of_pairs, *others = observer.arguments(np.zeros(1, np.int64), seats, rows, seen)
    bounds = {one.name: _words_of(one.arguments)[1] for one in (bound, of_pairs)}
    signatures, words = dict[str, tuple[int | str, ...]](), dict[str, Array]()
    for kernel, arguments in {
        step.step_games: (bound,),
        step.seat_players: (bound, codes, 0),
        step.position_of: (batch.arrays.state, 0, position),
        step.reset_game: (bound, ZERO, 0, 0),
        step.ask_networks: (bound, 0),
        observe_pairs: (of_pairs, *others),
    }.items():
        signature, words[kernel.__name__] = _words_of(arguments)
        signatures[kernel.__name__] = tuple(signature)
        if signature[0] in bounds:
            words[kernel.__name__][0] = bounds[signature[0]].ctypes.data
    networks = [bot.arrays() for bot in game._players.bots if isinstance(bot, Network)]
    addressed = [*bounds.values(), batch.custom.networks, *words.values()]
    memory = _Memory(
        [*_arrays_in((batch, codes, position, *networks, of_pairs.arguments, *others)), *addressed]
    )
    named = {field.name: view(game.blocks, field.name)[:1] for field in FIELDS}
    named |= {"codes": codes, "board": position.board, "numbers": position.numbers}
    named |= {f"launched.{name}": array[:1] for name, array in batch.arrays.launched._asdict().items()}
    named |= {"actions": batch.arrays.actions, "asks": batch.arrays.call.asks, "entries": batch.entries}
    named |= {"bank.planes": batch.bank.planes, "bank.num_land": batch.bank.num_land}
    named |= {"queues": batch.queues, "thread_state": batch.thread_state}
    named |= {"seen.seat": seats, "seen.candidates": others[2], "seen.allies": others[3]}
    named |= {f"seen.{name}": array for name, array in seen._asdict().items()}
    description = {
        "base": BASE,
        "size": memory.size,
        "arrays": {name: memory.place_of(array) for name, array in named.items()},
        "entries": [_symbols()[name, signatures[name]] for name in ("reset_game", "ask_networks")],
        "calls": {
            name: {"symbol": _symbols()[name, signatures[name]], "words": memory.place_of(placed)["at"]}
            for name, placed in words.items()
        },
        "has_networks": bool(networks),
    }
    return description, memory.bytes(addressed, batch.entries)


@cache
def _symbols() -> dict[tuple[str, tuple[int | str, ...]], str]:
    """Return the functions of the library by kernel and signature; ValueError if it is not there."""
    try:
        table, code = json.loads((FOLDER / TABLE).read_text()), LIBRARY.read_bytes()
    except OSError:
        raise ValueError(f"{LIBRARY} is not there; `python maintainers/machine_code.py` makes it") from None
    if table["libraries"].get(LIBRARY.name) != digest_of(code, table["kernels"]):
        raise ValueError(f"{LIBRARY} is damaged, or {TABLE} is; reinstall territorial-env")
    return {
        (name, tuple(form["takes"])): form["symbol"]
        for of_file in table["kernels"].values()
        for name, kernel in of_file["kernels"].items()
        for form in kernel["forms"]
    }
