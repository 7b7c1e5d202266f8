"""``info["launches"]`` in all environments: what every seat launched in the step."""

from typing import Any

import gymnasium
import numpy as np
import pytest

import territorial

SEATS = ["agent", "random", "agent", "metronome"]
GAME: dict[str, Any] = {"height": 32, "width": 32, "num_players": 4, "max_ticks": 600}
OPTIONS: dict[str, Any] = {**GAME, "obs": "features", "launches": True}


@pytest.mark.parametrize(
    "reward_fn", [None, lambda _, state, info: np.zeros((len(state.tick), 4), np.float32)]
)
@pytest.mark.parametrize("autoreset", ["same_step", "next_step", "disabled"])
def test_make_vec_has_the_launches_of_the_engine(autoreset: str, reward_fn: Any) -> None:
    env = territorial.make_vec(3, seats=SEATS, autoreset=autoreset, reward_fn=reward_fn, **OPTIONS)
    plain = territorial.VecGame(
        territorial.GameConfig(**GAME), 3, seats=SEATS, seed=5, autoreset=autoreset, observe=False
    )
    rng = np.random.default_rng(0)
    _, info = env.reset(seed=5)
    plain.reset()
    assert (info["launches"].target == -1).all()
    ended = 0
    for _ in range(150):
        before, kept = info["launches"].target, info["launches"].target.tolist()
        flat = rng.integers(0, 51, (3, 2)) * (env.game.state.alive[:, [1, 3]] != 0)
        actions = np.zeros((3, 4, 2), np.int64)
        actions[:, [0, 2]] = territorial.observation.action_encoding.unflatten(flat)
        *_, info = env.step(flat)
        plain.step(actions)
        ended += int(info["is_over"].sum())
        assert before.tolist() == kept, "what a step returned is not overwritten"
        for found, expected in zip(info["launches"], plain.launches(), strict=True):
            assert (found.dtype, found.tolist()) == (expected.dtype, expected.tolist())
    assert ended > 0


def test_nothing_is_told_without_the_option() -> None:
    env = territorial.make_vec(1, seats=SEATS, obs="features", **GAME)
    assert "launches" not in env.reset(seed=0)[1]


def test_each_agent_of_a_parallel_env_sees_the_launches_of_its_game() -> None:
    env = territorial.parallel_env(seats=SEATS, **OPTIONS)
    _, infos = env.reset(seed=0)
    assert infos["player_0"]["launches"].target.tolist() == [-1] * 4
    for _ in range(30):
        *_, infos = env.step({"player_0": 10, "player_2": 0})
        target, fraction, legal = infos["player_2"]["launches"]
        assert target.shape == fraction.shape == legal.shape == (4,)
        assert (target[0], fraction[0], target[2], fraction[2]) == (0, 1024, -1, 0)
        assert target.tolist() == env.game.launches().target[0].tolist()


def test_gymnasium_has_them_as_a_dict_that_its_batches_join() -> None:

    many = gymnasium.make_vec("territorial/Territorial-v0", 4, seats=SEATS, **OPTIONS)
    many.reset(seed=0)
    *_, info = many.step(np.array([10, 0, 0, 10]))
    launches = info["launches"]
    assert launches["target"].shape == (4, 4)
    assert launches["target"][:, [0, 2]].tolist() == [[0, -1], [0, -1], [-1, 0], [-1, 0]]
    assert launches["_target"].all()
    assert info["_launches"].tolist() == [True] * 4
