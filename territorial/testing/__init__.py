"""Checks for users: random play, whole episodes compared, stacks diagnosed.

``play_games`` and ``play_episode`` play at random with a hook. ``check_determinism`` compares whole episodes;
``diagnose`` looks for what makes trainers fail; ``territorial doctor module:function`` prints that.
"""

from territorial.testing.conformance import CHECKS, Finding, Report, diagnose
from territorial.testing.episodes import check_determinism, episode_digest, play_episode, play_games
from territorial.testing.stacks import Stack, Step, stack_of
from territorial.testing.trainers import TRAINERS, Trainer

__all__ = [
    "CHECKS",
    "TRAINERS",
    "Finding",
    "Report",
    "Stack",
    "Step",
    "Trainer",
    "check_determinism",
    "diagnose",
    "episode_digest",
    "play_episode",
    "play_games",
    "stack_of",
]
