#!/usr/bin/env python3
"""Counts the processor instructions of a step, part by part.

    python benchmarks/engine/instructions.py                 four parts, 8 games, some minutes
    python benchmarks/engine/instructions.py --num-games 2   a look
    python benchmarks/engine/instructions.py --against HEAD~1   each part in that revision and in these files

Another process (``counted_step.py``) brings games to all points of their lives and plays one more step, one
machine instruction at a time (ptrace; Linux alone). What a call for no games takes is subtracted. Processors
with other vector instructions have other machine code, so counts of two of them cannot be compared.

With ``--against`` the exit code is 1 if a part takes over one per cent more instructions, and 2 if the two
revisions did not play the same games.
"""

import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from compare import ROOT, tree

from benchmarks import harness
from territorial.cli import options

PLAYER = Path("benchmarks/engine/counted_step.py")
"""Of each revision its own, as it knows what the engine's parts are called there."""
PARTS = (
    "rules and bots",
    "with tables and masks",
    "with the board and its changes",
    "with a stack of 4 boards",
)
LIMIT = 1.01
"""The ratio of instructions, new over old, from which on a part is called slower."""
TRACE_ME, RESUME, ONE_INSTRUCTION = 0, 7, 9
"""Requests of ptrace(2)."""
BEGIN, END = signal.SIGUSR1, signal.SIGUSR2
"""Signals by which the player says where to count from and to; the counter keeps them from arriving."""


class CannotCountError(RuntimeError):
    """One process may not watch another here."""


Counts = dict[str, tuple[int, str]]
"""By part: the instructions of a step of one game, and the digest of where the games stand."""


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parser = harness.parser_of(__doc__)
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
    parsed = parser.parse_args(argv)
    size = parsed.num_games, parsed.side
    old: Counts | None = None
    try:
        if parsed.against is not None:
            with tree(parsed.against) as folder:
                old = measure(folder, *size)
        new = measure(ROOT, *size)
    except CannotCountError as error:
        print(error, file=sys.stderr)
        return 1
    print(text_of(new, old))
    harness.write(parsed.json, {part: found for part, (found, _) in new.items()})
    return 0 if old is None else verdict(old, new)


def measure(folder: Path, games: int, side: int) -> Counts:
    """Return what a step takes with the package in ``folder``."""
    found: Counts = {}
    for part in PARTS:
        harness.progress(part)
        digest, (none, all_of_them) = count(part, games, side, folder)
        found[part] = round((all_of_them - none) / games), digest
    harness.progress("")
    return found


def text_of(new: Counts, old: Counts | None) -> str:
    """Return the counts as lines, beside those of another revision."""
    lines = []
    for part, (found, _) in new.items():
        before = "" if old is None else f"{old[part][0]:10,} {found / old[part][0]:6.3f} times"
        lines.append(f"{found:10,} {before}  {part}")
    return "\n".join(lines)


def verdict(old: Counts, new: Counts) -> int:
    """Return the exit code of a comparison, and say on stderr why it is not 0."""
    if any(old[part][1] != new[part][1] for part in new):
        print("DIFFERENT: the two did not play the same games", file=sys.stderr)
        return 2
    more = [part for part in new if new[part][0] > LIMIT * old[part][0]]
    for part in more:
        print(f"MORE than {LIMIT:.2f} times the instructions: {part}", file=sys.stderr)
    return 1 if more else 0


# ---- the process that counts ---------------------------------------------------------------------


def count(part: str, games: int, side: int, folder: Path = ROOT) -> tuple[str, list[int]]:
    """Return the digest that the player tells, and its instructions between every BEGIN and END.

    It plays with the package in ``folder``.
    """
    if not sys.platform.startswith("linux"):
        raise CannotCountError(f"instructions are counted with ptrace, which {sys.platform} does not have")
    libc = ctypes.CDLL(None, use_errno=True)
    player = subprocess.Popen(
        [sys.executable, "-P", str(folder / PLAYER), part, str(games), str(side)],
        stdout=subprocess.PIPE,
        text=True,
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
        digest = stdout.read().strip()
    if not os.WIFEXITED(status) or os.WEXITSTATUS(status) != 0 or len(counts) != 2:
        raise CannotCountError(f"the process that plays ended with status {status}, having counted {counts}")
    return digest, counts


if __name__ == "__main__":
    sys.exit(main())
