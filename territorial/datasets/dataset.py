"""Reading a data set: its shards as arrays that are mapped from their files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import overload

from territorial.datasets.manifest import DatasetError, DatasetManifest, read_manifest
from territorial.datasets.shards import is_intact, read_shard
from territorial.replay import Decisions


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
        >>> from territorial.datasets import Dataset, make
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

    @overload
    def __getitem__(self, index: int) -> Decisions: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Decisions]: ...

    def __getitem__(self, index: int | slice) -> Decisions | Sequence[Decisions]:
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
