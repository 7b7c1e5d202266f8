"""Files of games that only grow: what is kept of each game, by one writer, whatever interrupts it."""

import io
import json
from pathlib import Path

import pytest

from territorial import GameConfig, Setting, evaluate
from territorial.evaluation.pool import PlayingError
from territorial.evaluation.results import ResultsError, append
from territorial.evaluation.trials import TrialRecord
from territorial.files.locks import locked

CONFIG = GameConfig(height=24, width=24, num_players=4)
SETTINGS = {"s": Setting(config=CONFIG, seats=["agent", "novice", "novice", "novice"])}


def records_of(portion, length=100):
    """Yield the records of a portion that nobody has played, which is quicker."""
    for episode in portion.episodes:
        yield TrialRecord(
            portion.policy, portion.setting, episode, episode, 4, (1.0,), (0.5,), (0.0,), length, False
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


# ---- each game once ------------------------------------------------------------------------------------


def games_in(path):
    """Return the policy, setting and number of each game in a file, line by line."""
    lines = map(json.loads, path.read_text().splitlines())
    return [(one["policy"], one["setting"], one["episode"]) for one in lines if "format" not in one]


@pytest.mark.parametrize("kept", [1, 5, 16, 18])
def test_what_was_cut_within_a_portion_is_played_again_and_written_once(tmp_path, kept):
    out, played = tmp_path / "trials.jsonl", []
    whole = evaluated(out, 20)
    lines = out.read_bytes().splitlines(keepends=True)
    out.write_bytes(b"".join([*lines[: 1 + kept], lines[1 + kept][:-9]]))

    def play(tryout, portions):
        played.extend(portions)
        return (records_of(portion, length=200) for portion in portions)

    found = evaluated(out, 20, play)
    assert games_in(out) == [("banker", "s", k) for k in range(20)]
    assert found.records[:kept] == whole.records[:kept], "what is in the file stays as it is"
    assert all(len(portion.episodes) in (4, 16) for portion in played), "a portion is always the same games"
    again = evaluated(out, 20, play=lambda *_: pytest.fail("nothing is left to play"))
    assert again.records == found.records


def test_games_that_are_added_are_written_once(tmp_path):
    out = tmp_path / "trials.jsonl"
    for episodes in (3, 18, 19, 40):
        assert len(evaluated(out, episodes).records) == episodes
    assert games_in(out) == [("banker", "s", k) for k in range(40)]


def test_a_portion_that_failed_half_way_is_finished_and_written_once(tmp_path):
    out = tmp_path / "trials.jsonl"

    def fails(tryout, portions):
        yield list(records_of(portions[0]))[:7]
        raise PlayingError("a player failed")

    with pytest.raises(PlayingError):
        evaluated(out, 16, fails)
    assert len(games_in(out)) == 7
    evaluated(out, 16)
    assert games_in(out) == [("banker", "s", k) for k in range(16)]


def test_what_a_disk_takes_in_pieces_is_written_wholly(tmp_path, monkeypatch):
    taken = []

    class Full(io.BytesIO):
        def write(self, data):
            taken.append(bytes(data[:7]))
            return len(taken[-1])

    monkeypatch.setattr(Path, "open", lambda *_, **__: Full())
    append(tmp_path / "any", "a line of some length\n")
    assert b"".join(taken) == b"a line of some length\n"
