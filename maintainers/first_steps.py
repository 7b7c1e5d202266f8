#!/usr/bin/env python3
"""Plays a first step of each interface; fails if numba is imported.

    python maintainers/first_steps.py               each in a process of its own
    python maintainers/first_steps.py make_vec      one of them, in this process

Kernels have to come from the library of machine code, which wheels have, and checkouts after
`python maintainers/machine_code.py native`. The table has processor seconds from the start of the process to
the end of the step, those of them in which other libraries were imported, the private memory beyond theirs,
and the imported modules. The seconds double where Python has no bytecode to load and writes none, because of
PYTHONDONTWRITEBYTECODE.
"""

import subprocess
import sys
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

FIRST_STEPS = {
    "VecGame": """
import territorial
game = territorial.VecGame(territorial.GameConfig(), 2, seats=territorial.LINEUPS["mixed-1"].seats)
game.reset(seed=0)
game.step()
""",
    "make_vec": """
import numpy as np, territorial
env = territorial.make_vec(16)
env.reset(seed=0)
env.step(np.zeros((16, 32), np.int64))
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
from territorial.browser.hosting import begin
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
LIBRARIES = ("gymnasium", "pettingzoo", "ray.rllib.env.multi_agent_env")
"""Whose imports are counted apart, the last for RLlib alone."""


def play(name: str) -> int | str:
    """Play a first step and print its row of the table; return 0, or a text if numba was imported."""
    for library in LIBRARIES if name == "RLlib" else LIBRARIES[:-1]:
        import_module(library)
    imported, held = time.process_time(), private_bytes()
    exec(FIRST_STEPS[name], {})
    seconds, more = time.process_time(), (private_bytes() - held) / 2**20
    print(f"{seconds:9.2f} {imported:9.2f} {more:9.1f} {len(sys.modules):9}   {name}")
    is_there = {"numba", "llvmlite"} & sys.modules.keys()
    return f"numba was imported for {import_module('territorial').__file__}" if is_there else 0


def private_bytes() -> int:
    """Return the memory that this process alone has; 0 where the system does not say."""
    try:
        rows = Path("/proc/self/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(1024 * int(row.split()[1]) for row in rows if row.startswith("Private_"))


def main(names: list[str]) -> int | str:
    """Play the first step that is named, or each in a new process; return what the process exits with."""
    if names:
        return play(*names)
    print("   all, s  imports, s  private, MB  modules   interface", flush=True)
    played = [name for name in FIRST_STEPS if name != "RLlib" or find_spec("ray")]
    codes = [subprocess.run([sys.executable, __file__, name]).returncode for name in played]
    if played != [*FIRST_STEPS]:
        print("RLlib was left out: ray is not installed")
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
