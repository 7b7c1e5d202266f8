"""What a game of VecGame shows while it is played, as frames."""

from __future__ import annotations

from collections.abc import Iterator

from territorial.config import GameConfig
from territorial.engine import VecGame
from territorial.render.film import Frame
from territorial.render.palette import Terrain

MOST_FRAMES = 2000
"""About as many as a game is shown in, unless asked for otherwise."""


def usual_distance(config: GameConfig) -> int:
    """Return the ticks from one frame to the next: a decision, or more of them in a very long game."""
    decisions = -(-config.max_ticks // config.decision_every)
    return config.decision_every * -(-decisions // MOST_FRAMES)


def terrain_of(config: GameConfig) -> Terrain:
    """Return what the blocked cells of the maps of ``config`` are."""
    return "mountains" if config.map == "mountains" else "water"


def frame_of(game: VecGame, k: int = 0) -> Frame:
    """Return a copy of what game ``k`` shows now."""
    state = game.state
    return Frame(
        tick=int(state.tick[k]),
        owner=state.owner[k, 1:-1, 1:-1].copy(),
        land=state.land[k, 1:].copy(),
        troops=state.troops[k, 1:].copy(),
        alive=state.alive[k, 1:] != 0,
    )


def play_frames(game: VecGame, every: int) -> Iterator[Frame]:
    """Play game 0 of ``game``, which must have autoreset "disabled", without actions to its end.

    Yields it as it stands, then after every step that reaches a multiple of ``every`` ticks, and its end.
    """
    tick, shown = game.state.tick, int(game.state.tick[0])  # the array is a view: always current
    yield frame_of(game)
    is_over = bool(game.state.over[0])
    while not is_over:
        is_over = bool(game.step()[-1]["ended"][0])
        if is_over or tick[0] // every > shown // every:
            shown = int(tick[0])
            yield frame_of(game)
