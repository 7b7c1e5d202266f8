"""The networks of snapshots for the engine: made when they are frozen, and told of where there is none."""

from __future__ import annotations

import logging
from collections.abc import Collection
from functools import lru_cache
from typing import Any

from rllib_adapters.envs.env_config import PAIRS, EnvConfig
from rllib_adapters.modules.pairs import READS, PairModule
from territorial.bots.network import Rows
from territorial.bots.network_file import NetworkFile
from territorial.config import GameConfig
from territorial.league import Manifest, SnapshotStore, UnknownSnapshotError
from territorial.nets import ExportError, PairPolicy
from territorial.nets.pair_export import in_whole_numbers, rows_of_config

NOT_EXPORTED = "not_exported"
"""In the metadata of a snapshot on pairs: why the engine cannot play it."""
_log = logging.getLogger(__name__)


def network_of(module: type[PairModule], policy: Any, options: EnvConfig) -> NetworkFile | str:
    """Return what the engine plays for ``policy``, or a text that says why it cannot."""
    if module.architecture != PairModule.architecture or type(policy) is not PairPolicy:
        return f"its architecture is {module.architecture!r}; the engine plays {PairModule.architecture!r}"
    if policy.teams:
        return "its games have teams, and the engine shows networks no allies"
    candidates = options.options_of(PAIRS).pair_rows(options.config).candidates
    rows = _rows(options.config, candidates)
    try:
        return in_whole_numbers(policy, interval=options.interval, num_candidates=candidates, rows=rows)
    except ExportError as error:
        return str(error)


@lru_cache(maxsize=1)
def _rows(config: GameConfig, num_candidates: int) -> Rows:
    """Return the states on which scales are measured and choices compared, of the games that are played."""
    return rows_of_config(config, num_candidates)


class PoolReport:
    """Says once of every snapshot on pairs that it acts in the pool, and why."""

    def __init__(self) -> None:
        self._told: dict[str, str | None] = {}

    @property
    def reasons(self) -> dict[str, str]:
        """Why those act there that the last table had."""
        return {name: why for name, why in self._told.items() if why is not None}

    def update(self, store: SnapshotStore, names: Collection[str]) -> None:
        """Log a line about those of the snapshots ``names`` that are new and act in the pool."""
        new = {name: _reason(store, name) for name in names if name not in self._told}
        self._told = {name: (self._told | new)[name] for name in names}
        by_reason: dict[str, list[str]] = {}
        for name, why in new.items():
            if why is not None:
                by_reason.setdefault(why, []).append(name)
        for why, alike in by_reason.items():
            _log.warning("acting in the pool, not in the engine: %s: %s", ", ".join(alike), why)


def _reason(store: SnapshotStore, name: str) -> str | None:
    """Return why a snapshot on pairs acts in the pool; None if it does not, or reads something else."""
    try:
        manifest = store.manifest(name)
        if manifest.observation != READS["observation"] or store.network(name) is not None:
            return None
    except UnknownSnapshotError:
        return None
    return _why(manifest)


def _why(manifest: Manifest) -> str:
    return str(manifest.metadata.get(NOT_EXPORTED, "it was stored without a network for the engine"))
