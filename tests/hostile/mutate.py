"""Damaged and forged copies of files, each a function of a whole file and a seed: bytes in, bytes out.

``mutated`` knows nothing of the format. ``mutated_json`` changes what a JSON text says, so that checks behind
the parser are reached; ``mutated_zip`` changes one member and packs the archive anew, so that its checksums
are right.
"""

import copy
import io
import json
import random
import warnings
import zipfile
from collections.abc import Callable, Iterable
from typing import Any

Mutation = Callable[[bytes, int], bytes]
Edit = Callable[[random.Random, bytearray], None]

# Bytes that one edit moves, doubles or removes at most.
LONGEST_SECTION = 256
# Numbers at which lengths and places overflow.
EXTREMES = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1)
# What stands in the place of a value of a JSON text: other kinds, extremes, and names of files elsewhere.
VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    0.5,
    2**31,
    2**63,
    2**64,
    -(2**63),
    10**30,
    1e308,
    float("nan"),
    float("inf"),
    float("-inf"),
    "",
    "x",
    "../../x",
    "/etc/passwd",
    "\x00",
    "\ud800",
    "é" * 300,
    [],
    [0],
    [[[[]]]],
    {},
    {"": None},
)


# ---- bytes -------------------------------------------------------------------------------------------


def mutated(data: bytes, seed: int) -> bytes:
    """Return a damaged copy of a file, whatever its format; the same for the same seed, and never equal."""
    draw = random.Random(seed)
    while True:
        damaged = bytearray(data)
        for _ in range(draw.randint(1, 4)):
            draw.choice(EDITS)(draw, damaged)
        if damaged != data:
            return bytes(damaged)


def _section(draw: random.Random, data: bytearray) -> slice:
    """Return where a section of the file lies, most often a short one."""
    begin = draw.randint(0, len(data))
    return slice(begin, begin + min(draw.randint(1, 8) ** draw.randint(1, 3), LONGEST_SECTION))


def _flip_bits(draw: random.Random, data: bytearray) -> None:
    for _ in range(draw.randint(1, 8) if data else 0):
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)


def _write(draw: random.Random, data: bytearray) -> None:
    """Put an extreme number, other bytes or a section, up to 64 times, before what is there or over it."""
    width, at, section = draw.choice((1, 2, 4, 8)), draw.randint(0, len(data)), data[_section(draw, data)]
    number = (draw.choice(EXTREMES) % 256**width).to_bytes(width, draw.choice(("little", "big")))
    others = draw.choice((draw.randbytes, bytes))(len(section))
    written = draw.choice((number, number, others, section * draw.choice((1, 1, 2, 64))))
    data[at : at + draw.choice((0, len(written)))] = written


def _truncate(draw: random.Random, data: bytearray) -> None:
    del data[draw.randint(0, len(data)) :]


def _remove(draw: random.Random, data: bytearray) -> None:
    del data[_section(draw, data)]


def _swap_halves(draw: random.Random, data: bytearray) -> None:
    at = draw.randint(0, len(data))
    data[:] = data[at:] + data[:at]


# What is done to a file; the gentle ones, which reach furthest into a reader, are there more than once.
EDITS: tuple[Edit, ...] = (
    _flip_bits,
    _flip_bits,
    *[_write] * 6,
    _truncate,
    _remove,
    _swap_halves,
)


# ---- JSON --------------------------------------------------------------------------------------------


def mutated_json(text: bytes, seed: int) -> bytes:
    """Return a JSON text that says something else: values of other kinds, missing and unknown names.

    One in eight names something twice, which a dictionary cannot.
    """
    draw = random.Random(seed)
    value = [json.loads(text)]
    for _ in range(draw.randint(1, 2)):
        holder, key = draw.choice(_places(value))
        _change(draw, holder, key)
    changed = json.dumps(value[0]).encode()
    return changed.replace(b"{", b'{"x": 1, "x": 2, ', 1) if draw.randrange(8) == 0 else changed


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return every entry of nested lists and dictionaries as its holder and its key."""
    found, waiting = [], [value]
    while waiting:
        holder = waiting.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        found += [(holder, key) for key in keys]
        waiting += [holder[key] for key in keys if isinstance(holder[key], (dict, list))]
    return found


def _change(draw: random.Random, holder: Any, key: Any) -> None:
    """Change one entry: another value, a slightly different one, none, or one more."""
    what = draw.randrange(8)
    if what < 4:
        holder[key] = copy.deepcopy(draw.choice(VALUES))
    elif what == 4 and len(holder) > 1:
        del holder[key]
    elif what == 5:
        holder[key] = [holder[key]] * draw.choice((1, 2, 100))
    elif what == 6 and isinstance(holder, dict):
        holder[draw.choice(("x", "", "__class__", f"{key}2"))] = holder[key]
    else:
        holder[key] = _nudged(draw, holder[key])


def _nudged(draw: random.Random, value: Any) -> Any:
    """Return a value of the same kind that is a little different."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + draw.choice((-1, 1, 2**32)) if draw.randrange(2) else -value - 1
    if isinstance(value, str):
        return value + draw.choice(("x", "/../x", "\n", " "))
    if isinstance(value, list):
        return value[:-1] if draw.randrange(2) else value + value[:1]
    return dict(list(value.items())[:-1]) if isinstance(value, dict) else copy.deepcopy(draw.choice(VALUES))


# ---- archives ----------------------------------------------------------------------------------------


def mutated_zip(data: bytes, seed: int, change: Callable[[str, bytes, int], bytes] | None = None) -> bytes:
    """Return a whole zip archive in which one member is damaged, missing, doubled or called otherwise.

    ``change(name, content, seed)`` returns what becomes of a member; ``mutated`` does without it.
    """
    draw = random.Random(seed)
    members = unzipped(data)
    i = draw.randrange(len(members))
    name, content = members[i]
    what = draw.randrange(12)
    if what == 0:
        del members[i]
    elif what == 1:
        members.append((name, content))
    elif what == 2:
        members[i] = draw.choice((f"../{name}", f"{name}x", "", "x.npy")), content
    elif what == 3:
        members.append((draw.choice(("x", "../x.npy", "y.npy")), content))
    else:
        other = draw.getrandbits(32)
        members[i] = name, change(name, content, other) if change else mutated(content, other)
    return zipped(members)


def unzipped(data: bytes) -> list[tuple[str, bytes]]:
    """Return the members of a zip archive, names and contents."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [(info.filename, archive.read(info)) for info in archive.infolist()]


def zipped(members: Iterable[tuple[str, bytes]]) -> bytes:
    """Return a zip archive with these members; a name may be there twice."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of names that are there twice, which is meant
                archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return file.getvalue()
