"""Matches and tournaments of an older revision: its files go on, its games come out as then."""

import shutil
from functools import partial
from pathlib import Path

import pytest

from territorial import match, tournament
from tests.older import make_results
from tests.older.make_results import CONFIG

FOLDER = Path(__file__).parent / "before_match"
HOLDING = "tests.older.holding:Holding"
CONTESTS = {
    "match": partial(match, ["banker", "turtle", HOLDING, "hard"], CONFIG, 5, seed=7, progress=False),
    "tournament": partial(
        tournament,
        ["banker", "novice", HOLDING, "vulture", "hard", "random", "turtle"],
        CONFIG,
        5,
        seed=11,
        progress=False,
    ),
}


@pytest.mark.parametrize("name", CONTESTS)
def test_an_older_contest_is_not_played_again(name, tmp_path):
    out = Path(shutil.copy(FOLDER / f"{name}.jsonl", tmp_path))
    before = out.read_bytes()
    CONTESTS[name](out=out, play=lambda *_: pytest.fail("games were played again"))
    assert out.read_bytes() == before


@pytest.mark.parametrize("name", CONTESTS)
def test_the_games_of_an_older_contest_come_out_as_then(name, tmp_path):
    out = tmp_path / "new.jsonl"
    ranking = CONTESTS[name](out=out, processes=1)
    assert ranking.is_complete
    older = (FOLDER / f"{name}.jsonl").read_text().splitlines()
    assert sorted(out.read_text().splitlines()[1:]) == sorted(older[1:])
    if ranking.ratings is not None:  # without openskill the column is empty
        assert ranking.text() + "\n" == (FOLDER / f"{name}_table.txt").read_text()


def test_a_policy_that_draws_from_its_seed_plays_the_same_games_wherever_they_are_played(tmp_path):
    """In a match every game is drawn from its own seed, whatever is played beside it."""
    play = partial(match, [make_results.Drawing(), "banker", "novice"], CONFIG, progress=False, seed=1)
    here = play(games=5, processes=1)
    assert here.records[4] == play(games=5, processes=2).records[4]
    out = tmp_path / "match.jsonl"
    play(games=3, processes=1, out=out)
    assert play(games=5, processes=1, out=out).records == here.records
    assert "drawing" in here.players
