#!/usr/bin/env python3
"""Puts faults into the sources and counts how many the tests find.

In a clone that nothing else uses, as the sources change while it runs, in its environment with all extras:

    pip install cosmic-ray
    cosmic-ray init maintainers/mutants.toml mutants.sqlite
    python maintainers/mutants.py mutants.sqlite --count 200 --seed 1
    cosmic-ray exec maintainers/mutants.toml mutants.sqlite      hours; goes on where it stopped
    cr-report --surviving-only --show-diff mutants.sqlite

The draw is the same for the same sources and seed. It takes places first and what is done there second,
as some places have one fault and others eleven. Two states of the suite are compared by the faults that
survive the later one: those that the earlier suite finds are what was lost.
"""

import ast
import random
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from pathlib import Path

from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator
from cosmic_ray.tools.filters.filter_app import FilterApp
from cosmic_ray.work_db import WorkDB
from cosmic_ray.work_item import MutationSpec, WorkerOutcome, WorkItem, WorkResult


class Draw(FilterApp):
    """Marks as skipped what was not drawn."""

    def description(self) -> str | None:
        """Return the text of ``--help``."""
        return __doc__

    def add_args(self, parser: ArgumentParser) -> None:
        """Add the size and the seed of the draw."""
        parser.add_argument("--count", type=int, default=200, help="faults drawn (default: 200)")
        parser.add_argument("--seed", type=int, default=1, help="of the draw (default: 1)")

    def filter(self, work_db: WorkDB, args: Namespace) -> None:
        """Leave ``args.count`` faults at as many places, and skip the others."""
        places: defaultdict[tuple[str, tuple[int, int]], list[WorkItem]] = defaultdict(list)
        for item in work_db.work_items:
            (mutation,) = item.mutations
            if mutation.operator_name != "core/RemoveDecorator":  # most are njit: the same game, slower
                places[str(mutation.module_path), mutation.start_pos].append(item)
        dice = random.Random(args.seed)
        drawn: set[str] = set()
        for place in dice.sample(sorted(places), len(places)):
            item = dice.choice(places[place])
            if len(drawn) < args.count and changes_behaviour(item.mutations[0]):
                drawn.add(item.job_id)
        rest = {item.job_id for item in work_db.work_items} - drawn
        work_db.set_multiple_results(rest, WorkResult(WorkerOutcome.SKIPPED, "not drawn"))


def changes_behaviour(mutation: MutationSpec) -> bool:
    """Return whether more than an annotation changes, and the result is Python."""
    source = Path(mutation.module_path).read_text(encoding="utf-8")
    operator = get_operator(mutation.operator_name)(**mutation.operator_args)
    try:
        changed = mutate_code(source, operator, mutation.occurrence)
        return changed is not None and _without_annotations(changed) != _without_annotations(source)
    except (AttributeError, SyntaxError):  # cosmic-ray cannot replace exceptions with dotted names
        return False


def _without_annotations(source: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        for field in ("annotation", "returns"):
            if getattr(node, field, None) is not None:
                setattr(node, field, ast.Constant(None))
    return ast.dump(tree)


if __name__ == "__main__":
    raise SystemExit(Draw().main())
