"""Parts of networks that are made for these observations; they need PyTorch."""

from territorial.nets.owner_conv import OwnerConv2d

__all__ = ["OwnerConv2d"]
