"""A league run in a folder: trained, logged, kept in checkpoints, resumed."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import gc
import json
import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import ray
import torch
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.ppo import PPOConfig

from rllib_adapters.cluster import search_path
from rllib_adapters.configuration import configure_league
from rllib_adapters.league.callback import league_callback_of, league_in
from rllib_adapters.league.control import freeze
from rllib_adapters.league.shared_store import SharedStore
from rllib_adapters.modules.board import settings_of
from rllib_adapters.train.options import (
    BOUNDS,
    CHECKPOINTS,
    OF_WHAT_COMES,
    PROGRESS,
    RUN_FILE,
    SNAPSHOTS,
    Training,
    check_new,
)
from territorial.config.validation import finite_number, raised_as, shown, whole_number
from territorial.files.atomic import naming, own_file, own_folder, write_file
from territorial.files.bounded import check_fields, open_file, parse_object, read_file, whole_lines
from territorial.league import League, SnapshotStore
from territorial.league.checkpoints import Checkpoints
from territorial.league.store import SnapshotError, StoreInUseError, only_writer
from territorial.memory.guard import MemoryGuard
from territorial.memory.measure import Memory, measure
from territorial.memory.plan import MB, BudgetError
from territorial.memory.predict import predict

LEAGUE, STATE, ALGORITHM = "league.npz", "state.json", "algorithm"
LAST = "last"
"""The snapshot of the main agent as training ended; it is not in the league."""
DRIVER = "driver"
"""The kind of this process."""
RAY = "Ray"
"""The kind of Ray's own processes: scheduler, object store, waiting workers."""


class Run:
    """A run in a folder of its own.

    ==================  ====================================================================================
    ``run.json``        its options
    ``snapshots/``      a ``SnapshotStore``; ``last`` is the main agent as training ended
    ``checkpoints/``    complete ones alone: the algorithm, ``league.npz`` and ``state.json``
    ``progress.csv``    a line an iteration, cut back to whole ones up to the checkpoint of a resumed run
    ==================  ====================================================================================

    What is done after a checkpoint is done again when the run resumes from it. Between, the folder may be
    moved. Ray has to run.

    Args:
        folder: of the run.
        training: the options of a new one; None resumes the one in the folder, from its newest complete
            checkpoint.
        shared: whether processes are on other machines, too, which fetch snapshots from this one.
        limits: further options that replace those in the folder: ``iterations``, ``minutes``, ``memory_mb``.

    FileExistsError for a new run in a folder that has one, or files that a new one would replace.
    FileNotFoundError for going on where there is none. BudgetError (a MemoryError) if it is to take more than
    ``memory_mb``.

    """

    def __init__(
        self, folder: Path, training: Training | None, *, shared: bool = False, **limits: Any
    ) -> None:
        self.folder = folder.absolute()
        goes_on = training is None
        chosen = Training.read(self.folder / RUN_FILE) if training is None else training
        self.training = Training(**{**vars(chosen), **limits})
        own_folder(self.folder)
        self.checkpoints = Checkpoints(self.folder / CHECKPOINTS, keep=self.training.keep)
        self.store = (SharedStore if shared else SnapshotStore)(self.folder / SNAPSHOTS)
        self._seconds, logged = 0.0, 0
        torch.set_num_threads(self.training.torch_threads)
        with only_writer(self.store.path):  # or a run that is at work here is
            latest = self._found() if goes_on else None
            if not goes_on:  # from here on, the folder can be resumed
                check_new(self.folder)
                self.training.write(own_file(self.folder / RUN_FILE))
        if latest is not None:
            self._seconds, logged, options = _state_in(latest / STATE)
            self._check_options(latest, options)
        with contextlib.ExitStack() as unless_it_stands:
            if not goes_on:
                unless_it_stands.callback(self._undo)
            with self._guard():
                self.algorithm = self._build() if latest is None else self._restore(latest)
            unless_it_stands.callback(self.algorithm.stop)
            self.training.write(own_file(self.folder / RUN_FILE))
            self._log = _Log(self.folder, logged)
            unless_it_stands.pop_all()

    # ---- beginning ------------------------------------------------------------------------------------

    def _undo(self) -> None:
        """Remove what there is of a new run that could not be built: nothing else was there."""
        with contextlib.suppress(StoreInUseError), only_writer(self.store.path):
            for name in self.store.names():
                self.store.remove(name)
            (self.folder / RUN_FILE).unlink()

    def _found(self) -> Path | None:
        """Return the newest complete checkpoint; without any, the run begins again from nothing."""
        latest = self.checkpoints.latest(self._lacks)
        for step in self.checkpoints.steps():
            if latest is not None and self.checkpoints.at(step) > latest:
                self.checkpoints.set_aside(step)
        if latest is None:
            names = self.store.names()
            for name in names:  # all of which this run must have made before its first checkpoint
                about = self.store.manifest(name).metadata
                if name != "main-0" or about.get("step") != 0 or "run" not in about:
                    raise ValueError(
                        f"no checkpoint in {str(self.checkpoints.path)!r} is complete, and a new start would "
                        f"remove the snapshot {name!r} in {str(self.store.path)!r}; move it away first"
                    )
            for name in names:
                self.store.remove(name)
        return latest

    def _lacks(self, checkpoint: Path) -> str | None:
        """Return what a checkpoint needs of the run that is not there as it was written; None: nothing."""
        try:
            _state_in(checkpoint / STATE)
            for name in League.load(checkpoint / LEAGUE).snapshots:
                self.store.load(name)
        except (SnapshotError, ValueError) as error:
            return str(error)
        return None

    def _check_options(self, checkpoint: Path, began: Mapping[str, Any]) -> None:
        """Raise ValueError if the file of options says something else than the run does."""
        for name, value in vars(self.training).items():
            if name not in OF_WHAT_COMES and began.get(name, value) != value:
                raise ValueError(
                    f"{str(self.folder / RUN_FILE)!r} has {name} = {shown(value)}; the run of "
                    f"{checkpoint.name} began with {shown(began[name])}. Use that value or start another run"
                )

    def _build(self) -> Algorithm:
        if self.training.memory_mb:
            plan = predict(self.training.setup(parameters_of(self.training)), self.training.net.obs)
            plan.check_budget(self.training.memory_mb * MB)
        own = PPOConfig().training(use_kl_loss=False)
        return configured(self.training, self.store, own).build_algo()

    def _restore(self, latest: Path) -> Algorithm:
        try:
            algorithm = Algorithm.from_checkpoint(str(latest / ALGORITHM), store=self.store)
        except (SnapshotError, OSError, MemoryError, ImportError):
            raise
        except Exception as error:  # whatever RLlib makes of files that do not fit
            reason = f"{type(error).__name__}: {error}"
            raise ValueError(f"{latest} cannot be restored: {reason}") from error
        league_callback_of(algorithm).lock_store()  # before anything of the run is changed
        kept = League.load(latest / LEAGUE)
        if kept.to_bytes() != league_in(algorithm).to_bytes():
            raise ValueError(
                f"the league in {latest} differs from the league of its algorithm; the checkpoint is damaged"
            )
        return algorithm

    # ---- training -------------------------------------------------------------------------------------

    def train(
        self,
        show: Callable[[dict[str, Any], int], None],
        *,
        during: Callable[[int], AbstractContextManager[Any]] = contextlib.nullcontext,
    ) -> None:
        """Train to the end of the run; ``show(row, seconds)`` is called after every iteration.

        ``during(iteration)`` is a context that each of them runs in. It ends with a checkpoint, also when it
        is interrupted (KeyboardInterrupt) or when all processes together come to hold more than ``memory_mb``
        (BudgetError, with a table of who holds what). CheckpointError if one cannot be written.
        """
        if self.checkpoints.latest() is None:
            self.keep()
        try:
            with self._guard(self._end_runners):
                self._iterate(show, during)
        except (KeyboardInterrupt, BudgetError) as reason:
            gc.collect()  # what the iteration that was broken off leaves
            self.keep()
            if isinstance(reason, KeyboardInterrupt):  # there may be no memory left to export in
                self._freeze_last()
            raise
        self.keep()
        self._freeze_last()

    def _freeze_last(self) -> None:
        """Add the main agent as it is to the snapshots, in place of an earlier one."""
        freeze(self.algorithm, self.store, LAST, step=self.algorithm.training_iteration, replace=True)

    def _iterate(
        self,
        show: Callable[[dict[str, Any], int], None],
        during: Callable[[int], AbstractContextManager[Any]],
    ) -> None:
        began = time.monotonic() - self._seconds
        training = self.training
        while (
            self.algorithm.training_iteration < training.iterations and self._seconds < 60 * training.minutes
        ):
            with during(self.algorithm.training_iteration + 1):
                row = self._row(self.algorithm.train())
            self._seconds = time.monotonic() - began
            row = {"iteration": row.pop("iteration"), "seconds": round(self._seconds, 1), **row}
            self._log.add(row)
            show(row, int(self._seconds))
            if self.algorithm.training_iteration % self.training.checkpoint_every == 0:
                self.keep()

    def _guard(self, on_limit: Callable[[Memory], None] | None = None) -> MemoryGuard:
        return MemoryGuard(self.training.memory_mb * MB, on_limit)

    def _end_runners(self, found: Memory) -> None:
        """Kill the processes that play: one that grows would do so until the checkpoint is written.

        Through Ray, which would restart them, and at once, as Ray takes its time on a busy machine.
        """
        for runner in self.algorithm.env_runner_group._worker_manager.actors().values():
            ray.kill(runner)
        for process in found.processes:
            if kind_of(process.pid, process.name) not in (DRIVER, RAY):
                with contextlib.suppress(ProcessLookupError):
                    # Windows has no SIGKILL; there, whatever is given ends a process at once.
                    os.kill(process.pid, getattr(signal, "SIGKILL", signal.SIGTERM))

    def keep(self) -> None:
        """Write a checkpoint, unless there is one of this iteration; remove snapshots that none needs."""
        iteration = self.algorithm.training_iteration
        if iteration not in self.checkpoints.steps():
            self.checkpoints.write(iteration, self._fill)
            kept = [League.load(self.checkpoints.at(step) / LEAGUE) for step in self.checkpoints.steps()]
            league_callback_of(self.algorithm).clean({name for league in kept for name in league.snapshots})

    def close(self) -> None:
        """Stop the algorithm."""
        self.algorithm.stop()

    def _fill(self, folder: Path) -> None:
        self.algorithm.save_to_path(str(folder / ALGORITHM))
        league_in(self.algorithm).save(folder / LEAGUE)
        options = dataclasses.asdict(self.training)
        state = {"seconds": self._seconds, "logged": self._log.sync(), "options": options}
        write_file(folder / STATE, json.dumps(state).encode())

    def _row(self, result: dict[str, Any]) -> dict[str, Any]:
        """Return what is logged of an iteration."""
        league, played = result["league"], result.get("env_runners", {})
        learner = result.get("learners", {}).get("main", {})
        state = league_in(self.algorithm)
        met = state.met_bots()
        return {
            "iteration": int(result["training_iteration"]),
            "steps": int(played.get("num_env_steps_sampled_lifetime", 0)),
            "games": state.num_games,
            "snapshots": league["snapshots"],
            "frozen": " ".join(league["frozen"]),
            "place": _number(played.get("place")),
            "entropy": _number(learner.get("entropy")),
            "value_loss": _number(learner.get("vf_loss")),
            "memory_mb": round(measure().total / MB),
            **{f"rating_{name}": _rating(state, name) for name in state.steps},
            **{
                f"above_{bot.partition(':')[2]}": round(met[bot].above, 3) if bot in met else None
                for bot in state.pool("bots")
            },
        }


class _Log:
    """The lines of a run, in a file that only grows.

    Args:
        folder: of the run.
        logged: bytes of the file that are kept: up to the checkpoint that the run resumes from.

    """

    def __init__(self, folder: Path, logged: int) -> None:
        self._path, size = own_file(folder / PROGRESS), 0
        self._path.touch()
        with open_file(self._path) as file:
            for line in whole_lines(file, 2**20):
                if size + len(line) > logged:
                    break
                size += len(line)
        if size < self._path.stat().st_size:
            os.truncate(self._path, size)

    def add(self, row: dict[str, Any]) -> None:
        """Write a line."""
        with naming(self._path), open(own_file(self._path), "a", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(row))
            if file.tell() == 0:
                writer.writeheader()
            writer.writerow(row)

    def sync(self) -> int:
        """Return the bytes of the file, all of which are on the disk then."""
        with naming(self._path), open(self._path, "rb+") as file:
            os.fsync(file.fileno())
        return self._path.stat().st_size


def kind_of(pid: int, name: str) -> str:
    """Return what a process is: "driver" for this one, its class for an actor of Ray's, else "Ray".

    Linux cuts names to 15 characters, those of actors too: "ray::StockEnvRu" is "StockEnvRu".
    """
    if pid == os.getpid():
        return DRIVER
    kind = name.removeprefix("ray::").partition(".")[0]
    is_actor = name.startswith("ray::") and not kind.startswith(("IDLE", "Dashboard", "RuntimeEnv"))
    return kind if is_actor else RAY


def _state_in(path: Path) -> tuple[float, int, Mapping[str, Any]]:
    """Return seconds, bytes of the log and options of the run of a checkpoint; ValueError names the file."""
    with raised_as(
        ValueError, f"{str(path)!r} does not hold the progress of a run: ", (ValueError, TypeError, OSError)
    ):
        state = parse_object(read_file(path, BOUNDS.nbytes), BOUNDS)
        check_fields("it", state, {"seconds", "logged", "options"})
        options = state["options"]
        check_fields("options", options, (), options)
        seconds = finite_number("seconds", state["seconds"], 0)
        return seconds, whole_number("logged", state["logged"], 0), options


def configured(
    training: Training, store: SnapshotStore, config: AlgorithmConfig, runner: str = "batched"
) -> AlgorithmConfig:
    """Return the configuration of an algorithm that trains as the options of a run say."""
    own = configure_league(
        config,
        training.env_config(),
        League(training.league_config()),
        store,
        start=training.start or None,
        module=(training.net.module, training.net.settings),
        runner=runner,
    )
    own.env_runners(
        num_env_runners=training.env_runners,
        num_envs_per_env_runner=training.num_games,
        rollout_fragment_length="auto",
        sample_timeout_s=None,  # after 60 s, else, RLlib throws away what a slow machine has played
        create_local_env_runner=training.env_runners == 0,
    )
    own.training(
        train_batch_size_per_learner=training.iteration_steps,
        minibatch_size=training.minibatch,
        num_epochs=training.epochs,
        lr=training.learning_rate,
        gamma=training.gamma,
        lambda_=0.95,
        entropy_coeff=training.entropy,
        grad_clip=0.5,
    )
    own.learning(share=training.share, bf16=training.bf16)
    own.debugging(seed=training.seed, log_level="ERROR")
    return own


@cache
def parameters_of(training: Training) -> int:
    """Return the number of parameters of the network that learns."""
    net = training.net
    policy = net.module.make_policy(settings_of(training.env_config(), **net.settings))
    return sum(part.numel() for part in policy.parameters())


def start_ray(runners: int) -> None:
    """Start Ray for a run, on this machine alone.

    Its processes get the priority of this one, unless RAY_worker_niceness says another: Ray's own default is
    15, and on a busy machine the runners would get next to nothing of the processor. Ray's control service
    would keep events of every call of a runner, 60 MB an hour, for a dashboard, which there is not.
    """
    os.environ.setdefault("RAY_worker_niceness", "0")
    os.environ.setdefault("RAY_task_events_report_interval_ms", "0")
    ray.init(
        address="local",
        num_cpus=runners + 1,
        object_store_memory=200 * MB,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="error",
        runtime_env={"env_vars": {"PYTHONPATH": search_path()}},
    )


def _rating(league: League, learner: str) -> float | None:
    """Return the rating of one who learns, None before any game says anything of it."""
    player = f"trainable:{learner}"
    return round(league.rating(player).mu, 3) if league.is_rated(player) else None


def _number(value: Any) -> float | None:
    return None if value is None or not np.isfinite(value) else round(float(value), 4)
