"""Pictures straight from a game, by the render modes that environments have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

import numpy.typing as npt

from territorial.config.map_names import Terrain
from territorial.engine.seats import shown_names
from territorial.engine.vec_game import VecGame
from territorial.render.ansi import TextRenderer
from territorial.render.board import Image, Owners
from territorial.render.renderer import Renderer
from territorial.render.screen import Screen
from territorial.replay.gifts import givers_and_receivers, teams_in
from territorial.typing import Ints

RENDER_MODES = ("ansi", "human", "rgb_array")
"""What the option ``render_mode`` of environments may be, beside None."""
RENDER_FPS = 20
"""Pictures a second: of "human", and of recordings made by wrappers."""

Drawn = TypeVar("Drawn", covariant=True)


class Drawer(Protocol[Drawn]):
    """What draws one game after its fashion: a ``Renderer``, a ``TextRenderer`` or a ``Screen``."""

    def draw(
        self,
        owner: Owners,
        land: npt.ArrayLike,
        troops: npt.ArrayLike,
        *,
        tick: int | None = None,
        terrain: Terrain = "water",
        gifts: Ints | None = None,
    ) -> Drawn:
        """Return or show what the game looks like."""

    def close(self) -> None:
        """Close what was opened."""


def make_drawer(
    render_mode: str,
    num_players: int,
    names: Sequence[str],
    fps: float,
    teams: Sequence[int] | None = None,
) -> Drawer[Image | str | None]:
    """Return what draws a game in one of the RENDER_MODES; ``fps`` are pictures a second for "human"."""
    if render_mode == "human":
        return Screen(num_players, names=names, fps=fps, teams=teams)
    if render_mode == "ansi":
        return TextRenderer(num_players, names=names, teams=teams)
    if render_mode == "rgb_array":
        return Renderer(num_players, names=names, teams=teams)
    raise ValueError(f"render_mode is {render_mode!r}; it must be one of {', '.join(RENDER_MODES)}")


class Drawers:
    """What draws the games of a batch in one of the RENDER_MODES, or None; made as they are needed."""

    def __init__(self, render_mode: str | None) -> None:
        self.render_mode = render_mode
        self._of_game: dict[int, tuple[object, Drawer[Image | str | None]]] = {}

    def draw(self, game: VecGame, k: int) -> Image | str | None:
        """Draw game ``k`` and return what that returns; RuntimeError without a render mode or a game."""
        if self.render_mode is None:
            choices = " or ".join(f'"{mode}"' for mode in RENDER_MODES)
            raise RuntimeError(f"render_mode is None; make the environment with render_mode={choices}")
        if not game.has_begun:
            raise RuntimeError("no game has begun yet; call reset() first")
        names, teams = shown_names(game.seats_of(k)), teams_in(game, k)
        if k not in self._of_game or self._of_game[k][0] != (names, teams):
            self.close(k)
            drawer = make_drawer(self.render_mode, len(names), names, RENDER_FPS, teams)
            self._of_game[k] = (names, teams), drawer
        return draw_game(self._of_game[k][1], game, k)

    def close(self, k: int | None = None) -> None:
        """Release what draws game ``k``, or any."""
        for i in [i for i in self._of_game if k in (None, i)]:
            self._of_game.pop(i)[1].close()


def draw_game(drawer: Drawer[Drawn], game: VecGame, k: int = 0) -> Drawn:
    """Let ``drawer`` draw game ``k`` as it stands, with the donations of its last step, and return that."""
    state = game.state
    owner = state.owner[k, 1:-1, 1:-1]
    land, troops = state.land[k, 1:], state.troops[k, 1:]
    drawn: dict[str, Any] = {"tick": int(state.tick[k]), "terrain": game.terrain_name(k)}
    if game.config.has_allies:
        drawn["gifts"] = givers_and_receivers(game, k)
    return drawer.draw(owner, land, troops, **drawn)


def render_game(
    game: VecGame,
    k: int = 0,
    *,
    scale: int | None = None,
    names: Sequence[str] | None = None,
    labels: bool = True,
    panel: bool = True,
) -> Image:
    """Return a picture of game ``k`` as it stands, uint8 (h, w, 3); the options are those of ``Renderer``.

    ``names`` are those of the seats unless given. For an animation keep a ``Renderer`` and draw with that.
    """
    renderer = Renderer(
        game.config.num_players,
        names=shown_names(game.seats_of(k)) if names is None else names,
        scale=scale,
        labels=labels,
        panel=panel,
        teams=teams_in(game, k),
    )
    return draw_game(renderer, game, k)
