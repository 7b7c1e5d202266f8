"""What an algorithm takes up again after it was saved."""

import json
import os
import subprocess
import sys

import pytest

from rllib_adapters.envs.agent_names import MAIN
from rllib_adapters.league.control import freeze, league_of, set_league
from tests.rllib.support import LEAGUE, Patient, fill, league, small_config

pytestmark = [pytest.mark.release, pytest.mark.usefixtures("running_ray")]

GOES_ON = """
import json, sys
from ray.rllib.algorithms.algorithm import Algorithm
from rllib_adapters.envs.agent_names import MAIN, POOL
from rllib_adapters.league.control import league_of
from tests.rllib.support import start_ray

start_ray()
algorithm = Algorithm.from_checkpoint(sys.argv[1])
env = algorithm.env_runner.env.envs[0].unwrapped
found = {"league": league_of(algorithm).to_dict(), "in the environment": env.league.to_dict()}
weights = algorithm.learner_group.get_weights([MAIN])[MAIN]
found["sums"] = {name: float(array.sum()) for name, array in weights.items()}
acting = algorithm.env_runner.module[MAIN].get_state()
found["acting"] = {name: float(array.sum()) for name, array in acting.items()}
found["bots"] = [
    player.bot.made_with for group in env.league.groups for player in group.players if player.bot
]
algorithm.train()
found["iteration"] = algorithm.training_iteration
found["played"] = sorted({name for name, _ in algorithm.env_runner.module[POOL].opponents._open})
algorithm.stop()
print(json.dumps(found))
"""


@pytest.mark.verify
def test_a_new_process_goes_on_with_weights_and_league(ends, tmp_path):
    store = fill(tmp_path / "store")
    algorithm = ends(small_config(store).build_algo())
    algorithm.train()
    freeze(algorithm, store, "third")
    table = league("snapshot:third", Patient(made_with=7))
    set_league(algorithm, table)
    weights = algorithm.learner_group.get_weights([MAIN])[MAIN]
    sums = {name: float(array.sum()) for name, array in weights.items()}
    path = algorithm.save_to_path(str(tmp_path / "checkpoint"))
    algorithm.stop()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
    environment.pop("RAY_ADDRESS", None)
    ended = subprocess.run(
        [sys.executable, "-c", GOES_ON, path], stdout=subprocess.PIPE, text=True, env=environment, check=True
    )
    found = json.loads(ended.stdout.splitlines()[-1])
    wanted = json.loads(json.dumps(table.to_dict()))
    assert found["league"] == found["in the environment"] == wanted
    assert found["sums"] == sums
    assert found["acting"] == {name: found["sums"][name] for name in found["acting"]}
    assert found["acting"]
    assert found["iteration"] == 2
    assert found["played"] == ["third"]
    assert found["bots"] == [7]


def test_a_league_that_does_not_fit_changes_nothing(ends, tmp_path):
    store = fill(tmp_path / "store")
    algorithm = ends(small_config(store, env={"league": league("bot:banker")}).build_algo())
    with pytest.raises(Exception, match=r"seat .* of the new league may be a"):
        set_league(algorithm, LEAGUE)
    assert league_of(algorithm).to_dict() == league("bot:banker").to_dict()
