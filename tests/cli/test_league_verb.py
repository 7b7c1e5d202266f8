"""``territorial league show``: the standings of a run or a file, and its plots."""

import json
from importlib.util import find_spec

import numpy as np
import pytest

from territorial.evaluation.plots import check_matplotlib, draw_shares
from territorial.league import League, LeagueConfig, Learner, Opponents, charts
from territorial.league.checkpoints import Checkpoints

NEEDS_MATPLOTLIB = pytest.mark.skipif(
    find_spec("matplotlib") is None, reason="matplotlib is not installed: the extra `league` has it"
)


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


@pytest.fixture
def shown(done, tmp_path):
    """Return what is shown of a league that is saved for it."""

    def show(league, *options):
        league.save(tmp_path / "league.npz")
        return done("league", "show", tmp_path / "league.npz", *options)[0]

    return show


def test_a_file_and_a_run_are_shown_alike(league, shown, tmp_path, done):
    text = shown(league)
    assert "60 games, 3 snapshots; steps: main 12" in text
    for name in ("main (learns)", "main-0", "main-1", "main-2", "banker", "novice"):
        assert name in text
    assert "gate of main: shut" in text
    Checkpoints(tmp_path / "run" / "checkpoints").write(3, lambda folder: league.save(folder / "league.npz"))
    assert done("league", "show", tmp_path / "run")[0].splitlines()[1:] == text.splitlines()[1:]


def test_all_of_it_is_there_as_json(league, shown):
    found = json.loads(shown(league, "--json", "-"))
    i, j = found["players"].index("trainable:main"), found["players"].index("bot:banker-1")
    share, games = league.payoff.matrix(["trainable:main", "bot:banker-1"])
    assert found["above"][i][j] == pytest.approx(share[0, 1], abs=1e-4)
    assert found["met"][i][j] == games[0, 1] > 0
    assert len(found["history"]) == 12


@NEEDS_MATPLOTLIB
def test_plots_are_pictures(league, shown, tmp_path):
    text = shown(league, "--plots", tmp_path / "plots")
    for name in ("ratings", "above", "payoff"):
        assert (tmp_path / "plots" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert f"{name}.png" in text


@NEEDS_MATPLOTLIB
def test_a_curve_is_faint_where_few_games_are_behind_it_and_has_dots_where_it_is_short():
    axes = check_matplotlib().subplots()[1]
    for points in (29, 30):
        charts._curve(axes, range(points), np.ones(points), np.arange(points) != 1, label="x")
    short, firm, long, _ = axes.lines
    assert (short.get_alpha(), np.flatnonzero(np.isnan(firm.get_ydata())).tolist()) == (charts.FAINT, [1])
    assert [line.get_marker() for line in (short, firm, long)] == ["o", "o", ""]


def test_where_there_is_no_room_for_all_snapshots_the_best_and_the_worst_are_plotted(league, monkeypatch):
    monkeypatch.setattr(charts, "MOST_ROWS", 5)
    shown, rated = (
        [name for name in names if name.startswith("snapshot:")]
        for names in (charts._rows(league), charts.order_of(league))
    )
    assert (len(rated), shown) == (3, [rated[0], rated[-1]])


@pytest.mark.parametrize(
    ("path", "message"),
    [("nothing.npz", "nothing.npz"), ("empty", "no complete checkpoint"), ("bad", "not a league")],
)
def test_what_is_no_league_is_refused(path, message, tmp_path, done):
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad").write_text("something else")
    assert message in done("league", "show", tmp_path / path, code=2)[1]


@pytest.fixture
def unplayed(league):
    new = League(league.config, rated=league.ratings is not None)
    new.freeze("main")
    new.advance("main")
    new.note(1, above={}, met={})
    return new


def test_a_league_without_games_says_so_and_rates_nobody(unplayed, shown, tmp_path):
    text = shown(unplayed, "--json", tmp_path / "found.json")
    assert (
        "no game has ended yet, so there is nothing to compare: main (learns), banker, novice, main-0" in text
    )
    assert "25.0" not in text
    assert "rating" not in text
    assert json.loads((tmp_path / "found.json").read_text())["ratings"] == {"snapshot:main-0": None}


def test_who_has_not_played_is_not_in_the_table(unplayed, shown):
    unplayed.record(["trainable:main", "bot:banker"], [1, 2])
    lines = shown(unplayed).splitlines()
    assert "no game yet: novice, main-0" in lines
    assert sorted(line.split()[0] for line in lines[2:5]) == ["banker", "main", "player"]


@NEEDS_MATPLOTLIB
def test_what_there_are_no_data_for_is_not_drawn(unplayed, shown, tmp_path):
    assert "no plots: no game has ended yet" in shown(unplayed, "--plots", tmp_path / "plots")
    assert not list((tmp_path / "plots").glob("*"))


@NEEDS_MATPLOTLIB
def test_pairs_that_never_met_are_hatched_and_few_games_are_faint():
    share = np.array([[np.nan, 0.9, 0.9], [0.1, np.nan, np.nan], [0.1, np.nan, np.nan]])
    weight = np.array([[1, 1, 0.3], [1, 1, 1], [0.3, 1, 1]])
    figure = draw_shares(check_matplotlib(), share, ["a", "b", "c"], "title", weight=weight)
    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3].astype(int)

    def corner(row, column):
        """What is seen in a corner of a cell, beside its number."""
        x, y = figure.axes[0].transData.transform([[column - 0.4, row - 0.4], [column - 0.2, row - 0.2]]).T
        rows = slice(*sorted((pixels.shape[0] - y).astype(int)))
        return pixels[rows, slice(*sorted(x.astype(int)))].reshape(-1, 3)

    firm, faint, never = corner(0, 1), corner(0, 2), corner(1, 2)
    assert np.ptp(firm, 0).max() == np.ptp(faint, 0).max() == 0 < np.ptp(never, 0).max()
    assert firm[0, 0] + 80 < faint[0, 0] < 255
