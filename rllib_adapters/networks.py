"""The networks that leagues are trained with: module, form of observations, frames and activations."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Network:
    """A network, as ``territorial train``, ``configure`` and predictions of memory know it.

    Args:
        home: the class of its module and where that is, as text: options are read without PyTorch.
        obs: the form of observations that it reads.
        activations: numbers of a row that it keeps for backpropagation.
        settings: entries of the ``model_config``.
        frames: boards in a stack.

    """

    home: str
    obs: str
    activations: int
    settings: Mapping[str, Any]
    frames: int = 1

    @property
    def module(self) -> Any:
        """The class of its module."""
        home, _, name = self.home.partition(":")
        return getattr(import_module(home), name)


NETWORKS: dict[str, Network] = {
    "pairs": Network("rllib_adapters.modules.pairs:PairModule", "pairs", 3_100, {}),
    "features": Network(
        "rllib_adapters.modules.board:FeatureModule", "packed", 510, {"trunk": {"width": 64}}
    ),
    "boards": Network("rllib_adapters.modules.board:ReferenceModule", "packed", 315_000, {}, frames=4),
}
"""By the names that ``Training.network`` has. The first of a form without settings is its default."""


def default_of(obs: str) -> Any:
    """Return the class of the module that learns on a form by default; ValueError if there is none."""
    for network in NETWORKS.values():
        if network.obs == obs and not network.settings:
            return network.module
    raise ValueError(
        f"obs is {obs!r}, which no module of this package reads; module must be a class of your own"
    )
