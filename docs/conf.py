"""Sphinx builds the documentation, with a reference from docstrings: `make docs` fills build/docs."""

import re

from sphinx.application import Sphinx

from territorial import __version__

project = "territorial-env"
author = "The territorial-env authors"
copyright = author  # noqa: A001  # Sphinx reads this name
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "index"
myst_heading_anchors = 4  # links to headings work as they do in a repository's own pages

smartquotes_action = "De"  # dashes and dots alone: texts in quotes are values of options

html_theme = "furo"
html_title = f"territorial-env {release}"

autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"  # properties and methods keep theirs in the signature
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False


def setup(app: Sphinx) -> None:
    """Let links to pages outside this folder be text alone."""
    app.connect("source-read", unlink)


def unlink(app: Sphinx, page: str, source: list[str]) -> None:
    """Leave the text alone of a link to a page outside this folder, such as the README."""
    source[0] = re.sub(r"\[([^]]+)\]\(\.\./[^)]*\.md[^)]*\)", r"\1", source[0])
