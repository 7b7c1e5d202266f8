"""``Session``: the thread that plays a person's games one after the other.

Threads of the server only put commands into a queue and wait for the answer. So the game is never called by
two threads, and its pace does not depend on what clients send.
"""

import json
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, assert_never

import numpy as np
import numpy.typing as npt

from territorial.bots import PythonBot
from territorial.browser.commands import STEP, PlayerCommand, TakeOver, Wish, WishError
from territorial.browser.film import show, write_film
from territorial.browser.mcp import ModelBot
from territorial.browser.panels import Choose, Look
from territorial.browser.server import Feed
from territorial.browser.situation import Situation, situation_of, why_not
from territorial.constants import FRACTIONS
from territorial.engine.seats import Seat
from territorial.engine.vec_game import VecGame
from territorial.evaluation.what_if import CostlyLaunch, costliest_launch
from territorial.observation.action_encoding import HOW_MUCH, WHAT, target_of_owner
from territorial.replay import LiveGame, Recorder, Replay


class Person:
    """The person of one game: what the pages have chosen, and what they look at.

    Args:
        seat: 1..P; 0 watches.
        now: the game as this seat sees it.
        panels: by name, what the pages can show beside the game.

    """

    def __init__(self, seat: int, now: Situation, panels: Mapping[str, Look]) -> None:
        self.seat, self.now, self.panels = seat, now, panels
        self.open = dict[str, tuple[int, Any]]()  # the panels that are open, with the tick of what they show
        self.aim = PlayerCommand("aim")  # what the forecast is of
        self.queued: PlayerCommand | None = None
        self.has_decided = self.has_resigned = False
        self.costliest: CostlyLaunch | None = None  # of its launches, once that has been found out

    @property
    def decides(self) -> bool:
        """Whether there are decisions to make."""
        return self.now.is_alive and not self.now.is_over and not self.has_resigned


ANSWER_SECONDS = 5
"""After these a command that has not begun is refused: the bots of the game take too long."""
ENDED = "the session has ended"


class RefusedError(Exception):
    """The session refuses a command; the message has the reason."""


class BusyError(RefusedError):
    """The game takes too long."""


# A command on its way to the thread of the game, and where its answer goes.
_Pending = tuple[PlayerCommand, Future[bytes]]


class Table(NamedTuple):
    """A game that a person plays, and all that belongs to it.

    Args:
        game: a batch of one with autoreset "disabled", after ``reset``. From here on it is the session's.
        seat: of the person, 1..P, which must be "agent" or "external"; 0: the person watches.
        names: what the P seats are called, in the film and in the replay.
        save: the file of the replay.
        title: of the film; each game of a session has another one, by which pages notice a new game.
        policies: what chooses the actions of other seats that are "agent" or "external", by seat.
        panels: by name, what the page can show beside the game. They are asked while they are open and the
            person has decisions to make, and must not change the game.
        card: what the page shows of this game and offers for the next one, as values that JSON has; None:
            there is no next game.
        before: the replay that the game goes on from; None: it begins at tick 0.
        players: by name, the bots that are not the library's.

    """

    game: VecGame
    seat: int
    names: Sequence[str]
    save: Path
    title: str
    policies: Mapping[int, Choose] = {}
    panels: Mapping[str, Look] = {}
    card: Mapping[str, Any] | None = None
    before: Replay | None = None
    players: Mapping[str, Seat] = {}


class Branch(NamedTuple):
    """A game that goes on from a moment of the last one, whose replay is ``before``."""

    before: Replay
    tick: int
    seat: int


class Session:
    """Plays one game after the other with a person at one of its seats; ``run`` does that, in one thread.

    A game stands still while no page shows it (``page_open``), and the first one until it is no longer
    paused if ``is_paused``. A further game waits for a page that is opened after it has begun, because pages
    of the game before it load again. A game takes a decision every ``decision_every`` ticks, at ``pace``.
    Whenever the last page is closed, when the game is paused, when the person is out or the game is over,
    before the next game, and when the session is stopped, the replay is saved.

    A game with a ``ModelBot`` also waits for its decisions. Where nobody else plays, it goes on without a
    page, as fast as the model decides. The session ends once the client of the model has gone and no page is
    open.

    Args:
        make: returns the first game for None, and a game as a player wishes, or from a moment of the last
            one. It is called in the thread of ``run``, which is the only one that then calls the game, and
            raises WishError for a game that there cannot be.
        pace: ticks a second; None: the game waits for each decision of the person.
        is_paused: whether the first game is paused as it begins.

    Attributes:
        situations: what the pages are told, as JSON.
        save_error: what kept the replay from being saved, the last time.
        replays: up to which tick the replays of all games have been written, by file.

    """

    person: Person  # of the game that is played now

    def __init__(
        self, make: Callable[[Wish | Branch | None], Table], *, pace: int | None, is_paused: bool = False
    ) -> None:
        self.film = Feed()
        self.situations = Feed(has_newest_alone=True)
        self.save_error: OSError | None = None
        self.replays = dict[Path, int]()
        self._make, self._pace, self._is_paused = make, pace, is_paused
        self._recorder: Recorder | None = None
        self._inbox = queue.SimpleQueue[_Pending | None]()
        self._pages, self._pages_lock = 0, threading.Lock()
        self._is_loading = False  # no page has been opened since the game took the place of another one
        self._told: tuple[int, CostlyLaunch | None] = 1, None
        self._model: ModelBot | None = None
        self._is_model_ready = True  # nothing is asked of it now
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
        """Play until ``stop``, an error, or the end of a model's client."""
        try:
            self._begin(self._make(None))
            while not self._is_stopped and (self._pages or self._model is None or not self._model.has_left):
                self._take_turn()
        finally:
            self._end()

    def _take_turn(self) -> None:
        """Play a due decision; execute commands that are there, or come before the next decision is due."""
        if self._model is not None:
            is_ready, has_left = self._model.attend(), self._model.has_left
            if has_left and not self._pages:  # nothing is to come
                return
            self._is_model_ready = is_ready or has_left
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
        elif not self._is_stopped and self._aside != self._told:
            self._publish()

    def _begin(self, table: Table) -> None:
        """Show a game as it begins; the one before has been saved."""
        if self._recorder is not None:
            self._recorder.close()
            self.film.close()
            self.film, self._is_paused, self._is_loading = Feed(), False, True
        self.table, self._game, self._policies = table, table.game, table.policies
        self._model = next((bot for bot in table.players.values() if isinstance(bot, ModelBot)), None)
        if self._model is not None:
            self._model.sit(table.game, table.names, partial(self._inbox.put, None))
        panels = {**table.panels, "forecast": self._forecast}
        self.person = Person(table.seat, situation_of(table.game, table.seat), panels)
        self._recorder = Recorder(table.game, names=table.names, before=table.before)
        source = LiveGame(table.game, actions=self._actions, names=table.names)
        self._pieces = write_film(*show(source, table.title, table.game.config.decision_every))
        self._show()

    def _wait(self) -> float | None:
        """Return the seconds to the next decision; None: there is none before a command."""
        person = self.person
        plays_alone = self._model is not None and not person.seat
        is_halted = self._is_paused or self._is_loading if self._pages else not plays_alone
        stands = person.now.is_over or is_halted or not self._is_model_ready
        is_awaited = self._pace is None and person.decides
        if stands or is_awaited:
            self._due = None
            return None if stands or not person.has_decided else 0
        if self._due is None:
            self._due = time.monotonic() + self._interval
        return self._due - time.monotonic()

    @property
    def _interval(self) -> float:
        """Seconds from one decision to the next; none where nobody watches."""
        if not self._pages:
            return 0
        # Where nobody decides any more, a game that waits for decisions plays 200 ticks a second.
        return self._game.config.decision_every / (self._pace or 200)

    def _actions(self, game: VecGame) -> npt.NDArray[np.int64]:
        """Return the actions of all seats, (1, P, 2): of the person the queued one, which is used up."""
        actions = np.zeros((1, game.config.num_players, 2), np.int64)
        for seat, choose in self._policies.items():
            if game.state.alive[0, seat]:
                actions[0, seat - 1] = choose(game)
        person = self.person
        if person.queued is not None:
            what = target_of_owner(person.queued.target, person.seat, game.config.num_players)
            actions[0, person.seat - 1, WHAT] = what
            actions[0, person.seat - 1, HOW_MUCH] = person.queued.share
        person.queued, person.has_decided = None, False
        return actions

    def _show(self) -> None:
        """Add a frame to the film, for which a decision is taken, and tell pages how the game stands."""
        piece, person = next(self._pieces), self.person
        was_alive, person.now = person.now.is_alive, situation_of(self._game, person.seat)
        self.film.append(piece)
        if person.now.is_over:
            self.film.append(next(self._pieces))
            self.film.close()
        if person.now.is_over or person.now.is_alive != was_alive:
            self._save()
        if was_alive and not (person.now.is_alive and not person.now.is_over):
            self._judge(person)
        self._publish()

    def _judge(self, person: Person) -> None:
        """Find out in the background which launch cost a person most places, and then tell the pages.

        Nothing is found out where a policy plays, which cannot go on from a moment of the game, or a bot in
        Python, which this game may be asking meanwhile.
        """
        players = self.table.players
        is_compiled = not any(isinstance(bot, PythonBot) for bot in players.values())
        if self._recorder is None or self._policies or not is_compiled:
            return
        replay = self._recorder.replay()

        def judge() -> None:
            with suppress(ValueError):
                person.costliest = costliest_launch(replay, person.seat, players=players)
            self._inbox.put(None)

        threading.Thread(target=judge, daemon=True).start()

    def _publish(self) -> None:
        """Send the situation to all pages."""
        self._told = self._aside
        person, save, wait = self.person, self.table.save, self._wait()
        now, queued, (pages, costliest) = person.now, person.queued, self._aside
        situation = now._asdict() | {
            "number": self.situations.count + 1,
            "seat": person.seat,
            "title": self.table.title,
            "card": self._card,
            "openings": [opening._asdict() for opening in now.openings],
            "allies": [ally._asdict() for ally in now.allies],
            "costliest": None if costliest is None else costliest._asdict(),
            "queued": None if queued is None else {"target": queued.target, "share": queued.share},
            "wait_ms": None if wait is None else max(0, round(1000 * wait)),
            "is_paused": self._is_paused,
            "pages": pages,
            "has_decided": person.has_decided,
            "has_resigned": person.has_resigned,
            "pace": self._pace or STEP,
            "replay": str(save.absolute()) if save in self.replays else None,
            "panels": self._contents(),
        }
        self.situations.append(json.dumps(situation, separators=(",", ":")).encode())

    @property
    def _aside(self) -> tuple[int, CostlyLaunch | None]:
        """What changes while the game stands: the number of pages, and the costliest launch."""
        return max(1, self._pages), self.person.costliest

    @property
    def _card(self) -> Mapping[str, Any] | None:
        """What is offered for the next game; None as long as the person plays this one."""
        return None if self.person.decides and self.person.now.tick else self.table.card

    def _contents(self) -> dict[str, Any]:
        """Return the contents of the open panels, by name; None once the person has nothing to decide."""
        person = self.person
        for name, (shown, _) in person.open.items():
            if person.decides and shown != person.now.tick:
                person.open[name] = person.now.tick, person.panels[name](self._game)
        return {name: content if person.decides else None for name, (_, content) in person.open.items()}

    def _forecast(self, game: VecGame) -> dict[str, Any] | None:
        """Return the forecast of the launch that was aimed last; None if it is not legal."""
        person, aim = self.person, self.person.aim
        if why_not(person.now, person.seat, aim.target):
            return None
        return {"share": aim.share, **game.forecasts(0, person.seat, aim.target, FRACTIONS[aim.share])}

    # ---- commands ------------------------------------------------------------------------------------

    def _answer(self, command: PlayerCommand, answer: Future[bytes]) -> None:
        """Execute a command, or refuse it; commands of senders that left are dropped."""
        if not answer.set_running_or_notify_cancel():
            return
        try:
            if reason := self._refusal(command):
                raise RefusedError(reason)
            self._do(command)
            self._publish()
            answer.set_result(self.situations.read()[0] or b"")
        except (RefusedError, WishError) as error:
            answer.set_exception(error)
        except BaseException:
            answer.set_exception(RefusedError(ENDED))
            raise

    def _refusal(self, command: PlayerCommand) -> str:
        """Return why a command cannot be done; empty if it can."""
        person = self.person
        if command.do == "show":
            return "" if command.panel in person.panels else f"this game has no {command.panel} to show"
        if command.do == "aim":  # to aim at what is not legal now is no fault: it may be later
            return ""
        if command.do in ("pause", "pace"):
            return "the game is over" if person.now.is_over else ""
        if command.do in ("new", "take_over"):
            return "there is no other game yet; resign to end this one" if self._card is None else ""
        if person.has_resigned:
            return "you have resigned"
        return why_not(person.now, person.seat, command.target if command.do == "launch" else None)

    def _do(self, command: PlayerCommand) -> None:
        person = self.person
        if command.do == "pause":
            self._is_paused = command.is_on
            if self._is_paused:
                self._save()
        elif command.do == "pace":
            self._pace = command.pace
            if self._due is not None:
                self._due = min(self._due, time.monotonic() + self._interval)
        elif command.do == "show" or command.do == "aim":
            person.aim = command if command.do == "aim" else person.aim
            person.open.pop(command.panel, None)
            if command.is_on:
                person.open[command.panel] = -1, None  # nothing has been shown yet
        elif command.do == "launch" or command.do == "hold" or command.do == "resign":
            person.queued = command if command.do == "launch" else None
            person.has_decided, person.has_resigned = True, command.do == "resign"
            if command.do == "resign":
                self._save()
        elif command.do == "new" or command.do == "take_over":
            self._begin_next(command)
        else:
            assert_never(command.do)

    def _begin_next(self, command: PlayerCommand) -> None:
        """Save the replay and begin the next game: as wished, or from a moment of this one."""
        self._save()
        if self.save_error is not None:
            raise RefusedError(f"the replay cannot be written: {self.save_error}")
        wish: Any = command.wish
        if isinstance(wish, TakeOver) and self._recorder is not None:
            wish = Branch(self._recorder.replay(), *wish)
        self._begin(self._make(wish))

    # ---- the end -------------------------------------------------------------------------------------

    def _save(self) -> None:
        """Write the replay as far as it goes, unless it has been; a full disk does not end the game."""
        if self._recorder is None or self.person.now.tick == self.replays.get(self.table.save, 0):
            return
        try:
            self._recorder.replay().save(self.table.save)
        except OSError as error:
            self.save_error = error
        else:
            self.save_error, self.replays[self.table.save] = None, self.person.now.tick

    def _end(self) -> None:
        """Save the replay, and release all waiting senders."""
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
