"""A league for an environment that is not of this package: connect four, by RLlib's own runner.

Needs the extra "rllib" and `pip install pygame-ce`. docs/your_environment.md goes through it.
"""

import argparse
import time

import numpy as np
import torch
from pettingzoo.classic import connect_four_v3
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule
from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
from ray.tune.registry import register_env

from rllib_adapters import Bot, add_league, evaluate, freeze
from territorial.league import Gate, League, LeagueConfig, Learner, Opponents


class Net(TorchRLModule, ValueFunctionAPI):
    """Two layers over the board; a column that is full is never played."""

    def setup(self):
        """Make the layers; called by RLlib."""
        width = self.model_config.get("width", 128)
        layers = torch.nn.Linear(84, width), torch.nn.ReLU(), torch.nn.Linear(width, width), torch.nn.ReLU()
        self.body = torch.nn.Sequential(torch.nn.Flatten(), *layers)
        self.columns, self.value = torch.nn.Linear(width, 7), torch.nn.Linear(width, 1)

    def _forward(self, batch, **_):
        seen = batch[Columns.OBS]
        logits = self.columns(self.body(seen["observation"].float()))
        return {Columns.ACTION_DIST_INPUTS: torch.where(seen["action_mask"] > 0, logits, -1e9)}

    def compute_values(self, batch, embeddings=None):
        """Return the values of rows, (N,); called by RLlib."""
        return self.value(self.body(batch[Columns.OBS]["observation"].float()))[:, 0]


class Centre(Bot):
    """A bot, without a policy or a model: rows of what is seen come in, actions go out."""

    def act(self, seen, random):
        """Return the columns of rows, (N,)."""
        likely = random.random((len(seen["action_mask"]), 7)) + 4 - abs(np.arange(7) - 3)
        return (seen["action_mask"] * likely).argmax(1)


class Chance(Bot):
    """A bot that plays any column with room."""

    def act(self, seen, random):
        """Return the columns of rows, (N,)."""
        return (seen["action_mask"] * random.random((len(seen["action_mask"]), 7))).argmax(1)


def main():
    """Train the league, and compare who has learned with who had not."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=15.0, help="of training at most")
    parser.add_argument("--games", type=int, default=400, help="of each comparison in the end")
    parser.add_argument("--runners", type=int, default=2)
    parser.add_argument("--store", default="runs/four", help="folder of the snapshots")
    given = parser.parse_args()
    register_env("four", lambda _: PettingZooEnv(connect_four_v3.env()))
    past = Opponents(seats=1, strategy="pfsp", among=("snapshots", "bots"))
    present = Opponents(seats=1, strategy="versus_main", among=("mains", "main_snapshots"))
    gate = Gate(beats=0.6, min_games=50, max_steps=20)
    best = Learner(name="main", opponents=(past,), gate=gate)
    rival = Learner(name="rival", role="main_exploiter", opponents=(present,), gate=gate)
    bots = {"centre": Centre(), "chance": Chance()}
    rules = LeagueConfig(
        env="four", num_players=2, learners=(best, rival), bots=tuple(bots), capacity=300, shuffle=True
    )
    config = PPOConfig().environment("four")
    config.env_runners(num_env_runners=given.runners, num_envs_per_env_runner=16)
    config.training(
        train_batch_size_per_learner=2000, minibatch_size=250, num_epochs=4, entropy_coeff=0.01, lr=5e-4
    )
    config = add_league(
        config,
        League(rules),
        given.store,
        modules={"main": Net, "rival": (Net, {"width": 64})},
        bots=bots,
    )
    algorithm = config.build_algo()
    end = time.monotonic() + 60 * given.minutes
    for i in range(given.iterations):
        print(i + 1, algorithm.train()["league"], flush=True)
        if time.monotonic() > end:
            break
    freeze(algorithm, given.store, "last", replace=True)
    print(algorithm.save(f"{given.store}-checkpoint").checkpoint.path)  # Algorithm.from_checkpoint resumes it
    algorithm.stop()
    for other in ("bot:chance", "bot:centre", "snapshot:main-0"):
        print(evaluate(config, ["snapshot:last", other], given.games).text())


if __name__ == "__main__":
    main()
