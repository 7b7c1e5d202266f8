"""Sphinx builds the documentation, with a reference from docstrings: `make docs` fills build/docs."""

import importlib.metadata
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.ext.autodoc.mock import mock
from sphinx.util import logging

from territorial import __version__, cli
from territorial.browser.page_image import LIBRARY

ROOT = Path(__file__).resolve().parents[1]

project = "territorial-env"
author = "The territorial-env authors"
copyright = author  # noqa: A001  # Sphinx reads this name
version = release = __version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "index"
nb_execution_mode = "off"  # maintainers/notebooks.py runs tutorials: they need PyTorch and Ray
nb_merge_streams = True
nb_mime_priority_overrides = [("html", "text/html", 0)]  # pages that play replays
myst_heading_anchors = 4  # links to headings work as they do in a repository's own pages

smartquotes_action = "De"  # dashes and dots alone: texts in quotes are values of options

html_theme = "furo"
html_title = f"territorial-env {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]

autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"  # properties and methods keep theirs in the signature
autodoc_member_order = "bysource"
autodoc_mock_imports = ["ray", "sb3_contrib", "stable_baselines3", "torch", "tree"]
napoleon_numpy_docstring = False


INSTALLED = importlib.metadata.version


def version_of(name: str) -> str:
    """Return the version of a package; the reference of what needs PyTorch or Ray is made without them."""
    return {"ray": "2.60.0", "torch": "2.13.0"}.get(name) or INSTALLED(name)


importlib.metadata.version = version_of

GAMES = {
    "play": "play",
    "usual": "watch",
    "bots": "watch --seats settler,besieger,vulture,leader_hunter --num-players 16 --seed 1",
    "champion": "watch --seats champion,settler --num-players 16 --seed 1",
    "turtles": "watch --seats turtle,besieger,settler,banker --num-players 8 --height 128 --width 128"
    " --map islands --seed 3",
    "crowd": "watch --num-players 120 --height 384 --width 384 --map mountains",
    "europe": "watch --map europe --seats mixed-2 --seed 2",
}
"""Games that pages of the documentation show, by the names of their own pages: commands of `territorial`."""


PUBLIC = ("bots", "training", "decode", "league", "maps", "nets", "render", "replay")
"""Packages of ``territorial`` whose public names the reference has, beside those of the two packages."""
IMPORTED = re.compile(r"^from ((?:territorial|rllib_adapters)[\w.]*) import ([^(#\n]+)", re.MULTILINE)
"""What pages import."""


def setup(app: Sphinx) -> None:
    """Make text of links that leave this folder, check the reference, and add pages that play games."""
    with mock(autodoc_mock_imports):  # names that are imported when they are first asked for
        for module, name in public_names():
            named(f"{module}.{name}")
    app.connect("source-read", unlink)
    app.connect("source-read", name_languages)
    app.connect("env-check-consistency", check_reference)
    app.connect("build-finished", play_games)


def play_games(app: Sphinx, failure: Exception | None) -> None:
    """Write the pages of GAMES beside those of the documentation, where these are HTML."""
    if failure is not None or app.builder.format != "html":
        return
    if not LIBRARY.exists():  # a checkout, in which nothing has compiled it for browsers
        subprocess.run([sys.executable, ROOT / "maintainers/machine_code.py", "web"], check=True)
    folder = Path(app.outdir) / "games"
    folder.mkdir(exist_ok=True)
    for name, command in GAMES.items():
        code = cli.main([*command.split(), "--page", str(folder / f"{name}.html")])
        if code:
            raise RuntimeError(f"the game {name!r} was not played: exit code {code}")


def check_reference(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn of public names, and of names that pages import, that have no entry in the reference."""
    entries: dict[str, list[str]] = {}
    for entry in env.domains.python_domain.objects:
        entries.setdefault(entry.rpartition(".")[2], []).append(entry)
    with mock(autodoc_mock_imports):
        for module, name in sorted(public_names() | imported_names(Path(app.srcdir))):
            if not any(named(entry) is named(f"{module}.{name}") for entry in entries.get(name, ())):
                logging.getLogger(__name__).warning("%s.%s has no entry in the reference", module, name)


def public_names() -> set[tuple[str, str]]:
    """Return modules and the names that they make public."""
    modules = ["territorial", "rllib_adapters", *(f"territorial.{name}" for name in PUBLIC)]
    return {(module, name) for module in modules for name in importlib.import_module(module).__all__}


def imported_names(docs: Path) -> set[tuple[str, str]]:
    """Return modules and the names that pages import from them."""
    pages = (path.read_text(encoding="utf-8") for path in docs.rglob("*.md"))
    found = [match for page in pages for match in IMPORTED.findall(page)]
    return {(module, name.strip()) for module, names in found for name in names.split(",")}


def named(entry: str) -> object:
    """Return what a full name stands for; None if there is nothing of this name."""
    try:
        found = pkgutil.resolve_name(entry)
    except (AttributeError, ImportError):
        return None
    is_called = inspect.ismodule(found) and callable(found)  # the reference has what is called
    return getattr(found, entry.rpartition(".")[2]) if is_called else found


def unlink(app: Sphinx, page: str, source: list[str]) -> None:
    """Leave the text alone of a link to a page outside this folder, such as the README."""
    docs = Path(app.srcdir)

    def kept(link: re.Match[str]) -> str:
        target = ((docs / page).parent / link["file"]).resolve()
        return link[0] if target.is_relative_to(docs) else link["text"]

    source[0] = re.sub(r"\[(?P<text>[^]]+)\]\((?P<file>\.\./[^)#]*\.md)[^)]*\)", kept, source[0])


def name_languages(app: Sphinx, page: str, source: list[str]) -> None:
    """Make blocks that name no language text: Sphinx takes them for Python."""
    source[0] = re.sub(r"^```([^\n]*)(\n.*?^```)$", named_block, source[0], flags=re.DOTALL | re.MULTILINE)


def named_block(block: re.Match[str]) -> str:
    """Return a block with its language."""
    return f"```{block[1] or 'text'}{block[2]}"
