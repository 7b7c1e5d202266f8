"""The files of an evolution: its population and history, with which it goes on, and its best style."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from territorial.config.validation import shown
from territorial.datasets.manifest import config_values
from territorial.evolution.candidates import Candidate
from territorial.evolution.population import Evolution, Generation
from territorial.evolution.settings import EvolutionSettings
from territorial.files.atomic import write_file
from territorial.files.bounded import read_file
from territorial.files.strict_json import Bounds, check_fields, parse_object

FORMAT = "territorial evolution, version 1"
FILE, BEST = "evolution.json", "best.json"
BOUNDS = Bounds(nbytes=2**26, values=2**22)
FIELDS = ("format", "settings", "candidates", "beaten", "history")
GOES_ON = ("generations",)
"""The settings that may be others when an evolution goes on."""


def write(folder: Path, evolution: Evolution) -> None:
    """Write an evolution into ``folder``, each file wholly or not at all, its best style last."""
    values = {
        "format": FORMAT,
        "settings": _values_of(evolution.settings),
        "candidates": [one.to_dict() for one in evolution.candidates],
        "beaten": evolution.beaten,
        "history": [asdict(one) for one in evolution.history],
    }
    write_file(folder / FILE, (json.dumps(values, indent=1) + "\n").encode())
    evolution.best.save(folder / BEST)


def read(folder: Path, settings: EvolutionSettings) -> Evolution | None:
    """Return the evolution in ``folder``, None if there is none.

    ValueError if it was asked for something else than ``settings``, or if the file holds none.
    """
    path = folder / FILE
    if not path.exists():
        return None
    try:
        values = parse_object(read_file(path, BOUNDS.nbytes), BOUNDS)
        check_fields("an evolution", values, FIELDS, ())
        if values["format"] != FORMAT:
            raise ValueError(f"it has the format {shown(values['format'])}; this release reads {FORMAT!r}")
        _check_same(values["settings"], _values_of(settings))
        candidates = [Candidate.from_dict(one) for one in values["candidates"]]
        history = [Generation(**one) for one in values["history"]]
        return Evolution(settings, candidates, dict(values["beaten"]), history)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{str(path)!r} cannot go on: {error}") from None


def _values_of(settings: EvolutionSettings) -> dict[str, Any]:
    values = {name: getattr(settings, name) for name in EvolutionSettings.__dataclass_fields__}
    values |= {"config": config_values(settings.config), "opponents": list(settings.opponents)}
    return {name: value for name, value in values.items() if name not in GOES_ON}


def _check_same(saved: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Raise ValueError for the first setting in which an evolution differs from what is asked for."""
    for name, value in wanted.items():
        was = saved.get(name)
        if name == "config" and isinstance(was, Mapping):
            for key, part in value.items():
                if was.get(key) != part:
                    raise ValueError(_differs(f"config.{key}", was.get(key), part))
        elif was != value:
            raise ValueError(_differs(name, was, value))


def _differs(name: str, was: object, wanted: object) -> str:
    return f"it has {name} {shown(was)}, and {shown(wanted)} is asked for; choose another folder"
