"""DQN with Tianshou: one shared network for agents that take turns.

pip install tianshou
python examples/with_tianshou.py
"""

from collections.abc import Callable
from typing import Any

from tianshou.algorithm.modelfree.dqn import DQN, DiscreteQLearningPolicy
from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

import territorial

GAME = {"height": 24, "width": 24, "num_players": 4, "max_ticks": 400, "obs": "features"}
OPTIONS = {"action_mask": "obs", "agent_death": "keep"}  # what Tianshou wants


def make_env() -> Any:
    """Return a small game."""
    return territorial.env(**GAME, **OPTIONS)


def train(make: Callable[[], Any] = make_env, steps: int = 1024) -> None:
    """Train for so many steps of the environment that ``make`` returns."""
    env = PettingZooEnv(make())
    turns = steps * len(env.agents)
    algorithm = MultiAgentOffPolicyAlgorithm(algorithms=learners(env), env=env)
    collector = Collector(
        algorithm, DummyVectorEnv([lambda: env]), VectorReplayBuffer(turns, 1), exploration_noise=True
    )
    algorithm.run_training(
        OffPolicyTrainerParams(
            training_collector=collector,
            max_epochs=1,
            epoch_num_steps=turns,
            collection_step_num_env_steps=128,
            update_step_num_gradient_steps_per_sample=0.05,
            batch_size=64,
            multi_agent_return_reduction=lambda returns: returns.mean(axis=1),
            verbose=False,
            show_progress=False,
        )
    )


def learners(env: PettingZooEnv) -> list[DQN]:
    """Return one learner for each agent; they share a network, which sees the agent as its own."""
    seen = env.observation_space
    space = seen["observation"] if "action_mask" in getattr(seen, "spaces", {}) else seen
    network = Net(state_shape=space.shape, action_shape=env.action_space.n, hidden_sizes=[64, 64])
    policy = DiscreteQLearningPolicy(model=network, action_space=env.action_space, eps_training=0.1)
    return [
        DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), target_update_freq=200) for _ in env.agents
    ]


if __name__ == "__main__":
    train()
