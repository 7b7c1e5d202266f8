"""The file format of replays, specified in docs/replay_format.md.

A file is a prefix (magic, version of the format, length of the body), the body compressed by zlib, and a
checksum over all before it. The body is four sections, each behind its length: a header in JSON, the
bits of the map, the launches in columns, the checkpoints. Nothing in a file is ever unpickled or run.
Sections are decompressed one after the other, and none that is longer than the header of its game allows.
"""

import hashlib
import json
import struct
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.config.validation import raised_as
from territorial.files.bounded import Bounds, parse_object
from territorial.game.scratch import (
    LAUNCH_FRACTION,
    LAUNCH_SEAT,
    LAUNCH_TARGET,
    LAUNCH_TICK,
    NUM_LAUNCH_COLUMNS,
)


class ReplayError(ValueError):
    """Data is no replay, or cannot be played here; the message has the reason."""


class DivergedError(ReplayError):
    """The game, played again, is not the one that was recorded."""


MAGIC = b"\x89TGR\r\n\x1a\n"
"""As in PNG files: no text, and damaged by whatever changes the ends of lines."""
FORMAT_VERSION = 1
MAX_BODY = 24 * 2**20
"""Most bytes that a body may take: some three million launches."""
MAX_HEADER = 2**18
"""Most bytes of a header: some six times what 250 seats with the longest names take."""
_HEADER_BOUNDS = Bounds(nbytes=MAX_HEADER, values=2**16)
MAX_FILE = MAX_BODY + 2**16
"""What cannot be compressed grows a little."""

_PREFIX = struct.Struct("<8sHI")
_LENGTH = struct.Struct("<I")
_CHECKSUM_BYTES = 8
_LAUNCH_BYTES = 7
_LATEST = 2**31 - 1


class Sections(NamedTuple):
    """The four parts of a body."""

    header: dict[str, Any]
    land: bytes
    launches: bytes
    checkpoints: bytes


Largest = Callable[[dict[str, Any]], tuple[int, int, int]]


# ---- files -----------------------------------------------------------------------------------------


def pack(sections: Sections) -> bytes:
    """Return the bytes of a file; ReplayError if the game was too long for one."""
    header = json.dumps(sections.header, sort_keys=True, separators=(",", ":")).encode()
    body = b"".join(_LENGTH.pack(len(part)) + part for part in (header, *sections[1:]))
    if len(body) > MAX_BODY:
        raise ReplayError(f"the replay takes {len(body):,} bytes; at most {MAX_BODY:,} fit into a file")
    # Level 9 saves three bytes in a hundred and takes forty times as long.
    data = _PREFIX.pack(MAGIC, FORMAT_VERSION, len(body)) + zlib.compress(body, 5)
    return data + _checksum(data)


def unpack(data: bytes, largest: Largest | None = None) -> Sections:
    """Return the parts of a file; ReplayError names the fault.

    ``largest`` is asked, with the header, how many bytes map, launches and checkpoints can take in such a
    game. What claims more is refused before it is decompressed.
    """
    body = _Body(data)
    section = body.section("header", MAX_HEADER)
    with raised_as(ReplayError, "the header of the replay: "):
        header = parse_object(section, _HEADER_BOUNDS)
    most = (MAX_BODY,) * 3 if largest is None else largest(header)
    parts = [body.section(name, size) for name, size in zip(Sections._fields[1:], most, strict=True)]
    body.close()
    return Sections(header, *parts)


class _Body:
    """The sections of a body, decompressed one after the other as they are asked for."""

    def __init__(self, data: bytes) -> None:
        self._length = self._left = _checked_length(data)
        self._stream = data[_PREFIX.size : -_CHECKSUM_BYTES]
        self._inflate = zlib.decompressobj()

    def section(self, name: str, most: int) -> bytes:
        """Return the next section; ReplayError, and nothing is unpacked, if it claims more than ``most``."""
        (size,) = _LENGTH.unpack(self._take(name, _LENGTH.size))
        if most < size <= self._left:
            raise ReplayError(
                f"the {name} of the replay claims {size:,} bytes; in such a game it takes {most:,} at most"
            )
        return self._take(name, size)

    def close(self) -> None:
        """Raise ReplayError unless this was all."""
        if self._left:
            raise ReplayError(f"the replay has {self._left:,} bytes after its last section")
        if self._decompressed(1) or not self._inflate.eof or self._inflate.unused_data:
            raise self._wrong_length()

    def _take(self, name: str, size: int) -> bytes:
        if size > self._left:
            raise ReplayError(f"the {name} of the replay is not complete")
        part = self._decompressed(size) if size else b""
        if len(part) < size:
            raise self._wrong_length()
        self._left -= size
        return part

    def _decompressed(self, size: int) -> bytes:
        """Return the next ``size`` bytes, or less at the end; no more is ever made."""
        with raised_as(ReplayError, "the replay cannot be decompressed: ", zlib.error):
            part = self._inflate.decompress(self._stream, size)
        self._stream = self._inflate.unconsumed_tail
        return part

    def _wrong_length(self) -> ReplayError:
        return ReplayError(f"the replay does not hold the {self._length:,} bytes of contents that it claims")


def _checked_length(data: bytes) -> int:
    """Return the length of the body; ReplayError unless prefix and checksum are in order."""
    if data[: len(MAGIC)] != MAGIC[: len(data)] or not data:
        raise ReplayError("this is not a replay: its first bytes are not those of a replay")
    if len(data) < _PREFIX.size + _CHECKSUM_BYTES:
        raise ReplayError(f"the replay is cut short: it has {len(data)} bytes")
    _, version, length = _PREFIX.unpack_from(data)
    if version != FORMAT_VERSION:
        raise ReplayError(
            f"the replay has version {version} of the format; this library reads version {FORMAT_VERSION}"
        )
    if _checksum(data[:-_CHECKSUM_BYTES]) != data[-_CHECKSUM_BYTES:]:
        raise ReplayError("the replay is cut short or altered: its checksum does not match")
    if length > MAX_BODY:
        raise ReplayError(f"the replay claims {length:,} bytes of contents; at most {MAX_BODY:,} are read")
    return int(length)


def _checksum(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_CHECKSUM_BYTES).digest()


# ---- columns of launches ---------------------------------------------------------------------------


def launches_bytes(num_players: int, count: int) -> int:
    """Return how many bytes so many launches take."""
    return 4 * num_players + _LAUNCH_BYTES * count


def pack_launches(launches: npt.NDArray[np.int32], num_players: int, decision_every: int) -> bytes:
    """Return (N, 4) launches (tick, seat, target, 1024ths), sorted by tick and seat, as columns.

    Seat by seat, as most seats are creatures of habit, and byte by byte, as most high bytes are zero: that
    is what compresses well.
    """
    by_seat = launches[np.argsort(launches[:, LAUNCH_SEAT], kind="stable")]
    counts = np.bincount(by_seat[:, LAUNCH_SEAT], minlength=num_players + 1)[1:]
    decisions = by_seat[:, LAUNCH_TICK] // decision_every
    gaps = np.diff(decisions, prepend=0)
    starts = _starts(counts)[counts > 0]
    gaps[starts] = decisions[starts]
    columns = (
        counts.astype("<u4").tobytes(),
        _planes(gaps, 4),
        _planes(by_seat[:, LAUNCH_TARGET], 1),
        _planes(by_seat[:, LAUNCH_FRACTION] - 1, 2),
    )
    return b"".join(columns)


def unpack_launches(section: bytes, num_players: int, decision_every: int) -> npt.NDArray[np.int32]:
    """Return the launches of ``pack_launches``; ReplayError unless the lengths fit together.

    Whether there are such ticks, owners and fractions is not looked at.
    """
    head = launches_bytes(num_players, 0)
    counts = np.frombuffer(section[:head].ljust(head, b"\0"), "<u4").astype(np.int64)
    total = int(counts.sum())
    if len(section) != launches_bytes(num_players, total):
        raise ReplayError(
            f"the launches of the replay take {len(section):,} bytes; {total:,} of them for {num_players} "
            f"seats take {launches_bytes(num_players, total):,}"
        )
    columns = np.frombuffer(section, np.uint8, offset=head).reshape(_LAUNCH_BYTES, total)
    launches = np.empty((total, NUM_LAUNCH_COLUMNS), np.int32)
    # Columns 0 to 3 are the planes of the decisions since the seat's last launch.
    decisions = np.cumsum(np.ascontiguousarray(columns[:4].T).view("<u4").ravel(), dtype=np.int64)
    before = [int(decisions[start - 1]) if start > 0 else 0 for start in _starts(counts).tolist()]
    decisions -= np.repeat(before, counts)
    latest = int(decisions.max(initial=0)) * decision_every
    if latest > _LATEST:
        raise ReplayError(f"the replay has a launch at tick {latest:,}, but no game lasts so long")
    launches[:, LAUNCH_TICK] = decisions * decision_every
    launches[:, LAUNCH_SEAT] = np.repeat(np.arange(1, num_players + 1, dtype=np.int32), counts)
    launches[:, LAUNCH_TARGET] = columns[4]
    launches[:, LAUNCH_FRACTION] = columns[5] + np.int32(256) * columns[6] + 1
    return launches[np.argsort(launches[:, LAUNCH_TICK], kind="stable")]


def _starts(counts: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
    """Return where each seat's launches begin."""
    return np.cumsum(counts, dtype=np.int64) - counts


def _planes(numbers: npt.NDArray[np.integer[Any]], size: int) -> bytes:
    """Return all low bytes of ``numbers``, then all second bytes, up to ``size``."""
    return numbers.astype("<u4").view(np.uint8).reshape(-1, 4).T[:size].tobytes()


# ---- checkpoints -----------------------------------------------------------------------------------


class Checkpoint(NamedTuple):
    """The digest of the game at a tick."""

    tick: int
    digest: bytes
    """8 bytes, as the rules define them."""


CHECKPOINT = struct.Struct("<I8s")
"""Of the section that has all of them, one after another."""


def pack_checkpoints(checkpoints: tuple[Checkpoint, ...]) -> bytes:
    """Return the section that holds them."""
    return b"".join(CHECKPOINT.pack(*checkpoint) for checkpoint in checkpoints)


def unpack_checkpoints(section: bytes) -> tuple[Checkpoint, ...]:
    """Return the checkpoints of ``pack_checkpoints``."""
    if len(section) % CHECKPOINT.size:
        raise ReplayError(
            f"the checkpoints of the replay take {len(section)} bytes; they take {CHECKPOINT.size} each"
        )
    ticks = np.frombuffer(section, "<u4").reshape(-1, CHECKPOINT.size // 4)[:, 0].astype(np.int64)
    if (np.diff(ticks) <= 0).any():  # before anything is made of each: those that are all alike pack well
        raise ReplayError(
            f"checkpoints of the replay are at ticks {ticks[:5].tolist()} ...; they must increase"
        )
    return tuple(Checkpoint(*fields) for fields in CHECKPOINT.iter_unpack(section))
