"""Instructions are counted, the same on every run, and two revisions of the package can be compared."""

import sys
import types

import pytest

from benchmarks.engine import counted_step, instructions


def test_instructions_of_a_step_are_counted():
    found = []
    for part in (instructions.PARTS[0], instructions.PARTS[-1], instructions.PARTS[0]):
        try:
            found.append(instructions.count(part, games=1, side=48, code="any size"))
        except instructions.CannotCountError as error:
            pytest.skip(str(error))
    (told, counts), (_, counts_of_more), (told_again, counts_again) = found
    assert told["us"] > 0
    assert 0.5 < told["cycles_per_ns"] < 10
    assert told["digest"] == told_again["digest"]
    (none, rules), (_, everything), (_, again) = counts, counts_of_more, counts_again
    assert none < rules < everything
    assert again == pytest.approx(rules, rel=0.1)  # Python calls, and does not always do it alike


def counted(instructions_of=None, digest="a"):
    """Return a result with 10,000 instructions in every part but those of ``instructions_of``."""
    return {
        key: {
            part: {"instructions": (instructions_of or {}).get((key, part), 10_000), "digest": digest}
            for part in instructions.PARTS
        }
        for key in instructions.CODE
    }


@pytest.fixture
def compare(monkeypatch, tmp_path):
    """Return ``instructions.main`` with --against, for what is said to be counted of both revisions."""

    def run(old, new, *arguments):
        results = {"old": old, instructions.ROOT: new}
        monkeypatch.setattr(instructions, "measure", lambda folder, games, side: results[folder])
        monkeypatch.setattr(instructions, "tree", lambda revision: Tree())
        return instructions.main(["--against", "v0", *arguments])

    class Tree:
        def __enter__(self):
            return "old"

        def __exit__(self, *error):
            return None

    return run


@pytest.mark.parametrize(("more", "code"), [(10_099, 0), (9_000, 0), (10_101, 1)])
def test_a_part_with_over_one_per_cent_more_instructions_than_a_revision_fails(compare, capsys, more, code):
    part = ("any_size", "with tables and masks")
    assert compare(counted(), counted({part: more})) == code
    out, err = capsys.readouterr()
    assert f"{10_000:10,} {more:10,} {more / 10_000:6.3f}   with tables and masks, code for any size" in out
    assert ("with tables and masks, any size" in err) == (code == 1)


def test_counts_of_other_games_are_not_compared(compare, capsys):
    assert compare(counted(), counted(digest="b")) == 2
    assert "did not play the same games" in capsys.readouterr().err


def test_a_comparison_leaves_the_recorded_counts_alone(compare, tmp_path, monkeypatch):
    monkeypatch.setattr(instructions, "RESULT", tmp_path / "recorded.json")
    compare(counted(), counted())
    assert not instructions.RESULT.exists()
    compare(counted(), counted(), "--json", str(tmp_path / "both.json"))
    assert (tmp_path / "both.json").exists()


@pytest.mark.parametrize("name", counted_step.NAMES)
def test_a_private_name_is_found_in_the_tree_and_where_older_revisions_have_it(monkeypatch, name):
    assert counted_step.found(name) is not None
    for module in counted_step.NAMES[name][:-1]:
        monkeypatch.setitem(sys.modules, module, None)
    oldest = types.SimpleNamespace(**{name: "as it was"})
    monkeypatch.setitem(sys.modules, counted_step.NAMES[name][-1], oldest)
    assert counted_step.found(name) == "as it was"


def test_a_private_name_that_is_nowhere_is_said_with_where_it_was_looked_for(monkeypatch):
    monkeypatch.setitem(counted_step.NAMES, "gone", ("territorial.nowhere", "territorial.config"))
    with pytest.raises(ImportError, match=r"has no gone in any of territorial\.nowhere, territorial\.config"):
        counted_step.found("gone")
