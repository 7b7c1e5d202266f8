"""Games that must be equal although they are played differently: turned, renamed, batched, saved ...

Here the engine is compared with itself, so these tests see what it and the twin might both get wrong.
"""

import copy
import pickle
import subprocess
import sys
from collections import Counter

import numba
import numpy as np
import pytest

from territorial import GameConfig, LandMask, VecGame
from territorial.config import Params
from territorial.engine import step as stepping
from territorial.game.scratch import named_arrays
from territorial.jit.decorators import JIT_ENABLED
from tests.engine.support import (
    ROOT,
    board,
    digests,
    game_on,
    interpreted,
    parse,
    random_actions,
    rows_of,
    same_observations,
    state_equal,
)

BOTS = ("metronome", "banker", "turtle", "novice", "random")
CONFIG = GameConfig(height=26, width=70, num_players=6, map="lakes", max_ticks=500)
SEATS = ("agent", *BOTS)


def bot_game(config=CONFIG, num_games=3, seed=11, seats=SEATS, **options):
    game = VecGame(config, num_games, seed=seed, seats=seats, **options)
    game.reset()
    return game


def step_both(a, b, steps, seed=0):
    """Play two batches with the same actions, drawn from the first; they must stay equal."""
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        actions = random_actions(a, rng)
        results_a, results_b = a.step(actions)[1:4], b.step(actions)[1:4]
        for left, right in zip(results_a, results_b, strict=True):
            assert np.array_equal(left, right)
        assert digests(a) == digests(b)
    for k in range(a.num_games):
        assert state_equal(a, b, k)


# ---- turning and mirroring ------------------------------------------------------------------------

TURNS = {
    "a quarter turn": lambda owner: np.rot90(owner, 1),
    "half a turn": lambda owner: np.rot90(owner, 2),
    "three quarters of a turn": lambda owner: np.rot90(owner, 3),
    "mirrored left to right": lambda owner: owner[:, ::-1],
    "mirrored top to bottom": lambda owner: owner[::-1],
    "mirrored at the diagonal": lambda owner: owner.T,
    "mirrored at the other diagonal": lambda owner: np.rot90(owner, 2).T,
}
SEAT_FIELDS = (
    "alive",
    "troops",
    "land",
    "peak",
    "next_step",
    "death_tick",
    "place2",
    "illegal",
    "raised",
    "bounced",
    "pools",
    "taken",
    "ledger",
)


def turned_pair(turn, seats, seed):
    """Return a game at its start and the same one turned, with all spawns."""
    game = bot_game(num_games=1, seats=seats, autoreset="disabled")
    game.reset(seeds=[seed])
    start = board(game)
    height, width = turn(start).shape
    config = CONFIG.replace(height=height, width=width, map="open")
    turned = VecGame(config, 1, seats=seats, autoreset="disabled")
    turned.reset(seeds=[seed])
    for one, owner in ((game, start), (turned, turn(start))):
        one.set_position(0, owner)
    return game, turned


def assert_turned(game, turned, turn):
    assert np.array_equal(board(turned), turn(board(game)))
    for name in SEAT_FIELDS:
        assert np.array_equal(fields(game, name), fields(turned, name)), name


def fields(game, name):
    return game.blocks.ledger if name == "ledger" else getattr(game.state, name)


@pytest.mark.parametrize("name", TURNS)
def test_turning_map_and_spawns_turns_a_game_of_launches(name):
    turn, rng = TURNS[name], np.random.default_rng(5)
    game, turned = turned_pair(turn, None, seed=21)
    while game.state.tick[0] < 300 and not game.state.over[0]:
        launches = []
        if game.state.tick[0] % CONFIG.decision_every == 0:
            legal = game.fronts(0)[2]
            assert np.array_equal(legal, turned.fronts(0)[2])
            for p in np.flatnonzero(rng.random(7) < 0.4):
                if legal[p].any():
                    target = int(rng.choice(np.flatnonzero(legal[p])))
                    launches.append((int(p), target, int(rng.integers(1, 1025))))
        game.tick(0, launches)
        turned.tick(0, launches)
        assert_turned(game, turned, turn)
    assert game.state.taken[0, 1:, 1:].any(), "there was some fighting"


@pytest.mark.parametrize("name", TURNS)
def test_turning_map_and_spawns_turns_a_game_of_bots(name):
    turn = TURNS[name]
    seats = ("random", *BOTS)
    game, turned = turned_pair(turn, seats, seed=22)
    for _ in range(50):
        game.step()
        turned.step()
        assert_turned(game, turned, turn)
    assert game.state.taken[0, 1:, 1:].any(), "there was some fighting"


# ---- renaming seats -------------------------------------------------------------------------------

RELABEL = """
import random
import numpy as np
from territorial import GameConfig, VecGame
from territorial.game import rules

original_draw = rules.draw
config = GameConfig(height=16, width=18, num_players=4, map="open", decision_every=3, starting_troops=900)
rng = random.Random(3)
names = [0] + rng.sample(range(1, 5), 4)  # seat p of the second game plays for seat names[p] of the first
seat_of = {old: new for new, old in enumerate(names)}

first = VecGame(config, 1, seed=9, autoreset="disabled", observe=False)
second = VecGame(config, 1, seed=9, autoreset="disabled", observe=False)
for game in (first, second):
    game.reset()
rename = np.arange(256)
for old, new in seat_of.items():
    rename[old] = new
owner = first.state.owner[0, 1:-1, 1:-1].copy()
first.set_position(0, owner)
second.set_position(0, rename[owner])

multi = 0
for tick in range(200):
    launches = []
    if tick % 3 == 0:
        legal = first.fronts(0)[2]
        for p in range(1, 5):
            targets = np.flatnonzero(legal[p]).tolist()
            if targets and rng.random() < 0.4:
                launches.append((p, rng.choice(targets), rng.randint(1, 700)))
    due = (first.state.next_step[0] <= tick) & first.state.pools[0].any(axis=1)
    multi += due.sum() > 1
    rules.draw = original_draw
    first.tick(0, launches)
    rules.draw = lambda seed, stream, tick, p: original_draw(seed, stream, tick, names[p] if RENAME else p)
    second.tick(0, [(seat_of[p], seat_of[t], f) for p, t, f in launches])
    same = np.array_equal(second.state.owner[0, 1:-1, 1:-1], rename[first.state.owner[0, 1:-1, 1:-1]])
    for name in ("alive", "troops", "land", "peak", "next_step", "death_tick", "place2", "illegal", "raised"):
        same &= np.array_equal(getattr(second.state, name)[0], getattr(first.state, name)[0][names])
    for name in ("pools", "taken"):
        same &= np.array_equal(getattr(second.state, name)[0], getattr(first.state, name)[0][names][:, names])
    same &= np.array_equal(second.blocks.ledger[0], first.blocks.ledger[0][:, names])
    if not same or first.state.over[0]:
        break
print("equal" if same else "different", multi)
"""


def test_renaming_the_seats_and_the_order_of_play_renames_the_game():
    outcome, ticks_with_an_order = interpreted("RENAME = True\n" + RELABEL).split()
    assert outcome == "equal"
    assert int(ticks_with_an_order) > 5


def test_renaming_the_seats_but_not_the_order_of_play_is_another_game():
    """Otherwise the test above would not look at the order at all."""
    assert interpreted("RENAME = False\n" + RELABEL).split()[0] == "different"


# ---- threads and batches --------------------------------------------------------------------------


@pytest.mark.parametrize("num_threads", [2, 3])
def test_the_number_of_threads_changes_nothing(num_threads):
    one, many = bot_game(num_games=7), bot_game(num_games=7, num_threads=num_threads)
    step_both(one, many, 70)
    assert one.state.episode.sum() > 0, "games ended and were replaced"
    assert same_observations(one.observations, many.observations)
    many.close()


def test_a_game_of_a_batch_plays_as_it_would_alone():
    batch = bot_game(num_games=5, autoreset="disabled")
    alone = [bot_game(num_games=1, autoreset="disabled") for _ in range(5)]
    for k, game in enumerate(alone):
        game.reset(seeds=[int(batch.state.seed[k])])
    rng = np.random.default_rng(1)
    for _ in range(60):
        actions = random_actions(batch, rng)
        _, rewards, terminated, _, info = batch.step(actions)
        for k, game in enumerate(alone):
            _, own_rewards, own_terminated, _, own_info = game.step(actions[k : k + 1])
            assert batch.digest(k) == game.digest(0)
            assert np.array_equal(rewards[k], own_rewards[0])
            assert np.array_equal(terminated[k], own_terminated[0])
            assert info["ended"][k] == own_info["ended"][0]
            assert same_observations(batch.observations, game.observations, k, 0)
    assert batch.state.over.any()


def test_a_batch_of_another_size_plays_the_same_first_games():
    small, large = bot_game(num_games=2), bot_game(num_games=6)
    for _ in range(80):
        small.step()
        large.step()
        assert digests(small) == digests(large)[:2]
    assert small.state.episode.sum() > 0


def test_observing_or_not_changes_nothing():
    step_both(bot_game(), bot_game(observe=False), 70)


# ---- saving ---------------------------------------------------------------------------------------


def test_a_restored_game_goes_on_as_it_would_have_over_the_next_reset_too():
    game = bot_game()
    for _ in range(20):
        game.step()
    saved = [game.save(k) for k in range(3)]
    first = continued(game, 60)
    for k in range(3):
        game.restore(k, saved[k])
    assert continued(game, 60) == first
    assert game.state.episode.sum() > 0


def continued(game, steps):
    history = []
    for _ in range(steps):
        _, rewards, terminated, _, info = game.step()
        final = [info["final_place"][k].tolist() for k in range(3) if info["was_reset"][k]]
        history.append((digests(game), rewards.tolist(), terminated.tolist(), final))
    return history


def test_a_game_goes_on_in_another_slot_of_another_batch():
    game, other = bot_game(autoreset="disabled"), bot_game(num_games=2, seed=99, autoreset="disabled")
    for _ in range(15):
        game.step()
    for _ in range(3):
        other.step()
    bystander = other.clone()
    other.restore(1, pickle.loads(pickle.dumps(game.save(2))))
    assert other.seats_of(1) == game.seats_of(2)
    assert np.array_equal(other.observations.borders[1], game.observations.borders[2])
    for _ in range(40):
        game.step()
        other.step()
        bystander.step()
        assert other.digest(1) == game.digest(2)
        assert other.digest(0) == bystander.digest(0), "the other slots play on undisturbed"


def test_a_snapshot_does_not_change_when_its_game_goes_on():
    game = bot_game()
    saved, before = game.save(0), game.digest(0)
    game.step()
    game.restore(0, saved)
    assert game.digest(0) == before


COPIES = {
    "clone": lambda game: game.clone(),
    "deepcopy": copy.deepcopy,
    "pickle": lambda game: pickle.loads(pickle.dumps(game)),
}


@pytest.mark.parametrize("name", COPIES)
@pytest.mark.parametrize("num_threads", [1, 2])
def test_a_copy_of_a_batch_goes_on_identically_and_independently(name, num_threads):
    game = bot_game(num_threads=num_threads)
    for _ in range(30):
        game.step()
    duplicate, before = COPIES[name](game), digests(game)
    for _ in range(5):
        duplicate.step()
    assert digests(game) == before
    for _ in range(5):
        game.step()
    assert digests(game) == digests(duplicate)
    step_both(game, duplicate, 40)
    assert np.array_equal(duplicate.state.troops, game.state.troops)


def test_a_copy_looks_at_its_own_state():
    game = bot_game()
    duplicate = game.clone()
    duplicate.state.troops[0, 1] += 1
    assert duplicate.state.troops[0, 1] == game.state.troops[0, 1] + 1


# ---- how the code is run --------------------------------------------------------------------------

PLAY = """
from territorial import GameConfig, VecGame
config = GameConfig(height=20, width=66, num_players=6, map="lakes", starting_troops=700)
seats = ("agent", "metronome", "banker", "turtle", "novice", "random")
game = VecGame(config, 1, seed=4, seats=seats)
game.reset()
for step in range(60):
    tables = game.step([[(1, 4)] + [(0, 0)] * 5])[0]
    print(game.digest(0).hex(), *(float(table.astype("f8").sum()) for table in tables))
"""


def test_interpreted_and_compiled_kernels_play_the_same_game(capsys):
    exec(PLAY, {})
    compiled = [line.split() for line in capsys.readouterr().out.splitlines()]
    plain = [line.split() for line in interpreted(PLAY).splitlines()]
    assert [digest for digest, *_ in plain] == [digest for digest, *_ in compiled]
    sums = [np.array([numbers for _, *numbers in lines], float) for lines in (plain, compiled)]
    np.testing.assert_allclose(*sums, rtol=1e-5)  # floats may be added in another order
    assert len({digest for digest, *_ in compiled}) == 60


KEPT_AT_ZERO = (
    "own",
    "front.words",
    "zone",
    "log_entries",
    "log_length",
    "log_bits",
    "log_takers",
    "log_changes",
    "log_counts",
)
TABLES = ("all_blocks", "dealt_teams", "interest_rate", "longest", "reward_kinds", "reward_weights")


def poison(game, rng):
    """Fill all scratch memory with rubbish, but for tables and for what every kernel leaves at zero."""
    for work in game._workers.works:
        for name, array in named_arrays(work):
            if name in KEPT_AT_ZERO:
                assert not array.any()
            elif name not in TABLES:
                array.view(np.uint8)[...] = rng.integers(0, 256, array.view(np.uint8).shape, np.uint8)


def test_nothing_depends_on_what_scratch_memory_held():
    rng = np.random.default_rng(7)
    clean, poisoned = bot_game(num_games=2), bot_game(num_games=2)
    poison(poisoned, rng)
    poisoned.reset(seed=11)
    for _ in range(70):
        actions = random_actions(clean, rng)
        clean.step(actions)
        poison(poisoned, rng)
        poisoned.step(actions)
        assert digests(clean) == digests(poisoned)
        assert same_observations(clean.observations, poisoned.observations)
        assert all(map(np.array_equal, clean.results, poisoned.results))
        poison(poisoned, rng)
        for a, b in zip(clean.fronts(0), poisoned.fronts(0), strict=True):
            assert np.array_equal(a, b)
    assert clean.state.episode.sum() > 0


def test_rubbish_in_the_buffers_that_were_returned_is_overwritten():
    """But for ``truncated``, which is zero once and for all; observations cannot be written to."""
    clean, poisoned = bot_game(num_games=2), bot_game(num_games=2)
    for _ in range(60):
        results = poisoned.results
        assert not any(array.flags.writeable for array in poisoned.observations)
        for name, array in results._asdict().items():
            if name != "truncated":
                array[...] = 77
        expected, found = clean.step(), poisoned.step()
        for a, b in zip(expected[1:4], found[1:4], strict=True):
            assert np.array_equal(a, b)
        for name in ("ended", "was_reset"):
            assert np.array_equal(expected[4][name], found[4][name])


compiled_only = pytest.mark.skipif(not JIT_ENABLED, reason="NUMBA_DISABLE_JIT=1 leaves nothing to compile")


@compiled_only
def test_each_kernel_is_compiled_for_one_signature_only():
    """A second one would be a dtype or a layout that slipped in, a minute to compile on first use.

    Games with allies have machine code of their own, which tests in the same process may have made.
    """
    land = LandMask.from_text("\n".join(["." * 30] * 20))
    for config, games, threads in (
        (GameConfig(height=16, width=16, num_players=2, map="open"), 1, 1),
        (CONFIG, 4, 2),
        (GameConfig.for_map(land, num_players=3, deaths=False, decision_every=1), 2, 1),
    ):
        game = VecGame(config, games, num_threads=threads, seats=None)
        game.reset()
        game.reset(seeds=range(games))
        game.reset(seed=np.uint64(3))
        seats = config.num_players
        for dtype in (np.int64, np.int32, np.uint8, np.uint64):
            game.step(np.zeros((games, seats, 2), dtype))
        game.step(np.zeros((games, 2, seats), np.int64).swapaxes(1, 2))
        game.step()
        game.set_position(0, board(game))
        game.set_position(0, board(game).astype(np.int64)[:, ::1])
        game.tick(np.int32(0))
        game.tick(0, [] if game.state.tick[0] % config.decision_every else [(1, 0, 5)])
        game.fronts(0)
        game.digest(0)
        game.restore(0, game.save(0))
        duplicate = pickle.loads(pickle.dumps(game.clone()))
        duplicate.step()
        duplicate.digest(0)
        networks = VecGame(config, games, observe=False, seats=["champion-1"] * seats)
        networks.reset()
        networks.step()
    assert set(signature_counts().values()) == {1}


@compiled_only
def test_a_batch_unpickled_over_read_only_buffers_compiles_nothing_anew():
    buffers = []
    data = pickle.dumps(bot_game(), protocol=5, buffer_callback=buffers.append)
    bot_game().step()
    before = signature_counts()
    duplicate = pickle.loads(data, buffers=[bytes(buffer) for buffer in buffers])
    duplicate.reset()
    duplicate.step()
    assert signature_counts() == before


@compiled_only
def test_a_board_that_cannot_be_written_to_compiles_nothing_anew():
    drawing = parse(rows_of(*["12"] * 16))
    game_on(drawing).tick(0)
    before = signature_counts()
    drawing.flags.writeable = False
    game_on(drawing).tick(0)
    assert signature_counts() == before


def signature_counts():
    """Return for how many signatures each kernel that Python calls is compiled.

    It is the larger of two counts: of games with allies, and of others.
    """
    kernels = {
        name: function
        for name, function in vars(stepping).items()
        if isinstance(function, numba.core.dispatcher.Dispatcher) and function.targetoptions.get("nogil")
    }
    assert len(kernels) >= 8
    return {
        name: max(Counter(map(has_allies, kernel.signatures)).values(), default=0)
        for name, kernel in kernels.items()
    }


def has_allies(kind):
    """Return whether a type, or one of a tuple of types, is of games with allies."""
    if isinstance(kind, numba.types.BaseNamedTuple) and kind.instance_class is Params:
        return len(kind.types[Params._fields.index("allied")]) > 0
    parts = kind if isinstance(kind, tuple) else getattr(kind, "types", ())
    if hasattr(kind, "arguments"):
        parts = (kind.arguments,)
    return any(map(has_allies, parts))


COMPILE_AND_STEP = """
import numpy as np
from territorial import GameConfig, VecGame
from territorial.engine import compiling, step
config = GameConfig(height=70, width=66, num_players=5, map="lakes", rewards={"land": 1.0})
compiling.compile_steps(config)
compiled = dict(step=len(step.step_games.signatures), reset=len(step.reset_game.signatures))
game = VecGame(config, 3, seats=["agent", "banker", "drip", "random", "agent"], frames=4, num_threads=2)
game.reset(seed=4)
game.step(np.zeros((3, 5, 2), np.int64))
print(compiled, len(step.step_games.signatures), len(step.reset_game.signatures))
"""


def test_what_is_compiled_ahead_is_all_that_a_step_needs():
    done = subprocess.run(
        [sys.executable, "-c", COMPILE_AND_STEP], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert done.stdout.split("\n")[0] == "{'step': 1, 'reset': 1} 1 1"
