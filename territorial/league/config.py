"""``LeagueConfig``: members and rules of a league, and how opponents are weighed, as plain data."""

import dataclasses
import hashlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np

from territorial.config import FIELDS
from territorial.config.fields import about, check_values, documents_fields, option
from territorial.config.validation import checked_list, one_of, shown, whole_number
from territorial.constants import LARGEST_SEED, MAX_PLAYERS
from territorial.files.bounded import check_fields, made_of
from territorial.league.seating import GAME, bots_of
from territorial.typing import Bools, Floats

POOLS = ("mains", "learners", "main_snapshots", "exploiter_snapshots", "snapshots", "bots")
"""The groups that candidates come from: those who learn, as they are now; frozen ones; bots."""
MOST_POOLS = 32

FLOOR = 0.01
"""No candidate's weight is below this part of the mean, so that what seems to be known is tried again."""


class Candidates(NamedTuple):
    """N players that a learner may meet, with the league's numbers on them."""

    above: Floats
    """(N,) the probability that the learner is placed above."""
    ratings: Floats
    """(N,) how strong they are."""
    is_main: Bools
    """(N,) True for main agents as they are now."""
    own_rating: float


# ---- strategies ----------------------------------------------------------------------------------------


def _near(candidates: Candidates, spec: "Opponents") -> Floats:
    """Players with ratings near the learner's own."""
    distance = (candidates.ratings - candidates.own_rating) / spec.scale
    nearest = np.abs(distance).min(initial=np.inf)
    return np.asarray(np.exp(-0.5 * (distance**2 - nearest**2)))


def _versus_main(candidates: Candidates, spec: "Opponents") -> Floats:
    """The present main agent while there is a chance, else the even opponents among the others."""
    has_chance = candidates.is_main & (candidates.above >= spec.threshold)
    if has_chance.any() or candidates.is_main.all():
        return (has_chance if has_chance.any() else candidates.is_main).astype(np.float64)
    return np.where(candidates.is_main, 0.0, candidates.above * (1 - candidates.above))


STRATEGIES: Mapping[str, Callable[[Candidates, "Opponents"], Floats]] = {
    # Against main agents as they are now alone, if there are any among the candidates.
    "self_play": lambda candidates, _: candidates.is_main.astype(np.float64),
    # All candidates alike.
    "uniform": lambda candidates, _: np.ones(len(candidates.above)),
    # Prioritised fictitious self-play: by the probability to be above, as ``weighting`` says.
    "pfsp": lambda candidates, spec: WEIGHTINGS[spec.weighting](candidates.above, spec.power),
    "near": _near,
    "versus_main": _versus_main,
}
"""By name: (N,) weights of candidates."""

WEIGHTINGS: Mapping[str, Callable[[Floats, float], Floats]] = {
    "hard": lambda above, power: (1 - above) ** power,
    "even": lambda above, power: above * (1 - above),
    "easy": lambda above, power: above**power,
}
"""Of prioritised fictitious self-play: from the probability to be above to a weight."""


# ---- opponents ----------------------------------------------------------------------------------------


def checked_pools(name: str, given: Any) -> tuple[str, ...]:
    """Return names of pools; TypeError unless they are a list, ValueError unless all are of ``POOLS``."""
    pools = checked_list(name, given, most=MOST_POOLS)
    for pool in pools:
        one_of(name, pool, POOLS)
    return pools


@documents_fields
@dataclass(frozen=True, kw_only=True)
class Opponents:
    """So many seats of a learner's games, and how their players are chosen."""

    seats: int = field(metadata=about("how many", 1, MAX_PLAYERS))
    strategy: str = option(
        "pfsp",
        '"self_play", "uniform", "pfsp", "near" or "versus_main"; ``STRATEGIES`` says what they do',
        choices=tuple(STRATEGIES),
    )
    among: tuple[str, ...] = option(("snapshots",), "the ``POOLS`` that candidates come from")
    weighting: str = option(
        "hard",
        'of "pfsp", what is preferred: "hard" opponents, "even" ones, or "easy" ones',
        choices=tuple(WEIGHTINGS),
    )
    power: float = option(
        1.0, 'of "pfsp" with "hard" and "easy": the larger, the more the extremes are preferred', 0, 100
    )
    scale: float = option(4.0, 'of "near", the difference of ratings that is still near', 1e-6, 1e6)
    threshold: float = option(
        0.2,
        'of "versus_main": the present main agent is played while the probability to be above it is at least '
        "this",
        0,
        1,
    )
    together: bool = option(False, "True: one player has all of these seats in a game, see ``Group``")
    of: tuple[str, ...] | None = option(
        None, "names of learners: no others, and no snapshots of others, are candidates", none="all learners"
    )
    distinct: int | None = option(
        None,
        "the most snapshots that these seats are drawn from between two steps of the learner; one of them is "
        "drawn again with every step, so that all are met over time",
        1,
        MAX_PLAYERS,
        none="any number",
    )

    def __post_init__(self) -> None:
        check_values(self)
        object.__setattr__(self, "among", checked_pools("among", self.among))
        if self.of is not None:
            object.__setattr__(self, "of", checked_list("of", self.of, str))
        if not self.among:
            raise ValueError("among is empty; it must name at least one pool")

    def weights(self, candidates: Candidates) -> Floats:
        """Return (N,), all above 0: how likely each candidate is to get a seat, of any scale."""
        raw = STRATEGIES[self.strategy](candidates, self)
        return np.maximum(raw, FLOOR * raw.mean() if raw.any() else 1.0)


def drawn_few(weights: Mapping[str, float], count: int, step: int, key: str) -> dict[str, float]:
    """Return at most ``count`` of the players in ``weights``, with weights of the same sum.

    There are ``count`` places, each of which a player holds for ``count`` steps; at every step one of them is
    drawn again, by the weights of that step. What is drawn follows from ``key``, the step and the names, so
    that it hardly changes where weights hardly do. Over time every player holds a place as often as its
    weight says.
    """
    if len(weights) <= count:
        return dict(weights)
    share = sum(weights.values()) / count
    drawn: dict[str, float] = {}
    for place in range(count):
        since = (step + place) // count
        # The least of exponential waiting times is that of a player as often as its rate says.
        first = min(weights, key=lambda name: _wait(f"{key} {place} {since} {name}") / weights[name])
        drawn[first] = drawn.get(first, 0.0) + share
    return drawn


def _wait(text: str) -> float:
    """Return a number of the exponential distribution that follows from ``text``."""
    bits = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 11
    return -math.log((bits + 0.5) * 2.0**-53)


# ---- learners, and the rules of a league -------------------------------------------------------------------

Role = Literal["main", "main_exploiter", "league_exploiter"]
Games = Literal["own", "shared"]
Eviction = Literal["oldest", "weakest", "similar"]
MAX_CAPACITY = 2000
"""Snapshots: the payoff of so many takes 200 MB, in memory and when a file is read."""
MAX_BOTS = 1000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@documents_fields
@dataclass(frozen=True, kw_only=True)
class Gate:
    """The gate of a learner: a copy is frozen once it beats its opponents, or time is up.

    Steps are what ``League.advance`` counts, such as iterations.

    """

    beats: float = option(
        0.6, "probability to be placed above that it must reach against all players in ``against``", 0, 1
    )
    against: tuple[str, ...] = option(("snapshots",), "pools of the league, see ``config.POOLS``")
    min_games: int = option(20, "games with a player before the probability counts", 1)
    coverage: float = option(1.0, "share of those in ``against`` that it must have met so often", 0, 1)
    min_steps: int = option(1, "steps since the last copy before which the gate stays shut", 0)
    max_steps: int | None = option(
        None, "steps after which it opens whatever the games say; not below ``min_steps``", 1, none="never"
    )

    def __post_init__(self) -> None:
        check_values(self)
        object.__setattr__(self, "against", checked_pools("against", self.against))
        if self.max_steps is not None:
            whole_number("max_steps", self.max_steps, self.min_steps)


@documents_fields
@dataclass(frozen=True, kw_only=True)
class Learner:
    """A policy that learns, and the opponents that it learns from."""

    name: str = field(metadata=about("letters, digits, ``-`` and ``_``"))
    role: Role = option(
        "main",
        '"main" plays to be the best of the league. "main_exploiter" looks for weaknesses of the main '
        'agents, "league_exploiter" for weaknesses that all have',
        choices=get_args(Role),
    )
    seats: int = option(1, "seats of a game that it learns from", 1, MAX_PLAYERS)
    opponents: tuple[Opponents, ...] = option((), "who sits at the others")
    opponents_before: int = option(
        0,
        "how many of ``opponents`` have the seats before its own, the others have those after them; it "
        "matters where seats are unlike",
        0,
    )
    gate: Gate = field(
        default_factory=Gate, metadata=about("when a copy of it is frozen; default ``Gate()``")
    )
    reset_chance: float = option(
        0.0, "probability that it goes back to its first weights when a copy is frozen", 0, 1
    )

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise ValueError(f"name is {self.name!r}; it must have 1 to 64 letters, digits, '-' and '_'")
        check_values(self)
        object.__setattr__(self, "opponents", checked_list("opponents", self.opponents, Opponents))
        whole_number("opponents_before", self.opponents_before, 0, len(self.opponents))

    @property
    def parts(self) -> tuple[Opponents | None, ...]:
        """Who has the seats of a game, in their order: its opponents, and None for itself."""
        before = self.opponents_before
        return (*self.opponents[:before], None, *self.opponents[before:])

    @property
    def seats_in_all(self) -> int:
        """Its own seats and the seats of its opponents."""
        return self.seats + sum(part.seats for part in self.opponents)


@documents_fields
@dataclass(frozen=True, kw_only=True)
class LeagueConfig:
    """The rules of a league.

    After the check ``python_bots`` has all custom bots, and ``bots`` the names of all bots.
    """

    num_players: int = field(metadata=FIELDS["num_players"].metadata)
    learners: tuple[Learner, ...] = field(metadata=about('who learns; at least one has the role "main"'))
    bots: tuple[str, ...] = option(
        (),
        "bots that take part: names, custom bots (``territorial.bots.Network``, ``territorial.bots.Style``, "
        "``territorial.bots.PythonBot``), and texts that name the file of one: ``net:FILE``, ``style:FILE``",
    )
    python_bots: tuple[Any, ...] = option((), "further custom bots")
    env: str = option(
        GAME,
        "whose bots there are: those of this game, or of another environment, in which the names of bots are "
        "free and ``rllib_adapters.add_league`` takes their objects",
    )
    shuffle: bool = option(
        False, "True: players are dealt to seats anew in every game; False: in the order of learners"
    )
    games: Games = option(
        "own",
        '"own": every game is one learner\'s, and its seats are those of that learner alone. "shared": all '
        "learners and all their opponents sit in every game",
        choices=get_args(Games),
    )
    capacity: int = option(
        1000,
        "snapshots that are kept, more than there are learners and at most 2,000. Beyond that, each new one "
        "evicts another",
    )
    eviction: Eviction = option(
        "similar",
        'which snapshot is evicted: the "oldest", the "weakest" by rating, or one of the two most "similar", '
        "by whom they beat. The newest of every learner stays",
        choices=get_args(Eviction),
    )
    fading: float = option(
        0.99,
        "what the earlier games of a learner count for after one more, as the learner changes. 0.99 is a "
        "memory of some 100 games; above 0",
        0,
        1,
    )
    seed: int = option(0, "seed of all that is drawn", 0, LARGEST_SEED)

    def __post_init__(self) -> None:
        learners = checked_list("learners", self.learners, Learner, most=MAX_PLAYERS)
        object.__setattr__(self, "learners", learners)
        if not isinstance(self.env, str) or not _NAME.fullmatch(self.env):
            raise ValueError(f"env is {shown(self.env)}; it must have 1 to 64 letters, digits, '-' and '_'")
        names, custom = bots_of(self.env).sorted_bots(self.bots, self.python_bots)
        object.__setattr__(self, "bots", names)
        object.__setattr__(self, "python_bots", custom)
        check_values(self)
        self._check_learners()
        if len(self.bots) > MAX_BOTS:
            raise ValueError(f"bots has {len(self.bots):,} entries; it must have at most {MAX_BOTS:,}")
        capacity = whole_number("capacity", self.capacity, len(self.learners) + 1, MAX_CAPACITY)
        object.__setattr__(self, "capacity", capacity)
        if self.fading == 0:
            raise ValueError(f"fading is {self.fading!r}; it must be a number above 0, at most 1")

    def _check_learners(self) -> None:
        names = [learner.name for learner in self.learners]
        if len(set(names)) < len(names):
            raise ValueError(f"learners are called {', '.join(names)}; each name must occur only once")
        if not any(learner.role == "main" for learner in self.learners):
            raise ValueError("no learner has the role 'main'; at least one must")
        for learner in self.learners:
            for name in (name for part in learner.opponents for name in part.of or ()):
                if name not in names:
                    raise ValueError(f"of is {shown(name)}; it must name learners: {', '.join(names)}")
        sums = [learner.seats_in_all for learner in self.learners]
        totals = sums if self.games == "own" else [sum(sums)]
        if wrong := [total for total in totals if total != self.num_players]:
            whose = f"of {names[totals.index(wrong[0])]}" if self.games == "own" else "of all learners"
            raise ValueError(
                f"the seats {whose} and of opponents are {wrong[0]} in all; a game has "
                f"num_players = {self.num_players}"
            )

    def sources(self, part: Opponents) -> list[str]:
        """Return the learners that may be candidates of ``part``, themselves or by their snapshots."""
        if part.of is not None:
            return list(part.of)
        roles = {"mains": "main", "main_snapshots": "main", "exploiter_snapshots": "exploiter"}
        wanted = [roles.get(pool, "any") for pool in part.among if pool != "bots"]
        kinds = [("main" if one.role == "main" else "exploiter", one.name) for one in self.learners]
        # Main agents are candidates where there are no others yet.
        return [name for kind, name in kinds if "any" in wanted or kind in (*wanted, "main")]

    def to_dict(self) -> dict[str, Any]:
        """Return the rules as values that JSON has, see :meth:`from_dict`; custom bots are named."""
        values = dataclasses.asdict(dataclasses.replace(self, bots=(), python_bots=()))
        del values["python_bots"]
        written = {bot.name: bots_of(self.env).written_name(bot) for bot in self.python_bots}
        return {**values, "bots": tuple(written.get(name, name) for name in self.bots)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], python_bots: Sequence[Any] = ()) -> Self:
        """Return the rules of ``to_dict``; ValueError and TypeError for impossible values.

        ``python_bots``: the custom ones that may be among its ``bots``, or texts that name their files.
        Networks that are not among them are read from the files that ``values`` names.
        """
        check_fields("config", values, _names(cls) - {"python_bots"})
        learners = enumerate(checked_list("learners", values["learners"]))
        known = bots_of(values["env"]).by_text(python_bots, "python_bots")
        named = checked_list("bots", values["bots"])
        changes = {
            "learners": [_learner(f"learners[{i}]", one) for i, one in learners],
            "bots": [known.get(one, one) if isinstance(one, str) else one for one in named],
            "python_bots": (),
        }
        return made_of(cls, "config", {**values, **changes})


def _learner(what: str, given: Any) -> Learner:
    check_fields(what, given, _names(Learner))
    parts = enumerate(checked_list(f"{what}: opponents", given["opponents"]))
    opponents = [made_of(Opponents, f"{what}: opponents[{i}]", part) for i, part in parts]
    gate = made_of(Gate, f"{what}: gate", given["gate"])
    return made_of(Learner, what, {**given, "opponents": opponents, "gate": gate})


def _names(kind: type) -> set[str]:
    return {spec.name for spec in dataclasses.fields(kind)}
