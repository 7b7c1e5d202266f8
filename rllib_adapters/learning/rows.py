"""Rows of a batch: of columns that are tensors, in mappings of any depth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor


def rows_of(columns: Any, rows: Tensor) -> Any:
    """Return the columns with the rows of these numbers, int64 (n,), alone and in this order."""
    if isinstance(columns, Mapping):
        return {name: rows_of(column, rows) for name, column in columns.items()}
    if isinstance(columns, tuple):
        return tuple(rows_of(column, rows) for column in columns)
    return columns[rows.to(columns.device)]
