"""Formats of actions: spaces, masks, and conversion to the engine's pairs."""

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from territorial.config.validation import holds_whole_numbers, index_of
from territorial.constants import HOLD, NUM_CANDIDATES, NUM_FRACTIONS
from territorial.game.state import PLAYERS
from territorial.jit.decorators import kernel
from territorial.observation.action_encoding import HOW_MUCH, WHAT, how_much_of, num_targets, what_of
from territorial.observation.action_masks import Masks, masks_of
from territorial.typing import Bools, Ints

_ALIVE = PLAYERS["alive"]

ALL_GOOD = -1
"""What ``write_choices`` returns where there is nothing to complain of."""


@kernel
def write_choices(actions: Any, players: Any, seats: Any, out: Any) -> int:
    """Write the choices of living agents to ``out``, int64 (E, P, 2); all other seats hold.

    ``actions``: int64 (E, A, 1), one number each, or (E, A, 2), what and how much. ``players``: the block of
    the state, int64 (E, K, P+1). ``seats``: int64 (E, A), 1..P. Returns ALL_GOOD, or k * A + i of the first
    action out of range.
    """
    num_games, num_agents, num_parts = actions.shape
    for k in range(num_games):
        for p in range(out.shape[1]):
            out[k, p, WHAT] = HOLD
            out[k, p, HOW_MUCH] = 0
        for i in range(num_agents):
            first = actions[k, i, WHAT]
            what, how = first, actions[k, i, num_parts - 1]
            if num_parts == 1:
                what, how = what_of(first), how_much_of(first)
            if not (first >= 0 and 0 <= what < out.shape[1] + 2 and 0 <= how < NUM_FRACTIONS):
                return k * num_agents + i
            if players[k, _ALIVE, seats[k, i]] != 0:
                out[k, seats[k, i] - 1, WHAT] = what
                out[k, seats[k, i] - 1, HOW_MUCH] = how
    return ALL_GOOD


@kernel
def write_aimed(numbers: Any, targets: Any, out: Any) -> None:
    """Write actions as the engine's pairs; one against a candidate that is not there holds.

    Args:
        numbers: int64 (N, 1), actions of one number, or (N, 2), of two parts; in range.
        targets: int32 (N, C), the engine's first part for each candidate, HOLD where there is none.
        out: int64 (N, 2), written.

    """
    is_flat = numbers.shape[1] == 1
    for i in range(len(numbers)):
        first = numbers[i, WHAT]
        candidate = what_of(first) if is_flat else first
        how_much = how_much_of(first) if is_flat else numbers[i, HOW_MUCH]
        target = targets[i, candidate - 1] if candidate != HOLD else HOLD
        out[i, WHAT], out[i, HOW_MUCH] = target, how_much if target != HOLD else 0


PLAIN = frozenset({int, np.int64, np.int32})
"""Types of whole numbers that need no closer look."""
OF_OWNERS = ("discrete", "multi_discrete")
OF_CANDIDATES = ("pairs", "pairs_multi_discrete")
"""The formats whose actions name a candidate: docs/observation.md, "Pairs"."""
FORMATS = (*OF_OWNERS, *OF_CANDIDATES)
"""The names of all formats; the first is the default."""


class ActionFormat:
    """A format of actions in games of ``num_players``; the engine's own is a pair: target and amount.

    An action is one number, 0 to hold and 1 + 10 * (what - 1) + how much to launch; in the formats
    "multi_discrete" it has two parts, what and how much. In the formats of candidates "what" names one of
    ``num_candidates`` candidates of the form "pairs" instead of an owner.

    Attributes:
        num_candidates: C of the formats of candidates, else 0.
        shape: of one action as an array.
        space: of the actions of one agent.
        wanted: what an action must be, for messages.
        width: the length of a mask.
        copies: how many columns of a mask each target has.
        mask_space: of the mask of one agent, int8 (width,), 1 for what is legal.
        sample_space: of what ``for_sampling`` returns.

    """

    def __init__(self, name: str, num_players: int, num_candidates: int = NUM_CANDIDATES) -> None:
        self.num_candidates = num_candidates if name in OF_CANDIDATES else 0
        targets = 1 + num_candidates if self.num_candidates else num_targets(num_players)
        self.space: spaces.Space[Any]
        self.shape: tuple[int, ...]
        if name.endswith("multi_discrete"):
            self.copies, self.shape = 1, (2,)
            self._sizes = np.array([targets, NUM_FRACTIONS])
            self.space = spaces.MultiDiscrete(self._sizes)
            self.wanted = f"two whole numbers, from 0 to {targets - 1} and from 0 to {NUM_FRACTIONS - 1}"
        else:
            self.copies, self.shape = NUM_FRACTIONS, ()
            self._sizes = np.array([1 + NUM_FRACTIONS * (targets - 1)])
            self.space = spaces.Discrete(int(self._sizes[0]))
            self.wanted = f"a whole number from 0 to {self._sizes[0] - 1}"
        self.width = int(self._sizes.sum())
        self.mask_space = spaces.Box(0, 1, (self.width,), np.int8)
        parts = [spaces.Box(0, 1, (int(size),), np.int8) for size in self._sizes]
        self.sample_space: spaces.Space[Any] = spaces.Tuple(parts) if self.shape else self.mask_space

    def masks(self, bits: npt.NDArray[np.uint8], games: Ints, seats: Ints, out: Masks | None = None) -> Masks:
        """Return new int8 (N, width), or ``out``: legal actions of ``seats`` of ``games``.

        ``bits`` are the engine's.
        """
        return masks_of(bits, games, seats, self.width, self.copies, out)

    def masks_of(self, legal: Bools) -> Masks:
        """Return new int8 (N, width), where ``legal``, (N, C), says at which candidates a launch is legal."""
        masks = np.ones((len(legal), self.width), np.int8)
        end = 1 + self.copies * self.num_candidates
        masks[:, 1:end] = legal.repeat(self.copies, axis=1)
        return masks

    def for_sampling(self, mask: Masks) -> Any:
        """Return the mask of one agent as ``space.sample`` takes it: of two parts a tuple."""
        return (mask[: self._sizes[0]], mask[self._sizes[0] :]) if self.shape else mask

    def read(self, actions: npt.ArrayLike, num_games: int, num_agents: int) -> Ints:
        """Return the actions of all agents of a batch as int64 (E, A, parts); they may be out of range.

        TypeError or ValueError for what holds no whole numbers, or not as many.
        """
        array, shape = np.asarray(actions), (num_games, num_agents, *self.shape)
        is_wrapped = not self.shape and array.shape[:2] == shape and set(array.shape[2:]) == {1}
        if array.shape != shape and not is_wrapped:
            raise ValueError(f"actions has shape {array.shape}; it must be {shape}")
        if not holds_whole_numbers(array):
            raise TypeError(f"actions has dtype {array.dtype}; it must hold whole numbers")
        return np.ascontiguousarray(array, np.int64).reshape(num_games, num_agents, -1)

    def numbers(self, actions: list[Any]) -> Ints | None:
        """Return actions of single agents as int64 (N, parts); None if one is no action at all.

        Numbers may be out of range: ``territorial.observation.action_formats`` sees to that.
        """
        found = actions
        if self.shape:
            found = [_parts_of(action) for action in actions]
        elif not PLAIN.issuperset(map(type, actions)):
            found = [index_of(action) for action in actions]
        try:
            return None if None in found else np.array(found, np.int64).reshape(len(found), len(self._sizes))
        except OverflowError:
            return None

    def takes(self, action: Any) -> bool:
        """Return whether this is an action of one agent, in range."""
        numbers = self.numbers([action])
        return numbers is not None and self.first_bad(numbers) is None

    def first_bad(self, numbers: Ints) -> int | None:
        """Return which of the actions (N, parts) is the first out of range, or None."""
        is_bad = ((numbers < 0) | (numbers >= self._sizes)).any(axis=1)
        return int(is_bad.argmax()) if is_bad.any() else None

    def aimed(self, numbers: Ints, targets: npt.NDArray[np.int32]) -> Ints:
        """Return actions at candidates (N, parts), in range, as the engine's pairs (N, 2).

        ``targets``: (N, C), the engine's first part for each candidate. An action against one that is not
        there holds.
        """
        pairs = np.empty((len(numbers), 2), np.int64)
        write_aimed(np.ascontiguousarray(numbers), np.ascontiguousarray(targets), pairs)
        return pairs


def _parts_of(action: Any) -> list[int] | None:
    """Return the two whole numbers of an action; None if it is none."""
    try:
        parts = np.asarray(action)
    except ValueError:  # numpy makes no array of it
        return None
    return parts.tolist() if parts.shape == (2,) and holds_whole_numbers(parts) else None
