"""Snapshots at the seats of games: what contests and evaluations have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from territorial.bots import View
from territorial.config import GameConfig
from territorial.decode.numpy import Decoder
from territorial.engine.vec_game import VecGame
from territorial.league import MismatchError, SnapshotError, SnapshotStore
from territorial.nets.board_policy import MakeTrunk
from territorial.nets.frozen import FrozenPolicies
from territorial.nets.reference_net import ReferenceTrunk
from territorial.nets.rows import rows_of
from territorial.observation.layout import ObsLayout
from territorial.typing import Ints

ARCHITECTURES: Mapping[str, MakeTrunk] = MappingProxyType({"ReferenceModule": ReferenceTrunk})
"""Makers of trunks that are always known, by the names that manifests have for them."""
DRAWS = 256, 257
"""The numbers that a seat draws at a decision, see ``territorial.bots.View.draw``."""


class SeatedSnapshots:
    """The snapshots of a store at seats of games of one config.

    What a seat draws follows from the seed of its game, the tick and the seat. PyTorch uses one thread,
    so that the same rows of the same games come to the same actions in any process.

    Args:
        store: where the snapshots are.
        trunks: makers of trunks by the names of architectures, beside ``ARCHITECTURES``.
        config: of the games.
        layout: of the observations.

    """

    def __init__(
        self,
        store: SnapshotStore,
        trunks: Mapping[str, MakeTrunk],
        config: GameConfig,
        layout: ObsLayout,
    ) -> None:
        self.policies = FrozenPolicies(store, layout, config, {**ARCHITECTURES, **trunks})
        self._decoder = Decoder(layout)

    def act(self, game: VecGame, games: Ints, seats: Ints, names: Sequence[str]) -> Ints:
        """Return the actions (N, 2) of the ``seats``, 1..P, of ``games``, (N,) each, which ``names`` play.

        Raises the errors of ``FrozenPolicies.act``.
        """
        rows = rows_of(game.observations, self._decoder, games, seats)
        with _one_thread():
            actions: Ints = self.policies.act(names, rows, _numbers(game, games, seats)).numpy()
        return actions

    def probabilities(
        self, game: VecGame, games: Ints, seats: Ints, names: Sequence[str]
    ) -> npt.NDArray[np.float32]:
        """Return (N, P + 12): the probabilities of targets, then of fractions, that :meth:`act` draws with.

        Raises SnapshotError for a snapshot whose logits are not numbers, and the errors of :meth:`act`.
        """
        rows = rows_of(game.observations, self._decoder, games, seats)
        with _one_thread():
            found: npt.NDArray[np.float32] = self.policies.probabilities(names, rows).numpy()
        if unknown := [name for name, parts in zip(names, found, strict=True) if np.isnan(parts).any()]:
            raise SnapshotError(
                f"snapshot {unknown[0]!r} has no probabilities: its logits are not finite; they must be"
            )
        return found


def frames_of(store: SnapshotStore, snapshots: Sequence[str]) -> int:
    """Return the boards in a stack for all of ``snapshots``; MismatchError for one that reads no boards."""
    frames = {name: store.manifest(name).frames for name in snapshots}
    if blind := [name for name, count in frames.items() if count == 0]:
        raise MismatchError(
            f"snapshot {blind[0]!r} does not read boards; only snapshots that read boards can play here"
        )
    return max(frames.values())


def _numbers(game: VecGame, games: Ints, seats: Ints) -> Tensor:
    """Return float64 (N, 2) from 0 to below 1: what the seats draw at this decision."""
    view = View(game.blocks, game.config, games, seats)
    words = np.stack([view.draw(index) for index in DRAWS], axis=1)
    return torch.from_numpy((words >> np.uint64(11)).astype(np.float64) * 2.0**-53)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let PyTorch use one thread: sums are the same then, and the other cores play other games."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
