"""What a user may choose about how learners learn from these games, beside RLlib's settings."""

from __future__ import annotations

from dataclasses import dataclass

from territorial.config.validation import shown


@dataclass(frozen=True)
class LearningOptions:
    """The options of ``TerritorialConfig.learning``, which says what they mean."""

    share: float = 1.0
    averaged_weights: float = 0.0
    bf16: bool = False
    sampled_values: bool = True
    held_rows: bool = True

    def __post_init__(self) -> None:
        for name in ("share", "averaged_weights"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise TypeError(f"{name} is {shown(value)}; it must be a number")
        for name in ("bf16", "sampled_values", "held_rows"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} is {shown(getattr(self, name))}; it must be True or False")
        if not 0 < self.share <= 1:
            raise ValueError(f"share is {self.share!r}; it must be above 0 and at most 1, which is all rows")
        if not 0 <= self.averaged_weights < 1:
            raise ValueError(
                f"averaged_weights is {self.averaged_weights!r}; it must be at least 0, which keeps none, "
                "and below 1, such as 0.999"
            )
