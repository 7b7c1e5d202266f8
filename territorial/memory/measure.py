"""Measures the memory of processes, counting shared pages once."""

import ctypes
import importlib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

Found = TypeVar("Found")
PSS, USS = "PSS", "USS"
_PROC = Path("/proc")
_IN_NO_FILE = (b"RssAnon:", b"RssShmem:", b"VmSwap:")


class ProcessMemory(NamedTuple):
    """The memory of one process."""

    pid: int
    name: str
    nbytes: int
    """By the measure that was taken."""
    private: int
    """Bytes that no other process has mapped."""
    files: int = 0
    """Bytes of ``nbytes`` that are mapped files, which the system can take back; 0 where it does not tell."""

    @property
    def held(self) -> int:
        """Bytes that the system cannot take back."""
        return self.nbytes - self.files


@dataclass(frozen=True)
class Memory:
    """The memory of several processes.

    ``measure`` is "PSS": memory of the processes, what they share divided among all of them (Linux:
    smaps_rollup); or "USS": memory that only one process has, which is less than they take (psutil).
    Where a process may not be asked, its resident set counts.
    """

    measure: str
    processes: tuple[ProcessMemory, ...]

    @property
    def total(self) -> int:
        """Bytes of all processes together."""
        return sum(process.nbytes for process in self.processes)

    @property
    def private(self) -> int:
        """Bytes that one process alone has mapped, of all processes together."""
        return sum(process.private for process in self.processes)

    @property
    def held(self) -> int:
        """Bytes of all processes together that the system cannot take back: all but mapped files."""
        return sum(process.held for process in self.processes)


def measure(pids: Iterable[int] | None = None) -> Memory:
    """Return the memory of processes; None: of this one and all that it started, and they started.

    It is measured as PSS where the system tells that, else as USS where psutil is installed. Processes
    that have ended are left out. Raises RuntimeError where neither can be had, PermissionError for
    processes of another user.
    """
    if (_PROC / "self/smaps_rollup").exists():
        how, read = PSS, _read_pss
    else:
        how, read = USS, partial(_read_uss, _psutil())
    chosen = process_tree() if pids is None else pids
    readings = (_existing(partial(read, pid)) for pid in chosen)
    return Memory(how, tuple(reading for reading in readings if reading is not None))


def most_held(pids: Iterable[int]) -> int | None:
    """Return a number of bytes that ``measure(pids).held`` does not exceed, read in a hundredth of its time.

    What processes share is counted for each of them. None where the system tells nothing so quickly.
    """
    if not (_PROC / "self/status").exists():
        return None
    return sum(_unshared(pid) for pid in pids)


def _unshared(pid: int) -> int:
    """Return the bytes of a process that are in no file; 0 if it has ended."""
    text = _existing((_PROC / str(pid) / "status").read_bytes) or b""
    fields = (line.split() for line in text.splitlines() if line.startswith(_IN_NO_FILE))
    return sum(int(field[1]) * 1024 for field in fields)


def process_tree(pid: int | None = None) -> list[int]:
    """Return a process, this one by default, and all that descend from it and still have their parents."""
    root = os.getpid() if pid is None else pid
    if not (_PROC / "self/stat").exists():
        psutil = _psutil()
        return [root, *(child.pid for child in psutil.Process(root).children(recursive=True))]
    children: dict[int, list[int]] = {}
    for entry in os.listdir(_PROC):
        if entry.isdigit() and (parent := _parent(int(entry))) is not None:
            children.setdefault(parent, []).append(int(entry))
    found = [root]
    for known in found:  # grows while it is read
        found += sorted(children.get(known, []))
    return found


def _parent(pid: int) -> int | None:
    """Return the parent of a process, or None if it has ended."""
    # The name, in brackets, may hold anything, brackets included; after it come state and parent.
    fields = (_existing((_PROC / str(pid) / "stat").read_bytes) or b"").rpartition(b")")[2].split()
    return int(fields[1]) if fields else None


def _existing(read: Callable[[], Found]) -> Found | None:
    """Return the result of ``read`` for a process, or None if it has ended."""
    try:
        return read()
    except (FileNotFoundError, ProcessLookupError):
        return None


def _read_pss(pid: int) -> ProcessMemory:
    folder = _PROC / str(pid)
    lines = (folder / "smaps_rollup").read_text(encoding="ascii").splitlines()[1:]
    sizes = {name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in lines)}
    return ProcessMemory(
        pid,
        (folder / "comm").read_text(encoding="utf-8", errors="replace").strip(),
        sizes["Pss"] + sizes.get("SwapPss", 0),
        sizes["Private_Clean"] + sizes["Private_Dirty"],
        sizes.get("Pss_File", 0),
    )


def _read_uss(psutil: Any, pid: int) -> ProcessMemory:
    """Return psutil's USS, or the resident set where, as on macOS, only this process has a USS."""
    try:
        process = psutil.Process(pid)
        try:
            nbytes = int(process.memory_full_info().uss)
        except psutil.AccessDenied:
            nbytes = int(process.memory_info().rss)
        return ProcessMemory(pid, process.name(), nbytes, nbytes)
    except psutil.NoSuchProcess:
        raise ProcessLookupError(pid) from None
    except psutil.AccessDenied:
        raise PermissionError(f"the memory of process {pid} may not be read") from None


def _psutil() -> Any:
    try:
        return importlib.import_module("psutil")
    except ImportError:
        raise RuntimeError("the memory of processes cannot be read here without psutil: install it") from None


# ---- memory that was freed ---------------------------------------------------------------------------


def give_back() -> bool:
    """Give free memory of this process back to the system, and return whether the C library can do that.

    glibc can, on Linux. By itself it keeps blocks of up to 32 MB that are freed among others, and those that
    PyTorch asks for often fit into none of them.
    """
    trim = _malloc_trim()
    if trim is not None:
        trim(0)
    return trim is not None


@cache
def _malloc_trim() -> Any:
    """Return the function of glibc, or None with another C library."""
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # TypeError: on Windows a library needs a name
        return None
    trim.argtypes, trim.restype = [ctypes.c_size_t], ctypes.c_int
    return trim
