"""Options that several verbs share, and the reports of results.

Those of games are made from the fields of GameConfig. One option name has one meaning in all verbs, and one
thing has one name. A verb may add details to a meaning, such as the range and the default, but it uses the
sentence of ``MEANINGS``.
"""

import argparse
import dataclasses
import json
import os
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from territorial import maps
from territorial.config import FIELDS, GameConfig
from territorial.config.fields import describe
from territorial.config.land_mask import LandMask
from territorial.config.map_mix import MapMix, checked_map
from territorial.config.validation import hint, whole_number_in
from territorial.constants import LARGEST_SEED
from territorial.engine.seats import LINEUPS, Seat
from territorial.evaluation.players import named_bot
from territorial.evaluation.schedule import CHAMPION, DEFAULT_FIELD, USUAL_SEATS, dealt
from territorial.files import atomic
from territorial.files.atomic import write_file
from territorial.files.png import SIGNATURE
from territorial.replay.file_format import MAGIC

NAMED_FIELDS = ("height", "width", "num_players", "map", "map_seed", "max_ticks", "teams")
"""Fields with an option of their own; ``--set`` reaches all."""

Run = Callable[[argparse.Namespace], int]
"""Does the work of a verb, and returns the exit code."""
INTERRUPTED = 130
"""The exit code after Ctrl-C: 128 and the number of SIGINT, as shells have it."""
SEEDS_OF_GAMES = "equal seeds give equal games, and equal maps unless --map-seed is given"
STDOUT = "-"
NO_PLOTS = "no plots: no game has ended yet"

MEANINGS: Mapping[str, str] = {
    "--address": "address of a running Ray cluster, HOST:PORT or the word auto, on which games are played",
    "--agent-seats": "seats of a game that learning agents control",
    "--animation": "write an animation of the game to FILE, which must end in .gif",
    "--capacity": "snapshots that the league keeps",
    "--chances": "play games on many times, and give the places that players could expect",
    "--env-runners": "processes that collect samples",
    "--epochs": "passes over the rows that are learned from",
    "--every": "ticks from one frame to the next",
    "--frames": "boards in the stack of an observation",
    "--games": "games to play",
    "--height": FIELDS["height"].metadata["help"],
    "--iteration-steps": "environment steps of a training iteration, over all games and env runners",
    "--json": "write the result as JSON to FILE",
    "--learning-rate": "learning rate of Adam",
    "--map-seed": FIELDS["map_seed"].metadata["help"],
    "--max-ticks": FIELDS["max_ticks"].metadata["help"],
    "--minibatch": "rows of a minibatch, each one agent's step",
    "--minutes": "minutes of the run at most",
    "--no-picture": "do not write a picture",
    "--num-games": "games that run side by side",
    "--num-maps": "generated maps, whose seeds count up from the map seed",
    "--num-players": FIELDS["num_players"].metadata["help"],
    "--page": "write an HTML page that shows the game in a browser to FILE",
    "--picture": "write a picture to FILE, which must end in .png",
    "--plots": "draw plots into FOLDER (needs matplotlib)",
    "--preset": "preset of `territorial train`, which sets all options that are not given",
    "--processes": "worker processes that play the games",
    "--quiet": "show no progress, only results, warnings and errors",
    "--seats": "who plays, by name and separated by commas",
    "--seed": "random seed",
    "--teams": FIELDS["teams"].metadata["help"],
    "--threads": "threads that step the games",
    "--width": FIELDS["width"].metadata["help"],
}
"""The meaning of every option that more than one verb has, or whose name could be mistaken for another's."""


def explained(option: str, *details: str, default: object = None) -> str:
    """Return the help of ``option``: its shared meaning, if it has one, then details, then the default."""
    text = "; ".join((MEANINGS[option], *details) if option in MEANINGS else details)
    return text if default is None else f"{text} (default {default})"


Option = tuple[str, dict[str, Any]]
"""An option, or an argument: its name, and what else ``add_argument`` takes."""


def option(name: str, *details: str, shown: object = None, **more: Any) -> Option:
    """Return an option with a help of ``explained``, in which the default is called as ``shown``."""
    return name, {"help": explained(name, *details, default=shown), **more}


def number(
    name: str,
    low: int,
    high: int,
    *details: str,
    default: int | None = None,
    shown: object = None,
    metavar: str = "N",
) -> Option:
    """Return an option for a whole number; its help ends with the range, and the default unless ``shown``."""
    span = f"{low} to {'2**64 - 1' if high == LARGEST_SEED else high}"
    called = default if shown is None else shown
    return option(name, *details, span, shown=called, type=whole(low, high), default=default, metavar=metavar)


def add(parser: Any, *given: Option) -> None:
    """Add options to a parser, or to a group of its options."""
    for name, about in given:
        parser.add_argument(name, **about)


# How manifests of snapshots, and styles, begin.
_OTHER_JSON = (b'{\n  "format"', b'{\n  "name"')
PICTURE, ANIMATION, REPLAY, PAGE, MAP, RESULT = (
    "a picture as PNG",
    "an animation as GIF",
    "a replay",
    "a page as HTML",
    "a map",
    "a result as JSON",
)
KINDS: Mapping[str, Callable[[bytes], bool]] = {
    PICTURE: lambda start: start.startswith(SIGNATURE),
    ANIMATION: lambda start: start.startswith(b"GIF8"),
    REPLAY: lambda start: start.startswith(MAGIC),
    PAGE: lambda start: start.lower().startswith(b"<!doctype html"),
    MAP: lambda start: start.startswith((SIGNATURE, b"\x93NUMPY")) or not start.strip(b".#\r\n"),
    RESULT: lambda start: (
        start == b"{}" or (start.startswith(b'{\n  "') and not start.startswith(_OTHER_JSON))
    ),
}
"""Kinds of files that commands write: whether one begins with these bytes."""


_HELPS = {
    "map": "map of the game: a kind (lakes), a kind with options (islands:count=6,bridges=4), a land "
    "(europe), a mix with weights (3*lakes + europe) or a file (.png, .npy, .txt); `territorial info maps` "
    f"lists the kinds (default {FIELDS['map'].default})",
    "teams": explained("--teams", "such as 4, or 1,1,2,2", default=FIELDS["teams"].metadata["none"]),
}


TYPED = {"command": "territorial"}
"""The command that is read, with its verb and its topic: messages begin with it."""


class Parser(argparse.ArgumentParser):
    """A parser, of the command line or of a verb, that suggests near names of options."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Return the parsed ``args``; unknown ones end the program here, where its options are known."""
        TYPED["command"] = self.prog  # parsers of verbs and topics are asked after those above them
        parsed, rest = super().parse_known_args(args, namespace)
        if rest:
            meant = hint(rest[0].partition("=")[0], self._option_string_actions)
            self.error(f"unrecognized arguments: {' '.join(rest)}{meant}")
        return parsed, rest

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            error.message += hint(value, action.choices or ())
            raise


class UsageError(Exception):
    """An impossible request; the message names the argument, its value and its range."""


@contextmanager
def blamed_on(argument: str, *kinds: type[Exception]) -> Iterator[None]:
    """Within the block, attribute errors to ``argument``: OSError, which names its file, and ``kinds``."""
    start = f"argument {argument}: " if argument else ""
    try:
        yield
    except OSError as error:
        named = error.filename is not None
        raise UsageError(start + (f"{error.filename!r}: {error.strerror}" if named else str(error))) from None
    except kinds as error:
        raise UsageError(f"{start}{error}") from None


def new_parser(
    verbs: Any, name: str, summary: str, examples: str, run: Run | None = None
) -> argparse.ArgumentParser:
    """Return a new parser of the verb ``name``; ``examples`` end its help, and ``run`` does its work."""
    parser: argparse.ArgumentParser = verbs.add_parser(
        name,
        help=summary,
        description=textwrap.fill(f"{summary[0].upper()}{summary[1:]}.", 78),
        epilog="examples:\n" + examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    # Where it is not given, a topic does not take it from its verb.
    parser.add_argument("--quiet", action="store_true", default=argparse.SUPPRESS, help=explained("--quiet"))
    parser.set_defaults(run=run)
    return parser


# ---- the config of a game --------------------------------------------------------------------------


def add_config_options(parser: argparse.ArgumentParser, named: Sequence[str] = NAMED_FIELDS) -> None:
    """Add the options of the game's config; :func:`config_of` reads them.

    ``named``: which of NAMED_FIELDS have an option of their own here.
    """
    add(
        parser.add_argument_group("the game"),
        *(field_option(FIELDS[name]) for name in named),
        option(
            "--set",
            "set any field of the game's config, such as decision_every=1 or "
            "deaths=false; repeat the option for more fields; `territorial info` lists them",
            action="append",
            default=[],
            type=_assignment,
            metavar="FIELD=VALUE",
            dest="assignments",
        ),
    )


def field_option(spec: dataclasses.Field[Any]) -> Option:
    """Return the option that sets a field of a dataclass, with its range; None where it is not given."""
    default = spec.metadata.get("none", spec.default)
    return option_of(spec.name), {
        "type": _READERS.get(spec.name) or whole(spec.metadata["low"], spec.metadata["high"]),
        "metavar": spec.name.upper() if spec.name in _READERS else "N",
        "help": _HELPS.get(spec.name) or f"{describe(spec)} (default {default})".replace("%", "%%"),
    }


def option_of(field: str) -> str:
    """Return the option that sets a field."""
    return "--" + field.replace("_", "-")


def fields_of(parsed: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of the config that the options of :func:`add_config_options` set."""
    named = {name: getattr(parsed, name, None) for name in NAMED_FIELDS}
    return {name: value for name, value in named.items() if value is not None} | dict(parsed.assignments)


def config_of(parsed: argparse.Namespace, num_maps: int | None = None, seed: int | None = None) -> GameConfig:
    """Return the config that the options of :func:`add_config_options` describe.

    ``num_maps``: so many maps, if the options leave that open and the map is none that there is only one of.
    ``seed``: of a game, whose map is generated from it unless the options say from what.
    """
    fields = fields_of(parsed)
    usual = {} if seed is None else {"map_seed": seed}
    if isinstance(land := fields.get("map"), LandMask):
        usual |= {"height": land.height, "width": land.width}
    with blamed_on("", TypeError, ValueError):
        config = GameConfig(**(usual | fields))
    if num_maps is not None and "num_maps" not in fields:
        with suppress(ValueError):
            config = config.replace(num_maps=num_maps)
    return config


def size_of(config: GameConfig) -> str:
    """Return in words the numbers that the memory of a game depends on."""
    maps = f", num_maps {config.num_maps:,}" if config.num_maps > 1 else ""
    return f"{config.height} x {config.width} cells with {config.num_players} seats{maps}"


@contextmanager
def enough_memory(argument: str, what: str) -> Iterator[None]:
    """Make a MemoryError of the block a UsageError about ``argument``, which asked for ``what``."""
    try:
        yield
    except MemoryError:
        raise UsageError(f"argument {argument}: not enough memory for {what}") from None


def _assignment(text: str) -> tuple[str, Any]:
    """Return the field and the value of a text such as ``launch_tax=20``; its config checks both."""
    name, sign, value = text.partition("=")
    if not sign:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form FIELD=VALUE")
    name, value = name.strip().replace("-", "_"), value.strip()
    return name, game_map(value) if name == "map" else _value(value)


def _value(text: str) -> Any:
    """Return the whole number that a text is, or several, or True, False or None, or else the text."""
    try:
        numbers = tuple(map(int, text.split(",")))
    except ValueError:
        return {"true": True, "false": False, "none": None}.get(text.lower(), text)
    return numbers if len(numbers) > 1 else numbers[0]


def game_map(text: str) -> str | LandMask | MapMix:
    """Return the map of a name, a mix of names or a file."""
    try:
        return maps.load(text) if is_map_file(text) else checked_map(text)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text!r} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


# By fields that are no plain numbers: what reads their values.
_READERS: Mapping[str, Callable[[str], Any]] = {"map": game_map, "teams": _value}


def is_map_file(text: str) -> bool:
    """Return whether a text is the name of a file rather than of a map."""
    return Path(text).suffix.lower() in maps.SUFFIXES


# ---- single values ---------------------------------------------------------------------------------


def whole(low: int, high: int) -> Callable[[str], int]:
    """Return a function that reads a whole number from ``low`` to ``high``."""

    def read(text: str) -> int:
        found = whole_number_in(text, low, high)
        if found is None:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {low} to {high}")
        return found

    return read


def number_of(what: str, low: float, high: float) -> Callable[[str], float]:
    """Return a function that reads a number of ``what``, such as seconds, from ``low`` to ``high``."""

    def read(text: str) -> float:
        with suppress(ValueError):
            if low <= float(text) <= high:
                return float(text)
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of {what} from {low} to {high}")

    return read


def seed_option(what: str) -> Option:
    """Return ``--seed``; ``what`` completes its meaning."""
    return number("--seed", 0, LARGEST_SEED, what, default=0)


ADDRESS = option("--address", shown="none", metavar="HOST:PORT")
"""The option for the address of a cluster."""


# ---- who plays -------------------------------------------------------------------------------------


def seats_option(*, has_champion: bool = False) -> Option:
    """Return ``--seats``; :func:`seats_of` reads it. ``has_champion``: the champion has a seat by default."""
    usual = f"{DEFAULT_FIELD}, with {CHAMPION} on its first seat" if has_champion else DEFAULT_FIELD
    return players_option(
        "bots, module:Class, style:FILE, net:FILE, or program:FILE",
        usual,
        type=_seat_names,
        default=USUAL_SEATS if has_champion else DEFAULT_FIELD,
        metavar="BOT,BOT,...",
    )


def players_option(who: str, shown: str, what: str = "seat", **more: Any) -> Option:
    """Return ``--seats``: ``who`` can play, ``what`` they take."""
    return option(
        "--seats",
        f"{who}, repeated until every {what} is taken",
        f"or the name of a line-up: {', '.join(LINEUPS)}. `territorial info` lists the bots",
        shown=shown,
        **more,
    )


def _seat_names(text: str) -> tuple[Seat, ...]:
    """Return the bots of ``text``: a list of names, or the name of a line-up."""
    if text in LINEUPS:
        return LINEUPS[text].seats
    try:
        names = [name.strip() for name in text.split(",")]
        found = {name: named_bot(name) for name in dict.fromkeys(names)}
        return tuple(found[name] for name in names)
    except ValueError as error:
        others = f", and the line-ups {', '.join(LINEUPS)}{hint(text, LINEUPS)}"
        raise argparse.ArgumentTypeError(str(error) if ":" in text else f"{error}{others}") from None


def seats_of(parsed: argparse.Namespace, config: GameConfig) -> tuple[Seat, ...]:
    """Return one bot for every seat of ``config``; fewer seats than a line-up has get a fair mix of it."""
    with blamed_on("--seats", ValueError):
        return dealt(parsed.seats, config.num_players)


# ---- files -----------------------------------------------------------------------------------------


def _json_file(path: str) -> str:
    """Return the path of ``--json``; UsageError, before anything takes time, if it cannot be written."""
    if path != STDOUT:
        check_writable("--json", path, RESULT)
    return path


JSON = option(
    "--json",
    "without FILE, print the JSON instead of the text",
    nargs="?",
    const=STDOUT,
    type=_json_file,
    metavar="FILE",
)
"""The option of verbs that :func:`report` their results as text or as JSON."""


def check_writable(argument: str, path: str | Path, kind: str = "") -> None:
    """Raise UsageError if ``path`` cannot be written, before time is spent on its content.

    ``kind``, of ``KINDS``: what it will be; a file that is there must be of that kind, or empty.
    """
    target = Path(path)
    if os.path.isdir(target):  # Path.is_dir raises for what lies in a folder that cannot be looked into
        raise UsageError(f"argument {argument}: {str(target)!r} is a folder, not a file")
    with blamed_on(argument):
        atomic.check_file(target)
    if kind and target.is_file():
        with open(target, "rb") as file:
            start = file.read(32)
        if start and not KINDS[kind](start):
            more = "; put --json last to print JSON on stdout" if argument == "--json" else ""
            raise UsageError(
                f"argument {argument}: {str(target)!r} is a file that is not {kind}, and would be "
                f"replaced{more}"
            )


def check_folder(argument: str, folder: str) -> None:
    """Make ``folder`` if it is not there; UsageError if files cannot be put into it."""
    with blamed_on(argument):
        atomic.check_folder(atomic.own_folder(Path(folder)))


def check_picture(argument: str, path: str, kind: str = PICTURE, suffix: str = ".png") -> None:
    """Raise UsageError unless ``path`` can be the file of a picture, or of another ``kind``."""
    if not path.lower().endswith(suffix):
        raise UsageError(f"argument {argument}: {path!r} must end in {suffix}; it is {kind}")
    check_writable(argument, path, kind)


def report(
    parsed: argparse.Namespace,
    text: str,
    result: Mapping[str, Any] | Callable[[], Mapping[str, Any]],
    *drawings: Callable[[], str],
) -> None:
    """Write ``result`` where ``--json`` says, then print ``text``; stdout has one of them.

    A result that takes time to compute is given as a function, which is called for ``--json`` alone.
    ``drawings``: each writes a file that shows the result, and returns the line on it. They come last, so
    that a file that cannot be written loses nothing else.
    """
    printed: Callable[[str], object] = str if parsed.json == STDOUT else print
    try:
        if parsed.json is not None:
            write_json(parsed.json, result() if callable(result) else result)
    finally:
        printed(text)
    for draw in drawings:
        printed(draw())


def plots(parsed: argparse.Namespace, draw: Callable[[Path], list[Path]]) -> list[Callable[[], str]]:
    """Return the drawings of ``--plots`` for :func:`report`: ``draw`` returns the files in a folder."""

    def drawn() -> str:
        with blamed_on("--plots", ImportError):
            return "\n".join(f"plot: {path}" for path in draw(Path(parsed.plots))) or NO_PLOTS

    return [drawn] if parsed.plots else []


def write_json(destination: str, result: Mapping[str, Any]) -> None:
    """Write ``result`` to the file called ``destination``, or to stdout if that is "-"."""
    text = json.dumps(result, indent=2) + "\n"
    if destination == STDOUT:
        sys.stdout.write(text)
    else:
        with blamed_on("--json"):
            write_file(destination, text.encode())


def aligned(rows: Sequence[Sequence[str]], align: str = "", indent: int = 2) -> str:
    """Return rows as lines of columns; ``align`` has ``r`` for right-aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = [">" if side == "r" else "<" for side in align.ljust(len(widths), "l")]
    lines = (
        "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True))
        for row in rows
    )
    return "\n".join((" " * indent + line).rstrip() for line in lines)
