"""Who comes in above whom: what a game counts for, with one seat or several, and what is not known."""

import numpy as np
import pytest

from territorial.league import PayoffMatrix


def after(*games, fading=None):
    payoff = PayoffMatrix()
    for players, places in games:
        payoff.record(players, places, fading=fading or {})
    return payoff


def counted(players, places, i, j):
    """The share of pairs of seats in which i is above j, by brute force."""
    shares = []
    for a, p in zip(players, places, strict=True):
        for b, q in zip(players, places, strict=True):
            if a == i and b == j and not (np.isnan(p) and np.isnan(q)):
                p_, q_ = (0 if np.isnan(x) else x for x in (p, q))
                shares.append(1.0 if p_ < q_ else 0.5 if p_ == q_ else 0.0)
    return np.mean(shares) if shares else None


def test_shares_are_those_counted_pair_by_pair():
    rng = np.random.default_rng(0)
    wanted = {}
    payoff = PayoffMatrix()
    for _ in range(40):
        players = [f"p{i}" for i in rng.integers(0, 5, 9)]
        places = rng.integers(1, 6, 9).astype(float)
        places[rng.random(9) < 0.2] = np.nan
        payoff.record(players, places, fading={})
        for i in set(players):
            for j in set(players) - {i}:
                share = counted(players, places, i, j)
                if share is not None:
                    wanted.setdefault((i, j), []).append(share)
    shares, games = payoff.matrix()
    for a, i in enumerate(payoff.names):
        for b, j in enumerate(payoff.names):
            found = wanted.get((i, j), [])
            assert games[a, b] == len(found)
            assert np.isnan(shares[a, b]) if not found else shares[a, b] == pytest.approx(np.mean(found))
    off = ~np.eye(5, dtype=bool)
    np.testing.assert_allclose((shares + shares.T)[off], 1)


def test_a_fair_player_of_32_is_above_each_other_in_half_of_the_games():
    rng = np.random.default_rng(1)
    payoff = after(*[([f"p{i}" for i in range(32)], rng.permutation(32) + 1.0) for _ in range(500)])
    shares, games = payoff.matrix()
    off = ~np.eye(32, dtype=bool)
    assert shares[off].mean() == pytest.approx(0.5)
    assert np.abs(shares[off] - 0.5).max() < 0.12
    assert (games[off] == 500).all()


def test_several_seats_are_one_game():
    payoff = after((["a"] * 5 + ["b"] * 3, np.arange(1.0, 9.0)))
    assert payoff.games("a", ["b"])[0] == 1
    assert payoff.matrix(["a", "b"])[0][0, 1] == 1.0


def test_what_is_not_known_is_even_and_its_interval_is_everything():
    payoff = after((["a", "b", "c"], [1.0, np.nan, np.nan]))
    assert payoff.games("b", ["c", "a", "stranger"]).tolist() == [0, 1, 0]
    assert payoff.probability("b", ["c", "stranger"]).tolist() == [0.5, 0.5]
    assert payoff.interval("b", "c") == payoff.interval("stranger", "c") == (0.0, 1.0)
    low, high = payoff.interval("b", "a")
    assert 0 < low < 0.5 < 1.0 <= high + 1e-12


def test_games_of_a_player_that_changes_fade():
    payoff = after(
        *[(["new", "old"], [2.0, 1.0])] * 300, *[(["new", "old"], [1.0, 2.0])] * 300, fading={"new": 0.99}
    )
    assert payoff.probability("new", ["old"])[0] > 0.9
    assert payoff.games("new", ["old"])[0] == 600


def test_what_is_removed_is_forgotten_and_the_rest_stays():
    payoff = after((["a", "b", "c"], [1.0, 2.0, 3.0]), (["c", "b", "d"], [1.0, 2.0, 3.0]))
    wanted, _ = payoff.matrix(["a", "c", "d"])
    payoff.remove(["b"])
    assert payoff.names == ("a", "c", "d")
    np.testing.assert_array_equal(payoff.matrix()[0], wanted)
    with pytest.raises(KeyError):
        payoff.remove(["b"])
    payoff.add("b")
    assert payoff.games("b", ["a", "c"]).tolist() == [0, 0]


def test_places_must_be_there_for_all():
    with pytest.raises(ValueError, match="3 players"):
        PayoffMatrix().record(["a", "b", "c"], [1.0, 2.0], fading={})
