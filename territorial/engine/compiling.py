"""Compiling ahead what the first step of a batch would wait for."""

from __future__ import annotations

from territorial.config import GameConfig
from territorial.engine.vec_game import VecGame


def compile_steps(config: GameConfig) -> None:
    """Compile what the first step of any batch of ``config`` would wait for, unless that has been done.

    For those who start processes and wait for their first steps no longer than the compiler takes.
    """
    game = VecGame(_on_one_map(config), 2, observe=False, num_threads=2)
    game.reset()
    game.step()
    game.close()


def is_compiled(config: GameConfig) -> bool:
    """Return whether a batch of ``config`` finds its steps compiled (or none of that is needed)."""
    try:
        return VecGame(_on_one_map(config), 1, observe=False)._workers.calls.is_step_ready
    except ValueError:  # a board that has no room for all spawns
        return False


def _on_one_map(config: GameConfig) -> GameConfig:
    """Return ``config`` with few maps to make: for what does not depend on them."""
    return config.replace(map="open", num_maps=1)
