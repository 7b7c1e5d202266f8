"""``LeagueCallback``: records results, opens gates and updates the line-ups."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ray.rllib.algorithms.algorithm import Algorithm

from rllib_adapters.league.control import freeze, give_weights, outcomes_of, set_league
from rllib_adapters.league.pool import MOVED
from territorial.league import League, SnapshotStore, UnknownSnapshotError
from territorial.league.store import SnapshotError, only_writer

LEAGUE_FILE = "league.npz"
"""The file in the store that has the league as of the last iteration, for people to look at."""
START = "-start"
"""Ends the names of the weights that learners go back to; they play no games."""


def league_in(algorithm: Algorithm) -> League:
    """Return the league that the algorithm plays, as it is now; ValueError if there is none."""
    return league_callback_of(algorithm).league


def league_callback_of(algorithm: Algorithm) -> LeagueCallback:
    """Return the ``LeagueCallback`` of an algorithm; ValueError if it has none."""
    league_callback = getattr(algorithm, "league_callback", None)
    if league_callback is None:
        raise ValueError(
            "the algorithm has no league: make its config with configure_league(...) or add_league(...)"
        )
    return league_callback


class LeagueCallback:
    """Keeps a league while an algorithm trains, which calls it.

    After an iteration it records how the games of all runners ended, counts a step of every learner
    and freezes a copy of those whose gate is open. It sends the new table to all runners, which play by it
    from their very next game on. What the league evicts stays in the store until :meth:`clean`: a checkpoint
    may need it.

    Args:
        league: of this run, as it begins; it is copied.
        store: of its snapshots.
        start: called with the algorithm before a run begins, to set the first weights; None: those that are
            drawn by chance stay. It is pickled with checkpoints.

    Attributes:
        run: tells the snapshots of this run from those of others; empty until it begins.
        goes_on: whether the run goes on from a checkpoint.

    """

    def __init__(
        self, league: League, store: SnapshotStore, start: Callable[[Algorithm], None] | None = None
    ) -> None:
        # The league that is not unpacked: copies of a configuration share it.
        self._packed = _packed(league)
        self.store, self.start = store, start
        self.run = ""
        self.goes_on = False
        self._held: ExitStack | None = None

    @cached_property
    def league(self) -> League:
        """The league as it is now."""
        return League.from_bytes(*self._packed)

    def __getstate__(self) -> dict[str, Any]:
        state = {**vars(self), "_held": None}
        if "league" in state:
            state["_packed"] = _packed(state.pop("league"))
        return state

    def lock_store(self) -> None:
        """Be the one run that writes to the store, until :meth:`release`; StoreInUseError if another does.

        A new run is that from its beginning, one that goes on from a checkpoint from its first iteration, or
        the first time that it writes. So any number of checkpoints may be open, to be evaluated.
        """
        if self._held is None:
            with ExitStack() as held:
                held.enter_context(only_writer(self.store.path))
                self._held = held.pop_all()

    def release(self) -> None:
        """Let another run write to the store."""
        if self._held is not None:
            self._held.close()
            self._held = None

    def place(self, moved_to: SnapshotStore | None, trial: str | None) -> SnapshotStore:
        """Return the store of this run, as it begins or goes on.

        ``moved_to``: where it is now; ``trial``: the id that Tune has given the run, if it has.
        """
        if moved_to is not None:
            self.store = moved_to
        elif trial is not None:
            self.store = self.store.within(trial)
        self.goes_on = bool(self.run)
        self.run = self.run or trial or uuid.uuid4().hex
        return self.store

    def begin(self, algorithm: Algorithm) -> None:
        """Set the first weights and put the first snapshots into the store, unless the run is resumed."""
        # Tune makes a trial anew where it failed, and then restores it.
        is_trial = self.run == self.store.path.name
        if not (self.goes_on or is_trial) and (self.store.path / LEAGUE_FILE).exists():
            raise FileExistsError(
                f"the league of another run is in {self.store.path}; each run needs its own folder"
            )
        if self.start is not None and not self.goes_on:
            self.start(algorithm)
        for one in self.league.snapshots.values():
            if self._has(one.name):
                continue
            if one.step == 0 and not self.goes_on:
                self._keep(algorithm, one.learner, one.name)
            else:
                raise UnknownSnapshotError(
                    f"the league has the snapshot {one.name!r}, which is missing in "
                    f"{self.store.path}; {MOVED}"
                )
        for learner in self.league.config.learners:
            if learner.reset_chance and not self._has(f"{learner.name}{START}"):
                self._keep(algorithm, learner.name, f"{learner.name}{START}")
        # The first games were dealt before there were snapshots.
        set_league(algorithm, self.league.table())

    def update(self, algorithm: Algorithm, step: int) -> dict[str, Any]:
        """Update the league and the runners after iteration ``step``; return the events."""
        outcomes = outcomes_of(algorithm)
        for outcome in outcomes:
            self.league.record(*outcome)
        frozen = []
        for learner in self.league.steps:
            self.league.advance(learner)
            if self.league.gate(learner).is_open:
                frozen.append(self._freeze(algorithm, learner))
        set_league(algorithm, self.league.table())
        met = self.league.met_bots()
        self.league.note(
            step,
            above={bot: round(one.above, 4) for bot, one in met.items()},
            met={bot: one.games for bot, one in met.items()},
        )
        self.lock_store()
        self.league.save(self.store.path / LEAGUE_FILE)
        return {
            "games": len(outcomes),
            "snapshots": len(self.league.snapshots),
            "frozen": frozen,
            **{f"rating_{name}": self.league.rating(f"trainable:{name}").mu for name in self.league.steps},
        }

    def clean(self, needed: set[str] | frozenset[str] = frozenset()) -> list[str]:
        """Remove snapshots of this run that neither the league nor ``needed`` has; return the names.

        To be called when no checkpoint needs them any more; games in progress play on with them. What others
        have put into the store stays there.
        """
        self.lock_store()
        starts = {f"{name}{START}" for name in self.league.steps}
        kept = {*self.league.snapshots, *needed, *starts}
        gone = [name for name in self.store.names() if name not in kept and self._is_own(name)]
        for name in gone:
            self.store.remove(name)
        return gone

    def get_state(self) -> dict[str, Any]:
        """Return the league, and where its snapshots are, as plain data."""
        return {"league": self.league.to_bytes(), "store": str(self.store.path), "run": self.run}

    def set_state(self, algorithm: Algorithm, state: Mapping[str, Any]) -> None:
        """Resume the league of a state; snapshots of another run, or in another store, come from there."""
        if state["league"] != self.league.to_bytes():
            self.league = League.from_bytes(state["league"], self.league.config.python_bots)
            is_own, there = state["run"] == self.run, Path(state["store"])
            for name in self.league.snapshots if there.is_dir() else ():
                if not (is_own and name in self.store):
                    self.lock_store()
                    weights, network = SnapshotStore(there).load(name), SnapshotStore(there).network(name)
                    content = None if network is None else [network.path.read_bytes()]
                    own = replace(weights.manifest, metadata={**weights.manifest.metadata, "run": self.run})
                    self.store.add(name, weights, own, dtypes=weights.dtypes, network=content, replace=True)
        set_league(algorithm, self.league.table())

    def _freeze(self, algorithm: Algorithm, learner: str) -> str:
        name = self.league.next_name(learner)
        had = self._has(name)  # of what was done after the checkpoint that the run went on from
        self._keep(algorithm, learner, name, replace=had)  # first: an interrupted run writes a checkpoint
        frozen = self.league.freeze(learner)
        if frozen.starts_anew:
            give_weights(algorithm, learner, self.store.load(f"{learner}{START}"))
        return frozen.name

    def _keep(self, algorithm: Algorithm, learner: str, name: str, *, replace: bool = False) -> None:
        self.lock_store()
        about: dict[str, Any] = {"run": self.run, "learner": learner, "step": self.league.steps[learner]}
        freeze(algorithm, self.store, name, module=learner, replace=replace, **about)

    def _has(self, name: str) -> bool:
        """Return whether the store has a snapshot of this run; FileExistsError for one of another."""
        if name in self.store and self.store.manifest(name).metadata.get("run") != self.run:
            raise FileExistsError(
                f"the snapshot {name!r} of another run is in {self.store.path}; each run needs its own folder"
            )
        return name in self.store

    def _is_own(self, name: str) -> bool:
        """Return whether this run has made a snapshot; of a damaged one it is not known."""
        try:
            return self.store.manifest(name).metadata.get("run") == self.run
        except SnapshotError:
            return False


def _packed(league: League) -> tuple[bytes, tuple[Any, ...]]:
    """Return what ``League.from_bytes`` makes a copy of a league from."""
    return league.to_bytes(), league.config.python_bots
