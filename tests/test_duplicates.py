"""The command that finds code which is written twice; `make lint` runs it on the whole repository."""

import importlib.util
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout
ROOT = Path(__file__).parents[1]
COMMAND = ROOT / "maintainers" / "duplicates.py"

ONE = '''
"""Some module."""

import json
import math
import os
import re
import sys


def mean(numbers: list[float], scale: float = 1.0) -> float:
    """Return the mean."""
    total = 0.0
    for number in numbers:
        total += number * scale
    return total / len(numbers)
'''
BLOCK = """
    found = []
    for path in sorted(folder.iterdir()):
        if path.suffix == ".json":
            found.append(json.loads(path.read_text()))
    found.sort(key=len)
    found.reverse()
"""


@pytest.fixture(scope="module")
def command():
    spec = importlib.util.spec_from_file_location("duplicates", COMMAND)
    module = importlib.util.module_from_spec(spec)
    sys.modules["duplicates"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["duplicates"]


def written(folder, **files):
    """Write modules, each a text, and return their paths as the command has them."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text))
    return [Path(f"{name}.py") for name in files]


def test_functions_that_are_equal_but_for_names_are_found(command, tmp_path):
    renamed = ONE.replace("total", "summed").replace("numbers", "values").replace("mean", "average")
    files = written(tmp_path, one=ONE, two=renamed, three=ONE.replace("+=", "-="))
    (copy,) = command.equal_functions(tmp_path, files)
    assert [place.file for place in copy.places] == ["one.py", "two.py"]
    assert copy.begins == "average, mean"


def test_short_functions_and_docstrings_do_not_count(command, tmp_path):
    short = "def one(a):\n    return a + 1\n"
    assert not list(command.equal_functions(tmp_path, written(tmp_path, one=short, two=short)))
    files = written(tmp_path, one=ONE, two=ONE.replace("Return the mean.", "Something else."))
    assert len(list(command.equal_functions(tmp_path, files))) == 1


def test_blocks_of_lines_are_found_wherever_they_stand(command, tmp_path):
    pytest.importorskip("pylint", reason="pylint is not installed: the extra `dev` has it")
    one = f"def read(folder):{BLOCK}    return found\n"
    deeper = textwrap.indent(BLOCK, "    ")
    two = f"class Reader:\n    def look(self, folder, extra):\n{deeper}        self.seen = found\n"
    files = written(tmp_path, one=one, two=two)
    (copy,) = command.equal_blocks(tmp_path, files)
    assert {(place.file, place.line) for place in copy.places} == {("one.py", 2), ("two.py", 4)}
    assert copy.begins == "found = []"


def test_imports_and_signatures_are_no_blocks(command, tmp_path):
    pytest.importorskip("pylint", reason="pylint is not installed: the extra `dev` has it")
    head = ONE[: ONE.index("    total")]
    files = written(tmp_path, one=f"{head}    return 1.0\n", two=f"{head}    return scale\n")
    assert not list(command.equal_blocks(tmp_path, files))


def test_a_copy_without_a_reason_and_a_reason_without_a_copy_are_complaints(command):
    copy = command.Copy((command.Place("a.py", 3), command.Place("b.py", 9)), "found = []")
    assert not command.complaints_of([copy], {copy.key: "both are needed"})
    (new,) = command.complaints_of([copy], {})
    assert new == "written twice: a.py:3  b.py:9\n    found = []"
    (gone,) = command.complaints_of([], {copy.key: "both are needed"})
    assert gone == "duplicates.toml has a reason for a copy that is gone: ['a.py', 'b.py'], 'found = []'"


def test_every_reason_is_one_of_files_that_exist(command):
    reasons = command.read_reasons(command.REASONS)
    assert all(reason and begins for (_, begins), reason in reasons.items())
    assert all((ROOT / file).is_file() for files, _ in reasons for file in files)


def test_functions_of_the_repository_are_written_once(command):
    files = command.files_of(ROOT, command.FOLDERS)
    reasons = command.read_reasons(command.REASONS)
    assert [str(copy) for copy in command.equal_functions(ROOT, files) if copy.key not in reasons] == []
