"""One module lists what of Ray is private; public names need no Ray until they are asked for."""

import ast
import doctest
import functools
import importlib
import inspect
import pickle
import pkgutil
import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

import rllib_adapters
from rllib_adapters import requirements
from rllib_adapters.ray_private import PRIVATE, READ_IN, UNDOCUMENTED


def bases_in_ray(cls):
    return [base for base in cls.__mro__ if base.__module__.startswith("ray.")]


def is_private(name):
    return name.startswith("_") and not name.startswith("__") and name != "_abc_impl"


def own_classes():
    for about in pkgutil.walk_packages(rllib_adapters.__path__, "rllib_adapters."):
        for cls in filter(inspect.isclass, vars(importlib.import_module(about.name)).values()):
            if cls.__module__ == about.name:
                yield cls


def attributes_in(path):
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {node.attr for node in nodes if isinstance(node, ast.Attribute) and is_private(node.attr)}


def test_private_names_of_ray_that_are_used_or_defined_anew_are_listed():
    own, rays = {"_replace", "_asdict"}, set()  # of named tuples
    for cls in own_classes():
        theirs = set().union(*({*vars(base), *set_by(base)} for base in bases_in_ray(cls)))
        ours = [base for base in cls.__mro__ if base.__module__.startswith(("territorial", "rllib_adapters"))]
        mine = {name for base in ours for name in {*vars(base), *set_by(base, "self")} if is_private(name)}
        own, rays = own | (mine - theirs), rays | (mine & theirs)
    used = set().union(*(map(attributes_in, Path(rllib_adapters.__path__[0]).rglob("*.py"))))
    listed = {name for entry in PRIVATE for name in entry.names}
    found = (used - own) | rays
    assert {"_sample", "_forward", "_uncompiled_update", "_worker_manager", "_seed"} <= found
    assert found == listed


@pytest.mark.parametrize("entry", PRIVATE + UNDOCUMENTED, ids=lambda entry: entry.owner)
def test_the_installed_ray_has_all_that_is_listed(entry):
    home, _, last = entry.owner.rpartition(".")
    if last[0].islower():
        assert [name for name in entry.names if not hasattr(importlib.import_module(entry.owner), name)] == []
        return
    cls = getattr(importlib.import_module(home), last)
    there = set(dir(cls)).union(*(set_by(base) for base in bases_in_ray(cls)))
    assert [name for name in entry.names if name not in there] == []


@functools.cache
def set_by(cls, of=""):
    """The attributes that a class sets, of anything or of what it calls ``of``."""
    nodes = ast.walk(ast.parse(textwrap.dedent(inspect.getsource(cls))))
    stored = [one for one in nodes if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)]
    return {one.attr for one in stored if not of or ast.unparse(one.value) == of}


def test_the_releases_that_were_read_are_those_that_are_tested():
    oldest, newest = (".".join(map(str, one)) for one in (requirements.OLDEST_RAY, requirements.NEWEST_RAY))
    assert READ_IN[0] == oldest
    assert READ_IN[1].startswith(f"{newest}.")


def test_importing_the_package_and_listing_its_names_imports_no_ray():
    program = (
        "import sys, rllib_adapters; print(*dir(rllib_adapters)); print({'ray', 'torch'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [*sorted(rllib_adapters.__all__), "set()"]


@pytest.mark.parametrize("name", rllib_adapters.__all__)
def test_public_names_can_be_pickled(name):
    value = getattr(rllib_adapters, name)
    assert pickle.loads(pickle.dumps(value)) is value


@pytest.mark.parametrize("name", [name for name in rllib_adapters.__all__ if name != "BoardModule"])
def test_a_docstring_describes_every_argument(name):
    function = getattr(rllib_adapters, name)
    function = getattr(function, name, function)  # of a module that can be called
    described = re.findall(r"^    (\w+): ", inspect.cleandoc(function.__doc__), re.MULTILINE)
    assert set(inspect.signature(function).parameters) <= set(described)


def test_the_example_of_configure_runs():
    function = rllib_adapters.configure
    (example,) = doctest.DocTestFinder(recurse=False).find(function, "configure", globs={})
    report = []
    assert doctest.DocTestRunner().run(example, out=report.append).failed == 0, "".join(report)
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
