"""Leagues in RLlib algorithms: line-ups, snapshots and the store."""
