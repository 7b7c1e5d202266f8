"""``plan_for``: how to train on a number of cores with an amount of memory."""

from __future__ import annotations

import dataclasses
import math
import tempfile
import time
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig

from rllib_adapters.train.options import DEFAULT, PRESETS, Training
from rllib_adapters.train.run import configured, parameters_of, start_ray
from territorial._log import LOG
from territorial.config.validation import one_of, whole_number
from territorial.league import SnapshotStore
from territorial.memory.plan import MB, MOST_CORES, Plan
from territorial.memory.predict import predict

ENOUGH = 0.02
"""More runners do not pay where all of them sample for this part of an iteration's other time."""


class Rates(NamedTuple):
    """How fast the processes of a preset are, each with a core to itself.

    Args:
        steps: environment steps a second of a runner.
        rows: rows a second of a learner; every row is learned from as often as the preset has epochs.
        rest: seconds of an iteration besides.

    """

    steps: float
    rows: float
    rest: float


RATES: Mapping[str, Rates] = {
    "quick": Rates(5300, 18300, 0.02),
    "pairs": Rates(13000, 26300, 0.11),
    "features": Rates(7000, 18200, 0.04),
    "boards": Rates(20, 100, 0.07),
}
"""By preset, with PPO and the batched runner: docs/scaling.md has the machine and the date."""


MEASURED_SECONDS = 20.0
"""For how long rates are measured, and two iterations at least."""


def measured_rates(preset: str = DEFAULT) -> Rates:
    """Return the rates of a preset on this machine, whose driver plays and learns for half a minute.

    It starts Ray, and must have a core to itself meanwhile. ValueError for a preset that there is not.
    """
    one_of("preset", preset, PRESETS)
    training = dataclasses.replace(PRESETS[preset], env_runners=0)
    start_ray(0)
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(training.torch_threads)
        with tempfile.TemporaryDirectory() as folder:
            algorithm = configured(training, SnapshotStore(folder), PPOConfig()).build_algo()
            algorithm.train()
            sampling = timed(algorithm.env_runner, "sample")
            (learner,) = algorithm.learner_group.foreach_learner(lambda own: own)
            learning = timed(learner.get(), "update")
            began, iterations = time.perf_counter(), 0
            while (seconds := time.perf_counter() - began) < MEASURED_SECONDS or iterations < 2:
                algorithm.train()
                iterations += 1
                LOG.info("measuring %s: %d iterations", preset, iterations)
            algorithm.stop()
    finally:
        torch.set_num_threads(threads)
        ray.shutdown()
    steps = iterations * training.iteration_steps
    rows, rest = steps * training.agent_seats, max(0.0, seconds - sum(sampling) - sum(learning))
    return Rates(steps / sum(sampling), rows / sum(learning), rest / iterations)


def timed(owner: Any, name: str) -> list[float]:
    """Have calls of a method append their seconds of processor to the list that is returned."""
    call: Callable[..., Any] = getattr(owner, name)
    spent: list[float] = []

    def method(*args: Any, **kwargs: Any) -> Any:
        began = time.process_time()
        try:
            return call(*args, **kwargs)
        finally:
            spent.append(time.process_time() - began)

    setattr(owner, name, method)
    return spent


def seconds_of(
    rates: Rates,
    steps: int,
    rows: int,
    runners: int,
    learners: int,
    *,
    share: float = 1.0,
    at_once: bool = False,
) -> float:
    """Return the seconds of an iteration of ``steps`` environment steps and ``rows`` rows.

    Args:
        rates: of one process.
        steps: environment steps of the iteration.
        rows: rows of these steps.
        runners: processes that sample; with 0 the driver does.
        learners: processes that learn; with 0 the driver does.
        share: the part of a core that each runner gets, above 0 to 1.
        at_once: True: runners sample while learners learn, as with APPO; False: one after the other.

    """
    sampling = steps / (rates.steps * max(1, runners) * share)
    learning = rows / (rates.rows * max(1, learners))
    return (max if at_once else sum)((sampling, learning)) + rates.rest


@dataclass(frozen=True)
class ScalingPlan:
    """A run for a number of cores and an amount of memory.

    Args:
        preset: its name.
        training: its options: those of the preset with another number of runners.
        memory: what its processes take.
        steps_per_second: environment steps that it plays in a second.
        bound: what a faster run needs: "cores", "memory", or "learner", as runners are enough.
        enough_runners: the number from which on the learner takes longer than the runners.

    """

    preset: str
    training: Training
    memory: Plan
    steps_per_second: float
    bound: str
    enough_runners: int

    @property
    def command(self) -> str:
        """The command that trains so; RUN stands for a folder."""
        own = self.training
        limits = f"--env-runners {own.env_runners} --memory-mb {own.memory_mb}"
        return f"territorial train RUN --preset {self.preset} {limits}"

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as values that JSON has; sizes are in bytes."""
        one = self.training
        return {
            "preset": self.preset,
            "runners": one.env_runners,
            "games_of_a_runner": one.num_games,
            "learners": self.memory.learners,
            "iteration_steps": one.iteration_steps,
            "peak": self.memory.peak,
            "steps_per_second": self.steps_per_second,
            "bound": self.bound,
            "enough_runners": self.enough_runners,
            "command": self.command,
        }


def plan_for(cores: int, memory: int, preset: str = DEFAULT, *, rates: Rates | None = None) -> ScalingPlan:
    """Return the fastest run of a preset on one machine; docs/scaling.md has the formula and its limits.

    Runners and driver, which learns, have a core each. Runners that would not pay are left out.

    Args:
        cores: of the machine, 1 to 10,000.
        memory: bytes that all processes together may take at their worst moment.
        preset: name of a preset of ``territorial train``; default "pairs".
        rates: of the machine, as ``measured_rates`` returns them; default those of docs/scaling.md.

    Raises:
        ValueError: for another number of cores, and for a preset that there is not.
        BudgetError: for memory in which not even one process fits; it names what takes most.

    """
    one_of("preset", preset, PRESETS)
    most = whole_number("cores", cores, 1, MOST_CORES) - 1
    memory = whole_number("memory", memory, 1) // MB * MB  # as the command has it
    training, rates = PRESETS[preset], rates or RATES[preset]
    setup = training.setup(parameters_of(training))
    steps, rows = training.iteration_steps, training.iteration_steps * training.agent_seats
    sampling, learning = steps / rates.steps, rows / rates.rows
    useful = math.ceil(sampling / (ENOUGH * (learning + rates.rest)))
    useful = min(useful, steps // training.num_games)  # each plays a step of each of its games

    def with_runners(runners: int) -> Plan:
        return predict(dataclasses.replace(setup, env_runners=runners), training.net.obs)

    with_runners(0).check_budget(memory)
    room = most if most > 1 else 0  # a single runner would only play while the driver waits
    fitting = bisect_right(range(2, min(room, useful) + 1), memory, key=lambda one: with_runners(one).peak)
    found = with_runners(fitting + 1 if fitting else 0)
    bounds = {"learner": useful if useful > 1 else 0, "cores": room, "memory": found.runners}
    return ScalingPlan(
        preset,
        dataclasses.replace(training, env_runners=found.runners, memory_mb=memory // MB),
        found,
        steps / seconds_of(rates, steps, rows, found.runners, found.learners),
        next(name for name, most_runners in bounds.items() if found.runners >= most_runners),
        math.ceil(sampling / learning),
    )
