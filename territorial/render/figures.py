"""Standings in words: who leads, and numbers as pictures show them, short and never more than they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Standing(NamedTuple):
    """One line of the standings."""

    seat: int
    """1..P."""
    name: str
    share: str
    """Of the land, such as 12.3%."""
    troops: str
    has_land: bool


def standings(
    land: npt.NDArray[np.int64],
    troops: npt.NDArray[np.int64],
    num_land: int,
    names: Sequence[str] | None = None,
    limit: int | None = None,
) -> list[Standing]:
    """Return the first ``limit`` seats, most land first, then most troops.

    ``land`` and ``troops`` hold the (P,) cells and balances of seats 1..P, ``num_land`` the land cells of
    the map; ``names`` has one entry for each seat.
    """
    if land.ndim != 1 or land.shape != troops.shape or (names is not None and len(names) != len(land)):
        raise ValueError(
            f"land has shape {land.shape} and troops {troops.shape}; they, and names if given, "
            "must have one entry for each seat"
        )
    order = np.lexsort((-troops, -land))[:limit].tolist()
    cells, balances = land.tolist(), troops.tolist()
    return [
        Standing(
            i + 1,
            "" if names is None else names[i],
            percent(cells[i], num_land),
            short(balances[i]),
            cells[i] > 0,
        )
        for i in order
    ]


def percent(part: int, whole: int) -> str:
    """Return a share such as 12.3%, as all tables, pictures and pages have it.

    It is rounded down, so that 100.0% is the whole; ``percent`` in page/standings.js is the same rule.
    """
    tenths = 1000 * part // whole
    return f"{tenths // 10}.{tenths % 10}%"


def short(number: int) -> str:
    """A number from 0 in at most five characters up to a million millions: 9999, 12.3K, 1.23M."""
    if number < 10_000:
        return str(number)
    letter, unit = next((x for x in (("K", 10**3), ("M", 10**6)) if number < 1000 * x[1]), ("B", 10**9))
    if number < 10 * unit:
        return f"{number // unit}.{number * 100 // unit % 100:02}{letter}"
    if number < 100 * unit:
        return f"{number // unit}.{number * 10 // unit % 10}{letter}"
    return f"{number // unit}{letter}"
