"""What if: the same luck for every decision, on any number of processes, from any tick of a recorded game."""

import itertools

import numpy as np
import pytest

from territorial import Recorder, what_if
from territorial.engine.seats import AGENT
from territorial.evaluation import what_if as module
from territorial.evaluation.what_if import chances, costliest_launch, positions
from territorial.observation.action_encoding import target_of_owner
from tests.replay.support import SMALL, random_actions, recorded_game
from tests.replay.test_branch import OWN, PLAYERS, Chancy

BOTS = ("easy", "settler", "champion", "impossible", OWN[0], OWN[1])
CONFIG = SMALL.replace(num_players=6, max_ticks=700, height=32, width=32)


@pytest.fixture(scope="module")
def replay():
    return recorded_game(CONFIG, BOTS, seed=3)[1]


@pytest.fixture(scope="module")
def with_agents():
    rng = np.random.default_rng(0)
    seats = (AGENT, *BOTS[:5])
    return recorded_game(CONFIG, seats, seed=4, actions=lambda game: random_actions(game, rng))[1]


def recorded_choice(replay, tick, seat):
    """What a seat did at a tick, as an alternative has it."""
    rows = replay.launches_between(tick, tick + 1)
    return next(((row[2], row[3]) for row in rows.tolist() if row[1] == seat), None)


def test_who_is_told_to_do_what_it_did_ends_as_it_did(replay, with_agents):
    """So nobody forgets anything, neither those who are told nor those who are not."""
    did = set()
    for one, tick in itertools.product((replay, with_agents), range(30, 300, 30)):
        alive = one.seek(tick).state.alive[0]
        choices = {seat: recorded_choice(one, tick, seat) for seat in range(1, 7) if alive[seat]}
        legal = one.seek(tick).fronts(0)[2]
        choices = {seat: own for seat, own in choices.items() if own is None or legal[seat, own[0]]}
        same = {"all": choices, **{f"{seat}": {seat: choices[seat]} for seat in choices}}
        found = what_if(one, tick, same, games=3, players=PLAYERS, processes=1)
        there = positions(one, tick, {"recorded": {}, **same}, "champion-1", PLAYERS)
        for name, choices in same.items():
            np.testing.assert_array_equal(found.places[name], found.places["recorded"])
            for mine, theirs in zip(there[name].saved.blocks, there["recorded"].saved.blocks, strict=True):
                np.testing.assert_array_equal(mine, theirs)
            did |= {type(choice) for choice in choices.values()}
            seat = next(iter(choices))
            assert found.difference(name, seat)[:] == (0, 0, 0)
    assert did == {tuple, type(None)}


def test_an_ending_is_that_of_the_game_with_its_number(replay):
    tick = 100
    found = what_if(replay, tick, {"hold": {2: None}}, games=5, players=PLAYERS, processes=1)
    own = replay.game(tick + CONFIG.decision_every, num_games=5, future=0, players=PLAYERS)
    while not own.state.over.all():
        own.step()
    np.testing.assert_array_equal(found.places["recorded"], own.state.doubled_place[:, 1:] / 2)
    assert found.endings["recorded"] > 1


def test_results_are_the_same_on_any_number_of_processes(replay):
    asked = {"hold": {1: None}, "champion": {1: "champion"}, "mine": {2: OWN[0]}}
    one, two = (what_if(replay, 50, asked, games=70, players=PLAYERS, processes=count) for count in (1, 2))
    assert [one.to_dict(1), one.text(2)] == [two.to_dict(1), two.text(2)]
    assert one.places.keys() == {"recorded", *asked}
    assert not np.array_equal(one.places["champion"], one.places["recorded"])
    assert (one.games, one.agents) == (70, "champion-1")


@pytest.mark.parametrize("agents", ["champion-1", "turtle-1", OWN[1]])
def test_agents_are_continued_by_a_player(with_agents, agents):
    found = what_if(
        with_agents, 60, {"hold": {1: None}}, games=4, agents=agents, players=PLAYERS, processes=1
    )
    assert found.agents == getattr(agents, "name", agents)
    assert found.agents in found.text(1)


def test_an_interrupt_keeps_the_games_that_all_decisions_have(replay, monkeypatch):
    def stopped(make, chunks):
        yield from map(make(), chunks[:3])
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "Processes", lambda _: stopped)
    monkeypatch.setattr(module, "SIDE_BY_SIDE", 4)
    found = what_if(replay, 50, {"hold": {1: None}}, games=12, players=PLAYERS)
    assert found.games == 4
    assert {len(places) for places in found.places.values()} == {4}


@pytest.mark.parametrize(
    ("tick", "choices", "changes", "message"),
    [
        (55, {1: None}, {}, "tick is 55; it must be a multiple of 10"),
        (50, {7: None}, {}, "a seat is 7; it must be a whole number from 1 to 6"),
        (50, {1: (1, 100)}, {}, "the launch of 'x' at owner 1 is not legal for seat 1; legal are"),
        (50, {1: (9, 100)}, {}, "the owner in 'x' is 9; it must be"),
        (50, {1: (0, 0)}, {}, "the 1024ths in 'x' is 0; it must be"),
        (50, {1: "nobody"}, {}, "nobody"),
        (50, {1: None}, {"games": 1}, "games is 1; it must be"),
        (50, {1: (0, 1, 2)}, {}, "a launch is .0, 1, 2.; it must be an owner code and 1024ths"),
        (50, {1: Chancy()}, {}, "two bots are called 'chancy-1'; pass the same object twice"),
        (50, {1: None}, {"players": {}}, "seat 5 was played by 'chancy-1', which is no bot of the library"),
        (50, {1: None}, {"agents": "nobody"}, "nobody"),
        (10_000, {1: None}, {}, "tick is 10000; it must be"),
        (50, {}, {"alternatives": [{1: None}]}, "alternatives is .*; it must be a dict of decisions by name"),
        (50, [(1, None)], {}, "the alternative 'x' is .*; it must be decisions by seat"),
    ],
)
def test_what_cannot_be_is_refused(replay, tick, choices, changes, message):
    with pytest.raises((TypeError, ValueError), match=message):
        what_if(
            replay,
            tick,
            **{"alternatives": {"x": choices}, "games": 2, "players": PLAYERS, "processes": 1, **changes},
        )


def test_a_seat_that_is_dead_and_a_game_that_is_over_are_refused(replay):
    end = replay.seek(replay.num_ticks).state
    dead = int(end.alive[0, 1:].argmin()) + 1
    tick = -(-int(end.death_tick[0, dead]) // 10) * 10
    with pytest.raises(ValueError, match=f"seat {dead} died at tick"):
        what_if(replay, tick, {"x": {dead: None}}, games=2, players=PLAYERS, processes=1)
    with pytest.raises(ValueError, match="'recorded'; that is what was done in the recording"):
        what_if(replay, 50, {"recorded": {}}, games=2)


# ---- chances -------------------------------------------------------------------------------------------


def test_chances_are_those_of_endings_from_moments_spread_over_the_game(replay):
    found = chances(replay, moments=5, games=6, players=PLAYERS, processes=1)
    assert found.ticks.tolist() == [0, 170, 340, 520, 690]
    for tick, places, wins in zip(found.ticks.tolist(), found.places, found.wins, strict=True):
        games = replay.game(tick, num_games=6, future=0, players=PLAYERS)
        while not games.state.over.all():
            games.step()
        own = games.state.doubled_place[:, 1:] / 2
        np.testing.assert_allclose(places, own.mean(0))
        np.testing.assert_allclose(wins, (own == 1).mean(0))
    assert (found.places[0] != found.places[-1]).any()
    assert chances(replay, moments=5, games=6, players=PLAYERS, processes=2).to_dict() == found.to_dict()
    assert (found.games, found.agents) == (6, "champion-1")
    with pytest.raises(ValueError, match="seat 5 was played by 'chancy-1'"):
        chances(replay, moments=2, games=2)


# ---- the costliest launch ------------------------------------------------------------------------------


def wasteful(tick):
    """Actions of an agent on seat 1 that takes free land, and at ``tick`` sends everything at a neighbour."""

    def actions(game):
        chosen, (sizes, _, is_legal) = np.zeros((1, 6, 2), np.int64), (part[1] for part in game.fronts(0))
        if game.state.tick[0] == tick:
            target = int(np.argmax(sizes[1:] * is_legal[1:])) + 1
            chosen[0, 0] = target_of_owner(target, 1, 6), 9
        elif game.state.tick[0] in (0, 100):
            chosen[0, 0] = target_of_owner(0, 1, 6), 2
        return chosen

    return actions


def test_the_costliest_launch_is_that_with_the_largest_difference_to_holding():
    seats, costs = (AGENT, *BOTS[:5]), {}
    replay = recorded_game(CONFIG, seats, seed=2, actions=wasteful(300))[1]
    found = costliest_launch(replay, 1, players=PLAYERS, seconds=1e6)
    for tick in (0, 100, 300):
        again = what_if(replay, tick, {"hold": {1: None}}, games=48, players=PLAYERS, processes=1)
        cost = again.difference("recorded", 1, to="hold")
        costs[cost.value] = tick, again.place("hold", 1).value, again.place("recorded", 1).value, cost.low
    tick, held, launched, low = costs[max(costs)]
    assert low > 0
    assert (found.tick, found.held, found.launched) == (tick, held, launched)
    assert [tick, found.target, found.fraction] in replay.launches[:, [0, 2, 3]].tolist()
    with pytest.raises(ValueError, match="seat 6 was played by 'chancy-1'"):
        costliest_launch(replay, 1)


def test_launches_that_cost_nothing_or_are_of_an_earlier_player_are_not_named():
    seats, launch = (
        (AGENT, *BOTS[:5]),
        np.array([[[target_of_owner(4, 1, 6), 9], *[[0, 0]] * 5]]),
    )  # out of reach
    held = recorded_game(CONFIG, seats, seed=2, steps=40, actions=lambda game: launch)[1]
    assert len(held.launches[held.launches[:, 1] == 1]) == 40
    assert costliest_launch(held, 1, players=PLAYERS, seconds=1e6) is None
    before = recorded_game(CONFIG, seats, seed=2, steps=50, actions=wasteful(300))[1]
    game = before.game(400, seats={1: "turtle"}, players=PLAYERS)
    with Recorder(game, before=before) as recorder:
        game.step(hold=True)
        branch = recorder.replay()
    assert costliest_launch(branch, 1, players=PLAYERS, seconds=1e6) is None
