"""The manifest of a data set: origin, columns and shards."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from territorial.config.validation import shown, whole_number
from territorial.constants import FRACTIONS, RULES_VERSION, __version__
from territorial.files.atomic import own_file, write_file
from territorial.files.bounded import Bounds, check_fields, parse_object, read_file
from territorial.observation.pair_columns import OWN, UNIT, pair_columns

FORMAT = 1
FILE = "manifest.json"
NOT_KEPT = ("format", "is_complete", "rows")
"""What a file has beside the fields of a manifest."""
BOUNDS = Bounds(nbytes=64 * 2**20, values=2**22)
"""Room for a hundred thousand shards."""


class DatasetError(ValueError):
    """A folder holds no data set, another one, or one that is damaged; the message says which."""


class Shard(NamedTuple):
    """A file of a data set."""

    file: str
    """Its name in the folder."""
    first_game: int
    """The number of its first game; the others follow it."""
    games: int
    rows: int
    bytes: int
    digest: str
    """BLAKE2b of the file, 16 bytes in hexadecimal."""


def shard_name(number: int) -> str:
    """Return the name of the file of shard ``number``."""
    return f"shard-{number:06d}.safetensors"


@dataclass(frozen=True)
class Recipe:
    """All that the rows of a data set follow from, as values that JSON has."""

    config: Mapping[str, Any]
    config_digest: str
    seats: list[str]
    seed: int
    games: int
    games_per_shard: int
    rows_of: list[int | str] | None
    every: int | None
    num_candidates: int
    discount: float
    chances: int | None
    code: Mapping[str, str]
    """By the names of bots that are not the library's, what tells them from others of that name."""

    @property
    def shards(self) -> dict[str, range]:
        """The numbers of the games of each shard, by the name of its file."""
        size, every = self.games_per_shard, range(self.games)
        return {shard_name(first // size): every[first : first + size] for first in every[::size]}

    @property
    def has_teams(self) -> bool:
        """Whether the games have teams; their rows show allies, too."""
        return self.config.get("teams") is not None


@dataclass(frozen=True)
class DatasetManifest:
    """A data set as far as it has been made."""

    recipe: Recipe
    columns: Mapping[str, Mapping[str, int]]
    """The columns of ``own`` and of ``pairs`` in their order, with their versions."""
    shards: tuple[Shard, ...] = ()
    library: str = __version__
    rules: int = RULES_VERSION
    unit: int = UNIT
    fractions: tuple[int, ...] = FRACTIONS

    @property
    def rows(self) -> int:
        """Rows of all shards."""
        return sum(shard.rows for shard in self.shards)

    @property
    def games(self) -> int:
        """Games of all shards."""
        return sum(shard.games for shard in self.shards)

    @property
    def is_current(self) -> bool:
        """Whether its columns are those of this release, which networks of this release read."""
        return self.columns == current_columns(teams=self.recipe.has_teams)

    @property
    def is_complete(self) -> bool:
        """Whether all games are there."""
        return self.games == self.recipe.games

    def with_shards(self, shards: Iterable[Shard]) -> DatasetManifest:
        """Return this manifest with ``shards``, in any order."""
        return replace(self, shards=tuple(sorted(shards, key=lambda shard: shard.first_game)))

    def write(self, folder: Path) -> None:
        """Write it into ``folder``: wholly or, if that fails, not at all."""
        values = {
            "format": FORMAT,
            "is_complete": self.is_complete,
            "rows": self.rows,
            **vars(self),
            "recipe": asdict(self.recipe),
            "shards": [shard._asdict() for shard in self.shards],
        }
        write_file(own_file(folder / FILE), (json.dumps(values, indent=1) + "\n").encode())


def current_columns(*, teams: bool) -> dict[str, dict[str, int]]:
    """Return the columns that this release computes of games with ``teams`` or without, by version."""
    tables = {"own": OWN, "pairs": pair_columns(teams=teams)}
    return {name: {column.name: column.version for column in table} for name, table in tables.items()}


def read_manifest(folder: Path) -> DatasetManifest:
    """Return the manifest in ``folder``; DatasetError if it is none, OSError if it cannot be read."""
    path = folder / FILE
    try:
        return _manifest_of(parse_object(read_file(path, BOUNDS.nbytes), BOUNDS))
    except (TypeError, ValueError) as error:
        raise DatasetError(f"{str(path)!r} is not a manifest of a data set: {error}") from None


def _manifest_of(values: Mapping[str, Any]) -> DatasetManifest:
    if values.get("format") != FORMAT:
        raise ValueError(f"it has format {shown(values.get('format'))}; this release reads format {FORMAT}")
    check_fields("it", values, {*NOT_KEPT, *(spec.name for spec in fields(DatasetManifest))})
    recipe = Recipe(**values["recipe"])
    if not isinstance(recipe.code, dict):
        raise TypeError(f"code is {shown(recipe.code)}; it must be an object with names")
    parts = {
        "recipe": recipe,
        "shards": tuple(_shard_of(one) for one in values["shards"]),
        "fractions": tuple(values["fractions"]),
    }
    kept = {name: value for name, value in values.items() if name not in NOT_KEPT}
    return DatasetManifest(**{**kept, **parts})


def _shard_of(values: Mapping[str, Any]) -> Shard:
    shard = Shard(**values)
    if not isinstance(shard.file, str) or Path(shard.file).name != shard.file or shard.file in ("", ".."):
        raise ValueError(f"it has a shard called {shown(shard.file)}; it must be the name of a file")
    for name in ("first_game", "games", "rows", "bytes"):
        whole_number(f"{name} of {shard.file!r}", getattr(shard, name), 0, 2**63 - 1)
    return shard
