"""Frozen policies: many snapshots that act side by side, on weights that all processes of a machine share."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call

from territorial.config import GameConfig
from territorial.league import Manifest, MismatchError, SnapshotStore, Weights
from territorial.nets.board_policy import BoardPolicy, MakeTrunk
from territorial.nets.pair_rows import PairRows
from territorial.nets.policy import Policy
from territorial.observation.layout import ObsLayout

OBSERVATION, ACTION_FORMAT = "packed", "multi_discrete"
"""What a ``Policy`` reads and gives, by the names in manifests."""

MAX_OPEN = 128
"""Snapshots that are kept open; opening another closes the one that has not acted for longest."""
MAX_MAPPED = 256 * 2**20
"""Bytes of open snapshots whose pages a process keeps tables of: half a MB that no other process can have.
One of 5 million parameters that is not among them pays a millisecond or two for new tables when it acts."""


def manifest_of(
    layout: ObsLayout, architecture: str, settings: Mapping[str, object], **metadata: object
) -> Manifest:
    """Return the manifest of a ``Policy`` that is ``architecture`` with ``settings``, or has it as trunk."""
    return Manifest(
        architecture=architecture,
        observation=OBSERVATION,
        action_format=ACTION_FORMAT,
        height=layout.height,
        width=layout.width,
        num_players=layout.num_players,
        frames=layout.frames,
        settings=settings,
        metadata=metadata,
    )


def _fields_of(layout: ObsLayout) -> dict[str, object]:
    """Return what manifests of policies that play games of ``layout`` say."""
    wanted = manifest_of(layout, "any", {})
    names = ("observation", "action_format", "height", "width", "num_players", "frames")
    return {name: getattr(wanted, name) for name in names}


class _ActingSnapshot(NamedTuple):
    """A snapshot that can act: its weights, and a network that any weights of its kind can run through."""

    network: Policy | PairRows
    weights: dict[str, Tensor]
    saved: Weights


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
        expect: what manifests must say, see ``Manifest.require``; default None: that they are of policies
            that play games of ``layout``.
        max_open: snapshots kept open at a time; all that act at once, if they are more.

    """

    def __init__(
        self,
        store: SnapshotStore,
        layout: ObsLayout,
        config: GameConfig,
        trunks: Mapping[str, MakeTrunk],
        *,
        expect: Mapping[str, object] | None = None,
        max_open: int = MAX_OPEN,
    ) -> None:
        if max_open < 1:
            raise ValueError(f"max_open is {max_open}; it must be at least 1")
        self.store, self.layout, self.config = store, layout, config
        self.trunks = dict(trunks)
        self._expect = _fields_of(layout) if expect is None else dict(expect)
        self.max_open = self._room = max_open
        self._open: OrderedDict[tuple[str, torch.device], _ActingSnapshot] = OrderedDict()
        self._networks: dict[str, Policy | PairRows] = {}
        self._mapped: OrderedDict[tuple[str, torch.device], int] = OrderedDict()  # bytes
        self._verified: set[str] = set()
        self._device = torch.device("cpu")

    def act(self, names: Sequence[str], seen: Mapping[str, Tensor], numbers: Tensor | None = None) -> Tensor:
        """Return int64 (N, ...): the actions that the snapshots ``names``, one a row, choose at random.

        ``seen``: as for ``BoardPolicy``; ``numbers``: as for its ``draw``. Every snapshot runs once, over all
        its rows. Raises the errors of ``SnapshotStore.load``, and MismatchError for a snapshot that was made
        for other games or whose architecture is not among ``trunks``.
        """
        device = self._device = seen["action_mask"].device
        parts: list[Tensor] = []
        rows_of: dict[str, list[int]] = {}
        for row, name in enumerate(names):
            rows_of.setdefault(name, []).append(row)
        self._room = max(self.max_open, len(rows_of))
        for name, rows in rows_of.items():
            frozen = self._frozen(name, device)
            own = _rows(seen, torch.tensor(rows, device=device))
            with torch.no_grad():
                logits, _ = functional_call(frozen.network, frozen.weights, (own,), strict=True)
            parts.append(frozen.network.draw(logits, None if numbers is None else numbers[rows]))
            self._note_mapped(name, device, frozen.saved)
        order = [row for rows in rows_of.values() for row in rows]
        return torch.cat(parts)[torch.tensor(order, device=device).argsort()]

    def keep(self, playing: Collection[str], others: Collection[str] = ()) -> None:
        """Have the snapshots ``playing`` open, and release all that are neither these nor ``others``.

        What is removed from the store afterwards can play on if it is among ``playing``. Raises the
        errors of :meth:`act`.
        """
        self._room = max(self.max_open, len(set(playing)))
        for name in sorted(set(playing) - {name for name, _ in self._open}):
            self._frozen(name, self._device)
        wanted = {*playing, *others}
        for key in [key for key in self._open if key[0] not in wanted]:
            del self._open[key]
            self._mapped.pop(key, None)

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
        self._mapped.clear()
        self._networks.clear()

    def _frozen(self, name: str, device: torch.device) -> _ActingSnapshot:
        """Return an open snapshot."""
        key = name, device
        if key not in self._open:
            self._open[key] = self._load(name, device)
            if len(self._open) > self._room:
                oldest, _ = self._open.popitem(last=False)
                self._mapped.pop(oldest, None)
        self._open.move_to_end(key)
        return self._open[key]

    def _note_mapped(self, name: str, device: torch.device, saved: Weights) -> None:
        """Note that a snapshot has just acted; forget the pages of those that have not for longest."""
        self._mapped[name, device] = saved.nbytes
        self._mapped.move_to_end((name, device))
        while sum(self._mapped.values()) > MAX_MAPPED and len(self._mapped) > 1:
            oldest, _ = self._mapped.popitem(last=False)
            self._open[oldest].saved.forget_pages()

    def _load(self, name: str, device: torch.device) -> _ActingSnapshot:
        saved = self.store.load(name, expect=self._expect, verify=name not in self._verified)
        self._verified.add(name)
        tensors = _tensors(saved)
        network = self._network(name, saved.manifest, tensors)
        return _ActingSnapshot(network, {key: tensor.to(device) for key, tensor in tensors.items()}, saved)

    def _network(self, name: str, manifest: Manifest, tensors: dict[str, Tensor]) -> Policy | PairRows:
        """Return a network of the kind of ``tensors``, without any weights of its own."""
        if manifest.architecture not in self.trunks:
            raise MismatchError(
                f"snapshot {name!r} has the architecture {manifest.architecture!r}; those known here are "
                f"{', '.join(sorted(self.trunks)) or 'none'}"
            )
        kind = f"{manifest.architecture} {sorted(manifest.settings.items())}"
        if kind not in self._networks:
            make = self.trunks[manifest.architecture]
            made = make(self.layout, self.config, **manifest.settings)
            is_whole = isinstance(made, (Policy, PairRows))
            network = made if is_whole else BoardPolicy(self.layout, self.config, made)
            _check_fit(name, manifest, network, tensors)
            shapes = {key: torch.empty_like(tensor, device="meta") for key, tensor in tensors.items()}
            network.load_state_dict(shapes, assign=True)
            self._networks[kind] = network.requires_grad_(False).eval()
        _check_fit(name, manifest, self._networks[kind], tensors)
        return self._networks[kind]


def _rows(seen: Mapping[str, Tensor], rows: Tensor) -> dict[str, Tensor]:
    """Return ``rows`` of what belongs to rows, and all of what belongs to games that rows share."""
    shares = "frame" in seen
    games = ("observations", "players", "borders", "globals")
    return {name: column if shares and name in games else column[rows] for name, column in seen.items()}


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


def _check_fit(name: str, manifest: Manifest, network: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Raise MismatchError unless ``tensors`` are those of ``network``."""
    wanted = {key: tuple(tensor.shape) for key, tensor in network.state_dict().items()}
    found = {key: tuple(tensor.shape) for key, tensor in tensors.items()}
    if wanted == found:
        return
    key = min(key for key in wanted.keys() | found.keys() if wanted.get(key) != found.get(key))
    raise MismatchError(
        f"snapshot {name!r}: the shape of the tensor {key!r} is {found.get(key, 'none, it is missing')}; "
        f"in the architecture {manifest.architecture!r} it is {wanted.get(key, 'none, there is no such')}"
    )
