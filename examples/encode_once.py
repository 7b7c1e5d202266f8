"""A policy that encodes each board once for all agents, in PyTorch.

All agents of a game see one board. A network that reads it from the view of each agent runs its convolutions
once an agent; this one runs them once a game, whatever the number of agents:

- every seat is read from its features, and paints what it is on the squares that it owns;
- convolutions read the painting, once for all seats;
- what they make of a seat's land is added to the seat, from which its actions and its value follow.

Take it as a start for a network of your own that reads boards. ``ppo.py`` beside it trains it; needs PyTorch.

    python examples/encode_once.py                          five minutes on two cores
    python examples/encode_once.py --num-games 32 --height 64 --width 64 --total-steps 100000
"""

import sys
from collections.abc import Mapping

import ppo
import torch
from torch import Tensor, nn
from torch.nn import functional

from territorial import GameConfig
from territorial.constants import HOLD, NUM_FRACTIONS
from territorial.decode import feature_names
from territorial.nets import Policy
from territorial.observation.layout import ObsLayout

SIDE = 4
"""Cells a side of the squares that the board is pooled to."""


class EncodeOncePolicy(Policy):
    """A policy over packed boards whose trunk runs once a game.

    Args:
        layout: of the observations; of a stack of frames the newest is read.
        config: of the games.
        width: numbers that a seat is known by.
        paint: numbers that an owner paints on its squares.

    """

    def __init__(self, layout: ObsLayout, config: GameConfig, width: int = 64, paint: int = 8) -> None:
        super().__init__(layout, config)
        self.read_seat = nn.Sequential(nn.Linear(len(feature_names(config)), width), nn.Tanh())
        self.paint = nn.Linear(width, paint)
        self.trunk = nn.Sequential(
            nn.Conv2d(paint, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, width, 3, stride=2, padding=1),
            nn.ReLU(),
        )
        self.think = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU())
        self.to_seat = nn.Linear(width, width)
        self.target_head, self.own_head = nn.Linear(width, 1), nn.Linear(width, 2 + NUM_FRACTIONS)
        self.value_head = nn.Linear(width, 1)
        with torch.no_grad():  # all choices begin nearly equal, but for holding
            for head in (self.target_head, self.own_head):
                head.weight.mul_(0.01)
                head.bias.zero_()
            self.own_head.bias[HOLD] = self.hold_logit

    def encode(self, seen: Mapping[str, Tensor]) -> Tensor:
        """Return float32 (E, P, width): all seats of all games."""
        tables = seen["players"], seen["borders"], seen["globals"]
        players, device = self.layout.num_players, seen["players"].device
        games = torch.arange(len(tables[0]), device=device)
        everyone = torch.arange(1, players + 1, device=device).repeat(len(games))
        features = self.decoder.features(*tables, everyone, games.repeat_interleave(players))
        seats = self.read_seat(features).unflatten(0, (-1, players))
        codes = self.decoder.owners(seen["observations"], torch.ones_like(games))[:, -1]  # as seat 1 has them
        owned = functional.one_hot(codes.long(), players + 2)[..., 1:-1].movedim(-1, 1).float()
        shares = functional.avg_pool2d(owned, SIDE, ceil_mode=True)
        board = self.trunk(torch.einsum("ephw,epc->echw", shares, self.paint(seats)))
        land = functional.adaptive_avg_pool2d(shares, board.shape[2:]).flatten(2)
        land = land / land.sum(-1, keepdim=True).clamp(min=1e-6)
        return seats + self.think(torch.cat([seats, land @ board.flatten(2).mT], dim=-1))

    def embed(self, seen: Mapping[str, Tensor]) -> Tensor:
        """Return float32 (N, width): the seat of every row."""
        return self._read(seen)[1]

    def forward(self, seen: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Return the masked logits, float32 (N, P + 12), and the seat of every row."""
        everyone, own = self._read(seen)
        rest = self.own_head(own)
        scores = self.target_head(torch.relu(own[:, None] + self.to_seat(everyone))).squeeze(-1)
        raw = torch.cat([rest[:, :2], scores, rest[:, 2:]], dim=1)
        return self.masked(raw, seen["action_mask"]), own

    def _read(self, seen: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Return every row's game, (N, P, width), seats in ego order, and its own seat, (N, width)."""
        encoded, seats = self.encode(seen), seen["seat"].flatten().long() - 1
        games = seen["frame"].flatten() if "frame" in seen else torch.arange(len(seats), device=seats.device)
        players = self.layout.num_players
        order = (seats[:, None] + torch.arange(players, device=seats.device)) % players
        everyone = encoded[games[:, None], order]
        return everyone, everyone[:, 0]


ppo.NETWORKS["encode-once"] = lambda layout, config: ppo.OnBoards(EncodeOncePolicy(layout, config))

if __name__ == "__main__":
    ppo.main(["--network", "encode-once", *sys.argv[1:]])
