"""The first minutes of a new user: the engine is compiled once, by whatever is run first."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from territorial.jit.decorators import JIT_ENABLED

ROOT = Path(__file__).parents[2]
KERNELS = ("step_games", "reset_game", "play_launches", "ask_networks")
"""What takes the compiler more than a second."""


def start(folder, *arguments):
    """Run Python with a cache of its own in ``folder``; return what was said on stderr."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stderr


def compiled_forms(folder):
    """Return how many forms of each kernel lie in the cache."""
    return {name: len(list((folder / "cache").rglob(f"step.{name}-*.nbc"))) for name in KERNELS}


@pytest.mark.slow
@pytest.mark.checkout
@pytest.mark.skipif(not JIT_ENABLED, reason="nothing is compiled with NUMBA_DISABLE_JIT=1")
def test_the_first_game_the_blocks_of_the_readme_and_verify_compile_once(tmp_path):
    said = start(tmp_path, "-m", "territorial", "demo", "--replay", "one.replay", "--page", "one.html")
    assert "compiling the engine" in said
    assert "s, minutes if it is busy" in said
    assert compiled_forms(tmp_path) == dict.fromkeys(KERNELS, 1)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    blocks = [block for block in blocks if "import torch" not in block]
    assert len(blocks) >= 2
    for block in blocks:
        assert "compiling" not in start(tmp_path, "-c", block)
    assert "compiling" not in start(tmp_path, "-m", "territorial", "replay", "one.replay", "--verify")
    assert compiled_forms(tmp_path) == dict.fromkeys(KERNELS, 1)
