"""The game of a batch, as kernels: its rules, its state and what changes in it."""
