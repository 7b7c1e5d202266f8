"""Ratings of players by the places of games: Plackett and Luce's model, as openskill has it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from territorial.league.record import GameRecord


class Rating(NamedTuple):
    """How strong a player is thought to be, and how sure that is: a mean and its standard deviation."""

    mu: float
    sigma: float


def rate(records: Iterable[GameRecord]) -> dict[str, Rating]:
    """Return the ratings of all players after these games, in their order; all begin at 25 +- 25/3.

    Every seat enters a game with the rating of its player. A player of several seats leaves with the mean of
    theirs (of the variances for sigma), so that seats of one player are no more evidence than one. Places
    count, not distances; equals are ties. ImportError without the extra "league".
    """
    model = _plackett_luce()
    ratings: dict[str, Rating] = {}
    for record in records:
        entries = [ratings.get(name) or Rating(model.mu, model.sigma) for name in record.seats]
        teams = [[model.rating(mu=entry.mu, sigma=entry.sigma)] for entry in entries]
        after = model.rate(teams, ranks=list(record.places))
        left: dict[str, list[Any]] = {}
        for name, (rating,) in zip(record.seats, after, strict=True):
            left.setdefault(name, []).append(rating)
        for name, found in left.items():
            mu = float(np.mean([rating.mu for rating in found]))
            sigma = float(np.sqrt(np.mean([rating.sigma**2 for rating in found])))
            ratings[name] = Rating(mu, sigma)
    return ratings


def _plackett_luce() -> Any:
    try:
        from openskill.models import PlackettLuce
    except ImportError:
        raise ImportError(
            "ratings need openskill: pip install 'territorial-env[league]' (or '.[league]' in the checkout)"
        ) from None
    return PlackettLuce()
