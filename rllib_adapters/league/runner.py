"""``LeagueEnvRunner``: env runners that play by a league and tell how its games ended."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner
from ray.rllib.env.multi_agent_episode import MultiAgentEpisode
from ray.rllib.utils.metrics import (
    NUM_AGENT_STEPS_SAMPLED,
    NUM_AGENT_STEPS_SAMPLED_LIFETIME,
    NUM_ENV_STEPS_SAMPLED,
    NUM_ENV_STEPS_SAMPLED_LIFETIME,
    NUM_EPISODES,
    NUM_EPISODES_LIFETIME,
    NUM_MODULE_STEPS_SAMPLED,
    NUM_MODULE_STEPS_SAMPLED_LIFETIME,
)

from rllib_adapters.league.pool import PlayError, PoolModule
from territorial.evaluation.workers import cause
from territorial.league.store import SnapshotError
from territorial.memory.measure import give_back

MOST = 2_000
"""Outcomes that a runner or an environment keeps; older ones are dropped, where they are not read."""


class LeagueEnvRunner(MultiAgentEnvRunner):
    """Drops a sample that anything stopped half way, such as Ctrl-C or a bot that fails, and its games.

    Neither the games nor what was noted of them can be relied on then: it may have been stopped anywhere.

    A subclass has ``take_outcomes()``, which returns how games ended since the last call and forgets them, an
    error where it is not known; and ``playing()``, the snapshots that act in the present games, by the pool
    that plays them.
    """

    env: Any = None
    lasting: tuple[type[Exception], ...] = (PlayError, SnapshotError)
    _is_half = False

    def __init__(self, **kwargs: Any) -> None:
        self.failures: list[Exception] = []
        super().__init__(**kwargs)
        self.episodes_to_numpy = False  # else RLlib makes arrays of agents that are dropped, too

    def apply(self, func: Any, *args: Any, **kwargs: Any) -> Any:
        """Return what ``func`` makes of this runner; overrides ``FaultAwareApply.apply``.

        RLlib ends the process where it fails, and plays on in another without a word. Errors of ``lasting``
        classes, which would come there as well, are kept for the algorithm instead.
        """
        try:
            return func(self, *args, **kwargs)
        except Exception as error:
            if not self._keeps(error):
                return super().apply(partial(_fail, error))
            raise

    def _keeps(self, error: Exception) -> bool:
        """Return whether an error is for the algorithm, and keep it then."""
        is_kept = isinstance(error, self.lasting) and not self.config.ignore_env_runner_failures
        if is_kept:
            is_named = isinstance(error, (PlayError, SnapshotError))
            self.failures.append(error if is_named else PlayError(cause(error)))
        return is_kept

    def sample(self, *, force_reset: bool = False, **asked: Any) -> list[MultiAgentEpisode]:
        """Return the episodes of a sample, of new games if the last one did not come to its end."""
        was_half, self._is_half = self._is_half, True
        if was_half:
            self._replace_games()
        try:
            episodes: list[MultiAgentEpisode] = super().sample(force_reset=force_reset or was_half, **asked)
        except Exception as error:
            if self.worker_index:  # with Ray 2.55 asynchronous algorithms call it without apply()
                self._keeps(error)
            raise
        self._is_half = False
        give_back()  # the rows of the sample, which have been freed by now
        return episodes

    def as_configured(self, episodes: list[MultiAgentEpisode]) -> list[MultiAgentEpisode]:
        """Return what is left of episodes as arrays, or as lists if ``episodes_to_numpy`` is off."""
        return [episode.to_numpy() for episode in episodes] if self.config.episodes_to_numpy else episodes

    def _replace_games(self) -> None:
        """Make the games again, and begin with others; what was played of those in progress is lost."""
        self.make_env()

    def log_steps(
        self, steps: int, ended: int, by_agent: Mapping[str, int], by_module: Mapping[str, int]
    ) -> None:
        """Log the steps of a sample and the games that ended in it, as RLlib logs them one by one."""
        self.metrics.log_value(NUM_ENV_STEPS_SAMPLED, steps, reduce="sum")
        self.metrics.log_value(
            NUM_ENV_STEPS_SAMPLED_LIFETIME, steps, reduce="lifetime_sum", with_throughput=True
        )
        self.metrics.log_dict(
            {
                NUM_EPISODES: ended,
                NUM_AGENT_STEPS_SAMPLED: by_agent,
                NUM_MODULE_STEPS_SAMPLED: by_module,
            },
            reduce="sum",
        )
        self.metrics.log_dict(
            {
                NUM_EPISODES_LIFETIME: ended,
                NUM_AGENT_STEPS_SAMPLED_LIFETIME: by_agent,
                NUM_MODULE_STEPS_SAMPLED_LIFETIME: by_module,
            },
            reduce="lifetime_sum",
        )

    # ---- the league -------------------------------------------------------------------------------

    def take_failures(self) -> list[Exception]:
        """Return what players failed with since the last call, and forget it."""
        failures, self.failures = self.failures, []
        return failures

    def set_league(self, table: Any) -> None:
        """Let ``table`` draw the players from the next game on; release snapshots that it does not draw."""
        self.config.set_table(table)
        playing = {} if self.env is None or self._needs_initial_reset else self.playing()
        for name, pool in self.pools().items():
            pool.opponents.keep(playing.get(name, ()), table.names("snapshot"))

    def pools(self) -> dict[str, PoolModule]:
        """Return the modules that play frozen seats."""
        modules = {} if self.module is None else {name: own.unwrapped() for name, own in self.module.items()}
        return {name: own for name, own in modules.items() if isinstance(own, PoolModule)}

    def begin_new(self) -> None:
        """Begin with new games; those of before, and how they ended, are forgotten."""
        self.take_outcomes()
        self.failures.clear()
        self._needs_initial_reset = True
        for pool in self.pools().values():
            # A snapshot that is open may be replaced by another one of its name before it acts again.
            pool.opponents.close()


def _fail(error: Exception, _runner: Any) -> None:
    raise error


def drop_untrained(config: Any, episodes: list[Any]) -> list[Any]:
    """Return ``episodes``, changed in place, without the agents of modules that are not trained.

    Which modules are trained is up to ``config.multi_agent(policies_to_train=...)``.
    """
    return drop_agents(episodes, lambda own: not is_trained(config, own.module_id))


def drop_agents(episodes: list[Any], is_dropped: Any) -> list[Any]:
    """Return ``episodes``, changed in place, without the agents whose episodes ``is_dropped`` names."""
    for episode in episodes:
        for agent, own in list(episode.agent_episodes.items()):
            if is_dropped(own):
                del episode.agent_episodes[agent]
                episode.env_t_to_agent_t.pop(agent, None)
    return episodes


def is_trained(config: Any, module_id: str) -> bool:
    """Return whether ``config`` says that a module learns."""
    trained = config.policies_to_train
    if trained is None:
        return True
    return bool(trained(module_id, None)) if callable(trained) else module_id in trained
