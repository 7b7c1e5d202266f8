"""MAPPO with BenchMARL: a custom task around TorchRL's wrapper.

pip install benchmarl
python examples/with_benchmarl.py
"""

import tempfile
from collections.abc import Callable
from typing import Any

from benchmarl.algorithms import MappoConfig
from benchmarl.environments.common import TaskClass
from benchmarl.experiment import Experiment, ExperimentConfig
from benchmarl.models.mlp import MlpConfig
from torchrl.data import Composite
from torchrl.envs import EnvBase, PettingZooWrapper

import territorial

GAME = {"height": 24, "width": 24, "num_players": 4, "max_ticks": 400, "obs": "features"}
OPTIONS = {"action_mask": "obs", "agent_death": "keep"}  # what BenchMARL wants


class TerritorialTask(TaskClass):
    """A task of BenchMARL; ``config["make"]`` makes a PettingZoo parallel environment."""

    def get_env_fun(
        self, num_envs: int, continuous_actions: bool, seed: int | None, device: Any
    ) -> Callable[[], EnvBase]:
        """Return what makes the environment."""
        make = self.config["make"]
        return lambda: PettingZooWrapper(
            make(), categorical_actions=True, use_mask=False, seed=seed, device=device
        )

    def supports_continuous_actions(self) -> bool:
        """Return False: launches are numbers from a list."""
        return False

    def supports_discrete_actions(self) -> bool:
        """Return True."""
        return True

    def has_render(self, env: EnvBase) -> bool:
        """Return False: no pictures are logged."""
        return False

    def max_steps(self, env: EnvBase) -> int:
        """Return the most steps of an episode."""
        return 40

    def group_map(self, env: EnvBase) -> dict[str, list[str]]:
        """Return who shares a network: all players."""
        return dict(env.group_map)

    def observation_spec(self, env: EnvBase) -> Composite:
        """Return what networks see: the observation alone, without masks and infos."""
        return _only(env, "observation")

    def action_mask_spec(self, env: EnvBase) -> Composite | None:
        """Return where the masks are."""
        return _only(env, "action_mask")

    def info_spec(self, env: EnvBase) -> Composite | None:
        """Return what is logged besides."""
        return _only(env, "info")

    def state_spec(self, env: EnvBase) -> Composite | None:
        """Return None: critics see what all agents see."""
        return None

    def action_spec(self, env: EnvBase) -> Composite:
        """Return the actions."""
        return env.full_action_spec

    @staticmethod
    def env_name() -> str:
        """Return a name for logs."""
        return "territorial"


def _only(env: EnvBase, name: str) -> Composite | None:
    """Return the observations of every group that are called ``name``; None if there are none."""
    spec = env.observation_spec.clone()
    for group in env.group_map:
        for key in set(spec[group].keys()) - {name}:
            del spec[group][key]
        if spec[group].is_empty():
            return None
    return spec


def make_env() -> Any:
    """Return a small game."""
    return territorial.parallel_env(**GAME, **OPTIONS)


def train(make: Callable[[], Any] = make_env, steps: int = 1024) -> None:
    """Train for so many steps of the environment that ``make`` returns."""
    config = ExperimentConfig.get_from_yaml()
    config.on_policy_n_envs_per_worker = 1
    config.on_policy_collected_frames_per_batch = config.max_n_frames = steps
    config.on_policy_n_minibatch_iters, config.on_policy_minibatch_size = 2, 128
    config.evaluation = config.create_json = False
    config.loggers = []
    config.save_folder = tempfile.mkdtemp()
    task = TerritorialTask("GAME", {"make": make})
    Experiment(
        task=task,
        algorithm_config=MappoConfig.get_from_yaml(),
        model_config=MlpConfig.get_from_yaml(),
        critic_model_config=MlpConfig.get_from_yaml(),
        seed=0,
        config=config,
    ).run()


if __name__ == "__main__":
    train()
