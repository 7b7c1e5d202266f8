"""Sessions of a small game for tests, each with its thread, and a page that shows it."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import territorial
from territorial.browser import session as session_module
from territorial.browser.commands import STEP, PlayerCommand, Wish
from territorial.browser.panels import Look, advice_of, agent_view
from territorial.browser.play_server import PlayServer
from territorial.browser.session import Session, Table
from tests.render.support import running

SMALL = territorial.GameConfig(height=32, width=32, num_players=4, max_ticks=300)
SEATS = ("agent", "novice", "turtle", "banker")
NAMES = ("Ada", "novice", "turtle", "banker")
# How long to wait for anything: the first session on a machine compiles the engine.
SECONDS = 300
session_module.ANSWER_SECONDS = SECONDS
FREE = 0
HOLD = PlayerCommand("hold")


class Clock:
    """What a session takes for the time: it passes only where a test says so."""

    # Ticks a second.
    PACE = 1000

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds

    def pass_decisions(self, session: Session, number: int = 1) -> dict[str, Any]:
        """Let some decisions become due one by one, and return the situation after their ticks."""
        for _ in range(number):
            tick = now(session)["tick"]
            wait_for(lambda: session._due is not None)
            self.seconds = session._due
            wait_for(lambda tick=tick: now(session)["tick"] > tick)
        return now(session)

    def pass_in_vain(self, session: Session) -> None:
        """Let much time pass, and the session look at it twice; it must not play."""
        report = now(session)
        self.seconds += 1000
        for _ in range(2):
            pace = None if report["pace"] == STEP else report["pace"]
            assert json.loads(session.submit(PlayerCommand("pace", pace=pace)))["tick"] == report["tick"]


class KeptSession(Session):
    """One that keeps the error that ends it."""

    error: BaseException | None = None

    def run(self) -> None:
        try:
            super().run()
        except BaseException as error:
            self.error = error


@contextmanager
def session_of(
    save: Path,
    *,
    pace: int | None = None,
    seat: int = 1,
    seats: tuple[str, ...] = SEATS,
    config: territorial.GameConfig = SMALL,
    seed: int = 3,
    has_page: bool = True,
    names: tuple[str, ...] = NAMES,
    title: str = "a test",
    advisor: Any = None,
    is_paused: bool = False,
    make: Callable[[Wish | None], Table] | None = None,
    **options: Any,
) -> Iterator[KeptSession]:
    """Give a session that runs within the block; with an ``advisor`` it has panels to show.

    ``make`` returns the games; without it there is the one that the other arguments describe.
    """
    game = territorial.VecGame(config, 1, seats=seats, autoreset="disabled", observe=False)
    game.reset(seeds=[seed])
    if advisor is not None:
        options["panels"] = panels_of(game, seat, advisor)
    table = Table(game, seat, names[: len(seats)], save, title, **options)
    session = KeptSession(make or (lambda _: table), pace=pace, is_paused=is_paused)
    thread = threading.Thread(target=session.run)
    thread.start()
    try:
        wait_for(lambda: session.situations.count)
        with session.page_open() if has_page else nullcontext():
            yield session
    finally:
        session.stop()
        thread.join(SECONDS)
        assert not thread.is_alive()


def panels_of(game: territorial.VecGame, seat: int, advisor: Any) -> dict[str, Look]:
    """Return the panels of a seat, with all compiled that they need."""
    advise, look = advice_of(advisor, game, seat, seed=1), agent_view(game, seat)
    advise(game), look(game)

    def advice(game: territorial.VecGame) -> dict[str, Any]:
        options = [option._asdict() for option in advise(game)]
        return {"name": getattr(advisor, "name", advisor), "options": options}

    return {"advice": advice, "agent_view": look}


@contextmanager
def served(save: Path, page: bytes, **options: Any) -> Iterator[SimpleNamespace]:
    """Give a session and its server, and what a page of it knows: ``host`` and ``path``."""
    with session_of(save, **options) as session, running(PlayServer(page, session)) as server:
        host, port = server.server_address[:2]
        try:
            yield SimpleNamespace(
                session=session,
                server=server,
                address=(host, port),
                host=f"{host}:{port}",
                path=f"/{server.token}/",
            )
        finally:
            session.stop()  # which ends the streams


def wait_for(is_so: Callable[[], Any]) -> Any:
    """Return what ``is_so`` returns once that is true."""
    until = time.monotonic() + SECONDS
    while not (value := is_so()):
        assert time.monotonic() < until, "it did not come to that"
        time.sleep(0.002)
    return value


def now(session: Session) -> dict[str, Any]:
    """Return the newest situation."""
    report: dict[str, Any] = json.loads(session.situations.read()[0])
    return report


def decide(session: Session, command: PlayerCommand) -> dict[str, Any]:
    """Let a session that waits for decisions take one, and return the situation after its ticks."""
    tick = json.loads(session.submit(command))["tick"]
    wait_for(lambda: now(session)["tick"] > tick)
    return now(session)


def legal_in(report: dict[str, Any]) -> list[int]:
    """Return the owners that the player of a situation may attack."""
    return [opening["owner"] for opening in report["openings"] if not opening["reason"]]


def launch(target: int, share: int) -> PlayerCommand:
    """Return the command to launch."""
    return PlayerCommand("launch", target=target, share=share)
