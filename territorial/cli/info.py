"""``territorial info``: prints versions, the machine, bots and options."""

import argparse
from collections import Counter
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from territorial import bots
from territorial.cli import maps, memory, options
from territorial.cli.machine import provenance
from territorial.config import FIELDS, MAP_KINDS, GameConfig
from territorial.config.fields import describe
from territorial.config.map_names import LANDS
from territorial.constants import OBS_VERSION, RULES_VERSION
from territorial.engine.seats import LINEUPS
from territorial.envs.options import EnvOptions
from territorial.jit.decorators import JIT_ENABLED
from territorial.jit.library import library

EXAMPLES = """\
  territorial info
  territorial info --set launch_delay=0   print a changed config and its digest
  territorial info --json                 print it for a bug report
  territorial info maps europe            show a map
"""


def add_parser(verbs: Any) -> None:
    """Add this verb to the command line."""
    parser = options.new_parser(
        verbs,
        "info",
        "print what is installed, defaults and bots; or what there is to know of maps and memory",
        EXAMPLES,
        run,
    )
    options.add(parser, options.JSON)
    options.add_config_options(parser)
    topics = parser.add_subparsers(title="topics", metavar="TOPIC")
    for topic in (maps, memory):
        topic.add_parser(topics)


def run(parsed: argparse.Namespace) -> int:
    """Print it."""
    result = gather(options.config_of(parsed))
    options.report(parsed, _text(result), result)
    return 0


def gather(config: GameConfig) -> dict[str, Any]:
    """Return everything this verb tells, as values that JSON has."""
    changed = library().changed()
    return provenance() | {
        "rules_version": RULES_VERSION,
        "obs_version": OBS_VERSION,
        "machine_code": str(library().path) if library().path else None,
        "compiled_by_numba_because": library().why_not
        or (f"{changed[0]} has changed since that was made" if changed else None),
        "jit_enabled": JIT_ENABLED,
        "config": config.to_dict(),
        "config_digest": config.hexdigest,
        "env_options": {spec.name: spec.default for spec in fields(EnvOptions)},
        "bots": {name: bots.make(name).idea for name in bots.NAMES}
        | {name: one.idea for name, one in bots.LEARNED.items()}
        | {name: style.idea for name, style in bots.GIVERS.items()},
        "line_ups": {name: list(lineup.seats) for name, lineup in LINEUPS.items()},
        "map_kinds": list(MAP_KINDS),
        "lands": list(LANDS),
    }


def _text(result: Mapping[str, Any]) -> str:
    specs = fields(EnvOptions)
    none = {spec.name: f"; None: {spec.metadata['none']}" for spec in specs if spec.default is None}
    path, why = result["machine_code"], result["compiled_by_numba_because"]
    parts = {
        "versions": {
            **result["versions"],
            **({"revision": result["revision"]} if result["revision"] else {}),
            "rules": result["rules_version"],
            "observations": result["obs_version"],
        },
        "machine": result["machine"],
        "machine code": ({"library": path} if path else {}) | ({"numba": f"because {why}"} if why else {}),
        f"config {result['config_digest']}": {
            name: f"{value!s:<24} {describe(FIELDS[name])}" for name, value in result["config"].items()
        },
        "options of environments": {
            spec.name: f"{spec.default!s:<24} {describe(spec)}{none.get(spec.name, '')}" for spec in specs
        },
        "bots": result["bots"],
        "line-ups": {name: _count(seats) for name, seats in result["line_ups"].items()},
        "maps": {"kinds": ", ".join(result["map_kinds"]), "lands": ", ".join(result["lands"])},
    }
    tables = {title: [(name, str(value)) for name, value in rows.items()] for title, rows in parts.items()}
    return "\n\n".join(f"{title}\n{options.aligned(rows)}" for title, rows in tables.items())


def _count(seats: list[str]) -> str:
    counts = ", ".join(f"{count} {bots.short(name)}" for name, count in Counter(seats).items())
    return f"{len(seats)} seats: {counts}"
