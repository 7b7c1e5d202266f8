"""Schedules: games, players and seeds of a contest, as plain data."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np

from territorial.config import NON_RULE_FIELDS, GameConfig
from territorial.config.teams import RANDOM
from territorial.config.validation import check_type, one_of, true_or_false, whole_number
from territorial.constants import LARGEST_SEED, RULES_VERSION, __version__
from territorial.engine.seats import AGENT, LINEUPS, Seat, name_of
from territorial.evaluation.outcome import Teams
from territorial.evaluation.places import teams_by_seat
from territorial.evaluation.players import Player
from territorial.typing import Ints

DEFAULT_FIELD = "mixed-1"
CHAMPION = "champion-1"
"""The strongest player of the library."""
USUAL_SEATS: tuple[Seat, ...] = (CHAMPION, *LINEUPS[DEFAULT_FIELD].seats[1:])
"""Of a game that is shown or played, unless others are asked for."""
SIDE_BY_SIDE = 16
"""Games that a process plays at once, at most: their memory still fits into the caches."""
Draw = Literal["fixed", "balanced", "fixed_teams", "balanced_teams"]
BY_TEAM = ("fixed_teams", "balanced_teams")
"""Draws in which a player has all seats of a team."""
MOST_GAMES = 10_000_000
MATCH = "match"
"""The scenario of the games of a match, in which no policy is tried."""
Key = tuple[str, str, int]
"""What tells a game from the others of its file: policy, scenario, number."""


def dealt(seats: tuple[Seat, ...], num_players: int) -> tuple[Seat, ...]:
    """Return one bot for every seat of a game; fewer seats than a line-up has get a fair mix of it.

    ValueError for more bots than seats that are no line-up.
    """
    if len(seats) <= num_players:
        return tuple(islice(cycle(seats), num_players))
    if seats != USUAL_SEATS and lineup_name(seats) is None:
        raise ValueError(f"{len(seats)} bots; at most {num_players} fit (num_players)")
    return tuple(seats[len(seats) * i // num_players] for i in range(num_players))


def lineup_name(seats: tuple[Seat, ...]) -> str | None:
    """Return the name of the line-up that ``seats`` are, exactly, or None."""
    return next((name for name, lineup in LINEUPS.items() if lineup.seats == seats), None)


class ScheduledGame(NamedTuple):
    """A game that is to be played."""

    game: int
    """Its number, from 0."""
    seed: int
    """Seed of the game."""
    seats: tuple[str, ...]
    """Who plays each seat."""
    teams: Teams = ()
    """The team 1..N of each seat; empty without teams."""
    policy: str = ""
    """The policy that is tried; empty in a match."""
    scenario: str = MATCH
    own: tuple[int, ...] = ()
    """The seats 1..P of the policy that is tried."""


@dataclass(frozen=True, kw_only=True)
class Contest:
    """The games of a match, all of which follow from their numbers: game k has the seed ``seed`` + k.

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
    max_cycles: ClassVar[None] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "players", tuple(self.players))
        object.__setattr__(self, "games", whole_number("games", self.games, 1, MOST_GAMES))
        object.__setattr__(self, "seed", whole_number("seed", self.seed, 0, LARGEST_SEED - self.games))
        one_of("draw", self.draw, get_args(Draw))
        if not self.players:
            raise ValueError("there are no players; name at least one")
        if self.draw in ("fixed", "fixed_teams") and len(self.players) != self._parts:
            what = "seats" if self.draw == "fixed" else "teams"
            raise ValueError(
                f"there are {len(self.players)} players; a game of this config has {self._parts} {what}"
            )

    def schedule(self, players: Mapping[str, Player]) -> Schedule:
        """Return the games for ``players``, the entrants that are no bots of the library."""
        return Schedule(
            players=players, scenarios={MATCH: self}, games=self.games, seed=self.seed, code=self.code
        )

    def at(self, number: int) -> tuple[str, ...]:
        """Return the seats of game ``number``."""
        seed = self.seed + number
        dealt = self._dealt(seed) if self.draw in ("balanced", "balanced_teams") else self.players
        teams = teams_by_seat(self.config, seed) if self.draw in BY_TEAM else ()
        return tuple(dealt[team - 1] for team in teams) if teams else dealt

    def to_dict(self) -> dict[str, Any]:
        """Return values for JSON that identify this contest; the number of games may grow later."""
        values = self.config.to_dict()
        return {
            "draw": self.draw,
            "players": list(self.players),
            "settings": {name: value for name, value in values.items() if name not in NON_RULE_FIELDS},
            "config": self.config.hexdigest,
        }

    @property
    def _parts(self) -> int:
        """The parts that players are dealt to: seats, or teams."""
        return self.config.num_teams if self.draw in BY_TEAM else self.config.num_players

    def _dealt(self, seed: int) -> tuple[str, ...]:
        """Return the players of a balanced game by part: whole rounds of players, then some, shuffled."""
        rng = np.random.default_rng([DEALS, seed])
        parts, players = self._parts, len(self.players)
        rest = rng.permutation(players)[: parts % players].tolist()
        dealt = [*list(range(players)) * (parts // players), *rest]
        return tuple(self.players[dealt[i]] for i in rng.permutation(parts))


DEALS = 0x5EA75
"""Keeps what is drawn for the seats apart from other uses of the same seed."""


# ---- the scenarios of an evaluation --------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A test for policies: a game and its other players.

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
        >>> scenario = territorial.Scenario(config=config, seats=["agent", "banker", "novice", "novice"])
        >>> scenario.rotate
        True

    """

    config: GameConfig
    seats: Sequence[Seat] | None = None
    max_cycles: int | None = None
    rotate: bool = True

    def __post_init__(self) -> None:
        check_type("config", self.config, GameConfig, "a territorial.GameConfig")
        players = self.config.num_players
        if self.seats is None:
            others = cycle(LINEUPS[DEFAULT_FIELD].seats)
            usual = [AGENT if team == self._teams[0] else next(others) for team in self._teams]
            object.__setattr__(self, "seats", usual)
        seats = tuple(self.seats or ())
        if len(seats) != players:
            raise ValueError(
                f"seats has {len(seats)} entries but num_players is {players}; pass one entry per seat"
            )
        if AGENT not in seats:
            raise ValueError(f"no seat is called {AGENT!r}; at least one must be, for the policy to play")
        object.__setattr__(self, "seats", seats)
        object.__setattr__(self, "rotate", true_or_false("rotate", self.rotate))
        sizes = np.unique(self._teams, return_counts=True)[1].tolist()
        if self.rotate and len(set(sizes)) > 1:
            raise ValueError(
                f"rotate is True, and the teams have {', '.join(map(str, sizes))} seats; it must be False "
                "where teams are of different sizes"
            )
        if self.max_cycles is not None:
            object.__setattr__(self, "max_cycles", whole_number("max_cycles", self.max_cycles, 1))

    def at(self, number: int) -> tuple[Seat, ...]:
        """Return the seats of game ``number``."""
        by_team = np.argsort(self._teams, kind="stable")
        steps = number * np.count_nonzero(self._teams == self._teams[0]) if self.rotate else 0
        players = np.empty_like(by_team)
        players[by_team] = np.roll(by_team, steps)
        return tuple((self.seats or ())[i] for i in players)

    @property
    def _teams(self) -> Ints:
        """(P,) the team of each seat, which moves on as one; where teams are drawn, each seat is its own."""
        if self.config.team_deal == RANDOM:
            return np.arange(self.config.num_players)
        return np.array(self.config.team_of())

    def to_dict(self) -> dict[str, Any]:
        """Return values for JSON that identify this scenario."""
        return {
            "config": self.config.hexdigest,
            "seats": [name_of(seat) for seat in self.seats or ()],
            "max_cycles": self.max_cycles,
            "rotate": self.rotate,
        }


# ---- all games ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Which games are played: ``games`` of every pair, of which game k has the seed ``seed`` + k.

    Args:
        players: those who are no bots of the library, by the names that seats have.
        scenarios: by name; the seats of all of them are names.
        pairs: which policy is tried in which scenario; default: none, in the scenario of a match.
        games: how many games there are of each pair.
        seed: seed of the first game.
        code: digests of what players are made of, by names; games of others are not of this schedule.
        apart: True: policies see one game at a time, so that it comes out the same whatever is played beside
            it. False: they see all games of a chunk, which is always the same ones.

    """

    players: Mapping[str, Player]
    scenarios: Mapping[str, Contest | Scenario]
    pairs: Sequence[tuple[str, str]] = (("", MATCH),)
    games: int
    seed: int
    code: Mapping[str, str]
    apart: bool = True

    @property
    def size(self) -> int:
        """How many games there are in all."""
        return self.games * len(self.pairs)

    def __contains__(self, key: Key) -> bool:
        return key[2] < self.games and key[:2] in self.pairs

    def scheduled_game(self, policy: str, scenario: str, number: int) -> ScheduledGame:
        """Return game ``number`` of a policy in a scenario."""
        chosen, seed = self.scenarios[scenario], self.seed + number
        seats = tuple(map(str, chosen.at(number)))
        own = tuple(seat for seat, name in enumerate(seats, start=1) if name == AGENT)
        played = tuple(policy if name == AGENT else name for name in seats)
        return ScheduledGame(number, seed, played, teams_by_seat(chosen.config, seed), policy, scenario, own)

    def chunks(self, done: Collection[Key] = (), processes: int = 1) -> list[tuple[ScheduledGame, ...]]:
        """Return the games that are not ``done``, in chunks that are played side by side.

        All processes have as many to play, in as few rounds as SIDE_BY_SIDE allows. Where games depend on
        those beside them, a chunk of which one is missing is played again as a whole.
        """
        found = []
        for pair in self.pairs:
            missing = [number for number in range(self.games) if (*pair, number) not in done]
            rounds = max(1, -(-len(missing) // (processes * SIDE_BY_SIDE)))
            size = max(1, -(-len(missing) // (processes * rounds))) if self.apart else SIDE_BY_SIDE
            numbers = missing if self.apart else list(range(self.games))
            parts = (numbers[first : first + size] for first in range(0, len(numbers), size))
            lacking = set(missing)
            found += [
                tuple(self.scheduled_game(*pair, number) for number in part)
                for part in parts
                if not lacking.isdisjoint(part)
            ]
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return values for JSON that identify this schedule; pairs and games may be added later."""
        return {
            "rules": RULES_VERSION,
            "library": __version__,
            "seed": self.seed,
            "code": dict(self.code),
            "scenarios": {name: scenario.to_dict() for name, scenario in self.scenarios.items()},
        }
