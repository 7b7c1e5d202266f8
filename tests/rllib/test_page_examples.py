"""Pages of docs on RLlib: what their blocks do."""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from ray.rllib.algorithms.ppo import PPOConfig

from territorial import GameConfig, make_vec, parallel_env

TEXT = "\n".join(
    page.read_text(encoding="utf-8")
    for page in sorted((Path(__file__).parents[2] / "docs").glob("rllib*.md"))
)


def run_block(text, names):
    """Run the block of the pages that has ``text``."""
    blocks = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    (block,) = [block for block in blocks if text in block]
    exec(compile(block, text, "exec"), names)


@pytest.mark.checkout
def test_games_of_main_and_of_the_exploiter_are_learned_from_by_one_of_them(ends, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"PPOConfig": PPOConfig, "GameConfig": GameConfig}
    run_block("own = configure_league", names)
    algorithm, seen = ends(names["match"]), Counter()
    for _ in range(6):
        algorithm.train()
        for episode in algorithm.env_runner.sample(num_episodes=2):
            (module,) = {own.module_id for own in episode.agent_episodes.values()}
            seen[module] += 1
    assert set(seen) == {"main", "exploiter"}


@pytest.mark.skipif(not TEXT, reason="the docs are not here")
def test_the_example_of_the_page_learns_and_plays_nothing_illegal(ends, running_ray):
    names = {"__name__": "page"}
    run_block("ActionMaskingTorchRLModule", names)
    algorithm = ends(names["masked"])
    assert algorithm.training_iteration == 1
    state = algorithm.env_runner.env.envs[0].unwrapped.par_env.game.state
    assert state.tick[0] > 0 == state.illegal.sum()


def parts(mask):
    """The masks of the parts of an action."""
    return mask if isinstance(mask, tuple) else (mask,)


@pytest.mark.parametrize("obs", ["features", "pooled", "onehot"])
@pytest.mark.parametrize("action_format", ["discrete", "multi_discrete"])
def test_the_key_is_that_of_rllib_and_masks_are_floats(obs, action_format):
    game = {"height": 32, "width": 32, "num_players": 3, "obs": obs, "action_format": action_format}
    named = parallel_env(**game, obs_key="observations")
    plain = parallel_env(**game)
    seen, _ = named.reset(seed=1)
    wanted, _ = plain.reset(seed=1)
    for agent in named.agents:
        assert named.observation_space(agent).contains(seen[agent])
        assert sorted(seen[agent]) == ["action_mask", "observations"]
        np.testing.assert_array_equal(seen[agent]["observations"], wanted[agent]["observation"])
        shown = [parts(one[agent]["action_mask"]) for one in (seen, wanted)]
        for mask, same in zip(*shown, strict=True):
            assert (mask.dtype, same.dtype) == (np.float32, np.int8)
            np.testing.assert_array_equal(mask, same)
    _, infos = parallel_env(**game, obs_key="observations", action_mask="info").reset(seed=1)
    assert parts(infos["player_0"]["action_mask"])[0].dtype == np.int8
    vec = make_vec(2, **game, obs_key="observations")
    seen, _ = vec.reset(seed=1)
    assert vec.single_observation_space["action_mask"].dtype == seen["action_mask"].dtype == np.float32
    bare, _ = parallel_env(**game, obs_key="observations", action_mask="none").reset(seed=1)
    assert isinstance(bare["player_0"], np.ndarray)
