"""Evaluation: games between policies, their results, ratings and statistics."""
