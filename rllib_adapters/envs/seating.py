"""Engine names of seats, with the bots and networks that play them."""

from __future__ import annotations

from contextlib import suppress
from weakref import WeakValueDictionary

from rllib_adapters.envs.env_config import EnvConfig
from territorial.bots import Network, PythonBot
from territorial.engine.seats import AGENT, EXTERNAL, Seat
from territorial.league import Player, SnapshotStore, UnknownSnapshotError
from territorial.league.seating import LineUp, LineUps

_open: WeakValueDictionary[tuple[str, str, int], Network] = WeakValueDictionary()
"""The networks of this process, by file, content and interval: all its environments share them."""


class BotRegistry:
    """The seats of one environment, with of each name the first bot in Python that came.

    Tables that are sent to a runner bring copies of them, which are other objects to the engine. Snapshots
    that were exported are networks of the engine, which decide whenever agents do. Each is opened when it
    first gets a seat. Where the episode goes on while a frozen seat lives, there are none: the engine knows
    of agents alone whether they live.
    """

    def __init__(self, options: EnvConfig) -> None:
        self._bots: dict[str, PythonBot] = {}
        goes_on = options.end_when == "game"
        # The engine's episode is over when no agent lives; frozen seats are agents if it goes on for them.
        self._of_frozen = AGENT if goes_on else EXTERNAL
        self._store, self._interval = None if goes_on else options.store, options.interval
        self._networks: dict[str, Network | None] = {}
        self._table = options.table

    def seats(self, line_up: LineUp, league: LineUps) -> list[Seat]:
        """Return what the engine calls the seats of the players that ``league`` has drawn.

        Learners that are not learned from have the seats of frozen ones, so that no episode waits for them.
        Other snapshots than those of ``league`` are released; the engine keeps those that play until their
        games end.
        """
        if league is not self._table:
            self._table = league
            kept = self._networks.keys() & league.names("snapshot")
            self._networks = {name: self._networks[name] for name in kept}
        return [self._seat(player, learns) for player, learns in zip(*line_up, strict=True)]

    def _seat(self, player: Player, learns: bool) -> Seat:
        if player.kind == "snapshot":
            return self.network(player.name) or self._of_frozen
        if player.kind == "trainable":
            return AGENT if learns else self._of_frozen
        bot = player.bot
        return self._bots.setdefault(bot.name, bot) if isinstance(bot, PythonBot) else bot or player.name

    def network(self, name: str) -> Network | None:
        """Return the network of a snapshot; None if it has none, or if there is no such snapshot yet.

        The pool plays it then, and says what is wrong. NetworkError for a file that is damaged.
        """
        if self._store is not None and name not in self._networks:
            with suppress(UnknownSnapshotError, FileNotFoundError):
                self._networks[name] = _opened(self._store, name, self._interval)
        return self._networks.get(name)


def _opened(store: SnapshotStore, name: str, interval: int) -> Network | None:
    found = store.network(name)
    if found is None:
        return None
    key = str(found.path), found.sha256, interval
    network = _open.get(key)
    if network is None:
        network = _open[key] = Network(found.path, interval=interval, is_mapped=True)
    return network
