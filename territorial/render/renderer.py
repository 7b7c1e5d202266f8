"""One picture of a game: the board with its labels, and the standings beside it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from territorial.config.map_names import Terrain
from territorial.config.validation import true_or_false, whole_number
from territorial.constants import BLOCKED, MAX_PLAYERS
from territorial.render.board import LARGEST_SCALE, Image, Owners, render_board
from territorial.render.figures import num_living
from territorial.render.gifts import draw_gifts
from territorial.render.labels import Places, draw_labels, find_places
from territorial.render.palette import player_colors
from territorial.render.panel import beside, panel_size, standings_panel
from territorial.render.team_colors import checked_teams
from territorial.typing import Ints

PICTURE_SIDE = 768
"""Pixels that the longer side of a board is brought up to unless a scale is given."""

_LEAST_PANEL = 160
"""Pixels that a panel is high at least, beside boards that are long and low."""


def fitting_scale(shape: tuple[int, ...], side: int = PICTURE_SIDE) -> int:
    """Return the pixels per cell that make the longer side of a board ``side`` pixels or less."""
    return min(max(1, side // max(shape)), LARGEST_SCALE)


class Renderer:
    """Draws the pictures of one game, one after the other; all are of one size.

    It remembers where the labels stood, so that they rest in an animation: use one for every game.

    Args:
        num_players: P, 1 to 250.
        names: one for every seat, shown with its number; None: numbers alone.
        scale: pixels per cell, 1 to 64; None: what makes the longer side of the board 768 pixels or
            the next below.
        labels: whether seats and troops stand on the board.
        panel: whether the standings stand beside it.
        teams: the team 1..N of each seat: allies have colours of one family and stand together; None: none.

    """

    def __init__(
        self,
        num_players: int,
        *,
        names: Sequence[str] | None = None,
        scale: int | None = None,
        labels: bool = True,
        panel: bool = True,
        teams: Sequence[int] | None = None,
    ) -> None:
        self._num_players = whole_number("num_players", num_players, 1, MAX_PLAYERS)
        self._names = None if names is None else [str(name) for name in names]
        if self._names is not None and len(self._names) != self._num_players:
            raise ValueError(
                f"names has {len(self._names)} entries; it needs {num_players}, one for each seat"
            )
        self._scale = None if scale is None else whole_number("scale", scale, 1, LARGEST_SCALE)
        self._has_labels = true_or_false("labels", labels)
        self._has_panel = true_or_false("panel", panel)
        self._teams = checked_teams(teams, self._num_players)
        self._colors = player_colors(self._num_players, self._teams)
        self._places: Places | None = None

    def draw(
        self,
        owner: Owners,
        land: npt.ArrayLike,
        troops: npt.ArrayLike,
        *,
        tick: int | None = None,
        terrain: Terrain = "water",
        gifts: Ints | None = None,
    ) -> Image:
        """Return a new picture, uint8 (h, w, 3).

        ``owner`` (H, W) uint8 are the owner codes of the cells, 0 neutral, 1..P, 255 blocked. ``land`` and
        ``troops`` (P,) are the cells and balances of seats 1..P; ``tick`` stands above the standings;
        ``terrain`` says what blocked cells are, "water" or "mountains". ``gifts`` (N, 2) or more are the
        donations that are shown: giver, receiver.
        """
        cells, balances = self._per_seat("land", land), self._per_seat("troops", troops)
        scale = fitting_scale(owner.shape) if self._scale is None else self._scale
        picture = render_board(owner, self._num_players, scale, terrain, self._teams)
        has_gifts = gifts is not None and len(gifts) > 0
        if self._has_labels or has_gifts:
            self._places = find_places(owner, self._num_players, self._places)
        if self._places is not None and gifts is not None and has_gifts:
            draw_gifts(picture, self._places, scale, self._colors, gifts)
        if self._places is not None and self._has_labels:
            draw_labels(picture, self._places, scale, self._colors, balances, self._names)
        if not self._has_panel:
            return picture
        alive, height = num_living(cells, self._teams), max(picture.shape[0], _LEAST_PANEL)
        panel = standings_panel(
            height,
            cells,
            balances,
            int((owner != BLOCKED).sum()),
            title=alive if tick is None else f"tick {tick}  {alive}",
            names=self._names,
            size=panel_size(height, self._num_players + max(self._teams or (0,))),
            teams=self._teams,
        )
        return beside(picture, panel)

    def close(self) -> None:
        """Nothing: pictures need no closing."""

    def _per_seat(self, name: str, values: npt.ArrayLike) -> Ints:
        array = np.asarray(values, np.int64)
        if array.shape != (self._num_players,):
            raise ValueError(
                f"{name} has shape {array.shape}; it must be ({self._num_players},): one for each seat"
            )
        return array
