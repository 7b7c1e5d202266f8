"""README, docs and notebooks: their Python runs, their commands are understood, what they name exists."""

import ast
import json
import os
import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from territorial import cli, maps

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
PAGES = [page for page in PAGES if page.exists()]  # without a checkout some are not there
# Pages that train with RLlib, which `make verify` runs.
LONG = {"rllib.md", "rllib_leagues.md", "rllib_options.md", "learning.md", "your_environment.md"}
# A module of each extra and package that blocks need, which is there where that is installed.
EXTRAS = {
    "territorial-env[torch]": "torch",
    "territorial-env[rllib]": "ray",
    "territorial-env[sb3]": "stable_baselines3",
    "datasets": "datasets",
    "minari": "minari",
    "pygame-ce": "pygame",
}
# The first line of a block that does not run by itself, or not with what the core needs alone.
MARK = re.compile(r"(?:# (continues the blocks above)?(?:; )?(?:needs (.*))?\n)?")
COMMENT = re.compile(r"\s{3,}|\s+#")


def blocks(page, *languages):
    """Return the blocks of code of a page in these languages."""
    found = re.findall(
        r"^```([^\n]*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    return [text for language, text in found if language in languages]


def commands(page, program):
    """Return the calls of a program in the blocks of a page, without their comments."""
    lines = re.sub(r"\\\n\s*", "", "".join(blocks(page, "", "sh"))).splitlines()
    return [COMMENT.split(line)[0] for line in lines if line.startswith(f"{program} ")]


def lacking(needs):
    """Return what is not there of what the mark of a block names; all but extras is left to other tests."""
    parts = needs.split(" and ")
    return {part for part in parts if part and (part not in EXTRAS or find_spec(EXTRAS[part]) is None)}


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.verify] if page.name in LONG else [], id=page.name)
        for page in PAGES
        if blocks(page, "python")
    ],
)
def test_the_python_of_a_page_runs_as_printed(page, tmp_path, monkeypatch):
    found, absent, left_out = [], set(), set()
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    try:
        for i, block in enumerate(blocks(page, "python")):
            continues, needs = MARK.match(block).groups("")
            if not continues:
                found.append({"__name__": "page"})
                absent = set()
                (tmp_path / str(i)).mkdir()
                monkeypatch.chdir(tmp_path / str(i))
            absent |= lacking(needs)
            left_out |= absent
            if not absent:
                exec(compile(block, page.name, "exec"), found[-1])
    finally:
        for value in [value for names in found for value in names.values()]:
            if "Algorithm" in [kind.__name__ for kind in type(value).__mro__]:
                value.stop()
    if left_out:
        pytest.skip(f"some blocks need {', '.join(sorted(left_out))}")


@pytest.mark.parametrize(
    ("page", "command"),
    [(page, command) for page in PAGES for command in commands(page, "territorial")],
    ids=lambda value: value.name if isinstance(value, Path) else value,
)
def test_commands_are_understood(page, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    maps.save(maps.generate("lakes", 64, 64, 0), "my.png")  # of which a page speaks
    cli.make_parser().parse_args(shlex.split(command)[1:])


SOURCES = {f"{page.name} {i}": block for page in PAGES for i, block in enumerate(blocks(page, "python"))}
SOURCES |= {path.name: path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("examples/*.py"))}
SOURCES |= {path.name: path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("notebooks/*.py"))}


def test_docs_and_examples_import_public_modules_alone():
    text = (DOCS / "versions.md").read_text(encoding="utf-8")
    section = text.partition("## What is public")[2].partition("\n## ")[0]
    public = set(re.findall(r"`((?:territorial|rllib_adapters)[\w.]*)`", section))
    others = set()
    for name, source in SOURCES.items():
        for node in ast.walk(ast.parse(source)):
            modules = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            ours = {one for one in modules if one.partition(".")[0] in ("territorial", "rllib_adapters")}
            others |= {(name, module) for module in ours - public}
    assert others == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_programs_and_targets_exist(page):
    for command in commands(page, "python"):
        words = shlex.split(command)[1:]
        if words[0].endswith(".py"):
            source = (ROOT / words[0]).read_text(encoding="utf-8")
            options = {word.removeprefix("--") for word in words if word.startswith("--")}
            assert [
                name for name in options if name not in source and name.replace("-", "_") not in source
            ] == []
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in commands(page, "make"):
        assert re.search(rf"^{shlex.split(command)[1]}:", makefile, re.MULTILINE), command


# ---- notebooks ---------------------------------------------------------------------------------------


# The notebooks, and what each needs beside the core.
NEEDED = {
    "beat_turtle": (),
    "from_game_to_planes": (),
    "league": ("ray", "torch", "matplotlib"),
    "ppo": ("torch", "matplotlib"),
    "replays_as_data": ("matplotlib",),
    "tour": ("sb3_contrib",),
}


def outputs(name, kind):
    """Return what the cells of a page show of a kind, such as "text/html"."""
    page = json.loads((ROOT / f"docs/tutorials/{name}.ipynb").read_text(encoding="utf-8"))
    shown = [one for cell in page["cells"] for one in cell.get("outputs", ())]
    return ["".join(one["data"][kind]) for one in shown if kind in one.get("data", ())]


def test_every_notebook_is_listed_here_and_has_a_page():
    assert {path.stem for path in (ROOT / "notebooks").iterdir() if path.is_file()} == set(NEEDED)
    assert {path.stem for path in (ROOT / "docs/tutorials").iterdir()} == set(NEEDED)


@pytest.mark.parametrize(
    "name",
    [
        *sorted({*NEEDED} - {"league", "ppo", "tour"}),
        pytest.param("league", marks=pytest.mark.slow),
        pytest.param("ppo", marks=pytest.mark.slow),
    ],
)
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
