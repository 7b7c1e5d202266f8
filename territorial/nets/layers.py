"""Layers whose numbers kernels may read, as calling them would do nothing else; their type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn.modules.module import _has_any_global_hook


class Float32Module(nn.Module):
    """A network that computes in float32, or within ``torch.autocast`` in less."""

    def __init__(self) -> None:
        super().__init__()
        self._check_dtype(torch.get_default_dtype())

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Do what ``to``, ``double`` and others ask for; TypeError for another type of numbers."""
        self._check_dtype(fn(torch.empty(1, dtype=torch.float32)).dtype)
        return super()._apply(fn, recurse)

    def _check_dtype(self, dtype: torch.dtype) -> None:
        if dtype is not torch.float32:
            raise TypeError(
                f"{type(self).__name__} computes in torch.float32; it cannot have weights of {dtype}. Within "
                "torch.autocast it takes less memory and time"
            )


def are_plain(*layers: nn.Module) -> bool:
    """Return whether each is a linear layer, and calling it does nothing else."""
    return not _has_any_global_hook() and all(
        type(layer) is nn.Linear and not _has_hooks(layer) for layer in layers
    )


def is_plain_mlp(layers: nn.Module) -> bool:
    """Return whether these are two linear layers with rectifiers between, and calling them is no more."""
    if type(layers) is not nn.Sequential or _has_hooks(layers) or len(layers) != 3:
        return False
    first, between, last = layers
    return are_plain(first, last) and type(between) is nn.ReLU and not _has_hooks(between)


def _has_hooks(layer: nn.Module) -> bool:
    """Return whether a layer does something else when it is called, or when gradients go through it."""
    return bool(
        layer._forward_hooks
        or layer._forward_pre_hooks
        or layer._backward_hooks
        or layer._backward_pre_hooks
        or "forward" in layer.__dict__
    )
