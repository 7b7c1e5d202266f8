"""Plays games in this process or in worker processes of this machine."""

import ast
import inspect
import io
import multiprocessing
import os
import pickle
import signal
import sys
import sysconfig
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from itertools import islice
from multiprocessing.connection import wait as wait_for
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

import cloudpickle

from territorial.config.validation import whole_number
from territorial.files.cores import usable_cores
from territorial.files.locks import finished_before_forks

GameChunk = TypeVar("GameChunk")
Record = TypeVar("Record")

Make = Callable[[], Callable[[GameChunk], Iterable[Record]]]
"""Returns a function that plays a chunk and returns its records; it can be pickled."""

LIBRARIES = (Path(__file__).parents[1], *map(Path, map(sysconfig.get_path, ("stdlib", "purelib"))))
"""Where the code is that no user wrote."""
MOST_PROCESSES = 1024


Play = Callable[[Make[Any, Any], Sequence[Any]], Iterator[Iterable[Any]]]
"""Says where games are played: ``Processes``, OnRay of ``rllib_adapters.league``, or a function.

It is called with what makes a player of chunks, and yields the records of all chunks as they come.
"""


class PlayingError(RuntimeError):
    """Games could not be played to their ends; the message is one line on why."""


class StoppedError(PlayingError):
    """Games could not all be played; ``result`` has the finished ones.

    It is such as the ``Ranking`` or the ``Evaluation`` of these games.
    """

    def __init__(self, why: str, result: Any) -> None:
        super().__init__(why)
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.result)


class Processes:
    """Plays chunks in processes of this machine, or in this process if there would be only one.

    Args:
        count: number of processes; 1 to 1024, default None: one per usable core.

    """

    def __init__(self, count: int | None = None) -> None:
        self.workers = (
            usable_cores() if count is None else whole_number("processes", count, 1, MOST_PROCESSES)
        )

    def __call__(
        self, make: Make[GameChunk, Record], chunks: Sequence[GameChunk]
    ) -> Iterator[Iterable[Record]]:
        """Yield the records of all chunks as they come; PlayingError if a process fails."""
        count = min(self.workers, len(chunks))
        if count < 2:
            yield from map(make(), chunks)
            return
        pickled, with_main = _pickled(make)
        context = NewProcesses(with_main=with_main)
        waiting = map(context.dumps, chunks)
        try:
            with ProcessPoolExecutor(count, context, _begin, (pickled,)) as pool:
                try:
                    busy = {pool.submit(_play, chunk) for chunk in islice(waiting, count)}
                    while busy:  # as many as there are processes, and no more, wait in them
                        done, busy = wait(busy, return_when=FIRST_COMPLETED)
                        busy |= {pool.submit(_play, chunk) for chunk in islice(waiting, len(done))}
                        for future in done:
                            yield from records_of(pickle.loads(future.result()))
                finally:
                    context.end()
        except BrokenProcessPool:
            raise PlayingError(context.why_broken()) from None


# ---- processes -------------------------------------------------------------------------------------


class NewProcesses(SpawnContext):
    """Starts processes that import their own modules, and keeps a list of them.

    ``with_main``: they import the main module, too, as ``multiprocessing`` would have it.
    """

    def __init__(self, *, with_main: bool = False) -> None:
        self._with_main, self._started = with_main, list[SpawnProcess]()
        self.dumps = pickle.dumps if with_main else cloudpickle.dumps
        """Pickles what its processes unpickle: all that is the main module's by value, if they lack it."""

    def Process(self, *args: Any, **options: Any) -> SpawnProcess:  # type: ignore[override]  # noqa: N802  # what a pool calls
        """Return a process that can be started."""
        process = _Process(*args, **options)
        process.with_main = self._with_main
        self._started.append(process)
        return process

    def end(self) -> None:
        """End all processes, whatever they are at."""
        for process in self._started:
            if process.pid is not None:
                process.terminate()

    def why_broken(self) -> str:
        """Return how the first process ended that was not ended by the pool; all have ended."""
        codes = [process.exitcode or 0 for process in self._started]
        code = next((code for code in codes if code not in (0, -signal.SIGTERM)), codes[0])
        name = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        why = ", which the system sends when memory runs out" if name == "SIGKILL" else ""
        how = "ended with" if code >= 0 else "was ended by"
        return f"a worker process {how} {name}{why}"


class _Process(SpawnProcess):
    """A process in which libraries such as PyTorch start no threads of their own."""

    with_main: bool

    def start(self) -> None:
        main, place = vars(sys.modules["__main__"]), {"getcwd": lambda: os.sep}
        hidden = {} if self.with_main else {"__spec__": None, "__file__": None}  # says what is to be imported
        with suppress(OSError):  # else it is gone, or another user's: no path leads from there in any process
            os.chdir(os.getcwd())
            place = {}
        # Ctrl-C reaches all processes of a terminal, and is for this one.
        before = (
            None if sys.platform == "win32" else signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        )
        try:
            # Libraries read their number of threads when they are imported.
            with (
                _STARTING,
                _changed(os.environ, {"OMP_NUM_THREADS": "1"}),
                _changed(vars(os), place),
                _changed(main, hidden),
            ):
                super().start()
        finally:
            if before is not None:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)


# Held while a process is started, for what ``multiprocessing`` reads of this one is changed for it.
_STARTING = threading.Lock()
finished_before_forks(_STARTING)


@contextmanager
def _changed(table: MutableMapping[str, Any], changes: Mapping[str, Any]) -> Iterator[None]:
    before = {name: table[name] for name in changes if name in table}
    table.update(changes)
    try:
        yield
    finally:
        for name in changes:
            del table[name]
        table.update(before)


# ---- what is sent to processes -------------------------------------------------------------------


def _pickled(make: Any) -> tuple[bytes, bool]:
    """Return a player as bytes, and whether processes have to import the main module for it.

    Else all that it has of the main module is pickled by value. PlayingError if that cannot be.
    """
    if _is_guarded():
        with suppress(Exception):  # such as of a class within a function
            return pickle.dumps(make), True
    pickler = _Pickler(file := io.BytesIO())
    try:
        pickler.dump(make)
    except Exception as error:
        part = _attribute_with(pickler.seen) or _global_with(pickler.seen[-1])
        because = f" because of the {part}" if part else ""
        why = f"players cannot be sent to other processes{because}: {type(error).__name__}: {error}"
        raise PlayingError(why) from error
    return file.getvalue(), False


def _is_guarded() -> bool:
    """Return whether the main module is a script that is in an ``if __name__ == "__main__":``.

    Then a process can import it. So a script may have globals that cannot be pickled: each process makes its
    own.
    """
    main, frame = sys.modules["__main__"], inspect.currentframe()
    while frame is not None and not (frame.f_code.co_name == "<module>" and frame.f_globals is vars(main)):
        frame = frame.f_back
    try:
        parts = ast.parse(Path(main.__file__ or "").read_bytes()).body
    except (AttributeError, OSError, SyntaxError):  # a notebook, or what is typed
        return False
    guards = [part for part in parts if isinstance(part, ast.If) and "__name__" in ast.unparse(part.test)]
    lines = {line for part in guards for line in range(part.lineno, (part.end_lineno or 0) + 1)}
    return bool(lines) if frame is None else frame.f_lineno in lines  # None: in a thread


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # it has no types
    """Pickles definitions of the main module by value; ``seen``: the objects so far, for errors."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.seen = list[Any]()

    def reducer_override(self, thing: Any) -> Any:
        self.seen.append(thing)
        return super().reducer_override(thing)


def _attribute_with(seen: Sequence[Any]) -> str | None:
    """Return which attribute of an object in ``seen`` its last entry is, which cannot be pickled."""
    for one in reversed(seen):
        for name, value in getattr(one, "__dict__", {}).items():
            if value is seen[-1]:
                return f"attribute {name!r} of a {type(one).__name__}"
    return None


def _global_with(thing: Any) -> str | None:
    """Return which global of the main module cannot be pickled because of ``thing``."""
    for name, value in list(vars(sys.modules["__main__"]).items()):
        pickler = _Pickler(io.BytesIO())
        try:
            if not isinstance(value, (type, FunctionType)):
                pickler.dump(value)
        except Exception:
            if pickler.seen and pickler.seen[-1] is thing:
                return f"global {name!r}"
    return None


# ---- in a process that plays ---------------------------------------------------------------------


Attempt = tuple[list[Any], str | None]
"""The records of a chunk, and what went wrong, None if nothing did."""


class Worker:
    """Plays chunks in a process of its own; ``make`` is called for the first of them."""

    def __init__(self, make: Make[Any, Any]) -> None:
        self._make = make
        self._work: Callable[[Any], Iterable[Any]] | None = None

    def play(self, chunk: Any) -> Attempt:
        """Return the records of a chunk, up to where something went wrong."""
        records: list[Any] = []
        try:
            if self._work is None:
                self._work = self._make()
            for record in self._work(chunk):
                records.append(record)  # noqa: PERF402  # what there is when it fails is kept
        except Exception as error:
            return records, cause(error)
        return records, None


def records_of(attempt: Attempt) -> Iterator[list[Any]]:
    """Yield the records of an attempt; PlayingError then, if something went wrong."""
    records, failure = attempt
    if records:
        yield records
    if failure is not None:
        raise PlayingError(failure)


def cause(error: BaseException) -> str:
    """Return the cause of an error in one line, with its last place outside libraries, if any.

    An error without a text, such as RLlib's for one of an environment, stands for what caused it.
    """
    if isinstance(error, PlayingError):
        return str(error)
    if not str(error) and isinstance(error.__cause__, Exception):
        return cause(error.__cause__)
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not any(map(Path(frame.filename).is_relative_to, LIBRARIES))]
    place = (own or frames)[-1]
    return f"{type(error).__name__}: {error} ({place.filename}, line {place.lineno}, in {place.name})"


_worker: Worker


def _begin(make: bytes) -> None:
    """Get ready in a new process: Ctrl-C is for the parent, and this process ends with it.

    ``make`` is unpickled for the first chunk, so that its errors are reported like those of players.
    """
    global _worker  # a pool has no other place for what a process keeps
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _worker = Worker(lambda: pickle.loads(make)())


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait_for([parent.sentinel])
        os._exit(1)


def _play(chunk: bytes) -> bytes:
    return cloudpickle.dumps(_worker.play(pickle.loads(chunk)))
