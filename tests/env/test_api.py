"""What PettingZoo's own tests ask of an environment."""

import pettingzoo
import pytest
from pettingzoo.test import (
    parallel_api_test,
)

import territorial
from territorial import parallel_env
from tests.env.support import SMALL


def test_the_full_game_passes_the_parallel_api_test_without_a_warning(warned):
    tested = parallel_env(height=256, width=256, num_players=32)
    tested.action_space("player_0").seed(1)
    parallel_api_test(tested, num_cycles=100)
    assert not warned


def test_pettingzoo_can_make_it_by_name():
    if not hasattr(pettingzoo, "make"):
        pytest.skip(f"PettingZoo {pettingzoo.__version__} has no registry")
    made = pettingzoo.make("parallel", "territorial_v0", **SMALL, max_cycles=7)
    assert isinstance(made, territorial.TerritorialEnv)
    assert made.max_cycles == 7
    assert str(pettingzoo.make("aec", "territorial_v0", **SMALL).unwrapped) == "territorial_v0"
