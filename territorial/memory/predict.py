"""Predicts the memory of a league before it is built.

"one-hot" is RLlib's old API stack with float32 one-hot observations and a policy of its own for every
player of the league. All else is the new stack with this project's environment, bots in the engine, and
snapshots that all processes share: in any form of observations, such as "packed", whose boards agents share,
and "pairs", numbers of their own. In "mixed", some have the one and some the other. docs/where-40-gb-went.md
explains the amounts.
"""

from collections.abc import Mapping

from territorial.config import GameConfig
from territorial.config.validation import one_of
from territorial.constants import NUM_FRACTIONS
from territorial.envs.forms import FORMS, Form, GameSizes
from territorial.game.state import allocate, state_bytes
from territorial.memory.plan import MB, Item, Place, Plan, in_mb
from territorial.memory.setup import Setup
from territorial.observation.action_encoding import num_targets
from territorial.observation.tables import allocate_buffers

FLOAT = 4
"""Bytes of a float32."""
DUMMY_ROWS = 32
"""Of the batch that the old stack tries every policy on; fewer where the train batch has fewer."""
PLAYED, RECEIVED = 7, 4
"""Copies of the observations of an iteration on the old stack. In a process that played: row by row, and
three times as obs and new_obs, by agent, by policy, as a train batch; in the driver: sent, put together."""
OLD_AT_WORK, AT_WORK = 200 * MB, 60 * MB
"""Of RLlib's old and new stack and torch in a process, once they do something, whatever it is; measured, the
new one by benchmarks/memory/league_memory.py."""
COMPILED = 8 * MB
"""Of the engine's machine code, and what loads it, in a process that plays; measured likewise."""
ROW_BYTES = 1_800
"""Of an agent in a step besides the frame: mask, action, distribution, and what Python keeps of them."""

REPLAYED = 33
"""Of an agent's step in a replay buffer besides what it saw: action, reward, what it leads to, priority."""


ONE_HOT, MIXED = "one-hot", "mixed"
SHOWN = (ONE_HOT, "packed", "pairs", MIXED)
"""What ``territorial info memory`` shows side by side."""


def predict(setup: Setup, form: str) -> Plan:
    """Return what ``setup`` takes in "one-hot", "mixed" or a form of observations; ValueError for another."""
    one_of("form", form, (*SHOWN, *(name for name in FORMS if name not in SHOWN)))
    seats = {form: setup.agent_seats}
    if form == MIXED:
        seats = {"packed": setup.agent_seats - setup.pair_seats, "pairs": setup.pair_seats}
    own = _onehot(setup) if form == ONE_HOT else _new_stack(setup, _seen(setup, seats))
    return Plan(form, setup.env_runners, setup.learners, tuple(_idle(setup, form) + own))


def _idle(setup: Setup, form: str) -> list[Item]:
    """Return what does not depend on the league."""
    process, services = setup.process_mb * MB, setup.services_mb * MB
    imports = "Python, Ray, RLlib and torch, imported"
    return [
        Item("imports", ("driver", "runner", "learner"), "built", process, imports, is_idle=True),
        Item(
            "algorithm",
            ("driver", "runner", "learner"),
            "built",
            OLD_AT_WORK if form == ONE_HOT else AT_WORK,
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


def config_of(setup: Setup) -> GameConfig:
    """Return the config of the games."""
    return GameConfig(height=setup.height, width=setup.width, num_players=setup.num_players)


def _seen(setup: Setup, seats: Mapping[str, int]) -> dict[Form, int]:
    """Return the forms that agents have, and how many seats of a game each has; ``seats``: by name."""
    sizes = GameSizes(config_of(setup), setup.layout)
    return {FORMS[name](sizes): count for name, count in seats.items() if count}


def game_bytes(setup: Setup, *, observes: bool = True) -> int:
    """Return what the engine holds of one game, and of its boards and tables if it ``observes`` them."""
    config = config_of(setup)
    state = allocate(1, config.num_players, config.height, config.width)
    seen = allocate_buffers(setup.layout, 1) if observes else ()
    return state_bytes(state) + sum(array.nbytes for array in seen)


def replay_bytes(form: Form) -> int:
    """Return what a replay buffer keeps of an agent's step: a copy of all that the agent saw."""
    mask = 1 + NUM_FRACTIONS * form.pair_rows.total
    return form.game_bytes + form.agent_bytes + mask + REPLAYED


def _new_stack(setup: Setup, seen: Mapping[Form, int]) -> list[Item]:
    """Return what a league takes in which so many agents of a game observe each form."""
    observes, frame = not all(form.reads_games for form in seen), sum(form.game_bytes for form in seen)
    game = game_bytes(setup, observes=observes)
    step = frame + sum(count * (ROW_BYTES + form.agent_bytes) for form, count in seen.items())
    why = ", ".join(
        [f"{frame:,} bytes of a frame"] * bool(frame)
        + [f"{count} on {form.name} x {ROW_BYTES + form.agent_bytes:,} bytes" for form, count in seen.items()]
    )
    learner: Place = "learner" if setup.learners else "driver"
    sent = setup.iteration_steps * step if setup.env_runners else 0
    players: tuple[Place, ...] = ("runner", "driver") if setup.driver_plays else ("runner",)
    if not setup.env_runners:
        players = ("driver",)
    weights = setup.parameters * FLOAT
    stored = sum(count * replay_bytes(form) for form, count in seen.items()) // setup.agent_seats
    replay, of_steps = setup.replay * stored, f"{setup.replay:,} agent steps x {stored:,} bytes"
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
            "frames, stacked" if frame else "rows, joined",
            (learner,),
            "training",
            setup.iteration_steps * step,
            f"{setup.iteration_steps:,} steps, as above",
        ),
        *_learning(
            setup,
            learner,
            sum(count * form.row_bytes for form, count in seen.items()) // setup.agent_seats,
        ),
        *([Item("replay buffer", ("driver",), "training", replay, of_steps)] if replay else []),
    ]
