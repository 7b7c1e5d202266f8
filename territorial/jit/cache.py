"""Where compiled kernels are kept, and how: what cannot be loaded, for whatever reason, is compiled again."""

from __future__ import annotations

import atexit
import hashlib
import os
import pickle
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core.caching import FunctionCache, NullCache
from numba.core.serialize import dumps

from territorial.files.atomic import write_file

PACKAGES_WITH_KERNELS = (
    "",
    "actions",
    "bots",
    "config",
    "decode",
    "engine",
    "envs",
    "game",
    "jit",
    "nets",
    "observation",
)
"""The packages whose files take part in compiled code, by kernels or constants; "" is ``territorial``."""


def source_digest(package: Path = Path(__file__).parents[1]) -> str:
    """Return a name of the state of all sources that compiled code depends on.

    Numba notices a change only in the file of the cached function itself. Functions and constants that it
    takes from other files may change, and numba would run stale code. So every file of every package with
    kernels is part of the name of the cache's folder. So is the place of ``package``: numba also compares the
    time of the file, and two installations of one release would remove each other's code.
    """
    digest = hashlib.blake2b(str(package.resolve()).encode() + b"\0", digest_size=8)
    for path in sorted(path for name in PACKAGES_WITH_KERNELS for path in (package / name).glob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _user_cache() -> Path:
    """Return the folder for compiled code: NUMBA_CACHE_DIR where set, else the platform's own place."""
    if numba.config.CACHE_DIR:
        return Path(numba.config.CACHE_DIR)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "territorial-env"


def _usable_cache() -> Path:
    """Return the folder for compiled code; one that only this process uses if the usual cannot be written."""
    name = f"kernels-{source_digest()}"
    try:
        folder = _user_cache() / name
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, RuntimeError):  # RuntimeError: there is no home directory
        return _private_cache() / name


def _private_cache() -> Path:
    """Return a new folder, removed at exit; one that is not there if none can be made.

    What lies in it is unpickled, so it must be a folder that no other user could have made.
    """
    try:
        private = Path(tempfile.mkdtemp(prefix="territorial-env-"))
    except OSError:
        return Path(os.devnull)
    atexit.register(shutil.rmtree, private, ignore_errors=True)
    return private


CACHE_DIR: Path = _usable_cache()
"""Where the compiled kernels of this version of the sources are kept; safe to delete."""


class KernelCache(FunctionCache):
    """numba's cache of one function, with files that are checked, and without errors.

    numba raises whatever unpickling a damaged file raises, also when it could compile, and after compiling it
    raises if there is no room on the disk. It calls ``load`` and ``save`` of ``_cache_file`` alone, besides
    ``flush`` on request (numba.core.caching of 0.61 to 0.68).
    """

    def __init__(self, function: Any) -> None:
        configured = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(CACHE_DIR)
        try:
            super().__init__(function)
        finally:
            numba.config.CACHE_DIR = configured
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = KernelFiles(Path(self._cache_path), self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function for these types, or None if there is none that can be loaded."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # whatever linking what is there may raise: it is compiled anew
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function; where that is not possible, say so on stderr and go on."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            sys.stderr.write(
                f"territorial: compiled code cannot be saved in {self._cache_path!r} "
                f"({error.strerror}); the next process will compile it again\n"
            )

    def has(self, sig: Any, target_context: Any) -> bool:
        """Return whether there is code for these types, undamaged."""
        return self._cache_file.has(self._index_key(sig, target_context.codegen()))


class NoCache(NullCache):
    """Where nothing can be written: every process compiles for itself."""

    def has(self, _sig: Any, _target_context: Any) -> bool:
        """Return False."""
        return False


def cache_of(function: Any) -> KernelCache | NoCache:
    """Return what keeps the compiled forms of a kernel."""
    try:
        return KernelCache(function)
    except RuntimeError:  # numba has found no folder that can be written to
        return NoCache()


class KernelFiles:
    """A file for each compiled form of a function: a digest, and the pickle of what numba keeps.

    ``name``: how names of files begin; ``stamp``: numba's, of the file with the function.
    """

    def __init__(self, folder: Path, name: str, stamp: Any) -> None:
        self._folder, self._name = folder, name
        self._origin = (CACHE_DIR.name, numba.__version__, llvmlite.__version__, stamp)

    def load(self, key: Any) -> Any:
        """Return what was saved with ``key``; None if there is nothing, or nothing whole."""
        payload = self._payload(key)
        if payload is None:
            return None
        origin, found, data = pickle.loads(payload)
        return data if (origin, found) == (self._origin, key) else None

    def save(self, key: Any, data: Any) -> None:
        """Keep ``data``; OSError where that is not possible."""
        payload = dumps((self._origin, key, data))
        write_file(self._path(key), _digest(payload) + payload)

    def has(self, key: Any) -> bool:
        """Return whether there is something, undamaged."""
        return self._payload(key) is not None

    def flush(self) -> None:
        """Remove all files of the function."""
        for path in self._folder.glob(f"{self._name}.*.nbc"):
            path.unlink(missing_ok=True)

    def _payload(self, key: Any) -> bytes | None:
        try:
            content = self._path(key).read_bytes()
        except OSError:
            return None
        digest, payload = content[:DIGEST_SIZE], content[DIGEST_SIZE:]
        return payload if digest == _digest(payload) else None

    def _path(self, key: Any) -> Path:
        return self._folder / f"{self._name}.{_digest(repr(key).encode()).hex()}.nbc"


DIGEST_SIZE = 16


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=DIGEST_SIZE).digest()
