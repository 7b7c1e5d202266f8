"""Command-line options that load snapshots as players."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from territorial.cli.options import UsageError, blamed_on, option
from territorial.evaluation.players import SNAPSHOT, Player, code_digest, load, snapshots_of
from territorial.league import SnapshotStore


def players_of(
    parsed: argparse.Namespace,
    names: Sequence[str],
    open_store: Callable[[str], SnapshotStore] = SnapshotStore,
) -> Sequence[Player]:
    """Return the players of these names; snapshots become policies."""
    wanted = snapshots_of(names)
    if not wanted:
        return names
    if parsed.store is None:
        raise UsageError(
            f"argument --store: {SNAPSHOT + wanted[0]!r} needs this option; pass the folder that contains "
            "the snapshot"
        )
    if not Path(parsed.store).is_dir():
        raise UsageError(f"argument --store: there is no folder {parsed.store!r}")
    try:
        from territorial.nets.players import SnapshotPolicy
    except ImportError:
        raise UsageError(
            "snapshots need PyTorch: pip install 'territorial-env[torch]' (or '.[torch]' in the checkout)"
        ) from None
    with blamed_on("--architecture", ValueError):
        makers = {name: load("architecture", maker) for name, maker in parsed.architectures}
    store = open_store(parsed.store)
    trunks = {name: getattr(maker, "make_trunk", maker) for name, maker in makers.items()}
    policies = {SNAPSHOT + name: SnapshotPolicy(store, name, trunks) for name in wanted}
    return [policies.get(name, name) for name in names]


def code_of(parsed: argparse.Namespace, players: Sequence[str]) -> dict[str, str]:
    """Return digests of the code of the architectures, if snapshots are among ``players``."""
    used = parsed.architectures if snapshots_of(players) else ()
    return {f"architecture {name}": code_digest(maker, load("architecture", maker)) for name, maker in used}


def _architecture(text: str) -> tuple[str, str]:
    name, _, maker = text.partition("=")
    if not name or ":" not in maker:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=module:trunk")
    return name, maker


STORE = option(
    "--store",
    f"folder of the SnapshotStore; it holds the players {SNAPSHOT}NAME; needs PyTorch",
    metavar="FOLDER",
)
OPTIONS = (
    STORE,
    option(
        "--architecture",
        "function or class that builds the trunk of snapshots with the architecture NAME; repeat the "
        "option for more",
        shown="only ReferenceModule",
        action="append",
        default=[],
        type=_architecture,
        metavar="NAME=module:trunk",
        dest="architectures",
    ),
)
"""What :func:`players_of` reads; without the second of them, ``architectures`` has to be empty."""
