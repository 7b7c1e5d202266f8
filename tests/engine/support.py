"""What the engine's tests share: boards drawn in text, and games put on them.

A drawing has one line a row: ``1`` to ``9`` and then ``A`` to ``Z`` are seats, ``.`` is neutral land, ``#``
is blocked. A drawing smaller than the smallest map is padded with blocked cells on the right and below.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from territorial import GameConfig, VecGame
from territorial.constants import BLOCKED, MIN_SIDE
from territorial.game.state import FIELDS
from tests.episodes import begun

ROOT = Path(__file__).resolve().parents[2]
# The symbol of each owner code that can be drawn.
SYMBOLS = "." + "123456789" + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

# A next_step that no test reaches.
NEVER = 10**6


def rows_of(*rows):
    """Return the drawing with these rows."""
    return "\n".join(rows)


def parse(drawing):
    """Return the owner codes of a drawing, uint8 (H, W), at least as large as the smallest map."""
    rows = drawing.split()
    height, width = max(MIN_SIDE, len(rows)), max(MIN_SIDE, len(rows[0]))
    owner = np.full((height, width), BLOCKED, np.uint8)
    for r, row in enumerate(rows):
        for c, symbol in enumerate(row):
            owner[r, c] = BLOCKED if symbol == "#" else SYMBOLS.index(symbol)
    return owner


def draw(owner):
    """Return the drawing of owner codes (H, W)."""
    symbols = dict(enumerate(SYMBOLS)) | {BLOCKED: "#"}
    return "\n".join("".join(symbols[code] for code in row) for row in np.asarray(owner).tolist())


def board(game, k=0):
    """Return a copy of the owner codes of game ``k``, without the wall ring."""
    return game.state.owner[k, 1:-1, 1:-1].copy()


def game_on(
    drawing,
    troops=None,
    *,
    pools=None,
    peak=None,
    next_step=None,
    tick=0,
    num_players=None,
    seats=None,
    observe=True,
    frames=1,
    **fields,
):
    """Return a VecGame of one game that stands on this drawing."""
    owner = parse(drawing) if isinstance(drawing, str) else np.asarray(drawing, np.uint8)
    if num_players is None:
        num_players = max(2, int(owner[owner != BLOCKED].max()))
    height, width = owner.shape
    config = GameConfig(height=height, width=width, num_players=num_players, map="open", **fields)
    game = begun(VecGame(config, 1, seats=seats, autoreset="disabled", observe=observe, frames=frames))
    game.set_position(0, owner, troops=troops, pools=pools, peak=peak, next_step=next_step, tick=tick)
    return game


def seat_values(game, name, k=0):
    """Return a field of seats 1..P of game ``k`` as a list."""
    return getattr(game.state, name)[k, 1:].tolist()


def digests(game):
    """Return the digests of all games of a batch."""
    return [game.digest(k).hex() for k in range(game.num_games)]


def state_equal(a, b, k=0, other=None):
    """Return whether game ``k`` of ``a`` and game ``other`` (the same) of ``b`` are equal, bit for bit.

    Planes are compared as boards, as blocks may be noted that are empty; what is stale depends on
    when the game was observed.
    """
    other = k if other is None else other
    names = [field.name for field in FIELDS if field.name not in ("planes", "occupied", "stale")]
    equal = all(np.array_equal(getattr(a.state, name)[k], getattr(b.state, name)[other]) for name in names)
    return equal and np.array_equal(a.state.owner[k], b.state.owner[other])


def same_observations(a, b, k=None, other=None):
    """Return whether all games, or game ``k`` of ``a`` and ``other`` of ``b``, are observed alike.

    What lies behind the last cell of a delta means nothing.
    """
    pairs = range(len(a.globals)) if k is None else [k]
    for i in pairs:
        j = i if other is None else other
        if a.delta_count[i] != b.delta_count[j]:
            return False
        count = max(0, int(a.delta_count[i]))
        for name in a._fields:
            end = count if name in ("delta_index", "delta_code") else None
            left, right = getattr(a, name)[i], getattr(b, name)[j]
            if not np.array_equal(left[..., :end], right[..., :end]) if left.ndim else left != right:
                return False
    return True


def interpreted(script, *arguments):
    """Return what a script prints when all kernels run as plain Python."""
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", script, *arguments],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
