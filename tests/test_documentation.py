"""The documentation has a place for every page, and its blocks work; `make docs` checks the rest."""

import re
import shlex
from pathlib import Path

import pytest

from territorial import cli, maps

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
PAGES = [page for page in PAGES if page.exists()]  # without a checkout some are not there
RUN_BY = {
    "README.md": "test_readme.py",
    "agent_life.md": "test_agent_life_doc.py",
    "bots.md": "bots/test_bots_doc.py",
    "clusters.md": "rllib/test_nodes.py",
    "datasets.md": "torch/test_pages.py",
    "decoding.md": "test_decoding_doc.py",
    "evolve.md": "evolution/test_evolve.py",
    "frame_store.md": "decode/test_store.py",
    "league.md": "league/test_league_doc.py",
    "learning.md": "rllib/test_learning_doc.py",
    "maps.md": "maps/test_maps_doc.py",
    "networks.md": "torch/test_pages.py",
    "observation.md": "test_observation_doc.py",
    "old_api_stack.md": "rllib/test_legacy.py",
    "rendering.md": "render/test_rendering_doc.py",
    "replays.md": "replay/test_page.py",
    "rewards.md": "test_rewards_doc.py",
    "rllib.md": "rllib/test_doc.py",
    "testing.md": "testing/test_testing_doc.py",
    "trainers.md": "test_trainers_doc.py",
    "watching.md": "render/test_watching_doc.py",
    "where-40-gb-went.md": "league/test_memory_doc.py",
}
"""Pages whose Python is run by a test of their own, and which; that of all others is run here."""
COMMENT = re.compile(r"\s{3,}|\s+#")
"""What begins what is said of a command, in its line."""


def blocks(page, *languages):
    """Return the blocks of code of a page in these languages."""
    found = re.findall(
        r"^```([^\n]*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    return [text for language, text in found if language in languages]


def commands(page, program):
    """Return the calls of a program in the blocks of a page, without what is said of them."""
    lines = re.sub(r"\\\n\s*", "", "".join(blocks(page, "", "sh"))).splitlines()
    return [COMMENT.split(line)[0] for line in lines if line.startswith(f"{program} ")]


def test_every_page_has_one_place_in_the_index():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```{toctree}\n(.*?)^```", index, re.DOTALL | re.MULTILINE)
    listed = [line for block in blocks for line in block.splitlines() if line and not line.startswith(":")]
    files = [*DOCS.rglob("*.md"), *DOCS.rglob("*.ipynb")]
    pages = [path.relative_to(DOCS).with_suffix("").as_posix() for path in files]
    assert sorted(listed) == sorted(set(pages) - {"index"})


def test_the_gallery_has_the_games_that_the_build_plays():
    listed = re.findall(r'href="games/(\w+)\.html"', (DOCS / "gallery.md").read_text(encoding="utf-8"))
    source = (DOCS / "conf.py").read_text(encoding="utf-8")
    block = source[source.index("GAMES = {") :].partition("\n}\n")[0]
    assert listed == re.findall(r'^    "(\w+)": \(', block, re.MULTILINE)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name
)
def test_python_on_every_page_is_run(page, tmp_path, monkeypatch):
    if page.name in RUN_BY:
        source = (ROOT / "tests" / RUN_BY[page.name]).read_text(encoding="utf-8")
        assert page.stem in source
        assert "```" in source  # it takes blocks of the page
        return
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    for block in blocks(page, "python"):
        exec(compile(block, page.name, "exec"), names)


def test_every_page_that_a_test_runs_has_python():
    assert set(RUN_BY) <= {page.name for page in PAGES if blocks(page, "python")}


@pytest.mark.parametrize(
    ("page", "command"),
    [(page, command) for page in PAGES for command in commands(page, "territorial")],
    ids=lambda value: value.name if isinstance(value, Path) else value,
)
def test_commands_on_pages_are_taken(page, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    maps.save(maps.generate("lakes", 64, 64, 0), "my.png")  # of which a page speaks
    cli.make_parser().parse_args(shlex.split(command)[1:])


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *DOCS.rglob("*.md")], ids=lambda page: page.name)
def test_links_between_files_lead_somewhere(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s:]+)\)", text):
        name, _, anchor = target.partition("#")
        file = page.parent / name if name else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


def anchors(page):
    """Return the anchors of the headings of a page, as hosting sites make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_programs_and_targets_on_pages_exist(page):
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
