"""Rewards: their parts, sums and weights."""

import numpy as np
import pytest

from territorial import GameConfig, VecGame
from territorial.config.rewards import DEFAULT, NAMES, checked_rewards
from tests.engine.support import board, game_on, random_actions, rows_of
from tests.episodes import begun

SMALL = GameConfig(height=24, width=24, num_players=5, max_ticks=900, map="lakes")
EVERYTHING = {name: 0.25 * (i + 1) for i, name in enumerate(NAMES)}


def test_the_reward_is_the_weighted_sum_of_its_parts():
    """What each part is worth is compared with the twin, in test_differential.py."""
    game = begun(VecGame(SMALL.replace(rewards=EVERYTHING), 3, seed=4, autoreset="disabled", observe=False))
    rng, seen = np.random.default_rng(0), dict.fromkeys(NAMES, 0)
    for _ in range(90):
        _, rewards, _, _, info = game.step(random_actions(game, rng, 0.7))
        total = sum(weight * info[f"reward_{name}"] for name, weight in EVERYTHING.items())
        np.testing.assert_allclose(rewards, total, atol=1e-5)
        for name in NAMES:
            seen[name] += np.count_nonzero(info[f"reward_{name}"])
    assert min(seen.values()) >= 1, seen


def test_the_default_is_land_and_placement_and_games_do_not_depend_on_it():
    default, other = (VecGame(config, 2, seed=1) for config in (SMALL, SMALL.replace(rewards={"kills": 1})))
    default.reset()
    _, rewards, _, _, info = default.step(hold=True)
    assert np.array_equal(rewards, (info["reward_land"] + info["reward_placement"]).astype(np.float32))
    assert SMALL.rewards == DEFAULT
    assert SMALL.hexdigest == other.config.hexdigest
    other.reset()
    other.restore(0, default.save(0))
    assert other.digest(0) == default.digest(0)


def test_whoever_took_most_of_the_dead_is_credited_and_equals_share():
    drawing = rows_of("11111333333322222", *["11111333333322222"] * 14, "#" * 17)
    config = {"rewards": {"kills": 1, "kills_zero_sum": 1}, "decision_every": 50, "death_divisor": 2}
    game = game_on(drawing, troops=[9000, 9000, 1], **config)
    launches = np.zeros((1, 3, 2), np.int64)
    launches[0, 0] = [
        4,
        9,
    ]  # the third seat is the second of the others to the first, the first to the second
    launches[0, 1] = [3, 9]
    _, rewards, terminated, _, info = game.step(launches)
    assert terminated[0].tolist() == [False, False, True], board(game)
    taken = game.state.taken[0]
    assert taken[1, 3] == taken[2, 3] > 0
    assert info["reward_kills"][0].tolist() == [0.5, 0.5, 0]
    np.testing.assert_allclose(info["reward_kills_zero_sum"][0], [1 / 6, 1 / 6, -1 / 3], atol=1e-6)
    assert rewards[0, 0] == pytest.approx(0.5 + 1 / 6)


def test_without_any_part_all_rewards_are_zero():
    game = begun(VecGame(SMALL.replace(rewards={}), 1, autoreset="disabled"))
    _, rewards, _, _, info = game.step(hold=True)
    assert not rewards.any()
    assert not [name for name in info if name.startswith("reward")]


@pytest.mark.parametrize(
    ("given", "weights"),
    [
        ({"kills": 2, "land": 1}, (("land", 1.0), ("kills", 2.0))),
        ("kills=2, land", (("land", 1.0), ("kills", 2.0))),
        ([["land_zero_sum", 0.5]], (("land_zero_sum", 0.5),)),
        ("", ()),
    ],
)
def test_weights_may_be_a_mapping_pairs_or_a_text(given, weights):
    config = GameConfig(rewards=given)
    assert config.rewards == weights == checked_rewards(weights)
    assert hash(config) == hash(GameConfig(rewards=weights))
