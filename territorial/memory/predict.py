"""Predicts the memory of a league before it is built.

"one-hot" is RLlib's old API stack with float32 one-hot observations and a policy of its own for every
player of the league. The other forms are the new stack with this project's environment, bots in the engine,
and snapshots that all processes share. Agents observe packed boards in "packed", which they share, and
numbers of their own in "pairs". In "mixed", some do the one and some the other. docs/where-40-gb-went.md
explains the amounts.
"""

from collections.abc import Callable, Mapping

from territorial.config import GameConfig
from territorial.config.validation import one_of
from territorial.constants import NUM_CANDIDATES, NUM_FRACTIONS
from territorial.game.state import allocate, state_bytes
from territorial.memory.plan import MB, Item, Place, Plan, in_mb
from territorial.memory.setup import Setup
from territorial.observation.action_encoding import num_targets
from territorial.observation.pair_columns import OWN, PAIRS
from territorial.observation.tables import allocate_buffers

FLOAT = 4
"""Bytes of a float32."""
DUMMY_ROWS = 32
"""Of the batch that the old stack tries every policy on; fewer where the train batch has fewer."""
PLAYED, RECEIVED = 7, 4
"""Copies of the observations of an iteration on the old stack. In a process that played: row by row, and
three times as obs and new_obs, by agent, by policy, as a train batch; in the driver: sent, put together."""
OLD_AT_WORK, AT_WORK = 200 * MB, 85 * MB
"""Of RLlib's old and new stack and torch in a process, once they do something, whatever it is; measured, the
new one by benchmarks/memory/league_memory.py."""
COMPILED = 46 * MB
"""Of the engine's compiled code, and what loads it, in a process that plays; measured likewise."""
ROW_BYTES = 3_000
"""Of an agent in a step besides the frame: mask, action, distribution, and what Python keeps of them."""


def predict(setup: Setup, form: str) -> Plan:
    """Return what ``setup`` takes in one of ``FORMS``; ValueError for another form."""
    one_of("form", form, FORMS)
    return Plan(form, setup, tuple(_idle(setup, form) + FORMS[form](setup)))


def _idle(setup: Setup, form: str) -> list[Item]:
    """Return what does not depend on the league."""
    process, services = setup.process_mb * MB, setup.services_mb * MB
    imports = "Python, Ray, RLlib, torch and numba, imported"
    return [
        Item("imports", ("driver", "runner", "learner"), "built", process, imports, is_idle=True),
        Item(
            "algorithm",
            ("driver", "runner", "learner"),
            "built",
            OLD_AT_WORK if form == "one-hot" else AT_WORK,
            "RLlib's and torch's own, in use",
        ),
        Item("Ray", ("node",), "built", services, "its own processes: scheduler, object store", is_idle=True),
    ]


def _who_plays(setup: Setup) -> Place:
    return "runner" if setup.env_runners else "driver"


def _experience(setup: Setup, step_bytes: int, why: str) -> Item:
    """Return what one of those who play collects in an iteration."""
    steps = -(-setup.iteration_steps // max(1, setup.env_runners))
    return Item(
        "experience", (_who_plays(setup),), "training", steps * step_bytes, f"{steps:,} steps x ({why})"
    )


def _learning(setup: Setup, place: Place, board_bytes: int) -> list[Item]:
    """Return what the policy that learns takes besides its weights; a decoded board takes ``board_bytes``."""
    row = board_bytes + 2 * setup.activations * FLOAT
    adam = f"3 x {setup.parameters:,} float32"
    rows = f"{setup.minibatch:,} x ({board_bytes:,} bytes observed, 2 x {setup.activations:,} float32)"
    return [
        Item("gradients, Adam", (place,), "training", 3 * setup.parameters * FLOAT, adam),
        Item("minibatch", (place,), "training", setup.minibatch * row, rows),
    ]


# ---- one-hot, old API stack --------------------------------------------------------------------------


def flat_size(setup: Setup) -> int:
    """Return how many numbers RLlib flattens an agent's observation to: one-hot planes, mask and stats."""
    planes = setup.frames * (setup.num_players + 1) * setup.height * setup.width
    mask, stats = num_targets(setup.num_players) + NUM_FRACTIONS, 2 * setup.num_players
    return planes + mask + stats


def _onehot(setup: Setup) -> list[Item]:
    flat = flat_size(setup)
    everywhere: tuple[Place, ...] = ("driver", "runner")  # each of them has all policies
    networks = 1 + setup.capacity
    policies = networks + setup.bots
    rows = min(DUMMY_ROWS, setup.iteration_steps)
    dummy = 2 * rows * flat * FLOAT
    step = setup.num_players * flat * FLOAT
    return [
        Item(
            "dummy batches",
            everywhere,
            "built",
            networks * dummy,
            f"{networks:,} networks x (obs, new_obs) x {rows} rows x {flat:,} float32",
        ),
        Item(
            "spaces",
            everywhere,
            "built",
            policies * flat * 12,
            f"{policies:,} policies x {flat:,} x (2 float32 bounds, 2 flags, 2 int8 samples)",
        ),
        Item(
            "weights",
            everywhere,
            "built",
            networks * setup.parameters * FLOAT,
            f"{networks:,} networks x {setup.parameters:,} float32",
        ),
        Item(
            "trying a policy",
            everywhere,
            "building",
            2 * dummy,
            f"2 x {in_mb(dummy)}: another dummy batch, its loss",
        ),
        _experience(
            setup,
            PLAYED * step,
            f"{PLAYED} copies x {setup.num_players} agents x {flat:,} float32",
        ),
        Item(
            "experience, received",
            ("driver",),
            "training",
            RECEIVED * setup.iteration_steps * step if setup.env_runners else 0,
            f"{setup.iteration_steps:,} steps x {RECEIVED} copies x {setup.num_players} agents, as above",
        ),
        *_learning(setup, "driver", flat * FLOAT),
    ]


# ---- the new API stack -------------------------------------------------------------------------------


def game_bytes(setup: Setup, *, observes: bool = True) -> int:
    """Return what the engine holds of one game, and of its boards and tables if it ``observes`` them."""
    config = GameConfig(height=setup.height, width=setup.width, num_players=setup.num_players)
    state = allocate(1, config.num_players, config.height, config.width)
    seen = allocate_buffers(setup.layout, 1) if observes else ()
    return state_bytes(state) + sum(array.nbytes for array in seen)


def frame_bytes(setup: Setup) -> int:
    """Return what one step of a game shows to all of its agents together."""
    return sum(setup.layout.nbytes(name) for name in ("planes", "players", "borders", "globals"))


def pair_bytes() -> int:
    """Return what a step shows to an agent on pairs: numbers, targets of candidates, and the mask."""
    numbers = len(OWN) + NUM_CANDIDATES * (len(PAIRS) + 1)
    return FLOAT * numbers + 1 + NUM_CANDIDATES * NUM_FRACTIONS


def _new_stack(setup: Setup, pair_seats: int) -> list[Item]:
    """Return what a league takes of whose agents so many are on pairs."""
    observes = pair_seats < setup.agent_seats
    game, frame = game_bytes(setup, observes=observes), frame_bytes(setup) if observes else 0
    step = frame + setup.agent_seats * ROW_BYTES + pair_seats * pair_bytes()
    why = _why_step(setup, frame, pair_seats)
    learner: Place = "learner" if setup.learners else "driver"
    sent = setup.iteration_steps * step if setup.env_runners else 0
    players: tuple[Place, ...] = ("runner", "driver") if setup.driver_plays else ("runner",)
    if not setup.env_runners:
        players = ("driver",)
    weights = setup.parameters * FLOAT
    return [
        Item("engine", players, "built", COMPILED, "compiled code"),
        Item(
            "games",
            (_who_plays(setup),),
            "built",
            setup.num_games * game,
            f"{setup.num_games:,} x {game:,} bytes",
        ),
        Item("weights that play", players, "built", weights, f"{setup.parameters:,} float32"),
        Item("weights that learn", (learner,), "built", weights, f"{setup.parameters:,} float32"),
        Item(
            "snapshots",
            ("node",),
            "built",
            setup.capacity * setup.parameters * setup.parameter_bytes,
            f"{setup.capacity:,} x {setup.parameters:,} x {setup.parameter_bytes} bytes, mapped files",
        ),
        _experience(setup, step, why),
        Item(
            "experience, sent",
            ("node",),
            "training",
            sent,
            f"{setup.iteration_steps:,} steps, as above, in Ray's store",
        ),
        Item(
            "frames, stacked" if observes else "rows, joined",
            (learner,),
            "training",
            setup.iteration_steps * step,
            f"{setup.iteration_steps:,} steps, as above",
        ),
        *_learning(setup, learner, _row_bytes(setup, pair_seats)),
    ]


def _row_bytes(setup: Setup, pair_seats: int) -> int:
    """Return what a row of a minibatch shows, on average: decoded boards, or pairs."""
    boards = (setup.agent_seats - pair_seats) * setup.frames * setup.height * setup.width
    return (boards + pair_seats * pair_bytes()) // setup.agent_seats


def _why_step(setup: Setup, frame: int, pair_seats: int) -> str:
    """Return the arithmetic of a step's bytes."""
    parts = [f"{frame:,} bytes of a frame"] if frame else []
    parts.append(f"{setup.agent_seats} agents x {ROW_BYTES:,} bytes")
    if pair_seats:
        parts.append(f"{pair_seats} on pairs x {pair_bytes():,} bytes")
    return ", ".join(parts)


FORMS: Mapping[str, Callable[[Setup], list[Item]]] = {
    "one-hot": _onehot,
    "packed": lambda setup: _new_stack(setup, 0),
    "pairs": lambda setup: _new_stack(setup, setup.agent_seats),
    "mixed": lambda setup: _new_stack(setup, setup.pair_seats),
}
"""What each form takes on top of idle processes."""
