"""Session: the games that a person plays one after the other; a single thread owns game, recorder and film.

Threads of the server only put commands into a queue and wait for the answer. So the game is never called by
two threads, and its pace does not depend on what clients send.
"""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, assert_never

import numpy as np
import numpy.typing as npt

from territorial.actions.encoding import HOW_MUCH, WHAT, target_of_owner
from territorial.engine.vec_game import VecGame
from territorial.play.commands import STEP, PlayerCommand, Wish, WishError
from territorial.play.panels import Choose, Look, forecast_of
from territorial.play.situation import situation_of, why_not
from territorial.render.film import show, write_film
from territorial.render.server import Feed
from territorial.replay import LiveGame, Recorder

BOTS_PACE = 200
"""Ticks a second of a game that waits for each decision, once there are no decisions to wait for."""
NEVER = -1
"""The tick of what has not been shown yet."""
ANSWER_SECONDS = 5
"""After these a command that has not begun is refused: the bots of the game take too long."""
ENDED = "the session has ended"


class RefusedError(Exception):
    """The session does not do what a command asks for; the message says why."""


class BusyError(RefusedError):
    """The game takes too long."""


_Pending = tuple[PlayerCommand, Future[bytes]]
"""A command on its way to the thread of the game, and where its answer goes."""


class Table(NamedTuple):
    """A game that a person plays, and all that belongs to it.

    Args:
        game: a batch of one with autoreset "disabled", after ``reset``. From here on it is the session's.
        seat: the player's, 1..P, which must be "agent" or "external"; 0: there is none, bots play alone.
        names: what the P seats are called, in the film and in the replay.
        save: the file of the replay.
        title: of the film; each game of a session has another one, by which pages notice a new game.
        policies: what chooses the actions of other seats that are "agent" or "external", by seat.
        panels: by name, what the page can show beside the game. They are asked while they are open and the
            player has decisions to make, and must not change the game.
        card: what the page shows of this game and offers for the next one, as values that JSON has; None:
            there is no next game.

    """

    game: VecGame
    seat: int
    names: Sequence[str]
    save: Path
    title: str
    policies: Mapping[int, Choose] = {}
    panels: Mapping[str, Look] = {}
    card: Mapping[str, Any] | None = None


class Session:
    """Plays one game after the other with a person at a seat; ``run`` does that, in one thread.

    A game stands still while no page shows it (``page_open``), and the first one until it is no longer
    paused if ``is_paused``. A further game waits for a page that is opened after it has begun, because pages
    of the game before it load again. A game takes a decision every ``decision_every`` ticks, at ``pace``.
    Whenever the last page is closed, when the game is paused, when the player is out or the game is over,
    before the next game, and when the session is stopped, the replay is saved.

    Args:
        make: returns the first game for None, and a game as a player wishes. It is called in the thread of
            ``run``, which is the only one that then calls the game, and raises WishError for a game that
            there cannot be.
        pace: ticks a second; None: the game waits for each decision of the player.
        is_paused: whether the first game is paused as it begins.

    """

    def __init__(
        self, make: Callable[[Wish | None], Table], *, pace: int | None, is_paused: bool = False
    ) -> None:
        self.film, self.situations = Feed(), Feed(has_newest_alone=True)
        self.save_error: OSError | None = None
        """What kept the replay from being saved, the last time."""
        self.replays = dict[Path, int]()
        """Up to which tick the replays of all games have been written, by file."""
        self._make, self._pace, self._is_paused = make, pace, is_paused
        self._recorder: Recorder | None = None
        self._inbox = queue.SimpleQueue[_Pending | None]()
        self._pages, self._pages_lock = 0, threading.Lock()
        self._is_loading = False  # no page has been opened since the game took the place of another one
        self._is_shared = False  # as it was told last
        self._is_stopped = self._is_ended = False
        self._due: float | None = None

    # ---- for other threads --------------------------------------------------------------------------

    def submit(self, command: PlayerCommand) -> bytes:
        """Let the thread of the game do ``command``, and return the situation after that, as JSON.

        Raises RefusedError, with the reason, for what cannot be done; BusyError if the game takes too long.
        """
        answer: Future[bytes] = Future()
        self._inbox.put((command, answer))
        if self._is_ended and answer.cancel():  # nobody takes it any more
            raise RefusedError(ENDED)
        try:
            return answer.result(ANSWER_SECONDS)
        except TimeoutError:
            if answer.cancel():
                raise BusyError(f"the game has not answered for {ANSWER_SECONDS} s") from None
        return answer.result()  # it has begun, so it is carried out, and its answer is waited for

    @contextmanager
    def page_open(self) -> Iterator[None]:
        """Let the game go on within the block, as a page shows it."""
        self._count_page(1)
        try:
            yield
        finally:
            self._count_page(-1)

    def _count_page(self, change: int) -> None:
        with self._pages_lock:
            self._pages += change
        if change > 0:
            self._is_loading = False
        self._inbox.put(None)  # wakes the thread of the game

    def stop(self) -> bool:
        """End ``run``, which saves the replay; return whether a game has begun."""
        self._is_stopped = True
        self._inbox.put(None)
        return self._recorder is not None

    # ---- the thread of the game ---------------------------------------------------------------------

    def run(self) -> None:
        """Play until ``stop``, or an error."""
        try:
            self._begin(self._make(None))
            while not self._is_stopped:
                self._take_turn()
        finally:
            self._end()

    def _take_turn(self) -> None:
        """Play what is due; do a command that is there, or comes before the next decision is due."""
        wait = self._wait()
        if wait is not None and wait <= 0:
            if self._due is not None:  # no haste to catch up after a decision that took long
                self._due = max(self._due + self._interval, time.monotonic())
            self._show()
            wait = 0
        try:
            pending = self._inbox.get(timeout=wait)
        except queue.Empty:
            return
        if pending is not None:
            self._answer(*pending)
        elif not self._pages:
            self._save()
        elif not self._is_stopped and (self._pages > 1 or self._is_shared):
            self._publish()  # the pages of one seat are to know of each other

    def _begin(self, table: Table) -> None:
        """Show a game as it begins; the one before has been saved."""
        if self._recorder is not None:
            self._recorder.close()
            self.film.close()
            self.film, self._is_paused, self._is_loading, self._due = Feed(), False, True, None
        self._open = dict[str, tuple[int, Any]]()
        self._panels = {**table.panels, "forecast": self._forecast}
        self._aim, self._foresee = PlayerCommand("aim"), forecast_of(table.game, table.seat)
        self._queued: PlayerCommand | None = None
        self._has_decided = self._has_resigned = False
        self.table, self._game, self._policies = table, table.game, table.policies
        self._recorder = Recorder(table.game, names=table.names)
        source = LiveGame(table.game, actions=self._actions, names=table.names)
        self._pieces = write_film(*show(source, table.title, table.game.config.decision_every))
        self._now = situation_of(table.game, table.seat)
        self._show()

    def _wait(self) -> float | None:
        """Return the seconds to the next decision; None: there is none before a command."""
        is_waiting = self._pace is None and self._decides
        stands = self._now.is_over or self._is_paused or not self._pages or self._is_loading
        if stands or is_waiting:
            self._due = None
            return None if stands or not self._has_decided else 0
        if self._due is None:
            self._due = time.monotonic() + self._interval
        return self._due - time.monotonic()

    @property
    def _decides(self) -> bool:
        """Whether the player has decisions to make."""
        return self._now.is_alive and not self._now.is_over and not self._has_resigned

    @property
    def _interval(self) -> float:
        """Seconds from one decision to the next."""
        return self._game.config.decision_every / (self._pace or BOTS_PACE)

    def _actions(self, game: VecGame) -> npt.NDArray[np.int64]:
        """Return what all seats do now, (1, P, 2): the player what was queued, which is used up."""
        actions = np.zeros((1, game.config.num_players, 2), np.int64)
        for seat, choose in self._policies.items():
            if game.state.alive[0, seat]:
                actions[0, seat - 1] = choose(game)
        if self._queued is not None:
            seat = self.table.seat
            what = target_of_owner(self._queued.target, seat, game.config.num_players)
            actions[0, seat - 1, WHAT] = what
            actions[0, seat - 1, HOW_MUCH] = self._queued.share
        self._queued, self._has_decided = None, False
        return actions

    def _show(self) -> None:
        """Add a frame to the film, for which a decision is taken, and tell pages how the game stands."""
        piece = next(self._pieces)
        was_alive, self._now = self._now.is_alive, situation_of(self._game, self.table.seat)
        self.film.append(piece)
        if self._now.is_over:
            self.film.append(next(self._pieces))
            self.film.close()
        if self._now.is_over or (was_alive and not self._now.is_alive):
            self._save()
        self._publish()

    def _publish(self) -> bytes:
        wait, queued, self._is_shared = self._wait(), self._queued, self._pages > 1
        told = self._now._asdict() | {
            "number": self.situations.count + 1,
            "seat": self.table.seat,
            "title": self.table.title,
            "card": None if self._decides and self._now.tick else self.table.card,
            "openings": [opening._asdict() for opening in self._now.openings],
            "allies": [ally._asdict() for ally in self._now.allies],
            "queued": None if queued is None else {"target": queued.target, "share": queued.share},
            "is_paused": self._is_paused,
            "pages": max(1, self._pages),
            "has_resigned": self._has_resigned,
            "pace": self._pace or STEP,
            "wait_ms": None if wait is None else max(0, round(1000 * wait)),
            "replay": str(self.table.save.absolute()) if self.table.save in self.replays else None,
            "panels": self._contents(),
        }
        text = json.dumps(told, separators=(",", ":")).encode()
        self.situations.append(text)
        return text

    def _contents(self) -> dict[str, Any]:
        """Return what the open panels show, by name; None once the player has nothing to decide."""
        for name, (tick, _) in self._open.items():
            if self._decides and tick != self._now.tick:
                self._open[name] = self._now.tick, self._panels[name](self._game)
        return {name: content if self._decides else None for name, (_, content) in self._open.items()}

    def _forecast(self, game: VecGame) -> dict[str, Any] | None:
        """Return what the launch that was aimed last would come to; None where it is not legal."""
        target, share = self._aim.target, self._aim.share
        return None if why_not(self._now, self.table.seat, target) else self._foresee(target, share, game)

    # ---- commands ------------------------------------------------------------------------------------

    def _answer(self, command: PlayerCommand, answer: Future[bytes]) -> None:
        """Do a command, or say why not; one whose sender waits no more is left."""
        if not answer.set_running_or_notify_cancel():
            return
        try:
            if reason := self._refusal(command):
                raise RefusedError(reason)
            self._do(command)
            answer.set_result(self._publish())
        except (RefusedError, WishError) as error:
            answer.set_exception(error)
        except BaseException:
            answer.set_exception(RefusedError(ENDED))
            raise

    def _refusal(self, command: PlayerCommand) -> str:
        """Return why a command cannot be done; empty if it can."""
        if command.do == "show":
            return "" if command.panel in self._panels else f"this game has no {command.panel} to show"
        if command.do in ("pause", "pace"):
            return "the game is over" if self._now.is_over else ""
        if command.do == "aim":  # to aim at what is not legal now is no fault: it may be later
            return ""
        if command.do == "new":
            is_on = self.table.card is None or (self._decides and self._now.tick)
            return "there is no other game yet; resign to end this one" if is_on else ""
        if self._has_resigned:
            return "you have resigned"
        return why_not(self._now, self.table.seat, command.target if command.do == "launch" else None)

    def _do(self, command: PlayerCommand) -> None:
        if command.do == "pause":
            self._is_paused = command.is_on
            self._save()
        elif command.do == "pace":
            self._pace = command.pace
            if self._due is not None:
                self._due = min(self._due, time.monotonic() + self._interval)
        elif command.do == "show" or command.do == "aim":
            self._aim = command if command.do == "aim" else self._aim
            self._open.pop(command.panel, None)
            if command.is_on:
                self._open[command.panel] = NEVER, None
        elif command.do == "resign":
            self._has_resigned, self._queued = True, None
            self._save()
        elif command.do == "launch":
            self._queued, self._has_decided = command, True
        elif command.do == "hold":
            self._queued, self._has_decided = None, True
        elif command.do == "new":
            self._begin_next(command.wish)
        else:
            assert_never(command.do)

    def _begin_next(self, wish: Wish | None) -> None:
        """Save the replay and begin the game that is wished for."""
        self._save()
        if self.save_error is not None:
            raise RefusedError(f"the replay cannot be written: {self.save_error}")
        self._begin(self._make(wish))

    # ---- the end -------------------------------------------------------------------------------------

    def _save(self) -> None:
        """Write the replay as far as it goes, unless it has been; a full disk does not end the game."""
        if self._recorder is None or self._now.tick == self.replays.get(self.table.save, 0):
            return
        try:
            self._recorder.replay().save(self.table.save)
        except OSError as error:
            self.save_error = error
        else:
            self.save_error, self.replays[self.table.save] = None, self._now.tick

    def _end(self) -> None:
        """Save the replay, and release all who wait."""
        try:
            self._save()
        finally:
            self.situations.close()
            self.film.close(is_whole=False)
            self._is_ended = True
            while not self._inbox.empty():
                pending = self._inbox.get()
                if pending is not None and pending[1].set_running_or_notify_cancel():
                    pending[1].set_exception(RefusedError(ENDED))
            if self._recorder is not None:
                self._recorder.close()
