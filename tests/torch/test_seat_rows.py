"""The attention of seats by kernels: what PyTorch makes of the same numbers, and the gradients of it."""

import numpy as np
import pytest
import torch

from territorial.nets.seat_rows import SeatRows, heard_in_games, heard_of

HEADS, WIDTH, PAIRS = 2, 24, 50
COUNTS = (1, 2, 3, 4, 7, 15, 16, 17, 31, 33)
"""Seats of games: of all remainders of what kernels do at a time."""


def rows_of_games(counts, seed=0):
    """Rows of games of so many seats, one in three of which is eliminated, and numbers for them."""
    random = np.random.default_rng(seed)
    starts = np.concatenate([[0], np.cumsum(counts)])
    count, most = int(starts[-1]), max(counts)
    which = random.integers(0, PAIRS, (count, most)).astype(np.int32)
    alive = random.random(count) > 1 / 3
    tables = torch.empty(count, 0), torch.empty(0)
    rows = SeatRows(*tables, *map(torch.from_numpy, (starts, alive, which)), torch.empty(0))
    torch.manual_seed(seed)
    return (
        rows,
        torch.randn(count, 3 * WIDTH, requires_grad=True),
        torch.randn(PAIRS, HEADS, requires_grad=True),
    )


def by_pytorch(rows, asks, biases):
    """What is heard in every game, one after the other."""
    heard = []
    for first, end in zip(rows.starts[:-1].tolist(), rows.starts[1:].tolist(), strict=True):
        count = end - first
        parts = asks[first:end].unflatten(1, (3, HEADS, -1)).permute(1, 2, 0, 3)
        among = biases[rows.which[first:end, :count].long()].movedim(-1, 0)
        seen = rows.is_alive[first:end][None] | torch.eye(count, dtype=torch.bool)
        scores = parts[0] @ parts[1].mT / (WIDTH // HEADS) ** 0.5 + among
        chances = scores.masked_fill(~seen, -torch.inf).softmax(-1)
        heard.append((chances @ parts[2]).transpose(0, 1).flatten(1))
    return torch.cat(heard)


@pytest.mark.parametrize("spread", [1, 30])
def test_seats_hear_what_pytorch_says_and_learn_the_same(spread):
    rows, asks, biases = rows_of_games(COUNTS)
    weights = torch.randn(len(asks), WIDTH)
    found = []
    for function in (
        lambda: heard_of(spread * asks, biases, rows),
        lambda: by_pytorch(rows, spread * asks, biases),
    ):
        heard = function()
        found.append((heard, *torch.autograd.grad((heard * weights).sum(), (asks, biases))))
    scale = spread**2
    for mine, theirs in zip(*found, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4 * scale, atol=1e-4 * scale)
    assert found[0][0].std() > 0.1 * spread


@pytest.mark.parametrize("count", [3, 12, 16, 17])
def test_all_seats_of_games_hear_the_same(count):
    games = 4
    rows, asks, biases = rows_of_games([count] * games, seed=count)
    among = biases[rows.which.long()].unflatten(0, (games, count)).permute(0, 3, 1, 2)
    seen = rows.is_alive.view(games, 1, 1, count) | torch.eye(count, dtype=torch.bool)
    mine = heard_in_games(asks.unflatten(0, (games, count)), among.masked_fill(~seen, -torch.inf))
    theirs = by_pytorch(rows, asks, biases).view_as(mine)
    torch.testing.assert_close(mine, theirs.detach(), rtol=1e-4, atol=1e-4)
