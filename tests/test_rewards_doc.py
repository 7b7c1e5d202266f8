"""The page on rewards does what it says: its Python runs, and its parts are those there are."""

import re
from pathlib import Path

import pytest

from territorial import GameConfig, VecGame
from territorial.config.rewards import PARTS, TEAM_PARTS, ZERO_SUM
from territorial.envs.custom_rewards import PreviousState

PAGE = (Path(__file__).parents[1] / "docs" / "rewards.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("source", BLOCKS, ids=["weights", "sharing", "function"])
def test_python_on_the_page_runs(source):
    exec(compile(source, "rewards.md", "exec"), {"__name__": "rewards"})


def test_the_parts_on_the_page_are_those_there_are():
    assert re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE, re.MULTILINE) == [
        tuple(part) for part in (*PARTS, *TEAM_PARTS)
    ]
    assert f"`{ZERO_SUM}`" in PAGE


def test_the_arrays_that_functions_are_said_to_get_are_there():
    named = re.search(r"lists them all: (.*?), and the sums", PAGE, re.DOTALL)
    game = VecGame(GameConfig(height=32, width=32, num_players=2), 1)
    previous = PreviousState(game.blocks)
    for name in re.findall(r"`(\w+)`", named.group(1)):
        assert getattr(previous, name).shape == getattr(game.state, name).shape
    assert not {"planes", "bordering", "memory"} & set(dir(previous))
