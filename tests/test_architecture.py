"""docs/architecture.md is the map of the code as it is."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout
ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"


def run(*arguments):
    return subprocess.run(
        [sys.executable, ROOT / "maintainers" / "rooms.py", *arguments], capture_output=True, text=True
    )


def test_the_tables_are_those_of_the_code():
    done = run("--check")
    assert done.returncode == 0, done.stderr


def test_no_rooms_and_no_modules_of_a_room_import_each_other():
    lines = run().stdout.splitlines()
    assert len(lines) == 2, lines  # one a package; circles would have lines of their own
    assert all(line.endswith(" 0 circles") for line in lines)


@pytest.mark.parametrize(
    "name", sorted(set(re.findall(r"`((?:\w+/)+(?:\w+\.\w+)?)`", PAGE.read_text("utf-8"))))
)
def test_files_that_the_page_names_exist(name):
    assert (ROOT / name).exists() or (ROOT / "territorial" / name).exists()
