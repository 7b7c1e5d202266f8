"""The tables about networks on pairs: what they learn, how little whole numbers change, what they cost."""

from __future__ import annotations

from typing import Any

from benchmarks.derived_figures import lead_of_pairs
from benchmarks.tables.machines import cpu_of
from territorial.cli import obs_tables

OPPONENTS = {
    "batched": "one network in PyTorch, one call for all games",
    "one by one": "32 networks in PyTorch, a call for each",
    "pool, features": "32 snapshots in the pool, two layers on features",
    "pool, reference network": "32 snapshots in the pool, the reference network",
}
WAYS = {"greedy": "the likeliest actions", "drawn": "actions drawn by their probabilities"}


def learned(found: dict[str, Any]) -> str:
    """Return the table of places while training on pairs and on features, and at the end."""
    rows = [
        (f"{name}, seed {run['seed']}", *_curve(run), _with_interval(run["place"], run["half"]))
        for name, runs in found["networks"].items()
        for run in runs
    ]
    parts = (f"{i}/4 of the time" for i in range(1, 5))
    header = ("mean place", "game steps", *parts, "unseen games")
    game = found["game"]
    others = game["num_players"] - game["agent_seats"]
    ahead = [lead > 0 for lead in lead_of_pairs(found)]
    about = (
        f"With {sum(ahead)} of {len(ahead)} seeds pairs lead by more than the interval of the difference. "
        f"{game['height']} x {game['width']}, {game['agent_seats']} agents and {others} `{game['bot']}`; "
        f"{(1 + game['agent_seats']) / 2:g} is the best there can be. Minutes of each training: "
        f"{found['minutes']:g}, on one core of {cpu_of(found)}, shared with other work; the unseen "
        f"games are {found['eval_games']}, with 95 % intervals (`benchmarks/envs/networks_learn.py`)."
    )
    return "\n".join([obs_tables.markdown(header, rows, "lrrrrrr"), "", about])


def _curve(run: dict[str, Any]) -> list[str]:
    """Return the steps, and the mean places in the quarters of a training."""
    points = [point for point in run["curve"] if point["place"] is not None]
    end = run["curve"][-1]["seconds"]
    quarters: list[list[float]] = [[], [], [], []]
    for point in points:
        quarters[min(3, int(4 * point["seconds"] / end))].append(point["place"])
    cells = [f"{sum(places) / len(places):.2f}" if places else "-" for places in quarters]
    return [f"{run['curve'][-1]['steps']:,}", *cells]


def teams_learned(found: dict[str, Any] | None) -> str:
    """Return the table of what teams win with gifts and without, for either critic; None: what makes it."""
    if found is None:
        return "This has not been measured yet: `python benchmarks/envs/teams_learn.py`, an hour on one core."
    rows = []
    for critic, runs in found["critics"].items():
        for run in runs:
            gives, keeps = run["with gifts"], run["without"]
            first, last = (run["curve"][i]["gifts"] for i in (0, -1))
            rows.append(
                (
                    f"{critic}, seed {run['seed']}",
                    f"{gives['wins']:.1%} ± {gives['half']:.1%}",
                    f"{keeps['wins']:.1%} ± {keeps['half']:.1%}",
                    f"{first:.1%}",
                    f"{last:.1%}",
                    f"{run['process_seconds'] / 60:.1f}",
                )
            )
    header = ("critic", "wins", "wins without gifts", "gifts at first", "gifts at last", "CPU minutes")
    game = found["game"]
    about = (
        f"{game['allies']} allies against as many `{game['bot']}` on {game['side']} x {game['side']} "
        f"cells, a decision every {game['decision_every']} ticks, {found['total_steps']:,} game steps each. "
        f"The unseen games are {found['eval_games']}, with 95 % intervals; gifts are shares of launches. "
        f"On one core of {cpu_of(found)}, shared with other work (`benchmarks/envs/teams_learn.py`)."
    )
    return "\n".join([obs_tables.markdown(header, rows, "lrrrrr"), "", about])


def rounding(found: dict[str, Any]) -> str:
    """Return the table of games between a network in whole numbers and what it was."""
    rows = [
        (
            WAYS[name],
            f"{one['decisions']:,}",
            f"{100 * one['equal']:.2f} %",
            *(f"{one['mean_place'][who]:.3f}" for who in ("whole numbers", "PyTorch")),
            f"{one['lead']:.3f} ± {one['half_interval']:.3f}",
        )
        for name, one in found["ways"].items()
    ]
    header = ("both play", "decisions", "same choice", "place, whole numbers", "place, PyTorch", "difference")
    about = (
        f"{found['games']:,} games of {found['num_players']} players on {found['height']} x "
        f"{found['height']} cells in each row, seats exchanged in every other one, with 95 % intervals "
        "(`benchmarks/bots/network_rounding.py`)."
    )
    return "\n".join([obs_tables.markdown(header, rows, "lrrrrr"), "", about])


def opponents(found: dict[str, Any]) -> str:
    """Return the table of what decisions and steps take with networks in the engine and elsewhere."""
    engine = found["engine"]
    rows = [("in the engine", *_cost(engine, engine))]
    rows += [(OPPONENTS[name], *_cost(way, engine)) for name, way in found["ways"].items()]
    header = ("who plays all 32 seats", "µs a decision", "times", "µs a step", "times")
    about = (
        f"{found['games']} games at full size with decisions every 50 ticks, {engine['living']:.1f} seats "
        f"living on average. In the engine that is {engine['steps_per_second']:,.0f} steps a second of one "
        f"core of {cpu_of(found)}, shared with other work; steps elsewhere are worked out from "
        "their decisions (`benchmarks/bots/network_opponents.py`)."
    )
    return "\n".join([obs_tables.markdown(header, rows, "lrrrr"), "", about])


def _cost(way: dict[str, float], engine: dict[str, float]) -> list[str]:
    """Return microseconds of a decision and of a step, each with how many times that of the engine it is."""
    keys = ("us_a_decision", "step_us")
    return [cell for key in keys for cell in (f"{way[key]:,.1f}", f"{way[key] / engine[key]:,.1f}")]


def _with_interval(mean: float, half: float) -> str:
    return f"{mean:.2f} ± {half:.2f}"
