"""Modules: networks that learn, and the pool of frozen opponents."""
