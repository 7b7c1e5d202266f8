"""The first minutes of a new user: numba compiles the engine once, or not at all."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from territorial.jit.decorators import JIT_ENABLED
from territorial.jit.library import CHOICE, NUMBA, library

ROOT = Path(__file__).parents[2]
KERNELS = ("step_games", "reset_game", "play_launches", "ask_networks")
"""What takes the compiler more than a second."""


def start(folder, choice, *arguments):
    """Run Python with a cache of its own in ``folder``; return what was said on stderr."""
    environment = {"NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": str(ROOT), CHOICE: choice}
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=folder, env=os.environ | environment, check=True, capture_output=True, text=True
    )
    return done.stderr


def compiled_forms(folder):
    """Return how many forms of each kernel lie in the cache."""
    return {name: len(list((folder / "cache").rglob(f"step.{name}-*.nbc"))) for name in KERNELS}


@pytest.mark.slow
@pytest.mark.checkout
@pytest.mark.skipif(not JIT_ENABLED, reason="nothing is compiled with NUMBA_DISABLE_JIT=1")
@pytest.mark.parametrize("choice", ["", NUMBA])
def test_the_first_game_the_blocks_of_the_readme_and_verify_compile_once_or_nothing(tmp_path, choice):
    if not choice and library().path is None:
        pytest.skip(library().why_not)
    compiles = choice == NUMBA
    said = start(
        tmp_path, choice, "-m", "territorial", "demo", "--replay", "one.replay", "--page", "one.html"
    )
    assert ("numba compiles" in said) == compiles
    assert compiled_forms(tmp_path) == dict.fromkeys(KERNELS, int(compiles))
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    blocks = [block for block in blocks if "import torch" not in block]
    assert len(blocks) >= 2
    for block in blocks:
        assert compiles or "numba compiles" not in start(tmp_path, choice, "-c", block)
    verify = start(tmp_path, choice, "-m", "territorial", "replay", "one.replay", "--verify")
    assert "numba compiles" not in verify
    assert compiled_forms(tmp_path) == dict.fromkeys(KERNELS, int(compiles))
