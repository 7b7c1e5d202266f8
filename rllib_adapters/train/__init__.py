"""The command that trains a league, with its options, log and checkpoints."""
