"""``League``: framework-independent self-play with matchmaking, snapshots and ratings."""

import io
import json
import os
from collections.abc import Sequence
from typing import Any, BinaryIO, NamedTuple, Self, TypeVar, assert_never

import numpy as np

from territorial.config.validation import raised_as, whole_number, whole_number_in
from territorial.evaluation.outcome import team_numbers
from territorial.evaluation.ratings import Payoff, PayoffMatrix, Rating, Ratings, layout
from territorial.files.atomic import write_file
from territorial.files.bounded import fits, open_file, parse
from territorial.league.config import Candidates, LeagueConfig, Learner, Opponents, drawn_few
from territorial.league.league_file import (
    BOUNDS,
    FORMAT,
    MOST_NOTES,
    LeagueFile,
    LeagueSnapshot,
    checked,
    checked_row,
    pack,
    text_of,
)
from territorial.league.seating import Group, LineUpDistribution, LineUpMixture, LineUps, Player, bots_of

T = TypeVar("T")


class GateStatus(NamedTuple):
    """Whether a copy of a learner is to be frozen, and why.

    Args:
        is_open: True: a copy is to be frozen now.
        reason: what decided it, in words.

    """

    is_open: bool
    reason: str


class FreezeResult(NamedTuple):
    """The changes of a league when a copy of a learner is frozen.

    Args:
        name: name of the snapshot, under which the caller has to store the weights.
        evicted: snapshots that the league no longer has; the caller may remove them from the store.
        starts_anew: True: the learner must go back to its first weights.

    """

    name: str
    evicted: tuple[str, ...]
    starts_anew: bool


class League:
    """Main agents, exploiters, their frozen copies and bots, with payoffs and ratings.

    A trainer asks :meth:`table` or :meth:`draw` who plays, reports results to :meth:`record`, and counts its
    steps with :meth:`advance`. When a gate is open (:meth:`gate`), it calls :meth:`freeze` and stores the
    weights under the name that it gets. A player is a text such as ``trainable:main``, ``snapshot:main-3`` or
    ``bot:banker``.

    With the same config and the same calls, everything is the same. :meth:`save` and :meth:`load` keep all
    of it.

    Args:
        config: the rules of the league.
        rated: True: ratings are kept, which needs the extra "league" (openskill); False: all players have the
            same rating; default True.

    Raises:
        ImportError: if ``rated`` is True and openskill is not installed.

    Example:
        >>> from territorial.league import League, LeagueConfig, Learner, Opponents
        >>> opponents = Opponents(seats=3, strategy="uniform", among=("bots", "snapshots"))
        >>> main = Learner(name="main", seats=1, opponents=(opponents,))
        >>> config = LeagueConfig(num_players=4, learners=(main,), bots=("banker", "novice"))
        >>> league = League(config, rated=False)
        >>> players = [str(player) for player in league.draw()]
        >>> players[0]
        'trainable:main'
        >>> league.record(players, places=[1, 2, 3, 4])
        >>> league.advance("main")
        >>> league.freeze("main").name
        'main-0'

    """

    def __init__(self, config: LeagueConfig, *, rated: bool = True) -> None:
        self.config = config
        self.payoff = PayoffMatrix()
        """By the texts of players, evicted snapshots not among them."""
        self.ratings = Ratings() if rated else None
        self.snapshots: dict[str, LeagueSnapshot] = {}
        """By name, in the order in which they were frozen."""
        self.steps = {learner.name: 0 for learner in config.learners}
        """How far each learner is."""
        # The lines of the history as texts, which take a third of the memory of Python's objects.
        self._notes: list[bytes] = []
        self.num_games = 0
        self._learners = {learner.name: learner for learner in config.learners}
        self._frozen_at = dict.fromkeys(self.steps, 0)
        self._count = dict.fromkeys(self.steps, 0)
        self._rng = np.random.default_rng(config.seed)
        self._bots = bots_of(config.env)
        self._own_bots = {f"bot:{bot.name}": bot for bot in config.python_bots}

    # ---- who there is ---------------------------------------------------------------------------------

    def pool(self, name: str) -> tuple[str, ...]:
        """Return the players of one of ``config.POOLS``; KeyError for another name."""
        learners = self.config.learners
        if name in ("mains", "learners"):
            return tuple(
                f"trainable:{one.name}" for one in learners if name == "learners" or one.role == "main"
            )
        if name == "bots":
            return tuple(f"bot:{bot}" for bot in self.config.bots)
        wanted = {"main_snapshots": True, "exploiter_snapshots": False, "snapshots": None}[name]
        return tuple(
            f"snapshot:{one.name}"
            for one in self.snapshots.values()
            if wanted is None or wanted == (self._learners[one.learner].role == "main")
        )

    def rating(self, player: str) -> Rating:
        """Return how strong a player is thought to be."""
        return Ratings.START if self.ratings is None else self.ratings[self.named(player)]

    def named(self, player: str) -> str:
        """Return the text of a player with a bot's full name: ``bot:banker`` is ``bot:banker-1``."""
        kind, _, name = player.partition(":")
        return f"bot:{self._bots.full_name(name)}" if kind == "bot" else player

    def label(self, player: str) -> str:
        """Return the label of a player in plots and tables."""
        kind, _, name = player.partition(":")
        if kind == "bot":
            return str(self._bots.short(name))
        return f"{name} (learns)" if kind == "trainable" else name

    def is_rated(self, player: str) -> bool:
        """Return whether any game says how strong a player is."""
        return self.rating(player) != Ratings.START

    def met_bots(self) -> dict[str, Payoff]:
        """Return how the first main agent did against each bot of the pool that it has met."""
        main = self.pool("mains")[0]
        found = {bot: self.payoff.of(main, self.named(bot)) for bot in self.pool("bots")}
        return {bot: one for bot, one in found.items() if one.games}

    # ---- who plays ------------------------------------------------------------------------------------

    def candidates(
        self, learner: str, among: Sequence[str], of: Sequence[str] | None = None
    ) -> tuple[list[str], Candidates]:
        """Return all players in the pools ``among`` that a learner may meet, with their payoffs.

        ``of``: the learners whose they are, as ``Opponents`` has it; bots are no learner's. Where there is
        none yet, as before the first snapshot was frozen: main agents, or these learners, as they are now.
        """
        me = f"trainable:{self._known(learner).name}"
        names = list(dict.fromkeys(name for pool in among for name in self.pool(pool)))
        if of is not None:
            names = [name for name in names if name.startswith("bot:") or self._learner_of(name) in of]
        mains = self.pool("mains")
        names = names or (list(mains) if of is None else [f"trainable:{one}" for one in of])
        above = self.payoff.probability(me, [self.named(name) for name in names])
        ratings = np.array([self.rating(name).mu for name in names])
        is_main = np.array([name in mains for name in names])
        above[[name == me for name in names]] = 0.5
        return names, Candidates(above, ratings, is_main, self.rating(me).mu)

    def table(self) -> LineUps:
        """Return what draws the players of all games from now on.

        It is one table where games are "shared" or there is one learner, and else one of every learner.
        """
        if self.config.games == "own" and len(self._learners) > 1:
            return LineUpMixture([self.table_of(learner) for learner in self._learners])
        groups = [group for one in self._learners.values() for group in self._groups(one)]
        return LineUpDistribution(groups, self.config.shuffle)

    def table_of(self, learner: str) -> LineUpDistribution:
        """Return the distribution of line-ups in the games of one learner from now on."""
        return LineUpDistribution(self._groups(self._known(learner)), self.config.shuffle, learner)

    def draw(self, learner: str | None = None) -> tuple[Player, ...]:
        """Return the players of the next game by seat, drawn from :meth:`table` by the league's own RNG.

        ``learner``: whose game it is; default None: that of any.
        """
        table = self.table() if learner is None else self.table_of(learner)
        return table.draw_game(self._rng).players

    def _groups(self, learner: Learner) -> list[Group]:
        own = Group(learner.seats, {f"trainable:{learner.name}": 1})
        return [own if part is None else self._group(learner, part) for part in learner.parts]

    def _group(self, learner: Learner, part: Opponents) -> Group:
        names, candidates = self.candidates(learner.name, part.among, part.of)
        raw = part.weights(candidates)
        weights = dict(zip(names, (raw / raw.sum()).tolist(), strict=True))
        if part.distinct is not None:  # at most so many snapshots have the share of all of them
            snapshots = {name: weight for name, weight in weights.items() if name.startswith("snapshot:")}
            key = f"{self.config.seed} {learner.name} {learner.opponents.index(part)}"
            few = drawn_few(snapshots, part.distinct, self.steps[learner.name], key)
            weights = {name: one for name, one in weights.items() if name not in snapshots} | few
        players = {self._player(name): weight for name, weight in weights.items()}
        return Group(part.seats, players, together=part.together)

    # ---- how it came out ------------------------------------------------------------------------------

    def record(
        self, players: Sequence[str | Player], places: Sequence[float], teams: Sequence[int] = ()
    ) -> None:
        """Count a game: players and places by seat, NaN for survivors of a game that was left.

        ``teams``: the team of each seat; default (): no teams. ValueError for players who are not in the
        league; what has been evicted since the game began is passed over.
        """
        given = [str(player) for player in players]
        if len(given) != len(places):
            raise ValueError(
                f"there are {len(given)} players and {len(places)} places; each player must have one place"
            )
        known = {text: self.known_player(text) for text in dict.fromkeys(given)}
        texts = [known[text] for text in given]
        gone = {text for text in known.values() if text.startswith("snapshot:")} - set(self.pool("snapshots"))
        kept = [i for i, text in enumerate(texts) if text not in gone]
        numbers = team_numbers(teams, len(texts))[kept]
        texts, marks = [texts[i] for i in kept], [float(places[i]) for i in kept]
        changing = {text: self.config.fading for text in texts if text.startswith("trainable:")}
        self.payoff.record(texts, marks, numbers.tolist(), fading=changing)
        if self.ratings is not None:
            self.ratings.record(texts, marks, numbers.tolist())
        self.num_games += 1

    def note(self, step: int, **more: Any) -> None:
        """Keep the ratings of learners and bots that have played, and ``more``, as one line of the history.

        Ratings have six digits. There are never more than ``MOST_NOTES`` lines. TypeError and ValueError for
        what no file could hold, such as NaN.
        """
        names = (*self.pool("learners"), *map(self.named, self.pool("bots")))
        rated = {name: self.rating(name) for name in names if self.rating(name) != Ratings.START}
        ratings = {name: [float(f"{value:.6g}") for value in rating] for name, rating in rated.items()}
        text = text_of({"step": step, "games": self.num_games, "ratings": ratings, **more})
        checked_row("a line of the history", parse(text, BOUNDS))
        self._notes.append(text)
        if len(self._notes) >= MOST_NOTES:
            self._notes = thinned(self._notes)

    @property
    def history(self) -> list[dict[str, Any]]:
        """What :meth:`note` has kept, read anew."""
        return list(map(json.loads, self._notes))

    # ---- gates ----------------------------------------------------------------------------------------

    def advance(self, learner: str, steps: int = 1) -> None:
        """Count steps of a learner."""
        self.steps[self._known(learner).name] += whole_number("steps", steps, 0)

    def gate(self, learner: str) -> GateStatus:
        """Return whether a copy of ``learner`` is to be frozen now."""
        one = self._known(learner)
        gate, since = one.gate, self.steps[learner] - self._frozen_at[learner]
        if since < gate.min_steps:
            return GateStatus(False, f"{since} of at least {gate.min_steps} steps")
        if gate.max_steps is not None and since >= gate.max_steps:
            return GateStatus(True, f"{since} steps, at most {gate.max_steps}")
        me = f"trainable:{learner}"
        against = dict.fromkeys(self.named(name) for pool in gate.against for name in self.pool(pool))
        names = [name for name in against if name != me]
        if not names:
            return GateStatus(False, f"no player is in {', '.join(gate.against)} yet")
        met = self.payoff.games(me, names) >= gate.min_games
        if met.sum() < gate.coverage * len(names) or not met.any():
            return GateStatus(False, f"met {met.sum()} of {len(names)} in at least {gate.min_games} games")
        above = np.where(met, self.payoff.probability(me, names), 1.0)
        i = int(above.argmin())
        text = f"above {names[i]} in {100 * above[i]:.0f} %, all others more; {100 * gate.beats:.0f} % needed"
        return GateStatus(bool(above[i] >= gate.beats), text)

    def next_name(self, learner: str) -> str:
        """Return the name of the next snapshot of ``learner``."""
        self._known(learner)
        return f"{learner}-{self._count[learner]}"

    def freeze(self, learner: str) -> FreezeResult:
        """Take a copy of ``learner`` up as a snapshot; it enters with the learner's rating.

        Where the league is full, snapshots are evicted for it, see ``LeagueConfig.eviction``.
        """
        one, name = self._known(learner), self.next_name(learner)
        self._count[learner] += 1
        self._frozen_at[learner] = self.steps[learner]
        self.snapshots[name] = LeagueSnapshot(name, learner, self.steps[learner])
        self.payoff.add(f"snapshot:{name}")
        if self.ratings is not None:
            self.ratings.copy(f"trainable:{learner}", f"snapshot:{name}")
        evicted = []
        while len(self.snapshots) > self.config.capacity:
            evicted.append(self._least_needed())
            del self.snapshots[evicted[-1]]
            self._forget_player(f"snapshot:{evicted[-1]}")
        starts_anew = bool(self._rng.random() < one.reset_chance)
        if starts_anew:
            self._forget_player(f"trainable:{learner}")
        return FreezeResult(name, tuple(evicted), starts_anew)

    def freeze_first(self) -> None:
        """Take a copy of every learner that has none, so that there is an opponent to play."""
        for learner in self.steps:
            if not any(one.learner == learner for one in self.snapshots.values()):
                self.freeze(learner)

    # ---- eviction -------------------------------------------------------------------------------------

    def _least_needed(self) -> str:
        """Return the snapshot to give up."""
        newest = {one.learner: one.name for one in self.snapshots.values()}
        free = [name for name in self.snapshots if name not in newest.values()]
        if self.config.eviction == "weakest":
            return min(free, key=lambda name: self.rating(f"snapshot:{name}").mu)
        if self.config.eviction == "oldest":
            return free[0]
        if self.config.eviction == "similar":
            return self._most_similar(free)
        assert_never(self.config.eviction)

    def _most_similar(self, free: Sequence[str]) -> str:
        """Return the older of the two snapshots with the most similar payoffs.

        That is the least squared difference to be expected: a new player, of which little
        is known, is like no other one.
        """
        if len(free) < 2:
            return free[0]
        players, texts = self.payoff.names, [f"snapshot:{name}" for name in free]
        rows = np.stack([self.payoff.probability(text, players) for text in texts])
        squares = (rows**2 + np.stack([self.payoff.variance(text, players) for text in texts])).sum(1)
        apart = squares[:, None] + squares - 2 * rows @ rows.T
        apart[np.tril_indices(len(free))] = np.inf
        return free[int(apart.argmin()) // len(free)]

    def _forget_player(self, player: str) -> None:
        if player in self.payoff.names:
            self.payoff.remove([player])
        if self.ratings is not None:
            self.ratings.remove(player)

    # ---- saving ---------------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """Return all of the league; :meth:`from_bytes` reads it, and executes nothing of it."""
        about: dict[str, Any] = {
            "format": FORMAT,
            "config": self.config.to_dict(),
            "players": list(self.payoff.names),
            "ratings": None if self.ratings is None else self.ratings.to_dict(),
            "snapshots": [vars(one) for one in self.snapshots.values()],
            "steps": self.steps,
            "frozen_at": self._frozen_at,
            "count": self._count,
            "num_games": self.num_games,
            "rng": self._rng.bit_generator.state,
        }
        start, end, notes = text_of(about)[:-1] + b', "history": [', b"]}", self._notes
        while len(notes) > 2 and not fits(start + b", ".join(notes) + end, BOUNDS):
            notes = thinned(notes)
        return pack(start + b", ".join(notes) + end, self.payoff.to_arrays())

    @classmethod
    def from_bytes(cls, data: bytes, python_bots: Sequence[Any] = ()) -> Self:
        """Return the league of ``to_bytes``; ValueError names the fault of other bytes.

        All that is read is checked, and no more is unpacked than such a league takes. ``python_bots``: the
        custom ones that may be among its bots, of which the bytes have the names, or texts that name their
        files. Networks that are not among them are read from their files.
        """
        return cls._read(io.BytesIO(data), python_bots)

    @classmethod
    def _read(cls, file: BinaryIO, python_bots: Sequence[Any] = ()) -> Self:
        with raised_as(ValueError, "this is not a league: ", (ValueError, TypeError)):
            found = LeagueFile(file)
            saved = checked(found.about(), python_bots)
            players = saved["players"]
            payoff = PayoffMatrix.from_arrays(players, found.tables(layout(len(players))))
        league = cls(saved["config"], rated=saved["ratings"] is not None)
        league.payoff = payoff
        if saved["ratings"] is not None:
            league.ratings = Ratings.from_dict(saved["ratings"])
        league.snapshots, league.steps = saved["snapshots"], saved["steps"]
        league._frozen_at, league._count = saved["frozen_at"], saved["count"]
        league.num_games, league._notes = saved["num_games"], list(map(text_of, saved["history"]))
        league._rng.bit_generator.state = saved["rng"]
        return league

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the league to a file, all of it or nothing: a file that was there stays until then."""
        write_file(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str], python_bots: Sequence[Any] = ()) -> Self:
        """Return the league in a file, see ``from_bytes``; ValueError names a file without one."""
        with raised_as(ValueError, f"{os.fspath(path)!r}: "), open_file(path) as file:
            return cls._read(file, python_bots)

    def __reduce__(self) -> tuple[Any, ...]:
        return League.from_bytes, (self.to_bytes(), self.config.python_bots)

    # ---- within ---------------------------------------------------------------------------------------

    def _learner_of(self, player: str) -> str:
        kind, _, name = player.partition(":")
        return self.snapshots[name].learner if kind == "snapshot" else name

    def _known(self, learner: str) -> Learner:
        if learner not in self._learners:
            raise ValueError(
                f"{learner!r} is not a learner of this league; its learners are {', '.join(self._learners)}"
            )
        return self._learners[learner]

    def _player(self, text: str) -> Player:
        """Return a player of a pool, which needs no check."""
        kind, _, name = text.partition(":")
        return Player(kind, name, self._own_bots.get(text))  # type: ignore[arg-type]

    def known_player(self, text: str) -> str:
        """Return the league's name of a player; a bot that is named by its file has a name, too.

        ValueError for one that has never been in the league.
        """
        if text in self._own_bots:
            return text
        player = Player.parse(text, self.config.env)
        if player.bot is not None and str(player) not in self._own_bots:
            raise ValueError(f"{text} is not a bot of this league")
        if player.kind == "trainable":
            self._known(player.name)
        learner, _, number = player.name.rpartition("-")
        was_frozen = whole_number_in(number, 0, self._count.get(learner, 0) - 1) is not None
        if player.kind == "snapshot" and not was_frozen:
            raise ValueError(f"{text} is not a snapshot of this league")
        return self.named(str(player))


def thinned(rows: Sequence[T]) -> list[T]:
    """Return the first row, the last one, and every second one between."""
    return [rows[0], *rows[2:-1:2], rows[-1]]
