"""``territorial play``: a person plays against bots and trained policies, on a page in the browser."""

from __future__ import annotations

import argparse
import secrets
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from territorial.cli import options, snapshots
from territorial.cli.demo import begin
from territorial.cli.options import UsageError, blamed_on, explained
from territorial.cli.pages import add_server_options, serve
from territorial.config import GameConfig
from territorial.engine.seats import AGENT, CustomBot, Seat, shown_names
from territorial.engine.vec_game import VecGame
from territorial.evaluation.players import Acting, Player, is_acting, named_bot
from territorial.jit import warmup
from territorial.league import SnapshotError
from territorial.play.commands import FASTEST, STEP
from territorial.play.panels import Look, advice_of, chooser, sight_of
from territorial.play.server import PlayServer
from territorial.play.session import Session
from territorial.render.web import page
from territorial.replay.replay import SUFFIX, checked_names

EXAMPLES = """\
  territorial play                            you and 31 others
  territorial play --map europe --pace 40     another map, twice as quick
  territorial play --pace step                the game waits for your decisions
  territorial play --num-players 2 --opponent turtle
  territorial play --opponent style:mine.json --opponent net:one.safetensors
  territorial play --opponent snapshot:main-12 --store snapshots
  territorial play --spectate --pace 200      watch bots alone
  territorial play --no-open --port 9000      then ssh -L 9000:localhost:9000
"""

DEFAULT_PACE = 20
PERSON = "person"


def add_parser(verbs: Any) -> None:
    """Add this verb to the command line."""
    summary = "play a game yourself against bots and trained policies, in the browser"
    parser = options.new_parser(verbs, "play", summary, EXAMPLES)
    parser.add_argument(
        "--seat", type=options.whole(1, 250), default=1, metavar="N", help="your seat; 1 to P (default 1)"
    )
    parser.add_argument(
        "--person", default=PERSON, metavar="NAME", help=f"your name in the replay (default {PERSON})"
    )
    parser.add_argument(
        "--opponent",
        action="append",
        metavar="PLAYER",
        dest="opponents",
        help="player among the others: a bot, module:Class, style:FILE, net:FILE or snapshot:NAME; "
        f"repeat the option for more (default {options.CHAMPION}, unless --seats is given)",
    )
    parser.add_argument(
        "--advisor",
        metavar="PLAYER",
        help="player whose suggested moves the page can show (key P; same forms as --opponent; default "
        f"{options.CHAMPION})",
    )
    parser.add_argument(
        "--pace",
        type=_pace,
        default=DEFAULT_PACE,
        metavar="N",
        help=f"ticks a second, 1 to {FASTEST}, or the word step: the game waits for each of your decisions "
        f"(default {DEFAULT_PACE})",
    )
    parser.add_argument("--spectate", action="store_true", help="take no seat, and watch")
    parser.add_argument(
        "--save",
        metavar="FILE",
        help="file of the replay, which is always written (default territorial-SEED-TIME.replay, here)",
    )
    add_server_options(parser).add_argument(
        "--no-open", action="store_true", help="do not open the page in a browser"
    )
    parser.add_argument(
        "--seed",
        type=options.whole(0, options.SEED_LIMIT - 1),
        metavar="N",
        help=explained("--seed", "equal seeds give equal maps", "0 to 2**64 - 1", default="a new one"),
    )
    options.add_seats_option(parser, has_champion=True)
    snapshots.add_options(parser)
    options.add_json_option(parser)
    options.add_config_options(parser)
    parser.set_defaults(run=run)


def _pace(text: str) -> int | None:
    """Return ticks a second; None for a game that waits."""
    if text == STEP:
        return None
    try:
        return options.whole(1, FASTEST)(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}, nor the word {STEP}") from None


def run(parsed: argparse.Namespace) -> int:
    """Serve the game until it is interrupted, and say where its replay is."""
    options.check_json(parsed)
    config = options.config_of(parsed)
    seed = secrets.randbelow(2**31) if parsed.seed is None else parsed.seed
    usual = time.strftime(f"territorial-{seed}-%Y%m%d-%H%M%S{SUFFIX}")
    save = Path(parsed.save or options.new_name(usual))
    options.check_writable("--save", save, options.REPLAY)
    seats, names, acting, advisor = table_of(parsed, config)
    with options.enough_memory("--height, --width, --num-players", f"a game of {options.size_of(config)}"):
        observers = (player for player in (*acting.values(), advisor) if is_acting(player))
        frames = max((player.frames for player in observers), default=None)
        game = begin(config, seats, seed, is_recorded=True, frames=frames)
        panels = {} if advisor is None else _panels(parsed, game, advisor, seed)
        with blamed_on("--opponent", SnapshotError):
            policies = {seat: chooser(one, seat, game, seed) for seat, one in acting.items()}
    session = Session(
        game,
        0 if parsed.spectate else parsed.seat,
        names,
        pace=parsed.pace,
        save=save,
        title=f"{'bots' if parsed.spectate else names[parsed.seat - 1]}, seed {seed}",
        policies=policies,
        panels=panels,
    )
    danger = "and gets this address, unencrypted as it is, can play your seat"
    make, more = partial(PlayServer, page(is_played=True), session), {"replay": str(save)}
    with _ends_like_ctrl_c():
        serve(parsed, make, session.run, session.stop, danger, is_opened=not parsed.no_open, **more)
    if session.save_error is not None:
        raise session.save_error
    if session.saved_tick:
        print(f"replay of {session.saved_tick:,} ticks: {save}", file=sys.stderr)
    else:
        print("no replay: the game has not begun", file=sys.stderr)
    return 0


# ---- who plays -------------------------------------------------------------------------------------


def table_of(
    parsed: argparse.Namespace, config: GameConfig
) -> tuple[list[Seat], tuple[str, ...], dict[int, Acting], Player | None]:
    """Return the person and the others: opponents next to the person, the line-up on all other seats.

    These are seats and names of all, by seat the policies that act on observations, and who advises the
    person.
    Where the person has taken the champion's seat, that is the opponent unless others were asked for. It is
    also who advises the person, unless another was asked for.
    """
    players = config.num_players
    if parsed.seat > players:
        raise UsageError(f"argument --seat: {parsed.seat}; there are seats 1 to {players} (--num-players)")
    seats, policies = list(options.seats_of(parsed, config)), dict[int, Acting]()
    named = dict[int, str]()
    if not parsed.spectate:
        seats[parsed.seat - 1], named[parsed.seat] = AGENT, parsed.person
    elif parsed.advisor is not None:
        raise UsageError(
            f"argument --advisor: {parsed.advisor!r} advises who has a seat, and --spectate takes none; "
            "leave one of the two out"
        )
    advisors = [] if parsed.spectate else [parsed.advisor or options.CHAMPION]
    (advisor,) = _players(parsed, "--advisor", advisors) or (None,)
    is_displaced = parsed.seats == options.USUAL_SEATS and parsed.seat == 1 and not parsed.spectate
    texts = parsed.opponents or ([options.CHAMPION] if is_displaced else [])
    if len(texts) > (most := players - (not parsed.spectate)):
        raise UsageError(f"argument --opponent: {len(texts)} opponents; there are seats for {most}")
    first = parsed.seat - bool(parsed.spectate)
    free = (*range(first + 1, players + 1), *range(1, first + 1))
    for seat, name, opponent in zip(free, texts, _players(parsed, "--opponent", texts), strict=False):
        if isinstance(opponent, str | CustomBot):
            seats[seat - 1] = opponent
        else:
            seats[seat - 1], policies[seat], named[seat] = AGENT, opponent, name
    names = [named.get(seat, name) for seat, name in enumerate(shown_names(seats), start=1)]
    with blamed_on("--person", ValueError):
        return seats, checked_names("names", names, players), policies, advisor


def _players(parsed: argparse.Namespace, option: str, texts: Sequence[str]) -> list[Player]:
    """Return the players that the texts of ``option`` name: policies, and bots as seats take them."""
    with blamed_on(option, ValueError, SnapshotError):
        players = snapshots.players_of(parsed, texts)
        return [
            player if is_acting(player) else named_bot(text)
            for text, player in zip(texts, players, strict=True)
        ]


def _panels(parsed: argparse.Namespace, game: VecGame, advisor: Player, seed: int) -> dict[str, Look]:
    """Return what the page can show beside the game, with all compiled that it needs."""
    progress = warmup.progress("territorial: compiling what the page can show")
    with progress, blamed_on("--advisor", SnapshotError):
        advise, look = advice_of(advisor, game, parsed.seat, seed), sight_of(game, parsed.seat)
        advise(game), look(game)

    def advice(game: VecGame) -> dict[str, Any]:
        return {
            "name": parsed.advisor or options.CHAMPION,
            "options": [option._asdict() for option in advise(game)],
        }

    return {"advice": advice, "sight": look}


# ---- as a server -----------------------------------------------------------------------------------


@contextmanager
def _ends_like_ctrl_c() -> Iterator[None]:
    """Within the block, closing the terminal or ending the process saves the game, as Ctrl-C does."""
    is_main = threading.current_thread() is threading.main_thread()  # only there can it be asked for
    names = [name for name in ("SIGTERM", "SIGHUP") if is_main and hasattr(signal, name)]
    before = {name: signal.signal(getattr(signal, name), signal.default_int_handler) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)
