"""What ``help()``, notebooks and editors show of public names: arguments, defaults, examples that run."""

import doctest
import inspect
import re
import subprocess
import sys
import typing
from dataclasses import fields

import pytest

import territorial
from territorial import browser, league
from territorial.config import ConfigKeywords, GameConfig
from territorial.envs.options import CHOICES, EnvKeywords, EnvOptions
from tests.wrong_keywords import WRONG

PUBLIC = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (territorial, browser, league)
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
    "territorial.Scenario",
    "territorial.TerritorialEnv",
    "territorial.TerritorialVec",
    "territorial.VecGame",
    "territorial.league.League",
    "territorial.browser.host",
]
TAKE_OPTIONS = {
    territorial.TerritorialEnv: [EnvOptions],
    territorial.parallel_env: [EnvOptions, GameConfig],
    territorial.env: [EnvOptions, GameConfig],
    territorial.make_vec: [EnvOptions, GameConfig],
    territorial.SeatEnv: [EnvOptions, GameConfig],
}
# Fields of GameConfig that take more types than they have.
LENIENT = {"cadence_land", "rewards", "teams"}


@pytest.mark.parametrize("name", WITH_ARGUMENTS)
def test_a_docstring_describes_every_argument_that_has_no_description_in_another_one(name):
    described = re.findall(r"^    (\w+): ", inspect.cleandoc(WITH_ARGUMENTS[name].__doc__), re.MULTILINE)
    if "keywords" in described:
        described += [spec.name for source in (EnvOptions, GameConfig) for spec in fields(source)]
        described += inspect.signature(territorial.make_vec).parameters
    assert set(inspect.signature(WITH_ARGUMENTS[name]).parameters) <= set(described)


@pytest.mark.parametrize("maker", TAKE_OPTIONS)
def test_signatures_show_every_option_with_its_default(maker):
    shown = inspect.signature(maker).parameters
    assert not [one for one in shown.values() if one.kind is one.VAR_KEYWORD]
    for spec in (spec for source in TAKE_OPTIONS[maker] for spec in fields(source)):
        assert (shown[spec.name].kind, shown[spec.name].default) == (
            inspect.Parameter.KEYWORD_ONLY,
            spec.default,
        )


@pytest.mark.parametrize(("keywords", "options"), [(EnvKeywords, EnvOptions), (ConfigKeywords, GameConfig)])
def test_the_types_of_keywords_are_those_of_the_fields(keywords, options):
    types, wanted = typing.get_type_hints(keywords), typing.get_type_hints(options)
    assert list(types) == [spec.name for spec in fields(options)]
    assert {name for name in types if types[name] != wanted[name]} <= LENIENT


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_what_mypy_refuses_is_refused_when_it_runs_as_well(number):
    with pytest.raises(TypeError):
        WRONG[number]()


@pytest.mark.parametrize("option", CHOICES)
def test_an_option_is_described_with_all_that_it_may_be(option):
    (spec,) = [spec for spec in fields(EnvOptions) if spec.name == option]
    assert [value for value in CHOICES[option] if f'"{value}"' not in spec.metadata["help"]] == []
    assert spec.default == CHOICES[option][0]


@pytest.mark.parametrize("name", WITH_EXAMPLE)
def test_examples_in_docstrings_run(name):
    examples = doctest.DocTestFinder(recurse=False).find(PUBLIC[name], name, globs={})
    assert [one for one in examples if one.examples], "there is no example"
    runner, report = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL), []
    for example in examples:
        runner.run(example, out=report.append)
    assert runner.failures == 0, "".join(report)


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
