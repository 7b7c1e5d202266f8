"""Stable-Baselines3 policies on ``pairs``, exportable to the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

try:
    from sb3_contrib.common.maskable.distributions import MaskableCategoricalDistribution
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
    from stable_baselines3.common.distributions import CategoricalDistribution
    from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
    from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
except ImportError as error:
    raise ImportError(
        'PairActorCriticPolicy needs Stable-Baselines3 and sb3-contrib: pip install "territorial-env[sb3]"'
    ) from error

from gymnasium import spaces
from torch import Tensor, nn

from territorial.config.validation import check_keywords, shown
from territorial.constants import NUM_FRACTIONS
from territorial.nets import PairPolicy
from territorial.observation.pair_columns import OF_PAIR, OWN, PAIRS, TEAM_PAIRS

KEYWORDS = ("size", "optimizer_class", "optimizer_kwargs")
"""What ``policy_kwargs`` may have."""


class _Unchanged(BaseFeaturesExtractor):
    """Passes observations on: the network reads them as they are."""

    def __init__(self, observation_space: Any) -> None:
        super().__init__(observation_space, len(OWN) + observation_space["pairs"].shape[1])

    def forward(self, observations: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Return ``observations``."""
        return observations


class _LogitsAndValues(nn.Module):
    """A ``PairPolicy`` where these policies have their hidden layers; it is all that they learn.

    Masks are read from the column ``legal``, so that PPO, which knows no masks, launches what is legal alone.
    """

    def __init__(self, size: str, *, teams: bool) -> None:
        super().__init__()
        self.network = PairPolicy(size, teams=teams)

    def forward(self, seen: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Return the masked logits of actions, (N, 1 + 10 C), and values, (N, 1)."""
        launches = (seen["pairs"][..., OF_PAIR.legal] > 0).repeat_interleave(NUM_FRACTIONS, dim=1)
        mask = nn.functional.pad(launches, (1, 0), value=True)
        logits, values = self.network(seen["own"], seen["pairs"], mask)
        return logits, values.unsqueeze(1)

    def forward_actor(self, seen: Mapping[str, Tensor]) -> Tensor:
        """Return the logits."""
        logits, _ = self(seen)
        return logits

    def forward_critic(self, seen: Mapping[str, Tensor]) -> Tensor:
        """Return the values."""
        _, values = self(seen)
        return values


class _TargetFirst:
    """The best action is the best target with its best fraction, as in the engine."""

    distribution: Any

    def mode(self) -> Tensor:
        """Return int64 (N,)."""
        return PairPolicy.greedy(self.distribution.logits)


class _Choice(_TargetFirst, CategoricalDistribution):
    """An action, drawn or the best."""


class _MaskableChoice(_TargetFirst, MaskableCategoricalDistribution):
    """A distribution of masked actions, with sample and mode."""


class _OfPairs(BasePolicy):
    """Base class of Stable-Baselines3 policies with the weights of a ``PairPolicy`` and no others."""

    size: str
    mlp_extractor: _LogitsAndValues
    make_choice: Callable[[int], Any]

    def __init__(self, observation_space: Any, action_space: Any, lr_schedule: Any, **keywords: Any) -> None:
        uses_sde = {"use_sde": keywords.pop("use_sde")} if "use_sde" in keywords else {}  # as PPO passes it
        check_keywords(type(self).__name__, keywords, KEYWORDS)
        check_spaces(observation_space, action_space)
        self.size = keywords.pop("size", "standard")
        given = {"features_extractor_class": _Unchanged, **uses_sde, **keywords}
        super().__init__(observation_space, action_space, lr_schedule, **given)

    @property
    def network(self) -> PairPolicy:
        """The network; its ``export`` writes the file that the engine plays."""
        return self.mlp_extractor.network

    def _build(self, lr_schedule: Callable[[float], float]) -> None:
        """Make the network instead of the usual layers, and the optimizer."""
        has_teams = self.observation_space["pairs"].shape[1] > len(PAIRS)
        self.mlp_extractor = _LogitsAndValues(self.size, teams=has_teams)
        self.action_net, self.value_net = nn.Identity(), nn.Identity()
        self.action_dist = self.make_choice(self.action_space.n)
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        """Return the arguments that ``save`` keeps beside the weights."""
        base = super()._get_constructor_parameters()
        kept = ("observation_space", "action_space", "lr_schedule", *KEYWORDS)
        return {name: value for name, value in (base | {"size": self.size}).items() if name in kept}


class PairActorCriticPolicy(_OfPairs, ActorCriticPolicy):
    """A ``PairPolicy`` for ``PPO`` and ``A2C``, on ``obs="pairs"`` and ``action_format="pairs"``.

    It only launches what is legal: its masks are in the observation. ``model.policy.network`` is the
    ``PairPolicy``, so that ``model.policy.network.export(path)`` writes a file that the engine plays.
    ``predict(..., deterministic=True)`` returns what the engine then plays at the temperature 0.

    Args:
        observation_space: of the environment.
        action_space: of the environment.
        lr_schedule: by the algorithm.
        size: "small" or "standard"; default "standard".
        optimizer_class: default ``torch.optim.Adam``.
        optimizer_kwargs: its options but the learning rate; default those of Stable-Baselines3.

    Raises:
        ValueError: for spaces of other forms, and for another size.
        TypeError: for another keyword in ``policy_kwargs``.

    """

    make_choice = _Choice


class MaskablePairActorCriticPolicy(_OfPairs, MaskableActorCriticPolicy):
    """A ``PairPolicy`` for ``MaskablePPO``; as :class:`PairActorCriticPolicy` in all else."""

    make_choice = _MaskableChoice


def check_spaces(observation_space: Any, action_space: Any) -> None:
    """Raise ValueError unless these are the spaces of the forms "pairs"."""
    seen = observation_space.spaces if isinstance(observation_space, spaces.Dict) else {}
    shapes = {name: space.shape for name, space in seen.items()}
    pairs = shapes.get("pairs") or (0, 0)
    if shapes.get("own") != (len(OWN),) or pairs[1:] not in ((len(PAIRS),), (len(PAIRS + TEAM_PAIRS),)):
        raise ValueError(
            f'the observation space is {shown(observation_space)}; it must be that of obs="pairs"'
        )
    if not isinstance(action_space, spaces.Discrete) or action_space.n != 1 + NUM_FRACTIONS * pairs[0]:
        raise ValueError(f'the action space is {action_space}; it must be that of action_format="pairs"')
