"""Programs: they play the games of bots in Python, in every process and from any tick."""

import functools
import pickle
import shutil
import subprocess

import numpy as np
import pytest

from territorial import GameConfig, Replay, VecGame, cli, match
from territorial.bots import HOLD_ALL, Program, ProgramError, PythonBot
from territorial.evaluation.players import code_of
from territorial.evaluation.workers import StoppedError
from tests.bots.programs import ANSWERS, program
from tests.engine.support import ROOT, digests
from tests.episodes import advance, after_steps, begun

CONFIG = GameConfig(height=40, width=40, num_players=4, max_ticks=1500)
OTHERS = ["turtle", "banker", "hard"]
EXAMPLES = ROOT / "examples/programs"
TOOLS = {"py": "python3", "js": "node", "c": "cc", "rs": "rustc", "sh": "sh"}
COMPILERS = {"c": ["cc", "-O2"], "rs": ["rustc", "-O"]}


class Patient(PythonBot):
    """The bot of docs/custom_bots.md, but for ties: the lowest code is attacked."""

    interval = 100

    def __init__(self, name):
        self.name = name

    def decide(self, view):
        troops, land = view.own(view.troops), view.own(view.land)
        thinnest = np.full(len(view.rows), HOLD_ALL)
        for row in view.rows:
            for q in np.flatnonzero(view.legal[row, 1:]) + 1:
                best, over, under = thinnest[row], view.troops[row], view.land[row]
                if best == HOLD_ALL or over[q] * under[best] < over[best] * under[q]:
                    thinnest[row] = q
        targets = np.where(view.legal[:, 0], 0, np.where(troops >= 110 * land, thinnest, HOLD_ALL))
        return targets, view.fraction(np.where(targets == 0, troops // 10, troops // 4))


def example(folder, kind):
    """Return the example in a language, compiled if need be."""
    source = EXAMPLES / f"patient.{kind}"
    if shutil.which(TOOLS[kind]) is None:
        pytest.skip(f"there is no {TOOLS[kind]} to run {source.name} with")
    if kind not in COMPILERS:
        return source
    subprocess.run([*COMPILERS[kind], "-o", folder / "patient", source], check=True)
    return folder / "patient"


@pytest.mark.checkout
@pytest.mark.parametrize("kind", ["py", "js", "c", "rs"])
def test_an_example_plays_the_games_of_the_bot_in_python(tmp_path, kind):
    """On 1 process and on 2, in copies and pickles, and from a saved game on."""
    bot = Program(example(tmp_path, kind))
    play = functools.partial(VecGame, CONFIG, 4, autoreset="disabled", observe=False)
    game, twin = (after_steps(play(seats=[one, *OTHERS]), 60, seed=5) for one in (bot, Patient(bot.name)))
    resumed = after_steps(play(seats=[Program(bot.path), *OTHERS]), 0, seed=1)
    for k in range(4):
        resumed.restore(k, game.save(k))
    copies = (game, twin, resumed, game.clone(), pickle.loads(pickle.dumps(game)))
    for one in copies:
        advance(one, 90)
    assert twin.state.taken[:, 1].sum() > 100
    assert [digests(one) for one in copies] == [digests(twin)] * 5


@pytest.mark.checkout
@pytest.mark.parametrize("games", [20, pytest.param(200, marks=pytest.mark.verify)])
def test_matches_are_those_of_the_bot_in_python(games):
    text = f"program:{EXAMPLES / 'patient.py'}"
    bot = Patient("patient-in-python")
    found = [
        match([one, *OTHERS], CONFIG, games, processes=n, progress=False).records
        for one, n in ((text, 1), (text, 2), (bot, 1))
    ]
    assert found[0] == found[1] == found[2]


@pytest.mark.checkout
def test_commands_take_programs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copy(EXAMPLES / "settler.sh", "settler")
    seats = "program:./settler,turtle,tests.bots.test_python:Counter,program:./settler"
    size = ["--height", "24", "--width", "24", "--num-players", "4", "--set", "max_ticks=300"]
    assert cli.main(["demo", "--seats", seats, *size, "--no-picture", "--replay", "one.replay"]) == 0
    assert Replay.load("one.replay").seats == ("settler-in-sh", "turtle-1", "counter-1", "settler-in-sh")
    assert cli.main(["replay", "one.replay", "--verify"]) == 0
    assert cli.main(["dataset", "rows", "--seats", seats, *size, "--games", "2", "--processes", "2"]) == 0
    capsys.readouterr()
    assert cli.main(["demo", "--seats", "program:./missing,turtle", *size]) == 2
    assert "program './missing', in its greeting: it cannot be run: No such file" in capsys.readouterr().err


# ---- what a line has ---------------------------------------------------------------------------------

SEES = """
import base64, zlib
say(name="tried-1", interval=30, wishes=["board"])
for line in lines():
    seat, kept = line["seat"], line["memory"] or [0]
    board = zlib.decompress(base64.b64decode(line["board"]))
    say(forecast=[line["legal"][0] if line["legal"] else 0, 256])
    forecast = json.loads(sys.stdin.readline())["forecast"]
    target = [row for row in line["targets"] if row[0] in line["legal"]][:1]
    seen = board.count(seat), forecast["cells"], forecast["ticks"], sum(line["random"]) % 2**31
    say(
        memory=[kept[0] + 1, *seen, sum(sum(target, []))],
        **({"target": target[0][0], "share": 300} if target else {}),
    )
"""


class Seeing(PythonBot):
    """The program of SEES as a bot in Python, which keeps the same memory."""

    name, interval = "tried-1", 30

    def decide(self, view):
        targets = np.full(len(view.rows), HOLD_ALL)
        for row, seat in enumerate(view.seats):
            legal = np.flatnonzero(view.legal[row])
            forecast = view.forecast(row, legal[0] if len(legal) else 0, 256)
            draws = [int(view.draw(number)[row]) for number in (256, 257)]
            random = sum(part for draw in draws for part in (draw % 2**32, draw >> 32))
            if len(legal):
                targets[row] = q = legal[0]
                columns = view.fronts, view.needs, view.sent, view.attacks
            seen = [(view.board[row] == seat).sum(), forecast["cells"], forecast["ticks"], random % 2**31]
            seen.append(q + sum(column[row, q] for column in columns) if len(legal) else 0)
            view.memory[row, :7] = [6, max(0, view.memory[row, 1]) + 1, *seen]
        return targets, 300


@pytest.mark.parametrize("teams", [None, 2])
def test_a_program_sees_what_a_bot_in_python_sees(tmp_path, teams):
    path = program(tmp_path, SEES, start=f"{ANSWERS}input()\n")
    config = CONFIG.replace(teams=teams)
    games = [
        after_steps(VecGame(config, 3, seats=[one, "external", one, "turtle"]), 90, seed=2)
        for one in (Program(path), Seeing())
    ]
    assert digests(games[0]) == digests(games[1])
    assert np.array_equal(games[0].state.memory, games[1].state.memory)
    assert games[0].state.taken[:, 1].sum() > 100


def test_the_code_of_a_program_is_its_file(tmp_path):
    bot = Program(program(tmp_path, "for line in lines(): say()"))
    before = code_of(bot)
    program(tmp_path, "for line in lines(): say( )")
    assert (len(before), code_of(bot) == before) == (16, False)


# ---- failures ----------------------------------------------------------------------------------------

FAILS = """
for line in lines():
    if line["tick"] > 200 and line["random"][0] % 40 == 0: sys.exit(3)
    say(**({"target": 0, "share": 100} if 0 in line["legal"] else {}))
"""


def test_a_failed_seat_holds_and_records_say_so_also_when_they_are_resumed(tmp_path):
    seats = [f"program:{program(tmp_path, FAILS)}", "turtle"]
    play = functools.partial(match, seats, CONFIG, on_failure="hold", progress=False)
    whole = play(games=8, processes=2)
    play(games=3, processes=1, out=tmp_path / "games")
    resumed = play(games=8, processes=1, out=tmp_path / "games")
    assert resumed.records == whole.records == play(games=8, processes=1, out=tmp_path / "games").records
    failed = sum(len(game.failed) for game in whole.records)
    assert 0 < failed < 16
    assert whole.failed == {"tried-1": failed} == whole.to_dict()["failed"]
    assert f"tried-1 failed on {failed} seats" in whole.text()
    where = r"at tick \d+ on seat \d of the game with seed \d"
    with pytest.raises(StoppedError, match=rf"^program '.*', {where}: it ended with exit code 3$"):
        match(seats, CONFIG, games=8, progress=False, processes=2)


ONCE = """
for line in lines():
    if not os.path.exists(__file__ + ".was"):
        open(__file__ + ".was", "w")
        sys.exit()
    say()
"""


def test_a_game_goes_on_after_an_error(tmp_path):
    """Nothing of the failed step has happened, and the next one asks again, of a new program."""
    game = begun(VecGame(CONFIG, 2, seats=[Program(program(tmp_path, ONCE)), *OTHERS]), seed=0)
    with pytest.raises(ProgramError, match="ended with exit code 0"):
        advance(game, 5)
    advance(game, 30)
    steps = int(game.state.tick[0]) // CONFIG.decision_every
    held = after_steps(VecGame(CONFIG, 2, seats=["external", *OTHERS]), steps, seed=0)
    assert game.state.land.tolist() == held.state.land.tolist()
