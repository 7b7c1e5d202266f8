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

from rllib_adapters.batch import GameView, Seen, Step
from rllib_adapters.roster import Roster
from territorial.actions import pair_mask
from territorial.decode.numpy import Decoder

ACTIONS = "actions"
Columns = Mapping[str, npt.NDArray[Any]]


class Chosen(NamedTuple):
    """What a module gave for the N rows of a step."""

    rows: npt.NDArray[np.int64]
    """(E, P): the row of every seat that acted through the module."""
    columns: Columns
    """(N, ...) each; ``ACTIONS`` among them."""


@dataclass
class Game:
    """A game under way, as an episode of RLlib. Moments are numbers of observations in the rollout."""

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
    game: Game
    end: int
    is_cut: bool


class Rollout:
    """The steps since the last sample, of E games; and the few before that episodes look back at.

    Moment i is the i-th observation that is remembered, and step i leads from it to the next one.

    Args:
        views: of the games, for agents and spaces.
        decoder: of their observations.
        roster: of those who learn.
        module_of: RLlib's mapping function, for the episodes.
        lookback: steps that a new piece of an episode has from the piece before.

    """

    def __init__(
        self,
        views: list[GameView],
        decoder: Decoder,
        roster: Roster,
        module_of: Callable[[str, Any], str],
        lookback: int,
    ) -> None:
        self.views, self.decoder, self.lookback = views, decoder, lookback
        self._roster, self._module_of = roster, module_of
        self._seats = [np.array([i + 1], np.int32) for i in range(decoder.layout.num_players)]
        self.clear()

    def clear(self) -> None:
        """Forget everything, games under way as well."""
        self.games: list[Game | None] = [None] * len(self.views)
        self.ended: list[Ended] = []
        self._first = 0  # the moment at which this sample began
        self._since = time.perf_counter()
        self._seen: list[Seen] = []
        self._rewards: list[npt.NDArray[np.float32]] = []
        self._chosen: list[dict[str, Chosen]] = []
        self._weights: list[int] = []

    @property
    def now(self) -> int:
        """The present moment."""
        return len(self._seen) - 1

    @property
    def last_seen(self) -> Seen:
        """What is seen now."""
        return self._seen[-1]

    def begin(self, k: int, who: npt.NDArray[np.int64]) -> None:
        """Let game ``k`` begin with what is seen next; ``who``: int64 (P,) who learns, -1 for nobody."""
        seats, roster = np.flatnonzero(who >= 0).tolist(), self._roster
        agents = {i: roster.agents[who[i]][i] for i in seats}
        self.games[k] = Game(agents, {i: roster.modules[who[i]][i] for i in seats}, self.now + 1)

    def see(self, seen: Seen) -> None:
        """Remember what is seen now."""
        self._seen.append(seen)

    def add(
        self,
        step: Step,
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
        """Return the episodes of games that have ended, in that order, then those of games under way."""
        parts = _Parts(self._chosen, self._rewards, self._weights, [seen.masks for seen in self._seen])
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
        del self._seen[:forget], self._rewards[:forget], self._chosen[:forget], self._weights[:forget]
        self._first, self.ended, self._since = self.now, [], time.perf_counter()
        for game in self.games:
            if game is not None:
                game.start -= forget
                game.ends = {seat: (end - forget, is_cut) for seat, (end, is_cut) in game.ends.items()}

    def _episode(self, parts: _Parts, k: int, game: Game, end: int, is_cut: bool | None) -> MultiAgentEpisode:
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
        episode._len_lookback_buffers = begin - first
        episode._start_time, episode._last_step_time = max(game.began, self._since), time.perf_counter()
        legal = self._legal(parts.masks[first : end + 1, k], living)
        for i, masks in zip(living, legal, strict=True):
            agent = game.agents[i]
            own = self._agent_episode(parts, k, game, i, slice(first, end), masks, episode)
            episode.agent_episodes[agent] = own
            times: list[Any] = list(
                range(first - game.start, first - game.start + len(own.observations.data))
            )
            times += [MultiAgentEpisode.SKIP_ENV_TS_TAG] * (end - first + 1 - len(times))
            episode.env_t_to_agent_t[agent] = InfiniteLookbackBuffer(times, lookback=begin - first)
        return episode

    def _agent_episode(
        self,
        parts: _Parts,
        k: int,
        game: Game,
        i: int,
        span: slice,
        masks: npt.NDArray[np.int8],
        whole: MultiAgentEpisode,
    ) -> SingleAgentEpisode:
        """Return the part of seat ``i`` in ``span``; ``masks``: of what it might do then."""
        agent, module = game.agents[i], game.modules[i]
        end, was_cut = game.ends.get(i, (span.stop, False))
        is_last = end == span.stop
        columns = parts.columns(module, slice(span.start, end), k, i)
        infos: list[dict[str, float]] = [{} for _ in range(end - span.start + 1)]
        infos[-1] = game.infos.get(i, infos[-1])
        own = SingleAgentEpisode(
            id_=game.agent_ids[i],
            agent_id=agent,
            module_id=module,
            multi_agent_episode_id=game.id_,
            observations=[
                {**seen.shared[k], "seat": self._seats[i], "action_mask": mask}
                for seen, mask in zip(self._seen[span.start : end + 1], masks, strict=False)
            ],
            observation_space=whole.observation_space[agent],
            infos=infos,
            actions=columns.pop(ACTIONS),
            action_space=whole.action_space[agent],
            rewards=parts.rewards[span.start : end, k, i].tolist(),
            extra_model_outputs=columns,
            terminated=i in game.ends and not was_cut,
            truncated=was_cut or (i in game.ends and is_last and whole.is_truncated),
            t_started=whole.env_t_started,
            len_lookback_buffer=whole._len_lookback_buffers,
        )
        own._last_added_observation, own._last_added_infos = own.observations.data[-1], infos[-1]
        own._start_time, own._last_step_time = whole._start_time, whole._last_step_time
        return own

    def _legal(self, masks: npt.NDArray[np.uint8], seats: list[int]) -> npt.NDArray[np.int8]:
        """Return int8 (N, T, P+12): the masks of ``seats``, 0.., of bits (T, P, ...)."""
        moments = np.tile(np.arange(len(masks)), len(seats))
        legal = pair_mask(self.decoder.action_mask(masks, np.repeat(seats, len(masks)) + 1, moments))
        return legal.reshape(len(seats), len(masks), -1)


class _Parts:
    """The steps of a rollout end to end: T steps of E games with P seats."""

    def __init__(
        self,
        chosen: list[dict[str, Chosen]],
        rewards: list[npt.NDArray[np.float32]],
        weights: list[int],
        masks: list[npt.NDArray[np.uint8]],
    ) -> None:
        self.rewards, self.masks, self._weights = np.array(rewards), np.array(masks), weights
        self._rows: dict[str, npt.NDArray[np.int64]] = {}
        self._columns: dict[str, dict[str, npt.NDArray[Any]]] = {}
        for module in {name: None for step in chosen for name in step}:
            self._join(module, chosen)

    def _join(self, module: str, chosen: list[dict[str, Chosen]]) -> None:
        """Number the rows of a module through, and put its columns end to end."""
        rows, count = np.full((len(chosen), *self.rewards.shape[1:]), -1, np.int64), 0
        for t, step in enumerate(chosen):
            if module in step:
                rows[t] = step[module].rows + count
                count += len(step[module].columns[ACTIONS])
        steps = [step[module].columns for step in chosen if module in step]
        names = [name for name in steps[-1] if all(name in step for step in steps)]
        self._rows[module] = rows
        self._columns[module] = {name: _end_to_end([step[name] for step in steps]) for name in names}

    def columns(self, module: str, steps: slice, k: int, i: int) -> dict[str, list[Any]]:
        """Return what the module gave seat ``i`` of game ``k`` in ``steps``, one entry a step."""
        rows = self._rows[module][steps, k, i]
        return {
            **{name: list(column[rows]) for name, column in self._columns[module].items()},
            WEIGHTS_SEQ_NO: self._weights[steps],
        }


def _end_to_end(parts: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return the rows of all parts as one array; of arrays, if rows of greedy and other steps differ."""
    if len({part.shape[1:] for part in parts}) == 1:
        return np.concatenate(parts)
    rows = np.empty(sum(map(len, parts)), object)
    for i, row in enumerate(row for part in parts for row in part):
        rows[i] = row
    return rows
