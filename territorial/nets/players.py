"""Snapshots at the seats of games: players of matches, tournaments and evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from territorial.bots import Network, View
from territorial.config import GameConfig
from territorial.constants import NUM_FRACTIONS
from territorial.engine.vec_game import VecGame
from territorial.evaluation.players import SNAPSHOT
from territorial.league import SnapshotError, SnapshotStore
from territorial.nets.board_policy import FeatureTrunk, MakeTrunk, ReferenceTrunk
from territorial.nets.frozen import one_thread
from territorial.nets.frozen_seats import FrozenSeats
from territorial.nets.pair_policy import READS, make_pair_rows
from territorial.observation.action_formats import ActionFormat
from territorial.observation.action_masks import pair_masks
from territorial.observation.layout import ObsLayout
from territorial.observation.pair_columns import OF_PAIR
from territorial.observation.tables import Observations
from territorial.typing import Array, Floats32, Ints, Ints32

DRAWS = 256, 257
"""The numbers that a seat draws at a decision, see ``territorial.bots.View.draw``."""
DIGITS = 8
"""Of a snapshot's digest, in names."""

OWN_TRUNKS: Mapping[str, MakeTrunk] = {
    "ReferenceModule": ReferenceTrunk,
    "FeatureModule": FeatureTrunk,
    "PairPolicy": make_pair_rows,
}
"""Makers of the networks of this project by the names of architectures."""
PAIRS, TWO_PARTS = READS["observation"], "pairs_multi_discrete"

# By the folder of a store: the games of one setting, and what plays its snapshots in them.
_tables: dict[str, tuple[Any, FrozenSeats]] = {}


@dataclass(frozen=True)
class SnapshotPolicy:
    """A snapshot as a player; all of a store in a process share one network, and their weights are its files.

    What a seat draws follows from the seed of its game, the tick and the seat. PyTorch uses one thread, so
    that the same rows of the same games come to the same actions in any process. A snapshot on pairs whose
    network was exported plays in the engine instead, wherever games take players: see :attr:`network`.

    Args:
        store: where the snapshot is.
        name: of the snapshot.
        trunks: makers of networks by the names of architectures, beside those of this project: of trunks, see
            ``BoardPolicy``, or of ``PairRows`` with two parts. They are functions and classes of modules, so
            that they can be pickled.

    UnknownSnapshotError if there is no such snapshot.

    """

    store: SnapshotStore
    name: str
    trunks: Mapping[str, MakeTrunk] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "trunks", dict(self.trunks))  # whatever mapping it was, this can be pickled
        self.store.manifest(self.name)

    @property
    def frames(self) -> int:
        """Boards in a stack; 0: it reads pairs."""
        return self.store.manifest(self.name).frames or 0

    @property
    def observation(self) -> str:
        """Its form of observations: "packed" boards or "pairs"."""
        return self.store.manifest(self.name).observation

    @property
    def network(self) -> Network | None:
        """The bot that plays the snapshot in the engine, every so many ticks as its file says; None: PyTorch.

        MismatchError for a snapshot of other rules, NetworkError for a damaged file.
        """
        found = self.store.network(self.name)
        return None if found is None else Network(found.path, is_mapped=True)

    @property
    def text(self) -> str:
        """What names it on the command line."""
        return f"{SNAPSHOT}{self.name}"

    @property
    def player_name(self) -> str:
        """Its name in records of matches: with the first digits of the digest of its weights.

        Of a snapshot on pairs it also says where it is played: in the engine or in PyTorch.
        """
        where = ",engine" if self.store.network(self.name) else ",PyTorch" * (self.observation == PAIRS)
        return f"{self.text}@{self.store.digest(self.name)[:DIGITS]}{where}"

    def identity(self) -> str:
        """Return the name and the digest of the weights."""
        return f"{self.name} {self.store.digest(self.name)}"

    def start(self, config: GameConfig, layout: ObsLayout, seed: int) -> Any:
        """Return a function that chooses the actions; all draws follow from the seeds of the games."""
        policies, see = self._open(config, layout), partial(_seen, self.observation)

        def act(game: VecGame, games: Ints, seats: Ints) -> Array:
            (rows, targets), numbers = see(game, games, seats), _numbers(game, games, seats)
            with one_thread():
                actions = policies.act([self.name] * len(games), rows, numbers).numpy()
            return (
                actions
                if targets is None
                else ActionFormat(TWO_PARTS, 0, targets.shape[1]).aimed(actions, targets)
            )

        return act

    def distribution(self, config: GameConfig, layout: ObsLayout) -> Any:
        """Return a function that gives the probabilities of actions.

        It raises SnapshotError where the network says nothing, as its logits are not finite.
        """
        policies, see = self._open(config, layout), partial(_seen, self.observation)

        def probabilities(game: VecGame, games: Ints, seats: Ints) -> Array:
            rows, targets = see(game, games, seats)
            with one_thread():
                found = policies.probabilities([self.name] * len(games), rows).numpy()
            if np.isnan(found).any():
                raise SnapshotError(
                    f"snapshot {self.name!r} has no probabilities: its logits are not finite; they must be"
                )
            return found if targets is None else _by_owner(found, targets, config.num_players)

        return probabilities

    def stop(self) -> None:
        """Release the weights; the network without weights stays for the next snapshot."""
        if str(self.store.path) in _tables:
            _, policies = _tables[str(self.store.path)]
            policies.keep([])

    def _open(self, config: GameConfig, layout: ObsLayout) -> FrozenSeats:
        """Return the policies of the store in these games, with this snapshot open.

        It forgets all other games. MismatchError if the snapshot was made for others.
        """
        key, games = str(self.store.path), (config.hexdigest, layout, self.trunks)
        known, policies = _tables.get(key, (None, None))
        if policies is None or known != games:
            made = FrozenSeats(self.store, layout, config, {**OWN_TRUNKS, **self.trunks})
            if policies is not None:  # what has been read and compared with its digest once need not be again
                made.trust(policies)
            _, policies = _tables[key] = games, made
        policies.keep([self.name], policies.names)  # beside those that play already
        return policies


def rows_of(seen: Observations, games: Ints, seats: Ints) -> dict[str, Tensor]:
    """Return copied observations of ``seats`` of ``games``, (N,) each; rows of a game share its boards."""
    played, frame = np.unique(games, return_inverse=True)
    columns = {
        "observations": seen.planes[played],
        "players": seen.players[played],
        "borders": seen.borders[played],
        "globals": seen.globals[played],
        "seat": seats.astype(np.int32)[:, None],
        "action_mask": pair_masks(seen.masks, games, seats),
        "frame": frame[:, None],
    }
    return {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in columns.items()}


def _seen(
    observation: str, game: VecGame, games: Ints, seats: Ints
) -> tuple[dict[str, Tensor], Ints32 | None]:
    """Return observations of ``seats`` of ``games``, and the targets (N, C) that actions on pairs name."""
    if observation != PAIRS:
        return rows_of(game.observations, games, seats), None
    seen = game.pairs(games, seats)
    mask = ActionFormat(TWO_PARTS, 0, seen.targets.shape[1]).masks_of(seen.pairs[:, :, OF_PAIR.legal] > 0)
    columns = {"own": seen.own, "pairs": seen.pairs, "action_mask": mask}
    return {name: torch.from_numpy(array) for name, array in columns.items()}, seen.targets


def _by_owner(found: Floats32, targets: Ints32, num_players: int) -> Floats32:
    """Return float32 (N, P + 12), of targets and of fractions, for (N, 1 + 10 C) of flat actions."""
    launches = found[:, 1:].reshape(*targets.shape, NUM_FRACTIONS)
    owners = np.einsum("nc,ncp->np", launches.sum(2), np.eye(num_players + 2, dtype=np.float32)[targets])
    owners[:, 0] += found[:, 0]
    fractions = launches.sum(1) + np.float32(1e-9)  # where all hold, no fraction is likelier than another
    return np.concatenate([owners, fractions / fractions.sum(1, keepdims=True)], axis=1)


def _numbers(game: VecGame, games: Ints, seats: Ints) -> Tensor:
    """Return float64 (N, 2) from 0 to below 1: the random numbers of the seats at this decision."""
    view = View(game.blocks, game.config, games, seats)
    words = np.stack([view.draw(index) for index in DRAWS], axis=1)
    return torch.from_numpy((words >> np.uint64(11)).astype(np.float64) * 2.0**-53)
