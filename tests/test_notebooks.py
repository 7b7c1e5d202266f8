"""The notebooks run from top to bottom as plain scripts, with the core alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).parents[1]
PICTURES = {
    "from_game_to_planes": {
        "board",
        "bit_planes",
        "changes",
        "ego",
        "one_hot",
        "semantic",
        "pooled",
    },
}
"""What each notebook draws."""


def test_every_notebook_is_listed_here():
    assert {path.stem for path in (ROOT / "notebooks").iterdir() if path.is_file()} == set(PICTURES)


@pytest.mark.parametrize("name", PICTURES)
def test_a_notebook_runs_as_a_script_and_leaves_its_pictures(name, tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / f"notebooks/{name}.py"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {f"{picture}.png" for picture in PICTURES[name]}
    for path in tmp_path.iterdir():
        assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", PICTURES)
def test_a_notebook_is_in_the_percent_format(name):
    lines = (ROOT / f"notebooks/{name}.py").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# %% [markdown]"
    assert "# %%" in lines
