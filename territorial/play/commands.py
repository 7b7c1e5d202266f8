"""Commands: what the page of a player asks for, read from JSON that may come from anywhere."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, assert_never

from territorial.config.validation import is_whole_number, shown
from territorial.constants import NUM_FRACTIONS
from territorial.files.bounded import Bounds, check_fields, parse_object

LARGEST_COMMAND = 1024
"""Bytes of a command, at most."""
FASTEST = 1000
"""The largest pace, in ticks a second."""
PANELS = ("advice", "sight")
"""What can be shown beside the game: what an advisor would do, and what an agent sees."""
STEP = "step"
"""The pace of a game that waits for each decision of the player."""

_BOUNDS = Bounds(nbytes=LARGEST_COMMAND, values=16)
_FIELDS: dict[Kind, tuple[str, ...]] = {
    "launch": ("target", "share"),
    "hold": (),
    "pause": ("on",),
    "pace": ("pace",),
    "resign": (),
    "show": ("panel", "on"),
}


Kind = Literal["launch", "hold", "pause", "pace", "resign", "show"]


class PlayerCommand(NamedTuple):
    """One command; its fields beside ``do`` have a meaning for one kind of command each."""

    do: Kind
    """What it asks for."""
    target: int = 0
    """Of a launch: the owner code of the target, 0 free land."""
    share: int = 0
    """Of a launch: the number of the fraction, 0..9, an index into ``constants.FRACTIONS``."""
    is_on: bool = False
    """Of a pause: whether the game stands still from now on; of "show": whether the panel is open."""
    pace: int | None = None
    """Of a pace: ticks a second, 1 to 1000; None: the game waits for each decision."""
    panel: str = ""
    """Of "show": one of ``PANELS``."""


def read_command(text: bytes) -> PlayerCommand:
    """Return the command that a JSON text is; ValueError says what is wrong with it.

    Such as ``{"do": "launch", "target": 4, "share": 7}``, ``{"do": "hold"}``, ``{"do": "resign"}``,
    ``{"do": "pause", "on": true}``, ``{"do": "pace", "pace": 20}`` or ``"step"`` instead of 20, and
    ``{"do": "show", "panel": "advice", "on": true}``.
    """
    fields = parse_object(text, _BOUNDS)
    do: Kind = fields.pop("do", None)
    if not isinstance(do, str) or do not in _FIELDS:
        raise ValueError(f"do is {shown(do)}; it must be one of {', '.join(_FIELDS)}")
    check_fields(f"the command {do}", fields, _FIELDS[do])
    if do == "launch":
        share = _whole("share", fields["share"], 0, NUM_FRACTIONS - 1)
        return PlayerCommand(do, target=_whole("target", fields["target"], 0, 255), share=share)
    if do == "pause":
        return PlayerCommand(do, is_on=_flag("on", fields["on"]))
    if do == "show":
        return PlayerCommand(do, is_on=_flag("on", fields["on"]), panel=_panel(fields["panel"]))
    if do == "pace":
        is_step = fields["pace"] == STEP
        return PlayerCommand(do, pace=None if is_step else _whole("pace", fields["pace"], 1, FASTEST))
    match do:
        case "hold" | "resign":
            return PlayerCommand(do)
    assert_never(do)


def _whole(name: str, value: Any, low: int, high: int) -> int:
    if not is_whole_number(value, low, high):
        raise ValueError(f"{name} is {shown(value)}; it must be a whole number from {low} to {high}")
    return int(value)


def _panel(value: Any) -> str:
    if value not in PANELS:
        raise ValueError(f"panel is {shown(value)}; it must be {' or '.join(PANELS)}")
    return str(value)


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{name} is {shown(value)}; it must be true or false")
    return value
