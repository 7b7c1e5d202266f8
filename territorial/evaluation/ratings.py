"""What is kept of players game by game: how often each is above each other one, and ratings."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from territorial.config.validation import shown, whole_number
from territorial.constants import MAX_PLAYERS
from territorial.evaluation.intervals import Z, wilson
from territorial.evaluation.outcome import team_numbers, team_parts
from territorial.typing import Array, Floats, Ints

PRIOR = 2.0
"""Games, half of them won, that every pair is taken to have played: what is not known is even."""

SUMS = ("met", "above", "won", "places")
"""The sums over games that are kept of two players, in which games of those who change fade. Games in which
they met, and of these the shares above, the games won, the differences in places."""
COUNTS = ("games", "pairs")
"""The counts, of which nothing fades: games, and pairs of seats in them."""
LARGEST_COUNT = 2**40
"""Games that are counted; pairs of seats in them are exact as well."""
_MET, _ABOVE, _WON, _PLACES = range(len(SUMS))
_GAMES, _PAIRS = range(len(COUNTS))


class Payoff(NamedTuple):
    """How a first player did against a second. Means are over games; NaN if they never met.

    Args:
        games: games in which at least one pair of their seats was decided.
        pairs: pairs of seats, one of each player, that were decided in these games.
        above: share of the pairs in which the first player was placed above the second.
        low: lower end of the interval of 95 per cent of ``above``; 0 if they never met.
        high: upper end of that interval; 1 if they never met.
        win_rate: share of these games that the first player, or its team, won; those that end equal share it.
        place_difference: by how many places the first player was above the second.

    """

    games: int
    pairs: int
    above: float
    low: float
    high: float
    win_rate: float
    place_difference: float


class PayoffMatrix:
    """For every two players, how often one is placed above the other in the games in which both sit.

    A game counts once for a pair, however many seats the two have in it. It counts as the share of the pairs
    of their seats in which the first is above; equal places count a half. With 32 seats a player as good as
    all others wins one game in 32, and is above each of them in one of two. With teams, pairs of teams count
    instead of pairs of seats, and allies are not compared.

    Args:
        capacity: players that are remembered. Beyond that, those are forgotten who have not played for
            longest, so that memory is bounded. Default None: all are remembered.

    """

    def __init__(self, capacity: int | None = None) -> None:
        self.capacity = None if capacity is None else whole_number("capacity", capacity, 2, 10**5)
        self._index: dict[str, int] = {}
        self._sums: Floats = np.zeros((len(SUMS), 0, 0))
        self._counts: Ints = np.zeros((len(COUNTS), 0, 0), np.int64)
        self._last: Ints = np.zeros(0, np.int64)  # the number of the game in which each played last
        self._num_games = 0

    @property
    def names(self) -> tuple[str, ...]:
        """All players, in the order of rows and columns."""
        return tuple(self._index)

    def add(self, name: str) -> None:
        """Take up a player, which has met no other yet; nothing happens if it is there."""
        if name not in self._index:
            self._index[name] = n = len(self._index)
            if n == len(self._last):
                more = 8 + n // 8
                room = (0, 0), (0, more), (0, more)
                self._sums, self._counts = np.pad(self._sums, room), np.pad(self._counts, room)
                self._last = np.pad(self._last, (0, more))
            self._last[n] = self._num_games

    def remove(self, names: Iterable[str]) -> None:
        """Forget players; KeyError for an unknown one."""
        gone = {self._index[name] for name in names}
        keep = np.array([i for i in range(len(self._index)) if i not in gone], np.int64)
        known = self.names
        self._index = {known[i]: k for k, i in enumerate(keep.tolist())}
        block = slice(None), keep[:, None], keep
        self._sums, self._counts, self._last = self._sums[block], self._counts[block], self._last[keep]

    def record(
        self,
        players: Sequence[str],
        places: Sequence[float],
        teams: Sequence[int] = (),
        *,
        fading: Mapping[str, float] | None = None,
    ) -> None:
        """Count a game, such as an ``Outcome``.

        Args:
            players: who sat where; new ones are taken up.
            places: of the seats, 1 for the best; NaN for those who were still alive when the game was left:
                they are above all others, and nothing is known between them.
            teams: of the seats; default (): no teams.
            fading: of players that change, what their earlier games count for after this one, up to 1.

        """
        seats, values = list(dict.fromkeys(players)), np.asarray(places, np.float64)
        if values.shape != (len(players),):
            raise ValueError(f"places has the shape {values.shape}; there are {len(players)} players")
        if not (np.isnan(values) | ((values >= 1) & (values <= MAX_PLAYERS))).all():
            raise ValueError(
                f"places is {shown(places)}; a place is a number from 1 to {MAX_PLAYERS}, or NaN"
            )
        self._num_games += 1
        for name in seats:
            self.add(name)
        number = {name: i for i, name in enumerate(seats)}
        who, numbers = np.array([number[name] for name in players]), team_numbers(teams, len(players))
        sums, pairs = _compared(who, values, numbers, len(seats))
        rows = np.array([self._index[name] for name in seats])
        fade = np.array([(fading or {}).get(name, 1.0) for name in seats])
        is_met = pairs > 0
        block = slice(None), rows[:, None], rows
        self._sums[block] = self._sums[block] * np.where(is_met, np.minimum(fade[:, None], fade), 1.0) + sums
        self._counts[block] += np.stack([is_met, pairs])
        self._last[rows] = self._num_games
        over = 0 if self.capacity is None else len(self._index) - self.capacity
        if over > 0:
            longest_ago = np.argsort(self._last[: len(self._index)], kind="stable")[:over]
            self.remove([self.names[i] for i in longest_ago.tolist()])

    # ---- what is known --------------------------------------------------------------------------------

    def of(self, first: str, other: str) -> Payoff:
        """Return how ``first`` did against ``other``."""
        i, j = self._index.get(first), self._index.get(other)
        if i is None or j is None or not self._counts[_GAMES, i, j]:
            return Payoff(0, 0, math.nan, 0.0, 1.0, math.nan, math.nan)
        games, pairs = self._counts[:, i, j].tolist()
        met, *sums = self._sums[:, i, j].tolist()
        above, won, places = (part / met for part in sums)
        return Payoff(games, pairs, *wilson(above, met), won, places)

    def opponents(self, player: str) -> tuple[str, ...]:
        """Return all players that ``player`` has met."""
        i = self._index.get(player)
        return () if i is None else tuple(n for n, j in self._index.items() if self._counts[_GAMES, i, j])

    def probability(self, first: str, others: Sequence[str]) -> Floats:
        """Return (N,), the probabilities that ``first`` is above each other; 0.5 where they never met."""
        above, met = self._row(self._sums[_ABOVE], first, others), self._row(self._sums[_MET], first, others)
        return (above + PRIOR / 2) / (met + PRIOR)

    def variance(self, first: str, others: Sequence[str]) -> Floats:
        """Return (N,), how unsure each ``probability`` is: the variance of a beta distribution."""
        chances, met = self.probability(first, others), self._row(self._sums[_MET], first, others)
        return chances * (1 - chances) / (met + PRIOR + 1)

    def games(self, first: str, others: Sequence[str]) -> Ints:
        """Return (N,), the games in which ``first`` met each other."""
        return self._row(self._counts[_GAMES], first, others)

    def matrix(self, names: Sequence[str] | None = None) -> tuple[Floats, Ints]:
        """Return (N, N) how often i was above j, NaN where they never met, and (N, N) the games that says."""
        rows = np.array([self._index[name] for name in (self.names if names is None else names)], np.int64)
        block = rows[:, None], rows
        met = self._sums[_MET][block]
        share = np.divide(self._sums[_ABOVE][block], met, out=np.full(met.shape, np.nan), where=met > 0)
        return share, self._counts[_GAMES][block]

    def _row(self, table: Array, first: str, others: Sequence[str]) -> Array:
        """Return (N,) the entries of a table for ``first`` and each other, 0 for unknown players."""
        i, rows = self._index.get(first), [self._index.get(name, -1) for name in others]
        if i is None or not rows:
            return np.zeros(len(rows), table.dtype)
        columns = np.array(rows)
        return np.where(columns < 0, np.zeros((), table.dtype), table[i, columns])

    # ---- saving ---------------------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, Array]:
        """Return all but the names as arrays, with which :meth:`from_arrays` makes another."""
        n = len(self._index)
        tables = {"sums": self._sums, "counts": self._counts}
        arrays: dict[str, Array] = {name: table[:, :n, :n].copy() for name, table in tables.items()}
        return arrays | {"last": self._last[:n].copy(), "num_games": np.array(self._num_games)}

    @classmethod
    def from_arrays(
        cls, names: Sequence[str], arrays: Mapping[str, Array], capacity: int | None = None
    ) -> Self:
        """Return the payoff of ``names`` and ``to_arrays``; ValueError for impossible numbers."""
        payoff = cls(capacity)
        for name, (dtype, shape) in layout(len(names)).items():
            if name not in arrays or arrays[name].shape != shape or arrays[name].dtype != dtype:
                raise ValueError(
                    f"the payoff matrix has no array {name!r} of {np.dtype(dtype)} of the shape {shape}"
                )
        for i, name in enumerate(names):
            if payoff._index.setdefault(name, i) != i:
                raise ValueError(
                    f"players[{i}] is {name!r}, which occurs before; each player must occur only once"
                )
        _check(names, arrays)
        payoff._sums = np.array(arrays["sums"], np.float64)
        payoff._counts = np.array(arrays["counts"], np.int64)
        payoff._last = np.array(arrays["last"], np.int64)
        payoff._num_games = int(arrays["num_games"])
        return payoff


TableSpec = tuple[type[np.generic], tuple[int, ...]]
"""What an array of a payoff must be: its type and its shape."""


def layout(players: int) -> dict[str, TableSpec]:
    """Return the arrays of ``to_arrays`` for so many players, by name."""
    return {
        "sums": (np.float64, (len(SUMS), players, players)),
        "counts": (np.int64, (len(COUNTS), players, players)),
        "last": (np.int64, (players,)),
        "num_games": (np.int64, ()),
    }


def _check(names: Sequence[str], arrays: Mapping[str, Array]) -> None:
    """Raise ValueError for impossible numbers, because computations rely on valid ones."""
    total = whole_number("num_games", arrays["num_games"], 0, LARGEST_COUNT)
    last, sums, counts = arrays["last"], arrays["sums"], arrays["counts"]
    wrong = np.flatnonzero((last < 0) | (last > total))
    if wrong.size:
        raise ValueError(f"last of {names[wrong[0]]} is {last[wrong[0]]}; it must be from 0 to {total:,}")
    (met, above, won, places), (games, pairs) = sums, counts
    others = ~np.eye(len(names), dtype=np.bool_)
    farthest = MAX_PLAYERS * np.clip(met, 0, games)  # what met may be; more could overflow
    for what, values, low, high, wanted in (
        ("games", games, 0, total * others, f"from 0 to {total:,}, 0 of oneself"),
        ("pairs", pairs, games, games * MAX_PLAYERS**2, "so many as games have"),
        ("met", met, np.minimum(games, 1), games, "from 1 to the number of games"),
        ("above", above, 0, met, "from 0 to met"),
        ("won", won, 0, met, "from 0 to met"),
        ("places", places, -farthest, farthest, f"at most {MAX_PLAYERS} a game"),
    ):
        is_right = (values >= low) & (values <= high)
        if not is_right.all():
            i, j = np.argwhere(~is_right)[0]
            raise ValueError(f"{what} of {names[i]} and {names[j]} is {values[i, j]}; it must be {wanted}")


def _compared(who: Ints, places: Floats, teams: Ints, count: int) -> tuple[Floats, Ints]:
    """Return (4, N, N) the summands of a game in ``SUMS``, and (N, N) the pairs of seats that it decided.

    Who lived when the game was left is above all others, at the mean of the places that are left.
    """
    lives = np.isnan(places)
    open_places = len(np.unique(teams[lives]))
    ranks, middle = np.where(lives, 0.0, places), np.where(lives, (open_places + 1) / 2, places)
    ahead = (ranks > ranks[:, None]) + 0.5 * (ranks == ranks[:, None])
    is_decided = ~(lives[:, None] & lives) & (teams[:, None] != teams)
    belongs, seats = np.eye(count)[who], np.eye(count)[who] * team_parts(teams)[:, None]
    between = 1.0 - np.eye(count)
    pairs = belongs.T @ is_decided @ belongs * between
    met = seats.T @ is_decided @ seats * between
    above = seats.T @ (ahead * is_decided) @ seats
    places_ahead = seats.T @ ((middle - middle[:, None]) * is_decided) @ seats
    is_met = pairs > 0
    is_best = places == places.min()  # nowhere, while some live
    winners = np.unique([who[is_best], teams[is_best]], axis=1)
    won = np.bincount(winners[0], minlength=count) / max(1, len(np.unique(teams[is_best])))
    shares = np.divide([above, places_ahead], met, out=np.zeros((2, count, count)), where=is_met)
    sums = np.stack([is_met, shares[0], is_met * won[:, None], shares[1]])
    return sums, pairs.astype(np.int64)


# ---- ratings -----------------------------------------------------------------------------------------------


NEEDED = "ratings need openskill: pip install 'territorial-env[league]' (or '.[league]' in the checkout)"
"""What is said where it is not installed."""


class Rating(NamedTuple):
    """How strong a player is thought to be, and how sure that is: a mean and its standard deviation."""

    mu: float
    sigma: float

    def text(self) -> str:
        """Return the rating and half its interval as tables show them."""
        return f"{self.mu:.1f} ± {Z * self.sigma:.1f}"


class Ratings:
    """The ratings of players, brought up to date game by game; all begin at 25 +- 25/3.

    Every seat enters a game with the rating of its player. A player of several seats leaves with the mean of
    theirs (of the variances for sigma), so that seats of one player are no more evidence than one. Places
    count, not distances; equals are ties. With teams, the sums of their members' ratings compete, and each
    member has a part in what its team's place says. ImportError without the extra "league".

    Args:
        fixed: whether players stay as they are. If not, the last games count most, and sigma never falls
            below some 3. If they do, every game counts by what it tells, and sigma falls as the square root
            of the number of games grows.

    """

    START = Rating(25.0, 25.0 / 3.0)

    def __init__(self, *, fixed: bool = False) -> None:
        try:
            from openskill.models import PlackettLuce
        except ImportError:
            raise ImportError(NEEDED) from None
        # By gamma, the part of a game's evidence by which sigma falls, openskill itself is cautious.
        self._model: Any = PlackettLuce(tau=0.0, gamma=lambda *_: 1.0) if fixed else PlackettLuce()
        self._ratings: dict[str, Rating] = {}

    def __getitem__(self, name: str) -> Rating:
        return self._ratings.get(name, self.START)

    def record(self, seats: Sequence[str], places: Sequence[float], teams: Sequence[int] = ()) -> None:
        """Record a game; a place of NaN, of a survivor of a game that was left, is before all others.

        ``teams``: the team of each seat, whose members have one place; default (): no teams.
        """
        if len(set(seats)) < 2:
            return
        members: dict[int, list[int]] = {}
        for i, team in enumerate(team_numbers(teams, len(seats)).tolist()):
            members.setdefault(team, []).append(i)
        ranks = [0.0 if places[i] != places[i] else places[i] for i, *_ in members.values()]
        sides = [[self._model.rating(*self[seats[i]]) for i in side] for side in members.values()]
        left: dict[str, list[Any]] = {}
        for side, rated in zip(members.values(), self._model.rate(sides, ranks=ranks), strict=True):
            for i, rating in zip(side, rated, strict=True):
                left.setdefault(seats[i], []).append(rating)
        for name, found in left.items():
            mu = float(np.mean([rating.mu for rating in found]))
            sigma = float(np.sqrt(np.mean([rating.sigma**2 for rating in found])))
            self._ratings[name] = Rating(mu, sigma)

    def copy(self, name: str, other: str) -> None:
        """Let ``other`` have the rating of ``name``."""
        self._ratings[other] = self[name]

    def remove(self, name: str) -> None:
        """Forget a player, which starts from scratch if seen again."""
        self._ratings.pop(name, None)

    def to_dict(self) -> dict[str, list[float]]:
        """Return mu and sigma by player, in the order in which they came."""
        return {name: list(rating) for name, rating in self._ratings.items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Sequence[float]]) -> Self:
        """Return the ratings of ``to_dict``."""
        ratings = cls()
        ratings._ratings = {name: Rating(*map(float, pair)) for name, pair in values.items()}
        return ratings
