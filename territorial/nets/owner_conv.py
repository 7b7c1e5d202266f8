"""A first convolution that reads owner codes instead of one-hot planes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from territorial.config.validation import is_whole_number, whole_number
from territorial.decode.boards import onehot_shape
from territorial.decode.recorded import is_transformed
from territorial.jit.decorators import kernel
from territorial.observation.layout import ObsLayout


@kernel
def look_up(is_backward: bool, sums: Any, codes: Any, table: Any, down: int, across: int) -> None:
    """Add the weights that its cells look up to every output cell; or its gradient to these weights.

    Args:
        is_backward: whether ``sums`` are added to ``table``.
        sums: float32 or float64 (N, output rows, output columns, channels), added to, or gradients.
        codes: uint8 (N, F, rows, columns).
        table: of the same type (F, kernel rows, kernel columns, codes, channels), weights, or added to.
        down: the stride between rows.
        across: the stride between columns.

    """
    frames, kernel_rows, kernel_columns, _, channels = table.shape
    for n in range(sums.shape[0]):
        for f in range(frames):
            for i in range(sums.shape[1]):
                for r in range(kernel_rows):
                    for j in range(sums.shape[2]):
                        for c in range(kernel_columns):
                            code = codes[n, f, i * down + r, j * across + c]
                            weights, cell = table[f, r, c, code], sums[n, i, j]
                            if is_backward:
                                for k in range(channels):
                                    weights[k] += cell[k]
                            else:
                                for k in range(channels):
                                    cell[k] += weights[k]


Pair = tuple[int, int]


class OwnerConv2d(nn.Module):
    """``nn.Conv2d`` over the one-hot planes of ``Decoder.onehot``, computed from ``Decoder.owners``.

    A convolution over one-hot planes adds up one weight for each cell it covers, so that it can look them
    up by the codes of owners. A byte a cell is read and not a number a cell and owner. Weights and results
    are those of the convolution, but for rounding; blocked cells and those beyond the edge add nothing.

    Args:
        layout: of the observations; says how many players and frames there are.
        out_channels, kernel_size, stride, padding, bias, device, dtype: as for ``nn.Conv2d``.
        chunk: entries convolved in one go on a GPU, or in half precision: temporary memory is
            4 * F * kernel cells bytes for each of their output cells. A processor needs none.

    ``weight`` is (out_channels, F * (P+1), kernel rows, kernel columns) and ``bias`` (out_channels,), in
    the channel order of ``Decoder.onehot``, so that a state dict of one fits the other.

    """

    def __init__(
        self,
        layout: ObsLayout,
        out_channels: int,
        kernel_size: int | Pair,
        stride: int | Pair = 1,
        padding: int | Pair = 0,
        *,
        bias: bool = True,
        chunk: int = 16,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(layout, ObsLayout) or layout.frames == 0:
            raise ValueError(f"layout is {layout!r}; it must be an ObsLayout with at least one frame")
        self.layout = layout
        self.out_channels = out_channels
        self.kernel_size = _pair("kernel_size", kernel_size, 1)
        self.stride = _pair("stride", stride, 1)
        self.padding = _pair("padding", padding, 0)
        self.chunk = whole_number("chunk", chunk, 1)
        like = nn.Conv2d(  # begins with the weights that a convolution begins with
            onehot_shape(layout)[0], out_channels, self.kernel_size, bias=bias, device=device, dtype=dtype
        )
        self.weight, self.bias = like.weight, like.bias

    def forward(self, owners: Tensor) -> Tensor:
        """Return (N, out_channels, rows, columns) of ``weight``'s type, as a channels-last tensor.

        ``owners``: uint8 (N, F, any rows, any columns), ego codes of 0..P+1 as ``Decoder.owners`` gives
        them; on a board of its own size or a part of one.
        """
        if owners.dtype != torch.uint8 or owners.dim() != 4 or owners.shape[1] != self.layout.frames:
            raise ValueError(
                f"owners has the shape {tuple(owners.shape)} and the type {owners.dtype}; "
                f"it must be (N, {self.layout.frames}, rows, columns) of torch.uint8"
            )
        for axis, name in enumerate(("rows", "columns")):
            if owners.shape[2 + axis] + 2 * self.padding[axis] < self.kernel_size[axis]:
                raise ValueError(
                    f"owners has {owners.shape[2 + axis]} {name}; with the padding there must be at least "
                    f"the {self.kernel_size[axis]} of the kernel"
                )
        if is_transformed() or torch.onnx.is_in_onnx_export():
            return self._of_planes(owners)
        down, across = self.padding
        padded = functional.pad(owners, (across, across, down, down), value=self.layout.blocked_code)
        result = _SumOfWeights.apply(self.weight, padded, self.stride, self.chunk)
        if self.bias is not None:
            result = result.add_(self.bias)
        return result.permute(0, 3, 1, 2)

    def _of_planes(self, owners: Tensor) -> Tensor:
        """Return the same from one-hot planes, in operations that transforms and other formats know."""
        codes = torch.arange(self.layout.num_players + 1, dtype=torch.uint8, device=owners.device)
        planes = (owners.unsqueeze(2) == codes[:, None, None]).flatten(1, 2).to(self.weight.dtype)
        return functional.conv2d(planes, self.weight, self.bias, self.stride, self.padding)

    def extra_repr(self) -> str:
        """Return the text between the parentheses of ``print``."""
        return (
            f"{self.weight.shape[1]}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}, padding={self.padding}, bias={self.bias is not None}"
        )


class _SumOfWeights(torch.autograd.Function):
    """The convolution without its bias, (N, rows, columns, out_channels).

    Of the boards only the codes are kept for the gradient of the weights. Codes have no gradient, and the
    gradient has none of its own.
    """

    @staticmethod
    def forward(ctx: Any, weight: Tensor, codes: Tensor, stride: Pair, chunk: int) -> Tensor:
        ctx.save_for_backward(codes)
        ctx.shape, ctx.dtype, ctx.stride, ctx.chunk = weight.shape, weight.dtype, stride, chunk
        return _owner_sums(codes, _table(weight, codes.shape[1]).contiguous(), stride, chunk)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        (codes,) = ctx.saved_tensors
        num_codes = ctx.shape[1] // codes.shape[1] + 1
        total = _owner_gradients(
            codes, gradient.float().contiguous(), num_codes, ctx.shape[2:], ctx.stride, ctx.chunk
        )
        # Blocked cells have no weight.
        weight = total[..., :-1, :].permute(4, 0, 3, 1, 2).reshape(ctx.shape)
        return weight.to(ctx.dtype), None, None, None


def sums_by_embedding(codes: Tensor, table: Tensor, stride: Sequence[int], chunk: int) -> Tensor:
    """Return (N, rows, columns, channels) of the table's type: per output cell, the sum of its look-ups."""
    first = torch.arange(table[..., 0, 0].numel(), dtype=torch.int32, device=codes.device)
    first = (first * table.shape[3]).view(table.shape[:3])  # where in the table the codes of a cell begin
    sums = []
    for part in codes.split(chunk):
        windows = _windows(part, table.shape[1:3], stride).permute(0, 2, 3, 1, 4, 5)
        n, rows, columns = windows.shape[:3]
        places = (windows + first).reshape(n * rows * columns, first.numel())
        summed = functional.embedding_bag(places, table.flatten(0, 3), mode="sum")
        sums.append(summed.view(n, rows, columns, table.shape[-1]))
    return torch.cat(sums)


def sums_on_cpu(codes: Tensor, table: Tensor, stride: Sequence[int], chunk: int) -> Tensor:
    """Return the same by a kernel that needs no memory but for the result; half precision as elsewhere."""
    if table.dtype not in (torch.float32, torch.float64):
        return sums_by_embedding(codes, table, stride, chunk)
    sums = _room_for_sums(codes, table, stride, chunk).zero_()
    look_up(False, sums.numpy(), codes.contiguous().numpy(), table.numpy(), *stride)
    return sums


def _room_for_sums(codes: Tensor, table: Tensor, stride: Sequence[int], chunk: int) -> Tensor:
    sides = ((codes.shape[2 + axis] - table.shape[1 + axis]) // stride[axis] + 1 for axis in (0, 1))
    return table.new_empty((len(codes), *sides, table.shape[-1]))


def gradients_by_embedding(
    codes: Tensor, gradients: Tensor, num_codes: int, kernel: Sequence[int], stride: Sequence[int], chunk: int
) -> Tensor:
    """Return float32 (F, *kernel, num_codes, channels): gradients summed by table entry."""
    total = _room(codes, gradients, num_codes, kernel, stride, chunk).zero_()
    for part, from_above in zip(codes.split(chunk), gradients.split(chunk), strict=True):
        windows = _windows(part, kernel, stride)
        for f, r, c in np.ndindex(*total.shape[:3]):
            seen = windows[:, f, :, :, r, c].int()
            total[f, r, c] += torch.ops.aten.embedding_dense_backward(from_above, seen, num_codes, -1, False)
    return total


def gradients_on_cpu(
    codes: Tensor, gradients: Tensor, num_codes: int, kernel: Sequence[int], stride: Sequence[int], chunk: int
) -> Tensor:
    """Return the same by a kernel that reads codes and gradients in the order in which they lie."""
    total = _room(codes, gradients, num_codes, kernel, stride, chunk).zero_()
    look_up(True, gradients.numpy(), codes.contiguous().numpy(), total.numpy(), *stride)
    return total


def _room(
    codes: Tensor, gradients: Tensor, num_codes: int, kernel: Sequence[int], stride: Sequence[int], chunk: int
) -> Tensor:
    return gradients.new_empty((codes.shape[1], *kernel, num_codes, gradients.shape[-1]))


# Operations of their own, so that torch.compile sees no more of them than the shapes of their results.
_owner_sums = torch.library.custom_op(
    "territorial::owner_sums",
    sums_by_embedding,
    mutates_args=(),
    schema="(Tensor codes, Tensor table, int[] stride, int chunk) -> Tensor",
)
_owner_sums.register_kernel("cpu", sums_on_cpu)
_owner_sums.register_fake(_room_for_sums)
_owner_gradients = torch.library.custom_op(
    "territorial::owner_gradients",
    gradients_by_embedding,
    mutates_args=(),
    schema="(Tensor codes, Tensor gradients, int num_codes, int[] kernel, int[] stride, int chunk) -> Tensor",
)
_owner_gradients.register_kernel("cpu", gradients_on_cpu)
_owner_gradients.register_fake(_room)


def _table(weight: Tensor, frames: int) -> Tensor:
    """Return (F, kernel rows, kernel columns, P+2, out_channels): weights by code, 0 for blocked cells."""
    out_channels, channels, *kernel = weight.shape
    by_code = weight.view(out_channels, frames, channels // frames, *kernel).permute(1, 3, 4, 2, 0)
    return functional.pad(by_code, (0, 0, 0, 1))


def _windows(codes: Tensor, kernel: Sequence[int], stride: Sequence[int]) -> Tensor:
    """Return (n, F, rows, columns, kernel rows, kernel columns): the window of each output cell; a view."""
    return codes.unfold(2, kernel[0], stride[0]).unfold(3, kernel[1], stride[1])


def _pair(name: str, value: Any, least: int) -> Pair:
    """Return ``value`` as two whole numbers of at least ``least``, of rows and of columns."""
    pair = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    if len(pair) != 2 or not all(is_whole_number(side, least) for side in pair):
        raise ValueError(f"{name} is {value!r}; it must be one or two whole numbers of at least {least}")
    return pair[0], pair[1]
