"""``evolve``: the evolution of a style, stored in a folder."""

import json
import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from territorial.config.validation import whole_number
from territorial.constants import RULES_VERSION
from territorial.files.atomic import check_unused, own_file, own_folder, write_file
from territorial.files.bounded import Bounds, check_fields, differences, parse_object, read_file
from territorial.files.locks import one_writer
from territorial.training.population import Arena, Candidate, Evolution, EvolutionSettings, Generation

FORMAT = "territorial evolution, version 1"
FILE, STYLE = "evolution.json", "style.json"
BOUNDS = Bounds(nbytes=2**27, values=2**23)
"""Room for a million generations."""
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
        >>> from territorial.training import EvolutionSettings, evolve
        >>> config = GameConfig(height=32, width=32, num_players=4, max_ticks=300)
        >>> few = EvolutionSettings(config=config, population=12, games_per_style=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     found = evolve(folder, few, generations=1)
        >>> found.best.name
        'evolved-1'

    """
    number = whole_number("generations", generations, 1, MOST_GENERATIONS)
    threads = whole_number("threads", threads, 1, MOST_THREADS)
    settings, where = settings or EvolutionSettings(), own_folder(Path(folder))
    with one_writer(where / "lock"):
        evolution, arena = read(where, settings), Arena(settings.config, threads)
        if evolution.history:  # of a process that was stopped between the two files
            evolution.best.save(own_file(where / STYLE))
        while len(evolution.history) < number:
            done = evolution.next_generation(arena)
            write(where, evolution)
            if on_generation is not None and on_generation(evolution, done):
                break
    return evolution


# ---- files ----------------------------------------------------------------------------------------


def write(folder: Path, evolution: Evolution) -> None:
    """Write an evolution into ``folder``, each file wholly or not at all."""
    values = _asked(evolution.settings) | {
        "candidates": [one.to_dict() for one in evolution.candidates],
        "history": [done._asdict() for done in evolution.history],
    }
    write_file(own_file(folder / FILE), (json.dumps(values) + "\n").encode())
    evolution.best.save(own_file(folder / STYLE))


def read(folder: Path, settings: EvolutionSettings) -> Evolution:
    """Return the evolution in ``folder``, a new one if there is none.

    ValueError if it was asked for something else than ``settings``, or if the file holds none.
    FileExistsError for a style in a folder without an evolution.
    """
    path = own_file(folder / FILE)
    check_unused(folder, [own_file(folder / STYLE).name], FILE)
    if not path.exists():
        return Evolution.create(settings)
    try:
        values = parse_object(read_file(path, BOUNDS.nbytes), BOUNDS)
        check_fields("it", values, ("format", "rules", "settings", "candidates", "history"))
        wanted = _asked(settings)
        check_fields("its settings", values["settings"], wanted["settings"])
        check_fields("its config", values["settings"]["config"], wanted["settings"]["config"])
        for name, value in wanted.items():
            for text in differences(name, values[name], value):
                raise ValueError(f"{text}. Choose another folder")
        candidates = [Candidate.from_dict(one) for one in values["candidates"]]
        if len(candidates) != settings.population:
            raise ValueError(f"it has {len(candidates)} candidates; there must be {settings.population}")
        history = [Generation(**done) for done in values["history"]]
        return Evolution(settings, candidates, history)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{str(path)!r} cannot be resumed: {error}") from None


def _asked(settings: EvolutionSettings) -> dict[str, Any]:
    """Return the settings of the file."""
    return {"format": FORMAT, "rules": RULES_VERSION, "settings": settings_values(settings)}


def settings_values(settings: EvolutionSettings) -> dict[str, Any]:
    """Return settings as JSON gives them back."""
    values = {part.name: getattr(settings, part.name) for part in fields(settings)}
    return values | {"config": settings.config.to_dict(), "opponents": list(settings.opponents)}
