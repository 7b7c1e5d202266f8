"""Films: games as compressed streams of frames for the page.

docs/watching.md describes the format, bit by bit. Every frame can be decoded as soon as the bytes that
:func:`write_film` yielded for it have arrived.
"""

import copy
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.config import GameConfig
from territorial.config.map_names import Terrain
from territorial.constants import BLOCKED, NEUTRAL
from territorial.render import owner_colors, render_board
from territorial.render.board import checked_teams
from territorial.replay import Frame, LiveGame, Replay
from territorial.typing import Ints

FILM_VERSION = 5
LARGEST_TROOPS = 2**52 - 1
"""A browser counts exactly up to 2**53, and a signed difference is written as about twice as much."""

MOST_FRAMES = 2000
"""About as many as a game is shown in, unless asked for otherwise."""


def film_header(
    config: GameConfig,
    names: Sequence[str],
    title: str,
    *,
    terrain: Terrain = "water",
    map_kind: str | None = None,
    teams: Sequence[int] | None = None,
) -> dict[str, Any]:
    """Return the header of a film of a game of ``config``.

    ``names`` has one entry per seat, ``terrain`` says what blocked cells are, "water" or "mountains", and
    ``map_kind`` what map it is; None: one of its own. ``teams`` is the team 1..N of each seat; None: none.
    Colours are lists of P + 2 texts "#rrggbb": neutral, seats 1..P, blocked; ``border_colors`` are those of
    the sides of cells where the owner changes. Raises
    ValueError for a wrong number of names or teams and for another terrain.
    """
    allied = checked_teams(teams, config.num_players)
    if len(names) != config.num_players:
        raise ValueError(
            f"names has {len(names)} entries but num_players is {config.num_players}; pass one name per seat"
        )
    codes = np.array([*range(config.num_players + 1), BLOCKED], np.uint8)
    # Colours of borders are read off a picture in which every owner borders on neutral land.
    board = np.stack([codes, np.full_like(codes, NEUTRAL)], axis=1)
    borders = render_board(board, config.num_players, 1, terrain, allied)[:, 0]
    header = {
        "format": "territorial-film",
        "version": FILM_VERSION,
        "title": title,
        "map": map_kind or "a map of its own",
        "height": config.height,
        "width": config.width,
        "num_players": config.num_players,
        "names": list(names),
        "max_ticks": config.max_ticks,
        "win_percent": config.win_percent,
        "colors": _hex_colors(owner_colors(config.num_players, terrain, allied)[codes]),
        "border_colors": _hex_colors(borders),
    }
    return header if allied is None else header | {"teams": list(allied)}


Show = tuple[dict[str, Any], Iterator[Frame]]
"""A game to be seen: the header of its film, and its frames."""


def show(game: Replay | LiveGame, title: str, every: int | None = None) -> Show:
    """Return the header and the frames from which :func:`write_film` makes a film of ``game``.

    The game is played as its frames are taken.

    ``every``: ticks from one frame to the next; None: a decision, or more of them in a very long game.
    """
    config = game.config
    header = film_header(
        config, game.names, title, terrain=game.terrain, map_kind=game.map_kind, teams=game.teams
    )
    decisions = -(-config.max_ticks // config.decision_every)
    return header, game.frames(every or config.decision_every * -(-decisions // MOST_FRAMES))


def _hex_colors(colors: npt.NDArray[np.uint8]) -> list[str]:
    return [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in colors.tolist()]


def write_film(header: dict[str, Any], frames: Iterable[Frame]) -> Iterator[bytes]:
    """Yield the bytes of a film of ``frames``, as soon as each can be shown.

    ``header`` comes from :func:`film_header`. Raises ValueError for frames with arrays of other shapes or
    types, for codes and troops out of range, and for a tick that does not come after the last.
    """
    num_players, waiting = header["num_players"], _block(json.dumps(header, separators=(",", ":")).encode())
    deflate, none = zlib.compressobj(9), np.zeros(num_players, np.int64)
    last = Frame(-1, np.zeros((header["height"], header["width"]), np.uint8), none, none, none != 0)
    for frame in frames:
        changed, deaths = _changed_cells(frame, last), _deaths(frame, last)
        parts = [
            np.array([frame.tick - max(last.tick, 0), len(deaths)], np.int64),
            deaths.ravel(),
            _unsigned(frame.troops.astype(np.int64) - last.troops),
            _runs(changed, frame.owner.ravel()[changed], frame.owner.shape[1]),
            _pool_changes(_pools_of(frame) - _pools_of(last)),
        ]
        if "teams" in header:
            gifts = np.zeros((0, 3), np.int64) if frame.gifts is None else frame.gifts.astype(np.int64)
            parts += [np.array([len(gifts)]), gifts.ravel()]
        # Launches since the last frame: the ticks since then, and what each was.
        launches = np.zeros((0, 4), np.int64) if frame.launches is None else frame.launches.astype(np.int64)
        parts += [np.array([len(launches)]), (launches * (-1, 1, 1, 1) + (frame.tick, 0, 0, 0)).ravel()]
        waiting += _block(_varints(np.concatenate(parts)))
        yield deflate.compress(waiting) + deflate.flush(zlib.Z_SYNC_FLUSH)
        waiting, last = b"", _copied(frame)
    if last.tick < 0:
        raise ValueError("the film has no frame; it must have at least one")
    yield deflate.compress(_block(b"")) + deflate.flush()


def _copied(frame: Frame) -> Frame:
    """Return a frame that stays as it is when a source fills its arrays anew."""
    parts: list[Any] = [copy.copy(part) for part in frame]
    return Frame(*parts)._replace(troops=frame.troops.astype(np.int64))


def _changed_cells(frame: Frame, last: Frame) -> Ints:
    """Return the cells, flat, with a new owner; ValueError for codes that a film cannot have."""
    for name in ("owner", "troops", "alive"):
        found, needed = getattr(frame, name), getattr(last, name)
        if found.shape != needed.shape or (name == "owner" and found.dtype != np.uint8):
            raise ValueError(
                f"{name} of the frame at tick {frame.tick} is a {found.dtype} array of shape "
                f"{found.shape}; this film has {needed.dtype}, {needed.shape}"
            )
    changed, num_players = np.flatnonzero(frame.owner != last.owner), len(last.troops)
    codes = frame.owner.ravel()[changed]
    is_right = {
        f"its tick must be {last.tick + 1} or more": frame.tick > last.tick,
        f"its owners go to {codes.max(initial=0, where=codes != BLOCKED)}; they must be 0 to {num_players}, "
        f"or {BLOCKED}": ((codes <= num_players) | (codes == BLOCKED)).all(),
        f"its troops go from {frame.troops.min()} to {frame.troops.max()}; they must be from 0 to "
        f"{LARGEST_TROOPS}": 0 <= frame.troops.min() <= frame.troops.max() <= LARGEST_TROOPS,
    }
    for rule, is_kept in is_right.items():
        if not is_kept:
            raise ValueError(f"the frame at tick {frame.tick} cannot be written: {rule}")
    return changed


def _deaths(frame: Frame, last: Frame) -> Ints:
    """Return (N, 2), the seats that died or came to life, and how many ticks ago they died."""
    deaths = _seats_and_ages(frame, np.flatnonzero(frame.alive != last.alive))
    if last.tick < 0 and frame.death_tick is not None:
        died = _seats_and_ages(frame, np.flatnonzero(frame.alive == 0))
        # Before the film began: each comes to life and dies.
        return np.concatenate([deaths, died * (1, 0), died])
    return deaths


def _seats_and_ages(frame: Frame, seats: Ints) -> Ints:
    """Return (N, 2), the numbers of ``seats``, from 0, and the ticks since they died; 0 if alive."""
    ages = np.zeros(len(seats), np.int64)
    if frame.death_tick is not None:
        ages[:] = np.where(frame.alive[seats], 0, frame.tick - frame.death_tick[seats])
    return np.stack([seats + 1, ages], axis=1)


def _pools_of(frame: Frame) -> Ints:
    """Return the troops in the field of every seat against every owner code, 0..P, (P * (P + 1),)."""
    num_players = len(frame.troops)
    pools = np.zeros(num_players * (num_players + 1), np.int64)
    if frame.attacks is not None:
        seats, targets, troops = frame.attacks.astype(np.int64).T
        pools[(seats - 1) * (num_players + 1) + targets] = troops
    return pools


def _runs(cells: Ints, codes: npt.NDArray[np.uint8], width: int) -> Ints:
    """The numbers that say that ``cells``, rising, now have the owners ``codes``."""
    goes_on = (np.diff(cells) == 1) & (codes[1:] == codes[:-1]) & (cells[1:] % width != 0)
    starts = np.flatnonzero(np.concatenate([[True], ~goes_on])[: len(cells)])
    lengths = np.diff(starts, append=len(cells))
    order = codes[starts].argsort(kind="stable")
    rows, columns = np.divmod(cells[starts][order], width)
    steps = [_unsigned(np.diff(rows, prepend=0)), _unsigned(np.diff(columns, prepend=0))]
    runs = np.stack([*steps, lengths[order]], axis=1)
    owners, counts = np.unique(codes[starts], return_counts=True)
    table = np.stack([owners.astype(np.int64), counts], axis=1)
    return np.concatenate([[len(owners)], table.ravel(), runs.ravel()])


def _pool_changes(changes: Ints) -> Ints:
    """The numbers that say which pools have changed, and by how many troops."""
    pools = np.flatnonzero(changes)
    rows = np.stack([np.diff(pools, prepend=0), _unsigned(changes[pools])], axis=1)
    return np.concatenate([[len(pools)], rows.ravel()])


def _block(content: bytes) -> bytes:
    return _varints(np.array([len(content)])) + content


def _unsigned(numbers: Ints) -> Ints:
    """Map 0, -1, 1, -2 ... to 0, 1, 2, 3 ..., so that small numbers of either sign stay small."""
    return (numbers << 1) ^ (numbers >> 63)


_SHIFTS = np.arange(0, 63, 7)


def _varints(numbers: Ints) -> bytes:
    """The LEB128 bytes of ``numbers``, which are not negative."""
    groups = numbers[:, None] >> _SHIFTS
    has_more = np.zeros(groups.shape, np.bool_)
    has_more[:, :-1] = groups[:, 1:] > 0
    is_there = np.ones(groups.shape, np.bool_)
    is_there[:, 1:] = has_more[:, :-1]
    encoded = (groups & 127).astype(np.uint8) | has_more * np.uint8(128)
    return encoded[is_there].tobytes()
