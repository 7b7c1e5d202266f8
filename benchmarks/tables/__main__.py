#!/usr/bin/env python3
"""Writes the tables of README.md, docs/bots.md, docs/evolve.md, docs/rules.md, docs/frame_store.md,
docs/replays.md, docs/rendering.md, docs/watching.md, docs/performance.md, docs/league.md, docs/champion.md
and docs/where-40-gb-went.md from benchmarks/results/*.json, and those of docs/observation.md from
territorial.observation. Those about bots are in bots.py, those of docs/performance.md and docs/league.md in
performance.py and league.py. Those of docs/champion.md are in champion.py and champion_training.py, those
about networks on pairs in networks.py, and the list of all results in measurements.py. Figures in sentences
are in figures.py.

    python -m benchmarks.tables            fill in what stands between the markers
    python -m benchmarks.tables --check    exit code 1 if that would change anything

benchmarks/suite.toml lists the commands that write the results.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.memory import league_memory, where_memory_goes
from benchmarks.tables import (
    alternatives,
    bots,
    champion,
    champion_training,
    figures,
    league,
    measurements,
    networks,
    performance,
    trainers,
    training,
)
from benchmarks.tables.machines import cpu_of
from territorial.cli import obs_tables
from territorial.game.state import FIELDS, in_letters
from territorial.memory.plan import Item, Place, Plan, in_mb
from territorial.memory.predict import flat_size, predict
from territorial.memory.setup import Setup
from territorial.observation.layout import OBS_VERSION, Column, ObsLayout
from territorial.observation.pair_columns import PairColumn
from territorial.render import player_colors
from territorial.render.color_vision import least_distance
from territorial.render.palette import NEUTRAL_COLOR, TERRAIN_COLORS

ROOT = Path(__file__).resolve().parents[2]
RESULTS = Path(__file__).parents[1] / "results"
RATES = ("env_steps_per_s", "ticks_per_s", "agent_steps_per_s", "living_agent_steps_per_s")
WHOLE_GAMES = (
    "bench",
    "bench_observe",
    "bench_threads2",
    "bench_threads2_observe",
    "bench_lockstep",
    "bench_tick",
)
"""Results that give one row each; only the first has to be there."""
ALONE = {"all cones": 17.5, "deuteranopia": 10.8, "protanopia": 10.6, "tritanopia": 15.1}
"""What `maintainers/search_palette.py --only VIEW --moves 40000` came to."""
SIZES = ((64, 8), (256, 32), (512, 128), (1024, 250))
"""Sides and seats for which the table of sizes is made."""


def main(argv: list[str] | None = None) -> int:
    """Write or check all tables and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; exit code 1 if the result differs from what is on file",
    )
    parsed = parser.parse_args(argv)
    code = 0
    for place, mark, content in TABLES:
        path = ROOT / place
        old = path.read_text(encoding="utf-8")
        new = filled(old, mark, content())
        if new != old and parsed.check:
            print(f"{place}: {mark} is not what benchmarks/tables would write", file=sys.stderr)
            code = 1
        elif new != old:
            path.write_text(new, encoding="utf-8")
    return max(code, fill_figures(check=parsed.check))


def fill_figures(*, check: bool) -> int:
    """Write or check the figures in sentences of all pages, and return the exit code."""
    code = 0
    for path in (*ROOT.glob("README.md"), *sorted((ROOT / "docs").rglob("*.md"))):
        old = path.read_text(encoding="utf-8")
        new = figures.filled(old)
        if new != old and check:
            print(
                f"{path.relative_to(ROOT)}: a figure in a sentence is out of date",
                file=sys.stderr,
            )
            code = 1
        elif new != old:
            path.write_text(new, encoding="utf-8")
    return code


def filled(text: str, mark: str, content: str) -> str:
    """Return ``text`` with ``content`` between the markers; ValueError if they are not there once."""
    begin, end = f"<!-- {mark}:begin -->", f"<!-- {mark}:end -->"
    if text.count(begin) != 1 or text.count(end) != 1:
        raise ValueError(f"there must be {begin} and {end} once each")
    before, rest = text.split(begin)
    return f"{before}{begin}\n{content}\n{end}{rest.split(end)[1]}"


def speed() -> str:
    """Return the table of speeds and the lines about it."""
    bench = must_load("bench")
    lines = [
        "| | environment steps/s | ticks/s | agent-steps/s | of living seats |",
        "|---|--:|--:|--:|--:|",
    ]
    results = [result for name in WHOLE_GAMES if (result := load(name))]
    cpu_of(*results)
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


def must_load(name: str) -> dict[str, Any]:
    """Return the result called ``name``, which has to be there."""
    result = load(name)
    if result is None:
        raise FileNotFoundError(f"benchmarks/results/{name}.json is missing")
    return result


def setting(result: dict[str, Any]) -> str:
    threads, games = result["num_threads"], result["num_games"]
    observed = f", stacks of {result['frames']} boards" if result["observe"] else ""
    every = result["config"]["decision_every"]
    decisions = "" if every == 10 else ", a decision every tick" if every == 1 else f", every {every} ticks"
    return f"{games} game{'s' * (games > 1)}, {threads} thread{'s' * (threads > 1)}{observed}{decisions}"


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
    flat = load("flat_memory")
    if flat is not None:
        lines.append(
            f"Memory of the process over {flat['env_steps']:,} environment steps: "
            f"{flat['growth']:.4f} times what it was after the first tenth "
            f"(`benchmarks/engine/flat_memory.py`, {cpu_of(flat)})."
        )
    return "\n".join(lines)


def twin() -> str:
    """Return the line about the comparison of the engine with the reference implementation."""
    found, teams = must_load("differential"), load("differential_teams")
    wrong = len(found["mismatches"])
    lines = [
        f"Every field was compared after every tick: {found['ticks']:,} ticks of {found['games']:,} random "
        f"games, {wrong or 'no'} mismatch{'es' * (wrong != 1)} (`benchmarks/engine/differential.py`, rules "
        f"{found['rules_version']})."
    ]
    if teams is not None:
        wrong, events = len(teams["mismatches"]), teams["events"]
        lines.append(
            f"With teams it was {teams['ticks']:,} ticks of {teams['games']:,} games, with "
            f"{events['donations']:,} donations: {wrong or 'no'} mismatch{'es' * (wrong != 1)} "
            "(`--with-teams`)."
        )
    return "\n".join(lines)


def mixed() -> str:
    """Return the table of what games of the line-up look like, and how its bots do."""
    found = must_load("mixed_shape")
    length = found["length"]
    lines = [
        f"{found['games']} games of the line-up `{found['line_up']}`, seeds {found['first_seed']} to "
        f"{found['last_seed']} (`benchmarks/bots/mixed_shape.py`):",
        "",
        "| | lowest | median | highest |",
        "|---|--:|--:|--:|",
        f"| tick at which neutral land is below {percent(found['neutral_left'])} | "
        f"| {whole(found['neutral_gone_tick'])} | |",
    ]
    for tick, alive in found["alive"].items():
        shown = " | ".join(f"{alive[name]:g}" for name in ("min", "median", "max"))
        lines.append(f"| players alive at tick {int(tick):,} | {shown} |")
    shown = " | ".join(whole(length[name]) for name in ("min", "median", "max"))
    lines += [
        f"| length in ticks | {shown} |",
        "",
        f"Half of the games end between ticks {whole(length['quartile_1'])} and "
        f"{whole(length['quartile_3'])}; the time limit stops "
        f"{percent(found['stopped_by_time_share'])} of them.",
        "",
        "| bot | seats | mean place | games won |",
        "|---|--:|--:|--:|",
    ]
    lines += [
        f"| {name} | {bot['seats']} | {bot['mean_place']:.1f} | {percent(bot['win_share'])} |"
        for name, bot in found["bots"].items()
    ]
    return "\n".join(lines)


def seen() -> str:
    """Return the table of what observing and decoding cost."""
    observing, decoding, stored_ = must_load("observe_cost"), must_load("decode"), must_load("frame_store")
    layout, onehot = decoding["layout"], decoding["onehot"]
    every_agent = stored_["forms"]["one-hot of all agents, uint8"]
    lines = ["| what | cost |", "|---|--:|"]
    for form, cost in observing["forms"].items():
        if form == "nothing":
            lines.append(f"| a step of rules and bots | {cost['step_us']:.1f} µs |")
        else:
            lines.append(f"| observing {form} | + {cost['cost_us']:.1f} µs |")
    packed = ObsLayout(**layout)
    lines += [
        f"| a packed board; a stack of {layout['frames']} | {packed.nbytes('planes') // layout['frames']:,}; "
        f"{packed.nbytes('planes'):,} bytes |",
        f"| a step in a `FrameStore`, key frames included | {stored_['bytes_per_game_step']:,.0f} bytes |",
        f"| for scale: one board one-hot, uint8, for all {layout['num_players']} agents | "
        f"{every_agent:,.0f} bytes |",
        f"| decoding stacks of {layout['frames']} to one-hot {decoding['dtype']}, "
        f"{decoding['chunk']} agents | {onehot['decode.numpy']['ms_per_chunk']:.1f} ms |",
        f"| the same with `unpackbits` and comparisons | {onehot['naive numpy']['ms_per_chunk']:.0f} ms |",
        f"| for scale: `fill(0)` of the {decoding['bytes_per_chunk'] / 1e6:.0f} MB that they take | "
        f"{onehot['refill (out.fill(0))']['ms_per_chunk']:.1f} ms |",
        "",
        f"{layout['height']} x {layout['width']}, {layout['num_players']} seats, one core of "
        f"{cpu_of(observing, decoding, stored_)}; `benchmarks/engine/observe_cost.py`, `decode_speed.py` and "
        "`frame_store.py`. Costs of observing are per step of a game, and those of a line include the lines "
        "above it.",
    ]
    return "\n".join(lines)


def version() -> str:
    """Return the sentence about the version."""
    return f"This page describes version {OBS_VERSION}."


def arrays() -> str:
    """Return the table of the arrays of an observation."""
    rows = [(f"`{row[0]}`", *row[1:]) for row in obs_tables.array_rows()]
    return obs_tables.markdown(("array", "dtype", "shape", "unit", "meaning"), rows)


def pair_columns(table: tuple[PairColumn, ...]) -> str:
    """Return a table of the columns of a table of the form "pairs"."""
    rows = [(number, f"`{name}`", *rest) for number, name, *rest in obs_tables.pair_rows(table)]
    return obs_tables.markdown(("", "column", "value", "version"), rows, "rllr")


def columns(table: tuple[Column, ...]) -> str:
    """Return the table of the columns of one of the tables of an observation."""
    rows = [(number, f"`{name}`", *rest) for number, name, *rest in obs_tables.column_rows(table)]
    return obs_tables.markdown(("", "column", "unit", "meaning"), rows, "r")


def fields() -> str:
    """Return the table of the fields of the state of a batch."""
    rows = [
        (f"`{field.name}`", f"`{field.dtype} {in_letters('E', *field.shape)}`", field.unit, field.meaning)
        for field in FIELDS
    ]
    return obs_tables.markdown(("field", "array", "unit", "meaning"), rows)


def sizes() -> str:
    """Return the table of what the forms of an observation cost at several sizes of the game."""
    header = ["form", "", *(f"{side} x {side}, {seats} seats" for side, seats in SIZES)]
    layouts = [ObsLayout(height=side, width=side, num_players=seats, frames=4) for side, seats in SIZES]
    rows = [
        [form.name, form.meaning, *(obs_tables.in_bytes(form.mean(layout)) for layout in layouts)]
        for form in obs_tables.forms()
    ]
    return obs_tables.markdown(header, rows, "llrrrr")


def stored() -> str:
    """Return the table of what boards take, in a FrameStore and otherwise, and what a lookup takes."""
    found = must_load("frame_store")
    about, lookup = found["machine"], found["lookup_us_per_stack"]
    lines = [
        "| a board kept as | bytes a game step | a million |",
        "|---|--:|--:|",
    ]
    rows = [(form, size) for form, size in found["forms"].items()]
    memory = found["resident_bytes_per_game_step"]
    if memory is not None:
        rows.insert(1, (f"{rows[0][0]}, memory of the process", memory))
    lines += [f"| {form} | {size:,.0f} | {size / 1e3:,.1f} GB |" for form, size in rows]
    one, four = lookup["frames_1"], lookup["frames_4"]
    return "\n".join(
        [
            *lines,
            "",
            f"Measured over {found['game_steps']:,} steps of whole games of `mixed-1`, {found['num_games']} "
            f"side by side, {found['games_ended']:,} played to the end, key_every = {found['key_every']} "
            f"(`benchmarks/decode/frame_store.py`, {about['cpu']}). A step changes "
            f"{found['changed_cells_per_game_step']:,.0f} cells. Storing it takes "
            f"{found['store_us_per_game_step']:.0f} µs. In batches of {found['batch']}, a stack of one frame "
            f"takes {one['drawn']:.0f} µs drawn at random, {one['in_a_row']:.0f} µs with steps in a row; "
            f"a stack of four takes {four['drawn']:.0f} and {four['in_a_row']:.0f} µs.",
        ]
    )


def rendering() -> str:
    """Return the table of how fast pictures come, and the lines about animations."""
    found = must_load("render")
    rows = [(form, rate["size"], rounded(rate["per_s"])) for form, rate in found["rates"].items()]
    files = ", ".join(
        f"{made['bytes'] / 1000:,.0f} KB as .{suffix}" for suffix, made in found["videos"].items()
    )
    lines = [
        obs_tables.markdown(("form", "size", "a second"), rows, "llr"),
        "",
        f"Every step of a whole game of 32 bots on 256 x 256 cells, {found['pictures']} pictures, on one "
        f"core of {found['machine']['cpu']} (`benchmarks/media/render_speed.py`). "
        f"{found['video_pictures']} of them, two pixels per cell, take {files}.",
    ]
    return "\n".join(lines)


def colours() -> str:
    """Return the table of how far apart the colours of seats are."""
    colors = np.vstack([player_colors(32), [NEUTRAL_COLOR, *TERRAIN_COLORS.values()]])
    rows = [
        (
            view,
            f"{least_distance(colors, view):.1f}",
            f"{least_distance(player_colors(8), view):.1f}",
            f"{alone}",
        )
        for view, alone in ALONE.items()
    ]
    header = ("eyes", "32 seats and the terrain", "8 seats", "32 and the terrain, for these eyes alone")
    return obs_tables.markdown(header, rows, "lrrr")


def replays() -> str:
    """Return the tables of what replays take, and what recording costs."""
    found = must_load("replay")
    lines = [replay_sizes(list(found["games"].values())), ""]
    lines += ["| a step of a game, µs | not recorded | passed to a function | written to a folder |"]
    lines += ["|---|--:|--:|--:|"]
    for name, case in found["recording"].items():
        step, *costs = case["forms"].values()
        shown = [f"+ {cost['cost_us']:.2f} ({cost['cost_percent']:.0f} %)" for cost in costs]
        lines.append(f"| {name} | " + " | ".join([f"{step['step_us']:.2f}", *shown]) + " |")
    return "\n".join(
        [
            *lines,
            "",
            "256 x 256, 32 seats, all of them bots in the second table; processor time, one core of "
            f"{found['machine']['cpu']} (`benchmarks/media/replay_cost.py`). The bare engine plays a whole "
            "game in some milliseconds; beside that, recording shows.",
        ]
    )


def replay_sizes(games: Iterable[dict[str, Any]]) -> str:
    """Return the table of what the replays of two games take."""
    rows = {
        "ticks": "ticks",
        "launches": "launches",
        "bytes": "bytes of the file",
        "load_ms": "reading it, ms",
        "verify_ms": "verifying it, ms",
        "seek_ms_median": "seeking any tick, ms, median",
        "seek_ms_max": "the longest, from the beginning, ms",
        "frames_per_s": "frames a second, one every 10 ticks",
    }
    shown = [(text, *(brief(game[name]) for game in games)) for name, text in rows.items()]
    return obs_tables.markdown(("", "32 bots", "all players launch all the time"), shown, "lrr")


def brief(number: float) -> str:
    """A count as it is, a measured time to two digits."""
    return f"{number:,}" if isinstance(number, int) else f"{number:.2g}"


def board_forms() -> str:
    """Return the table of what a stack of boards takes in every form, for one agent and for all."""
    setup = Setup()
    layout, seats = setup.layout, setup.num_players
    cells, planes = layout.height * layout.width, layout.frames * (seats + 1)
    size = f"{layout.height} x {layout.width}"
    frame = obs_tables.frame_bytes(layout)
    rows = [
        (
            "flattened by RLlib",
            4 * flat_size(setup),
            seats,
            f"{flat_size(setup):,} float32: planes, mask, stats",
        ),
        ("one-hot", planes * cells, seats, f"{layout.frames} frames x {seats + 1} owners x {size} int8"),
        ("codes of owners", layout.frames * cells, seats, f"{layout.frames} frames x {size} uint8"),
        (
            "packed stack",
            layout.frames * frame,
            1,
            f"{layout.frames} frames x {layout.num_planes} bits x {size}",
        ),
        ("packed frame", frame, 1, f"{layout.num_planes} bits x {size}, once for all agents and all stacks"),
    ]
    shown = [
        (form, obs_tables.in_bytes(each), obs_tables.in_bytes(each * count), why)
        for form, each, count, why in rows
    ]
    return obs_tables.markdown(("form", "of one agent", "of all 32", "how it comes about"), shown, "lrrl")


def memory_plan() -> str:
    """Return the tables of what the league of the page takes in both forms."""
    setup = Setup(driver_plays=0)
    return "\n\n".join(plan_table(predict(setup, form)) for form in ("one-hot", "packed"))


def plan_table(plan: Plan) -> str:
    rows = [item_row(plan, item) for item in plan.items if plan.of_item(item)]
    rows += [
        ("**built**", "", f"**{in_mb(plan.built)}**", f"{in_mb(plan.built_over_idle)} over idle processes"),
        ("**worst moment**", "", f"**{in_mb(plan.peak)}**", "of building, or of an iteration"),
    ]
    header = (f"{plan.form}", "in a process", "in all", "how it comes about")
    return obs_tables.markdown(header, rows, "lrrl")


def item_row(plan: Plan, item: Item) -> tuple[str, ...]:
    when = "" if item.phase == "built" else f" ({item.phase})"
    return item.name + when, in_mb(item.nbytes), in_mb(plan.of_item(item)), item.why


def measured_memory() -> str:
    """Return the table of leagues built with RLlib's old API stack, and what is predicted for them."""
    found = must_load("where_memory_goes")
    rows = []
    for case in found["cases"]:
        for place in case["built"]:
            name = case["name"] if place == "driver" else "... the runner"
            built, peak = (memory_cell(case, place, when) for when in ("built", "peak"))
            made = f"{case['constructed']}, {case['alive']} left" if place == "driver" else ""
            rows.append((name, *built, *peak, made))
    header = ("league", "built", "predicted", "peak", "predicted", "policies made")
    about, side, last = found["versions"], *(found["cases"][i]["setup"]["height"] for i in (0, -1))
    return "\n".join(
        [
            obs_tables.markdown(header, rows, "lrrrrr"),
            "",
            f"Boards of {side} x {side} cells in all rows but the last two, which have {last} x {last}. "
            "Built: PSS; peak: the largest resident set, whose parts that are shared count in full. What "
            "an idle process takes was measured before each. "
            f"Ray {about['ray']}, torch {about['torch']}, Python {about['python']}, "
            f"{found['machine']['system'].split('-')[0]} (`benchmarks/memory/where_memory_goes.py`).",
        ]
    )


def memory_cell(case: dict[str, Any], place: Place, when: str) -> tuple[str, str]:
    """Return what was measured, and what is predicted."""
    return in_mb(case[when][place]), in_mb(where_memory_goes.predicted(case, place, when))


def league_figures() -> str:
    """Return the table of what the league takes here, and with one-hot boards."""
    found = must_load("league_memory")
    cases = found["cases"]
    here, stock = cases["packed"], league_memory.one_hot_league(cases)
    setup = here["setup"]
    worst = predict(Setup(), "one-hot")
    rows = [
        (
            "built",
            in_mb(league_memory.over_idle(here, "built")),
            f"{in_mb(stock['built'])}, extrapolated: a network takes {in_mb(stock['network'])}, "
            f"a bot {in_mb(stock['bot'])}, in each of {1 + setup['env_runners']} processes",
        ),
        (
            f"... and all {setup['snapshots']} snapshots read by every runner",
            in_mb(league_memory.over_idle(here, "opened")),
            "",
        ),
        (
            f"{trained(here)} at the worst moment",
            in_mb(league_memory.over_idle(here, "peak")),
            f"{in_mb(worst.peak - worst.built + stock['built'])}, worked out by `territorial memory`",
        ),
        *(
            (
                f"the same with the network of the preset `{name}`",
                in_mb(league_memory.over_idle(cases[name], "peak")),
                "",
            )
            for name in ("features", "pairs")
            if name in cases
        ),
        *(
            ("the same with RLlib's own runner", in_mb(league_memory.over_idle(cases[name], "peak")), "")
            for name in (league_memory.STOCK_RUNNER,)
            if name in cases
        ),
        (
            "time: what 12 frozen seats of 32 snapshots add to a step (`training_speed.py`)",
            f"{training.frozen_time(must_load('training_speed'), 32, ['reference'])} µs",
            "",
        ),
    ]
    header = ("over processes that have imported everything", "packed, here", "one-hot, old API stack")
    return "\n".join(
        [
            obs_tables.markdown(header, rows, "lrl"),
            "",
            f"{setup['height']} x {setup['width']} cells, {setup['num_players']} players, one network of "
            f"{here['parameters']:,} parameters (`ReferenceModule`, float32) that learns, 32 bots, "
            f"{setup['snapshots']} snapshots of it, {setup['env_runners']} runners; {setup['steps']} steps "
            f"of {setup['agents']} agents, minibatches of {setup['minibatch']}. {found['measure']} of all "
            "processes, Ray's own among them. " + setting_of_league(found),
        ]
    )


def trained(case: dict[str, Any]) -> str:
    """Return which iterations of a league were measured."""
    count = len(case.get("peaks", [0]))
    return "the first iteration" if count == 1 else f"the first {count} iterations"


def opponents() -> str:
    """Return the table of what 300 snapshots cost runners, here and as modules of RLlib's own."""
    found = must_load("league_memory")
    cases, many = found["cases"], league_memory.MANY
    growth = league_memory.growth_of_runners(cases)
    none, pool = cases["pool, 0 snapshots"], cases[f"pool, {many} snapshots"]
    base, speed_of = cases["stock, 0 modules"]["runner_private"], must_load("training_speed")

    def row(name: str, case: dict[str, Any], before: int, time: str = "") -> tuple[str, ...]:
        own = in_mb(max(0, case["runner_private"] - before))
        return (
            name,
            own,
            in_mb(case["sync_bytes"]),
            f"{case['sync_s']:.2f} s, {counted(case['runners'], 'runner')}",
            time,
        )

    rows = [
        row("none", none, none["runner_private"], training.frozen_time(speed_of, 0)),
        row(
            f"{many} snapshots in a `FrozenPool`, all of them read",
            pool,
            none["runner_private"],
            training.frozen_time(speed_of, many),
        ),
        *(
            row(f"{n} modules of RLlib's", cases[f"stock, {n} modules"], base)
            for n in league_memory.STOCK_MODULES[1:]
        ),
        (
            f"{many} modules of RLlib's, extrapolated",
            in_mb(growth["modules"]),
            in_mb(none["sync_bytes"] * (1 + many)),
            "",
            "",
        ),
    ]
    header = (
        "frozen opponents",
        "private memory of a runner, over none",
        "weights sent an iteration",
        "takes",
        "12 frozen seats add to a step, pairs / features, µs",
    )
    about = f"{setting_of_league(found)} The last column is of `benchmarks/rllib/training_speed.py`."
    return "\n".join([obs_tables.markdown(header, rows, "lrrrr"), "", about])


def sampling() -> str:
    """Return how fast both runners sample."""
    found = must_load("rllib_sampling")
    wall, own = found["agent_steps_per_second"], found["agent_steps_per_process_second"]
    names = {"stock": "RLlib's own runner", "batched": "batched"}
    rows = [(name, f"{wall[key]:,}", f"{own[key]:,}") for key, name in names.items()]
    about = (
        f"{found['times_as_fast']:.1f} times as fast by CPU time, "
        f"{found['times_as_fast_by_the_wall']:.1f} by wall time. The games: {found['height']} x "
        f"{found['width']}, {found['agents']} agents, {found['games']} games in one process, just begun. "
        f"Network: {found['network']}. Medians on {found['machine']['cpu']}, a busy machine, Ray "
        f"{found['versions']['ray']} (`benchmarks/rllib/rllib_sampling.py`)."
    )
    header = "sampling", "agent steps/s", "per second of CPU time"
    return "\n".join([obs_tables.markdown(header, rows, "lrr"), "", about])


def learner_memory() -> str:
    """Return what a learner needs for one seat that learns and for all."""
    found = must_load("rllib_learner_memory")
    rows = [
        (
            steps,
            seats,
            counted(case["rows"], "row"),
            f"{case['sample_bytes'] / int(steps) / 1000:.1f} KB",
            f"{case['before'] / 1e6:,.0f} MB",
            f"{case['peak'] / 1e6:,.0f} MB",
        )
        for steps, length in found["by_steps"].items()
        for seats, case in length["by_learning_seats"].items()
    ]
    times = " and ".join(f"{length['times']:.2f}" for length in found["by_steps"].values())
    about = (
        f"{times} times the memory: 256 x 256, 32 players, stacks of {found['frames']}, one game, key frame "
        f"and all, minibatches of {found['minibatch']}, {found['network']}, medians of {found['repeats']}; "
        f"Ray {found['versions']['ray']} (`benchmarks/rllib/rllib_learner_memory.py`)."
    )
    header = (
        "game steps",
        "seats that learn",
        "train batch",
        "sent a game step",
        "learner before",
        "at its peak",
    )
    return "\n".join([obs_tables.markdown(header, rows, "rrrrrr"), "", about])


def boards_once() -> str:
    """Return what encoding boards once is worth to a runner."""
    found = must_load("rllib_boards")
    speeds, own = found["agent_steps_per_second"], found["agent_steps_per_process_second"]
    rows = [
        (name, f"{speeds[key]:,}", f"{own[key]:,}")
        for name, key in (("the same network, run per agent", "per agent"), ("encode-once", "encode-once"))
    ]
    header = "sampling", "agent steps/s", "per second of CPU time"
    about = (
        f"{found['times_as_fast']:.1f} times as fast by CPU time, "
        f"{found['times_as_fast_by_the_wall']:.1f} by wall time. The games: {found['height']} x "
        f"{found['width']}, {found['agents']} agents, stacks of {found['frames']}, "
        f"{found['games']} games in one process. Network: {found['network']}. Medians on "
        f"{found['machine']['cpu']}, Ray {found['versions']['ray']} (`benchmarks/rllib/rllib_boards.py`)."
    )
    return "\n".join([obs_tables.markdown(header, rows, "lrr"), "", about])


def learning() -> str:
    """Return the places of what was trained and of what was not."""
    results = [load(f"learning_{run}") for run in ("rllib", "rllib_seed_1", "example")]
    names = {
        "trained, sampled": "trained, sampled",
        "trained, greedy": "trained, greedily",
        "untrained, sampled": "untrained, sampled",
        "untrained, greedy": "untrained, greedily",
        "expand then hold": "expanding, then holding",
        "always hold": "always holding",
    }
    found = [result for result in results if result is not None]
    rows = [
        (
            title,
            *(
                f"{r['mean_place'][name]['mean']:.2f} ± {r['mean_place'][name]['half_interval']:.2f}"
                for r in found
            ),
        )
        for name, title in names.items()
    ]
    rows += [("training, wall time", *(f"{r['seconds'] / 60:.1f} minutes" for r in found))]
    rows += [("training, CPU time", *(f"{r['cpu_seconds'] / 60:.1f} minutes" for r in found))]
    rows += [("steps of games", *(f"{r['game_steps']:,}" for r in found))]
    header = "mean place", *map(game_learned, found)
    about = f"On {cpu_of(*found)}, shared with other work (`benchmarks/envs/learning.py`)."
    return "\n".join([obs_tables.markdown(header, rows, "l" + "r" * len(found)), "", about])


def game_learned(result: dict[str, Any]) -> str:
    """Return what was played, in words."""
    trainer = {"rllib": "RLlib's PPO", "example": "`examples/ppo.py`"}[result["trainer"]]
    run = f"{trainer}, seed {result['seed']}"
    seats = Counter(result["seats"])
    others = " and ".join(f"{count} `{name}`" for name, count in seats.items() if name != "agent")
    return (
        f"{run}: {result['height']} x {result['width']}, {seats['agent']} agents, {others}, "
        f"a decision every {result['decision_every']} ticks"
    )


def packed_predictions() -> str:
    """Return the table of packed leagues: what was predicted, and what they took."""
    found = must_load("league_memory")
    rows = []
    for name in league_memory.PACKED:
        if name not in found["cases"]:
            continue
        case = found["cases"][name]
        plan, setup = league_memory.predicted(case), case["setup"]
        rows.append(
            (
                f"{name.partition(',')[0]}: {setup['height']} x {setup['width']}, "
                f"{setup['num_players']} players, {setup['agents']} learn, {setup['snapshots']} snapshots, "
                f"{counted(setup['env_runners'], 'runner')} of {counted(setup['games'], 'game')}, "
                f"{setup['steps']} steps",
                *(in_mb(case["opened"]), in_mb(plan.built), in_mb(case["peak"]), in_mb(plan.peak)),
            )
        )
    header = ("league", "built", "predicted", "peak", "predicted")
    return "\n".join([obs_tables.markdown(header, rows, "lrrrr"), "", setting_of_league(found)])


def counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def setting_of_league(found: dict[str, Any]) -> str:
    """Return what measured and on what."""
    about = found["versions"]
    return (
        f"Ray {about['ray']}, torch {about['torch']}, Python {about['python']}, "
        f"{found['machine']['system'].split('-')[0]} (`benchmarks/memory/league_memory.py`)."
    )


def whole(number: float | None) -> str:
    """A tick to its whole number; a dash if it never came."""
    return "-" if number is None else f"{number:,.0f}"


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def page_speed() -> str:
    """Return the table of the page's frame times and sizes."""
    result = must_load("page_speed")
    lines = [
        "| game | frames, ticks | film | page | ticks/s | its own work | with the browser's | names placed |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for game in result["games"]:
        times = [
            f"{game[name]['median']:.1f} and {game[name]['p99']:.1f} ms"
            for name in ("script_ms", "whole_ms", "places_ms")
        ]
        sizes_ = [f"{game[name] / 1024:,.0f} KB" for name in ("film_bytes", "page_bytes")]
        lines.append(
            f"| {game['height']} x {game['width']}, {game['num_players']} seats | {game['frames']:,}, "
            f"{game['ticks']:,} | {' | '.join(sizes_)} | {game['ticks_per_second']} | {' | '.join(times)} |"
        )
    about = result["machine"]
    lines += [
        "",
        "Median and 99th percentile of the time for a picture while a whole game is played, of which "
        "16.7 ms are available at 60 pictures a second. Places for names and attacks are found ten times a "
        f"second while a game plays. Browser: {result['versions']['browser']} without a "
        f"GPU, {about['cpu']}, {about['usable_cores']} cores (`benchmarks/media/page_speed.py`).",
    ]
    return "\n".join(lines)


TABLES: tuple[tuple[str, str, Callable[[], str]], ...] = (
    ("README.md", "interfaces", lambda: trainers.interfaces(must_load("vector_cost"))),
    ("README.md", "strongest", lambda: bots.strongest(must_load("tournament"))),
    ("README.md", "alternatives", lambda: alternatives.alternatives(must_load("peers"))),
    ("docs/decoding.md", "seen", seen),
    ("docs/engine.md", "twin", twin),
    ("docs/bots.md", "ratings", lambda: bots.ratings(must_load("tournament"))),
    ("docs/bots.md", "bots", bots.library),
    ("docs/bots.md", "levels", bots.levels),
    ("docs/bots.md", "mixed_2", lambda: bots.match("mixed-2", must_load("match_mixed_2"))),
    ("docs/bots.md", "levels_1", lambda: bots.match("levels-1", must_load("match_levels_1"))),
    ("docs/bots.md", "turtles", lambda: bots.turtles(must_load("invasion"))),
    ("docs/bots.md", "health", lambda: bots.health(must_load("bot_health"))),
    ("docs/bots.md", "team_fields", lambda: bots.team_fields(must_load("team_fields"))),
    ("docs/bots.md", "fairness", lambda: bots.fairness(must_load("bot_health"))),
    ("docs/bots.md", "cost", lambda: bots.cost(must_load("bot_cost"))),
    ("docs/evolve.md", "evolved", lambda: bots.evolved(load("evolved"))),
    ("docs/champion.md", "exam", lambda: champion.exam(load("champion"))),
    ("docs/champion.md", "hardest", lambda: champion.hardest(load("champion"))),
    ("docs/champion.md", "ways", lambda: champion.ways(load("champion_ways"))),
    ("docs/champion.md", "ablations", lambda: champion_training.ablations(load("champion_roads"))),
    ("docs/champion.md", "roads", lambda: champion_training.roads(load("champion_roads"))),
    ("docs/champion.md", "seeds", lambda: champion_training.seeds(load("champion_seeds"))),
    ("docs/champion.md", "curve", lambda: champion_training.curve(load("champion_curve"))),
    ("docs/champion.md", "exploiter", lambda: champion_training.exploiter(load("champion_exploiter"))),
    ("docs/performance.md", "bench", speed),
    ("docs/performance.md", "parts", performance.parts),
    ("docs/performance.md", "counts", performance.counts),
    ("docs/performance.md", "instructions", performance.instructions),
    ("docs/performance.md", "scaling", performance.scaling),
    ("docs/performance.md", "mechanisms", performance.mechanisms),
    ("docs/performance.md", "threads", performance.threads),
    ("docs/performance.md", "peers", performance.peers),
    ("docs/performance.md", "measurements", measurements.measurements),
    ("docs/rules.md", "mixed", mixed),
    ("docs/frame_store.md", "frame_store", stored),
    ("docs/rendering.md", "render", rendering),
    ("docs/rendering.md", "colours", colours),
    ("docs/watching.md", "page_speed", page_speed),
    ("docs/replays.md", "replay", replays),
    ("docs/where-40-gb-went.md", "board_forms", board_forms),
    ("docs/where-40-gb-went.md", "memory_plan", memory_plan),
    ("docs/where-40-gb-went.md", "where_memory_goes", measured_memory),
    ("docs/where-40-gb-went.md", "packed_predictions", packed_predictions),
    ("docs/rllib.md", "league_figures", league_figures),
    ("docs/rllib.md", "opponents", opponents),
    ("docs/learning.md", "boards", boards_once),
    ("docs/rllib.md", "sampling", sampling),
    ("docs/rllib.md", "learner_time", lambda: training.learner(must_load("learner_time"))),
    ("docs/rllib.md", "league_sampling", lambda: training.sampling(must_load("training_speed"))),
    ("docs/rllib.md", "snapshots_speed", lambda: training.by_snapshots(must_load("training_speed"))),
    ("docs/rllib.md", "iteration_split", lambda: training.split(must_load("training_speed"))),
    ("docs/rllib.md", "learner_memory", learner_memory),
    ("docs/learning.md", "learning", learning),
    ("docs/learning.md", "pairs_learned", lambda: networks.learned(must_load("networks_learn"))),
    ("docs/learning.md", "teams_learned", lambda: networks.teams_learned(load("teams_learn"))),
    ("docs/networks.md", "rounding", lambda: networks.rounding(must_load("network_rounding"))),
    ("docs/networks.md", "network_opponents", lambda: networks.opponents(must_load("network_opponents"))),
    ("docs/league.md", "evaluation", league.evaluation),
    ("docs/league.md", "snapshots", league.snapshots),
    ("docs/league.md", "capacity", league.capacity),
    ("docs/league.md", "hour", league.hour),
    (
        "docs/trainers.md",
        "runs",
        lambda: trainers.runs(must_load("trainers"), must_load("adapters_learn")),
    ),
    ("docs/trainers.md", "search", lambda: trainers.search(must_load("search_example"))),
    ("docs/trainers.md", "trainers", lambda: trainers.cost(must_load("vector_cost"))),
    (
        "docs/trainers.md",
        "adapters",
        lambda: trainers.adapters(must_load("adapters_learn"), must_load("learning_example")),
    ),
    ("docs/engine.md", "fields", fields),
    ("docs/observation.md", "version", version),
    ("docs/observation.md", "arrays", arrays),
    *(
        ("docs/observation.md", name, partial(columns, table))
        for name, table in obs_tables.EVERY_COLUMN.items()
    ),
    *(
        ("docs/observation.md", name, partial(pair_columns, table))
        for name, table in obs_tables.EVERY_PAIR_COLUMN.items()
    ),
    ("docs/observation.md", "sizes", sizes),
)
"""File, name of the markers, and what stands between them."""


if __name__ == "__main__":
    sys.exit(main())
