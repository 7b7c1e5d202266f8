"""Ratings and plots, where openskill and matplotlib are installed (the extra "league")."""

import numpy as np
import pytest

from territorial.evaluation import plots, ratings
from territorial.evaluation.match import RecordArrays, draw_charts
from territorial.evaluation.standings import rate
from tests.league.test_statistics import record

NEEDS = "needs the extra league: pip install '.[league]'"


def games(count=120, seed=0):
    """Return games of four players of known strength, one of whom has two seats."""
    rng, strength = np.random.default_rng(seed), {"a": 2.0, "b": 1.0, "c": 0.0, "d": 0.0}
    found = []
    for k in range(count):
        seats = "aabcd" if k % 2 else "abbcd"
        luck = np.array([strength[name] for name in seats]) + rng.gumbel(size=5)
        places = np.empty(5)
        places[np.argsort(-luck)] = np.arange(1, 6)
        found.append(record(k, seats, places.tolist(), land=[[20] * 5, [10, 20, 30, 20, 20]]))
    return found


def test_ratings_rank_players_by_their_strength_and_grow_surer():
    pytest.importorskip("openskill", reason=NEEDS)
    few, many = rate(games(10)), rate(games(400))
    assert many["a"].mu > many["b"].mu > max(many["c"].mu, many["d"].mu)
    assert abs(many["c"].mu - many["d"].mu) < 3 * many["c"].sigma
    assert all(many[name].sigma < few[name].sigma < 25 / 3 for name in "abcd")
    assert rate(games(400)) == many


@pytest.mark.verify
def test_intervals_of_ratings_hold_the_strength_of_nearly_all_players():
    """Of 30 contests with games of players whose strengths are known, up to what all have in common."""
    pytest.importorskip("openskill", reason=NEEDS)
    scale = 5**0.5 * 25 / 6
    truth = scale * (np.array([2.0, 1.0, 0.0, 0.0]) - 0.75)
    found = [rate(games(400, seed)) for seed in range(30)]
    mus = np.array([[one[name].mu for name in "abcd"] for one in found])
    sigmas = np.array([[one[name].sigma for name in "abcd"] for one in found])
    away = mus - mus.mean(axis=1, keepdims=True) - truth
    assert (np.abs(away) < 1.96 * sigmas).mean() > 0.93
    assert (away.std(axis=0) > 0.4 * sigmas.mean(axis=0)).all(), "they are no wider than they have to be"


def test_a_contest_is_rated_by_all_of_its_games_and_a_league_by_the_last():
    pytest.importorskip("openskill", reason=NEEDS)
    turned = [record(k, "ab", (1, 2) if k < 300 else (2, 1)) for k in range(400)]
    found, league = rate(turned), ratings.Ratings()
    assert found == rate(turned[::-1])
    assert found["a"].mu - found["b"].mu > 5 * found["a"].sigma
    for one in turned:
        league.record(one.seats, one.places)
    assert league["a"].mu < league["b"].mu


def test_seats_of_one_player_are_one_rating():
    pytest.importorskip("openskill", reason=NEEDS)
    found = rate([record(0, "aab", (1, 3, 2))])
    apart = rate([record(0, "xyb", (1, 3, 2))])
    assert found["b"] == apart["b"]
    assert found["a"].mu == pytest.approx((apart["x"].mu + apart["y"].mu) / 2)
    assert found["a"].sigma ** 2 == pytest.approx((apart["x"].sigma ** 2 + apart["y"].sigma ** 2) / 2)
    assert ratings.Rating(25.04, 2.0).text() == "25.0 ± 3.9", "with half of its interval"
    tied = rate([record(0, "ab", (1.5, 1.5))])
    assert tied["a"].mu == pytest.approx(tied["b"].mu)


def test_every_plot_is_drawn(tmp_path, monkeypatch):
    image = pytest.importorskip("matplotlib.image", reason=NEEDS)
    monkeypatch.setattr(plots, "_DPI", 40)
    files = draw_charts(RecordArrays(games(40)), tmp_path / "plots")
    assert [path.name for path in files] == ["beats.png", "survival.png", "land.png"]
    for path in files:
        picture = image.imread(path)
        assert min(picture.shape[:2]) > 50
        assert len(np.unique(picture.reshape(-1, picture.shape[-1]), axis=0)) > 5
