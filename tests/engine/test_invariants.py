"""What section "What always holds" of docs/rules.md promises, on games of the engine, small and full size."""

import numpy as np
import pytest

from territorial import LINEUPS, GameConfig, VecGame
from territorial.constants import BLOCKED
from territorial.game.state import FIELDS
from tests.engine.support import board, play, random_actions
from tests.twin.invariants import check_games

BOTS = ("metronome", "banker", "turtle", "novice", "random")
SMALL = {
    f"{height}x{width}-{kind}": GameConfig(height=height, width=width, num_players=players, map=kind, **rest)
    for height, width, players, kind, rest in (
        (24, 24, 5, "lakes", {}),
        (20, 65, 8, "mountains", {"decision_every": 3}),
        (40, 30, 12, "open", {"deaths": False}),
        (48, 66, 70, "open", {"max_ticks": 600}),
    )
}


def seats_for(config):
    return [BOTS[seat % len(BOTS)] for seat in range(config.num_players)]


@pytest.mark.parametrize("config", SMALL.values(), ids=SMALL.keys())
def test_every_promise_is_kept_after_every_step_of_a_small_game_of_bots(config):
    game = VecGame(config, 2, seed=5, seats=seats_for(config))
    game.reset()
    check_games(game)
    for _ in range(60):
        game.step()
        check_games(game)


@pytest.mark.parametrize("config", SMALL.values(), ids=SMALL.keys())
def test_every_promise_is_kept_after_every_step_of_a_small_game_of_clueless_agents(config):
    game = VecGame(config, 2, seed=6)
    game.reset()
    rng = np.random.default_rng(0)
    for _ in range(60):
        game.step(random_actions(game, rng))
        check_games(game)


def test_every_promise_is_kept_at_full_size():
    lineup = LINEUPS["mixed-1"]
    game = VecGame(
        GameConfig(), 3, seed=1, seats=lineup.seats, autoreset="disabled", observe=False, num_threads=2
    )
    game.reset(seeds=lineup.seeds[:3])
    taken = None
    for step in range(1000):
        game.step()
        if step % 20 == 0 or game.state.over.all():
            check_games(game)
            assert taken is None or (game.state.taken >= taken).all()
            taken = game.state.taken.copy()
        if game.state.over.all():
            break
    assert game.state.over.all(), "the games ended, one way or another"
    assert (game.state.place2[:, 1:].sum(axis=1) == 32 * 33).all()
    assert (game.state.illegal == 0).all()


def test_every_taken_cell_had_a_neighbour_owned_by_its_taker():
    """Looked at in ticks in which a single player stepped, so that the board before it is known."""
    config = SMALL["24x24-lakes"].replace(decision_every=1, launch_delay=2)
    game = VecGame(config, 1, seats=["random"] * 5, autoreset="disabled")
    game.reset(seed=2)
    seen = 0
    while not game.state.over[0] and game.state.tick[0] < 1500:
        before, taken, dead = board(game), game.state.taken[0].copy(), (game.state.alive[0] == 0).sum()
        game.step()
        takers = np.flatnonzero((game.state.taken[0] - taken).any(axis=1))
        if len(takers) == 1 and (game.state.alive[0] == 0).sum() == dead:
            p = takers[0]
            changed = np.argwhere(board(game) != before)
            assert (board(game)[tuple(changed.T)] == p).all()
            walled = np.pad(before, 1, constant_values=BLOCKED)
            for r, c in changed + 1:
                around = (walled[r - 1, c], walled[r + 1, c], walled[r, c - 1], walled[r, c + 1])
                assert p in around
            seen += len(changed)
    assert seen > 200


@pytest.mark.parametrize("at_step", [0, 6, 25])
def test_a_launch_changes_the_state_if_it_is_legal_and_only_a_counter_if_not(at_step):
    config = SMALL["24x24-lakes"]
    game = VecGame(config, 1, autoreset="disabled")
    game.reset(seed=3)
    play(game, at_step)
    start, legal = game.save(0), game.fronts(0)[2]
    game.tick(0)
    idle, players, kinds = game.save(0), range(1, config.num_players + 1), set()
    for p in players:
        for target in range(config.num_players + 1):
            for fraction in (1, 16, 1024):
                game.restore(0, start)
                game.tick(0, [(p, target, fraction)])
                kinds.add(bool(legal[p, target]))
                differing = fields_that_differ(game, idle)
                if legal[p, target]:
                    assert {"troops", "pools"} <= differing
                    assert game.state.illegal[0, p] == view_of(idle, game, "illegal")[p]
                else:
                    assert differing == {"illegal"}
                    assert game.state.illegal[0, p] == view_of(idle, game, "illegal")[p] + 1
    assert kinds == {False, True}


def view_of(snapshot, game, name):
    """Return a field of a snapshot."""
    spare = game.clone()
    spare.restore(0, snapshot)
    return getattr(spare.state, name)[0]


def fields_that_differ(game, snapshot):
    spare = game.clone()
    spare.restore(0, snapshot)
    return {
        field.name
        for field in FIELDS
        if not np.array_equal(getattr(game.state, field.name)[0], getattr(spare.state, field.name)[0])
    }


def test_the_order_of_the_launches_of_one_tick_does_not_matter():
    config = SMALL["24x24-lakes"]
    game = VecGame(config, 1, autoreset="disabled")
    game.reset(seed=4)
    play(game, 10)
    legal = game.fronts(0)[2]
    launches = [(int(p), int(np.flatnonzero(legal[p])[0]), 300) for p in range(1, 6) if legal[p].any()]
    assert len(launches) > 2
    start, outcomes = game.save(0), set()
    for order in (launches, launches[::-1], launches[1:] + launches[:1]):
        game.restore(0, start)
        game.tick(0, order)
        outcomes.add(game.digest(0))
    assert len(outcomes) == 1
