#!/usr/bin/env python3
"""Runs tests and examples of trainers on our environments.

    python maintainers/programs_of_others.py            all, each in a process of its own; then a table
    python maintainers/programs_of_others.py NAME       one of them, in this process

PettingZoo's and RLlib's programs are listed by what their packages hold, so that a new one has to be listed.
"""

import pkgutil
import runpy
import subprocess
import sys
import time
import types
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.metadata import version
from typing import Any

import territorial

SMALL: dict[str, Any] = {"height": 32, "width": 32, "num_players": 3, "max_ticks": 600, "obs": "features"}
LIMIT = 3600
"""Seconds that a program may take; it is against hanging."""
SHOWN = 70
"""Letters of an error in the table."""


turns = partial(territorial.env, **SMALL)
together = partial(territorial.parallel_env, **SMALL)
"""Small games, in turns and in which all act at once."""


def seat(**options: Any) -> Any:
    """Return a small game of one agent among bots."""
    import gymnasium

    made = gymnasium.make("territorial/Territorial-v0", **(SMALL | options))
    return made.unwrapped


def begun(env: Any) -> Any:
    """Return an environment with a game, which a benchmark of pictures does not begin."""
    env.reset(seed=0)
    return env


bare_seat = partial(seat, action_mask="none")
"""One whose observations are arrays."""


def tests_of_pettingzoo() -> dict[str, Callable[[], object]]:
    """Return the functions of ``pettingzoo.test`` by name, with what each is given."""
    from pettingzoo import test

    module = types.SimpleNamespace(env=turns, parallel_env=together)
    arguments: dict[str, Callable[[Any], object]] = {
        "api_test": lambda run: run(turns(), num_cycles=300),
        "bombardment_test": lambda _: not_ours("it takes what step() returns for an observation: None"),
        "max_cycles_test": lambda run: run(module),
        "parallel_api_test": lambda run: run(together(), num_cycles=300),
        "parallel_seed_test": lambda run: run(together, num_cycles=30),
        "performance_benchmark": lambda run: run(turns()),
        "render_test": lambda run: run(lambda **options: turns(**options)),
        "collect_render_results": lambda run: run(turns(render_mode="rgb_array")),
        "seed_test": lambda run: run(turns, num_cycles=30),
        "state_test": lambda run: run(turns(), together()),
        "test_save_obs": lambda run: run(turns(obs="pooled", action_mask="none", frames=1)),
    }
    found = {name for name in vars(test) if callable(getattr(test, name)) and not name.startswith("_")}
    return {name: partial(arguments.get(name, not_sorted_in), getattr(test, name)) for name in found} | {
        "manual_control_test": lambda: not_ours("a person plays an environment that brings its own keys")
    }


def tests_of_gymnasium() -> dict[str, Callable[[], object]]:
    """Return the checks and benchmarks of ``gymnasium.utils``."""
    from gymnasium.utils import env_checker, performance

    return {
        "check_env": lambda: env_checker.check_env(seat()),
        "benchmark_step": lambda: performance.benchmark_step(bare_seat(), 1),
        "benchmark_init": lambda: performance.benchmark_init(bare_seat, 1),
        "benchmark_render": lambda: performance.benchmark_render(begun(seat(render_mode="rgb_array")), 1),
    }


def tests_of_stable_baselines() -> dict[str, Callable[[], object]]:
    """Return Stable-Baselines3's check of environments and its evaluation."""
    from sb3_contrib import MaskablePPO
    from sb3_contrib.common.maskable.evaluation import evaluate_policy as evaluate_masked
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_checker import check_env
    from stable_baselines3.common.evaluation import evaluate_policy

    few = {"n_steps": 32, "batch_size": 32}
    return {
        "check_env": lambda: check_env(bare_seat()),
        "evaluate_policy": lambda: evaluate_policy(PPO("MlpPolicy", bare_seat(), **few), bare_seat(), 1),
        "maskable evaluate_policy": lambda: evaluate_masked(
            MaskablePPO("MlpPolicy", bare_seat(), **few), bare_seat(), 1
        ),
    }


def examples_of_rllib() -> dict[str, Callable[[], object]]:
    """Return the examples of ``ray.rllib.examples`` that take an environment of PettingZoo, or read masks."""
    known = {
        "multi_agent.pettingzoo_independent_learning": lambda _: not_ours("its policies are pursuer_0, ..."),
        "multi_agent.pettingzoo_parameter_sharing": run_with_turns,
        "rl_modules.action_masking_rl_module": run_with_masks,
        "_old_api_stack.models.action_mask_model": lambda _: not_ours("no program, but a part of others"),
    }
    package = import_module("ray.rllib.examples")
    found = [
        one.name.removeprefix("ray.rllib.examples.")
        for one in pkgutil.walk_packages(package.__path__, "ray.rllib.examples.", onerror=lambda _: None)
        if not one.ispkg and "classes" not in one.name
    ]
    wanted = [name for name in found if "pettingzoo" in name or "action_mask" in name]
    return {name: partial(known.get(name, not_sorted_in), name) for name in sorted({*wanted, *known})}


def run_with_turns(name: str) -> None:
    """Run an example that imports ``waterworld_v4``, which is a game in turns of ours."""
    stand_in = types.ModuleType("pettingzoo.sisl")
    stand_in.waterworld_v4 = types.SimpleNamespace(  # type: ignore[attr-defined]
        env=lambda: turns(action_mask="none", agent_death="keep", num_players=2)
    )
    sys.modules["pettingzoo.sisl"] = stand_in
    run_example(name, "--num-agents", "2")


def run_with_masks(name: str) -> None:
    """Run the example of masks with a game of ours in place of its own environment."""
    from territorial.envs.gymnasium import SeatEnv

    class Masked(SeatEnv):
        def __init__(self, _: object) -> None:
            super().__init__(**SMALL, obs_key="observations")

    module = import_module("ray.rllib.examples.envs.classes.action_mask_env")
    module.ActionMaskEnv = Masked
    run_example(name)


def run_example(name: str, *arguments: str) -> None:
    """Run a program of RLlib for one iteration; players of ours may die, so it learns from few steps."""
    sys.argv = [name, "--stop-iters", "1", "--num-env-runners", "0", "--no-tune", *arguments]
    runpy.run_module(f"ray.rllib.examples.{name}", run_name="__main__")


class NotOurs(Exception):  # noqa: N818 - no error
    """A program that is for other environments; the message says why."""


def not_ours(why: str) -> None:
    """Say why a program does not apply."""
    raise NotOurs(why)


def not_sorted_in(_: object) -> None:
    """Fail for a program that is new."""
    raise LookupError("this program is not listed in maintainers/programs_of_others.py")


PROGRAMS = {
    "pettingzoo": tests_of_pettingzoo,
    "gymnasium": tests_of_gymnasium,
    "stable_baselines3": tests_of_stable_baselines,
    "ray": examples_of_rllib,
}
"""By package. SuperSuit has none, and what source distributions add are tests of their own environments."""


def outcome_of(name: str) -> tuple[str, float]:
    """Run a program in a process of its own; return "passed", why it does not apply, or how it failed."""
    began = time.monotonic()
    try:
        done = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True, timeout=LIMIT)
        lines = [line for line in done.stderr.splitlines() if line.strip()] or [""]
        said = "passed" if done.returncode == 0 else lines[-1][:SHOWN]
    except subprocess.TimeoutExpired:
        said = f"FAILED: {LIMIT} s were not enough"
    else:
        said = said if done.returncode in (0, 3) else f"FAILED: {said}"
    return said, time.monotonic() - began


def main(*names: str) -> int:
    """Run the program that is named, or all; return the exit code."""
    if names:
        package, _, program = names[0].partition(":")
        try:
            PROGRAMS[package]()[program]()
        except NotOurs as why:
            sys.stderr.write(f"does not apply: {why}\n")
            return 3
        return 0
    failed = 0
    for package, listed in PROGRAMS.items():
        for program in sorted(listed()):
            said, seconds = outcome_of(f"{package}:{program}")
            failed += said.startswith("FAILED")
            row = f"{package} {version(package):9} {program:45} {seconds:5.0f} s  {said}"
            sys.stdout.write(f"{row}\n")
            sys.stdout.flush()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
