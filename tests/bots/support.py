"""What the bots' tests share: positions in which every bot decides once, and what it sent then."""

from territorial.bots import PythonBot
from tests.engine.support import NEVER, board, game_on, rows_of

# A tick at which every bot is awake and the opening is over.
LATER = 1000
# Rules under which a step shows nothing but the launches that were made in it.
CALM = {"launch_delay": 1000, "interest_every": 10_000, "income_every": 10_000}


def python_bot(decide, name="mine-1", interval=1):
    """Return a bot in Python that does what ``decide`` returns for what it sees."""
    members = {"name": name, "interval": interval, "decide": lambda self, view: decide(view)}
    return type("Mine", (PythonBot,), members)()


def after_a_decision(drawing, troops, seats, tick=LATER, pools=None, peak=None, taken=None):
    """Return the game after one step from this position, in which every bot has decided once.

    ``taken`` maps a seat and the one that it took cells from to their number.
    """
    seats, waiting = [*seats, *["external"] * (len(troops) - len(seats))], [NEVER] * len(troops)
    game = game_on(drawing, troops, seats=seats, tick=tick, pools=pools, peak=peak, next_step=waiting, **CALM)
    for (q, p), cells in (taken or {}).items():
        game.state.taken[0, q, p] = cells
    game.state.wake[...] = 0
    game.step(hold=True)
    assert not game.state.illegal.any()
    return game


def launches_of(game, p, pools=None):
    """Return {target: troops} of what ``p`` has sent since the position."""
    before = dict(pools or {})
    sent = game.state.pools[0, p].copy()
    for (q, target), amount in before.items():
        if q == p:
            sent[target] -= amount
    return {target: int(amount) for target, amount in enumerate(sent) if amount}


FREE_LAND = rows_of(*["11....22"] * 16)
# 2 lies between 1 and 3, 32 cells each.
FACE_TO_FACE = rows_of(*["112233"] * 16)


def decisions(drawing, troops, seats, p, count, **fields):
    """Return what ``p`` sends in ``count`` decisions from the same position, at one tick after another."""
    game = game_on(drawing, troops, seats=seats, max_ticks=10_000_000, **(CALM | fields))
    owner, sent = board(game), []
    for i in range(count):
        game.set_position(0, owner, tick=LATER + 10 * i, troops=troops)
        game.state.wake[0] = 0
        game.step(hold=True)
        sent.append(launches_of(game, p))
    assert not game.state.illegal.any()
    return sent
