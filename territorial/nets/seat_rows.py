"""The seats of games that anything follows from, end to end, for networks that encode games once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from territorial.decode.recorded import is_recorded
from territorial.nets.seat_kernels import (
    LANES,
    attend,
    attend_back,
    attend_in_games,
    mark_seats,
    write_launches,
    write_meetings,
    write_seats,
)
from territorial.observation.layout import PLAYERS, index

ALIVE = index(PLAYERS, "alive")
TABLES = "players", "globals", "borders"


class SeatRows(NamedTuple):
    """Seats of games, one a row, those of a game together: A of G games with P seats."""

    tables: Tensor
    """float32 (A, C): what the tables say of each."""
    numbers: Tensor
    """int64 (G, P): the row of each seat, -1 for those that nothing follows from."""
    starts: Tensor
    """int64 (G + 1,): where the rows of each game begin."""
    is_alive: Tensor
    """bool (A,)"""
    which: Tensor
    """int32 (A, P): for a row and the others of its game, in order, the row of ``pairs``."""
    pairs: Tensor
    """float32 (rows, 2 * K): the borders between two seats; the first row is of all those without any."""


class LegalLaunches(NamedTuple):
    """The legal launches of rows, L of them, in order."""

    rows: Tensor
    """int64 (L,): whose each is."""
    targets: Tensor
    """int64 (L,): 0 for neutral land, and from 1 on seats in ego order."""
    whom: Tensor
    """int64 (L,): the row of the seat that is the target, A for neutral land."""
    pairs: Tensor
    """float32 (L, 2 * K): the borders that each crosses."""


def can_be_rows(seen: Mapping[str, Tensor]) -> bool:
    """Return whether kernels can read what rows see of games."""
    tables = [seen[name] for name in TABLES]
    is_plain = all(one.device.type == "cpu" and one.dtype == torch.float32 for one in tables)
    is_prepared = "between" in seen or "snapshot" in seen
    needs_torch = is_recorded() or torch.is_autocast_enabled("cpu")
    fits = seen["action_mask"].dtype == torch.int8
    return is_plain and fits and not is_prepared and not needs_torch


def seat_rows(
    seen: Mapping[str, Tensor], scales: Mapping[str, Tensor], of_row: Tensor, *, every: bool
) -> SeatRows:
    """Return the seats of all games of ``seen`` that anything follows from: where ``every``, all of them.

    Args:
        seen: what rows see, as ``Policy`` says.
        scales: the factors of the columns of each table.
        of_row: int64 (N,), the game of each row.
        every: whether to return those that are eliminated, and that no row is of, too.

    """
    players, everybody, borders = (_array(seen[name]) for name in TABLES)
    factors = tuple(_array(scales[name]) for name in TABLES)
    wanted = np.ones(players.shape[:2], np.bool_)
    if not every:
        seats, mask = _array(seen["seat"]).reshape(-1).astype(np.int64), _array(seen["action_mask"])
        mark_seats(players[..., ALIVE], _array(of_row), seats, mask, wanted)
    starts = np.concatenate([[0], wanted.sum(1).cumsum()])
    numbers = np.where(wanted, (wanted.cumsum() - 1).reshape(wanted.shape), -1)
    count, columns = int(starts[-1]), 2 * len(factors[2])
    of_seat, is_alive = np.empty(count, np.int64), np.empty(count, np.bool_)
    tables = torch.empty(count, sum(map(len, factors)) + len(factors[2]))
    write_seats((players, everybody, borders), factors, numbers, ALIVE, of_seat, is_alive, tables.numpy())
    which = torch.empty((count, wanted.shape[1]), dtype=torch.int32)
    pairs = torch.empty(int((np.diff(starts) ** 2).sum()) + 1, columns)
    found = write_meetings(borders, factors[2], starts, of_seat, which.numpy(), pairs.numpy())
    return SeatRows(
        tables,
        torch.from_numpy(numbers),
        torch.from_numpy(starts),
        torch.from_numpy(is_alive),
        which,
        pairs[:found],
    )


def launches_of(
    seen: Mapping[str, Tensor], scales: Mapping[str, Tensor], of_row: Tensor, numbers: Tensor
) -> LegalLaunches:
    """Return the legal launches of rows; arguments are those of ``seat_rows``, and its ``numbers``."""
    mask, borders = _array(seen["action_mask"]), _array(seen["borders"])
    count, scale = int((mask[:, 1 : numbers.shape[1] + 2] > 0).sum()), _array(scales["borders"])
    rows, targets, whom = np.empty((3, count), np.int64)
    pairs = torch.empty(count, 2 * len(scale))
    about = (
        _array(of_row),
        _array(seen["seat"]).reshape(-1).astype(np.int64),
        _array(numbers),
        int(numbers.max()) + 1,
    )
    write_launches(mask, borders, scale, *about, rows, targets, whom, pairs.numpy())
    return LegalLaunches(torch.from_numpy(rows), torch.from_numpy(targets), torch.from_numpy(whom), pairs)


def heard_of(asks: Tensor, biases: Tensor, rows: SeatRows) -> Tensor:
    """Return float32 (A, W): what seats hear of those of their game to whom they attend.

    Args:
        asks: float32 (A, 3 * W), what each asks, what it answers to, and what it says, head by head.
        biases: float32 (rows, H), how much more those attend to each other between whom these ``pairs`` lie.
        rows: the seats.

    """
    heard: Tensor = _Attention.apply(asks, biases, rows)
    return heard


class _Attention(torch.autograd.Function):
    """``heard_of``; what is kept for the gradients is how much each attends to whom."""

    @staticmethod
    def forward(ctx: Any, asks: Tensor, biases: Tensor, rows: SeatRows) -> Tensor:
        """Return what is heard."""
        (count, width), heads = asks.shape, biases.shape[1]
        width, players = width // 3, rows.which.shape[1]
        heard, chances = torch.empty(count, width), torch.empty(count, heads, players)
        ctx.which, ctx.starts = rows.which.numpy(), rows.starts.numpy()
        ctx.scale, ctx.shape = scale_of(width, heads), biases.shape
        attend(
            _array(asks),
            _array(biases),
            ctx.which,
            ctx.starts,
            rows.is_alive.numpy(),
            ctx.scale,
            *scratch(width, heads, players),
            chances.numpy(),
            heard.numpy(),
        )
        ctx.save_for_backward(asks, chances)
        return heard

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, of_heard: Tensor) -> tuple[Tensor, Tensor, None]:
        """Return the gradients of both."""
        asks, chances = ctx.saved_tensors
        of_asks, of_biases = torch.empty_like(asks), torch.zeros(ctx.shape)
        attend_back(
            _array(asks),
            ctx.which,
            ctx.starts,
            ctx.scale,
            chances.numpy(),
            _array(of_heard),
            *scratch(of_heard.shape[1], *chances.shape[1:]),
            of_asks.numpy(),
            of_biases.numpy(),
        )
        return of_asks, of_biases, None


def heard_in_games(asks: Tensor, biases: Tensor) -> Tensor:
    """Return float32 (G, P, W): as ``heard_of``, of games whose seats are all there, and without gradients.

    Args:
        asks: float32 (G, P, 3 * W).
        biases: float32 (G, H, P, P), by how much more each attends to whom.

    """
    heads, width = biases.shape[1], asks.shape[2] // 3
    heard = torch.empty(*asks.shape[:2], width)
    attend_in_games(
        _array(asks.flatten(0, 1)),
        _array(biases),
        scale_of(width, heads),
        *scratch(width, heads, asks.shape[1]),
        heard.flatten(0, 1).numpy(),
    )
    return heard


def scale_of(width: int, heads: int) -> np.float32:
    """Return by what the products of heads are multiplied."""
    return np.float32(1 / math.sqrt(width // heads))


def scratch(width: int, heads: int, players: int) -> tuple[Any, Any, Any]:
    """Return what ``attend`` and ``attend_back`` write to: ``turned``, ``sums`` and ``scores``."""
    room = -(-players // LANES) * LANES
    turned, sums, scores = (np.empty((rows, room), np.float32) for rows in (width // heads, 2, players))
    return turned, sums, scores


def _array(tensor: Tensor) -> Any:
    """Return the numbers of a tensor on the processor, end to end."""
    return tensor.detach().contiguous().numpy()
