"""The file of a league: a zip archive of arrays as numpy writes it, read with bounds on what it becomes.

``about`` is a JSON text, the others are tables of numbers. Nothing else may be in it; what a member takes is
known before it is unpacked; and nothing is ever unpickled or evaluated.
"""

from __future__ import annotations

import errno
import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np

from territorial.config.validation import shown
from territorial.evaluation.payoff import TableSpec, layout
from territorial.files.bounded import Bounds, parse_object
from territorial.typing import Array

ABOUT = "about"
TABLES = tuple(layout(0))
BOUNDS = Bounds(nbytes=32 * 2**20, values=2**21)
"""Of the JSON text."""
_MAX_HEADER = 4096
"""Bytes of what stands before the numbers of an array; numpy takes 128."""
_MAX_DIRECTORY = 4096
"""Bytes of the list of members; five take 300."""
_END = struct.Struct("<4s4H2LH")
_END_MARK, _LARGE_MARK, _LARGE_SIZE = b"PK\5\6", b"PK\6\7", 20
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_HEADER = re.compile(
    rb"\{'descr': '([<>|=]?\w{1,8})', 'fortran_order': False, "
    rb"'shape': \(((?:\d{1,12}, ?)*(?:\d{1,12})?)\), \} *\n"
)


def text_of(about: Mapping[str, Any]) -> bytes:
    """Return the JSON text of a file; ValueError for numbers that JSON lacks."""
    return json.dumps(about, allow_nan=False).encode()


def pack(about: bytes, tables: Mapping[str, Array]) -> bytes:
    """Return the bytes of a file with the text ``about``."""
    file, text = io.BytesIO(), np.frombuffer(about, np.uint8)
    arrays: dict[str, Any] = {ABOUT: text, **tables}
    np.savez_compressed(file, **arrays)  # numpy 2.0 takes allow_pickle for the name of an array
    return file.getvalue()


class LeagueFile:
    """The members of a file that is open for reading; ValueError if it is not one of a league."""

    def __init__(self, file: BinaryIO) -> None:
        with _damage():
            _check_directory(file)
            self._archive = zipfile.ZipFile(file)
            members = self._archive.infolist()
        self._members = {info.filename: info for info in members}
        wanted = sorted(f"{name}.npy" for name in (ABOUT, *TABLES))
        if sorted(info.filename for info in members) != wanted:
            names = shown([info.filename for info in members])
            raise ValueError(f"its members are {names}; they must be {', '.join(wanted)}")

    def about(self) -> dict[str, Any]:
        """Return the fields of the JSON text."""
        dtype, shape, content = _parsed(ABOUT, self._unpacked(ABOUT, BOUNDS.nbytes))
        if dtype != np.dtype(np.uint8).str or shape != (len(content),):
            raise ValueError(f"{ABOUT} is an array of {dtype} of the shape {shape}; it must be one of bytes")
        try:
            return parse_object(bytes(content), BOUNDS)
        except ValueError as error:
            raise ValueError(f"{ABOUT}: {error}") from None

    def tables(self, wanted: Mapping[str, TableSpec]) -> dict[str, Array]:
        """Return the other arrays, which must be as ``wanted`` says: nothing larger is unpacked."""
        return {name: self._table(name, table) for name, table in wanted.items()}

    def _table(self, name: str, wanted: TableSpec) -> Array:
        dtype, shape, content = _parsed(name, self._unpacked(name, wanted.nbytes))
        code = np.dtype(wanted.dtype).str
        if dtype != code or shape != wanted.shape or len(content) != wanted.nbytes:
            raise ValueError(
                f"{name} is an array of {dtype} of the shape {shape} in {len(content):,} bytes; it must be "
                f"of {code} of the shape {wanted.shape} in {wanted.nbytes:,}"
            )
        return np.frombuffer(content, wanted.dtype).reshape(shape)

    def _unpacked(self, name: str, most: int) -> bytes:
        """Return a member of at most ``most`` bytes beside its header."""
        info = self._members[f"{name}.npy"]
        if info.file_size > most + _MAX_HEADER:
            raise ValueError(
                f"{name} takes {info.file_size:,} bytes; it must take at most {most + _MAX_HEADER:,}"
            )
        if info.compress_type not in _METHODS or info.flag_bits & 1:
            raise ValueError(
                f"{name} has the compression method {info.compress_type}; it must be 0 or 8, "
                "and the member not encrypted"
            )
        with _damage(), self._archive.open(info) as member:
            content = member.read(info.file_size)  # never more than that, whatever the stream would give
        if len(content) != info.file_size:
            raise ValueError(f"{name} has {len(content):,} bytes; its archive says {info.file_size:,}")
        return content


@contextmanager
def _damage() -> Iterator[None]:
    """Raise ValueError for all that a damaged archive may fail with."""
    try:
        yield
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        struct.error,
    ) as error:
        raise ValueError(f"the archive is damaged: {str(error) or type(error).__name__}") from None
    except OSError as error:
        if error.errno != errno.EINVAL:  # of a place before the beginning of the file
            raise
        raise ValueError("the archive is damaged: it names places outside of the file") from None


def _check_directory(file: BinaryIO) -> None:
    """Raise ValueError unless the archive's list of members is short: all of it is read at once."""
    size = file.seek(0, io.SEEK_END)
    if size < _END.size + _LARGE_SIZE:
        raise ValueError(f"it has {size} bytes, too few for an archive")
    file.seek(size - _END.size - _LARGE_SIZE)
    before, end = file.read(_LARGE_SIZE), _END.unpack(file.read(_END.size))
    if end[0] != _END_MARK or before.startswith(_LARGE_MARK):
        raise ValueError("it does not end like an archive")
    if end[4] != 1 + len(TABLES) or end[5] > _MAX_DIRECTORY:
        raise ValueError(
            f"it has {end[4]} members, listed in {end[5]:,} bytes; it must have {1 + len(TABLES)}"
        )


def _parsed(name: str, member: bytes) -> tuple[str, tuple[int, ...], memoryview]:
    """Return dtype and shape of an array as numpy saves it, and the bytes of its numbers.

    The header is a Python expression; it is matched and not evaluated.
    """
    wide = 4 if member[6:7] in (b"\2", b"\3") else 2
    begin = 8 + wide + int.from_bytes(member[8 : 8 + wide], "little")
    is_array = member.startswith(b"\x93NUMPY") and begin <= _MAX_HEADER
    match = _HEADER.fullmatch(member[8 + wide : begin]) if is_array else None
    if match is None:
        raise ValueError(f"{name} begins with {shown(bytes(member[:100]))}; it must be an array of numbers")
    shape = tuple(int(side) for side in match[2].split(b",") if side.strip())
    return match[1].decode("ascii"), shape, memoryview(member)[begin:]
