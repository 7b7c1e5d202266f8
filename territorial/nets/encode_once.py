"""A network that looks at a game once for all its seats: the board, the seats, and what lies between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from territorial.config import GameConfig
from territorial.constants import HOLD, NUM_FRACTIONS
from territorial.decode.features import scales
from territorial.decode.recorded import check_recordable, is_recorded, is_transformed, is_whole
from territorial.nets.encode_once_kernels import (
    fill_shares,
    list_packed_shares,
    list_shares,
    paint,
    spread_shares,
    write_between,
    write_biases,
    write_targets,
)
from territorial.nets.policy import GAMES, Policy, are_plain, is_plain_mlp
from territorial.nets.side_by_side import by_network
from territorial.observation.layout import PLAYERS, ObsLayout, index

LOG_SCALE = 1 / 8
"""Logarithms are what launches are decided by: a scale at which doubling something shows."""

SIDE_OF_WORD = 8
"""Cells a side of squares whose cells are the bits of a word."""
LISTED = "square_starts", "square_owners", "square_shares"
"""The names of what ``list_shares`` writes."""


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


class GameViews(NamedTuple):
    """Which games rows are of, each once for every network that looks at it."""

    of_row: Tensor
    """int64 (N,): the view that a row has, 0..G-1."""
    games: Tensor | None
    """int64 (G,): the game of each view; None: one view a game, in their order."""
    networks: Tensor | None = None
    """int64 (G,): which of several networks looks, see ``SideBySide``; None: there is one."""

    @property
    def game_of_row(self) -> Tensor:
        """Return int64 (N,): the game of each row."""
        return self.of_row if self.games is None else self.games[self.of_row]

    def numbers(self, count: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return int64 (G,) each, for kernels: the games of the ``count`` views, and their networks."""
        games = np.arange(count) if self.games is None else self.games.numpy()
        return games, np.zeros(count, np.int64) if self.networks is None else self.networks.numpy()

    def of(self, table: Tensor) -> Tensor:
        """Return (G, ...) of what is known by game, (E, ...)."""
        return table if self.games is None else table.index_select(0, self.games)


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
        width, pair = self.size.width, 2 * len(layout.columns("borders"))
        own = len(layout.columns("players")) + len(layout.columns("globals"))
        self.read_seat = _mlp(own + pair, width, width)
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
        with torch.no_grad():  # all choices begin nearly equal, but for holding
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
        _, encoded, views, seats = self._encode_rows(seen)
        return encoded[views.of_row, seats - 1]

    def forward(self, seen: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Return the logits, (N, P + 12), and the embedding of every row."""
        legal = seen["action_mask"]
        between, encoded, views, seats = self._encode_rows(seen)
        own = encoded[views.of_row, seats - 1]
        if self._is_plain(own, legal, torch.int8) and are_plain(self.between, self.target_head):
            targets = self._targets_by_kernel(between, encoded, own, views, seats, legal)
        elif own.device.type == "cpu" and torch.is_grad_enabled() and not is_recorded():
            is_legal = legal[:, 1 : self.layout.num_players + 2] > 0  # few are, and no others count
            targets = self._legal_targets(between, encoded, own, views, seats, is_legal)
        else:
            targets = self._targets(between, encoded, own, views, seats)
        rest = self.seat_head(own)
        raw = torch.cat([rest[:, :1], targets, rest[:, 1:]], dim=1)
        return self.masked(raw, legal), own

    def prepare(self, seen: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Return ``seen`` with what follows from games: from those that rows are of, if it has none of it."""
        if "between" not in seen:
            seen = _of_used_games(seen)
            seen = {**seen, **self._pairs(seen["borders"])}
        form = seen.get("square_form")
        if not self.size.grid or (form is not None and form.tolist() == self._square_form):
            return seen
        planes, between = seen["observations"], seen["between"]
        if planes.device.type == "cpu" and not is_recorded():
            land = self._listed_shares(planes)
            if not self._is_plain(between, between, torch.float32):
                land = {"shares": self._dense(land), "territory": land["territory"]}
        else:
            shares = self.shares(planes)
            at_end = functional.adaptive_avg_pool2d(shares[:, -1, 1:-1], self._end)
            land = {"shares": shares, "territory": _parts(at_end)}
        return {**seen, **land, "square_form": torch.tensor(self._square_form)}

    def _pairs(self, borders: Tensor) -> dict[str, Tensor]:
        """Return what lies between seats, (E, P, P + 1, 2 * K): the borders to owners, and in return.

        ``borders``: (E, K, P + 1, P + 1). A kernel also lists the pairs of seats that have any.
        """
        factors = self._scale("borders", borders.device)
        if not self._is_plain(borders, borders, torch.float32):
            scaled = borders * factors[:, None, None]
            both = torch.cat([scaled[:, :, 1:], scaled.mT[:, :, 1:]], dim=1)
            return {"between": both.permute(0, 2, 3, 1).contiguous()}
        games, columns, owners, _ = borders.shape
        between = torch.empty(games, owners - 1, owners, 2 * columns)
        counts = torch.empty(games, dtype=torch.int64)
        pairs = torch.empty(games, (owners - 1) ** 2, dtype=torch.int32)
        arrays = (table.numpy() for table in (between, counts, pairs))
        write_between(borders.numpy(), factors.numpy(), np.empty((owners, owners), np.bool_), *arrays)
        return {"between": between, "pair_counts": counts, "pairs": pairs}

    @property
    def _square_form(self) -> list[int]:
        """What tells apart how networks prepare boards: cells a side of a square, and the trunk's end."""
        return [self.factor, *self._end]

    def _encode_rows(self, seen: Mapping[str, Tensor]) -> tuple[Tensor, Tensor, GameViews, Tensor]:
        """Return what lies between seats, the seats of all games as encoded, and by row view and seat."""
        check_recordable("an EncodeOncePolicy", *seen.values())
        seats = seen["seat"].flatten().long()
        views = _views(seen, len(seats)) if "between" in seen else None
        seen = self.prepare(seen)
        if views is None:
            every = torch.arange(len(seats), device=seats.device)
            views = GameViews(seen["frame"].flatten() if "frame" in seen else every, None)
        return seen["between"], self.encode(seen, views), views, seats

    def _targets(
        self, between: Tensor, encoded: Tensor, own: Tensor, views: GameViews, seats: Tensor
    ) -> Tensor:
        """Return (N, P + 1): the scores of neutral land and of seats in ego order, the seat itself first.

        ``between`` and ``encoded``: as ``_encode_rows`` returns them.
        """
        players = self.layout.num_players
        others = (seats[:, None] - 1 + torch.arange(players, device=seats.device)) % players
        there = _picked(self.to_seat(encoded).flatten(0, 1), views.of_row[:, None] * players + others)
        owners = functional.pad(others + 1, (1, 0))
        pairs = (views.game_of_row * players + seats - 1)[:, None] * (players + 1) + owners
        borders = self.between(_picked(between.flatten(0, 2), pairs))
        mine = self.from_seat(own)
        hidden = torch.cat([(mine + self.to_neutral)[:, None], mine[:, None] + there], dim=1) + borders
        return self.target_head(functional.relu(hidden)).squeeze(-1)

    def _legal_targets(
        self,
        between: Tensor,
        encoded: Tensor,
        own: Tensor,
        views: GameViews,
        seats: Tensor,
        is_legal: Tensor,
    ) -> Tensor:
        """Return the same where attacks are legal, bool (N, P + 1), and 0 elsewhere."""
        players = self.layout.num_players
        rows, targets = is_legal.nonzero(as_tuple=True)
        owners = torch.where(targets > 0, (seats[rows] + targets - 2) % players + 1, 0)
        there = torch.cat([self.to_neutral[None], self.to_seat(encoded).flatten(0, 1)])
        whom = torch.where(owners > 0, views.of_row[rows] * players + owners, 0)
        pairs = (views.game_of_row[rows] * players + seats[rows] - 1) * (players + 1) + owners
        borders = self.between(_picked(between.flatten(0, 2), pairs))
        hidden = _picked(self.from_seat(own), rows) + _picked(there, whom) + borders
        scores = self.target_head(functional.relu(hidden)).squeeze(-1)
        return scores.new_zeros(is_legal.shape).index_put((rows, targets), scores)

    def _targets_by_kernel(
        self, between: Tensor, encoded: Tensor, own: Tensor, views: GameViews, seats: Tensor, legal: Tensor
    ) -> Tensor:
        """Return the same by a kernel, which scores those alone that are legal."""
        games, networks = views.numbers(len(encoded))
        of_row, hidden = views.of_row.numpy(), own.new_empty(self.size.width)
        weights = by_network(self.between.weight).mT.contiguous()
        head, head_bias = by_network(self.target_head.weight)[:, 0], by_network(self.target_head.bias)[:, 0]
        targets = own.new_empty(len(own), self.layout.num_players + 1)
        write_targets(
            self.from_seat(own).numpy(),
            by_network(self.to_neutral).numpy(),
            self.to_seat(encoded).numpy(),
            between.numpy(),
            legal.numpy(),
            seats.numpy(),
            of_row,
            games[of_row],
            networks[of_row],
            weights.numpy(),
            head.contiguous().numpy(),
            head_bias.contiguous().numpy(),
            hidden.numpy(),
            targets.numpy(),
        )
        return targets

    # ---- games ------------------------------------------------------------------------------------

    def encode(self, seen: Mapping[str, Tensor], views: GameViews) -> Tensor:
        """Return float32 (G, P, width), what all seats of games are known by; the trunk runs once a view.

        ``seen``: as :meth:`prepare` returns it.
        """
        players, globals_, between = seen["players"], seen["globals"], seen["between"]
        alive = views.of(players[..., index(PLAYERS, "alive")] > 0)
        everybody = globals_ * self._scale("globals", globals_.device)
        everybody = everybody[:, None].expand(-1, players.shape[1], -1)
        own = players * self._scale("players", players.device)
        seats = self.read_seat(views.of(torch.cat([own, everybody, between[:, :, 0]], dim=-1)))
        if self.size.grid:
            seats = seats + self._look(seen, seats, views)
        for attend in self.attention:
            seats = attend(seats, attend.biases(seen, alive, views))
        return self.last_norm(seats)

    def _scale(self, table: str, device: torch.device) -> Tensor:
        """Return factors that make inputs of about 0..1 of a table; they are copied to ``device`` once."""
        if (table, device) not in self._scales:
            by_name = scales(self.config)
            found = [
                LOG_SCALE if column.scale == "log" else by_name[column.name]
                for column in self.layout.columns(table)
            ]
            self._scales[table, device] = torch.tensor(found, dtype=torch.float32).to(device)
        return self._scales[table, device]

    def _look(self, seen: Mapping[str, Tensor], seats: Tensor, views: GameViews) -> Tensor:
        """Return (G, P, width): what the board says about each seat."""
        none = seats.new_zeros(len(seats), 1, self.size.paint)
        colours = torch.cat([none + self.ground[0], self.paint(seats), none + self.ground[1]], dim=1)
        if "square_starts" not in seen:
            painting = torch.einsum("efohw,eoc->efchw", views.of(seen["shares"]), colours).flatten(1, 2)
        else:
            painting = self._painting(seen, colours, views)
        board = self.trunk(painting)
        own = views.of(seen["territory"]) @ board.flatten(2).mT
        whole = board.mean((2, 3))[:, None].expand_as(own)
        return self.read_board(torch.cat([own, whole], dim=-1))

    def _painting(self, seen: Mapping[str, Tensor], colours: Tensor, views: GameViews) -> Tensor:
        """Return (G, F * paint, h, w): boards in the ``colours`` (G, P + 2, paint) of owners."""
        painting = colours.new_empty(len(colours), *self._grid, self.layout.frames, self.size.paint)
        games, _ = views.numbers(len(colours))
        starts, owners, shares = (seen[name].numpy() for name in LISTED)
        paint(starts, owners, shares, games, colours.numpy(), painting.flatten(1, 2).numpy())
        return painting.flatten(3).permute(0, 3, 1, 2)

    @property
    def _grid(self) -> tuple[int, int]:
        """The squares of a board, down and across; none if it is not looked at."""
        if not self.factor:
            return 0, 0
        return -(-self.layout.height // self.factor), -(-self.layout.width // self.factor)

    def _listed_shares(self, planes: Tensor) -> dict[str, Tensor]:
        """Return who shares every square, see ``list_shares``, and the territory of all seats."""
        (games, frames, *_), (down, across) = planes.shape, self._grid
        edge, players, squares = self.layout.blocked_code, self.layout.num_players, down * across
        most = games * frames * squares * (min(self.factor**2, edge + 1) + 1)
        tables = (
            torch.empty(games, frames, squares + 1, dtype=torch.int32),
            torch.empty(most, dtype=torch.uint8),  # of which few are written, and no others in memory
            torch.empty(most),
        )
        starts, owners, parts = arrays = [table.numpy() for table in tables]
        if self.factor == SIDE_OF_WORD:
            bits = planes.shape[2]
            scratch = np.empty((bits, across), np.uint64), np.empty((down, bits, across), np.uint64)
            list_packed_shares(planes.contiguous().numpy(), self.layout.width, edge, *scratch, *arrays)
        else:
            seat = torch.ones(games, dtype=torch.int64)  # to whom codes are as they are
            codes = self.decoder.owners(planes, seat)
            list_shares(codes.numpy(), self.factor, edge, np.zeros(edge + 1, np.int32), *arrays)
        land = torch.zeros(games, players, *self._end)
        spread_shares(starts, owners, parts, across, land.numpy())
        return {**dict(zip(LISTED, tables, strict=True)), "territory": _parts(land)}

    @property
    def _end(self) -> tuple[int, int]:
        """The cells of the trunk's end, down and across."""
        down, across = self._grid
        for _ in self.size.channels:
            down, across = (down + 1) // 2, (across + 1) // 2
        return down, across

    def shares(self, planes: Tensor) -> Tensor:
        """Return float32 (E, F, P + 2, h, w): the share of every square that each owner code has.

        Squares have ``factor`` cells a side. What of them lies beyond the map is blocked.
        """
        (games, frames, *_), (down, across) = planes.shape, self._grid
        squares, owners = down * across, self.layout.blocked_code + 1
        side, edge = self.factor, self.layout.blocked_code
        seat = torch.ones(games, dtype=torch.int64, device=planes.device)  # to whom codes are as they are
        cells = self.decoder.owners(planes, seat)
        height, width = cells.shape[-2:]
        cells = functional.pad(cells, (0, -width % side, 0, -height % side), value=edge)
        cells = cells.view(-1, down, side, across, side).transpose(2, 3).reshape(-1, squares, side**2)
        where = torch.arange(squares, device=planes.device)[:, None]
        places = (cells.long() * squares + where).flatten(1)
        counts = torch.zeros(games * frames, owners * squares, device=planes.device)
        counts.scatter_add_(1, places, torch.ones((), device=planes.device).expand_as(places))
        return (counts / side**2).view(games, frames, owners, down, across)

    def _dense(self, listed: Mapping[str, Tensor]) -> Tensor:
        """Return what ``shares`` does, in a thirtieth of the time, of what ``_listed_shares`` returns."""
        starts, codes, parts = (listed[name].numpy() for name in LISTED)
        found = torch.zeros(*starts.shape[:2], self.layout.blocked_code + 1, starts.shape[2] - 1)
        fill_shares(starts, codes, parts, found.numpy())
        return found.unflatten(3, self._grid)


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

    def biases(self, seen: Mapping[str, Tensor], alive: Tensor, views: GameViews) -> Tensor:
        """Return (G, heads, P, P): by how much seats attend to others, by what lies between them.

        ``seen``: as ``EncodeOncePolicy.prepare`` returns it. ``alive``: bool (G, P); eliminated seats are
        attended to by themselves alone.
        """
        if "pairs" in seen and is_plain_mlp(self.bias):
            return self._listed_biases(seen, alive, views)
        among = views.of(seen["between"][:, :, 1:])
        seeing = alive[:, None] | torch.eye(alive.shape[1], dtype=torch.bool, device=alive.device)
        return self.bias(among).movedim(-1, 1).masked_fill(~seeing[:, None], -torch.inf)

    def _listed_biases(self, seen: Mapping[str, Tensor], alive: Tensor, views: GameViews) -> Tensor:
        """Return the same by a kernel, which reads those pairs alone that have anything between them."""
        first, second = self.bias[0], self.bias[2]
        between, counts, pairs = (seen[name].numpy() for name in ("between", "pair_counts", "pairs"))
        games, networks = views.numbers(len(alive))
        biases = torch.empty(len(alive), self.heads, *[alive.shape[1]] * 2)
        write_biases(
            between,
            counts,
            pairs,
            alive.numpy(),
            games,
            networks,
            by_network(first.weight).mT.contiguous().numpy(),
            by_network(first.bias).numpy(),
            by_network(second.weight).numpy(),
            by_network(second.bias).numpy(),
            np.empty(first.out_features, np.float32),
            biases.numpy(),
        )
        return biases

    def forward(self, seats: Tensor, biases: Tensor) -> Tensor:
        """Return (G, P, width) of seats, which attend to each other by ``biases``, (G, heads, P, P)."""
        seats = seats + self.joins(self._heard(self.asks(self.norm(seats)), biases))
        return seats + self.thinks(self.second_norm(seats))

    def _heard(self, asks: Tensor, biases: Tensor) -> Tensor:
        """Return (G, P, width): what seats hear of those to whom they attend; ``asks``: (G, P, 3 * width)."""
        parts = asks.unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        if is_transformed():  # forward gradients do not go through PyTorch's own attention
            scores = parts[0] @ parts[1].mT * parts.shape[-1] ** -0.5 + biases
            heard = scores.softmax(-1) @ parts[2]
        else:
            heard = functional.scaled_dot_product_attention(parts[0], parts[1], parts[2], attn_mask=biases)
        return heard.transpose(1, 2).flatten(2)


def _of_used_games(seen: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """Return ``seen`` with the games alone that rows are of."""
    if "frame" not in seen or is_whole():
        return seen
    used, frames = torch.unique(seen["frame"].flatten(), return_inverse=True)
    if len(used) < len(seen["players"]):
        seen = {name: column[used] if name in GAMES else column for name, column in seen.items()}
    return {**seen, "frame": frames[:, None]}


def _views(seen: Mapping[str, Tensor], rows: int) -> GameViews:
    """Return which games rows look at, each once for every network; those of a network lie together."""
    if "frame" not in seen:
        of_row = torch.arange(rows, device=seen["seat"].device)
        return GameViews(of_row, None, seen["snapshot"].flatten() if "snapshot" in seen else None)
    frames, count = seen["frame"].flatten(), len(seen["players"])
    if is_whole() and "snapshot" not in seen:
        return GameViews(frames, None)
    keys = seen["snapshot"].flatten() * count + frames if "snapshot" in seen else frames
    used, of_row = torch.unique(keys, return_inverse=True)
    return GameViews(of_row, used % count, used // count if "snapshot" in seen else None)


def _parts(land: Tensor) -> Tensor:
    """Return float32 (E, P, cells): the part of a seat's ``land`` (E, P, rows, columns) that a cell has."""
    cells = land.flatten(2)
    return cells / cells.sum(-1, keepdim=True).clamp(min=1e-6)


def _picked(table: Tensor, numbers: Tensor) -> Tensor:
    """Return the rows ``numbers`` (...) of ``table`` (rows, width), in one copy."""
    return table.index_select(0, numbers.flatten()).view(*numbers.shape, -1)


def _mlp(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))


def _trunk(inputs: int, channels: Sequence[int]) -> nn.Sequential:
    """Return convolutions each of which halves its image."""
    layers: list[nn.Module] = []
    for before, after in zip((inputs, *channels), channels, strict=False):
        layers += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.ReLU()]
    return nn.Sequential(*layers)
