"""Libraries of precompiled kernels: the sources they were made of, choice, loading and symbols.

In ``machine_code/`` are libraries, one for each system and level of processors, and ``kernels.json``. That
says from which sources, by digest, the kernels of each file were made. A kernel whose sources are others is
compiled by numba, and so is every kernel where no library can be loaded. The libraries are made by
``maintainers/machine_code.py``.

A library needs neither Python nor numba. For each kernel and signature it has two functions: one takes the
words of the arguments in memory (``territorial.jit.arguments``), with room for the result behind them; the
other is called by other kernels.
"""

import ctypes
import hashlib
import json
import os
import platform
import re
import sys
import time
from array import array
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from territorial._log import LOG
from territorial.constants import __version__
from territorial.files.bounded import Bounds, parse_object, read_file

# ---- sources ---------------------------------------------------------------------------------------
#
# A kernel holds the code of the functions that it calls, and the values of globals. Each of these is made
# in the module of the kernel, or has come there by an import. So what can change machine code are the files
# of the package to which imports lead from the kernel's own file, and from the compiler, which has the
# machine code of operations. An edit of any other file leaves it as it is.

PACKAGE = Path(__file__).parents[1]

# All imports of the package are absolute. To parse the files takes thirty times as long as to find this.
_IMPORT = re.compile(
    rb"^[ \t]*(?:import[ \t]+territorial\b\.?([.\w]*)"
    rb"|from[ \t]+territorial\b\.?([.\w]*)[ \t]+import[ \t]+(\((?:[^)#]|#[^\n]*)*\)|[^\n]*))",
    re.MULTILINE,
)


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
        """Return a digest of the sources of kernels in ``file``, independent of the package's location.

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
        """Return ``own`` and all files that its kernels can have code or constants of, or are compiled by.

        The packages in which these lie count with their ``__init__``, as it is run. What that imports
        counts only where one of the files imports the package itself.
        """
        reached: set[str] = set()
        to_follow = [own, os.path.join(self._package, "jit", "compiler.py")]
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
    """Return the modules of the package that a file imports: of ``from a import b`` a.b."""
    names: set[str] = set()
    for found in _IMPORT.finditer(content):
        module, origin, imported = (part.decode() for part in found.groups(b""))
        words = re.findall(r"\w+", re.sub(r"#.*|\bas\s+\w+", "", imported))
        names |= {f"{origin}.{word}" for word in words} if imported else {module}
    return names


SOURCES = Sources()
"""Those of this process, read as kernels are defined."""


# ---- libraries -------------------------------------------------------------------------------------

FOLDER = PACKAGE / "jit" / "machine_code"
TABLE = "kernels.json"
BOUNDS = Bounds(nbytes=2**22, values=200_000)
CHOICE, NUMBA = "TERRITORIAL_MACHINE_CODE", "numba"
"""The variable with the level to use, or with what stands for no library."""
LEVELS = {
    "icelake": ("AVX512_ICL",),
    "v4": ("AVX512F", "AVX512CD", "AVX512_SKX"),
    "v3": ("AVX2", "FMA3", "F16C"),
    "v2": ("SSE42", "POPCNT"),
}
"""What tells processors of each level of x86-64 apart, the best first, where numpy does not know the level.

Those with a v are the levels of https://gitlab.com/x86-psABIs/x86-64-ABI; icelake is v4 with what came with
Ice Lake and Zen 4, without which a step takes up to three per cent more instructions.
"""
SUFFIXES = {"win32": ".dll", "darwin": ".dylib", "web": ".wasm"}
DONE = frozenset({0, -2, None})
"""What functions return that came to their end; -2: without a result; None: to Python, by numba."""
MISMATCH = -(2**63)
"""What the function that Python calls returns where a kernel has no form for arguments like these."""
FAILED = MISMATCH + 1
"""What it returns beyond the status, as a number of 32 bits without a sign, of a kernel that has failed."""
LEAST_RESULT = FAILED + 2**32


def system() -> str:
    """Return the system and kind of processor that libraries are named by, such as "linux-x86_64"."""
    machine = platform.machine().lower()
    return f"{sys.platform}-{ {'amd64': 'x86_64', 'aarch64': 'arm64'}.get(machine, machine) }"


def levels() -> list[str]:
    """Return the levels that this processor can run, the best first; "" for all of a kind."""
    if not system().endswith("x86_64"):
        return [""]
    try:  # numpy does not promise to keep it
        from numpy._core._multiarray_umath import __cpu_features__ as found  # type: ignore[import-not-found]
    except ImportError:
        found = {"X86_V2": True}  # as numpy itself needs
    return [
        f"-{level}"
        for level, needs in LEVELS.items()
        if found.get(f"X86_{level.upper()}", all(found.get(need) for need in needs))
    ]


def digest_of(library: bytes, kernels: Mapping[str, Any]) -> str:
    """Return a name of a library together with its table."""
    table = json.dumps(kernels, sort_keys=True).encode()
    return hashlib.blake2b(table + library, digest_size=16).hexdigest()


@cache
def say_that_numba_compiles(why: str) -> None:
    """Log, once in a process, that it waits for the compiler, and why."""
    LOG.warning(
        "numba compiles kernels of territorial-env for this machine, which takes a minute: %s",
        why or "its machine code is of other sources, or for other arguments; see `territorial info`",
    )


class Library:
    """The library of ``folder`` for this processor.

    Attributes:
        path: the file that is loaded, or None.
        why_not: why there is none, for people.

    """

    def __init__(self, folder: Path = FOLDER, chosen: str = "") -> None:
        if chosen not in ("", NUMBA, *LEVELS):
            wanted = ", ".join(map(repr, sorted(LEVELS)))
            raise ValueError(f"{CHOICE} must be {wanted} or {NUMBA!r}, or not be set; got {chosen!r}")
        self.path: Path | None = None
        self.why_not = f"this installation has no machine code of level {chosen or 'any'} for {system()}"
        self._kernels: dict[str, Any] = {}
        if chosen == NUMBA:
            self.why_not = f"{CHOICE} is {NUMBA!r}"
        elif (folder / TABLE).exists():
            self._open(folder, chosen)

    def _open(self, folder: Path, chosen: str) -> None:
        """Load the library that fits; if it cannot be used, say so, as somebody has installed it."""
        file = folder / TABLE
        try:
            table = parse_object(read_file(file, BOUNDS.nbytes), BOUNDS)
            if table.get("version") != __version__:
                raise ValueError(f"it is of version {table.get('version')}, not {__version__}")
            names = {f"{system()}{level}{SUFFIXES.get(sys.platform, '.so')}": level[1:] for level in levels()}
            for name in [one for one in names if one in table["libraries"] and chosen in ("", names[one])][
                :1
            ]:
                file = folder / name
                if digest_of(file.read_bytes(), table["kernels"]) != table["libraries"][name]:
                    raise ValueError(f"it is damaged, or {TABLE} is")
                self._code = ctypes.CDLL(str(file))
                self.path, self.why_not, self._kernels = file, "", table["kernels"]
        except (OSError, ValueError) as error:
            self.why_not = f"{file} cannot be used: {error}; reinstall territorial-env"
            say_that_numba_compiles(self.why_not)

    def changed(self) -> list[str]:
        """Return the files of kernels with sources other than the library's."""
        return [
            file
            for file, of_file in self._kernels.items()
            if of_file["sources"] != SOURCES.digest(f"{PACKAGE}/{file}")
        ]

    def kernel(self, function: Any) -> "KernelCode | None":
        """Return the code of a kernel; None if its sources differ from the library's."""
        file = function.__code__.co_filename
        of_file = self._kernels.get(file.removeprefix(f"{PACKAGE}{os.sep}").replace(os.sep, "/"))
        if of_file is None or of_file["sources"] != SOURCES.digest(file):
            return None
        found = of_file["kernels"].get(function.__name__)
        return found and KernelCode(self._code, function.__name__, **found)


class KernelCode:
    """A kernel in a library.

    Attributes:
        call: the function that is given the address of a tuple of arguments, and PYTHON_AT. What it
            returns is below LEAST_RESULT if nothing was called, or has failed.
        read: makes a result of what else it returns.
        entries: the forms of the kernel, by what they take.

    """

    def __init__(
        self, code: ctypes.CDLL, name: str, symbol: str, gives: str, forms: list[dict[str, Any]]
    ) -> None:
        self.call, self.read = code[symbol], READERS[gives]
        self.call.__name__ = name  # in errors
        self.call.argtypes, self.call.restype = [ctypes.c_void_p, ctypes.c_void_p], ctypes.c_int64
        self.entries = {tuple(form["takes"]): Entry(code, name, gives, form["symbol"]) for form in forms}


class Entry:
    """A kernel in a library, for arguments of one signature.

    Attributes:
        call: the function itself. Its argument is the memory of the words, as a ``BoundArguments`` or a
            ``c_void_p``; what it returns is for ``check_status``. Both would be quicker to write as ctypes'
            ``argtypes`` and ``errcheck``, but take 0.2 µs of every call.

    """

    def __init__(self, code: ctypes.CDLL, name: str, gives: str, symbol: str) -> None:
        self.call = code[symbol]
        self.call.__name__ = name  # in errors
        self._code, self._symbol, self._read = code, symbol, READERS[gives]

    @property
    def address(self) -> int:
        """Where other kernels call it."""
        return int(ctypes.cast(self._code[f"{self._symbol}_code"], ctypes.c_void_p).value or 0)

    def run(self, words: list[int]) -> Any:
        """Call it with arguments as words, and return its result."""
        memory = array("q", [*words, 0, 0])
        check_status(self.call(ctypes.c_void_p(memory.buffer_info()[0])), self.call)
        return self._read(memory[-2])


READERS: dict[str, Callable[[int], Any]] = {
    "none": lambda word: None,
    "int64": lambda word: word,
    "bool": lambda word: word & 0xFF != 0,
}
"""How the word of a result is read, by what kernels give."""


def check_status(status: Any, function: Any) -> None:
    """Raise RuntimeError for the status of a kernel that has failed."""
    if status not in DONE:
        raise RuntimeError(f"the kernel {function.__name__} failed with status {status}")


@cache
def library() -> Library:
    """Return the library of this installation."""
    return Library(chosen=os.environ.get(CHOICE, ""))
