"""Safetensors files, written piece by piece and memory-mapped.

A file is 8 bytes with the length of the header (little-endian), the header (JSON, padded with spaces), and
the tensors one behind the other, little-endian, without gaps. The header gives each tensor's dtype, shape
and place, counted from the end of the header::

    {"bias": {"dtype": "F32", "shape": [64], "data_offsets": [0, 256]}, ...}

The library of that name is not used, though files of either are read by the other:

- Its arrays for numpy are copies in private memory. Two processes that read one file of 256 MB take 256 MB
  each with it, and 128 MB each with this module, which the system can take back at any time
  (measured November 2026, safetensors 0.8.0). Its tensors for torch are shared as well, but
  the core does without torch.
- For numpy it reads neither bfloat16 nor float8. Here a dtype that numpy lacks is shown as whole numbers of
  the same width, and its name is kept beside.
- The header of a hostile file may have 100 MB there, and 16 MB here.

Nothing in such a file is ever executed.
"""

import json
from collections.abc import Iterator, Mapping
from math import prod
from typing import IO, Any, NamedTuple

import numpy as np

from territorial.config.validation import is_whole_number, one_of, raised_as, shown
from territorial.files.arrays import loaded, mapped
from territorial.files.bounded import Bounds, check_size, parse_object
from territorial.typing import Array

NUMPY_DTYPES: Mapping[str, str] = {
    "BOOL": "|b1",
    "U8": "|u1",
    "I8": "|i1",
    "F8_E4M3": "|u1",
    "F8_E5M2": "|u1",
    "U16": "<u2",
    "I16": "<i2",
    "F16": "<f2",
    "BF16": "<u2",
    "U32": "<u4",
    "I32": "<i4",
    "F32": "<f4",
    "U64": "<u8",
    "I64": "<i8",
    "F64": "<f8",
    "C64": "<c8",
}
"""What numpy is given for each dtype of the format: the bits as whole numbers where it has no such dtype."""

# Names of dtypes that other packages add to numpy.
_FOREIGN = {"bfloat16": "BF16", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2"}
_NATIVE = {np.dtype(code): name for name, code in NUMPY_DTYPES.items() if name[:2] not in ("BF", "F8")}

BOUNDS = Bounds(nbytes=16 * 2**20, values=2**20)
"""Of the header, so that it takes some 100 MB at most: room for 100,000 tensors."""
ALIGNMENT = 8
_METADATA = "__metadata__"


class FormatError(ValueError):
    """A file violates the format; the message says where."""


class Tensors(NamedTuple):
    """The content of a file."""

    arrays: dict[str, Array]
    """Read-only views of the file."""
    dtypes: dict[str, str]
    """The dtype of each by the format's names, the keys of ``NUMPY_DTYPES``."""
    metadata: Mapping[str, str]
    """What the header says beside tensors: texts by name."""


# ---- writing -----------------------------------------------------------------------------------------


def pieces(
    tensors: Mapping[str, Any],
    dtypes: Mapping[str, str] | None = None,
    *,
    metadata: Mapping[str, str] | None = None,
    alignment: int = ALIGNMENT,
) -> Iterator[bytes | memoryview]:
    """Return the bytes of a file, piece by piece: the header, then one piece per tensor.

    Args:
        tensors: arrays, or what ``np.asarray`` makes one of, of any shape, under any name.
        dtypes: for arrays that hold the bits of a dtype which numpy lacks, its name: ``{"weight":
            "BF16"}`` for a uint16 array. Arrays of the package ml_dtypes need no entry.
        metadata: texts by name that go into the header; default none.
        alignment: the first tensor begins at a multiple of so many bytes; a multiple of 8.

    Raises TypeError for a dtype that the format lacks and for names that are no strings, ValueError for a
    name that the format reserves, and for ``dtypes`` that do not fit the arrays.

    """
    given = dict(dtypes or {})
    if unknown := sorted(set(given) - set(tensors)):
        raise ValueError(f"dtypes names {unknown[0]!r}, which is not the name of a tensor")
    arrays, names = {}, {}
    for name, tensor in tensors.items():
        if not isinstance(name, str):
            raise TypeError(f"a tensor is called {name!r}; its name must be a string")
        if name == _METADATA:
            raise ValueError(f"a tensor is called {name!r}, which the format reserves")
        array = np.asarray(tensor)
        names[name] = _dtype_name(name, array, given.get(name))
        # Its bits are moved in the byte order they have.
        kind = np.dtype(NUMPY_DTYPES[names[name]]).newbyteorder(array.dtype.byteorder)
        arrays[name] = np.asarray(array, order="C").view(kind)
    # The widest come first, so that every tensor begins at a multiple of its own width.
    order = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    yield _header(order, arrays, names, dict(metadata or {}), alignment)
    for name in order:
        little = arrays[name].astype(NUMPY_DTYPES[names[name]], copy=False)
        yield little.reshape(-1).view(np.uint8).data


def _dtype_name(name: str, array: Array, given: str | None) -> str:
    """Return the format's name of the dtype of ``array``."""
    if given is not None:
        one_of(f"dtypes[{name!r}]", given, NUMPY_DTYPES)
        if np.dtype(NUMPY_DTYPES[given]) not in (array.dtype, array.dtype.newbyteorder("<")):
            raise ValueError(
                f"dtypes[{name!r}] is {given!r}, so the array must be of {np.dtype(NUMPY_DTYPES[given])}; "
                f"it is of {array.dtype}"
            )
        return given
    found = _FOREIGN.get(array.dtype.name) or _NATIVE.get(array.dtype.newbyteorder("<"))
    if found is None:
        raise TypeError(
            f"tensor {name!r} is of dtype {array.dtype}; it must be one of "
            f"{', '.join(dtype.name for dtype in _NATIVE)}, bfloat16, float8_e4m3fn, float8_e5m2"
        )
    return found


def _header(
    order: list[str],
    arrays: Mapping[str, Array],
    dtypes: Mapping[str, str],
    metadata: dict[str, str],
    alignment: int,
) -> bytes:
    entries: dict[str, Any] = {_METADATA: metadata} if metadata else {}
    end = 0
    for name in order:
        begin, end = end, end + arrays[name].nbytes
        shape = list(arrays[name].shape)
        entries[name] = {"dtype": dtypes[name], "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(entries, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    text += b" " * (-(8 + len(text)) % alignment)
    with raised_as(ValueError, "there are too many tensors for one header: "):
        check_size(text, BOUNDS)
    return len(text).to_bytes(8, "little") + text


# ---- reading -----------------------------------------------------------------------------------------


def read(file: IO[bytes], limit: int | None = None) -> Tensors:
    """Return the tensors of an open file as read-only views of its pages, which are not read yet.

    All processes that do so share one copy of the file in the memory of the machine. The views stay
    valid when the file is closed and, on Linux and macOS, when it is removed; no code may write to it or
    shorten it meanwhile: that changes the views, or ends the process (SIGBUS). A file of at most ``limit``
    bytes is read into memory of this process instead, where nothing changes it. Raises FormatError if it is
    not in the format, or larger than that.
    """
    size = file.seek(0, 2)
    file.seek(0)
    if size < 8:
        raise FormatError(f"it has {size} bytes, too few for the length of a header")
    length = int.from_bytes(file.read(8), "little")
    most = min(size - 8, BOUNDS.nbytes)
    if length > most:
        raise FormatError(
            f"its header has {length:,} bytes; it must have at most {most:,}, as the file has {size:,}"
        )
    metadata, entries = _parsed(file.read(length))
    _check_places(entries, size - 8 - length)
    if limit is not None and size > limit:
        raise FormatError(f"it has {size:,} bytes; it must have at most {limit:,}")
    whole = mapped(file, size) if limit is None else loaded(file, size)
    data = whole[8 + length :]
    # It fails for more axes, or longer ones, than numpy can have.
    with raised_as(FormatError, "one of its tensors has an impossible shape: "):
        arrays = {
            name: data[slice(*entry.place)].view(NUMPY_DTYPES[entry.dtype]).reshape(entry.shape)
            for name, entry in entries.items()
        }
    return Tensors(arrays, {name: entry.dtype for name, entry in entries.items()}, metadata)


class _Entry(NamedTuple):
    dtype: str
    shape: tuple[int, ...]
    place: tuple[int, int]  # first byte, and the one after the last, from the beginning of the data


def _parsed(header: bytes) -> tuple[dict[str, str], dict[str, _Entry]]:
    """Return the metadata and the entries of a header."""
    with raised_as(FormatError, "its header: "):
        found = parse_object(header, BOUNDS)
    texts = found.pop(_METADATA, {})
    if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
        raise FormatError(f"its header has the {_METADATA} {shown(texts)}; it must be an object of texts")
    return texts, {name: _entry(name, value) for name, value in found.items()}


def _entry(name: str, value: Any) -> _Entry:
    """Return one entry of a header, checked on its own."""
    if not isinstance(value, dict) or set(value) != {"dtype", "shape", "data_offsets"}:
        raise FormatError(
            f"its header must describe {shown(name)} by dtype, shape and data_offsets, and by nothing else"
        )
    dtype, shape, place = value["dtype"], value["shape"], value["data_offsets"]
    if not isinstance(dtype, str) or dtype not in NUMPY_DTYPES:
        raise FormatError(f"{shown(name)} is of dtype {shown(dtype)}; known are {', '.join(NUMPY_DTYPES)}")
    if not _are_sizes(shape) or not _are_sizes(place) or len(place) != 2:
        raise FormatError(
            f"{shown(name)} has the shape {shown(shape)} and the data_offsets {shown(place)}; "
            "they must be short lists of whole numbers"
        )
    size = prod(shape) * np.dtype(NUMPY_DTYPES[dtype]).itemsize
    if place[1] - place[0] != size:
        raise FormatError(f"{shown(name)} takes {size:,} bytes; its data_offsets are {place!r}")
    return _Entry(dtype, tuple(shape), (place[0], place[1]))


def _are_sizes(values: Any) -> bool:
    """Say whether this is a short list of whole numbers that a file can have, none below zero."""
    if not isinstance(values, list) or len(values) > 64:  # as many axes as numpy has
        return False
    return all(is_whole_number(value, 0, 2**63 - 1) for value in values)


def _check_places(entries: Mapping[str, _Entry], size: int) -> None:
    """Raise FormatError unless the tensors lie one behind the other and fill ``size`` bytes."""
    end = 0
    for name, entry in sorted(entries.items(), key=lambda item: item[1].place):
        if entry.place[0] != end:
            raise FormatError(
                f"{shown(name)} begins at byte {entry.place[0]:,} of the data; the previous "
                f"tensor ends at {end:,}"
            )
        end = entry.place[1]
    if end != size:
        raise FormatError(f"its tensors take {end:,} bytes; it has {size:,}")
