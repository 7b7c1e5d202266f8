"""The engine: a batch of games that plays its steps in compiled code."""
