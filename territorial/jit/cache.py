"""Where compiled kernels are kept, and how: what cannot be loaded, for whatever reason, is compiled again.

A kernel holds the code of the functions that it calls, and the values of globals. Each of these is made in
the module of the kernel, or has come there by an import. So what can change machine code are the files of the
package to which imports lead from the kernel's own file. An edit of any other file leaves it as it is.
"""

import hashlib
import inspect
import os
import pickle
import re
import shutil
import stat
import sys
import tempfile
import time
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import numba
import numpy as np
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache
from numba.core.serialize import dumps

from territorial._log import LOG
from territorial.files.atomic import own_file, own_folder, write_file
from territorial.files.locks import locked

# ---- sources -------------------------------------------------------------------------------------

PACKAGE = Path(__file__).parents[1]

_IMPORT = re.compile(
    rb"^[ \t]*(?:import[ \t]+territorial\b\.?([.\w]*)"
    rb"|from[ \t]+territorial\b\.?([.\w]*)[ \t]+import[ \t]+(\((?:[^)#]|#[^\n]*)*\)|[^\n]*))",
    re.MULTILINE,
)
"""All imports of the package are absolute. To parse the files takes thirty times as long as to find this."""


class _SourceFile(NamedTuple):
    digest: bytes
    imported: set[str]
    """Paths of the files that it imports."""
    inits: list[str]
    """Paths of the ``__init__`` of the packages in which it lies."""


class Sources:
    """The files of ``package`` as they are when they are first read.

    That is while kernels are defined, just after Python has read them. A file that was edited after
    ``started``, in nanoseconds, is not known to have the code that runs in this process: Python may have
    read it before.
    """

    def __init__(self, package: Path = PACKAGE, started: int | None = None) -> None:
        self._package = os.path.realpath(package)
        self._started = time.time_ns() if started is None else started
        self._files: dict[str, _SourceFile] = {}

    def digest(self, file: str) -> str | None:
        """Return a name of what kernels in ``file`` are compiled from, wherever the package lies.

        None if the file is not of the package, or if a file can have changed since this process has its code.
        """
        folder, name = os.path.split(file)  # a link to a file stays, as Python imports from its folder
        own = os.path.join(os.path.realpath(folder), name)
        if not own.startswith(self._package + os.sep):
            return None
        reached, now = self.reached_from(own), time.time_ns()
        if any(self._started < os.stat(path).st_mtime_ns <= now for path in reached):
            return None
        digest = hashlib.blake2b(digest_size=8)
        for path in sorted(reached):
            relative = path[len(self._package) :].replace(os.sep, "/")
            digest.update(relative.encode() + b"\0" + self._file(path).digest)
        return digest.hexdigest()

    def reached_from(self, own: str) -> set[str]:
        """Return ``own`` and all files whose code or constants its kernels can have.

        The packages in which these lie count with their ``__init__``, as it is run. What that imports
        counts only where one of the files imports the package itself.
        """
        reached: set[str] = set()
        to_follow = [own]
        while to_follow:
            path = to_follow.pop()
            if path not in reached:
                reached.add(path)
                to_follow += self._file(path).imported
        return reached.union(*(self._file(path).inits for path in reached))

    def _file(self, path: str) -> _SourceFile:
        if path not in self._files:
            content = Path(path).read_bytes()
            imported = {self._module(name) for name in imports_in(content)}
            folders = path[len(self._package) + 1 :].split(os.sep)[:-1]
            inits = [
                os.path.join(self._package, *folders[:depth], "__init__.py")
                for depth in range(len(folders) + 1)
            ]
            digest = hashlib.blake2b(content, digest_size=16).digest()
            self._files[path] = _SourceFile(digest, imported, inits)
        return self._files[path]

    def _module(self, name: str) -> str:
        """Return the file of the module ``name`` of the package, or else of the module that has the name."""
        place = os.path.join(self._package, *filter(None, name.split(".")))
        for file in (os.path.join(place, "__init__.py"), f"{place}.py"):
            if os.path.isfile(file):
                return file
        return self._module(name.rpartition(".")[0])


def imports_in(content: bytes) -> set[str]:
    """Return what a file imports of the package, without its name: of ``from a import b`` that is a.b."""
    names: set[str] = set()
    for found in _IMPORT.finditer(content):
        module, origin, imported = (part.decode() for part in found.groups(b""))
        words = re.findall(r"\w+", re.sub(r"#.*|\bas\s+\w+", "", imported))
        names |= {f"{origin}.{word}" for word in words} if imported else {module}
    return names


FOLDER = "kernels"
"""The name of the folder with all kernels of a user."""
DAY_S = 24 * 60 * 60
# The file in a folder of kernels that has a line for each: its name, and the seconds that compiling it took.
SECONDS = "seconds.txt"
UNUSED_DAYS = 30
"""What no process has loaded for so long is removed."""


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
    """Return the folder for compiled code; if the usual cannot be written, one among temporary files."""
    try:
        folder = _user_cache() / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, RuntimeError):  # RuntimeError: there is no home directory
        return _temporary_cache()


def _temporary_cache() -> Path:
    """Return the folder among temporary files that all processes of this user share; else NOWHERE.

    What lies in it is unpickled, so it must be one that no other user can have made, or can write to.
    """
    with suppress(OSError):
        user = f"-{os.getuid()}" if sys.platform != "win32" else ""
        folder = Path(tempfile.gettempdir(), f"territorial-env{user}")
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        if _is_private(folder):
            return folder / FOLDER
    return NOWHERE


def _is_private(folder: Path) -> bool:
    """Return whether this is a folder, and no link, in which no other user can change anything."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        return False
    if sys.platform == "win32":  # each user has temporary files of their own
        return True
    above = folder.parent.stat()
    is_open = above.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not above.st_mode & stat.S_ISVTX
    can_be_replaced = is_open or above.st_uid not in (0, os.getuid())
    return found.st_uid == os.getuid() and not found.st_mode & 0o077 and not can_be_replaced


NOWHERE = Path(os.devnull)
CACHE_DIR: Path = _usable_cache()
"""Where compiled kernels are kept, in folders named by what they are compiled from; safe to delete."""

_PYTHON = f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}"
_LIBRARIES = f"numpy {np.__version__}, numba {numba.__version__}, llvmlite {llvmlite.__version__}"
_SVML = f"SVML {numba.config.USING_SVML}"
VERSIONS = f"{sys.platform}, {_PYTHON}{getattr(sys, 'abiflags', '')}, {_LIBRARIES}, {_SVML}"
"""What compiles, and what compiled code is for; the processor is part of every key."""
_sources = Sources()


def folder_of(file: str) -> Path | None:
    """Return the folder of the kernels in ``file``; None if they must not be kept.

    Those of other packages are not, as what they import is not known. Numba notices a change only in the file
    of the kernel itself, and keeps apart what lies in different places. This name changes with every file
    that code or constants can come from, and with nothing else: another checkout or environment with the same
    sources and versions finds what was compiled here.
    """
    try:
        digest = _sources.digest(file)
    except OSError:  # there is no source to tell when the code has changed
        return None
    if digest is None or CACHE_DIR == NOWHERE:
        return None
    name = hashlib.blake2b(f"{digest}\0{VERSIONS}".encode(), digest_size=8).hexdigest()
    return CACHE_DIR / f"{Path(file).stem}-{name}"


def seconds_of(module: str) -> dict[str, float]:
    """Return the seconds that compiling each kernel of a module took here the last time, in any version."""
    with suppress(OSError, ValueError):
        files = sorted(CACHE_DIR.glob(f"{module}-*/{SECONDS}"), key=os.path.getmtime)
        lines = re.findall(
            r"(\w+) (\d+\.\d)\n", "\n".join(file.read_text("ascii", "replace") for file in files)
        )
        return {kernel: float(seconds) for kernel, seconds in lines}
    return {}


def remove_unused(cache: Path = CACHE_DIR) -> None:
    """Remove the folders that no process has used for UNUSED_DAYS, unless another process is at it."""
    with suppress(OSError), locked(cache / "removing.lock", wait=False):
        _remove_unused(cache)


def _remove_unused(cache: Path) -> None:
    for removed in cache.glob("unused-*"):  # by a process that was stopped
        shutil.rmtree(removed, ignore_errors=True)
    oldest = time.time() - UNUSED_DAYS * DAY_S
    for folder in cache.glob(f"*-{'[0-9a-f]' * 16}"):
        removed = cache / f"unused-{folder.name}"
        with suppress(OSError):
            if folder.stat().st_mtime < oldest:
                folder.rename(removed)
                if removed.stat().st_mtime < oldest:
                    shutil.rmtree(removed, ignore_errors=True)
                else:  # a process has begun to use it in this moment
                    removed.rename(folder)


class _NumbaFiles(CompileResultCacheImpl):
    """How numba's cache writes and reads a function; where it lies is not numba's choice."""

    def __init__(self, function: Any, folder: Path) -> None:
        self._lineno = function.__code__.co_firstlineno
        self._py_file, self._folder = inspect.getfile(function), folder
        self._locator = self

    def ensure_cache_path(self) -> None:
        """Make the folder."""
        own_folder(self._folder)


class KernelCache(FunctionCache):
    """numba's cache of one function, with files that are checked, and without errors.

    numba raises whatever unpickling a damaged file raises, also when it could compile, and after compiling it
    raises if there is no room on the disk. It calls ``load`` and ``save`` of ``_cache_file`` alone, and
    ``flush`` on ``recompile()``, which nobody calls (numba.core.caching of 0.61 to 0.68).
    """

    _has_removed = False

    def __init__(self, function: Any, folder: Path) -> None:
        self._name, self._py_func = repr(function), function
        self._impl = _NumbaFiles(function, folder)
        self._cache_path = str(folder)
        name = f"{Path(inspect.getfile(function)).stem}.{function.__qualname__}-{self._impl._lineno}"
        self._cache_file = KernelFiles(folder, name.replace("<", "").replace(">", ""))
        self.enable()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function for these types, or None if there is none that can be loaded."""
        self._began = time.perf_counter()  # where there is none, it is compiled and saved next
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # whatever linking what is there may raise: it is compiled anew
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function, and its seconds; log a warning where that is not possible, and go on."""
        try:
            super().save_overload(sig, data)
            with open(own_file(Path(self._cache_path, SECONDS)), "a", encoding="ascii") as file:
                file.write(f"{self._py_func.__name__} {time.perf_counter() - self._began:.1f}\n")
        except OSError as error:
            LOG.warning(
                "compiled code of territorial-env cannot be saved in %r (%s); the next process will compile "
                "it again",
                error.filename or self._cache_path,
                error.strerror,
            )
        if not KernelCache._has_removed:
            KernelCache._has_removed = True
            remove_unused()

    def locked(self) -> AbstractContextManager[int | None]:
        """Keep out all others who lock the folder; OSError where that is not possible."""
        self._impl.ensure_cache_path()
        with suppress(OSError):  # it may be another user's
            os.utime(self._cache_path)  # so that nobody removes it meanwhile
        return locked(Path(self._cache_path, "compiling.lock"), by_file=False)

    def has(self, sig: Any, target_context: Any) -> bool:
        """Return whether there is code for these types, undamaged."""
        return self._cache_file.payload(self._index_key(sig, target_context.codegen())) is not None


class NoCache(NullCache):
    """Where nothing can be kept: every process compiles for itself."""

    def locked(self) -> AbstractContextManager[int | None]:
        """Return what keeps no other out."""
        return nullcontext()

    def has(self, _sig: Any, _target_context: Any) -> bool:
        """Return False."""
        return False


def cache_of(function: Any) -> KernelCache | NoCache:
    """Return what keeps the compiled forms of a kernel."""
    folder = folder_of(inspect.getfile(function))
    return NoCache() if folder is None else KernelCache(function, folder)


class KernelFiles:
    """A file for each compiled form of a function: a digest, and the pickle of what numba keeps.

    ``name``: how names of files begin.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self._origin = (folder.name, name, VERSIONS)

    def load(self, key: Any) -> Any:
        """Return what was saved with ``key``; None if there is nothing, or nothing whole."""
        payload = self.payload(key)
        if payload is None:
            return None
        origin, found, data = pickle.loads(payload)
        return data if (origin, found) == (self._origin, key) else None

    def save(self, key: Any, data: Any) -> None:
        """Keep ``data``; OSError where that is not possible."""
        payload = dumps((self._origin, key, data))
        write_file(own_file(self._path(key)), _digest(payload) + payload)

    def payload(self, key: Any) -> bytes | None:
        """Return what was written with ``key``; None if there is nothing, or it is damaged."""
        try:
            content = self._path(key).read_bytes()
        except OSError:
            return None
        with suppress(OSError):  # it may be another user's, or gone
            if self._folder.stat().st_mtime < time.time() - DAY_S:
                os.utime(self._folder)
        digest, payload = content[:DIGEST_SIZE], content[DIGEST_SIZE:]
        return payload if digest == _digest(payload) else None

    def _path(self, key: Any) -> Path:
        return self._folder / f"{self._name}.{_digest(repr(key).encode()).hex()}.nbc"


DIGEST_SIZE = 16


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=DIGEST_SIZE).digest()
