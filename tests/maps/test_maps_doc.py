"""docs/maps.md: its Python runs, its pictures are what its commands draw, it names what there is."""

import re
import shlex
from pathlib import Path

import pytest

from territorial import cli
from territorial.config.map_names import KINDS, SYMMETRIES
from territorial.files.png import read_png

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/maps.md"
TEXT = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
COMMANDS = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    for line in block.splitlines()
]
PICTURES = [line for line in COMMANDS if "--picture docs/" in line]


@pytest.mark.parametrize("source", re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE))
def test_its_python_runs(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(source, str(PAGE), "exec"), {"__name__": "page"})


@pytest.mark.parametrize("command", PICTURES)
def test_its_pictures_are_what_its_commands_draw(command, tmp_path, capsys):
    *arguments, path = shlex.split(command)[1:]
    assert cli.main([*arguments, str(tmp_path / "made.png")]) == 0
    made, kept = (read_png(file.read_bytes(), 16, 4096) for file in (tmp_path / "made.png", ROOT / path))
    assert made.shape == kept.shape
    assert (made != kept).mean() < 0.001, "but for the edges of letters, which other releases of Pillow draw"
    assert (ROOT / path).stat().st_size < 100_000


def test_its_other_commands_work_one_after_the_other(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    others = [line for line in COMMANDS if line not in PICTURES]
    assert len(others) == 3
    for line in others:
        extra = ["--set", "max_ticks=20"] if " play " in line else []
        assert cli.main([*shlex.split(line)[1:], *extra]) == 0


def test_it_shows_both_pictures_and_names_all_kinds_and_symmetries():
    assert len(PICTURES) == 2
    for line in PICTURES:
        assert f"]({line.rpartition('docs/')[2]})" in TEXT
    for name in (*KINDS, *SYMMETRIES):
        assert f"`{name}`" in TEXT or name in ("open", "none")
