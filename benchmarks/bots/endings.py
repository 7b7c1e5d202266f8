#!/usr/bin/env python3
"""Measures how games end: by a win or at the limit.

    python benchmarks/bots/endings.py                                   five minutes of processor time
    python benchmarks/bots/endings.py --set attackers_per_defender=1    the same under another constant
    python benchmarks/bots/endings.py --player net:runs/champion/pairs/network.safetensors --quick

Games are on maps and seeds of no training. The player is the champion unless ``--player`` names another.

- alone: the player on all 32 seats of 256 x 256 cells; half: on 16, and settlers on the other 16; guest: on
  two seats among mixed-2; mixed-2, dealt and teams-4x8: bots only; styles: four seats for each of eight bots.
  The same of some fields with decisions every 50 ticks, and the player on every fourth seat among dealt bots
  on boards of 64 x 64 with 8 players to 512 x 512 with 128.
- won: games that a player or a team wins before the limit of ticks; length: their median in ticks.
- alive, leader: living seats, and the largest land of a seat in per cent, medians of all games at some ticks;
  a game that is over counts as it ended.
- launches: of a living seat per 500 ticks, from tick 1,000 on.
- rho: Spearman's correlation of land at tick 1,000 with the final order, the mean of the games.
- holding: the same games once more, in which one seat of the player holds from tick 1,000 on: its mean place
  and the games that it wins, and the same of the seat where it plays on. Only for fields with the player.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import territorial
from benchmarks import harness
from benchmarks.bots.exam_games import EXAM_MAPS, EXAM_SEED, InEngine, add_options, dealt, lineup
from territorial.bots.bot_files import bot_of_file, is_bot_file
from territorial.cli import options
from territorial.config import GameConfig
from territorial.engine.seats import LINEUPS, name_of
from territorial.evaluation.intervals import wilson
from territorial.typing import Floats, Ints

SIDE_BY_SIDE = 16
STEP = 500
"""Ticks from one look at a game to the next."""
EARLY = 1_000
"""The tick at which the land is compared with the final order, and from which a seat holds."""
LOOKS = (1_000, 2_000, 4_000, 8_000)
STYLES = ("settler", "vulture", "opportunist", "turtle", "besieger", "metronome", "banker", "sprinter")
NEVER = 2**62
"""A tick that no game reaches."""


class Field(NamedTuple):
    """Which games: the rules, the seats of each, drawn anew, and whether the first seat is the player's."""

    config: GameConfig
    seats: Callable[[np.random.Generator], Sequence[InEngine]]
    has_player: bool = False


class Endings(NamedTuple):
    """How E games of P seats went, looked at every STEP ticks, N times."""

    places: Floats  # (E, P) of seats as the field lists them
    ticks: Ints  # (E,)
    was_won: Any  # bool (E,)
    land: Ints  # (E, N, P)
    launches: Floats  # (E,) of a living seat per STEP ticks, from EARLY on

    def correlation(self) -> float:
        """Return the mean over the games of Spearman's correlation of land at EARLY with the final order."""
        land = self.land[:, EARLY // STEP - 1]
        found = [_spearman(-own, places) for own, places in zip(land, self.places, strict=True)]
        return float(np.nanmean(found))


def main(argv: list[str] | None = None) -> int:
    """Play, print and return the exit code."""
    parser = harness.parser_of(__doc__)
    harness.add_quick(parser)
    parser.add_argument("--player", default="champion", help="bot of the strong fields (default %(default)s)")
    parser.add_argument("--only", nargs="+", metavar="FIELD", help="fields to play (default all)")
    add_options(parser, 32, "so many of each field")
    options.add_config_options(parser)
    parsed = parser.parse_args(argv)
    player = bot_of_file("player", parsed.player) if is_bot_file(parsed.player) else parsed.player
    games = 4 if parsed.quick else parsed.games
    result = {}
    print("| field | won | length | alive, leader at " + "; ".join(f"{tick:,}" for tick in LOOKS), end=" ")
    print("| launches | rho | holding: place, wins | playing on | wins of bots, share |")
    print("|---|" + "--:|" * 7 + "---|")
    for name, field in fields(options.config_of(parsed), player).items():
        if parsed.only is None or name in parsed.only:
            harness.progress(name)
            result[name] = report(field, games, parsed.threads)
            harness.progress("")
            print(f"| {name} | " + " | ".join(result[name].values()) + " |", flush=True)
    harness.write(parsed.json, {"player": parsed.player, "games": games, "fields": result})
    return 0


def fields(rules: GameConfig, player: InEngine) -> dict[str, Field]:
    """Return the fields by name, under the constants of ``rules``."""
    full = rules.replace(height=256, width=256, num_players=32, **EXAM_MAPS)
    found = {
        "alone": Field(full, lambda _: [player] * 32, True),
        "half": Field(full, lambda _: [player] * 16 + ["settler"] * 16, True),
        "guest": Field(full, lambda rng: [player, player, *lineup("mixed-2")(30, rng)], True),
        "mixed-2": Field(full, lambda rng: lineup("mixed-2")(32, rng)),
        "dealt": Field(full, lambda rng: dealt(32, rng)),
        "styles": Field(full, lambda _: STYLES * 4),
        "teams-4x8": Field(full.replace(teams=4), lambda _: LINEUPS["teams-4x8"].seats),
    }
    slow = {name: found[name] for name in ("alone", "half", "mixed-2")}
    found |= {
        f"{name}, every 50": one._replace(config=one.config.replace(decision_every=50))
        for name, one in slow.items()
    }
    for side, count in ((64, 8), (128, 16), (512, 128)):
        config = full.replace(height=side, width=side, num_players=count)
        found[f"{side} x {side}"] = Field(config, _quarter(player, count), True)
    return found


def _quarter(player: InEngine, count: int) -> Callable[[np.random.Generator], Sequence[InEngine]]:
    return lambda rng: [*[player] * (count // 4), *dealt(count - count // 4, rng)]


def report(field: Field, games: int, threads: int) -> dict[str, str]:
    """Return the row of a field, by column."""
    played = play(field, games, threads)
    looks = [played.land[:, tick // STEP - 1] for tick in LOOKS if tick <= field.config.max_ticks]
    cells = np.maximum(played.land.sum(2).max(1), 1)
    shares = [np.median(land.max(1) / cells) for land in looks]
    row = {
        "won": f"{played.was_won.mean():.0%}",
        "length": f"{np.median(played.ticks):,.0f}",
        "looks": "; ".join(
            f"{np.median((land > 0).sum(1)):.0f}, {share:.0%}"
            for land, share in zip(looks, shares, strict=True)
        ),
        "launches": f"{played.launches.mean():.2f}",
        "rho": f"{played.correlation():.2f}",
        "holding": "-",
        "playing": "-",
    }
    if field.has_player:
        row["holding"] = _of_first(play(field, games, threads, holds=True))
        row["playing"] = _of_first(played)
    return row | {"bots": _wins(field, played)}


def _of_first(played: Endings) -> str:
    share, low, high = wilson(float((played.places[:, 0] == 1).mean()), len(played.places))
    return f"{played.places[:, 0].mean():.1f}, {share:.0%} ({low:.0%} to {high:.0%})"


def _wins(field: Field, played: Endings) -> str:
    """Return the share of the wins of each player that wins any, the most first."""
    won: dict[str, float] = {}
    for seats, places in zip(_line_ups(field, len(played.places)), played.places, strict=True):
        first = np.flatnonzero(places == places.min())
        for i in first:
            name = str(name_of(seats[i])).removesuffix("-1")
            won[name] = won.get(name, 0) + 1 / len(first)
    total = sum(won.values())
    best: Mapping[str, float] = dict(sorted(won.items(), key=lambda item: -item[1]))
    return ", ".join(f"{name} {count / total:.0%}" for name, count in best.items())


def _line_ups(field: Field, games: int) -> list[Sequence[InEngine]]:
    rng = np.random.default_rng(EXAM_SEED)
    return [field.seats(rng) for _ in range(games)]


def play(field: Field, games: int, threads: int, *, holds: bool = False) -> Endings:
    """Return how so many games of a field went; ``holds``: their first player holds from EARLY on."""
    line_ups = _line_ups(field, games)
    rng = np.random.default_rng(EXAM_SEED)
    is_dealt = field.config.teams is None  # teams keep their blocks of seats
    orders = [rng.permutation(len(seats)) if is_dealt else np.arange(len(seats)) for seats in line_ups]
    parts = [
        _batch(field.config, line_ups[i : i + SIDE_BY_SIDE], orders[i : i + SIDE_BY_SIDE], i, threads, holds)
        for i in range(0, games, SIDE_BY_SIDE)
    ]
    return Endings(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _batch(
    config: GameConfig,
    line_ups: Sequence[Sequence[InEngine]],
    orders: Sequence[Ints],
    first: int,
    threads: int,
    holds: bool,
) -> Endings:
    """Play one game for each of ``line_ups``; player i of game k sits on seat orders[k][i]."""
    count = len(line_ups)
    game = territorial.VecGame(
        config, count, seats=line_ups[0], num_threads=threads, autoreset="disabled", observe=False
    )
    for k, (seats, order) in enumerate(zip(line_ups, orders, strict=True)):
        game.set_seats(k, [seats[i] for i in np.argsort(order)])
    game.reset(seeds=range(EXAM_SEED + first, EXAM_SEED + first + count))
    state, rows = game.state, np.arange(count)[:, None]
    where = np.array(orders) + 1  # (E, P)
    land, launches, living = [], np.zeros(count), np.zeros(count)
    for tick in range(STEP, config.max_ticks + 1, STEP):
        for _ in range(STEP // config.decision_every):
            game.step()
            if tick > EARLY:
                launches += (game.launches().target >= 0).sum(1)
        alive = state.alive[:, 1:].sum(1) * (state.over == 0)
        living += alive * (tick > EARLY)
        land.append(state.land[rows, where])
        if tick == EARLY and holds:
            state.wake[np.arange(count), where[:, 0]] = NEVER
    return Endings(
        places=state.doubled_place[rows, where] / 2,
        ticks=state.tick.copy(),
        was_won=state.tick < config.max_ticks,
        land=np.stack(land, 1),
        launches=launches / np.maximum(living, 1),
    )


def _spearman(first: Any, second: Any) -> float:
    """Return the rank correlation of two rows of numbers, equal ones sharing the mean of their ranks."""
    sides = ("left", "right")
    ranks = [np.searchsorted(np.sort(row), row, side) for row in (first, second) for side in sides]
    with np.errstate(invalid="ignore"):
        return float(np.corrcoef(ranks[0] + ranks[1], ranks[2] + ranks[3])[0, 1])


if __name__ == "__main__":
    sys.exit(main())
