#!/usr/bin/env python3
"""Times the decoders on the processor: one-hot planes for 256 agents in chunks of 16, and the rest.

    python benchmarks/decode/decode_speed.py                 a minute; with the torch decoder where torch is
    python benchmarks/decode/decode_speed.py --json -        the result on stdout

One-hot planes are compared with what one would write without the decoder, and with the speed at which
their memory can be written at all. The result, with the machine and the versions, goes to
benchmarks/results/decode.json.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import territorial
from benchmarks import goals, harness
from territorial.actions.encoding import ego_owners
from territorial.decode.numpy import Decoder
from territorial.observation.layout import ObsLayout

CONFIG = territorial.GameConfig()
LAYOUT = ObsLayout(height=CONFIG.height, width=CONFIG.width, num_players=CONFIG.num_players, frames=4)
NUM_AGENTS, CHUNK = 256, 16
GAMES = NUM_AGENTS // LAYOUT.num_players
START = 100
"""Decisions played before the boards are taken: tick 1,000, when most seats live and touch."""
ROUNDS = 7
RESULT = harness.RESULTS / "decode.json"
GOALS = goals.bounds_of("decode", "onehot/decode.numpy")

Way = Callable[[slice], Any]
"""Decodes the agents of a slice."""


class SeenGames(NamedTuple):
    """Observations of GAMES games, and all their seats as the agents that see them."""

    planes: npt.NDArray[np.uint8]
    players: npt.NDArray[np.float32]
    borders: npt.NDArray[np.float32]
    globals: npt.NDArray[np.float32]
    masks: npt.NDArray[np.uint8]
    seats: npt.NDArray[np.int64]
    games: npt.NDArray[np.int64]


def main(argv: list[str] | None = None) -> int:
    """Measure, write and return the exit code: 1 if a goal is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    harness.add_json(parser, RESULT, "%(default)s; - is stdout")
    parsed = parser.parse_args(argv)
    batch = observations()
    result = report(onehot_seconds(batch), other_seconds(batch))
    harness.write(parsed.json, result)
    for name, row in result["onehot"].items():
        print(
            f"{name:32} {row['gb_per_s']:7.2f} GB/s {row['times_naive']:8.1f} x naive "
            f"{row['share_of_refill']:6.0%} of refilling",
            file=sys.stderr,
        )
    for name, seconds in result["microseconds_per_agent"].items():
        print(f"{name:32} {seconds:9.1f} us an agent", file=sys.stderr)
    return 0 if result["meets_goals"] else 1


def observations() -> SeenGames:
    """Return what is observed of games at tick 1,000, with a stack of frames one decision apart."""
    lineup = territorial.LINEUPS["mixed-1"].seats
    game = territorial.VecGame(CONFIG, GAMES, seats=lineup, autoreset="disabled", frames=LAYOUT.frames)
    game.reset(seeds=list(range(GAMES)))
    for _ in range(START):
        game.step()
    seen = game.observations
    return SeenGames(
        planes=seen.planes.copy(),  # PyTorch warns of arrays that are not to be written to
        players=seen.players,
        borders=seen.borders,
        globals=seen.globals,
        masks=seen.masks,
        seats=np.tile(np.arange(1, LAYOUT.num_players + 1), GAMES),
        games=np.repeat(np.arange(GAMES), LAYOUT.num_players),
    )


# ---- one-hot planes ------------------------------------------------------------------------------


def room() -> npt.NDArray[np.float16]:
    """Return a buffer for the one-hot planes of a chunk, all of its memory in place."""
    owners = LAYOUT.num_players + 1
    return np.full((CHUNK, LAYOUT.frames * owners, LAYOUT.height, LAYOUT.width), 1, np.float16)


def naive(batch: SeenGames, out: npt.NDArray[np.float16]) -> Way:
    """The usual way: bits, codes, ego codes, and one comparison a plane."""
    owners = np.arange(LAYOUT.num_players + 2)
    egos = np.argsort(np.pad(ego_owners(LAYOUT.num_players), ((0, 0), (0, 1)), constant_values=owners[-1]))

    def decode(part: slice) -> npt.NDArray[np.float16]:
        packed = np.bitwise_xor.accumulate(batch.planes[batch.games[part]], axis=1)[:, ::-1]
        codes = np.zeros((*packed.shape[:2], LAYOUT.height, LAYOUT.width), np.uint8)
        for b in range(LAYOUT.num_planes):
            codes |= np.unpackbits(packed[:, :, b], axis=-1, count=LAYOUT.width, bitorder="little") << b
        for i, seat in enumerate(batch.seats[part]):
            ego = egos[seat - 1].astype(np.uint8)[codes[i]]
            planes = out[i].reshape(LAYOUT.frames, -1, LAYOUT.height, LAYOUT.width)
            for owner in range(planes.shape[1]):
                planes[:, owner] = (ego == owner).astype(np.float16)
        return out

    return decode


def with_numpy(batch: SeenGames, out: npt.NDArray[np.float16]) -> Way:
    """The decoder for numpy."""
    decoder = Decoder(LAYOUT)
    return lambda part: decoder.onehot(
        batch.planes, batch.seats[part], batch.games[part], dtype=np.float16, out=out
    )


def with_torch(batch: SeenGames, out: npt.NDArray[np.float16], **options_: Any) -> Way:
    """The decoder for PyTorch on the processor."""
    torch: Any = importlib.import_module("torch")
    decoder = importlib.import_module("territorial.decode.torch").Decoder(LAYOUT, **options_)
    planes, seats, games = map(torch.from_numpy, (batch.planes, batch.seats, batch.games))
    result = torch.from_numpy(out)
    return lambda part: decoder.onehot(planes, seats[part], games[part], dtype=torch.float16, out=result)


def ways(batch: SeenGames, out: npt.NDArray[np.float16]) -> dict[str, Way]:
    """Return everything that is timed, each writing all of ``out``; the first two are for comparison."""
    source = out.copy()
    chosen: dict[str, Way] = {
        "refill (out.fill(0))": lambda _: out.fill(0),
        "naive numpy": naive(batch, out),
        "copy of the buffer": lambda _: np.copyto(out, source),
        "refill as bytes (memset)": lambda _: out.view(np.uint8).fill(0),
        "decode.numpy": with_numpy(batch, out),
    }
    if importlib.util.find_spec("torch"):
        chosen["decode.torch"] = with_torch(batch, out)
        chosen["decode.torch, tensor operations"] = with_torch(batch, out, use_kernels=False)
    return chosen


def onehot_seconds(batch: SeenGames) -> dict[str, float]:
    """Return the median seconds that each way takes for a chunk; rounds alternate between the ways."""
    out = room()
    timed = ways(batch, out)
    starts = np.linspace(0, NUM_AGENTS - CHUNK, ROUNDS + 1).astype(int)
    seconds: dict[str, list[float]] = {name: [] for name in timed}
    for start in starts:
        for name, way in timed.items():
            seconds[name].append(stopwatch(way, slice(start, start + CHUNK)))
    return {name: float(np.median(taken[1:])) for name, taken in seconds.items()}  # the first warms up


def stopwatch(way: Way, part: slice) -> float:
    started = time.perf_counter()
    way(part)
    return time.perf_counter() - started


# ---- everything else -----------------------------------------------------------------------------


def other_seconds(batch: SeenGames) -> dict[str, float]:
    """Return the median seconds an agent that the other methods of the decoder for numpy take."""
    decoder, seats, games = Decoder(LAYOUT, CONFIG), batch.seats, batch.games
    boards = (batch.planes, seats, batch.players, batch.borders, games)
    calls: dict[str, Callable[[], Any]] = {
        "owners": lambda: decoder.owners(batch.planes, seats, games, chunk=32),
        "semantic, float16": lambda: decoder.semantic(*boards, dtype=np.float16, chunk=32),
        "pooled by 8, float16": lambda: decoder.pooled(*boards, dtype=np.float16, chunk=32),
        "features": lambda: decoder.features(batch.players, batch.borders, batch.globals, seats, games),
        "action_mask": lambda: decoder.action_mask(batch.masks, seats, games),
    }
    taken = {}
    for name, call in calls.items():
        taken[name] = np.median([stopwatch(lambda _, call=call: call(), slice(0)) for _ in range(4)][1:])
    return {name: float(seconds) / NUM_AGENTS for name, seconds in taken.items()}


def report(onehot: dict[str, float], others: dict[str, float]) -> dict[str, Any]:
    """Return the result as JSON would have it."""
    nbytes = room().nbytes
    refill, slow = list(onehot.values())[:2]
    rows = {
        name: {
            "ms_per_chunk": seconds * 1e3,
            "gb_per_s": nbytes / seconds / 1e9,
            "times_naive": slow / seconds,
            "share_of_refill": refill / seconds,
        }
        for name, seconds in onehot.items()
    }
    return {
        "versions": torch_version(),
        "layout": LAYOUT.to_dict(),
        "dtype": "float16",
        "agents": NUM_AGENTS,
        "chunk": CHUNK,
        "bytes_per_chunk": nbytes,
        "packed_bytes_per_game": LAYOUT.nbytes("planes"),
        "onehot": rows,
        "microseconds_per_agent": {name: seconds * 1e6 for name, seconds in others.items()},
        "goals": GOALS,
        "meets_goals": all(rows["decode.numpy"][name] >= goal for name, goal in GOALS.items()),
    }


def torch_version() -> dict[str, str]:
    """Return the version of PyTorch where it is installed."""
    if importlib.util.find_spec("torch") is None:
        return {}
    return {"torch": str(importlib.import_module("torch").__version__)}


if __name__ == "__main__":
    sys.exit(main())
