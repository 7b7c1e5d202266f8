"""Saved games: copies of single games of a batch, taken and put back."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.config import GameConfig
from territorial.config.validation import checked_list, shown, true_or_false, whole_number
from territorial.constants import FIRST_BOT_CODE
from territorial.engine.players import NEXT_ONES, BatchPlayers
from territorial.engine.seats import FIRST_CUSTOM_CODE, SEAT_NAMES, CompiledBot
from territorial.engine.step import BatchArrays
from territorial.game.state import PAIRS, SEATING, State, check_blocks, view


class SavedGame(NamedTuple):
    """A copy of one game of a batch; any batch of the same config can resume it.

    Args:
        config_digest: ``GameConfig.hexdigest`` of the batch.
        blocks: copies of the arrays of the state, one per field of ``territorial.game.state.State``.
        older_frames: XORs of the stack of boards, (F - 1, B, rows, S); empty without a stack.
        guests: names of the bots in Python of the batch, in the order of their seat codes; default ().
        num_cycles: environment steps that the game had taken; default 0.
        stands: True: its episode was over, so that it takes no step; default False.
        custom: the other custom bots of the batch, in the order of their seat codes; default ().

    """

    config_digest: str
    blocks: tuple[npt.NDArray[Any], ...]
    older_frames: npt.NDArray[np.uint64]
    guests: tuple[str, ...] = ()
    num_cycles: int = 0
    stands: bool = False
    custom: tuple[CompiledBot, ...] = ()


def check_saved(
    saved: Any, config: GameConfig, config_digest: str, state: State, guests: tuple[str, ...]
) -> bool:
    """Return whether an agent plays ``saved``, a game that the batch of ``state`` can resume.

    TypeError or ValueError if it cannot. ``config`` and ``guests``, the names of the bots in Python: those of
    that batch.
    """
    if not isinstance(saved, SavedGame):
        raise TypeError(f"saved is a {type(saved).__name__}; it must come from VecGame.save")
    if saved.config_digest != config_digest:
        raise ValueError(
            f"the saved game has the config {saved.config_digest}; this batch plays "
            f"{config_digest}. Make a VecGame with the config of the saved game"
        )
    whole_number("num_cycles of the saved game", saved.num_cycles, 0)
    true_or_false("stands of the saved game", saved.stands)
    for i, bot in enumerate(checked_list("custom of the saved game", saved.custom)):
        if not isinstance(bot, CompiledBot):
            raise TypeError(f"custom[{i}] of the saved game is {shown(bot)}; it must be a style or a network")
    check_blocks(state, saved.blocks)
    if config.teams is not None:
        _check_pools(saved, teams_of_saved(saved, config))
    older = saved.older_frames
    if not isinstance(older, np.ndarray) or older.dtype != np.uint64:
        found = older.dtype if isinstance(older, np.ndarray) else type(older).__name__
        raise ValueError(f"the saved game's older frames are {found}; they must be an array of uint64")
    return _check_seats(saved, guests)


def teams_of_saved(saved: SavedGame, config: GameConfig) -> tuple[int, ...]:
    """Return the team of every seat in a saved game: what its seed deals."""
    return config.team_of(int(State(*saved.blocks).seed[0]))


def write_game(
    saved: SavedGame, config: GameConfig, arrays: BatchArrays, k: int, players: BatchPlayers
) -> None:
    """Put a saved game into slot ``k``, all but ``NEXT_ONES``; ``players`` have its custom bots among others.

    What is observed is not yet.
    """
    state, slots = arrays.state, arrays.slots
    next_ones = {name: view(state, name)[k].copy() for name in NEXT_ONES}
    blocks: tuple[npt.NDArray[Any], ...] = state
    for block, kept in zip(blocks, saved.blocks, strict=True):
        block[k] = kept
    for name, values in next_ones.items():
        view(state, name)[k] = values
    team = view(state, "team")
    team[k] = np.arange(team.shape[1]) if config.teams is None else (0, *teams_of_saved(saved, config))
    if saved.custom:
        codes = view(state, "seats")
        codes[k] = players.codes_here(codes[k], saved.custom)
    slots.num_cycles[k], slots.stands[k] = saved.num_cycles, saved.stands


def _check_pools(saved: SavedGame, teams: tuple[int, ...]) -> None:
    """Raise ValueError if a pool is between allies; ``teams``: of every seat."""
    pools = State(*saved.blocks).pairs[PAIRS["pools"], 1:, 1:]
    between = np.argwhere((pools > 0) & np.equal.outer(teams, teams)) + 1
    for p, target in between.tolist():
        if p != target:
            raise ValueError(
                f"the saved game has a pool of seat {p} against seat {target}, its ally in team "
                f"{teams[p - 1]}; no pool may be between allies"
            )


def _check_seats(saved: SavedGame, guests: tuple[str, ...]) -> bool:
    """Return whether an agent has a seat; ValueError unless seat codes mean the same here as in ``saved``."""
    seats = State(*saved.blocks).seating[SEATING["seats"], 1:].tolist()
    largest = max(seats)
    if largest >= FIRST_CUSTOM_CODE + len(saved.custom):
        raise ValueError(
            f"the seats of the saved game hold the code {largest}; "
            f"it has {len(saved.custom)} custom bots, from {FIRST_CUSTOM_CODE} on"
        )
    others = [code for code in seats if code < FIRST_CUSTOM_CODE]
    lowest, highest = min(others, default=FIRST_BOT_CODE), max(others, default=0)
    if lowest < 0 or highest >= len(SEAT_NAMES) + len(guests):
        raise ValueError(
            f"the seats of the saved game hold codes {lowest} to {highest}, which are not all codes of bots"
        )
    known = max(0, highest + 1 - len(SEAT_NAMES))
    if saved.guests[:known] != guests[:known]:
        raise ValueError(
            f"the saved game was played by the bots in Python {', '.join(saved.guests)}; this batch "
            f"has {', '.join(guests) or 'none'}"
        )
    return lowest < FIRST_BOT_CODE
