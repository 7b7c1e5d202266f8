"""``territorial.env(...)``: the environment in PettingZoo's AEC form, in which agents take turns.

The arguments are those of ``territorial.parallel_env``; ``TurnByTurnEnv`` in ``territorial.envs.pettingzoo``
says what a turn is. PettingZoo's name for the AEC form is ``env``, so this module can be called. Imports and
pickles also find here what is now in ``territorial.envs.pettingzoo``.
"""

import sys
from importlib import import_module
from inspect import signature
from types import ModuleType
from typing import Any

from territorial.envs.pettingzoo import TerritorialEnv, TurnByTurnEnv, env, parallel_env

__all__ = ["TerritorialEnv", "TurnByTurnEnv", "env", "parallel_env"]

__signature__ = signature(env)


class _CallableModule(ModuleType):
    """A module that can be called: ``territorial.env`` is one object, whichever way it is imported."""

    __call__ = staticmethod(env)

    def __reduce__(self) -> tuple[Any, ...]:
        return import_module, (self.__name__,)


sys.modules[__name__].__class__ = _CallableModule
