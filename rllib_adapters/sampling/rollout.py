"""What a batched runner has played, kept as arrays by step, and the episodes that RLlib wants made of it."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from ray.rllib.env.multi_agent_episode import MultiAgentEpisode
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.rllib.env.utils.infinite_lookback_buffer import InfiniteLookbackBuffer
from ray.rllib.utils.metrics import WEIGHTS_SEQ_NO

from rllib_adapters.envs.batch import BatchStep, TerritorialBatchEnv
from rllib_adapters.envs.env_config import learner_name, module_of
from rllib_adapters.observations.log import ArrayBuffer
from rllib_adapters.sampling.observation_source import ObservationSource
from territorial.typing import Ints

ACTIONS = "actions"
Columns = Mapping[str, npt.NDArray[Any]]


class ModuleOutputs(NamedTuple):
    """What a module gave for the N rows of a step.

    Args:
        seats: (E, P): the N seats that acted through the module.
        columns: (N, ...) each; ``ACTIONS`` among them.

    """

    seats: npt.NDArray[np.bool_]
    columns: Columns


@dataclass
class GameEpisode:
    """A game as an episode of RLlib, with all that is counted of it. Moment t comes after t steps.

    Args:
        k: the number of the game in its batch.
        agents: by seat, 0.., that learns.
        players: those who learn with them, and the modules that act for them.
        start: the moment of the first observation.
        ends: by seat that has ended: when, and whether it was cut off.
        end: the moment of the last observation, once the game is over.
        is_cut: whether it was cut off then.
        returns: (P,): the rewards of the seats that learn, added up, once the game is over.
        seconds: that it took.
        logged: what metrics say of it.

    """

    k: int
    agents: Mapping[int, str]
    players: Mapping[int, str]
    start: int
    id_: str = field(default_factory=lambda: uuid.uuid4().hex)
    began: float = field(default_factory=time.perf_counter)
    ends: dict[int, tuple[int, bool]] = field(default_factory=dict)
    infos: dict[int, dict[str, float]] = field(default_factory=dict)
    agent_ids: dict[int, str] = field(default_factory=dict)
    end: int | None = None
    is_cut: bool = False
    returns: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    seconds: float = 0.0
    logged: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.agent_ids = {seat: uuid.uuid4().hex for seat in self.agents}

    @property
    def length(self) -> int:
        """The steps of a game that is over."""
        assert self.end is not None
        return self.end - self.start

    def steps_of(self, seat: int) -> int:
        """Return how many steps a seat that learns made of a game that is over."""
        return self.ends[seat][0] - self.start


class Rollout:
    """The steps since the last sample, of E games; and the few before that episodes look back at.

    Moments are those of the ``ObservationLog`` that goes with it: step t leads from moment t to the next one.

    Args:
        env: their batch.
        lookback: steps that a new piece of an episode has from the piece before.

    """

    def __init__(self, env: TerritorialBatchEnv, lookback: int) -> None:
        self._env, self.lookback = env, lookback
        self._forms = {name: env.options.form_of(name) for name in env.names}
        self.clear()

    def clear(self) -> None:
        """Forget everything, games in progress as well."""
        self.games: dict[int, GameEpisode] = {}
        """Those in progress, by their number in the batch."""
        self.ended: list[GameEpisode] = []
        """Those that ended in this sample."""
        self._begin = 0  # the moment at which this sample began
        self._since = time.perf_counter()
        self._first = 0  # the first step that is remembered
        self._rewards: list[npt.NDArray[np.float32]] = []
        self._chosen: list[dict[str, ModuleOutputs]] = []
        self._weights: list[int] = []
        self._returns = np.zeros(self._env.who.shape)

    @property
    def now(self) -> int:
        """The present moment."""
        return self._first + len(self._rewards)

    def begin(self, k: int) -> None:
        """Let game ``k``, which has just begun, be an episode."""
        who = self._env.who[k]
        players = {i: self._env.names[who[i]] for i in np.flatnonzero(who >= 0).tolist()}
        agents = {i: learner_name(name, i) for i, name in players.items()}
        self.games[k] = GameEpisode(k, agents, players, self.now)
        self._returns[k] = 0

    def add(self, step: BatchStep, chosen: dict[str, ModuleOutputs], weights: int) -> list[GameEpisode]:
        """Remember a step, and return the games that it ended; ``weights``: their sequence number."""
        self._rewards.append(step.rewards)
        self._chosen.append(chosen)
        self._weights.append(weights)
        self._returns += np.where(step.learners, step.rewards, 0)
        for k, i in zip(*np.nonzero(step.terminated | step.truncated), strict=True):
            game = self.games[k]
            game.ends[int(i)] = self.now, bool(step.truncated[k, i])
            game.infos[int(i)] = self._env.ending(int(k), int(i) + 1)
        over = [self.games.pop(k) for k in np.flatnonzero(step.done).tolist()]
        for game in over:
            game.end, game.is_cut = self.now, bool(step.cut[game.k])
            game.returns = self._returns[game.k].copy()
            game.seconds = time.perf_counter() - game.began
        self.ended += over
        return over

    # ---- episodes ---------------------------------------------------------------------------------

    def episodes(self, seen: ObservationSource, *, with_ongoing: bool) -> list[MultiAgentEpisode]:
        """Return the episodes of games that have ended, in that order, then those of games in progress.

        ``seen``: has what was observed at the moments from the first that is looked back at up to now.
        """
        modules, shape = {name: None for step in self._chosen for name in step}, self._env.who.shape
        steps = _Steps(
            np.array(self._rewards),
            np.array(self._weights, np.int64),
            {module: _joined([step.get(module) for step in self._chosen], shape) for module in modules},
        )
        games = list(self.ended)
        if with_ongoing:
            ongoing = (self.games[k] for k in sorted(self.games))
            games += [game for game in ongoing if self.now > max(game.start, self._begin)]
        return [self._episode(steps, seen, game) for game in games]

    def cut(self) -> int:
        """Let the next sample begin now; return the first moment that it looks back at."""
        self._begin, self.ended, self._since = self.now, [], time.perf_counter()
        forget = max(0, len(self._rewards) - self.lookback)
        del self._rewards[:forget], self._chosen[:forget], self._weights[:forget]
        self._first += forget
        return self._first

    def _episode(self, steps: _Steps, seen: ObservationSource, game: GameEpisode) -> MultiAgentEpisode:
        """Return what happened in a game in this sample."""
        view, begin = self._env.envs[game.k], max(game.start, self._begin)
        end = self.now if game.end is None else game.end
        first = max(game.start, begin - self.lookback, self._first)
        living = [i for i in game.agents if game.ends.get(i, (end, False))[0] > begin]
        episode = MultiAgentEpisode(
            id_=game.id_,
            observation_space=view.observation_spaces,
            action_space=view.action_spaces,
            agent_to_module_mapping_fn=module_of,
            agent_module_ids={game.agents[i]: game.players[i] for i in living},
            env_t_started=begin - game.start,
            agent_t_started={game.agents[i]: begin - game.start for i in living},
        )
        episode.env_t = end - game.start
        episode.is_truncated = game.is_cut
        episode.is_terminated = game.end is not None and not game.is_cut
        episode._len_lookback_buffers = begin - first
        for i in living:
            agent = game.agents[i]
            own = self._agent_episode(steps, seen, game, i, slice(first, end), begin - first, episode)
            episode.agent_episodes[agent] = own
            count = own.observations.len_incl_lookback()
            times: list[Any] = list(range(first - game.start, first - game.start + count))
            times += [MultiAgentEpisode.SKIP_ENV_TS_TAG] * (end - first + 1 - len(times))
            episode.env_t_to_agent_t[agent] = InfiniteLookbackBuffer(times, lookback=begin - first)
        began, last = max(game.began, self._since), time.perf_counter()
        for one in (episode, *episode.agent_episodes.values()):
            one._start_time, one._last_step_time = began, last
        return episode

    def _agent_episode(
        self,
        steps: _Steps,
        seen: ObservationSource,
        game: GameEpisode,
        i: int,
        span: slice,
        lookback: int,
        whole: MultiAgentEpisode,
    ) -> SingleAgentEpisode:
        """Return the part of seat ``i`` in ``span``, of which ``lookback`` steps are of the piece before."""
        agent, module = game.agents[i], game.players[i]
        end, was_cut = game.ends.get(i, (span.stop, False))
        is_last = end == span.stop
        known = min(lookback, end - span.start)
        here = slice(span.start - self._first, end - self._first)
        given = {name: column[game.k, i, here] for name, column in steps.columns[module].items()}
        given[WEIGHTS_SEQ_NO] = steps.weights[here]
        # Arrays of objects are rows that do not fit together, and go on as a list.
        columns = {
            name: ArrayBuffer(column if column.dtype != object else list(column), known)
            for name, column in given.items()
        }
        infos: list[dict[str, Any]] = [{} for _ in range(end - span.start)]
        infos.append(game.infos.get(i, {}))
        own = SingleAgentEpisode(
            id_=game.agent_ids[i],
            agent_id=agent,
            module_id=module,
            multi_agent_episode_id=game.id_,
            observations=seen.buffer(
                self._forms[module], game.k, i + 1, np.arange(span.start, end + 1), known
            ),
            observation_space=whole.observation_space[agent],
            infos=infos,
            actions=columns.pop(ACTIONS),
            action_space=whole.action_space[agent],
            rewards=steps.rewards[here, game.k, i].tolist(),
            extra_model_outputs=columns,
            terminated=i in game.ends and not was_cut,
            truncated=was_cut or (i in game.ends and is_last and whole.is_truncated),
            t_started=whole.env_t_started,
            len_lookback_buffer=lookback,
        )
        own._last_added_infos = infos[-1]
        return own


class _Steps(NamedTuple):
    """T steps of E games with P seats, from the first that is remembered on."""

    rewards: npt.NDArray[np.float32]  # (T, E, P)
    weights: Ints  # (T,) their sequence numbers
    columns: Mapping[str, Columns]  # by module, (E, P, T, ...) each; without meaning where a seat did not act


def _joined(steps: list[ModuleOutputs | None], shape: tuple[int, ...]) -> Columns:
    """Return the columns of a module, (E, P, T, ...) each; ``shape``: (E, P)."""
    acted = [step for step in steps if step is not None]
    none = np.zeros(shape, np.bool_)
    has_acted: npt.NDArray[np.bool_] = np.array([none if step is None else step.seats for step in steps])
    times, games, seats = has_acted.nonzero()
    joined = {}
    for name in acted[-1].columns:
        if all(name in step.columns for step in acted):
            rows = _end_to_end([step.columns[name] for step in acted])
            joined[name] = np.empty((*shape, len(steps), *rows.shape[1:]), rows.dtype)
            joined[name][games, seats, times] = rows
    return joined


def _end_to_end(parts: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return the rows of all parts as one array; of arrays, if rows of greedy and other steps differ."""
    if len({part.shape[1:] for part in parts}) == 1:
        return np.concatenate(parts)
    rows = np.empty(sum(map(len, parts)), object)
    for i, row in enumerate(row for part in parts for row in part):
        rows[i] = row
    return rows
