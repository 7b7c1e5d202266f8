"""``Dataset``: files of recorded decisions, one tensor per column."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from territorial.files import safetensors
from territorial.files.atomic import draft_of, own_file
from territorial.replay import Decisions
from territorial.training.manifest import DatasetError, DatasetManifest, Shard, read_manifest


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


_new_digest = partial(hashlib.blake2b, digest_size=16)

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
