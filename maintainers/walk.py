#!/usr/bin/env python3
"""Follows one step of an environment through the code: functions of ours that it calls, and their packages.

    PYTHONPATH=. python maintainers/walk.py                        all environments that can be made here
    PYTHONPATH=. python maintainers/walk.py parallel_env make_vec  those alone
    PYTHONPATH=. python maintainers/walk.py --counts               the counts alone

A line is a function, below the one that calls it; calls of one function by another are one line, with their
number. ``kernel`` is compiled code that Python calls. ``UP`` is a call to a package above that of the caller,
and ``SIDE`` one to a package beside it, as the layers of pyproject.toml have it. At the end of a line is the
memory that the function itself allocated in pieces of 1 KB and more, most of it copies of arrays. What is
followed is one step after some others, at full size; "a game ends" is a step in which a game ends and, where
the environment does so, the next one begins.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

import territorial
from territorial.jit import decorators

ROOT = Path(__file__).resolve().parents[1]
TOP_PACKAGES = ("territorial", "rllib_adapters")
BIG = 1024
"""Bytes of an allocation that counts."""
WITHIN = {"<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"}
"""Frames that are part of the function around them."""
CHECKS = re.compile("check|find_bad|write_choices")
"""Names of functions that look at what a user gave."""
GAMES, STEPS_BEFORE = 4, 5
LAST = 8
"""The step with which the games of "a game ends" are cut."""

Step = Callable[[], object]


@dataclass
class Call:
    """A function that was called from another, some times."""

    module: str
    name: str
    is_kernel: bool = False
    count: int = 0
    pieces: int = 0
    num_bytes: int = 0
    calls: dict[tuple[str, str, bool], Call] = field(default_factory=dict)

    def called(self, module: str, name: str, *, is_kernel: bool = False) -> Call:
        """Return the call of this function from here, counted once more."""
        found = self.calls.setdefault((module, name, is_kernel), Call(module, name, is_kernel))
        found.count += 1
        return found

    def all(self, depth: int = 0, caller: str = "") -> Iterator[tuple[int, str, Call]]:
        """Yield everything called from here in order, with its depth and the module of its caller."""
        for one in self.calls.values():
            yield depth, caller, one
            yield from one.all(depth + 1, one.module)


# ---- following -----------------------------------------------------------------------------------


class Walk:
    """Notes the calls of a thread while it is followed: the tree from ``root`` on."""

    def __init__(self) -> None:
        self.root = Call("", "")
        self._stack: list[tuple[FrameType, Call]] = []
        self._kernels: set[tuple[str, str]] = set()
        self._bytes = 0

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Follow what is called within."""
        with kernels_reported(self._on_kernel):
            tracemalloc.start()
            self._bytes = tracemalloc.get_traced_memory()[0]
            sys.setprofile(self._on_event)
            try:
                yield
            finally:
                sys.setprofile(None)
                tracemalloc.stop()

    @property
    def _now(self) -> Call:
        return self._stack[-1][1] if self._stack else self.root

    def _on_event(self, frame: FrameType, event: str, arg: Any) -> None:
        self._count_memory()
        module, name = module_of(frame.f_code), frame.f_code.co_name
        if module and name not in WITHIN and (module, name) not in self._kernels:
            if event == "call":
                self._stack.append((frame, self._now.called(module, frame.f_code.co_qualname)))
            elif event == "return" and self._stack and self._stack[-1][0] is frame:
                self._stack.pop()
        if event == "c_call" and is_ours(str(arg.__module__)):
            self._now.called(arg.__module__, arg.__name__, is_kernel=True)
        self._bytes = tracemalloc.get_traced_memory()[0]  # what was noted here does not count

    def _on_kernel(self, function: Any) -> None:
        self._kernels.add((function.__module__, function.__name__))  # numba may tell of it as a call, too
        self._now.called(function.__module__, function.__qualname__, is_kernel=True)

    def _count_memory(self) -> None:
        grown = tracemalloc.get_traced_memory()[0] - self._bytes
        if grown >= BIG:
            self._now.pieces += 1
            self._now.num_bytes += grown


@contextmanager
def kernels_reported(on_call: Callable[[Callable[..., Any]], None]) -> Iterator[None]:
    """Call ``on_call`` with each kernel that Python calls: not every Python tells of these."""
    kind, original = decorators.Kernel, decorators.Kernel.__call__

    def call(self: Any, *args: Any) -> Any:
        on_call(self.py_func)
        return original(self, *args)

    kind.__call__ = call  # for the time of a walk
    try:
        yield
    finally:
        kind.__call__ = original


@cache
def module_of(code: CodeType) -> str:
    """Return the module of ours that a function is in; "" for others."""
    path = Path(code.co_filename)
    if not path.is_relative_to(ROOT):
        return ""
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    return name if is_ours(name) else ""


def is_ours(module: str) -> bool:
    """Return whether a module is one of the packages of the repository."""
    return module.partition(".")[0] in TOP_PACKAGES


# ---- packages and layers -------------------------------------------------------------------------


def package_of(module: str) -> str:
    """Return the package of a module, such as ``territorial.envs``."""
    return ".".join(module.split(".")[:2])


@cache
def layers() -> dict[str, int]:
    """Return the layer of every package, from pyproject.toml: 0 is the highest; adapters are above all."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    found: dict[str, int] = {}
    for top in reversed(TOP_PACKAGES):
        (contract,) = (one for one in contracts if one.get("containers") == [top])
        first = len(found)
        for number, names in enumerate(contract["layers"], start=first):
            found |= dict.fromkeys((f"{top}.{name}" for name in re.split(r"\s*[:|]\s*", names)), number)
    return found


def direction(caller: str, callee: str) -> str:
    """Return "UP" or "SIDE" for a call to a package above or beside that of the caller, else ""."""
    here, there = package_of(caller), package_of(callee)
    if not caller or here == there or not {here, there} <= layers().keys():
        return ""
    return "UP" if layers()[there] < layers()[here] else "SIDE" if layers()[there] == layers()[here] else ""


# ---- telling -------------------------------------------------------------------------------------


def counts(root: Call) -> str:
    """Return what a walk comes to, in one line."""
    found = [(caller, one) for _, caller, one in root.all()]
    calls = [one for _, one in found]
    modules = {one.module for one in calls}
    ways = Counter[str]()
    for caller, one in found:
        ways[direction(caller, one.module)] += one.count
    return (
        f"{total(one for one in calls if not one.is_kernel)} calls of "
        f"{len({(one.module, one.name) for one in calls if not one.is_kernel})} functions"
        f" and {total(one for one in calls if one.is_kernel)} of kernels,"
        f" in {len(modules)} files of {len(set(map(package_of, modules)))} packages;"
        f" {total(one for caller, one in found if caller and package_of(caller) != package_of(one.module))}"
        f" calls into another package, {ways['UP']} of them up and {ways['SIDE']} to the side;"
        f" {total(one for one in calls if CHECKS.search(one.name))} calls that check;"
        f" {sum(one.pieces for one in calls)} pieces of memory, {sum(one.num_bytes for one in calls):,} bytes"
    )


def total(calls: Iterable[Call]) -> int:
    """Return how often these were called together."""
    return sum(one.count for one in calls)


def lines(root: Call) -> Iterator[str]:
    """Yield a line for each function called by another, in order."""
    for depth, caller, one in root.all():
        path = one.module.replace(".", "/")
        times = f" x {one.count}" if one.count > 1 else ""
        memory = f"  [{one.pieces} pieces, {one.num_bytes:,} bytes]" if one.pieces else ""
        words = " ".join(filter(None, ["kernel" if one.is_kernel else "", direction(caller, one.module)]))
        yield f"{'  ' * depth}{path}: {one.name}{times}{f'  {words}' if words else ''}{memory}"


def report(name: str, walk: Callable[[], Call], *, with_calls: bool) -> list[str]:
    """Return the lines that tell of a walk."""
    try:
        root = walk()
    except ImportError as error:
        return [f"# {name}: not here: {error}"]
    about = [f"# {name}", counts(root), f"packages: {packages_in_order(root)}"]
    return [*about, "", *lines(root)] if with_calls else about


def packages_in_order(root: Call) -> str:
    """Return the packages in the order in which they are entered for the first time."""
    return ", ".join(dict.fromkeys(package_of(one.module) for _, _, one in root.all()))


# ---- what is followed ----------------------------------------------------------------------------


def parallel_env(config: territorial.GameConfig, **options: Any) -> Step:
    """Return a function that makes a step of one game, with all agents."""
    env = territorial.parallel_env(config=config, **options)
    env.reset(seed=0)
    actions = dict.fromkeys(env.possible_agents, 0)
    return lambda: env.step(actions)


def make_vec(config: territorial.GameConfig, **options: Any) -> Step:
    """Return a function that makes a step of a vector environment."""
    env = territorial.make_vec(GAMES, config=config, **options)
    env.reset(seed=0)
    actions = np.zeros((GAMES, env.num_agents), np.int64)
    return lambda: env.step(actions)


def engine(config: territorial.GameConfig, **options: Any) -> Step:
    """Return a function that makes a step of the engine's own batch."""
    batch = territorial.VecGame(config, GAMES, 0, **options)
    batch.reset()
    actions = np.zeros((GAMES, config.num_players, 2), np.int64)
    return lambda: batch.step(actions)


def follow(step: Step, before: int = STEPS_BEFORE) -> Call:
    """Return what is called in a step after some others."""
    for _ in range(before):
        step()
    walk = Walk()
    with walk.followed():
        step()
    return walk.root


def follow_runner(config: territorial.GameConfig) -> Call:
    """Return what RLlib's batched runner calls from one step of its environment to the next."""
    from ray.rllib.algorithms.ppo import PPOConfig

    from rllib_adapters.configuration import configure

    algorithm = configure(PPOConfig(), {"config": config, "frames": 2}, runner="batched")
    algorithm.env_runners(num_env_runners=0, num_envs_per_env_runner=GAMES, rollout_fragment_length=20)
    runner = algorithm.env_runner_cls(config=algorithm, worker_index=0, num_workers=0)
    play, walk, played = runner._play, Walk(), 0

    def followed_once(*args: Any) -> Any:
        nonlocal played
        played += 1
        if played != STEPS_BEFORE:
            return play(*args)
        with walk.followed():
            return play(*args)

    runner._play = followed_once
    runner.sample(num_timesteps=GAMES * (STEPS_BEFORE + 2))
    runner.stop()
    return walk.root


def walks(config: territorial.GameConfig) -> dict[str, Callable[[], Call]]:
    """Return what can be followed, by name."""
    cut = {"max_cycles": LAST}
    return {
        "VecGame": lambda: follow(engine(config)),
        "parallel_env": lambda: follow(parallel_env(config, obs="packed")),
        "parallel_env, features": lambda: follow(parallel_env(config, obs="features")),
        "make_vec": lambda: follow(make_vec(config)),
        "make_vec, zero_copy": lambda: follow(make_vec(config, zero_copy=True)),
        "make_vec, a game ends": lambda: follow(make_vec(config, **cut), LAST - 1),
        "RLlib's batched runner": partial(follow_runner, config),
    }


def main(argv: list[str] | None = None) -> int:
    """Run it and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="beginnings of the names of what to follow; none: all")
    parser.add_argument("--counts", action="store_true", help="leave out the calls")
    parser.add_argument("--size", type=int, default=256, help="rows and columns (default %(default)s)")
    parser.add_argument("--players", type=int, default=32, help="agents of a game (default %(default)s)")
    parsed = parser.parse_args(argv)
    config = territorial.GameConfig(height=parsed.size, width=parsed.size, num_players=parsed.players)
    for name, walk in walks(config).items():
        if name.startswith(tuple(parsed.names) or ""):
            print("\n".join(report(name, walk, with_calls=not parsed.counts)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
