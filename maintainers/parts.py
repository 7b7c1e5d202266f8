"""Runs parts of checks side by side, with logs and times."""

import os
import signal
import subprocess
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from environments import BUILT, ENVIRONMENTS, ROOT, program, tests_apart

SHOWN = {True: 12, False: 80}
"""Lines of a log that are shown of a part that has passed, and of one that has failed."""

FROM_THE_WHEEL = (
    "python -c 'import sysconfig, territorial; "
    'assert territorial.__file__.startswith(sysconfig.get_path("purelib")), territorial.__file__\''
)


@dataclass(frozen=True)
class CheckPart:
    """Commands that run one after the other, in an environment of `environments.py` or that of the source.

    ``needs``: a command that fails where the machine lacks what the part needs, which is then skipped.
    """

    name: str
    commands: list[str]
    environment: str = "source"
    variables: dict[str, str] = field(default_factory=dict)
    needs: str = ""

    def skipped(self) -> str:
        """Return why the part cannot run on this machine; "" where it can."""
        known = ENVIRONMENTS.get(self.environment)
        # A file named python3.12 is no promise: version managers leave shims that exist and fail.
        wanted = [self.needs, f"{known.python} -c 'import ensurepip, venv'" if known else ""]
        path = os.environ | {"PATH": _path_of("source")}
        for command in filter(None, wanted):
            if subprocess.run(command, shell=True, cwd=ROOT, env=path, capture_output=True).returncode:
                return f"{command} fails here"
        return ""


@dataclass(frozen=True)
class PartResult:
    """How a part ended: exit code, seconds by the clock, seconds of processors (children included)."""

    code: int
    wall: float = 0.0
    processor: float = 0.0
    skipped: str = ""


class Runner:
    """Runs parts, and keeps how they ended; ``verb`` is the command that repeats one of them alone."""

    def __init__(self, verb: str) -> None:
        self.results: dict[str, PartResult] = {}
        self._verb = verb
        self._printing = threading.Lock()
        self._running: set[int] = set()
        self._stopped = False

    @property
    def failed(self) -> list[str]:
        """Return the names of the parts that failed."""
        return [name for name, result in self.results.items() if result.code]

    def run_side_by_side(self, lanes: list[list[CheckPart]]) -> None:
        """Run the parts of each lane one after the other; a failure ends those beside it."""
        threads = [threading.Thread(target=self._run_lane, args=(lane,)) for lane in lanes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _run_lane(self, lane: list[CheckPart]) -> None:
        for part in lane:
            if self._stopped:
                return
            try:
                self.run(part)
            except Exception:  # a part that could not be run has not passed
                self._say(traceback.format_exc())
                self.results[part.name] = PartResult(1)
            if self.failed:
                self.stop()

    def run(self, part: CheckPart) -> None:
        """Run a part; what it prints goes to its log, whose end is shown."""
        if reason := part.skipped():
            self._say(f"\n=== {part.name}: SKIPPED, as {reason}")
            self.results[part.name] = PartResult(0, skipped=reason)
            return
        BUILT.mkdir(parents=True, exist_ok=True)
        log, began, processor = BUILT / f"{part.name}.log", time.monotonic(), 0.0
        self._say(f"\n=== {part.name} ... ({log.relative_to(ROOT)})")
        with log.open("wb") as output:
            for command, place, variables in self._commands(part):
                output.write(f"$ {command}\n".encode())
                output.flush()
                code, used = self._call(command, place, variables, output)
                processor += used
                if self._stopped:
                    return
                if code:
                    break
        result = PartResult(code, time.monotonic() - began, processor)
        self.results[part.name] = result
        self._say(self._report(part, log, result))

    def _commands(self, part: CheckPart) -> Iterator[tuple[str, Path, dict[str, str]]]:
        """Yield command, folder and variables: first what brings the part's environment up to date."""
        own = {"OMP_WAIT_POLICY": "PASSIVE"}  # PyTorch's threads sleep while they wait for each other
        place = ROOT
        if part.environment != "source":
            make = f"python maintainers/environments.py {part.environment}"
            yield make, ROOT, own | {"PATH": _path_of("source")} | part.variables
            place = tests_apart(part.name)
            own["PYTHONPATH"] = ""
            yield FROM_THE_WHEEL, place, own | {"PATH": _path_of(part.environment)}
        for command in part.commands:
            yield command, place, own | {"PATH": _path_of(part.environment)} | part.variables

    def _call(
        self, command: str, place: Path, variables: dict[str, str], output: BinaryIO
    ) -> tuple[int, float]:
        """Return the exit code of a command, and the seconds of processors that it took."""
        process = subprocess.Popen(
            command,
            shell=True,
            cwd=place,
            env=os.environ | variables,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._running.add(process.pid)
        if self._stopped:
            self.stop()
        _, status, usage = os.wait4(process.pid, 0)
        self._running.discard(process.pid)
        process.returncode = os.waitstatus_to_exitcode(status)
        return process.returncode, usage.ru_utime + usage.ru_stime

    def _report(self, part: CheckPart, log: Path, result: PartResult) -> str:
        passed = result.code == 0
        lines = log.read_text(errors="replace").splitlines()[-SHOWN[passed] :]
        seconds = f"{result.wall:.0f} s, {result.processor:.0f} s of processors"
        if passed:
            return "\n".join([f"\n--- {part.name}: passed in {seconds}", *lines])
        again = f"FAILED: {part.name}, after {seconds}. Alone again: {self._verb} {part.name}"
        return "\n".join([f"\n--- {part.name}", *lines, again])

    def stop(self) -> None:
        """End what is running; how it ended is not kept."""
        self._stopped = True
        for pid in list(self._running):
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGTERM)

    def table(self) -> str:
        """Return the seconds of each part as text."""
        rows = [f"{'part':20}{'passed':>8}{'wall s':>10}{'processor s':>14}"]
        for name, result in self.results.items():
            word = "skipped" if result.skipped else "no" if result.code else "yes"
            rows.append(f"{name:20}{word:>8}{result.wall:10.0f}{result.processor:14.0f}")
        return "\n".join(rows)

    def _say(self, text: str) -> None:
        with self._printing:
            print(text, flush=True)


def _path_of(environment: str) -> str:
    """Return PATH with the programs of an environment first."""
    return os.pathsep.join([str(program(environment, "python").parent), os.environ.get("PATH", "")])
