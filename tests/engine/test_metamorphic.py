"""Games that must be equal although they are played differently: turned, renamed, batched, saved ...

Here the engine is compared with itself, so these tests see what it and the twin might both get wrong.
"""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from territorial import GameConfig, LandMask, VecGame
from territorial.engine import step as stepping
from territorial.game.scratch import named_arrays
from territorial.jit.decorators import JIT_ENABLED, Kernel
from territorial.jit.library import CHOICE, NUMBA
from tests.engine.support import ROOT, board, digests, interpreted, same_observations, state_equal
from tests.env.copies import out_of_band
from tests.episodes import advance, begun, difference, random_actions

BOTS = ("metronome", "banker", "turtle", "novice", "random")
CONFIG = GameConfig(height=26, width=70, num_players=6, map="lakes", max_ticks=500)
TEAMS = CONFIG.replace(teams=2, team_deal="random", team_spawns="together")
SEATS = ("agent", *BOTS)
both_rules = pytest.mark.parametrize("config", [CONFIG, TEAMS], ids=["no teams", "teams"])


def bot_game(config=CONFIG, num_games=3, seed=11, seats=SEATS, **options):
    return begun(VecGame(config, num_games, seed=seed, seats=seats, **options))


def step_both(a, b, steps, seed=0):
    """Play two batches with the same actions, drawn from the first; they must stay equal."""
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        actions = random_actions(a, rng)
        assert difference(a.step(actions)[1:4], b.step(actions)[1:4]) is None
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
    "doubled_place",
    "illegal",
    "raised",
    "bounced",
    "pools",
    "taken",
)


@pytest.mark.parametrize("name", TURNS)
def test_turning_map_and_spawns_turns_a_game(name):
    turn, seats = TURNS[name], ("random", *BOTS)
    game = begun(bot_game(num_games=1, seats=seats), seeds=[22])
    start = board(game)
    height, width = turn(start).shape
    turned = begun(
        bot_game(CONFIG.replace(height=height, width=width, map="open"), 1, seats=seats), seeds=[22]
    )
    for one, owner in ((game, start), (turned, turn(start))):
        one.set_position(0, owner)
    for _ in range(49):
        game.step()
        turned.step()
        assert np.array_equal(board(turned), turn(board(game)))
        assert np.array_equal(game.blocks.ledger, turned.blocks.ledger)
        for field in SEAT_FIELDS:
            assert np.array_equal(getattr(game.state, field), getattr(turned.state, field)), field
        assert difference(*[one.pairs([0] * 6, range(1, 7)) for one in (game, turned)]) is None
    assert game.state.taken[0, 1:, 1:].any(), "there was some fighting"


# ---- threads and batches --------------------------------------------------------------------------


@both_rules
def test_the_number_of_threads_changes_nothing(config):
    one, many = bot_game(config, 7), bot_game(config, 7, num_threads=3)
    step_both(one, many, 70)
    assert one.state.episode.sum() > 0, "games ended and were replaced"
    assert same_observations(one.observations, many.observations)
    many.close()


def test_observing_or_not_changes_nothing():
    step_both(bot_game(), bot_game(observe=False), 70)


# ---- saving ---------------------------------------------------------------------------------------


@both_rules
def test_a_game_goes_on_in_another_slot_of_another_batch(config):
    game, other = bot_game(config, autoreset="disabled"), bot_game(config, 2, seed=99, autoreset="disabled")
    advance(game, 15)
    advance(other, 3)
    bystander = other.clone()
    other.restore(1, pickle.loads(pickle.dumps(game.save(2))))
    assert other.seats_of(1) == game.seats_of(2)
    assert np.array_equal(other.observations.borders[1], game.observations.borders[2])
    for _ in range(40):
        game.step(hold=True)
        other.step(hold=True)
        bystander.step(hold=True)
        assert other.digest(1) == game.digest(2)
        assert other.digest(0) == bystander.digest(0), "the other slots play on undisturbed"


# ---- how the code is run --------------------------------------------------------------------------

PLAY = """
from territorial import GameConfig, Recorder, VecGame
config = GameConfig(height=20, width=66, num_players=6, map="lakes", starting_troops=700)
seats = ("agent", "metronome", "banker", "turtle", "novice", "random")
game = VecGame(config, 1, seed=4, seats=seats)
recorder = Recorder(game)
game.reset()
for step in range(60):
    tables = game.step([[(1, 4)] + [(0, 0)] * 5])[0] + game.pairs([0] * 6, range(1, 7))
    print(game.digest(0).hex(), *(float(table.astype("f8").sum()) for table in tables))
print(recorder.replay().to_bytes().hex())
"""


def test_interpreted_and_compiled_kernels_play_the_same_game(capsys):
    exec(PLAY, {})
    *compiled, replay = [line.split() for line in capsys.readouterr().out.splitlines()]
    *plain, recorded = [line.split() for line in interpreted(PLAY).splitlines()]
    assert [digest for digest, *_ in plain] == [digest for digest, *_ in compiled]
    assert recorded == replay
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
    for work in game._calls.works:
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
        assert difference(clean.fronts(0), poisoned.fronts(0)) is None
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
        expected, found = clean.step(hold=True), poisoned.step(hold=True)
        assert difference(expected[1:4], found[1:4]) is None
        for name in ("ended", "was_reset"):
            assert np.array_equal(expected[4][name], found[4][name])


compiled_only = pytest.mark.skipif(not JIT_ENABLED, reason="NUMBA_DISABLE_JIT=1 leaves nothing to compile")


@compiled_only
def test_each_kernel_is_compiled_for_one_signature_only():
    """A second one would be a dtype or a layout that slipped in, a minute to compile on first use."""
    land = LandMask.from_text("\n".join(["." * 30] * 20))
    configs = (
        GameConfig(height=16, width=16, num_players=2, map="open"),
        CONFIG,
        GameConfig.for_map(land, num_players=3, deaths=False, decision_every=1),
    )
    for config in configs:
        use_kernels(config, 1)
    counts = signature_counts()
    for config, threads in zip(configs, (1, 2, 1), strict=True):
        use_with_odd_arrays(config, use_kernels(config, 2, num_threads=threads))
    assert signature_counts() == counts


def use_kernels(config, games, **options):
    """Return a batch of which every kernel was called."""
    begun(VecGame(config, games, observe=False, seats=["champion-1"] * config.num_players)).step()
    game = begun(VecGame(config, games, **options))
    game.step(np.zeros((games, config.num_players, 2), np.int64))
    game.set_position(0, board(game))
    game.tick(0)
    game.digest(0)
    game.restore(0, game.save(0))
    game.reset_game(0)
    return game


def use_with_odd_arrays(config, game):
    """Give a batch arrays of many dtypes and layouts."""
    games, seats = game.num_games, config.num_players
    game.reset(seeds=range(games))
    game.reset_game(0, seed=np.uint64(3))
    for dtype in (np.int64, np.int32, np.uint8, np.uint64):
        game.step(np.zeros((games, seats, 2), dtype))
    game.step(np.zeros((games, 2, seats), np.int64).swapaxes(1, 2))
    game.set_position(0, board(game).astype(np.int64)[:, ::1])
    game.set_position(0, np.frombuffer(board(game).tobytes(), np.uint8).reshape(config.height, -1))
    game.tick(np.int32(0), [(1, 0, 5)])
    duplicate = begun(out_of_band(game.clone(), bytes))
    duplicate.step(hold=True)
    duplicate.digest(0)


def signature_counts():
    """Return for how many signatures numba has compiled each kernel that Python calls."""
    return {
        name: len(function.dispatcher.signatures)
        for name, function in vars(stepping).items()
        if isinstance(function, Kernel)
    }


COMPILE_AND_STEP = """
import numpy as np
from territorial import GameConfig, VecGame
from territorial.engine import step, vec_game
config = GameConfig(height=70, width=66, num_players=5, map="lakes", rewards={"land": 1.0})
vec_game.compile_steps(config)
stepping, resetting = step.step_games.dispatcher, step.reset_game.dispatcher
compiled = dict(step=len(stepping.signatures), reset=len(resetting.signatures))
game = VecGame(config, 3, seats=["agent", "banker", "drip", "random", "agent"], frames=4, num_threads=2)
game.reset(seed=4)
game.step(np.zeros((3, 5, 2), np.int64))
print(compiled, len(stepping.signatures), len(resetting.signatures))
"""


def test_what_is_compiled_ahead_is_all_that_a_step_needs():
    done = subprocess.run(
        [sys.executable, "-c", COMPILE_AND_STEP],
        cwd=ROOT,
        env=os.environ | {CHOICE: NUMBA},
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split("\n")[0] == "{'step': 1, 'reset': 1} 1 1"
