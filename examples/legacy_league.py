"""A league on RLlib's old API stack, with 32 frozen copies.

This is the configuration with which people run out of memory: 65 policies, ``policies_to_train=["p0"]``,
batches of 64 and minibatches of 16, two runners, 256 x 256 cells and 32 players. What differs is what
surrounds it: the observations are packed boards, the bots own neither model nor dummy batch, and the frozen
copies share one memory-mapped copy of each snapshot. docs/old_api_stack.md explains it, and how to move on.

    python examples/legacy_league.py --iterations 2 --policy-map-capacity 32
"""

import argparse
import random
import tempfile
import time

import numpy as np
import ray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.policy.policy import PolicySpec

from rllib_adapters import Bot
from rllib_adapters.league.old_stack import BotPolicy, LeanPPOPolicy
from rllib_adapters.legacy import BoardModel, BoardSnapshotPolicy, ByteRecord, LegacyEnv
from rllib_adapters.modules.board import ReferenceModule, settings_of
from rllib_adapters.modules.frozen_pool import pool_settings
from territorial import GameConfig
from territorial.league import SnapshotStore
from territorial.memory.measure import measure
from territorial.observation.layout import ObsLayout

NUM_BOTS = NUM_FROZEN = 32
FIRST = "first"


class Expander(Bot):
    """A custom bot: takes neutral land while there is some, then saves, then attacks."""

    def __init__(self, layout: ObsLayout, boldness: float) -> None:
        self.record, self.num_owners, self.boldness = ByteRecord(layout), layout.num_players + 2, boldness

    def act(self, seen, random):
        """Return actions, (N, 2)."""
        mask = self.record.arrays(seen)["action_mask"]
        actions = np.zeros((len(seen), 2), np.int64)
        for i, legal in enumerate(mask[:, : self.num_owners]):
            others = np.flatnonzero(legal[2:]) + 2
            if legal[1] and random.random() < self.boldness:
                actions[i] = 1, 3
            elif len(others) and random.random() < self.boldness / 4:
                actions[i] = random.choice(others), 5
        return actions


def opponent_or_p0(agent_id, episode, worker, **_):
    """Return the policy that plays an agent: the first seat learns, the rest are drawn at random."""
    if agent_id == "player_0":
        return "p0"
    draw = random.Random(f"{episode.episode_id} {agent_id}").randrange(NUM_BOTS + NUM_FROZEN)
    return f"bot_{draw}" if draw < NUM_BOTS else f"frozen_{draw - NUM_BOTS}"


def make_config(game: GameConfig, folder: str, capacity: int, runners: int) -> PPOConfig:
    """Return the configuration, with a first snapshot of the untrained network in ``folder``."""
    env_config = {"config": game}
    settings = settings_of(env_config)
    store = SnapshotStore(folder)
    if FIRST not in store:
        weights = ReferenceModule.make_policy(settings).state_dict()
        arrays = {name: tensor.numpy() for name, tensor in weights.items()}
        store.add(FIRST, arrays, ReferenceModule.manifest(settings))
    pool = pool_settings(settings, store, [ReferenceModule])
    frozen = {"pool": pool, "snapshot": FIRST}
    policies = {"p0": PolicySpec(policy_class=LeanPPOPolicy)}
    for i in range(NUM_BOTS):
        bot = Expander(ObsLayout.from_dict(settings["layout"]), boldness=0.05 + 0.9 * i / NUM_BOTS)
        policies[f"bot_{i}"] = PolicySpec(policy_class=BotPolicy, config={"bot": bot})
    for i in range(NUM_FROZEN):
        policies[f"frozen_{i}"] = PolicySpec(policy_class=BoardSnapshotPolicy, config=frozen)
    return (
        PPOConfig()
        .api_stack(enable_rl_module_and_learner=False, enable_env_runner_and_connector_v2=False)
        .environment(LegacyEnv, env_config=env_config)
        .env_runners(num_env_runners=runners, rollout_fragment_length="auto")
        .training(
            train_batch_size=64,
            minibatch_size=16,
            num_epochs=2,
            model={"custom_model": BoardModel, "custom_model_config": settings},
        )
        .multi_agent(
            policies=policies,
            policy_mapping_fn=opponent_or_p0,
            policies_to_train=["p0"],
            policy_map_capacity=capacity,
        )
    )


def memory_of_all() -> float:
    """Return the megabytes of this process and all it started, pages that they share counted once."""
    return measure().total / 2**20


def main() -> None:
    """Build, train, and say what it took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default, meaning in (
        ("iterations", 2, "training iterations of the run"),
        ("policy-map-capacity", 100, "RLlib's policy_map_capacity, policies kept in memory"),
        ("env-runners", 2, "processes that collect samples"),
        ("side", 256, "rows and columns of a square map, in cells"),
        ("num-players", 32, "seats of the game, P"),
    ):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{meaning} (default %(default)s)")
    options = parser.parse_args()
    game = GameConfig(height=options.side, width=options.side, num_players=options.num_players)
    ray.init(num_cpus=options.env_runners + 1, object_store_memory=400_000_000, include_dashboard=False)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        algorithm = make_config(game, folder, options.policy_map_capacity, options.env_runners).build_algo()
        print(f"built in {time.perf_counter() - start:.0f} s: {memory_of_all():,.0f} MB over all processes")
        for i in range(options.iterations):
            start = time.perf_counter()
            result = algorithm.train()
            steps = result["num_env_steps_sampled_this_iter"]
            seconds = time.perf_counter() - start
            print(f"iteration {i + 1}: {steps} steps in {seconds:.1f} s, {memory_of_all():,.0f} MB")
        algorithm.stop()
    ray.shutdown()


if __name__ == "__main__":
    main()
