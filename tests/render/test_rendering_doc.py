"""docs/rendering.md and the README show what their commands make."""

import re
from pathlib import Path

import numpy as np
import pytest

from territorial import cli
from tests.render.support import decode_animation, decode_png

pytestmark = pytest.mark.checkout

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "rendering.md").read_text(encoding="utf-8") if (DOCS / "rendering.md").exists() else ""
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def block_with(words):
    (source,) = [block for block in BLOCKS if words in block]
    return source


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a block of the page in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def run_block(words):
        exec(compile(block_with(words), "docs/rendering.md", "exec"), {"__name__": "page"})
        return tmp_path

    return run_block


def check_alike(picture, kept):
    """All pixels are the same but some of letters, which another release of Pillow may draw otherwise."""
    assert picture.shape == kept.shape
    differs = (picture != kept).any(axis=-1)
    assert differs.mean() < 0.02


def test_the_picture_is_what_the_page_says(run):
    made = run('write_png("picture.png"') / "picture.png"
    kept = (DOCS / "images/picture.png").read_bytes()
    check_alike(decode_png(made.read_bytes()), decode_png(kept))
    assert len(kept) < 60_000


def test_the_picture_of_teams_is_what_the_page_says(run):
    made = run('write_png("teams.png"') / "teams.png"
    kept = (DOCS / "images/picture-teams.png").read_bytes()
    check_alike(decode_png(made.read_bytes()), decode_png(kept))
    assert len(kept) < 60_000


def test_the_animation_is_what_the_page_says(run):
    made = run('"animation.png"') / "animation.png"
    kept = (DOCS / "images/animation.png").read_bytes()
    pictures, seconds = decode_animation(made.read_bytes(), "PNG")
    expected, expected_seconds = decode_animation(kept, "PNG")
    check_alike(np.array(pictures), np.array(expected))
    assert seconds == expected_seconds
    assert len(kept) < 400_000


def test_the_text_is_what_the_page_says(run, capsys):
    run("TextRenderer(")
    (shown,) = re.findall(r"^```text\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert capsys.readouterr().out == shown


def test_an_episode_becomes_an_animation(run):
    pictures, _ = decode_animation((run('"episode.apng"') / "episode.apng").read_bytes(), "PNG")
    assert len(pictures) == 51


def test_every_block_is_run_by_a_test():
    tested = (
        'write_png("picture.png"',
        'write_png("teams.png"',
        '"animation.png"',
        "TextRenderer(",
        '"episode.apng"',
    )
    assert sorted(map(block_with, tested)) == sorted(BLOCKS)


def test_the_readme_shows_what_play_leaves(tmp_path):
    assert (
        cli.main(["demo", "--picture", str(tmp_path / "play.png"), "--json", str(tmp_path / "play.json")])
        == 0
    )
    made, kept = (path.read_bytes() for path in (tmp_path / "play.png", DOCS / "images/play.png"))
    check_alike(decode_png(made), decode_png(kept))
