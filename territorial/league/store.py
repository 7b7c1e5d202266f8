"""``SnapshotStore``: frozen weights on disk, memory-mapped by all processes; ``Manifest`` describes them."""

from __future__ import annotations

import gc
import hashlib
import json
import math
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from io import BufferedReader
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from territorial.config.validation import check_type, raised_as, shown, whole_number
from territorial.constants import OBS_VERSION, RULES_VERSION
from territorial.files import safetensors
from territorial.files.arrays import mapped
from territorial.files.atomic import cleared, naming, own_folder, sync_folder
from territorial.files.bounded import Bounds, check_fields, open_file, parse_object, read_file
from territorial.files.locks import InUseError, locked, one_writer, this_process

# ---- what is wrong ---------------------------------------------------------------------------------


class SnapshotError(Exception):
    """Something is wrong with a snapshot; the message names it."""


class UnknownSnapshotError(SnapshotError, LookupError):
    """There is no snapshot of that name."""


class DamagedSnapshotError(SnapshotError, ValueError):
    """The files of a snapshot are not as they were written."""


class StoreInUseError(SnapshotError, RuntimeError):
    """Another run writes to the store."""


class MismatchError(SnapshotError, ValueError):
    """A snapshot was made for something else: another architecture, observation, version or size."""


# ---- manifests -------------------------------------------------------------------------------------

VERSIONS: Mapping[str, Any] = {"obs_version": OBS_VERSION, "rules_version": RULES_VERSION}
"""Those of this release, which manifests of this game's snapshots have."""
ANY = None
"""In :meth:`Manifest.require`: whatever the field is, it will do."""


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """The description of one snapshot; all of it can be written as JSON.

    Args:
        architecture: the name by which the code that builds the network knows it.
        observation: the form of observations that it reads, such as "packed" or "features"; of another
            environment the digest of their space.
        action_format: the form of its actions, such as "discrete" or "multi_discrete", or the digest of
            their space.
        height: rows of the map it was trained on, in cells. This number and those below are of this game;
            None, the default, in snapshots of other environments.
        width: columns of that map, in cells.
        num_players: seats of the game.
        frames: boards in a stack; 0 where it reads no boards.
        obs_version: version of the observations it was trained with, ``territorial.OBS_VERSION``.
        rules_version: version of the rules it was trained with, ``territorial.RULES_VERSION``.
        settings: what the architecture was built with, such as its widths: two snapshots can share one
            network if ``architecture`` and ``settings`` are equal; default: none.
        metadata: anything else, such as the iteration; nothing here depends on it; default: none.

    Errors name the field, its value and what it must be.

    """

    architecture: str
    observation: str
    action_format: str
    height: int | None = None
    width: int | None = None
    num_players: int | None = None
    frames: int | None = None
    obs_version: int | None = None
    rules_version: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("architecture", "observation", "action_format"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value:
                raise TypeError(f"{name} is {shown(value)}; it must be a string, and not an empty one")
        for name in NUMBERS:
            if getattr(self, name) is not None:
                object.__setattr__(self, name, whole_number(name, getattr(self, name), 0, 2**31))
        for name in ("settings", "metadata"):
            check_type(name, getattr(self, name), Mapping, "a mapping")
            object.__setattr__(self, name, _plain(name, getattr(self, name)))

    def require(self, what: str, **wanted: Any) -> None:
        """Raise MismatchError unless every field named has the value given; ``ANY`` fits all.

        ``what`` says whose manifest it is. TypeError for names that are no fields.
        """
        for name, value in wanted.items():
            if name not in NAMES:
                raise TypeError(f"{name!r} is not a field of a manifest; its fields are {', '.join(NAMES)}")
            found = getattr(self, name)
            if value is not ANY and found != _plain(name, value):
                raise MismatchError(f"{what}: {name} is {found!r}; here it must be {value!r}")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as values that JSON has; :meth:`from_dict` reads them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the manifest of ``to_dict``; ValueError for missing and for unknown fields."""
        check_fields("the manifest", values, NAMES)
        return cls(**values)


NUMBERS = ("height", "width", "num_players", "frames", "obs_version", "rules_version")
"""The fields of snapshots of this game alone."""
NAMES = tuple(spec.name for spec in fields(Manifest))
"""The fields of a manifest."""


def _plain(name: str, value: Any) -> Any:
    """Return a copy of ``value`` as JSON would give it back."""
    if isinstance(value, Mapping):
        if bad := [key for key in value if not isinstance(key, str)]:
            raise TypeError(f"{name} has the key {shown(bad[0])}; keys must be strings")
        return {key: _plain(f"{name}[{key!r}]", part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(f"{name}[{i}]", part) for i, part in enumerate(value)]
    if not (value is None or isinstance(value, (str, bool, int, float))):
        raise TypeError(f"{name} is {value!r}; it must be a JSON value")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name} is {value!r}; JSON has finite numbers alone")
    return value


# ---- the store -------------------------------------------------------------------------------------

Buffer = bytes | bytearray | memoryview | npt.NDArray[np.uint8]

FORMAT = 1
"""Of the folders of snapshots; another number is another layout of the files."""
MANIFEST, WEIGHTS, NETWORK = "manifest.json", "weights.safetensors", "network.safetensors"
# Held by who changes what is in the folder.
_LOCK = ".lock"
# What comes or goes, while the lock is held; without a holder, what a process left that was stopped.
_UNFINISHED = ".unfinished"
# What another snapshot takes the place of; without a holder of the lock, it may be put back.
_REPLACED = ".replaced"
ABOUT_NETWORK = "network"
"""What the manifest says of the file for the engine, if there is one."""
MIN_SIZE, MAX_SIZE = 8, 2**48
"""Bytes of a file of weights."""
MANIFEST_BOUNDS = Bounds(nbytes=2**20, values=2**16)
"""Of the manifest file: settings and metadata are to be short."""
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9_-])?")


class SnapshotBundle(NamedTuple):
    """A snapshot on its way from one machine to another; :meth:`SnapshotStore.pack` makes it.

    Args:
        manifest: the bytes of its manifest file.
        weights: the bytes of its weights file.
        network: the bytes of its file for the engine; default None: it has none.

    """

    manifest: bytes
    weights: Buffer
    network: Buffer | None = None


class Weights(dict[str, npt.NDArray[Any]]):
    """The tensors of a snapshot by name: read-only arrays that alias the file, shared by all processes.

    ``torch.from_numpy`` takes them without a copy (and warns that no code must write to them: the system
    ends a process that does). A tensor of a dtype which numpy lacks is shown as whole numbers of the
    same width; ``dtypes`` has its real one: ``torch.from_numpy(a).view(torch.bfloat16)`` where it is
    "BF16".

    Args:
        name: name of the snapshot.
        manifest: its description.
        tensors: its weights file, opened.

    """

    def __init__(self, name: str, manifest: Manifest, tensors: safetensors.Tensors) -> None:
        super().__init__(tensors.arrays)
        self.name, self.manifest, self.dtypes = name, manifest, tensors.dtypes
        """``dtypes``: that of every tensor, by the names in ``safetensors.NUMPY_DTYPES``."""

    def __repr__(self) -> str:
        return f"Weights({self.name!r}, {len(self)} tensors, {self.nbytes:,} bytes)"

    @cached_property
    def nbytes(self) -> int:
        """Bytes of all tensors together."""
        return sum(array.nbytes for array in self.values())


class SnapshotStore:
    """Snapshots in a folder of a local disk, each a folder of its own with weights and a manifest.

    Any number of processes may use one store at once. A snapshot appears complete or not at all, also
    when a process or the machine is stopped half way, and never changes; another may have its name once it
    is removed. A process that has it loaded keeps it. Nothing in its files is ever executed or unpickled.
    Nobody may write into its files: they are mapped, so that would change what plays, or end the process.

    A store can be pickled: the other side opens the same folder. Where that is another machine, give it
    ``fetch``, which all its processes together call once for each snapshot that they come to need.

    Args:
        path: the folder; made if it is not there. In a file system in memory, such as /dev/shm, the
            weights could not leave memory when it is needed.
        fetch: called with the name of a snapshot that is not here; returns what :meth:`pack` returned where
            it is, or raises KeyError if there is none. It must be possible to pickle it if the
            store is pickled; default None: there is nowhere else to look.

    Names of snapshots have 1 to 128 letters, digits, ``-``, ``_`` and ``.``; they begin with a letter or
    a digit and do not end with a dot. Anything else is a ValueError.

    """

    def __init__(
        self, path: str | os.PathLike[str], *, fetch: Callable[[str], SnapshotBundle] | None = None
    ) -> None:
        self.path = own_folder(Path(path).absolute())
        self.fetch = fetch

    def __repr__(self) -> str:
        return f"SnapshotStore({str(self.path)!r})"

    def __contains__(self, name: object) -> bool:
        """Say whether a snapshot is here; one that could be fetched is not."""
        is_name = isinstance(name, str) and bool(_NAME.fullmatch(name))
        return is_name and os.path.isfile(f"{self.path}/{name}/{MANIFEST}")

    def within(self, name: str) -> SnapshotStore:
        """Return a store of the same kind in a folder of this one, such as for one run of several."""
        return SnapshotStore(self.path / name, fetch=self.fetch)

    def names(self) -> list[str]:
        """Return the names of all snapshots that are here, in alphabetical order."""
        return sorted(name for name in os.listdir(self.path) if name in self)

    # ---- coming and going ---------------------------------------------------------------------------

    def add(
        self,
        name: str,
        tensors: Mapping[str, Any],
        manifest: Manifest,
        *,
        dtypes: Mapping[str, str] | None = None,
        network: Iterable[bytes | memoryview] | None = None,
        replace: bool = False,
    ) -> None:
        """Keep a copy of ``tensors`` under ``name``; it is on the disk when this returns.

        Args:
            name: see the class.
            tensors: arrays by name, of any shape; bool, whole numbers, floats or complex64.
            manifest: what they are.
            dtypes: for uint8 and uint16 arrays that hold the bits of a dtype which numpy lacks, its name:
                ``{"conv.weight": "BF16"}`` where the array is ``tensor.view(torch.uint16).numpy()``.
            network: the bytes, in pieces, of the file with the same network for the engine, as
                ``PairPolicy.export`` writes it; default None: only PyTorch can play it.
            replace: whether it takes the place of a snapshot of that name, which is there until all of the
                new one is on the disk; default False.

        Raises FileExistsError if there is a snapshot of that name and it is not to be replaced, TypeError and
        ValueError for what cannot be stored, OSError if the disk is full. The store is then as it was.

        """
        _check_name(name)
        check_type("manifest", manifest, Manifest, "a territorial.league.Manifest")
        with self._changing() as folder:
            if name in self and not replace:
                raise FileExistsError(f"{self.path} already has a snapshot {name!r}; remove it first")
            if os.path.lexists(self.path / name) and not replace:
                raise FileExistsError(
                    f"{self.path / name} is not a snapshot because it has no {MANIFEST}; remove it or choose "
                    "another name"
                )
            size, digest = _write(folder / WEIGHTS, safetensors.pieces(tensors, dtypes))
            about = {"format": FORMAT, "name": name, "bytes": size, "sha256": digest, **manifest.to_dict()}
            if network is not None:
                about[ABOUT_NETWORK] = _write(folder / NETWORK, network)._asdict()
            text = (json.dumps(about, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")
            with raised_as(ValueError, "the manifest cannot be stored: "):
                _read_about(name, text)
            _write(folder / MANIFEST, [text])
            self._commit(folder, name)

    def remove(self, name: str) -> None:
        """Remove a snapshot; a process that has it loaded keeps it.

        Raises UnknownSnapshotError if it is not here. Windows refuses while a process has it loaded:
        PermissionError, and it stays.
        """
        _check_name(name)
        with self._changing() as folder:
            if not (self.path / name).is_dir():
                raise self._unknown(name)
            (self.path / name).rename(folder / name)

    # ---- using --------------------------------------------------------------------------------------

    def manifest(self, name: str) -> Manifest:
        """Return the manifest of a snapshot, which is fetched if it has to be.

        Raises UnknownSnapshotError and DamagedSnapshotError.
        """
        return self._about(name).manifest

    def digest(self, name: str) -> str:
        """Return the SHA-256 of a snapshot's weights in hexadecimal digits; raises as :meth:`manifest`."""
        return self._about(name).weights.sha256

    def network(self, name: str) -> NetworkPath | None:
        """Return where the file of a snapshot is that the engine plays, or None if it has none.

        The snapshot is fetched if it has to be; raises as :meth:`manifest`, and MismatchError for one of
        other rules. ``territorial.bots.Network`` reads the file and checks it.
        """
        about = self._about(name)
        if about.network is None:
            return None
        about.manifest.require(f"snapshot {name!r}", rules_version=RULES_VERSION)
        return NetworkPath(self.path / name / NETWORK, about.network.sha256)

    def load(self, name: str, *, expect: Mapping[str, Any] | None = None, verify: bool = True) -> Weights:
        """Return the tensors of a snapshot as read-only arrays that alias its file.

        Args:
            name: of the snapshot, which is fetched if it has to be.
            expect: fields of the manifest and what they must be, such as ``{"architecture": "cnn"}``.
                ``obs_version`` and ``rules_version``, where the manifest has them, must be those of this
                release unless given here; ``manifest.ANY`` (None) is for whatever they are.
            verify: read the file once and compare it with its digest, which takes tens of milliseconds
                for 20 MB. False compares lengths only.

        Raises UnknownSnapshotError, MismatchError and DamagedSnapshotError.

        """
        about = self._about(name)
        wanted = {one: VERSIONS[one] for one in VERSIONS if getattr(about.manifest, one) is not None}
        about.manifest.require(f"snapshot {name!r}", **(wanted | dict(expect or {})))
        try:
            with open_file(self.path / name / WEIGHTS) as file:
                about.weights.check(file, verify=verify)
                return Weights(name, about.manifest, safetensors.read(file))
        except (FileNotFoundError, IsADirectoryError, ValueError) as error:
            if self._about(name) != about:  # it was replaced meanwhile
                return self.load(name, expect=expect, verify=verify)
            raise self._damaged(name, WEIGHTS, error) from None

    def pack(self, name: str) -> SnapshotBundle:
        """Return the files of a snapshot for ``fetch`` on another machine; the weights alias the file.

        Raises UnknownSnapshotError.
        """
        _check_name(name)
        try:
            text = read_file(self.path / name / MANIFEST, MANIFEST_BOUNDS.nbytes)
            folder, has_network = self.path / name, _read_about(name, text).network is not None
            return SnapshotBundle(
                text, _whole(folder / WEIGHTS), _whole(folder / NETWORK) if has_network else None
            )
        except (FileNotFoundError, NotADirectoryError):
            raise self._unknown(name) from None
        except (ValueError, IsADirectoryError) as error:
            raise self._damaged(name, f"{MANIFEST} or {WEIGHTS}", error) from None

    # ---- within -------------------------------------------------------------------------------------

    @contextmanager
    def _changing(self) -> Iterator[Path]:
        """Yield a folder for files that come or go; the rest in it is deleted. All other processes wait."""
        with locked(self.path / _LOCK):
            self._take_back()
            cleared(self.path / _REPLACED)
            folder = own_folder(cleared(self.path / _UNFINISHED))
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)

    def _commit(self, folder: Path, name: str) -> None:
        """Make a snapshot of the files in ``folder``, all at once, in place of an older one of that name."""
        sync_folder(folder)
        replaced = self.path / _REPLACED / name
        if os.path.lexists(self.path / name):
            replaced.parent.mkdir(exist_ok=True)
            (self.path / name).rename(replaced)
        try:
            folder.rename(self.path / name)
        finally:
            self._take_back()
        sync_folder(self.path)

    def _take_back(self) -> None:
        """Put back files that were being replaced in vain, and remove the rest."""
        replaced = self.path / _REPLACED
        for old in replaced.iterdir() if replaced.is_dir() and not replaced.is_symlink() else ():
            if not (self.path / old.name).exists():
                old.rename(self.path / old.name)
        with suppress(OSError):
            cleared(replaced)

    def _about(self, name: str) -> About:
        """Return the manifest entry of a snapshot, fetched if necessary."""
        _check_name(name)
        path = self.path / name / MANIFEST
        if self.fetch is not None and not path.is_file():
            self._fetch(name, self.fetch)
        try:
            return _read_about(name, read_file(path, MANIFEST_BOUNDS.nbytes))
        except (FileNotFoundError, NotADirectoryError):
            raise self._unknown(name) from None
        except (ValueError, IsADirectoryError) as error:
            raise self._damaged(name, MANIFEST, error) from None

    def _fetch(self, name: str, fetch: Callable[[str], SnapshotBundle]) -> None:
        """Get a snapshot from elsewhere, unless another process has done so while this one waited."""
        with self._changing() as folder:
            if name in self:
                return
            try:
                text, *files = fetch(name)
            except KeyError:
                raise self._unknown(name) from None
            try:
                about = _read_about(name, bytes(text))
                for file, expected, found in zip((WEIGHTS, NETWORK), about[1:], files, strict=False):
                    _copy(folder / file, expected, found)
            except ValueError as error:
                raise self._damaged(name, "as fetched", error) from None
            _write(folder / MANIFEST, [bytes(text)])
            self._commit(folder, name)

    def _unknown(self, name: str) -> UnknownSnapshotError:
        names = self.names()
        known = f"it has {', '.join(names[:10])}{' ...' * (len(names) > 10)}" if names else "it is empty"
        return UnknownSnapshotError(f"there is no snapshot {name!r} in {self.path}; {known}")

    def _damaged(self, name: str, file: str, error: Exception) -> DamagedSnapshotError:
        return DamagedSnapshotError(f"snapshot {name!r} in {self.path} is damaged: {file}: {error}")


class NetworkPath(NamedTuple):
    """The path of the engine's network file of a snapshot, and its digest."""

    path: Path
    sha256: str


class About(NamedTuple):
    """The content of the manifest file of a snapshot."""

    manifest: Manifest
    weights: _File
    network: _File | None


class _File(NamedTuple):
    """A file of a snapshot, as the manifest has it."""

    bytes: int
    sha256: str

    def check(self, file: BufferedReader, *, verify: bool) -> None:
        """Raise ValueError unless ``file`` has the weights; ``verify``: and has them bit by bit."""
        size = file.seek(0, 2)
        file.seek(0)
        whole = verify and size == self.bytes  # else the size says enough
        self.compare(size, hashlib.file_digest(file, "sha256").hexdigest() if whole else self.sha256)

    def compare(self, size: int, sha256: str) -> None:
        """Raise ValueError unless these are the size and the digest of the weights."""
        if size != self.bytes:
            raise ValueError(f"it has {size:,} bytes; it must have {self.bytes:,}")
        if sha256 != self.sha256:
            raise ValueError("its content differs from what was written (SHA-256)")


def _whole(path: Path) -> Buffer:
    """Return a file, mapped."""
    with open_file(path) as file:
        return mapped(file, file.seek(0, 2))


def _copy(path: Path, expected: _File | None, found: Buffer | None) -> None:
    """Write fetched bytes to ``path``; ValueError unless they match the manifest."""
    if (expected is None) != (found is None):
        there = "is missing" if found is None else "came, which the manifest does not have"
        raise ValueError(f"{path.name} {there}")
    if expected is not None and found is not None:
        expected.compare(*_write(path, [np.frombuffer(found, np.uint8).data]))


def _read_about(name: str, text: bytes) -> About:
    """Return the content of a manifest file; ValueError if it is not one of ``name``."""
    fields = parse_object(text, MANIFEST_BOUNDS)
    found, own = fields.pop("format", None), fields.pop("name", None)
    if found != FORMAT:
        raise ValueError(f"it is of format {shown(found)}; this release reads format {FORMAT}")
    if own != name:
        raise ValueError(f"it is the manifest of {shown(own)}")
    with raised_as(ValueError, "", TypeError):
        network = fields.pop(ABOUT_NETWORK, None)
        weights = {key: fields.pop(key, None) for key in _File._fields}
        manifest = Manifest.from_dict(fields)
        return About(manifest, _file(weights), None if network is None else _file(network))


def _file(values: Any) -> _File:
    check_fields(ABOUT_NETWORK, values, _File._fields)
    file = _File(**values)
    if not isinstance(file.sha256, str) or not _SHA256.fullmatch(file.sha256):
        raise ValueError(f"sha256 is {shown(file.sha256)}; it must be 64 hexadecimal digits")
    whole_number("bytes", file.bytes, MIN_SIZE, MAX_SIZE)
    return file


def _check_name(name: str) -> None:
    check_type("the name of a snapshot", name, str, "a string")
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"the name of a snapshot is {name!r}; it must have 1 to 128 letters, digits, '-', "
            "'_' and '.'. It must begin with a letter or a digit, and not end with a dot"
        )


def _write(path: Path, pieces: Iterable[bytes | memoryview]) -> _File:
    """Write a new file, down to the disk, and return its bytes and its SHA-256."""
    digest, size = hashlib.sha256(), 0
    with naming(path), open(path, "xb") as file:
        for piece in pieces:
            file.write(piece)
            digest.update(piece)
            size += len(piece)
        file.flush()
        os.fsync(file.fileno())
    return _File(size, digest.hexdigest())


# ---- one writer a store ----------------------------------------------------------------------------------


WRITER = ".writer"
"""The file in a store that its writer has locked; it says who that is."""


@contextmanager
def only_writer(path: Path) -> Iterator[None]:
    """Hold the store in ``path`` as the one run that writes to it; others may read.

    Raises StoreInUseError if another run has it.
    """
    gc.collect()  # a run ends with its algorithm, which nobody may be able to reach any more
    with ExitStack() as held:
        try:
            held.enter_context(one_writer(path / WRITER))
        except InUseError as error:
            is_here = error.holder == this_process()
            raise StoreInUseError(
                f"another run writes to the store {path} ({error.holder}) until "
                f"{'algorithm.stop(), or if no variable has the algorithm, until ' * is_here}that process "
                "ends. A new run needs another folder anyway, as this one keeps the snapshots of that run"
            ) from None
        yield
