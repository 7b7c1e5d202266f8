"""What ``rllib_adapters`` offers by its own name: without Ray until it is asked for, and described."""

import doctest
import inspect
import pickle
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import rllib_adapters
from rllib_adapters import requirements

CALLED = [name for name in rllib_adapters.__all__ if name != "BoardModule"]  # which RLlib alone makes


def output_of(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_importing_the_package_and_listing_its_names_imports_no_ray():
    program = (
        "import sys, rllib_adapters; print(*dir(rllib_adapters)); print({'ray', 'torch'} & set(sys.modules))"
    )
    assert output_of(program) == [*sorted(rllib_adapters.__all__), "set()"]


@pytest.mark.parametrize("name", rllib_adapters.__all__)
def test_public_names_can_be_pickled(name):
    value = getattr(rllib_adapters, name)
    assert pickle.loads(pickle.dumps(value)) is value


def described_in(function):
    return re.findall(r"^    (\w+): ", inspect.cleandoc(function.__doc__), re.MULTILINE)


@pytest.mark.parametrize("name", CALLED)
def test_a_docstring_describes_every_argument(name):
    function = getattr(rllib_adapters, name)
    function = getattr(function, name, function)  # of a module that can be called
    assert set(inspect.signature(function).parameters) <= set(described_in(function))


def test_the_example_of_configure_runs():
    function = rllib_adapters.configure
    (example,) = doctest.DocTestFinder(recurse=False).find(function, "configure", globs={})
    told = []
    assert doctest.DocTestRunner().run(example, out=told.append).failed == 0, "".join(told)
    assert example.examples


def installed(monkeypatch, **versions):
    monkeypatch.setattr(requirements, "_version", {"ray": "2.60.0", "torch": "2.13.0", **versions}.get)


@pytest.mark.parametrize(
    ("versions", "message"),
    [
        ({"ray": None}, r"needs ray, which is not installed: pip install 'territorial-env\[rllib\]'"),
        ({"torch": None}, r"needs torch, which is not installed: pip install"),
        ({"ray": "2.54.0"}, r"needs Ray 2.55.1 or newer, and 2.54.0 is installed: pip install"),
        ({"ray": "2.55.0"}, "2.55.0 is installed"),
        ({"ray": "1.13"}, "1.13 is installed"),
    ],
)
def test_what_is_missing_or_too_old_is_named(monkeypatch, versions, message):
    installed(monkeypatch, **versions)
    with pytest.raises(ImportError, match=message):
        requirements.check_requirements()


def test_a_newer_ray_is_refused_unless_the_user_insists(monkeypatch):
    installed(monkeypatch, ray="2.61.0rc1")
    monkeypatch.delenv(requirements.ANY_RAY, raising=False)
    with pytest.raises(
        ImportError, match=r"2\.61\.0rc1 is newer .* pip install 'ray\[rllib\]>=2\.55\.1,<2\.61'"
    ):
        requirements.check_requirements()
    monkeypatch.setenv(requirements.ANY_RAY, "1")
    with pytest.warns(UserWarning, match="Ray 2.61.0rc1 is newer than 2.60"):
        requirements.check_requirements()


def test_the_metadata_has_the_same_releases():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    oldest, (major, minor) = requirements.OLDEST_RAY, requirements.NEWEST_RAY
    wanted = f"ray[rllib]>={'.'.join(map(str, oldest))},<{major}.{minor + 1}"
    assert wanted in project["project"]["optional-dependencies"]["rllib"]
