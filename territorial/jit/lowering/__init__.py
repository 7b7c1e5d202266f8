"""The machine code of operations that kernels have and Python does not, as numba is told of it."""
