"""Plays the step that ``benchmarks/engine/instructions.py`` counts, in a process of its own.

PYTHONPATH says which revision of the package is counted.
"""

import hashlib
import signal
import sys
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent))

import parts

import territorial
from territorial.jit.thread_pool import CALLED, NEXT, STATE, ThreadPool

BEGIN, END = signal.SIGUSR1, signal.SIGUSR2
"""Signals between which instructions are counted; they do not arrive, as the counter keeps them."""


def play(part: str, games: int, side: int) -> str:
    """Let a step of ``games`` games be counted, for none and then for all, and return the digest after it."""
    parts.NUM_GAMES, parts.CONFIG = games, territorial.GameConfig(height=side, width=side)
    game = parts.spread_out(**parts.BATCHES[part])
    with mock.patch.object(ThreadPool, "run", autospec=True) as shared:
        game.step()
    pool, step, (bound, *_) = shared.call_args.args
    for first in (games, 0):  # a queue whose next game is beyond the last holds none
        pool.queues[0, NEXT], pool.thread_states[0, STATE] = first, CALLED
        signal.raise_signal(BEGIN)
        step(bound)
        signal.raise_signal(END)
    digest = hashlib.blake2b(digest_size=8)
    for k in range(games):
        digest.update(game.digest(k))
    return digest.hexdigest()


if __name__ == "__main__":
    print(play(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
