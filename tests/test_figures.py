"""Figures in sentences of README and docs come from results or from the code; tables name one machine."""

import re

import pytest

from tests.engine.support import ROOT

figures = pytest.importorskip("benchmarks.tables.figures", reason="the benchmarks are not here")

from benchmarks.tables import machines  # noqa: E402 - only where they are

pytestmark = pytest.mark.checkout

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MEASURED = re.compile(r"\d[\d,.]*\s*(µs|ms|ns|microsec\w*|millisec\w*|steps/s|times as (?:fast|long|much))")
FILLED = (r"<!-- (\w+):begin -->.*?<!-- \1:end -->", figures.MARK.pattern, r"^```.*?^```")
"""What is written by a program, and code."""


def sentences(text):
    for pattern in FILLED:
        text = re.sub(pattern, " ", text, flags=re.DOTALL | re.MULTILINE)
    return text


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_sentence_with_a_measured_figure_takes_it_from_a_result(path):
    text = path.read_text(encoding="utf-8")
    found = [match[0] for match in MEASURED.finditer(sentences(text))]
    assert not found, "fill it in by benchmarks/tables/figures.py, or name no figure"
    assert figures.filled(text) == text, "python -m benchmarks.tables"
    # A line that begins with a comment is a block of HTML in Markdown, and interrupts its paragraph.
    assert not re.search(r"^\s*<!-- figure:", text, re.MULTILINE)


def test_every_figure_stands_on_a_page():
    used = {match[1] for path in PAGES for match in figures.MARK.finditer(path.read_text(encoding="utf-8"))}
    assert used == set(figures.FIGURES)


def test_a_figure_is_filled_in_and_an_unknown_one_is_named():
    text = "takes <!-- figure:layout.board -->0<!-- end -->"
    assert figures.filled(text) == text.replace(">0<", f">{figures.board_size()}<")
    with pytest.raises(ValueError, match=r"there is no figure 'layout\.boards'"):
        figures.filled(text.replace("board -->", "boards -->"))


def test_a_measured_figure_without_a_marker_would_be_found():
    assert MEASURED.search(sentences("It takes 3.5 µs a step."))
    assert not MEASURED.search(sentences("It takes <!-- figure:replay.pack -->3.5 µs<!-- end --> a step."))


def test_results_of_two_machines_make_no_table():
    one, other = ({"machine": {"cpu": name}} for name in ("Alpha", "Beta"))
    assert machines.cpu_of(one, one) == "Alpha"
    with pytest.raises(machines.MixedMachinesError, match="Alpha and of Beta"):
        machines.cpu_of(one, other)


def test_a_table_says_where_its_machine_is_not_known():
    assert machines.line_about({"machine": {"cpu": "Alpha"}}) == "Measured on Alpha."
    assert machines.line_about({"machine": {"cpu": "unknown"}}) == "The machine is not on file."
