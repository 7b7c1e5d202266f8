"""FrameStore and TableStore, against stacks and rows that are kept whole."""

import copy
import pickle
from collections import namedtuple
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from territorial import GameConfig, VecGame
from territorial.decode.store import FrameStore
from territorial.decode.table_store import TableStore
from territorial.observation.layout import NEW_GAME, NOT_LISTED, ObsLayout
from tests.decode.support import bit_planes
from tests.env.copies import WAYS
from tests.episodes import begun

Boards = namedtuple("Boards", "planes delta_index delta_code delta_count")


class Stream:
    """E games that go by: ``reset()``, then ``step()``, as from a VecGame; the deltas are minimal.

    ``busy``: the part of the cells that change in a step, at most; ``new``: how likely a game is replaced;
    ``overflow``: how likely the changes of a step are not listed.

    ``planes`` has rows of whole words, so that it is a view with gaps, and what lies behind the changes of a
    delta is noise, as in the engine's.
    """

    def __init__(self, layout: ObsLayout, num_games, seed=0, *, busy=0.02, new=0.02, overflow=0.02):
        self.layout, self.num_games = layout, num_games
        self.busy, self.new, self.overflow = busy, new, overflow
        self.rng = np.random.default_rng(seed)
        self.codes = np.zeros((num_games, layout.height, layout.width), np.uint8)
        shape = layout.shape("planes")
        self._padded = np.zeros((num_games, *shape[:-1], -(-shape[-1] // 8) * 8), np.uint8)
        self._planes = self._padded[..., : shape[-1]]

    def reset(self):
        """Return observations of new games."""
        return self._next(np.ones(self.num_games, bool))

    def step(self):
        """Return the next observations."""
        return self._next(self.rng.random(self.num_games) < self.new)

    def _next(self, is_new):
        layout, rng, cells = self.layout, self.rng, self.layout.height * self.layout.width
        before = self._planes[:, 0].copy()
        index = rng.integers(0, 2**32, (self.num_games, *layout.shape("delta_index")), np.uint32)
        code = rng.integers(0, 256, index.shape, np.uint8)
        count = np.where(is_new, NEW_GAME, NOT_LISTED).astype(np.int32)
        for k in range(self.num_games):
            if is_new[k]:
                self.codes[k] = rng.integers(0, layout.blocked_code + 1, self.codes[k].shape)
                continue
            where = rng.choice(cells, rng.integers(0, int(self.busy * cells) + 1), replace=False)
            old = self.codes[k].flat[where]
            self.codes[k].flat[where] = (old + rng.integers(1, layout.blocked_code + 1, len(where))) % (
                layout.blocked_code + 1
            )
            if rng.random() >= self.overflow and len(where) <= layout.delta_capacity:
                index[k, : len(where)], code[k, : len(where)] = where, self.codes[k].flat[where]
                count[k] = len(where)
        self._planes[:, 2:] = self._planes[:, 1:-1].copy()
        self._planes[:, 0] = bit_planes(self.codes, layout)
        if layout.frames > 1:
            self._planes[:, 1] = self._planes[:, 0] ^ before
        self._planes[is_new, 1:] = 0
        return Boards(self._planes, index, code, count)


FRAMES = 4
SMALL = ObsLayout(height=16, width=21, num_players=5, frames=FRAMES)


def filled(stream, steps, **options):
    """Return a store with so many steps, and what each step showed: uint8 (T, E, F, B, H, ceil(W/8))."""
    store, seen = FrameStore(stream.layout, stream.num_games, **options), []
    for t in range(steps):
        observations = stream.step() if t else stream.reset()
        assert store.append(observations) == t
        seen.append(observations.planes.copy())
    return store, np.array(seen)


def everything(store, frames=1):
    """Return all games and times that are there with so many frames, in an order of no meaning."""
    pairs = [(k, t) for t in range(store.first, store.end) for k in range(store.num_games)]
    whole = [pair for pair in pairs if is_there(store, *pair, frames)]
    return np.array(whole, np.int64).reshape(-1, 2)[np.random.default_rng(0).permutation(len(whole))].T


def is_there(store, game, time, frames):
    try:
        store.planes([game], [time], frames)
    except IndexError:
        return False
    return True


LAYOUTS = {
    "narrow": (SMALL, {}),
    "bytes": (ObsLayout(height=17, width=16, num_players=2, frames=FRAMES), {}),
    "250 players": (ObsLayout(height=20, width=33, num_players=250, frames=FRAMES), {}),
    "busy": (SMALL, {"busy": 0.06, "new": 0.0}),
    "restless": (SMALL, {"new": 0.3, "overflow": 0.3}),
    "still": (SMALL, {"busy": 0.0, "new": 0.0, "overflow": 0.0}),
    "wide": (ObsLayout(height=65, width=200, num_players=3, frames=FRAMES), {"busy": 0.005}),
}


@pytest.mark.parametrize(
    ("name", "key_every"), [*((name, 3) for name in LAYOUTS), ("narrow", 1), ("narrow", 64)]
)
def test_every_stack_comes_back_as_it_was_seen(name, key_every):
    layout, chances = LAYOUTS[name]
    store, seen = filled(Stream(layout, 3, **chances), 40, key_every=key_every)
    assert (store.first, store.end, len(store)) == (0, 40, 40)
    games, times = everything(store)
    assert len(games) == 3 * 40
    for frames in range(1, FRAMES + 1):
        stacks = store.planes(games, times, frames)
        assert stacks.dtype == np.uint8
        assert (stacks == seen[times, games, :frames]).all()
    assert (store.planes(games, times) == seen[times, games]).all()


def test_one_frame_of_an_environment_is_enough_for_stacks_of_more():
    seen, store = [], FrameStore(ObsLayout(height=16, width=21, num_players=5, frames=1), 2)
    stream = Stream(SMALL, 2)
    for t in range(50):
        observations = stream.step() if t else stream.reset()
        store.append(observations._replace(planes=observations.planes[:, :1]))
        seen.append(observations.planes.copy())
    games, times = everything(store)
    assert store.planes(games, times).shape[1] == 1
    assert (store.planes(games, times, FRAMES) == np.array(seen)[times, games]).all()


def test_in_a_long_game_nothing_is_forgotten_about_its_frames():
    store, seen = filled(Stream(SMALL, 2, new=0.0), 300)
    games, times = np.arange(600) % 2, np.arange(600) // 2
    assert (store.planes(games, times) == seen[times, games]).all()
    store = FrameStore(SMALL, 2)
    stream = begun(Stream(SMALL, 2, new=0.0))
    for t in range(300):
        store.append(stream.step())
        assert is_there(store, 1, t, 16) == (t >= 15)


@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    key_every=st.integers(1, 9),
    capacity=st.none() | st.integers(1, 30),
    begins=st.sets(st.integers(1, 49), max_size=4),
    frames=st.integers(1, FRAMES),
    new=st.sampled_from([0.0, 0.05, 0.5]),
)
def test_whatever_is_still_there_comes_back_and_what_is_not_says_so(
    seed, key_every, capacity, begins, frames, new
):
    """With limits and steps left out, a stack is there if all its frames are, or its game's beginning is."""
    store = FrameStore(SMALL, 2, key_every=key_every, capacity=capacity)
    stream = Stream(SMALL, 2, seed, new=new)
    seen, known = [], []
    for t in range(50):
        observations = stream.step() if t else stream.reset()
        if t in begins:
            for _ in range(3):
                observations = stream.step()
            store.begin()
        store.append(observations)
        seen.append(observations.planes.copy())
        is_new = observations.delta_count == NEW_GAME
        # From which step on the frames of each game are known, and whether it began there.
        cut = t in begins or t == 0
        known.append([(t, True) if is_new[k] else (t, False) if cut else known[-1][k] for k in range(2)])
        assert store.end == t + 1
        assert capacity is None or len(store) <= capacity
    for t in range(store.first, store.end):
        for k in range(2):
            since, is_begin = known[t][k]
            is_whole = t - frames + 1 >= max(since, store.first) or (is_begin and since >= store.first)
            assert is_there(store, k, t, frames) == is_whole
    games, times = everything(store, frames)
    assert (store.planes(games, times, frames) == np.array(seen)[times, games, :frames]).all()


def test_the_bytes_are_those_of_all_arrays():
    store, _ = filled(Stream(SMALL, 3), 40, key_every=7, capacity=25)
    arrays = [
        value for block in store._blocks() for value in vars(block).values() if isinstance(value, np.ndarray)
    ]
    assert store.nbytes == sum(array.nbytes for array in arrays) + store._ages.nbytes


def test_a_still_game_costs_its_key_frames_and_a_few_bytes_a_step():
    store, _ = filled(Stream(SMALL, 2, **LAYOUTS["still"][1]), 128, key_every=64)
    assert store.nbytes <= 2 * (2 * (SMALL.nbytes("planes") // SMALL.frames) + 128 * 13 + 1)


def test_a_delta_larger_than_a_key_frame_is_stored_as_one():
    layout = ObsLayout(
        height=257, width=256, num_players=2
    )  # a cell takes 5 bytes, a key frame 2 bits a cell
    cells = layout.delta_capacity
    codes = np.zeros((2, 257, 256), np.uint8)
    store = FrameStore(layout, 2)
    stream = Stream(layout, 2, busy=0.0)
    store.append(stream.reset())
    before = store.nbytes
    stream._planes[:, 0] = 0
    index = np.tile(np.arange(cells, dtype=np.uint32), (2, 1))
    key = layout.nbytes("planes") // layout.frames  # bytes of a key frame
    fits = key // 5
    observations = Boards(
        stream._planes, index, codes.reshape(2, -1)[:, :cells].copy(), np.array([fits, fits + 1], np.int32)
    )
    store.append(observations)
    assert store.nbytes - before == key + 5 * fits + 2 * 13  # a count, a place and an age
    assert not store.planes([1], [1], 1).any()


# ---- sampling --------------------------------------------------------------------------------------


@pytest.mark.parametrize("frames", [1, 3])
def test_samples_are_uniform_over_all_pairs_that_have_their_frames(frames):
    store, _ = filled(Stream(SMALL, 3, new=0.1), 40, capacity=20, key_every=8)
    whole = {tuple(pair) for pair in everything(store, frames).T.tolist()}
    assert frames == 1 or len(whole) < 60
    games, times = store.sample(200 * len(whole), np.random.default_rng(0), frames)
    drawn, counts = np.unique(np.stack([games, times], axis=1), axis=0, return_counts=True)
    assert {tuple(pair) for pair in drawn.tolist()} == whole
    # Counts are Poisson about 200, so that their spread over 200 is chi-squared.
    assert 0.5 < counts.var() / 200 < 1.6


def test_samples_follow_from_the_generator_and_can_be_looked_up():
    store, seen = filled(Stream(SMALL, 3), 40, capacity=20)
    games, times = store.sample(64, np.random.default_rng(5))
    again = store.sample(64, np.random.default_rng(5))
    assert (games.dtype, games.shape, times.shape) == (np.int64, (64,), (64,))
    assert (again[0] == games).all()
    assert (again[1] == times).all()
    assert (store.planes(games, times) == seen[times, games]).all()
    assert store.sample(0, np.random.default_rng(0))[0].shape == (0,)


def test_a_store_without_a_whole_stack_has_nothing_to_draw():
    store = FrameStore(SMALL, 2)
    with pytest.raises(ValueError, match="no step with all of its 4 frames can be drawn from FrameStore"):
        store.sample(1, np.random.default_rng(0))
    stream = begun(Stream(SMALL, 2, new=0.0))
    for step in range(4):
        with pytest.raises(ValueError, match="no step with all of its 4 frames"):
            store.sample(1, np.random.default_rng(0))
        store.append(stream.step())
        assert (store.sample(5, np.random.default_rng(0), 1)[1] <= step).all()
    _, times = store.sample(5, np.random.default_rng(0))
    assert (times == 3).all()


# ---- copies ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["protocol 2", "deepcopy", "out of band, read-only"])
def test_a_copy_goes_on_by_itself(way):
    store = FrameStore(SMALL, 2, key_every=8, capacity=1000)
    stream = Stream(SMALL, 2)
    store.append(stream.reset())
    for _ in range(20):
        store.append(stream.step())
    twin = WAYS[way](store)
    games, times = everything(twin)
    before = twin.planes(games, times, 1)
    for _ in range(20):
        step = stream.step()
        store.append(step)
        twin.append(step)
    store.append(stream.step())
    assert (twin.first, twin.end) == (0, 41)
    assert (store.planes(games, times) == twin.planes(games, times)).all()
    assert (twin.planes(games, times, 1) == before).all()
    later = np.arange(41).repeat(2), np.tile([0, 1], 41)
    assert (store.planes(later[1], later[0]) == twin.planes(later[1], later[0])).all()


# ---- what does not fit -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"layout": 5}, TypeError, "layout is 5; it must be a territorial.observation.layout.ObsLayout"),
        ({"layout": ObsLayout(height=16, width=16, num_players=2, frames=0)}, ValueError, "frames=0"),
        ({"num_games": 0}, ValueError, "num_games is 0; it must be a whole number of at least 1"),
        ({"num_games": 2.0}, TypeError, "num_games is 2.0"),
        ({"key_every": 0}, ValueError, "key_every is 0"),
        ({"capacity": True}, TypeError, "capacity is True"),
    ],
)
def test_a_store_that_cannot_be_says_why(options, error, message):
    with pytest.raises(error, match=message):
        FrameStore(**({"layout": SMALL, "num_games": 2} | options))


BAD_STEPS = {
    "tables": (lambda o: o._replace(planes=None), TypeError, "observations.planes is NoneType"),
    "one game": (
        lambda o: Boards(*(array[0] for array in o)),
        ValueError,
        r"observations.planes has the shape \(4, 3, 16, 3\); for 2 games of the layout it must be "
        r"\(2, 4, 3, 16, 3\)",
    ),
    "no frames": (
        lambda o: o._replace(planes=o.planes[:, :0]),
        ValueError,
        r"observations.planes has the shape \(2, 0,",
    ),
    "another layout": (
        lambda o: o._replace(planes=o.planes[..., :2]),
        ValueError,
        r"observations.planes has the shape \(2, 4, 3, 16, 2\)",
    ),
    "another capacity": (
        lambda o: o._replace(delta_index=o.delta_index[:, 1:]),
        ValueError,
        r"observations.delta_index has the shape \(2, 20\); .* \(2, 21\)",
    ),
    "another dtype": (
        lambda o: o._replace(delta_index=o.delta_index.astype(np.int64)),
        TypeError,
        "observations.delta_index is int64; it must be an array of uint32",
    ),
    "count": (
        lambda o: o._replace(delta_count=np.array([0, 22], np.int32)),
        ValueError,
        r"observations.delta_count\[1\] is 22; it must be from -2 to 21",
    ),
    "code of a count": (
        lambda o: o._replace(delta_count=np.array([-3, 0], np.int32)),
        ValueError,
        r"observations.delta_count\[0\] is -3; it must be from -2 to 21",
    ),
    "cell": (
        lambda o: o._replace(
            delta_index=np.full_like(o.delta_index, 16 * 21),
            delta_code=np.zeros_like(o.delta_code),
            delta_count=np.array([0, 3], np.int32),
        ),
        ValueError,
        r"observations.delta_index\[1, 0\] is 336 and its delta_code 0; they must be from 0 to 335 and "
        r"from 0 to 6",
    ),
    "code": (
        lambda o: o._replace(
            delta_index=np.zeros_like(o.delta_index),
            delta_code=np.full_like(o.delta_code, 7),
            delta_count=np.array([1, 0], np.int32),
        ),
        ValueError,
        r"observations.delta_index\[0, 0\] is 0 and its delta_code 7",
    ),
}


@pytest.mark.parametrize(("spoil", "error", "message"), BAD_STEPS.values(), ids=BAD_STEPS)
def test_observations_that_do_not_fit_say_so_and_nothing_is_stored(spoil, error, message):
    store, stream = FrameStore(SMALL, 2), Stream(SMALL, 2, new=0.0, overflow=0.0)
    store.append(stream.reset())
    observations = stream.step()
    before = pickle.dumps(store)
    with pytest.raises(error, match=message):
        store.append(spoil(observations))
    assert pickle.dumps(store) == before
    assert store.append(observations) == 1


RNG, ONE = np.random.default_rng(0), ([0], [9])
REFUSED = [
    (
        lambda s: s.planes([0, 2], [1, 1]),
        IndexError,
        r"games\[1\] is 2; the store has the games from 0 up to",
    ),
    (lambda s: s.planes([-1], [1]), IndexError, r"games\[0\] is -1"),
    (
        lambda s: s.planes([0], [30]),
        IndexError,
        r"times\[0\] is 30; the store has the times from 5 up to, but not including, 30",
    ),
    (lambda s: s.planes([0], [4]), IndexError, r"times\[0\] is 4; the store has the times from 5"),
    (
        lambda s: s.planes([0], [5]),
        IndexError,
        r"times\[0\] is 5; of game 0 the store lacks some of the 4 frames up to then",
    ),
    (lambda s: s.planes([0, 1], [9]), ValueError, "games has 2 entries and times has 1"),
    (
        lambda s: s.planes([0.0], [9]),
        TypeError,
        r"games is float64 \(1,\); it must hold whole numbers and be \(n,\)",
    ),
    (lambda s: s.planes([0], [True]), TypeError, r"times is bool \(1,\)"),
    (lambda s: s.planes(0, 9), TypeError, r"games is int64 \(\); it must hold whole numbers and be \(n,\)"),
    (lambda s: s.planes(*ONE, 0), ValueError, "frames is 0; it must be a whole number from 1 to 16"),
    (lambda s: s.planes(*ONE, 17), ValueError, "frames is 17; it must be"),
    (lambda s: s.planes(*ONE, 1.5), TypeError, "frames is 1.5; it must be"),
    (lambda s: s.sample(-1, RNG), ValueError, "n is -1; it must be a whole number of at least 0"),
    (lambda s: s.sample(1, 5), TypeError, r"rng is 5; it must be a numpy.random.Generator"),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_what_does_not_fit_a_store_is_refused(call, error, message):
    store, _ = filled(Stream(SMALL, 2, new=0.0), 30, capacity=25)
    with pytest.raises(error, match=message):
        call(store)


# ---- real games ------------------------------------------------------------------------------------


@pytest.mark.parametrize("key_every", [7, 64])
def test_stacks_of_whole_games_are_those_that_the_environment_shows(key_every):
    config = GameConfig(height=24, width=30, num_players=5, max_ticks=900)
    seats = ("metronome", "random", "novice", "turtle", "banker")
    game = VecGame(config, 3, seats=seats, frames=FRAMES)
    stream = SimpleNamespace(layout=game.layout, num_games=3, reset=game.reset, step=lambda: game.step()[0])
    store, seen = filled(stream, 300, key_every=key_every)
    assert game.state.episode.min() >= 3
    games, times = everything(store, FRAMES)
    assert len(games) == 3 * len(seen)
    stacks = store.planes(games, times)
    assert (stacks == seen[times, games]).all()
    assert (store.planes(games[[3, 0, 3]], times[[3, 0, 3]]) == stacks[[3, 0, 3]]).all()
    assert store.planes([], []).shape == (0, *stacks.shape[1:])


def test_a_game_that_is_put_into_a_position_begins_a_new_stack():
    """What is set by hand and single ticks do not follow what was observed before."""
    config = GameConfig(height=24, width=30, num_players=5)
    game = VecGame(config, 2, seats=["metronome"] * 5, frames=FRAMES)
    store = FrameStore(game.layout, 2)
    store.append(game.reset())
    for change in (
        lambda: game.set_position(1, np.tile(np.arange(6), (24, 5))),
        lambda: game.tick(1),
        lambda: game.restore(1, game.save(0)),
    ):
        for _ in range(10):
            store.append(game.step()[0])
        change()
        assert game.observations.delta_count[1] == NEW_GAME
        boards = store.planes([1], [store.append(game.observations)])
        assert (boards[0, 0] == game.observations.planes[1, 0]).all()
        assert not boards[0, 1:].any()


@pytest.mark.parametrize(
    ("begin", "key_every"), [*((begin, 7) for begin in (0, 1, 13, 20, 29, 30)), (20, 1), (20, 64)]
)
def test_a_store_since_a_step_has_the_same_stacks_and_goes_on_by_itself(begin, key_every):
    store = FrameStore(SMALL, 3, key_every=key_every)
    stream, seen = Stream(SMALL, 3), []
    for t in range(45):
        observations = stream.step() if t else stream.reset()
        if t == 30:
            since, kept = store.since(begin), pickle.dumps(store)
        (store if t < 30 else since).append(observations)
        seen.append(observations.planes.copy())
    seen = np.array(seen)
    assert (since.first, since.end) == (begin, 45)
    games, times = everything(since)
    assert (since.planes(games, times, 1) == seen[times, games, :1]).all()
    games, times = everything(since, FRAMES)
    assert len(games) >= 3 * (45 - begin - FRAMES + 1)
    assert (since.planes(games, times) == seen[times, games]).all()
    assert pickle.dumps(store) == kept
    assert copy.deepcopy(since).nbytes <= since.nbytes
    assert FrameStore(SMALL, 3).since(0).end == 0
    with pytest.raises(ValueError, match="step is 31; it must be a whole number from 0 to 30"):
        store.since(31)


# ---- tables of rows --------------------------------------------------------------------------------------


GAMES, NUMBERS, STEPS = 3, 50, 40


def rows_of_games(changed=0.1, seed=0):
    """Rows of which some numbers change each step, to zeros of both signs and to what is no number, too."""
    rng, rows = np.random.default_rng(seed), np.zeros((STEPS, GAMES, NUMBERS), np.float32)
    for t in range(STEPS):
        values = rng.choice(np.array([0.0, -0.0, np.nan, 1.5, rng.random()], np.float32), rows[t].shape)
        rows[t] = np.where(rng.random(rows[t].shape) < changed, values, rows[max(0, t - 1)])
    return rows


def filled_table(rows, num_games=GAMES):
    store = TableStore(num_games, rows.shape[2])
    for t, row in enumerate(rows):
        assert store.append(row) == t
    return store


def assert_has(store, rows, first=0):
    pairs = [(k, t) for k in range(rows.shape[1]) for t in range(first, len(rows))]
    games, times = np.random.default_rng(1).permutation(pairs).T
    assert (store.first, store.end, len(store)) == (first, len(rows), len(rows) - first)
    np.testing.assert_array_equal(bits(store.rows(games, times)), bits(rows[times, games]))


def bits(rows):
    return np.ascontiguousarray(rows).view(np.uint32)


@pytest.mark.parametrize("changed", [0.0, 0.1, 1.0])
def test_every_row_comes_back_to_the_bit(changed):
    rows = rows_of_games(changed)
    store = filled_table(rows)
    assert_has(store, rows)
    assert_has(filled_table(rows[:, :1], 1), rows[:, :1])
    again = store.rows([2, 0, 2], [5, 39, 5])
    np.testing.assert_array_equal(bits(again), bits(rows[[5, 39, 5], [2, 0, 2]]))
    assert store.rows([], []).shape == (0, NUMBERS)


def test_wide_rows_are_numbered_with_wider_numbers():
    rows = np.zeros((3, 1, 70_000), np.float32)
    rows[1:, 0, 69_999], rows[2, 0, 1] = 3, 4
    assert_has(filled_table(rows, 1), rows)


def test_it_takes_the_bytes_of_what_changed():
    store = filled_table(rows_of_games(0.1))
    numbers = sum(len(step.places) for step in store._steps)
    assert numbers < 0.1 * STEPS * GAMES * NUMBERS
    assert store.nbytes == numbers * 6 + STEPS * GAMES * 8
    assert len(pickle.dumps(store)) < store.nbytes + 1000


@pytest.mark.parametrize("step", [0, 1, 17, 39, 40])
def test_a_store_since_a_step_goes_on_by_itself(step):
    rows = rows_of_games()
    whole = filled_table(rows[:-1])
    since, before = whole.since(min(step, whole.end)), len(pickle.dumps(whole))
    assert since.append(rows[-1]) == STEPS - 1
    assert_has(since, rows, min(step, STEPS - 1))
    assert len(pickle.dumps(whole)) == before


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda store: pickle.loads(pickle.dumps(store))])
def test_copies_have_everything_and_go_on(copied):
    rows = rows_of_games()
    other = copied(filled_table(rows[:-1]))
    other.append(rows[-1])
    assert_has(other, rows)
    assert_has(copied(other.since(7)), rows, 7)
    empty = copied(TableStore(GAMES, NUMBERS))
    empty.append(rows[0])
    assert_has(empty, rows[:1])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda store: store.rows([0, 0], [3, 40]),
            IndexError,
            r"times\[1\] is 40; the store has the times from 0 up to, but not including, 40",
        ),
        (lambda store: store.rows([-1], [3]), IndexError, r"games\[0\] is -1"),
        (
            lambda store: store.append(np.zeros((GAMES, NUMBERS))),
            ValueError,
            r"rows is float64 \(3, 50\); it must be an array of float32 \(3, 50\)",
        ),
        (lambda store: store.since(41), ValueError, "step is 41; it must be a whole number from 0 to 40"),
    ],
)
def test_what_does_not_fit_is_named(call, error, message):
    store = filled_table(rows_of_games())
    with pytest.raises(error, match=message):
        call(store)
    assert len(store) == STEPS
