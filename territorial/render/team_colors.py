"""Colours of teams: a family of hues for each, and in it a shade for every member.

Of each seat in turn the shade is taken that is furthest from all before it and from the terrain, for people
with all cones and for those who lack one kind. What the eyes of some confuse differs in lightness at least.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.render.color_vision import LUMA, VIEWS, seen
from territorial.typing import Ints

Colors = npt.NDArray[np.uint8]
Teams = tuple[int, ...]
"""The team 1..N of every seat 1..P."""

_LEVELS = np.arange(8, 256, 12, dtype=np.uint8)
"""Of red, green and blue that candidates have."""
_DARKEST, _LIGHTEST = 45_000, 232_000
"""Luma of candidates in thousandths, from what differs from ink to what differs from paper."""
_LEAST_CHROMA = 20
"""Less than this looks grey, in whatever hue."""
_WEIGHTS = {"all cones": 1.9, "deuteranopia": 1.0, "protanopia": 1.0, "tritanopia": 0.9}
"""How far apart colours shall be in each view, in proportion."""
_FIRST_HUE = 30
"""The middle of the first family, in degrees of CIELAB: red."""
_FAMILY = 0.6
"""The part of a family's share of the circle of hues that it takes: between families there are gaps."""


class _Shades(NamedTuple):
    """Colours to choose from."""

    rgb: Colors
    """(n, 3)"""
    hue: Ints
    """(n,) in degrees of CIELAB, 0..359."""
    places: Ints
    """(n, views, 3): where each is in a space in which distance is as seen, by view."""


def checked_teams(teams: Sequence[int] | None, num_players: int) -> Teams | None:
    """Return the team 1..N of each seat, as a tuple; None where no seat has an ally.

    Raises ValueError unless there is one for each seat.
    """
    if teams is None:
        return None
    if len(teams) != num_players:
        raise ValueError(f"teams has {len(teams)} entries; it must have one for each of {num_players} seats")
    checked = tuple(int(team) for team in teams)
    if min(checked, default=1) < 1:
        raise ValueError(f"teams has {min(checked)}; the teams of seats are whole numbers from 1")
    return checked if has_allies(checked) else None


def has_allies(teams: Teams | None) -> bool:
    """Return whether any two seats are in one team."""
    return teams is not None and len(set(teams)) < len(teams)


@cache
def team_colors(teams: Teams, terrain: tuple[tuple[int, int, int], ...]) -> Colors:
    """Return a (P, 3) uint8 array, the RGB colours of seats in ``teams``, all unlike those of ``terrain``.

    Members get their colours in the order of seats, and teams in turn: the first ones are furthest apart.
    """
    candidates, families = _candidates(), _families(max(teams))
    colors = np.zeros((len(teams), 3), np.uint8)
    ground = _places(np.array(terrain, np.uint8))
    room = np.min([_distances(candidates.places, place) for place in ground], axis=0)
    for seat in _in_turn(teams):
        family = families[teams[seat] - 1]
        best = family[room[family].argmax()]
        colors[seat] = candidates.rgb[best]
        room = np.minimum(room, _distances(candidates.places, candidates.places[best]))
    return colors


def _in_turn(teams: Teams) -> list[int]:
    """Return the seats, from 0: first members of all teams, then second ones, and so on."""
    members = [teams[:seat].count(team) for seat, team in enumerate(teams)]
    return sorted(range(len(teams)), key=lambda seat: (members[seat], teams[seat]))


def _families(num_teams: int) -> list[Ints]:
    """Return the numbers of the candidates in each of ``num_teams`` families; each has some."""
    share, hue = 360 / num_teams, _candidates().hue
    families = []
    for team in range(num_teams):
        away = np.abs((hue - round(_FIRST_HUE + share * team) + 180) % 360 - 180)
        families.append(np.flatnonzero(away <= max(_FAMILY * share / 2, away.min())))
    return families


@cache
def _candidates() -> _Shades:
    rgb = np.stack(np.meshgrid(_LEVELS, _LEVELS, _LEVELS, indexing="ij"), axis=-1).reshape(-1, 3)
    luma = rgb @ LUMA
    _, a, b = seen(rgb).T
    kept = (luma > _DARKEST) & (luma < _LIGHTEST) & (np.hypot(a, b) > _LEAST_CHROMA)
    hue = np.rint(np.degrees(np.arctan2(b[kept], a[kept]))).astype(np.int64) % 360
    return _Shades(rgb[kept], hue, _places(rgb[kept]))


def _places(rgb: Colors) -> Ints:
    """Return int64 (n, views, 3), where colours are in hundredths of DIN99: Euclid's distance is as seen.

    Those of each view are divided by its weight. Whole numbers, so that the last digits of a machine's floats
    cannot decide between two colours. The space is that of DIN 6176, for CIELAB coordinates.
    """
    turn, views = np.radians(16), []
    for view in VIEWS:
        lightness, a, b = np.moveaxis(seen(rgb, view), -1, 0)
        red, yellow = a * np.cos(turn) + b * np.sin(turn), 0.7 * (b * np.cos(turn) - a * np.sin(turn))
        chroma = np.maximum(np.hypot(red, yellow), 1e-9)
        shrunk = np.log1p(0.045 * chroma) / (0.045 * chroma)
        space = np.stack([105.51 * np.log1p(0.0158 * lightness), red * shrunk, yellow * shrunk], axis=-1)
        views.append(space / _WEIGHTS[view])
    return np.rint(100 * np.stack(views, axis=1)).astype(np.int64)


def _distances(places: Ints, place: Ints) -> Ints:
    """Return (n,), squared distances of ``places`` (n, views, 3) to one, in the view where it is least."""
    squares: Ints = ((places - place) ** 2).sum(axis=-1).min(axis=-1)
    return squares
