"""``evaluate``: plays every policy in every scenario on all cores."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from territorial import bots
from territorial.config.validation import check_type, checked_list, one_of, whole_number
from territorial.constants import LARGEST_SEED
from territorial.engine.seats import AGENT, Seat
from territorial.evaluation.intervals import mean_of
from territorial.evaluation.play import played
from territorial.evaluation.players import Entrants, Player, identity_of
from territorial.evaluation.record import GameRecord
from territorial.evaluation.schedule import Scenario, Schedule
from territorial.evaluation.workers import Play, Processes
from territorial.files.atomic import write_file
from territorial.typing import Floats, Ints

METRICS: Mapping[str, Callable[[GameRecord], float]] = {
    "score": lambda one: (one.last_place - one.place) / (one.last_place - 1),
    "place": lambda one: one.place,
    "win": lambda one: float(one.of_policy(one.places).min() == 1),
    "land": lambda one: float(one.of_policy(one.land[-1]).mean() / one.num_land),
    "return": lambda one: float(one.of_policy(one.returns).mean()),
    "length": lambda one: float(one.length),
}
"""What a game says of a policy. First the share of the other seats that one of its own is above, which is the
same from 2 to 250 players. Then its mean place; whether it won; the land and the reward of a seat; ticks.
With teams, score, place and win are those of its teams."""


class Matrix(NamedTuple):
    """One metric of N policies (rows) in M scenarios (columns); NaN where nothing was played."""

    value: Floats
    low: Floats
    """Where the interval of 95 per cent begins, NaN for fewer than two games."""
    high: Floats
    games: Ints


class Evaluation:
    """The games that have been played, of the policies and scenarios by their names; see :func:`evaluate`.

    Args:
        policies: names of the policies, the rows of its tables.
        scenarios: names of the scenarios, the columns of its tables.
        records: one record per game of a policy in a scenario.

    """

    def __init__(
        self, policies: Sequence[str], scenarios: Sequence[str], records: Iterable[GameRecord]
    ) -> None:
        self.policies, self.scenarios = tuple(policies), tuple(scenarios)
        self.records = tuple(sorted(records, key=lambda one: one.key))
        self.is_complete = True
        """False if the evaluation was interrupted: not all games have been played."""

    def matrix(self, metric: str = "score") -> Matrix:
        """Return a metric of every pair, means over games with intervals (Student's t); see ``METRICS``."""
        one_of("metric", metric, METRICS)
        shape = len(self.policies), len(self.scenarios)
        found: dict[tuple[str, str], list[float]] = {}
        for one in self.records:
            found.setdefault((one.policy, one.scenario), []).append(METRICS[metric](one))
        cells = np.full((3, *shape), np.nan)
        games = np.zeros(shape, np.int64)
        for i, policy in enumerate(self.policies):
            for j, scenario in enumerate(self.scenarios):
                numbers = found.get((policy, scenario), [])
                games[i, j] = len(numbers)
                cells[:, i, j] = mean_of(np.array(numbers))
        return Matrix(cells[0], cells[1], cells[2], games)

    def table(self, metric: str = "score") -> str:
        """Return a metric as text, one line a policy."""
        matrix, width = self.matrix(metric), max(16, *(len(name) + 2 for name in self.scenarios))
        left = max(len(name) for name in (*self.policies, metric)) + 2
        lines = [f"{metric:{left}}" + "".join(f"{name:>{width}}" for name in self.scenarios)]
        for i, policy in enumerate(self.policies):
            cells = [f"{v:.3f} ± {h - v:.3f}" for v, h in zip(matrix.value[i], matrix.high[i], strict=True)]
            lines.append(f"{policy:{left}}" + "".join(f"{cell:>{width}}" for cell in cells))
        return "\n".join(lines)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write every game as a line of JSON."""
        lines = [one.to_json() for one in self.records]
        write_file(path, "\n".join([*lines, ""]).encode())


def evaluate(
    policies: Mapping[str, Player] | Sequence[Player],
    configs: Mapping[str, Scenario],
    episodes: int,
    *,
    pairs: Iterable[tuple[str, str]] | None = None,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    processes: int | None = None,
    play: Play | None = None,
    progress: bool = True,
) -> Evaluation:
    """Return how policies do in scenarios, ``episodes`` games a pair.

    Game k of every policy in a scenario has the seed ``seed`` + k and the same seats, so that policies can be
    compared game by game. No trainer is built: a process plays a batch of games of one pair after the other.
    It has only their networks in memory, whose weights are mapped from the files of their store.

    Args:
        policies: policies by their names, which are not those of bots. A policy is a bot (name,
            ``module:Class``, ``style:FILE``, ``net:FILE`` or object), or a network such as
            ``territorial.nets.players.SnapshotPolicy``. A list of policies that have a ``name`` does as well.
        configs: scenarios by name.
        episodes: games per pair of a policy and a scenario; at least 1.
        pairs: which pairs to play, (policy, scenario) each; default None: all.
        seed: seed of the first game; default 0.
        out: a file that keeps every game as a line of JSON. If it is there, only the games that it lacks are
            played; it must be of the same policies, scenarios and seed, and may have others. Default None: no
            file.
        processes: number of processes that play; 1 plays in this process; 1 to 1024, default None: one per
            usable core.
        play: what says where games are played, such as ``rllib_adapters.cluster.OnRay()`` on a
            cluster; default None: ``processes`` of this machine.
        progress: True: a line on stderr says how many games have been played; default True.

    Ctrl-C (KeyboardInterrupt) ends it early: what has been played is kept and returned, with ``is_complete``
    False.

    Raises:
        ValueError: for what cannot be evaluated; as ResultsError, for a file of something else.
        BlockingIOError: if another process plays games into ``out``; the message says which.
        StoppedError: if a policy fails while it plays; its ``result`` and ``out`` have the games before that.

    Example:
        >>> import territorial
        >>> config = territorial.GameConfig(height=32, width=32, num_players=4)
        >>> scenario = territorial.Scenario(config=config, seats=["agent", "novice", "novice", "novice"])
        >>> results = territorial.evaluate(
        ...     ["banker", "random"], {"small": scenario}, 2, processes=1, progress=False
        ... )
        >>> len(results.records)
        4

    """
    check_type("configs", configs, Mapping, "a dict of scenarios by name")
    entrants = Entrants()
    wanted = _pairs(_entered(entrants, policies), configs, pairs)
    scenarios = {
        name: replace(
            scenario,
            seats=[
                _seat_name(entrants, f"configs[{name!r}]: seats[{i}]", seat)
                for i, seat in enumerate(scenario.seats or ())
            ],
        )
        for name, scenario in configs.items()
    }
    seed = whole_number("seed", seed, 0, LARGEST_SEED)
    schedule = Schedule(
        players=entrants.sent,
        scenarios=scenarios,
        pairs=wanted,
        games=whole_number("episodes", episodes, 1, LARGEST_SEED - seed),
        seed=seed,
        code={name: identity_of(player) for name, player in entrants.players.items()},
        apart=False,
    )

    def summary(records: Sequence[GameRecord]) -> Evaluation:
        names, tried = ([*dict.fromkeys(pair[i] for pair in wanted)] for i in (0, 1))
        evaluation = Evaluation(names, tried, records)
        evaluation.is_complete = len(records) == schedule.size
        return evaluation

    return played(schedule, summary, out, play or Processes(processes), progress=progress)


# ---- checks ----------------------------------------------------------------------------------------


def _entered(entrants: Entrants, given: Mapping[str, Player] | Sequence[Player]) -> list[str]:
    """Add the policies; return their names: in a list their own ones."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"policies is {given!r}; it must be a mapping from names to policies, or a list")
    if isinstance(given, Mapping):
        for name in given:
            if not isinstance(name, str):
                raise TypeError(f"policies has the name {name!r}; names must be strings")
        names = [entrants.enter(f"policies[{name!r}]", policy, name) for name, policy in given.items()]
    else:
        names = [
            entrants.enter(f"policies[{i}]", policy, policy if isinstance(policy, str) else None)
            for i, policy in enumerate(given)
        ]
    if not names:
        raise ValueError("there are no policies; policies must have at least one entry")
    return names


def _pairs(
    policies: Sequence[str],
    scenarios: Mapping[str, Scenario],
    given: Iterable[tuple[str, str]] | None,
) -> list[tuple[str, str]]:
    """Return the pairs scenario by scenario, so that a process need not change its batch often."""
    if not scenarios:
        raise ValueError("there are no configs; configs must have at least one entry")
    if wrong := [name for name, scenario in scenarios.items() if not isinstance(scenario, Scenario)]:
        raise TypeError(f"configs[{wrong[0]!r}] is {scenarios[wrong[0]]!r}; it must be a Scenario")
    all_pairs = [(policy, scenario) for scenario in scenarios for policy in policies]
    wanted = list(dict.fromkeys(all_pairs if given is None else checked_list("pairs", given, tuple)))
    if odd := [pair for pair in wanted if len(pair) != 2]:
        raise ValueError(f"pairs has {odd[0]!r}; it must have pairs (policy, scenario)")
    for policy, scenario in wanted:
        one_of("the policy of a pair", policy, policies)
        one_of("the scenario of a pair", scenario, scenarios)
    order = {name: i for i, name in enumerate(scenarios)}
    return sorted(wanted, key=lambda pair: order[pair[1]])


def _seat_name(entrants: Entrants, what: str, seat: Seat) -> str:
    """Return the name of a seat's player; a bot that is neither a policy nor the engine's is added."""
    known = (AGENT, *entrants.players, *bots.NAMES, *bots.ALIASES)
    if isinstance(seat, str) and seat in known:
        return seat
    try:
        return entrants.enter(what, seat)
    except ValueError as error:
        raise ValueError(f"{error}; the policies are {', '.join(entrants.players)}") from error
