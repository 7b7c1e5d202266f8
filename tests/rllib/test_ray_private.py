"""One module lists what Ray does not promise, and the installed Ray has it; ruff finds who reads it."""

import ast
import functools
import importlib
import inspect
import pkgutil
import textwrap

import pytest

import rllib_adapters
from rllib_adapters import requirements
from rllib_adapters.ray_private import PRIVATE, UNDOCUMENTED

ENTRIES = PRIVATE + UNDOCUMENTED


def bases_in_ray(cls):
    return [base for base in cls.__mro__ if base.__module__.startswith("ray.")]


def is_private(name):
    return name.startswith("_") and not name.startswith("__") and name != "_abc_impl"


def test_private_methods_of_ray_that_classes_define_anew_are_listed():
    found = set()
    for about in pkgutil.walk_packages(rllib_adapters.__path__, "rllib_adapters."):
        for cls in filter(inspect.isclass, vars(importlib.import_module(about.name)).values()):
            if cls.__module__ == about.name:
                theirs = {name for base in bases_in_ray(cls) for name in vars(base)}
                found |= {name for name in vars(cls).keys() & theirs if is_private(name)}
    listed = {name for entry in PRIVATE for name in entry.names}
    assert {"_sample", "_forward", "_uncompiled_update", "_make_batch_if_necessary"} <= found <= listed


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.owner)
def test_the_installed_ray_has_all_that_is_listed(entry):
    home, _, last = entry.owner.rpartition(".")
    if last[0].islower():
        assert [name for name in entry.names if not hasattr(importlib.import_module(entry.owner), name)] == []
        return
    cls = getattr(importlib.import_module(home), last)
    there = set(dir(cls)).union(*(set_by(base) for base in bases_in_ray(cls)))
    assert [name for name in entry.names if name not in there] == []


@functools.cache
def set_by(cls):
    """The attributes that a class of Ray sets."""
    nodes = ast.walk(ast.parse(textwrap.dedent(inspect.getsource(cls))))
    return {
        node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }


def test_the_releases_that_were_read_are_those_that_are_tested():
    releases = requirements.OLDEST_RAY, requirements.NEWEST_RAY
    oldest, newest = (".".join(map(str, release)) for release in releases)
    for entry in ENTRIES:
        assert entry.read_in[0] == oldest
        assert entry.read_in[-1].startswith(f"{newest}.")
