"""``territorial info memory``: predicts the memory of a league."""

import argparse
import dataclasses
import re
import textwrap
from importlib.metadata import EntryPoint
from typing import Any

from territorial.cli import options
from territorial.cli.options import UsageError, aligned, blamed_on, number, option
from territorial.config.fields import describe
from territorial.memory.plan import MOST_CORES, PHASES, Plan, in_mb
from territorial.memory.predict import SHOWN, predict
from territorial.memory.setup import Setup

EXAMPLES = """\
  territorial info memory                         predict with the defaults
  territorial info memory --capacity 300 --env-runners 4
  territorial info memory --config league.toml --budget 6GB
  territorial info memory --form pairs --json plan.json
  territorial info memory --cores 16 --memory 64GB    what to train with there

--config reads whole numbers in TOML or JSON: the options of the league above
with _ for -, such as num_players = 16, and:
"""
NAMED = "height", "width", "num_players", "agent_seats", "capacity", "parameters", "env_runners"
"""The fields of ``Setup`` with an option of their own; a file may give all."""
FORM_MEANINGS = {
    "one-hot": "RLlib's old API stack with float32 one-hot observations and one policy per player",
    "packed": "this project on the new API stack with packed boards, bots in the engine and shared snapshots",
    "pairs": "the same with agents on pairs, which share no board",
    "mixed": "the same with agents on boards and others, as many as pair_seats says, on pairs",
}
JUDGED = "packed"
"""The form that a budget is for by default."""
PLANS = EntryPoint("plans", "rllib_adapters.train.scaling", "territorial.cli")
"""What plans a run for a machine; it needs the extra "rllib", and is loaded where ``--cores`` is given."""
BOUNDS = {
    "cores": "more cores would make it faster",
    "memory": "more memory would make it faster",
    "learner": "more runners would hardly make it faster, because the learner takes most of the time",
}
"""What a faster run would need."""
MOST_BYTES = 2**60
"""A size is below this."""
_UNITS = {"B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30, "TB": 2**40}


def add_parser(topics: Any) -> None:
    """Add this topic to ``info``."""
    parser = options.new_parser(
        topics,
        "memory",
        "predict the memory that training a league takes",
        f"{EXAMPLES}{_others()}",
        run,
    )
    options.add(
        parser,
        option(
            "--config",
            "read the options of the league below from FILE, .toml or .json; see the end of this page",
            metavar="FILE",
        ),
        option(
            "--form",
            "form of training to show (default all, side by side). "
            + ". ".join(f"{form}: {meaning}" for form, meaning in FORM_MEANINGS.items()),
            choices=SHOWN,
        ),
        option(
            "--budget",
            "memory limit such as 6GB or 900MB (a MB is 2**20 bytes); exit code 1 if the peak of the form "
            f"{JUDGED}, or of --form, is higher",
            type=size,
            metavar="SIZE",
        ),
    )
    options.add(
        parser.add_argument_group("what to train with on a machine, in place of a prediction"),
        number("--cores", 1, MOST_CORES, "cores that a run of `territorial train` may use", shown="none"),
        option("--memory", "memory that such a run may take, such as 64GB", type=size, metavar="SIZE"),
        option("--preset", shown="pairs", metavar="NAME"),
        option(
            "--measure",
            "measure for half a minute how fast this machine plays and learns (default the rates of "
            "docs/scaling.md)",
            action="store_true",
        ),
    )
    options.add(parser, options.JSON)
    fields = Setup.__dataclass_fields__
    options.add(
        parser.add_argument_group("the league"), *(options.field_option(fields[name]) for name in NAMED)
    )


def _others() -> str:
    """Return names, meanings, ranges and defaults of the entries that a file may have besides the options."""
    wrap = textwrap.TextWrapper(78, initial_indent="  ", subsequent_indent="    ")
    fields = (spec for spec in dataclasses.fields(Setup) if spec.name not in NAMED)
    return "\n".join(wrap.fill(f"{one.name}: {describe(one)} (default {one.default})") for one in fields)


def run(parsed: argparse.Namespace) -> int:
    """Print the plans, and keep to the budget."""
    if (parsed.cores, parsed.memory, parsed.preset, parsed.measure) != (None, None, None, False):
        return _plan(parsed)
    setup = setup_of(parsed)
    plans = [predict(setup, form) for form in ([parsed.form] if parsed.form else SHOWN)]
    result = {"setup": dataclasses.asdict(setup), "plans": list(map(as_data, plans))}
    options.report(parsed, text_of(setup, plans), result)
    if parsed.budget is not None:
        (judged,) = (plan for plan in plans if plan.form == (parsed.form or JUDGED))
        judged.check_budget(parsed.budget)
    return 0


def _plan(parsed: argparse.Namespace) -> int:
    """Print how to train on a machine."""
    for name in ("cores", "memory"):
        if getattr(parsed, name) is None:
            raise UsageError(
                f"argument --{name}: it is needed where --cores, --memory, --preset or --measure is given"
            )
    for name in ("config", "form", "budget", *NAMED):
        if getattr(parsed, name) is not None:
            flag = name.replace("_", "-")
            raise UsageError(f"argument --{flag}: it does not go with --cores, whose league is the preset's")
    preset = {} if parsed.preset is None else {"preset": parsed.preset}
    try:
        plans = PLANS.load()
        with blamed_on("--preset", ValueError):
            plans.plan_for(parsed.cores, parsed.memory, **preset)  # before what takes half a minute
        rates = plans.measured_rates(**preset) if parsed.measure else None
        plan = plans.plan_for(parsed.cores, parsed.memory, **preset, rates=rates)
    except ImportError as error:
        raise UsageError(
            f"argument --cores: a plan needs RLlib: pip install 'territorial-env[rllib]' ({error})"
        ) from None
    found = plan.to_dict()
    lines = [
        ("runners", f"{found['runners']:,}" + " (the driver plays)" * (found["runners"] == 0)),
        ("games of each", f"{found['games_of_a_runner']:,}"),
        ("learners", f"{found['learners']:,}" + " (the driver learns)" * (found["learners"] == 0)),
        ("steps of an iteration", f"{found['iteration_steps']:,}"),
        ("memory at the worst moment", in_mb(found["peak"])),
        ("steps a second, calculated", f"{found['steps_per_second']:,.0f}"),
        ("bound by", f"{found['bound']}: {BOUNDS[found['bound']]}"),
        ("the learner takes longer than", f"{found['enough_runners']:,} or more runners"),
    ]
    options.report(parsed, f"{aligned(lines, indent=0)}\n\n{plan.command}", found)
    return 0


def setup_of(parsed: argparse.Namespace) -> Setup:
    """Return the setup of the file, if one is given, with the options in place of its fields."""
    given = {name: getattr(parsed, name) for name in NAMED}
    changes = {name: value for name, value in given.items() if value is not None}
    with blamed_on("--config", TypeError, ValueError):
        base = Setup.read(parsed.config) if parsed.config else Setup()
    with blamed_on("", ValueError):
        return dataclasses.replace(base, **changes)


def size(text: str) -> int:
    """Return the bytes that a text such as ``6GB`` or ``1.5 TB`` names."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?B)\s*", text, re.IGNORECASE)
    number = float(match[1]) * _UNITS[match[2].upper()] if match else 0
    if not 1 <= number < MOST_BYTES:
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r} is not a size such as 6GB; units are {', '.join(_UNITS)}"
        )
    return int(number)


def as_data(plan: Plan) -> dict[str, Any]:
    """Return a plan as values that JSON has; sizes are in bytes."""
    return {
        "form": plan.form,
        "counts": plan.counts,
        "items": [item._asdict() | {"all": plan.of_item(item)} for item in plan.items],
        "built": plan.built,
        "built_over_idle": plan.built_over_idle,
        "peak": plan.peak,
    }


# ---- as text -----------------------------------------------------------------------------------------


def text_of(setup: Setup, plans: list[Plan]) -> str:
    """Return the sums of all plans side by side, then the amounts of each."""
    title = (
        f"{setup.height} x {setup.width} cells, {setup.num_players} seats, {setup.frames} frames; "
        f"1 network that learns, {setup.capacity:,} frozen, {setup.bots:,} bots; "
        f"{setup.parameters:,} parameters each"
    )
    phases = "\n".join(f"{phase}: {meaning};" for phase, meaning in PHASES.items())
    return "\n\n".join(
        [
            title,
            sums(plans),
            *(f"{plan.form}: {FORM_MEANINGS[plan.form]}\n{amounts(plan)}" for plan in plans),
            f"{phases}\na MB is 2**20 bytes. docs/where-40-gb-went.md explains the amounts.",
        ]
    )


def sums(plans: list[Plan]) -> str:
    """Return the memory of each kind of process, and the total."""
    rows = [("", *(plan.form for plan in plans))]
    for place, count in plans[0].counts.items():
        for phase in PHASES if count else ():
            title = f"{place}{f' (each of {count})' * (count > 1)}, {phase}"
            rows.append((title, *(in_mb(plan.of_one(place, phase)) for plan in plans)))
    rows += [
        ("all processes, built", *(in_mb(plan.built) for plan in plans)),
        ("  over idle ones", *(in_mb(plan.built_over_idle) for plan in plans)),
        ("all processes, worst moment", *(in_mb(plan.peak) for plan in plans)),
    ]
    return aligned([row for row in rows if set(row[1:]) != {in_mb(0)}], "l" + "r" * len(plans))


def amounts(plan: Plan) -> str:
    """Return the amounts of a plan, each with its arithmetic."""
    rows = []
    for item in filter(plan.of_item, plan.items):
        where = ", ".join(place for place in item.places if plan.counts[place])
        rows.append((item.name, f"{where}: {item.phase}", in_mb(item.nbytes), item.why))
    return aligned(rows, "llrl")
