"""Going on from a tick of a recorded game, with its own players and with others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from territorial.bots import PythonBot
from territorial.bots.bot_files import is_library_bot
from territorial.bots.python import View
from territorial.config import GameConfig
from territorial.config.map_mix import MapMix
from territorial.config.validation import whole_number
from territorial.constants import LARGEST_SEED, NEUTRAL, STREAM_FUTURE
from territorial.engine.saved_game import SavedGame
from territorial.engine.seats import AGENT, EXTERNAL, SEAT_NAMES, Seat
from territorial.engine.vec_game import MAX_GAMES, VecGame
from territorial.files.bounded import differences
from territorial.game.formulas import draw
from territorial.game.scratch import LAUNCH_FRACTION, LAUNCH_SEAT, LAUNCH_TARGET, LAUNCH_TICK
from territorial.game.state import MAP_ID, State
from territorial.observation.action_encoding import NO_TARGET
from territorial.replay.file_format import DivergedError, ReplayError
from territorial.replay.playback import ends_early, seated
from territorial.replay.recorded import LEFT_OUT, RecordedGame
from territorial.typing import Bools, Ints

DRIVEN = (AGENT, EXTERNAL)
"""Players that are driven from outside."""
WITHOUT_RULES = ("map_seed", "num_maps", *LEFT_OUT)
"""Fields of configs that say nothing of rules where the map is given."""


class Repeat(PythonBot):
    """Makes the launches of a recording again, on every seat that it has.

    ``instead``: by seat, what it launches in their place, (owner code, 1024ths); None: it holds.
    """

    name, interval = "launches of the recording", 1

    def __init__(self, replay: RecordedGame) -> None:
        self.instead: Mapping[int, tuple[int, int] | None] = {}
        self._owners = replay.config.num_players + 1
        launches = replay.launches.astype(np.int64)
        keys = self._key(launches[:, LAUNCH_TICK], launches[:, LAUNCH_SEAT])
        order = np.argsort(keys, kind="stable")
        self._keys = np.append(keys[order], -1)  # after them all: one that no launch has
        self._targets = np.append(launches[order, LAUNCH_TARGET], NO_TARGET)
        self._fractions = np.append(launches[order, LAUNCH_FRACTION], 1)

    def _key(self, ticks: Ints, seats: Ints) -> Ints:
        return ticks * self._owners + seats

    def decide(self, view: View) -> tuple[npt.ArrayLike, npt.ArrayLike]:
        """Return what the seats launched at this tick."""
        wanted = self._key(view.ticks, view.seats)
        places = np.searchsorted(self._keys[:-1], wanted)
        targets = np.where(self._keys[places] == wanted, self._targets[places], NO_TARGET)
        fractions = self._fractions[places]  # where nothing is launched, any will do
        for seat, launch in self.instead.items():
            targets[view.seats == seat], fractions[view.seats == seat] = launch or (NO_TARGET, 1)
        return targets, fractions


def open_at(
    replay: RecordedGame,
    tick: int,
    num_games: int,
    seats: Mapping[int, Seat],
    players: Mapping[str, Seat],
    future: int | None,
) -> VecGame:
    """Return a batch of games in the position of ``replay`` at ``tick``; see ``Replay.game``."""
    num_games = whole_number("num_games", num_games, 1, MAX_GAMES)
    if future is not None:
        future = whole_number("future", future, 0, LARGEST_SEED + 1 - num_games)
    single, sitting, _ = play_to_tick(replay, tick, players)
    check_alive(single, seats)
    check_known(replay, single, sitting, but=seats)
    present = [EXTERNAL if player is None else player for player in sitting]
    game, saved = VecGame(replay.config, num_games, seats=present, autoreset="disabled"), single.save(0)
    game.reset(seeds=[replay.seed] * num_games)
    for k in range(num_games):
        game.restore(k, saved, None if future is None else future_of(replay.seed, tick, future + k))
        game.change_seats(k, seats)
    return game


def starts(
    moments: Iterable[tuple[RecordedGame, int]], *, players: Mapping[str, Seat] | None = None
) -> tuple[GameConfig, list[SavedGame]]:
    """Return a config and saved games, with which environments begin at ticks of recorded games.

    The config has the rules of the recorded games and the maps of all of them. Make the environment with it,
    and with the saved games as its option ``starts``.

    Args:
        moments: replays of the same rules, each with a decision point of its game; at most 100 maps.
        players: by recorded names, those that the library does not have and that are to remember what they
            did; default None: there are none.

    Raises:
        ValueError: for no moments, for replays of different rules, and for a tick that is no decision point.
        DivergedError: where a player launches otherwise than recorded: it is not the one that played.

    Example:
        >>> import territorial
        >>> config = territorial.GameConfig(height=32, width=32, num_players=4, max_ticks=500)
        >>> game = territorial.VecGame(config, num_games=1, seats=["banker", "novice"] * 2)
        >>> with territorial.Recorder(game) as recorder:
        ...     _ = game.reset(seed=0)
        ...     for _ in range(50):
        ...         _ = game.step()
        ...     replay = recorder.replay()
        >>> config, saved = territorial.replay.starts([(replay, 100), (replay, 200)])
        >>> seats = ["agent", "novice", "banker", "novice"]
        >>> env = territorial.make_vec(2, config=config, seats=seats, starts=saved)
        >>> _, info = env.reset(seed=0)
        >>> info["tick"].ravel().tolist()
        [100, 200]

    """
    chosen = list(moments)
    if not chosen:
        raise ValueError("moments is empty; it must have a replay and a tick")
    first, *others = (replay.config.to_dict() | dict.fromkeys(WITHOUT_RULES) for replay, _ in chosen)
    for i, rules in enumerate(others, start=1):
        for text in differences("config", first, rules):
            raise ValueError(f"moments[{i}] is of other rules than moments[0]: {text}")
    lands = list(dict.fromkeys(replay.land for replay, _ in chosen))
    config, saved = chosen[0][0].config.replace(map=MapMix(lands)), []
    for replay, tick in chosen:
        game, _, _ = play_to_tick(replay, tick, players or {})
        found = game.save(0)._replace(config_digest=config.hexdigest)
        State(*found.blocks).clock[MAP_ID] = lands.index(replay.land)
        saved.append(found)
    return config, saved


def check_alive(game: VecGame, seats: Iterable[int]) -> None:
    """Raise ValueError for a seat whose player is dead, or that there is not."""
    for seat in seats:
        if not game.state.alive[0, whole_number("a seat", seat, 1, game.config.num_players)]:
            died, now = game.state.death_tick[0, seat], game.state.tick[0]
            raise ValueError(f"seat {seat} died at tick {died}; at tick {now} nobody can play it")


def check_known(
    replay: RecordedGame, game: VecGame, sitting: Sequence[Seat | None], but: Collection[int]
) -> None:
    """Raise ValueError for a living seat that nobody can play on, ``but`` some."""
    names = replay.players_at(int(game.state.tick[0]))
    for seat, (name, player) in enumerate(zip(names, sitting, strict=True), start=1):
        if player is None and game.state.alive[0, seat] and seat not in but:
            raise ValueError(
                f"seat {seat} was played by {name!r}, which is no bot of the library: name it by "
                f"players={{{name!r}: ...}}, or let another player go on by seats={{{seat}: ...}}"
            )


def future_of(seed: int, tick: int, number: int) -> int:
    """Return the seed of what is drawn from ``tick`` on in ending ``number``: H(seed, 12, tick, number)."""
    return int(draw(np.array([seed], np.uint64), STREAM_FUTURE, tick, number)[0])


def play_to_tick(
    replay: RecordedGame, tick: int, players: Mapping[str, Seat]
) -> tuple[VecGame, list[Seat | None], Repeat]:
    """Play a recorded game to ``tick`` with its players; return it, who they are (None: not known), and the
    bot that repeated.

    Players that are driven from outside, or not known, repeat their launches on the way, and are "agent" or
    "external" at ``tick``.
    """
    every = replay.config.decision_every
    if whole_number("tick", tick, 0, replay.num_ticks) % every:
        raise ValueError(f"tick is {tick}; it must be a multiple of {every}, at which players decide")
    check_single(replay)
    sitting = [player_of(name, players) for name in replay.seats]
    game = seated(replay, replay.config, [EXTERNAL if one is None else one for one in sitting])
    repeat, changes = Repeat(replay), list(replay.changes)
    game.change_seats(0, {i + 1: repeat for i, one in enumerate(sitting) if one in (None, *DRIVEN)})
    while True:
        now = int(game.state.tick[0])
        while changes and changes[0].tick <= now:
            change = changes.pop(0)
            player = sitting[change.seat - 1] = player_of(change.name, players)
            seat_now = repeat if player in (None, *DRIVEN) else player
            game.change_seats(0, {change.seat: seat_now})
        if now >= tick:
            break
        if game.state.over[0]:
            raise ends_early(game, replay)
        alive = game.state.alive[0, 1:] != 0  # what the dead were told to do means nothing
        game.step(hold=True)
        _compare(replay, game, now, alive)
    left = {i + 1: one or EXTERNAL for i, one in enumerate(sitting) if one in (None, *DRIVEN)}
    game.change_seats(0, left)
    return game, sitting, repeat


def player_of(name: str, players: Mapping[str, Seat]) -> Seat | None:
    """Return the player that a recording calls ``name``; None: it is not known."""
    if name in players:
        return players[name]
    return name if name in SEAT_NAMES or is_library_bot(name) else None


def _compare(replay: RecordedGame, game: VecGame, now: int, alive: Bools) -> None:
    """Raise DivergedError if a seat that was ``alive`` launched otherwise than recorded at tick ``now``."""
    rows, players = replay.launches_between(now, now + 1), replay.config.num_players
    recorded = np.column_stack([np.full(players, NO_TARGET), np.zeros(players, np.int64)])
    recorded[rows[:, LAUNCH_SEAT] - 1] = rows[:, [LAUNCH_TARGET, LAUNCH_FRACTION]]
    launches = game.launches()
    found = np.column_stack([launches.target[0], launches.fraction[0]])
    wrong = np.flatnonzero((found != recorded).any(axis=1) & alive)
    if len(wrong):
        i, name = int(wrong[0]), replay.players_at(now)[int(wrong[0])]
        raise DivergedError(
            f"seat {i + 1}, {name!r}, {_shown(*found[i])} at tick {now}, where the recording "
            f"{_shown(*recorded[i])}: it is not the player that was recorded"
        )


def _shown(target: int, fraction: int) -> str:
    """Return what a seat did, for a message."""
    if target == NO_TARGET:
        return "holds"
    where = "free land" if target == NEUTRAL else f"P{target}"
    return f"launches {fraction} of 1024 at {where}"


def check_single(replay: RecordedGame) -> None:
    """Raise ReplayError if a seat launched more than once at a tick, which no step does."""
    players = replay.config.num_players + 1
    keys = replay.launches[:, LAUNCH_TICK].astype(np.int64) * players + replay.launches[:, LAUNCH_SEAT]
    found, counts = np.unique(keys, return_counts=True)
    if (counts > 1).any():
        tick, seat = divmod(int(found[counts > 1][0]), players)
        raise ReplayError(
            f"seat {seat} launched more than once at tick {tick}; a decision is one launch at most, "
            "so this game, played by tick() or play(), has none"
        )
