"""What the multiplications of networks take at least: how many, and how fast this machine multiplies."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.rllib.league_seats import LeagueNetwork, Seats, environment
from rllib_adapters.modules.board import settings_of
from territorial import GameConfig, VecGame
from territorial.actions.masks import pair_masks
from territorial.nets.pair_policy import PairPolicy

CANDIDATES, OWN, COLUMNS = 8, 35, 26
DRAWS = 200
MOST_ROWS = 4096
"""Rows of a matrix whose product is timed; more take as long each."""
SECONDS = 0.02
"""For which products of one size are timed."""
FEWEST = 3
"""Products of one size that are timed, however long they take."""


class Bound(NamedTuple):
    """What the multiplications of a step of one game need."""

    macs: float
    """Multiplications, each with an addition."""
    macs_a_second: float
    """Those of float32 matrices of the sizes of this network's layers, on one thread."""

    @property
    def us(self) -> float:
        """Microseconds."""
        return 1e6 * self.macs / self.macs_a_second


def bound(network: LeagueNetwork, seats: Seats, game: GameConfig, games: int) -> Bound:
    """Return the bound for a league, all of whose seats live and decide."""
    policy = make_policy(network, seats, game)
    most = max(seats.learning, seats.frozen)
    macs = {rows: counted(policy, game, rows) for rows in range(1, most + 1)}
    frozen = frozen_macs(seats, macs) if seats.snapshots else 0.0
    return Bound(macs[seats.learning] + frozen, rate(policy, game, most, games))


def make_policy(network: LeagueNetwork, seats: Seats, game: GameConfig) -> Any:
    """Return a network for a league, as it begins."""
    settings = settings_of(environment(network, seats, game), **network.settings)
    return network.module.make_policy(settings)


def frozen_macs(seats: Seats, macs: Mapping[int, float]) -> float:
    """Return the multiplications of frozen seats, the mean over games: each snapshot runs once in a game."""
    rng, table, total = np.random.default_rng(0), seats.table(), 0.0
    for _ in range(DRAWS):
        names = [player.name for player in table.draw(rng) if player.kind == "snapshot"]
        total += sum(macs[names.count(name)] for name in set(names))
    return total / DRAWS


def counted(policy: nn.Module, game: GameConfig, rows: int) -> float:
    """Return the multiplications of a call for ``rows`` seats of one game, by the shapes of matrices."""
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        policy(*inputs(policy, game, rows))
    return float(counter.get_total_flops() / 2)


def inputs(policy: nn.Module, game: GameConfig, rows: int) -> tuple[Any, ...]:
    """Return what seats 1 to ``rows`` of a game see, as the network takes it."""
    if isinstance(policy, PairPolicy):
        mask = torch.ones(rows, 1 + 10 * CANDIDATES)
        return torch.zeros(rows, OWN), torch.zeros(rows, CANDIDATES, COLUMNS), mask
    played = VecGame(game, 1, frames=policy.layout.frames)
    seen, games, seats = played.reset(0), np.zeros(rows, np.int64), np.arange(1, rows + 1)
    arrays = {name: getattr(seen, name) for name in ("players", "borders", "globals")}
    arrays |= {"observations": seen.planes, "frame": games[:, None], "seat": seats[:, None].astype(np.int32)}
    arrays |= {"action_mask": pair_masks(seen.masks, games, seats)}
    return ({name: torch.from_numpy(np.array(array)) for name, array in arrays.items()},)


def rate(policy: nn.Module, game: GameConfig, rows: int, games: int) -> float:
    """Return the multiplications a second of products as large as those of the layers, all games at once."""
    shapes = shapes_of(policy, game, rows)
    seconds = macs = 0.0
    for inner, outer, count in shapes:
        high = min(MOST_ROWS, count * games)
        seconds += product_seconds(high, inner, outer)
        macs += high * inner * outer
    return macs / seconds


def shapes_of(policy: nn.Module, game: GameConfig, rows: int) -> list[tuple[int, int, int]]:
    """Return the numbers of inputs, outputs and rows of all layers that are products of matrices."""
    shapes: list[tuple[int, int, int]] = []

    def note(layer: Any, _: Any, output: Tensor) -> None:
        outer = layer.weight.shape[0]
        shapes.append((layer.weight[0].numel(), outer, output.numel() // outer))

    layers = [layer for layer in policy.modules() if isinstance(layer, (nn.Linear, nn.Conv2d))]
    hooks = [layer.register_forward_hook(note) for layer in layers]
    with torch.no_grad():
        policy(*inputs(policy, game, rows))
    for hook in hooks:
        hook.remove()
    return shapes


def product_seconds(rows: int, inner: int, outer: int) -> float:
    """Return the seconds of a product of float32 matrices, at their best."""
    left, right = torch.rand(rows, inner), torch.rand(inner, outer)
    return best_seconds(lambda: torch.mm(left, right))


def best_seconds(call: Callable[[], object]) -> float:
    """Return the shortest processor time of a call, of a few at least and those within a moment."""
    end, times = time.process_time() + SECONDS, []
    while len(times) < FEWEST or time.process_time() < end:
        began = time.process_time()
        call()
        times.append(time.process_time() - began)
    return min(times)
