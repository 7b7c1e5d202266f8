"""How long the rest takes: numbers that somebody can read, and none where nobody knows."""

import pytest

from territorial.evaluation import progress


@pytest.mark.parametrize(
    ("done", "missing", "seconds", "text"),
    [
        (0, 500, 1.0, ""),
        (0, 500, 0.0, ""),
        (1, 500, 0.0, ""),
        (10, 0, 5.0, "0 s left"),
        (10, 10, 5.4, "5 s left"),
        (1, 119, 1.0, "119 s left"),
        (1, 120, 1.0, "2 min left"),
        (2, 300, 40.0, "100 min left"),
        (1, 3, 3600.0, "3 h left"),
        (1, 100, 3600.0, "4 days left"),
        (1, 10**9, 3600.0, "more than 999 days left"),
    ],
)
def test_what_is_left_is_told_in_a_unit_that_fits(done, missing, seconds, text):
    assert progress.time_left(done, missing, seconds) == text


def test_what_ends_before_its_first_game_says_nothing(capsys):
    progress.Progress(500).close()
    assert capsys.readouterr().err == ""
