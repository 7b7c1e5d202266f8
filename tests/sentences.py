"""Sentences of pages, docstrings, errors and help texts, and how many words they have.

- ``of_markdown(page)``: code blocks are left out; an item of a list or a cell of a table is a text of its
own.
- ``of_docstring(text)``: the same for reST; doctests and indented code are left out.
- ``of_text(message)``: plain text, such as an error or a help text; an indented line is a text of its own.
- ``docstrings(path)``, ``errors(path)``, ``help_texts(parser)``: (place, text) of each such text.

A code span counts as one word, and the target of a link as none.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

LONGEST = 34
"""Words that a sentence may have; some 25 are the aim."""

ABBREVIATIONS = (" e.g", " i.e", " etc", " vs", " cf", " approx")
END = re.compile(r"[.!?][\"')\]*_]*\s+")
ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
HEADING = re.compile(r"#{1,6}\s+")
FIELD = re.compile(r"\s*:\w+(?: [^:]+)?:\s+|\s+\*{0,2}[\w.]+:\s+")
"""An argument of a docstring: ``:param x: ...``, or ``x: ...`` in a section of Google's form."""
RULE = re.compile(r"\s*=+(?: +=+)+\s*$")
"""A line of a table in reST."""
CODE = "code"
"""What stands for a code span, and for a value within an error."""


def words(sentence: str) -> int:
    """Return how many words ``sentence`` has; signs without a letter or digit are none."""
    return len([word for word in sentence.split() if re.search(r"\w", word)])


def too_long(sentences: Iterable[str], longest: int = LONGEST) -> list[tuple[int, str]]:
    """Return the sentences over ``longest`` words, each after its number of words, longest first."""
    counted = ((words(sentence), sentence) for sentence in sentences)
    return sorted((entry for entry in counted if entry[0] > longest), reverse=True)


def of_text(text: str) -> Iterator[str]:
    """Yield the sentences of plain text; a blank line or the next indented line ends one."""
    for block in re.split(r"\n\s*\n|\n(?=[ \t])", text):
        yield from _split(" ".join(block.split()))


def of_markdown(page: str) -> Iterator[str]:
    """Yield the sentences of a page in markdown."""
    for block in markdown_blocks(page):
        yield from _split(block)


def of_docstring(text: str) -> Iterator[str]:
    """Yield the sentences of a docstring in reST."""
    for block in docstring_blocks(text):
        yield from _split(block)


def markdown_blocks(page: str) -> Iterator[str]:
    """Yield each paragraph, item, heading and cell of a page as one line of plain text."""
    page = re.sub(r"^( *)(```|~~~).*?^ *\2[^\n]*$", "", page, flags=re.DOTALL | re.MULTILINE)
    page = re.sub(r"<!--.*?-->", "\n", page, flags=re.DOTALL)
    yield from map(_plain, _blocks(page.splitlines()))


def docstring_blocks(text: str) -> Iterator[str]:
    """Yield each paragraph and item of a docstring as one line of plain text."""
    yield from map(_plain, _blocks(_without_tables(_without_code(inspect.cleandoc(text).splitlines()))))


def docstrings(path: Path) -> Iterator[tuple[str, str]]:
    """Yield place and text of every docstring of a file, those under assignments included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        body = getattr(node, "body", ())
        for statement in body if isinstance(body, list) else ():
            if isinstance(statement, ast.Expr):
                for text in _literals(statement.value, within=False):
                    yield f"{path}:{statement.lineno}", text


def errors(path: Path) -> Iterator[tuple[str, str]]:
    """Yield place and text of what a file raises: all texts within a ``raise``, values as ``code``."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Raise) and node.exc is not None:
            for text in _literals(node.exc):
                yield f"{path}:{node.lineno}", text


def help_texts(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """Yield place and text of all help of a parser and its subparsers."""
    for text in filter(None, (parser.description, parser.epilog)):
        yield parser.prog, text
    for action in parser._actions:
        if action.help and action.help is not argparse.SUPPRESS:
            yield f"{parser.prog} {'/'.join(action.option_strings) or action.dest}", action.help
        if isinstance(action, argparse._SubParsersAction):
            yield from ((parser.prog, choice.help) for choice in action._choices_actions if choice.help)
            for verb in action.choices.values():
                yield from help_texts(verb)


def _split(block: str) -> Iterator[str]:
    begin = 0
    for end in END.finditer(block):
        if not block[begin : end.start()].endswith(ABBREVIATIONS):
            yield block[begin : end.end()].strip()
            begin = end.end()
    if block[begin:].strip():
        yield block[begin:].strip()


def _blocks(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines that belong together as one, up to a blank line, a heading, an item or a table."""
    block: list[str] = []
    for line in [*lines, ""]:
        item = ITEM.match(line)
        if not line.strip() or item or HEADING.match(line) or FIELD.match(line) or _is_row(line):
            if block:
                yield " ".join(" ".join(block).split())
            block = []
        if _is_row(line):
            yield from filter(re.compile(r"\w").search, _cells(line))
        elif HEADING.match(line):
            yield HEADING.sub("", line)
        elif line.strip():
            block.append(line[item.end() :] if item else line)


def _is_row(line: str) -> bool:
    return line.lstrip().startswith("|")


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def _plain(block: str) -> str:
    """Return a block as it is read: targets of links and markup gone, code spans one word each."""
    block = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)_{0,2}", CODE, re.sub(r":[\w:]+:(?=`)", "", block))
    block = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", block)
    return re.sub(r"(?<!\w)\*{1,2}(?=\S)|(?<=\S)\*{1,2}(?!\w)", "", block)


def _without_code(lines: list[str]) -> list[str]:
    """Return lines but for doctests and what is indented by four after a blank line."""
    kept: list[str] = []
    is_code = False
    for line in lines:
        begins = line.startswith("    ") and (is_code or not kept or not kept[-1].strip())
        is_code = bool(line.strip()) and (begins or line.lstrip().startswith(">>>"))
        kept.append("" if is_code else line)
    return kept


def _without_tables(lines: list[str]) -> Iterator[str]:
    """Yield lines, those of tables in reST as paragraphs of their own: a cell may have several lines."""
    is_table = False
    for line in lines:
        if RULE.match(line):
            is_table = True
        elif not line.strip():
            is_table = False
        yield from ("", "" if RULE.match(line) else line.strip(), "") if is_table else (line,)


def _literals(node: ast.AST, *, within: bool = True) -> Iterator[str]:
    """Yield the texts that ``node`` is or, if ``within``, has; values of f-strings stand as one word."""
    if isinstance(node, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else CODE for part in node.values)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif within:
        for child in ast.iter_child_nodes(node):
            yield from _literals(child)
