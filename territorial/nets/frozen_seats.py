"""Snapshots as players of this game's seats: on boards or on pairs, many in one pass."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from operator import is_
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from territorial.config import GameConfig
from territorial.league import Manifest, MismatchError, SnapshotStore
from territorial.league.store import VERSIONS
from territorial.nets.board_policy import BoardPolicy, MakeTrunk
from territorial.nets.frozen import Acting, FrozenNetwork, FrozenPolicies, Snapshot, built, portions_of
from territorial.nets.pair_policy import READS, PairRows
from territorial.nets.policy import GAMES, MASKED, Policy
from territorial.nets.side_by_side import FixedShapes, SideBySide, side_by_side
from territorial.observation.layout import ObsLayout

MAX_INPUT = 2**28
"""Bytes of the boards that are decoded for rows that act together."""
MAX_TOGETHER = 2**21
"""Bytes of the weights of a snapshot that may act together with others: beyond, arithmetic takes the time."""
TOLERANCE = 1e-4
"""By what part logits may differ between snapshots that act together and each by itself."""


def manifest_of(
    layout: ObsLayout, architecture: str, settings: Mapping[str, object], **metadata: object
) -> Manifest:
    """Return the manifest of a ``Policy`` that is ``architecture`` with ``settings``, or has it as trunk."""
    return Manifest(architecture=architecture, settings=settings, metadata=metadata, **_fields_of(layout))


def _fields_of(layout: ObsLayout) -> dict[str, Any]:
    """Return what manifests of policies that play games of ``layout`` say."""
    return {
        "observation": "packed",
        "action_format": "multi_discrete",
        "height": layout.height,
        "width": layout.width,
        "num_players": layout.num_players,
        "frames": layout.frames,
        **VERSIONS,
    }


class _Together(NamedTuple):
    """Snapshots that act together, with their weights as those of one network."""

    snapshots: list[Snapshot]
    sizes: dict[int, Sequence[int]]  # of the batch that runs: those of ``side_by_side``
    weights: dict[str, SideBySide]


class SeatNetwork(FrozenNetwork):
    """The network of snapshots of one architecture with the same settings; small ones may act together."""

    def __init__(self, name: str, network: Policy | PairRows, *, may_act_together: bool) -> None:
        super().__init__(network)
        self.name, self.network = name, network
        self.acts_together = None if may_act_together else False
        """Whether one pass through the network is enough for several snapshots; None: not known yet."""
        self.known: list[_Together] = []
        """Those that have acted together last, in the order in which they act again."""

    def read(self, rows: Any) -> Tensor:
        """Return the logits of rows."""
        logits, _ = self.network(rows)
        return logits

    def draw(self, logits: Tensor, numbers: Tensor | None) -> Tensor:
        """Return the actions that ``numbers`` draw by ``logits``."""
        return self.network.draw(logits, numbers)

    def probabilities(self, logits: Tensor) -> Tensor:
        """Return the probabilities of ``draw``."""
        return self.network.probabilities(logits)

    def take(self, rows: Any, which: Tensor | slice) -> Any:
        """Return ``which`` of what belongs to rows, and all of what belongs to games that rows share."""
        return rows_of(rows, which)

    def forget(self) -> None:
        """Release what was made for snapshots that act together."""
        self.known.clear()

    def logits(self, acting: Sequence[Acting], seen: Any) -> Tensor:
        """Return the logits of rows, which lie in the order of the snapshots that act for them."""
        portions = list(self.portions(acting))
        parts = portions_of(self, seen, [sum(one.rows for one in some) for some in portions])
        return torch.cat([self._portion(some, part) for some, part in zip(portions, parts, strict=True)])

    def run_together(self, acting: Sequence[Acting], seen: Mapping[str, Tensor]) -> Tensor:
        """Return the logits of rows by one pass through the network, with the weights of all snapshots."""
        counts = [one.rows for one in acting]
        number = np.repeat(np.arange(len(acting)), counts)
        mine = {**seen, "snapshot": torch.from_numpy(number[:, None]).to(seen["action_mask"].device)}
        _, sizes, weights = self._together([one.snapshot for one in acting])
        sizes.clear()
        sizes.update(_sizes(counts, number, seen))
        return self.run(weights, mine)

    def _together(self, snapshots: list[Snapshot]) -> _Together:
        """Return the weights of snapshots that act together; if they are those of before, as they were."""
        for known in self.known:
            if len(known.snapshots) == len(snapshots) and all(map(is_, known.snapshots, snapshots)):
                return known
        sizes: dict[int, Sequence[int]] = {}
        made = _Together(snapshots, sizes, side_by_side([one.weights for one in snapshots], sizes))
        self.known = [*self.known[-7:], made]  # eight sets, for when they act again
        return made

    def _portion(self, acting: Sequence[Acting], seen: Mapping[str, Tensor]) -> Tensor:
        """Return the logits of rows; those of a new kind are compared with those of each snapshot alone."""
        if self.acts_together and len(acting) > 1:
            return self.run_together(acting, seen)
        alone = super().logits(acting, seen)
        if self.acts_together is None and len(acting) > 1:
            reason = self._difference(acting, seen, alone)
            self.acts_together = reason is None
            if reason is not None:
                warnings.warn(f"snapshots of {self.name} act one by one: {reason}", stacklevel=2)
        return alone

    def _difference(self, acting: Sequence[Acting], seen: Mapping[str, Tensor], alone: Tensor) -> str | None:
        """Return why snapshots cannot act together, None if they can."""
        try:
            with FixedShapes():
                together = self.run_together(acting, seen)
        except Exception as error:  # whatever a network of a user may raise: each by itself has just worked
            return f"{type(error).__name__}: {error}"
        if type(together) is not Tensor or together.shape != alone.shape:
            return "the logits are not those of all rows"
        legal = alone > MASKED / 2
        apart, largest = float((together - alone).abs().max()), float(alone[legal].abs().max())
        return None if apart <= TOLERANCE * max(1.0, largest) else f"their logits differ by {apart:.2g}"

    def portions(self, acting: Sequence[Acting]) -> Iterator[list[Acting]]:
        """Yield snapshots that act together: as many as the size of what they read allows."""
        most = MAX_INPUT // max(1, getattr(self.network, "bytes_of_row", 1))
        portion: list[Acting] = []
        for one in acting:
            is_full = sum(other.rows for other in portion) + one.rows > most
            if portion and (is_full or self.acts_together is False):
                yield portion
                portion = []
            portion.append(one)
        yield portion


class SeatNetworks:
    """Builds the networks of snapshots, one for all with the same architecture and settings.

    Snapshots on boards must be of games of ``layout``, those on pairs may be of any.
    """

    def __init__(self, layout: ObsLayout, config: GameConfig, trunks: Mapping[str, MakeTrunk]) -> None:
        self.layout, self.config, self.trunks = layout, config, dict(trunks)
        self.made: dict[str, SeatNetwork] = {}
        """By architecture and settings."""

    def __call__(self, name: str, manifest: Manifest) -> SeatNetwork:
        """Return the network of the snapshot ``name``; MismatchError for what cannot play here."""
        is_on_pairs = manifest.observation == READS["observation"]
        manifest.require(f"snapshot {name!r}", **(READS if is_on_pairs else _fields_of(self.layout)))
        if manifest.architecture not in self.trunks:
            raise MismatchError(
                f"snapshot {name!r} has the architecture {manifest.architecture!r}; those known here are "
                f"{', '.join(sorted(self.trunks)) or 'none'}"
            )
        key = f"{manifest.architecture} {sorted(manifest.settings.items())}"
        if key not in self.made:
            network = built(name, manifest, partial(self._make, self.trunks[manifest.architecture]))
            weights = sum(part.numel() * part.element_size() for part in network.parameters())
            may_act_together = isinstance(network, Policy) and weights <= MAX_TOGETHER
            self.made[key] = SeatNetwork(key, network, may_act_together=may_act_together)
        return self.made[key]

    def _make(self, trunk: MakeTrunk, **settings: Any) -> Policy | PairRows:
        made = trunk(self.layout, self.config, **settings)
        return made if isinstance(made, (Policy, PairRows)) else BoardPolicy(self.layout, self.config, made)


class FrozenSeats(FrozenPolicies):
    """Snapshots of a store as players of this game's seats.

    Args:
        store: where the snapshots are.
        layout: of the observations.
        config: of the games.
        trunks: by the names of architectures, functions that make the trunk:
            ``make(layout, config, **settings)``, see ``BoardPolicy``; or a whole ``Policy``, or ``PairRows``.
            Snapshots on boards are of games of ``layout``, those on pairs of any.

    """

    def __init__(
        self, store: SnapshotStore, layout: ObsLayout, config: GameConfig, trunks: Mapping[str, MakeTrunk]
    ) -> None:
        super().__init__(store, SeatNetworks(layout, config, trunks))

    def act(self, names: Sequence[str], seen: Mapping[str, Tensor], numbers: Tensor | None = None) -> Tensor:
        """Return int64 (N, ...): the actions that the snapshots ``names``, one a row, choose at random.

        ``seen``: as for ``BoardPolicy``; ``numbers``: as for its ``draw``, None: PyTorch draws them. What
        does not depend on weights is computed once for all rows of a kind. Raises the errors of
        ``FrozenPolicies.act``.
        """
        if numbers is None:
            numbers = torch.rand((len(names), 2), dtype=torch.float64, device=seen["action_mask"].device)
        return super().act(names, seen, numbers)


def _sizes(
    counts: Sequence[int], number: npt.NDArray[np.int64], seen: Mapping[str, Tensor]
) -> dict[int, Sequence[int]]:
    """Return how many rows each snapshot has, and how many games its rows are of."""
    sizes = {sum(counts): counts}
    if "frame" not in seen:
        return sizes
    games = seen["frame"].flatten().cpu().numpy()
    count = int(games.max()) + 1
    of_games = np.bincount(np.unique(number * count + games) // count, minlength=len(counts))
    return {int(of_games.sum()): of_games.tolist(), **sizes}


def rows_of(seen: Mapping[str, Tensor], rows: Tensor | slice) -> dict[str, Tensor]:
    """Return ``rows`` of what belongs to rows, and all of what belongs to games that rows share."""
    whole = GAMES if "frame" in seen else frozenset[str]()
    return {name: column if name in whole else column[rows] for name, column in seen.items()}
