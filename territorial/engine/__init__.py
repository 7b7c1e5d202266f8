"""The engine: a batch of games that compiled code steps."""
