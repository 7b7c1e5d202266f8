"""Rows of a batch: of columns that are tensors, in mappings of any depth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from ray.rllib.core.columns import Columns
from ray.rllib.evaluation.postprocessing import Postprocessing
from torch import Tensor


def rows_of(columns: Any, rows: Tensor) -> Any:
    """Return the columns with the rows of these numbers, int64 (n,), alone and in this order."""
    if isinstance(columns, Mapping):
        return {name: rows_of(column, rows) for name, column in columns.items()}
    if isinstance(columns, tuple):
        return tuple(rows_of(column, rows) for column in columns)
    return columns[rows.to(columns.device)]


def own_rows(columns: Mapping[str, Any]) -> Tensor:
    """Return the numbers of the rows that learn, int64 (n,); others were added for values."""
    if Columns.LOSS_MASK in columns:
        rows: Tensor = columns[Columns.LOSS_MASK].bool().nonzero().flatten()
        return rows
    advantages = columns[Postprocessing.ADVANTAGES]
    return torch.arange(len(advantages), device=advantages.device)
