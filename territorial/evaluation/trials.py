"""Trials of policies: the settings that they are tried in, and playing a portion of their games."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import chain, cycle
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from territorial.config import GameConfig
from territorial.config.teams import MIN_TEAMS, RANDOM
from territorial.config.validation import checked_list, finite_number, shown, true_or_false, whole_number
from territorial.constants import LARGEST_SEED, MAX_PLAYERS, MIN_PLAYERS
from territorial.engine.seats import AGENT, LINEUPS, Seat, name_of
from territorial.engine.vec_game import VecGame
from territorial.evaluation.game_loop import GameLoop
from territorial.evaluation.outcome import places_now
from territorial.evaluation.players import Player
from territorial.evaluation.teams import team_sizes
from territorial.files.strict_json import check_fields
from territorial.typing import Bools, Ints

T = TypeVar("T")
DEFAULT_FIELD = "mixed-1"
OF_TEAMS = frozenset({"num_teams", "members"})
"""Fields of a record that games of teams alone have."""


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

    def at(self, episode: int) -> tuple[Seat, ...]:
        """Return the seats of a game."""
        seats = tuple(self.seats or ())
        if not self.rotate:
            return seats
        if not _moves_teams(self.config):
            return _moved_on(seats, episode)
        members = _members(self.config)
        moved = dict(zip(chain(*members), chain(*_moved_on(members, episode)), strict=True))
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
    own = _members(config)[config.dealt_teams[0] - 1] if _moves_teams(config) else [0]
    others = cycle(field)
    return tuple(AGENT if i in own else next(others) for i in range(players))


def _moves_teams(config: GameConfig) -> bool:
    """Return whether seats stay in their teams from game to game, and teams have several."""
    return config.has_allies and config.team_deal != RANDOM


def _members(config: GameConfig) -> tuple[list[int], ...]:
    """Return the seats, from 0, of each team."""
    members: tuple[list[int], ...] = tuple([] for _ in range(config.num_teams))
    for seat, team in enumerate(config.dealt_teams):
        members[team - 1].append(seat)
    return members


def _moved_on(parts: tuple[T, ...], steps: int) -> tuple[T, ...]:
    """Return ``parts`` in a circle, each so many places further on."""
    shift = steps % len(parts)
    return parts[-shift:] + parts[:-shift] if shift else parts


class Portion(NamedTuple):
    """Games of one policy in one setting that are played side by side."""

    policy: str
    setting: str
    episodes: tuple[int, ...]


@dataclass(frozen=True)
class TrialRecord:
    """How a policy did in one game. Lists have an entry for each of its seats, in the order of seats."""

    policy: str
    setting: str
    episode: int
    seed: int
    num_players: int
    places: tuple[float, ...]
    """1 is the best; equals share the mean of their places."""
    land: tuple[float, ...]
    """Share of the land when the game ended or was left."""
    returns: tuple[float, ...]
    """Sums of rewards."""
    length: int
    """Ticks played."""
    is_left: bool
    """The game went on when it was left."""
    num_teams: int | None = None
    """N, the teams of the game, whose places are 1 to N; None without teams, and not in a file then."""
    members: tuple[int, ...] | None = None
    """How many seats the team of each seat has; None without teams, and not in a file then."""

    @property
    def last_place(self) -> int:
        """The last place that there is."""
        return self.num_players if self.num_teams is None else self.num_teams

    @property
    def place(self) -> float:
        """The mean place; with teams over its teams, each as far as the seats are the policy's."""
        if self.members is None:
            return float(np.mean(self.places))
        return float(np.average(self.places, weights=1 / np.array(self.members)))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as values that JSON has, see :meth:`from_dict`."""
        values = asdict(self)
        return {name: value for name, value in values.items() if name not in OF_TEAMS or value is not None}

    @classmethod
    def from_dict(cls, values: Any) -> TrialRecord:
        """Return the record with these fields; ValueError and TypeError if no game leads to them."""
        check_fields("a trial", values, {spec.name for spec in fields(cls)} - OF_TEAMS, OF_TEAMS)
        players = whole_number("num_players", values["num_players"], MIN_PLAYERS, MAX_PLAYERS)
        ends = {"places": (1, players), "land": (0, 1), "returns": (-math.inf, math.inf)}
        lists = {name: checked_list(name, values[name]) for name in ends}
        if len({len(part) for part in lists.values()}) != 1 or not 1 <= len(lists["places"]) <= players:
            raise ValueError(
                f"places, land and returns have {', '.join(str(len(part)) for part in lists.values())} "
                f"entries; they must have one for each seat of the policy, of {players} in all"
            )
        numbers: dict[str, Any] = {
            name: tuple(finite_number(name, one, *ends[name]) for one in part) for name, part in lists.items()
        }
        for name in ("policy", "setting"):
            if not isinstance(values[name], str):
                raise TypeError(f"{name} is {shown(values[name])}; it must be a string")
        return cls(
            policy=values["policy"],
            setting=values["setting"],
            episode=whole_number("episode", values["episode"], 0, LARGEST_SEED),
            seed=whole_number("seed", values["seed"], 0, LARGEST_SEED),
            num_players=players,
            **numbers,
            length=whole_number("length", values["length"], 0),
            is_left=true_or_false("is_left", values["is_left"]),
            **_of_teams(values, players, len(lists["places"])),
        )


def _of_teams(values: Mapping[str, Any], players: int, seats: int) -> dict[str, Any]:
    """Return what a record says of teams; ValueError and TypeError for what cannot be."""
    if not OF_TEAMS & set(values):
        return {}
    check_fields("a trial of teams", {name: values[name] for name in OF_TEAMS & set(values)}, OF_TEAMS)
    members = checked_list("members", values["members"])
    if len(members) != seats:
        raise ValueError(f"members has {len(members)} entries; there are {seats} seats of the policy")
    return {
        "num_teams": whole_number("num_teams", values["num_teams"], MIN_TEAMS, players),
        "members": tuple(whole_number(f"members[{i}]", n, 1, players) for i, n in enumerate(members)),
    }


@dataclass(frozen=True)
class Tryout:
    """All that a process needs to play portions; calling it makes what plays them.

    Seats of ``settings`` have names alone; ``policies`` has those that are not the library's bots.
    """

    policies: Mapping[str, Player]
    settings: Mapping[str, Setting]
    seed: int

    def __call__(self) -> Callable[[Portion], list[TrialRecord]]:
        """Return a function that plays a portion and returns its records."""
        loop = GameLoop(self.policies)
        return lambda portion: _Trial(self, portion).play(loop)


class _Trial:
    """The games of one portion."""

    def __init__(self, tryout: Tryout, portion: Portion) -> None:
        self._portion, self._setting = portion, tryout.settings[portion.setting]
        self._seeds = [tryout.seed + episode for episode in portion.episodes]
        self._seats = [list(map(str, self._setting.at(episode))) for episode in portion.episodes]

    def play(self, loop: GameLoop) -> list[TrialRecord]:
        """Play to the end of all games and return their records."""
        who = [[self._portion.policy if name == AGENT else name for name in row] for row in self._seats]
        agents = np.array(self._seats) == AGENT
        batch = loop.begin(self._setting.config, who, self._seeds, apart=False)
        returns = np.zeros(agents.shape)
        for number, step in enumerate(batch.steps(), start=1):
            returns += step[1]
            self._leave(batch.game, agents, number)
        return [
            self._record(batch.game, k, np.flatnonzero(agents[k]), returns[k]) for k in range(len(agents))
        ]

    def _leave(self, game: VecGame, agents: Bools, steps: int) -> None:
        """Leave the games in which nothing more is to be learned of the policy, or which take too long."""
        # The engine's end_when="no_agents" cannot: the policy may be a bot of the engine, and agents may be
        # other policies.
        state, limit = game.state, self._setting.max_cycles
        is_idle = ~((state.place2[:, 1:] == 0) & agents).any(1)
        is_late = limit is not None and steps >= limit
        for k in np.flatnonzero((state.over == 0) & (is_idle | is_late)):
            game.stop_game(int(k))

    def _record(self, game: VecGame, k: int, seats: Ints, returns: npt.NDArray[np.float64]) -> TrialRecord:
        state = game.state
        places = places_now(state, k)
        land = state.land[k, 1:] / state.num_land[k]
        config = game.config
        of_teams: dict[str, Any] = {}
        if config.has_allies:
            sizes = team_sizes(state.team[k, 1:])
            of_teams = {"num_teams": config.num_teams, "members": tuple(sizes[seats].tolist())}
        return TrialRecord(
            policy=self._portion.policy,
            setting=self._portion.setting,
            episode=self._portion.episodes[k],
            seed=self._seeds[k],
            num_players=config.num_players,
            places=tuple(places[seats].tolist()),
            land=tuple(np.round(land[seats], 6).tolist()),
            returns=tuple(np.round(returns[seats], 6).tolist()),
            length=int(state.tick[k]),
            is_left=not (state.place2[k, 1:] > 0).all(),
            **of_teams,
        )
