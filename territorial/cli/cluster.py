"""The option ``--address``: games are played on a Ray cluster instead of by processes of this machine."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import EntryPoint
from typing import NamedTuple

from territorial.cli.option_names import explained
from territorial.cli.options import UsageError
from territorial.evaluation.pool import Play
from territorial.league import SnapshotStore

JOINED = EntryPoint("joined", "rllib_adapters.league.evaluation:joined", "territorial.cli")
"""What joins a cluster; it needs the extra "rllib", and is loaded where the option is given."""


class WhereGamesPlay(NamedTuple):
    """Who plays games, and how the snapshots in a folder get there."""

    play: Play | None
    """None: processes of this machine."""
    store: Callable[[str | os.PathLike[str]], SnapshotStore]


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--address``; :func:`games_of` obeys it."""
    parser.add_argument("--address", metavar="HOST:PORT", help=explained("--address", default="none"))


@contextmanager
def games_of(parsed: argparse.Namespace) -> Iterator[WhereGamesPlay]:
    """Within the block, games can be played where ``--address`` says; UsageError if there is no cluster."""
    if parsed.address is None:
        yield WhereGamesPlay(None, SnapshotStore)
        return
    try:
        joined = JOINED.load()
    except ImportError as error:
        raise UsageError(
            f"argument --address: a cluster needs Ray: pip install 'territorial-env[rllib]' ({error})"
        ) from None
    with ExitStack() as stack:
        try:
            play, store = stack.enter_context(joined(parsed.address, parsed.processes))
        except ConnectionError as error:
            raise UsageError(f"argument --address: {error}") from None
        yield WhereGamesPlay(play, store)
