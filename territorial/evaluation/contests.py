"""Matches and tournaments: players that are ranked by many games, on all cores, without any trainer."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any

from territorial import bots
from territorial.config import GameConfig
from territorial.engine.compiling import compile_steps
from territorial.engine.seats import LINEUPS
from territorial.engine.vec_game import VecGame
from territorial.evaluation.play import play_games
from territorial.evaluation.players import Entrants, Player, is_acting
from territorial.evaluation.pool import Play, PlayingError, cause, play_of
from territorial.evaluation.progress import ContestProgress
from territorial.evaluation.ranking import Ranking
from territorial.evaluation.record import GameRecord
from territorial.evaluation.results import ContestResults, ResultsError, playing_into
from territorial.evaluation.schedule import Contest, Draw
from territorial.jit import warmup
from territorial.observation.layout import ObsLayout

MAPS = 16
"""Generated maps that a contest is played on, unless its config says otherwise."""
DEFAULT_LINEUP = "mixed-2"


class ContestStoppedError(PlayingError):
    """Something went wrong while games were played; ``ranking`` has those that were finished before."""

    def __init__(self, why: str, ranking: Ranking) -> None:
        super().__init__(why)
        self.ranking = ranking

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.ranking)


def match(
    seats: str | Sequence[Player] = DEFAULT_LINEUP,
    config: GameConfig | None = None,
    games: int = 100,
    *,
    policies: Mapping[str, Player] | None = None,
    code: Mapping[str, str] | None = None,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    processes: int | None = None,
    play: Play | None = None,
    progress: bool = True,
) -> Ranking:
    """Return how players do at the same seats of many games; ``territorial match`` prints it.

    Game k has the seed ``seed`` + k. It comes out the same, bit by bit, wherever it is played and whatever is
    played beside it.

    Args:
        seats: who plays each seat, repeated if they are fewer than the seats. A player is a bot (name,
            ``module:Class`` or object), a name of ``policies``, or a policy that has a ``name``. Or the name
            of a line-up, of which players are taken evenly; default "mixed-2". In games of teams, up to one
            player a team: they get whole teams, repeated if they are fewer. A player for every seat, or a
            line-up, is for seats by their numbers, whatever the teams are; teams may be mixed then.
        config: rules, size and maps; default None: a ``GameConfig`` with 16 maps.
        games: how many games there are; 1 to 10,000,000, default 100.
        policies: players by names of your choice, such as networks; see :func:`evaluate`. Default None: none.
        code: digests of what players are made of, by names of your choice. A file of games with others is
            refused. Default None: those of bots in Python and of policies alone.
        seed: seed of the first game; default 0.
        out: a file that keeps every game as a line of JSON. If it is there, only the games that it lacks are
            played; it must be of the same players, config and seed. Default None: no file.
        processes: number of processes that play; 1 plays in this process; 1 to 1024, default None: one per
            usable core.
        play: what says where games are played, such as ``rllib_adapters.league.evaluation.OnRay()`` on a
            cluster; default None: ``processes`` of this machine.
        progress: True: a line on stderr says how many games have been played; default True.

    Ctrl-C (KeyboardInterrupt) ends it early: what has been played is kept and returned, with ``is_complete``
    False.

    Raises:
        ValueError: for players, games or a config that cannot be; as ResultsError, for a file of something
            else.
        ContestStoppedError: if a player fails while it plays; its ``ranking`` has the games before that.

    Example:
        >>> import territorial
        >>> config = territorial.GameConfig(height=32, width=32, num_players=4, max_ticks=300)
        >>> ranking = territorial.match(["banker", "turtle"], config, 2, processes=1, progress=False)
        >>> [line.seats for line in ranking.standings]
        [4, 4]

    """
    config = _config(config)
    draw, seated = _seated(seats, config)
    entrants = Entrants(seated, policies)
    course = _Course(out, play_of(play, processes), progress)
    return course.ranking(_contest(entrants, config, games, seed, draw, code), entrants)


def tournament(
    players: Sequence[Player] = (*bots.NAMES, *bots.LEARNED),
    config: GameConfig | None = None,
    games: int = 2000,
    *,
    policies: Mapping[str, Player] | None = None,
    code: Mapping[str, str] | None = None,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    processes: int | None = None,
    play: Play | None = None,
    progress: bool = True,
) -> Ranking:
    """Return how players do if seats are drawn for every game; ``territorial tournament`` prints it.

    Game k has the seed ``seed`` + k, which also draws who sits where: every player has as many seats as all
    others, or one more. In games of teams it is whole teams that are dealt.

    Args:
        players: who takes part, as the seats of :func:`match`; default: all bots of the library.
        config: rules, size and maps; default None: a ``GameConfig`` with 16 maps.
        games: how many games there are; 1 to 10,000,000, default 2000.
        policies: players by names of your choice, such as networks; see :func:`evaluate`. Default None: none.
        code: digests of what players are made of, by names of your choice. A file of games with others is
            refused. Default None: those of bots in Python and of policies alone.
        seed: seed of the first game; default 0.
        out: a file that keeps every game as a line of JSON. If it is there, only the games that it lacks are
            played; it must be of the same players, config and seed. Default None: no file.
        processes: number of processes that play; 1 plays in this process; 1 to 1024, default None: one per
            usable core.
        play: what says where games are played, such as ``rllib_adapters.league.evaluation.OnRay()`` on a
            cluster; default None: ``processes`` of this machine.
        progress: True: a line on stderr says how many games have been played; default True.

    Ctrl-C (KeyboardInterrupt) ends it early: what has been played is kept and returned, with ``is_complete``
    False.

    Raises:
        ValueError: for players, games or a config that cannot be; as ResultsError, for a file of something
            else.
        ContestStoppedError: if a player fails while it plays; its ``ranking`` has the games before that.

    Example:
        >>> import territorial
        >>> config = territorial.GameConfig(height=32, width=32, num_players=4, max_ticks=300)
        >>> names = ["banker", "turtle", "novice"]
        >>> ranking = territorial.tournament(names, config, 3, processes=1, progress=False)
        >>> sum(line.seats for line in ranking.standings)
        12

    """
    config = _config(config)
    entrants = Entrants(_listed("players", players), policies)
    course = _Course(out, play_of(play, processes), progress)
    draw: Draw = "balanced_teams" if config.has_allies else "balanced"
    return course.ranking(_contest(entrants, config, games, seed, draw, code), entrants)


# ---- who plays what --------------------------------------------------------------------------------


def _config(given: GameConfig | None) -> GameConfig:
    config = GameConfig(num_maps=MAPS) if given is None else given
    if not isinstance(config, GameConfig):
        raise TypeError(f"config is {config!r}; it must be a territorial.GameConfig")
    return config


def _seated(seats: str | Sequence[Player], config: GameConfig) -> tuple[Draw, list[Player]]:
    """Return a player for every seat or for every team; more than there are seats if more were named."""
    num_players = config.num_players
    if isinstance(seats, str) and seats in LINEUPS:
        lineup = LINEUPS[seats].seats
        if len(lineup) > num_players:
            return "fixed", [lineup[len(lineup) * i // num_players] for i in range(num_players)]
        return "fixed", list(islice(cycle(lineup), num_players))
    players = _listed("seats", seats, f"the name of a line-up ({', '.join(LINEUPS)}) or ")
    if len(players) >= num_players:
        return "fixed", players
    if not config.has_allies:
        return "fixed", list(islice(cycle(players), num_players))
    if len(players) > config.num_teams:
        raise ValueError(
            f"seats has {len(players)} players; it must have at most one for each of the {config.num_teams} "
            f"teams, which gets all of its seats, or one for each of the {num_players} seats"
        )
    return "fixed_teams", list(islice(cycle(players), config.num_teams))


def _listed(what: str, players: Any, other: str = "") -> list[Player]:
    if isinstance(players, str) or not isinstance(players, Iterable):
        raise TypeError(f"{what} is {players!r}; it must be {other}a list of players")
    if not (listed := list(players)):
        raise ValueError(f"{what} has no players; it must have at least one")
    return listed


def _contest(
    entrants: Entrants,
    config: GameConfig,
    games: int,
    seed: int,
    draw: Draw,
    code: Mapping[str, str] | None,
) -> Contest:
    """Return the contest; the errors of a policy that cannot play it."""
    digests = entrants.code | dict(code or {})
    contest = Contest(config=config, players=entrants.names, games=games, seed=seed, draw=draw, code=digests)
    policies = [player for player in entrants.players.values() if is_acting(player)]
    frames = max((policy.frames for policy in policies), default=0)
    layout = ObsLayout.of(config, frames)
    for policy in policies:
        policy.start(config, layout, seed)
        policy.stop()
    return contest


# ---- playing it --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Course:
    """Where games are played, and the file that keeps them."""

    out: str | os.PathLike[str] | None
    play: Play
    progress: bool

    def ranking(self, contest: Contest, entrants: Entrants) -> Ranking:
        """Play what is missing of a contest, and return all of it."""
        with playing_into(self.out):
            results = ContestResults(contest, self.out)
            if len(results.records) < contest.games:
                _prepare(contest.config, self.progress)
                self._play(contest, entrants, results)
            return Ranking(contest, results.records)

    def _play(self, contest: Contest, entrants: Entrants, results: ContestResults) -> None:
        """Play the games that are missing; those that were played are kept, whatever happens."""
        fixtures = contest.fixtures(without=results.numbers)
        records = play_games(contest.config, entrants.players, fixtures, self.play)
        try:
            self._keep(contest, results, records)
        except KeyboardInterrupt:
            return
        except Exception as error:  # of a player, of where it plays, or of the disk
            is_known = isinstance(error, (PlayingError, ResultsError))
            why = str(error) if is_known else cause(error)
            raise ContestStoppedError(why, Ranking(contest, results.records)) from error

    def _keep(self, contest: Contest, results: ContestResults, records: Iterator[GameRecord]) -> None:
        if not self.progress:
            for _ in results.add(records):
                pass
            return
        told = ContestProgress(contest.games, len(results.records), sys.stderr)
        try:
            for record in results.add(records):
                told.show(record)
        finally:
            told.close()


def _prepare(config: GameConfig, progress: bool) -> None:
    """Compile here and now what all processes then find compiled, and see that the game can be set up."""
    VecGame(config, 1, observe=False).close()  # such as a map that has no room for all spawns
    with warmup.progress("territorial: compiling the engine") if progress else nullcontext():
        compile_steps(config)
