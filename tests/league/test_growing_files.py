"""Files of games that only grow: what is kept of each game, by one writer, whatever interrupts it."""

import pytest

from territorial import GameConfig, Setting, evaluate
from territorial.evaluation.results import ResultsError
from territorial.evaluation.trials import TrialRecord
from territorial.files.locks import locked

CONFIG = GameConfig(height=24, width=24, num_players=4)
SETTINGS = {"s": Setting(config=CONFIG, seats=["agent", "novice", "novice", "novice"])}


def records_of(portion, *, width=4):
    """Yield the records of a portion that nobody has played, which is quicker."""
    for episode in portion.episodes:
        yield TrialRecord(
            portion.policy, portion.setting, episode, episode, width, (1.0,), (0.5,), (0.0,), 100, False
        )


def evaluated(out, episodes, play=lambda tryout, portions: map(records_of, portions)):
    """Return the evaluation of a policy whose games ``play`` makes up, one by one."""
    return evaluate(["banker"], SETTINGS, episodes, out=out, play=play, progress=False)


def test_games_that_come_one_by_one_are_written_and_kept(tmp_path):
    found = evaluated(tmp_path / "trials.jsonl", 3)
    assert [one.episode for one in found.records] == [0, 1, 2]
    again = evaluated(tmp_path / "trials.jsonl", 3, play=lambda *_: pytest.fail("nothing is left to play"))
    assert again.records == found.records


# ---- one writer ----------------------------------------------------------------------------------------


def test_two_evaluations_do_not_play_into_one_file_at_once(tmp_path):
    out = tmp_path / "trials.jsonl"

    def play(tryout, portions):
        with pytest.raises(ResultsError, match=r"trials\.jsonl' \(process \d+ on .*wait until it has ended"):
            evaluated(out, 3, play=lambda *_: pytest.fail("nobody else may play"))
        return map(records_of, portions)

    assert len(evaluated(out, 3, play).records) == 3
    assert len(out.read_text().splitlines()) == 1 + 3
    assert len(evaluated(out, 4).records) == 4


def test_an_evaluation_does_not_cut_a_line_off_that_is_being_written(tmp_path):
    out = tmp_path / "trials.jsonl"
    evaluated(out, 3)
    half = out.read_bytes()[:-20]
    out.write_bytes(half)
    with locked(tmp_path / "trials.jsonl.lock"), pytest.raises(ResultsError, match="another process"):
        evaluated(out, 3)
    assert out.read_bytes() == half
