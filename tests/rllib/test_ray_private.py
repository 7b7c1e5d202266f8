"""One module lists what Ray does not promise, and the installed Ray has it; nothing else of it is used."""

import ast
import functools
import importlib
import inspect
import pkgutil
import textwrap
from pathlib import Path

import pytest

import rllib_adapters
from rllib_adapters import requirements
from rllib_adapters.ray_private import PRIVATE, READ_IN, UNDOCUMENTED

ENTRIES = PRIVATE + UNDOCUMENTED


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
def set_by(cls, of=""):
    """The attributes that a class sets, of anything or of what it calls ``of``."""
    nodes = ast.walk(ast.parse(textwrap.dedent(inspect.getsource(cls))))
    stored = [one for one in nodes if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)]
    return {one.attr for one in stored if not of or ast.unparse(one.value) == of}


def test_the_releases_that_were_read_are_those_that_are_tested():
    oldest, newest = (".".join(map(str, one)) for one in (requirements.OLDEST_RAY, requirements.NEWEST_RAY))
    assert READ_IN[0] == oldest
    assert READ_IN[1].startswith(f"{newest}.")
