"""Observations as the engine writes them: their layout, tables and packed boards."""
