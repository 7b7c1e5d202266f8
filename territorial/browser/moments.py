"""``Moments``: what the page of a watched game can ask about a seat at a decision."""

import threading
from collections.abc import Callable, Mapping
from typing import Any

from territorial.browser.panels import advice_of, agent_view
from territorial.browser.situation import is_ally
from territorial.engine.seats import Seat
from territorial.engine.vec_game import VecGame
from territorial.evaluation.players import in_games
from territorial.evaluation.schedule import CHAMPION
from territorial.observation.action_encoding import NO_TARGET
from territorial.replay import Replay
from territorial.replay.replay import DRIVEN, player_of

ADVICE, AGENT_VIEW = "advice", "agent_view"


class Moments:
    """Looks at the seats of a game at its decisions, one request after the other.

    Args:
        replay: returns the game as far as it has been played. It is called under ``lock``, which whoever
            plays the game on holds meanwhile.
        players: by recorded names, the players that the library does not have.

    """

    def __init__(self, replay: Callable[[], Replay], players: Mapping[str, Seat] | None = None) -> None:
        self.lock = threading.Lock()
        self.replay, self.players = replay, players or {}

    def look(self, tick: int, seat: int, panel: str) -> dict[str, Any] | None:
        """Return what a panel, ADVICE or AGENT_VIEW, shows of ``seat`` at ``tick``, as values that JSON has.

        ADVICE has the ``name`` of the seat's player, or of the champion where it is not at hand, the
        ``options`` that it has, the likeliest first, and the ``forecast`` of the likeliest attack; None if
        there is none. None instead of all if the seat has nothing to decide. ValueError for a seat or tick
        that the game does not have.
        """
        with self.lock:
            replay = self.replay()
            game = replay.seek(tick)
            if not 1 <= seat <= replay.config.num_players:
                raise ValueError(f"seat is {seat}; the game has the seats 1 to {replay.config.num_players}")
            if game.state.over[0] or not game.state.alive[0, seat]:
                return None
            if panel == AGENT_VIEW:
                view: dict[str, Any] = agent_view(game, seat)(game)
                return view
            return self._advice(game, seat, replay.players_at(tick)[seat - 1], replay.seed)

    def _advice(self, game: VecGame, seat: int, name: str, seed: int) -> dict[str, Any]:
        player = player_of(name, self.players)
        if player is None or player in DRIVEN:
            name, player = CHAMPION, CHAMPION
        options = advice_of(in_games(player), game, seat, seed)(game)
        enemies = (one for one in options if one.owner != NO_TARGET and not is_ally(game, seat)[one.owner])
        launch = next(enemies, None)
        forecast = None
        if launch is not None:
            foreseen = game.forecasts(0, seat, launch.owner, launch.fraction)
            forecast = {"fraction": launch.fraction, **foreseen}
        return {"name": name, "options": [option._asdict() for option in options], "forecast": forecast}
