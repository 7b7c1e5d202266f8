"""Who comes in above whom: what a game counts for, with one seat or several, and what is not known."""

import math

import numpy as np
import pytest

from territorial.league import PayoffMatrix

A, B, C = "trainable:a", "snapshot:b", "bot:banker"


def after(*games, fading=None):
    payoff = PayoffMatrix()
    for players, places in games:
        payoff.record(players, places, fading=fading)
    return payoff


def test_what_is_not_known_is_even_and_its_interval_is_everything():
    payoff = after((["a", "b", "c"], [3.0, np.nan, np.nan]))
    assert payoff.games("b", ["c", "a", "stranger"]).tolist() == [0, 1, 0]
    assert payoff.probability("b", ["c", "stranger"]).tolist() == [0.5, 0.5]
    for stranger in (payoff.of("b", "c"), payoff.of("stranger", "c"), payoff.of("a", "a")):
        assert (stranger.games, stranger.pairs, stranger.low, stranger.high) == (0, 0, 0.0, 1.0)
        assert math.isnan(stranger.above)
    known = payoff.of("b", "a")
    assert (known.above, known.place_difference) == (1.0, 1.5)
    assert 0 < known.low < 0.5 < known.high <= 1.0 + 1e-12


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
        PayoffMatrix().record(["a", "b", "c"], [1.0, 2.0])


def seen(one):
    return one.games, one.pairs, one.above, one.win_rate, one.place_difference


def test_who_lived_when_a_game_was_left_came_in_above_the_dead_alone():
    nan = math.nan
    payoff = after(([A, B, B, C, C], [nan, nan, 5, 4, nan]))
    # Three are alive, at place 2 on average; pairs among them are open, and none of them has won.
    assert seen(payoff.of(A, B)) == (1, 1, 1.0, 0.0, 3.0)
    assert seen(payoff.of(A, C)) == (1, 1, 1.0, 0.0, 2.0)
    payoff.record([A, B], [nan, nan])
    assert payoff.of(A, B).games == 1
    assert (payoff.opponents(A), payoff.opponents("stranger")) == ((B, C), ())


def by_hand(games, player, opponent):
    """Games, pairs, and means over games of shares above, wins and places, seat by seat."""
    found = []
    for seats, rank in games:
        own = [i for i, name in enumerate(seats) if name == player]
        pairs = [(i, j) for i in own for j, name in enumerate(seats) if name == opponent]
        if pairs:
            above = np.mean([(rank[i] < rank[j]) + 0.5 * (rank[i] == rank[j]) for i, j in pairs])
            places = np.mean([rank[j] - rank[i] for i, j in pairs])
            found.append((len(pairs), above, np.isin(np.flatnonzero(rank == rank.min()), own).mean(), places))
    pairs, above, won, places = zip(*found, strict=True)
    return len(found), sum(pairs), np.mean(above), np.mean(won), np.mean(places)


def test_many_games_are_those_counted_by_hand():
    rng = np.random.default_rng(3)
    names = [f"snapshot:{i}" for i in range(5)]
    games = [([names[i] for i in rng.integers(5, size=9)], rng.integers(1, 6, 9) * 1.0) for _ in range(40)]
    payoff = after(*games)
    for player in names:
        for opponent in set(names) - {player}:
            one = payoff.of(player, opponent)
            assert seen(one) == pytest.approx(by_hand(games, player, opponent))
            assert one.low < one.above < one.high


def test_its_size_has_a_bound_and_who_has_not_played_for_longest_goes_first():
    payoff = PayoffMatrix(capacity=4)
    for name in "bcdbe":
        payoff.record([A, f"snapshot:{name}"], [1, 2])
    assert payoff.names == (A, "snapshot:b", "snapshot:d", "snapshot:e")
    assert payoff.of(A, "snapshot:b").games == 2
    for i in range(500):
        payoff.record([A, f"snapshot:{i}", f"snapshot:{i + 1}"], [1, 2, 3])
    assert payoff.names == (A, "snapshot:498", "snapshot:499", "snapshot:500")
    assert payoff.games(A, ["snapshot:499", "snapshot:500"]).tolist() == [2, 1]
    assert sum(array.nbytes for array in vars(payoff).values() if isinstance(array, np.ndarray)) < 10_000
    with pytest.raises(ValueError, match="capacity is 1; it must be"):
        PayoffMatrix(capacity=1)


def test_it_can_be_kept_as_arrays():
    payoff = PayoffMatrix(capacity=3)
    for name in "bcd":
        payoff.record([A, name], [2, 1], fading={A: 0.5})
    again = PayoffMatrix.from_arrays(payoff.names, payoff.to_arrays(), capacity=3)
    for one in (payoff, again):
        one.record([A, "e"], [1, 2])
    assert again.names == payoff.names == (A, "d", "e")
    for name, array in payoff.to_arrays().items():
        np.testing.assert_array_equal(again.to_arrays()[name], array)
    with pytest.raises(ValueError, match=r"no array 'last' of int64 of the shape \(3,\)"):
        PayoffMatrix.from_arrays(payoff.names, {**payoff.to_arrays(), "last": np.zeros(2)})
