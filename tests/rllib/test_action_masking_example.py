"""RLlib's own example of action masks: the module that comes with Ray plays our environment."""

import re
from pathlib import Path

import numpy as np
import pytest

import territorial

PAGE = Path(__file__).parents[2] / "docs/rllib.md"


@pytest.mark.skipif(not PAGE.exists(), reason=f"{PAGE} is not here")
def test_the_example_of_the_page_learns_and_plays_nothing_illegal(ends, running_ray):
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    (block,) = [block for block in blocks if "ActionMaskingTorchRLModule" in block]
    assert len(block.split("\n\n")[-1].splitlines()) <= 10
    names = {"__name__": "page"}
    exec(compile(block, str(PAGE), "exec"), names)
    algorithm = ends(names["masked"])
    assert algorithm.training_iteration == 1
    env = algorithm.env_runner.env.envs[0].unwrapped.par_env
    assert env.game.state.tick[0] > 0
    assert env.game.state.illegal.sum() == 0


def parts(mask):
    """The masks of the parts of an action."""
    return mask if isinstance(mask, tuple) else (mask,)


@pytest.mark.parametrize("obs", ["features", "pooled", "onehot"])
@pytest.mark.parametrize("action_format", ["discrete", "multi_discrete"])
def test_the_key_is_that_of_rllib_and_masks_are_floats(obs, action_format):
    game = {"height": 32, "width": 32, "num_players": 3, "obs": obs, "action_format": action_format}
    named = territorial.parallel_env(**game, obs_key="observations", action_mask="both")
    plain = territorial.parallel_env(**game, action_mask="both")
    seen, infos = named.reset(seed=1)
    wanted, _ = plain.reset(seed=1)
    for agent in named.agents:
        assert named.observation_space(agent).contains(seen[agent])
        assert sorted(seen[agent]) == ["action_mask", "observations"]
        np.testing.assert_array_equal(seen[agent]["observations"], wanted[agent]["observation"])
        shown = [parts(one[agent]["action_mask"]) for one in (seen, wanted, infos)]
        for mask, same, told in zip(*shown, strict=True):
            assert (mask.dtype, told.dtype) == (np.float32, np.int8)
            np.testing.assert_array_equal(mask, same)
    vec = territorial.make_vec(2, **game, obs_key="observations")
    seen, _ = vec.reset(seed=1)
    assert vec.single_observation_space["action_mask"].dtype == seen["action_mask"].dtype == np.float32
    bare, _ = territorial.parallel_env(**game, obs_key="observations", action_mask="none").reset(seed=1)
    assert isinstance(bare["player_0"], np.ndarray)


def test_forms_of_several_arrays_have_no_such_key():
    with pytest.raises(
        ValueError, match="obs_key is 'observations' and obs is 'packed'; this option works only"
    ):
        territorial.parallel_env(obs_key="observations")
    with pytest.raises(ValueError, match="obs_key is 'obs'; it must be 'observation' or 'observations'"):
        territorial.parallel_env(obs="features", obs_key="obs")
