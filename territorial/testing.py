"""``check_env``: tests an environment and its wrappers for trainers' assumptions."""

import copy
import io
import pickle
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple

import gymnasium
import gymnasium.utils.env_checker
import numpy as np
from gymnasium import spaces
from pettingzoo.utils import aec_to_parallel  # type: ignore[import-untyped]

__all__ = ["check_env"]
MASK = "action_mask"
REMOVED = "eliminated agents are removed"
MASKS = {place: f"masks are in {place}" for place in ("observations", "infos")}
IGNORED = dict.fromkeys(MASKS.values(), "ignores the masks, or fails on dicts,")
TRAINERS = {
    "Tianshou": {MASKS["infos"]: "ignores the masks", REMOVED: "ends the game"},
    "AgileRL": {MASKS["observations"]: "fails", REMOVED: "fails"},
    "BenchMARL": {REMOVED: "ends the game"},
    "PufferLib": {**IGNORED, REMOVED: "learns from removed agents"},
    "CleanRL's multi-agent loop": {**IGNORED, REMOVED: "fails"},
}
"""What trainers do wrong by what an environment has, often without an error; tried in November 2026."""


class Step(NamedTuple):
    """The values that a step returned, by agent; of a reset only observations and infos."""

    observations: Mapping[Any, Any]
    rewards: Mapping[Any, Any] = {}
    terminations: Mapping[Any, Any] = {}
    truncations: Mapping[Any, Any] = {}
    infos: Mapping[Any, Any] = {}


ON_RESET = "observations", "infos"
"""What there is without a step."""


def check_env(make: Callable[[], Any], seed: int = 0, *, max_steps: int = 500) -> None:
    """Check an environment and its wrappers for faults that break or mislead trainers.

    Random episodes are played by the masks that are shown: observations lie in their spaces and no later step
    overwrites them, rewards and ends are complete, masks fit the actions and the moment, eliminated agents
    get no reward, infos keep their keys. PettingZoo's or Gymnasium's own checks come after the first two. A
    seed gives one episode, and other seeds others. A pickled copy plays on as the original does.

    Args:
        make: a function that returns a new PettingZoo ``ParallelEnv`` or ``AECEnv``, or a ``gymnasium.Env``.
        seed: of the first episode.
        max_steps: steps of an episode after which it is looked at no further; default 500.

    Raises:
        AssertionError: names the first thing that is wrong, the step and the agent. What the environment
            itself raises is its cause.
        TypeError: if ``make`` is no function, or returns something else.

    Warns:
        UserWarning: for each trainer that would ignore masks, or misread eliminated agents, without an error.

    Example:
        >>> import territorial
        >>> from territorial.testing import check_env
        >>> check_env(lambda: territorial.parallel_env(height=24, width=24, num_players=3), max_steps=10)

    """
    parallel, theirs, check = _in_parallel_form(make, max_steps)
    env = parallel()
    traits = _check_episode(env, seed, max_steps) | _check_episode(env, seed + 1, max_steps)
    with warnings.catch_warnings(action="ignore"), redirect_stdout(io.StringIO()):  # it prints that it passed
        _asked(theirs, check, make())
    one, two = parallel(), parallel()
    plays = (_episode(env, seed, max_steps) for env in (one, two))
    for number, (left, right) in enumerate(zip(*plays, strict=False)):
        _same(left, right, f"the seed {seed} gives two episodes: step {number}")
    _need(set(one.agents) == set(two.agents), f"the seed {seed} gives two episodes of other lengths")
    first, *others = [copy.deepcopy(_asked("reset()", _reset, one, seed + i).observations) for i in range(4)]
    differ = any(_difference(first, other) for other in others)
    _need(differ, f"reset() shows the same for the seeds {seed} to {seed + 3}: pass the seed on")
    _asked("a copy in an episode", _check_copies, parallel(), seed, max_steps)
    for trainer, wrong in TRAINERS.items():
        for trait in sorted(traits & wrong.keys()) if not isinstance(one, _OneAgent) else ():
            warnings.warn(f"{trainer} {wrong[trait]} where {trait}: docs/trainers_other.md", stacklevel=2)


def _in_parallel_form(
    make: Callable[[], Any], max_steps: int
) -> tuple[Callable[[], Any], str, Callable[[Any], Any]]:
    """Return a maker of the environment in parallel form, and the name and check of its own library."""
    if not callable(make):
        raise TypeError(f"make is {make!r}; it must be a function that returns a new environment")
    env = make()
    is_aec, is_one_agent = hasattr(env, "agent_iter"), isinstance(env, gymnasium.Env)
    if not (is_aec or is_one_agent or (hasattr(env, "possible_agents") and hasattr(env, "step"))):
        kind = f"{type(env).__module__}.{type(env).__qualname__}"
        raise TypeError(f"make() returns a {kind}; it must be a ParallelEnv, an AECEnv or a gymnasium.Env")
    _need(make() is not env, "make() returns the same environment twice; it must make a new one each time")
    if is_one_agent:
        check = partial(gymnasium.utils.env_checker.check_env, skip_render_check=True, skip_close_check=True)
        return lambda: _OneAgent(make()), "Gymnasium's check_env", check
    from pettingzoo.test import api_test, parallel_api_test  # type: ignore[import-untyped]  # needs pytest

    name, check = ("api_test", api_test) if is_aec else ("parallel_api_test", parallel_api_test)
    form = (lambda: _asked("aec_to_parallel()", aec_to_parallel, make())) if is_aec else make
    return form, f"PettingZoo's {name}", partial(check, num_cycles=min(100, max_steps))


class _OneAgent:
    """A ``gymnasium.Env`` in the parallel form, with one agent."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        self.env, self.agents = env, list[str]()

    def observation_space(self, agent: str) -> Any:
        return self.env.observation_space

    def action_space(self, agent: str) -> Any:
        return self.env.action_space

    def reset(self, seed: int | None = None) -> tuple[dict[str, Any], ...]:
        self.agents = ["agent"]
        return tuple({"agent": part} for part in _parts(self.env.reset(seed=seed), ON_RESET))

    def step(self, actions: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        parts = _parts(self.env.step(actions["agent"]), Step._fields)
        self.agents = [] if parts[2] or parts[3] else self.agents
        return tuple({"agent": part} for part in parts)


def _asked(what: str, call: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a call; AssertionError, beginning with ``what``, for any error of it."""
    try:
        return call(*arguments)
    except Exception as error:
        kind = "" if isinstance(error, AssertionError) and str(error) else f"{type(error).__name__}: "
        raise AssertionError(f"{what}: {kind}{error}") from error


def _parts(returned: Any, names: Sequence[str]) -> Any:
    """Return the parts of a call's result ``returned``, as many as there are ``names``."""
    is_tuple = isinstance(returned, (tuple, list))
    kinds = [type(part).__name__ for part in (returned if is_tuple else [returned])]
    _need(is_tuple and len(kinds) == len(names), f"it returns {kinds}; it must return {', '.join(names)}")
    return returned


def _returned(env: Any, names: Sequence[str], acted: Iterable[Any], parts: Any) -> Step:
    """Return the result of a call: ``names``, by agents that ``acted``, and some by agents that act next."""
    step = Step(**dict(zip(names, _parts(parts, names), strict=True)))
    _need(isinstance(env.agents, list), f"agents is {env.agents!r}; it must be a list")
    for name in names:
        entries, wanted = getattr(step, name), [*acted, *env.agents] if name in ON_RESET else acted
        _need(isinstance(entries, Mapping), f"{name} are {entries!r}; they must be a dict by agent")
        missing = [agent for agent in dict.fromkeys(wanted) if agent not in entries]
        _need(not missing, f"there are no {name} of {missing}")
    return step


def _reset(env: Any, seed: int) -> Step:
    """Begin an episode."""
    step = _returned(env, ON_RESET, (), env.reset(seed=seed))
    _need(bool(env.agents), "it leaves no agents")
    return step


def _episode(env: Any, seed: int, max_steps: int) -> Iterator[tuple[dict[Any, Any], Step]]:
    """Play at random by the masks; yield actions and results, first the reset without actions."""
    rng = np.random.default_rng(seed)
    step = _asked(f"reset(seed={seed})", _reset, env, seed)
    yield {}, step
    for number in range(1, max_steps + 1):
        if not env.agents:
            return
        actions = {
            agent: _asked(f"action {number} of {agent!r}", _drawn, env, agent, step, rng)
            for agent in env.agents
        }
        step = _asked(f"step {number}", lambda now=actions: _returned(env, Step._fields, now, env.step(now)))
        yield actions, step


def _drawn(env: Any, agent: Any, step: Step, rng: np.random.Generator) -> Any:
    """Return a random action of an agent, legal if there is a mask."""
    space, mask = env.action_space(agent), _mask(step.observations[agent], step.infos[agent])
    if mask is None:
        space.seed(int(rng.integers(2**31)))
        return space.sample()
    chosen = np.array([rng.choice(np.flatnonzero(part)) for part in _mask_parts(space, mask)], space.dtype)
    return chosen[0] + space.start if isinstance(space, spaces.Discrete) else chosen


def _mask(observation: Any, info: Any) -> Any:
    """Return the mask of an agent, of its observation or its info; None if there is none."""
    masks = (part[MASK] for part in (observation, info) if isinstance(part, Mapping) and MASK in part)
    return next(masks, None)


def _mask_parts(space: Any, mask: Any) -> list[np.ndarray[Any, Any]]:
    """Return the mask of each part of an action; AssertionError unless something of it is legal."""
    if isinstance(space, spaces.Discrete):
        sizes, parts = [int(space.n)], [np.asarray(mask)]
    else:
        _need(isinstance(space, spaces.MultiDiscrete), f"there are masks, and the actions are {space}")
        sizes, ends = space.nvec.tolist(), np.cumsum(space.nvec)[:-1]
        parts = list(map(np.asarray, mask)) if isinstance(mask, tuple) else np.split(np.asarray(mask), ends)
    shapes = [part.shape for part in parts]
    fits = shapes == [(size,) for size in sizes]
    _need(fits, f"the mask has the shapes {shapes}; the actions have {sizes}")
    for part in parts:
        _need(part.dtype == np.int8, f"the mask is of {part.dtype}; Gymnasium samples by int8 alone")
        is_mask = bool(np.isin(part, (0, 1)).all() and part.any())
        _need(is_mask, "the mask is not of 0 and 1, or allows no action")
    return parts


# ---- the checks --------------------------------------------------------------------------------------


class _Before(NamedTuple):
    """The step before, for comparison; ``kept`` is a copy of its observations, made before the step."""

    step: Step
    kept: Any
    agents: list[Any]


def _check_episode(env: Any, seed: int, max_steps: int) -> set[str]:
    """Raise AssertionError for a faulty step; return the traits that all steps show."""
    before, traits = None, set[str]()
    for number, (_, step) in enumerate(_episode(env, seed, max_steps)):
        if before is not None:
            changed = _difference(before.step.observations, before.kept)
            _need(changed is None, f"step {number} overwrites the observations{changed} of the step before")
        for agent in dict.fromkeys([*(before.agents if before else ()), *env.agents]):
            _asked(f"step {number}, {agent!r}", _check_agent, env, agent, step, before)
        traits |= _traits(step, before, env.agents)
        before = _Before(step, copy.deepcopy(step.observations), list(env.agents))
    return traits


def _check_agent(env: Any, agent: Any, step: Step, before: _Before | None) -> None:
    """Check the results of a step for one agent."""
    observation, info = step.observations[agent], step.infos[agent]
    space, acts = env.observation_space(agent), env.action_space(agent)
    _need(isinstance(info, Mapping), f"its info is {info!r}; it must be a dict")
    are_spaces = isinstance(space, spaces.Space) and isinstance(acts, spaces.Space)
    _need(are_spaces, f"its spaces are {space!r} and {acts!r}; they must be those of Gymnasium")
    if not space.contains(observation):
        shown = {path: (np.asarray(leaf).dtype, np.shape(leaf)) for path, leaf in _leaves(observation)}
        raise AssertionError(f"its space {space} does not contain {shown}")
    mask = _mask(observation, info)
    if mask is not None and agent in env.agents:
        may_choose = _mask_parts(acts, mask)[0].sum() > 1
        _need(info.get("alive", 1) or not may_choose, "it is dead, and its mask allows a choice")
    _need(mask is None or not info.get("illegal"), "launches by the mask before were not legal")
    if before is not None and agent in before.agents:
        _check_ends(step, before, agent, env.agents)


def _check_ends(step: Step, before: _Before, agent: Any, agents: list[Any]) -> None:
    """Check reward, ends and infos of an agent that has acted."""
    reward, ends = step.rewards[agent], (step.terminations[agent], step.truncations[agent])
    is_finite = isinstance(reward, (int, float, np.integer, np.floating)) and -np.inf < reward < np.inf
    _need(bool(is_finite), f"the reward is {reward!r}; it must be a finite number")
    kinds = [f"{type(end).__module__}.{type(end).__qualname__}" for end in ends]
    _need(all(isinstance(end, bool) for end in ends), f"terminated and truncated are {kinds}, not bools")
    goes_on = agent in agents
    _need(any(ends) != goes_on, f"it has ended: {any(ends)}; it is in agents: {goes_on}")
    was, now = before.step.infos[agent], step.infos[agent]
    _need(was.keys() == now.keys(), f"infos have {sorted(was.keys() ^ now.keys(), key=repr)} at times only")
    is_dead = not was.get("alive", 1) and not now.get("alive", 1)
    _need(not is_dead or reward == 0, f"the reward is {reward} though it is dead")


def _traits(step: Step, before: _Before | None, agents: list[Any]) -> set[str]:
    """Return the place of masks in a step, and whether eliminated agents are removed."""
    shown = [next(iter(part.values()), None) for part in (step.observations, step.infos)]
    in_obs, in_info = (isinstance(part, Mapping) and MASK in part for part in shown)
    found = "observations" if in_obs else "infos" if in_info else ""
    removed = before is not None and bool(agents) and bool(set(before.agents) - set(agents))
    return {trait for trait in (MASKS.get(found), removed and REMOVED) if trait}


def _check_copies(env: Any, seed: int, max_steps: int) -> None:
    """Copies by pickle, made in the middle of an episode, play it and the next one as the original does."""
    play = _episode(env, seed, max_steps)
    begun = len(list(islice(play, 4)))  # the reset and three steps
    # Those of multiprocessing and of cloudpickle: they differ in which arrays of a copy are read-only.
    protocols = {pickle.DEFAULT_PROTOCOL, pickle.HIGHEST_PROTOCOL}
    copies = {protocol: pickle.loads(pickle.dumps(env, protocol)) for protocol in protocols}
    rest = chain(play, _episode(env, seed + 1, max_steps))
    for number, (actions, step) in enumerate(rest, begun):
        for protocol, other in copies.items():
            found = other.step(actions) if actions else other.reset(seed=seed + 1)
            wanted = tuple(step) if actions else (step.observations, step.infos)
            _same(wanted, found, f"a copy by pickle protocol {protocol} parts ways: step {number}")


def _need(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)


def _same(left: Any, right: Any, what: str) -> None:
    path = _difference(left, right)
    _need(path is None, f"{what} differs at {path}")


def _difference(left: Any, right: Any) -> str | None:
    """Return the path to the first leaf that is not equal to the last bit; None if all are."""
    ours, theirs = dict(_leaves(left)), dict(_leaves(right))
    if list(ours) != list(theirs):
        return f"{sorted(set(ours) ^ set(theirs))[:3]}"
    return next((path for path, leaf in ours.items() if _bits(leaf) != _bits(theirs[path])), None)


def _leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    items = (
        tree.items()
        if isinstance(tree, Mapping)
        else enumerate(tree)
        if isinstance(tree, (tuple, list))
        else ()
    )
    for key, part in items:
        yield from _leaves(part, f"{path}[{key!r}]")
    if not isinstance(tree, (Mapping, tuple, list)):
        yield path, tree


def _bits(leaf: Any) -> Any:
    return (
        (leaf.dtype, leaf.shape, leaf.tobytes()) if isinstance(leaf, np.ndarray) else (type(leaf), repr(leaf))
    )
