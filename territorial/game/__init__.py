"""Kernels of the game: its rules, and the state that they change."""
