"""The settings in which policies are evaluated: a game, and who else plays it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, cycle
from typing import Any, TypeVar

from territorial.config import GameConfig
from territorial.config.teams import RANDOM
from territorial.config.validation import true_or_false, whole_number
from territorial.engine.seats import AGENT, LINEUPS, Seat, name_of

T = TypeVar("T")
DEFAULT_FIELD = "mixed-1"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What policies are tried in: a game, and who else plays it.

    Args:
        config: rules, size and maps.
        seats: one entry per seat: "agent" where the policy plays, a bot (name, ``module:Class``,
            ``style:FILE``, ``net:FILE`` or object), or the name of another policy. Default None: one seat for
            the policy, or with teams all of the team of the first seat, and bots of the line-up "mixed-1" at
            the others.
        max_cycles: decisions after which a game is left. Players who live then are placed by land, then by
            troops; at least 1, default None: never.
        rotate: True: all players move on by one seat from game to game; with teams by one team, the seats of
            which stay together. Where teams are dealt at random it is one seat. Default True.

    A game is left, too, when all seats of the policy are out, or with teams all teams that have one.

    Raises:
        ValueError: if ``seats`` do not fit the game; if ``rotate`` is True and teams are of different sizes,
            unless they are dealt at random.

    Example:
        >>> import territorial
        >>> config = territorial.GameConfig(height=32, width=32, num_players=4)
        >>> setting = territorial.Setting(config=config, seats=["agent", "banker", "novice", "novice"])
        >>> setting.rotate
        True

    """

    config: GameConfig
    seats: Sequence[Seat] | None = None
    max_cycles: int | None = None
    rotate: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.config, GameConfig):
            raise TypeError(f"config is {self.config!r}; it must be a territorial.GameConfig")
        players = self.config.num_players
        if self.seats is None:
            object.__setattr__(self, "seats", _usual_seats(self.config))
        seats = tuple(self.seats or ())
        if len(seats) != players:
            raise ValueError(f"seats has {len(seats)} entries; this game has num_players = {players}")
        if AGENT not in seats:
            raise ValueError(f"no seat is called {AGENT!r}; at least one must be, for the policy to play")
        object.__setattr__(self, "seats", seats)
        object.__setattr__(self, "rotate", true_or_false("rotate", self.rotate))
        if self.rotate and _moves_teams(self.config) and len(set(map(len, _members(self.config)))) > 1:
            sizes = ", ".join(str(len(members)) for members in _members(self.config))
            raise ValueError(
                f"rotate is True, and the teams have {sizes} seats; it must be False where teams are of "
                "different sizes"
            )
        if self.max_cycles is not None:
            object.__setattr__(self, "max_cycles", whole_number("max_cycles", self.max_cycles, 1))

    def at(self, number: int) -> tuple[Seat, ...]:
        """Return the seats of game ``number``."""
        seats = tuple(self.seats or ())
        if not self.rotate:
            return seats
        if not _moves_teams(self.config):
            return _moved_on(seats, number)
        members = _members(self.config)
        moved = dict(zip(chain(*members), chain(*_moved_on(members, number)), strict=True))
        return tuple(seats[moved[i]] for i in range(len(seats)))

    def to_dict(self) -> dict[str, Any]:
        """Return what tells this setting from others, as values that JSON has."""
        return {
            "config": self.config.hexdigest,
            "seats": [name_of(seat) for seat in self.seats or ()],
            "max_cycles": self.max_cycles,
            "rotate": self.rotate,
        }


def _usual_seats(config: GameConfig) -> tuple[Seat, ...]:
    """Return the seats of a setting that names none."""
    field, players = LINEUPS[DEFAULT_FIELD].seats, config.num_players
    own = _members(config)[config.team_of()[0] - 1] if _moves_teams(config) else [0]
    others = cycle(field)
    return tuple(AGENT if i in own else next(others) for i in range(players))


def _moves_teams(config: GameConfig) -> bool:
    """Return whether seats stay in their teams from game to game, and teams have several."""
    return config.has_allies and config.team_deal != RANDOM


def _members(config: GameConfig) -> tuple[list[int], ...]:
    """Return the seats, from 0, of each team."""
    members: tuple[list[int], ...] = tuple([] for _ in range(config.num_teams))
    for seat, team in enumerate(config.team_of()):
        members[team - 1].append(seat)
    return members


def _moved_on(parts: tuple[T, ...], steps: int) -> tuple[T, ...]:
    """Return ``parts`` in a circle, each so many places further on."""
    shift = steps % len(parts)
    return parts[-shift:] + parts[:-shift] if shift else parts
