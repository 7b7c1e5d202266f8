"""A league and how it is trained, as far as memory depends on it: numbers, from a file or from options."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from territorial.config.validation import hint, shown, whole_number
from territorial.constants import MAX_PLAYERS, MAX_SIDE, MIN_PLAYERS, MIN_SIDE
from territorial.files.bounded import read_file
from territorial.files.strict_json import Bounds, parse
from territorial.observation.layout import MAX_FRAMES, ObsLayout

BOUNDS = Bounds(nbytes=2**16, values=1000)
"""Of a file."""


def _field(default: Any, low: int, high: int, meaning: str) -> Any:
    return dataclasses.field(default=default, metadata={"low": low, "high": high, "help": meaning})


@dataclass(frozen=True, kw_only=True)
class Setup:
    """A league and how it is trained; whole numbers all, ``describe`` says what they mean.

    Errors name the field, its value and its range.
    """

    height: int = _field(256, MIN_SIDE, MAX_SIDE, "rows of the map, in cells")
    width: int = _field(256, MIN_SIDE, MAX_SIDE, "columns of the map, in cells")
    num_players: int = _field(32, MIN_PLAYERS, MAX_PLAYERS, "seats of the game, P")
    frames: int = _field(4, 1, MAX_FRAMES, "boards in the stack of an observation")
    agents: int = _field(8, 1, MAX_PLAYERS, "seats of a game that learning agents control")
    pair_agents: int = _field(
        1, 0, MAX_PLAYERS, "those of them that observe pairs in the form mixed; the others observe boards"
    )
    bots: int = _field(32, 0, 10_000, "bots of the league")
    snapshots: int = _field(32, 0, 100_000, "snapshots that the league keeps")
    parameters: int = _field(5_000_000, 1, 10**12, "parameters of each network")
    parameter_bytes: int = _field(4, 1, 8, "bytes of each parameter of a snapshot")
    activations: int = _field(
        500_000, 0, 10**12, "numbers per board that a network keeps for backpropagation"
    )
    env_runners: int = _field(2, 0, 10_000, "processes that collect samples; with 0 the driver does")
    driver_plays: int = _field(
        1,
        0,
        1,
        "1 if the driver has an env runner as well (RLlib's create_local_env_runner), 0 if not",
    )
    games: int = _field(1, 1, 100_000, "games that run side by side; in each env runner")
    learners: int = _field(0, 0, 1_000, "processes that learn; with 0 the driver does")
    steps: int = _field(
        64, 1, 10**9, "environment steps of a training iteration, over all games and env runners"
    )
    minibatch: int = _field(16, 1, 10**9, "rows of a minibatch, each one agent's step")
    process_mb: int = _field(340, 0, 10**6, "MB of an idle process after all imports")
    services_mb: int = _field(320, 0, 10**6, "MB of Ray's own processes on each machine")

    def __post_init__(self) -> None:
        for spec in dataclasses.fields(self):
            low, high = spec.metadata["low"], spec.metadata["high"]
            number = whole_number(spec.name, getattr(self, spec.name), low, high)
            object.__setattr__(self, spec.name, number)
        if self.agents > self.num_players:
            raise ValueError(f"agents is {self.agents}; there are num_players = {self.num_players} seats")
        if self.pair_agents > self.agents:
            raise ValueError(f"pair_agents is {self.pair_agents}; it must be at most agents = {self.agents}")

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Return what every field means."""
        return {spec.name: spec.metadata["help"] for spec in dataclasses.fields(cls)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Setup:
        """Return the setup with these fields, the others at their defaults; ValueError for unknown ones."""
        fields = cls.describe()
        if unknown := sorted(set(values) - set(fields)):
            meant = hint(unknown[0], fields)
            raise ValueError(
                f"{unknown[0]!r} is not a field of a setup{meant}; its fields are {', '.join(fields)}"
            )
        return cls(**values)

    @classmethod
    def read(cls, path: str | Path) -> Setup:
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
