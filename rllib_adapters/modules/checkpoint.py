"""``CheckpointPolicy``: a module of an RLlib checkpoint as a player."""

from __future__ import annotations

import json
import os
import pickle
import tempfile
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import torch
from torch import Tensor, nn

from rllib_adapters.envs.env_config import GAMES, POOL
from territorial.config import GameConfig
from territorial.config.validation import shown
from territorial.constants import NUM_FRACTIONS
from territorial.engine.pair_observations import rows_shown
from territorial.evaluation.players import CHECKPOINT
from territorial.league import Manifest, MismatchError, SnapshotStore
from territorial.league.manifest import VERSIONS
from territorial.nets.frozen_seats import FrozenSeats
from territorial.nets.pair_policy import READS, PairRows, flat_mask
from territorial.nets.players import SnapshotPolicy
from territorial.observation.action_formats import OF_CANDIDATES
from territorial.observation.layout import ObsLayout
from territorial.observation.pair_columns import pair_columns

# Ray is imported within functions: processes that play get policies ready, and most of them do without Ray.

MODULES = "learner_group/learner/rl_module"
"""The folder within a checkpoint that has a folder for every module."""
OLD_STACK = "policies"
"""The folder of a checkpoint of the old API stack that has one for every policy."""
CONSTRUCTOR, METADATA, STATE = "class_and_ctor_args.pkl", "metadata.json", "algorithm_state.pkl"
SEEN = {"own", "pairs", "action_mask"}
"""What a module on pairs observes at least."""
OWN = "module."
"""Begins the names of weights of a module that has no network of this package."""


class CheckpointPolicy(SnapshotPolicy):
    """A module of a checkpoint as a player, which plays as a snapshot of it does.

    The checkpoint is read once, when this is made, without an ``Algorithm`` and without processes of Ray. Its
    files are pickles, which can run any code when they are read: open only those of people whom you trust.
    A copy of the weights lies in a temporary folder of this machine until the process ends.

    A ``BoardModule`` and a ``PairModule`` play as their snapshots: the latter in the engine. Another module
    plays in PyTorch if it has no state, observes "pairs" with the usual numbers of rows, and acts in the
    format "pairs" or "pairs_multi_discrete".

    Args:
        folder: what ``algorithm.save`` wrote, such as ``RUN/checkpoints/checkpoint-00000010/algorithm``.
        module: name of a module that learns; default "main".

    Raises:
        ValueError: for a folder that is no checkpoint of the new API stack or cannot be read; for a module
            that it lacks, that does not play this game, or whose weights are not finite.

    """

    def __init__(self, folder: str | os.PathLike[str], module: str = "main") -> None:
        from ray.rllib.core.rl_module.rl_module import RLModuleSpec

        from rllib_adapters.league.control import check_finite, exported

        given = f"the module {module!r} of the checkpoint {os.fspath(folder)!r}"
        found, env_config = _read(Path(folder).absolute(), given, module)
        kind, about, network = type(found), dict[str, str](), None
        weights = {key: part.numpy(force=True) for key, part in found.state_dict().items()}
        check_finite(given, weights)
        if hasattr(kind, "make_trunk"):
            prefix, trunk = kind.prefix, kind.make_trunk
            weights = {key.removeprefix(prefix): weights[key] for key in weights if key.startswith(prefix)}
            if env_config is not None:
                network, about = exported(module, kind, found.model_config, weights, env_config)
            manifest = kind.manifest(found.model_config, **about)
        else:
            _check_reads_pairs(given, found)
            trunk = partial(ModuleRows, RLModuleSpec.from_module(found))
            weights = {OWN + key: part for key, part in weights.items()}
            manifest = Manifest(architecture=kind.__name__, **READS, **VERSIONS)
        store = SnapshotStore(tempfile.mkdtemp(dir=_temporary().name))
        store.add(module, weights, manifest, network=network)
        super().__init__(store, module, {manifest.architecture: trunk})
        object.__setattr__(self, "folder", os.fspath(folder))

    @property
    def text(self) -> str:
        """What names it on the command line."""
        return f"{CHECKPOINT}{self.folder}:{self.name}"

    def _open(self, config: GameConfig, layout: ObsLayout) -> FrozenSeats:
        """Return the policies of its store in these games; MismatchError, which names the folder."""
        try:
            return super()._open(config, layout)
        except MismatchError as error:
            raise MismatchError(f"{self.text}: {error}") from None


class ModuleRows(PairRows):
    """An ``RLModule`` of any class as the network of rows of pairs.

    Args:
        spec: of the module.
        config: of the games.

    ValueError for games that show it other rows than it was made for.

    """

    def __init__(self, spec: Any, _: ObsLayout, config: GameConfig) -> None:
        nn.Module.__init__(self)
        seen, masks = (spec.observation_space[name].shape for name in ("pairs", "action_mask"))
        rows = rows_shown(config).total, len(pair_columns(teams=config.teams is not None))
        if seen != rows:
            raise ValueError(f"it observes {seen[0]} x {seen[1]} pairs; these games have {rows[0]} x {rows[1]}")
        self.module, self.has_two_parts = spec.build(), True
        self.num_flat = 1 + NUM_FRACTIONS * rows[0]
        self.has_flat_mask = masks == (self.num_flat,)

    def forward(self, seen: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Return the logits of actions of one number, (N, 1 + 10 C), and those of the module."""
        mask = seen["action_mask"]
        if self.has_flat_mask:
            mask = flat_mask(mask, seen["pairs"].shape[1])
        batch = {"obs": {**seen, "action_mask": mask}}
        found = self.module._forward_exploration(batch)["action_dist_inputs"]
        if found.shape[1] == self.num_flat:
            return found, found
        targets, fractions = (part.log_softmax(1) for part in found.split([len(mask[0]) - NUM_FRACTIONS, NUM_FRACTIONS], 1))
        launches = targets[:, 1:, None] + fractions[:, None]
        return torch.cat([targets[:, :1], launches.flatten(1)], 1), found


def _check_reads_pairs(given: str, module: Any) -> None:
    """Raise ValueError unless a module that has no network of this package plays games on pairs."""
    space, settings = module.observation_space, module.model_config
    action_format = settings.get("action_format") if isinstance(settings, Mapping) else None
    is_on_pairs = isinstance(space, gym.spaces.Dict) and set(space) >= SEEN
    if not is_on_pairs or action_format not in OF_CANDIDATES or module.is_stateful():
        raise ValueError(
            f"{given} is a {type(module).__name__} that observes {shown(space)}; it must be a BoardModule, a "
            f"PairModule, or one without a state that observes 'pairs' and acts in {' or '.join(OF_CANDIDATES)}"
        )


def _read(folder: Path, given: str, name: str) -> tuple[Any, Mapping[str, Any] | None]:
    """Return a module of a checkpoint, and the ``env_config`` of its games where the checkpoint has it."""
    import ray
    from ray.rllib.core.rl_module.rl_module import RLModule

    modules = folder / MODULES
    if not modules.is_dir():
        what = "of RLlib's old API stack" if (folder / OLD_STACK).is_dir() else "no checkpoint of an algorithm"
        raise ValueError(f"{str(folder)!r} is {what}; it must be what `algorithm.save` of the new stack wrote")
    names = sorted(path.parent.name for path in modules.glob(f"*/{CONSTRUCTOR}"))
    learning = [one for one in names if not one.startswith(POOL)]  # or pool_0
    if name not in learning:
        raise ValueError(f"{given} is none that learns; those that learn are {', '.join(learning) or 'none'}")
    try:
        found = RLModule.from_checkpoint(modules / name)
        state = pickle.loads((folder / STATE).read_bytes()) if (folder / STATE).exists() else {}
    except Exception as error:  # whatever the code of pickles raises
        about = json.loads((modules / name / METADATA).read_text())
        raise ValueError(
            f"{given} cannot be read by Ray {ray.__version__}; Ray {about.get('ray_version')} wrote it: "
            f"{type(error).__name__}: {error}"
        ) from error
    return found, state.get(GAMES)


@cache
def _temporary() -> tempfile.TemporaryDirectory[str]:
    """Return the folder of all copies of weights, which is removed when the process ends."""
    return tempfile.TemporaryDirectory(prefix="territorial-checkpoints-", ignore_cleanup_errors=True)
