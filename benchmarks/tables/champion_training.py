"""The tables of docs/champion.md on how it is trained: ways to train, seeds, the curve, an exploiter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.tables.machines import line_about
from territorial.cli.obs_tables import markdown

DRAWN = ("drawn: above so many of the bots' seats", "and over that")
CURVE = "![Strength over minutes of processor time](images/champion_curve.png)"
FOUND = (
    "above so many of the bots' seats, 12 players on 96 x 96",
    "wins over the fair share, mixed-2",
    "mean place, mixed-2",
)
GAINED = ("and over that: of the bots' seats", "of wins over the fair share")


def ablations(found: Mapping[str, Any] | None) -> str:
    """Return the table of ways to train by examples/pairs_ppo.py."""
    return _ways(found, with_rllib=False)


def roads(found: Mapping[str, Any] | None) -> str:
    """Return the table of the ways to train with RLlib, beside the default of examples/pairs_ppo.py."""
    return _ways(found, with_rllib=True)


def seeds(found: Mapping[str, Any] | None) -> str:
    """Return the table of roads from several seeds."""
    if found is None:
        return _none("champion_seeds")
    rows = [
        (
            str(one["seed"]),
            f"{sum(one['minutes'].values()):.0f}",
            ", ".join(f"{name} {minutes:.0f}" for name, minutes in one["minutes"].items()),
            *_figures(one["exam"]),
        )
        for one in found["roads"]
    ]
    mean = found["mean"]
    rows.append(("mean", f"{found['minutes']['value']:.0f}", "", *_figures(mean)))
    about = f"{_exam_of(found)} Intervals of the mean are over seeds. {_made(found, 'champion_seeds')}"
    header = ("seed", "minutes of processor time", "of these", *FOUND)
    return "\n".join([markdown(header, rows, "lrlrrr"), "", about])


def exploiter(found: Mapping[str, Any] | None) -> str:
    """Return the table of what an exploiter came to among champions alone."""
    if found is None:
        return _none("champion_exploiter")
    rows = [
        (
            f"{point['minutes']:.0f}",
            *(
                cell
                for field in ("small", "full")
                for cell in (_percent(point[field]["above"]), _number(point[field]["fair"]))
            ),
        )
        for point in found["held_out"]
    ]
    header = (
        "minutes of processor time",
        "2 of 12: above the champions' seats",
        "wins over the fair share",
        "2 of 32: above the champions' seats",
        "wins over the fair share",
    )
    above, fair, place = _figures(found["bots"])
    about = (
        f"The champion is `{found['champion']}`; {found['games']} games a cell. Another champion would be "
        "above 50 %, and win once the fair share. Against bots, the exploiter is above "
        f"{above} of their seats, wins {fair} times its fair share in mixed-2, and has mean place {place}. "
        f"{_made(found, 'champion_exploiter')}"
    )
    return "\n".join([markdown(header, rows, "rrrrr"), "", about])


def curve(found: Mapping[str, Any] | None) -> str:
    """Return the picture of the curves, and what they come to."""
    if found is None:
        return _none("champion_curve")
    rows = [
        (label, point["what"], f"{point['minutes']:.0f}", *_figures(point))
        for label, points in found["curves"].items()
        for point in _told(points)
    ]
    header = ("run", "", "minutes of processor time", *FOUND)
    table = markdown(header, rows, "llrrrr")
    return "\n".join([CURVE, "", table, "", f"{_exam_of(found)} {_made(found, 'champion_curve')}"])


def _told(points: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return what a run began with, and its last network."""
    return [*(point for point in points[:-1] if point["what"] != "network"), points[-1]]


def _ways(found: Mapping[str, Any] | None, *, with_rllib: bool) -> str:
    if found is None:
        return _none("champion_roads")
    rows = [
        (name, arm["differs"] + _held(arm), _minutes(arm), *_figures(arm["mean"]), *_gains(arm), *_drawn(arm))
        for name, arm in found["arms"].items()
        if arm["rllib"] is with_rllib or (name == arm["of"] and not arm["rllib"])
    ]
    seeds_run = {len(arm["runs"]) for arm in found["arms"].values()}
    about = (
        f"{found['minutes']:g} minutes of processor time each; from nothing, also the "
        f"{found['preparation_minutes']:.0f} that the clone took. Means of {min(seeds_run)} seeds or more; "
        "in brackets are the ends of 95 % intervals over them. A gain is over the way that is named. "
        f"{_exam_of(found)} {_made(found, 'champion_roads')}"
    )
    header = ("way", "what differs", "minutes", *FOUND, *GAINED, *DRAWN)
    return "\n".join([markdown(header, rows, "llrrrrrrrr"), "", about])


def _held(arm: Mapping[str, Any]) -> str:
    """Return how many networks never act, whose figures then say nothing of what they have learned."""
    held, count = arm["holds"], len(arm["runs"])
    return f"; **{held} of {count} never act** by their likeliest action" if held else ""


def _drawn(arm: Mapping[str, Any]) -> Iterator[str]:
    """Yield the figures of networks that draw their actions."""
    gain = arm.get("gain_drawn")
    yield _percent(arm["mean_drawn"]["above"])
    yield "" if gain is None else _percent(gain["above"], "+.0f")


def _minutes(arm: Mapping[str, Any]) -> str:
    """Return the minutes that were measured, of all runs together."""
    return f"{sum(run['processor_minutes'] for run in arm['runs']) / len(arm['runs']):.1f}"


def _gains(arm: Mapping[str, Any]) -> Iterator[str]:
    gain = arm.get("gain")
    yield "" if gain is None else f"{_percent(gain['above'], '+.0f')} over `{arm['of']}`"
    yield "" if gain is None else _number(gain["fair"], "+.1f")


def _figures(found: Mapping[str, Any]) -> tuple[str, str, str]:
    return _percent(found["above"]), _number(found["fair"]), _number(found["place"])


def _percent(one: Mapping[str, float | None], form: str = ".0f") -> str:
    """Return a share with the ends of its interval, where it has one."""
    scaled = {name: None if value is None else 100 * value for name, value in one.items()}
    return _number(scaled, form, " %")


def _number(one: Mapping[str, float | None], form: str = ".1f", unit: str = "") -> str:
    """Return a figure with the ends of its interval, where it has one."""
    low, high = one["low"], one["high"]
    span = "" if low is None or high is None else f" ({low:{form}} to {high:{form}})"
    return f"{one['value']:{form}}{unit}{span}"


def _exam_of(found: Mapping[str, Any]) -> str:
    return f"{found['games']} games at full size each."


def _made(found: Mapping[str, Any], script: str) -> str:
    return f"{line_about(found)} (`benchmarks/bots/{script}.py`)"


def _none(script: str) -> str:
    return f"`benchmarks/bots/{script}.py` measures it; no result is on file."
