"""The tables about bots in README.md and docs/bots.md, which `python -m benchmarks.tables` writes there.

They are made of the bots' own data, and of tournament.json, match_mixed_2.json, match_levels_1.json,
invasion.json, bot_health.json, bot_cost.json, evolved.json and team_fields.json in benchmarks/results.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.tables.machines import line_about
from territorial import bots
from territorial.bots.learned import learned_bot
from territorial.bots.style import Range, Style
from territorial.bots.targets import BY_FORCE
from territorial.cli.obs_tables import markdown
from territorial.engine.seats import LINEUPS
from territorial.evaluation.statistics import Z

LEVELS = ("very_easy", "easy", "normal", "hard", "very_hard", "impossible")
STRONGEST = 5
"""Players in the short table of the README."""
INTERVALS = (
    "In brackets the ends of 95 % intervals: of places over resampled games, of wins Wilson's, of ratings "
    f"{Z} sigma to both sides."
)


# ---- of the bots' own data -------------------------------------------------------------------------


def library() -> str:
    """Return the table of all bots: what they do and how to beat them."""
    rows = [
        (f"`{bot.name}`", _span(bot.style.interval), bot.idea, bot.beaten_by)
        for bot in map(bots.make, bots.NAMES)
    ]
    rows += [
        (f"`{name}`", _span(learned_bot(name).interval), about.idea, about.beaten_by)
        for name, about in bots.LEARNED.items()
    ]
    rows += [
        (f"`{name}`", _span(style.interval), style.idea, style.beaten_by)
        for name, style in bots.GIVERS.items()
    ]
    return markdown(("bot", "decides every", "what it does", "how to beat it"), rows, "lrll")


def levels() -> str:
    """Return the table of the levels."""
    rows = []
    for name in LEVELS:
        style = bots.make(name).style
        first, last = _sent(style)
        rows.append(
            (f"`{name}`", _span(style.interval), first, last, f"{_weakest(style)} %", str(style.start))
        )
    header = (
        "level",
        "ticks between decisions",
        "sends at first",
        "in the end",
        "at the weakest",
        "handicap",
    )
    return markdown(header, rows, "lrrrrr")


def _span(value: Range) -> str:
    return f"{value[0]} to {value[1]}" if isinstance(value, tuple) else str(value)


def _sent(style: Style) -> tuple[str, str]:
    """Return the thousandths that a level sends, at first and in the end."""
    free = style.free
    if free is None:
        raise ValueError(f"the level {style.name} takes no free land")
    return _span(free.send), _span(free.send if free.later is None else free.later)


def _weakest(style: Style) -> int:
    """Return how many times in a hundred a level looks for the weakest neighbour."""
    move = style.second
    if move is None:
        raise ValueError(f"the level {style.name} attacks no player")
    return move.by_percent if move.by == BY_FORCE else 0


# ---- of contests -----------------------------------------------------------------------------------


def ratings(found: Mapping[str, Any]) -> str:
    """Return the table of the ratings of all bots."""
    config = found["contest"]["settings"]
    return "\n".join(
        [
            _standings(found),
            "",
            f"{found['contest']['games']:,} games of {config['num_players']} seats on {config['height']} x "
            f"{config['width']} cells ({config['num_maps']} maps, `{config['map']}`), no handicap. The "
            f"seats of each game are drawn at random among the {len(found['players'])} bots. Wins are over "
            f"the fair share, that of a player as good as the others. {INTERVALS} Command: `territorial "
            f"tournament --games {found['contest']['games']} --json benchmarks/results/tournament.json`.",
        ]
    )


def strongest(found: Mapping[str, Any]) -> str:
    """Return the first lines of the table of the ratings."""
    config = found["contest"]["settings"]
    about = (
        f"Of {len(found['players'])} players, in {found['contest']['games']:,} games of "
        f"{config['num_players']} seats on {config['height']} x {config['width']} cells. {INTERVALS}"
    )
    return "\n".join([_standings(found, STRONGEST), "", about])


def match(line_up: str, found: Mapping[str, Any]) -> str:
    """Return the standings of a match of a line-up, and what its games were like."""
    if found["contest"]["players"] != list(LINEUPS[line_up].seats):
        raise ValueError(f"the result is no match of {line_up}")
    shape = found["shape"]
    return "\n".join(
        [
            _standings(found),
            "",
            f"{shape['games']:,} games of `{line_up}`, median length {shape['length']['median']:,.0f} ticks, "
            f"of which the time limit stops {_percent(shape['stopped_by_time'])}. {INTERVALS}",
        ]
    )


def _standings(found: Mapping[str, Any], most: int | None = None) -> str:
    rows = [
        (
            f"`{line['player']}`",
            f"{line['seats']:,}",
            _interval(line["place"], 1),
            _interval(line["fair"], 2),
            _rating(line["rating"]),
        )
        for line in found["standings"][:most]
    ]
    return markdown(("bot", "seats", "mean place", "wins over fair share", "rating"), rows, "lrrrr")


def _interval(estimate: Mapping[str, float], digits: int) -> str:
    value, low, high = (f"{estimate[name]:.{digits}f}" for name in ("value", "low", "high"))
    return f"{value} ({low} to {high})"


def _rating(rating: Mapping[str, float]) -> str:
    mu, around = rating["mu"], Z * rating["sigma"]
    return f"{mu:.1f} ({mu - around:.1f} to {mu + around:.1f})"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


# ---- of the other reports --------------------------------------------------------------------------


def turtles(found: Mapping[str, Any]) -> str:
    """Return the table of those who can invade a field of turtles at all."""
    names, fair, stopped = found["bots"], found["fair"], found["stopped"]
    long = found["to_the_end"]
    column = names.index(long["field"])
    able = [i for i in range(len(names)) if i != column and fair[i][column] > 0]
    rows = [
        (
            f"`{names[i]}`",
            f"{fair[i][column]:.2f}",
            _percent(stopped[i][column]),
            f"{long['invaders'][names[i]]['fair']:.2f}",
            _percent(long["invaders"][names[i]]["stopped"]),
        )
        for i in sorted(able, key=lambda i: -fair[i][column])
    ]
    header = ("8 seats", "wins over fair share", "stopped", "the same, played to the end", "stopped")
    return "\n".join(
        [
            markdown(header, rows, "lrrrr"),
            "",
            f"{found['games']} games with `{long['field']}` on the other 24 seats; all other bots win none. "
            f"The first two columns have the usual time limit, at which the player with most land wins, the "
            f"others have one of {long['max_ticks']:,} ticks (`benchmarks/bots/invasion.py`).",
        ]
    )


def health(found: Mapping[str, Any]) -> str:
    """Return the table of what games are like by field."""
    rows = []
    for name, shape in found["health"].items():
        alive = shape["alive"]
        gone = shape["neutral_gone"]
        rows.append(
            (
                f"`{name}`",
                "never" if gone is None else f"{gone['median']:,.0f}",
                *(
                    f"{alive[tick]['median']:g}" if tick in alive else "-"
                    for tick in ("1000", "2000", "4000")
                ),
                f"{shape['length']['median']:,.0f}",
                _percent(shape["stopped_by_time"]),
                f"{found['to_the_end'][name]['length']['median']:,.0f}",
            )
        )
    ticks = ("alive at 1,000", "at 2,000", "at 4,000")
    header = ("seats", "land gone", *ticks, "length", "stopped", "length without limit")
    return "\n".join(
        [
            markdown(header, rows, "lrrrrrrr"),
            "",
            f"Medians of {found['games']} games of 32 seats; a bot plays against itself. Players "
            "alive are counted in games in progress; a dash where fewer than half of them are. The limit "
            f"is {found['max_ticks']:,} ticks, in the last column {found['longest']:,} "
            "(`benchmarks/bots/bot_health.py`).",
        ]
    )


def fairness(found: Mapping[str, Any]) -> str:
    """Return the table of the tests of fairness."""
    tests = {
        "seats": "places by seat number (Friedman)",
        "quarters_wins": "wins by the quarter of the map of the start",
        "quarters_best": "the best eight by that quarter",
    }
    rows = [
        (
            f"`{name}`",
            meaning,
            f"{result[test]['statistic']:.1f}",
            str(result[test]["freedom"]),
            f"{result[test]['p']:.2f}",
        )
        for name, result in found["fairness"].items()
        for test, meaning in tests.items()
    ]
    header = ("32 of", "test", "chi-square", "degrees of freedom", "p")
    return "\n".join(
        [
            markdown(header, rows, "llrrr"),
            "",
            f"{found['fair_games']:,} games each on an open map of 256 x 256 cells "
            "(`benchmarks/bots/bot_health.py`).",
        ]
    )


def cost(found: Mapping[str, Any]) -> str:
    """Return the table of what bots cost."""
    fields = sorted(found["fields"].items(), key=lambda item: -item[1]["bots_us"])
    rows = [(f"`{name}`", f"{cost['bots_us']:.2f}", f"{cost['step_us']:.1f}") for name, cost in fields]
    return "\n".join(
        [
            markdown(("32 of", "bots, µs a step", "the whole step, µs"), rows, "lrr"),
            "",
            f"Whole games on 256 x 256 cells, {found['games']} side by side on one core of "
            f"{found['machine']['cpu']}, against the same games replayed from the launches written "
            f"down; medians of {found['repeats']} runs (`benchmarks/bots/bot_cost.py`).",
        ]
    )


def evolved(found: Mapping[str, Any] | None) -> str:
    """Return the table of how strong evolved styles are, on maps and seeds that no evolution had."""
    if found is None:
        return "`benchmarks/bots/evolved.py` measures it; no result is on file."
    rows = [_evolved_row(one) for one in found["styles"]]
    names = list(found["styles"][0]["exam"]["full"])
    header = ("seed", "games", "minutes", *names, "place", "above bots", "above the hardest")
    about = (
        f"Wins as multiples of the fair share, in {found['games']:,} games at full size. The style has two "
        "seats of 32, so 16 is the most. The place is the mean in the first of these fields. The last two "
        "columns are of small games, two seats of 12 against ten of each bot: the share of the seats that it "
        "is placed above, the mean of all bots and the least. Maps and seeds are none of evolution; "
        "minutes are of processor time, and in brackets are the ends of 95 % intervals. "
        f"{line_about(found)} (`benchmarks/bots/evolved.py`)"
    )
    return "\n".join([markdown(header, rows, "r" * len(header)), "", about])


def _evolved_row(one: Mapping[str, Any]) -> tuple[str, ...]:
    full, above = one["exam"]["full"], one["exam"]["above"]
    hardest = min(above, key=lambda bot: above[bot]["value"])
    return (
        str(one["seed"]),
        f"{sum(done['games'] for done in one['curve']):,}",
        f"{sum(done['processor_seconds'] for done in one['curve']) / 60:.1f}",
        *(spanned(field["fair"]) for field in full.values()),
        spanned(next(iter(full.values()))["place"]),
        f"{100 * sum(each['value'] for each in above.values()) / len(above):.0f} %",
        f"{100 * above[hardest]['value']:.0f} % (`{hardest}`)",
    )


def spanned(figure: Mapping[str, float]) -> str:
    """Return a figure with the ends of its interval."""
    return f"{figure['value']:.1f} ({figure['low']:.1f} to {figure['high']:.1f})"


# ---- games of teams --------------------------------------------------------------------------------


def team_fields(found: Mapping[str, Any]) -> str:
    """Return the table of the styles in fields of four teams, and what games of teams look like."""
    fields, line_up = found["fields"], found["line_up"]
    styles = sorted(fields["styles"].items(), key=lambda one: one[1]["mean_place"])
    rows = [
        (
            f"`{name}`",
            str(one["teams"]),
            f"{one['mean_place']:.2f}",
            "{:.2f} ({:.2f} to {:.2f})".format(*one["fair_wins"]),
            f"{one['given_share']:.1%}",
        )
        for name, one in styles
    ]
    header = "eight of", "teams", "mean place", "wins over fair share", "given"
    lines = [
        markdown(header, rows, "lrrrr"),
        "",
        f"{fields['games']} games of four teams of eight on 256 x 256 cells. Each team is of one style, and "
        "those of a game are drawn among all bots. `given` is what went to allies, of all interest and "
        "income. In brackets the ends of 95 % intervals (Wilson's). "
        "Command: `python benchmarks/bots/team_fields.py`.",
        "",
        f"- {_look(fields, 'These games')}",
        f"- {_look(line_up, 'Games of `teams-4x8`')} There {line_up['given_share']:.1%} is given.",
    ]
    for giver, one in found["givers"].items():
        won = "{:.1%} ({:.1%} to {:.1%})".format(*one["wins"])
        lines.append(
            f"- Sixteen `{giver}` against sixteen `{one['model']}`: the givers win {won} of {one['games']} "
            f"games, and give {one['given_share']:.1%}."
        )
    for spawns, one in found["equals"].items():
        won = "{:.1%} ({:.1%} to {:.1%})".format(*one["first_wins"])
        lines.append(
            f'- Two teams of equal bots, `team_spawns` "{spawns}": the first wins {won} of '
            f"{one['games']:,} games."
        )
    return "\n".join(lines)


def _look(found: Mapping[str, Any], games: str) -> str:
    ticks, alive = found["ticks"], found["survivors"]
    return (
        f"{games} last {ticks['median']:,} ticks in the median ({ticks['least']:,} to {ticks['most']:,}), "
        f"and the time limit stops {found['stopped_by_time_share']:.0%}. {alive['median']:g} players are "
        f"alive at the end in the median ({alive['least']} to {alive['most']})."
    )
