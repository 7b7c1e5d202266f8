"""The payoff table, against every pair of seats counted by hand."""

import json
import math

import numpy as np
import pytest

from territorial.league import Payoff, Payoffs

A, B, C = "trainable:a", "snapshot:b", "bot:banker"


def test_a_game_counts_every_pair_of_seats():
    table = Payoffs()
    table.add_game([A, B, B, C], [2, 1, 3.5, 3.5])
    assert table.of(A, B) == Payoff(games=1, wins=0, pairs=2, above=1, places=0.5)
    assert table.of(B, A) == Payoff(games=1, wins=1, pairs=2, above=1, places=-0.5)
    assert table.of(B, C) == Payoff(games=1, wins=1, pairs=2, above=1.5, places=2.5)
    assert table.of(A, A) == Payoff()
    assert math.isnan(table.of(A, A).above_rate)
    assert table.of(A, B).above_rate == 0.5
    assert table.of(B, A).win_rate == 1
    assert table.of(A, B).place_difference == 0.25
    assert table.players() == sorted((A, B, C))
    assert table.opponents(A) == sorted((B, C))


def test_who_lived_when_a_game_was_left_came_in_above_the_dead_alone():
    table = Payoffs()
    table.add_game([A, B, B, C, C], [0, 0, 5, 4, 0], followed=[A])
    # Three are alive, at place 2 on average; pairs among them are open.
    assert table.of(A, B) == Payoff(games=1, wins=0, pairs=1, above=1, places=3)
    assert table.of(A, C) == Payoff(games=1, wins=0, pairs=1, above=1, places=2)
    assert table.players() == [A]
    table.add_game([A, B], [0, 0])
    assert table.of(A, B).games == 1


def pairs_by_hand(games, player, opponent):
    met = games_met = wins = above = places = 0
    for seats, rank in games:
        own = [i for i, name in enumerate(seats) if name == player]
        others = [i for i, name in enumerate(seats) if name == opponent]
        pairs = [(i, j) for i in own for j in others]
        met += len(pairs)
        games_met += bool(pairs)
        wins += bool(pairs) and any(rank[i] == 1 for i in own)
        above += sum((rank[i] < rank[j]) + 0.5 * (rank[i] == rank[j]) for i, j in pairs)
        places += sum(rank[j] - rank[i] for i, j in pairs)
    return Payoff(games_met, wins, met, above, places)


def test_many_games_add_up_however_they_are_split():
    rng = np.random.default_rng(3)
    names = np.array([f"snapshot:{i}" for i in range(5)])
    games = [(list(names[rng.integers(5, size=9)]), rng.permutation(9) + 1.0) for _ in range(40)]
    whole, parts = Payoffs(), [Payoffs(), Payoffs()]
    for i, (seats, places) in enumerate(games):
        whole.add_game(seats, places)
        parts[i % 2].add_game(seats, places)
    parts[0].add(parts[1])
    for player in names:
        for opponent in set(names) - {player}:
            wanted = pairs_by_hand(games, player, opponent)
            assert whole.of(player, opponent) == wanted
            assert parts[0].of(player, opponent) == wanted
            assert wanted.above + whole.of(opponent, player).above == wanted.pairs > 0


def test_its_size_has_a_bound_and_whom_nobody_met_for_longest_goes_first():
    table = Payoffs(capacity=3)
    for name in "bcdbe":
        table.add_game([A, f"snapshot:{name}"], [1, 2], followed=[A])
    assert table.opponents(A) == ["snapshot:b", "snapshot:d", "snapshot:e"]
    assert table.of(A, "snapshot:b").games == 2
    table.forget("snapshot:b")
    assert table.opponents(A) == ["snapshot:d", "snapshot:e"]
    table.forget(A)
    assert not table


def test_the_harder_an_opponent_the_more_it_weighs():
    table = Payoffs()
    for name, place in (("easy", 1), ("easy", 1), ("hard", 2), ("equal", 1), ("equal", 2)):
        table.add_game([A, f"snapshot:{name}"], [place, 3 - place])
    names = [f"snapshot:{name}" for name in ("easy", "equal", "hard", "new")]
    assert list(table.weights(A, names).values()) == [0, 0.5, 1, 0.5]
    assert list(table.weights(A, names, power=2).values()) == [0, 0.25, 1, 0.25]


def test_it_can_be_written_and_read():
    table = Payoffs(capacity=7)
    table.add_game([A, B, C], [1, 2, 3])
    again = Payoffs.from_dict(json.loads(json.dumps(table.to_dict())))
    assert again.to_dict() == table.to_dict()
    assert again.capacity == 7
    assert again.of(A, C) == table.of(A, C)
    assert repr(again) == f"Payoffs({C}, {B}, {A}; 6 pairings)"


def test_what_is_wrong_is_named():
    with pytest.raises(ValueError, match="capacity is 0; it must be"):
        Payoffs(capacity=0)
    with pytest.raises(ValueError, match=r"places has the shape \(2,\); there are 3 seats"):
        Payoffs().add_game([A, B, C], [1, 2])
    with pytest.raises(ValueError, match="it must have the fields capacity and payoffs"):
        Payoffs.from_dict({})
    with pytest.raises(ValueError, match=f"the payoff of {A} against {B} is .*; it must be 5 numbers: games"):
        Payoffs.from_dict({"capacity": 1, "payoffs": {A: {B: [1]}}})
