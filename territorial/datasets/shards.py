"""The files of a data set: the decisions of some games, one tensor a column."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from territorial.datasets.manifest import DatasetError, Shard
from territorial.files import safetensors
from territorial.files.atomic import draft_of, own_file
from territorial.files.safetensors import FormatError
from territorial.replay import Decisions

SUFFIX = ".safetensors"
_DIGEST_BYTES = 16


def shard_name(number: int) -> str:
    """Return the name of the file of shard ``number``."""
    return f"shard-{number:06d}{SUFFIX}"


def write_shard(folder: Path, number: int, first_game: int, games: Sequence[Decisions]) -> Shard:
    """Write the decisions of ``games`` into a file: wholly or, if that fails, not at all."""
    columns = Decisions(*map(np.concatenate, zip(*games, strict=True)))
    path, size, digest = own_file(folder / shard_name(number)), 0, _new_digest()
    with draft_of(path) as draft, open(draft, "wb") as file:
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
    except FormatError as error:
        raise DatasetError(f"{str(path)!r} is no shard: {error}") from None
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
    digest, path = _new_digest(), folder / shard.file
    if not path.is_file() or path.stat().st_size != shard.bytes:
        return False
    with open(path, "rb") as file:
        while piece := file.read(2**20):
            digest.update(piece)
    return digest.hexdigest() == shard.digest


def _new_digest() -> hashlib.blake2b:
    return hashlib.blake2b(digest_size=_DIGEST_BYTES)
