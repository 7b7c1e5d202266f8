#!/usr/bin/env python3
"""Finds a strong style of a bot by evolution: a population plays bots, and its best are varied.

A style is a bot as data (``territorial.bots.Style``), some 40 numbers in a table of the batch: a population
needs neither Python while it plays nor a compiler, and one core plays hundreds of whole games per second.

    python examples/evolve_style.py runs/style                       two to three minutes of processor time
    python examples/evolve_style.py runs/style --generations 1000    resume it, for more generations
    python examples/evolve_style.py runs/other --seed 1 --minutes 10 --start settler,turtle
    python examples/evolve_style.py runs/small --size small --start random
    territorial match --seats style:runs/style/style.json,turtle,besieger,settler

The folder has ``style.json``, the best style so far, and ``generation.json``, from which the same command
resumes. The same settings give the same style, on any number of cores and with any stops.
"""

import argparse
import json
import math
import os
import time
from dataclasses import is_dataclass, replace
from pathlib import Path

import numpy as np

from territorial import GameConfig, VecGame, bots, match
from territorial.bots import FreeLand, Move, Style, targets
from territorial.files.atomic import check_unused, own_folder, write_file

SIZES = {"small": GameConfig(height=96, width=96, num_players=12), "full": GameConfig()}
MAPS, FIRST_MAP = 16, 2**20  # the seeds of the maps are far from those of matches, which begin at 0
KEPT = 0.9  # the weight of a seat falls to this with every generation: it was played beside other styles
DOUBT = 150  # after so many seats a score counts half: the best of many new styles was mostly lucky
MATCH_GAMES = 400  # which compare the style with all bots in the end
GENERATION, STYLE = "generation.json", "style.json"
MAY_CHANGE = ("folder", "generations", "minutes")  # options that may change when a run is resumed

# ---- variation -------------------------------------------------------------------------------------

# How often a number changes, the deviation of the logarithm of its factor, and how often all else changes.
CHANGED, SPREAD, REDRAWN = 0.25, 0.35, 0.08
NUMBERS = {  # by the fields of styles and their parts: the lowest and the highest value that is tried
    "interval": (10, 300),
    "opening": (50, 2500),
    "leader_share": (5, 60),
    "forgives": (2, 32),
    "send": (1, 100),
    "later": (1, 100),
    "surplus": (5, 150),
    "limit": (5, 150),
    "by_percent": (10, 100),
    "from_": (5, 150),
    "kill": (50, 400),
    "reserve": (5, 150),
}
SHARES = ("send", "later")  # in per cent, with one decimal
MAY_BE_OFF = ("opening", "leader_share", "forgives", "surplus", "from_", "kill", "reserve")  # 0 switches off
MEASURES = range(targets.BY_DENSITY, targets.BY_MOST_LAND + 1)
CONDITIONS = [1 << bit for bit in range(targets.NOT_LEADER.bit_length())]
CHOICES = {
    **dict.fromkeys(("tops_up", "waits", "after_second", "spares"), (False, True)),
    **dict.fromkeys(("by", "else_by"), MEASURES),
    "only": [0] * len(CONDITIONS) + CONDITIONS,  # half of the moves attack anyone
}
MOVES = ("first", "second", "third")


def changed(name, value, rng, is_redrawn):
    """Return a number of a field: drawn evenly by its logarithm, or else near ``value`` or the same."""
    low, high = NUMBERS[name]
    number = sum(value) / 2 if isinstance(value, tuple) else value  # of a range of which seats draw theirs
    if is_redrawn:
        is_off = name in MAY_BE_OFF and rng.random() < 0.3
        number = 0 if is_off else np.exp(rng.uniform(np.log(low), np.log(high)))
    elif number is None or number <= 0:
        return number
    elif rng.random() < CHANGED:
        number = np.clip(number * np.exp(rng.normal(0, SPREAD)), low, high)
    return round(float(number), 1) if name in SHARES else round(float(number))


def varied(part, rng, redrawn=REDRAWN):
    """Return a style, or a part of one, that is a little different; ``redrawn=1`` draws all of it."""
    changes = {}
    for name, value in vars(part).items():
        is_redrawn = rng.random() < redrawn
        if name in NUMBERS:
            changes[name] = changed(name, value, rng, is_redrawn)
        elif name in CHOICES and is_redrawn:
            changes[name] = CHOICES[name][rng.integers(len(CHOICES[name]))]
        elif name in MOVES and is_redrawn:
            changes[name] = varied(Move(), rng, redrawn=1) if rng.random() < 0.5 else None
        elif is_dataclass(value):
            changes[name] = varied(value, rng, redrawn)
    return replace(part, **changes)


def child(parents, name, rng):
    """Return a variation of one parent or of a mixture of two, and rarely a style that is drawn at random."""
    if not parents or rng.random() < REDRAWN:
        return varied(Style(name=name, interval=1, free=FreeLand(send=1), jitter=0), rng, redrawn=1)
    one, other = (parents[i] for i in rng.integers(len(parents), size=2))
    if rng.random() < 0.3:
        one = replace(one, **{field: getattr(other, field) for field in vars(one) if rng.random() < 0.5})
    return varied(replace(one, name=name, idea="", weakness="", jitter=0, start=100), rng)


# ---- games -----------------------------------------------------------------------------------------


def played(styles, opponents, games_per_style, config, rng):
    """Return which styles had seats in each game, and their places: two arrays (games, seats).

    Styles have a fifth of the seats of a game, and bots drawn from ``opponents`` the others.
    """
    seats = max(2, config.num_players // 5)
    order = np.concatenate([rng.permutation(len(styles)) for _ in range(games_per_style)])
    who = np.resize(order, (math.ceil(len(order) / seats), seats))
    where = np.argsort(rng.random((len(who), config.num_players)), axis=1)[:, :seats]
    threads = os.cpu_count() or 1
    game = VecGame(config, len(who), num_threads=threads, autoreset="disabled", observe=False)
    for k in range(len(who)):
        players = [opponents[i] for i in rng.integers(len(opponents), size=config.num_players)]
        for i, seat in zip(who[k], where[k], strict=True):
            players[seat] = styles[i]
        game.set_next_game(k, players, seed=int(rng.integers(2**63)))
    game.reset()
    while not game.state.over.all():
        game.step(repeat=20)
    return who, np.take_along_axis(game.state.doubled_place[:, 1:] / 2, where, axis=1)


def next_generation(parents, records, number, parsed):
    """Return the best sixth of a population after its games, with their records: seats played, total score.

    All that is drawn follows from the seed and the number of the generation, not from stops in between.
    """
    rng = np.random.default_rng([parsed.seed, number])
    names = [f"{parsed.name}:{number}.{i}" for i in range(parsed.population - len(parents))]
    styles = parents + [child(parents, name, rng) for name in names]
    records = np.concatenate([KEPT * records, np.zeros((len(names), 2))])
    config = SIZES[parsed.size].replace(num_maps=MAPS, map_seed=FIRST_MAP)
    who, places = played(styles, parsed.opponents.split(","), parsed.games_per_style, config, rng)
    # A seat scores 1 over its place, so that the first place is worth two second ones. From that the mean of
    # the game's styles is taken: some games are harder than others.
    scores = 1 / places - (1 / places).mean(axis=1, keepdims=True)
    np.add.at(records, who, np.stack([np.ones_like(scores), scores], axis=2))
    best = np.argsort(-records[:, 1] / (records[:, 0] + DOUBT), kind="stable")[: math.ceil(len(styles) / 6)]
    shown = f"mean place {places.mean():.1f} of {config.num_players}"
    print(f"generation {number:,} of {parsed.generations:,}: {shown}", flush=True)
    return [styles[i] for i in best], records[best]


# ---- the run ---------------------------------------------------------------------------------------


def starting_styles(start):
    """Return the styles of ``--start``, without one whose moves are random and cannot vary."""
    names = [] if start == "random" else start.split(",")
    loaded = [
        Style.load(name.removeprefix("style:")) if name.startswith("style:") else bots.make(name).style
        for name in names
    ]
    return [style for style in loaded if not style.at_random]


def evolve(parsed):
    """Play the generations that are missing in the folder; it is written after each of them."""
    folder = own_folder(parsed.folder)
    check_unused(folder, [STYLE], GENERATION)
    settings = {name: value for name, value in vars(parsed).items() if name not in MAY_CHANGE}
    number, parents = 0, starting_styles(parsed.start)[: parsed.population // 2]
    records = np.zeros((len(parents), 2))
    if (folder / GENERATION).exists():
        kept = json.loads((folder / GENERATION).read_bytes())
        for name, value in settings.items():
            if kept["settings"][name] != value:
                raise ValueError(f"{name} is {value!r}; {folder} began with {kept['settings'][name]!r}")
        number, parents = kept["number"], [Style.from_dict(values) for values in kept["styles"]]
        records = np.array(kept["records"])
    end = time.monotonic() + 60 * parsed.minutes
    while number < parsed.generations and time.monotonic() < end:
        number += 1
        parents, records = next_generation(parents, records, number, parsed)
        replace(parents[0], name=parsed.name, idea="", weakness="").save(folder / STYLE)
        styles = [one.to_dict() for one in parents]
        kept = {"settings": settings, "number": number, "records": records.tolist(), "styles": styles}
        write_file(folder / GENERATION, json.dumps(kept).encode())


def main(argv=None):
    """Evolve a style, and compare it with all bots."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="folder of all that is written")
    all_bots = ",".join(bots.NAMES)
    for name, kind, default, meaning in (
        ("generations", int, 200, "generations in all, those before a stop included"),
        ("minutes", float, math.inf, "minutes after which no generation begins"),
        ("seed", int, 0, "random seed"),
        ("name", str, "evolved-1", "name of the style, by custom with a version"),
        ("start", str, all_bots, "bots and style:FILE to begin with, or random"),
        ("opponents", str, all_bots, "bots, style:FILE and net:FILE to play against"),
        ("population", int, 96, "styles of a generation"),
        ("games-per-style", int, 12, "games that each style plays in a generation"),
    ):
        parser.add_argument(f"--{name}", type=kind, default=default, help=f"{meaning} (default %(default)s)")
    parser.add_argument(
        "--size",
        choices=SIZES,
        default="full",
        help="full: 32 players on 256 x 256 cells; small: 12 on 96 x 96 (default %(default)s)",
    )
    parsed = parser.parse_args(argv)
    if parsed.name in bots.RESERVED_NAMES:
        parser.error(f"--name is {parsed.name}, the name of a bot of the library; choose another one")
    try:
        evolve(parsed)
        config = SIZES[parsed.size].replace(num_maps=MAPS)
        seats = [f"style:{parsed.folder / STYLE}", *bots.NAMES, *bots.LEARNED]
        print(match(seats, config, MATCH_GAMES, deal=True, processes=1).table())
    except (OSError, ValueError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
