"""Person: one of the people in a session, with a seat and pages of its own."""

from collections.abc import Mapping
from typing import Any

from territorial.play.commands import PlayerCommand
from territorial.play.panels import Look
from territorial.play.situation import Situation
from territorial.render.server import Feed


class Person:
    """Those who have one address of a session: one person, on any number of pages."""

    now: Situation  # the game as this person sees it

    def __init__(self) -> None:
        self.situations = Feed(has_newest_alone=True)  # what the pages are told, as JSON
        self.name, self.pages, self.is_ready = "", 0, False

    def begin(self, seat: int, name: str, *, wants_pause: bool) -> None:
        """Take a seat of a game that begins, under a name; seat 0 watches it."""
        self.seat, self.name = seat, name
        self.wants_pause, self.is_ready = wants_pause, False
        self.panels: Mapping[str, Look] = {}  # what the pages can show beside the game
        self.open = dict[str, tuple[int, Any]]()  # the panels that are open, with the tick of what they show
        self.aim = PlayerCommand("aim")  # what the forecast is of
        self.queued: PlayerCommand | None = None
        self.has_decided = self.has_resigned = False

    def decide(self, command: PlayerCommand) -> None:
        """Take the decision to launch or to hold in the place of the one before, or to resign."""
        self.queued = command if command.do == "launch" else None
        self.has_decided, self.has_resigned = True, command.do == "resign"

    @property
    def decides(self) -> bool:
        """Whether there are decisions to make."""
        return self.now.is_alive and not self.now.is_over and not self.has_resigned

    def told(self) -> dict[str, Any]:
        """Return what all people are told of this one."""
        return {
            "name": self.name,
            "seat": self.seat,
            "is_here": self.pages > 0,
            "is_ready": self.is_ready,
            "decides": self.decides,
            "has_decided": self.has_decided,
            "wants_pause": self.wants_pause,
        }
