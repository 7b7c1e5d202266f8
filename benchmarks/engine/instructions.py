#!/usr/bin/env python3
"""Counts the instructions of a step, part by part: the same on every run, however busy the machine is.

    python benchmarks/engine/instructions.py                 four parts, 8 games, some minutes
    python benchmarks/engine/instructions.py --num-games 2   a look
    python benchmarks/engine/instructions.py --against v0.1  each part in that revision and in these files

Another process (``counted_step.py``) brings games to all points of their lives and plays one more step, one
machine instruction at a time (ptrace; Linux alone). What a call for no games takes is subtracted. The same
step is timed at full speed, from the same positions, and the clock of the processor with it: of a chain of
operations that wait for each other, each takes a cycle. So it shows how many instructions a cycle are done,
where no counter of the processor can be read. The result goes to benchmarks/results/instructions.json, and
from there into docs/performance.md.

With ``--against`` nothing is written unless ``--json`` says where. The exit code is then 1 if a part takes
over one per cent more instructions, and 2 if the two revisions did not play the same games.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from compare import AS_IT_IS, ROOT, tree

from benchmarks import harness
from territorial.cli import options

RESULT = harness.RESULTS / "instructions.json"
PLAYER = Path(__file__).with_name("counted_step.py")
PARTS = (
    "rules and bots",
    "with tables and masks",
    "with the board and its changes",
    "with a stack of 4 boards",
)
CODE = {"parts": "one size", "any_size": "any size"}
"""For which boards the code is that is counted: its key in the result, and in words."""
LIMIT = 1.01
"""The ratio of instructions, new over old, from which on a part is called slower."""
TIMES = 40
"""How often a step is timed; the fastest counts."""
TRACE_ME, RESUME, ONE_INSTRUCTION = 0, 7, 9
"""Requests of ptrace(2)."""
BEGIN, END = signal.SIGUSR1, signal.SIGUSR2
"""Signals by which the player says where to count from and to; the counter keeps them from arriving."""


class CannotCountError(RuntimeError):
    """One process may not watch another here."""


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--num-games",
        type=options.whole(1, 64),
        default=8,
        help="games that run side by side (default %(default)s)",
    )
    parser.add_argument(
        "--side",
        type=options.whole(8, 1024),
        default=256,
        help="rows and columns of a square map, in cells (default %(default)s)",
    )
    parser.add_argument(
        "--against", metavar="REV", help="revision to compare these files with (default none)"
    )
    harness.add_json(parser, shown=f"{RESULT}, and none with --against")
    parsed = parser.parse_args(argv)
    try:
        if parsed.against is not None:
            return compare(parsed.against, parsed.num_games, parsed.side, parsed.json)
        result = measure(ROOT, parsed.num_games, parsed.side)
    except CannotCountError as error:
        print(error, file=sys.stderr)
        return 1
    for part, found in result["parts"].items():
        more = result["any_size"][part]["instructions"]
        print(f"{found['instructions']:10,.0f}  {found['per_cycle']:4.1f} a cycle  {part} ({more:,.0f})")
    harness.write(parsed.json or RESULT, result)
    return 0


def measure(folder: Path, games: int, side: int) -> dict[str, Any]:
    """Return what a step of one game takes with the package in ``folder``, by part and by ``CODE``."""
    counted = {
        key: {part: measure_part(folder, part, games, side, code) for part in PARTS}
        for key, code in CODE.items()
    }
    return {"games": games, "side": side, "times": TIMES} | counted


def measure_part(folder: Path, part: str, games: int, side: int, code: str) -> dict[str, Any]:
    """Return a step of one game in instructions and in microseconds, and the digest of where games stand."""
    harness.tell(part)
    told, (none, all_of_them) = count(part, games, side, code, folder)
    instructions = (all_of_them - none) / games
    return {
        "instructions": round(instructions),
        "us": round(told["us"] / games, 3),
        "per_cycle": round(instructions * games / (told["us"] * 1000 * told["cycles_per_ns"]), 2),
        "digest": told["digest"],
    }


# ---- two revisions -------------------------------------------------------------------------------


def compare(revision: str, games: int, side: int, out: Path | None = None) -> int:
    """Count with the package of ``revision`` and with this one, print both, and return the exit code."""
    with tree(revision) as folder:
        old = measure(folder, games, side)
    new = measure(ROOT, games, side)
    print(f"{'old':>10} {'new':>10}  ratio   old: {revision}, new: {AS_IT_IS}")
    for (key, part), ratio in ratios(old, new).items():
        before, after = (one[key][part]["instructions"] for one in (old, new))
        print(f"{before:10,} {after:10,} {ratio:6.3f}   {part}, code for {CODE[key]}")
    if out is not None:
        harness.write(out, {"old": old, "new": new})
    return verdict(old, new)


def ratios(old: dict[str, Any], new: dict[str, Any]) -> dict[tuple[str, str], float]:
    """Return the instructions of ``new`` over those of ``old``, by key of ``CODE`` and part."""
    return {
        (key, part): new[key][part]["instructions"] / old[key][part]["instructions"]
        for key in CODE
        for part in PARTS
    }


def verdict(old: dict[str, Any], new: dict[str, Any]) -> int:
    """Return the exit code, and say on stderr why it is not 0."""
    if any(old[key][part]["digest"] != new[key][part]["digest"] for key in CODE for part in PARTS):
        print("DIFFERENT: the two did not play the same games", file=sys.stderr)
        return 2
    more = [(key, part) for (key, part), ratio in ratios(old, new).items() if ratio > LIMIT]
    for key, part in more:
        print(f"MORE than {LIMIT:.2f} times the instructions: {part}, {CODE[key]}", file=sys.stderr)
    return 1 if more else 0


# ---- the process that counts ---------------------------------------------------------------------


def count(
    part: str, games: int, side: int, code: str = "one size", folder: Path = ROOT
) -> tuple[dict[str, Any], list[int]]:
    """Return what the player says of itself, and its instructions between every BEGIN and END.

    It plays with the package in ``folder``.
    """
    if not sys.platform.startswith("linux"):
        raise CannotCountError(f"instructions are counted with ptrace, which {sys.platform} does not have")
    libc = ctypes.CDLL(None, use_errno=True)
    player = subprocess.Popen(
        [sys.executable, "-P", str(PLAYER), part, str(games), str(side), str(TIMES), code],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(folder)},
        preexec_fn=lambda: libc.ptrace(TRACE_ME, 0, 0, 0),
    )
    counts: list[int] = []
    is_counting = False
    while True:
        _, status = os.waitpid(player.pid, 0)
        if not os.WIFSTOPPED(status):
            break
        stopped_by = os.WSTOPSIG(status)
        passed_on = 0
        if stopped_by == BEGIN:
            is_counting = True
            counts.append(0)
        elif stopped_by == END:
            is_counting = False
        elif stopped_by != signal.SIGTRAP:
            passed_on = stopped_by
        elif is_counting:
            counts[-1] += 1
        request = ONE_INSTRUCTION if is_counting else RESUME
        if libc.ptrace(request, player.pid, None, ctypes.c_void_p(passed_on)) != 0:
            raise CannotCountError(f"ptrace is refused here: {os.strerror(ctypes.get_errno())}")
    player.returncode = os.waitstatus_to_exitcode(status)
    assert player.stdout is not None
    with player.stdout as stdout:
        told = stdout.read()
    if not os.WIFEXITED(status) or os.WEXITSTATUS(status) != 0 or len(counts) != 2:
        raise CannotCountError(f"the process that plays ended with status {status}, having counted {counts}")
    result: dict[str, Any] = json.loads(told)
    return result, counts


if __name__ == "__main__":
    sys.exit(main())
