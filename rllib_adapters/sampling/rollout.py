"""What a batched runner has played, kept as arrays by step, and the episodes that RLlib wants made of it."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from ray.rllib.env.multi_agent_episode import MultiAgentEpisode
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from ray.rllib.env.utils.infinite_lookback_buffer import InfiniteLookbackBuffer
from ray.rllib.utils.metrics import WEIGHTS_SEQ_NO

from rllib_adapters import ray_private
from rllib_adapters.envs.batch import BatchStep, GameView
from rllib_adapters.envs.roster import Roster
from rllib_adapters.observations.lazy_buffer import SharedObservations
from rllib_adapters.observations.log import ObservationLog
from territorial.observation.layout import ObsLayout

ACTIONS = "actions"
Columns = Mapping[str, npt.NDArray[Any]]


class Chosen(NamedTuple):
    """What a module gave for the N rows of a step."""

    seats: npt.NDArray[np.bool_]
    """(E, P): the N seats that acted through the module."""
    columns: Columns
    """(N, ...) each; ``ACTIONS`` among them."""


@dataclass
class GameEpisode:
    """A game in progress, as an episode of RLlib. Moments are numbers of observations in the rollout."""

    agents: Mapping[int, str]
    """By seat, 0.., that learns."""
    modules: Mapping[int, str]
    """Those that act for them."""
    start: int
    """The moment of the first observation; below 0 once that is forgotten."""
    id_: str = field(default_factory=lambda: uuid.uuid4().hex)
    began: float = field(default_factory=time.perf_counter)
    ends: dict[int, tuple[int, bool]] = field(default_factory=dict)
    """By seat that has ended: when, and whether it was cut off."""
    infos: dict[int, dict[str, float]] = field(default_factory=dict)
    agent_ids: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.agent_ids = {seat: uuid.uuid4().hex for seat in self.agents}


class Ended(NamedTuple):
    """A game that is over."""

    k: int
    game: GameEpisode
    end: int
    is_cut: bool


class Rollout:
    """The steps since the last sample, of E games; and the few before that episodes look back at.

    Moment i is the i-th observation that is remembered, and step i leads from it to the next one.

    Args:
        views: of the games, for agents and spaces.
        layout: of their observations.
        roster: of those who learn.
        module_of: RLlib's mapping function, for the episodes, which carry it with them.
        lookback: steps that a new piece of an episode has from the piece before.

    """

    def __init__(
        self,
        views: list[GameView],
        layout: ObsLayout,
        roster: Roster,
        module_of: Callable[[str, Any], str],
        lookback: int,
    ) -> None:
        self.views, self.layout, self.lookback = views, layout, lookback
        self._roster, self._module_of = roster, module_of
        self.clear()

    def clear(self) -> None:
        """Forget everything, games in progress as well."""
        self.games: list[GameEpisode | None] = [None] * len(self.views)
        self.ended: list[Ended] = []
        self._first = 0  # the moment at which this sample began
        self._since = time.perf_counter()
        self._record = ObservationLog(self.layout, len(self.views))
        self._origin = 0  # the number in the record of moment 0
        self._rewards: list[npt.NDArray[np.float32]] = []
        self._chosen: list[dict[str, Chosen]] = []
        self._weights: list[int] = []

    @property
    def now(self) -> int:
        """The present moment."""
        return self._record.end - 1 - self._origin

    def begin(self, k: int, who: npt.NDArray[np.int64]) -> None:
        """Let game ``k`` begin with what is seen next; ``who``: int64 (P,) who learns, -1 for none."""
        seats, roster = np.flatnonzero(who >= 0).tolist(), self._roster
        agents = {i: roster.agents[who[i]][i] for i in seats}
        self.games[k] = GameEpisode(agents, {i: roster.modules[who[i]][i] for i in seats}, self.now + 1)

    def resume(self, observations: Any) -> None:
        """Continue with a new sample from the observations of a ``VecGame``: see ``ObservationLog``."""
        self._record.resume(observations)

    def acts_on(self, observations: Any) -> tuple[dict[str, npt.NDArray[Any]], npt.NDArray[np.uint8]]:
        """Return the frames and the masks to be acted on now, see ``ObservationLog.now``."""
        return self._record.now(observations)

    def see(self, observations: Any) -> None:
        """Remember what is seen now: the observations of a ``VecGame``."""
        self._record.append(observations)

    def add(
        self,
        step: BatchStep,
        chosen: dict[str, Chosen],
        weights: int,
        ending: Callable[[int, int], dict[str, float]],
    ) -> None:
        """Remember a step; ``weights``: their sequence number, ``ending``: gives the info of a seat, 1..P.

        What is seen after it has to follow.
        """
        self._rewards.append(step.rewards)
        self._chosen.append(chosen)
        self._weights.append(weights)
        moment = self.now + 1
        for k, i in zip(*np.nonzero(step.terminated | step.truncated), strict=True):
            game = self.games[k]
            assert game is not None
            game.ends[int(i)] = moment, bool(step.truncated[k, i])
            game.infos[int(i)] = ending(int(k), int(i) + 1)
        for k in map(int, np.flatnonzero(step.done)):
            game, self.games[k] = self.games[k], None
            assert game is not None
            self.ended.append(Ended(k, game, moment, bool(step.cut[k])))

    # ---- episodes ---------------------------------------------------------------------------------

    def episodes(self, *, with_ongoing: bool) -> list[MultiAgentEpisode]:
        """Return the episodes of games that have ended, in that order, then those of games in progress."""
        parts = _Parts(self._chosen, self._rewards, self._weights)
        made = [self._episode(parts, *ended) for ended in self.ended]
        if with_ongoing:
            made += [
                self._episode(parts, k, game, self.now, None)
                for k, game in enumerate(self.games)
                if game is not None and self.now > max(game.start, self._first)
            ]
        return made

    def cut(self) -> None:
        """Let the next sample begin here: forget all but what it looks back at."""
        forget = max(0, self.now - self.lookback)
        del self._rewards[:forget], self._chosen[:forget], self._weights[:forget]
        self._origin += forget
        self._record = self._record.since(self._origin)  # the episodes have the one up to now
        self._first, self.ended, self._since = self.now, [], time.perf_counter()
        for game in self.games:
            if game is not None:
                game.start -= forget
                game.ends = {seat: (end - forget, is_cut) for seat, (end, is_cut) in game.ends.items()}

    def _episode(
        self, parts: _Parts, k: int, game: GameEpisode, end: int, is_cut: bool | None
    ) -> MultiAgentEpisode:
        """Return what happened in game ``k`` in this sample; ``is_cut``: None if it goes on."""
        view, begin = self.views[k], max(game.start, self._first)
        first = max(game.start, begin - self.lookback, 0)
        living = [i for i in game.agents if game.ends.get(i, (end, False))[0] > begin]
        episode = MultiAgentEpisode(
            id_=game.id_,
            observation_space=view.observation_spaces,
            action_space=view.action_spaces,
            agent_to_module_mapping_fn=self._module_of,
            agent_module_ids={game.agents[i]: game.modules[i] for i in living},
            env_t_started=begin - game.start,
            agent_t_started={game.agents[i]: begin - game.start for i in living},
        )
        episode.env_t = end - game.start
        episode.is_truncated, episode.is_terminated = bool(is_cut), is_cut is False
        ray_private.set_lookback(episode, begin - first)
        for i in living:
            agent = game.agents[i]
            own = self._agent_episode(parts, k, game, i, slice(first, end), begin - first, episode)
            episode.agent_episodes[agent] = own
            seen = own.observations.len_incl_lookback()
            times: list[Any] = list(range(first - game.start, first - game.start + seen))
            times += [MultiAgentEpisode.SKIP_ENV_TS_TAG] * (end - first + 1 - len(times))
            episode.env_t_to_agent_t[agent] = InfiniteLookbackBuffer(times, lookback=begin - first)
        owns = episode.agent_episodes.values()
        ray_private.set_times([episode, *owns], max(game.began, self._since), time.perf_counter())
        return episode

    def _agent_episode(
        self,
        parts: _Parts,
        k: int,
        game: GameEpisode,
        i: int,
        span: slice,
        lookback: int,
        whole: MultiAgentEpisode,
    ) -> SingleAgentEpisode:
        """Return the part of seat ``i`` in ``span``, of which ``lookback`` steps are of the piece before."""
        agent, module = game.agents[i], game.modules[i]
        end, was_cut = game.ends.get(i, (span.stop, False))
        is_last = end == span.stop
        known = min(lookback, end - span.start)
        columns = parts.columns(module, slice(span.start, end), k, i, known)
        moments = self._origin + np.arange(span.start, end + 1)
        infos: list[dict[str, float]] = [{}] * (end - span.start + 1)
        infos[-1] = game.infos.get(i, {})
        own = SingleAgentEpisode(
            id_=game.agent_ids[i],
            agent_id=agent,
            module_id=module,
            multi_agent_episode_id=game.id_,
            observations=SharedObservations(self._record, k, i + 1, moments, known),
            observation_space=whole.observation_space[agent],
            infos=infos,
            actions=columns.pop(ACTIONS),
            action_space=whole.action_space[agent],
            rewards=parts.rewards[span.start : end, k, i].tolist(),
            extra_model_outputs=columns,
            terminated=i in game.ends and not was_cut,
            truncated=was_cut or (i in game.ends and is_last and whole.is_truncated),
            t_started=whole.env_t_started,
            len_lookback_buffer=lookback,
        )
        ray_private.set_last_infos(own, infos[-1])
        return own


class _Parts:
    """The steps of a rollout end to end: T steps of E games with P seats."""

    def __init__(
        self, chosen: list[dict[str, Chosen]], rewards: list[npt.NDArray[np.float32]], weights: list[int]
    ) -> None:
        self.rewards, self._weights = np.array(rewards), np.array(weights, np.int64)
        self._columns: dict[str, dict[str, npt.NDArray[Any]]] = {}
        for module in {name: None for step in chosen for name in step}:
            self._columns[module] = self._join([step.get(module) for step in chosen])

    def _join(self, steps: list[Chosen | None]) -> dict[str, npt.NDArray[Any]]:
        """Return the columns of a module, (E, P, T, ...) each; without meaning where a seat did not act."""
        acted = [step for step in steps if step is not None]
        none = np.zeros(self.rewards.shape[1:], np.bool_)
        times, games, seats = np.nonzero([none if step is None else step.seats for step in steps])
        joined = {}
        for name in acted[-1].columns:
            if all(name in step.columns for step in acted):
                rows = _end_to_end([step.columns[name] for step in acted])
                grid = np.empty((*none.shape, len(steps), *rows.shape[1:]), rows.dtype)
                grid[games, seats, times] = rows
                joined[name] = grid
        return joined

    def columns(self, module: str, steps: slice, k: int, i: int, lookback: int) -> dict[str, Any]:
        """Return what the module gave seat ``i`` of game ``k`` in ``steps``, as buffers of episodes."""
        own = {name: column[k, i, steps] for name, column in self._columns[module].items()}
        own[WEIGHTS_SEQ_NO] = self._weights[steps]
        return {
            # Arrays of objects are rows that do not fit together, and go on as a list.
            name: InfiniteLookbackBuffer(column if column.dtype != object else list(column), lookback)
            for name, column in own.items()
        }


def _end_to_end(parts: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return the rows of all parts as one array; of arrays, if rows of greedy and other steps differ."""
    if len({part.shape[1:] for part in parts}) == 1:
        return np.concatenate(parts)
    rows = np.empty(sum(map(len, parts)), object)
    for i, row in enumerate(row for part in parts for row in part):
        rows[i] = row
    return rows
