"""Playing recorded games again, and going back and forth in them."""

from __future__ import annotations

from collections.abc import Sequence

from territorial.config import GameConfig
from territorial.config.validation import whole_number
from territorial.engine.saved_game import SavedGame
from territorial.engine.seats import EXTERNAL, Seat
from territorial.engine.vec_game import VecGame
from territorial.replay.file_format import Checkpoint, DivergedError, ReplayError
from territorial.replay.recorded import RecordedGame

SNAPSHOT_EVERY = 256
"""Ticks between two positions that a Player keeps, at least."""
SNAPSHOT_BYTES = 2**28
"""Memory that the positions of one Player may take."""


def begin(replay: RecordedGame) -> VecGame:
    """Return the game of a replay at tick 0: a batch of one, every seat driven by the caller."""
    return seated(replay, replay.config, [EXTERNAL] * replay.config.num_players)


def seated(replay: RecordedGame, config: GameConfig, seats: Sequence[Seat]) -> VecGame:
    """Return the game of a replay at tick 0 under ``config``, with ``seats`` instead of its own."""
    try:
        game = VecGame(config, 1, seats=seats, autoreset="disabled", observe=False)
    except ValueError as error:  # such as a map that has no room for all spawns
        raise ReplayError(f"the game of the replay cannot be set up: {error}") from None
    game.set_seats(0, seats, troops_of=replay.seats)
    if replay.starting_troops is not None:
        game.state.next_troops[0, 1:] = replay.starting_troops
    game.reset(seeds=[replay.seed])
    return game


def play_to(game: VecGame, replay: RecordedGame, tick: int) -> None:
    """Play the game of a replay on to ``tick``; DivergedError if it is over before."""
    now = int(game.state.tick[0])
    if now == tick:
        return
    if not game.state.over[0]:
        game.play(0, replay.launches_between(now, tick), tick)
    if game.state.tick[0] != tick:
        raise ends_early(game, replay)


def ends_early(game: VecGame, replay: RecordedGame) -> DivergedError:
    """Return the error that the game of a replay is over before its time."""
    return DivergedError(
        f"the game ends at tick {game.state.tick[0]}; the recorded game lasted to tick {replay.num_ticks}"
    )


def check_digest(game: VecGame, checkpoint: Checkpoint) -> None:
    """Raise DivergedError unless a game is where it was at a checkpoint."""
    found = game.digest(0)
    if found != checkpoint.digest:
        raise DivergedError(
            f"the game differs at tick {checkpoint.tick}: its digest is "
            f"{found.hex()}, the recorded digest is {checkpoint.digest.hex()}"
        )


def check_end(game: VecGame, replay: RecordedGame) -> None:
    """Raise DivergedError unless the game is where the recorded one ended, or on its way there."""
    tick, is_over = int(game.state.tick[0]), bool(game.state.over[0])
    if tick == replay.num_ticks:
        check_digest(game, replay.checkpoints[-1])
    if is_over != replay.is_over:
        found, recorded = ("over" if over else "not over" for over in (is_over, replay.is_over))
        raise DivergedError(f"the game is {found} at tick {tick}; the recorded game was {recorded}")


class ReplayPlayer:
    """Takes the game of a replay to any tick, back and forth.

    Positions are kept on the way, every SNAPSHOT_EVERY ticks or as many as fit into ``snapshot_bytes``,
    so that no later call plays more ticks than lie between two of them.
    """

    def __init__(self, replay: RecordedGame, snapshot_bytes: int = SNAPSHOT_BYTES) -> None:
        self._replay = replay
        self.game = begin(replay)
        """The game as it stands; the same object all the time, to be looked at and not to be changed."""
        start = self.game.save(0)
        room = max(1, snapshot_bytes // sum(block.nbytes for block in start.blocks))
        self._spacing = max(SNAPSHOT_EVERY, -(-replay.num_ticks // room))
        self._kept: dict[int, SavedGame] = {0: start}

    @property
    def tick(self) -> int:
        """Where the game stands."""
        return int(self.game.state.tick[0])

    def seek(self, tick: int) -> VecGame:
        """Return the game at ``tick``, from 0 to the replay's ``num_ticks``."""
        tick = whole_number("tick", tick, 0, self._replay.num_ticks)
        nearest = max(kept for kept in self._kept if kept <= tick)
        if not nearest <= self.tick <= tick:
            self.game.restore(0, self._kept[nearest])
        while self.tick < tick:
            corner = (self.tick // self._spacing + 1) * self._spacing
            play_to(self.game, self._replay, min(corner, tick))
            if self.tick == corner and corner not in self._kept:
                self._kept[corner] = self.game.save(0)
        return self.game
