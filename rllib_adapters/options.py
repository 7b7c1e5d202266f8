"""What an environment for RLlib is made with: the ``env_config``, checked."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from territorial import bots
from territorial.config import GameConfig
from territorial.obs_layout import MAX_FRAMES, ObsLayout
from territorial.seats import AGENT

LEAGUE = "league"
"""A seat whose player is drawn anew for every game: a bot, or a frozen snapshot."""

END_WHEN = ("no_agents", "game")


class Opponents(Protocol):
    """Draws who plays the seats called "league" in the next game; a function of this shape will do.

    It is pickled with the config and runs in the processes that play, so that it should hold names
    rather than weights.
    """

    def __call__(self, rng: np.random.Generator, num_seats: int) -> Sequence[str]:
        """Return one name per league seat, each a bot's (``territorial.bots.NAMES``) or a snapshot's."""


class UniformOpponents:
    """Draws every league seat's player from ``names``, all equally likely and independent of the others."""

    def __init__(self, names: Sequence[str]) -> None:
        if isinstance(names, str) or not names:
            raise ValueError(f"names is {names!r}; it must list at least one bot or snapshot")
        self.names = tuple(names)

    def __call__(self, rng: np.random.Generator, num_seats: int) -> list[str]:
        """Return ``num_seats`` names."""
        return [self.names[i] for i in rng.integers(len(self.names), size=num_seats)]


@dataclass(frozen=True, kw_only=True)
class EnvOptions:
    """The checked entries of an ``env_config``; ``TerritorialMultiAgentEnv`` says what each means."""

    config: GameConfig = field(default_factory=GameConfig)
    seats: tuple[str, ...] | None = None
    opponents: Opponents | None = None
    frames: int = 4
    end_when: str = "no_agents"
    max_steps: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.config, GameConfig):
            raise TypeError(f"config is {self.config!r}; it must be a territorial.GameConfig")
        seats = (AGENT,) * self.config.num_players if self.seats is None else tuple(self.seats)
        object.__setattr__(self, "seats", seats)
        _check_seats(seats, self.config.num_players)
        if LEAGUE in seats and not callable(self.opponents):
            raise ValueError(
                f"opponents is {self.opponents!r}, and {seats.count(LEAGUE)} seats are called {LEAGUE!r}; it "
                "must be a function that draws them, such as UniformOpponents"
            )
        _check_whole("frames", self.frames, 1, MAX_FRAMES)
        if self.end_when not in END_WHEN:
            raise ValueError(f"end_when is {self.end_when!r}; it must be one of {', '.join(END_WHEN)}")
        if self.max_steps is not None:
            _check_whole("max_steps", self.max_steps, 1, 2**31 - 1)

    @classmethod
    def from_config(cls, env_config: Mapping[str, Any] | EnvOptions | None) -> EnvOptions:
        """Return the options in ``env_config``; TypeError names an entry that does not exist."""
        if isinstance(env_config, EnvOptions):
            return env_config
        entries = {} if env_config is None else dict(env_config)
        known = [spec.name for spec in dataclasses.fields(cls)]
        unknown = sorted(set(entries) - set(known))
        if unknown:
            raise TypeError(f"env_config has {unknown[0]!r}; it may have {', '.join(known)}")
        return cls(**entries)

    @property
    def layout(self) -> ObsLayout:
        """The sizes of the observations."""
        config = self.config
        return ObsLayout(
            height=config.height, width=config.width, num_players=config.num_players, frames=self.frames
        )


def _check_seats(seats: tuple[str, ...], num_players: int) -> None:
    if len(seats) != num_players:
        raise ValueError(f"seats has {len(seats)} entries; this game has num_players = {num_players}")
    names = (AGENT, LEAGUE, *bots.NAMES)
    for i, name in enumerate(seats):
        if name not in names:
            raise ValueError(f"seats[{i}] is {name!r}; it must be one of {', '.join(names)}")
    if AGENT not in seats:
        raise ValueError(f"no seat is called {AGENT!r}; at least one must be, or nobody learns")


def _check_whole(name: str, value: Any, low: int, high: int) -> None:
    try:
        whole = operator.index(value)
    except TypeError:
        whole = low - 1
    if isinstance(value, bool) or not low <= whole <= high:
        raise ValueError(f"{name} is {value!r}; it must be a whole number from {low} to {high}")
