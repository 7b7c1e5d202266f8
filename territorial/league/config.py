"""Who is in a league, and its rules: plain data that JSON can hold."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, get_args

from territorial import bots
from territorial.bots.bot_files import written_name
from territorial.config.validation import checked_list, finite_number, hint, shown, whole_number
from territorial.constants import LARGEST_SEED, MAX_PLAYERS, MIN_PLAYERS
from territorial.engine.seats import CustomBot, check_custom, is_same_bot, name_of, with_bots_of_files
from territorial.files.strict_json import check_fields
from territorial.league.matchmaking import Opponents, checked_pools

Role = Literal["main", "main_exploiter", "league_exploiter"]
Games = Literal["own", "shared"]
Eviction = Literal["oldest", "weakest", "similar"]
EVICTIONS = get_args(Eviction)
MAX_CAPACITY = 2000
"""Snapshots: the payoff of so many takes 200 MB, in memory and when a file is read."""
MAX_BOTS = 1000
T = TypeVar("T")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True, kw_only=True)
class Gate:
    """When a copy of a learner is frozen: once it is above all whom it should beat, or time is up.

    Args:
        beats: probability to be placed above that it must reach against all players in ``against``; 0 to 1,
            default 0.6.
        against: pools of the league, see ``matchmaking.POOLS``; default ("snapshots",).
        min_games: games with a player before the probability counts; at least 1, default 20.
        coverage: share of those in ``against`` that it must have met so often; 0 to 1, default 1.0.
        min_steps: steps since the last copy before which the gate stays shut; at least 0, default 1.
        max_steps: steps after which it opens whatever the games say; default None: never.

    Steps are what ``League.advance`` counts, such as iterations.

    """

    beats: float = 0.6
    against: tuple[str, ...] = ("snapshots",)
    min_games: int = 20
    coverage: float = 1.0
    min_steps: int = 1
    max_steps: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "against", checked_pools("against", self.against))
        for name in ("beats", "coverage"):
            finite_number(name, getattr(self, name), 0, 1)
        object.__setattr__(self, "min_games", whole_number("min_games", self.min_games, 1))
        object.__setattr__(self, "min_steps", whole_number("min_steps", self.min_steps, 0))
        if self.max_steps is not None:
            low = max(1, self.min_steps)
            object.__setattr__(self, "max_steps", whole_number("max_steps", self.max_steps, low))


@dataclass(frozen=True, kw_only=True)
class Learner:
    """A policy that learns, and the opponents that it learns from.

    Args:
        name: letters, digits, ``-`` and ``_``.
        role: "main" plays to be the best of the league. "main_exploiter" looks for weaknesses of the main
            agents, "league_exploiter" for weaknesses that all have. Default "main".
        seats: seats of a game that it learns from; 1 to 250, default 1.
        opponents: who sits at the others; default ().
        gate: when a copy of it is frozen; default ``Gate()``.
        reset_chance: probability that it goes back to its first weights when a copy is frozen; 0 to 1,
            default 0.0.

    """

    name: str
    role: Role = "main"
    seats: int = 1
    opponents: tuple[Opponents, ...] = ()
    gate: Gate = field(default_factory=Gate)
    reset_chance: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise ValueError(f"name is {self.name!r}; it must have 1 to 64 letters, digits, '-' and '_'")
        if self.role not in get_args(Role):
            raise ValueError(f"role is {self.role!r}; it must be one of {', '.join(get_args(Role))}")
        object.__setattr__(self, "seats", whole_number("seats", self.seats, 1, MAX_PLAYERS))
        object.__setattr__(self, "opponents", checked_list("opponents", self.opponents, Opponents))
        finite_number("reset_chance", self.reset_chance, 0, 1)

    @property
    def seats_in_all(self) -> int:
        """Its own seats and those of its opponents."""
        return self.seats + sum(part.seats for part in self.opponents)


@dataclass(frozen=True, kw_only=True)
class LeagueConfig:
    """The rules of a league.

    Args:
        num_players: seats of a game; 2 to 250.
        learners: who learns; at least one has the role "main".
        bots: bots that take part: names, custom bots (``territorial.bots.Network``,
            ``territorial.bots.Style``, ``territorial.bots.PythonBot``), and texts that name the file of one:
            ``net:FILE``, ``style:FILE``; default ().
        python_bots: further custom bots; after the check it has all of them, and ``bots`` all names;
            default ().
        games: "own": every game is one learner's, and its seats are those of that learner alone. "shared":
            all learners and all their opponents sit in every game. Default "own".
        capacity: snapshots that are kept, at most 2,000. Beyond that, each new one evicts another;
            default 1000.
        eviction: which snapshot is evicted: the "oldest", the "weakest" by rating, or one of the two most
            "similar", by whom they beat. The newest of every learner stays; default "similar".
        fading: what the earlier games of a learner count for after one more, as the learner changes. 0.99 is
            a memory of some 100 games; above 0, at most 1, default 0.99.
        seed: seed of all that is drawn; 0 to 2**64 - 1, default 0.

    """

    num_players: int
    learners: tuple[Learner, ...]
    bots: tuple[str, ...] = ()
    python_bots: tuple[CustomBot, ...] = ()
    games: Games = "own"
    capacity: int = 1000
    eviction: Eviction = "similar"
    fading: float = 0.99
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "learners", checked_list("learners", self.learners, Learner))
        self._take_bots()
        players = whole_number("num_players", self.num_players, MIN_PLAYERS, MAX_PLAYERS)
        object.__setattr__(self, "num_players", players)
        object.__setattr__(self, "seed", whole_number("seed", self.seed, 0, LARGEST_SEED))
        self._check_learners()
        if len(self.bots) > MAX_BOTS:
            raise ValueError(f"bots has {len(self.bots):,} entries; it must have at most {MAX_BOTS:,}")
        if self.eviction not in EVICTIONS:
            raise ValueError(f"eviction is {self.eviction!r}; it must be one of {', '.join(EVICTIONS)}")
        capacity = whole_number("capacity", self.capacity, len(self.learners) + 1, MAX_CAPACITY)
        object.__setattr__(self, "capacity", capacity)
        if finite_number("fading", self.fading, 0, 1) == 0:
            raise ValueError(f"fading is {self.fading!r}; it must be a number above 0, at most 1")

    def _take_bots(self) -> None:
        """Sort the bots into names and custom ones."""
        objects = checked_list("python_bots", self.python_bots)
        for i, bot in enumerate(objects):
            if not isinstance(bot, CustomBot):
                raise TypeError(f"python_bots[{i}] is {shown(bot)}; it must be a custom bot")
        known = {bot.name for bot in objects}
        given = (*with_bots_of_files(checked_list("bots", self.bots), known, "bots"), *objects)
        own: dict[str, CustomBot] = {}
        for i, bot in enumerate(given):
            if not isinstance(bot, (str, CustomBot)):
                raise TypeError(f"bots[{i}] is {shown(bot)}; it must be of the type str, or a custom bot")
            if isinstance(bot, CustomBot):
                check_custom(bot)
                if not is_same_bot(own.setdefault(bot.name, bot), bot):
                    raise ValueError(f"two custom bots are called {bot.name!r}; names tell them apart")
        names = tuple(dict.fromkeys(map(name_of, given)))
        if unknown := [name for name in names if name not in (*bots.NAMES, *bots.ALIASES, *own)]:
            there_are = ", ".join(bots.PLAIN_NAMES)
            raise ValueError(
                f"bots has {shown(unknown[0])}{hint(unknown[0], bots.PLAIN_NAMES)}; bots are {there_are}, "
                "and custom bots, which are given as objects or by their files"
            )
        object.__setattr__(self, "bots", names)
        object.__setattr__(self, "python_bots", tuple(own.values()))

    def _check_learners(self) -> None:
        names = [learner.name for learner in self.learners]
        if len(names) > MAX_PLAYERS:
            raise ValueError(f"learners has {len(names):,} entries; it must have at most {MAX_PLAYERS}")
        if len(set(names)) < len(names):
            raise ValueError(f"learners are called {', '.join(names)}; each name must occur only once")
        if not any(learner.role == "main" for learner in self.learners):
            raise ValueError("no learner has the role 'main'; at least one must")
        if self.games not in get_args(Games):
            raise ValueError(f"games is {self.games!r}; it must be one of {', '.join(get_args(Games))}")
        sums = [learner.seats_in_all for learner in self.learners]
        totals = sums if self.games == "own" else [sum(sums)]
        if wrong := [total for total in totals if total != self.num_players]:
            whose = f"of {names[totals.index(wrong[0])]}" if self.games == "own" else "of all learners"
            raise ValueError(
                f"the seats {whose} and of opponents are {wrong[0]} in all; a game has "
                f"num_players = {self.num_players}"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the rules as values that JSON has, see :meth:`from_dict`; custom bots are named."""
        values = dataclasses.asdict(dataclasses.replace(self, bots=(), python_bots=()))
        del values["python_bots"]
        written = {bot.name: written_name(bot) for bot in self.python_bots}
        return {**values, "bots": tuple(written.get(name, name) for name in self.bots)}

    @classmethod
    def from_dict(
        cls, values: Mapping[str, Any], python_bots: Sequence[CustomBot | str] = ()
    ) -> LeagueConfig:
        """Return the rules of ``to_dict``; ValueError and TypeError for what cannot be.

        ``python_bots``: the custom ones that may be among its ``bots``, or texts that name their files.
        Networks that are not among them are read from the files that ``values`` names.
        """
        check_fields("config", values, {"learners"}, _names(cls) - {"python_bots"})
        learners = enumerate(checked_list("learners", values["learners"]))
        custom = with_bots_of_files(python_bots, what="python_bots")
        by_text = {text: bot for bot in custom for text in (bot.name, written_name(bot))}
        named = values.get("bots", ())
        return _made(
            cls,
            "config",
            {
                **values,
                "learners": [_learner(f"learners[{i}]", one) for i, one in learners],
                "bots": _with_custom(named, by_text),
            },
        )


def _with_custom(named: Any, by_text: Mapping[str, CustomBot]) -> Any:
    """Return names of bots with the custom ones themselves; what is no list is left as it is."""
    if not isinstance(named, (list, tuple)):
        return named
    return [by_text.get(one, one) if isinstance(one, str) else one for one in named]


def _learner(what: str, given: Any) -> Learner:
    values = dict(given) if isinstance(given, Mapping) else given
    check_fields(what, values, {"name"}, _names(Learner))
    if "opponents" in values:
        parts = enumerate(checked_list(f"{what}: opponents", values["opponents"]))
        values["opponents"] = [_made(Opponents, f"{what}: opponents[{i}]", part) for i, part in parts]
    if "gate" in values:
        values["gate"] = _made(Gate, f"{what}: gate", values["gate"])
    return _made(Learner, what, values)


def _made(kind: type[T], what: str, values: Any) -> T:
    """Return the object with these fields; errors say ``what`` it was to be."""
    needed = {spec.name for spec in dataclasses.fields(kind) if _is_needed(spec)}  # type: ignore[arg-type]
    check_fields(what, values, needed, _names(kind))
    try:
        return kind(**values)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{what}: {error}") from None


def _is_needed(spec: dataclasses.Field[Any]) -> bool:
    return spec.default is dataclasses.MISSING and spec.default_factory is dataclasses.MISSING


def _names(kind: type) -> set[str]:
    return {spec.name for spec in dataclasses.fields(kind)}
