"""``territorial bench --warmup``: compiles everything now, so that the first game need not wait for it."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from territorial.cli import options
from territorial.config import GameConfig
from territorial.engine.vec_game import VecGame
from territorial.jit import warmup
from territorial.jit.cache import CACHE_DIR
from territorial.jit.decorators import JIT_ENABLED


def run(parsed: argparse.Namespace) -> int:
    """Compile, and say how long it took and where the result lies."""
    config = options.config_of(parsed)
    options.check_json(parsed)
    files_before, _ = cache_content()
    started = time.perf_counter()
    with warmup.progress("territorial: compiling"):
        compile_everything(config)
    seconds = time.perf_counter() - started
    files, size = cache_content()
    result = {
        "seconds": seconds,
        "was_compiled": files == files_before,
        "compiles": JIT_ENABLED,
        "cache_dir": str(CACHE_DIR),
        "cache_files": files,
        "cache_bytes": size,
    }
    options.report(parsed, _text(result), result)
    return 0


def _text(result: dict[str, Any]) -> str:
    if not result["compiles"]:
        return "NUMBA_DISABLE_JIT is set: nothing is compiled, everything runs as plain Python."
    # Blanks at the end: progress may have left a line on the terminal.
    what = "loaded from the cache" if result["was_compiled"] else "compiled what was missing"
    return "\n".join(
        (
            f"{what} in {result['seconds']:.1f} s" + " " * (20 * sys.stdout.isatty()),
            f"cache: {result['cache_dir']} ({result['cache_files']} files, "
            f"{result['cache_bytes'] / 1e6:.1f} MB)",
            "It is made anew when the sources or the processor change, and is safe to delete.",
        )
    )


def compile_everything(config: GameConfig) -> None:
    """Call every compiled function once, in the form in which the engine calls it."""
    game = VecGame(config, 1, seats=["champion-1", *["agent"] * (config.num_players - 1)])
    game.reset()
    game.step(np.zeros((1, config.num_players, 2), np.int64))
    game.tick(0)
    game.digest(0)
    game.fronts(0)
    game.set_position(0, game.state.owner[0, 1:-1, 1:-1].copy())


def cache_content() -> tuple[int, int]:
    """Return how many files the cache holds, and their bytes together."""
    sizes = [path.stat().st_size for path in Path(CACHE_DIR).rglob("*.nb?")]
    return len(sizes), sum(sizes)
