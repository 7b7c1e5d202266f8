"""``FrozenPolicies``: many snapshots that act together, on shared weights."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import accumulate
from operator import is_
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from territorial.config import GameConfig
from territorial.config.validation import shown
from territorial.league import Manifest, MismatchError, SnapshotStore, Weights
from territorial.league.manifest import VERSIONS
from territorial.nets.board_policy import BoardPolicy, MakeTrunk
from territorial.nets.pair_policy import READS, PairRows
from territorial.nets.policy import GAMES, MASKED, Policy
from territorial.nets.side_by_side import FixedShapes, SideBySide, side_by_side
from territorial.observation.layout import ObsLayout

MAX_OPEN = 128
"""Snapshots that are kept open; opening another closes the one that has not acted for longest."""
MAX_INPUT = 2**28
"""Bytes of the boards that are decoded for rows that act together."""
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


class _Snapshot(NamedTuple):
    """A snapshot that can act: its weights, and its kind."""

    kind: _Kind
    weights: dict[str, Tensor]


class _Acting(NamedTuple):
    """A snapshot, and how many rows it acts for."""

    name: str
    snapshot: _Snapshot
    rows: int


class _Together(NamedTuple):
    """Snapshots that act together, with their weights as those of one network."""

    snapshots: list[_Snapshot]
    sizes: dict[int, Sequence[int]]
    """Of the batch that runs: those of ``side_by_side``."""
    weights: dict[str, SideBySide]


class _Kind:
    """Snapshots of one architecture with the same settings.

    ``network`` has no weights of its own; those of any of these snapshots can run through it.
    """

    def __init__(self, name: str, network: Policy | PairRows, *, may_act_together: bool) -> None:
        self.name, self.network = name, network
        self.acts_together = None if may_act_together else False
        """Whether one pass through the network is enough for several snapshots; None: not known yet."""
        self.known: list[_Together] = []
        """Those that have acted together last, in the order in which they act again."""
        self._slots = list(_slots_of(network))

    def run(self, weights: Mapping[str, Tensor], seen: Mapping[str, Tensor]) -> Tensor:
        """Return the logits of rows by the network with ``weights``."""
        # What functional_call does, which takes longer to find the places than small networks to run.
        try:
            for name, place, key, _ in self._slots:
                place[key] = weights[name]
            logits, _ = self.network(seen)
            return logits
        finally:
            for _, place, key, empty in self._slots:
                place[key] = empty

    def run_each(self, acting: Sequence[_Acting], seen: Mapping[str, Tensor]) -> Tensor:
        """Return the logits of rows by one pass through the network for each snapshot."""
        parts = zip(acting, _portions_of(seen, [one.rows for one in acting]), strict=True)
        return torch.cat([self.run(one.snapshot.weights, part) for one, part in parts])

    def run_together(self, acting: Sequence[_Acting], seen: Mapping[str, Tensor]) -> Tensor:
        """Return the logits of rows by one pass through the network, with the weights of all snapshots."""
        counts = [one.rows for one in acting]
        number = np.repeat(np.arange(len(acting)), counts)
        mine = {**seen, "snapshot": torch.from_numpy(number[:, None]).to(seen["action_mask"].device)}
        _, sizes, weights = self._together([one.snapshot for one in acting])
        sizes.clear()
        sizes.update(_sizes(counts, number, seen))
        return self.run(weights, mine)

    def _together(self, snapshots: list[_Snapshot]) -> _Together:
        """Return the weights of snapshots that act together; if they are those of before, as they were."""
        for known in self.known:
            if len(known.snapshots) == len(snapshots) and all(map(is_, known.snapshots, snapshots)):
                return known
        sizes: dict[int, Sequence[int]] = {}
        made = _Together(snapshots, sizes, side_by_side([one.weights for one in snapshots], sizes))
        self.known = [*self.known[-7:], made]  # eight sets, for when they act again
        return made

    def logits(self, acting: Sequence[_Acting], seen: Mapping[str, Tensor]) -> Tensor:
        """Return the logits of rows; those of a new kind are compared with those of each snapshot alone."""
        if self.acts_together and len(acting) > 1:
            return self.run_together(acting, seen)
        alone = self.run_each(acting, seen)
        if self.acts_together is None and len(acting) > 1:
            reason = self._difference(acting, seen, alone)
            self.acts_together = reason is None
            if reason is not None:
                warnings.warn(f"snapshots of {self.name} act one by one: {reason}", stacklevel=2)
        return alone

    def _difference(self, acting: Sequence[_Acting], seen: Mapping[str, Tensor], alone: Tensor) -> str | None:
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

    def portions(self, acting: Sequence[_Acting]) -> Iterator[list[_Acting]]:
        """Yield snapshots that act together: as many as the size of what they read allows."""
        most = MAX_INPUT // max(1, getattr(self.network, "bytes_of_row", 1))
        portion: list[_Acting] = []
        for one in acting:
            is_full = sum(other.rows for other in portion) + one.rows > most
            if portion and (is_full or self.acts_together is False):
                yield portion
                portion = []
            portion.append(one)
        yield portion


def _slots_of(network: nn.Module) -> Iterator[tuple[str, dict[str, Any], str, Any]]:
    """Yield the name of every weight, where its module has it, under which key, and what is there."""
    saved = network.state_dict(keep_vars=True).keys()
    for prefix, module in network.named_modules(remove_duplicate=False):
        for place in (module._parameters, module._buffers):
            for key, value in place.items():
                name = f"{prefix}.{key}" if prefix else key
                if name in saved:
                    yield name, place, key, value


class FrozenPolicies:
    """Snapshots of a store as players.

    On the processor their weights alias the store's files: no process has a copy of its own. On another
    device each open snapshot has one.

    Args:
        store: where the snapshots are.
        layout: of the observations.
        config: of the games.
        trunks: by the names of architectures, functions that make the trunk:
            ``make(layout, config, **settings)``, see ``BoardPolicy``; or a whole ``Policy``, or ``PairRows``.
            Snapshots on boards are of games of ``layout``, those on pairs of any.

    """

    def __init__(
        self,
        store: SnapshotStore,
        layout: ObsLayout,
        config: GameConfig,
        trunks: Mapping[str, MakeTrunk],
    ) -> None:
        self.store, self.layout, self.config = store, layout, config
        self.trunks = dict(trunks)
        self._room = MAX_OPEN
        self._open: OrderedDict[tuple[str, torch.device], _Snapshot] = OrderedDict()
        self._kinds: dict[str, _Kind] = {}
        self._verified: set[str] = set()
        self._last_device = torch.device("cpu")

    def act(self, names: Sequence[str], seen: Mapping[str, Tensor], numbers: Tensor | None = None) -> Tensor:
        """Return int64 (N, ...): the actions that the snapshots ``names``, one a row, choose at random.

        ``seen``: as for ``BoardPolicy``; ``numbers``: as for its ``draw``, None: PyTorch draws them. What
        does not depend on weights is computed once for all rows of a kind. Raises the errors of
        ``SnapshotStore.load``, and MismatchError for a snapshot that was made for other games or whose
        architecture is not among ``trunks``.
        """
        if numbers is None:
            numbers = torch.rand((len(names), 2), dtype=torch.float64, device=seen["action_mask"].device)
        return self._of_rows(names, seen, lambda network, logits, rows: network.draw(logits, numbers[rows]))

    def probabilities(self, names: Sequence[str], seen: Mapping[str, Tensor]) -> Tensor:
        """Return float32 (N, ...): the probabilities that ``act`` draws actions with.

        They are what ``probabilities`` of the networks returns. Raises the errors of :meth:`act`.
        """
        return self._of_rows(names, seen, lambda network, logits, _: network.probabilities(logits))

    def _of_rows(
        self,
        names: Sequence[str],
        seen: Mapping[str, Tensor],
        make: Callable[[Policy | PairRows, Tensor, Tensor], Tensor],
    ) -> Tensor:
        """Return what ``make(network, logits, rows)`` makes of the rows of each kind, in the order of all.

        ``rows``: which they are, int64 (n,).
        """
        device = self._last_device = seen["action_mask"].device
        rows_of: dict[str, list[int]] = {}
        for row, name in enumerate(names):
            rows_of.setdefault(name, []).append(row)
        self._room = max(MAX_OPEN, len(rows_of))
        parts: list[Tensor] = []
        order: list[int] = []
        kinds: dict[int, list[_Acting]] = {}
        for name, own in sorted(rows_of.items()):  # in one order from step to step
            snapshot = self._frozen(name, device)
            kinds.setdefault(id(snapshot.kind), []).append(_Acting(name, snapshot, len(own)))
        for acting in kinds.values():
            rows = [row for one in acting for row in rows_of[one.name]]
            places = torch.tensor(rows, device=device)
            with torch.no_grad():
                logits = _logits(acting, _rows(seen, places))
                parts.append(make(acting[0].snapshot.kind.network, logits, places))
            order += rows
        return torch.cat(parts)[torch.tensor(order, device=device).argsort()]

    def keep(self, playing: Collection[str], others: Collection[str] = ()) -> None:
        """Have the snapshots ``playing`` open, and release all that are neither these nor ``others``.

        What is removed from the store afterwards can play on if it is among ``playing``. Raises the
        errors of :meth:`act`.
        """
        self._room = max(MAX_OPEN, len(set(playing)))
        for name in sorted(set(playing) - {name for name, _ in self._open}):
            self._frozen(name, self._last_device)
        wanted = {*playing, *others}
        for key in [key for key in self._open if key[0] not in wanted]:
            del self._open[key]
        for kind in self._kinds.values():
            kind.known.clear()

    @property
    def names(self) -> list[str]:
        """The snapshots that are open, those that have not acted for longest first."""
        return [name for name, _ in self._open]

    def trust(self, other: FrozenPolicies) -> None:
        """Take over which snapshots ``other``, of the same store, has compared with their digests."""
        self._verified |= other._verified

    def close(self) -> None:
        """Release all snapshots."""
        self._open.clear()
        self._kinds.clear()

    def _frozen(self, name: str, device: torch.device) -> _Snapshot:
        """Return an open snapshot."""
        key = name, device
        if key not in self._open:
            is_on_pairs = self.store.manifest(name).observation == READS["observation"]
            expect = READS if is_on_pairs else _fields_of(self.layout)
            saved = self.store.load(name, expect=expect, verify=name not in self._verified)
            self._verified.add(name)
            tensors = _tensors(saved)
            kind = self._kind(name, saved, tensors)
            self._open[key] = _Snapshot(kind, {one: tensor.to(device) for one, tensor in tensors.items()})
            if len(self._open) > self._room:
                self._open.popitem(last=False)
        self._open.move_to_end(key)
        return self._open[key]

    def _kind(self, name: str, saved: Weights, tensors: dict[str, Tensor]) -> _Kind:
        """Return the kind of a snapshot, with a network without any weights of its own."""
        manifest = saved.manifest
        if manifest.architecture not in self.trunks:
            raise MismatchError(
                f"snapshot {name!r} has the architecture {manifest.architecture!r}; those known here are "
                f"{', '.join(sorted(self.trunks)) or 'none'}"
            )
        key = f"{manifest.architecture} {sorted(manifest.settings.items())}"
        known = self._kinds.get(key)
        network = self._built(name, manifest) if known is None else known.network
        shapes = {one: torch.empty_like(tensor, device="meta") for one, tensor in tensors.items()}
        try:
            network.load_state_dict(shapes, assign=True)
        except RuntimeError as error:
            why = " ".join(str(error)[:500].split())
            raise MismatchError(f"snapshot {name!r} of {manifest.architecture!r}: {why}") from None
        if known is None:
            # Beyond 2 MB of weights arithmetic takes the time.
            is_small = isinstance(network, Policy) and saved.nbytes <= 2**21
            known = _Kind(key, network.requires_grad_(False).eval(), may_act_together=is_small)
            self._kinds[key] = known
        return known

    def _built(self, name: str, manifest: Manifest) -> Policy | PairRows:
        """Return a new network for a snapshot; MismatchError for settings that its architecture lacks."""
        make = self.trunks[manifest.architecture]
        try:
            made = make(self.layout, self.config, **manifest.settings)
            return (
                made if isinstance(made, (Policy, PairRows)) else BoardPolicy(self.layout, self.config, made)
            )
        except Exception as error:  # whatever a network makes of settings that may be anything
            raise MismatchError(
                f"snapshot {name!r}: {manifest.architecture} cannot be built with the settings "
                f"{shown(manifest.settings)}: {type(error).__name__}: {error}"
            ) from error


def _logits(acting: Sequence[_Acting], seen: Mapping[str, Tensor]) -> Tensor:
    """Return the logits of rows of a kind, which lie in the order of the snapshots that act for them."""
    kind = acting[0].snapshot.kind
    portions = list(kind.portions(acting))
    parts = _portions_of(seen, [sum(one.rows for one in some) for some in portions])
    return torch.cat([kind.logits(some, part) for some, part in zip(portions, parts, strict=True)])


def _portions_of(seen: Mapping[str, Tensor], counts: Sequence[int]) -> Iterator[dict[str, Tensor]]:
    """Yield so many rows, and then the next."""
    for count, end in zip(counts, accumulate(counts), strict=True):
        yield _rows(seen, slice(end - count, end))


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


def _rows(seen: Mapping[str, Tensor], rows: Tensor | slice) -> dict[str, Tensor]:
    """Return ``rows`` of what belongs to rows, and all of what belongs to games that rows share."""
    whole = GAMES if "frame" in seen else frozenset[str]()
    return {name: column if name in whole else column[rows] for name, column in seen.items()}


def _tensors(saved: Weights) -> dict[str, Tensor]:
    """Return the weights as tensors that alias the file."""
    tensors = {}
    with warnings.catch_warnings():
        # "The given NumPy array is not writable": no code writes to it.
        warnings.simplefilter("ignore", UserWarning)
        for name, array in saved.items():
            tensor = torch.from_numpy(array)
            tensors[name] = tensor.view(torch.bfloat16) if saved.dtypes[name] == "BF16" else tensor
    return tensors
