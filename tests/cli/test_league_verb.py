"""``territorial league show``: the standings of a run or a file, and its plots."""

import json
from importlib.util import find_spec

import numpy as np
import pytest

from territorial.cli import main
from territorial.league import League, LeagueConfig, Learner, Opponents
from territorial.league.checkpoints import Checkpoints


@pytest.fixture
def league():
    parts = (Opponents(seats=2), Opponents(seats=2, strategy="uniform", among=("bots",)))
    learner = Learner(name="main", seats=2, opponents=parts)
    config = LeagueConfig(num_players=6, learners=(learner,), bots=("banker", "novice"))
    league = League(config, rated=find_spec("openskill") is not None)
    rng = np.random.default_rng(0)
    for step in range(12):
        if step % 4 == 0:
            league.freeze("main")
        for _ in range(5):
            league.record(league.draw(), rng.permutation(6) + 1)
        league.advance("main")
        league.note(step, above={"bot:banker": 0.1 * (step % 10), "bot:novice": 0.5})
    return league


def test_a_file_and_a_run_are_shown_alike(league, tmp_path, capsys):
    league.save(tmp_path / "league.npz")
    assert main(["league", "show", str(tmp_path / "league.npz")]) == 0
    text = capsys.readouterr().out
    assert "60 games, 3 snapshots; steps: main 12" in text
    for name in ("main (learns)", "main-0", "main-1", "main-2", "banker", "novice"):
        assert name in text
    assert "gate of main: shut" in text
    Checkpoints(tmp_path / "run" / "checkpoints").write(3, lambda folder: league.save(folder / "league.npz"))
    assert main(["league", "show", str(tmp_path / "run")]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == text.splitlines()[1:]


def test_all_of_it_is_there_as_json(league, tmp_path, capsys):
    league.save(tmp_path / "league.npz")
    assert main(["league", "show", str(tmp_path / "league.npz"), "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    i, j = found["players"].index("trainable:main"), found["players"].index("bot:banker-1")
    share, games = league.payoff.matrix(["trainable:main", "bot:banker-1"])
    assert found["above"][i][j] == pytest.approx(share[0, 1], abs=1e-4)
    assert found["met"][i][j] == games[0, 1] > 0
    assert len(found["history"]) == 12


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="matplotlib is not installed: the extra `league`")
def test_plots_are_pictures(league, tmp_path, capsys):
    league.save(tmp_path / "league.npz")
    assert main(["league", "show", str(tmp_path / "league.npz"), "--plots", str(tmp_path / "plots")]) == 0
    text = capsys.readouterr().out
    for name in ("ratings", "above", "payoff"):
        assert (tmp_path / "plots" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert f"{name}.png" in text


@pytest.mark.parametrize(
    ("path", "message"),
    [("nothing.npz", "nothing.npz"), ("empty", "no complete checkpoint"), ("bad", "no league")],
)
def test_what_is_no_league_is_refused(path, message, tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad").write_text("something else")
    assert main(["league", "show", str(tmp_path / path)]) == 2
    assert message in capsys.readouterr().err
