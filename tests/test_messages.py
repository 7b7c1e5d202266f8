"""Errors, warnings and help texts: short sentences without private words.

A message is a string of a ``raise``, of a warning or of something written to stderr. What is filled into
an f-string counts as one word.
"""

import argparse
import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import territorial
from tests.cli.test_option_names import verbs

PACKAGES = [
    folder
    for folder in (
        Path(territorial.__file__).parent,
        Path(territorial.__file__).parents[1] / "rllib_adapters",
    )
    if folder.is_dir()
]
MOST_WORDS = 34
MOST_WORDS_OF_HELP = 25
LONGER: dict[str, str] = {}
"""Messages that may have longer sentences: how each begins, and the reason."""
PRIVATE = (
    r"gone on with",
    r"go(es)? on( with| from)?\b",
    r"takes? (apart|the run up)",
    r"(is|are|was|were) told\b",
    r"the dead\b",
    r"nobody|everybody",
    r"who (is|are|was|learns?)\b",
    r"those who",
    r"\bclock\b",
    r"(?<!there )\b(is|are) no (file|class|learner|snapshot|field|array|object|JSON|replay|league|weight)\b",
    r"\bit may have\b|\bmay be there\b|\bis there (twice|already)",
    r"of (its|one's|their) own\b",
    r"\banew\b",
    r"; take |: take |\. Take ",
    r"there is no telling",
    r"what (cannot|becomes) ",
)
"""What messages do not say: words of this project for things that have a standard term."""
WRITERS = ("warnings.warn", "warn", "sys.stderr.write", "_say", "_progress", "self.error", "parser.error")


def text_of(node: ast.expr) -> str:
    """Return the text of a string expression, with {} for what is filled in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    if isinstance(node, ast.BinOp):
        return (text_of(node.left) or "{}") + (text_of(node.right) or "{}")
    return ""


def _strings(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the arguments of a node that a user reads."""
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        yield from node.exc.args
    elif isinstance(node, ast.Call):
        name = ast.unparse(node.func)
        to_file = name == "print" and any(keyword.arg == "file" for keyword in node.keywords)
        if to_file or name in WRITERS or name.endswith("ArgumentTypeError"):
            yield from node.args


def messages() -> Iterator[tuple[str, str]]:
    """Yield where each message stands, and its text."""
    for folder in PACKAGES:
        for path in sorted(folder.rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                for text in filter(None, map(text_of, _strings(node))):
                    yield f"{path.relative_to(folder.parent)}:{getattr(node, 'lineno', 0)}", text


def help_texts() -> Iterator[tuple[str, str]]:
    """Yield every help text and description of the command line, and where it stands."""
    for verb, parser in verbs().items():
        yield f"territorial {verb}", parser.description or ""
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                yield from ((f"territorial {verb}", one.help or "") for one in action._choices_actions)
            else:
                yield f"territorial {verb} {'/'.join(action.option_strings)}", action.help or ""


def words_of_longest(text: str, ends: str) -> int:
    """Return how many words the longest sentence of ``text`` has; a list of names in brackets is one word."""
    plain = re.sub(r"\([^()]*\)", "(...)", text)
    return max(len(sentence.split()) for sentence in re.split(ends, plain) or [""])


def test_sentences_are_counted():
    assert words_of_longest("One two. Three four five; six", r"[.!?]\s+") == 4
    assert words_of_longest("one of (a, b, c)", r"[.!?]\s+") == 3


def test_messages_are_found():
    found = [text for _, text in messages()]
    assert len(found) > 550
    assert "{} is {}; it must be True or False" in found
    assert any("and stays {" in text or "use {}" in text for text in found)


def test_no_message_has_a_long_sentence():
    long = {
        f"{where}: {text}": count
        for where, text in messages()
        if (count := words_of_longest(text, r"[.!?]\s+|\n")) > MOST_WORDS
        and not text.startswith(tuple(LONGER))
    }
    assert long == {}


def test_no_message_has_private_words():
    pattern = re.compile("|".join(PRIVATE))
    found = [
        f"{where}: {match[0]!r} in {text!r}" for where, text in messages() if (match := pattern.search(text))
    ]
    assert found == []


def test_no_help_text_has_a_long_sentence_or_private_words():
    pattern, texts = re.compile("|".join(PRIVATE)), list(help_texts())
    assert len(texts) > 150
    for where, text in texts:
        count = words_of_longest(text, r"[.!?;]\s+|\n\n")
        assert count <= MOST_WORDS_OF_HELP, f"{where}: {count} words in a sentence of {text!r}"
        assert not pattern.search(text), f"{where}: {text!r}"


@pytest.mark.parametrize(
    "text", ["a run that is gone on with", "'x' is no file of a contest", "a run; take it"]
)
def test_private_words_are_recognised(text):
    assert re.search("|".join(PRIVATE), text)
