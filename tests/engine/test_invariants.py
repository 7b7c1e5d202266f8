"""What section "What always holds" of docs/rules.md promises, on games of the engine, small and full size."""

import numpy as np
import pytest

from territorial import LINEUPS, GameConfig, VecGame
from territorial.constants import BLOCKED
from territorial.state import FIELDS, NUM_GAINS
from tests.engine.support import board, play, random_actions, slow_fronts, slow_needs

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


def assert_troops_balance(game, k):
    """Every seat's balance is what it began with, plus its gains, less the losses booked at it."""
    ledger = game.blocks.ledger[k]
    troops, pools = game.state.troops[k], game.state.pools[k]
    gains, losses = ledger[:NUM_GAINS].sum(axis=0), ledger[NUM_GAINS:].sum(axis=0)
    start = np.full(len(troops), game.config.starting_troops)
    start[0] = 0
    assert np.array_equal(troops + pools.sum(axis=1), start + gains - losses)
    assert (ledger >= 0).all()
    assert not ledger[:, 0].any()


def assert_land_counts(game, k):
    owner = board(game, k)
    codes = owner[owner != BLOCKED]
    assert np.bincount(codes, minlength=game.config.num_players + 1).tolist() == game.state.land[k].tolist()
    land = game.maps[game.state.map_id[k]].to_array()
    assert np.array_equal(owner != BLOCKED, land), "blocked cells never change"
    assert game.state.num_land[k] == game.state.land[k].sum() == land.sum()
    ring = game.state.owner[k].copy()
    ring[1:-1, 1:-1] = BLOCKED
    assert (ring == BLOCKED).all()


def assert_states_are_sound(game, k):
    state, seats = game.state, range(1, game.config.num_players + 1)
    alive, pools = state.alive[k].astype(bool), state.pools[k]
    assert (state.troops[k] >= 0).all()
    assert (pools >= 0).all()
    assert not pools[0].any()
    assert not pools.diagonal().any()
    dead = ~alive
    dead[0] = False
    assert not state.troops[k][dead].any()
    assert not state.land[k][dead].any()
    assert not pools[dead].any()
    assert not pools[:, dead].any()
    assert ((state.death_tick[k][1:] >= 0) == dead[1:]).all()
    if game.config.deaths:
        for p in seats:
            assert not alive[p] or game.config.death_divisor * state.land[k, p] > state.peak[k, p]
    else:
        assert alive[1:].all()
    assert ((state.place2[k] > 0) == dead).all() or state.over[k]


def assert_sets_follow_pools(game, k):
    """``active`` and ``fresh`` are what the engine remembers of pools: one set may only hold the other."""
    seats = game.config.num_players + 1
    active, fresh = (
        np.unpackbits(
            np.ascontiguousarray(getattr(game.state, name)[k]).view(np.uint8), axis=1, bitorder="little"
        )
        for name in ("active", "fresh")
    )
    assert np.array_equal(active[:, :seats], game.state.pools[k] > 0)
    assert not active[:, seats:].any()
    assert (fresh <= active).all()


def assert_fronts_are_right(game, k):
    sizes, needs, is_legal = game.fronts(k)
    alive = game.state.alive[k].astype(bool)
    slow = slow_fronts(board(game, k), game.config.num_players)
    possible = np.outer(alive, alive | (np.arange(len(alive)) == 0))
    slow = np.where(possible, slow, 0)
    assert np.array_equal(sizes, slow)
    assert np.array_equal(needs, slow_needs(slow, game.state.pools[k], game.config))
    quarter = game.state.troops[k][:, None] // game.config.need_divisor
    assert np.array_equal(is_legal, (slow > 0) & (needs <= quarter))


CHECKS = (
    assert_troops_balance,
    assert_land_counts,
    assert_states_are_sound,
    assert_sets_follow_pools,
    assert_fronts_are_right,
)


def assert_all(game):
    for k in range(game.num_games):
        for check in CHECKS:
            check(game, k)


@pytest.mark.parametrize("config", SMALL.values(), ids=SMALL.keys())
def test_every_promise_is_kept_after_every_step_of_a_small_game_of_bots(config):
    game = VecGame(config, 2, seed=5, seats=seats_for(config))
    game.reset()
    assert_all(game)
    for _ in range(150):
        game.step()
        assert_all(game)


@pytest.mark.parametrize("config", SMALL.values(), ids=SMALL.keys())
def test_every_promise_is_kept_after_every_step_of_a_small_game_of_clueless_agents(config):
    game = VecGame(config, 2, seed=6)
    game.reset()
    rng = np.random.default_rng(0)
    for _ in range(150):
        game.step(random_actions(game, rng))
        assert_all(game)


def test_every_promise_is_kept_at_full_size():
    lineup = LINEUPS["mixed-1"]
    game = VecGame(
        GameConfig(), 8, seed=1, seats=lineup.seats, autoreset="disabled", observe=False, num_threads=2
    )
    game.reset(seeds=lineup.seeds[:8])
    taken = None
    for step in range(1000):
        game.step()
        if step % 20 == 0 or game.state.over.all():
            assert_all(game)
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
