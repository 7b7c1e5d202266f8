"""``CheckpointPolicy``: a module of an RLlib checkpoint as a player."""

from __future__ import annotations

import atexit
import json
import os
import pickle
import re
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from rllib_adapters.envs.env_config import GAMES
from territorial.config import GameConfig
from territorial.config.validation import raised_as
from territorial.evaluation.players import CHECKPOINT
from territorial.league import MismatchError, SnapshotStore
from territorial.nets.frozen_seats import FrozenSeats
from territorial.nets.players import SnapshotPolicy
from territorial.observation.layout import ObsLayout

# Ray is imported within functions: processes that play get policies ready, and most of them do without it.


class CheckpointPolicy(SnapshotPolicy):
    """A module of a checkpoint as a player, which plays as a snapshot of it does.

    The checkpoint is read once, when this is made, without an ``Algorithm`` and without processes of Ray. Its
    files are pickles, which can run any code when they are read: open only those of people whom you trust.
    A copy of the weights lies in a temporary folder of this machine until the process ends.

    Args:
        folder: what ``algorithm.save_to_path`` wrote, such as ``RUN/checkpoints/checkpoint-N/algorithm``.
        module: name of a ``BoardModule`` or a ``PairModule``, or of a subclass; default "main".

    Raises:
        ValueError: for a folder that is no checkpoint of the new API stack or cannot be read; for a module
            that it lacks, that does not play this game, or whose weights are not finite.

    """

    folder: str

    def __init__(self, folder: str | os.PathLike[str], module: str = "main") -> None:
        from rllib_adapters.league.control import check_finite, exported

        self.__dict__["folder"] = os.fspath(folder)  # of a frozen dataclass
        given = f"the module {module!r} of the checkpoint {self.folder!r}"
        found, env_config = _read(Path(folder).absolute(), given, module)
        kind = type(found)
        if not hasattr(kind, "make_trunk"):
            raise ValueError(f"{given} is a {kind.__name__}; it must be a BoardModule or a PairModule")
        weights = {
            name.removeprefix(kind.prefix): part.numpy(force=True)
            for name, part in found.state_dict().items()
            if name.startswith(kind.prefix)
        }
        check_finite(given, weights)
        network, about = exported(module, kind, found.model_config, weights, env_config)
        copies = tempfile.mkdtemp(prefix="territorial-")
        atexit.register(shutil.rmtree, copies, ignore_errors=True)
        store = SnapshotStore(copies)
        store.add(module, weights, kind.manifest(found.model_config, **about), network=network)
        super().__init__(store, module, {kind.architecture: kind.make_trunk})

    @property
    def text(self) -> str:
        """What names it on the command line."""
        return f"{CHECKPOINT}{self.folder}:{self.name}"

    def _open(self, config: GameConfig, layout: ObsLayout) -> FrozenSeats:
        """Return the policies of its store in these games; MismatchError, which names the checkpoint."""
        with raised_as(MismatchError, f"{self.text}: ", MismatchError):
            return super()._open(config, layout)


def _read(folder: Path, given: str, name: str) -> tuple[Any, Mapping[str, Any]]:
    """Return a module of a checkpoint, and the ``env_config`` of its games, which is empty in others."""
    from ray.rllib.core.rl_module.rl_module import RLModule

    modules, state = folder / "learner_group/learner/rl_module", folder / "algorithm_state.pkl"
    if not modules.is_dir():
        what = (
            "of RLlib's old API stack" if (folder / "policies").is_dir() else "no checkpoint of an algorithm"
        )
        raise ValueError(
            f"{str(folder)!r} is {what}; it must be what `algorithm.save_to_path` of the new stack wrote"
        )
    constructors = {path.parent.name: path for path in sorted(modules.glob("*/class_and_ctor_args.pkl"))}
    learning = [one for one in constructors if not re.fullmatch(r"pool(_\d+)?", one)]
    if name not in learning:
        raise ValueError(f"{given} is none that learns; those that learn are {', '.join(learning) or 'none'}")
    try:
        pickle.loads(constructors[name].read_bytes())  # where this fails, Ray makes a module of another class
        found = RLModule.from_checkpoint(modules / name)  # which leaves weights that are not there at random
        kept = pickle.loads((modules / name / "module_state.pkl").read_bytes())
        if missing := sorted(found.state_dict().keys() - kept.keys()):
            raise ValueError(f"it lacks the weights {', '.join(missing)}")
        played = pickle.loads(state.read_bytes()).get(GAMES, {})
    except Exception as error:  # whatever the code of pickles raises
        writer = "an unknown release"
        with suppress(OSError, ValueError, AttributeError):
            writer = json.loads((modules / name / "metadata.json").read_text()).get("ray_version")
        raise ValueError(
            f"{given} cannot be read here; Ray {writer} wrote it: {type(error).__name__}: {error}"
        ) from error
    return found, played
