"""Scripts, and what is typed, start processes with or without ``if __name__ == "__main__":``.

A notebook is as what is typed: its main module has no file.
"""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from territorial.files.locks import locked

PLAYERS = """
import threading
import numpy as np
import territorial
from territorial.bots import PythonBot

SHARE = 3
CONFIG = territorial.GameConfig(height=24, width=24, num_players=4, max_ticks=200)

class Mine(PythonBot):
    name = "mine-1"

    def decide(self, view):
        return -1, SHARE

def takes(legal):
    return np.stack([legal, np.full(len(legal), SHARE)], axis=1)

class Takes:
    name, frames = "takes", 1

    def identity(self):
        return "takes 1"

    def start(self, config, layout, seed):
        return lambda game, games, seats: takes(game.observations.masks[games, seats - 1, 0] >> 1 & 1)

    def stop(self):
        pass
"""
MATCH = """
players = ["banker", Mine(), Takes()]
ranking = territorial.match(players, CONFIG, 4, processes=2, progress=False)
print(len(ranking.records), ranking.players)
"""
GUARD = '\nif __name__ == "__main__":\n'
PLAYED = "4 ('banker-1', 'mine-1', 'takes')\n"
LOCKED = PLAYERS.replace("return -1, SHARE", "with LOCK:\n            return -1, SHARE")
LOCK = "\nLOCK = threading.Lock()\n"


def printed(folder, source, *arguments, stdin=None):
    """Return what a script prints; its errors fail the test, and lines on what is compiled do not."""
    (folder / "script.py").write_text(source)
    command = [sys.executable, *(arguments or ["script.py"])]
    done = subprocess.run(
        command, cwd=folder, input=stdin, text=True, capture_output=True, check=False, timeout=300
    )
    errors = [line for line in done.stderr.splitlines() if not line.startswith("numba compiles")]
    assert (errors, done.returncode) == ([], 0)
    return done.stdout


@pytest.mark.parametrize("arguments", [["-"], ["-c", PLAYERS + MATCH]])
def test_what_is_typed_needs_no_guard(tmp_path, arguments):
    assert printed(tmp_path, "", *arguments, stdin=PLAYERS + MATCH) == PLAYED


def test_a_script_needs_no_guard(tmp_path):
    assert printed(tmp_path, PLAYERS + MATCH) == PLAYED


def test_all_that_starts_processes_needs_no_guard(tmp_path):
    calls = """
    from territorial.training import make

    scenario = territorial.Scenario(config=CONFIG, seats=["agent", "banker", "novice", "novice"])
    policies = {"a": Takes(), "b": "__main__:Mine"}
    found = territorial.evaluate(policies, {"small": scenario}, 2, processes=2, progress=False)
    print(len(found.records))
    made = make("rows", CONFIG, ["banker", Mine()] * 2, games=2, games_per_shard=1, processes=2)
    print(len(made.shards))
    """
    assert printed(tmp_path, PLAYERS + textwrap.dedent(calls)) == "4\n2\n"


def test_a_guarded_script_is_imported_by_the_processes(tmp_path):
    """Its lock cannot be sent to them, and its class could not be defined again by cloudpickle."""
    kind = """
    class Kind:
        def __init_subclass__(cls, *, sort):
            cls.sort = sort

    class Sorted(Mine, Kind, sort=1):
        pass
    """
    match = MATCH.replace("Mine()", "Sorted()")
    source = LOCKED + LOCK + textwrap.dedent(kind) + GUARD + textwrap.indent(match, "    ")
    assert printed(tmp_path, source) == PLAYED


def test_a_global_that_cannot_be_sent_is_named(tmp_path):
    refused = f"""
try:
    {MATCH.splitlines()[1]}
    territorial.match(players, CONFIG, 4, processes=2, progress=False)
except territorial.evaluation.workers.StoppedError as error:
    print(error)
"""
    assert printed(tmp_path, LOCKED + LOCK + refused) == (
        "players cannot be sent to other processes because of the global 'LOCK': "
        "TypeError: cannot pickle '_thread.lock' object\n"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL on Windows")
def test_processes_end_with_the_one_that_started_them(tmp_path):
    """Each holds a lock until it ends, in the middle of a game."""
    source = """
import os
import time
from pathlib import Path
from territorial.files.locks import locked

class Stays(Mine):
    def decide(self, view):
        with locked(Path(f"{os.getpid()}.lock")):
            time.sleep(1000)

territorial.match([Stays()], CONFIG, 2, processes=2, progress=False)
"""
    process = subprocess.Popen([sys.executable, "-c", PLAYERS + source], cwd=tmp_path)
    while len(held := list(tmp_path.glob("*.lock"))) < 2:
        assert process.poll() is None
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    for file in held:
        with locked(file):
            pass
