"""``territorial.match``: who plays, what comes back, where it is played, also by scripts; refusals."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from types import SimpleNamespace

import pytest

from territorial import LINEUPS, GameConfig, Scenario, bots, evaluate, match
from territorial.bots import PythonBot
from territorial.evaluation import workers
from territorial.evaluation.match import MAPS
from territorial.evaluation.record import GameResults
from territorial.evaluation.workers import PlayingError, Processes, StoppedError
from territorial.files.locks import InUseError, locked
from tests.league.support import Patient, Takes

SMALL = GameConfig(height=24, width=24, num_players=4, max_ticks=400)


class Stops(PythonBot):
    """Fails where the environment says so."""

    name = "stops-1"

    def decide(self, view):
        if "STOPS" in os.environ:
            raise ArithmeticError("no more")
        return -1, 1


class Named(Takes):
    name = "takes"


def quietly(*args, **options):
    return match(*args, **{"progress": False, "processes": 1} | options)


def test_all_kinds_of_players_meet_in_one_match():
    policy = Named()
    ranking = quietly(["hard", "tests.league.support:Patient", Stops(), policy], SMALL, 2)
    assert ranking.records[0].seats == ("hard-1", "patient-1", "stops-1", "takes")
    last = ranking.records[0].land[1]
    assert last[3] > 2 * max(last[1:3]), "the policy has taken land, the others only hold"
    assert (policy.started, policy.stopped) == (3, 2), "once before all, and for every game of a chunk"
    assert ranking.contest.code["takes"] == "takes 1"
    named = quietly(["hard", "mine", "mine", "mine"], SMALL, 1, policies={"mine": policy})
    assert (named.players, named.contest.code) == (("hard-1", "mine"), {"mine": "takes 1"})


class Stacks(Named):
    """Notes how many boards are in the stacks that it sees."""

    def __init__(self, name, frames, seen):
        super().__init__()
        self.name, self.frames, self.seen = name, frames, seen

    def start(self, config, layout, seed):
        self.seen.append(layout.frames)
        return super().start(config, layout, seed)


def test_a_policy_sees_the_same_whoever_plays_in_its_chunk():
    class OneByOne(Processes):
        def __call__(self, make, chunks):
            assert {len(chunk) for chunk in chunks} == {1}
            return map(make(), chunks)

    seen = []
    players = [Stacks("three", 3, seen), Stacks("one", 1, seen), *["novice", "banker", "turtle", "hard"]]
    ranking = quietly(players, SMALL, 6, deal=True, play=OneByOne(100))
    apart = [{"one", "three"} - set(record.seats) for record in ranking.records]
    assert {"three"} in apart, "in some game only one of them plays"
    assert set(seen) == {3}


def test_by_default_a_match_is_that_of_the_command():
    """Who plays, on which maps: nothing is played for it."""
    found = []

    def play(make, chunks):
        found.append(make.args[1]["match"].config)
        found.extend(chunks)
        raise KeyboardInterrupt

    ranking = match(games=2, play=play, progress=False)
    assert found[0] == GameConfig(num_maps=MAPS)
    assert found[1][0].seats == LINEUPS["mixed-2"].seats
    assert (ranking.records, ranking.is_complete) == ((), False)
    ranking = match(games=2, deal=True, play=play, progress=False)
    assert set(ranking.contest.players) == {*bots.NAMES, *bots.LEARNED}
    lineup = match("mixed-2", SMALL, 1, deal=True, play=play, progress=False)
    assert lineup.contest.players == LINEUPS["mixed-2"].seats
    six = match("levels-1", SMALL.replace(num_players=6), 1, play=play, progress=False)
    assert six.contest.players == tuple(LINEUPS["levels-1"].seats[i] for i in (0, 5, 10, 16, 21, 26))


def test_the_same_games_come_back_wherever_they_are_played():
    """And those of an evaluation, by the same two processes."""
    players = ["banker", "tests.league.support:Patient", Named()]
    here = quietly(players, SMALL, 7)
    assert quietly(players, SMALL, 7, processes=2).records == here.records
    scenarios = {"s": Scenario(config=SMALL)}
    found = [
        evaluate({"a": Named(), "b": "banker"}, scenarios, 3, processes=count, progress=False)
        for count in (1, 2)
    ]
    assert found[0].records == found[1].records

    def backwards(make, chunks):
        work = make()
        for chunk in reversed(chunks):
            yield work(chunk)

    assert quietly(players, SMALL, 7, play=backwards).records == here.records


def test_what_was_played_before_a_player_failed_is_kept(tmp_path, monkeypatch):
    out = tmp_path / "match.jsonl"
    stops = "tests.league.test_match:Stops"
    quietly(["banker", stops], SMALL, 2, out=out)
    monkeypatch.setenv("STOPS", "")
    with pytest.raises(
        StoppedError, match=r"^ArithmeticError: no more \(.*test_match.py, line \d+, in decide\)$"
    ) as stopped:
        quietly(["banker", stops], SMALL, 6, out=out)
    kept = stopped.value.result
    assert isinstance(stopped.value, PlayingError)
    assert (kept.is_complete, [record.game for record in kept.records]) == (False, [0, 1])
    assert len(out.read_text().splitlines()) == 3


@pytest.fixture
def started(monkeypatch):
    """The processes that a pool has started."""
    processes, start = [], workers._Process.start
    monkeypatch.setattr(
        workers._Process, "start", lambda process: (start(process), processes.append(process))
    )
    return processes


def test_an_interrupt_ends_a_match_and_keeps_what_was_played(tmp_path, monkeypatch, started):
    """On two processes, neither of which goes on."""
    out, add = tmp_path / "match.jsonl", GameResults.add

    def interrupted(results, records):
        for record in add(results, records):
            yield record
            if len(results.records) == 20:
                raise KeyboardInterrupt

    monkeypatch.setattr(GameResults, "add", interrupted)
    ranking = match(["banker", "turtle"], SMALL, 100_000, out=out, processes=2, progress=False)
    assert not ranking.is_complete
    assert len(ranking.records) == len(out.read_text().splitlines()) - 1 == 20
    assert [process.is_alive() for process in started] == [False] * 2


def numbers():
    """Play numbers, the last of which fails."""
    return lambda number: [number, 100 // number]


def test_what_went_wrong_in_a_process_comes_out_of_it_and_no_process_is_left(started):
    with pytest.raises(
        PlayingError, match=r"^ZeroDivisionError: .* \(.*test_match.py, line \d+, in <lambda>\)$"
    ):
        list(Processes(2)(numbers, [*range(50, -1, -1)]))
    assert [process.is_alive() for process in started] == [False] * 2


def is_killed():
    return lambda number: os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL on Windows")
def test_it_is_said_how_a_process_ended():
    with pytest.raises(
        PlayingError, match=r"was ended by SIGKILL, which the system sends when memory runs out$"
    ):
        list(Processes(2)(is_killed, [1, 2]))


@pytest.mark.skipif(sys.platform == "win32", reason="no folder that is worked in can be removed on Windows")
def test_processes_play_from_a_working_folder_that_cannot_be_entered(tmp_path, monkeypatch):
    place = tmp_path / "gone"
    place.mkdir()
    monkeypatch.chdir(place)
    place.rmdir()
    assert len(quietly(["banker", "turtle"], SMALL, 2, processes=2).records) == 2


def test_a_match_is_played_without_a_console(monkeypatch, capfd):
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    assert match(["banker"], SMALL, 2, processes=1).is_complete
    scenario = Scenario(config=SMALL, seats=["agent", "banker", "turtle", "novice"])
    assert evaluate(["banker"], {"a": scenario}, 1, processes=1).is_complete
    monkeypatch.undo()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("codes", "message"),
    [((-signal.SIGTERM, 3), "ended with exit code 3"), ((0, -signal.SIGSEGV), "was ended by SIGSEGV")],
)
def test_of_several_processes_that_ended_the_one_that_broke_the_pool_is_told(codes, message):
    context = workers.NewProcesses()
    context._started = [SimpleNamespace(exitcode=code) for code in codes]
    assert context.why_broken() == f"a worker process {message}"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: match("banker", SMALL), TypeError, "seats is 'banker'; it must be a list of players or a"),
        (lambda: match([], SMALL), ValueError, "seats has no players"),
        (lambda: match(["wizard"], SMALL), ValueError, "no bot 'wizard'"),
        (lambda: match(["banker"] * 5, SMALL), ValueError, "5 players; a game of this config has 4 seats"),
        (lambda: match([3], SMALL), TypeError, "player 0 is 3; it must be a bot or a policy"),
        (lambda: match(["banker"], "small"), TypeError, "config is 'small'; it must be a territorial.Game"),
        (lambda: match(["banker"], SMALL, 0), ValueError, "games is 0"),
        (lambda: match(["banker"], SMALL, processes=0), ValueError, "processes is 0"),
        (lambda: match(["mine"], SMALL, policies={"mine": 3}), TypeError, "the policy 'mine' is 3"),
        (
            lambda: match(["turtle"], SMALL, policies={"turtle": Patient()}),
            ValueError,
            "'turtle' is the name of a built-in bot",
        ),
        (
            lambda: match([Patient(), Patient()], SMALL),
            ValueError,
            "another player has the name 'patient-1'",
        ),
        (lambda: match("banker", SMALL, deal=True), TypeError, "seats is 'banker'; it must be a list"),
    ],
)
def test_what_cannot_be_is_refused_by_name(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_two_do_not_play_into_one_file_at_once(tmp_path):
    out = tmp_path / "match.jsonl"
    with locked(tmp_path / "match.jsonl.lock"), pytest.raises(InUseError, match="another process writes"):
        quietly(["banker"], SMALL, 1, out=out)
    assert not out.exists()


# ---- scripts, and what is typed ----------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("lock", "named"),
    [(LOCK, "global 'LOCK'"), ("\nLOCK = 1\nMine.lock = 0\n", "attribute 'lock' of a Mine")],
)
def test_what_cannot_be_sent_is_named(tmp_path, lock, named):
    refused = f"""
try:
    {MATCH.splitlines()[1]}
    if hasattr(Mine, "lock"):
        players[1].lock = threading.Lock()
    territorial.match(players, CONFIG, 4, processes=2, progress=False)
except territorial.evaluation.workers.StoppedError as error:
    print(error)
"""
    assert printed(tmp_path, LOCKED + lock + refused) == (
        f"players cannot be sent to other processes because of the {named}: "
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
