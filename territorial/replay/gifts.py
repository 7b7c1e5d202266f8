"""Donations between frames: who gave how many troops to whom. docs/rules.md has their rule."""

from __future__ import annotations

from typing import Any

import numpy as np

from territorial.engine.vec_game import VecGame
from territorial.game.formulas import amount_sent, are_allies, may_donate, wanted_of
from territorial.game.scratch import LAUNCH_FRACTION, LAUNCH_SEAT, LAUNCH_TARGET
from territorial.replay.player import Recording, play_to
from territorial.typing import Ints


def teams_in(game: VecGame, k: int = 0) -> tuple[int, ...] | None:
    """Return the team 1..N of each seat 1..P in game ``k``, which has begun; None if no seat has an ally."""
    return tuple(game.state.team[k, 1:].tolist()) if game.config.has_allies else None


def givers_and_receivers(game: VecGame, k: int = 0) -> Ints:
    """Return (N, 2), the seats of giver and receiver of the donations that were made in the last step."""
    last, team = game.launches(), game.state.team[k]
    seats, targets = np.arange(1, len(team)), np.maximum(last.target[k], 0).astype(np.int64)
    is_gift = last.legal[k] & are_allies(seats, targets, team[seats], team[targets])
    pairs: Ints = np.stack([seats, targets], axis=1)[is_gift]
    return pairs


class GiftLog:
    """Adds up the donations of game ``k`` of a batch until they are taken.

    Amounts are those of the rules, as the balances before a tick give them. Where a seat launches twice in a
    tick, which no decision does, they are what each gift would come to alone.
    """

    def __init__(self, game: VecGame, k: int = 0) -> None:
        self._game, self._k = game, k
        owners = game.config.num_players + 1
        self._sums = np.zeros((owners, owners), np.int64)
        self._troops = self._land = np.zeros(owners, np.int64)
        self.before_launches()

    def before_launches(self) -> None:
        """Note the balances and lands that the next launches are made with."""
        self._troops, self._land = (
            self._game.state.troops[self._k].copy(),
            self._game.state.land[self._k].copy(),
        )

    def add(self, seats: Any, targets: Any, fractions: Any) -> None:
        """Add those launches, (N,) each, that were legal donations when balances were noted last."""
        team, config = self._game.state.team[self._k], self._game.config
        troops = self._troops[seats]
        is_gift = are_allies(seats, targets, team[seats], team[targets])
        is_gift &= may_donate(troops, self._troops[targets], self._land[targets], config)
        amounts = amount_sent(wanted_of(troops, fractions), 1, troops, config)
        np.add.at(self._sums, (seats[is_gift], targets[is_gift]), amounts[is_gift])

    def add_last_step(self) -> None:
        """Add the donations of the last step of the batch, whose balances were noted before it."""
        last, seats = self._game.launches(), np.arange(1, len(self._sums))
        launched = last.legal[self._k]
        targets, fractions = (table[self._k, launched].astype(np.int64) for table in last[:2])
        self.add(seats[launched], targets, fractions)

    def take(self) -> Ints:
        """Return (N, 3), giver, receiver and troops without the tax, by seats; and begin with none again."""
        givers, receivers = np.nonzero(self._sums)
        gifts = np.stack([givers, receivers, self._sums[givers, receivers]], axis=1)
        self._sums[:] = 0
        return gifts


def play_and_log(game: VecGame, replay: Recording, tick: int, log: GiftLog) -> None:
    """Play the game of a replay on to ``tick`` and let ``log`` have the donations on the way."""
    team, now = game.state.team[0], int(game.state.tick[0])
    first, end = np.searchsorted(replay.launch_ticks, np.array((now, tick), replay.launch_ticks.dtype))
    rows = replay.launches[first:end].astype(np.int64)
    seats, targets = rows[:, LAUNCH_SEAT], rows[:, LAUNCH_TARGET]
    is_gift = are_allies(seats, targets, team[seats], team[targets])
    rows, ticks = rows[is_gift], replay.launch_ticks[first:end][is_gift]
    for at in np.unique(ticks).tolist():
        play_to(game, replay, at)
        log.before_launches()
        given = rows[ticks == at]
        log.add(given[:, LAUNCH_SEAT], given[:, LAUNCH_TARGET], given[:, LAUNCH_FRACTION])
    play_to(game, replay, tick)
