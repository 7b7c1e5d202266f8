"""Checks for users: what always holds in a game, random play, whole episodes compared, stacks diagnosed.

``check_games`` raises where a game is not as the rules promise; ``play_games`` and ``play_episode`` play at
random with a hook. ``check_determinism`` compares whole episodes; ``diagnose`` looks for what makes trainers
fail, and ``territorial doctor module:function`` prints what it finds.
"""

from territorial.testing.conformance import CHECKS, Finding, Report, diagnose
from territorial.testing.episodes import check_determinism, episode_digest, play_episode, play_games
from territorial.testing.invariants import INVARIANTS, InvariantError, check_game, check_games
from territorial.testing.stacks import Stack, Step, stack_of
from territorial.testing.trainers import TRAINERS, Trainer

__all__ = [
    "CHECKS",
    "INVARIANTS",
    "TRAINERS",
    "Finding",
    "InvariantError",
    "Report",
    "Stack",
    "Step",
    "Trainer",
    "check_determinism",
    "check_game",
    "check_games",
    "diagnose",
    "episode_digest",
    "play_episode",
    "play_games",
    "stack_of",
]
