"""Recorded games, played on many times from some of their ticks.

``what_if``: what would have come of other decisions. ``costliest_launch``: the launch that cost a seat most
places. ``chances``: places and wins that seats could expect, over the time of a game.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from territorial.bots.python import PythonBot
from territorial.config import GameConfig
from territorial.config.validation import check_type, one_of, whole_number
from territorial.constants import FRACTION_UNIT
from territorial.engine.saved_game import SavedGame
from territorial.engine.seats import DRIVEN, EXTERNAL, Seat, name_of
from territorial.engine.vec_game import VecGame
from territorial.evaluation.intervals import Estimate, mean_of, wilson
from territorial.evaluation.places import known_places
from territorial.evaluation.players import named_bot
from territorial.evaluation.progress import ProgressLine
from territorial.evaluation.workers import Play, Processes
from territorial.game.scratch import LAUNCH_FRACTION, LAUNCH_SEAT
from territorial.game.state import SEATING, State, view
from territorial.replay import Replay
from territorial.replay.replay import check_alive, check_known, future_of, play_to_tick
from territorial.typing import Array, Floats, Ints

Choice = tuple[int, int] | Seat | None
"""What a seat does instead: a launch (owner code, 1024ths), None: it holds; or another player goes on."""
RECORDED = "recorded"
"""The name of what was done in the recording."""
MOST_GAMES = 1_000_000
SIDE_BY_SIDE = 32
"""Games of a batch, and of a chunk that a process is given."""
DECISIONS = 50
"""Of a call of the engine."""
MOST_LAUNCHES, FEW_GAMES = 24, 8
"""Launches that are looked at, and the games with and without each."""
MOST_FINALISTS, MANY_GAMES = 3, 48
"""The costliest of them are looked at again: the largest of many noisy differences is too large."""
MOST_MOMENTS = 1_000


@dataclass(frozen=True)
class WhatIf:
    """The endings of games that were played on from one position, after one decision or another.

    Args:
        tick: of the decision.
        agents: the name of the player that went on for seats that were driven from outside.
        places: by alternative, float64 (games, P): the place of every seat, 1 is the winner. Game i has the
            same luck in every alternative.
        endings: by alternative, how many of its games ended differently from one another.

    """

    tick: int
    agents: str
    places: Mapping[str, Floats] = field(repr=False)
    endings: Mapping[str, int]

    @property
    def games(self) -> int:
        """The games of each alternative."""
        return len(self.places[RECORDED])

    def place(self, alternative: str, seat: int) -> Estimate:
        """Return the mean place of a seat, 1..P, with Student's interval of 95 %."""
        places = self._of(alternative, seat)
        return mean_of(places, least=1, most=self._last)

    def chance(self, alternative: str, seat: int) -> Estimate:
        """Return the share of games in which a seat had place 1, with Wilson's interval of 95 %."""
        won = self._of(alternative, seat) == 1
        return wilson(float(won.mean()), len(won))

    def difference(self, alternative: str, seat: int, to: str = RECORDED) -> Estimate:
        """Return by how many places a seat ended further down than in ``to``, by pairs of games."""
        further = self._of(alternative, seat) - self._of(to, seat)
        return mean_of(further, least=1 - self._last, most=self._last - 1)

    @property
    def _last(self) -> int:
        return self.places[RECORDED].shape[1]

    def _of(self, alternative: str, seat: int) -> Floats:
        places = self.places[one_of("alternative", alternative, self.places)]
        return places[:, whole_number("seat", seat, 1, self._last) - 1]

    def text(self, seat: int) -> str:
        """Return a table of what came of the alternatives for a seat."""
        lines = [
            f"P{seat} at tick {self.tick:,}, {self.games:,} games each; {self.agents} plays on for agents",
            f"{'':20}{'place':>22}{'to ' + RECORDED:>24}{'wins':>25}{'endings':>9}",
        ]
        for name in self.places:
            to_recorded = "" if name == RECORDED else _ranged(self.difference(name, seat), "+.2f")
            wins = Estimate(*(100 * one for one in self.chance(name, seat)))
            lines.append(
                f"{name[:19]:20}{_ranged(self.place(name, seat), '.2f'):>22}{to_recorded:>24}"
                f"{_ranged(wins, '.1f') + ' %':>25}{self.endings[name]:>9,}"
            )
        return "\n".join(lines)

    def to_dict(self, seat: int) -> dict[str, Any]:
        """Return what came of the alternatives for a seat as values that JSON has."""
        rows = {
            name: {
                "place": self.place(name, seat),
                "difference": self.difference(name, seat),
                "wins": self.chance(name, seat),
                "endings": self.endings[name],
            }
            for name in self.places
        }
        about = {"tick": self.tick, "seat": seat, "games": self.games, "agents": self.agents}
        return {**about, "alternatives": rows}


def _ranged(estimate: Estimate, digits: str) -> str:
    return f"{estimate.value:{digits}} ({estimate.low:{digits}} to {estimate.high:{digits}})"


def what_if(
    replay: Replay,
    tick: int,
    alternatives: Mapping[str, Mapping[int, Choice]],
    *,
    games: int = 100,
    agents: Seat = "champion",
    players: Mapping[str, Seat] | None = None,
    processes: int | None = None,
) -> WhatIf:
    """Play a recorded game on from a tick, many times, for each of several decisions.

    Everybody decides at ``tick`` as recorded, but for the seats of an alternative. From the next decision
    point on game i has the luck of ending i there (see ``Replay.game``), the same in all alternatives, so
    that their differences are those of pairs. The result does not depend on the number of processes.

    Args:
        replay: the recorded game.
        tick: a decision point before its end.
        alternatives: by names of your own, what seats, 1..P, do instead: None holds; ``(owner, parts)``
            launches so many 1024ths of the balance at an owner code, 0 being neutral land; a player, by name
            or as a custom bot, takes over the seat. "recorded" is always among the alternatives.
        games: games for each of them; 2 to 1000000, default 100.
        agents: the player that goes on for seats that were driven from outside, such as people.
        players: by recorded names, those that the library does not have; default None: there are none.
        processes: 1 to 1024; default None: one per usable core.

    Raises:
        ValueError: for a tick that is no decision point of the game or at which it is over, a seat that is
            dead or does not exist, a launch that is not legal, and a player that is not known.
        DivergedError: where a player launches otherwise than recorded: it is not the one that played.

    Example:
        >>> import territorial
        >>> config = territorial.GameConfig(height=32, width=32, num_players=4, max_ticks=500)
        >>> game = territorial.VecGame(config, num_games=1, seats=["banker", "novice"] * 2)
        >>> replays = []
        >>> with territorial.Recorder(game, lambda k, replay: replays.append(replay)):
        ...     _ = game.reset(seed=0)
        ...     for _ in range(50):
        ...         _ = game.step()
        >>> found = territorial.what_if(replays[0], 100, {"hold": {1: None}}, games=4, processes=1)
        >>> found.places["hold"].shape
        (4, 4)

    """
    games = whole_number("games", games, 2, MOST_GAMES)
    check_type("replay", replay, Replay, "a Replay, such as Replay.load(FILE)")
    check_type("alternatives", alternatives, Mapping, "a dict of decisions by name")
    for name, given in alternatives.items():
        check_type(f"the alternative {name!r}", given, Mapping, "decisions by seat")
    if RECORDED in alternatives:
        raise ValueError(f"an alternative is called {RECORDED!r}; that is what was done in the recording")
    known = {one.name: one for one in (players or {}).values() if isinstance(one, PythonBot)}
    agents = a_player(agents, known)
    choices = {
        name: {seat: _checked_choice(choice, known) for seat, choice in own.items()}
        for name, own in {RECORDED: {}, **alternatives}.items()
    }
    found = positions(replay, tick, choices, agents, players or {})
    places, digests = play_on(replay, found, games, Processes(processes))
    endings = {name: len(set(part.tolist())) for name, part in digests.items()}
    return WhatIf(tick=tick, agents=name_of(agents), places=places, endings=endings)


# ---- positions after the decision --------------------------------------------------------------------------


def _checked_choice(choice: Choice, known: dict[str, PythonBot]) -> Choice:
    if isinstance(choice, tuple) and len(choice) != 2:
        raise ValueError(f"a launch is {choice!r}; it must be an owner code and 1024ths")
    return choice if choice is None or isinstance(choice, tuple) else a_player(choice, known)


class Position(NamedTuple):
    """A game, who sits there, and the tick from which on its endings differ."""

    saved: SavedGame
    seats: Sequence[Seat]
    tick: int


def positions(
    replay: Replay,
    tick: int,
    alternatives: Mapping[str, Mapping[int, Choice]],
    agents: Seat,
    players: Mapping[str, Seat],
) -> dict[str, Position]:
    """Return the positions of a recorded game one decision after ``tick``, for every alternative.

    The first alternative is ``RECORDED``. A bot that is told what to do remembers what it did there.
    """
    game, sitting, repeat = play_to_tick(replay, tick, players)
    if tick >= replay.num_ticks:
        raise ValueError(f"tick is {tick}, when the recording is over; it must be below {replay.num_ticks}")
    start, found = game.save(0), dict[str, Position]()
    for name, choices in alternatives.items():
        launches = {seat: one for seat, one in choices.items() if one is None or isinstance(one, tuple)}
        others = {seat: one for seat, one in choices.items() if not (one is None or isinstance(one, tuple))}
        check_alive(game, (*launches, *others))
        check_known(replay, game, sitting, but=others)
        for seat, launch in launches.items():
            _check_launch(name, game, seat, launch)
        now = [others.get(seat, one) for seat, one in enumerate(sitting, start=1)]
        driven = [seat for seat, one in enumerate(now, start=1) if one in DRIVEN]
        told: dict[int, Seat] = dict.fromkeys((*driven, *launches), repeat)
        repeat.instead = launches
        game.change_seats(0, {**others, **told})
        game.step(hold=True)
        present: list[Seat] = [agents if one in DRIVEN else one or EXTERNAL for one in now]
        game.change_seats(0, {seat: present[seat - 1] for seat in told})
        for seat in launches.keys() - set(driven):
            _remember(game, found[RECORDED].saved, seat)
        found[name] = Position(game.save(0), present, tick + replay.config.decision_every)
        game.restore(0, start)
    return found


def a_player(given: Any, known: dict[str, PythonBot]) -> Seat:
    """Return a player that was given by name or as such; a class that is named again is the same bot.

    ValueError for two bots in Python of one name.
    """
    bot = named_bot(given) if isinstance(given, str) else given
    if not isinstance(bot, PythonBot):
        return bot
    first = known.setdefault(bot.name, bot)
    if first is not bot and not (isinstance(given, str) and type(first) is type(bot)):
        raise ValueError(
            f"two bots are called {bot.name!r}; pass the same object twice, or give one another name"
        )
    return first


def _check_launch(name: str, game: VecGame, seat: int, launch: tuple[int, int] | None) -> None:
    """Raise ValueError unless a seat may make a launch."""
    if launch is None:
        return
    owner, fraction = launch
    owner = whole_number(f"the owner in {name!r}", owner, 0, game.config.num_players)
    whole_number(f"the 1024ths in {name!r}", fraction, 1, FRACTION_UNIT)
    sizes, _, is_legal = game.fronts(0)
    teams = game.state.team[0]
    if owner == seat or not (is_legal[seat, owner] and (sizes[seat, owner] or teams[seat] == teams[owner])):
        legal = np.flatnonzero(is_legal[seat] & ((sizes[seat] > 0) | (teams == teams[seat])))
        raise ValueError(
            f"the launch of {name!r} at owner {owner} is not legal for seat {seat}; legal are "
            f"{', '.join(str(one) for one in legal if one != seat) or 'none'}"
        )


def _remember(game: VecGame, recorded: SavedGame, seat: int) -> None:
    """Let a bot remember what it does after the recorded decision, and decide next when it does there."""
    there = State(*recorded.blocks)
    view(game.blocks, "memory")[0, seat] = there.memory[seat]
    view(game.blocks, "wake")[0, seat] = there.seating[SEATING["wake"], seat]


# ---- endings -----------------------------------------------------------------------------------------------


def play_on(
    replay: Replay, found: Mapping[str, Position], games: int, play: Play, *, is_shown: bool = True
) -> tuple[dict[str, Floats], dict[str, Array]]:
    """Play so many games on from each of the positions ``found``; ``is_shown``: with a line of progress.

    Returns the places of all seats (games, P) and the digests of the games, by name of the position. Where
    Ctrl-C stops it, they are of the games that all positions have; KeyboardInterrupt if there are none.
    """
    parts = [range(first, min(first + SIDE_BY_SIDE, games)) for first in range(0, games, SIDE_BY_SIDE)]
    chunks = [(name, numbers) for numbers in parts for name in found]
    places = {name: np.full((games, replay.config.num_players), np.nan) for name in found}
    digests = {name: np.zeros(games, "S8") for name in found}
    # Its call returns the function that plays a chunk.
    make = partial(partial, _ended, replay.config, replay.seed, found)
    line, done, stopped = ProgressLine(), 0, None
    try:
        for name, numbers, ended, of_games in chain.from_iterable(play(make, chunks)):
            places[name][numbers] = ended
            digests[name][numbers] = of_games
            done += len(numbers)
            if is_shown:
                line.show(f"{done:,} of {games * len(found):,} games")
    except KeyboardInterrupt as error:
        stopped = error
    finally:
        line.close()
    is_whole = np.isfinite(np.concatenate([*places.values()], axis=1)).all(axis=1)
    if stopped is not None and not is_whole.any():
        raise stopped
    return (
        {name: part[is_whole] for name, part in places.items()},
        {name: part[is_whole] for name, part in digests.items()},
    )


def _ended(
    config: GameConfig, seed: int, found: Mapping[str, Position], chunk: tuple[str, range]
) -> Iterable[tuple[str, range, Floats, list[bytes]]]:
    """Play games of a position to their ends, by its name and their numbers; yield places and digests."""
    name, numbers = chunk
    saved, seats, tick = found[name]
    game = VecGame(config, len(numbers), seats=seats, autoreset="disabled", observe=False)
    game.reset(seeds=[seed] * len(numbers))
    for k, number in enumerate(numbers):
        game.restore(k, saved, future_of(seed, tick, number))
    while not game.state.over.all():
        game.step(hold=True, repeat=DECISIONS)
    places = np.array([known_places(game.state, k) for k in range(len(numbers))])
    yield name, numbers, places, [game.digest(k) for k in range(len(numbers))]


# ---- the costliest launch ----------------------------------------------------------------------------------


class CostlyLaunch(NamedTuple):
    """A launch, and the mean places of its seat with and without it."""

    tick: int
    target: int
    """Owner code, 0 is neutral land."""
    fraction: int
    """1024ths of the balance."""
    held: float
    launched: float
    games: int
    endings: int
    """Games that were played with it, and without; and how many of either ended differently, at least."""


def costliest_launch(
    replay: Replay, seat: int, *, players: Mapping[str, Seat] | None = None, seconds: float = 5.0
) -> CostlyLaunch | None:
    """Return the launch by which the last player of ``seat`` lost most places, compared with holding there.

    Every launch is judged by games that are played on from it, see :func:`territorial.what_if`, in this
    process. Where a seat launched more than 24 times, those of the largest shares are judged.

    Args:
        replay: the recorded game, whose players are of the library, or were driven from outside.
        seat: 1..P.
        players: by recorded names, those that the library does not have; default None: there are none.
        seconds: after these no further launch is looked at.

    Returns:
        The launch; None if there is none that cost places beyond doubt, by Student's interval of 95 %.

    Raises:
        ValueError: for a player that is not known.

    """
    since = max((change.tick for change in replay.changes if change.seat == seat), default=0)
    rows = replay.launches_between(since, replay.num_ticks).astype(np.int64)
    rows = rows[rows[:, LAUNCH_SEAT] == seat]
    until, judged = time.monotonic() + seconds, list[tuple[float, int]]()

    def without(i: int, games: int) -> WhatIf:
        return what_if(
            replay, int(rows[i, 0]), {"hold": {seat: None}}, games=games, players=players, processes=1
        )

    for i in np.argsort(-rows[:, LAUNCH_FRACTION], kind="stable")[:MOST_LAUNCHES].tolist():
        judged.append((without(i, FEW_GAMES).difference(RECORDED, seat, to="hold").value, i))
        if time.monotonic() > until:
            break
    found = list[tuple[float, CostlyLaunch]]()
    for _, i in sorted(judged, reverse=True)[:MOST_FINALISTS]:
        again, (tick, _, target, fraction) = without(i, MANY_GAMES), rows[i].tolist()
        cost = again.difference(RECORDED, seat, to="hold")
        if cost.low > 0:
            held, launched = (again.place(name, seat).value for name in ("hold", RECORDED))
            endings = min(again.endings.values())
            launch = CostlyLaunch(tick, target, fraction, held, launched, MANY_GAMES, endings)
            found.append((cost.value, launch))
    return max(found)[1] if found else None


# ---- chances -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Chances:
    """What seats could expect at some moments of a game, if it had been played on from there many times.

    Args:
        agents: the name of the player that went on for seats that were driven from outside.
        games: the games from each moment.
        ticks: int64 (T,): the moments.
        places: float64 (T, P): the mean place of every seat; of a dead one its place.
        wins: float64 (T, P): the share of games in which it had place 1.

    """

    agents: str
    games: int
    ticks: Ints
    places: Floats
    wins: Floats

    def to_dict(self) -> dict[str, Any]:
        """Return them as values that JSON has, places to a hundredth and shares to a thousandth."""
        return {
            "agents": self.agents,
            "games": self.games,
            "ticks": self.ticks.tolist(),
            "places": self.places.round(2).tolist(),
            "wins": self.wins.round(3).tolist(),
        }


def chances(
    replay: Replay,
    *,
    moments: int = 40,
    games: int = 50,
    agents: Seat = "champion",
    players: Mapping[str, Seat] | None = None,
    processes: int | None = None,
) -> Chances:
    """Play a recorded game on from moments of it, many times from each.

    Game i from a moment is ending i of the game there, see ``Replay.game``.

    Args:
        replay: the recorded game.
        moments: decision points, spread evenly over the game, at most as many as it has; default 40.
        games: games from each; 1 to 1000000, default 50.
        agents: the player that goes on for seats that were driven from outside, such as people.
        players: by recorded names, those that the library does not have; default None: there are none.
        processes: 1 to 1024; default None: one per usable core.

    Raises:
        ValueError: for a player that is not known.
        DivergedError: where a player launches otherwise than recorded: it is not the one that played.

    """
    games = whole_number("games", games, 1, MOST_GAMES)
    moments, every = whole_number("moments", moments, 1, MOST_MOMENTS), replay.config.decision_every
    last = max(0, replay.num_ticks - 1) // every
    ticks = np.unique(np.linspace(0, last, moments).round().astype(np.int64)) * every
    return chances_at(
        replay, ticks.tolist(), games, Processes(processes), agents=agents, players=players or {}
    )


def chances_at(
    replay: Replay,
    ticks: Sequence[int],
    games: int,
    play: Play,
    *,
    agents: Seat = "champion",
    players: Mapping[str, Seat],
    is_shown: bool = True,
) -> Chances:
    """Play a recorded game on from the decision points ``ticks``, as ``chances`` does from moments.

    ``play``: where games are played. ``is_shown``: with a line of progress.
    """
    known = {one.name: one for one in players.values() if isinstance(one, PythonBot)}
    agents = a_player(agents, known)
    found = {}
    for tick in ticks:
        game, sitting, _ = play_to_tick(replay, tick, players)
        check_known(replay, game, sitting, but=())
        driven = [seat for seat, one in enumerate(sitting, start=1) if one in DRIVEN]
        game.change_seats(0, dict.fromkeys(driven, agents))
        seats = [agents if one in DRIVEN else one or EXTERNAL for one in sitting]
        found[str(tick)] = Position(game.save(0), seats, tick)
    ended, _ = play_on(replay, found, games, play, is_shown=is_shown)
    return Chances(
        agents=name_of(agents),
        games=len(ended[str(ticks[0])]),
        ticks=np.array(ticks, np.int64),
        places=np.array([places.mean(axis=0) for places in ended.values()]),
        wins=np.array([(places == 1).mean(axis=0) for places in ended.values()]),
    )
