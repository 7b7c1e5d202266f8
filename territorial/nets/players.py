"""Snapshots at the seats of games: players of matches, tournaments and evaluations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from territorial.actions.masks import pair_masks
from territorial.bots import View
from territorial.config import GameConfig
from territorial.decode.numpy import Decoder
from territorial.engine.vec_game import VecGame
from territorial.evaluation.players import SNAPSHOT
from territorial.league import MismatchError, SnapshotError, SnapshotStore
from territorial.nets.board_policy import MakeTrunk, ReferenceTrunk
from territorial.nets.frozen import FrozenPolicies
from territorial.observation.layout import ObsLayout
from territorial.observation.tables import Observations
from territorial.typing import Ints


def rows_of(
    seen: Observations, decoder: Decoder, games: npt.NDArray[Any], seats: npt.NDArray[Any]
) -> dict[str, Tensor]:
    """Return what ``seats`` of ``games``, (N,) each, see, copied; the rows of a game share its boards.

    ``decoder`` is one of the layout of ``seen``.
    """
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


DIGITS = 8
"""Of a snapshot's digest, in names."""

_tables: dict[str, tuple[Any, SeatedSnapshots]] = {}
"""By the folder of a store: the games of one setting, and what plays its snapshots in them."""


@dataclass(frozen=True)
class SnapshotPolicy:
    """A snapshot as a player; all of a store in a process share one network, and their weights are its files.

    Args:
        store: where the snapshot is.
        name: of the snapshot.
        trunks: makers of trunks by the names of architectures, beside ``seated.ARCHITECTURES``; functions and
            classes of modules, so that they can be pickled.

    UnknownSnapshotError if there is no such snapshot, MismatchError if it reads no boards.

    """

    store: SnapshotStore
    name: str
    trunks: Mapping[str, MakeTrunk] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "trunks", dict(self.trunks))  # whatever mapping it was, this can be pickled
        _ = self.frames  # raises what is wrong

    @property
    def frames(self) -> int:
        """Boards in a stack."""
        return frames_of(self.store, [self.name])

    @property
    def player_name(self) -> str:
        """What records of matches call it: its name with the first digits of the digest of its weights."""
        return f"{SNAPSHOT}{self.name}@{self.store.digest(self.name)[:DIGITS]}"

    def identity(self) -> str:
        """Return the name and the digest of the weights."""
        return f"{self.name} {self.store.digest(self.name)}"

    def start(self, config: GameConfig, layout: ObsLayout, seed: int) -> Any:
        """Return what chooses the actions; all that it draws follows from the seeds of the games."""
        seated = self._open(config, layout)

        def act(game: VecGame, games: npt.NDArray[Any], seats: npt.NDArray[Any]) -> npt.NDArray[Any]:
            return seated.act(game, games, seats, [self.name] * len(games))

        return act

    def distribution(self, config: GameConfig, layout: ObsLayout) -> Any:
        """Return what tells the probabilities that actions are drawn with.

        It raises SnapshotError where the network says nothing, as its logits are not finite.
        """
        seated = self._open(config, layout)

        def tell(game: VecGame, games: npt.NDArray[Any], seats: npt.NDArray[Any]) -> npt.NDArray[Any]:
            return seated.probabilities(game, games, seats, [self.name] * len(games))

        return tell

    def stop(self) -> None:
        """Release the weights; the network without weights stays for the next snapshot."""
        table = _tables.get(str(self.store.path))
        if table is not None:
            table[1].policies.keep([], ())

    def _open(self, config: GameConfig, layout: ObsLayout) -> SeatedSnapshots:
        """Return what plays the snapshot, with it open; MismatchError if it was made for other games."""
        seated = self._seated(config, layout)
        seated.policies.keep([self.name], seated.policies.names)  # beside those that play already
        return seated

    def _seated(self, config: GameConfig, layout: ObsLayout) -> SeatedSnapshots:
        """Return what plays the snapshots of the store in these games; it forgets all others."""
        key, games = str(self.store.path), (config.hexdigest, layout, self.trunks)
        if key not in _tables or _tables[key][0] != games:
            seated = SeatedSnapshots(self.store, self.trunks, config, layout)
            if key in _tables:  # what has been read and compared with its digest once need not be again
                seated.policies.trust(_tables[key][1].policies)
            _tables[key] = games, seated
        return _tables[key][1]
