#!/usr/bin/env python3
"""Draws docs/images/agent_life.png: three agents of a real game.

    python maintainers/draw_agent_life.py

The agents launch at random, so that they die at different times, and one not at all; needs matplotlib.
"""

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

import territorial

mpl.use("Agg")
from matplotlib import pyplot as plt

TARGET = Path(__file__).parents[1] / "docs" / "images" / "agent_life.png"
SEED = 21
GAME: dict[str, Any] = {
    "height": 32,
    "width": 32,
    "num_players": 6,
    "seats": ("agent", "metronome", "agent", "banker", "agent", "novice"),
    "max_ticks": 2500,
    "obs": "features",
    "action_mask": "info",
}
PANELS: dict[str, dict[str, Any]] = {
    'agent_death="remove"': {},
    'agent_death="keep"': {"agent_death": "keep"},
    'agent_death="keep", max_cycles=90': {"agent_death": "keep", "max_cycles": 90},
    'agent_death="remove", teams=2: players 0 and 2 are allies': {"teams": 2},
}
LIVES, WATCHES, ENDED, CUT = "#2a6f97", "#c9d6df", "#c1121f", "#e09f3e"


def lives(options: dict[str, Any]) -> dict[str, list[tuple[int, int, float, bool, bool]]]:
    """Play one game; return tick, alive, share of the land and both ends of every agent, a step each."""
    env = territorial.parallel_env(**GAME, **options)
    rng = np.random.default_rng(SEED)
    _, infos = env.reset(seed=SEED)
    found: dict[str, list[tuple[int, int, float, bool, bool]]] = {agent: [] for agent in env.agents}
    land = int(env.game.state.num_land[0])
    while env.agents:
        draws = {agent: rng.random(2) for agent in env.possible_agents}
        actions = {}
        for agent in env.agents:
            legal = np.flatnonzero(infos[agent]["action_mask"])
            chosen = int(legal[int(draws[agent][0] * len(legal))])
            actions[agent] = chosen if draws[agent][1] < 0.1 else 0
        _, _, ends, cuts, infos = env.step(actions)
        for agent, info in infos.items():
            found[agent].append((info["tick"], info["alive"], info["land"] / land, ends[agent], cuts[agent]))
    return found


def main() -> int:
    """Draw it."""
    figure, panels = plt.subplots(len(PANELS), 1, figsize=(9, 8), sharex=True, layout="constrained")
    for axes, (title, options) in zip(panels, PANELS.items(), strict=True):
        draw(axes, lives(options))
        axes.set_title(title, loc="left", fontsize=10, family="monospace")
    panels[-1].set_xlabel("tick")
    marks = [
        plt.Rectangle((0, 0), 1, 1, color=LIVES),
        plt.Rectangle((0, 0), 1, 1, color=WATCHES),
        plt.Line2D([], [], color=ENDED, marker="o", linestyle=""),
        plt.Line2D([], [], color=CUT, marker="D", linestyle=""),
    ]
    names = [
        "alive; as high as its share of the land",
        "eliminated, observes: may only hold",
        "terminated",
        "truncated",
    ]
    figure.legend(marks, names, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    figure.savefig(TARGET, dpi=100)
    print(f"{TARGET.name}: {TARGET.stat().st_size:,} bytes")
    return 0


def draw(axes: Any, found: dict[str, list[tuple[int, int, float, bool, bool]]]) -> None:
    """Draw one line of time for every agent."""
    top = max(share for steps in found.values() for _, _, share, _, _ in steps)
    for row, steps in enumerate(reversed(found.values())):
        ticks = np.array([0, *(step[0] for step in steps)])
        alive = np.array([1, *(step[1] for step in steps)]) == 1
        share = np.array([0.0, *(step[2] for step in steps)]) / top
        axes.fill_between(ticks, row, row + 0.08 + 0.7 * share, where=alive, color=LIVES, linewidth=0)
        axes.fill_between(ticks, row, row + 0.08, where=~alive, color=WATCHES, linewidth=0)
        for tick, _, _, has_ended, is_cut in steps:
            if has_ended or is_cut:
                style = (ENDED, "o") if has_ended else (CUT, "D")
                axes.plot(tick, row + 0.04, color=style[0], marker=style[1], markersize=8)
    axes.set_yticks([row + 0.3 for row in range(len(found))], list(reversed(found)))
    axes.set_ylim(-0.15, len(found))
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)


if __name__ == "__main__":
    sys.exit(main())
