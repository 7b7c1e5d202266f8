"""One option name has one meaning and one thing has one name, in all verbs, benchmarks and examples."""

import argparse
import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from territorial import cli
from territorial.cli.option_names import MEANINGS

ROOT = Path(__file__).parents[2]
WIDTH = 80
GIVES_NO_NUMBER = {"--set", "--version"}
ADDERS = ("parser.add_argument", "add")


def parsers(parser: argparse.ArgumentParser, verb: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield every parser of the command line with the verb it is for."""
    yield verb, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from parsers(below, f"{verb} {name}".strip())


def verbs() -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of all verbs that can be loaded here."""
    found = parsers(cli.make_parser())
    return {verb: parser for verb, parser in found if parser.prefix_chars == "-"}


def options() -> Iterator[tuple[str, str, argparse.Action]]:
    """Yield verb, option and action of every option of the command line."""
    for verb, parser in verbs().items():
        for action in parser._actions:
            for option in action.option_strings:
                if option not in ("-h", "--help"):
                    yield verb, option, action


def meaning(text: str) -> str:
    """Return what comes before the details of a help text."""
    return re.split(r"; | \(default", text)[0]


def script_options() -> Iterator[tuple[str, str, str | None]]:
    """Yield file, option and help of the options of benchmarks and examples; None for a hidden help."""
    for path in sorted([*ROOT.glob("benchmarks/**/*.py"), *ROOT.glob("examples/*.py")]):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(call, ast.Call) or ast.unparse(call.func) not in ADDERS:
                continue
            name = call.args[0] if call.args else None
            if isinstance(name, ast.Constant) and str(name.value).startswith("--"):
                texts = [word.value for word in call.keywords if word.arg == "help"]
                yield path.name, name.value, _text(texts[0]) if texts else ""


def _text(node: ast.expr) -> str | None:
    """Return the text of a string, with {} for what an f-string fills in; None for argparse.SUPPRESS."""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return str(node.value) if isinstance(node, ast.Constant) else None


def test_an_option_means_the_same_in_every_verb():
    meanings = defaultdict(set)
    for verb, option, action in options():
        assert action.help, f"{verb} {option} has no help"
        meanings[option].add(meaning(action.help))
    assert len(meanings) > 50
    assert {option: said for option, said in meanings.items() if len(said) > 1} == {}
    different = {o: said for o, said in meanings.items() if o in MEANINGS and said != {meaning(MEANINGS[o])}}
    assert different == {}


def test_two_options_never_mean_the_same():
    names = defaultdict(set)
    for _, option, action in options():
        names[meaning(action.help or "")].add(option)
    assert {said: found for said, found in names.items() if len(found) > 1} == {}


def test_options_with_a_number_say_their_range_or_default():
    for verb, option, action in options():
        if action.metavar in ("N", "X", "S", "TICKS") and option not in GIVES_NO_NUMBER:
            assert re.search(r"at least \d+|\d+ to", action.help or ""), f"{verb} {option}: {action.help}"
            assert "(default" in (action.help or ""), f"{verb} {option}: {action.help}"


def test_a_help_page_fits_the_narrowest_common_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    for verb, parser in verbs().items():
        wide = [line for line in parser.format_help().splitlines() if len(line) > WIDTH]
        assert wide == [], f"territorial {verb} --help"


@pytest.mark.checkout
def test_benchmarks_and_examples_use_the_same_words():
    meanings = defaultdict(set)
    for file, option, text in script_options():
        assert text != "", f"{file}: {option} has no help"
        if text is not None:
            meanings[option].add(meaning(text))
    assert len(meanings) > 40
    for _, option, action in options():
        if option in meanings:
            meanings[option].add(meaning(action.help or ""))
    different = {option: said for option, said in meanings.items() if len(said) > 1}
    assert different == {}
