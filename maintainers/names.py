#!/usr/bin/env python3
"""Checks that names of modules, attributes and files in backticks exist.

    python maintainers/names.py      exit code 1, and a line for each name that is not there

A name is checked if its owner is known: ``territorial.x.y``, a class of the packages with an attribute, or a
path with a folder of the repository. An owner that is unknown must not have the name of a function of the
packages, unless the same file uses the owner, too.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOP_PACKAGES = ("territorial", "rllib_adapters")
BASES = (ROOT, *(ROOT / top for top in TOP_PACKAGES))
PAGES = (*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md")))
OTHERS = {
    "gymnasium.make",
    "pettingzoo.make",
    "territorial.network",
    "Policy._initialize_loss_from_dummy_batch",
    "Policy._get_dummy_batch_from_view_requirements",
}
"""Names of other packages, and one of the metadata of a file, that look like our own."""
DOTTED = re.compile(r"`~?([A-Za-z_]\w*(?:\.\w+)+)(?:\(\))?`")
PATH = re.compile(r"`([\w.-]+/[\w./-]+\.(?:py|md|js|css|toml|json))`")


def names_in(tree: ast.AST) -> set[str]:
    """Return all names that a module defines, imports, takes as arguments or reads as attributes."""
    fields = ("name", "id", "attr", "arg", "asname")
    return {name for node in ast.walk(tree) for field in fields if (name := getattr(node, field, None))}


def module_of(path: Path) -> str:
    """Return the dotted name of a source file."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


TREES = {
    path: ast.parse(path.read_text("utf-8")) for top in TOP_PACKAGES for path in (ROOT / top).rglob("*.py")
}
NAMES = {module_of(path): names_in(tree) for path, tree in TREES.items()}
FUNCTIONS = {node.name for tree in TREES.values() for node in tree.body if isinstance(node, ast.FunctionDef)}
CLASSES = defaultdict[str, set[str]](set)
for path, tree in TREES.items():
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            CLASSES[node.name] |= NAMES[module_of(path)]


def is_there(name: str, scope: set[str]) -> bool:
    """Return whether a dotted name exists or cannot be checked; ``scope``: the names of the same file."""
    owner, attribute, *_ = parts = name.split(".")
    if owner in TOP_PACKAGES:
        module = next(found for i in range(len(parts), 0, -1) if (found := ".".join(parts[:i])) in NAMES)
        rest = name[len(module) + 1 :].split(".")[0]
        return not rest or rest in NAMES[module]
    if owner in CLASSES:
        return attribute in CLASSES[owner]
    if any(
        f"{top}.{owner}.{attribute}" in NAMES and is_there(f"{top}.{name}", scope) for top in TOP_PACKAGES
    ):
        return True  # of a module, named by its place in a package
    modules = [names for module, names in NAMES.items() if module.endswith(f".{owner}")]
    return attribute not in FUNCTIONS or owner in scope or any(attribute in names for names in modules)


def missing() -> Iterator[str]:
    """Yield a line for each name or path that is not there."""
    for path, tree in TREES.items():
        kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
        texts = (ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, kinds))
        yield from missing_in(path, "\n".join(filter(None, texts)), NAMES[module_of(path)])
    for page in PAGES:
        yield from missing_in(page, page.read_text("utf-8"), FUNCTIONS)


def missing_in(path: Path, text: str, scope: set[str]) -> Iterator[str]:
    """Yield a line for each name or path in a text that is not there."""
    for name in DOTTED.findall(text):
        if name not in OTHERS and not is_there(name, scope):
            yield f"{path.relative_to(ROOT)}: {name}"
    for name in PATH.findall(text):
        folder = name.partition("/")[0]
        if any((base / folder).is_dir() for base in BASES) and not any(
            (base / name).exists() for base in BASES
        ):
            yield f"{path.relative_to(ROOT)}: {name}"


if __name__ == "__main__":
    sys.exit("\n".join(missing()) or 0)
