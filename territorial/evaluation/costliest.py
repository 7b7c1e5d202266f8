"""``costliest_launch``: the launch that cost a seat of a recorded game most places."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from territorial.engine.seats import Seat
from territorial.evaluation.what_if import RECORDED, WhatIf, what_if
from territorial.game.scratch import LAUNCH_FRACTION, LAUNCH_SEAT
from territorial.replay import Replay

MOST_LAUNCHES, FEW_GAMES = 24, 8
"""Launches that are looked at, and the games with and without each."""
MOST_FINALISTS, MANY_GAMES = 3, 48
"""The costliest of them are looked at again: the largest of many noisy differences is too large."""


class CostlyLaunch(NamedTuple):
    """A launch, and the mean places of its seat with and without it."""

    tick: int
    target: int
    """Owner code, 0 is neutral land."""
    fraction: int
    """1024ths of the balance."""
    held: float
    launched: float
    games: int
    endings: int
    """Games that were played with it, and without; and how many of either ended differently, at least."""


def costliest_launch(
    replay: Replay, seat: int, *, players: Mapping[str, Seat] | None = None, seconds: float = 5.0
) -> CostlyLaunch | None:
    """Return the launch by which the last player of ``seat`` lost most places, compared with holding there.

    Every launch is judged by games that are played on from it, see :func:`territorial.what_if`, in this
    process. Where a seat launched more than 24 times, those of the largest shares are judged.

    Args:
        replay: the recorded game, whose players are of the library, or were driven from outside.
        seat: 1..P.
        players: by recorded names, those that the library does not have; default None: there are none.
        seconds: after these no further launch is looked at.

    Returns:
        The launch; None if there is none that cost places beyond doubt, by Student's interval of 95 %.

    Raises:
        ValueError: for a player that is not known.

    """
    since = max((change.tick for change in replay.changes if change.seat == seat), default=0)
    rows = replay.launches_between(since, replay.num_ticks).astype(np.int64)
    rows = rows[rows[:, LAUNCH_SEAT] == seat]
    until, judged = time.monotonic() + seconds, list[tuple[float, int]]()

    def without(i: int, games: int) -> WhatIf:
        return what_if(
            replay, int(rows[i, 0]), {"hold": {seat: None}}, games=games, players=players, processes=1
        )

    for i in np.argsort(-rows[:, LAUNCH_FRACTION], kind="stable")[:MOST_LAUNCHES].tolist():
        judged.append((without(i, FEW_GAMES).difference(RECORDED, seat, to="hold").value, i))
        if time.monotonic() > until:
            break
    found = list[tuple[float, CostlyLaunch]]()
    for _, i in sorted(judged, reverse=True)[:MOST_FINALISTS]:
        again, (tick, _, target, fraction) = without(i, MANY_GAMES), rows[i].tolist()
        cost = again.difference(RECORDED, seat, to="hold")
        if cost.low > 0:
            held, launched = (again.place(name, seat).value for name in ("hold", RECORDED))
            endings = min(again.endings.values())
            launch = CostlyLaunch(tick, target, fraction, held, launched, MANY_GAMES, endings)
            found.append((cost.value, launch))
    return max(found)[1] if found else None
