"""Rewards as trainers get them: weights and a function of one's own, alike in all environments."""

import numpy as np
import pytest

import territorial
from tests.env.support import SMALL

SEATS = ("agent", "metronome", "agent", "banker")
WEIGHTS = {"land": 2, "kills": 0.5, "taken_zero_sum": 1}
NAMES = ("reward_land", "reward_kills", "reward_taken_zero_sum", "reward_own")


def troops_gained(previous, state, info):
    """What a user might write: troops gained, in thousands, and the land once more where the seat ends."""
    gained = (state.troops - previous.troops)[:, 1:] / 1000
    return gained + info["terminated"] * state.land[:, 1:] + 0 * info["rewards"]


def vec_with(function=troops_gained, num_envs=3, **changes):
    options = {"max_ticks": 400, "obs": "features", "rewards": WEIGHTS, "seats": SEATS, "reward_fn": function}
    return territorial.make_vec(num_envs, **(SMALL | options | changes))


def random_actions(vec, rng):
    masks = vec.action_masks()
    return np.where(masks == 1, rng.random(masks.shape), -1).argmax(-1)


@pytest.mark.parametrize("autoreset", ["same_step", "next_step"])
def test_a_function_sees_games_as_they_ended_and_what_it_gives_is_added(autoreset):
    vec = vec_with(autoreset=autoreset)
    _, info = vec.reset(seed=3)
    assert not any(info[name].any() for name in NAMES)
    rng, ended = np.random.default_rng(0), 0
    for _ in range(90):
        standing, before = vec.game.state.over.copy() != 0, vec.game.state.troops.copy()
        twin = territorial.VecGame(vec.config, 3, autoreset="disabled", frames=0)
        twin.reset()
        for k in range(3):
            twin.restore(k, vec.game.save(k))
        actions = random_actions(vec, rng)
        full = np.zeros((3, 4, 2), np.int64)
        full[:, [0, 2]] = territorial.actions.encoding.unflatten(actions)
        _, plain, ends, _, _ = twin.step(full * (twin.state.alive[:, 1:, None] != 0))
        was_alive = before[:, 1:] * 0 + (twin.state.death_tick[:, 1:] < 0) + ends
        _, rewards, _, _, info = vec.step(actions)
        own = (twin.state.troops - before)[:, 1:] / 1000 + ends * twin.state.land[:, 1:]
        own[standing] = 0
        own = np.where(was_alive != 0, own, 0).astype(np.float32)[:, [0, 2]]
        np.testing.assert_array_equal(info["reward_own"], own)
        np.testing.assert_allclose(rewards, plain[:, [0, 2]] + own, rtol=1e-6)
        weighted = sum(weight * info[f"reward_{name}"] for name, weight in WEIGHTS.items())
        np.testing.assert_allclose(rewards, weighted + own, atol=1e-5)
        ended += int(info["ended"].sum())
    assert ended >= 3


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (3, TypeError, "reward_fn is 3; it must be a function"),
        (
            lambda *_: np.zeros((3, 2)),
            ValueError,
            r"reward_fn returned float64 \(3, 2\); it must .* \(3, 4\)",
        ),
        (lambda *_: np.full((3, 4), np.nan), ValueError, "reward_fn returned nan for seat 1 of game 0"),
        (lambda *_: np.full((3, 4), "a"), ValueError, "reward_fn returned <U1"),
        (
            lambda previous, *_: previous.owner,
            AttributeError,
            "the state before the step has no field 'owner'; its",
        ),
    ],
)
def test_a_bad_function_is_an_error_that_says_what_is_wrong(function, error, message):
    def play():
        vec = vec_with(function)
        vec.reset(seed=0)
        vec.step(np.zeros((3, 2), int))

    with pytest.raises(error, match=message):
        play()
