"""Observations "packed" are lent: what is held never changes, other memory is written again."""

from __future__ import annotations

import gc
import hashlib
import itertools
import pickle
import weakref

import numpy as np
import pytest

from territorial import VecGame, make_vec
from territorial.actions.formats import DiscreteFormat
from territorial.engine import lending
from territorial.engine.lending import NUM_SETS, LentArray
from territorial.envs.lent_masks import LentMasks

SIZE = {"height": 24, "width": 24, "num_players": 4, "max_ticks": 600}
OPTIONS = {
    "same_step": {"autoreset": "same_step"},
    "next_step": {"autoreset": "next_step", "max_cycles": 9},
    "disabled": {"autoreset": "disabled", "max_cycles": 11},
    "repeat": {"repeat": 3},
    "repeat, python": {"repeat": 3, "reward_fn": lambda previous, state, info: np.zeros((3, 4))},
    "threads": {"num_threads": 2, "map": "lakes", "num_maps": 0},
    "one frame": {"frames": 1, "max_cycles": 7},
    "no masks": {"frames": 2, "action_mask": "none"},
}


@pytest.fixture(autouse=True)
def _small_batches_lend(monkeypatch):
    monkeypatch.setattr(lending, "LENT_FROM", 1)


def vec_of(**options):
    return make_vec(3, **SIZE | options)


def digest(seen):
    whole = hashlib.blake2b(digest_size=16)
    for key in sorted(seen):
        whole.update(key.encode() + seen[key].tobytes())
    return whole.digest()


def pairs_of_steps(lending, copying, steps=60):
    """Play the same actions in both; yield what each shows, that of the second copied."""
    rng = np.random.default_rng(7)
    seen, other = [lending.reset(seed=1)[0]], copying.reset(seed=1)[0]
    for step in range(steps):
        yield seen.pop(), {key: array.copy() for key, array in other.items()}  # the caller alone holds it
        actions = rng.integers(0, 51, (3, 4)) * (rng.random((3, 4)) < 0.3)
        if lending.autoreset == "disabled" and step % 10 == 9:
            for vec in (lending, copying):
                vec.reset_game(step % 3)
        seen, other = [lending.step(actions)[0]], copying.step(actions)[0]


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("held", [0, 1, 2, 3, 60])
def test_what_is_held_never_changes_however_many_steps_are_held(name, held):
    lending, copying = vec_of(**OPTIONS[name]), vec_of(zero_copy=True, **OPTIONS[name])
    kept = []
    for seen, wanted in pairs_of_steps(lending, copying):
        assert digest(seen) == digest(wanted)
        kept = [*kept, (seen, digest(wanted))][-held:] if held else []
        assert all(digest(one) == then for one, then in kept)
    lending.close()
    copying.close()


def test_no_two_observations_that_are_held_share_memory():
    kept = [seen for seen, _ in pairs_of_steps(vec_of(), vec_of(zero_copy=True), 8)]
    for i, one in enumerate(kept):
        for other in kept[:i]:
            assert not [key for key in one if np.shares_memory(one[key], other[key])]


@pytest.mark.parametrize(("first", "is_copy"), [(lending.LENT_FROM, True), (1, False)])
def test_a_batch_with_little_to_see_copies_it_which_is_quicker(monkeypatch, first, is_copy):
    monkeypatch.setattr(lending, "LENT_FROM", first)
    vec = vec_of()
    vec.reset(seed=0)
    seen = vec.step(np.zeros((3, 4), int))[0]
    assert (seen["players"].base is None) == is_copy
    assert {key for key, array in seen.items() if array.flags.writeable} == {"seat"}
    assert len(vec.game._arrays.buffers.players) == 3 * (1 if is_copy else NUM_SETS)


def addresses(seen):
    return {key: seen[key].ctypes.data for key in ("observation", "players", "borders", "globals")}


def test_memory_that_is_not_held_is_written_again():
    vec = vec_of()
    vec.reset(seed=0)
    held, found = [], []
    for _ in range(12):
        held = [*held, vec.step(np.zeros((3, 4), int))[0]][-2:]
        found.append(addresses(held[-1]))
    for key in found[0]:
        assert len({one[key] for one in found[1:]}) <= NUM_SETS - 1, key


def test_who_holds_all_observations_gets_copies_and_those_who_let_go_get_none():
    vec = vec_of()
    kept = [vec.reset(seed=0)[0]]
    kept += [vec.step(np.zeros((3, 4), int))[0] for _ in range(8)]
    are_copies = [seen["observation"].base is None for seen in kept]
    assert are_copies.count(False) == NUM_SETS - 1
    kept.clear()
    for _ in range(3):
        seen = vec.step(np.zeros((3, 4), int))[0]
        assert seen["observation"].base is not None


@pytest.mark.parametrize("key", ["observation", "players", "borders", "globals"])
def test_a_view_of_a_view_is_held_and_nothing_can_be_written(key):
    vec = vec_of()
    vec.reset(seed=0)
    seen = vec.step(np.zeros((3, 4), int))[0]
    with pytest.raises(ValueError, match="read-only"):
        seen[key][:] = 0
    with pytest.raises(ValueError, match="WRITEABLE"):
        seen[key].flags.writeable = True
    view, then = seen[key][1:, ..., :2].T[::-1], seen[key][1:, ..., :2].T[::-1].copy()
    del seen
    for _ in range(10):
        vec.step(np.full((3, 4), 15))
    assert np.array_equal(view, then)


def test_what_is_held_outlives_the_environment():
    vec = vec_of()
    vec.reset(seed=0)
    seen = vec.step(np.zeros((3, 4), int))[0]
    then = digest(seen)
    vec.close()
    del vec
    gc.collect()
    assert digest(seen) == then


def change_reset(vec, saved):
    vec.reset(seed=9)


def change_reset_game(vec, saved):
    vec.reset_game(1)
    vec.reset_game(2)


def change_restore(vec, saved):
    vec.restore_all(saved)


def change_one(vec, saved):
    vec.restore(2, saved[0])


def change_tick(vec, saved):
    vec.game.tick(1)


def change_engine_step(vec, saved):
    vec.game.step(np.zeros((3, 4, 2), int))


@pytest.mark.parametrize(
    "change",
    [change_reset, change_reset_game, change_restore, change_one, change_tick, change_engine_step],
)
def test_calls_other_than_steps_leave_what_is_held_and_show_all_games(change):
    lending, copying = vec_of(), vec_of(zero_copy=True)
    kept = [(seen, digest(wanted)) for seen, wanted in pairs_of_steps(lending, copying, 5)]
    saved = [vec.save_all() for vec in (lending, copying)]
    for _ in range(3):
        for vec in (lending, copying):
            vec.step(np.full((3, 4), 11))
    held = lending.observe()
    then = digest(held)
    change(lending, saved[0])
    change(copying, saved[1])
    assert np.array_equal(lending.game.observations.planes, copying.game.observations.planes)
    assert digest(lending.observe()) == digest(copying.observe())
    assert digest(held) == then
    assert all(digest(one) == wanted for one, wanted in kept)


def test_a_copy_or_pickle_of_games_that_are_lent_has_one_set_of_them_and_goes_on_alike():
    vec, never = vec_of(), vec_of(zero_copy=True)
    for vec_ in (vec, never):
        vec_.reset(seed=0)
    held = [vec.step(np.full((3, 4), 11))[0] for _ in range(2)]
    never.step(np.full((3, 4), 11))
    never.step(np.full((3, 4), 11))
    assert len(pickle.dumps(vec.game)) == len(pickle.dumps(never.game))
    for copied in (vec.clone(), pickle.loads(pickle.dumps(vec))):
        assert digest(copied.observe()) == digest(held[-1])
        for _ in range(3):
            seen = copied.step(np.full((3, 4), 11))[0]
        assert not np.shares_memory(seen["observation"], held[-1]["observation"])
    for _ in range(3):
        last = vec.step(np.full((3, 4), 11))[0]
    assert digest(last) == digest(seen)


def test_a_listener_that_looks_between_decisions_sees_all_games_and_holds_them():
    looks = []

    def look(previous, state, info):
        seen = vec.observe()
        looks.append((seen, digest(seen)))
        return np.zeros((3, 4))

    vec = vec_of(repeat=4, max_cycles=6, reward_fn=look)
    vec.reset(seed=0)
    for _ in range(6):
        vec.step(np.full((3, 4), 11))
    assert len(looks) >= 6
    assert all(digest(seen) == then for seen, then in looks)


def test_the_engine_lends_in_every_mode_what_it_shows():
    for autoreset in ("same_step", "next_step"):
        lending, plain = (
            VecGame(vec_of().config, 3, frames=3, autoreset=autoreset, max_cycles=5) for _ in range(2)
        )
        lending.reset(0)
        plain.reset(0)
        for _ in range(17):
            lent = lending.lend()
            for name in lent._fields:
                assert np.array_equal(getattr(lent, name), getattr(plain.observations, name)), name
            shown, *_, info = lending.step()
            wanted, *_, told = plain.step()
            assert all(map(np.array_equal, shown, wanted))
            assert all(map(np.array_equal, info["final_obs"], told["final_obs"]))


def test_a_batch_that_lends_nothing_has_one_set():
    for options in ({"zero_copy": True}, {"obs": "features"}, {"obs": "onehot"}):
        vec = vec_of(**options)
        vec.reset(seed=0)
        vec.step(np.zeros((3, 4), int))
        buffers = vec.game._arrays.buffers
        assert len(buffers.boards) in {0, 3}
        assert len(buffers.players) == 3


@pytest.mark.parametrize("options", [{"frames": 0}, {"observe": False}])
def test_a_batch_without_boards_or_observations_lends_what_it_shows(options):
    game = VecGame(vec_of().config, 3, **options)
    game.reset(0)
    for _ in range(5):
        held = game.lend()
        assert all(map(np.array_equal, held, game.observations))
        before = held.players.copy()
        game.step(np.full((3, 4, 2), 1))
        assert np.array_equal(held.players, before)


def test_a_batch_that_begins_to_lend_lets_go_of_the_buffers_it_had():
    for autoreset in ("same_step", "disabled"):
        game = VecGame(vec_of().config, 3, autoreset=autoreset)
        game.reset(0)
        game.step()
        before = weakref.ref(game._arrays.buffers.boards)
        shown = game.observations.planes.copy()
        assert np.array_equal(game.lend().planes, shown)
        assert np.array_equal(game.observations.planes, shown)
        game.step()
        gc.collect()
        assert before() is None


def test_an_environment_that_lends_is_gone_as_soon_as_nobody_holds_it():
    vec = vec_of()
    vec.reset(seed=0)
    vec.step(np.zeros((3, 4), int))
    refs = weakref.ref(vec), weakref.ref(vec.game), weakref.ref(vec.game._arrays.buffers.boards)
    gc.collect()
    gc.disable()
    try:
        del vec
        assert [one() for one in refs] == [None] * 3
    finally:
        gc.enable()


def test_a_lent_array_is_held_as_long_as_anything_refers_to_it_or_to_a_view_of_it():
    lent = LentArray(np.arange(4.0).reshape(2, 2))
    assert not lent.is_held
    table, again = lent.lend(), lent.lend()
    assert lent.is_held
    assert lent.is_held  # asking holds nothing
    column, row = table[:, 1], memoryview(table[1])
    del table, again
    assert lent.is_held
    assert column.tolist() == [1, 3]
    del column
    assert lent.is_held
    assert list(row) == [2, 3]
    del row
    assert not lent.is_held
    assert lent.lend().tolist() == [[0, 1], [2, 3]]


def bits_of(*allowed):
    """Return the masks of the engine for two seats of one game; each of ``allowed`` is a byte."""
    return np.array([[[byte] for byte in allowed]], np.uint8)


def test_masks_are_written_where_none_are_held_and_new_ones_where_all_are():
    form, games, seats = DiscreteFormat(2), np.zeros(2, np.int64), np.array([1, 2])
    lent = LentMasks(form, 2, 2)
    shown = [bits_of(1, 1), bits_of(3, 1), bits_of(7, 5), bits_of(1, 3), bits_of(5, 1), bits_of(3, 7)]
    held = [lent.lend(bits, games, seats) for bits in shown]
    for bits, masks in zip(shown, held, strict=True):
        assert np.array_equal(masks, form.masks(bits, games, seats))
        assert not masks.flags.writeable
    assert not any(np.shares_memory(*both) for both in itertools.combinations(held, 2))
    lent_ones = [masks for masks in held if masks.base is not None]
    assert len(lent_ones) == NUM_SETS - 1
    where = lent_ones[1].ctypes.data
    lent_ones.clear()
    del held[1], masks
    assert lent.lend(shown[0], games, seats).ctypes.data == where
