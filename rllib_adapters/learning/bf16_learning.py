"""Networks that compute in bfloat16 when they learn, where the processor can."""

from __future__ import annotations

import logging
from typing import Any

import torch
from torch import Tensor

log = logging.getLogger(__name__)


class Bf16Learning:
    """Lets a module learn through a network that computes in bfloat16; what it returns is float32.

    Weights, their gradients and the loss remain float32. It comes before RLlib's classes among the bases.
    """

    learns_in_bf16 = False

    def _forward_train(self: Any, batch: dict[str, Any], **kwargs: Any) -> dict[str, Tensor]:
        """Return what the loss is computed of; overrides ``RLModule._forward_train``."""
        if not self.learns_in_bf16:
            plain: dict[str, Tensor] = self._forward(batch, **kwargs)
            return plain
        with torch.autocast(next(self.parameters()).device.type, torch.bfloat16):
            outputs = self._forward(batch, **kwargs)
        return {name: part.float() for name, part in outputs.items()}


def learn_in_bf16(name: str, module: Any) -> None:
    """Let a module learn in bfloat16, or say in the log why it does not."""
    if not hasattr(module, "learns_in_bf16"):
        log.warning(
            "the module %r learns in float32: bf16 needs a BoardModule or a PairModule, and it is a %s",
            name,
            type(module).__name__,
        )
        return
    device = next(module.parameters()).device
    module.learns_in_bf16 = computes_bf16(device)
    if not module.learns_in_bf16:
        log.warning("the module %r learns in float32: %s does not compute in bfloat16", name, device)


def computes_bf16(device: torch.device) -> bool:
    """Return whether a device has instructions for bfloat16; without, it takes longer than float32."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type == "cpu":
        return any(has for name, has in torch.cpu.get_capabilities().items() if "bf16" in name)
    return False
