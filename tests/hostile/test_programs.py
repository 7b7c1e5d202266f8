"""Programs that misbehave: each is named with its fault, and no process is left, however all ended."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from territorial import GameConfig, VecGame
from territorial.bots import Program, ProgramError
from territorial.engine.league_bots import parsed, sorted_bots, taken
from territorial.engine.seats import check_seats, with_bots_of_files
from tests.bots.programs import ANSWERS, program
from tests.episodes import advance, begun

CONFIG = GameConfig(height=24, width=24, num_players=4, max_ticks=1000)
NOTES = "open(__file__ + '.pids', 'a').write(str(os.getpid()) + '\\n')\n"
HANGS = "time.sleep(1000)"
# Seconds for a program that hangs: it has to start in them, however busy the machine is.
PATIENCE = 5
ENDLESS = "while True: os.write(1, b'x' * 4096)"


def are_gone(path, seconds=0.0):
    """Return whether all processes that a program noted have ended, within some seconds."""
    pids = [int(line) for line in path.with_name(f"{path.name}.pids").read_text().split()]
    until = time.monotonic() + seconds
    while any(is_there(pid) for pid in pids):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return bool(pids)


def is_there(pid):
    """Return whether a process runs; one that has ended, and that nobody has asked about yet, does not."""
    try:
        os.kill(pid, 0)
        stat = Path(f"/proc/{pid}/stat").read_text() if sys.platform == "linux" else ""
    except (ProcessLookupError, FileNotFoundError):
        return False
    return not stat.rpartition(")")[2].startswith(" Z")


def worker_of(path, main):
    """Return the process that runs a program which noted itself, and that ``main`` started."""
    until = time.monotonic() + 300
    while time.monotonic() < until:
        pids = path.with_name(f"{path.name}.pids").read_text().split()
        found = subprocess.run(["ps", "-o", "ppid=", "-p", ",".join(pids)], capture_output=True, text=True)
        parents = {int(pid) for pid in found.stdout.split()} - {main, 1, os.getpid()}
        if parents:
            return min(parents)
    raise AssertionError("no worker runs a program")


GREETINGS = {
    HANGS: f"did not answer within {PATIENCE} s; does it flush",
    ENDLESS: "more than 65,536 bytes|nobody had asked for",  # whether it writes before it is asked
    "while True: print()": "more than|is not JSON",
    "sys.exit(7)": "ended with exit code 7",
    "os.kill(os.getpid(), 9)": "SIGKILL ended it",
    "os.close(1); time.sleep(1000)": "closed its input or its output",
    "print('Loading ...', flush=True); sys.stdin.read()": "it wrote 'Loading ...': it is not JSON",
    "os.write(1, b'\\xff\\n'); sys.stdin.read()": "is not JSON",
    "print('[' * 60000, flush=True); sys.stdin.read()": "values",
    "say(name='x' * 60000, interval=1)": "name",
    "say(name='', interval=1)": "name",
    'print(\'{"name": "a", "name": "b", "interval": 1}\', flush=True); sys.stdin.read()': "occurs twice",
    "say(name='a-1')": "has no 'interval'",
    "say(name='a-1', interval=0)": "interval is 0",
    "say(name='a-1', interval=1, hello=2)": "hello is 2",
    "say(name='a-1', interval=1, wishes=['gold'])": "gold",
    "say(name='a-1', interval=1, wish=[])": "has the field 'wish'",
}
DECISIONS = {
    HANGS: f"did not answer within {PATIENCE} s",
    ENDLESS: "more than 65,536 bytes|nobody had asked for",  # whether it writes before it is asked
    "sys.exit(1)": "ended with exit code 1",
    "print('{}\\n{}', flush=True)": "more than one line",
    "print('target 0', flush=True)": "is not JSON",
    "say(target=5, share=1)": "target is 5; it must be a whole number from 0 to 4",
    "say(target=-1, share=1)": "target is -1",
    "say(target=0, share=0)": "share is 0",
    "say(target=0, share=1.5)": "share is 1.5",
    "say(target=0, share=1025)": "share is 1025",
    "say(target=0)": "has no 'share'",
    "say(targets=0)": "has the field 'targets'",
    "say(memory=[2**31])": r"memory\[0\] is 2147483648",
    "say(memory=[0] * 1000)": "memory has 1,000 entries",
    "say(forecast=[9, 256])": "target is 9",
    "say(forecast=[0])": "it must be a target and a share",
    "while True: say(forecast=[0, 256]); sys.stdin.readline()": "more than 20 forecasts",
}


@pytest.mark.parametrize(("body", "found"), GREETINGS.items())
def test_what_is_no_greeting_is_refused(tmp_path, body, found):
    path = program(tmp_path, f"{NOTES}input()\n{body}\nsys.stdin.read()\n", start=ANSWERS)
    with pytest.raises(ProgramError, match=f"^program '{path}', in its greeting: .*({found})"):
        Program(path, seconds=PATIENCE if body == HANGS else 10)
    assert are_gone(path)


@pytest.mark.parametrize(("body", "found"), DECISIONS.items())
@pytest.mark.parametrize("on_failure", ["error", "hold"])
def test_what_is_no_answer_is_refused(tmp_path, body, found, on_failure, caplog):
    path = program(tmp_path, f"{NOTES}for line in lines():\n    {body}\nsys.stdin.read()\n")
    bot = Program(path, PATIENCE if body == HANGS else 10, on_failure)
    game = begun(VecGame(CONFIG, 1, seats=[bot, *["turtle"] * 3], autoreset="disabled"), seed=4)
    where = rf"^program '{path}', at tick \d+ on seat 1 of the game with seed \d+: .*{found}"
    if on_failure == "error":
        with pytest.raises(ProgramError, match=where):
            advance(game, 20)
    else:
        advance(game, 20)
        assert [record.levelname for record in caplog.records] == ["WARNING"]  # it is not asked again
        assert game.state.taken[0, 1].sum() == 0
    assert are_gone(path)


def test_what_cannot_be_run_is_refused(tmp_path):
    path = program(tmp_path, "")
    path.write_text("echo '{}'")
    for mode, found in ((0o755, "Exec format error; it must be an executable"), (0o644, "Permission denied")):
        path.chmod(mode)
        with pytest.raises(ProgramError, match=found):
            Program(path)


@pytest.mark.parametrize("body", ["for line in lines(): say()", f"for line in lines(): {HANGS}"])
@pytest.mark.parametrize(
    ("processes", "ending", "whom"),
    [
        (1, signal.SIGINT, "main"),
        (2, signal.SIGINT, "main"),
        (2, signal.SIGKILL, "main"),
        (2, signal.SIGKILL, "worker"),
    ],
)
def test_no_process_is_left_when_a_match_is_ended(tmp_path, body, processes, ending, whom):
    path = program(tmp_path, f"{NOTES}{body}")
    code = (
        "import territorial; from territorial import GameConfig, match\n"
        f"match(['program:{path}', 'turtle'], GameConfig(height=24, width=24, num_players=4), 100_000, "
        f"processes={processes}, progress=False)"
    )
    playing = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    try:
        noted, until = path.with_name(f"{path.name}.pids"), time.monotonic() + 300
        while not noted.exists() or len(noted.read_text().split()) < 1 + processes:
            assert playing.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
        if whom == "main":
            playing.send_signal(ending)
        else:
            os.kill(worker_of(path, playing.pid), ending)
        playing.wait(300)
        assert are_gone(path, 300)
    finally:
        playing.kill()
        playing.wait()


def test_no_file_starts_a_program(tmp_path):
    """Tables, leagues, replays and seats have texts of files, and none of them is a program's."""
    path = program(tmp_path, "", start=f"import os\n{NOTES}")
    text = f"program:{path}"
    for use in (
        lambda: VecGame(CONFIG, 1, seats=[text, *["turtle"] * 3]),
        lambda: VecGame(CONFIG, 1, seats=np.array([text, *["turtle"] * 3])),
        lambda: check_seats([text] * 4, 4),
        lambda: sorted_bots([text], ()),
        lambda: parsed("a table", text),
    ):
        with pytest.raises(ValueError, match="program:"):
            use()
    assert (with_bots_of_files([text]), taken(text)) == ([text], None)
    assert not list(tmp_path.glob("*.pids"))
