"""What ``rllib_adapters`` offers by its own name: without Ray until it is asked for, and described."""

import dataclasses
import doctest
import inspect
import pickle
import re
import subprocess
import sys

import pytest

pytest.importorskip("ray", reason="Ray is not installed: the extra `rllib` has it")
pytest.importorskip("torch", reason="PyTorch is not installed: the extra `rllib` has it")

import rllib_adapters
from rllib_adapters.envs.env_config import EnvConfig

CALLED = [name for name in rllib_adapters.__all__ if name != "BoardModule"]  # which RLlib alone makes


def output_of(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_importing_the_package_and_listing_its_names_imports_no_ray():
    program = (
        "import sys, rllib_adapters; print(*dir(rllib_adapters)); print({'ray', 'torch'} & set(sys.modules))"
    )
    assert output_of(program) == [*sorted(rllib_adapters.__all__), "set()"]


def test_an_unknown_name_is_an_attribute_error_that_names_it():
    with pytest.raises(AttributeError, match="module 'rllib_adapters' has no attribute 'confgure'"):
        rllib_adapters.confgure  # noqa: B018  # that is the test


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


def test_every_entry_of_an_env_config_is_described():
    assert described_in(EnvConfig) == [spec.name for spec in dataclasses.fields(EnvConfig)]
