"""``chances``: places and wins that the seats of a recorded game could expect, over its time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.bots.python import PythonBot
from territorial.config.validation import whole_number
from territorial.engine.seats import EXTERNAL, Seat
from territorial.evaluation.what_if import MOST_GAMES, Position, a_player, name_of, play_on
from territorial.evaluation.workers import Play, Processes
from territorial.replay import Replay
from territorial.replay.replay import DRIVEN, check_known, play_to_tick

MOST_MOMENTS = 1_000


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
    ticks: npt.NDArray[np.int64]
    places: npt.NDArray[np.float64]
    wins: npt.NDArray[np.float64]

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
    ended = play_on(replay, found, games, play, is_shown=is_shown).places.values()
    return Chances(
        agents=name_of(agents),
        games=len(next(iter(ended))),
        ticks=np.array(ticks, np.int64),
        places=np.array([places.mean(axis=0) for places in ended]),
        wins=np.array([(places == 1).mean(axis=0) for places in ended]),
    )
