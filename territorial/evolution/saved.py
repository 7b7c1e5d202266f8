"""The files of an evolution: what it is resumed from, and the best style so far."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from territorial.config.validation import shown
from territorial.constants import RULES_VERSION
from territorial.evolution.population import Candidate, Evolution, Generation
from territorial.evolution.settings import EvolutionSettings
from territorial.files.atomic import check_unused, own_file, write_file
from territorial.files.bounded import Bounds, check_fields, parse_object, read_file

FORMAT = "territorial evolution, version 1"
FILE, STYLE = "evolution.json", "style.json"
BOUNDS = Bounds(nbytes=2**27, values=2**23)
"""Room for a million generations."""


def write(folder: Path, evolution: Evolution) -> None:
    """Write an evolution into ``folder``, each file wholly or not at all."""
    values = {
        "format": FORMAT,
        "rules": RULES_VERSION,
        "settings": settings_values(evolution.settings),
        "candidates": [one.to_dict() for one in evolution.candidates],
        "history": [done._asdict() for done in evolution.history],
    }
    write_file(own_file(folder / FILE), (json.dumps(values) + "\n").encode())
    write_style(folder, evolution)


def write_style(folder: Path, evolution: Evolution) -> None:
    """Write the best style of an evolution into ``folder``, wholly or not at all."""
    evolution.best.save(own_file(folder / STYLE))


def read(folder: Path, settings: EvolutionSettings) -> Evolution:
    """Return the evolution in ``folder``, a new one if there is none.

    ValueError if it was asked for something else than ``settings``, or if the file holds none.
    FileExistsError for a style in a folder without an evolution.
    """
    path = folder / FILE
    check_unused(folder, [STYLE], FILE)
    if not path.exists():
        return Evolution.begun(settings)
    try:
        values = parse_object(read_file(path, BOUNDS.nbytes), BOUNDS)
        check_fields("it", values, ("format", "rules", "settings", "candidates", "history"))
        wanted = {"format": FORMAT, "rules": RULES_VERSION, "settings": settings_values(settings)}
        _check_same(values, wanted)
        candidates = [Candidate.from_dict(one) for one in values["candidates"]]
        if len(candidates) != settings.population:
            raise ValueError(f"it has {len(candidates)} candidates; there must be {settings.population}")
        history = [Generation(**done) for done in values["history"]]
        return Evolution(settings, candidates, history)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{str(path)!r} cannot be resumed: {error}") from None


def settings_values(settings: EvolutionSettings) -> dict[str, Any]:
    """Return settings as JSON gives them back."""
    values = {part.name: getattr(settings, part.name) for part in fields(settings)}
    return values | {"config": settings.config.to_dict(), "opponents": list(settings.opponents)}


def _check_same(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Raise ValueError for the first setting in which an evolution differs from what is asked for."""
    for name, value in wanted.items():
        was = found.get(name)
        if isinstance(was, Mapping) and isinstance(value, Mapping):
            check_fields(f"its {name}", was, value)
            _check_same(was, value)
        elif was != value:
            raise ValueError(
                f"it has {name} {shown(was)}; {shown(value)} is asked for. Choose another folder"
            )
