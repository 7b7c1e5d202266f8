"""Frames of a game, from a replay or from a live game."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.config import GameConfig
from territorial.config.land_mask import LandMask
from territorial.config.validation import whole_number
from territorial.engine.seats import shown_names
from territorial.engine.vec_game import VecGame
from territorial.game.formulas import amount_sent, are_allies, may_donate, wanted_of
from territorial.observation.action_encoding import NO_TARGET
from territorial.typing import Ints


def teams_in(game: VecGame, k: int = 0) -> tuple[int, ...] | None:
    """Return the team 1..N of each seat 1..P in game ``k``, which has begun; None if no seat has an ally."""
    return tuple(game.state.team[k, 1:].tolist()) if game.config.has_allies else None


LONGEST_NAME = 64
"""Characters of the name of a player or a map in a replay."""


def map_kind_of(config: GameConfig) -> str | None:
    """Return the name of the map that games are played on; None if it has none, or none that is short."""
    name = str(config.map)
    return None if isinstance(config.map, LandMask) or len(name) > LONGEST_NAME else name


class GiftLog:
    """Adds up the donations of game ``k`` of a batch until they are taken.

    Amounts are those of the rules, as the balances before a tick give them. Where a seat launches twice in a
    tick, which no decision does, they are what each gift would come to alone.
    """

    def __init__(self, game: VecGame, k: int = 0) -> None:
        self._game, self._k = game, k
        owners = game.config.num_players + 1
        self._sums = np.zeros((owners, owners), np.int64)
        self.before_launches()

    def before_launches(self) -> None:
        """Note the balances and lands that the next launches are made with."""
        self._troops, self._land = (
            self._game.state.troops[self._k].copy(),
            self._game.state.land[self._k].copy(),
        )

    def add(self, launches: Ints) -> None:
        """Add the launches (N, 4), as replays have them, that were legal donations by the balances noted."""
        team, config = self._game.state.team[self._k], self._game.config
        _, seats, targets, fractions = launches.T
        troops = self._troops[seats]
        is_gift = are_allies(seats, targets, team[seats], team[targets])
        is_gift &= may_donate(troops, self._troops[targets], self._land[targets], config)
        amounts = amount_sent(wanted_of(troops, fractions), 1, troops, config)
        np.add.at(self._sums, (seats[is_gift], targets[is_gift]), amounts[is_gift])

    def take(self) -> Ints:
        """Return (N, 3), giver, receiver and troops without the tax, by seats; and begin with none again."""
        givers, receivers = np.nonzero(self._sums)
        gifts = np.stack([givers, receivers, self._sums[givers, receivers]], axis=1)
        self._sums[:] = 0
        return gifts


class Frame(NamedTuple):
    """A game at one tick. All arrays are the receiver's own; arrays by seat are in seat order, 1..P."""

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
    launches: Ints | None = None
    """(N, 4) launches since the frame before, as replays have them: tick, seat, owner code of the target,
    1024ths of the balance. None: not known."""


def launches_in(game: VecGame, k: int, tick: int) -> Ints:
    """Return (N, 4), the launches of game ``k`` in the last step, from ``tick`` on, as replays have them."""
    last = game.launches()
    seats = np.flatnonzero(last.target[k] != NO_TARGET)
    targets, fractions = (table[k, seats].astype(np.int64) for table in last[:2])
    return np.stack([np.full(len(seats), tick), seats + 1, targets, fractions], axis=1)


def frame_of(game: VecGame, k: int = 0, gifts: GiftLog | None = None, launches: Ints | None = None) -> Frame:
    """Return game ``k`` of a batch as it stands, with the donations that ``gifts`` has; they are taken."""
    state, pools = game.state, game.state.pools[k]
    seats, targets = np.nonzero(pools)
    return Frame(
        tick=int(state.tick[k]),
        owner=state.owner[k, 1:-1, 1:-1].copy(),
        land=state.land[k, 1:].copy(),
        troops=state.troops[k, 1:].copy(),
        alive=state.alive[k, 1:] != 0,
        death_tick=state.death_tick[k, 1:].astype(np.int64),
        attacks=np.stack([seats, targets, pools[seats, targets]], axis=1).astype(np.int64),
        gifts=None if gifts is None else gifts.take(),
        launches=launches,
    )


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
        self.config = game.config
        """Rules, size and number of seats."""
        self.teams = teams_in(game, k)
        """The team 1..N of each seat; None if no seat has an ally."""
        self.map_kind = map_kind_of(game.config)
        """The kind of map, such as "lakes"; None: a map of the user's own."""
        self.terrain = game.terrain_name(k)
        """The kind of blocked cells: "water" or "mountains"."""
        self.num_land = int(game.state.num_land[k])
        """Land cells of the map, M in the rules."""

    def frames(self, every: int = 10) -> Iterator[Frame]:
        """Yield the game as it stands and then, after every step that reaches a multiple of ``every``, again.

        ``every`` is in ticks; a step is ``decision_every`` of them.
        """
        every, k, tick = whole_number("every", every, 1), self._k, self._game.state.tick
        gifts = GiftLog(self._game, k) if self._game.config.has_allies else None
        none = np.zeros((0, 4), np.int64)
        yield frame_of(self._game, k, gifts, none)
        shown, launches = int(tick[k]), [none]
        while not self._game.state.over[k]:
            now = int(tick[k])
            actions = None if self._actions is None else self._actions(self._game)
            if gifts is not None:
                gifts.before_launches()
            info = self._game.step(actions)[-1]
            if info["was_reset"][k]:
                return
            launches.append(launches_in(self._game, k, now))
            if gifts is not None:
                gifts.add(launches[-1])
            if tick[k] // every > shown // every or info["ended"][k]:
                yield frame_of(self._game, k, gifts, np.concatenate(launches))
                shown, launches = int(tick[k]), []
