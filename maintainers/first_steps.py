#!/usr/bin/env python3
"""Plays a first step of each interface, and fails if a kernel is compiled for it instead of being found.

    python maintainers/first_steps.py                                each in a process of its own
    python maintainers/first_steps.py make_vec                       one of them, in this process
    NUMBA_CACHE_DIR=empty python maintainers/first_steps.py VecGame  which kernels are compiled at first

So a checkout, an environment or a wheel shows that it shares what another one has compiled: there the first
run fails, and every later one passes. The table has
processor seconds from the start of the process to the end of the step, those of them in which other libraries
were imported, the imported modules, and the kernels that the step needs. The seconds double where Python has
no bytecode to load and writes none, because of PYTHONDONTWRITEBYTECODE.
"""

import subprocess
import sys
import time
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from numba.core import event
from numba.core.registry import CPUDispatcher

FIRST_STEPS = {
    "VecGame": """
import territorial
game = territorial.VecGame(territorial.GameConfig(), 2, seats=territorial.LINEUPS["mixed-1"].seats)
game.reset(seed=0)
game.step()
""",
    "make_vec": """
import numpy as np, territorial
env = territorial.make_vec(2)
env.reset(seed=0)
env.step(np.zeros((2, 32), np.int64))
""",
    "parallel_env": """
import territorial
env = territorial.parallel_env()
env.reset(seed=0)
env.step(dict.fromkeys(env.agents, 0))
""",
    "gymnasium.make": """
import gymnasium, territorial
env = gymnasium.make("territorial/Territorial-v0")
env.reset(seed=0)
env.step(0)
""",
    "gymnasium.make_vec": """
import gymnasium, numpy as np, territorial
env = gymnasium.make_vec("territorial/Territorial-v0", num_envs=32)
env.reset(seed=0)
env.step(np.zeros(32, np.int64))
""",
    "demo": """
import territorial
from territorial.cli.demo import begin
begin(territorial.GameConfig(), territorial.LINEUPS["mixed-1"].seats, seed=0)
""",
    "RLlib": """
from rllib_adapters.envs.single import TerritorialMultiAgentEnv
env = TerritorialMultiAgentEnv()
observations, _ = env.reset(seed=0)
env.step(dict.fromkeys(observations, [0, 0]))
""",
}
"""Programs as users write them, by the names of their interfaces."""
LIBRARIES = ("numba", "gymnasium", "pettingzoo", "ray.rllib.env.multi_agent_env")
"""Whose imports are counted apart, the last for RLlib alone."""


class _Compiled(event.Listener):
    """Notes the names of all kernels that numba compiles; loading from the cache is no event."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def on_start(self, event: Any) -> None:
        if "nogil" in event.data["dispatcher"].targetoptions:  # others are parts of kernels
            self.names.append(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event: Any) -> None:
        pass


def play(name: str) -> int | str:
    """Play a first step and print its row of the table; return 0, or a text with the compiled kernels."""
    for library in LIBRARIES if name == "RLlib" else LIBRARIES[:-1]:
        import_module(library)
    imported, compiled = time.process_time(), _Compiled()
    with event.install_listener("numba:compile", compiled):
        exec(FIRST_STEPS[name], {})
    seconds, package = time.process_time(), import_module("territorial")
    print(f"{seconds:9.2f} {imported:9.2f} {len(sys.modules):9}   {name}: {', '.join(loaded_kernels())}")
    return f"compiled anew in {package.__file__}: {', '.join(compiled.names)}" if compiled.names else 0


def loaded_kernels() -> list[str]:
    """Return the names of the kernels of the package whose machine code this process has loaded."""
    modules = [module for name, module in sys.modules.items() if name.startswith("territorial.")]
    values = {one for module in modules for one in vars(module).values() if isinstance(one, CPUDispatcher)}
    return sorted(one.__name__ for one in values if one.signatures and "nogil" in one.targetoptions)


def main(names: list[str]) -> int | str:
    """Play the first step that is named, or each in a new process; return what the process exits with."""
    if names:
        return play(*names)
    print("   all, s  imports, s  modules   interface: kernels", flush=True)
    played = [name for name in FIRST_STEPS if name != "RLlib" or find_spec("ray")]
    codes = [subprocess.run([sys.executable, __file__, name]).returncode for name in played]
    if played != [*FIRST_STEPS]:
        print("RLlib was left out: ray is not installed")
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
