"""A second game that is put where the first one is: what others would do there, without touching it."""

from __future__ import annotations

from collections.abc import Sequence

from territorial.engine.seats import Seat
from territorial.engine.vec_game import VecGame
from territorial.game.state import SEATING, State


class Mirror:
    """Shows the position of a game with other players on its seats, who have not played before.

    Args:
        game: a game of the same rules and seed, which has begun.
        seats: who sits there, as in ``VecGame``; bots decide at once.
        is_observed: whether what agents observe is there, too.

    """

    def __init__(self, game: VecGame, seats: Sequence[Seat], *, is_observed: bool = False) -> None:
        self._game = VecGame(game.config, 1, seats=seats, autoreset="disabled", observe=is_observed)
        self._game.reset(seeds=[int(game.state.seed[0])])
        self._begun = self._game.save(0)
        self._sitting = State(*self._begun.blocks)
        self._sitting.seating[SEATING["wake"]] = 0

    def of(self, game: VecGame) -> VecGame:
        """Return a game in the position of game 0 of ``game``; the next call puts the same one elsewhere."""
        position = State(*game.save(0).blocks)
        blocks = position._replace(seating=self._sitting.seating, memory=self._sitting.memory)
        self._game.restore(0, self._begun._replace(blocks=blocks))
        return self._game
