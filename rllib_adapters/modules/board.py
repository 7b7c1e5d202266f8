"""RLModules on packed boards: a base class and a reference network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from ray.rllib.core.columns import Columns
from ray.rllib.core.distribution.torch.torch_distribution import TorchMultiCategorical
from torch import Tensor, nn

from rllib_adapters.envs.env_config import MAIN, PACKED, EnvConfig
from rllib_adapters.modules.policy_module import TARGET, PolicyModule
from rllib_adapters.observations.connector import FRAME, ModuleFrames
from territorial.config import GameConfig
from territorial.config.validation import whole_number
from territorial.constants import NUM_FRACTIONS
from territorial.league import Manifest
from territorial.nets.board_policy import BoardPolicy, FeatureTrunk, ReferenceTrunk
from territorial.nets.frozen_seats import manifest_of
from territorial.nets.policy import Policy
from territorial.observation.layout import ObsLayout

HOLD_PROBABILITY = 0.9
VALUE_CHUNK = 64


class BoardModule(ModuleFrames, PolicyModule):
    """The base class of policies over packed boards. A subclass brings the network::

        class MyModule(BoardModule):
            @classmethod
            def make_trunk(cls, layout, config):
                return MyNetwork(layout, config)  # see territorial.nets.BoardPolicy for what it must be

    The rest is here: decoding boards where the observations lie, features from the tables, heads,
    masks, a policy that mostly holds at the start. Values are computed in chunks without gradients where none
    is needed, as in RLlib's computation of advantages, which asks for the whole train batch at once.

    ``model_config``, which ``settings_of(env_config)`` makes, has the entries:

    Args:
        layout: ``ObsLayout.to_dict()`` of the observations.
        config: the ``GameConfig`` of the games.
        trunk: dict of further arguments of ``make_trunk``, such as widths; they must be values that JSON has.
        hold_probability: see ``BoardPolicy``; 0.9.
        value_chunk: rows for which values are computed in one go; 64.

    Attributes:
        reads: the form of observations.
        architecture: the name in the manifests of snapshots; that of the class unless it says otherwise.

    """

    reads: ClassVar[str] = PACKED
    architecture: ClassVar[str] = ""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "architecture" not in cls.__dict__:
            cls.architecture = cls.__name__

    @classmethod
    def make_trunk(cls, layout: ObsLayout, config: GameConfig, **settings: Any) -> nn.Module:
        """Return the network between decoder and heads, as ``BoardPolicy`` describes it, or a ``Policy``."""
        raise NotImplementedError(f"{cls.__name__} must have a class method make_trunk(layout, config)")

    @classmethod
    def make_policy(cls, model_config: Mapping[str, Any]) -> Policy:
        """Return the whole network; ValueError names what ``model_config`` lacks."""
        missing = [name for name in ("layout", "config") if name not in model_config]
        if missing:
            raise ValueError(
                f"the model_config of {cls.__name__} has no {missing[0]!r}; make it with settings_of(...)"
            )
        layout, config = ObsLayout.from_dict(model_config["layout"]), model_config["config"]
        hold = model_config.get("hold_probability", HOLD_PROBABILITY)
        made = cls.make_trunk(layout, config, **model_config.get("trunk", {}))
        return made if isinstance(made, Policy) else BoardPolicy(layout, config, made, hold_probability=hold)

    @classmethod
    def manifest(cls, model_config: Mapping[str, Any], **metadata: Any) -> Manifest:
        """Return the manifest of snapshots of a module with ``model_config``."""
        layout = ObsLayout.from_dict(model_config["layout"])
        return manifest_of(layout, cls.architecture, model_config.get("trunk", {}), **metadata)

    def setup(self) -> None:
        """Build the network; called by RLlib."""
        self.policy = self.make_policy(self.model_config)
        self._set_distribution()
        self.value_chunk = whole_number("value_chunk", self.model_config.get("value_chunk", VALUE_CHUNK), 1)

    def set_game(self, layout: ObsLayout, config: GameConfig) -> None:
        """Look at games of ``layout`` and ``config`` from now on; ValueError if the network cannot."""
        for network in (self.policy, getattr(self, TARGET, None)):
            if network is not None:
                network.set_game(layout, config)
        self._set_distribution()

    def _set_distribution(self) -> None:
        self._heads = self.policy.num_targets, NUM_FRACTIONS
        self._dist_of_heads = TorchMultiCategorical.get_partial_dist_cls(input_lens=list(self._heads))
        self.action_dist_cls = self._dist_of_heads

    @property
    def action_heads(self) -> tuple[int, ...] | None:
        """How many values the parts of an action have, where the logits are those of independent choices.

        The batched runner then draws actions itself. None where a subclass has another distribution.
        """
        is_own = self.get_exploration_action_dist_cls() is self._dist_of_heads
        return self._heads if is_own else None

    def read(self, policy: nn.Module, batch: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
        """Return logits and what values are computed of."""
        return policy(self.with_frames(batch[Columns.OBS]))

    def compute_values(self, batch: dict[str, Any], embeddings: Tensor | None = None) -> Tensor:
        """Return float32 (N,): with gradients for ``embeddings``, else in chunks and without."""
        if embeddings is not None:
            return self.policy.values(embeddings)
        rows = batch[Columns.OBS]
        values = torch.empty(len(rows["seat"]), device=rows["seat"].device)
        if FRAME in rows:  # those who see a frame come together
            order = rows[FRAME].flatten().argsort(stable=True)
        else:
            order = torch.arange(len(values), device=values.device)
        with torch.no_grad():
            for part in order.split(self.value_chunk):
                own = {name: column[part] for name, column in rows.items()}
                values[part] = self.policy.values(self.policy.embed(self.with_frames(own)))
        return values


class ReferenceModule(BoardModule):
    """The reference network: 4.9 million parameters for 32 players, some 112 million operations a board."""

    @classmethod
    def make_trunk(cls, layout: ObsLayout, config: GameConfig, **settings: Any) -> nn.Module:
        """Return a ``ReferenceTrunk``, which has no settings."""
        return ReferenceTrunk(layout, config, **settings)


class FeatureModule(BoardModule):
    """A network that looks at the vector of features and at no board."""

    @classmethod
    def make_trunk(cls, layout: ObsLayout, config: GameConfig, **settings: Any) -> nn.Module:
        """Return a ``FeatureTrunk``, whose settings are those of the class."""
        return FeatureTrunk(layout, config, **settings)


def settings_of(
    env_config: Mapping[str, Any] | EnvConfig | None, *, learner: str | None = None, **settings: Any
) -> dict[str, Any]:
    """Return the ``model_config`` of modules for an environment, with further ``settings``.

    ``learner``: whose it is, or ``POOL``; ValueError without it where ``obs`` is given for each learner.
    """
    options = EnvConfig.from_config(env_config)
    if learner is None and not isinstance(options.obs, str):
        raise ValueError(
            f"learner is None, and obs is {options.obs!r}; learner must be one of {', '.join(options.obs)}"
        )
    form = options.form_of(learner or MAIN)
    about = {"layout": options.layout.to_dict(), "config": options.config, "obs": form}
    return {**about, "action_format": options.action_format_of(form), **settings}
