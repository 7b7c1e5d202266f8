"""``what_if``: what would have come of other decisions at a tick of a recorded game."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.bots.python import PythonBot
from territorial.config import GameConfig
from territorial.config.validation import one_of, whole_number
from territorial.constants import FRACTION_UNIT
from territorial.engine.saved_game import SavedGame
from territorial.engine.seats import EXTERNAL, Seat
from territorial.engine.vec_game import VecGame
from territorial.evaluation.intervals import Estimate, wilson
from territorial.evaluation.places import known_places
from territorial.evaluation.players import named_bot
from territorial.evaluation.progress import ProgressLine
from territorial.evaluation.intervals import mean_of
from territorial.evaluation.workers import Play, Processes
from territorial.game.state import SEATING, State, view
from territorial.replay import Replay
from territorial.replay.replay import DRIVEN, check_alive, check_known, future_of, play_to_tick

Choice = tuple[int, int] | Seat | None
"""What a seat does instead: a launch (owner code, 1024ths), None: it holds; or another player goes on."""
RECORDED = "recorded"
"""The name of what was done in the recording."""
MOST_GAMES = 1_000_000
SIDE_BY_SIDE = 32
"""Games of a batch, and of a chunk that a process is given."""
DECISIONS = 50
"""Of a call of the engine."""


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
    places: Mapping[str, npt.NDArray[np.float64]] = field(repr=False)
    endings: Mapping[str, int]

    @property
    def games(self) -> int:
        """The games of each alternative."""
        return len(self.places[RECORDED])

    def place(self, alternative: str, seat: int) -> Estimate:
        """Return the mean place of a seat, 1..P, with Student's interval of 95 %."""
        return mean_of(self._of(alternative, seat))

    def chance(self, alternative: str, seat: int) -> Estimate:
        """Return the share of games in which a seat had place 1, with Wilson's interval of 95 %."""
        won = self._of(alternative, seat) == 1
        return wilson(float(won.mean()), len(won))

    def difference(self, alternative: str, seat: int, to: str = RECORDED) -> Estimate:
        """Return by how many places a seat ended further down than in ``to``, by pairs of games."""
        return mean_of(self._of(alternative, seat) - self._of(to, seat))

    def _of(self, alternative: str, seat: int) -> npt.NDArray[np.float64]:
        places = self.places[one_of("alternative", alternative, self.places)]
        return places[:, whole_number("seat", seat, 1, places.shape[1]) - 1]

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
    if not isinstance(replay, Replay):
        raise TypeError(f"replay is {replay!r}; it must be a Replay, such as Replay.load(FILE)")
    for name, given in alternatives.items():
        if not isinstance(given, Mapping):
            raise TypeError(f"the alternative {name!r} is {given!r}; it must be decisions by seat")
    if RECORDED in alternatives:
        raise ValueError(f"an alternative is called {RECORDED!r}; that is what was done in the recording")
    known = {one.name: one for one in (players or {}).values() if isinstance(one, PythonBot)}
    agents = a_player(agents, known)
    choices = {name: _decisions(own, known) for name, own in {RECORDED: {}, **alternatives}.items()}
    found = positions(replay, tick, choices, agents, players or {})
    ended = play_on(replay, found, games, Processes(processes))
    endings = {name: len(set(part.tolist())) for name, part in ended.digests.items()}
    return WhatIf(tick=tick, agents=name_of(agents), places=ended.places, endings=endings)


# ---- positions after the decision ------------------------------------------------------------------------


class _Decisions(NamedTuple):
    """What seats do instead, by seat: they launch, or other players go on."""

    launches: dict[int, tuple[int, int] | None]
    players: dict[int, Seat]


def _decisions(choices: Mapping[int, Choice], known: dict[str, PythonBot]) -> _Decisions:
    found = _Decisions({}, {})
    for seat, choice in choices.items():
        if isinstance(choice, tuple) and len(choice) != 2:
            raise ValueError(f"a launch is {choice!r}; it must be an owner code and 1024ths")
        if choice is None or isinstance(choice, tuple):
            found.launches[seat] = choice
        else:
            found.players[seat] = a_player(choice, known)
    return found


class Position(NamedTuple):
    """A game, who sits there, and the tick from which on its endings differ."""

    saved: SavedGame
    seats: Sequence[Seat]
    tick: int


def positions(
    replay: Replay,
    tick: int,
    alternatives: Mapping[str, _Decisions],
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
    for name, (launches, others) in alternatives.items():
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


def name_of(player: Seat) -> str:
    """Return what a player is called."""
    return player if isinstance(player, str) else player.name


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


# ---- endings ---------------------------------------------------------------------------------------------


class _Chunk(NamedTuple):
    """Games ``first`` to ``first + size - 1`` of an alternative."""

    name: str
    first: int
    size: int


class _Ended(NamedTuple):
    """How the games of a chunk ended."""

    chunk: _Chunk
    places: npt.NDArray[np.float64]
    digests: list[bytes]


@dataclass(frozen=True)
class _PlayOuts:
    """Plays chunks to their ends; it is sent to processes."""

    config: GameConfig
    seed: int
    found: Mapping[str, Position]

    def __call__(self) -> Callable[[_Chunk], Iterator[_Ended]]:
        """Return the function that plays a chunk."""
        return self._play

    def _play(self, chunk: _Chunk) -> Iterator[_Ended]:
        saved, seats, tick = self.found[chunk.name]
        game = VecGame(self.config, chunk.size, seats=seats, autoreset="disabled", observe=False)
        game.reset(seeds=[self.seed] * chunk.size)
        for k in range(chunk.size):
            game.restore(k, saved, future_of(self.seed, tick, chunk.first + k))
        while not game.state.over.all():
            game.step(hold=True, repeat=DECISIONS)
        places = np.array([known_places(game.state, k) for k in range(chunk.size)])
        yield _Ended(chunk, places, [game.digest(k) for k in range(chunk.size)])


class _Endings(NamedTuple):
    """Endings of the games that all positions have, by name of the position."""

    places: dict[str, npt.NDArray[np.float64]]
    digests: dict[str, npt.NDArray[np.bytes_]]


def play_on(
    replay: Replay, found: Mapping[str, Position], games: int, play: Play, *, is_shown: bool = True
) -> _Endings:
    """Play so many games on from each of the positions ``found``; ``is_shown``: with a line of progress.

    Where Ctrl-C stops it, they are the games that all positions have; KeyboardInterrupt if there are none.
    """
    firsts = range(0, games, SIDE_BY_SIDE)
    chunks = [_Chunk(name, i, min(SIDE_BY_SIDE, games - i)) for i in firsts for name in found]
    places = {name: np.full((games, replay.config.num_players), np.nan) for name in found}
    digests = {name: np.zeros(games, "S8") for name in found}
    make, line, done, stopped = _PlayOuts(replay.config, replay.seed, found), ProgressLine(), 0, None
    try:
        for (name, first, size), ended, of_games in chain.from_iterable(play(make, chunks)):
            places[name][first : first + size] = ended
            digests[name][first : first + size] = of_games
            done += size
            if is_shown:
                line.show(f"{done:,} of {games * len(found):,} games")
    except KeyboardInterrupt as error:
        stopped = error
    finally:
        line.close()
    is_whole = np.isfinite(np.concatenate([*places.values()], axis=1)).all(axis=1)
    if stopped is not None and not is_whole.any():
        raise stopped
    whole = [{name: part[is_whole] for name, part in one.items()} for one in (places, digests)]
    return _Endings(*whole)
