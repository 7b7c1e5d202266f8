"""``Rollout``: steps of a batched runner as arrays; episodes and metrics."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from ray.rllib.env.multi_agent_episode import MultiAgentEpisode
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.rllib.env.utils.infinite_lookback_buffer import InfiniteLookbackBuffer
from ray.rllib.utils.metrics import EPISODE_MODULE_RETURN_MEAN, WEIGHTS_SEQ_NO
from torch import Tensor

from rllib_adapters.envs.agent_interface import shared_arrays
from rllib_adapters.envs.batch import BatchStep, TerritorialBatchEnv
from rllib_adapters.envs.env_config import POOL, frozen_name, learner_name, module_of
from rllib_adapters.observations.connector import FRAME
from rllib_adapters.observations.log import ArrayBuffer, ObservationLog, RowLog, SharedObservations
from territorial.engine.batch_arrays import COUNTS, GameArrays
from territorial.typing import Arrays, Bools, Floats32, Ints


class ObservationSource:
    """Observes a batch of games for agents of all forms. Moment t comes after t steps, as in a ``Rollout``.

    Boards and tables are there once for all agents, in the form that ``SharedFrames`` has. Forms whose agents
    share nothing are computed only for agents that act or have just acted.
    """

    def __init__(self, env: TerritorialBatchEnv) -> None:
        self._env = env

    def begin(self) -> None:
        """Forget everything, and observe all games, which have just begun."""
        env = self._env
        self._rows = {form: RowLog() for form, own in env.interfaces.items() if not own.shares_frames}
        self._boards = ObservationLog(env.game.layout, env.num_envs) if env.options.shares_frames else None
        self.observe(np.zeros_like(self._env.learners))

    def observe(self, acted: Bools) -> None:
        """Observe the games after a step, in which the seats ``acted`` (E, P) have acted.

        Of rows it is what those see that act next, and what those saw last whose episode has ended.
        """
        env = self._env
        if self._boards is not None:
            self._boards.append(env.game.observations)
        for form, log in self._rows.items():
            seats = env.on(form) & (acted | env.learners | env.frozen)
            games, i = np.nonzero(seats)
            log.append(seats, env.interfaces[form].own(games, i + 1))

    def forget(self, moment: int) -> None:
        """Keep the moments from ``moment`` on alone; the buffers of earlier ones stay as they are."""
        if self._boards is not None:
            self._boards = self._boards.since(moment)  # a log of its own: episodes have the one up to now
        for log in self._rows.values():
            log.forget(moment)

    def frames(self, device: Any) -> dict[str, Tensor]:
        """Return what rows on boards share now, (E, ...) each."""
        if self._boards is None:
            return {}
        return {name: _tensor(part).to(device) for name, part in shared_arrays(self._env.game).items()}

    def rows(self, form: str, seats: Bools, device: Any) -> dict[str, Tensor]:
        """Return what ``seats``, bool (E, P), all on ``form``, see now besides, (N, ...) each."""
        if form in self._rows:
            own = self._rows[form].now(seats)
        else:
            games, i = np.nonzero(seats)
            own = {**self._env.interfaces[form].own(games, i + 1), FRAME: games[:, None]}
        return {name: torch.from_numpy(part).to(device) for name, part in own.items()}

    def buffer(self, form: str, game: int, seat: int, moments: Ints, lookback: int) -> InfiniteLookbackBuffer:
        """Return what a seat, 1..P, that learns saw of a game; ``lookback`` of ``moments`` are of before."""
        if form in self._rows:
            return ArrayBuffer(self._rows[form].rows(game, seat, moments), lookback)
        assert self._boards is not None
        return SharedObservations(self._boards, game, seat, moments, lookback)


def _tensor(array: npt.NDArray[Any]) -> Tensor:
    """Return the same memory; PyTorch would warn of the engine's, which must not be written to."""
    view = array.view()
    view.flags.writeable = True
    return torch.from_numpy(view)


ACTIONS = "actions"


class ModuleOutputs(NamedTuple):
    """What a module gave for the N rows of a step.

    Args:
        seats: (E, P): the N seats that acted through the module.
        columns: (N, ...) each; ``ACTIONS`` among them.

    """

    seats: Bools
    columns: Arrays


@dataclass
class GameEpisode:
    """A game as an episode of RLlib, with all that is counted of it. Moment t comes after t steps.

    Args:
        k: the number of the game in its batch.
        agents: by seat, 0.., that learns.
        players: those who learn with them, and the modules that act for them.
        start: the moment of the first observation.
        agent_ids: by seat, what tells the episode of an agent from all others.
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
    agent_ids: Mapping[int, str]
    id_: str = field(default_factory=lambda: uuid.uuid4().hex)
    began: float = field(default_factory=time.perf_counter)
    ends: dict[int, tuple[int, bool]] = field(default_factory=dict)
    infos: dict[int, dict[str, float]] = field(default_factory=dict)
    end: int | None = None
    is_cut: bool = False
    returns: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    seconds: float = 0.0
    logged: dict[str, Any] = field(default_factory=dict)

    @property
    def length(self) -> int:
        """The steps of a game that is over."""
        assert self.end is not None
        return self.end - self.start


class Rollout:
    """The steps since the last sample, of E games; and the few before that episodes look back at.

    Moments are those of the ``ObservationLog`` that goes with it: step t leads from moment t to the next one.

    Args:
        env: their batch.
        lookback: steps that a new piece of an episode has from the piece before.

    """

    def __init__(self, env: TerritorialBatchEnv, lookback: int) -> None:
        self._env, self.lookback = env, lookback
        self._none = ModuleOutputs(np.zeros(env.who.shape, np.bool_), {})
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
        # Of the modules; step t is moment t.
        self._outputs = {name: RowLog() for name in self._env.names}
        self._weights: list[int] = []
        self._returns = np.zeros(self._env.who.shape)

    @property
    def now(self) -> int:
        """The present moment."""
        return self._first + len(self._rewards)

    def begin(self, k: int) -> None:
        """Let game ``k``, which has just begun, be an episode."""
        who = self._env.who[k]
        players = {i: self._env.names[who[i]] for i in np.flatnonzero(self._env.learned[k]).tolist()}
        agents = {i: learner_name(name, i) for i, name in players.items()}
        ids = {i: uuid.uuid4().hex for i in agents}
        self.games[k] = GameEpisode(k, agents, players, self.now, ids)
        self._returns[k] = 0

    def add(self, step: BatchStep, chosen: dict[str, ModuleOutputs], weights: int) -> list[GameEpisode]:
        """Remember a step, and return the games that it ended; ``weights``: their sequence number."""
        self._rewards.append(step.rewards)
        for name, log in self._outputs.items():
            log.append(*chosen.get(name, self._none))
        self._weights.append(weights)
        self._returns += np.where(step.learners & self._env.learned, step.rewards, 0)
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
        rewards, weights = np.array(self._rewards), np.array(self._weights, np.int64)
        games = list(self.ended)
        if with_ongoing:
            ongoing = (self.games[k] for k in sorted(self.games))
            games += [game for game in ongoing if self.now > max(game.start, self._begin)]
        return [self._episode(rewards, weights, seen, game) for game in games]

    def cut(self) -> int:
        """Let the next sample begin now; return the first moment that it looks back at."""
        self._begin, self.ended, self._since = self.now, [], time.perf_counter()
        forget = max(0, len(self._rewards) - self.lookback)
        del self._rewards[:forget], self._weights[:forget]
        self._first += forget
        for log in self._outputs.values():
            log.forget(self._first)
        return self._first

    def _episode(
        self, rewards: Floats32, weights: Ints, seen: ObservationSource, game: GameEpisode
    ) -> MultiAgentEpisode:
        """Return what happened in a game in this sample.

        ``rewards``: (T, E, P), of all steps that are remembered; ``weights``: (T,), their sequence numbers.
        """
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
            own = self._agent_episode(
                rewards[:, game.k, i], weights, seen, game, i, slice(first, end), begin - first, episode
            )
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
        rewards: Floats32,
        weights: Ints,
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
        given = self._outputs[module].rows(game.k, i + 1, np.arange(span.start, end))
        given[WEIGHTS_SEQ_NO] = weights[here]
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
                self._env.options.form_of(module), game.k, i + 1, np.arange(span.start, end + 1), known
            ),
            observation_space=whole.observation_space[agent],
            infos=infos,
            actions=columns.pop(ACTIONS),
            action_space=whole.action_space[agent],
            rewards=rewards[here].tolist(),
            extra_model_outputs=columns,
            terminated=i in game.ends and not was_cut,
            truncated=was_cut or (i in game.ends and is_last and whole.is_truncated),
            t_started=whole.env_t_started,
            len_lookback_buffer=lookback,
        )
        own._last_added_infos = infos[-1]
        return own


# ---- metrics -------------------------------------------------------------------------------------


def metrics_of(game: GameEpisode, state: GameArrays) -> dict[str, Any]:
    """Return what metrics say of a game that stands in ``state`` as it ended.

    It has returns by module; place, wins, land, steps and launches of a seat that learns; and the same by who
    learns.
    """
    by_player: dict[str, list[int]] = {}
    for seat, name in game.players.items():
        by_player.setdefault(name, []).append(seat)
    return {
        EPISODE_MODULE_RETURN_MEAN: {
            name: float(game.returns[seats].sum()) for name, seats in by_player.items()
        },
        **_means(game, state, list(game.agents)),
        "players": {name: _means(game, state, seats) for name, seats in by_player.items()},
    }


def _means(game: GameEpisode, state: GameArrays, learning: list[int]) -> dict[str, float]:
    k, seats = game.k, np.array(learning) + 1
    places = state.doubled_place[k, seats] / 2
    known = places[places > 0]
    means = {
        "win_rate": float((places == 1).mean()),
        "land": float(state.land[k, seats].mean()),
        "steps": float(np.mean([game.ends[seat][0] - game.start for seat in learning])),
        **{f"{name}_launches": float(getattr(state, name)[k, seats].mean()) for name in COUNTS},
    }
    return means | ({"place": float(known.mean())} if len(known) else {})


class StepCounts:
    """The steps of a sample, of games and of agents; ``names``: of those who learn."""

    def __init__(self, names: Sequence[str], num_players: int) -> None:
        self._names = names
        self._steps = np.zeros((len(names) + 1, num_players), np.int64)  # the last are those of frozen seats
        self.clear()

    def clear(self) -> None:
        """Begin to count at 0."""
        self.games = 0
        """Steps of all games together."""
        self._steps.fill(0)

    @property
    def agents(self) -> int:
        """Steps of all agents together."""
        return int(self._steps.sum())

    def add(self, step: BatchStep, who: npt.NDArray[np.int64]) -> None:
        """Count a step; ``who``: int64 (E, P) who learns with a seat of a game that took it, -1: frozen."""
        self.games += int(step.stepped.sum())
        acted = step.learners | step.frozen
        np.add.at(self._steps, (who[acted], np.nonzero(acted)[1]), 1)

    def by_agent(self) -> dict[str, int]:
        """Return the steps of all agents that made any, by name."""
        agent_of: list[Callable[[int], str]] = [partial(learner_name, name) for name in self._names]
        names = [*agent_of, frozen_name]
        return {names[n](i): int(self._steps[n, i]) for n, i in np.argwhere(self._steps).tolist()}

    def by_module(self) -> dict[str, int]:
        """Return the steps of the agents of each module that learns, and of the pool if it made any."""
        *counts, of_pool = self._steps.sum(1).tolist()
        return dict(zip(self._names, counts, strict=True)) | ({POOL: of_pool} if of_pool else {})
