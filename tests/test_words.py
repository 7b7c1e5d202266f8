"""Texts for users are plain: sentences are short, and the words are those of docs/glossary.md."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from territorial.cli import make_parser
from tests import sentences

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).parents[1]
GLOSSARY = ROOT / "docs/glossary.md"
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
CODE = [
    path
    for folder in ("territorial", "rllib_adapters", "benchmarks", "examples", "notebooks")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
ALLOWED = re.compile(
    r"the living (?:agents|players|seats)"  # words of the right column
    r"|^guests:"  # the name of an attribute
)
LIST = re.compile(r"\((?:[\w:.-]+, ){5,}[\w:.-]+\)")
"""A list of names, in which readers look one up: it counts as one word."""


@pytest.mark.parametrize("page", sorted(PAGES), ids=lambda page: page.name)
def test_sentences_of_a_page_are_short(page):
    assert sentences.too_long(sentences.of_markdown(page.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("page", sorted({*PAGES} - {GLOSSARY}), ids=lambda page: page.name)
def test_a_page_has_the_words_of_the_glossary(page):
    blocks = sentences.markdown_blocks(page.read_text(encoding="utf-8"))
    assert found((page.name, block) for block in blocks) == []


def test_docstrings_have_the_words_of_the_glossary():
    texts = ((place, text) for path in CODE for place, text in sentences.docstrings(path))
    assert found((place, block) for place, text in texts for block in sentences.docstring_blocks(text)) == []


def raised() -> list[tuple[str, str]]:
    """Return place and text of all that the code raises."""
    return [error for path in CODE for error in sentences.errors(path)]


def helped() -> list[tuple[str, str]]:
    """Return name and text of all help of the command line."""
    return list(sentences.help_texts(make_parser()))


@pytest.mark.parametrize("texts", [raised, helped], ids=["errors", "help"])
def test_errors_and_help_have_the_words_of_the_glossary(texts):
    assert found(texts()) == []


@pytest.mark.parametrize("texts", [raised, helped], ids=["errors", "help"])
def test_sentences_of_errors_and_help_are_short(texts):
    without_lists = ((place, LIST.sub("(names)", text)) for place, text in texts())
    found = [
        (place, long) for place, text in without_lists for long in sentences.too_long(sentences.of_text(text))
    ]
    assert found == []


def test_the_left_column_is_read():
    assert {"the dead", "gone on with", "whoever"} <= set(avoided())
    assert found([("a", "What is `tape`? The\ndead."), ("b", "the deadline")]) == ["a: tape", "a: The\ndead"]


def test_sentences_of_a_page_are_told_apart():
    page = (
        "# A heading\n\nOne sentence, e.g. this [link](a.md) with `some code`. Another\none.\n- an item\n"
        "- one more\n\n```\nleft out.\n```\n<!-- left out -->\n| a cell | of `a` *table* |\n|---|---|\n"
    )
    assert list(sentences.of_markdown(page)) == [
        "A heading",
        "One sentence, e.g. this link with code.",
        "Another one.",
        "an item",
        "one more",
        "a cell",
        "of code table",
    ]
    assert sentences.too_long(["a b - c", "a b"], longest=2) == [(3, "a b - c")]


def test_sentences_of_a_docstring_are_told_apart():
    text = "Return :class:`it`.\n\n    >>> f()\n    no\n\nArgs:\n    x: ``f(x)``\n        or y\n    y: no"
    assert list(sentences.of_docstring(text)) == ["Return code.", "Args:", "x: code or y", "y: no"]


def test_lines_of_a_table_in_a_docstring_are_told_apart():
    text = "Two:\n\n==== ====\n``a`` the one\n``b`` the other\n==== ====\n\nNo more."
    assert list(sentences.of_docstring(text)) == ["Two:", "code the one", "code the other", "No more."]


def test_docstrings_and_errors_of_a_file_are_found(tmp_path):
    path = tmp_path / "module.py"
    path.write_text('"""One."""\nX = 1\n"""Two."""\ndef f():\n    raise ValueError(f"x is {X}; " + "no")\n')
    assert [text for _, text in sentences.docstrings(path)] == ["One.", "Two."]
    assert [text for _, text in sentences.errors(path)] == ["x is code; ", "no"]


def found(texts: Iterable[tuple[str, str]]) -> list[str]:
    """Return where phrases of the glossary's left column stand, as whole words, but for ``ALLOWED``."""
    phrases = "|".join(re.escape(phrase).replace(r"\ ", r"\s+") for phrase in avoided())
    pattern = re.compile(rf"(?<!\w)(?:{phrases})(?!\w)", re.IGNORECASE)
    cleaned = ((place, ALLOWED.sub("", text)) for place, text in texts)
    return [f"{place}: {match[0]}" for place, text in cleaned for match in pattern.finditer(text)]


def avoided() -> list[str]:
    """Return the phrases of the glossary's left column, longest first."""
    rows = re.findall(r"^\| ([^|]+) \|.*\|.*\|$", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)
    cells = [cell for cell in rows if cell not in ("instead of", "-")]
    return sorted((phrase for cell in cells for phrase in cell.split(", ")), key=len, reverse=True)
