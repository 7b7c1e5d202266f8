"""The notebooks run from top to bottom as plain programs, and their pages show pictures and replays.

The tour is also a notebook without outputs, which `make verify` runs as a notebook.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).parents[1]
NEEDED = {
    "beat_turtle": (),
    "from_game_to_planes": (),
    "league": ("ray", "torch", "matplotlib"),
    "ppo": ("torch", "matplotlib"),
    "replays_as_data": ("matplotlib",),
    "tour": ("sb3_contrib",),
}
"""The notebooks, and what each needs beside the core."""


def outputs(name, kind):
    """Return what the cells of a page show of a kind, such as "text/html"."""
    page = json.loads((ROOT / f"docs/tutorials/{name}.ipynb").read_text(encoding="utf-8"))
    shown = [one for cell in page["cells"] for one in cell.get("outputs", ())]
    return ["".join(one["data"][kind]) for one in shown if kind in one.get("data", ())]


def test_every_notebook_is_listed_here_and_has_a_page():
    assert {path.stem for path in (ROOT / "notebooks").iterdir() if path.is_file()} == set(NEEDED)
    assert {path.stem for path in (ROOT / "docs/tutorials").iterdir()} == set(NEEDED)


@pytest.mark.parametrize("name", sorted({*NEEDED} - {"tour"}))
def test_a_notebook_runs_as_a_program(name, tmp_path):
    for library in NEEDED[name]:
        pytest.importorskip(library, reason=f"{library} is not installed")
    done = subprocess.run(
        [sys.executable, ROOT / f"notebooks/{name}.py"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", sorted({*NEEDED} - {"from_game_to_planes"}))
def test_the_page_of_a_tutorial_has_a_replay_that_plays(name):
    assert [html for html in outputs(name, "text/html") if "<iframe" in html and "srcdoc=" in html]


@pytest.mark.parametrize("name", sorted({*NEEDED} - {"beat_turtle"}))
def test_the_page_of_a_notebook_has_pictures(name):
    assert outputs(name, "image/png")


@pytest.mark.parametrize("name", NEEDED)
def test_the_page_of_a_notebook_says_nothing_of_where_it_was_made(name):
    text = (ROOT / f"docs/tutorials/{name}.ipynb").read_text(encoding="utf-8")
    assert not [place for place in ("/tmp/", "/home/", "/root/", "site-packages") if place in text]
