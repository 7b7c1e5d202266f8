#!/usr/bin/env python3
"""Writes the tables of README.md from benchmarks/results/*.json.

    python benchmarks/readme_tables.py            fill in what stands between the markers
    python benchmarks/readme_tables.py --check    exit code 1 if that would change anything

The results come from

    territorial bench --cold --json benchmarks/results/bench.json
    territorial bench --observe --json benchmarks/results/bench_observe.json
    territorial bench --games 256 --threads 2 --json benchmarks/results/bench_threads2.json
    python benchmarks/flat_memory.py
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
RESULTS = Path(__file__).parent / "results"
BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"
RATES = ("env_steps_per_s", "ticks_per_s", "agent_steps_per_s", "living_agent_steps_per_s")
WHOLE_GAMES = ("bench", "bench_observe", "bench_threads2")
"""Results that give one row each; only the first has to be there."""


def main(argv: list[str] | None = None) -> int:
    """Write or check the README and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="change nothing, only compare")
    parsed = parser.parse_args(argv)
    old = README.read_text(encoding="utf-8")
    new = filled(old, table())
    if parsed.check and new != old:
        print("README.md is not what benchmarks/readme_tables.py would write", file=sys.stderr)
        return 1
    if new != old:
        README.write_text(new, encoding="utf-8")
    return 0


def filled(text: str, content: str) -> str:
    """Return ``text`` with ``content`` between the markers; ValueError if they are not there once."""
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError(f"the README must have {BEGIN} and {END} once each")
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n{content}\n{END}{rest.split(END)[1]}"


def table() -> str:
    """Return the tables and the lines about them."""
    bench = load("bench")
    assert bench is not None, "benchmarks/results/bench.json is missing"
    lines = [
        "| | environment steps/s | ticks/s | agent-steps/s | of living seats |",
        "|---|--:|--:|--:|--:|",
    ]
    results = [result for name in WHOLE_GAMES if (result := load(name))]
    lines += [row(f"whole games, {setting(result)}", result) for result in results]
    for name, spread in bench["phases"].items():
        medians = {rate: spread[rate]["median"] for rate in RATES}
        if medians["ticks_per_s"] is not None:
            lines.append(row(f"ticks {name}, {setting(bench)}", medians))
    return "\n".join([*lines, "", remarks(bench)])


def load(name: str) -> dict[str, Any] | None:
    """Return the result called ``name``, or None if there is none."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def setting(result: dict[str, Any]) -> str:
    threads, games = result["num_threads"], result["num_games"]
    observed = ", with observations" if result["observe"] else ""
    return f"{games} games, {threads} thread{'s' * (threads > 1)}{observed}"


def row(name: str, rates: dict[str, Any]) -> str:
    return "| " + " | ".join([name, *(rounded(rates[rate]) for rate in RATES)]) + " |"


def rounded(number: float) -> str:
    """A rate to three digits; more would be noise."""
    digits = len(str(int(number)))
    return f"{round(number, 3 - digits):,.0f}"


def remarks(bench: dict[str, Any]) -> str:
    """Return what has to be known about the figures."""
    config, found, about = bench["config"], bench["versions"], bench["machine"]
    lines = [
        f"{config['height']} x {config['width']}, {config['num_players']} seats (`{bench['line_up']}`), "
        f"a decision every {config['decision_every']} ticks; all seats are bots. Medians, measured by "
        f"`territorial bench` on {about['cpu']} ({about['usable_cores']} cores, "
        f"{about['system'].split('-')[0]}), Python {found['python']}, numba {found['numba']}, "
        f"numpy {found['numpy']}; config {bench['config_digest']}, rules {bench['rules_version']}.",
        f"Memory of a game: {bench['bytes_per_game'] / 1024:.0f} KB. `import territorial`: "
        f"{bench['import_s']:.2f} s; from the call of Python to the first step: "
        f"{bench['warm_start_s']:.2f} s.",
    ]
    if bench["compile_s"] is not None:
        lines.append(f"Compiling, once per version: {bench['compile_s']:.0f} s.")
    flat = load("flat_memory")
    if flat is not None:
        lines.append(
            f"Memory of the process over {flat['env_steps']:,} environment steps: "
            f"{flat['growth']:.4f} times what it was after the first tenth "
            "(`benchmarks/flat_memory.py`)."
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
