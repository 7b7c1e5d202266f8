"""What an evolution is asked for: its games, its opponents and its population."""

from dataclasses import dataclass, field

from territorial import bots
from territorial.bots.style import check_name
from territorial.config import GameConfig
from territorial.config.fields import about, check_values, documents_fields, option
from territorial.config.validation import whole_number
from territorial.constants import LARGEST_SEED, MAX_PLAYERS
from territorial.engine.seats import AGENT, EXTERNAL, check_seats

MAPS, TRAINING_MAPS = 16, 2**20
"""How many maps an evolution has, and the seed of the first: far from those of matches, which begin at 0."""


@documents_fields
@dataclass(frozen=True, kw_only=True)
class EvolutionSettings:
    """What an evolution is asked for.

    ValueError or TypeError names what cannot be.

    """

    config: GameConfig = field(
        default_factory=lambda: GameConfig(map_seed=TRAINING_MAPS, num_maps=MAPS),
        metadata=about("of its games; default: 256 x 256 cells, 32 players, 16 maps from seed 2**20 on"),
    )
    opponents: tuple[str, ...] = option(bots.NAMES, "names of bots, ``style:FILE`` and ``net:FILE``")
    name: str = option("evolved-1", "what the style that is found is called")
    population: int = option(96, "styles of a generation", 6, 10_000)
    games_per_style: int = option(12, "games that each style plays in a generation", 1, 10_000)
    style_seats: int = option(
        0,
        "seats of a game that styles of the population have, at least 2 and fewer than P; 0: a fifth of them",
        0,
        MAX_PLAYERS - 1,
    )
    seed: int = option(0, "random seed", 0, LARGEST_SEED)

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
        check_values(self)
        players = self.config.num_players
        if self.style_seats == 0:
            object.__setattr__(self, "style_seats", max(2, players // 5))
        whole_number("style_seats", self.style_seats, 2, players - 1)

    @property
    def parents(self) -> int:
        """How many styles of a generation stay and have descendants: the best sixth."""
        return self.population // 6
