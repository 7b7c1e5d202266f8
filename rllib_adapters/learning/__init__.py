"""Learners: what RLlib's algorithms need to learn from these games."""
