"""The evolution of styles as one call: generation after generation, with all of it kept in a folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from territorial.bots.style import Style
from territorial.evaluation.pool import Play, play_of
from territorial.evolution.population import Evolution, Generation
from territorial.evolution.saved import read, write
from territorial.evolution.settings import EvolutionSettings
from territorial.files.locks import locked


def evolve(
    folder: str | os.PathLike[str],
    settings: EvolutionSettings | None = None,
    *,
    start: Sequence[Style] = (),
    processes: int | None = None,
    play: Play | None = None,
    on_generation: Callable[[Evolution, Generation], bool | None] | None = None,
) -> Evolution:
    """Return an evolution after all of its generations; it goes on where the folder has one already.

    Every generation plays, against the bots that it does worst against most often. The best stay, and the
    others are replaced by variations of them. The same settings and seed give the same styles, on any number
    of processes and whether or not it was interrupted.

    Args:
        folder: where ``best.json`` goes, the best style (``style:FOLDER/best.json`` is then a bot), and
            ``evolution.json``, all that it takes to go on.
        settings: what is asked for; default None: the default of each.
        start: styles to begin with; default (): styles drawn at random.
        processes: that play the games; 1 to 1024, default None: one per core.
        play: what says where games are played; default None: ``processes`` of this machine.
        on_generation: called after each one with the evolution and what came of it; True ends it early.

    Raises:
        ValueError: for a folder with an evolution that was asked for something else.
        PlayingError: if a process fails.

    Example:
        >>> import tempfile
        >>> from territorial import GameConfig
        >>> from territorial.evolution import EvolutionSettings, evolve
        >>> config = GameConfig(height=32, width=32, num_players=4, max_ticks=300)
        >>> few = EvolutionSettings(config=config, population=4, parents=2, games=2, candidates=1, generations=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found = evolve(folder, few, processes=1)
        >>> found.best.name
        'evolved-1'

    """
    settings, where = settings or EvolutionSettings(), Path(folder)
    players = play_of(play, processes)
    where.mkdir(parents=True, exist_ok=True)
    with locked(where / "lock"):
        evolution = read(where, settings) or Evolution.begun(settings, start)
        while len(evolution.history) < settings.generations:
            done = evolution.next_generation(players)
            write(where, evolution)
            if on_generation is not None and on_generation(evolution, done):
                break
    return evolution
