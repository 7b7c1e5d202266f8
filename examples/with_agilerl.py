"""IPPO with AgileRL: agents with a common name prefix share a network.

pip install agilerl
python examples/with_agilerl.py
"""

from collections.abc import Callable
from typing import Any

from agilerl.algorithms import IPPO
from agilerl.training.train_multi_agent_on_policy import train_multi_agent_on_policy
from agilerl.vector import PzDummyVecEnv
from pettingzoo.utils.wrappers import BaseParallelWrapper

import territorial

GAME = {"height": 24, "width": 24, "num_players": 4, "max_ticks": 400, "obs": "features"}
OPTIONS = {"action_mask": "info", "agent_death": "keep"}  # what AgileRL wants


def make_env() -> Any:
    """Return a small game."""
    return territorial.parallel_env(**GAME, **OPTIONS)


class MasksAsLists(BaseParallelWrapper):
    """Turns masks in infos into lists: AgileRL 2.58 looks for None among them, which fails with arrays."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Begin a game."""
        observations, infos = self.env.reset(seed=seed, options=options)
        return observations, _with_lists(infos)

    def step(self, actions: dict[str, Any]) -> Any:
        """Play one step."""
        *results, infos = self.env.step(actions)
        return *results, _with_lists(infos)


def _with_lists(infos: dict[str, Any]) -> dict[str, Any]:
    """Return the same infos with lists for masks, where there are masks."""
    name = "action_mask"
    return {
        agent: info | ({name: info[name].tolist()} if name in info else {}) for agent, info in infos.items()
    }


def train(make: Callable[[], Any] = make_env, steps: int = 1024) -> None:
    """Train for so many steps of the environment that ``make`` returns."""
    game = MasksAsLists(make())
    agents = game.possible_agents
    learner = IPPO(
        observation_spaces=[game.observation_space(agent) for agent in agents],
        action_spaces=[game.action_space(agent) for agent in agents],
        agent_ids=agents,
        learn_step=256,
        batch_size=64,
    )
    train_multi_agent_on_policy(
        PzDummyVecEnv(game),
        env_name="territorial_v0",
        algo="IPPO",
        pop=[learner],
        sum_scores=False,
        max_steps=steps,
        evo_steps=min(steps, 512),
        eval_steps=40,
        verbose=False,
    )


if __name__ == "__main__":
    train()
