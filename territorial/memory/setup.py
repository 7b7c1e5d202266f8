"""``Setup``: the numbers of a league that its memory depends on."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from territorial.config import FIELDS
from territorial.config.fields import check_values, documents_fields, like, option
from territorial.config.validation import shown
from territorial.constants import MAX_PLAYERS
from territorial.files.bounded import Bounds, check_fields, parse, read_file
from territorial.observation.layout import MAX_FRAMES, ObsLayout

BOUNDS = Bounds(nbytes=2**16, values=1000)
"""Of a file."""


@documents_fields
@dataclass(frozen=True, kw_only=True)
class Setup:
    """A league and how it is trained; whole numbers all.

    Errors name the field, its value and its range.
    """

    height: int = like(FIELDS["height"], 256)
    width: int = like(FIELDS["width"], 256)
    num_players: int = like(FIELDS["num_players"], 32)
    frames: int = option(4, "boards in the stack of an observation", 1, MAX_FRAMES)
    agent_seats: int = option(8, "seats of a game that learning agents control", 1, MAX_PLAYERS)
    pair_seats: int = option(
        1, "those of them that observe pairs in the form mixed; the others observe boards", 0, MAX_PLAYERS
    )
    bots: int = option(32, "bots of the league", 0, 10_000)
    capacity: int = option(32, "snapshots that the league keeps", 0, 100_000)
    parameters: int = option(5_000_000, "parameters of each network", 1, 10**12)
    parameter_bytes: int = option(4, "bytes of each parameter of a snapshot", 1, 8)
    activations: int = option(
        500_000, "numbers per board that a network keeps for backpropagation", 0, 10**12
    )
    env_runners: int = option(2, "processes that collect samples; with 0 the driver does", 0, 10_000)
    driver_plays: int = option(
        1, "1 if the driver has an env runner as well (RLlib's create_local_env_runner), 0 if not", 0, 1
    )
    num_games: int = option(1, "games that run side by side; in each env runner", 1, 100_000)
    learners: int = option(0, "processes that learn; with 0 the driver does", 0, 1_000)
    iteration_steps: int = option(
        64, "environment steps of a training iteration, over all games and env runners", 1, 10**9
    )
    minibatch: int = option(16, "rows of a minibatch, each one agent's step", 1, 10**9)
    replay: int = option(
        0, "agent steps in the replay buffer of DQN, of all modules together; with 0 there is none", 0, 10**9
    )
    process_mb: int = option(285, "MB of an idle process after all imports", 0, 10**6)
    services_mb: int = option(390, "MB of Ray's own processes on each machine", 0, 10**6)

    def __post_init__(self) -> None:
        check_values(self)
        if self.agent_seats > self.num_players:
            raise ValueError(
                f"agent_seats is {self.agent_seats}; there are num_players = {self.num_players} seats"
            )
        if self.pair_seats > self.agent_seats:
            raise ValueError(
                f"pair_seats is {self.pair_seats}; it must be at most agent_seats = {self.agent_seats}"
            )

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the setup with these fields, the others at their defaults; ValueError for unknown ones."""
        check_fields("a setup", values, (), cls.__dataclass_fields__)
        return cls(**values)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Return the setup in a file, TOML or JSON by its ending: names of fields and their values.

        Raises OSError if it cannot be read, ValueError or TypeError if it does not describe a setup.
        """
        path = Path(path)
        text = read_file(path, BOUNDS.nbytes)
        if path.suffix not in (".toml", ".json"):
            raise ValueError(f"{str(path)!r} ends in {path.suffix!r}; it must end in .toml or .json")
        values = tomllib.loads(text.decode("utf-8")) if path.suffix == ".toml" else parse(text, BOUNDS)
        if not isinstance(values, dict):
            raise ValueError(
                f"{str(path)!r} holds {shown(values)}; it must hold names of fields and their values"
            )
        return cls.from_dict(values)

    @property
    def layout(self) -> ObsLayout:
        """The sizes of the observations."""
        return ObsLayout(
            height=self.height, width=self.width, num_players=self.num_players, frames=self.frames
        )
