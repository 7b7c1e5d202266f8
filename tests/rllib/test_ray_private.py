"""What Ray does not promise is read and called in one module, which lists it; the installed Ray has it."""

import ast
import functools
import importlib
import inspect
import pkgutil
import textwrap
from pathlib import Path

import pytest

import rllib_adapters
from rllib_adapters import ray_private, requirements
from rllib_adapters.ray_private import PRIVATE, UNDOCUMENTED

pytestmark = pytest.mark.release

ENTRIES = PRIVATE + UNDOCUMENTED
LISTED = {name for entry in PRIVATE for name in entry.names}
BY_TEXT = {"getattr", "setattr", "hasattr", "delattr", "attrgetter", "methodcaller"}


def is_private(name):
    return name.startswith("_") and not name.startswith("__") and name != "_"


@functools.cache
def modules():
    """All modules of the package but the one with the list."""
    names = [one.name for one in pkgutil.walk_packages(rllib_adapters.__path__, "rllib_adapters.")]
    return [importlib.import_module(name) for name in names if name != ray_private.__name__]


@functools.cache
def tree_of(module):
    return ast.parse(Path(module.__file__).read_text(encoding="utf-8"))


def classes_of(module):
    """The classes that a module defines, with their trees."""
    nodes = (node for node in tree_of(module).body if isinstance(node, ast.ClassDef))
    return [(getattr(module, node.name), node) for node in nodes]


def set_in(tree):
    """The private attributes of ``self`` that are set in a class."""
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_private(node.attr)
        if isinstance(node.value, ast.Name) and node.value.id == "self"
    }


@functools.cache
def names_in(cls):
    """The private names that a class of Ray defines or sets."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    return {name for name in vars(cls) if is_private(name) and name != "_abc_impl"} | set_in(tree)


def bases_in_ray(cls):
    return [base for base in cls.__mro__ if base.__module__.startswith("ray.")]


def names_of_ray(cls):
    """The private names that a class has from Ray."""
    return set().union(*map(names_in, bases_in_ray(cls)))


def defined_here():
    """The private names that this project defines for itself."""
    names = {"_replace", "_fields"}  # of named tuples
    for module in modules():
        for cls, tree in classes_of(module):
            own = {one.name for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)} | set_in(tree)
            own |= {one.target.id for one in tree.body if isinstance(one, ast.AnnAssign)}
            names |= own - names_of_ray(cls)
            others = (base for base in cls.__mro__ if base.__module__.startswith("territorial."))
            names |= {name for base in others for name in vars(base)}
    return names


def uses_of(tree):
    """Yield the private names that are read, called, set or imported, and of what."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            yield node.attr, ast.unparse(node.value)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in BY_TEXT:
            texts = [one.value for one in node.args if isinstance(one, ast.Constant)]
            yield from ((text, "text") for text in texts if isinstance(text, str) and is_private(text))
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            within = getattr(node, "module", None) or ""
            full = [f"{within}.{one.name}".strip(".") for one in node.names]
            ray = [name for name in full if name.partition(".")[0] == "ray"]
            yield from ((part, "import") for name in ray for part in name.split(".") if is_private(part))


def names_of_ray_in(tree, own):
    """The private names in a tree that are not this project's, but those that its classes have of Ray."""
    return [
        name
        for name, of in uses_of(tree)
        if of == "import" or name not in own or (of not in ("self", "cls", "super()") and name in LISTED)
    ]


def overridden(cls):
    """The private names of Ray that a class defines anew."""
    return {name for name in vars(cls) if is_private(name)} & names_of_ray(cls)


def test_no_other_module_reads_or_calls_a_private_name_of_ray():
    own = defined_here()
    for module in modules():
        in_classes = []
        for cls, tree in classes_of(module):
            theirs = names_of_ray(cls)
            for name, of in uses_of(tree):
                if of == "super()":
                    assert name in overridden(cls) or name not in theirs, f"{cls} calls {name}"
                    in_classes.append(name)
                elif of in ("self", "cls"):
                    assert name not in theirs, f"{cls} uses {name}, which is Ray's"
        found = [name for name in names_of_ray_in(tree_of(module), own) if name not in in_classes]
        assert found == [], f"{module.__name__} uses {found}; add them to rllib_adapters/ray_private.py"


def test_methods_that_override_those_of_ray_are_listed_and_say_so():
    homes = {(name, entry.owner.rpartition(".")[2]) for entry in PRIVATE for name in entry.names}
    found = set()
    for cls in (cls for module in modules() for cls, _ in classes_of(module)):
        bases = {base.__name__ for base in bases_in_ray(cls)}
        for name in overridden(cls):
            (home,) = {owner for known, owner in homes if known == name and owner in bases}
            said = inspect.getdoc(vars(cls)[name])
            assert f"``{home}.{name}``" in said, f"{cls}.{name} has to name its entry of ray_private"
            found.add(name)
    assert {"_sample", "_forward", "_uncompiled_update", "_make_batch_if_necessary"} <= found


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.owner)
def test_the_installed_ray_has_all_that_is_listed(entry):
    home, _, last = entry.owner.rpartition(".")
    if last[0].islower():
        assert [name for name in entry.names if not hasattr(importlib.import_module(entry.owner), name)] == []
        return
    cls = getattr(importlib.import_module(home), last)
    there = set(dir(cls)).union(*(everything_in(base) for base in bases_in_ray(cls)))
    assert [name for name in entry.names if name not in there] == []


@functools.cache
def everything_in(cls):
    """The attributes of ``self`` that a class of Ray sets."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(getattr(node, "ctx", None), ast.Store)
        if isinstance(node, ast.Attribute)
    }


def test_all_that_is_listed_is_used():
    here = {name for name, _ in uses_of(tree_of(ray_private))}
    overriding = {name for module in modules() for cls, _ in classes_of(module) for name in overridden(cls)}
    assert here | overriding == LISTED
    words = set()
    for node in (node for one in [*modules(), ray_private] for node in ast.walk(tree_of(one))):
        words |= {getattr(node, key) for key in ("attr", "name", "arg", "id") if hasattr(node, key)}
    assert [name for entry in UNDOCUMENTED for name in entry.names if name not in words] == []


def test_imports_from_ray_that_are_no_classes_are_listed():
    known = {(entry.owner, name) for entry in UNDOCUMENTED for name in entry.names}
    for module in [*modules(), ray_private]:
        for node in ast.walk(tree_of(module)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ray."):
                home = importlib.import_module(node.module)
                values = [one.name for one in node.names if not inspect.isclass(getattr(home, one.name))]
                assert [name for name in values if (node.module, name) not in known] == [], module


def test_the_releases_that_were_read_are_those_that_are_tested():
    releases = requirements.OLDEST_RAY, requirements.NEWEST_RAY
    oldest, newest = (".".join(map(str, release)) for release in releases)
    for entry in ENTRIES:
        assert entry.read_in[0] == oldest
        assert entry.read_in[-1].startswith(f"{newest}.")
        assert entry.without.endswith(".")
        assert entry.public
