"""RLlib's own env runner and algorithms for leagues of any environment."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from ray.rllib.algorithms.appo import APPO, APPOConfig
from ray.rllib.algorithms.impala import IMPALA, IMPALAConfig
from ray.rllib.algorithms.ppo import PPO, PPOConfig
from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.env.env_runner import ENV_STEP_FAILURE
from ray.rllib.env.multi_agent_episode import MultiAgentEpisode
from ray.rllib.utils.debug import update_global_seed_if_necessary

from rllib_adapters.league.algorithm import LeagueAlgorithm, LeagueAlgorithmConfig, check_targets
from rllib_adapters.league.connectors import shorten_to_agents, shorten_to_modules
from rllib_adapters.league.learners import (
    LeagueAPPOLearner,
    LeagueIMPALALearner,
    LeagueLearner,
    LeaguePPOLearner,
)
from rllib_adapters.league.line_up import LEARNS, MODULES, SEATS, Ended, Seating
from rllib_adapters.league.pool import PLAYERS, pools_of
from rllib_adapters.league.runner import MOST, LeagueEnvRunner, drop_agents
from territorial.evaluation.outcome import Outcome
from territorial.league import Group, LineUpDistribution, Player
from territorial.league.seating import LineUps


class AnyEnvRunner(LeagueEnvRunner):
    """Plays any ``MultiAgentEnv`` as RLlib's own runner does, each episode with players drawn for it.

    Episodes that it returns have no agents but those that are learned from: neither frozen ones nor, where a
    game is one learner's own, those of other learners.
    """

    def __init__(self, config: Any, **kwargs: Any) -> None:
        self._outcomes: deque[Outcome | ValueError] = deque(maxlen=MOST)
        # By episode, what its agents were rewarded, and their last infos.
        self._told: dict[str, tuple[Counter[Any], dict[Any, Any]]] = {}
        seed = None if config.seed is None else [abs(int(config.seed)), kwargs.get("worker_index", 0)]
        self._random = np.random.default_rng(seed)
        super().__init__(config=config, **kwargs)

    def _new_episode(self, env_index: int, episodes: Any = None) -> None:
        """Draw who plays a new episode; extends ``MultiAgentEnvRunner._new_episode``."""
        super()._new_episode(env_index, episodes)
        episode = (self._ongoing_episodes if episodes is None else episodes)[env_index]
        episode.custom_data.update(self.config.seating.draw(self.config.table, self._random))

    def _try_env_step(self, actions: Any) -> Any:
        """Add up what agents are rewarded; extends ``EnvRunner._try_env_step``.

        Pieces of episodes lack it for agents that see nothing in them, and before an agent sees anything.
        """
        results = super()._try_env_step(actions)
        if results != ENV_STEP_FAILURE:
            for episode, rewards, infos in zip(self._ongoing_episodes, results[1], results[4], strict=True):
                returns, last_infos = self._told.setdefault(episode.id_, (Counter(), {}))
                last_infos.update(infos)
                if episode.is_reset:  # else these are what the reset of its environment returned
                    returns.update(rewards)
        return results

    def _sample(self, **kwargs: Any) -> list[MultiAgentEpisode]:
        """Return the episodes of a sample; overrides ``MultiAgentEnvRunner._sample``."""
        self._num_steps, self._by_agent, self._by_module = 0, Counter[str](), Counter[str]()
        episodes: list[MultiAgentEpisode] = super()._sample(**kwargs)
        num_ended = sum(episode.is_done for episode in episodes)
        self.log_steps(self._num_steps, num_ended, self._by_agent, self._by_module)
        for episode in episodes:
            if episode.is_done:
                self._count(episode)
        ongoing = {episode.id_ for episode in self._ongoing_episodes if episode is not None}
        self._told = {name: told for name, told in self._told.items() if name in ongoing}
        for episode in episodes:
            learns = episode.custom_data[LEARNS]
            drop_agents([episode], lambda own, learns=learns: own.agent_id not in learns)
        return self.as_configured(episodes)

    def _increase_sampled_metrics(self, num_steps: int, next_obs: Mapping[Any, Any], episode: Any) -> int:
        """Count what RLlib's own, which it overrides, logs step by step and agent by agent."""
        self._num_steps += num_steps
        self._by_agent.update(map(str, next_obs))
        self._by_module.update(map(episode.module_for, next_obs))
        return num_steps

    def _count(self, episode: Any) -> None:
        """Keep the outcome of an episode that has ended."""
        returns, infos = self._told[episode.id_]
        seating, players = self.config.seating, episode.custom_data[SEATS]
        ended = Ended(dict(returns), infos, episode.env_t, episode.is_truncated, seating.seats)
        outcome: Outcome | ValueError | None
        try:
            outcome = seating.outcome_of(players, ended)
        except Exception as error:  # the algorithm raises it: RLlib passes over errors in other processes
            outcome = ValueError(f"outcome of episode {episode.id_}: {type(error).__name__}: {error}")
        if outcome is not None:
            self._outcomes.append(outcome)

    def play(self, seats: Sequence[Player], seed: int) -> Outcome | None:
        """Return how a game of these players ends, None: it does not count; games before it change nothing.

        Python, numpy, PyTorch and the environment are seeded, and stay so.
        """
        groups = [Group(1, {player: 1.0}) for player in seats]
        self.config.set_table(LineUpDistribution(groups))
        for name, pool in self.pools().items():  # opened before seeding, as to build networks draws numbers
            own = {
                player.name
                for player, its in zip(seats, self.config.seating.pools, strict=True)
                if its == name and player.kind == "snapshot"
            }
            pool.opponents.keep(own, pool.opponents.names)
        self._seed = seed
        update_global_seed_if_necessary(seed=seed)
        torch.manual_seed(seed)
        for pool in self.pools().values():
            pool.draw_anew()
        self.sample(num_episodes=1)
        self.get_metrics()  # else it keeps the episode
        ended = next(iter(self.take_outcomes()), None)
        if isinstance(ended, ValueError):
            raise ended
        return ended

    def take_outcomes(self) -> list[Outcome | ValueError]:
        """Return how games ended since the last call, and forget them; an error where it is not known."""
        taken = list(self._outcomes)
        self._outcomes.clear()
        return taken

    def playing(self) -> Mapping[str, set[str]]:
        """Return the snapshots that act in the present games, by the pool that plays them."""
        found: dict[str, set[str]] = {}
        for episode in self._ongoing_episodes:
            data = {} if episode is None else episode.custom_data
            for agent, player in data.get(PLAYERS, {}).items():
                kind, _, name = player.partition(":")
                if kind == "snapshot":
                    found.setdefault(data[MODULES][agent], set()).add(name)
        return found


class AnyEnvConfig(LeagueAlgorithmConfig):
    """The part that configurations for leagues of any environment share; ``add_league`` makes one.

    Attributes:
        table: what draws the players of games.
        seating: the seats of games.
        spaces: by module, pools among them, the spaces of observations and actions of its agents.
        capacity: snapshots that the league keeps.
        module_weights: by module, the names of the weights that snapshots have.

    """

    runners, learner_base = (AnyEnvRunner,), LeagueLearner

    def __init__(self, algo_class: type | None = None) -> None:
        super().__init__(algo_class=algo_class)
        self.table: LineUps | None = None
        self.seating: Seating | None = None
        self.spaces: dict[str, tuple[Any, Any]] = {}
        self.capacity = 0
        self.module_weights: dict[str, tuple[str, ...]] = {}

    def set_table(self, table: LineUps) -> None:
        """Play by ``table``; in place, as an algorithm's configuration is frozen.

        ValueError for one of other games, and for learners and bots that ``add_league`` was not given.
        """
        assert self.seating is not None
        table.check_players(len(self.seating.seats))
        bots = next(iter(pools_of(self).values())).model_config["bots"]
        drawn = [(name, self.module_weights) for name in table.names("trainable")]
        drawn += [(name, bots) for name in table.names("bot")]
        for name, known in drawn:
            if name not in known:
                there_are = ", ".join(known) or "none"
                raise ValueError(f"the league draws {name!r}; add_league was given {there_are}")
        self.__dict__["table"] = table

    def validate(self) -> None:
        """Raise ValueError, too, for several learner processes; called by RLlib."""
        super().validate()
        if self.num_learners > 1:
            raise ValueError(
                f"num_learners is {self.num_learners}; it must be 0 or 1. RLlib divides the episodes of a "
                "batch among learner processes, and one that gets none of a module has no gradients of it"
            )

    def build_env_to_module_connector(self, *args: Any, **kwargs: Any) -> Any:
        """Return RLlib's pipeline, shortened; ValueError for connectors with a state; called by RLlib."""
        pipeline = super().build_env_to_module_connector(*args, **kwargs)
        for connector in pipeline.connectors:
            if type(connector).get_state is not ConnectorV2.get_state:
                raise ValueError(
                    f"the connector {type(connector).__name__} has a state; snapshots would see what its "
                    "present state makes of observations, and not what they saw when they were frozen"
                )
        specs, mapping = self.rl_module_spec.rl_module_specs, self.policy_mapping_fn
        shorten_to_modules(pipeline, rl_module_specs=specs, agent_to_module_mapping_fn=mapping)
        return pipeline

    def build_module_to_env_connector(self, *args: Any, **kwargs: Any) -> Any:
        """Return RLlib's pipeline, shortened; called by RLlib."""
        pipeline = super().build_module_to_env_connector(*args, **kwargs)
        shorten_to_agents(pipeline, [actions for _, actions in self.spaces.values()])
        return pipeline


class LeaguePPO(LeagueAlgorithm, PPO):
    """PPO that plays a league of any environment."""


class LeagueIMPALA(LeagueAlgorithm, IMPALA):
    """IMPALA that plays a league of any environment."""


class LeagueAPPO(LeagueAlgorithm, APPO):
    """Asynchronous PPO that plays a league of any environment."""


class LeaguePPOConfig(AnyEnvConfig, PPOConfig):
    """The configuration of ``LeaguePPO``."""

    algorithm, learner = LeaguePPO, LeaguePPOLearner


class LeagueIMPALAConfig(AnyEnvConfig, IMPALAConfig):
    """The configuration of ``LeagueIMPALA``."""

    algorithm, learner = LeagueIMPALA, LeagueIMPALALearner


class LeagueAPPOConfig(AnyEnvConfig, APPOConfig):
    """The configuration of ``LeagueAPPO``."""

    algorithm, learner = LeagueAPPO, LeagueAPPOLearner

    def validate(self) -> None:
        """Raise ValueError, too, for modules without a target; called by RLlib."""
        super().validate()
        check_targets(self)


CONFIGS: dict[type, type[LeagueAlgorithmConfig]] = {
    PPOConfig: LeaguePPOConfig,
    IMPALAConfig: LeagueIMPALAConfig,
    APPOConfig: LeagueAPPOConfig,
}
"""The configurations for any environment by those of RLlib that they extend."""
