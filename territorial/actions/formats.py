"""The formats in which agents act, each with its space, its masks and its way to the engine's pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from territorial.actions.batch import write_aimed
from territorial.actions.encoding import num_targets, unflatten
from territorial.actions.masks import Masks, masks_of
from territorial.config.validation import holds_whole_numbers, index_of
from territorial.constants import NUM_CANDIDATES, NUM_FRACTIONS
from territorial.typing import Bools, Ints

PLAIN = frozenset({int, np.int64, np.int32})
"""Types of whole numbers that need no closer look."""


class ActionFormat(ABC):
    """One format of actions in games of ``num_players``. The engine's own is a pair: what, and how much.

    Formats with ``num_candidates`` name one of so many candidates of the form "pairs" and not an owner. Their
    masks and what they aim at follow from these: see :class:`CandidateFormat`.
    """

    space: spaces.Space[Any]
    """Of the actions of one agent."""
    wanted: str
    """What an action must be, for messages."""
    width: int
    """The length of a mask."""
    copies: int
    """How many columns of a mask each target has."""
    shape: tuple[int, ...]
    """Of one action as an array."""
    num_candidates: int = 0
    """C of the formats that name candidates, else 0."""

    def __init__(self, num_players: int, num_candidates: int = NUM_CANDIDATES) -> None:
        self._set_number_of_targets(num_targets(num_players))

    @abstractmethod
    def _set_number_of_targets(self, number: int) -> None:
        """Let the first part of an action have so many values, hold among them."""

    @property
    def mask_space(self) -> spaces.Box:
        """The space of the mask of one agent: int8 (width,), 1 for what is legal."""
        return spaces.Box(0, 1, (self.width,), np.int8)

    @property
    def sample_space(self) -> spaces.Space[Any]:
        """The space of ``for_sampling``."""
        return self.mask_space

    def masks(self, bits: npt.NDArray[np.uint8], games: Ints, seats: Ints, out: Masks | None = None) -> Masks:
        """Return new int8 (N, width), or ``out``: what is legal for ``seats`` of ``games``.

        ``bits`` are the engine's.
        """
        return masks_of(bits, games, seats, self.width, self.copies, out)

    def for_sampling(self, mask: Masks) -> Any:
        """Return the mask of one agent as ``space.sample`` takes it."""
        return mask

    def whole(self, actions: npt.NDArray[Any], num_axes: int) -> npt.NDArray[Any]:
        """Return actions without axes of length 1 behind the first ``num_axes``, if each is one number."""
        is_wrapped = self.shape == () and set(actions.shape[num_axes:]) == {1}
        return actions.reshape(actions.shape[:num_axes]) if is_wrapped else actions

    @abstractmethod
    def numbers(self, actions: list[Any]) -> Ints | None:
        """Return actions of single agents as int64 (N, parts); None if one is no action at all.

        Numbers may be out of range: ``territorial.actions.batch`` sees to that.
        """

    @abstractmethod
    def pair(self, action: Any) -> tuple[int, int] | None:
        """Return an action of one agent as the engine's pair; None if it is none."""


class DiscreteFormat(ActionFormat):
    """``Discrete(10 * (P + 1) + 1)``: 0 holds, 1 + 10 * (what - 1) + how much launches."""

    copies = NUM_FRACTIONS
    shape = ()

    def _set_number_of_targets(self, number: int) -> None:
        """Let the first part of an action have so many values, hold among them."""
        self.width = 1 + NUM_FRACTIONS * (number - 1)
        self.space = spaces.Discrete(self.width)
        self.wanted = f"a whole number from 0 to {self.width - 1}"
        pairs = unflatten(np.arange(self.width)).tolist()
        self._listed: list[tuple[int, int]] = [(what, how) for what, how in pairs]

    def numbers(self, actions: list[Any]) -> Ints | None:
        """Return whole numbers (N, 1)."""
        are_plain = PLAIN.issuperset(map(type, actions))
        found = actions if are_plain else [index_of(action) for action in actions]
        try:
            return None if None in found else np.array(found, np.int64).reshape(-1, 1)
        except OverflowError:
            return None

    def pair(self, action: Any) -> tuple[int, int] | None:
        """Return the two parts of a whole number, or of what an array of size 1 holds."""
        number = index_of(action)
        return None if number is None or not 0 <= number < self.width else self._listed[number]


class MultiDiscreteFormat(ActionFormat):
    """``MultiDiscrete([P + 2, 10])``: what, and how much."""

    copies = 1
    shape = (2,)

    def _set_number_of_targets(self, number: int) -> None:
        """Let the first part of an action have so many values, hold among them."""
        self._sizes = np.array([number, NUM_FRACTIONS])
        self.width = int(self._sizes.sum())
        self.space = spaces.MultiDiscrete(self._sizes)
        self.wanted = f"two whole numbers, from 0 to {self._sizes[0] - 1} and from 0 to {NUM_FRACTIONS - 1}"

    @property
    def sample_space(self) -> spaces.Space[Any]:
        """One ``Box`` a part."""
        return spaces.Tuple([spaces.Box(0, 1, (int(size),), np.int8) for size in self._sizes])

    def for_sampling(self, mask: Masks) -> tuple[Masks, Masks]:
        """Return the masks of both parts."""
        return mask[: self._sizes[0]], mask[self._sizes[0] :]

    def numbers(self, actions: list[Any]) -> Ints | None:
        """Return whole numbers (N, 2)."""
        pairs = [self.pair(action) for action in actions]
        return None if None in pairs else np.array(pairs, np.int64).reshape(-1, 2)

    def pair(self, action: Any) -> tuple[int, int] | None:
        """Return the two whole numbers."""
        try:
            parts = np.asarray(action)
        except ValueError:
            return None
        if parts.shape != (2,) or not holds_whole_numbers(parts):
            return None
        if not ((parts >= 0) & (parts < self._sizes)).all():
            return None
        return int(parts[0]), int(parts[1])


class CandidateFormat(ActionFormat):
    """What formats have in common whose actions name a candidate: docs/observation.md, "Pairs"."""

    def __init__(self, num_players: int, num_candidates: int = NUM_CANDIDATES) -> None:
        self.num_candidates = num_candidates
        self._set_number_of_targets(1 + num_candidates)

    def masks_of(self, legal: Bools) -> Masks:
        """Return new int8 (N, width), where ``legal``, (N, C), says at which candidates a launch is legal."""
        masks = np.ones((len(legal), self.width), np.int8)
        end = 1 + self.copies * self.num_candidates
        masks[:, 1:end] = legal.repeat(self.copies, axis=1)
        return masks

    def aimed(self, numbers: Ints, targets: npt.NDArray[np.int32]) -> Ints:
        """Return actions of agents (N, parts), in range, as the engine's pairs (N, 2).

        ``targets``: (N, C), the engine's first part for each candidate. An action against one that is not
        there holds.
        """
        pairs = np.empty((len(numbers), 2), np.int64)
        write_aimed(np.ascontiguousarray(numbers), np.ascontiguousarray(targets), pairs)
        return pairs

    def first_bad(self, numbers: Ints) -> int | None:
        """Return which of the actions (N, parts) is the first out of range, or None."""
        # A space of two parts is a MultiDiscrete, which has this attribute.
        sizes = np.array([self.width]) if self.shape == () else self.space.nvec  # type: ignore[attr-defined]
        is_bad = ((numbers < 0) | (numbers >= sizes)).any(axis=1)
        return int(is_bad.argmax()) if is_bad.any() else None


class PairsFormat(CandidateFormat, DiscreteFormat):
    """``Discrete(1 + 10 * C)``: 0 holds, 1 + 10 * c + how much launches at candidate c."""


class PairsMultiDiscreteFormat(CandidateFormat, MultiDiscreteFormat):
    """``MultiDiscrete([1 + C, 10])``: 0 holds, 1 + c is candidate c; and how much."""


FORMATS: dict[str, type[ActionFormat]] = {
    "discrete": DiscreteFormat,
    "multi_discrete": MultiDiscreteFormat,
    "pairs": PairsFormat,
    "pairs_multi_discrete": PairsMultiDiscreteFormat,
}
"""The formats by name; the first is the default."""
