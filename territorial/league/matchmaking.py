"""Matchmaking strategies: each assigns a sampling weight to every candidate opponent."""

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.config.fields import about, check_values, documents_fields, option
from territorial.config.validation import checked_list, one_of
from territorial.constants import MAX_PLAYERS
from territorial.typing import Floats

POOLS = ("mains", "learners", "main_snapshots", "exploiter_snapshots", "snapshots", "bots")
"""The groups that candidates come from: those who learn, as they are now; frozen ones; bots."""
MOST_POOLS = 32

FLOOR = 0.01
"""No candidate's weight is below this part of the mean, so that what seems to be known is tried again."""


class Candidates(NamedTuple):
    """N players that a learner may meet, with the league's numbers on them."""

    above: Floats
    """(N,) the probability that the learner is placed above."""
    ratings: Floats
    """(N,) how strong they are."""
    is_main: npt.NDArray[np.bool_]
    """(N,) True for main agents as they are now."""
    own_rating: float


@documents_fields
@dataclass(frozen=True, kw_only=True)
class Opponents:
    """So many seats of a learner's games, and how their players are chosen."""

    seats: int = field(metadata=about("how many", 1, MAX_PLAYERS))
    strategy: str = option(
        "pfsp", '"self_play", "uniform", "pfsp", "near" or "versus_main"; ``STRATEGIES`` says what they do'
    )
    among: tuple[str, ...] = option(("snapshots",), "the ``POOLS`` that candidates come from")
    weighting: str = option(
        "hard", 'of "pfsp", what is preferred: "hard" opponents, "even" ones, or "easy" ones'
    )
    power: float = option(
        1.0, 'of "pfsp" with "hard" and "easy": the larger, the more the extremes are preferred', 0, 100
    )
    scale: float = option(4.0, 'of "near", the difference of ratings that is still near', 1e-6, 1e6)
    threshold: float = option(
        0.2,
        'of "versus_main": the present main agent is played while the probability to be above it is at least '
        "this",
        0,
        1,
    )
    together: bool = option(False, "True: one player has all of these seats in a game, see ``Group``")
    of: tuple[str, ...] | None = option(
        None, "names of learners: no others, and no snapshots of others, are candidates", none="all learners"
    )
    distinct: int | None = option(
        None,
        "the most snapshots that these seats are drawn from between two steps of the learner; one of them is "
        "drawn again with every step, so that all are met over time",
        1,
        MAX_PLAYERS,
        none="any number",
    )

    def __post_init__(self) -> None:
        check_values(self)
        object.__setattr__(self, "among", checked_pools("among", self.among))
        if self.of is not None:
            object.__setattr__(self, "of", checked_list("of", self.of, str))
        one_of("strategy", self.strategy, STRATEGIES)
        one_of("weighting", self.weighting, WEIGHTINGS)
        if not self.among:
            raise ValueError("among is empty; it must name at least one pool")

    def weights(self, candidates: Candidates) -> Floats:
        """Return (N,), all above 0: how likely each candidate is to get a seat, of any scale."""
        raw = STRATEGIES[self.strategy](candidates, self)
        return np.maximum(raw, FLOOR * raw.mean() if raw.any() else 1.0)


def drawn_few(weights: Mapping[str, float], count: int, step: int, key: str) -> dict[str, float]:
    """Return at most ``count`` of the players in ``weights``, with weights of the same sum.

    There are ``count`` places, each of which a player holds for ``count`` steps; at every step one of them is
    drawn again, by the weights of that step. What is drawn follows from ``key``, the step and the names, so
    that it hardly changes where weights hardly do. Over time every player holds a place as often as its
    weight says.
    """
    if len(weights) <= count:
        return dict(weights)
    share = sum(weights.values()) / count
    drawn: dict[str, float] = {}
    for place in range(count):
        since = (step + place) // count
        # The least of exponential waiting times is that of a player as often as its rate says.
        first = min(weights, key=lambda name: _wait(f"{key} {place} {since} {name}") / weights[name])
        drawn[first] = drawn.get(first, 0.0) + share
    return drawn


def _wait(text: str) -> float:
    """Return a number of the exponential distribution that follows from ``text``."""
    bits = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 11
    return -math.log((bits + 0.5) * 2.0**-53)


# ---- strategies ----------------------------------------------------------------------------------------


def _near(candidates: Candidates, spec: Opponents) -> Floats:
    """Players with ratings near the learner's own."""
    distance = (candidates.ratings - candidates.own_rating) / spec.scale
    nearest = np.abs(distance).min(initial=np.inf)
    return np.asarray(np.exp(-0.5 * (distance**2 - nearest**2)))


def _versus_main(candidates: Candidates, spec: Opponents) -> Floats:
    """The present main agent while there is a chance, else the even opponents among the others."""
    has_chance = candidates.is_main & (candidates.above >= spec.threshold)
    if has_chance.any() or candidates.is_main.all():
        return (has_chance if has_chance.any() else candidates.is_main).astype(np.float64)
    return np.where(candidates.is_main, 0.0, candidates.above * (1 - candidates.above))


STRATEGIES: Mapping[str, Callable[[Candidates, Opponents], Floats]] = {
    # Against main agents as they are now alone, if there are any among the candidates.
    "self_play": lambda candidates, _: candidates.is_main.astype(np.float64),
    # All candidates alike.
    "uniform": lambda candidates, _: np.ones(len(candidates.above)),
    # Prioritised fictitious self-play: by the probability to be above, as ``weighting`` says.
    "pfsp": lambda candidates, spec: WEIGHTINGS[spec.weighting](candidates.above, spec.power),
    "near": _near,
    "versus_main": _versus_main,
}
"""By name: (N,) weights of candidates."""

WEIGHTINGS: Mapping[str, Callable[[Floats, float], Floats]] = {
    "hard": lambda above, power: (1 - above) ** power,
    "even": lambda above, power: above * (1 - above),
    "easy": lambda above, power: above**power,
}
"""Of prioritised fictitious self-play: from the probability to be above to a weight."""


def checked_pools(name: str, given: Any) -> tuple[str, ...]:
    """Return names of pools; TypeError unless they are a list, ValueError unless all are of ``POOLS``."""
    pools = checked_list(name, given, most=MOST_POOLS)
    for pool in pools:
        one_of(name, pool, POOLS)
    return pools
