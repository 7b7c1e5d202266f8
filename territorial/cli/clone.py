"""``territorial clone``: trains a network to imitate players of a data set."""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from territorial._log import elapsed
from territorial.cli import options
from territorial.cli.options import UsageError, blamed_on, explained
from territorial.evaluation.progress import ProgressLine
from territorial.files.atomic import check_unused, own_file
from territorial.files.locks import one_writer
from territorial.league.store import WRITER
from territorial.training import Dataset

EXAMPLES = """\
  territorial dataset games --seats besieger --every-ticks 50 --games 600
  territorial clone games CLONE
  territorial match --seats net:CLONE/network.safetensors,banker
"""
WEIGHTS, NETWORK = "weights.safetensors", "network.safetensors"


def add_parser(verbs: Any) -> None:
    """Add this verb to the command line."""
    summary = "train a network to imitate the players of a data set (behaviour cloning; needs PyTorch)"
    parser = options.new_parser(verbs, "clone", summary, EXAMPLES)
    parser.add_argument("data", metavar="DATASET", help="folder that `territorial dataset` wrote")
    parser.add_argument("folder", metavar="CLONE", help="folder for the result; run it again to resume")
    parser.add_argument(
        "--network-size",
        choices=("small", "standard"),
        default="standard",
        help="size of the network; small or standard (default %(default)s)",
    )
    parser.add_argument(
        "--epochs",
        type=options.whole(1, 10_000),
        default=8,
        metavar="N",
        help=explained("--epochs", "1 to 10000", default=8),
    )
    parser.add_argument(
        "--minibatch",
        type=options.whole(1, 2**24),
        default=1024,
        metavar="N",
        help=explained("--minibatch", "at least 1", default=1024),
    )
    parser.add_argument(
        "--learning-rate",
        type=float,
        default=0.001,
        metavar="X",
        help=explained("--learning-rate", "it falls to 0 during training; at least 1e-9", default=0.001),
    )
    parser.add_argument(
        "--value-weight",
        type=float,
        default=0.5,
        metavar="X",
        help="weight of the squared error of values in the loss; at least 0 (default %(default)s)",
    )
    options.add_seed_option(parser, "of the first weights and of the order of rows")
    options.add_report(parser, run)


def run(parsed: argparse.Namespace) -> int:
    """Clone the players of a data set, and report how well the network decides as they did."""
    with blamed_on("DATASET", ValueError):
        data = Dataset(parsed.data)
    options.check_folder("CLONE", parsed.folder)
    text, result = clone(parsed, data)
    options.report(parsed, text, result)
    return 0


def clone(parsed: argparse.Namespace, data: Dataset) -> tuple[str, dict[str, Any]]:
    """Clone, write the network in both forms, and return the report as text and as JSON."""
    if data.manifest.recipe.has_teams:
        raise UsageError(
            f"the games of {str(data.folder)!r} have teams, and the engine plays no network that "
            "sees allies; territorial.nets.Cloning trains one that stays in PyTorch"
        )
    try:
        with elapsed("territorial clone: loading PyTorch"):
            import torch

            from territorial.nets.cloning import CHECKPOINTS, SETTINGS, CloneSettings, Cloning
    except ImportError:
        raise UsageError(
            "cloning needs PyTorch: pip install 'territorial-env[torch]' (or '.[torch]' in the checkout)"
        ) from None
    torch.set_num_threads(1)
    given = vars(parsed) | {"size": parsed.network_size}
    started = time.process_time()
    line = ProgressLine()

    def show(epoch: int, rows: int, loss: float) -> None:
        of_rows = f"{rows:,} of some {data.manifest.rows:,} rows"
        line.show(f"epoch {epoch} of {parsed.epochs}, {of_rows}, loss {loss:.3f}")

    folder, recipe = Path(parsed.folder), data.manifest.recipe
    try:
        with blamed_on("", ValueError), blamed_on("CLONE"), one_writer(folder / WRITER):
            for name in (SETTINGS, WEIGHTS, NETWORK):
                own_file(folder / name)
            check_unused(folder, (WEIGHTS, NETWORK, CHECKPOINTS), SETTINGS)
            settings = CloneSettings(**{field.name: given[field.name] for field in fields(CloneSettings)})
            cloning = Cloning(data, settings, folder)
            agreement = cloning.run(show)
            cloning.policy.save(folder / WEIGHTS)
            report = cloning.policy.export(
                folder / NETWORK,
                interval=recipe.every or 50,  # where the rows stand at no fixed distance
                num_candidates=recipe.num_candidates,
                least_equal=0.0,
            )
    finally:
        line.close()
    result = {
        "folder": parsed.folder,
        "settings": asdict(settings),
        "agreement": agreement._asdict(),
        "export": asdict(report),
        "process_seconds": round(time.process_time() - started, 1),
    }
    text = f"{agreement}\nin whole numbers: {report}\n{folder / WEIGHTS} and {folder / NETWORK} are written"
    return text, result
