#!/usr/bin/env python3
"""Times the path of a new user, from installation to a policy.

    python maintainers/strangers_path.py                        some ten minutes on two free cores
    python maintainers/strangers_path.py --without-training     the core alone: a picture and a game
    TERRITORIAL_WHEEL=linux-x86_64 python maintainers/strangers_path.py     with the checkout's machine code

Builds the wheel and installs it into a new environment with a new cache of compiled code. Then come the first
picture, the first game played, and the first policy trained. The game is played by this program, which posts
what the page posts for clicks. The checkout is not on the path, and all that is written is removed.
"""

import argparse
import http.client
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[1]
DEMO = "territorial demo --picture first.png"
PLAY = "territorial play --num-players 4 --set height=64 --set width=64 --opponent novice --pace step"
TRAIN = "territorial train runs/first --preset quick"
SHOW = "territorial league show runs/first --plots plots"
EIGHTH, QUARTER = 4, 6
"""Numbers of fractions of the troops: what is sent at free land, and at players."""


def clock() -> tuple[float, float]:
    """Return the time, and the processor time of all programs run from here that have ended, in seconds."""
    times = os.times()
    return time.monotonic(), times.children_user + times.children_system


class Stranger:
    """A new environment in a folder, and how long what was done in it took."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.steps: list[tuple[str, float, float]] = []
        venv.create(folder / "venv", with_pip=True)
        self._programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        self._environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
        self._environment["NUMBA_CACHE_DIR"] = str(folder / "compiled")

    def start(self, command: str, stdout: int | None = None) -> subprocess.Popen[str]:
        """Start a program of the environment."""
        program, *rest = shlex.split(command)
        command_line = [str(self._programs / program), *rest]
        return subprocess.Popen(
            command_line, cwd=self.folder, env=self._environment, stdout=stdout, text=True
        )

    def run(self, command: str, shown: str = "") -> None:
        """Run a program of the environment to its end, and note how long it took, as ``shown``."""
        began = clock()
        if code := self.start(command).wait():
            raise SystemExit(f"{command}: exit code {code}")
        self.note(shown or command, began)

    def note(self, command: str, began: tuple[float, float]) -> None:
        """Note that a step took from ``began``, a ``clock()``, until now."""
        wall, processor = clock()
        self.steps.append((command, wall - began[0], processor - began[1]))

    def check(self, name: str) -> None:
        """Raise SystemExit unless a step has written this file."""
        if not (self.folder / name).is_file():
            raise SystemExit(f"{name} is missing; the command {self.steps[-1][0]!r} must write it")


def play(stranger: Stranger) -> float:
    """Play a whole game through the server of the page; return the place of the player."""
    began = clock()
    process = stranger.start(f"{PLAY} --no-open --port 0", subprocess.PIPE)
    assert process.stdout is not None
    url = urlsplit(process.stdout.readline().split()[2])  # of the line "play at URL (Ctrl-C stops)"
    connection = http.client.HTTPConnection(url.netloc, timeout=600)
    connection.request("GET", f"{url.path}seat")
    situations, last, place = connection.getresponse(), -1, None
    while place is None and (line := situations.readline()):
        now = json.loads(line) if line.strip() else {"tick": last}
        if now["tick"] > last:
            if not now["tick"]:  # it stands until the player begins
                post(url.netloc, f"{url.path}act", {"do": "pause", "on": False})
            last, place = now["tick"], now["place"]
            post(url.netloc, f"{url.path}act", choice(now))
    connection.close()
    process.terminate()
    process.communicate()
    if place is None:
        raise SystemExit(f"{PLAY}: the game ended at tick {last} without a place")
    stranger.note(PLAY, began)
    return float(place)


def choice(now: dict[str, Any]) -> dict[str, Any]:
    """Return what to do: take free land, else attack once rich, the weakest border first."""
    legal = [one for one in now["openings"] if not one["reason"]]
    if legal and legal[0]["owner"] == 0:
        return {"do": "launch", "target": 0, "share": EIGHTH}
    if legal and now["troops"] > 100 * now["land"]:
        return {"do": "launch", "target": min(legal, key=lambda one: one["least"])["owner"], "share": QUARTER}
    return {"do": "hold"}


def post(host: str, path: str, command: dict[str, Any]) -> None:
    """Post a command as the page does; what is refused, such as a launch that came late, is not repeated."""
    connection = http.client.HTTPConnection(host, timeout=600)
    headers = {"Origin": f"http://{host}", "Content-Type": "application/json"}
    connection.request("POST", path, json.dumps(command), headers)
    connection.getresponse().read()
    connection.close()


def main(argv: list[str] | None = None) -> int:
    """Go all the way and print what it took; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--without-training", action="store_true", help="leave out the first policy")
    parsed = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", name, str(ROOT)]
        subprocess.run(build, check=True)
        (wheel,) = folder.glob("*.whl")
        stranger = Stranger(folder)
        install = "python -m pip install --quiet --disable-pip-version-check"
        stranger.run(f"{install} {wheel}", "pip install territorial-env")
        stranger.run(DEMO)
        stranger.check("first.png")
        place = play(stranger)
        if not parsed.without_training:
            constraints = ROOT / ".ci" / "constraints.txt"
            stranger.run(f"{install} -c {constraints} {wheel}[rllib]", 'pip install "territorial-env[rllib]"')
            stranger.run(TRAIN)
            stranger.check("runs/first/progress.csv")
            stranger.run(SHOW)
        print("  wall, s   processor, s   command")
        _, walls, processors = zip(*stranger.steps, strict=True)
        for command, wall, processor in [*stranger.steps, ("in all", sum(walls), sum(processors))]:
            print(f"{wall:9.1f} {processor:14.1f}   {command}")
        print(f"place {place:g} of 4")
    return 0


if __name__ == "__main__":
    sys.exit(main())
