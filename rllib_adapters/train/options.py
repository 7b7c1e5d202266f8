"""What a league run is: its options, their presets, and the league and the games that follow from them."""

from __future__ import annotations

import dataclasses
import errno
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from rllib_adapters.learning.options import LearningOptions
from territorial import bots
from territorial.config import GameConfig
from territorial.config.validation import finite_number, shown, whole_number
from territorial.files.atomic import write_file
from territorial.files.bounded import read_file
from territorial.files.strict_json import Bounds, check_fields, parse_object
from territorial.files.writable import check_unused
from territorial.league import Gate, League, LeagueConfig, Learner, Opponents
from territorial.memory.setup import Setup

Network = Literal["pairs", "features", "boards", "encode_once"]
Log = Literal["csv", "tensorboard"]
BOUNDS = Bounds(nbytes=2**16, values=1000)
"""Of a file of options."""
OPTIONS = "run.json"
"""The file of a run's folder that has them."""
LIMITS = ("iterations", "minutes", "memory_mb")
"""Fields that may be given again when a run is resumed."""
OF_WHAT_COMES = (*LIMITS, "checkpoint_every", "keep", "log", "threads")
"""Fields that the algorithm does not depend on: what the file says of them when a run is resumed is done."""
PROGRESS, CHECKPOINTS, SNAPSHOTS, EVENTS = "progress.csv", "checkpoints", "snapshots", "tensorboard"
"""What else is in that folder."""
ACTIVATIONS = {"pairs": 14_000, "features": 2_000, "boards": 500_000, "encode_once": 15_000}
"""By network, the numbers of a row that it keeps for backpropagation."""
FRAMES = {"pairs": None, "features": 1, "boards": 4, "encode_once": 1}
"""By network, the boards in a stack; None: it reads pairs."""
BOTS = ("novice", "banker", "turtle", "metronome", "random")
HARD_POWER = 2.5
"""How much more often hard opponents are drawn for ``together``: the power of 1 less the share beaten."""
HARD_BOTS = ("settler", "besieger", "opportunist", "vulture", "leader_hunter")


def _option(default: Any, meaning: str, limits: str = "") -> Any:
    return dataclasses.field(default=default, metadata={"help": meaning, "limits": limits})


@dataclass(frozen=True, kw_only=True)
class Training:
    """The options of a run; ``describe`` says what they mean."""

    height: int = _option(96, "rows of the map, in cells")
    width: int = _option(96, "columns of the map, in cells")
    decision_every: int = _option(50, "ticks from one decision of a bot to the next")
    repeat: int = _option(1, "decisions that a step plays: learning agents act in the first and then hold")
    max_ticks: int = _option(6000, "the game ends after this many ticks")
    maps: int = _option(16, "generated maps, whose seeds count up from the map seed")
    network: str = _option(
        "features",
        "input of the network: pairs, numbers of each owner that can be attacked; features, which are tables "
        "alone; boards; or encode_once, features and the board, which is read once for all seats",
    )
    start: str = _option(
        "", "file of weights that learners begin with, as `territorial clone` writes; for pairs alone"
    )
    agents: int = _option(4, "seats of a game that learning agents control; those of the main agent")
    exploiters: int = _option(
        0, "seats of the main exploiter, and as many of the league exploiter; 0: no exploiters"
    )
    snapshots: int = _option(4, "seats of snapshots; harder opponents are drawn more often")
    bots: int = _option(4, "seats of bots; all bots are drawn equally often")
    together: int = _option(
        0, "seats that one snapshot or bot has together, more often one that is seldom beaten"
    )
    bot_names: str = _option(",".join(BOTS), "bots, by name and separated by commas")
    capacity: int = _option(40, "snapshots that the league keeps")
    beats: float = _option(0.6, "share of games above every opponent from which on a snapshot is added")
    gate_games: int = _option(30, "games against each opponent before that share counts")
    freeze_every: int = _option(25, "iterations after which a snapshot is added in any case")
    iterations: int = _option(1_000_000, "training iterations of the run; those before a stop count")
    minutes: float = _option(60.0, "minutes of the run at most; setting up does not count")
    runners: int = _option(2, "processes that collect samples; with 0 the learner does")
    threads: int = _option(1, "PyTorch threads of the learner; many of them slow each other down")
    games: int = _option(16, "games that run side by side; in each env runner")
    steps: int = _option(2048, "environment steps of a training iteration, over all games and env runners")
    minibatch: int = _option(1024, "rows of a minibatch, each one agent's step")
    epochs: int = _option(3, "passes over the samples of an iteration")
    learning_rate: float = _option(5e-4, "learning rate of Adam")
    gamma: float = _option(0.99, "discount per decision")
    entropy: float = _option(0.003, "weight of the entropy in the loss")
    share: float = _option(
        1.0, "part of the rows that is learned from, drawn by what there is to learn", "above 0 to 1"
    )
    averaged_weights: float = _option(
        0.0,
        "part of themselves that averages of the weights keep in an update, such as 0.999; they are what is "
        "frozen; 0: no averages",
        "0 to below 1",
    )
    bf16: bool = _option(False, "compute the network in bfloat16 as it learns")
    seed: int = _option(0, "random seed; of the league and of the algorithm")
    checkpoint_every: int = _option(10, "iterations from one checkpoint to the next")
    keep: int = _option(2, "newest checkpoints that are kept")
    memory_mb: int = _option(0, "MB that all processes together may take; 0: no limit")
    log: str = _option("csv", "progress.csv alone (csv), or TensorBoard files as well (tensorboard)")

    def __post_init__(self) -> None:
        for spec in dataclasses.fields(self):
            value = getattr(self, spec.name)
            if spec.type == "int":
                object.__setattr__(self, spec.name, whole_number(spec.name, value, lowest(spec)))
            elif spec.type == "float":
                object.__setattr__(self, spec.name, finite_number(spec.name, value, lowest(spec)))
            elif spec.type == "str" and not isinstance(value, str):
                raise TypeError(f"{spec.name} is {shown(value)}; it must be a string")
        for name, kinds in (("network", get_args(Network)), ("log", get_args(Log))):
            if getattr(self, name) not in kinds:
                raise ValueError(f"{name} is {getattr(self, name)!r}; it must be one of {', '.join(kinds)}")
        if self.start and self.network != "pairs":
            raise ValueError(
                f"start is {self.start!r} and network is {self.network!r}; it must be 'pairs', of which "
                "alone `territorial clone` writes weights"
            )
        self.learning()
        rows = round(self.steps * self.agents * self.share)
        if self.minibatch > rows:
            part = f"a share of {self.share:g} of " if self.share < 1 else ""
            raise ValueError(
                f"minibatch is {self.minibatch}; it must be at most {rows}, the rows of main "
                f"in an iteration ({part}{self.steps} steps of {self.agents} seats)"
            )
        self.league_config()

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Return what every option means."""
        return {spec.name: spec.metadata["help"] for spec in dataclasses.fields(cls)}

    @property
    def num_players(self) -> int:
        """Seats of a game."""
        return self.agents + 2 * self.exploiters + self.snapshots + self.together + self.bots

    def game(self) -> GameConfig:
        """Return the config of the games."""
        return GameConfig(
            height=self.height,
            width=self.width,
            num_players=self.num_players,
            decision_every=self.decision_every,
            max_ticks=self.max_ticks,
            num_maps=self.maps,
        )

    def learning(self) -> LearningOptions:
        """Return the options of learners."""
        return LearningOptions(share=self.share, averaged_weights=self.averaged_weights, bf16=self.bf16)

    def league_config(self) -> LeagueConfig:
        """Return the rules of the league."""
        names = tuple(name for name in self.bot_names.split(",") if name)
        return LeagueConfig(
            num_players=self.num_players,
            learners=(self._main(), *self._exploiters()),
            bots=names,
            games="shared" if self.exploiters else "own",
            capacity=self.capacity,
            seed=self.seed,
        )

    def league(self) -> League:
        """Return a new league."""
        return League(self.league_config())

    def setup(self, parameters: int) -> Setup:
        """Return what the memory of the run depends on."""
        return Setup(
            height=self.height,
            width=self.width,
            num_players=self.num_players,
            frames=FRAMES[self.network] or 1,
            agents=self.agents + 2 * self.exploiters,
            bots=self.bots + self.together,
            snapshots=self.capacity,
            parameters=parameters,
            activations=ACTIVATIONS[self.network],
            env_runners=self.runners,
            games=self.games,
            steps=self.steps,
            minibatch=self.minibatch,
        )

    @property
    def memory_form(self) -> str:
        """The form that the memory of the run is predicted in."""
        return "pairs" if FRAMES[self.network] is None else "packed"

    def env_config(self) -> dict[str, Any]:
        """Return the entries of the ``env_config`` of RLlib, but for the league."""
        frames = FRAMES[self.network]
        form = {"obs": "pairs"} if frames is None else {"frames": frames}
        return {"config": self.game(), "repeat": self.repeat, **form}

    def write(self, path: Path) -> None:
        """Write the options to a file."""
        write_file(path, (json.dumps(dataclasses.asdict(self), indent=1) + "\n").encode())

    @classmethod
    def read(cls, path: Path) -> Training:
        """Return the options in a file; ValueError if it holds something else."""
        try:
            values = parse_object(read_file(path, BOUNDS.nbytes), BOUNDS)
            check_fields("it", values, (), cls.describe())
            return cls(**values)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{str(path)!r} does not hold the options of a run: {error}") from None

    def _gate(self, against: tuple[str, ...] = ("snapshots",)) -> Gate:
        return Gate(beats=self.beats, against=against, min_games=self.gate_games, max_steps=self.freeze_every)

    def _main(self) -> Learner:
        parts = []
        if self.snapshots:
            parts.append(Opponents(seats=self.snapshots, strategy="pfsp", weighting="hard"))
        if self.together:
            both = ("snapshots", "bots")
            parts.append(Opponents(seats=self.together, power=HARD_POWER, among=both, together=True))
        if self.bots:
            parts.append(Opponents(seats=self.bots, strategy="uniform", among=("bots",)))
        return Learner(name="main", seats=self.agents, opponents=tuple(parts), gate=self._gate())

    def _exploiters(self) -> list[Learner]:
        """Return those who look for weaknesses: they sit in the games of the main agent."""
        if not self.exploiters:
            return []
        of_main = Learner(
            name="main_exploiter",
            role="main_exploiter",
            seats=self.exploiters,
            gate=self._gate(("mains",)),
            reset_chance=1.0,
        )
        of_league = Learner(
            name="league_exploiter",
            role="league_exploiter",
            seats=self.exploiters,
            gate=self._gate(),
            reset_chance=0.25,
        )
        return [of_main, of_league]


def check_new(folder: Path) -> None:
    """Raise FileExistsError for a folder with files that a new run would remove or replace."""
    if (folder / OPTIONS).exists():
        raise FileExistsError(errno.EEXIST, "there is already a run; --resume resumes it", str(folder))
    check_unused(folder, (SNAPSHOTS, CHECKPOINTS, PROGRESS, EVENTS), OPTIONS)


def lowest(spec: dataclasses.Field[Any]) -> int:
    """Return the lowest value of a field that is a number."""
    return 0 if spec.type == "float" or spec.name in _MAY_BE_ZERO else 1


_MAY_BE_ZERO = ("exploiters", "snapshots", "together", "bots", "runners", "seed", "memory_mb")

PRESETS = {
    "quick": Training(
        height=32,
        width=32,
        maps=4,
        max_ticks=2000,
        agents=2,
        snapshots=1,
        bots=1,
        capacity=10,
        freeze_every=5,
        gate_games=10,
        iterations=20,
        runners=0,
        games=8,
        steps=512,
        minibatch=256,
        epochs=2,
        checkpoint_every=5,
    ),
    "pairs": Training(
        network="pairs",
        decision_every=10,
        repeat=5,
        bot_names=",".join((*BOTS, *HARD_BOTS)),
        games=64,
        steps=8192,
        minibatch=4096,
        epochs=2,
        learning_rate=3e-4,
        gamma=0.997,
        entropy=0.001,
    ),
    "champion": Training(
        network="pairs",
        decision_every=10,
        repeat=5,
        maps=64,
        agents=3,
        exploiters=1,
        snapshots=1,
        together=4,
        bots=2,
        bot_names=",".join(bots.NAMES),
        capacity=24,
        games=64,
        steps=8192,
        minibatch=4096,
        epochs=2,
        share=0.35,
        averaged_weights=0.995,
        learning_rate=1e-4,
        gamma=0.997,
        entropy=0.0005,
    ),
    "features": Training(),
    "boards": Training(
        height=256,
        width=256,
        network="boards",
        threads=2,
        decision_every=25,
        max_ticks=1600,  # 64 decisions: so many that every iteration sees games end
        agents=8,
        snapshots=12,
        bots=12,
        freeze_every=1,
        iterations=5,
        runners=1,
        games=2,
        steps=128,
        minibatch=64,
        epochs=1,
        learning_rate=1e-4,
        gamma=0.995,
        checkpoint_every=1,
    ),
}
"""By name: "quick" shows in minutes that all of it works; "pairs" and "features" learn within an hour on two
cores. "champion" goes on from a clone, against all bots, its own past and exploiters. "boards" is a league at
full size, with short games, of which ten end in some minutes."""
DEFAULT = "pairs"
"""The preset where none is given."""
