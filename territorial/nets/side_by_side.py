"""Stacked weights of several networks, which run as one.

PyTorch takes as long to begin a product as twenty rows of a small network take. Here one call does those of
all networks. Weights are read where they lie: sixteen outputs at a time are turned, so that they lie side by
side, and then multiply all rows of their network, while those that are next come into the caches.

``torch.func.vmap`` over stacked weights knows more operations, but it copies the weights whenever others act,
and a league then samples at 0.75 of the speed: docs/training_performance.md has the measurement.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from territorial.jit.decorators import kernel, njit, routine
from territorial.jit.simd import (
    FLOAT_BYTES,
    LINE,
    SIXTEEN,
    add_float_products,
    address_of,
    float_at,
    put_float,
    put_sums,
    sums_at,
    turn_outputs,
)

ZERO = np.float32(0)
SIX, THREE = 6, 3
"""Rows that are computed together: AVX2 has no registers for the sums of more."""


@kernel
def write_products(
    rows: Any, counts: Any, weights: Any, biases: Any, turned: Any, scratch: Any, out: Any
) -> None:
    """Write what the linear layers of networks make of rows; those of a network lie together.

    A sum is its bias and then its products in the order of the inputs, so that no row depends on others.

    Args:
        rows: float32 (N, K).
        counts: int64 (G,), how many rows each network has; N together.
        weights: int64 (G,), the addresses of the weights of each, float32 (J, K).
        biases: int64 (G,), the addresses of its biases, float32 (J,); 0 where it has none.
        turned: float32 (K, 16), scratch.
        scratch: float32 (7, 16), scratch.
        out: float32 (N, J), written.

    """
    inputs, outputs = rows.shape[1], out.shape[1]
    step, start = inputs * FLOAT_BYTES, address_of(scratch)
    read, to, at = address_of(rows), address_of(out), address_of(turned)
    for g in range(len(counts)):
        after = weights[min(g + 1, len(counts) - 1)]
        for first in range(0, outputs, SIXTEEN):
            source, there = weights[g] + first * step, min(outputs - first, SIXTEEN)
            turn_outputs(source, step, there, inputs, at, LINE)
            begin(biases[g], first, there, start)
            to_first = to + first * FLOAT_BYTES
            ahead = (source + SIXTEEN * step if first + SIXTEEN < outputs else after) - at
            if there == SIXTEEN:
                sixteen_outputs(read, counts[g], inputs, start, at, to_first, outputs * FLOAT_BYTES, ahead)
            else:
                fewer_outputs(read, counts[g], inputs, start, at, to_first, outputs, there)
        read, to = read + counts[g] * step, to + counts[g] * outputs * FLOAT_BYTES


@njit
def begin(biases: int, first: int, there: int, to: int) -> None:
    """Write what the sums of sixteen outputs begin with."""
    for j in range(SIXTEEN):
        is_there = biases != 0 and j < there
        put_float(to + j * FLOAT_BYTES, float_at(biases + (first + j) * FLOAT_BYTES) if is_there else ZERO)


@routine
def sixteen_outputs(
    rows: int, count: int, inputs: int, start: int, weights: int, to: int, step: int, ahead: int
) -> None:
    """Write sixteen outputs of rows; ``step``: bytes from those of one row to those of the next.

    ``ahead``: how many bytes behind ``weights`` those lie that are next.
    """
    given = inputs * FLOAT_BYTES
    while count >= SIX:
        for r in range(SIX):
            put_sums(to + r * step, sums_at(start))
        add_float_products(SIX, 1, to, step, weights, LINE, rows, given, inputs, ahead)
        rows, to, count = rows + SIX * given, to + SIX * step, count - SIX
    if count >= THREE:
        for r in range(THREE):
            put_sums(to + r * step, sums_at(start))
        add_float_products(THREE, 1, to, step, weights, LINE, rows, given, inputs, ahead)
        rows, to, count = rows + THREE * given, to + THREE * step, count - THREE
    while count > 0:
        put_sums(to, sums_at(start))
        add_float_products(1, 1, to, step, weights, LINE, rows, given, inputs, ahead)
        rows, to, count = rows + given, to + step, count - 1


@njit
def fewer_outputs(
    rows: int, count: int, inputs: int, start: int, weights: int, to: int, outputs: int, there: int
) -> None:
    """Write the last outputs of rows, ``there`` of ``outputs``, fewer than sixteen."""
    sums = start + LINE
    while count > 0:
        some = min(count, SIX)
        sixteen_outputs(rows, some, inputs, start, weights, sums, LINE, 0)
        for r in range(some):
            for j in range(there):
                put_float(to + (r * outputs + j) * FLOAT_BYTES, float_at(sums + r * LINE + j * FLOAT_BYTES))
        rows, to = rows + some * inputs * FLOAT_BYTES, to + some * outputs * FLOAT_BYTES
        count -= some


DEPENDENT = {torch.Tag.dynamic_output_shape, torch.Tag.data_dependent_output}

Sizes = Mapping[int, Sequence[int]]
"""By the length of a batch, how many of its rows belong to each network; rows of one lie together."""

BY_ROW = frozenset(
    {
        functional.linear,
        functional.conv1d,
        functional.conv2d,
        functional.conv3d,
        functional.layer_norm,
        functional.group_norm,
        functional.rms_norm,
        functional.prelu,
        functional.bilinear,
        functional.embedding,
        functional.batch_norm,
        torch.matmul,
        Tensor.matmul,
        Tensor.__matmul__,
    }
)
"""Operations on rows with weights: the first axis of every tensor that is no weight has the rows."""

BROADCAST = frozenset(
    {
        Tensor.add,
        Tensor.add_,
        Tensor.sub,
        Tensor.sub_,
        Tensor.mul,
        Tensor.mul_,
        Tensor.div,
        Tensor.div_,
        torch.add,
        torch.sub,
        torch.mul,
        torch.div,
    }
)
"""The same, where a tensor that is no weight must have more axes than weights: the first has the rows."""


MOST_ROWS = 48
"""Rows of a network, on average, up to which a kernel multiplies them: PyTorch takes as long for more."""
FEWEST_ROWS = 3
"""Rows from which on it does so with weights of any size, which it has to turn first."""
SMALL_WEIGHTS = 2**14
"""How many weights it turns for fewer rows."""


class NotSideBySideError(RuntimeError):
    """Raised for an operation with weights of which it is not known how it goes by rows."""


class SideBySide(Tensor):
    """The tensors of several networks as one parameter; none of them is copied.

    A network with such weights reads rows of all these networks, sorted by network. Operations of rows with
    weights are done network by network, each with its own weights, and all others for all rows at once.
    ``sizes`` may change from one batch to the next; what follows from the weights alone is kept.
    """

    members: Sequence[Tensor]
    sizes: Sizes

    @cached_property
    def turned(self) -> Sequence[Tensor]:
        """All members, which are matrices, as their transposes."""
        return [member.t() for member in self.members]

    @cached_property
    def places(self) -> npt.NDArray[np.int64] | None:
        """(N,): the addresses of all members; None if a kernel cannot read one of them."""
        if not all(one.is_cpu and one.dtype is torch.float32 and one.is_contiguous() for one in self.members):
            return None
        return np.array([one.data_ptr() for one in self.members])

    @classmethod
    def of(cls, members: Sequence[Tensor], sizes: Sizes) -> SideBySide:
        """Return ``members``, one of each network, as one."""
        made = members[0].detach().as_subclass(cls)
        made.members, made.sizes = members, sizes
        return made

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Do network by network what PyTorch is asked for; NotSideBySideError if that is not known."""
        if func is functional.linear and not kwargs and _is_product(*args):
            return _products(*args)
        names = tuple(kwargs or ())
        given = [*args, *(kwargs or {}).values()]
        weights = [one for one in given if isinstance(one, SideBySide)]
        rows = [one for one in given if _has_rows(one)]
        _check(func, rows, weights)
        sizes = weights[0].sizes
        columns = [_by_network(one, sizes, len(weights[0].members)) for one in given]
        count = len(args)
        results = [
            func(*own[:count], **dict(zip(names, own[count:], strict=True)))
            for own in zip(*columns, strict=True)
        ]
        return torch.cat(results) if rows else _joined(func, results, sizes)


class FixedShapes(TorchDispatchMode):
    """Refuses operations whose shapes or results in Python depend on numbers in tensors.

    A network that has them may pass one comparison by chance, and give rows to other networks later.
    """

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Do what PyTorch was asked to do, or raise NotSideBySideError."""
        if DEPENDENT & set(func.tags) and not _is_plain_index(func, args):
            raise NotSideBySideError(f"the shape of what {func} returns depends on numbers")
        return func(*args, **(kwargs or {}))


def _is_plain_index(func: Any, args: Sequence[Any]) -> bool:
    """Return whether rows are taken by their numbers, and not by a mask."""
    is_index = func is torch.ops.aten.index.Tensor
    return is_index and all(one is None or one.dtype not in (torch.bool, torch.uint8) for one in args[1])


def side_by_side(weights: Sequence[Mapping[str, Tensor]], sizes: Sizes) -> dict[str, SideBySide]:
    """Return the weights of several networks of one kind as those of one network."""
    return {name: SideBySide.of([own[name] for own in weights], sizes) for name in weights[0]}


def _is_product(rows: Any, weights: Any, biases: Any = None) -> bool:
    """Return whether a linear layer is a product of plain rows with the weights and biases of networks."""
    has_biases = biases is None or isinstance(biases, SideBySide)
    is_plain = type(rows) is Tensor and rows.dim() > 1 and not torch.is_grad_enabled()
    if not (has_biases and isinstance(weights, SideBySide) and is_plain):
        return False
    return rows.dtype == weights.members[0].dtype and not torch.is_autocast_enabled(rows.device.type)


def _products(rows: Tensor, weights: SideBySide, biases: SideBySide | None = None) -> Tensor:
    """Return what a linear layer makes of rows; each product is written to where it belongs."""
    (length, *within), inputs, outputs = rows.shape[:-1], rows.shape[-1], weights.members[0].shape[0]
    result = rows.new_empty(length, *within, outputs)
    each = math.prod(within)
    counts = [each * count for count in _sizes_of(length, weights.sizes)]
    own, places = rows.reshape(-1, inputs), result.view(-1, outputs)
    least = 0 if weights.members[0].numel() <= SMALL_WEIGHTS else FEWEST_ROWS
    if least <= each * length / len(weights.members) <= MOST_ROWS and _written(
        own, counts, weights, biases, places
    ):
        return result
    parts = own.split_with_sizes(counts), weights.turned, places.split_with_sizes(counts)
    if biases is None:
        for part, weight, out in zip(*parts, strict=True):
            torch.mm(part, weight, out=out)
    else:
        for part, weight, out, bias in zip(*parts, biases.members, strict=True):
            torch.addmm(bias, part, weight, out=out)
    return result


def _written(
    rows: Tensor, counts: Sequence[int], weights: SideBySide, biases: SideBySide | None, out: Tensor
) -> bool:
    """Write products by the kernel; return whether it can read these rows and weights."""
    starts = np.zeros(len(counts), np.int64) if biases is None else biases.places
    if weights.places is None or starts is None or not rows.is_cpu:
        return False
    turned = np.empty((rows.shape[1], SIXTEEN), np.float32)
    scratch = np.empty((1 + SIX, SIXTEEN), np.float32)
    read = rows.contiguous().numpy()
    write_products(read, np.array(counts), weights.places, starts, turned, scratch, out.numpy())
    return True


def _has_rows(given: Any) -> bool:
    return isinstance(given, Tensor) and not isinstance(given, SideBySide) and given.dim() > 0


def _check(func: Any, rows: Sequence[Tensor], weights: Sequence[SideBySide]) -> None:
    """Raise NotSideBySideError if it is not known what comes of rows with weights."""
    name = getattr(func, "__name__", str(func))
    if not weights:
        raise NotSideBySideError(f"it calls {name} with a list of weights")
    if rows and func not in BY_ROW and func not in BROADCAST:
        raise NotSideBySideError(f"it calls {name} with rows and weights")
    axes = max(one.members[0].dim() for one in weights)
    if func in BROADCAST and any(one.dim() <= axes for one in rows):
        raise NotSideBySideError(f"it calls {name} with a tensor of as few axes as its weights")


def _by_network(given: Any, sizes: Sizes, count: int) -> Sequence[Any]:
    """Return what of an argument each of ``count`` networks gets."""
    if isinstance(given, SideBySide):
        return given.members
    return given.split(_sizes_of(len(given), sizes)) if _has_rows(given) else [given] * count


def _sizes_of(length: int, sizes: Sizes) -> list[int]:
    """Return how many of a batch belong to each network; a row may have become several, side by side."""
    if length in sizes:
        return list(sizes[length])
    (rows, own), *others = sizes.items()
    if others or length % rows:
        raise NotSideBySideError(f"it makes a batch of {length} of {rows} rows")
    return [size * (length // rows) for size in own]


def _joined(func: Any, results: Sequence[Any], sizes: Sizes) -> Any:
    """Return what came of weights alone."""
    first = results[0]
    if isinstance(first, Tensor):
        return SideBySide.of(results, sizes)
    if isinstance(first, (tuple, list)) and any(isinstance(part, Tensor) for part in first):
        return tuple(_joined(func, parts, sizes) for parts in zip(*results, strict=True))
    if any(result != first for result in results):
        raise NotSideBySideError(f"{func.__name__} differs between the weights")
    return first
