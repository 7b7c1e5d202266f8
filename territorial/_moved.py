"""Former names of modules, classes and fields: programs and pickles of earlier releases find what they name.

Each use of a former name warns, and gives what has the new name.
"""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, TypeVar

Class = TypeVar("Class", bound=type)

MODULES = {
    "territorial._atomic": "territorial.jit.atomics",
    "territorial._cache": "territorial.jit.cache",
    "territorial._crew": "territorial.jit.thread_pool",
    "territorial._held": "territorial.jit.bound_arguments",
    "territorial._jit": "territorial.jit.decorators",
    "territorial._sized": "territorial.jit.static_arrays",
    "territorial._words": "territorial.jit.simd",
    "territorial.acting": "territorial.actions.batch",
    "territorial.action_formats": "territorial.actions.formats",
    "territorial.agent_info": "territorial.envs.infos",
    "territorial.aligned": "territorial.jit.alignment",
    "territorial.arguments": "territorial.config.validation",
    "territorial.atlas": "territorial.engine.map_bank",
    "territorial.board": "territorial.game.board",
    "territorial.changes": "territorial.game.change_log",
    "territorial.cores": "territorial.files.cores",
    "territorial.engine_views": "territorial.envs.zero_copy",
    "territorial.env_options": "territorial.envs.options",
    "territorial.evaluation.policies": "territorial.evaluation.players",
    "territorial.evaluation.workers": "territorial.evaluation.pool",
    "territorial.fronts": "territorial.game.fronts",
    "territorial.guests": "territorial.engine.python_bots",
    "territorial.gymnasium_envs": "territorial.envs.gymnasium",
    "territorial.landmask": "territorial.config.land_mask",
    "territorial.league.checkpoints": "territorial.snapshots.checkpoints",
    "territorial.league.contest": "territorial.evaluation.schedule",
    "territorial.league.errors": "territorial.snapshots.errors",
    "territorial.league.evaluation": "territorial.evaluation.evaluate",
    "territorial.league.field": "territorial.evaluation.players",
    "territorial.league.league_charts": "territorial.league.charts",
    "territorial.league.manifest": "territorial.snapshots.manifest",
    "territorial.league.mapped": "territorial.files.mapped",
    "territorial.league.members": "territorial.league.config",
    "territorial.league.memory": "territorial.memory.measure",
    "territorial.league.memory_guard": "territorial.memory.guard",
    "territorial.league.outcome": "territorial.evaluation.outcome",
    "territorial.league.payoff_matrix": "territorial.evaluation.payoff",
    "territorial.league.plan": "territorial.memory.plan",
    "territorial.league.playing": "territorial.evaluation.play",
    "territorial.league.policies": "territorial.evaluation.players",
    "territorial.league.predict": "territorial.memory.predict",
    "territorial.league.ratings": "territorial.evaluation.ratings",
    "territorial.league.record": "territorial.evaluation.record",
    "territorial.league.results": "territorial.evaluation.results",
    "territorial.league.setup": "territorial.memory.setup",
    "territorial.league.statistics": "territorial.evaluation.statistics",
    "territorial.league.store": "territorial.snapshots.store",
    "territorial.league.table": "territorial.league.seating",
    "territorial.league.tensor_file": "territorial.files.safetensors",
    "territorial.league.time_left": "territorial.evaluation.time_left",
    "territorial.league.trials": "territorial.evaluation.trials",
    "territorial.league.workers": "territorial.evaluation.pool",
    "territorial.legal": "territorial.actions.masks",
    "territorial.locking": "territorial.files.locks",
    "territorial.nets.contestants": "territorial.nets.players",
    "territorial.nets.reference": "territorial.nets.reference_net",
    "territorial.map_mix": "territorial.config.map_mix",
    "territorial.map_names": "territorial.config.map_names",
    "territorial.modes": "territorial.envs.observation_modes",
    "territorial.obs_layout": "territorial.observation.layout",
    "territorial.observe": "territorial.observation.tables",
    "territorial.packing": "territorial.observation.packing",
    "territorial.png": "territorial.files.png",
    "territorial.reward_parts": "territorial.config.rewards",
    "territorial.rewarding": "territorial.envs.custom_rewards",
    "territorial.rewards": "territorial.game.rewards",
    "territorial.rng": "territorial.game.rng",
    "territorial.rules": "territorial.game.rules",
    "territorial.seats": "territorial.engine.seats",
    "territorial.spaces": "territorial.envs.spaces",
    "territorial.spawning": "territorial.game.spawning",
    "territorial.state": "territorial.game.state",
    "territorial.stepping": "territorial.engine.step",
    "territorial.tape": "territorial.engine.launch_log",
    "territorial.unpickling": "territorial.files.unpickling",
    "territorial.vector": "territorial.envs.vector",
    "territorial.warmup": "territorial.jit.warmup",
    "territorial.work": "territorial.game.scratch",
}
"""The new name of every module that has moved, by its former name."""


class FormerNames(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules by their former names.

    ``modules``: the new name of each module, by its former one.
    """

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._modules = modules

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return how to load ``fullname``; None if it is no former name."""
        return importlib.machinery.ModuleSpec(fullname, self) if fullname in self._modules else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """Return None: Python makes the module, which ``exec_module`` replaces."""

    def exec_module(self, module: ModuleType) -> None:
        """Replace ``module`` by the module of the new name."""
        former = module.__name__
        _warn(former, self._modules[former])
        sys.modules[former] = importlib.import_module(self._modules[former])


def names_of(package: str, *modules: str) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for what was a module with all names that ``modules`` have now."""

    def get(name: str) -> Any:
        for module in modules if not name.startswith("__") else ():
            found = importlib.import_module(module)
            if hasattr(found, name):
                _warn(f"{package}.{name}", f"{module}.{name}")
                return getattr(found, name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get


def renamed(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for ``module``; ``names``: the new names by the former ones."""

    def get(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        _warn(f"{module}.{name}", f"{module}.{names[name]}")
        return getattr(sys.modules[module], names[name])

    return get


def renamed_fields(**names: str) -> Callable[[Class], Class]:
    """Return a decorator of a dataclass whose fields also go by former names, as do those in its pickles.

    ``names``: the new names by the former ones.
    """

    def decorate(cls: Class) -> Class:
        added: dict[str, Any] = {former: _field_called(former, new) for former, new in names.items()}
        added |= {"__init__": _init_with(cls, names), "__setstate__": _setstate_with(names)}
        for name, value in added.items():
            setattr(cls, name, value)
        return cls

    return decorate


def with_new_names(
    owner: str, given: Mapping[str, Any], names: Mapping[str, str], *, stacklevel: int
) -> dict[str, Any]:
    """Return what is ``given`` to ``owner`` by its new names; TypeError for a thing that is given twice.

    ``names``: the new names by the former ones. ``stacklevel``: whom a warning is for; 2 is the caller.
    """
    current = dict(given)
    for former, new in names.items():
        if former not in current:
            continue
        if new in current:
            raise TypeError(
                f"{former} and {new} are both given to {owner}; {former} is the former name of {new}, so "
                f"give {new} alone"
            )
        _warn(f"{former} of {owner}", new, stacklevel)
        current[new] = current.pop(former)
    return current


def _init_with(cls: type, names: Mapping[str, str]) -> Callable[..., None]:
    make: Callable[..., None] = vars(cls)["__init__"]

    @functools.wraps(make)
    def init(self: Any, *args: Any, **given: Any) -> None:
        make(self, *args, **with_new_names(cls.__name__, given, names, stacklevel=3))

    return init


def _setstate_with(names: Mapping[str, str]) -> Callable[..., None]:
    def setstate(self: Any, state: Mapping[str, Any]) -> None:
        self.__dict__.update({names.get(name, name): value for name, value in state.items()})

    return setstate


def _field_called(former: str, new: str) -> property:
    def get(self: Any) -> Any:
        _warn(f"{former} of {type(self).__name__}", new)
        return getattr(self, new)

    return property(get, doc=f"The former name of ``{new}``.")


def _warn(former: str, new: str, stacklevel: int = 2) -> None:
    """Warn of a former name; ``stacklevel``: whom it is for; 2 is the caller of what calls this."""
    warnings.warn(f"{former} is now {new}", DeprecationWarning, stacklevel=stacklevel + 1)


sys.meta_path.append(FormerNames(MODULES))
