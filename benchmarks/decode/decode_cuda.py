#!/usr/bin/env python3
"""Checks the PyTorch decoder on a GPU to the bit; times it.

    python benchmarks/decode/decode_cuda.py     some minutes, most of them for the compiler

Every method is run on boards of several sizes, eager and compiled. Any wait for the device is an error there.
One-hot planes are then timed against the memory that a memset writes a second. Exit code 1 if anything
differs: but for the means of ``pooled`` where compiled, which may be off by the last place.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch

import territorial
from benchmarks import harness
from territorial.decode.numpy import Decoder as NumpyDecoder
from territorial.decode.torch import Decoder
from territorial.observation.layout import BORDERS, PLAYERS, ObsLayout, index

DEVICE = "cuda"
FULL = ObsLayout(height=256, width=256, num_players=32, frames=4)
LAYOUTS = (
    FULL,
    ObsLayout(height=18, width=70, num_players=7, frames=3),
    ObsLayout(height=130, width=65, num_players=250, frames=1),
)
TYPES = {
    "onehot": ("bfloat16", "float16", "float32", "uint8", "int8"),
    "semantic": ("bfloat16", "float16", "float32"),
    "pooled": ("bfloat16", "float16", "float32"),
}
METHODS = ("owners", "onehot", "semantic", "pooled", "features", "action_mask")
LAST_PLACE = {"float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
AGENTS_TIMED = (16, 64)
ROUNDS = 30

Arrays = tuple[Any, ...]


def main(argv: list[str] | None = None) -> int:
    """Check, time, write and return the exit code."""
    parsed = harness.parser_of(__doc__).parse_args(argv)
    if not torch.cuda.is_available():
        print("PyTorch finds no NVIDIA GPU here", file=sys.stderr)
        return 1
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, CUDA {torch.version.cuda}")
    checks = [row for layout in LAYOUTS for row in check(layout)]
    wrong = [row for row in checks if not row["is_right"]]
    timed = [row for agents in AGENTS_TIMED for row in time_onehot(agents)]
    for row in wrong + timed:
        print(" ".join(f"{key}={value}" for key, value in row.items()))
    print(f"{len(checks)} checks, {len(wrong)} wrong")
    harness.write(parsed.json, {"checks": checks, "onehot": timed})
    return int(bool(wrong))


# ---- observations --------------------------------------------------------------------------------


def config_of(layout: ObsLayout) -> territorial.GameConfig:
    return territorial.GameConfig(
        height=layout.height, width=layout.width, num_players=layout.num_players, map="open"
    )


def arguments(layout: ObsLayout, agents: int, seed: int = 0) -> dict[str, Arrays]:
    """Return the arguments of every method: regions, of which a hundredth of the cells changes a frame."""
    rng = np.random.default_rng(seed)
    num_games = max(1, agents // layout.num_players)
    side = 16
    shape = (num_games, -(-layout.height // side), -(-layout.width // side))
    regions = rng.integers(0, layout.num_players + 2, shape)
    newest = np.kron(regions, np.ones((1, side, side), int))[:, : layout.height, : layout.width]
    frames = [newest]
    for _ in range(layout.frames - 1):
        specks = rng.integers(0, layout.num_players + 2, newest.shape)
        frames.append(np.where(rng.random(newest.shape) < 0.01, specks, frames[-1]))
    boards = np.stack(frames, axis=1).astype(np.uint8)
    bits = [np.packbits(boards >> b & 1, axis=-1, bitorder="little") for b in range(layout.num_planes)]
    planes = np.stack(bits, axis=2)
    planes[:, 1:] ^= planes[:, :-1].copy()
    tables = {
        name: rng.random((num_games, *layout.shape(name)), np.float32) for name in ("players", "borders")
    }
    tables["players"][..., index(PLAYERS, "density")] *= 200
    tables["borders"][:, index(BORDERS, "pool")] = rng.random(tables["borders"][:, 0].shape) < 0.1
    globals_ = rng.random((num_games, *layout.shape("globals")), np.float32)
    masks = rng.integers(0, 256, (num_games, *layout.shape("masks"))).astype(np.uint8)
    seats = rng.integers(1, layout.num_players + 1, agents)
    games = rng.integers(0, num_games, agents)
    return {
        "owners": (planes, seats, games),
        "onehot": (planes, seats, games),
        "semantic": (planes, seats, tables["players"], tables["borders"], games),
        "pooled": (planes, seats, tables["players"], tables["borders"], games),
        "features": (tables["players"], tables["borders"], globals_, seats, games),
        "action_mask": (masks, seats, games),
    }


def on_device(arrays: Arrays) -> Arrays:
    return tuple(torch.from_numpy(array).to(DEVICE) for array in arrays)


# ---- the same bits -------------------------------------------------------------------------------


def check(layout: ObsLayout) -> Iterator[dict[str, Any]]:
    """Yield how every form of every method compares with the decoder for numpy."""
    config, given = config_of(layout), arguments(layout, agents=20)
    right = NumpyDecoder(layout, config)
    for method in METHODS:
        expected = torch.from_numpy(getattr(right, method)(*given[method]))
        for dtype in TYPES.get(method, (None,)):
            choice = {} if dtype is None else {"dtype": getattr(torch, dtype)}
            rounded = expected if dtype is None else expected.to(choice["dtype"])
            for form, call in forms(layout, config, method):
                yield {
                    "size": [layout.height, layout.width, layout.num_players, layout.frames],
                    "method": method,
                    "dtype": dtype or str(rounded.dtype).removeprefix("torch."),
                    "form": form,
                } | compare(call, on_device(given[method]), choice, rounded, may_round=form == "compiled")


def forms(
    layout: ObsLayout, config: territorial.GameConfig | None, method: str
) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the names of the forms of a method, and what to call."""
    eager = getattr(Decoder(layout, config), method)
    yield "eager", eager
    torch.compiler.reset()
    yield "compiled", torch.compile(eager, fullgraph=True)


def compare(
    call: Callable[..., Any], given: Arrays, choice: dict[str, Any], expected: Any, *, may_round: bool
) -> dict[str, Any]:
    """Return whether a call gives the expected bits, and the largest error as a share of the value."""
    call(*given, **choice)  # compiles, and copies tables to the device
    with no_waiting():
        seen = call(*given, **choice)
    seen = seen.cpu()
    is_same = seen.dtype == expected.dtype and torch.equal(seen, expected)
    error = (seen.double() - expected.double()).abs() / expected.double().abs().clamp(min=1e-30)
    largest = float(error.max())
    allowed = LAST_PLACE.get(str(expected.dtype).removeprefix("torch."), 0.0) if may_round else 0.0
    return {"same_bits": is_same, "largest_error": largest, "is_right": is_same or largest <= allowed}


@contextmanager
def no_waiting() -> Iterator[None]:
    """Make it an error that the processor waits for the GPU."""
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


# ---- time ----------------------------------------------------------------------------------------


def milliseconds(call: Callable[[], Any]) -> float:
    """Return the median time that the GPU takes for a call."""
    for _ in range(3):
        call()
    taken = []
    for _ in range(ROUNDS):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        end.synchronize()
        taken.append(begin.elapsed_time(end))
    return float(np.median(taken))


def time_onehot(agents: int) -> Iterator[dict[str, Any]]:
    """Yield the speed of every form and type, and that of a memset of the same memory."""
    given = on_device(arguments(FULL, agents)["onehot"])
    for dtype in ("bfloat16", "float32", "uint8"):
        kind = getattr(torch, dtype)
        channels = FULL.frames * (FULL.num_players + 1)
        out = torch.empty((agents, channels, FULL.height, FULL.width), dtype=kind, device=DEVICE)
        memset = milliseconds(out.zero_)
        timed = {"memset": memset}
        for form, call in forms(FULL, None, "onehot"):
            timed[form] = milliseconds(partial(call, *given, dtype=kind, out=out))
        for form, taken in timed.items():
            yield {
                "agents": agents,
                "dtype": dtype,
                "form": form,
                "ms": taken,
                "gb_per_s": out.nbytes / taken / 1e6,
                "share_of_memset": memset / taken,
            }


if __name__ == "__main__":
    sys.exit(main())
