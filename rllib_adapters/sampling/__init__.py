"""Runners: they play the games of a process and return episodes."""
