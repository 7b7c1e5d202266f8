"""Learners of RLlib algorithms for these games."""
