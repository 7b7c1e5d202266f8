"""What a game of VecGame shows, as frames."""

from __future__ import annotations

from collections.abc import Iterator

from territorial.config import GameConfig
from territorial.engine import VecGame
from territorial.render.film import Frame

MOST_FRAMES = 2000
"""About as many as a game is shown in, unless asked for otherwise."""


def usual_distance(config: GameConfig) -> int:
    """Return the ticks from one frame to the next: a decision, or more of them in a very long game."""
    decisions = -(-config.max_ticks // config.decision_every)
    return config.decision_every * -(-decisions // MOST_FRAMES)


def frame_of(game: VecGame, k: int = 0) -> Frame:
    """Return a copy of what game ``k`` shows now."""
    state = game.state
    return Frame(
        tick=int(state.tick[k]),
        owner=state.owner[k, 1:-1, 1:-1].copy(),
        land=state.land[k, 1:].copy(),
        troops=state.troops[k, 1:].copy(),
        alive=state.alive[k, 1:].astype(bool),
    )


def play_frames(game: VecGame, every: int | None = None) -> Iterator[Frame]:
    """Play game 0 of ``game`` to its end without actions, and yield what it shows on the way.

    The first frame is the game as it stands; then follows one at every multiple of ``every`` ticks (default:
    :func:`usual_distance`), and the last one is the end. Raises ValueError for a game that would be
    replaced at its end, and for an ``every`` that is no multiple of the ticks between two decisions.
    """
    step = game.config.decision_every
    every = usual_distance(game.config) if every is None else every
    if every < 1 or every % step:
        raise ValueError(
            f"every is {every}; it must be a multiple of {step}, the ticks from one decision to the next"
        )
    if game.autoreset != "disabled":
        raise ValueError(f'autoreset is {game.autoreset!r}; a game to be watched to its end needs "disabled"')
    return _frames(game, every)


def _frames(game: VecGame, every: int) -> Iterator[Frame]:
    yield frame_of(game)
    is_over = bool(game.state.over[0])
    while not is_over:
        game.step()
        is_over = bool(game.state.over[0])
        if is_over or int(game.state.tick[0]) % every == 0:
            yield frame_of(game)
