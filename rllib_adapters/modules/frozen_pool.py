"""The module that plays all frozen seats, so that RLlib has one module for them however many there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.rl_module import RLModule
from torch import Tensor

from rllib_adapters import ray_private
from rllib_adapters.envs.spaces import decode_name
from rllib_adapters.modules.board import BoardModule
from rllib_adapters.modules.pairs import READS, PairModule
from rllib_adapters.observations.connector import ModuleFrames
from territorial.league import SnapshotStore
from territorial.nets.frozen import FrozenPolicies
from territorial.observation.layout import ObsLayout

OPPONENT = "opponent"
MOVED = "if it was moved, pass its folder: Algorithm.from_checkpoint(path, store=folder)"


class FrozenPool(ModuleFrames, RLModule):
    """Acts for every frozen seat with the snapshot that its observation names.

    It is a plain ``RLModule`` and no ``TorchRLModule``: it has no parameters, so that RLlib gives it no
    optimizer, and no state, so that nothing is synchronised or written into checkpoints. Snapshots are opened
    when they first act, from memory-mapped files; a learner, in which no module acts, never opens one. What
    frozen seats choose, they choose at random by their policy, in evaluations as well.

    ``model_config``, which ``pool_settings`` makes, has ``layout`` and ``config`` as that of a
    ``BoardModule``, and:

    Args:
        store: a ``SnapshotStore``, or its folder.
        architectures: ``BoardModule`` classes, which play the snapshots that were made of them; or
            ``PairModule`` and subclasses, with the ``action_format`` that these need.

    """

    framework = "torch"

    def setup(self) -> None:
        """Remember where the snapshots are; called by RLlib."""
        self.opponents = opponents_of(self.model_config)

    def _forward_exploration(self, batch: Mapping[str, Any], **_: Any) -> dict[str, Tensor]:
        """Return actions; overrides ``RLModule._forward_exploration`` and ``RLModule._forward_inference``."""
        seen = dict(self.with_frames(batch[Columns.OBS]))
        names = [decode_name(name) for name in seen.pop(OPPONENT).cpu().numpy()]
        return {Columns.ACTIONS: self.opponents.act(names, seen)}

    _forward_inference = _forward_exploration

    def _forward_train(self, *_: Any, **__: Any) -> dict[str, Tensor]:
        """Raise NotImplementedError; overrides ``RLModule._forward_train`` and ``RLModule._forward``."""
        raise NotImplementedError(
            "a FrozenPool cannot be trained; set config.multi_agent(policies_to_train=[...]) "
            "to the other modules"
        )

    _forward = _forward_train

    def get_state(self, *_: Any, **__: Any) -> dict[str, Any]:
        """Return an empty dict: there is nothing to synchronise or to save."""
        return {}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Do nothing."""

    def get_initial_state(self) -> dict[str, Any]:
        """Return an empty dict: nothing is remembered from step to step."""
        return {}


def pool_settings(
    settings: Mapping[str, Any], store: SnapshotStore | str, architectures: Sequence[type[RLModule]]
) -> dict[str, Any]:
    """Return the ``model_config`` of a ``FrozenPool`` beside modules of the ``model_config`` ``settings``.

    TypeError for an architecture that is no ``BoardModule``, or no ``PairModule`` where pairs are observed.
    """
    base = PairModule if "action_format" in settings else BoardModule
    for module in architectures:
        if not (isinstance(module, type) and issubclass(module, base)):
            raise TypeError(
                f"architectures has the entry {module!r}; it must be a subclass of {base.__name__}"
            )
    form = {name: settings[name] for name in ("action_format",) if name in settings}
    return {
        **form,
        "layout": settings["layout"],
        "config": settings["config"],
        "store": store_of(store),
        "architectures": tuple(architectures),
    }


def opponents_of(settings: Mapping[str, Any]) -> FrozenPolicies:
    """Return the players that ``pool_settings`` describes."""
    about = store_of(settings["store"]), ObsLayout.from_dict(settings["layout"]), settings["config"]
    modules = {module.architecture: module for module in settings["architectures"]}
    if "action_format" not in settings:
        return FrozenPolicies(*about, {name: module.make_trunk for name, module in modules.items()})
    has_two_parts = settings["action_format"] != "pairs"
    makers = {name: partial(module.make_frozen, has_two_parts) for name, module in modules.items()}
    return FrozenPolicies(*about, makers, expect=READS)


def move_store(config: Any, store: SnapshotStore) -> None:
    """Have pool and games of an algorithm's ``config`` play from ``store``; in place, as it is frozen."""
    for settings in _settings_of_pools(config):
        settings["store"] = store
    if config.env_config.get("store") is not None:
        config.env_config["store"] = store


def check_store(config: Any) -> None:
    """Raise FileNotFoundError if the folder that the pool of an algorithm's ``config`` plays from is gone."""
    for settings in _settings_of_pools(config):
        path = settings["store"].path
        if not path.is_dir():
            raise FileNotFoundError(f"the store {path} does not exist; {MOVED}")


def _settings_of_pools(config: Any) -> list[dict[str, Any]]:
    specs = ray_private.own_specs(config).values()
    return [spec.model_config for spec in specs if "store" in (spec.model_config or {})]


def store_of(store: SnapshotStore | str) -> SnapshotStore:
    """Return the store, opened if ``store`` is its folder."""
    return store if isinstance(store, SnapshotStore) else SnapshotStore(store)
