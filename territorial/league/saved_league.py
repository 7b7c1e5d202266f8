"""What the file of a league says of it, with every value checked that the league relies on.

Errors name the entry, its value, and what it must be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from territorial.config.validation import finite_number, shown, whole_number, whole_number_in
from territorial.engine.seats import CustomBot
from territorial.evaluation.ratings import Rating
from territorial.files.bounded import check_fields
from territorial.league.config import LeagueConfig
from territorial.league.seating import Player

FORMAT = "territorial league, version 1"
MOST_NOTES = 4000
"""Lines of the history; once they are reached, every second one goes: what is old is kept more sparsely."""
LARGEST_COUNT = 2**53
"""Of steps and the like: what is counted is exact up to there, in floats too."""


@dataclass
class LeagueSnapshot:
    """A frozen copy of a learner, as the league knows it."""

    name: str
    learner: str
    step: int
    """Steps of the learner when it was frozen."""


@dataclass(frozen=True, kw_only=True)
class SavedLeague:
    """All of a league but the tables of its payoff; the names of the fields are those in the file."""

    config: LeagueConfig
    players: list[str]
    """Of the payoff, in the order of its rows."""
    ratings: Mapping[str, Sequence[float]] | None
    """None if the league keeps none."""
    snapshots: dict[str, LeagueSnapshot]
    steps: dict[str, int]
    frozen_at: dict[str, int]
    count: dict[str, int]
    num_games: int
    history: list[dict[str, Any]]
    rng: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return values that JSON has; :meth:`from_dict` reads them."""
        return {
            "format": FORMAT,
            **vars(self),
            "config": self.config.to_dict(),
            "snapshots": [asdict(one) for one in self.snapshots.values()],
        }

    @classmethod
    def from_dict(cls, about: Mapping[str, Any], python_bots: Sequence[CustomBot | str] = ()) -> SavedLeague:
        """Return what ``to_dict`` returned; ValueError and TypeError for whatever cannot be."""
        if about.get("format") != FORMAT:
            raise ValueError(f"it has the format {shown(about.get('format'))}; this release reads {FORMAT!r}")
        check_fields("it", about, {"format", *(spec.name for spec in fields(cls))})
        config = LeagueConfig.from_dict(about["config"], python_bots)
        steps, frozen_at, count = (
            _counts(name, about[name], config) for name in ("steps", "frozen_at", "count")
        )
        for name, step in frozen_at.items():
            whole_number(f"frozen_at[{name!r}]", step, 0, steps[name])
        snapshots = _snapshots(about["snapshots"], config, steps, count)
        own = {f"bot:{bot.name}" for bot in config.python_bots}
        known = {learner.name for learner in config.learners}, set(snapshots), own
        return cls(
            config=config,
            players=_players(about["players"], *known),
            ratings=_ratings(about["ratings"], *known),
            snapshots=snapshots,
            steps=steps,
            frozen_at=frozen_at,
            count=count,
            num_games=whole_number("num_games", about["num_games"], 0, LARGEST_COUNT),
            history=_history(about["history"]),
            rng=_rng(about["rng"]),
        )


# ---- who there is --------------------------------------------------------------------------------------


def _counts(name: str, given: Any, config: LeagueConfig) -> dict[str, int]:
    check_fields(name, given, {learner.name for learner in config.learners})
    return {key: whole_number(f"{name}[{key!r}]", value, 0, LARGEST_COUNT) for key, value in given.items()}


def _snapshots(
    given: Any, config: LeagueConfig, steps: Mapping[str, int], count: Mapping[str, int]
) -> dict[str, LeagueSnapshot]:
    found: dict[str, LeagueSnapshot] = {}
    for i, values in enumerate(_entries("snapshots", given, config.capacity)):
        what = f"snapshots[{i}]"
        check_fields(what, values, {spec.name for spec in fields(LeagueSnapshot)})
        one = LeagueSnapshot(**values)
        if not isinstance(one.learner, str) or one.learner not in steps:
            raise ValueError(f"{what}: learner is {shown(one.learner)}; it must be one of {', '.join(steps)}")
        if not _is_copy(one.name, one.learner, count[one.learner]) or one.name in found:
            raise ValueError(
                f"{what}: name is {shown(one.name)}; it must be {one.learner}-N with N at "
                f"least 0 and below {count[one.learner]}, and occur only once"
            )
        whole_number(f"{what}: step", one.step, 0, steps[one.learner])
        found[one.name] = one
    return found


def _is_copy(name: Any, learner: str, count: int) -> bool:
    """Return whether a snapshot of this name can be one of the first ``count`` copies of a learner."""
    if not isinstance(name, str) or not name.startswith(f"{learner}-"):
        return False
    text = name.removeprefix(f"{learner}-")
    number = whole_number_in(text, 0, count - 1)
    return number is not None and text == str(number)


def _players(given: Any, learners: set[str], snapshots: set[str], own: set[str]) -> list[str]:
    found: dict[str, None] = {}
    for i, given_text in enumerate(_entries("players", given)):
        text = _player(f"players[{i}]", given_text, learners, snapshots, own)
        if text in found:
            raise ValueError(
                f"players[{i}] is {text!r}, which occurs before; each player must occur only once"
            )
        found[text] = None
    return list(found)


def _player(what: str, text: Any, learners: set[str], snapshots: set[str], own: set[str]) -> str:
    """Return the text of a player of the league, of whom ``own`` are custom bots."""
    if isinstance(text, str) and text in own:
        return text
    try:
        player = Player.parse(text)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what}: {error}") from None
    here = {"trainable": learners, "snapshot": snapshots}.get(player.kind)
    if here is not None and player.name not in here:
        raise ValueError(f"{what} is {shown(text)}; the league has no {player.kind} of that name")
    return str(player)


def _ratings(given: Any, learners: set[str], snapshots: set[str], own: set[str]) -> dict[str, Rating] | None:
    if given is None:
        return None
    return {
        _player("ratings", text, learners, snapshots, own): _rating(f"ratings[{shown(text)}]", pair)
        for text, pair in _mapping("ratings", given).items()
    }


def _rating(what: str, pair: Any) -> Rating:
    if not isinstance(pair, (list, tuple)) or len(pair) != 2:
        raise ValueError(f"{what} is {shown(pair)}; it must be a mean and a standard deviation")
    mu, sigma = (finite_number(what, value, -1e9, 1e9) for value in pair)
    if sigma <= 0:
        raise ValueError(f"{what} has the standard deviation {sigma}; it must be above 0")
    return Rating(mu, sigma)


# ---- the rest ------------------------------------------------------------------------------------------


def _history(given: Any) -> list[dict[str, Any]]:
    return [checked_row(f"history[{i}]", row) for i, row in enumerate(_entries("history", given, MOST_NOTES))]


def checked_row(what: str, row: Any) -> dict[str, Any]:
    """Return a line of the history; it may have more than what is asked for here."""
    check_fields(what, row, {"step", "games", "ratings"}, _mapping(what, row))
    finite_number(f"{what}: step", row["step"])
    whole_number(f"{what}: games", row["games"], 0, LARGEST_COUNT)
    for text, pair in _mapping(f"{what}: ratings", row["ratings"]).items():
        _rating(f"{what}: ratings[{shown(text)}]", pair)
    for text, value in _mapping(f"{what}: above", row.get("above", {})).items():
        if value is not None:
            finite_number(f"{what}: above[{shown(text)}]", value)
    for text, games in _mapping(f"{what}: met", row.get("met", {})).items():
        whole_number(f"{what}: met[{shown(text)}]", games, 0, LARGEST_COUNT)
    return dict(row)


def _rng(given: Any) -> dict[str, Any]:
    """Return the state of numpy's PCG64."""
    ends = {"has_uint32": 1, "uinteger": 2**32 - 1}
    check_fields("rng", given, {"bit_generator", "state", *ends})
    if given["bit_generator"] != "PCG64":
        raise ValueError(f"rng: bit_generator is {shown(given['bit_generator'])}; it must be 'PCG64'")
    check_fields("rng: state", given["state"], {"state", "inc"})
    for name, value in given["state"].items():
        whole_number(f"rng: state[{name!r}]", value, 0, 2**128 - 1)
    for name, most in ends.items():
        whole_number(f"rng: {name}", given[name], 0, most)
    return dict(given)


# ---- kinds ---------------------------------------------------------------------------------------------


def _mapping(what: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} is {shown(value)}; it must be an object with names")
    return value


def _entries(what: str, value: Any, most: int | None = None) -> list[Any]:
    if not isinstance(value, list) or (most is not None and len(value) > most):
        long = f" of {len(value):,} entries" if isinstance(value, list) else ""
        wanted = "a list" if most is None else f"a list of at most {most:,} entries"
        raise ValueError(f"{what} is {shown(value)}{long}; it must be {wanted}")
    return value
