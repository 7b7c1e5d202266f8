"""``BatchMaps``: the maps of a batch, and the map of each game."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.config import GameConfig
from territorial.config.land_mask import LandMask
from territorial.config.map_mix import MapMix, checked_map
from territorial.files.arrays import writable
from territorial.game.spawning import MapBank, allocate_bank, write_map
from territorial.maps.bank import Ground, check_own_maps, ground_of, make_grounds


class BatchMaps:
    """The maps of ``num_games`` games.

    With a bank of maps, the engine draws one for every game by its seed. Where every game has a map of its
    own, the engine takes it from the row of ``bank`` that has the game's number, and :meth:`provide` has to
    put it there before the game begins. These maps are functions of the games' seeds; none has to be saved.

    ``assigned``: for each game the number of the map in the bank, int64 (E,), that it is always played on.
    """

    def __init__(
        self, config: GameConfig, num_games: int, assigned: npt.NDArray[np.int64] | None = None
    ) -> None:
        self._config = config
        self.has_own_maps = config.num_maps == 0
        self._grounds: list[Ground] = []
        # Maps of games' own, by the seeds of the games.
        self._own: dict[int, Ground] = {}
        # The seed that the map in each row of the bank belongs to.
        self._provided: list[int | None] = [None] * num_games
        if self.has_own_maps:
            check_own_maps(config)
            self.bank = allocate_bank(config.height, config.width, num_games, np.zeros(0, np.int64))
            return
        self._grounds, picks = make_grounds(config)
        self.bank = allocate_bank(config.height, config.width, len(self._grounds), picks, assigned)
        for row, ground in enumerate(self._grounds):
            write_map(self.bank, row, ground.land)

    def provide(self, seeds: Sequence[int], current: Sequence[int]) -> None:
        """Make sure that the next game of every number is played on the map of its seed, ``seeds[k]``.

        Nothing is to do but where games have maps of their own; those of the games that are being played,
        with the seeds ``current``, are kept to be looked at.
        """
        if not self.has_own_maps or seeds == self._provided:
            return
        in_use = {*seeds, *current}
        self._own = {seed: ground for seed, ground in self._own.items() if seed in in_use}
        for k, seed in enumerate(seeds):
            if self._provided[k] != seed:
                self._provided[k] = None  # if this is interrupted, the row holds no map that can be relied on
                write_map(self.bank, k, self._own_ground(seed).land)
                self._provided[k] = seed

    def ground(self, map_id: int, seed: int) -> Ground:
        """Return the map of a game that is being played: ``map_id`` is in its state, ``seed`` is its own."""
        return self._own_ground(seed) if self.has_own_maps else self._grounds[map_id]

    def maps(self, seeds: Sequence[int]) -> tuple[LandMask, ...]:
        """Return the bank; or the maps of the games being played, which have these ``seeds``."""
        grounds = [self._own_ground(seed) for seed in seeds] if self.has_own_maps else self._grounds
        return tuple(ground.land for ground in grounds)

    @property
    def arrays(self) -> list[npt.NDArray[Any]]:
        """All memory that is held."""
        return [*self.bank, *(ground.terrain for ground in (*self._grounds, *self._own.values()))]

    def _own_ground(self, seed: int) -> Ground:
        if seed not in self._own:
            self._own[seed] = ground_of(self._config, seed)
        return self._own[seed]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.bank = MapBank(*map(writable, self.bank))
        for ground in (*self._grounds, *self._own.values()):
            ground.terrain.flags.writeable = False


def assigned_maps(
    config: GameConfig, maps: Sequence[str | LandMask] | None, num_games: int
) -> tuple[GameConfig, npt.NDArray[np.int64] | None]:
    """Return ``config`` with all of ``maps``, and which of them each game has, int64 (E,), if any."""
    if maps is None:
        return config, None
    if isinstance(maps, (str, LandMask)) or len(maps) != num_games:
        found = repr(maps) if isinstance(maps, (str, LandMask)) else f"{len(maps)} maps"
        raise ValueError(f"maps is {found}; it must be one map for each of the {num_games} games")
    if config.num_maps != 1:
        raise ValueError(f"num_maps is {config.num_maps}; it must be 1 when maps has a map for every game")
    listed = [_one_map(one) for one in maps]
    different = list(dict.fromkeys(listed))
    numbers = np.array([different.index(one) for one in listed], np.int64)
    return config.replace(map=MapMix(different)), numbers


def _one_map(given: object) -> str | LandMask:
    one = checked_map(given)
    if isinstance(one, MapMix):
        raise ValueError(f"maps has the mix {str(one)!r}; it must have one map for each game")
    return one
