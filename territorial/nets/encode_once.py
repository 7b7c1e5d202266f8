"""A network that looks at a game once for all its seats: the board, the seats, and what lies between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from territorial.config import GameConfig
from territorial.constants import HOLD, NUM_FRACTIONS
from territorial.decode.layout import scales
from territorial.nets.policy import Policy
from territorial.observation.layout import BORDERS, GLOBALS, PLAYERS, Column, ObsLayout, index

LOG_SCALE = 1 / 8
"""Logarithms are what launches are decided by: a scale at which doubling something shows."""

TABLES: Mapping[str, Sequence[Column]] = {"players": PLAYERS, "borders": BORDERS, "globals": GLOBALS}


@dataclass(frozen=True)
class Size:
    """How large an ``EncodeOncePolicy`` is.

    ``grid``: squares a side that the longer side of the board is pooled to at most; 0: the board is not
    looked at. ``paint``: numbers that an owner paints on its cells. ``channels``: of the trunk's
    convolutions, each of which halves the grid. ``width``: of a seat. ``heads`` and ``layers``: of the
    attention between seats.
    """

    grid: int
    paint: int
    channels: tuple[int, ...]
    width: int
    heads: int
    layers: int


SIZES: Mapping[str, Size] = {
    "small": Size(grid=32, paint=8, channels=(16, 32), width=64, heads=4, layers=1),
    "medium": Size(grid=64, paint=16, channels=(32, 64, 64), width=128, heads=4, layers=2),
    "large": Size(grid=128, paint=32, channels=(64, 128, 256, 256), width=256, heads=8, layers=4),
    "tables": Size(grid=0, paint=0, channels=(), width=64, heads=4, layers=2),
}
"""The sizes by name; the first is the default, and the last reads the tables alone."""


class Encoded(NamedTuple):
    """Games as the network has understood them, for all seats; by seats 1..P and owner codes 0..P."""

    seats: Tensor
    """float32 (E, P, width)"""
    pairs: Tensor
    """float32 (E, P, P + 1, 2 * K): the borders from every seat to every owner, then in return."""


class EncodeOncePolicy(Policy):
    """A policy that encodes every game once, however many of its seats act.

    - **The board.** Pooled to shares: how much of every square each owner has. An owner paints what its
      row of the tables says of it on its cells, and convolutions, the trunk, read the painting. They run
      once a game; what they make of a seat's cells is pooled for each seat.
    - **The seats** attend to each other, biased by the borders between them.
    - **The heads** score holding, neutral land and every other seat from the two seats and the borders
      between them, and the fractions and the value from the seat alone. Only they run for every row.

    Nothing knows a seat by its number: relabelling the seats of a game relabels the outputs. No weight
    depends on the number of players or on the size of the board, so that one set of weights plays games of
    any (:meth:`set_game`). Observations are those of ``Policy``; rows that share a game (``frame``)
    share its encoding. All of it is tensor operations on the device where the observations lie.

    Args:
        layout: of the observations.
        config: of the games.
        size: a key of ``SIZES``, or a ``Size``.
        hold_probability: see ``Policy``.

    """

    def __init__(
        self,
        layout: ObsLayout,
        config: GameConfig,
        *,
        size: str | Size = "small",
        hold_probability: float = 0.9,
    ) -> None:
        if not isinstance(size, Size) and size not in SIZES:
            raise ValueError(f"size is {size!r}; it must be one of {', '.join(SIZES)}, or a Size")
        self.size = size if isinstance(size, Size) else SIZES[size]
        super().__init__(layout, config, hold_probability=hold_probability)
        width, pair = self.size.width, 2 * len(BORDERS)
        self.read_seat = _mlp(len(PLAYERS) + len(GLOBALS) + pair, width, width)
        if self.size.grid:
            self.paint = nn.Linear(width, self.size.paint)
            self.ground = nn.Parameter(0.1 * torch.randn(2, self.size.paint))  # neutral and blocked cells
            self.trunk = _trunk(layout.frames * self.size.paint, self.size.channels)
            self.read_board = nn.Linear(2 * self.size.channels[-1], width)
        self.attention = nn.ModuleList(
            SeatAttention(width, self.size.heads, pair) for _ in range(self.size.layers)
        )
        self.last_norm = nn.LayerNorm(width)
        self.from_seat = nn.Linear(width, width)
        self.to_seat = nn.Linear(width, width, bias=False)
        self.to_neutral = nn.Parameter(torch.zeros(width))
        self.between = nn.Linear(pair, width, bias=False)
        self.target_head = nn.Linear(width, 1)
        self.seat_head = _mlp(width, width, 1 + NUM_FRACTIONS)
        self.value_head = _mlp(width, width, 1)
        self._start_even()

    def _start_even(self) -> None:
        """Let all choices begin nearly equal, but for holding."""
        with torch.no_grad():
            for layer in (self.target_head, self.seat_head[-1], self.value_head[-1]):
                layer.weight.mul_(0.01)
                layer.bias.zero_()
            self.seat_head[-1].bias[HOLD] = self.hold_logit

    def set_game(self, layout: ObsLayout, config: GameConfig) -> None:
        """Look at games of ``layout`` and ``config`` from now on, with the same weights.

        ValueError unless there are as many frames in a stack as before.
        """
        if layout.frames != getattr(self, "layout", layout).frames:
            raise ValueError(
                f"the network is made for stacks of {self.layout.frames} frames; the layout has "
                f"{layout.frames}"
            )
        super().set_game(layout, config)
        self.factor = -(-max(layout.height, layout.width) // self.size.grid) if self.size.grid else 0
        """Cells a side of the squares that the board is pooled to; 0 if it is not looked at."""
        # No buffers: they follow from the config, and a snapshot of the weights is to play without them.
        self._scales: dict[tuple[str, torch.device], Tensor] = {}

    # ---- rows -------------------------------------------------------------------------------------

    def embed(self, seen: Mapping[str, Tensor]) -> Tensor:
        """Return float32 (N, width): the seat of every row, as its game was understood."""
        encoded, games, seats = self._encode_rows(seen)
        return encoded.seats[games, seats - 1]

    def forward(self, seen: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Return the logits, (N, P + 12), and the embedding of every row."""
        encoded, games, seats = self._encode_rows(seen)
        own = encoded.seats[games, seats - 1]
        targets = self._targets(encoded, own, games, seats)
        rest = self.seat_head(own)
        raw = torch.cat([rest[:, :1], targets, rest[:, 1:]], dim=1)
        return self.masked(raw, seen["action_mask"]), own

    def values(self, embedding: Tensor) -> Tensor:
        """Return float32 (N,): what each row's seat can expect."""
        return self.value_head(embedding).float().squeeze(-1)

    def _encode_rows(self, seen: Mapping[str, Tensor]) -> tuple[Encoded, Tensor, Tensor]:
        """Return the games that rows are of, each encoded once, and by row its game's number and its seat."""
        seats = seen["seat"].flatten().long()
        tables = [seen[name] for name in ("observations", "players", "borders", "globals")]
        if "frame" not in seen:
            return self.encode(*tables), torch.arange(len(seats), device=seats.device), seats
        used, games = torch.unique(seen["frame"].flatten(), return_inverse=True)
        if len(used) < len(tables[0]):
            tables = [table[used] for table in tables]
        return self.encode(*tables), games, seats

    def _targets(self, encoded: Encoded, own: Tensor, games: Tensor, seats: Tensor) -> Tensor:
        """Return (N, P + 1): the scores of neutral land and of seats in ego order, the seat itself first."""
        players = self.layout.num_players
        others = (seats[:, None] - 1 + torch.arange(players, device=seats.device)) % players
        owners = functional.pad(others + 1, (1, 0))
        there = self.to_seat(encoded.seats)[games[:, None], others]
        neutral = self.to_neutral.expand(len(games), 1, -1)
        between = self.between(encoded.pairs[games[:, None], seats[:, None] - 1, owners])
        hidden = self.from_seat(own)[:, None] + torch.cat([neutral, there], dim=1) + between
        return self.target_head(functional.relu(hidden)).squeeze(-1)

    # ---- games ------------------------------------------------------------------------------------

    def encode(self, planes: Tensor, players: Tensor, borders: Tensor, globals_: Tensor) -> Encoded:
        """Return what all seats of all games are to be known by; the trunk runs once.

        ``planes`` uint8 (E, F, B, H, ceil(W/8)), ``players`` float32 (E, P, C), ``borders``
        (E, K, P + 1, P + 1), ``globals_`` (E, G), as the engine has them, by seats.
        """
        alive = players[..., index(PLAYERS, "alive")] > 0
        pairs = _pairs(borders * self._scale("borders", borders.device)[:, None, None])
        everybody = globals_ * self._scale("globals", globals_.device)
        everybody = everybody[:, None].expand(-1, players.shape[1], -1)
        own = players * self._scale("players", players.device)
        seats = self.read_seat(torch.cat([own, everybody, pairs[:, :, 0]], dim=-1))
        if self.size.grid:
            seats = seats + self._look(planes, seats)
        for attend in self.attention:
            seats = attend(seats, pairs[:, :, 1:], alive)
        return Encoded(self.last_norm(seats), pairs)

    def _scale(self, table: str, device: torch.device) -> Tensor:
        """Return the factors of the columns of a table on ``device``, to which they are copied once."""
        if (table, device) not in self._scales:
            self._scales[table, device] = _scale(TABLES[table], self.config).to(device)
        return self._scales[table, device]

    def _look(self, planes: Tensor, seats: Tensor) -> Tensor:
        """Return (E, P, width): what the board says about each seat."""
        shares = self.shares(planes)
        ground = self.ground.expand(len(seats), 2, -1)
        colours = torch.cat([ground[:, :1], self.paint(seats), ground[:, 1:]], dim=1)
        painting = torch.einsum("efohw,eoc->efchw", shares, colours).flatten(1, 2)
        board = self.trunk(painting)
        territory = functional.adaptive_avg_pool2d(shares[:, -1, 1:-1], board.shape[-2:]).flatten(2)
        own = territory @ board.flatten(2).mT / territory.sum(-1, keepdim=True).clamp(min=1e-6)
        whole = board.mean((2, 3))[:, None].expand_as(own)
        return self.read_board(torch.cat([own, whole], dim=-1))

    def shares(self, planes: Tensor) -> Tensor:
        """Return float32 (E, F, P + 2, h, w): the share of every square that each owner code has.

        Squares have ``factor`` cells a side. What of them lies beyond the map is blocked.
        """
        games, side = len(planes), self.factor
        seat = torch.ones(games, dtype=torch.int64, device=planes.device)  # to whom codes are as they are
        codes = self.decoder.owners(planes, seat)
        height, width = codes.shape[-2:]
        edge = self.layout.blocked_code
        codes = functional.pad(codes, (0, -width % side, 0, -height % side), value=edge)
        rows, columns = codes.shape[-2] // side, codes.shape[-1] // side
        squares = (
            codes.view(-1, rows, side, columns, side).transpose(2, 3).reshape(-1, rows * columns, side**2)
        )
        where = torch.arange(rows * columns, device=planes.device)[:, None]
        places = (squares.long() * (rows * columns) + where).flatten(1)
        counts = torch.zeros(len(places), (edge + 1) * rows * columns, device=planes.device)
        counts.scatter_add_(1, places, torch.ones((), device=planes.device).expand_as(places))
        return (counts / side**2).view(games, -1, edge + 1, rows, columns)


class SeatAttention(nn.Module):
    """A layer in which the seats of a game attend to each other, more or less by what lies between them."""

    def __init__(self, width: int, heads: int, pair: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.second_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.asks = nn.Linear(width, 3 * width)
        self.bias = _mlp(pair, 2 * heads, heads)
        self.joins = nn.Linear(width, width)
        self.thinks = _mlp(width, 2 * width, width)

    def forward(self, seats: Tensor, pairs: Tensor, alive: Tensor) -> Tensor:
        """Return (E, P, width) of seats; eliminated seats are attended to by themselves alone.

        ``pairs``: (E, P, P, pair). ``alive``: bool (E, P).
        """
        count = seats.shape[1]
        asks = self.asks(self.norm(seats)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        seen = alive[:, None] | torch.eye(count, dtype=torch.bool, device=alive.device)
        bias = self.bias(pairs).movedim(-1, 1).masked_fill(~seen[:, None], -torch.inf)
        heard = functional.scaled_dot_product_attention(asks[0], asks[1], asks[2], attn_mask=bias)
        seats = seats + self.joins(heard.transpose(1, 2).flatten(2))
        return seats + self.thinks(self.second_norm(seats))


def _mlp(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))


def _trunk(inputs: int, channels: Sequence[int]) -> nn.Sequential:
    """Return convolutions each of which halves its image."""
    layers: list[nn.Module] = []
    for before, after in zip((inputs, *channels), channels, strict=False):
        layers += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.ReLU()]
    return nn.Sequential(*layers)


def _scale(columns: Sequence[Column], config: GameConfig) -> Tensor:
    """Return float32 (columns,): the factors that make inputs of about 0..1 or a little more of a table."""
    by_name = scales(config)
    return torch.tensor(
        [LOG_SCALE if column.scale == "log" else by_name[column.name] for column in columns],
        dtype=torch.float32,
    )


def _pairs(borders: Tensor) -> Tensor:
    """Return (E, P, P + 1, 2 * K): borders, (E, K, P + 1, P + 1), from seats to owners, and in return."""
    both = torch.cat([borders[:, :, 1:], borders.mT[:, :, 1:]], dim=1)
    return both.permute(0, 2, 3, 1)
