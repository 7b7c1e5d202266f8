"""Reward parts by name, and the weights that a config gives them."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from territorial.config.validation import finite_number, one_of

Weights = tuple[tuple[str, float], ...]


class Part(NamedTuple):
    """One part of a reward: its name, and the amount that a player gets per environment step."""

    name: str
    meaning: str


PARTS = (
    Part("land", "the change of the player's share of all land, -1 to 1"),
    Part(
        "placement",
        "once, when the player dies (its team is out) or the game ends: 1 for the first place, -1 for the "
        "last",
    ),
    Part("survival", "the ticks that the player lived, as a share of max_ticks: at most 1 a game"),
    Part("taken", "the cells that the player took from neutral land and others, as a share of all land"),
    Part(
        "kills",
        "1 for every other player that died, if this one took most cells of it in this game; several that "
        "took equally many share it",
    ),
)
"""In the order of their numbers in territorial.game.rewards, which ``TEAM_PARTS`` continue."""

TEAM_PARTS = (Part("team_land", "the change of the share of all land that the player's team has, -1 to 1"),)
"""Parts of games with teams alone."""

ZERO_SUM = "_zero_sum"
"""What the name of a part may end in: less the mean of all who lived as the step began."""

BASE_NAMES = tuple(part.name for part in PARTS)
NAMES = (*BASE_NAMES, *(name + ZERO_SUM for name in BASE_NAMES))
"""Parts that every game has."""
TEAM_BASE_NAMES = tuple(part.name for part in TEAM_PARTS)
TEAM_NAMES = (*TEAM_BASE_NAMES, *(name + ZERO_SUM for name in TEAM_BASE_NAMES))
ALL_NAMES = (*NAMES, *TEAM_NAMES)
DEFAULT: Weights = (("land", 1.0), ("placement", 1.0))
LARGEST_WEIGHT = 1e6


def checked_rewards(rewards: Any) -> Weights:
    """Return weights by name as pairs in the order of ``ALL_NAMES``; errors give the allowed values.

    ``rewards``: a mapping, such pairs, or a text such as ``land=1,kills=0.5``; "" and {} are no rewards.
    """
    weights: dict[str, float] = {}
    for name, weight in _pairs_of(rewards):
        one_of("a part of rewards", name, ALL_NAMES)
        if name in weights:
            raise ValueError(f"rewards has the part {name!r} twice")
        what = f"the weight of {name!r} in rewards"
        weights[name] = finite_number(what, weight, -LARGEST_WEIGHT, LARGEST_WEIGHT)
    return tuple((name, weights[name]) for name in ALL_NAMES if name in weights)


def _pairs_of(rewards: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(rewards, str):
        parts = [part.partition("=") for part in rewards.split(",")] if rewards.strip() else []
        return [(name.strip(), _read_weight(weight.strip()) if sign else 1.0) for name, sign, weight in parts]
    if isinstance(rewards, Mapping):
        return list(rewards.items())
    try:
        return [(name, weight) for name, weight in rewards]
    except (TypeError, ValueError):
        wanted = "it must map parts to weights, such as {'land': 1, 'placement': 0.5}"
        raise TypeError(f"rewards is {rewards!r}; {wanted}") from None


def _read_weight(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def part_names(weights: Weights) -> tuple[str, ...]:
    """Return the names under which infos tell the parts, in the order of the weights."""
    return tuple(f"reward_{name}" for name, _ in weights)


def kinds_of(weights: Weights) -> list[tuple[int, bool]]:
    """Return for every weight the number of the part, and whether it is the zero-sum variant."""
    numbers = {name: number for number, name in enumerate((*BASE_NAMES, *TEAM_BASE_NAMES))}
    return [(numbers[name.removesuffix(ZERO_SUM)], name.endswith(ZERO_SUM)) for name, _ in weights]
