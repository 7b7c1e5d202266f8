"""Commands of the play page, parsed from untrusted JSON, and the levels."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from territorial.bots import RESERVED_NAMES
from territorial.config.map_names import ALL_MAPS
from territorial.config.validation import one_of, shown, true_or_false, whole_number, whole_number_in
from territorial.constants import MAX_PLAYERS, NUM_FRACTIONS
from territorial.files.bounded import Bounds, check_fields, parse_object
from territorial.replay.recorded import checked_name

LEVELS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "easy": ("very_easy-1", "easy-1"),
        "moderate": ("easy-1", "normal-1"),
        "normal": ("normal-1", "hard-1"),
        "hard": ("hard-1", "very_hard-1", "impossible-1"),
        "champion": ("champion-1", "upstart-1", "impossible-1", "very_hard-1"),
    }
)
"""Bots by level, dealt in turn to the seats after the person's. ``handicap`` is on at all levels, so bots of
the library's levels begin with fewer troops than the person."""


LARGEST_COMMAND = 1024
"""Bytes of a command, at most."""
FASTEST = 1000
"""The largest pace, in ticks a second."""
PANELS = ("advice", "agent_view")
"""What can be shown beside the game: what an advisor would do, and what an agent sees."""
STEP = "step"
"""The pace of a game that waits for each decision of the player."""

_BOUNDS = Bounds(nbytes=LARGEST_COMMAND, values=16)
_FIELDS: dict[Kind, tuple[str, ...]] = {
    "launch": ("target", "share"),
    "aim": ("target", "share"),
    "hold": (),
    "pause": ("on",),
    "pace": ("pace",),
    "resign": (),
    "show": ("panel", "on"),
    "new": ("level", "players", "map", "name", "seed"),
    "take_over": ("tick", "seat"),
}


Kind = Literal["launch", "aim", "hold", "pause", "pace", "resign", "show", "new", "take_over"]


class Wish(NamedTuple):
    """The game that a player wants to play next.

    ``level``, one of ``LEVELS``, and ``map``, the name of a kind or of a land, are None for what the command
    line names. ``name`` is what the player is called. A ``seed`` of None is a new one, and with it a new map.
    """

    level: str | None
    players: int
    map: str | None
    name: str
    seed: int | None


class TakeOver(NamedTuple):
    """A seat, 1..P, and a tick of the game that was played, from which on a player wants to play it."""

    tick: int
    seat: int


class WishError(ValueError):
    """There can be no such game; the message says why."""


class PlayerCommand(NamedTuple):
    """One command; its fields beside ``do`` have a meaning for one kind of command each.

    Args:
        do: what it asks for.
        target: of a launch, or an aim at what is to be foreseen: the owner code of the target, 0 free land.
        share: of both: the number of the fraction, 0..9, an index into ``constants.FRACTIONS``.
        is_on: of a pause: whether the game is to stand still from now on; of "show": whether the panel is
            open.
        pace: of a pace: ticks a second, 1 to 1000; None: the game waits for each decision.
        panel: of "show": one of ``PANELS``; of an aim, "forecast": what the launch would come to.
        wish: of "new" and "take_over": the game to begin.

    """

    do: Kind
    target: int = 0
    share: int = 0
    is_on: bool = False
    pace: int | None = None
    panel: str = ""
    wish: Wish | TakeOver | None = None


def read_command(text: bytes) -> PlayerCommand:
    """Return the command of a JSON text; TypeError or ValueError names the fault.

    Such as ``{"do": "launch", "target": 4, "share": 7}``, ``{"do": "hold"}``, ``{"do": "resign"}``,
    ``{"do": "pause", "on": true}``, ``{"do": "pace", "pace": 20}`` or ``"step"`` instead of 20,
    ``{"do": "show", "panel": "advice", "on": true}``, and ``{"do": "new", "level": "easy", "players": 32,
    "map": "lakes", "name": "Ada", "seed": null}``, whose seed is a text otherwise, because numbers of
    JavaScript have 53 bits; and ``{"do": "take_over", "tick": 1600,
    "seat": 7}``.
    """
    fields = parse_object(text, _BOUNDS)
    do: Kind = fields.pop("do", None)
    if not isinstance(do, str) or do not in _FIELDS:
        raise ValueError(f"do is {shown(do)}; it must be one of {', '.join(_FIELDS)}")
    check_fields(f"the command {do}", fields, _FIELDS[do])
    pace, panel = fields.get("pace", STEP), fields.get("panel")
    return PlayerCommand(
        do,
        target=whole_number("target", fields.get("target", 0), 0, 255),
        share=whole_number("share", fields.get("share", 0), 0, NUM_FRACTIONS - 1),
        is_on=true_or_false("on", fields.get("on", do == "aim")),
        pace=None if pace == STEP else whole_number("pace", pace, 1, FASTEST),
        panel="forecast" if do == "aim" else "" if panel is None else one_of("panel", panel, PANELS),
        wish=_read_wish(do, fields),
    )


def person_name(name: Any) -> str:
    """Return a person's name in single spaces; ValueError for a blank name and for a bot's name."""
    given = " ".join(filter(None, name.split(" "))) if isinstance(name, str) else name
    seen = checked_name("name", given)
    if seen.casefold() in RESERVED_NAMES:
        raise ValueError(f"name is {seen!r}, which is the name of a bot; choose another name")
    return seen


def _read_wish(do: Kind, fields: dict[str, Any]) -> Wish | TakeOver | None:
    if do == "take_over":
        tick, seat = fields["tick"], fields["seat"]
        return TakeOver(whole_number("tick", tick, 0, 2**31), whole_number("seat", seat, 1, MAX_PLAYERS))
    if do != "new":
        return None
    seed = whole_number_in(str(fields["seed"]), 0, 2**64 - 1)
    if seed is None and fields["seed"] is not None:
        raise ValueError(
            f"seed is {shown(fields['seed'])}; it must be the text of a whole number from 0 to 2**64 - 1"
        )
    return Wish(
        level=None if fields["level"] is None else one_of("level", fields["level"], LEVELS),
        players=whole_number("players", fields["players"], 2, 250),
        map=None if fields["map"] is None else one_of("map", fields["map"], ALL_MAPS),
        name=person_name(fields["name"]),
        seed=seed,
    )
