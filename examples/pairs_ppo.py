"""PPO on ``pairs`` in two processes, with a league but without RLlib.

The league's frozen copies are exported in whole numbers and sit in the engine like bots, so that they take
no time of Python. Most games are against one kind of opponent, drawn more often the less it is beaten; in
the others every seat is drawn by itself. One process plays a rollout while the other learns from the one
before. Small games and games of full size run side by side, as the network plays both, and in half of them
bots decide as seldom as it does. All that is needed to resume is in one folder: run it again with the same
``--save``. Needs PyTorch, and openskill for ratings.

    python examples/pairs_ppo.py --save runs/pairs                  half an hour on two free cores
    python examples/pairs_ppo.py --save runs/pairs --minutes 120    resume, to an hour
    python examples/pairs_ppo.py --save runs/more --start CLONE/weights.safetensors --learning-rate 1e-4
    python examples/pairs_ppo.py --save runs/next --start runs/pairs/weights.safetensors
    territorial match --seats net:runs/pairs/network.safetensors,banker
    territorial league show runs/pairs/league.npz                   the standings
"""

import argparse
import contextlib
import dataclasses
import multiprocessing
import signal
import time
from collections.abc import Iterator
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

import territorial
from territorial import GameConfig, bots
from territorial.bots import Network, PythonBot, Style
from territorial.config.fields import check_values, option
from territorial.constants import NUM_FRACTIONS
from territorial.files.atomic import check_unused, write_file
from territorial.files.locks import one_writer
from territorial.league import Gate, League, LeagueConfig, Learner, Opponents
from territorial.league.checkpoints import Checkpoints, keep_settings
from territorial.nets import ExportError, PairPolicy
from territorial.nets.pair_export import calibration_rows

MAIN = "trainable:main"
FULL_PLAYERS = 32  # seats of a game of full size
FAST, SLOW = 10, 50  # ticks of a step of the environment, at which bots may decide
FLOOR = 0.1  # the part of the rows that are kept which is drawn whatever their weight
ROUNDS = 8  # in which the chances of rows are brought to the share that is asked for


@dataclasses.dataclass(frozen=True)
class Settings:
    """What a run is; all but its length stays as it began."""

    save: str = option("", "folder of the run")
    minutes: float = option(
        60.0, "minutes of processor time of the run, in both processes; those before a stop count", 0
    )
    updates: int = option(1_000_000, "updates of the run; those before a stop count", 1)
    seed: int = option(0, "random seed", 0, 2**31)
    start: str = option("", "file of weights to begin with, such as `examples/clone.py` writes")
    size: str = option("standard", "size of the network: small or standard")
    height: int = option(96, "rows of the map of small games, in cells", 16, 1024)
    width: int = option(96, "columns of the map of small games, in cells", 16, 1024)
    num_players: int = option(12, "seats of a small game", 2, 250)
    seats: str = option("2,4", "seats of a small game that learn; with several numbers, games with each")
    num_games: int = option(112, "small games that run side by side", 1, 100_000)
    full_games: int = option(16, "games of 256 x 256 cells with 32 players beside them", 0, 100_000)
    full_seats: str = option("2,8", "seats of these that learn")
    slow: float = option(0.5, "share of the games in which bots decide every 50 ticks, not every 10", 0, 1)
    interval: int = option(
        50,
        "ticks from one decision to the next, a multiple of 10; 50 at least where bots decide so",
        10,
        10_000,
    )
    max_ticks: int = option(6000, "the game ends after this many ticks", 10)
    map: str = option("lakes", "map of the games: a kind, a land, or a mix of them such as '3*lakes + maze'")
    maps: int = option(64, "generated maps that games are drawn from; 0: a new one for every game", 0, 1024)
    rewards: str = option("land=1,placement=1", "parts of the reward and their weights")
    opponents: str = option(
        "", "bots to play against, separated by commas, net:FILE and style:FILE among them; all, if empty"
    )
    rollout: int = option(32, "decisions of every game between two updates", 1, 100_000)
    focus: float = option(0.6, "share of games against one kind of opponent", 0, 1)
    past: float = option(0.2, "share of opponents that are the league's snapshots, not bots", 0, 1)
    power: float = option(2.5, "how much more often hard opponents are drawn for these", 0, 100)
    capacity: int = option(16, "snapshots that the league keeps", 1, 2000)
    freeze_every: int = option(40, "updates from one snapshot to the next at most", 1)
    epochs: int = option(2, "passes over the rows that are kept", 1, 100)
    minibatch: int = option(4096, "rows of a minibatch", 1)
    share: float = option(0.35, "share of the rows that is learned from, drawn by weight", 0.01, 1)
    learning_rate: float = option(3e-4, "learning rate of Adam, as the run begins", 1e-9, 1)
    last_rate: float = option(1e-5, "learning rate as it ends", 0, 1)
    entropy: float = option(1e-3, "weight of the entropy, as the run begins; it falls to a tenth", 0, 10)
    smoothing: float = option(
        0.0, "weight of what brings all fractions to even chances, as the run begins; it falls alike", 0, 10
    )
    gamma: float = option(0.997, "discount of 50 ticks", 0, 1)
    gae_lambda: float = option(0.95, "lambda of the advantages, per decision", 0, 1)
    clip: float = option(0.2, "range of the probability ratio", 0.001, 10)
    max_norm: float = option(0.5, "largest norm of a gradient", 1e-6, 1e6)
    average: float = option(0.995, "what the average of the weights keeps at every step", 0, 0.999999)
    checkpoint_every: int = option(20, "updates from one checkpoint to the next", 1)
    history_every: float = option(
        10.0, "processor minutes from one network that is kept in history/ to the next", 0.01
    )

    def __post_init__(self) -> None:
        check_values(self)
        if not self.save:
            raise ValueError("save is empty; it must be the folder of the run")
        learning_seats(self, "seats", self.num_players)
        learning_seats(self, "full_seats", FULL_PLAYERS)
        for kind in kinds_of(self):
            if decision_ticks(self, kind) % kind.ticks:
                raise ValueError(
                    f"interval is {self.interval}; it must be a multiple of {kind.ticks}, a step's ticks"
                )
            config_of(self, kind)


SETTINGS, PROGRESS, WRITER = "settings.json", "progress.csv", ".writer"
MADE = (
    *("snapshots", "checkpoints", "history", PROGRESS),
    *("league.npz", "weights.safetensors", "network.safetensors"),
)
"""What else a run makes in its folder."""
COLUMNS = ("update", "processor_seconds", "agent_steps", "games", "rows", "loss", "above")
LENGTH = ("save", "minutes", "updates", "checkpoint_every", "history_every")
"""Settings that may be others when a run is resumed."""


class GameKind(NamedTuple):
    """Games of one kind, which run side by side."""

    height: int
    width: int
    num_players: int
    seats: int  # those that learn
    num_games: int
    ticks: int  # from one step to the next


def learning_seats(settings: Settings, name: str, num_players: int) -> list[int]:
    """Return the numbers of seats that learn, of games of one size; ValueError names one that cannot be."""
    text = getattr(settings, name)
    if not all(part.strip().isdecimal() and 0 < int(part) < num_players for part in text.split(",")):
        raise ValueError(
            f"{name} is {text!r}; it must be whole numbers from 1 to {num_players - 1}, one or more, "
            f"separated by commas"
        )
    return [int(part) for part in text.split(",")]


def kinds_of(settings: Settings) -> list[GameKind]:
    """Return the kinds of games that a run plays."""
    small, full = (settings.height, settings.width, settings.num_players), (256, 256, FULL_PLAYERS)
    kinds = []
    for size, name, num_games in (
        (small, "seats", settings.num_games),
        (full, "full_seats", settings.full_games),
    ):
        learning = learning_seats(settings, name, size[2])
        for place, seats in enumerate(learning):  # as even in number as can be
            count = num_games * (place + 1) // len(learning) - num_games * place // len(learning)
            slow = round(count * settings.slow)
            kinds += [
                GameKind(*size, seats, games, ticks)
                for ticks, games in ((FAST, count - slow), (SLOW, slow))
                if games
            ]
    return kinds


def decision_ticks(settings: Settings, kind: GameKind) -> int:
    """Return the ticks from one decision to the next in games of a kind: a step of them at least."""
    return max(settings.interval, kind.ticks)


def config_of(settings: Settings, kind: GameKind) -> GameConfig:
    """Return the config of games of a kind."""
    return GameConfig(
        height=kind.height,
        width=kind.width,
        num_players=kind.num_players,
        decision_every=kind.ticks,
        max_ticks=settings.max_ticks,
        map=settings.map,
        num_maps=settings.maps,
        rewards=settings.rewards,
    )


class Order(NamedTuple):
    """What the process that plays is to play with."""

    weights: dict[str, np.ndarray]
    # Of bots, and of snapshots: the share of the games against one of them alone that are against it.
    chances: tuple[dict[str, float], ...]
    custom: dict[str, PythonBot | Style | Network]  # by player: the snapshots, and bots that are in files


class PlayedRows(NamedTuple):
    """What there is to learn from, N rows that were kept, and how games ended."""

    rows: dict[str, np.ndarray]
    played: int  # agent steps of which these rows were drawn
    ended: list[tuple[list[str], np.ndarray]]  # games: their players and places, NaN where not known
    seconds: float = 0.0  # of the processor, since the rollout before


# ---- the process that plays ----------------------------------------------------------------------------


def play(pipe: Connection, settings: Settings, seed: int) -> None:
    """Play rollouts, one for every ``Order`` that comes through ``pipe``, until None comes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that learns ends this one
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    games, policy, reported = None, PairPolicy(settings.size), 0.0
    while (order := pipe.recv()) is not None:
        policy.load_state_dict({name: torch.from_numpy(part) for name, part in order.weights.items()})
        games = games or AllGames(settings, order, seed)
        found = games.rollout(policy, order)
        reported, before = time.process_time(), reported
        pipe.send(found._replace(seconds=reported - before))


class AllGames:
    """The games of all kinds."""

    def __init__(self, settings: Settings, order: Order, seed: int) -> None:
        self.settings, self.rng = settings, np.random.default_rng(seed)
        self.kinds = [
            KindGames(settings, kind, order, seed + place * 10**6)
            for place, kind in enumerate(kinds_of(settings))
        ]

    def rollout(self, policy: PairPolicy, order: Order) -> PlayedRows:
        """Play, and return the rows that are kept."""
        parts = [games.rollout(policy, order) for games in self.kinds]
        rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        rows["gain"] = (rows["gain"] - rows["gain"].mean()) / (rows["gain"].std() + 1e-8)
        ended = [one for games in self.kinds for one in games.ended]
        return PlayedRows(kept(rows, self.settings.share, self.rng), len(rows["action"]), ended)


class KindGames:
    """Games of one kind, each with players of the league."""

    def __init__(self, settings: Settings, kind: GameKind, order: Order, seed: int) -> None:
        self.settings, self.kind, self.rng = settings, kind, np.random.default_rng(seed)
        self.env = territorial.make_vec(
            kind.num_games,
            seats=["agent"] * kind.seats + ["novice"] * (kind.num_players - kind.seats),
            config=config_of(settings, kind),
            obs="pairs",
            action_format="pairs",
            repeat=decision_ticks(settings, kind) // kind.ticks,
            end_when="no_agents",
            autoreset="disabled",
        )
        self.players = [self._deal(k, order) for k in range(kind.num_games)]
        self.ended: list[tuple[list[str], np.ndarray]] = []
        """In the last rollout."""
        self.env.reset(seed)

    def _deal(self, k: int, order: Order) -> list[str]:
        """Seat the players of the next game ``k``, and return them: opponents of one kind, or any."""
        learning, count = self.kind.seats, self.kind.num_players - self.kind.seats
        chances = order.chances[int(self.rng.random() < self.settings.past)]
        if self.rng.random() < self.settings.focus:
            others = [str(self.rng.choice(list(chances), p=list(chances.values())))] * count
        else:
            are_past = self.rng.random(count) < self.settings.past
            others = [str(self.rng.choice(list(order.chances[int(past)]))) for past in are_past]
        names = [order.custom.get(player, player.partition(":")[2]) for player in others]
        self.env.set_seats(k, ["agent"] * learning + names)
        return [MAIN] * learning + others

    def rollout(self, policy: PairPolicy, order: Order) -> dict[str, np.ndarray]:
        """Play, and return a row for each decision."""
        self.ended, shape = [], (self.kind.num_games, self.kind.seats)
        steps, seen = [], self.env.observe()
        alive = self._alive()
        for _ in range(self.settings.rollout):
            rows = {name: array[alive] for name, array in seen.items()}
            chosen = act(policy, rows)
            actions = np.zeros(shape, np.int64)
            actions[alive] = chosen["action"]
            seen, rewards, ends, cuts, info = self.env.step(actions)
            steps.append({"rows": rows | chosen, "alive": alive, "reward": rewards, "end": ends | cuts})
            for k in np.flatnonzero(info["is_over"]).tolist():
                places = self.env.game.state.doubled_place[k, 1:] / 2
                self.ended.append((self.players[k], np.where(places > 0, places, np.nan)))
                self.players[k] = self._deal(k, order)
                self.env.reset_game(k)
            if info["is_over"].any():
                seen = self.env.observe()
            alive = self._alive()
        last = np.zeros(shape, np.float32)
        last[alive] = act(policy, {name: array[alive] for name, array in seen.items()})["value"]
        return self._with_advantages(steps, last)

    def _alive(self) -> np.ndarray:
        return self.env.game.state.alive[:, 1 : 1 + self.kind.seats] != 0

    def _with_advantages(self, steps: list[dict[str, Any]], last: np.ndarray) -> dict[str, np.ndarray]:
        """Return the rows of all steps, with generalised advantage estimates and what values should be."""
        settings, parts = self.settings, []
        gamma = settings.gamma ** (decision_ticks(settings, self.kind) / SLOW)
        following, running = last, np.zeros_like(last)
        for step in reversed(steps):
            value = np.zeros_like(last)
            value[step["alive"]] = step["rows"]["value"]
            goes_on = ~step["end"]
            error = step["reward"] + gamma * following * goes_on - value
            running = error + gamma * settings.gae_lambda * running * goes_on
            following, gain = value, running[step["alive"]]
            parts.append(step["rows"] | {"gain": gain, "target": gain + step["rows"]["value"]})
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


@torch.inference_mode()
def act(policy: PairPolicy, rows: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return actions that the policy draws, their logarithms of probability, and values, (N,) each."""
    own, pairs, mask = (torch.from_numpy(rows[name]) for name in ("own", "pairs", "action_mask"))
    logits, value = policy(own, pairs, mask)
    chances = logits.exp().cumsum(1)  # far quicker than multinomial, which draws a number for every action
    drawn = torch.rand(len(logits), 1) * chances[:, -1:]
    action = torch.searchsorted(chances, drawn, right=True).clamp_(max=logits.shape[1] - 1)
    found = {"action": action[:, 0], "logp": logits.gather(1, action)[:, 0], "value": value}
    return {name: part.numpy() for name, part in found.items()}


def kept(rows: dict[str, np.ndarray], share: float, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return a share of the rows, those from which more is learned the likelier, each with a ``weight``.

    A row counts for what it was unlikely to be kept by, so that means stay what they are of all rows.
    """
    count = len(rows["action"])
    wanted = np.abs(rows["gain"]) * (1 - np.exp(rows["logp"])) + 1e-9
    chance = (1 - FLOOR) * count * wanted / wanted.sum() + FLOOR
    for _ in range(ROUNDS):  # what is above 1 is left to the other rows
        chance = np.minimum(1, chance * share * count / chance.sum())
    chance = chance if share < 1 else np.ones(count)
    is_kept = rng.random(count) < chance
    return {name: part[is_kept] for name, part in rows.items()} | {
        "weight": (1 / chance[is_kept]).astype(np.float32)
    }


# ---- the process that learns ---------------------------------------------------------------------------


class Trainee:
    """The network that learns, the average of its weights, and its optimizer."""

    def __init__(self, settings: Settings) -> None:
        torch.manual_seed(settings.seed)
        self.settings = settings
        self.policy, self.average = (PairPolicy(settings.size) for _ in range(2))
        self.begin_with(self.policy)
        self.optimizer = torch.optim.Adam(self.policy.parameters(), fused=True)
        self.parts = {"policy": self.policy, "average": self.average, "optimizer": self.optimizer}

    def begin_with(self, policy: PairPolicy) -> None:
        """Take over the weights of a policy, before anything is learned."""
        self.policy.load_state_dict(policy.state_dict())
        self.average.load_state_dict(policy.state_dict())

    def weights(self) -> dict[str, np.ndarray]:
        """Return copies of the weights."""
        return {name: part.numpy().copy() for name, part in self.policy.state_dict().items()}

    def update(self, rows: dict[str, np.ndarray], done: float) -> float:
        """Learn from rows; ``done``: the share of the run that is over. Return the mean loss."""
        settings = self.settings
        rate = settings.learning_rate * (settings.last_rate / settings.learning_rate) ** done
        self.optimizer.param_groups[0]["lr"] = rate
        falling = 0.1**done
        tensors = {name: torch.from_numpy(part) for name, part in rows.items()}
        losses = []
        for _ in range(settings.epochs):
            for chosen in torch.randperm(len(rows["action"])).split(settings.minibatch):
                loss = self._loss({name: part[chosen] for name, part in tensors.items()}, falling)
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.policy.parameters(), settings.max_norm)
                self.optimizer.step()
                parameters = self.average.parameters(), self.policy.parameters()
                for mean, part in zip(*parameters, strict=True):
                    mean.data.lerp_(part.data, 1 - settings.average)
                losses.append(loss.item())
        return float(np.mean(losses))

    def _loss(self, rows: dict[str, Tensor], falling: float) -> Tensor:
        settings = self.settings
        logits, values = self.policy(rows["own"], rows["pairs"], rows["action_mask"])
        ratio = (logits.gather(1, rows["action"][:, None])[:, 0] - rows["logp"]).exp()
        clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
        gained = torch.min(ratio * rows["gain"], clipped * rows["gain"])
        spread = -(logits.exp() * logits).sum(1)
        sought = settings.entropy * spread
        if settings.smoothing:
            sought = sought - settings.smoothing * unevenness(logits, rows["action_mask"])
        each = 0.5 * (values - rows["target"]).square() - gained - falling * sought
        return (rows["weight"] * each).sum() / rows["weight"].sum()


def unevenness(logits: Tensor, action_mask: Tensor) -> Tensor:
    """Return how far the chances of fractions are from even ones, (B,): the mean over targets, as likely.

    It is the cross entropy of even chances and those of the policy. Unlike the entropy's, its gradient does
    not vanish for a fraction that is hardly ever chosen, which so comes to be tried.
    """
    launches = logits[:, 1:].unflatten(1, (-1, NUM_FRACTIONS))
    is_legal = action_mask[:, 1:].unflatten(1, (-1, NUM_FRACTIONS)) > 0
    of_target = launches.logsumexp(2)
    of_fraction = torch.where(is_legal, launches - of_target.unsqueeze(2), 0)
    uneven = -of_fraction.sum(2) / is_legal.sum(2).clamp(min=1)
    return (of_target.detach().exp() * uneven).sum(1)


def started(settings: Settings) -> PairPolicy:
    """Return the policy that a run begins with; ValueError for one of another size."""
    policy = PairPolicy.load(settings.start)
    if policy.size != settings.size:
        raise ValueError(f"size is {settings.size!r}; {settings.start!r} has weights of size {policy.size!r}")
    return policy


def check(settings: Settings) -> None:
    """Raise the error of what a run cannot begin with, before anything is written."""
    Trainee(settings)
    new_league(settings)
    if settings.start and not (Path(settings.save) / SETTINGS).exists():
        started(settings)


class PairRun:
    """A run in its folder: the league, the network, checkpoints, snapshots in whole numbers."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.folder = settings, Path(settings.save).absolute()
        self.trainee, self.league = Trainee(settings), new_league(settings)
        self.seconds, self.played = 0.0, 0
        if settings.start and not (self.folder / SETTINGS).exists():
            self.trainee.begin_with(started(settings))
        self.folder.mkdir(parents=True, exist_ok=True)
        check_unused(self.folder, MADE, SETTINGS)
        begun = {name: value for name, value in vars(settings).items() if name not in LENGTH}
        keep_settings(self.folder / SETTINGS, begun, "run")
        self._states = calibration_rows()
        self.checkpoints = Checkpoints(self.folder / "checkpoints")
        latest = self.checkpoints.latest()
        if latest is None:
            self.freeze()
        else:
            self.league = League.load(latest / "league.npz", self.league.config.python_bots)
            state = torch.load(latest / "state.pt", weights_only=True)
            self.seconds, self.played = state.pop("seconds"), state.pop("played")
            for name, part in self.trainee.parts.items():
                part.load_state_dict(state[name])
        cut_curve(self.folder / PROGRESS, self.updates)

    @property
    def updates(self) -> int:
        """Those so far."""
        return self.league.steps["main"]

    def done(self) -> float:
        """Return the share of the run that is over."""
        return max(self.updates / self.settings.updates, self.seconds / max(1e-9, 60 * self.settings.minutes))

    def order(self) -> Order:
        """Return whom to play against now, and with which weights."""
        custom: dict[str, PythonBot | Style | Network] = {
            f"snapshot:{name}": Network(self.file_of(name)) for name in self.league.snapshots
        }
        custom |= {f"bot:{bot.name}": bot for bot in self.league.config.python_bots}
        return Order(self.trainee.weights(), (self._chances("bots"), self._chances("snapshots")), custom)

    def _chances(self, pool: str) -> dict[str, float]:
        """Return how often each player of a pool is the only opponent: more often, the less it is beaten."""
        one = Opponents(seats=1, weighting="hard", power=self.settings.power, among=(pool,))
        names, candidates = self.league.candidates("main", one.among)
        weights = one.weights(candidates)
        return dict(zip(names, (weights / weights.sum()).tolist(), strict=True))

    def learn(self, found: PlayedRows) -> tuple[float, str]:
        """Learn from a rollout; return the loss, and the name of the copy that was frozen, if one was."""
        for players, places in found.ended:
            self.league.record(players, places)
        loss = self.trainee.update(found.rows, min(1.0, self.done()))
        self.league.advance("main")
        name = self.freeze() if self.league.gate("main").is_open else ""
        self.league.note(self.updates)
        return loss, name

    def freeze(self) -> str:
        """Add a copy to the league, and return its name; "" where whole numbers choose too differently."""
        name = self.league.next_name("main")
        self.file_of(name).parent.mkdir(exist_ok=True)
        try:
            least = 0.97 if self.league.snapshots else 0  # nothing has been learned at first: all is a tie
            self.export(self.file_of(name), temperature=1.0, least_equal=least)
        except ExportError as error:
            print(f"not frozen: {error}")
            return ""
        return self.league.freeze("main").name

    def export(self, path: Path, **options: Any) -> object:
        """Write the averaged network as the engine plays it, and return how it was changed."""
        interval = self.settings.interval
        return self.trainee.average.export(path, interval=interval, rows=self._states, **options)

    def file_of(self, name: str) -> Path:
        """Return the file of a snapshot."""
        return self.folder / "snapshots" / f"{name}.safetensors"

    def keep(self) -> None:
        """Write a checkpoint, and remove the snapshots that no checkpoint needs."""
        if self.updates in self.checkpoints.steps():
            return
        self.checkpoints.write(self.updates, self._fill)
        files = [self.checkpoints.at(step) / "league.npz" for step in self.checkpoints.steps()]
        own = self.league.config.python_bots
        needed = {name for file in files for name in League.load(file, own).snapshots}
        for path in self.file_of("any").parent.glob("main-*.safetensors"):
            if path.stem not in needed:
                path.unlink()

    def keep_history(self, seconds: float) -> None:
        """Write the network to history/ if a mark was passed in the last so many processor seconds.

        The file is called by the processor minutes of the run: 0030.safetensors.
        """
        every = 60 * self.settings.history_every
        if self.seconds // every > (self.seconds - seconds) // every:
            path = self.folder / "history" / f"{round(self.seconds / 60):04d}.safetensors"
            path.parent.mkdir(exist_ok=True)
            self.export(path, least_equal=0)

    def finish(self) -> None:
        """Write the league and the network where users look for them; ``--start`` reads the weights."""
        self.keep()
        self.league.save(self.folder / "league.npz")
        self.trainee.average.save(self.folder / "weights.safetensors")
        print(f"in whole numbers: {self.export(self.folder / 'network.safetensors', least_equal=0)}")

    def _fill(self, folder: Path) -> None:
        self.league.save(folder / "league.npz")
        state = {name: part.state_dict() for name, part in self.trainee.parts.items()}
        torch.save(state | {"seconds": self.seconds, "played": self.played}, folder / "state.pt")


def new_league(settings: Settings) -> League:
    """Return a league of one main agent, its copies and all bots."""
    seats = min(learning_seats(settings, "seats", settings.num_players))
    parts = (Opponents(seats=settings.num_players - seats, strategy="uniform", among=("snapshots", "bots")),)
    gate = Gate(min_games=50, max_steps=settings.freeze_every)
    main = Learner(name="main", seats=seats, opponents=parts, gate=gate)
    config = LeagueConfig(
        num_players=settings.num_players,
        learners=(main,),
        bots=tuple(settings.opponents.split(",")) if settings.opponents else bots.NAMES,
        capacity=settings.capacity,
        seed=settings.seed,
    )
    return League(config, rated=find_spec("openskill") is not None)


@contextlib.contextmanager
def player(settings: Settings, seed: int) -> Iterator[Connection]:
    """Yield a pipe to a process that plays, which ends with the block."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=play, args=(theirs, settings, seed), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours
        ours.send(None)
        process.join()
    except (EOFError, BrokenPipeError):
        process.join()
        raise RuntimeError(f"the process that plays ended with exit code {process.exitcode}") from None
    finally:
        process.terminate()
        process.join()


def train(run: PairRun) -> None:
    """Train to the end of the run; what is played is always an update older than what is learned."""
    if run.done() >= 1:
        return
    with player(run.settings, 1000 * run.settings.seed + run.updates) as pipe:
        pipe.send(run.order())
        last = time.process_time()
        while run.done() < 1:
            found = pipe.recv()
            pipe.send(run.order())
            loss, frozen = run.learn(found)
            before, last = last, time.process_time()
            used = last - before + found.seconds  # with the files that were written after the update before
            run.seconds, run.played = run.seconds + used, run.played + found.played
            report(run, found, used, loss, frozen)
            run.keep_history(used)
            if run.updates % run.settings.checkpoint_every == 0:
                run.keep()
        pipe.recv()


def share_above(found: PlayedRows) -> float:
    """Return the share of the other seats that those who learn were placed above; NaN if no game ended."""
    above = [
        float((len(places) - places[i]) / (len(places) - 1))
        for players, places in found.ended
        for i in range(players.count(MAIN))
        if np.isfinite(places[i])
    ]
    return float(np.mean(above)) if above else float("nan")


def report(run: PairRun, found: PlayedRows, used: float, loss: float, frozen: str) -> None:
    """Add an update to the curve, and print a line; ``used``: seconds of the processor, in both processes."""
    above, rows, games = share_above(found), len(found.rows["action"]), run.league.num_games
    counts = f"{run.updates},{run.seconds:.1f},{run.played},{games},{rows}"
    with open(run.folder / PROGRESS, "a", encoding="utf-8") as file:
        file.write(f"{counts},{loss:.4f},{above:.4f}\n")
    beaten = f"{above:.0%}" if np.isfinite(above) else "-"
    print(
        f"update {run.updates}, {run.seconds / 60:.1f} min: {found.played:,} agent steps, "
        f"{found.played / used:,.0f} a second of processor; {rows:,} rows learned from, "
        f"loss {loss:.3f}; {games:,} games, above {beaten} of the other seats"
        + f", frozen {frozen}"
        * bool(frozen),
        flush=True,
    )


def cut_curve(path: Path, last: int) -> None:
    """Begin the curve of a run, a line for each update, or drop the lines after update ``last``."""
    lines = path.read_text().splitlines(keepends=True)[1:] if path.exists() else []
    whole = [line for line in lines if line.endswith("\n") and line.count(",") == len(COLUMNS) - 1]
    kept = [line for line in whole if int(line.partition(",")[0]) <= last]
    write_file(path, "".join([f"{','.join(COLUMNS)}\n", *kept]).encode())


def main(argv: list[str] | None = None) -> PairRun:
    """Train a new run or resume one, and return it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for spec in dataclasses.fields(Settings):
        parser.add_argument(
            "--" + spec.name.replace("_", "-"),
            type=type(spec.default),
            default=spec.default,
            help=spec.metadata["help"] + " (default %(default)s)" * bool(spec.default != ""),
        )
    given = vars(parser.parse_args(argv))
    with contextlib.ExitStack() as held:
        try:
            settings = Settings(**given)
            check(settings)
            Path(settings.save).mkdir(parents=True, exist_ok=True)
            held.enter_context(one_writer(Path(settings.save) / WRITER))
            run = PairRun(settings)
        except (ValueError, TypeError, OSError) as error:
            parser.error(str(error))
        torch.set_num_threads(1)
        try:
            train(run)
        finally:  # Ctrl-C, too
            run.finish()
    return run


if __name__ == "__main__":
    main()
