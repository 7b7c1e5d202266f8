"""Names of a package whose modules are imported when the names are first asked for."""

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from typing import Any


def lazily(
    package: str, public: Collection[str], homes: Mapping[str, str], packages: Collection[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and the ``__dir__`` of ``package``.

    ``public``: its public names; ``homes``: the modules of those that are imported when they are first asked
    for; ``packages``: public packages within it.
    """

    def get(name: str) -> Any:
        if name in packages:
            return import_module(f"{package}.{name}")
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return vars(sys.modules[package]).setdefault(name, getattr(import_module(homes[name]), name))

    return get, lambda: sorted({*public, *packages})
