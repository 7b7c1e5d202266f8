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

from benchmarks import harness
from territorial import GameConfig
from territorial.decode.numpy import Decoder as NumpyDecoder
from territorial.decode.torch import Decoder
from territorial.observation.layout import ObsLayout
from tests.decode.support import arguments, config_of

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


def on_device(arrays: Arrays) -> Arrays:
    return tuple(torch.from_numpy(array).to(DEVICE) for array in arrays)


# ---- the same bits -------------------------------------------------------------------------------


def check(layout: ObsLayout) -> Iterator[dict[str, Any]]:
    """Yield how every form of every method compares with the decoder for numpy."""
    config = config_of(layout)
    given = arguments(layout, config, num_entries=20)
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
    layout: ObsLayout, config: GameConfig | None, method: str
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
    given = on_device(arguments(FULL, config_of(FULL), num_entries=agents)["onehot"])
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
