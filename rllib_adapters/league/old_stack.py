"""RLlib's old API stack: policies of bots and snapshots for any environment.

docs/your_environment.md says how to use them. Every process of the old stack has every policy, so those here
have neither a model nor a dummy batch of their own, and keep no observations.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.ppo.ppo_torch_policy import PPOTorchPolicy
from ray.rllib.models.catalog import ModelCatalog
from ray.rllib.models.modelv2 import restore_original_dimensions
from ray.rllib.models.torch.torch_modelv2 import TorchModelV2
from ray.rllib.policy.policy import Policy
from ray.rllib.policy.sample_batch import SampleBatch
from torch import Tensor

from rllib_adapters.league.control import check_finite, digest_of, of_spaces
from rllib_adapters.league.pool import Bot, actions_of, store_of
from territorial.config.validation import check_type
from territorial.league import Manifest, SnapshotStore
from territorial.nets.frozen import FrozenNetwork, FrozenPolicies, mapped


class LeanPPOPolicy(PPOTorchPolicy):
    """PPO's policy without the dummy batch: it is made of four rows and released after its only use.

    With it a policy finds out what its loss needs. RLlib's has 32 rows. Where a model has a state, it takes
    them for four sequences, which must not be empty.
    """

    def _get_dummy_batch_from_view_requirements(self, batch_size: int = 1) -> SampleBatch:
        """Return a batch of four rows; overrides ``Policy._get_dummy_batch_from_view_requirements``."""
        return super()._get_dummy_batch_from_view_requirements(min(batch_size, 4))

    def _initialize_loss_from_dummy_batch(self, *args: Any, **kwargs: Any) -> None:
        """Try the loss, and release the batch; overrides ``Policy._initialize_loss_from_dummy_batch``."""
        super()._initialize_loss_from_dummy_batch(*args, **kwargs)
        self._dummy_batch = None


# ---- who does not learn ----------------------------------------------------------------------------------


class BotPolicy(Policy):
    """Plays a bot, without a model of RLlib's or a dummy batch; observations are not kept for training.

    Its ``config`` must have ``bot``, an object of a ``Bot`` class. The bot gets rows of the environment's
    space, whose parts are as RLlib's preprocessors make them: in a ``Dict`` they are float32, and a number of
    a ``Discrete`` space is one-hot.
    """

    needs: Mapping[str, tuple[Any, str]] = {"bot": (Bot, "an object of a Bot class")}
    """What its ``config`` must have, and what errors call that."""

    def __init__(self, observation_space: Any, action_space: Any, config: Mapping[str, Any]) -> None:
        for name, (kind, wanted) in self.needs.items():
            check_type(f"config[{name!r}] of a {type(self).__name__}", config.get(name), kind, wanted)
        super().__init__(observation_space, action_space, config)
        self._random = np.random.default_rng(int(torch.randint(2**31, ())))  # RLlib seeds PyTorch
        for column in (SampleBatch.OBS, SampleBatch.NEXT_OBS):
            self.view_requirements[column].used_for_training = False

    def choose(self, rows: npt.NDArray[Any]) -> Any:
        """Return the actions for observations (N, ...), as RLlib's preprocessor has made them."""
        bot, is_normal = self.config["bot"], self.config["normalize_actions"]
        seen = restore_original_dimensions(rows, self.observation_space, "numpy")
        given = bot.act(seen, self._random)
        return actions_of(type(bot).__name__, given, len(rows), self.action_space, normalize=is_normal)

    def compute_actions(self, obs_batch: Any, *_: Any, **__: Any) -> tuple[Any, list[Any], dict[str, Any]]:
        """Return the actions of ``choose``, no state and no extras."""
        return self.choose(np.array(obs_batch)), [], {}

    def get_weights(self) -> dict[str, Any]:
        """Return an empty dict."""
        return {}

    def set_weights(self, weights: Mapping[str, Any]) -> None:
        """Do nothing."""

    def learn_on_batch(self, samples: Any) -> dict[str, Any]:
        """Raise NotImplementedError: nothing here learns."""
        raise NotImplementedError(
            f"a {type(self).__name__} cannot be trained; remove it from policies_to_train"
        )


class SnapshotPolicy(BotPolicy):
    """Plays a snapshot of a store; all of a process share the weights, and so do all processes.

    Its ``config`` must have ``store``, the ``SnapshotStore`` or its folder, and ``snapshot``, the name, which
    ``play`` changes. The snapshots are those of ``freeze_policy``, of the model that ``config["model"]``
    describes.
    """

    needs: Mapping[str, tuple[Any, str]] = {
        "store": ((SnapshotStore, str), "a SnapshotStore or its folder"),
        "snapshot": (str, "the name of a snapshot"),
    }

    def __init__(self, observation_space: Any, action_space: Any, config: Mapping[str, Any]) -> None:
        super().__init__(observation_space, action_space, config)
        store = store_of(config["store"])
        key = f"{store.path} {_about(self)}"
        if key not in _players:
            _players[key] = FrozenPolicies(store, ModelNetwork(self))
        self._players = _players[key]

    def play(self, snapshot: str) -> None:
        """Let another snapshot play from now on."""
        self.config["snapshot"] = snapshot  # in checkpoints, RLlib has the configurations of policies

    def choose(self, rows: npt.NDArray[Any]) -> Any:
        """Return actions sampled from the snapshot's policy."""
        names = [self.config["snapshot"]] * len(rows)
        return mapped(Tensor.numpy, self._players.act(names, torch.from_numpy(rows)))


# The players of this process, by store and model.
_players: dict[str, FrozenPolicies] = {}


class ModelNetwork(FrozenNetwork):
    """The ``TorchModelV2`` of a policy as the network of its snapshots; it has no weights of its own.

    RLlib's catalog makes it with weights, as what a model has beside them must be there. The first snapshot
    moves them to the device "meta".
    """

    def __init__(self, policy: Policy) -> None:
        settings, spaces = policy.config["model"], (policy.observation_space, policy.action_space)
        self._distribution, size = ModelCatalog.get_action_dist(spaces[1], settings, framework="torch")
        super().__init__(ModelCatalog.get_model_v2(*spaces, size, settings, framework="torch"))
        self._wanted = {"architecture": type(self.module).__name__, **_about(policy)}

    def __call__(self, name: str, manifest: Manifest) -> ModelNetwork:
        """Return this network for the snapshot ``name``; MismatchError for one of another model or space."""
        manifest.require(f"snapshot {name!r}", **self._wanted)
        return self

    def read(self, rows: Any) -> Tensor:
        """Return the inputs of the distribution, (N, K)."""
        return self.module(SampleBatch({SampleBatch.OBS: rows}, _is_training=False))[0]

    def draw(self, logits: Tensor, numbers: Tensor | None) -> Any:
        """Return actions, which PyTorch draws."""
        return self._distribution(logits, self.module).sample()


def freeze_policy(
    algorithm: Algorithm,
    store: SnapshotStore | str,
    name: str,
    policy: str,
    *,
    replace: bool = False,
    **metadata: Any,
) -> None:
    """Add the present weights of a policy of the old stack to a store, as a snapshot.

    Args:
        algorithm: the algorithm that trains the policy.
        store: the store, or its folder.
        name: name of the snapshot; a name can be added once, unless ``replace`` is given.
        policy: name of the policy, which must have a model in PyTorch.
        replace: whether it takes the place of a snapshot of that name; default False.
        metadata: whatever is worth knowing about the snapshot later, such as the iteration.

    Raises:
        ValueError: for a policy without a model, or with one that reads more than present observations, such
            as a recurrent one, for weights that are not finite, and for a name that is not allowed.
        FileExistsError: for a name that is taken.

    """
    own = algorithm.get_policy(policy)
    model = getattr(own, "model", None)
    if not isinstance(model, TorchModelV2) or model.get_initial_state() or len(model.view_requirements) > 1:
        raise ValueError(
            f"policy is {policy!r}, whose model is a {type(model).__name__}; it must be a TorchModelV2 "
            "without a state that reads observations alone"
        )
    weights = {key: part.cpu().numpy() for key, part in model.state_dict().items()}
    check_finite(f"policy {policy!r}", weights)
    manifest = Manifest(architecture=type(model).__name__, **_about(own), metadata=metadata)
    store_of(store).add(name, weights, manifest, replace=replace)


def _about(policy: Policy) -> dict[str, Any]:
    """Return what manifests say of a policy's spaces, and of what its model is made with."""
    text = json.dumps(policy.config["model"], default=lambda one: type(one).__name__, sort_keys=True)
    return {
        **of_spaces(policy.observation_space, policy.action_space),
        "settings": {"model_config": digest_of(text)},
    }
