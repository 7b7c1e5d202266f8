"""Where processor time goes: functions are wrapped while a block runs; a second counts for one stage."""

from __future__ import annotations

import contextlib
import functools
import importlib
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

REST = "RLlib's own"
"""The stage of all time that is spent in none of the functions."""
STAGES: Mapping[str, Sequence[str]] = {
    "engine": ("territorial.engine.vec_game:VecGame.step",),
    "features and boards": (
        "territorial.decode.torch:Decoder.features",
        "territorial.decode.torch:Decoder.owners",
        "territorial.decode.torch:Decoder.onehot",
        "territorial.decode.torch:Decoder.semantic",
        "territorial.decode.torch:Decoder.pooled",
        "rllib_adapters.sampling.observation_source:BoardSource.observe",
        "rllib_adapters.sampling.observation_source:BoardSource.rows",
        "rllib_adapters.sampling.observation_source:PairSource.observe",
        "rllib_adapters.sampling.observation_source:PairSource.rows",
    ),
    "own forward": ("rllib_adapters.sampling.runner:TerritorialEnvRunner._forward",),
    "frozen": ("territorial.nets.frozen:FrozenPolicies.act",),
    "assembling episodes": ("rllib_adapters.sampling.rollout:Rollout.episodes",),
    "runner": ("rllib_adapters.sampling.runner:TerritorialEnvRunner._sample",),
    "making batches": (
        "ray.rllib.connectors.learner.learner_connector_pipeline:LearnerConnectorPipeline.__call__",
    ),
    "values": (
        "ray.rllib.connectors.learner.general_advantage_estimation:GeneralAdvantageEstimation.__call__",
    ),
    "learner forward": (
        "ray.rllib.core.rl_module.multi_rl_module:MultiRLModule._forward_train",
        "ray.rllib.core.learner.learner:Learner.compute_losses",
    ),
    "backward": ("ray.rllib.core.learner.torch.torch_learner:TorchLearner.compute_gradients",),
    "optimiser": (
        "ray.rllib.core.learner.learner:Learner.postprocess_gradients",
        "ray.rllib.core.learner.torch.torch_learner:TorchLearner.apply_gradients",
    ),
    "league": ("rllib_adapters.league.callback:LeagueKeeper.update",),
}
"""By stage, the functions whose time is its own, but for what they spend in functions of other stages."""


class Watch:
    """The seconds of each stage, by the processor time of this process; classes that override count, too."""

    def __init__(self, stages: Mapping[str, Sequence[str]] = STAGES) -> None:
        self.seconds = dict.fromkeys([*stages, REST], 0.0)
        self.missing: list[str] = []
        """Functions that are not there in this version."""
        self._stages = stages
        self._inside = [REST]
        self._since = 0.0

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Wrap the functions while the block runs, and count its seconds."""
        with contextlib.ExitStack() as undo:
            for stage, places in self._stages.items():
                for place in places:
                    self._wrap(stage, place, undo)
            self._since = time.process_time()
            try:
                yield
            finally:
                self._pass_to(None)

    def _wrap(self, stage: str, place: str, undo: contextlib.ExitStack) -> None:
        module, _, path = place.partition(":")
        owner_name, _, name = path.partition(".")
        owner = getattr(_module(module), owner_name, None)
        kinds = [] if owner is None else [kind for kind in (owner, *_derived(owner)) if name in vars(kind)]
        if not kinds:
            self.missing.append(place)
        for kind in kinds:
            original = vars(kind)[name]
            setattr(kind, name, self._timed(stage, original))
            undo.callback(setattr, kind, name, original)

    def _timed(self, stage: str, original: Any) -> Any:
        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            self._pass_to(stage)
            try:
                return original(*args, **kwargs)
            finally:
                self._pass_to(None)

        return call

    def _pass_to(self, stage: str | None) -> None:
        """Count the time so far for the stage that had it, and go into ``stage``, or out of the last one."""
        now = time.process_time()
        self.seconds[self._inside[-1]] += now - self._since
        self._since = now
        if stage is not None:
            self._inside.append(stage)
        elif len(self._inside) > 1:
            self._inside.pop()


def _module(name: str) -> Any:
    """Return a module; None if this version has none of that name."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return None


def _derived(owner: type[Any]) -> Iterator[type[Any]]:
    """Yield all classes that are derived from ``owner``."""
    for kind in owner.__subclasses__():
        yield kind
        yield from _derived(kind)
