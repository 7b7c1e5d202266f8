"""What an evolution is asked for: its games, its population and how long it goes on."""

from __future__ import annotations

from dataclasses import dataclass, field

from territorial import bots
from territorial.bots.style_checks import check_name
from territorial.config import GameConfig
from territorial.config.validation import whole_number
from territorial.constants import LARGEST_SEED

TRAINING_MAPS = 2**20
"""Seed of the first map of an evolution. Matches have the maps from 0 on, so that these are not among them."""


def training_games() -> GameConfig:
    """Return games at full size, on 16 maps that no match has unless it asks for them."""
    return GameConfig(map_seed=TRAINING_MAPS, num_maps=16)


@dataclass(frozen=True, kw_only=True)
class EvolutionSettings:
    """What an evolution is asked for.

    Args:
        config: of its games; default None: 256 x 256 cells, 32 players, 16 maps from seed 2**20 on.
        opponents: names of bots; default: all of the library.
        name: what the style that is found is called; default "evolved-1".
        population: styles of a generation; 4 to 512, default 32.
        parents: the best of them, which stay and have descendants; 1 to population - 1, default 8.
        games: games that each style plays in a generation; 1 to 10000, default 24.
        candidates: seats of a game that styles of the population have; 1 to half of the seats, default 4.
        generations: how many there are; 1 to 100000, default 24.
        seed: random seed; 0 to 2**63 - 1, default 0.

    ValueError or TypeError names what cannot be.

    """

    config: GameConfig = field(default_factory=training_games)
    opponents: tuple[str, ...] = bots.NAMES
    name: str = "evolved-1"
    population: int = 32
    parents: int = 8
    games: int = 24
    candidates: int = 4
    generations: int = 24
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.config, GameConfig):
            raise TypeError(f"config is {self.config!r}; it must be a GameConfig")
        check_name("an evolved style", self.name)
        if self.name in (*bots.NAMES, *bots.ALIASES):
            raise ValueError(f"name is {self.name!r}, which is a bot of the library; choose another one")
        object.__setattr__(self, "opponents", tuple(map(bots.canonical, self.opponents)))
        if not self.opponents:
            raise ValueError("opponents is empty; name at least one bot")
        for name, low, high in (
            ("population", 4, 512),
            ("parents", 1, self.population - 1),
            ("games", 1, 10_000),
            ("candidates", 1, self.config.num_players // 2),
            ("generations", 1, 100_000),
            ("seed", 0, min(LARGEST_SEED, 2**63 - 1)),
        ):
            object.__setattr__(self, name, whole_number(name, getattr(self, name), low, high))
