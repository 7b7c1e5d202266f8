#!/usr/bin/env python3
"""Times the lines that a program which always holds answers a second, without and with the board.

    python benchmarks/bots/program_lines.py

Games of 256 x 256 cells with 32 players, 8 of which have the program. Wall time, with the steps between the
decisions. The exit code is 1 below 3,000 lines a second, or with the board below 500.
"""

import sys
import tempfile
import time
from pathlib import Path

import territorial
from benchmarks import harness
from territorial.bots import Program

STEPS, SEATS = 200, 8
LEAST = {"numbers": 3000, "board": 500}
HOLDS = """#!{python} -S
import sys
sys.stdin.readline()
print('{{"name": "holds-1", "interval": 10, "wishes": {wishes}}}', flush=True)
for line in sys.stdin:
    if line.startswith('{{"decide"'):
        print("{{}}", flush=True)
"""


def rate_of(folder: Path, wishes: str) -> float:
    """Return the lines answered a second with these wishes."""
    path = folder / "holds"
    path.write_text(HOLDS.format(python=sys.executable, wishes=wishes))
    path.chmod(0o755)
    seats = [Program(path)] * SEATS + ["turtle"] * (32 - SEATS)
    game = territorial.VecGame(territorial.GameConfig(), 1, seats=seats, observe=False)
    game.reset(seed=3)
    game.step()
    lines, started = 0, time.perf_counter()
    for _ in range(STEPS):
        lines += int(game.state.alive[0, 1 : 1 + SEATS].sum())
        game.step()
    return lines / (time.perf_counter() - started)


def main() -> int:
    """Print a rate for each kind of lines; return 1 if one is too low."""
    parsed = harness.parser_of(__doc__).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rates = {
            "numbers": rate_of(Path(folder), "[]"),
            "board": rate_of(Path(folder), '["board"]'),
        }
    for name, rate in rates.items():
        print(f"{name:10}{rate:>8,.0f} lines a second, at least {LEAST[name]:,}")
    harness.write(parsed.json, {"lines_per_second": rates})
    return int(any(rate < LEAST[name] for name, rate in rates.items()))


if __name__ == "__main__":
    sys.exit(main())
