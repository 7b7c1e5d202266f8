"""The form "pairs": the engine against the reference implementation, and what must hold of it."""

import copy
import pickle
import random

import numpy as np
import pytest

from territorial import GameConfig, VecGame
from territorial.engine.pair_observations import PairObservations
from territorial.observation.pair_columns import OWN, PAIR_TABLES, PAIRS, TEAM_PAIRS, UNIT, column
from territorial.observation.pairs import log_of, part, parts_of, ratio
from tests.engine.pair_states import random_owner, states
from tests.engine.support import game_on, interpreted, rows_of
from tests.twin import pairs as slow

CONFIG = GameConfig(height=40, width=40, num_players=6, max_ticks=900)
BOTS = ["metronome", "banker", "turtle", "novice", "random", "settler"]


def all_seats(game, k=0, num_candidates=8, dtype="int16", **options):
    """Return what every seat of a game sees, in whole numbers."""
    seats = np.arange(1, game.config.num_players + 1)
    return game.pairs(np.full(len(seats), k), seats, num_candidates, dtype, **options)


def played(steps=40, num_games=2, seed=3):
    game = VecGame(CONFIG, num_games, seed, seats=BOTS, observe=False)
    game.reset()
    for _ in range(steps):
        game.step()
    return game


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
            legal_gifts += (seen.pairs[:, num_candidates:, column(PAIRS, "legal")] > 0).sum()
            used += (seen.own != 0).any(axis=0)
        seed += 1
    assert living > compared
    assert candidates > compared
    assert used.all(), "each column of own was something else than 0"
    assert len(sizes) > 3
    assert (0 < legal_gifts < allies) if teams else allies == 0


def test_the_columns_are_those_of_the_reference_implementation():
    assert tuple(one.name for one in OWN) == slow.OWN_COLUMNS
    assert tuple(one.name for one in PAIRS) == slow.PAIR_COLUMNS
    assert tuple(one.name for one in TEAM_PAIRS) == slow.TEAM_PAIR_COLUMNS


# ---- arithmetic --------------------------------------------------------------------------------------


def test_quotients_are_exact_where_float64_rounds_up_to_a_whole_number():
    rng = random.Random(1)
    for _ in range(4000):
        under = rng.choice((2 ** rng.randint(1, 48), rng.randint(1, 2**48), rng.randint(1, 5000)))
        times = rng.randint(1, 4 * UNIT)
        over = min(2**48, max(0, (times * under - 1) // UNIT + rng.randint(-1, 1)))
        assert parts_of(over, under) == min(4 * UNIT, UNIT * over // under), (over, under)
        assert ratio(over, under) == slow.ratio(over, under)
        assert part(over, under) == slow.part(over, under)


def test_some_of_these_quotients_are_rounded_up_by_float64():
    under = 2**48 - 1
    over = (16383 * under) // UNIT
    assert int(UNIT * over / under) == 16383
    assert UNIT * over // under == 16382
    assert parts_of(over, under) == 16382


@pytest.mark.parametrize("amount", [0, 1, 2, 3, 255, 2**20, 2**40 + 1, 2**48 - 1, 2**48, 2**50])
def test_logarithms_are_those_of_the_page(amount):
    assert log_of(amount) == slow.log(amount)


# ---- properties ------------------------------------------------------------------------------------


def test_every_number_is_within_the_bounds_of_its_column():
    for seed in range(5):
        for game, _ in states(seed):
            seen = all_seats(game)
            for table, numbers in zip(PAIR_TABLES.values(), seen, strict=False):
                flat = numbers.reshape(-1, len(table))
                assert (flat >= [one.low for one in table]).all()
                assert (flat <= [one.high for one in table]).all()


def two_positions(seed, turn, names):
    """Return a random position, and the same turned, seat p being called ``names[p]``."""
    rng = random.Random(seed)
    config = GameConfig(height=24, width=30, num_players=7, map="open")
    game = VecGame(config, 1, observe=False)
    game.reset()
    owner = random_owner(rng, game, list(range(1, 8)))
    troops = [rng.randint(0, 5000) for _ in range(8)]
    pools = {
        (p, t): rng.randint(0, 900) for p in range(1, 8) for t in range(8) if p != t and rng.random() < 0.4
    }
    taken = np.random.default_rng(seed).integers(0, 50, (8, 8))
    other = VecGame(config.replace(height=turn(owner).shape[0], width=turn(owner).shape[1]), 1, observe=False)
    other.reset()
    named = [0] * 8
    for p in range(1, 8):
        named[names[p]] = troops[p]
    game.set_position(0, owner, tick=40, troops=troops[1:], pools=pools)
    renamed = {(names[p], names[t]): amount for (p, t), amount in pools.items()}
    other.set_position(0, np.array(names, np.uint8)[turn(owner)], tick=40, troops=named[1:], pools=renamed)
    game.state.taken[0] = taken
    other.state.taken[0][np.ix_(names, names)] = taken
    return game, other


@pytest.mark.parametrize(
    "turn",
    [np.rot90, np.transpose, np.flipud, lambda owner: np.rot90(owner, 2)],
    ids=["turned", "transposed", "mirrored", "half a turn"],
)
def test_a_turned_map_shows_the_same(turn):
    game, turned = two_positions(5, turn, list(range(8)))
    for name, numbers in all_seats(game)._asdict().items():
        assert np.array_equal(numbers, getattr(all_seats(turned), name)), name


@pytest.mark.parametrize("by", [1, 3])
def test_seats_moved_round_the_table_see_the_same(by):
    names = [0, *((p + by - 1) % 7 + 1 for p in range(1, 8))]
    for seed in range(8):
        game, moved = two_positions(seed, np.array, names)
        for name, numbers in all_seats(game)._asdict().items():
            assert np.array_equal(numbers, getattr(all_seats(moved), name)[np.array(names[1:]) - 1]), name


def test_renamed_seats_see_the_same_of_the_same_players():
    names = [0, 4, 2, 7, 1, 6, 3, 5]
    place = np.array(names[1:]) - 1
    for seed in range(8):
        game, renamed = two_positions(seed, np.array, names)
        seen, other = all_seats(game), all_seats(renamed)
        assert np.array_equal(seen.own, other.own[place])
        for p in range(7):  # equals may come in another order
            rows = sorted(seen.pairs[p].tolist()), sorted(other.pairs[place[p]].tolist())
            assert rows[0] == rows[1]


# ---- what is asked for -----------------------------------------------------------------------------


def test_any_seats_of_any_games_are_shown_in_the_order_asked_for():
    game = played(num_games=3)
    games, seats = np.array([2, 0, 2, 1, 0]), np.array([6, 1, 1, 3, 1])
    seen = game.pairs(games, seats, dtype="int16")
    for i, (k, p) in enumerate(zip(games, seats, strict=True)):
        everything = all_seats(game, k)
        for found, wanted in zip(seen, everything, strict=True):
            assert np.array_equal(found[i], wanted[p - 1])
    none = game.pairs([], [])
    assert [array.shape for array in none] == [(0, 35), (0, 8, 26), (0, 8)]


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


def test_fewer_candidates_are_the_first_of_more():
    game = played()
    many = all_seats(game, num_candidates=12)
    assert (many.targets > 0).sum(axis=1).max() > 2
    for count in (1, 2, 5):
        few = all_seats(game, num_candidates=count)
        assert np.array_equal(few.pairs, many.pairs[:, :count])
        assert np.array_equal(few.targets, many.targets[:, :count])
        assert np.array_equal(few.own, many.own)


def test_observing_changes_nothing():
    game, other = played(), played()
    all_seats(game)
    for one, same in zip(game.blocks, other.blocks, strict=True):
        assert np.array_equal(one, same)


def test_legal_is_what_the_mask_says():
    game = VecGame(CONFIG, 1, 3, seats=BOTS)
    game.reset()
    for _ in range(60):
        seen, legal = all_seats(game, num_candidates=7), game.fronts(0)[2]
        for p in range(1, 7):
            shown = {
                (target - 1 if target < 2 else (p - 1 + target - 2) % 6 + 1): row[column(PAIRS, "legal")] > 0
                for target, row in zip(seen.targets[p - 1].tolist(), seen.pairs[p - 1], strict=True)
                if target > 0
            }
            assert {t for t, is_legal in shown.items() if is_legal} == set(np.flatnonzero(legal[p]))
        game.step()


def test_candidates_are_neutral_land_and_then_neighbours_by_front_troops_and_land():
    drawing = rows_of("22221111.", "333311115", "33331111.", "444411115", "66661111.")
    troops = [900, 50, 70, 50, 50, 60]
    game = game_on(drawing, troops=troops, num_players=6)
    assert all_seats(game).targets[0].tolist()[:7] == [1, 4, 6, 7, 3, 5, 0]


def test_of_equal_fronts_and_troops_more_land_comes_first_and_then_the_next_seat_in_the_circle():
    drawing = rows_of("22.44444.66", "22.44444.66", "33.55555.11")
    same = [100] * 6
    game = game_on(drawing, troops=same, num_players=6)
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
    ("arguments", "message"),
    [
        (([0], [0]), "seats[0] is 0; it must be from 1 to 6"),
        (([0, 2], [1, 1]), "games[1] is 2; it must be from 0 to 1"),
        (([0, 1], [1]), "games has 2 entries and seats 1"),
        (([0], [1], 0), "num_candidates is 0; it must be a whole number from 1 to 250"),
        (([0], [1], 8, "int8"), "dtype is 'int8'; it must be 'float32' or 'int16'"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(arguments, message):
    with pytest.raises(ValueError) as error:
        played(steps=0).pairs(*arguments)
    assert message in str(error.value)


def test_seats_that_are_no_whole_numbers_are_refused():
    with pytest.raises(TypeError, match=r"seats is float64 of shape \(1,\); it must be whole numbers"):
        played(steps=0).pairs([0], [1.0])
    with pytest.raises(RuntimeError, match="call reset"):
        VecGame(CONFIG, 1).pairs([0], [1])


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda game: pickle.loads(pickle.dumps(game))])
def test_a_copy_shows_its_own_games(copied):
    game = played()
    before = all_seats(game)
    other = copied(game)
    for _ in range(30):
        other.step()
    assert np.array_equal(all_seats(game).pairs, before.pairs)
    assert not np.array_equal(all_seats(other).pairs, before.pairs)


def test_the_kernels_run_in_plain_python():
    script = (
        "from tests.engine.test_pairs import all_seats, played\n"
        "print([array.tolist() for array in all_seats(played(steps=3, num_games=1))])"
    )
    compiled = all_seats(played(steps=3, num_games=1))
    assert interpreted(script).strip() == str([array.tolist() for array in compiled])


def test_observations_have_names():
    assert PairObservations._fields == ("own", "pairs", "targets")
