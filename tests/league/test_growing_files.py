"""Files of games that only grow: what is kept of each game, by one writer, whatever interrupts it."""

import pytest

from territorial import GameConfig, Setting, evaluate
from territorial.evaluation.trials import TrialRecord

CONFIG = GameConfig(height=24, width=24, num_players=4)
SETTINGS = {"s": Setting(config=CONFIG, seats=["agent", "novice", "novice", "novice"])}


def records_of(portion, *, width=4):
    """Yield the records of a portion that nobody has played, which is quicker."""
    for episode in portion.episodes:
        yield TrialRecord(
            portion.policy, portion.setting, episode, episode, width, (1.0,), (0.5,), (0.0,), 100, False
        )


def evaluated(out, episodes, play=lambda tryout, portions: map(records_of, portions)):
    """Return the evaluation of a policy whose games ``play`` makes up, as a one-shot iterator each portion."""
    return evaluate(["banker"], SETTINGS, episodes, out=out, play=play, progress=False)


def test_games_that_come_one_by_one_are_written_and_kept(tmp_path):
    found = evaluated(tmp_path / "trials.jsonl", 3)
    assert [one.episode for one in found.records] == [0, 1, 2]
    again = evaluated(tmp_path / "trials.jsonl", 3, play=lambda *_: pytest.fail("nothing is left to play"))
    assert again.records == found.records
