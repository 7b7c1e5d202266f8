"""What trainers rely on, looked for in an environment with its wrappers; every failure says what to do."""

from __future__ import annotations

import copy
import io
import pickle
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain, islice
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env

from territorial.testing.episodes import difference, episode, first_difference
from territorial.testing.stacks import (
    ParallelStack,
    SingleStack,
    Stack,
    Step,
    TurnStack,
    VectorStack,
    mask_of,
    mask_parts,
    stack_of,
)
from territorial.testing.trainers import TRAINERS, traits_of


class Finding(NamedTuple):
    """How one check came out."""

    check: str
    passed: bool
    problem: str
    """What was found, with its place; empty where the check passed."""
    advice: str
    """Why it matters and what to do about it."""


class Report(NamedTuple):
    """What ``diagnose`` found."""

    kind: str
    findings: list[Finding]
    skipped: dict[str, str]
    """Checks that were not made, and why: a package is missing, or there was nothing to look at."""
    trainers: dict[str, list[str]]
    """What speaks against each trainer of ``TRAINERS``; empty for what is no PettingZoo environment."""

    @property
    def failures(self) -> list[Finding]:
        """The checks that failed."""
        return [finding for finding in self.findings if not finding.passed]


VECTOR_STEPS = 150
"""Vectors of environments are looked at for so many steps."""
PICKLED_AFTER = 3
"""Environments are pickled after so many steps."""
PROTOCOLS = sorted({pickle.DEFAULT_PROTOCOL, pickle.HIGHEST_PROTOCOL})
"""Those of multiprocessing and of cloudpickle. They differ in which arrays of a copy are read-only."""


@dataclass(frozen=True)
class CheckSetting:
    """What is looked at: a function that makes the environment, a seed, the most steps of an episode."""

    make: Callable[[], Any]
    seed: int = 0
    max_steps: int = 1000

    def stack(self) -> Stack:
        """Return a new environment as a stack."""
        return stack_of(self.make())

    def episode(self, stack: Stack) -> Iterator[tuple[dict[Any, Any] | None, Step]]:
        """Play a random episode."""
        return episode(stack, self.seed, max_steps=self.steps(stack))

    def steps(self, stack: Stack) -> int:
        """Return how many steps are looked at; vectors have no end of their own."""
        return min(self.max_steps, VECTOR_STEPS) if isinstance(stack, VectorStack) else self.max_steps


class NothingToCheckError(Exception):
    """What a check looks for did not come up; the message says what that would have been."""


class Check(NamedTuple):
    """One thing to look for: its name, how to find what is wrong, and what to do then."""

    name: str
    find: Callable[[CheckSetting], str | None]
    """Returns what is wrong, or None; what it raises counts as wrong, too, but for NothingToCheckError."""
    advice: str
    kinds: tuple[type[Stack], ...] = (ParallelStack, SingleStack, VectorStack)
    package: str = ""
    """What has to be installed for it."""


def diagnose(
    make: Callable[[], Any],
    seed: int = 0,
    *,
    max_steps: int = 1000,
    progress: Callable[[str], object] = lambda name: None,
) -> Report:
    """Return what all checks find in the environments that ``make`` returns, wrappers included.

    ``make`` is called for every check. ``progress`` gets the name of every check as it begins. Where episodes
    cannot be played, the other checks are skipped: they would all fail for that reason. TypeError if ``make``
    returns something that is no environment.
    """
    setting = CheckSetting(make, seed, max_steps)
    stack = setting.stack()
    findings: list[Finding] = []
    skipped = {}
    for check in [check for check in CHECKS if isinstance(stack, check.kinds)]:
        if findings and not findings[0].passed:
            skipped[check.name] = "other checks mean little before episodes can be played"
        elif check.package and find_spec(check.package) is None:
            skipped[check.name] = f"it needs {check.package}, which is not installed"
        else:
            progress(check.name)
            try:
                findings.append(_run(check, setting))
            except NothingToCheckError as reason:
                skipped[check.name] = str(reason)
    stack.close()
    return Report(stack.kind, findings, skipped, _against_trainers(setting) if findings[0].passed else {})


def _against_trainers(setting: CheckSetting) -> dict[str, list[str]]:
    """Return what speaks against every trainer for PettingZoo; nothing for other environments."""
    stack = setting.stack()
    if not isinstance(stack, ParallelStack):
        return {}
    traits = traits_of(stack, (step for _, step in setting.episode(stack)))
    return {trainer.name: trainer.against(traits) for trainer in TRAINERS}


def _run(check: Check, setting: CheckSetting) -> Finding:
    try:
        # Warnings are not what is asked for, and PettingZoo's tests print that they passed.
        with warnings.catch_warnings(action="ignore"), redirect_stdout(io.StringIO()):
            problem = check.find(setting) or ""
    except NothingToCheckError:
        raise
    except Exception as error:  # whatever a stack does wrong is what we are here to tell
        problem = f"{type(error).__name__}: {error}"
    return Finding(check.name, not problem, problem, check.advice if problem else "")


# ---- the checks ------------------------------------------------------------------------------------


def find_no_episode(setting: CheckSetting) -> str | None:
    """An episode can be played at random, and another one after it."""
    stack = setting.stack()
    for _ in range(2):
        for count, (_, step) in enumerate(setting.episode(stack)):
            if count == 0 and not stack.agents:
                return "reset() leaves no agents"
            if step.observations is None:
                return f"step {count} returned no observations"
    return None


def find_outside_spaces(setting: CheckSetting) -> str | None:
    """Every observation lies in its space."""
    stack = setting.stack()
    for count, (_, step) in enumerate(setting.episode(stack)):
        for agent, observation in step.observations.items():
            space = stack.observation_space(agent)
            if not space.contains(observation):
                return f"{_at(count, agent)} the observation{_why_outside(space, observation)}"
    return None


def find_changing_spaces(setting: CheckSetting) -> str | None:
    """The spaces of an agent are the same objects whenever one asks."""
    stack = setting.stack()
    stack.reset(setting.seed)
    for agent in stack.agents:
        for name in ("observation_space", "action_space"):
            if getattr(stack, name)(agent) is not getattr(stack, name)(agent):
                return f"{name}({agent!r}) is a new object every time"
    return None


def find_reused_arrays(setting: CheckSetting) -> str | None:
    """What was shown in a step does not change with the next one."""
    stack = setting.stack()
    shown: Mapping[Any, Any] = {}
    kept: Any = {}
    for count, (_, step) in enumerate(setting.episode(stack)):
        path = difference(shown, kept)
        if path is not None:
            return f"what step {count - 1} returned has changed after step {count}: observations{path}"
        shown, kept = step.observations, copy.deepcopy(step.observations)
    return None


def find_bad_ends(setting: CheckSetting) -> str | None:
    """Rewards are finite numbers, ends are bools, every listed agent has them, and the ended leave."""
    stack = setting.stack()
    is_vector = isinstance(stack, VectorStack)
    listed: list[Any] = []
    for count, (actions, step) in enumerate(setting.episode(stack)):
        if actions is not None:
            for name in ("observations", "rewards", "terminations", "truncations", "infos"):
                missing = [agent for agent in listed if agent not in getattr(step, name)]
                if missing:
                    return f"step {count} returned no {name} of {missing[0]!r}, which acted in it"
            for agent in listed:
                problem = _bad_end(step, agent, is_vector)
                if problem:
                    return f"{_at(count, agent)} {problem}"
                has_ended = step.terminations[agent] or step.truncations[agent]
                if not is_vector and has_ended == (agent in stack.agents):
                    return f"{_at(count, agent)} ended is {has_ended} and listed in agents is {not has_ended}"
        listed = list(stack.agents)
    return None


def find_bad_masks(setting: CheckSetting) -> str | None:
    """Masks fit the actions, hold int8 of 0 and 1, and something is always legal."""
    stack = setting.stack()
    has_masks = False
    for count, (_, step) in enumerate(setting.episode(stack)):
        for agent in stack.agents:
            mask = mask_of(step.observations[agent], step.infos.get(agent))
            if mask is None:
                continue
            has_masks = True
            for part in mask_parts(stack.action_space(agent), mask):
                if part.dtype != np.int8:
                    return f"{_at(count, agent)} the mask is of {part.dtype}"
                if not np.isin(part, (0, 1)).all() or not part.any():
                    return f"{_at(count, agent)} the mask is not of 0 and 1, or allows nothing"
    _need(has_masks, "no masks were shown")
    return None


def find_illegal_launches(setting: CheckSetting) -> str | None:
    """A policy that obeys the masks that are shown never does what is not legal, by the game's own count."""
    stack = setting.stack()
    has_masks = has_counts = False
    for count, (_, step) in enumerate(setting.episode(stack)):
        for agent, info in step.infos.items():
            has_masks |= mask_of(step.observations[agent], info) is not None
            if not isinstance(info, Mapping) or "illegal" not in info:
                continue
            has_counts = True
            if has_masks and info["illegal"] > 0:
                return (
                    f"{_at(count, agent)} {info['illegal']} launches were not legal though masks were obeyed"
                )
    _need(has_masks, "no masks were shown")
    _need(has_counts, 'infos have no "illegal", the count of launches that were not legal')
    return None


def find_spoiled_dead(setting: CheckSetting) -> str | None:
    """Agents that are dead and kept get no reward and can only hold."""
    stack = setting.stack()
    was_alive: dict[Any, bool] = {}
    has_dead = False
    for count, (actions, step) in enumerate(setting.episode(stack)):
        for agent, info in step.infos.items():
            is_alive = bool(info.get("alive", 1)) if isinstance(info, Mapping) else True
            if actions is not None and not was_alive.get(agent, True) and not is_alive:
                has_dead = True
                if step.rewards[agent] != 0:
                    return f"{_at(count, agent)} the reward is {step.rewards[agent]} though it is dead"
                mask = mask_of(step.observations[agent], info)
                if mask is not None and mask_parts(stack.action_space(agent), mask)[0].sum() != 1:
                    return f"{_at(count, agent)} the mask allows more than one thing though it is dead"
            was_alive[agent] = is_alive
    _need(has_dead, 'no agent stayed after its elimination, by the "alive" of infos')
    return None


def find_changing_infos(setting: CheckSetting) -> str | None:
    """Infos have the same keys for all agents at every time, and numbers or arrays in them."""
    stack = setting.stack()
    first: set[Any] | None = None
    for count, (_, step) in enumerate(setting.episode(stack)):
        for agent, info in step.infos.items():
            keys = set(info)
            first = keys if first is None else first
            if keys != first:
                return f"{_at(count, agent)} infos have {sorted(map(str, keys ^ first))} at times only"
            for name, value in info.items():
                parts = value if isinstance(value, tuple) else (value,)
                if not all(isinstance(part, (int, float, np.ndarray, np.generic)) for part in parts):
                    return f"{_at(count, agent)} info[{name!r}] is a {type(value).__name__}"
    return None


def find_chance(setting: CheckSetting) -> str | None:
    """The same seed and actions show the same episode, to the last bit."""
    one, two = setting.stack(), setting.stack()
    return first_difference(one, two, setting.seed, setting.steps(one)) or None


def find_one_game_only(setting: CheckSetting) -> str | None:
    """Other seeds show other games."""
    stack = setting.stack()
    shown = [copy.deepcopy(stack.reset(setting.seed + i)[0]) for i in range(4)]
    if all(difference(shown[0], other) is None for other in shown[1:]):
        return f"reset() shows the same for the seeds {setting.seed} to {setting.seed + 3}"
    return None


def find_unpicklable(setting: CheckSetting) -> str | None:
    """Copies by pickle, made within an episode, play it and the next one as the original does."""
    stack, next_seed = setting.stack(), setting.seed + 1
    play = setting.episode(stack)
    for _ in islice(play, PICKLED_AFTER + 1):  # the reset, and so many steps
        pass
    copies = {protocol: pickle.loads(pickle.dumps(stack, protocol)) for protocol in PROTOCOLS}
    rest = enumerate(play, start=PICKLED_AFTER + 1)
    next_one = enumerate(episode(stack, next_seed, max_steps=setting.steps(stack)))
    for count, (actions, step) in chain(rest, next_one):
        for protocol, other in copies.items():
            problem = _parting(step, other, actions, next_seed)
            if problem:
                when = "the next reset()" if actions is None else f"step {count}"
                return f"a copy by pickle protocol {protocol}, {when}: {problem}"
    return None


def _parting(step: Step, other: Stack, actions: Mapping[Any, Any] | None, seed: int) -> str:
    """Let a copy do what led to ``step``; return what came of it if that is not the same."""
    try:
        found = other.begin(seed) if actions is None else other.step(actions)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    for name, left, right in zip(Step._fields, step, found, strict=True):
        path = difference(left, right)
        if path is not None:
            return f"{name}{path} is not the original's"
    return ""


def find_failed_test_of_pettingzoo(setting: CheckSetting) -> str | None:
    """PettingZoo's own test passes."""
    from pettingzoo.test import api_test, parallel_api_test  # type: ignore[import-untyped]  # needs pytest

    stack = setting.stack()
    if isinstance(stack, TurnStack):
        api_test(stack.turns, num_cycles=100)
    else:
        parallel_api_test(stack.env, num_cycles=200)
    return None


def find_failed_test_of_gymnasium(setting: CheckSetting) -> str | None:
    """Gymnasium's own check passes."""
    env: gymnasium.Env[Any, Any] = setting.make()
    check_env(env, skip_render_check=True, skip_close_check=True)
    return None


CHECKS = (
    Check(
        "episodes can be played",
        find_no_episode,
        ("Other checks mean little before this one passes. Play an episode by hand and read the error."),
    ),
    Check(
        "observations lie in their spaces",
        find_outside_spaces,
        "Trainers allocate buffers by the space; observations that do not fit are cast, cut or "
        "refused. A wrapper that changes observations must have a space with their shape, dtype "
        "and bounds.",
    ),
    Check(
        "spaces stay the same objects",
        find_changing_spaces,
        "PettingZoo requires it, and otherwise the seed of a space is lost. Make spaces once, or "
        "put functools.lru_cache(maxsize=None) on the method.",
        (ParallelStack,),
    ),
    Check(
        "observations are not overwritten",
        find_reused_arrays,
        "A rollout that keeps them would hold the last step many times. Turn zero_copy off, or "
        "copy the arrays that you keep. A wrapper must return new arrays.",
    ),
    Check(
        "rewards and ends are complete",
        find_bad_ends,
        "Trainers read a reward, a termination and a truncation of every agent that acted, as "
        "plain numbers and Python bools. Agents that have ended must be removed from agents; "
        "agent_death says when they end.",
    ),
    Check(
        "masks fit the actions",
        find_bad_masks,
        "Gymnasium samples only with int8 masks of the shape of the actions, and a mask that "
        "allows no action gives NaN. A wrapper that changes actions must change masks as well.",
    ),
    Check(
        "masks are up to date",
        find_illegal_launches,
        "The mask belongs to another step, agent or order of actions. Wrappers that stack, delay "
        "or reorder must leave `action_mask` unchanged.",
    ),
    Check(
        "eliminated agents get nothing",
        find_spoiled_dead,
        "An eliminated agent can learn nothing from a reward, as its actions have no effect. "
        'Wrappers that shape rewards must give 0 where info["alive"] is 0; '
        'agent_death="remove" removes these agents.',
    ),
    Check(
        "infos are the same numbers at every time",
        find_changing_infos,
        "Trainers that derive specs from the first info (TorchRL) or stack infos (vector "
        "environments) fail on keys that come and go. Return all keys from reset on, as numbers.",
        (ParallelStack, SingleStack),
    ),
    Check(
        "a seed gives one episode",
        find_chance,
        "A wrapper must pass `seed` on to reset(). If it does, something draws from a generator "
        "that is not seeded in reset(), or depends on the time.",
    ),
    Check(
        "other seeds give other games",
        find_one_game_only,
        ("A wrapper that drops `seed` on the way to reset() trains on one game only; it must pass it on."),
    ),
    Check(
        "it can be pickled",
        find_unpicklable,
        "Workers started with spawn or forkserver get environments as pickles, and play whole "
        "episodes with them. Wrappers must not hold lambdas, open files or generators, and "
        "functions must be at the top of a module. In a copy, read-only arrays cannot be made "
        "writable, and views become separate arrays; make both again in __setstate__.",
    ),
    Check(
        "PettingZoo's own test",
        find_failed_test_of_pettingzoo,
        "See the message: PettingZoo's assertions name what is missing.",
        (ParallelStack,),
        "pytest",
    ),
    Check(
        "Gymnasium's own check",
        find_failed_test_of_gymnasium,
        "See the message: Gymnasium's assertions name what is missing.",
        (SingleStack,),
    ),
)
"""All checks, in the order in which they are made. The first must pass for the others to mean anything."""


# ---- saying what is wrong --------------------------------------------------------------------------


def _need(is_there: bool, otherwise: str) -> None:
    """Raise NothingToCheckError unless what a check is about came up."""
    if not is_there:
        raise NothingToCheckError(otherwise)


def _at(count: int, agent: Any) -> str:
    when = "after reset()" if count == 0 else f"step {count}"
    return f"{when}, {agent!r}:"


def _bad_end(step: Step, agent: Any, is_vector: bool) -> str:
    """Return what is wrong with reward and ends of an agent; nothing if all is well."""
    reward = step.rewards[agent]
    if not isinstance(reward, (int, float, np.number)) or not np.isfinite(float(reward)):
        return f"the reward is {reward!r}, which is not a finite number"
    for name in ("terminations", "truncations"):
        flag = getattr(step, name)[agent]
        wanted = np.bool_ if is_vector else bool
        if not isinstance(flag, wanted):
            return f"{name} has {flag!r}, a {_named(type(flag))}, not a {_named(wanted)}"
    return ""


def _named(kind: type) -> str:
    """Return the name of a type with its module: numpy's bool and Python's are both called bool."""
    return f"{kind.__module__}.{kind.__qualname__}"


def _why_outside(space: spaces.Space[Any], observation: Any) -> str:
    """Return where and how an observation leaves its space."""
    if isinstance(space, spaces.Dict) and isinstance(observation, Mapping):
        if observation.keys() != space.keys():
            return f" has the keys {sorted(observation)}; its space has {sorted(space)}"
        for key, part in space.items():
            if not part.contains(observation[key]):
                return f"[{key!r}]{_why_outside(part, observation[key])}"
    if isinstance(space, spaces.Box) and isinstance(observation, np.ndarray):
        if observation.shape != space.shape:
            return f" has shape {observation.shape}; its space has {space.shape}"
        if not np.can_cast(observation.dtype, np.dtype(space.dtype)):
            return f" is of {observation.dtype}; its space is of {space.dtype}"
        low, high = np.asarray(observation < space.low), np.asarray(observation > space.high)
        where = np.argwhere(low | high)
        if len(where):
            i = tuple(where[0].tolist())
            return f"{list(i)} is {observation[i]}; its space goes from {space.low[i]} to {space.high[i]}"
    return f" is a {type(observation).__name__} that {space} does not contain"
