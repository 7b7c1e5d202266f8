"""The tables of docs/champion.md: how strong the champion is and what it does, from results on file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.tables.bots import spanned
from benchmarks.tables.machines import line_about
from territorial.cli.obs_tables import markdown


def exam(found: Mapping[str, Any] | None) -> str:
    """Return the table of an examination."""
    if found is None:
        return "`benchmarks/bots/champion.py` measures it; no result is on file."
    about = (
        f"`{found['player']}`; two seats of 32 can win 16 times their fair share. In brackets: the ends of "
        f"95 % intervals. {line_about(found)} (`benchmarks/bots/champion.py`)"
    )
    return "\n".join(
        [markdown(("games", "figure", "the champion", "the best bot"), _rows(found), "llrr"), "", about]
    )


def hardest(found: Mapping[str, Any] | None) -> str:
    """Return the table of small games against each bot, the hardest first."""
    if found is None:
        return "`benchmarks/bots/champion.py` measures it; no result is on file."
    of = {every: one["above"] for every, one in found["small"].items()}
    first = next(iter(of.values()))
    rows = [
        (f"`{bot}`", *(_percent(above[bot]) for above in of.values()))
        for bot in sorted(first, key=lambda bot: first[bot]["value"])
    ]
    return markdown(("ten of", *(f"decides every {every} ticks" for every in of)), rows, "l" + "r" * len(of))


def ways(found: Mapping[str, Any] | None) -> str:
    """Return the table of what the champion does, by time."""
    if found is None:
        return "`benchmarks/bots/champion_ways.py` measures it; no result is on file."
    titles = (
        "ticks",
        "launches in 100 ticks",
        "of its troops",
        "at free land",
        "at weaker players",
        "troops",
        "land",
    )
    rows = [
        (
            f"{part['first']:,} to {part['end']:,}",
            f"{part['launches']:.2f}",
            _share(part["part"]),
            _share(part["at_neutral"]),
            _share(part["at_weaker"]),
            _share(part["density"]),
            f"{100 * part['land']:.1f} %",
        )
        for part in found["parts"]
    ]
    about = (
        f"Means over {found['games']} games of `mixed-2`, of its seats that live; of the troops that a "
        'launch takes, the median. "At weaker players" is of launches at players, troops are in parts of the '
        "hard cap. "
        f"{line_about(found)} (`benchmarks/bots/champion_ways.py`)"
    )
    return "\n".join([markdown(titles, rows, "l" + "r" * (len(titles) - 1)), "", about])


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f} %"


def _rows(found: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    for every, one in found["small"].items():
        games = f"12 players on 96 x 96, bots decide every {every} ticks"
        yield games, "above so many of the bots' seats", f"{100 * one['mean']:.0f} %", "-"
        yield games, f"... of the hardest bot's, `{one['worst']}`", _percent(one["above"][one["worst"]]), "-"
    for name, one in found["full"].items():
        games = f"32 players on 256 x 256, {name}"
        yield games, "wins over the fair share", spanned(one["fair"]), "-"
        yield games, "mean place", spanned(one["place"]), "-"
    yield (
        "8 seats against 24 besiegers",
        "wins over the fair share",
        spanned(found["besiegers"]["fair"]),
        "-",
    )
    for name, one in found["unseen"].items():
        best = f"{spanned(one['place_of_best_bot'])}, `{one['best_bot']}`"
        yield name, "mean place", spanned(one["place"]), best
    alone = found["alone"]
    yield "32 of its own", "games that the last tick ends", f"{100 * alone['undecided']:.1f} %", "-"
    stalled = f"{100 * alone['long_undecided']:.1f} %; half end by tick {alone['long_median_ticks']:,.0f}"
    yield "... without the usual limit", "games of more than 60,000 ticks", stalled, "-"


def _percent(one: Mapping[str, float]) -> str:
    return f"{100 * one['value']:.0f} % ({100 * one['low']:.0f} to {100 * one['high']:.0f})"
