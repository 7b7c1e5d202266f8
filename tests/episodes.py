"""Random play of games and environments, and what two of them showed compared to the last bit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.actions.encoding import HOW_MUCH, WHAT, target_of_owner
from territorial.engine.vec_game import VecGame


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
        game.step()


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
