"""Random play of games and environments, and what two of them showed compared to the last bit."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.engine.vec_game import VecGame
from territorial.observation.action_encoding import HOW_MUCH, WHAT, target_of_owner


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


def advance(game: VecGame, steps: int) -> None:
    """Play some steps in which no agent acts."""
    for _ in range(steps):
        game.step(hold=True)


def begun(played: Any, **begins: Any) -> Any:
    """Return a game or an environment after a reset with the arguments ``begins``."""
    played.reset(**begins)
    return played


def after_steps(game: VecGame, steps: int, **begins: Any) -> VecGame:
    """Return ``game`` after a reset with the arguments ``begins`` and some steps in which no agent acts."""
    advance(begun(game, **begins), steps)
    return game


# ---- what two of them showed -------------------------------------------------------------------------


def difference(left: Any, right: Any) -> str | None:
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
