"""Digests of bots that stand in no file, as in a notebook: from their code and what it uses."""

import subprocess
import sys
import types

import pytest

from territorial.evaluation.players import Entrants, code_of, identity_of

CELL = """
import numpy as np
from territorial.bots import PythonBot

LIMITS, TABLE = {"low": 1, "high": [2, 3]}, np.arange(3000)

def plus(x):
    return x + 1

class Scale:
    factor = 2

SCALE = Scale()

class Base(PythonBot):
    def share(self):
        return 1024

class Bot(Base):
    name = "mine-1"
    calm = 3

    def decide(self, view, far=2):
        if view in {"one", "two"}:
            return lambda: 5
        return plus(LIMITS["low"]), TABLE[0] * SCALE.factor, [self.share() for _ in range(7)]

    @staticmethod
    def near():
        return Bot.calm * 11
"""


@pytest.fixture
def defined(monkeypatch):
    """Return a function that defines what a cell of a notebook does, and returns the bot."""

    def define(cell):
        module = types.ModuleType("cells_for_a_test")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(compile(cell, "<cell>", "exec"), vars(module))
        return module.Bot()

    return define


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x + 1", "x + 2"),
        ('"low": 1', '"low": 4'),
        ("[2, 3]", "[2, 4]"),
        ("np.arange(3000)", "np.arange(3000) * (np.arange(3000) != 1500)"),
        ("factor = 2", "factor = 3"),
        ("1024", "1023"),
        ("calm = 3", "calm = 4"),
        ("far=2", "far=3"),
        ('"two"', '"six"'),
        ("lambda: 5", "lambda: 6"),
        ("range(7)", "range(8)"),
        ("self.share()", "self.decide()"),
        ("* 11", "+ 11"),
    ],
)
def test_a_bot_that_has_changed_has_another_digest(defined, old, new):
    assert old in CELL
    bots = defined(CELL), defined(CELL.replace(old, new))
    codes = [Entrants([bot]).code["mine-1"] for bot in bots]
    assert codes[0] != codes[1]
    assert identity_of(bots[0]) != identity_of(bots[1])


def test_a_bot_that_was_only_defined_again_has_the_same_one(defined):
    moved = CELL.replace("    calm", "    # how calm it is\n\n    calm").replace(
        "def plus", "OTHER = 3\n\ndef plus"
    )
    assert moved != CELL
    assert code_of(defined(CELL)) == code_of(defined(moved)) == code_of(defined(CELL))


def test_bots_of_a_command_or_of_stdin_have_their_digests_in_every_process():
    """Those of sets of strings have no order that stays."""
    program = f"{CELL}\nfrom territorial.evaluation.players import code_of\nprint(code_of(Bot()))"

    def report(*arguments, **options):
        done = subprocess.run(
            [sys.executable, *arguments], capture_output=True, text=True, check=True, **options
        )
        return done.stdout

    first = report("-c", program)
    assert first == report("-", input=program)
    assert first != report("-c", program.replace("1024", "1023"))


def test_a_bot_that_uses_itself_has_a_digest(defined):
    cell = CELL + "\nLIMITS['all'] = LIMITS\nSCALE.owner = SCALE\n"
    assert code_of(defined(cell)) == code_of(defined(cell)) != code_of(defined(CELL))


def test_a_bot_that_uses_a_variable_before_it_is_set_has_a_digest(defined):
    cell = (
        CELL
        + """
def outer(is_set):
    def inner():
        return late
    if is_set:
        late = 3
    return inner

Bot.helper = outer(is_set=False)
"""
    )
    later = cell.replace("is_set=False", "is_set=True")
    assert code_of(defined(cell)) == code_of(defined(cell)) != code_of(defined(later))
