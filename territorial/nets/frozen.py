"""``FrozenPolicies``: many snapshots that act together, on shared weights."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from territorial.config.validation import check_type, shown
from territorial.league import Manifest, MismatchError, SnapshotStore, Weights

MAX_OPEN = 128
"""Snapshots that are kept open; opening another closes the one that has not acted for longest."""


class Snapshot(NamedTuple):
    """A snapshot that can act: its weights, and the network that they run through."""

    network: FrozenNetwork
    weights: dict[str, Tensor]


class Acting(NamedTuple):
    """A snapshot, and how many rows it acts for."""

    name: str
    snapshot: Snapshot
    rows: int


class FrozenNetwork:
    """A network without weights of its own; those of any of its snapshots can run through it.

    Subclasses say how it reads rows and draws actions. Rows are tensors, or dicts and tuples of such.
    """

    def __init__(self, module: nn.Module) -> None:
        self.module = module.requires_grad_(False).eval()
        self._slots: list[tuple[str, dict[str, Any], str, Any]] | None = None

    def read(self, rows: Any) -> Tensor:
        """Return the logits of rows, (N, K)."""
        raise NotImplementedError

    def draw(self, logits: Tensor, numbers: Tensor | None) -> Any:
        """Return an action for every row of ``logits``, drawn by ``numbers``, None: by PyTorch."""
        raise NotImplementedError

    def probabilities(self, logits: Tensor) -> Tensor:
        """Return the probabilities of ``draw``, (N, K)."""
        raise NotImplementedError

    def take(self, rows: Any, which: Tensor | slice) -> Any:
        """Return ``which`` of the rows."""
        return mapped(lambda part: part[which], rows)

    def forget(self) -> None:
        """Release what was made for snapshots of the games that are over; nothing, unless a subclass does."""

    def run(self, weights: Mapping[str, Tensor], rows: Any) -> Tensor:
        """Return the logits of rows by the network with ``weights``."""
        # What functional_call does, which takes longer to find the places than small networks to run.
        if self._slots is None:
            self._slots = list(_slots_of(self.module))
        try:
            for name, place, key, _ in self._slots:
                place[key] = weights[name]
            return self.read(rows)
        finally:
            for _, place, key, empty in self._slots:
                place[key] = empty

    def logits(self, acting: Sequence[Acting], rows: Any) -> Tensor:
        """Return the logits of rows, which lie in the order of the snapshots that act for them."""
        parts = zip(acting, portions_of(self, rows, [one.rows for one in acting]), strict=True)
        found = [self.run(one.snapshot.weights, part) for one, part in parts]
        return mapped(lambda *logits: torch.cat(logits), *found)

    def check(self, name: str, manifest: Manifest, weights: Mapping[str, Tensor]) -> None:
        """Raise MismatchError unless the weights of the snapshot ``name`` are those of this network."""
        shapes = {one: torch.empty_like(tensor, device="meta") for one, tensor in weights.items()}
        try:
            self.module.load_state_dict(shapes, assign=True)
        except RuntimeError as error:
            why = " ".join(str(error)[:500].split())
            raise MismatchError(f"snapshot {name!r} of {manifest.architecture!r}: {why}") from None


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
        build: called with the name and the manifest of a snapshot; returns the network that its weights run
            through, the same one for all snapshots that can share it. MismatchError for what cannot play.

    """

    def __init__(self, store: SnapshotStore, build: Callable[[str, Manifest], FrozenNetwork]) -> None:
        self.store, self.build = store, build
        self._room = MAX_OPEN
        self._open: OrderedDict[tuple[str, torch.device], Snapshot] = OrderedDict()
        self._verified: set[str] = set()
        self._last_device = torch.device("cpu")

    def act(self, names: Sequence[str], seen: Any, numbers: Tensor | None = None) -> Any:
        """Return the actions that the snapshots ``names``, one a row, choose at random.

        ``numbers``: (N, ...), from which actions are drawn; None: PyTorch draws. Raises the errors of
        ``SnapshotStore.load``, and MismatchError for a snapshot that cannot play here.
        """
        return self._of_rows(
            names,
            seen,
            lambda network, logits, rows: network.draw(logits, None if numbers is None else numbers[rows]),
        )

    def probabilities(self, names: Sequence[str], seen: Any) -> Tensor:
        """Return float32 (N, ...): the probabilities that ``act`` draws actions with.

        They are what ``probabilities`` of the networks returns. Raises the errors of :meth:`act`.
        """
        return self._of_rows(names, seen, lambda network, logits, _: network.probabilities(logits))

    def _of_rows(
        self, names: Sequence[str], seen: Any, make: Callable[[FrozenNetwork, Tensor, Tensor], Any]
    ) -> Any:
        """Return what ``make(network, logits, rows)`` makes of the rows of each network, in the order of all.

        ``rows``: which they are, int64 (n,).
        """
        device = self._last_device = device_of(seen)
        rows_of: dict[str, list[int]] = {}
        for row, name in enumerate(names):
            rows_of.setdefault(name, []).append(row)
        self._room = max(MAX_OPEN, len(rows_of))
        parts: list[Any] = []
        order: list[int] = []
        networks: dict[int, list[Acting]] = {}
        for name, own in sorted(rows_of.items()):  # in one order from step to step
            snapshot = self._frozen(name, device)
            networks.setdefault(id(snapshot.network), []).append(Acting(name, snapshot, len(own)))
        for acting in networks.values():
            network, rows = acting[0].snapshot.network, [row for one in acting for row in rows_of[one.name]]
            places = torch.tensor(rows, device=device)
            with torch.no_grad():
                parts.append(make(network, network.logits(acting, network.take(seen, places)), places))
            order += rows
        back = torch.tensor(order, device=device).argsort()
        return mapped(lambda *columns: torch.cat(columns)[back], *parts)

    def keep(self, playing: Collection[str], others: Collection[str] = ()) -> None:
        """Have the snapshots ``playing`` open, and release all that are neither these nor ``others``.

        What is removed from the store afterwards can play on if it is among ``playing``. Raises the
        errors of :meth:`act`.
        """
        self._room = max(MAX_OPEN, len(set(playing)))
        for name in sorted(set(playing) - {name for name, _ in self._open}):
            self._frozen(name, self._last_device)
        wanted = {*playing, *others}
        for snapshot in self._open.values():
            snapshot.network.forget()
        for key in [key for key in self._open if key[0] not in wanted]:
            del self._open[key]

    @property
    def names(self) -> list[str]:
        """The snapshots that are open, those that have not acted for longest first."""
        return [name for name, _ in self._open]

    def trust(self, other: FrozenPolicies) -> None:
        """Take over which snapshots ``other``, of the same store, has compared with their digests."""
        self._verified |= other._verified

    def close(self) -> None:
        """Release all snapshots."""
        self.keep(())

    def _frozen(self, name: str, device: torch.device) -> Snapshot:
        """Return an open snapshot."""
        key = name, device
        if key not in self._open:
            network = self.build(name, self.store.manifest(name))
            is_new = name not in self._verified
            saved = self.store.load(name, verify=is_new)
            tensors = _tensors(saved)
            network.check(name, saved.manifest, tensors)
            # In parts, as copies of the size of a tensor would leave gaps between what is kept.
            parts = (part for tensor in tensors.values() for part in tensor.flatten().split(2**14))
            if is_new and not all(part.isfinite().all() for part in parts):
                raise MismatchError(f"snapshot {name!r} has weights that are not finite")
            self._verified.add(name)
            self._open[key] = Snapshot(network, {one: tensor.to(device) for one, tensor in tensors.items()})
            if len(self._open) > self._room:
                self._open.popitem(last=False)
        self._open.move_to_end(key)
        return self._open[key]


def built(name: str, manifest: Manifest, make: Callable[..., Any]) -> Any:
    """Return what ``make`` makes of the settings of a snapshot; MismatchError for settings that it lacks."""
    try:
        return make(**manifest.settings)
    except Exception as error:  # whatever a network makes of settings that may be anything
        raise MismatchError(
            f"snapshot {name!r}: {manifest.architecture} cannot be built with the settings "
            f"{shown(manifest.settings)}: {type(error).__name__}: {error}"
        ) from error


def mapped(function: Callable[..., Any], *trees: Any) -> Any:
    """Return a tree like ``trees``, which are alike, of what ``function`` makes of their leaves."""
    first = trees[0]
    if isinstance(first, Mapping):
        return {name: mapped(function, *(tree[name] for tree in trees)) for name in first}
    if isinstance(first, (tuple, list)):
        return tuple(mapped(function, *parts) for parts in zip(*trees, strict=True))
    return function(*trees)


def device_of(rows: Any) -> torch.device:
    """Return the device of a tree of tensors; TypeError for a leaf that is none."""
    while isinstance(rows, (Mapping, tuple, list)):
        rows = next(iter(rows.values() if isinstance(rows, Mapping) else rows))
    check_type("what is seen", rows, Tensor, "made of tensors")
    device: torch.device = rows.device
    return device


@contextmanager
def one_thread() -> Iterator[None]:
    """Let PyTorch use one thread: sums are the same then, and the other cores play other games."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def portions_of(network: FrozenNetwork, rows: Any, counts: Sequence[int]) -> Iterator[Any]:
    """Yield so many rows, and then the next."""
    for count, end in zip(counts, accumulate(counts), strict=True):
        yield network.take(rows, slice(end - count, end))


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
