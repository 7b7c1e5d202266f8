"""Observations on their way through RLlib: stored once, stacked on demand."""
