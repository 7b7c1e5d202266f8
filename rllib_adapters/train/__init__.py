"""The command that trains a league."""
