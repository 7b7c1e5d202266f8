"""Cache of the kernels that numba compiles."""

import hashlib
import inspect
import os
import pickle
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache
from numba.core.serialize import dumps

from territorial._log import LOG
from territorial.files.atomic import own_file, own_folder, write_file
from territorial.jit.library import SOURCES, library, say_that_numba_compiles

FOLDER = "kernels"
"""The name of the folder with all kernels of a user."""
KEPT_S = 30 * 24 * 60 * 60
"""For how many seconds the kernels of sources as they were then are kept."""


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


def _usable_cache() -> Path | None:
    """Return the folder for compiled code; None if it cannot be written."""
    try:
        folder = _user_cache() / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, RuntimeError):  # RuntimeError: there is no home directory
        return None


CACHE_DIR: Path | None = _usable_cache()
"""Where compiled kernels are kept, in folders named by what they are compiled from; safe to delete."""

VERSIONS = (
    f"{sys.platform}, {sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}"
    f"{getattr(sys, 'abiflags', '')}, numpy {np.__version__}, numba {numba.__version__}, "
    f"llvmlite {llvmlite.__version__}, SVML {numba.config.USING_SVML}"
)
"""What compiles, and what compiled code is for; the processor is part of every key."""


def folder_of(file: str) -> Path | None:
    """Return the folder of the kernels in ``file``; None if they must not be kept.

    Those of other packages are not, as what they import is not known. Numba notices a change only in the file
    of the kernel itself, and keeps apart what lies in different places. This name changes with every file
    that code or constants can come from, and with nothing else: another checkout or environment with the same
    sources and versions finds what was compiled here.
    """
    try:
        digest = SOURCES.digest(file)
    except OSError:  # there is no source to tell when the code has changed
        return None
    if digest is None or CACHE_DIR is None:
        return None
    name = hashlib.blake2b(f"{digest}\0{VERSIONS}".encode(), digest_size=8).hexdigest()
    return CACHE_DIR / f"{Path(file).stem}-{name}"


class _NumbaFiles(CompileResultCacheImpl):
    """How numba's cache writes and reads a function; where it lies is not numba's choice."""

    def __init__(self, function: Any, folder: Path) -> None:
        self._lineno = function.__code__.co_firstlineno
        self._py_file, self._folder = inspect.getfile(function), folder
        self._locator = self

    def ensure_cache_path(self) -> None:
        """Make the folder; remove others, of sources as they were long ago."""
        own_folder(self._folder)
        for folder in self._folder.parent.glob(f"*-{'[0-9a-f]' * 16}"):
            with suppress(OSError):
                if folder.stat().st_mtime < time.time() - KEPT_S:
                    shutil.rmtree(folder)


class KernelCache(FunctionCache):
    """numba's cache of one function, with files that are checked, and without errors.

    numba raises whatever unpickling a damaged file raises, also when it could compile, and after compiling it
    raises if there is no room on the disk. It calls ``load`` and ``save`` of ``_cache_file`` alone, and
    ``flush`` on ``recompile()``, which nobody calls (numba.core.caching of 0.61 to 0.68).
    """

    def __init__(self, function: Any, folder: Path) -> None:
        self._name, self._py_func = repr(function), function
        self._impl = _NumbaFiles(function, folder)
        self._cache_path = str(folder)
        self._cache_file = KernelFiles(folder, f"{function.__qualname__}-{function.__code__.co_firstlineno}")
        self.enable()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function for these types, or None if there is none that can be loaded."""
        with suppress(Exception):  # whatever linking what is there may raise: it is compiled anew
            if (found := super().load_overload(sig, target_context)) is not None:
                return found
        return say_that_numba_compiles(library().why_not)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function; log a warning where that is not possible, and go on."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            LOG.warning(
                "compiled code of territorial-env cannot be saved in %r (%s); the next process will compile "
                "it again",
                error.filename or self._cache_path,
                error.strerror,
            )


class NoCache(NullCache):
    """Where nothing can be kept: every process compiles for itself."""

    def load_overload(self, _sig: Any, _target_context: Any) -> None:
        """Return None."""
        say_that_numba_compiles(library().why_not)


def cache_of(function: Any) -> KernelCache | NoCache:
    """Return the cache of the compiled forms of a kernel."""
    folder = folder_of(inspect.getfile(function))
    return NoCache() if folder is None else KernelCache(function, folder)


class KernelFiles:
    """A file per compiled form of a function: a digest, and the pickle of numba's result.

    ``name``: how names of files begin.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name.replace("<", "").replace(">", "")
        self._origin = (folder.name, name, VERSIONS)

    def load(self, key: Any) -> Any:
        """Return the data saved with ``key``; None if it is missing or incomplete."""
        try:
            content = self._path(key).read_bytes()
        except OSError:
            return None
        digest, payload = content[:DIGEST_SIZE], content[DIGEST_SIZE:]
        if digest != _digest(payload):
            return None
        origin, found, data = pickle.loads(payload)
        return data if (origin, found) == (self._origin, key) else None

    def save(self, key: Any, data: Any) -> None:
        """Keep ``data``; OSError where that is not possible."""
        payload = dumps((self._origin, key, data))
        write_file(own_file(self._path(key)), _digest(payload) + payload)

    def _path(self, key: Any) -> Path:
        return self._folder / f"{self._name}.{_digest(repr(key).encode()).hex()}.nbc"


DIGEST_SIZE = 16


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=DIGEST_SIZE).digest()
