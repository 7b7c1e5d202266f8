"""Modules that can be called, for a function that has the name of its module."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from inspect import signature
from types import ModuleType
from typing import Any


def let_call(name: str, function: Callable[..., Any]) -> None:
    """Let the module ``name`` be called like ``function``: it is one object, however it is imported."""

    class CallableModule(ModuleType):
        __call__ = staticmethod(function)
        __signature__ = signature(function)

        def __reduce__(self) -> tuple[Any, ...]:
            return import_module, (name,)

    sys.modules[name].__class__ = CallableModule
