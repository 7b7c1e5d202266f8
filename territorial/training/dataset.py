"""``Dataset``: a folder with a manifest and files of recorded decisions, one tensor per column."""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from territorial.config.validation import shown, whole_number
from territorial.constants import FRACTIONS, RULES_VERSION, __version__
from territorial.files import safetensors
from territorial.files.atomic import draft_of, own_file, write_file
from territorial.files.bounded import Bounds, check_fields, parse_object, read_file
from territorial.observation.pair_columns import OWN, UNIT, pair_columns
from territorial.replay import Decisions

FORMAT = 1
FILE = "manifest.json"
NOT_KEPT = ("format", "is_complete", "rows")
"""What a file has beside the fields of a manifest."""
BOUNDS = Bounds(nbytes=64 * 2**20, values=2**22)
"""Room for a hundred thousand shards."""
_new_digest = partial(hashlib.blake2b, digest_size=16)


# ---- the manifest --------------------------------------------------------------------------------------


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

    def with_shards(self, shards: Iterable[Shard]) -> Self:
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


# ---- the whole -----------------------------------------------------------------------------------------


class Dataset(Sequence[Decisions]):
    """A data set as a sequence of shards, each the decisions of some games.

    The arrays of a shard are read-only and mapped from its file: all processes of a machine share one copy,
    and only what is looked at is read. A data set that is still being made has the shards that are done.

    Args:
        folder: what ``make`` or ``territorial dataset`` wrote.

    Raises:
        DatasetError: if it is no data set, or a shard does not fit the manifest.
        OSError: if it cannot be read.

    Example:
        >>> import tempfile
        >>> import territorial
        >>> from territorial.training import Dataset, make
        >>> config = territorial.GameConfig(height=32, width=32, num_players=2, max_ticks=300)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = make(folder, config, ["banker", "novice"], games=2, processes=1)
        ...     for rows in Dataset(folder):
        ...         print(rows.own.shape[1], rows.pairs.shape[1:], sorted(set(rows.game.tolist())))
        34 (8, 26) [0, 1]

    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.manifest: DatasetManifest = read_manifest(self.folder)
        """What the data set was made of, its columns and shards."""

    def __len__(self) -> int:
        return len(self.manifest.shards)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [read_shard(self.folder, shard) for shard in self.manifest.shards[index]]
        return read_shard(self.folder, self.manifest.shards[index])

    def verify(self) -> None:
        """Read all files and compare their digests; DatasetError names the first that is not as it was."""
        for shard in self.manifest.shards:
            if not is_intact(self.folder, shard):
                raise DatasetError(f"{str(self.folder / shard.file)!r} is missing or altered")

    def __repr__(self) -> str:
        manifest = self.manifest
        games = f"{manifest.games:,} of {manifest.recipe.games:,} games"
        return f"Dataset({str(self.folder)!r}, {games}, {manifest.rows:,} rows)"


# ---- shards ---------------------------------------------------------------------------------------


def write_shard(path: Path, first_game: int, games: Sequence[Decisions]) -> Shard:
    """Write the decisions of ``games`` into a file: wholly or, if that fails, not at all."""
    columns = Decisions(*map(np.concatenate, zip(*games, strict=True)))
    size, digest = 0, _new_digest()
    with draft_of(own_file(path)) as draft, open(draft, "wb") as file:
        for piece in safetensors.pieces(columns._asdict()):
            size += file.write(piece)
            digest.update(piece)
    return Shard(path.name, first_game, len(games), len(columns.tick), size, digest.hexdigest())


def read_shard(folder: Path, shard: Shard) -> Decisions:
    """Return the rows of a shard, read-only arrays mapped from its file; DatasetError if they do not fit."""
    path = folder / shard.file
    try:
        with open(path, "rb") as file:
            arrays = safetensors.read(file).arrays
    except FileNotFoundError:
        raise DatasetError(f"{str(path)!r} is missing") from None
    except safetensors.FormatError as error:
        raise DatasetError(f"{str(path)!r} is not a shard: {error}") from None
    if set(arrays) != set(Decisions._fields):
        raise DatasetError(
            f"{str(path)!r} has the arrays {', '.join(sorted(arrays))}; it must have "
            f"{', '.join(Decisions._fields)}"
        )
    lengths = {len(array) for array in arrays.values() if array.ndim}
    if lengths != {shard.rows}:
        raise DatasetError(f"{str(path)!r} has {lengths} rows; the manifest says {shard.rows}")
    return Decisions(**arrays)


def is_intact(folder: Path, shard: Shard) -> bool:
    """Return whether the file of ``shard`` is there and as it was written."""
    path = folder / shard.file
    if not path.is_file() or path.stat().st_size != shard.bytes:
        return False
    with open(path, "rb") as file:
        return hashlib.file_digest(file, _new_digest).hexdigest() == shard.digest
