"""``predict_memory``: the memory that a league takes, with ``add_league`` and by RLlib itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import tree
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from rllib_adapters.league.line_up import LEARNS
from rllib_adapters.league.pool import build_module, pools_of
from territorial.config.validation import raised_as
from territorial.evaluation.ratings import layout
from territorial.memory.plan import MB, BudgetError, Item, Place, Plan, in_mb
from territorial.nets.frozen import MAX_OPEN, mapped

IMPORTS, SHARING, SERVICES = 290 * MB, 160 * MB, 380 * MB
"""Of the driver once it has imported everything; of another process, which shares libraries and was one of
Ray's idle ones; of Ray's own processes, idle ones among them."""
AT_WORK, LEARNING = 76 * MB, 25 * MB
"""Of RLlib and PyTorch once they do something; and on top when RLlib by itself learns, which does not give
back what was freed. These numbers and the copies below are measured: benchmarks/rllib/any_env.py."""
ROW = 3_000
"""Bytes of an agent's step beside what it saw: action, distribution, and what Python keeps of them."""
LEARNED = 2
"""Copies of what agents saw, where it is learned from: as it came, and as a batch."""
ADAM = 3
"""Copies of weights that learn: gradients, and two moments."""


def predict_memory(config: Any) -> tuple[Plan, Plan]:
    """Return what the league of a configuration takes, and what it would take by RLlib itself.

    By itself RLlib has a module for every snapshot of the league, in every process. The learners' modules
    are built without memory to count their parameters and what they keep for backpropagation; rows follow
    from the spaces; what RLlib takes in each process was measured. The environment itself is left out. Both
    plans have ``built`` and ``peak``, in bytes of all processes together, and their ``items``.

    Args:
        config: what ``add_league`` returned, or the ``config`` of an algorithm that was built from it.

    Raises:
        TypeError: for another configuration.

    """
    if getattr(config, "seating", None) is None:
        raise TypeError(f"config is a {type(config).__name__}; it must be what add_league returned")
    return _plan(config, is_alone=False), _plan(config, is_alone=True)


def check_memory(config: Any) -> None:
    """Raise ValueError if a league takes more than the ``memory`` of its configuration; 0 is any amount."""
    if config.memory:
        with raised_as(ValueError, f"memory is {in_mb(config.memory)}: ", BudgetError):
            predict_memory(config)[0].check_budget(config.memory)


def _plan(config: Any, *, is_alone: bool) -> Plan:
    """Return the plan of RLlib by itself if it ``is_alone``, else that of ``add_league``."""
    specs, pools = config._rl_module_spec.rl_module_specs, pools_of(config)
    sizes = [sizes_of(spec, *config.spaces[name]) for name, spec in specs.items() if name not in pools]
    learned, largest = sum(one.weights for one in sizes), max(one.weights for one in sizes)
    snapshots, kept = config.capacity * largest, max(one.kept for one in sizes)
    modules = learned + snapshots * is_alone
    mapped_files = 0 if is_alone else min(config.capacity, MAX_OPEN) * largest
    whole = f"{len(sizes)} modules" + f", {config.capacity:,} of snapshots" * is_alone
    learner: Place = "learner" if config.num_learners else "driver"
    player: Place = "runner" if config.num_env_runners else "driver"
    steps, agents = config.total_train_batch_size, [agent for seat in config.seating.seats for agent in seat]
    step = _seen(config, agents) + len(agents) * ROW
    random = np.random.default_rng(0)
    drawn = (config.seating.draw(table, random)[LEARNS] for table in config.table.tables)
    learning, why = max(drawn, key=len), f"{steps:,} steps"
    batch, values = LEARNED * steps * _seen(config, learning), max(one.of_values for one in sizes)
    played = -(-steps // (config.num_env_runners or 1)) * step
    tables = layout(config.capacity).values()
    payoff = sum(math.prod(shape) * np.dtype(kind).itemsize for kind, shape in tables)
    rows = getattr(config, "minibatch_size", None) or config.train_batch_size_per_learner
    # Values of a whole batch are computed at once, before its first minibatch.
    learns = max((2 * rows, kept), (steps * len(learning), values), key=math.prod)
    note = "" if kept else "; more, if modules ran on the device 'meta'"
    return Plan(
        "RLlib by itself" if is_alone else "add_league",
        config.num_env_runners + config.evaluation_num_env_runners,
        config.num_learners,
        (
            Item("imports", ("driver",), "built", IMPORTS, "Python, RLlib, PyTorch", is_idle=True),
            Item("imports", ("runner", "learner"), "built", SHARING, "as above, shared", is_idle=True),
            Item("Ray", ("node",), "built", SERVICES, "its own processes", is_idle=True),
            Item(
                "algorithm",
                ("driver", "runner", "learner"),
                "built",
                AT_WORK,
                "RLlib's and PyTorch's own, in use",
            ),
            Item("league", ("driver",), "built", 0 if is_alone else payoff, "its payoff matrix"),
            Item("modules that play", ("driver", "runner"), "built", modules, whole),
            Item("modules that learn", (learner,), "built", modules, whole),
            Item("modules, sent at first", ("driver", "runner"), "built", modules, whole),
            Item("snapshots", ("node",), "training", mapped_files, f"mapped files, of {MAX_OPEN} at most"),
            Item("experience", (player,), "training", played, f"{why} x {step:,} bytes"),
            Item("experience, sent", ("node",), "training", steps * step if player == "runner" else 0, why),
            Item("batch", (learner,), "training", batch, f"{why}, {LEARNED} copies"),
            Item(
                "backpropagation",
                (learner,),
                "training",
                math.prod(learns),
                "{:,} x {:,} bytes".format(*learns) + note,
            ),
            Item("gradients, Adam", (learner,), "training", ADAM * learned, f"{ADAM} x {learned:,} bytes"),
            Item("learning", (learner,), "training", LEARNING * is_alone, "RLlib's and PyTorch's own"),
            Item("weights, sent", ("driver",), "training", modules * 5 // 4, f"1.25 x {whole}"),
        ),
    )


def _seen(config: Any, agents: Sequence[Any]) -> int:
    """Return the bytes of what agents see in a step."""
    seating = config.seating
    pools = {agent: pool for seat, pool in zip(seating.seats, seating.pools, strict=True) for agent in seat}
    seen = {pool: config.spaces[pool][0].sample() for pool in seating.pools}
    return sum(np.asarray(part).nbytes for agent in agents for part in tree.flatten(seen[pools[agent]]))


class Sizes(NamedTuple):
    """The bytes of a module's weights, and of what it keeps of a row: all of it, and its value alone.

    Nothing is known of the latter, and both are 0, where only connectors make rows that the module can read,
    and where it does not run on the device "meta".
    """

    weights: int
    kept: int
    of_values: int


def sizes_of(spec: Any, observations: Any, actions: Any) -> Sizes:
    """Return the sizes of a module with these spaces."""
    with torch.device("meta"):
        module = build_module(spec, observations, actions, **(spec.model_config or {}))
    weights = sum(part.nbytes for part in module.state_dict().values())
    try:
        one, two = (_kept(module, observations, rows) for rows in (1, 2))  # both have kept the weights
    except Exception:  # whatever a network makes of rows that it does not know
        return Sizes(weights, 0, 0)
    return Sizes(weights, sum(two) - sum(one), two[1] - one[1])


def _kept(module: Any, observations: Any, rows: int) -> tuple[int, int]:
    """Return the bytes that are kept of so many rows for their actions, and for their values."""
    found: list[int] = []

    def pack(tensor: Tensor) -> Tensor:
        found.append(tensor.nbytes)
        return tensor

    seen = mapped(lambda part: torch.as_tensor(np.stack([part] * rows), device="meta"), observations.sample())
    with saved_tensors_hooks(pack, lambda tensor: tensor):
        module._forward_train({Columns.OBS: seen})
        of_actions = sum(found)
        if isinstance(module, ValueFunctionAPI):
            module.compute_values({Columns.OBS: seen})
    return of_actions, sum(found) - of_actions
