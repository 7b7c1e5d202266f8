"""``territorial evolve``: finds a strong style of a bot by evolution."""

import argparse
import math
import os
import time
from itertools import count
from typing import Any

from territorial._interrupts import INTERRUPTED
from territorial._log import LOG
from territorial.cli import options
from territorial.cli.machine import provenance
from territorial.cli.options import blamed_on, explained
from territorial.evaluation.progress import time_left
from territorial.files.cores import usable_cores
from territorial.training import Evolution, EvolutionSettings, Generation, evolve
from territorial.training.evolve import GENERATIONS, MOST_GENERATIONS, MOST_THREADS, STYLE, settings_values
from territorial.training.population import MAPS, TRAINING_MAPS

EXAMPLES = """\
  territorial evolve upstart
  territorial match --seats style:upstart/style.json,turtle,besieger,settler
  territorial evolve upstart --generations 1000   add generations
  territorial evolve small --height 96 --width 96 --num-players 12 --minutes 2
"""
DEFAULTS = EvolutionSettings()
POPULATION = ("population", "games_per_style", "style_seats")
"""Fields of EvolutionSettings that have an option."""


def add_parser(verbs: Any) -> None:
    """Add this verb to the command line."""
    summary = "evolve the settings of a bot: a population plays against bots, and varies its best"
    parser = options.new_parser(verbs, "evolve", summary, EXAMPLES)
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        help=f"output folder for {STYLE}, the bot; an existing run in it is resumed",
    )
    parser.add_argument(
        "--generations",
        type=options.whole(1, MOST_GENERATIONS),
        default=GENERATIONS,
        metavar="N",
        help="generations of the search; those before a stop count; "
        f"1 to {MOST_GENERATIONS} (default %(default)s)",
    )
    parser.add_argument(
        "--minutes",
        type=options.number_of("minutes", 0.001, 100_000),
        default=math.inf,
        metavar="X",
        help=explained(
            "--minutes",
            "0.001 to 100000; the generation in which they are over is the last",
            default="no limit",
        ),
    )
    options.add_seed_option(parser, "of all that is drawn")
    parser.add_argument(
        "--threads",
        type=options.whole(1, MOST_THREADS),
        metavar="N",
        help=explained(
            "--threads", f"the style does not depend on it; 1 to {MOST_THREADS}", default="the usable cores"
        ),
    )
    group = parser.add_argument_group("the population")
    group.add_argument(
        "--name",
        default=DEFAULTS.name,
        help="name of the style, by custom with a version (default %(default)s)",
    )
    group.add_argument(
        "--opponents",
        type=lambda text: tuple(name.strip() for name in text.split(",")),
        default=DEFAULTS.opponents,
        metavar="BOT,BOT,...",
        help="opponents of the styles: bots, style:FILE or net:FILE (default all bots)",
    )
    for field in POPULATION:
        options.add_field_option(group, EvolutionSettings.__dataclass_fields__[field])
    options.add_report(parser, run)
    options.add_config_options(parser)


def run(parsed: argparse.Namespace) -> int:
    """Evolve, and report the style; exit code 130 if it was interrupted."""
    config = options.config_of(parsed, MAPS)
    if parsed.map_seed is None:
        config = config.replace(map_seed=TRAINING_MAPS)
    with blamed_on("", ValueError):
        settings = EvolutionSettings(
            config=config,
            opponents=parsed.opponents,
            name=parsed.name,
            seed=parsed.seed,
            **{field: value for field in POPULATION if (value := getattr(parsed, field)) is not None},
        )
    options.check_folder("FOLDER", parsed.folder)
    started, numbers, seconds = time.monotonic(), count(1), 60 * parsed.minutes

    def show(evolution: Evolution, done: Generation) -> bool:
        """Log a line about a generation that has ended; return whether the time is over."""
        passed, shown = time.monotonic() - started, next(numbers)
        by_time = shown * (seconds / passed - 1)
        missing = math.ceil(max(0, min(parsed.generations - done.number, by_time)))
        LOG.info(
            f"generation {done.number:,} of {parsed.generations:,}: mean place {done.place:.1f} of "
            f"{settings.config.num_players}, of the best {done.best_place:.1f}  "
            f"{time_left(shown, missing, passed)}"
        )
        return bool(passed >= seconds)

    try:
        with (
            options.enough_memory("--height, --width, --num-players", options.size_of(settings.config)),
            blamed_on("FOLDER", ValueError),
        ):
            evolution = evolve(
                parsed.folder,
                settings,
                generations=parsed.generations,
                threads=parsed.threads or usable_cores(),
                on_generation=show,
            )
    except KeyboardInterrupt:
        LOG.error("interrupted\nall generations that have ended are kept; the same command resumes")
        return INTERRUPTED
    last, path = evolution.history[-1], os.path.join(parsed.folder, STYLE)
    games = sum(done.games for done in evolution.history)
    spent = sum(done.processor_seconds for done in evolution.history)
    text = (
        f"{path}: the style {evolution.best.name!r} after {last.number:,} generations, "
        f"{games:,} games and {spent / 60:.1f} minutes of processor time\n"
        f"It plays as style:{path}"
    )
    found = {
        "processor_seconds": spent,
        "settings": settings_values(settings),
        "style": evolution.best.to_dict(),
        "history": [done._asdict() for done in evolution.history],
    }
    options.report(parsed, text, lambda: provenance() | found)
    return 0
