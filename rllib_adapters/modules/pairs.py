"""``PairModule``: the network on pairs as an RLModule, with its distribution; ``QPairModule``, for DQN."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar

import torch
from ray.rllib.algorithms.dqn.dqn_learner import QF_NEXT_PREDS, QF_PREDS, QF_TARGET_NEXT_PREDS
from ray.rllib.core.columns import Columns
from ray.rllib.core.distribution.torch.torch_distribution import TorchCategorical, TorchDeterministic
from ray.rllib.core.rl_module.apis import QNetAPI
from ray.rllib.utils.schedules.scheduler import Scheduler
from torch import Tensor, nn

from rllib_adapters.envs.env_config import EnvConfig
from rllib_adapters.modules.policy_module import PolicyModule
from territorial.bots.network_file import TEMPERATURE_UNIT, NetworkFile, pieces
from territorial.config.validation import whole_number
from territorial.league import Manifest
from territorial.league.store import VERSIONS
from territorial.nets.pair_export import exported, rows_of_config
from territorial.nets.pair_policy import (
    READS,
    PairPolicy,
    epsilon_greedy,
    flat_mask,
    in_one_part,
    in_two_parts,
    make_pair_rows,
)
from territorial.observation.action_formats import OF_CANDIDATES
from territorial.observation.layout import ObsLayout

VALUE_CHUNK = 4096


class PairModule(PolicyModule):
    """Plays and learns with a ``PairPolicy``, whose weights are those of ``policy``.

    The entries of ``model_config``, which ``settings_of(env_config)`` makes, are:

    Args:
        action_format: that of the environment: "pairs" or "pairs_multi_discrete".
        size: that of the ``PairPolicy``: "small" or "standard"; default "standard".
        value_chunk: rows for which values are computed at a time; default 4096.

    Attributes:
        reads: the form of observations.
        architecture: the name in the manifests of snapshots.
        make_trunk: makes the network of a snapshot; it plays any games.
        temperature: how the engine plays a snapshot, in 256ths: it draws actions as the policy does.
        frozen: further settings of snapshots, which say how ``PairRows`` plays them elsewhere.

    """

    reads: ClassVar[str] = READS["observation"]
    architecture: ClassVar[str] = "PairPolicy"
    make_trunk = staticmethod(make_pair_rows)
    temperature: ClassVar[int] = TEMPERATURE_UNIT
    frozen: ClassVar[Mapping[str, Any]] = {}

    @classmethod
    def make_policy(cls, model_config: Mapping[str, Any]) -> PairPolicy:
        """Return a new network."""
        return PairPolicy(**_settings_of(model_config))

    @classmethod
    def manifest(cls, model_config: Mapping[str, Any], **metadata: Any) -> Manifest:
        """Return the manifest of snapshots of a module with ``model_config``, which play any games."""
        layout = ObsLayout.from_dict(model_config["layout"])
        return Manifest(
            architecture=cls.architecture,
            **READS,
            **VERSIONS,
            height=layout.height,
            width=layout.width,
            num_players=layout.num_players,
            frames=0,
            settings={**_settings_of(model_config), **cls.frozen},
            metadata=metadata,
        )

    @classmethod
    def engine_network(
        cls, model_config: Mapping[str, Any], weights: Mapping[str, Any], env_config: Mapping[str, Any]
    ) -> list[bytes | memoryview] | str:
        """Return the pieces of the engine's file of a network, or the reason why it has none."""
        policy = cls.make_policy(model_config)
        policy.load_state_dict({key: torch.tensor(array) for key, array in weights.items()})
        network = network_of(cls, policy, EnvConfig.from_config(env_config))
        return network if isinstance(network, str) else list(pieces(network))

    def setup(self) -> None:
        """Build the network; called by RLlib."""
        action_format = self.model_config.get("action_format")
        if action_format not in OF_CANDIDATES:
            raise ValueError(
                f"action_format is {action_format!r}; a PairModule needs one of {', '.join(OF_CANDIDATES)}, "
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

    def read(self, policy: nn.Module, batch: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
        """Return logits and values."""
        seen = batch[Columns.OBS]
        mask = flat_mask(seen["action_mask"], seen["pairs"].shape[1])
        return policy(seen["own"], seen["pairs"], mask)

    def compute_values(self, batch: dict[str, Any], embeddings: Tensor | None = None) -> Tensor:
        """Return float32 (N,): with gradients for ``embeddings``, else in chunks and without."""
        if embeddings is not None:
            return embeddings
        seen = batch[Columns.OBS]
        own, pairs = (seen[name].split(self.value_chunk) for name in ("own", "pairs"))
        with torch.no_grad():
            return torch.cat([self.policy.choices(*part).values for part in zip(own, pairs, strict=True)])


def _settings_of(model_config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of the network; ``teams`` is among them where the games have teams."""
    size = {"size": model_config.get("size", "standard")}
    layout = model_config.get("layout")
    has_teams = layout is not None and ObsLayout.from_dict(layout).teams
    return {**size, "teams": True} if has_teams else size


# ---- networks of snapshots for the engine ----------------------------------------------------------------


# The states on which scales are measured and choices compared, of the games that are played.
_rows = lru_cache(maxsize=1)(rows_of_config)


def network_of(module: type[PairModule], policy: Any, options: EnvConfig) -> NetworkFile | str:
    """Return the engine's network for ``policy``, or the reason why it has none."""
    if module.architecture != PairModule.architecture or type(policy) is not PairPolicy:
        return f"its architecture is {module.architecture!r}; the engine plays {PairModule.architecture!r}"
    if policy.teams:
        return "its games have teams, and the engine shows networks no allies"
    candidates = options.pair_rows.candidates
    rows = _rows(options.config, candidates)
    try:
        network, _ = exported(
            policy, rows, interval=options.interval, temperature=module.temperature, num_candidates=candidates
        )
    except (TypeError, ValueError) as error:  # such as a layout that no file can have
        return str(error)
    return network


# ---- distributions ---------------------------------------------------------------------------------------


class FlatActions(TorchCategorical):
    """The distribution of actions of one number; the greedy one is that of the policy, target first."""

    def to_deterministic(self) -> TorchDeterministic:
        """Return the distribution that always gives the best fraction of the best target."""
        return TorchDeterministic(loc=PairPolicy.greedy(self.logits))


class TwoPartActions(TorchCategorical):
    """The distribution of actions of two parts, whose logits are those of one number for both."""

    def sample(self, **kwargs: Any) -> Tensor:
        """Return int64 (N, 2)."""
        return in_two_parts(super().sample(**kwargs))

    def logp(self, value: Tensor, **kwargs: Any) -> Tensor:
        """Return float32 (N,): the logarithm of how likely actions (N, 2) are."""
        return super().logp(in_one_part(value), **kwargs)

    def to_deterministic(self) -> TorchDeterministic:
        """Return the distribution that always gives the best fraction of the best target."""
        return _TwoPartDeterministic(loc=in_two_parts(PairPolicy.greedy(self.logits)))


class _TwoPartDeterministic(TorchDeterministic):
    """RLlib's, whose ``logp`` has a number for every action and not for every part."""

    def logp(self, value: Tensor, **kwargs: Any) -> Tensor:
        """Return zeros (N,)."""
        return super().logp(value, **kwargs)[..., 0]


# ---- values of actions -----------------------------------------------------------------------------------


class QPairModule(QNetAPI, PairModule):
    """Learns what each action is worth, by ``PairPolicy.action_values``, and plays the best one.

    When it explores, it plays any legal action by chance, as often as ``epsilon`` of DQN says, which is an
    entry of its ``model_config`` beside those of a ``PairModule``. Its snapshots always play the best action.
    """

    temperature: ClassVar[int] = 0
    frozen: ClassVar[Mapping[str, Any]] = {"epsilon": 0.0}

    @classmethod
    def make_policy(cls, model_config: Mapping[str, Any]) -> PairPolicy:
        """Return a new network, to which holding is worth no more than other actions."""
        policy = super().make_policy(model_config)
        nn.init.zeros_(policy.hold.bias)
        return policy

    def setup(self) -> None:
        """Build the network; called by RLlib."""
        super().setup()
        self._epsilon = Scheduler(self.model_config.get("epsilon", 0.0), framework="torch")

    def compute_q_values(
        self, batch: Mapping[str, Any], policy: PairPolicy | None = None
    ) -> dict[str, Tensor]:
        """Return what each action is worth, float32 (N, 1 + 10 C), by a copy of the network or by itself."""
        seen = batch[Columns.OBS]
        mask = flat_mask(seen["action_mask"], seen["pairs"].shape[1])
        return {QF_PREDS: (policy or self.policy).action_values(seen["own"], seen["pairs"], mask)}

    def forward_target(self, batch: Mapping[str, Any]) -> dict[str, Tensor]:
        """Return what each action is worth by the copy of the network; called by RLlib."""
        return self.compute_q_values(batch, self.target_policy)

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, Tensor]:
        """Return what DQN's loss is computed of; overrides ``RLModule._forward``."""
        following = {Columns.OBS: batch[Columns.NEXT_OBS]}
        with torch.no_grad():  # the loss takes from the first which action is the best one, and no more
            best, target = self.compute_q_values(following), self.forward_target(following)
        now = self.compute_q_values(batch)
        return {**now, QF_NEXT_PREDS: best[QF_PREDS], QF_TARGET_NEXT_PREDS: target[QF_PREDS]}

    def _forward_exploration(self, batch: dict[str, Any], t: int = 0, **_: Any) -> dict[str, Any]:
        """Return actions after ``t`` steps of all games; overrides ``RLModule._forward_exploration``."""
        self._epsilon.update(t)
        return self._act(batch, float(self._epsilon.get_current_value()))

    def _forward_inference(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return the best actions; overrides ``RLModule._forward_inference``."""
        return self._act(batch, 0.0)

    def _act(self, batch: Mapping[str, Any], epsilon: float) -> dict[str, Any]:
        with torch.no_grad():
            logits, _ = self.read(self.policy, batch)
            return {Columns.ACTIONS: epsilon_greedy(logits, epsilon).multinomial(1)[:, 0]}
