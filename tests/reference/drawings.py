"""Games on boards that are drawn in text, or given as owner codes.

A drawing has one line a row: digits are seats, ``.`` is neutral land, ``#`` is blocked.
"""

from territorial.config import GameConfig
from territorial.config.land_mask import LandMask
from territorial.constants import BLOCKED, SPAWN_CELLS
from tests.twin import ReferenceGame

CODES = {".": 0, "#": BLOCKED}


def game_on(drawing, troops=(), **fields):
    """Return a game at tick 0 on this board, all peaks at the land owned and no pool open."""
    rows = [line.strip() for line in drawing.split()]
    width, height = max(16, len(rows[0])), max(16, len(rows))
    rows = [row.ljust(width, "#") for row in rows] + ["#" * width] * (height - len(rows))
    codes = [[CODES[char] if char in CODES else int(char) for char in row] for row in rows]
    num_players = max(code for row in codes for code in row if code != BLOCKED)
    return game_of(codes, troops, num_players=num_players, **fields)


def game_of(codes, troops=(), **fields):
    """Return the same on a board of owner codes, rows of cells, 16 by 16 or larger."""
    land = LandMask.from_array([[code != BLOCKED for code in row] for row in codes])
    config = GameConfig.for_map(land, **fields)
    cells = [(r, c) for r, row in enumerate(codes) for c, code in enumerate(row) if code != BLOCKED]
    starts = range(0, SPAWN_CELLS * config.num_players, SPAWN_CELLS)
    game = ReferenceGame(config, land, 0, [cells[k : k + SPAWN_CELLS] for k in starts])
    game.owner = [list(row) for row in codes]
    game.land = [sum(row.count(code) for row in codes) for code in range(config.num_players + 1)]
    game.peak = [0, *game.land[1:]]
    for p, balance in enumerate(troops, start=1):
        game.troops[p] = balance
    return game


def rows_of(*rows):
    return "\n".join(rows)
