"""Compiled code: all that relies on numba beyond its public decorators."""
