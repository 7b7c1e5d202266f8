"""Replays: games stored as seed and launches, in a few KB."""

from territorial.replay.decision_rows import Decisions, decisions
from territorial.replay.file_format import FORMAT_VERSION, Checkpoint, DivergedError, ReplayError
from territorial.replay.frames import Frame, LiveGame, frame_of
from territorial.replay.recorded import Change
from territorial.replay.recorder import Recorder
from territorial.replay.replay import Replay, ReplayPlayer, starts

__all__ = [
    "FORMAT_VERSION",
    "Change",
    "Checkpoint",
    "Decisions",
    "DivergedError",
    "Frame",
    "LiveGame",
    "Recorder",
    "Replay",
    "ReplayError",
    "ReplayPlayer",
    "decisions",
    "frame_of",
    "starts",
]
