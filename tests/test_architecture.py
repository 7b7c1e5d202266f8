"""docs/architecture.md is the map of the code as it is."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout
ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"


def test_the_tables_are_those_of_the_code():
    command = [sys.executable, ROOT / "maintainers" / "rooms.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "name", sorted(set(re.findall(r"`((?:\w+/)+(?:\w+\.\w+)?)`", PAGE.read_text("utf-8"))))
)
def test_files_that_the_page_names_exist(name):
    assert (ROOT / name).exists() or (ROOT / "territorial" / name).exists()
