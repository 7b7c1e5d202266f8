"""Random play with a hook, and whole episodes compared to the last bit."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.actions.encoding import HOW_MUCH, WHAT, target_of_owner
from territorial.engine.vec_game import VecGame
from territorial.testing.stacks import Stack, Step, draw, mask_of, stack_of

MAX_STEPS = 1000
"""After so many steps an episode is looked at no further."""


# ---- games -----------------------------------------------------------------------------------------


def play_games(
    game: VecGame,
    steps: int,
    seed: int = 0,
    hook: Callable[[VecGame], object] | None = None,
    *,
    share: float = 0.3,
) -> None:
    """Play ``steps`` environment steps of a batch with random actions; ``hook(game)`` is called after each.

    About ``share`` of the seats launch in a step, four in five at a legal target, the others anywhere.
    """
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        game.step(random_actions(game, rng, share))
        if hook is not None:
            hook(game)


def random_actions(game: VecGame, rng: np.random.Generator, share: float = 0.3) -> npt.NDArray[np.int64]:
    """Return actions (E, P, 2) in which about ``share`` of the seats launch, mostly at legal targets."""
    games, seats = game.num_games, game.config.num_players
    actions = np.zeros((games, seats, 2), np.int64)
    for k in range(games):
        legal = game.fronts(k)[2]
        for p in np.flatnonzero(rng.random(seats) < share) + 1:
            targets = np.flatnonzero(legal[p])
            if len(targets) and rng.random() < 0.8:
                actions[k, p - 1, WHAT] = target_of_owner(int(rng.choice(targets)), int(p), seats)
            else:
                actions[k, p - 1, WHAT] = rng.integers(seats + 2)
            actions[k, p - 1, HOW_MUCH] = rng.integers(10)
    return actions


# ---- environments ----------------------------------------------------------------------------------


def play_episode(
    env: Any,
    seed: int = 0,
    hook: Callable[[Mapping[Any, Any], Step], object] | None = None,
    *,
    max_steps: int = MAX_STEPS,
) -> int:
    """Play an episode of any environment, wrapped or not, at random; return its number of steps.

    Actions are legal where there are masks, and ``hook(actions, step)`` is called after every step. The
    episode, actions included, depends on ``seed`` alone.
    """
    steps = 0
    for actions, step in episode(stack_of(env), seed, max_steps=max_steps):
        steps += 1
        if hook is not None and actions is not None:
            hook(actions, step)
    return steps - 1


def episode(
    stack: Stack, seed: int, *, max_steps: int = MAX_STEPS
) -> Iterator[tuple[dict[Any, Any] | None, Step]]:
    """Play an episode at random; yield actions and what they led to, and first the reset, without actions."""
    rng = np.random.default_rng(seed)
    step = stack.begin(seed)
    observations, infos = step.observations, step.infos
    yield None, step
    for _ in range(max_steps):
        if not stack.agents:
            return
        actions = {
            agent: draw(stack.action_space(agent), mask_of(observations[agent], infos.get(agent)), rng)
            for agent in stack.agents
        }
        step = stack.step(actions)
        observations, infos = step.observations, step.infos
        yield actions, step


def episode_digest(env: Any, seed: int = 0, *, max_steps: int = MAX_STEPS) -> str:
    """Return 32 hex digits that name everything a random episode showed, to the last bit."""
    digest = hashlib.blake2b(digest_size=16)
    for actions, step in episode(stack_of(env), seed, max_steps=max_steps):
        for path, leaf in leaves((actions, tuple(step))):
            digest.update(f"{path} {_kind(leaf)} ".encode() + _bytes(leaf))
    return digest.hexdigest()


def check_determinism(
    make: Callable[[], Any], seed: int = 0, *, episodes: int = 1, max_steps: int = MAX_STEPS
) -> None:
    """Raise AssertionError unless two environments show the same whole episodes for the same seeds.

    Where PettingZoo's ``parallel_seed_test`` compares one step, this compares all observations, rewards, ends
    and infos of ``episodes`` episodes with the seeds ``seed``, ``seed`` + 1 ..., both environments going on
    from one to the next. The message names the first thing that differs.
    """
    one, two = stack_of(make()), stack_of(make())
    try:
        for number in range(seed, seed + episodes):
            problem = first_difference(one, two, number, max_steps)
            if problem:
                raise AssertionError(f"two episodes of seed {number} are not the same: {problem}")
    finally:
        one.close()
        two.close()


def first_difference(one: Stack, two: Stack, seed: int, max_steps: int) -> str:
    """Return where two episodes of one seed part ways; nothing if they do not."""
    plays = episode(one, seed, max_steps=max_steps), episode(two, seed, max_steps=max_steps)
    names = ("actions", *Step._fields)
    for number, pair in enumerate(zip(*plays, strict=False)):
        parts = [(actions, *step) for actions, step in pair]
        for name, left, right in zip(names, *parts, strict=True):
            path = difference(left, right)
            if path is not None:
                return f"{'the reset' if number == 0 else f'step {number}'} differs in {name}{path}"
    if len(one.agents) != len(two.agents):
        return "one is over before the other"
    return ""


def difference(left: Any, right: Any) -> str | None:
    """Return the path to the first leaf that is not equal to the last bit; None if all are."""
    ours, theirs = list(leaves(left)), list(leaves(right))
    for (path, one), (other_path, two) in zip(ours, theirs, strict=False):
        if path != other_path or _kind(one) != _kind(two) or _bytes(one) != _bytes(two):
            return path
    return None if len(ours) == len(theirs) else " in what there is"


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all that is neither dict nor sequence, with its path."""
    if isinstance(tree, Mapping):
        for key, part in tree.items():
            yield from leaves(part, f"{path}[{key!r}]")
    elif isinstance(tree, (tuple, list)):
        for i, part in enumerate(tree):
            yield from leaves(part, f"{path}[{i}]")
    else:
        yield path, tree


def _kind(leaf: Any) -> str:
    return f"{leaf.dtype} {leaf.shape}" if isinstance(leaf, np.ndarray) else type(leaf).__name__


def _bytes(leaf: Any) -> bytes:
    return leaf.tobytes() if isinstance(leaf, np.ndarray) else repr(leaf).encode()
