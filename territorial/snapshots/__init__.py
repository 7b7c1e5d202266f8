"""Snapshots: weights of policies in a folder that processes share, and the checkpoints of runs."""
