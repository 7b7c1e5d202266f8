"""Games on boards that are drawn in text, or given as owner codes; examples of the rules on such boards.

A drawing has one line a row: digits are seats, ``.`` is neutral land, ``#`` is blocked.
"""

from dataclasses import dataclass, field
from typing import Any

from territorial.config import GameConfig
from territorial.config.land_mask import LandMask
from territorial.constants import BLOCKED, SPAWN_CELLS
from tests.engine import support
from tests.engine.support import rows_of as rows_of
from tests.twin import ReferenceGame
from tests.twin.game import DONATION_KEYS, LEDGER_KEYS


def game_on(drawing, troops=(), **fields):
    """Return a game at tick 0 on this board, all peaks at the land owned and no pool open."""
    codes = support.parse(drawing).tolist()
    num_players = max(code for row in codes for code in row if code != BLOCKED)
    land = LandMask.from_array([[code != BLOCKED for code in row] for row in codes])
    config = GameConfig.for_map(land, num_players=num_players, **fields)
    cells = [(r, c) for r, row in enumerate(codes) for c, code in enumerate(row) if code != BLOCKED]
    starts = range(0, SPAWN_CELLS * config.num_players, SPAWN_CELLS)
    game = ReferenceGame(config, land, 0, [cells[k : k + SPAWN_CELLS] for k in starts])
    game.owner = [list(row) for row in codes]
    game.land = [sum(row.count(code) for row in codes) for code in range(config.num_players + 1)]
    game.peak = [0, *game.land[1:]]
    for p, balance in enumerate(troops, start=1):
        game.troops[p] = balance
    return game


def board_of(owner):
    """Return the drawing of owner codes, blocked rows and columns at the far edges left out."""
    rows = [row.rstrip("#") for row in support.draw(owner).splitlines()]
    return "\n".join(row for row in rows if row)


@dataclass(frozen=True)
class Example:
    """A position, what is launched in its first ticks, and what there is after ``ticks`` of them."""

    board: str
    # By name: numbers of the seats, rows of pools and land taken, "board", "over", "tick", "placements".
    after: dict[str, Any]
    troops: tuple[int, ...] = ()
    # For each of the first ticks: seat, target, fraction.
    launches: tuple[list[tuple[int, int, int]], ...] = ()
    ticks: int = 1
    tick: int = 0
    pools: dict[tuple[int, int], int] = field(default_factory=dict)
    peak: dict[int, int] = field(default_factory=dict)
    next_step: dict[int, int] = field(default_factory=dict)
    rules: dict[str, Any] = field(default_factory=dict)

    def launches_at(self, i):
        return self.launches[i] if i < len(self.launches) else []

    def on_the_reference_implementation(self):
        """Return what there is after it, by name."""
        game = game_on(self.board, self.troops, **self.rules)
        game.tick = self.tick
        for (p, t), amount in self.pools.items():
            game.pools[p][t] = amount
        for values, changes in ((game.peak, self.peak), (game.next_step, self.next_step)):
            for p, value in changes.items():
                values[p] = value
        for i in range(self.ticks):
            game.step_tick(self.launches_at(i))
        places = {"placements": game.placements() if game.over else None}
        seats = {name: getattr(game, name)[1:] for name in SEAT_FIELDS}
        ledger = {name: values[1:] for name, values in game.ledger.items()}
        return places | seats | ledger | {"board": board_of(game.owner), "over": game.over, "tick": game.tick}

    def on_the_engine(self):
        """Return the same of the engine."""
        given = {"troops": self.troops or None, "pools": self.pools, "tick": self.tick}
        game = support.game_on(self.board, **given, **self.rules)
        owner = game.state.owner[0, 1:-1, 1:-1].copy()
        seats = range(1, game.config.num_players + 1)
        given["peak"] = [self.peak.get(p, int(game.state.peak[0, p])) for p in seats]
        given["next_step"] = [self.next_step.get(p, self.tick) for p in seats]
        game.set_position(0, owner, **given)
        for i in range(self.ticks):
            game.tick(0, self.launches_at(i))
        state, names = game.state, (*SEAT_FIELDS, *LEDGER_KEYS, *DONATION_KEYS)
        return {name: getattr(state, name)[0, 1:].tolist() for name in names} | {
            "board": board_of(state.owner[0, 1:-1, 1:-1].tolist()),
            "over": bool(state.over[0]),
            "tick": int(state.tick[0]),
            "placements": (state.doubled_place[0, 1:] / 2).tolist(),
        }

    def check(self):
        """Both have come to what there should be."""
        for shown in (self.on_the_reference_implementation(), self.on_the_engine()):
            assert {name: shown[name] for name in self.after} == self.after


SEAT_FIELDS = (
    *("alive", "troops", "land", "peak", "next_step", "death_tick", "pools", "taken"),
    *("illegal", "raised", "bounced"),
)
