"""Observations and actions: layout, tables, boards, codes and masks."""
