"""The form "pairs": the engine against the reference implementation, and what must hold of it."""

import random
from collections.abc import Iterator

import numpy as np
import pytest

from territorial import GameConfig, VecGame
from territorial.bots import NAMES
from territorial.config.map_names import KINDS
from territorial.config.teams import DEALS
from territorial.constants import BLOCKED
from territorial.maps import capacity, make_maps
from territorial.observation.pair_columns import OF_PAIR, OWN, PAIRS, TEAM_PAIRS, UNIT
from territorial.observation.pairs import log_of, part, parts_of, ratio
from tests.engine.support import game_on, rows_of
from tests.episodes import advance, after_steps, begun
from tests.twin import ReferenceGame
from tests.twin import pairs as slow
from tests.twin.differential import random_rules

# Most troops that a position may have at home.
MOST = 2**36


def states(seed: int, *, teams: bool = False) -> Iterator[tuple[VecGame, ReferenceGame]]:
    """Yield a game of the engine and a reference game, put together into one random state after another."""
    rng = random.Random(f"pairs {seed}")
    config = random_config(rng)
    if teams:
        config = config.replace(teams=rng.randint(2, config.num_players), team_deal=rng.choice(DEALS))
    names = [rng.choice(NAMES) for _ in range(config.num_players)]
    game = begun(VecGame(config, 1, seed, seats=names, autoreset="disabled", observe=False))
    reference = ReferenceGame(config, game.land(0), 0)
    for _ in range(5):
        copy_state(game, reference)
        yield game, reference
        if rng.random() < 0.5:
            take_position(rng, game)
        advance(game, rng.choice((0, 1, 1, 5, 20)) if config.num_players < 60 else 1)


def random_config(rng: random.Random) -> GameConfig:
    """Return a random size, map, number of seats (2 to 250), and the default rules or random ones."""
    side, num_players = rng.randint(16, 32), rng.choice((2, rng.randint(3, 12)))
    crowd = rng.random()
    if crowd < 0.02:
        side, num_players = rng.randint(44, 50), rng.randint(60, 130)
    elif crowd < 0.025:
        side, num_players = 72, 250
    rules = random_rules(random.Random(str(rng.getrandbits(64)))) if rng.random() < 0.6 else {}
    config = GameConfig(
        height=side,
        width=side + rng.randint(0, 8),
        num_players=2,
        map=rng.choice(sorted(KINDS)),
        map_seed=rng.getrandbits(64),
        num_maps=1,
        max_ticks=rng.choice((1, 60, 300, 10_000)),
        decision_every=rng.choice((1, 10, 50)),
        **rules,
    )
    (land,) = make_maps(config)
    return config.replace(num_players=max(2, min(num_players, capacity(land, num_players))))


def take_position(rng: random.Random, game: VecGame) -> None:
    """Put the game into a position with ragged borders, eliminated seats, and numbers of all sizes."""
    config, seats = game.config, range(1, game.config.num_players + 1)
    team = game.state.team[0]
    living = [p for p in seats if rng.random() < 0.8]
    owner = random_owner(rng, game, rng.choice((living, living[:2], living[:1])))
    last = config.max_ticks // config.decision_every
    game.set_position(
        0,
        owner,
        tick=rng.randint(0, rng.choice((min(1, last), last))) * config.decision_every,
        troops=[amount(rng) if p in living else 0 for p in seats],
        pools={
            (p, t): amount(rng)
            for p in living
            for t in [0, *living]
            if team[p] != team[t] and rng.random() < 0.4
        },
        peak=[rng.choice((0, 1, rng.randint(0, 2000), 2**20)) for _ in seats],
        next_step=[rng.randint(0, last * config.decision_every + 9) for _ in seats],
    )
    state, largest = game.state, rng.choice((3, 400, 2**20))
    state.alive[0, 1:] = [p in living for p in seats]
    state.taken[0, 1:] = np.random.default_rng(rng.getrandbits(32)).integers(
        0, largest, state.taken[0, 1:].shape
    )
    if rng.random() < 0.2:  # more than counts
        state.pools[0][state.pools[0] > 2**30] = 2 ** rng.randint(36, 53)
        state.troops[0][state.troops[0] > 2**30] = 2 ** rng.randint(36, 45)


def amount(rng: random.Random) -> int:
    """Return troops: few, many, or none."""
    return rng.choice(
        (0, rng.randint(0, 30), rng.randint(0, 5000), 2 ** rng.randint(0, 36) - rng.randint(0, 1))
    )


def random_owner(rng: random.Random, game: VecGame, living: list[int]) -> np.ndarray:
    """Return owner codes of patches of land, ragged, with neutral gaps or none; some may own nothing."""
    config, numbers = game.config, np.random.default_rng(rng.getrandbits(32))
    side = rng.choice((1, 3, 6, 12))
    codes = np.array(living if living and rng.random() < 0.3 else [0, *living])
    coarse = numbers.choice(codes, (-(-config.height // side), -(-config.width // side)))
    owner = np.kron(coarse, np.ones((side, side), np.int64))[: config.height, : config.width]
    noise = numbers.random(owner.shape) < rng.choice((0.0, 0.1))
    owner = np.where(noise, numbers.choice(codes, owner.shape), owner)
    blocked = game.state.owner[0, 1:-1, 1:-1] == BLOCKED
    return np.where(blocked, BLOCKED, owner).astype(np.uint8)


def copy_state(game: VecGame, reference: ReferenceGame) -> None:
    """Put the reference game into the state of the engine's, as far as observations go."""
    state = game.state
    reference.tick, reference.num_land = int(state.tick[0]), int(state.num_land[0])
    reference.owner = state.owner[0, 1:-1, 1:-1].tolist()
    reference.alive = [bool(alive) for alive in state.alive[0]]
    for name in ("team", "troops", "land", "peak", "next_step", "pools", "taken"):
        setattr(reference, name, getattr(state, name)[0].tolist())


CONFIG = GameConfig(height=40, width=40, num_players=6, max_ticks=900)
BOTS = ["metronome", "banker", "turtle", "novice", "random", "settler"]


def all_seats(game, k=0, num_candidates=8, dtype="int16", **options):
    """Return what every seat of a game sees, in whole numbers."""
    seats = np.arange(1, game.config.num_players + 1)
    return game.pairs(np.full(len(seats), k), seats, num_candidates, dtype, **options)


def played(steps=40, num_games=2, seed=3):
    return after_steps(VecGame(CONFIG, num_games, seed, seats=BOTS, observe=False), steps)


# ---- the reference implementation ------------------------------------------------------------------


@pytest.mark.parametrize("count", [pytest.param(100_000, marks=pytest.mark.verify), 75], ids=["many", "some"])
@pytest.mark.parametrize("teams", [False, True], ids=["no teams", "teams"])
def test_engine_and_reference_implementation_agree_in_every_number(count, teams):
    compared = living = candidates = allies = legal_gifts = seed = 0
    used, sizes = np.zeros(35, int), set()
    while compared < count:
        for game, reference in states(seed, teams=teams):
            num_candidates = random.Random(compared).choice((8, 8, 3, 1, 12))
            num_allies = random.Random(compared).choice((None, 0, 1, 9)) if teams else None
            seen = all_seats(game, num_candidates=num_candidates, num_allies=num_allies)
            expected = slow.observe_all(reference, num_candidates, num_allies)
            for name in ("own", "pairs", "targets"):
                found, wanted = getattr(seen, name), np.array([getattr(one, name) for one in expected])
                where = np.argwhere(found != wanted)
                assert not len(where), (
                    f"{name} of seat {where[0][0] + 1}, {where[0][1:]}, in state {compared} of seed {seed}: "
                    f"{found[tuple(where[0])]}, the reference implementation has {wanted[tuple(where[0])]}"
                )
            compared += 1
            sizes.add(game.config.num_players)
            living += int(game.state.alive.sum())
            candidates += np.count_nonzero(seen.targets[:, :num_candidates])
            allies += np.count_nonzero(seen.targets[:, num_candidates:])
            legal_gifts += (seen.pairs[:, num_candidates:, OF_PAIR.legal] > 0).sum()
            used += (seen.own != 0).any(axis=0)
        seed += 1
    assert living > compared
    assert candidates > compared
    assert used.all(), "each column of own was something else than 0"
    assert len(sizes) > 3
    assert (0 < legal_gifts < allies) if teams else allies == 0


def test_the_columns_are_those_of_the_reference_implementation():
    names = [tuple(one.name for one in columns) for columns in (OWN, PAIRS, TEAM_PAIRS)]
    assert names == [slow.OWN_COLUMNS, slow.PAIR_COLUMNS, slow.TEAM_PAIR_COLUMNS]


# ---- arithmetic --------------------------------------------------------------------------------------


def test_quotients_are_exact_where_float64_rounds_up_to_a_whole_number():
    rng = random.Random(1)
    for _ in range(4000):
        under = rng.choice((2 ** rng.randint(1, 48), rng.randint(1, 2**48), rng.randint(1, 5000)))
        times = rng.randint(1, 4 * UNIT)
        over = min(2**48, max(0, (times * under - 1) // UNIT + rng.randint(-1, 1)))
        assert parts_of(over, under) == min(4 * UNIT, UNIT * over // under), (over, under)
        assert (ratio(over, under), part(over, under)) == (slow.ratio(over, under), slow.part(over, under))


@pytest.mark.parametrize("amount", [0, 1, 2, 3, 255, 2**20, 2**40 + 1, 2**48 - 1, 2**48, 2**50])
def test_logarithms_are_those_of_the_page(amount):
    assert log_of(amount) == slow.log(amount)


# ---- properties ------------------------------------------------------------------------------------


def test_every_number_is_within_the_bounds_of_its_column_and_all_legal_launches_are_there():
    for seed in range(5):
        for game, _ in states(seed):
            seen = all_seats(game, num_candidates=game.config.num_players)
            legal = game.fronts(0)[2][1:].sum(axis=1)
            assert np.array_equal((seen.pairs[..., OF_PAIR.legal] > 0).sum(axis=1), legal)
            for table, numbers in zip((OWN, PAIRS), seen, strict=False):
                flat = numbers.reshape(-1, len(table))
                assert (flat >= [one.low for one in table]).all()
                assert (flat <= [one.high for one in table]).all()


@pytest.mark.parametrize("by", range(1, 6))
def test_renaming_the_seats_in_a_circle_changes_nothing_that_they_see(by):
    game, renamed = played(30), played(0)
    assert game.state.pools.any(axis=(1, 2)).all()
    original = np.array([0, *np.roll(np.arange(1, 7), by)])
    code_of = np.arange(256)
    code_of[original] = range(7)
    for k in range(game.num_games):
        renamed.set_position(k, code_of[game.state.owner[k, 1:-1, 1:-1]], tick=int(game.state.tick[k]))
        for name in ("alive", "troops", "peak", "next_step", "pools", "taken"):
            field = getattr(game.state, name)[k]
            getattr(renamed.state, name)[k] = field[np.ix_(*[original] * field.ndim)]
        renamed.play(k, [], int(game.state.tick[k]))  # derives anew what follows from them
        seen = game.pairs([k] * 6, original[1:], dtype="int16")
        for wanted, found in zip(seen, all_seats(renamed, k), strict=True):
            assert np.array_equal(wanted, found)


# ---- what is asked for -----------------------------------------------------------------------------


def test_any_seats_of_any_games_are_shown_in_the_order_asked_for():
    game = played(num_games=3)
    games, seats = np.array([2, 0, 2, 1, 0]), np.array([6, 1, 1, 3, 1])
    seen = game.pairs(games, seats, dtype="int16")
    for i, (k, p) in enumerate(zip(games, seats, strict=True)):
        for found, wanted in zip(seen, all_seats(game, k), strict=True):
            assert np.array_equal(found[i], wanted[p - 1])
    assert [array.shape for array in game.pairs([], [])] == [(0, 35), (0, 8, 26), (0, 8)]


def test_floats_are_the_whole_numbers_over_4096():
    game = played()
    whole, floats = all_seats(game), all_seats(game, dtype="float32")
    assert (whole.own.dtype, whole.targets.dtype) == (np.int16, np.int32)
    for name in ("own", "pairs"):
        numbers = getattr(floats, name)
        assert numbers.dtype == np.float32
        assert np.array_equal(numbers * UNIT, getattr(whole, name))
        assert np.array_equal(numbers, getattr(whole, name) / 4096)  # float64: nothing was rounded
    assert np.array_equal(whole.targets, floats.targets)


def test_of_equal_fronts_and_troops_more_land_comes_first_and_then_the_next_seat_in_the_circle():
    game = game_on(rows_of("22.44444.66", "22.44444.66", "33.55555.11"), troops=[100] * 6, num_players=6)
    state = game.state
    for q in (1, 2, 3, 5, 6):  # beside 4, as if all fronts with it were equal
        state.fronts[0, 4, q] = state.fronts[0, q, 4] = 3
    state.bordering[0, 4, 0] = 0b1101110
    state.land[0, 1:] = [6, 4, 9, 10, 4, 4]
    assert all_seats(game).targets[3].tolist() == targets_of(4, [0, 3, 1, 5, 6, 2])


def targets_of(p, owners, num_players=6):
    """Return the targets of player ``p`` for these owner codes, and 0 for the candidates that are missing."""
    targets = [1 if owner == 0 else (owner - p) % num_players + 2 for owner in owners]
    return targets + [0] * (8 - len(targets))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([0], [0]), ValueError, r"seats\[0\] is 0; it must be from 1 to 6"),
        (([0, 2], [1, 1]), ValueError, r"games\[1\] is 2; it must be from 0 to 1"),
        (([0, 1], [1]), ValueError, "games has 2 entries and seats has 1"),
        (([0], [1], 0), ValueError, "num_candidates is 0; it must be a whole number from 1 to 250"),
        (([0], [1], 8, "int8"), ValueError, "dtype is 'int8'; it must be 'float32' or 'int16'"),
        (([0], [1.0]), TypeError, "seats has dtype float64; it must hold whole numbers"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        played(steps=0).pairs(*arguments)
