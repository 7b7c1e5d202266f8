"""Instructions are counted, and two revisions of the package can be compared."""

import pytest

from benchmarks.engine import instructions


def test_instructions_of_a_step_are_counted():
    found = []
    for part in (instructions.PARTS[0], instructions.PARTS[-1], instructions.PARTS[0]):
        try:
            found.append(instructions.count(part, games=1, side=48))
        except instructions.CannotCountError as error:
            pytest.skip(str(error))
    (digest, (none, rules)), (_, (_, everything)), (same_digest, (_, again)) = found
    assert digest == same_digest
    assert none < rules < everything
    assert again == pytest.approx(rules, rel=0.1)  # Python calls, and does not always do it alike


def counted(changed=None, digest="a"):
    """Return 10,000 instructions for every part, but for those of ``changed``."""
    return dict.fromkeys(instructions.PARTS, (10_000, digest)) | (changed or {})


@pytest.mark.parametrize(("more", "code"), [(10_099, 0), (9_000, 0), (10_101, 1)])
def test_a_part_with_over_one_per_cent_more_instructions_than_a_revision_fails(more, code, capsys):
    part = "with tables and masks"
    assert instructions.verdict(counted(), counted({part: (more, "a")})) == code
    assert (part in capsys.readouterr().err) == (code == 1)


def test_counts_of_other_games_are_not_compared(capsys):
    assert instructions.verdict(counted(), counted(digest="b")) == 2
    assert "did not play the same games" in capsys.readouterr().err
