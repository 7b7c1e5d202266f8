"""The loop over games: a batch that is played to its end, with bots and with policies that act on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.config import GameConfig
from territorial.engine.vec_game import VecGame
from territorial.evaluation.players import Act, Acting, Cast, Player
from territorial.typing import Bools, Ints

SIDE_BY_SIDE = 16
"""Games that a process plays at once, at most: their memory still fits into the caches."""


class GameLoop:
    """Plays batches of games one after the other, with one batch in memory.

    Args:
        players: by name; all other names are those of bots.

    """

    def __init__(self, players: Mapping[str, Player]) -> None:
        self._players, self._cast = players, Cast(players)
        self._game: VecGame | None = None
        self._key: tuple[Any, ...] = ()

    def begin(
        self, config: GameConfig, names: Sequence[Sequence[str]], seeds: Sequence[int], *, apart: bool
    ) -> RunningGames:
        """Return games that begin now; ``names``: who sits where, by game.

        ``apart``: True: policies see one game at a time, so that it comes out the same whatever is played
        beside it, in stacks for all players. False: they see all games together, which is faster.
        """
        policies = self._cast.policies(name for row in names for name in row)
        seeing = self._cast.policies(self._players) if apart else policies
        game = self._batch(config, len(names), max((one.frames for one in seeing.values()), default=None))
        for k, row in enumerate(names):
            game.set_seats(k, [self._cast.seat(name) for name in row])
        game.reset(seeds=seeds)
        return RunningGames(game, policies, np.array(names), seeds, apart)

    def _batch(self, config: GameConfig, games: int, frames: int | None) -> VecGame:
        key = config, games, frames
        if self._game is None or key != self._key:
            if self._game is not None:
                self._game.close()
            seen: dict[str, Any] = {"observe": False} if frames is None else {"frames": frames}
            self._game, self._key = VecGame(config, games, autoreset="disabled", **seen), key
        return self._game


class RunningGames:
    """Games that are played side by side, see ``GameLoop.begin``; ``game`` has them all."""

    def __init__(
        self,
        game: VecGame,
        policies: Mapping[str, Acting],
        who: npt.NDArray[Any],
        seeds: Sequence[int],
        apart: bool,
    ) -> None:
        self.game = game
        self._policies, self._who, self._seeds, self._apart = policies, who, seeds, apart

    def steps(self) -> Iterator[tuple[Any, ...]]:
        """Play to the end of all games, and yield what ``VecGame.step`` returns, step by step."""
        try:
            acts = self._started()
            while not self.game.state.over.all():
                yield self.game.step(self._actions(acts) if acts else None)
        finally:
            for policy in self._policies.values():
                policy.stop()

    def _started(self) -> list[tuple[Act, Bools]]:
        """Return what chooses actions, and for which seats (E, P)."""
        game, acts = self.game, []
        parts = [[k] for k in range(len(self._who))] if self._apart else [list(range(len(self._who)))]
        for name, policy in self._policies.items():
            for part in parts:
                is_seat = np.zeros(self._who.shape, np.bool_)
                is_seat[part] = self._who[part] == name
                if is_seat.any():
                    acts.append((policy.start(game.config, game.layout, self._seeds[part[0]]), is_seat))
        return acts

    def _actions(self, acts: Sequence[tuple[Act, Bools]]) -> Ints:
        state = self.game.state
        lives = (state.alive[:, 1:] != 0) & (state.over == 0)[:, None]
        actions = np.zeros((*lives.shape, 2), np.int64)
        for act, is_seat in acts:
            games, seats = np.nonzero(is_seat & lives)
            if len(games):
                actions[games, seats] = act(self.game, games, seats + 1)
        return actions
