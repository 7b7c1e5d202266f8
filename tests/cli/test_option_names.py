"""One option name has one meaning and one thing has one name, in all verbs; their list has groups."""

import argparse
import re
from collections import defaultdict
from collections.abc import Iterator

import pytest

from territorial import cli
from territorial.cli.options import MEANINGS

WIDTH = 80


def parsers(parser: argparse.ArgumentParser, verb: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield every parser of the command line with the verb it is for."""
    yield verb, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from parsers(below, f"{verb} {name}".strip())


def verbs() -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of all verbs that can be loaded here."""
    return {verb: parser for verb, parser in parsers(cli.make_parser()) if parser.prefix_chars == "-"}


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


def test_an_option_means_the_same_in_every_verb():
    meanings = defaultdict(set)
    for verb, option, action in options():
        assert action.help, f"{verb} {option} has no help"
        meanings[option].add(meaning(action.help))
    assert len(meanings) > 50
    assert {option: said for option, said in meanings.items() if len(said) > 1} == {}
    different = {o: said for o, said in meanings.items() if o in MEANINGS and said != {meaning(MEANINGS[o])}}
    assert different == {}


def test_every_command_can_do_without_progress():
    loud = {
        verb
        for verb, parser in verbs().items()
        if parser.get_default("run") and "--quiet" not in parser.format_help()
    }
    assert loud == set()


def test_two_options_never_mean_the_same():
    names = defaultdict(set)
    for _, option, action in options():
        names[meaning(action.help or "")].add(option)
    assert {said: found for said, found in names.items() if len(found) > 1} == {}


def test_options_with_a_number_say_their_range_or_default():
    for verb, option, action in options():
        if action.metavar in ("N", "X", "S", "TICKS") and option not in {"--set", "--version"}:
            assert re.search(r"at least \d+|\d+ to", action.help or ""), f"{verb} {option}: {action.help}"
            assert "(default" in (action.help or ""), f"{verb} {option}: {action.help}"


def test_a_help_page_fits_the_narrowest_common_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    for verb, parser in verbs().items():
        wide = [line for line in parser.format_help().splitlines() if len(line) > WIDTH]
        assert wide == [], f"territorial {verb} --help"


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_the_root_prints_its_verbs_in_groups(capsys, monkeypatch, arguments):
    monkeypatch.setenv("COLUMNS", "80")
    assert cli.main(arguments) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for title, names in cli.GROUPS.items():
        block = out[out.index(f"\n{title}:\n") :].partition("\n\n")[0]
        assert [line.split()[0] for line in block.splitlines()[2:] if line[:3].strip()] == list(names)
    assert max(map(len, out.splitlines())) <= 80
    assert out.endswith("describes each verb.\n")
