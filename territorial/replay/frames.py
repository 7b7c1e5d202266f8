"""A game as a sequence of frames, for whatever draws it: one interface for replays and for live games."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from territorial.config import GameConfig
from territorial.config.map_names import Terrain
from territorial.config.validation import whole_number
from territorial.engine.seats import shown_names
from territorial.engine.vec_game import VecGame
from territorial.replay.gifts import GiftLog, teams_in
from territorial.typing import Ints


class Frame(NamedTuple):
    """A game at one tick. All arrays are the receiver's own; those of seats are in seat order, 1..P."""

    tick: int
    owner: npt.NDArray[np.uint8]
    """(H, W) owner codes: 0 neutral, 1..P seats, 255 blocked."""
    land: npt.NDArray[np.int64]
    """(P,) cells owned."""
    troops: npt.NDArray[np.int64]
    """(P,) balances at home."""
    alive: npt.NDArray[np.bool_]
    """(P,)"""
    death_tick: npt.NDArray[np.int64] | None = None
    """(P,) when eliminated players died; no meaning for others. None: at the first frame without them."""
    attacks: Ints | None = None
    """(N, 3) troops in the field: seat, owner code of its target, troops, by seat and target. None: none."""
    gifts: Ints | None = None
    """(N, 3) donations since the frame before: giver, receiver, troops, by seats. None: no allies."""


class FrameSource(Protocol):
    """What can be drawn: a ``Replay`` or a ``LiveGame``."""

    @property
    def config(self) -> GameConfig:
        """Rules, size and number of seats."""

    @property
    def names(self) -> tuple[str, ...]:
        """What the P seats are called."""

    @property
    def teams(self) -> tuple[int, ...] | None:
        """The team 1..N of each seat; None if no seat has an ally."""

    @property
    def terrain(self) -> Terrain:
        """What blocked cells are: "water" or "mountains"."""

    @property
    def num_land(self) -> int:
        """Land cells of the map, M in the rules."""

    @property
    def num_ticks(self) -> int | None:
        """Ticks from beginning to end; None while it is unknown."""

    def frames(self, every: int = ...) -> Iterator[Frame]:
        """Yield the game from its first tick on, ``every`` so many ticks, and as it ends."""


def frame_of(game: VecGame, k: int = 0, gifts: GiftLog | None = None) -> Frame:
    """Return game ``k`` of a batch as it stands, with the donations that ``gifts`` has; they are taken."""
    state = game.state
    return Frame(
        tick=int(state.tick[k]),
        owner=state.owner[k, 1:-1, 1:-1].copy(),
        land=state.land[k, 1:].copy(),
        troops=state.troops[k, 1:].copy(),
        alive=state.alive[k, 1:] != 0,
        death_tick=state.death_tick[k, 1:].astype(np.int64),
        attacks=_attacks(state.pools[k]),
        gifts=None if gifts is None else gifts.take(),
    )


def _attacks(pools: Ints) -> Ints:
    """Return the pools (P + 1, P + 1) that hold troops, as a frame has them."""
    seats, targets = np.nonzero(pools)
    return np.stack([seats, targets, pools[seats, targets]], axis=1).astype(np.int64)


class LiveGame:
    """Game ``k`` of a batch as a source of frames: it is played while they are taken.

    Args:
        game: the batch, after ``reset``. With autoreset "disabled" the last frame is the end of the game;
            else a new game takes its place within the step, and the last frame is the one before.
        k: which game.
        actions: called with the batch before every step; returns what ``VecGame.step`` takes. None: only
            bots play.
        names: what the seats are called; None: the names of bots, and ``player_i``.

    """

    num_ticks = None

    def __init__(
        self,
        game: VecGame,
        k: int = 0,
        *,
        actions: Callable[[VecGame], Any] | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        self._game, self._k, self._actions = game, k, actions
        self.names = shown_names(game.seats_of(k)) if names is None else tuple(names)

    @property
    def config(self) -> GameConfig:
        """Rules, size and number of seats."""
        return self._game.config

    @property
    def teams(self) -> tuple[int, ...] | None:
        """The team 1..N of each seat; None if no seat has an ally."""
        return teams_in(self._game, self._k)

    @property
    def terrain(self) -> Terrain:
        """What blocked cells are: "water" or "mountains"."""
        return self._game.terrain_name(self._k)

    @property
    def num_land(self) -> int:
        """Land cells of the map, M in the rules."""
        return int(self._game.state.num_land[self._k])

    def frames(self, every: int = 10) -> Iterator[Frame]:
        """Yield the game as it stands and then, after every step that reaches a multiple of ``every``, again.

        ``every`` is in ticks; a step is ``decision_every`` of them.
        """
        every, k, tick = whole_number("every", every, 1), self._k, self._game.state.tick
        gifts = GiftLog(self._game, k) if self._game.config.has_allies else None
        yield frame_of(self._game, k, gifts)
        shown = int(tick[k])
        while not self._game.state.over[k]:
            actions = None if self._actions is None else self._actions(self._game)
            if gifts is not None:
                gifts.before_launches()
            info = self._game.step(actions)[-1]
            if info["was_reset"][k]:
                return
            if gifts is not None:
                gifts.add_last_step()
            if tick[k] // every > shown // every or info["ended"][k]:
                yield frame_of(self._game, k, gifts)
                shown = int(tick[k])
