"""A small game, what its seats see of it as tensors, and the smallest of trunks."""

import numpy as np
import torch

from territorial import GameConfig, VecGame
from territorial.bots.network_file import TEMPERATURE_UNIT, pieces
from territorial.constants import NUM_FRACTIONS
from territorial.decode import feature_names
from territorial.league import Manifest
from territorial.league.store import VERSIONS
from territorial.nets import BoardPolicy, PairPolicy, ReferenceTrunk
from territorial.nets.frozen_seats import manifest_of
from territorial.nets.pair_export import exported, rows_of_config
from territorial.nets.pair_policy import READS
from territorial.nets.players import rows_of
from tests.episodes import after_steps

SMALL = GameConfig(height=32, width=40, num_players=5)


class MeanTrunk(torch.nn.Module):
    """Reads boards of any decoding, where there are any, and the features; as simple as can be."""

    embedding_size = 6

    def __init__(self, layout, config, form="owners"):
        super().__init__()
        self.decoding = form
        planes = {"owners": layout.frames, "onehot": layout.frames * (layout.num_players + 1), "features": 0}
        channels = planes.get(form, 4 * layout.frames + 2)
        self.layer = torch.nn.Linear(channels + len(feature_names(config)), self.embedding_size)

    def forward(self, boards, features):
        means = [] if boards is None else [boards.float().mean((2, 3))]
        return self.layer(torch.cat([*means, features], 1))


def seen_by(config, seats, frames=4, steps=20):
    """What ``seats`` see of one game, as rows that share its frame."""
    game = after_steps(
        VecGame(config, 1, frames=frames, seats=["metronome"] * (config.num_players - 1) + ["agent"]),
        steps,
        seed=3,
    )
    return game.layout, rows_of(game.observations, np.zeros(len(seats), np.int64), np.array(seats))


def whole(seen):
    """The same rows, every one with boards and tables of its own."""
    rows = seen["frame"].flatten()
    own = {name: seen[name] for name in ("seat", "action_mask")}
    return own | {name: seen[name][rows] for name in seen.keys() - own.keys() - {"frame"}}


def near_ties(logits, numbers):
    """Whether a number lies so near to where the drawn choice changes that rounding may decide, (N,)."""
    near = torch.zeros(len(logits), dtype=torch.bool)
    for i, part in enumerate(logits.split([logits.shape[1] - NUM_FRACTIONS, NUM_FRACTIONS], dim=1)):
        sums = part.double().softmax(1).cumsum(1)
        near |= ((sums - numbers[:, i : i + 1]).abs() < 1e-4).any(1)
    return near


def add_random(store, name, layout, *, trunk=MeanTrunk, seed=0, sees=False, change=None):
    """Keep a policy with random weights; ``change`` is called with the bias of its first head.

    Unless it ``sees``, its chances are the same in every state: then no rounding decides what it draws.
    """
    torch.manual_seed(seed)
    policy = BoardPolicy(layout, SMALL, trunk(layout, SMALL), hold_probability=0.5)
    with torch.no_grad():
        if not sees:
            policy.policy_head.weight.zero_()
            policy.policy_head.bias.normal_()
        if change is not None:
            change(policy.policy_head.bias)
    keep(store, name, policy, layout, {ReferenceTrunk: "ReferenceModule"}.get(trunk, trunk.__name__))


def keep(store, name, policy, layout, architecture="MeanTrunk", settings=None, **changes):
    """Keep a policy in a store, as a snapshot of this architecture; ``changes`` are those of its manifest."""
    weights = {key: part.detach().numpy() for key, part in policy.state_dict().items()}
    manifest = manifest_of(layout, architecture, settings or {})
    store.add(name, weights, Manifest(**(manifest.to_dict() | changes)))


def add_on_pairs(store, name, *, in_engine=False, seed=0, architecture="PairPolicy", **settings):
    """Keep a policy on pairs with random weights; ``in_engine``: with its network for the engine."""
    torch.manual_seed(seed)
    policy, settings, network = PairPolicy("small", **settings), {"size": "small", **settings}, None
    torch.nn.init.constant_(policy.hold.bias, -3.0)
    if in_engine:
        rows, about = rows_of_config(SMALL, 8), {"interval": 50, "temperature": TEMPERATURE_UNIT}
        network = pieces(exported(policy, rows, **about, num_candidates=8, least_equal=0)[0])
    weights = {key: part.detach().numpy() for key, part in policy.state_dict().items()}
    size = {
        "height": 24,
        "width": 24,
        "num_players": 3,
        "frames": 0,
        **VERSIONS,
    }  # whatever it was trained on
    store.add(
        name,
        weights,
        Manifest(architecture=architecture, settings=settings, **READS, **size),
        network=network,
    )
