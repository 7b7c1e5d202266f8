"""A contest: which games are played, by whom, with which seeds, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from territorial._version import __version__
from territorial.config import GameConfig
from territorial.config.validation import one_of, whole_number
from territorial.constants import LARGEST_SEED, RULES_VERSION
from territorial.evaluation.teams import Teams, teams_by_seat

Draw = Literal["fixed", "balanced", "fixed_teams", "balanced_teams"]
BY_TEAM = ("fixed_teams", "balanced_teams")
"""Draws in which a player has all seats of a team."""
MOST_GAMES = 10_000_000


class Fixture(NamedTuple):
    """A game that is to be played."""

    number: int
    """Its number in the contest, from 0."""
    seed: int
    """Seed of the game."""
    seats: tuple[str, ...]
    """Who plays each seat."""
    teams: Teams = ()
    """The team 1..N of each seat; empty without teams."""


@dataclass(frozen=True, kw_only=True)
class Contest:
    """Games of one config, all of which follow from their numbers: game k has the seed ``seed`` + k.

    Args:
        config: rules, size and maps.
        players: who takes part; a name may be there more than once.
        games: how many games there are.
        seed: seed of the first game.
        draw: "fixed": the players are the seats of every game, in their order. "balanced": every game deals
            its seats among the players, as evenly as they go, in an order drawn from its seed.
            "fixed_teams" and "balanced_teams": the same of teams, all seats of which have one player.
        code: digests of what players are made of that are not the library's, by their names.

    ValueError if a fixed field has not one player for every seat, or for every team.

    """

    config: GameConfig
    players: tuple[str, ...]
    games: int
    seed: int = 0
    draw: Draw = "fixed"
    code: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "players", tuple(self.players))
        object.__setattr__(self, "games", whole_number("games", self.games, 1, MOST_GAMES))
        last = LARGEST_SEED - self.games
        object.__setattr__(self, "seed", whole_number("seed", self.seed, 0, last))
        one_of("draw", self.draw, get_args(Draw))
        if not self.players:
            raise ValueError("there are no players; name at least one")
        if self.draw in ("fixed", "fixed_teams") and len(self.players) != self._parts:
            what = "seats" if self.draw == "fixed" else "teams"
            raise ValueError(
                f"there are {len(self.players)} players; a game of this config has {self._parts} {what}"
            )

    def fixture(self, number: int) -> Fixture:
        """Return game ``number``, 0 to ``games`` - 1."""
        number = whole_number("number", number, 0, self.games - 1)
        seed = self.seed + number
        teams = teams_by_seat(self.config, seed)
        dealt = self._dealt(seed) if self.draw in ("balanced", "balanced_teams") else self.players
        if teams and self.draw in BY_TEAM:
            dealt = tuple(dealt[team - 1] for team in teams)
        return Fixture(number, seed, dealt, teams)

    def fixtures(self, without: Iterable[int] = ()) -> Iterator[Fixture]:
        """Yield all games but those numbered ``without``."""
        done = set(without)
        return (self.fixture(number) for number in range(self.games) if number not in done)

    def to_dict(self) -> dict[str, Any]:
        """Return what names this contest, as values that JSON has; the number of games may grow later."""
        return {
            "config": self.config.hexdigest,
            "settings": self.config.to_dict(),
            "rules": RULES_VERSION,
            "players": list(self.players),
            "seed": self.seed,
            "draw": self.draw,
            "code": dict(self.code),
            "library": __version__,
        }

    @property
    def _parts(self) -> int:
        """What players are dealt to: seats, or teams."""
        return self.config.num_teams if self.draw in BY_TEAM else self.config.num_players

    def _dealt(self, seed: int) -> tuple[str, ...]:
        """Return who has which part of a balanced game: whole rounds of players, then some, shuffled."""
        rng = np.random.default_rng([DEALS, seed])
        parts, players = self._parts, len(self.players)
        rest = rng.permutation(players)[: parts % players].tolist()
        dealt = [*list(range(players)) * (parts // players), *rest]
        return tuple(self.players[dealt[i]] for i in rng.permutation(parts))


DEALS = 0x5EA75
"""Keeps what is drawn for the seats apart from other uses of the same seed."""
