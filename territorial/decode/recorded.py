"""Detects whether PyTorch records or transforms a computation, which kernels cannot join.

A kernel returns numbers that no operation of PyTorch has made. A trace would keep them as constants, and a
transform of ``torch.func`` could not go through them.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd import forward_ad


def is_recorded() -> bool:
    """Return whether operations of PyTorch are compiled, traced, exported or transformed."""
    return torch.compiler.is_compiling() or is_whole() or forward_ad._current_level >= 0


def is_whole() -> bool:
    """Return whether all of a network becomes one record, in which no shape may depend on numbers."""
    if torch.compiler.is_compiling():  # a question that the compiler answers itself
        return bool(torch.compiler.is_exporting())
    makes_fx = torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.PROXY) is not None
    return torch.jit.is_tracing() or is_transformed() or makes_fx


def is_transformed() -> bool:
    """Return whether a transform of ``torch.func`` runs, such as ``vmap``."""
    return not torch.compiler.is_compiling() and torch._C._functorch.peek_interpreter_stack() is not None


def _is_mapped(tensor: Tensor) -> bool:
    """Return whether ``vmap`` goes through a tensor, whatever else goes through it, too."""
    functorch = torch._C._functorch
    while functorch.is_functorch_wrapped_tensor(tensor):
        if functorch.is_batchedtensor(tensor):
            return True
        tensor = functorch.get_unwrapped(tensor)
    return False


def check_recordable(what: str, *tensors: Tensor) -> None:
    """Raise RuntimeError where the number of rows decides which operations there are."""
    if torch.jit.is_tracing():
        raise RuntimeError(
            f"{what} cannot be recorded by torch.jit.trace, as the number of rows decides what it does; use "
            "torch.export or torch.compile"
        )
    if is_transformed() and any(map(_is_mapped, tensors)):
        raise RuntimeError(
            f"{what} reads rows of many games at once and cannot read observations under torch.func.vmap; "
            "give it more rows instead. Weights may be mapped over"
        )
