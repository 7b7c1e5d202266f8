"""docs/rllib.md: an exploiter plays main as it is now, and main learns nothing from these games."""

import re
from pathlib import Path

import numpy as np
import pytest
from ray.rllib.algorithms.ppo import PPOConfig

from rllib_adapters import configure, freeze, set_league
from rllib_adapters.league.control import weights_of
from territorial import GameConfig
from territorial.league import Group, LeagueTable, SnapshotStore
from tests.rllib.test_engine_seats import in_engine

PAGE = Path(__file__).parents[2] / "docs/rllib.md"


@pytest.mark.checkout
@pytest.mark.usefixtures("running_ray")
def test_main_and_exploiter_take_turns_and_the_exploiter_meets_main_as_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    (block,) = [block for block in blocks if "def take_turns" in block]
    parts = PPOConfig, freeze, set_league, GameConfig, Group, LeagueTable
    names = {"configure": configure, **{part.__name__: part for part in parts}}
    exec(compile(block, str(PAGE), "exec"), names)
    algorithm, store = names["match"], SnapshotStore("matches")

    def weights():
        return {name: weights_of(algorithm, name) for name in ("main", "exploiter")}

    def stayed(name, before):
        return all(np.array_equal(part, before[name][key]) for key, part in weights()[name].items())

    before = weights()
    try:
        for i in range(1, 4):
            algorithm.train()
            who = "main" if i % 2 else "exploiter"
            assert (stayed("main", before), stayed("exploiter", before)) == (who != "main", who == "main")
            before = weights()
            assert store.names() == [f"main-{i}"]
            for key, part in store.load(f"main-{i}").items():
                np.testing.assert_array_equal(part, before["main"][key])
            seats = set().union(*(view.next_players[2:] for view in algorithm.env_runner.env.envs))
            exploits = {f"snapshot:main-{i}"}
            assert {str(player) for player in seats} <= (exploits if i % 2 else {*exploits, "bot:novice"})
        assert in_engine(algorithm.env_runner.env.game, 0) <= {"main-2", "main-3"}
    finally:
        algorithm.stop()
