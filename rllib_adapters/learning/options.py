"""What a user may choose about how learners learn from these games, beside RLlib's settings."""

from __future__ import annotations

from dataclasses import dataclass

from territorial.config.fields import check_values, option


@dataclass(frozen=True)
class LearningOptions:
    """The options of ``TerritorialConfig.learning``, which says what they mean."""

    share: float = option(1.0, "part of the rows that is learned from", 0, 1)
    averaged_weights: float = option(0.0, "part of themselves that averages of the weights keep", 0, 1)
    bf16: bool = False
    sampled_values: bool = True
    held_rows: bool = True

    def __post_init__(self) -> None:
        check_values(self)
        if self.share == 0:
            raise ValueError(f"share is {self.share!r}; it must be above 0 and at most 1, which is all rows")
        if self.averaged_weights == 1:
            raise ValueError(
                f"averaged_weights is {self.averaged_weights!r}; it must be at least 0, which keeps none, "
                "and below 1, such as 0.999"
            )
