#!/usr/bin/env python3
"""Plays a first step and fails if a kernel is compiled for it, instead of being found in the cache.

    territorial demo; python maintainers/nothing_compiled.py

So a checkout, an environment or a wheel shows that it shares what another one has compiled before.
"""

from typing import Any

from numba.core import event

import territorial


class _Compiled(event.Listener):
    """Notes the names of all functions that numba compiles; loading from the cache is no event."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def on_start(self, event: Any) -> None:
        self.names.append(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event: Any) -> None:
        pass


def main() -> None:
    """Print where the package lies; raise SystemExit with the names of what was compiled."""
    compiled = _Compiled()
    with event.install_listener("numba:compile", compiled):
        game = territorial.VecGame(territorial.GameConfig(), 2, seats=territorial.LINEUPS["mixed-1"].seats)
        game.reset(seed=0)
        game.step()
    if compiled.names:
        raise SystemExit(f"compiled anew in {territorial.__file__}: {', '.join(compiled.names)}")
    print(f"nothing was compiled in {territorial.__file__}")


if __name__ == "__main__":
    main()
