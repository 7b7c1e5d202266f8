"""``Training``: options and presets of a league run, and its games."""

from __future__ import annotations

import dataclasses
import errno
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rllib_adapters.networks import NETWORKS, Network
from territorial.config import FIELDS, GameConfig
from territorial.config.fields import check_values, documents_fields, like, option
from territorial.config.validation import check_type, raised_as
from territorial.files.atomic import check_unused, own_file, write_file
from territorial.files.bounded import Bounds, check_fields, parse_object, read_file
from territorial.league import Gate, LeagueConfig, Learner, Opponents
from territorial.memory.setup import Setup

BOUNDS = Bounds(nbytes=2**16, values=1000)
"""Of a file of options."""
RUN_FILE = "run.json"
"""The file of a run's folder that has them."""
LIMITS = ("iterations", "minutes", "memory_mb")
"""Fields that may be given again when a run is resumed."""
OF_WHAT_COMES = (*LIMITS, "checkpoint_every", "keep", "torch_threads")
"""Fields that the algorithm does not depend on: what the file says of them when a run is resumed is done."""
PROGRESS, CHECKPOINTS, SNAPSHOTS = "progress.csv", "checkpoints", "snapshots"
"""What else is in that folder."""
BOTS = ("novice", "banker", "turtle", "metronome", "random")
HARD_BOTS = ("settler", "besieger", "opportunist", "vulture", "leader_hunter")


@documents_fields
@dataclass(frozen=True, kw_only=True)
class Training:
    """The options of a run."""

    height: int = like(FIELDS["height"], 96)
    width: int = like(FIELDS["width"], 96)
    decision_every: int = option(50, "ticks from one decision of a bot to the next", 1, 1000)
    repeat: int = option(1, "decisions that a step plays: learning agents act in the first and then hold", 1)
    max_ticks: int = like(FIELDS["max_ticks"], 6000)
    num_maps: int = option(16, "generated maps, whose seeds count up from the map seed", 1, 1024)
    network: str = option(
        "features",
        "input of the network: pairs, numbers of each owner that can be attacked; features, which are only "
        "tables; or boards",
        choices=NETWORKS,
    )
    start: str = option(
        "", "file of weights that learners begin with, as `PairPolicy.save` writes; only for pairs"
    )
    agent_seats: int = option(4, "seats of a game that learning agents control", 1)
    snapshot_seats: int = option(4, "seats of snapshots; harder opponents are drawn more often", 0)
    bot_seats: int = option(4, "seats of bots; all bots are drawn equally often", 0)
    bot_names: str = option(",".join(BOTS), "bots, by name and separated by commas")
    capacity: int = option(40, "snapshots that the league keeps", 1)
    beats: float = option(0.6, "share of games above every opponent from which on a snapshot is added", 0)
    gate_games: int = option(30, "games against each opponent before that share counts", 1)
    freeze_every: int = option(25, "iterations after which a snapshot is added in any case", 1)
    iterations: int = option(1_000_000, "training iterations of the run; those before a stop count", 1)
    minutes: float = option(60.0, "minutes of the run at most; setting up does not count", 0)
    env_runners: int = option(2, "processes that collect samples; with 0 the driver does", 0)
    torch_threads: int = option(1, "PyTorch threads of the learner; many of them slow each other down", 1)
    num_games: int = option(16, "games that run side by side; in each env runner", 1)
    iteration_steps: int = option(
        2048, "environment steps of a training iteration, over all games and env runners", 1
    )
    minibatch: int = option(1024, "rows of a minibatch, each one agent's step", 1)
    epochs: int = option(3, "passes over the rows that are learned from; in each iteration", 1)
    learning_rate: float = option(5e-4, "learning rate of Adam", 0)
    gamma: float = option(0.99, "discount per decision", 0)
    entropy: float = option(0.003, "weight of the entropy in the loss", 0)
    share: float = option(1.0, "fraction of the rows that an update uses, sampled by priority", 0.001, 1)
    bf16: bool = option(False, "compute the network in bfloat16 as it learns")
    seed: int = option(0, "random seed; of the league and of the algorithm", 0)
    checkpoint_every: int = option(10, "iterations from one checkpoint to the next", 1)
    keep: int = option(2, "newest checkpoints that are kept", 1)
    memory_mb: int = option(0, "MB that all processes together may take; 0: no limit", 0)

    def __post_init__(self) -> None:
        check_values(self)
        for name in ("start", "bot_names"):
            check_type(name, getattr(self, name), str, "a string")
        if self.start and self.network != "pairs":
            raise ValueError(
                f"start is {self.start!r} and network is {self.network!r}; it must be 'pairs', because "
                "the file has weights of a `PairPolicy`"
            )
        rows = round(self.iteration_steps * self.agent_seats * self.share)
        if self.minibatch > rows:
            part = f"a share of {self.share:g} of " if self.share < 1 else ""
            raise ValueError(
                f"minibatch is {self.minibatch}; it must be at most {rows}, the rows of main "
                f"in an iteration ({part}{self.iteration_steps} steps of {self.agent_seats} seats)"
            )
        self.league_config()

    @property
    def num_players(self) -> int:
        """Seats of a game."""
        return self.agent_seats + self.snapshot_seats + self.bot_seats

    def game(self) -> GameConfig:
        """Return the config of the games."""
        return GameConfig(
            height=self.height,
            width=self.width,
            num_players=self.num_players,
            decision_every=self.decision_every,
            max_ticks=self.max_ticks,
            num_maps=self.num_maps,
        )

    def league_config(self) -> LeagueConfig:
        """Return the rules of the league."""
        gate = Gate(beats=self.beats, min_games=self.gate_games, max_steps=self.freeze_every)
        parts = []
        if self.snapshot_seats:
            parts.append(Opponents(seats=self.snapshot_seats, strategy="pfsp", weighting="hard"))
        if self.bot_seats:
            parts.append(Opponents(seats=self.bot_seats, strategy="uniform", among=("bots",)))
        main = Learner(name="main", seats=self.agent_seats, opponents=tuple(parts), gate=gate)
        names = tuple(name for name in self.bot_names.split(",") if name)
        return LeagueConfig(
            num_players=self.num_players,
            learners=(main,),
            bots=names,
            capacity=self.capacity,
            seed=self.seed,
        )

    def setup(self, parameters: int) -> Setup:
        """Return what the memory of the run depends on."""
        return Setup(
            height=self.height,
            width=self.width,
            num_players=self.num_players,
            frames=self.net.frames,
            agent_seats=self.agent_seats,
            bots=self.bot_seats,
            capacity=self.capacity,
            parameters=parameters,
            activations=self.net.activations,
            env_runners=self.env_runners,
            num_games=self.num_games,
            iteration_steps=self.iteration_steps,
            minibatch=self.minibatch,
        )

    @property
    def net(self) -> Network:
        """The network of the learners."""
        return NETWORKS[self.network]

    def env_config(self) -> dict[str, Any]:
        """Return the entries of the ``env_config`` of RLlib, but for the league."""
        return {
            "config": self.game(),
            "repeat": self.repeat,
            "obs": self.net.obs,
            "frames": self.net.frames,
        }

    def write(self, path: Path) -> None:
        """Write the options to a file."""
        write_file(path, (json.dumps(dataclasses.asdict(self), indent=1) + "\n").encode())

    @classmethod
    def read(cls, path: Path) -> Training:
        """Return the options in a file; ValueError if it holds something else."""
        with raised_as(
            ValueError, f"{str(path)!r} does not hold the options of a run: ", (ValueError, TypeError)
        ):
            values = parse_object(read_file(own_file(path), BOUNDS.nbytes), BOUNDS)
            check_fields("it", values, cls.__dataclass_fields__)
            return cls(**values)


def check_new(folder: Path) -> None:
    """Raise FileExistsError for a folder with files that a new run would remove or replace."""
    if own_file(folder / RUN_FILE).exists():
        raise FileExistsError(errno.EEXIST, "there is already a run; --resume resumes it", str(folder))
    check_unused(folder, (SNAPSHOTS, CHECKPOINTS, PROGRESS), RUN_FILE)


PRESETS = {
    "quick": Training(
        height=32,
        width=32,
        num_maps=4,
        max_ticks=2000,
        agent_seats=2,
        snapshot_seats=1,
        bot_seats=1,
        capacity=10,
        freeze_every=5,
        gate_games=10,
        iterations=20,
        env_runners=0,
        num_games=8,
        iteration_steps=512,
        minibatch=256,
        epochs=2,
        checkpoint_every=5,
    ),
    "pairs": Training(
        network="pairs",
        decision_every=10,
        repeat=5,
        bot_names=",".join((*BOTS, *HARD_BOTS)),
        num_games=64,
        iteration_steps=8192,
        minibatch=4096,
        epochs=2,
        learning_rate=3e-4,
        gamma=0.997,
        entropy=0.001,
    ),
    "features": Training(),
    "boards": Training(
        height=256,
        width=256,
        network="boards",
        torch_threads=2,
        decision_every=25,
        max_ticks=1600,  # 64 decisions: so many that every iteration sees games end
        agent_seats=8,
        snapshot_seats=12,
        bot_seats=12,
        freeze_every=1,
        iterations=5,
        env_runners=1,
        num_games=2,
        iteration_steps=128,
        minibatch=64,
        epochs=1,
        learning_rate=1e-4,
        gamma=0.995,
        checkpoint_every=1,
    ),
}
"""By name: "quick" shows in minutes that all of it works; "pairs" and "features" learn within an hour on two
cores. "boards" is a league at full size, with short games, of which ten end in some minutes."""
DEFAULT = "pairs"
"""The preset where none is given."""
