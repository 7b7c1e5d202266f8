"""Env runners: the batched one and RLlib's own, adapted."""

from __future__ import annotations

import gc
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from ray.rllib.callbacks.callbacks import RLlibCallback
from ray.rllib.core.columns import Columns
from ray.rllib.env.env_context import EnvContext
from ray.rllib.env.env_errors import StepFailedRecreateEnvError
from ray.rllib.env.env_runner import NUM_ENV_STEP_FAILURES_LIFETIME
from ray.rllib.env.multi_agent_episode import MultiAgentEpisode
from ray.rllib.utils.metrics import RLMODULE_INFERENCE_TIMER
from torch import Tensor

from rllib_adapters import ray_private
from rllib_adapters.envs.batch import TerritorialBatchEnv
from rllib_adapters.envs.env_config import POOL, module_of
from rllib_adapters.envs.single import LEARNS
from rllib_adapters.league.runner import LeagueEnvRunner, drop_agents, drop_untrained
from rllib_adapters.learning.algorithm_config import check_config
from rllib_adapters.observations.connector import ModuleFrames, frames_for_runners
from rllib_adapters.sampling.rollout import (
    ACTIONS,
    ModuleOutputs,
    ObservationSource,
    Rollout,
    StepCounts,
    metrics_of,
)
from territorial._log import LOG
from territorial.evaluation.outcome import Outcome
from territorial.league.seating import LineUps
from territorial.nets.choice_kernels import draw_choices
from territorial.typing import Bools

Actions = dict[str, npt.NDArray[np.int64]]
"""Of all seats, (E, P, ...), by the form of observations of who acts."""

UNHEARD = ("on_episode_created", "on_episode_start", "on_episode_step")
"""Callbacks that this runner has nothing to call with: it makes episodes when a sample is complete."""


class SeatRunner(LeagueEnvRunner):
    """An env runner of this game: what both kinds do for a league."""

    lasting = (Exception,)  # the game itself never fails: bots do, and modules

    def games(self) -> list[Any]:
        """Return the games of this runner, which draw their players."""
        return [] if self.env is None else [env.unwrapped for env in self.env.envs]

    def take_outcomes(self) -> list[Outcome]:
        """Return how games ended since the last call, and forget them."""
        envs = [self.env] if hasattr(self.env, "outcomes") else self.games()
        taken = [game for env in envs for game in env.outcomes]
        for env in envs:
            env.outcomes.clear()
        return taken

    def set_league(self, table: LineUps) -> None:
        """Let ``table`` draw the players from the next game on; release snapshots that it does not draw."""
        for game in self.games():
            game.set_league(table)
        super().set_league(table)

    def playing(self) -> dict[str, frozenset[str]]:
        """Return the snapshots that act in the present games, by the pool that plays them."""
        return {POOL: frozenset[str]().union(*(game.snapshots for game in self.games()))}


class TerritorialEnvRunner(SeatRunner):
    """Plays ``TerritorialMultiAgentEnv`` as RLlib's own runner does, in a fraction of its time.

    Games, steps, episodes and the pieces they are cut into are those of RLlib's runner with the same seeds
    and actions. Observations, rewards and actions are arrays over all games until a sample is
    complete; its episodes are then made at once, of the agents alone that learn. Every module that learns is
    called once a step for all seats of all games; frozen seats act through the pool while they live.

    Connectors between environment and modules are not run, and the callbacks ``on_episode_created``,
    ``on_episode_start`` and ``on_episode_step`` not called: ValueError if there are any. ``on_episode_end``
    is called when the sample is complete, with the last piece of the episode. Modules must have no recurrent
    state, and each acts for those agents alone whose names say so. With ``restart_failed_sub_environments``
    all games of the process are replaced where a step failed, as with RLlib's runner; episodes that had ended
    before stay in the sample.

    Metrics beside RLlib's, of the episodes that ended, as means over learning seats: ``place`` (of
    those whose place is known), ``win_rate``, ``land``, ``steps``, and per episode ``illegal_launches``,
    ``raised_launches`` and ``bounced_launches``. Under ``players`` it is the same by the name of who learns.
    Wins and places by opponent follow from ``outcomes.outcomes_of``. Returns and lengths of single agents
    are not logged.

    """

    def __init__(self, config: Any, **kwargs: Any) -> None:
        check_config(config)
        self.check_hooks(config)
        super().__init__(config=config, **kwargs)
        stateful = [name for name, module in self._modules_that_act() if module.is_stateful()]
        if stateful:
            raise ValueError(
                f"the module {stateful[0]!r} is recurrent, which the batched runner does not "
                'support; use configure(..., runner="stock")'
            )

    @staticmethod
    def check_hooks(config: Any) -> None:
        """Raise ValueError if the configuration needs a hook that this runner does not call."""
        wanted = 'the batched runner does not call it: take configure(..., runner="stock")'
        for name in UNHEARD:
            classes = config.callbacks_class
            classes = classes if isinstance(classes, (list, tuple)) else [classes]
            heard = [cls for cls in classes if getattr(cls, name, None) is not getattr(RLlibCallback, name)]
            if getattr(config, f"callbacks_{name}", None) or heard:
                raise ValueError(f"the configuration has a callback {name}, but {wanted}")
        if config.policy_mapping_fn is not module_of:
            raise ValueError(f"the configuration has another policy_mapping_fn, but {wanted}")
        before, after = config._env_to_module_connector, config._module_to_env_connector
        if after is not None:
            raise ValueError(f"the configuration has a module_to_env_connector, but {wanted}")
        if before not in (None, frames_for_runners):
            raise ValueError(
                f"the configuration has an env_to_module_connector beside SharedFrames, but {wanted}"
            )

    def make_env(self) -> None:
        """Make the batch of games; called by RLlib."""
        outcomes = [] if self.env is None else self.take_outcomes()
        if self.env is not None:
            self.env.close()
        options = self.config.env_config
        threads = 1
        if self.worker_index:  # else in the driver, which needs PyTorch's threads and the other processors
            threads = max(1, int(self.config.num_cpus_per_env_runner))
            torch.set_num_threads(threads)
        self.env = TerritorialBatchEnv(options, self.config.num_envs_per_env_runner, num_threads=threads)
        self.env.outcomes.extend(outcomes)
        self.num_envs = self.env.num_envs
        self._needs_initial_reset = True
        self._rollout = Rollout(self.env, self.config.episode_lookback_horizon)
        self._source = ObservationSource(self.env)
        self._counts = StepCounts(self.env.names, self.env.options.config.num_players)
        self._random = np.random.default_rng(self._seed)
        context = EnvContext(dict(options), self.worker_index, num_workers=self.config.num_env_runners)
        ray_private.call_back(self, "on_environment_created", env_context=context)

    def _modules_that_act(self) -> list[tuple[str, Any]]:
        if self.env is None or self.module is None:
            return []
        return [(name, self.module[name]) for name in self.env.names if name in self.module]

    # ---- sampling ---------------------------------------------------------------------------------

    def _sample(
        self,
        *,
        num_timesteps: int | None = None,
        num_episodes: int | None = None,
        explore: bool,
        random_actions: bool = False,
        force_reset: bool = False,
    ) -> list[MultiAgentEpisode]:
        """Return the episodes of a sample; overrides ``MultiAgentEnvRunner._sample``."""
        if force_reset or num_episodes is not None or self._needs_initial_reset:
            self._begin_all(self._seed if self._needs_initial_reset else None)
        self._needs_initial_reset = num_episodes is not None
        for _, module in self._modules_that_act():
            if isinstance(module, torch.nn.Module):
                module.eval()  # once for all steps, see _forward
        episodes: list[MultiAgentEpisode] = []
        with _no_collection():
            while not self._has_enough(num_timesteps, num_episodes, len(episodes)):
                if not self._play(explore, random_actions):
                    episodes += self._finished()
                    self._replace_games()
            if num_episodes is not None:
                del self._rollout.ended[num_episodes - len(episodes) :]
            episodes += self._finished(with_ongoing=num_timesteps is not None)
        self._source.forget(self._rollout.cut())
        return self.as_configured(drop_untrained(self.config, episodes))

    def _finished(self, *, with_ongoing: bool = False) -> list[MultiAgentEpisode]:
        """Return the episodes of the games that have ended, and have told of them."""
        episodes = self._rollout.episodes(self._source, with_ongoing=with_ongoing)
        self._report(episodes)
        return episodes

    def _replace_games(self) -> None:
        """Make the games again, and begin with others than those of the seed."""
        random, needs_reset = self._random, self._needs_initial_reset
        self.make_env()
        self._random = random
        self._needs_initial_reset = needs_reset
        # The games of the seed would fail again where nothing is left to chance.
        self._begin_all(None if self._seed is None else int(random.integers(2**31)))

    def _begin_all(self, seed: int | None) -> None:
        """Reset all games; those in progress are forgotten."""
        self.env.reset(seed=seed)
        self._rollout.clear()
        self._counts.clear()
        for k in range(self.num_envs):
            self._rollout.begin(k)
        self._source.begin()

    def _has_enough(self, num_timesteps: int | None, num_episodes: int | None, finished: int) -> bool:
        """Return whether a sample is complete, of which ``finished`` episodes are made already."""
        if num_timesteps is None:
            return finished + len(self._rollout.ended) >= (num_episodes or 0)
        counts = self._counts
        return (counts.games if self.config.count_steps_by == "env_steps" else counts.agents) >= num_timesteps

    def _play(self, explore: bool, random_actions: bool) -> bool:
        """Let all seats act, and remember what came of it; False: games failed, which are to be replaced."""
        env, rollout = self.env, self._rollout
        actions = env.holds()
        if random_actions:
            chosen = self._act_at_random(actions)
        else:
            with torch.inference_mode(), self.metrics.log_time(RLMODULE_INFERENCE_TIMER):
                chosen = self._act(actions, explore)
        try:
            step = env.step(actions)
        except Exception as error:  # counted and logged as RLlib does
            self.metrics.log_value(NUM_ENV_STEP_FAILURES_LIFETIME, 1, reduce="lifetime_sum")
            if not self.config.restart_failed_sub_environments:
                raise
            if not isinstance(error, StepFailedRecreateEnvError):
                LOG.error("a step of the games failed; this runner begins with new games", exc_info=error)
            return False
        for game in rollout.add(step, chosen, int(self._weights_seq_no)):
            game.logged = metrics_of(game, env.game.state)
        self._counts.add(step, env.who)
        for k in step.new_games.tolist():
            rollout.begin(k)
        self._source.observe(step.learners)
        return True

    def _act_at_random(self, actions: Actions) -> dict[str, ModuleOutputs]:
        """Write actions that need not be legal for all who act, as RLlib does."""
        for form, interface in self.env.interfaces.items():
            acts = self.env.on(form) & (self.env.learners | self.env.frozen)
            space = interface.format.space
            sizes = space.nvec if hasattr(space, "nvec") else [space.n]
            drawn = np.stack([self._random.integers(n, size=int(acts.sum())) for n in sizes], 1)
            actions[form][acts] = drawn.reshape(actions[form][acts].shape)
        chosen = {}
        for name, seats in self._seats_by_module().items():
            chosen[name] = ModuleOutputs(seats, {ACTIONS: actions[self.env.options.form_of(name)][seats]})
        return chosen

    def _seats_by_module(self) -> dict[str, Bools]:
        """Return the seats (E, P) that act next, by the module that learns with them."""
        env = self.env
        acts = {name: env.learners & (env.who == n) for n, name in enumerate(env.names)}
        return {name: seats for name, seats in acts.items() if seats.any()}

    def _act(self, actions: Actions, explore: bool) -> dict[str, ModuleOutputs]:
        """Write the actions of all who act; return what the modules that learn gave for theirs."""
        device, seen = self._device, self._source
        frames: Mapping[str, Tensor] = seen.frames(device)
        chosen = {}
        for name, seats in self._seats_by_module().items():
            module, form = self.module[name], self.env.options.form_of(name)
            if isinstance(module, ModuleFrames):
                module.frames = frames
            columns = self._forward(module, seen.rows(form, seats, device), explore)
            actions[form][seats] = columns[Columns.ACTIONS]
            chosen[name] = ModuleOutputs(seats, columns)
        if self.env.frozen.any():
            seats, form = self.env.frozen, self.env.frozen_form
            who = [self.env.envs[k].players[i].name for k, i in zip(*np.nonzero(seats), strict=True)]
            opponents = self.module[POOL].opponents
            shared = frames if self.env.interfaces[form].shares_frames else {}
            rows = {**seen.rows(form, seats, device), **shared}
            actions[form][seats] = opponents.act(who, rows).cpu().numpy()
        return chosen

    def _forward(self, module: Any, rows: Mapping[str, Tensor], explore: bool) -> dict[str, npt.NDArray[Any]]:
        """Return what ``module`` gives for rows, with actions and log-likelihoods, as RLlib has them."""
        batch = {Columns.OBS: dict(rows)}
        runners = (
            self.config.num_env_runners or 1
        )  # RLlib's "t" is about how many steps all of them have made
        steps = (self.num_env_steps_sampled_lifetime // runners + self._counts.games) * runners
        now = {"t": steps} if explore else {}
        forward = module._forward_exploration if explore else module._forward_inference
        outputs = forward(batch, **now)
        outputs = {**outputs, **self._choose(module, outputs, explore)}
        return {key: part.cpu().numpy() for key, part in outputs.items() if isinstance(part, Tensor)}

    def _choose(self, module: Any, outputs: Mapping[str, Tensor], explore: bool) -> dict[str, Tensor]:
        """Return actions for what a module gave, and how likely they were, unless it gave them itself."""
        if Columns.ACTIONS in outputs:
            return {}
        logits, heads = outputs[Columns.ACTION_DIST_INPUTS], getattr(module, "action_heads", None)
        if explore and heads is not None:
            drawn, likely = draw(logits.cpu().numpy(), heads, self._random)
            shape = (-1, *module.action_space.shape)
            actions, logp = torch.from_numpy(drawn.reshape(shape)), torch.from_numpy(likely)
        else:
            kind = "exploration" if explore else "inference"
            dist = getattr(module, f"get_{kind}_action_dist_cls")().from_logits(logits)
            dist = dist if explore else dist.to_deterministic()
            actions = dist.sample()
            logp = dist.logp(actions)
        return {Columns.ACTIONS: actions, Columns.ACTION_LOGP: outputs.get(Columns.ACTION_LOGP, logp)}

    # ---- what is logged of it ---------------------------------------------------------------------

    def _report(self, episodes: list[MultiAgentEpisode]) -> None:
        """Call ``on_episode_end`` and log the metrics of a sample, then forget them."""
        ended = self._rollout.ended
        for episode, game in zip(episodes, ended, strict=False):
            info = {"episode": episode, "prev_episode_chunks": [], "env_index": game.k}
            ray_private.call_back(self, "on_episode_end", **info, rl_module=self.module)
        counts = self._counts
        self.log_steps(counts.games, len(ended), counts.by_agent(), counts.by_module())
        if counts.games:
            self._log_env_steps(metric=self._metrics_num_env_steps_sampled, num_steps=counts.games)
        counts.clear()
        window = max(
            1, math.ceil(self.config.metrics_num_episodes_for_smoothing / (self.config.num_env_runners or 1))
        )
        for game in ended:
            self._log_episode_metrics(game.length, float(game.returns.sum()), game.seconds)
            self.metrics.log_dict(game.logged, window=window)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep Python from looking for garbage: many small objects are made, and all of them stay."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


# ---- RLlib's own runner ----------------------------------------------------------------------------------


class StockEnvRunner(SeatRunner):
    """Plays agent by agent, with all connectors and callbacks of RLlib's.

    RLlib itself would ship the episodes of all agents, batch them in the learners and compute values for them
    before it drops the rows of those that do not train.
    """

    def __init__(self, config: Any, **kwargs: Any) -> None:
        check_config(config)
        self.frames: dict[str, Any] = {}
        """By module, the frames of the batch that is acted on next: those of modules belong to a thread."""
        super().__init__(config=config, **kwargs)

    def make_env(self) -> None:
        """Make the environments, and keep the results of games in the previous ones; called by RLlib."""
        outcomes = [] if self.env is None else self.take_outcomes()
        super().make_env()
        self.env.envs[0].unwrapped.outcomes.extend(outcomes)

    def _sample(self, **kwargs: Any) -> list[MultiAgentEpisode]:
        """Return the episodes of a sample; overrides ``MultiAgentEnvRunner._sample``."""
        # RLlib keeps the batch that comes next, and trains in a new thread while it evaluates.
        for name, frames in self.frames.items():
            self.module[name].unwrapped().frames = frames
        episodes = drop_untrained(self.config, super()._sample(**kwargs))
        episodes = drop_agents(episodes, lambda own: LEARNS in own.get_infos(-1))
        own = {name: module.unwrapped() for name, module in self.module.items()} if self.module else {}
        self.frames = {name: one.frames for name, one in own.items() if isinstance(one, ModuleFrames)}
        return self.as_configured(episodes)


def draw(
    logits: npt.NDArray[np.float32], heads: Sequence[int], random: np.random.Generator
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Return actions, int64 (N, H), and the logarithms of how likely they were, float32 (N,).

    It is the distribution of RLlib's ``TorchMultiCategorical``, without its checks. ``logits``: float32
    (N, K), those of the H parts of an action one after the other. ``heads``: how many each part has. The same
    numbers from ``random`` give the same actions.
    """
    logits = np.ascontiguousarray(logits, np.float32)
    if logits.ndim != 2 or logits.shape[1] != sum(heads):
        raise ValueError(
            f"the logits have the shape {logits.shape}; with action_heads {tuple(heads)} it must be "
            f"(N, {sum(heads)})"
        )
    if not np.isfinite(logits).all():
        raise ValueError(
            "the logits are not all finite: either the network has weights that are NaN or too large, or it "
            "masks illegal actions with -inf instead of -1e9"
        )
    choices = np.empty((len(logits), len(heads)), np.int64)
    logps = np.empty(len(logits), np.float32)
    chances = random.random(choices.shape)
    weights = np.empty(logits.shape[1])
    draw_choices(logits, np.array(heads, np.int64), chances, weights, choices, logps)
    return choices, logps
