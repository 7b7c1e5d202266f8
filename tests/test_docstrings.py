"""What ``help()`` and editors show of public names: every argument, its default, examples that run."""

from __future__ import annotations

import doctest
import inspect
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import territorial
from territorial import league
from territorial.envs.options import CHOICES, EnvOptions
from territorial.envs.pettingzoo import TerritorialEnv, parallel_env
from territorial.envs.vector import make_vec
from tests.docstrings import section

ROOT = Path(__file__).parents[1]

PUBLIC = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (territorial, league)
    for name in module.__all__
    if callable(getattr(module, name))
} | {"EnvOptions": EnvOptions}

WITH_ARGUMENTS = {
    name: one for name, one in PUBLIC.items() if not (inspect.isclass(one) and issubclass(one, Exception))
}
WITH_EXAMPLE = [
    "territorial.env",
    "territorial.evaluate",
    "territorial.make_vec",
    "territorial.parallel_env",
    "territorial.GameConfig",
    "territorial.LandMask",
    "territorial.LineUp",
    "territorial.Recorder",
    "territorial.Replay",
    "territorial.SeatEnv",
    "territorial.SeatVectorEnv",
    "territorial.Setting",
    "territorial.TerritorialEnv",
    "territorial.TerritorialVec",
    "territorial.VecGame",
    "territorial.league.League",
]


def shown_default(default: object) -> str:
    return repr(default).replace("'", '"')


@pytest.mark.parametrize("name", WITH_ARGUMENTS)
def test_a_docstring_names_every_argument_of_the_signature_once_and_in_its_order(name):
    named = [argument for argument, _ in section(WITH_ARGUMENTS[name].__doc__, "Args")]
    assert named == list(inspect.signature(WITH_ARGUMENTS[name]).parameters)


@pytest.mark.parametrize("name", WITH_ARGUMENTS)
def test_a_docstring_says_every_default(name):
    texts = dict(section(WITH_ARGUMENTS[name].__doc__, "Args"))
    for argument in inspect.signature(WITH_ARGUMENTS[name]).parameters.values():
        if argument.default is not argument.empty:
            assert "default" in texts[argument.name].lower(), argument
            if f"efault {shown_default(argument.default)}" not in texts[argument.name]:  # a value that moves
                assert "default: " in texts[argument.name] or "default ``" in texts[argument.name], argument


def test_what_keywords_of_make_vec_may_be_are_the_options_of_environments():
    listed = dict(section(make_vec.__doc__, "Keyword Args"))
    assert list(listed) == [spec.name for spec in fields(EnvOptions)]
    for spec in fields(EnvOptions):
        assert f"default {shown_default(spec.default)}" in listed[spec.name]


@pytest.mark.parametrize("maker", [TerritorialEnv, parallel_env])
def test_options_have_the_same_defaults_everywhere(maker):
    given = inspect.signature(maker).parameters
    assert {spec.name: given[spec.name].default for spec in fields(EnvOptions)} == {
        spec.name: spec.default for spec in fields(EnvOptions)
    }


@pytest.mark.parametrize("option", CHOICES)
def test_an_option_is_described_with_all_that_it_may_be(option):
    (spec,) = [spec for spec in fields(EnvOptions) if spec.name == option]
    assert [value for value in CHOICES[option] if f'"{value}"' not in spec.metadata["help"]] == []
    assert spec.default == CHOICES[option][0]


def test_options_out_of_their_ranges_are_errors_that_name_the_range():
    for spec in fields(EnvOptions):
        if "low" in spec.metadata:
            low = spec.metadata["low"]
            wanted = f"{spec.name} is {low - 1}; it must be a whole number .* {low}"
            with pytest.raises(ValueError, match=wanted):
                EnvOptions(**{"obs": "pooled", spec.name: low - 1})


@pytest.mark.parametrize("name", WITH_EXAMPLE)
def test_examples_in_docstrings_run(name):
    examples = doctest.DocTestFinder(recurse=False).find(PUBLIC[name], name, globs={})
    assert [one for one in examples if one.examples], "there is no example"
    runner, told = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL), []
    for example in examples:
        runner.run(example, out=told.append)
    assert runner.failures == 0, "".join(told)


@pytest.mark.checkout
def test_docstrings_repeat_what_the_options_say_of_themselves():
    command = [sys.executable, "maintainers/docstrings.py", "--check"]
    path = {**os.environ, "PYTHONPATH": str(ROOT)}
    checked = subprocess.run(command, cwd=ROOT, env=path, capture_output=True, text=True)
    assert checked.returncode == 0, (
        f"run `python maintainers/docstrings.py`: {checked.stdout}{checked.stderr}"
    )


def test_dir_lists_public_names_alone():
    shown = dir(territorial)
    assert set(territorial.__all__) <= set(shown)
    assert [name for name in shown if name.startswith("_") and name != "__version__"] == []
    assert all(hasattr(territorial, name) for name in shown)
    modules = {name for name in shown if inspect.ismodule(getattr(territorial, name))}
    assert modules == {"bots", "decode", "league", "maps", "render", "replay"}


def test_the_package_works_without_docstrings():
    code = "import territorial; print(territorial.make_vec.__doc__, territorial.GameConfig(height=64).height)"
    done = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["None", "64"]
