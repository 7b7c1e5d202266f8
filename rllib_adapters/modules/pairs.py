"""The small network on pairs as an RLModule, and the distribution of its actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from ray.rllib.core.columns import Columns
from ray.rllib.core.distribution.torch.torch_distribution import TorchCategorical, TorchDeterministic
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule
from torch import Tensor

from territorial.config.validation import whole_number
from territorial.constants import NUM_FRACTIONS
from territorial.nets.pair_policy import PairPolicy

VALUE_CHUNK = 4096
FORMATS = ("pairs", "pairs_multi_discrete")


class PairModule(TorchRLModule, ValueFunctionAPI):
    """Plays and learns with a ``PairPolicy``, whose weights are those of ``policy``.

    The entries of ``model_config``, which ``settings_of(env_config)`` makes, are:

    Args:
        action_format: that of the environment: "pairs" or "pairs_multi_discrete".
        size: that of the ``PairPolicy``: "small" or "standard"; default "standard".
        value_chunk: rows for which values are computed at a time; default 4096.

    """

    architecture: ClassVar[str] = "PairPolicy"
    """The name in the manifests of snapshots."""

    @classmethod
    def make_policy(cls, model_config: Mapping[str, Any]) -> PairPolicy:
        """Return a new network."""
        return PairPolicy(model_config.get("size", "standard"))

    def setup(self) -> None:
        """Build the network; called by RLlib."""
        action_format = self.model_config.get("action_format")
        if action_format not in FORMATS:
            raise ValueError(
                f"action_format is {action_format!r}; a PairModule needs one of {', '.join(FORMATS)}, "
                "whose targets are the candidates that it sees. Other formats need a module of your own"
            )
        self.policy = self.make_policy(self.model_config)
        self.value_chunk = whole_number("value_chunk", self.model_config.get("value_chunk", VALUE_CHUNK), 1)
        self.action_dist_cls = FlatActions if action_format == "pairs" else TwoPartActions

    @property
    def action_heads(self) -> tuple[int, ...] | None:
        """How many values an action has, where it is one number: the batched runner then draws it itself."""
        is_own = self.get_exploration_action_dist_cls() is FlatActions
        return (self.action_space.n,) if is_own else None

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, Tensor]:
        """Return logits; overrides ``RLModule._forward``."""
        return {Columns.ACTION_DIST_INPUTS: self._seen(batch)[0]}

    def _forward_train(self, batch: dict[str, Any], **_: Any) -> dict[str, Tensor]:
        """Return logits, and values as embeddings; overrides ``RLModule._forward_train``."""
        logits, values = self._seen(batch)
        return {Columns.ACTION_DIST_INPUTS: logits, Columns.EMBEDDINGS: values}

    def compute_values(self, batch: dict[str, Any], embeddings: Tensor | None = None) -> Tensor:
        """Return float32 (N,): with gradients for ``embeddings``, else in chunks and without."""
        if embeddings is not None:
            return embeddings
        seen = batch[Columns.OBS]
        own, pairs = (seen[name].split(self.value_chunk) for name in ("own", "pairs"))
        with torch.no_grad():
            return torch.cat([self.policy.choices(*part).values for part in zip(own, pairs, strict=True)])

    def _seen(self, batch: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
        seen = batch[Columns.OBS]
        return self.policy(seen["own"], seen["pairs"], flat_mask(seen["action_mask"], seen["pairs"].shape[1]))


class FlatActions(TorchCategorical):
    """The distribution of actions of one number; the greedy one is that of the policy, target first."""

    def to_deterministic(self) -> TorchDeterministic:
        """Return the distribution that always gives the best fraction of the best target."""
        return TorchDeterministic(loc=PairPolicy.greedy(self.logits))


class TwoPartActions(TorchCategorical):
    """The distribution of actions of two parts, whose logits are those of one number for both."""

    def sample(self, **kwargs: Any) -> Tensor:
        """Return int64 (N, 2)."""
        return _in_two_parts(super().sample(**kwargs))

    def logp(self, value: Tensor, **kwargs: Any) -> Tensor:
        """Return float32 (N,): the logarithm of how likely actions (N, 2) are."""
        return super().logp(_in_one_part(value), **kwargs)

    def to_deterministic(self) -> TorchDeterministic:
        """Return the distribution that always gives the best fraction of the best target."""
        return _TwoPartDeterministic(loc=_in_two_parts(PairPolicy.greedy(self.logits)))


class _TwoPartDeterministic(TorchDeterministic):
    """RLlib's, whose ``logp`` has a number for every action and not for every part."""

    def logp(self, value: Tensor, **kwargs: Any) -> Tensor:
        """Return zeros (N,)."""
        return super().logp(value, **kwargs)[..., 0]


def flat_mask(mask: Tensor, num_candidates: int) -> Tensor:
    """Return the mask (N, 1 + 10 C) of actions of one number; ``mask`` may be that of two parts."""
    if mask.shape[1] == 1 + NUM_FRACTIONS * num_candidates:
        return mask
    launches = mask[:, 1 : 1 + num_candidates].repeat_interleave(NUM_FRACTIONS, dim=1)
    return torch.cat([mask[:, :1], launches], dim=1)


def _in_two_parts(actions: Tensor) -> Tensor:
    """Return actions of one number, (N,), as int64 (N, 2): ``territorial.actions.encoding.unflatten``."""
    launches = (actions - 1).clamp(min=0)
    candidate = launches.div(NUM_FRACTIONS, rounding_mode="floor") + (actions > 0)
    return torch.stack([candidate, launches % NUM_FRACTIONS], dim=-1)


def _in_one_part(actions: Tensor) -> Tensor:
    candidate, fraction = actions[..., 0], actions[..., 1]
    return torch.where(candidate == 0, 0, 1 + NUM_FRACTIONS * (candidate - 1) + fraction)
