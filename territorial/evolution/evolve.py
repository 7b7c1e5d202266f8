"""The evolution of a style as one call: generation after generation, all of it kept in a folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from territorial.config.validation import whole_number
from territorial.evolution.games import Arena
from territorial.evolution.population import Evolution, Generation
from territorial.evolution.saved import read, write, write_style
from territorial.evolution.settings import EvolutionSettings
from territorial.files.locks import one_writer

GENERATIONS, MOST_GENERATIONS = 200, 1_000_000
"""The default, and the most."""
MOST_THREADS = 1024


def evolve(
    folder: str | os.PathLike[str],
    settings: EvolutionSettings | None = None,
    *,
    generations: int = GENERATIONS,
    threads: int = 1,
    on_generation: Callable[[Evolution, Generation], bool | None] | None = None,
) -> Evolution:
    """Return an evolution after so many generations; the one in the folder is resumed, if there is one.

    The same settings give the same style, on any number of threads, and whether or not it was interrupted.

    Args:
        folder: where ``style.json`` goes, the style that was found (``style:FOLDER/style.json`` is then a
            bot), and ``evolution.json``, what it is resumed from; made if it is not there.
        settings: what is asked for; default None: the default of each.
        generations: how many there are in the end, those before included; 1 to 1000000, default 200.
        threads: that play the games; 1 to 1024, default 1.
        on_generation: called after each one with the evolution and what came of it; True ends it early.

    Raises:
        ValueError: for a folder with an evolution that was asked for something else, or a damaged one.
        BlockingIOError: if another process evolves in the folder; the message says which.
        OSError: if the folder cannot be written, and for a ``style.json`` that is not of an evolution there.

    Example:
        >>> import tempfile
        >>> from territorial import GameConfig
        >>> from territorial.evolution import EvolutionSettings, evolve
        >>> config = GameConfig(height=32, width=32, num_players=4, max_ticks=300)
        >>> few = EvolutionSettings(config=config, population=12, games_per_style=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found = evolve(folder, few, generations=1)
        >>> found.best.name
        'evolved-1'

    """
    number = whole_number("generations", generations, 1, MOST_GENERATIONS)
    threads = whole_number("threads", threads, 1, MOST_THREADS)
    settings, where = settings or EvolutionSettings(), Path(folder)
    where.mkdir(parents=True, exist_ok=True)
    with one_writer(where / "lock"):
        evolution, arena = read(where, settings), Arena(settings.config, threads)
        if evolution.history:  # of a process that was stopped between the two files
            write_style(where, evolution)
        while len(evolution.history) < number:
            done = evolution.next_generation(arena)
            write(where, evolution)
            if on_generation is not None and on_generation(evolution, done):
                break
    return evolution
