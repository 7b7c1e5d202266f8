"""What an algorithm takes up again after it was saved, or after a runner was lost."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

ray = pytest.importorskip("ray", reason="Ray is not installed: the extra `rllib` has it")
pytest.importorskip("torch", reason="PyTorch is not installed: the extra `rllib` has it")

from ray.rllib.callbacks.callbacks import RLlibCallback  # noqa: E402 - only where ray is there

from rllib_adapters.envs.agent_names import MAIN  # noqa: E402
from rllib_adapters.league.control import freeze, league_of, set_league  # noqa: E402
from tests.rllib.support import LEAGUE, Patient, fill, league, small_config  # noqa: E402

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


class Mine(RLlibCallback):
    """Callbacks of the user's own."""


def tables_of(runner):
    """The league in force in each game of a runner, and what its bots in Python were made with."""
    tables = [env.unwrapped.league for env in runner.env.envs]
    return [(table.to_dict(), [bot.made_with for bot in bots_of(table)]) for table in tables]


def bots_of(table):
    return [player.bot for group in table.groups for player in group.players if player.bot is not None]


def test_a_new_process_goes_on_with_weights_and_league(tmp_path):
    store = fill(tmp_path / "store")
    algorithm = small_config(store).build_algo()
    try:
        algorithm.train()
        freeze(algorithm, store, "third")
        table = league("snapshot:third", Patient(made_with=7))
        set_league(algorithm, table)
        weights = algorithm.learner_group.get_weights([MAIN])[MAIN]
        sums = {name: float(array.sum()) for name, array in weights.items()}
        path = algorithm.save_to_path(str(tmp_path / "checkpoint"))
    finally:
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


def test_a_league_that_does_not_fit_changes_nothing(tmp_path):
    store = fill(tmp_path / "store")
    algorithm = small_config(store, env={"league": league("bot:banker")}).build_algo()
    try:
        with pytest.raises(Exception, match=r"seat .* of the new league may be a"):
            set_league(algorithm, LEAGUE)
        assert league_of(algorithm).to_dict() == league("bot:banker").to_dict()
    finally:
        algorithm.stop()


def test_a_runner_that_was_lost_comes_back_with_the_league_in_force(tmp_path):
    store = fill(tmp_path / "store")
    config = small_config(store)
    config.callbacks(Mine)
    config.env_runners(num_env_runners=1, rollout_fragment_length=12)
    config.fault_tolerance(restart_failed_env_runners=True, ignore_env_runner_failures=False)
    algorithm = config.build_algo()
    try:
        table = league("snapshot:second", Patient(made_with=5))
        set_league(algorithm, table)

        def leagues():
            return algorithm.env_runner_group.foreach_env_runner(tables_of, local_env_runner=False)

        (before,) = leagues()
        ray.kill(next(iter(algorithm.env_runner_group._worker_manager.actors().values())), no_restart=False)
        after = []
        for _ in range(120):
            algorithm.train()  # which looks whether the runner is there again
            if algorithm.env_runner_group.num_healthy_remote_workers() == 1 and (after := leagues()):
                break
            time.sleep(0.5)
        assert after == [before]
        assert before[0] == (table.to_dict(), [5])
        assert np.isfinite(algorithm.learner_group.get_weights([MAIN])[MAIN]["policy.value_head.bias"]).all()
    finally:
        algorithm.stop()
