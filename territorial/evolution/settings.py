"""What an evolution is asked for: its games, its opponents and its population."""

from __future__ import annotations

from dataclasses import dataclass, field

from territorial import bots
from territorial.bots.style_checks import check_name
from territorial.config import GameConfig
from territorial.config.validation import whole_number
from territorial.constants import LARGEST_SEED, MAX_PLAYERS
from territorial.engine.seats import AGENT, EXTERNAL, check_seats

MAPS, TRAINING_MAPS = 16, 2**20
"""How many maps an evolution has, and the seed of the first: far from those of matches, which begin at 0."""
RANGES = {"population": (6, 10_000), "games": (1, 10_000), "seats": (2, MAX_PLAYERS - 1)}
"""The least and the most of whole numbers, in any game."""


def training_games() -> GameConfig:
    """Return games at full size, on 16 maps that no match has unless it asks for them."""
    return GameConfig(map_seed=TRAINING_MAPS, num_maps=MAPS)


@dataclass(frozen=True, kw_only=True)
class EvolutionSettings:
    """What an evolution is asked for.

    Args:
        config: of its games; default: 256 x 256 cells, 32 players, 16 maps from seed 2**20 on.
        opponents: names of bots, ``style:FILE`` and ``net:FILE``; default: all bots of the library.
        name: what the style that is found is called; default "evolved-1".
        population: styles of a generation; 6 to 10000, default 96.
        games: games that each style plays in a generation; 1 to 10000, default 12.
        seats: seats of a game that styles of the population have; 2 to P - 1, default 0: a fifth of
            them, but at least 2.
        seed: random seed; 0 to 2**64 - 1, default 0.

    ValueError or TypeError names what cannot be.

    """

    config: GameConfig = field(default_factory=training_games)
    opponents: tuple[str, ...] = bots.NAMES
    name: str = "evolved-1"
    population: int = 96
    games: int = 12
    seats: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.config, GameConfig):
            raise TypeError(f"config is {self.config!r}; it must be a GameConfig")
        check_name("an evolved style", self.name)
        if self.name in bots.TAKEN:
            raise ValueError(f"name is {self.name!r}, which is a bot of the library; choose another one")
        object.__setattr__(self, "opponents", tuple(self.opponents))
        if not self.opponents:
            raise ValueError("opponents is empty; name at least one bot")
        check_seats(self.opponents, len(self.opponents))
        if driven := {AGENT, EXTERNAL}.intersection(self.opponents):
            raise ValueError(
                f"opponents has {min(driven)!r}; every opponent must be a bot, as no agent acts here"
            )
        players = self.config.num_players
        if self.seats == 0:
            object.__setattr__(self, "seats", max(2, players // 5))
        for name, (low, high) in (RANGES | {"seats": (2, players - 1), "seed": (0, LARGEST_SEED)}).items():
            object.__setattr__(self, name, whole_number(name, getattr(self, name), low, high))

    @property
    def parents(self) -> int:
        """How many styles of a generation stay and have descendants: the best sixth."""
        return self.population // 6
