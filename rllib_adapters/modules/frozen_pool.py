"""The module that plays all frozen seats, so that RLlib has one module for them however many there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.rl_module import RLModule
from torch import Tensor

from rllib_adapters import ray_private
from rllib_adapters.envs.env_config import BOTH, PACKED, PAIRS
from rllib_adapters.envs.spaces import decode_name
from rllib_adapters.modules.board import BoardModule
from rllib_adapters.modules.both_forms import BothForms
from rllib_adapters.modules.pairs import READS, PairModule
from rllib_adapters.observations.connector import ModuleFrames
from territorial.league import SnapshotStore
from territorial.nets.frozen import FrozenPolicies
from territorial.observation.layout import ObsLayout

OPPONENT = "opponent"
BASES: dict[str, tuple[type[RLModule], ...]] = {
    PACKED: (BoardModule,),
    PAIRS: (PairModule,),
    BOTH: (BoardModule, PairModule),
}
"""By form of frozen seats, what architectures have to be subclasses of."""
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
        architectures: ``BoardModule`` and ``PairModule`` classes, which play the snapshots that were made of
            them; ``PairModule`` alone with an ``action_format``.
        form: "packed", "pairs" or "both": what frozen seats observe; with "both", every snapshot reads its
            part by its manifest. Default: "pairs" if there is an ``action_format``, else "packed".

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
    settings: Mapping[str, Any],
    store: SnapshotStore | str,
    architectures: Sequence[type[RLModule]],
    form: str | None = None,
) -> dict[str, Any]:
    """Return the ``model_config`` of a ``FrozenPool`` beside modules of the ``model_config`` ``settings``.

    ``form``: see ``FrozenPool``. TypeError for an architecture that does not read it.
    """
    pool = {name: settings[name] for name in ("layout", "config", "action_format") if name in settings}
    if form is not None:
        pool["form"] = form
    bases = BASES[form_of_pool(pool)]
    for module in architectures:
        if not (isinstance(module, type) and issubclass(module, bases)):
            names = " or ".join(base.__name__ for base in bases)
            raise TypeError(f"architectures has the entry {module!r}; it must be a subclass of {names}")
    return {**pool, "store": store_of(store), "architectures": tuple(architectures)}


def form_of_pool(settings: Mapping[str, Any]) -> str:
    """Return the form of observations of the frozen seats of a pool that ``pool_settings`` describes."""
    by_default = PAIRS if "action_format" in settings else PACKED
    return str(settings.get("form", by_default))


def opponents_of(settings: Mapping[str, Any]) -> FrozenPolicies | BothForms:
    """Return the players that ``pool_settings`` describes."""
    form = form_of_pool(settings)
    if form == BOTH:
        return BothForms(_on_boards(settings), _on_pairs(settings, has_two_parts=True))
    if form == PACKED:
        return _on_boards(settings)
    return _on_pairs(settings, has_two_parts=settings["action_format"] != "pairs")


def _on_boards(settings: Mapping[str, Any]) -> FrozenPolicies:
    modules = _architectures(settings, BoardModule)
    return FrozenPolicies(*_about(settings), {name: module.make_trunk for name, module in modules.items()})


def _on_pairs(settings: Mapping[str, Any], *, has_two_parts: bool) -> FrozenPolicies:
    modules = _architectures(settings, PairModule)
    makers = {name: partial(module.make_frozen, has_two_parts) for name, module in modules.items()}
    return FrozenPolicies(*_about(settings), makers, expect=READS)


def _architectures(settings: Mapping[str, Any], base: type[Any]) -> dict[str, type[Any]]:
    """Return the classes of ``settings`` that are subclasses of ``base``, by the names in manifests."""
    return {module.architecture: module for module in settings["architectures"] if issubclass(module, base)}


def _about(settings: Mapping[str, Any]) -> tuple[SnapshotStore, ObsLayout, Any]:
    """Return store, layout and config of ``settings``."""
    return store_of(settings["store"]), ObsLayout.from_dict(settings["layout"]), settings["config"]


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
