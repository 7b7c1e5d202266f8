"""Lowering: machine code of kernel operations that Python lacks."""
