"""``territorial play``: people play against bots and trained policies, on a page in the browser."""

import argparse
import secrets
import time
from collections.abc import Callable, Container, Iterator
from functools import cache, partial
from itertools import count, cycle
from pathlib import Path
from typing import Any

from territorial._log import LOG
from territorial.browser.commands import FASTEST, LEVELS, STEP, Wish, WishError, person_name
from territorial.browser.panels import Look, advice_of, agent_view, chooser
from territorial.browser.play_server import PlayServer
from territorial.browser.session import Session, Table
from territorial.browser.web import page
from territorial.cli import options, snapshots
from territorial.cli.demo import begin
from territorial.cli.options import UsageError, blamed_on, explained
from territorial.cli.pages import add_server_options, serve
from territorial.config import GameConfig
from territorial.config.map_names import ALL_MAPS
from territorial.constants import LARGEST_SEED
from territorial.engine.seats import AGENT, CustomBot, Seat, shown_names
from territorial.engine.vec_game import VecGame
from territorial.evaluation.players import SNAPSHOT, ActingPolicy, Player, in_games, is_acting
from territorial.evaluation.schedule import DEFAULT_FIELD
from territorial.league import SnapshotError
from territorial.replay.replay import SUFFIX, checked_names

EXAMPLES = """\
  territorial play                            a card asks for the rest
  territorial play --level champion           what the card begins with
  territorial play --map europe --pace 40     another map, twice as quick
  territorial play --pace step                the game waits for your decisions
  territorial play --num-players 2 --opponent turtle
  territorial play --opponent style:mine.json --opponent net:one.safetensors
  territorial play --opponent snapshot:main-12 --store snapshots
  territorial play --people 2 --host 0.0.0.0  two people on one network
  territorial play --spectate --pace 200      watch a game of bots
  territorial play --no-open --port 9000      then ssh -L 9000:localhost:9000
"""

DEFAULT_PACE = 20
DEFAULT_LEVEL = "easy"
PERSON = "person"
MOST_PEOPLE = 8


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
        "--people",
        type=options.whole(1, MOST_PEOPLE),
        default=1,
        metavar="N",
        help="people who play, each with an address of their own, on the seats from --seat on; "
        f"1 to {MOST_PEOPLE} (default 1)",
    )
    parser.add_argument(
        "--level",
        choices=LEVELS,
        help=f"who the others are; not with --seats and --opponent (default {DEFAULT_LEVEL})",
    )
    parser.add_argument(
        "--opponent",
        action="append",
        metavar="PLAYER",
        dest="opponents",
        help="player among the others: a bot, module:Class, style:FILE, net:FILE or snapshot:NAME; "
        "repeat the option for more",
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
        type=options.whole(0, LARGEST_SEED),
        metavar="N",
        help=explained("--seed", options.SEEDS_OF_GAMES, "0 to 2**64 - 1", default="a new one"),
    )
    options.add_seats_option(
        parser,
        has_champion=True,
        default=f"by --level; beside --opponent {DEFAULT_FIELD}",
    )
    snapshots.add_options(parser)
    options.add_report(parser, run)
    options.add_config_options(parser)
    parser.set_defaults(others=None)


def _pace(text: str) -> int | None:
    """Return ticks a second; None for a game that waits."""
    if text == STEP:
        return None
    try:
        return options.whole(1, FASTEST)(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}, nor the word {STEP}") from None


def run(parsed: argparse.Namespace) -> int:
    """Serve games until it is interrupted, and say where their replays are."""
    first, numbers, load = _settled(parsed), count(1), cache(partial(_player, parsed))
    table_of(first, _config(first), load)  # before anything is compiled

    def make(wish: Wish | None) -> Table:
        try:
            asked = first if wish is None else _settled(_wished(parsed, wish, session.replays))
            return _create_table(asked, numbers, load, _card(asked) | _choices(parsed))
        except UsageError as error:
            message = str(error).removeprefix("argument ").replace("num_players", "players")  # as on the card
            raise error if wish is None else WishError(message) from None

    session = Session(make, pace=parsed.pace, is_paused=True, num_people=parsed.people)
    make_server = partial(PlayServer, page(is_played=True), session)
    danger = "and gets this address, unencrypted as it is, can play your seat"
    more = {} if parsed.save is None else {"replay": str(first.save)}  # the usual name depends on the card
    serve(parsed, make_server, session.run, session.stop, danger, is_opened=not parsed.no_open, **more)
    if session.save_error is not None:
        raise session.save_error
    reports = [f"replay of {ticks:,} ticks: {path}" for path, ticks in session.replays.items()]
    # Not on stdout, which may have begun with the JSON of the address; --quiet does not hide it.
    LOG.warning("\n".join(reports) or "no replay: the game has not begun")
    return 0


# ---- which game ------------------------------------------------------------------------------------


def _settled(parsed: argparse.Namespace) -> argparse.Namespace:
    """Return the options of a game with its seed and the file of its replay, which may be left open."""
    seed = secrets.randbelow(2**31) if parsed.seed is None else parsed.seed
    save = Path(parsed.save or options.new_name(time.strftime(f"territorial-{seed}-%Y%m%d-%H%M%S{SUFFIX}")))
    options.check_writable("--save", save, options.REPLAY)
    return argparse.Namespace(**(vars(parsed) | {"seed": seed, "save": save}))


def _config(parsed: argparse.Namespace) -> GameConfig:
    """Return the config of a game whose seed is settled; at a level, its bots have a handicap."""
    config = options.config_of(parsed, seed=parsed.seed)
    return (
        config
        if level_of(parsed) is None or "handicap" in dict(parsed.assignments)
        else config.replace(handicap=True)
    )


def _wished(parsed: argparse.Namespace, wish: Wish, saved: Container[Path]) -> argparse.Namespace:
    """Return the options of the game that a player wishes, which are those of ``parsed`` for all else.

    WishError for fewer players than the options need. ``saved``: the replays of the games before.
    """
    least = max(parsed.seat, (not parsed.spectate) + (0 if wish.level else len(parsed.opponents or ())))
    if wish.players < least:
        raise WishError(f"players is {wish.players}; the command line requires at least {least}")
    changed: dict[str, Any] = {"num_players": wish.players, "person": wish.name, "seed": wish.seed}
    changed |= {"others": wish.others} | ({} if wish.map is None else {"map": wish.map})
    changed["assignments"] = [(field, value) for field, value in parsed.assignments if field not in changed]
    if wish.level is not None:
        changed |= {"level": wish.level, "seats": options.USUAL_SEATS, "opponents": None}
    if parsed.save is not None and Path(parsed.save) in saved:
        changed["save"] = options.new_name(parsed.save)
    return argparse.Namespace(**(vars(parsed) | changed))


def _create_table(
    parsed: argparse.Namespace,
    numbers: Iterator[int],
    load: Callable[[str, str], Player],
    card: dict[str, Any],
) -> Table:
    """Return a game at its first tick, which may have to compile; the next of ``numbers`` is in its title."""
    config, seed = _config(parsed), parsed.seed
    seats, names, acting, advisor = table_of(parsed, config, load)
    with options.enough_memory("--height, --width, --num-players", f"a game of {options.size_of(config)}"):
        observers = (player for player in (*acting.values(), advisor) if is_acting(player))
        frames = max((player.frames for player in observers), default=None)
        game = begin(config, seats, seed, is_recorded=True, frames=frames)
        sitting = seats_of_people(parsed, config.num_players)
        panels = {seat: _panels(parsed, game, advisor, seat, seed) for seat in sitting if seat and advisor}
        with blamed_on("--opponent", SnapshotError):
            policies = {at: chooser(one, at, game, seed) for at, one in acting.items()}
    people, number = [names[seat - 1] for seat in sitting if seat], next(numbers)
    title = _title(parsed, people, config) + (f", game {number}" if number > 1 else "")
    return Table(game, sitting, names, parsed.save, title, policies, panels, card)


def _title(parsed: argparse.Namespace, people: list[str], config: GameConfig) -> str:
    """Return who plays against whom, such as "You against 31 easy bots"."""
    level, others = level_of(parsed), config.num_players - len(people)
    who = "You" if people and parsed.people == 1 else " and ".join(people)
    bots = f"{others} {f'{level} bot' if level else 'player'}{'s' if others > 1 else ''}" if others else ""
    return (" and " if config.teams else " against ").join(filter(None, (who, bots)))


def _card(parsed: argparse.Namespace) -> dict[str, Any]:
    """Return the game of the options as the start card has it; a level or map of no name is None."""
    config = options.config_of(parsed)
    return {
        "level": level_of(parsed),
        "players": config.num_players,
        "map": str(config.map) if str(config.map) in ALL_MAPS else None,
        "name": parsed.person,
        "seed": str(parsed.seed),
    }


def _choices(parsed: argparse.Namespace) -> dict[str, Any]:
    """Return what the start card offers, and what the options give, which the page need not remember."""
    card, assigned = _card(parsed), dict(parsed.assignments)
    is_given = {
        "level": parsed.level is not None or card["level"] is None,
        "players": parsed.num_players is not None or "num_players" in assigned,
        "map": parsed.map is not None or "map" in assigned,
        "name": parsed.person != PERSON,
        "seed": parsed.seed is not None,
    }
    return {
        "levels": list(LEVELS),
        "maps": list(ALL_MAPS),
        "given": {name: card[name] for name, is_so in is_given.items() if is_so},
    }


# ---- who plays -------------------------------------------------------------------------------------


def table_of(
    parsed: argparse.Namespace, config: GameConfig, load: Callable[[str, str], Player]
) -> tuple[list[Seat], tuple[str, ...], dict[int, ActingPolicy], Player | None]:
    """Return the people and the others: opponents next to the people, the line-up on all other seats.

    These are seats and names of all, by seat the policies that act on observations, and who advises the
    people. ``load`` returns the player that the text of an option names.
    The bots of a level are dealt in turn to all seats after those of the people. The champion advises the
    people, unless another was asked for.
    """
    players, level = config.num_players, level_of(parsed)
    people = dict(zip(seats_of_people(parsed, players), _people(parsed), strict=True))
    in_turn = (*range(parsed.seat, players + 1), *range(1, parsed.seat))
    free = [seat for seat in in_turn if seat not in people]
    seats, policies, named = (
        list(options.seats_of(parsed, config)),
        dict[int, ActingPolicy](),
        dict[int, str](),
    )
    for seat, bot in zip(free, cycle(LEVELS[level]) if level else (), strict=False):
        seats[seat - 1] = bot
    with blamed_on("--person", ValueError):
        for seat, name in people.items():
            if name is not None:
                seats[seat - 1], named[seat] = AGENT, person_name("name", name)
    if parsed.spectate and parsed.advisor is not None:
        raise UsageError(
            f"argument --advisor: {parsed.advisor!r} has no seat to advise, because --spectate takes none; "
            "use only one of the two options"
        )
    advisor = None if parsed.spectate else load("--advisor", parsed.advisor or options.CHAMPION)
    texts = parsed.opponents or []
    if len(texts) > (most := len(free)):
        raise UsageError(f"argument --opponent: {len(texts)} opponents; at most {most} fit (--num-players)")
    for seat, name, opponent in zip(free, texts, map(partial(load, "--opponent"), texts), strict=False):
        if isinstance(opponent, str | CustomBot):
            seats[seat - 1] = opponent
        else:
            seats[seat - 1], policies[seat] = AGENT, opponent
        if name.startswith(SNAPSHOT):
            named[seat] = name
    names = [named.get(seat, name) for seat, name in enumerate(shown_names(seats), start=1)]
    with blamed_on("--person", ValueError):
        return seats, checked_names("names", names, players), policies, advisor


def seats_of_people(parsed: argparse.Namespace, players: int) -> list[int]:
    """Return by person the seat in a game of so many players; 0 for those who have none."""
    if parsed.seat > players:
        raise UsageError(f"argument --seat: {parsed.seat}; it must be from 1 to {players} (--num-players)")
    if parsed.spectate and parsed.people > 1:
        raise UsageError(
            f"argument --people: {parsed.people} people take seats, but --spectate takes none; use only one "
            "of the two options"
        )
    names, seats = _people(parsed), count(parsed.seat - 1)
    if (sitting := len(names) - names.count(None)) > players:
        raise UsageError(f"argument --people: {sitting}; it must be at most {players} (--num-players)")
    return [0 if name is None else next(seats) % players + 1 for name in names]


def _people(parsed: argparse.Namespace) -> list[str | None]:
    """Return the names of the people; None for those who have no seat."""
    others = [f"{PERSON} {number}" for number in range(2, parsed.people + 1)]
    return [None if parsed.spectate else parsed.person, *(others if parsed.others is None else parsed.others)]


def level_of(parsed: argparse.Namespace) -> str | None:
    """Return the level whose bots play; None: those that the options name do."""
    if parsed.seats == options.USUAL_SEATS and not parsed.opponents:
        return str(parsed.level or DEFAULT_LEVEL)
    if parsed.level is None:
        return None
    raise UsageError(
        f"argument --level: {parsed.level!r} selects the bots, as do --seats and --opponent; use only one of "
        "these options"
    )


def _player(parsed: argparse.Namespace, option: str, text: str) -> Player:
    """Return the player that the text of ``option`` names: a policy, or a bot as seats take it."""
    with blamed_on(option, ValueError, SnapshotError):
        return in_games(*snapshots.players_of(parsed, [text]))


def _panels(
    parsed: argparse.Namespace, game: VecGame, advisor: Player, seat: int, seed: int
) -> dict[str, Look]:
    """Return what the page of a seat can show, which is compiled when it is first asked for."""
    with blamed_on("--advisor", SnapshotError):
        advise = advice_of(advisor, game, seat, seed)
        if is_acting(advisor):
            advise(game)  # which is refused now, not when the page first asks for it
    look = cache(partial(agent_view, game, seat))

    def advice(game: VecGame) -> dict[str, Any]:
        return {
            "name": parsed.advisor or options.CHAMPION,
            "options": [option._asdict() for option in advise(game)],
        }

    return {"advice": advice, "agent_view": lambda game: look()(game)}
