"""Trials of policies: the settings that they are tried in, and playing a portion of their games."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial._moved import names_of, renamed_fields
from territorial.config import GameConfig
from territorial.config.validation import checked_list, finite_number, shown, true_or_false, whole_number
from territorial.constants import LARGEST_SEED, MAX_PLAYERS, MIN_PLAYERS
from territorial.engine.seats import AGENT, LINEUPS, Seat, name_of
from territorial.engine.vec_game import VecGame
from territorial.evaluation.game_loop import GameLoop
from territorial.evaluation.outcome import places_now
from territorial.evaluation.players import Player
from territorial.files.strict_json import check_fields
from territorial.typing import Bools, Ints

DEFAULT_FIELD = "mixed-1"


@renamed_fields(max_steps="max_cycles")
@dataclass(frozen=True, kw_only=True)
class Setting:
    """What policies are tried in: a game, and who else plays it.

    Args:
        config: rules, size and maps.
        seats: one entry per seat: "agent" where the policy plays, a bot (name, ``module:Class``,
            ``style:FILE``, ``net:FILE`` or object), or the name of another policy. Default None: one seat for
            the policy, and bots of the line-up "mixed-1" at the others.
        max_cycles: decisions after which a game is left. Players who live then are placed by land, then by
            troops; at least 1, default None: never.
        rotate: True: all players move on by one seat from game to game; default True.

    A game is left, too, when all seats of the policy are out.

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
            field = LINEUPS[DEFAULT_FIELD].seats
            object.__setattr__(self, "seats", (AGENT, *(field[i % len(field)] for i in range(players - 1))))
        seats = tuple(self.seats or ())
        if len(seats) != players:
            raise ValueError(f"seats has {len(seats)} entries; this game has num_players = {players}")
        if AGENT not in seats:
            raise ValueError(f"no seat is called {AGENT!r}; at least one must be, for the policy to play")
        object.__setattr__(self, "seats", seats)
        object.__setattr__(self, "rotate", true_or_false("rotate", self.rotate))
        if self.max_cycles is not None:
            object.__setattr__(self, "max_cycles", whole_number("max_cycles", self.max_cycles, 1))

    def at(self, episode: int) -> tuple[Seat, ...]:
        """Return the seats of a game."""
        seats = tuple(self.seats or ())
        shift = episode % len(seats) if self.rotate else 0
        return seats[-shift:] + seats[:-shift] if shift else seats

    def to_dict(self) -> dict[str, Any]:
        """Return what tells this setting from others, as values that JSON has."""
        return {
            "config": self.config.hexdigest,
            "seats": [name_of(seat) for seat in self.seats or ()],
            "max_steps": self.max_cycles,  # as files of evaluations have always called it
            "rotate": self.rotate,
        }


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

    @classmethod
    def from_dict(cls, values: Any) -> TrialRecord:
        """Return the record with these fields; ValueError and TypeError if no game leads to them."""
        check_fields("a trial", values, [spec.name for spec in fields(cls)])
        players = whole_number("num_players", values["num_players"], MIN_PLAYERS, MAX_PLAYERS)
        ends = {"places": (1, players), "land": (0, 1), "returns": (-math.inf, math.inf)}
        lists = {name: checked_list(name, values[name]) for name in ends}
        if len({len(part) for part in lists.values()}) != 1 or not 1 <= len(lists["places"]) <= players:
            raise ValueError(
                f"places, land and returns have {', '.join(str(len(part)) for part in lists.values())} "
                f"entries; they must have one for each seat of the policy, of {players} in all"
            )
        for name in ("policy", "setting"):
            if not isinstance(values[name], str):
                raise TypeError(f"{name} is {shown(values[name])}; it must be a string")
        return cls(
            policy=values["policy"],
            setting=values["setting"],
            episode=whole_number("episode", values["episode"], 0, LARGEST_SEED),
            seed=whole_number("seed", values["seed"], 0, LARGEST_SEED),
            num_players=players,
            **{
                name: tuple(finite_number(name, one, *ends[name]) for one in part)
                for name, part in lists.items()
            },
            length=whole_number("length", values["length"], 0),
            is_left=true_or_false("is_left", values["is_left"]),
        )


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
        is_idle = ~((state.alive[:, 1:] != 0) & agents).any(1)
        is_late = limit is not None and steps >= limit
        for k in np.flatnonzero((state.over == 0) & (is_idle | is_late)):
            game.stop_game(int(k))

    def _record(self, game: VecGame, k: int, seats: Ints, returns: npt.NDArray[np.float64]) -> TrialRecord:
        state = game.state
        places = places_now(state, k)
        land = state.land[k, 1:] / state.num_land[k]
        return TrialRecord(
            policy=self._portion.policy,
            setting=self._portion.setting,
            episode=self._portion.episodes[k],
            seed=self._seeds[k],
            num_players=game.config.num_players,
            places=tuple(places[seats].tolist()),
            land=tuple(np.round(land[seats], 6).tolist()),
            returns=tuple(np.round(returns[seats], 6).tolist()),
            length=int(state.tick[k]),
            is_left=not (state.place2[k, 1:] > 0).all(),
        )


if not TYPE_CHECKING:  # what a player is stood here
    __getattr__ = names_of(__name__, "territorial.evaluation.players")
