"""Data sets: folders with a manifest and files of recorded decisions, one tensor per column."""

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from territorial.bots import RESERVED_NAMES
from territorial.config import GameConfig
from territorial.config.validation import check_type, raised_as, shown, whole_number
from territorial.constants import FRACTIONS, LARGEST_SEED, NUM_CANDIDATES, RULES_VERSION, __version__
from territorial.engine.seats import (
    AGENT,
    EXTERNAL,
    CustomBot,
    Seat,
    check_seats,
    name_of,
    with_bots_of_files,
)
from territorial.engine.vec_game import VecGame
from territorial.evaluation.players import code_of
from territorial.evaluation.schedule import MOST_GAMES
from territorial.evaluation.what_if import chances_at
from territorial.evaluation.workers import Play, Processes
from territorial.files import safetensors
from territorial.files.atomic import check_unused, draft_of, own_file, own_folder, write_file
from territorial.files.bounded import Bounds, check_fields, differences, parse_object, read_file
from territorial.files.locks import one_writer
from territorial.observation.pair_columns import OWN, UNIT, pair_columns
from territorial.replay import Decisions, Recorder, Replay
from territorial.replay.decision_rows import RowOptions, check_fits, decisions_of

FORMAT = 1
FILE = "manifest.json"
NOT_KEPT = ("format", "is_complete", "rows")
"""What a file has beside the fields of a manifest."""
BOUNDS = Bounds(nbytes=64 * 2**20, values=2**22)
"""Room for a hundred thousand shards."""
_new_digest = partial(hashlib.blake2b, digest_size=16)


# ---- the manifest --------------------------------------------------------------------------------------


class DatasetError(ValueError):
    """A folder holds no data set, another one, or one that is damaged; the message says which."""


class Shard(NamedTuple):
    """A file of a data set."""

    file: str
    """Its name in the folder."""
    first_game: int
    """The number of its first game; the others follow it."""
    games: int
    rows: int
    bytes: int
    digest: str
    """BLAKE2b of the file, 16 bytes in hexadecimal."""


def shard_name(number: int) -> str:
    """Return the name of the file of shard ``number``."""
    return f"shard-{number:06d}.safetensors"


@dataclass(frozen=True)
class Recipe:
    """All that the rows of a data set follow from, as values that JSON has."""

    config: Mapping[str, Any]
    config_digest: str
    seats: list[str]
    seed: int
    games: int
    games_per_shard: int
    rows_of: list[int | str] | None
    every: int | None
    num_candidates: int
    discount: float
    chances: int | None
    code: Mapping[str, str]
    """By the names of bots that are not the library's, what tells them from others of that name."""

    @property
    def shards(self) -> dict[str, range]:
        """The numbers of the games of each shard, by the name of its file."""
        size, every = self.games_per_shard, range(self.games)
        return {shard_name(first // size): every[first : first + size] for first in every[::size]}

    @property
    def has_teams(self) -> bool:
        """Whether the games have teams; their rows show allies, too."""
        return self.config.get("teams") is not None


@dataclass(frozen=True)
class DatasetManifest:
    """A data set as far as it has been made."""

    recipe: Recipe
    columns: Mapping[str, Mapping[str, int]]
    """The columns of ``own`` and of ``pairs`` in their order, with their versions."""
    shards: tuple[Shard, ...] = ()
    library: str = __version__
    rules: int = RULES_VERSION
    unit: int = UNIT
    fractions: tuple[int, ...] = FRACTIONS

    @property
    def rows(self) -> int:
        """Rows of all shards."""
        return sum(shard.rows for shard in self.shards)

    @property
    def games(self) -> int:
        """Games of all shards."""
        return sum(shard.games for shard in self.shards)

    @property
    def is_current(self) -> bool:
        """Whether its columns are those of this release, which networks of this release read."""
        return self.columns == current_columns(teams=self.recipe.has_teams)

    @property
    def is_complete(self) -> bool:
        """Whether all games are there."""
        return self.games == self.recipe.games

    def with_shards(self, shards: Iterable[Shard]) -> Self:
        """Return this manifest with ``shards``, in any order."""
        return replace(self, shards=tuple(sorted(shards, key=lambda shard: shard.first_game)))

    def write(self, folder: Path) -> None:
        """Write it into ``folder``: wholly or, if that fails, not at all."""
        values = {
            "format": FORMAT,
            "is_complete": self.is_complete,
            "rows": self.rows,
            **vars(self),
            "recipe": asdict(self.recipe),
            "shards": [shard._asdict() for shard in self.shards],
        }
        write_file(own_file(folder / FILE), (json.dumps(values, indent=1) + "\n").encode())


def current_columns(*, teams: bool) -> dict[str, dict[str, int]]:
    """Return the columns that this release computes of games with ``teams`` or without, by version."""
    tables = {"own": OWN, "pairs": pair_columns(teams=teams)}
    return {name: {column.name: column.version for column in table} for name, table in tables.items()}


def read_manifest(folder: Path) -> DatasetManifest:
    """Return the manifest in ``folder``; DatasetError if it is none, OSError if it cannot be read."""
    path = folder / FILE
    with raised_as(DatasetError, f"{str(path)!r} is not a manifest of a data set: ", (TypeError, ValueError)):
        return _manifest_of(parse_object(read_file(path, BOUNDS.nbytes), BOUNDS))


def _manifest_of(values: Mapping[str, Any]) -> DatasetManifest:
    if values.get("format") != FORMAT:
        raise ValueError(f"it has format {shown(values.get('format'))}; this release reads format {FORMAT}")
    check_fields("it", values, {*NOT_KEPT, *(spec.name for spec in fields(DatasetManifest))})
    recipe = Recipe(**values["recipe"])
    check_type("code", recipe.code, dict, "an object with names")
    parts = {
        "recipe": recipe,
        "shards": tuple(_shard_of(one) for one in values["shards"]),
        "fractions": tuple(values["fractions"]),
    }
    kept = {name: value for name, value in values.items() if name not in NOT_KEPT}
    return DatasetManifest(**{**kept, **parts})


def _shard_of(values: Mapping[str, Any]) -> Shard:
    shard = Shard(**values)
    if not isinstance(shard.file, str) or Path(shard.file).name != shard.file or shard.file in ("", ".."):
        raise ValueError(f"it has a shard called {shown(shard.file)}; it must be the name of a file")
    for name in ("first_game", "games", "rows", "bytes"):
        whole_number(f"{name} of {shard.file!r}", getattr(shard, name), 0, 2**63 - 1)
    return shard


# ---- the whole -----------------------------------------------------------------------------------------


class Dataset(Sequence[Decisions]):
    """A data set as a sequence of shards, each the decisions of some games.

    The arrays of a shard are read-only and mapped from its file: all processes of a machine share one copy,
    and only what is looked at is read. A data set that is still being made has the shards that are done.

    Args:
        folder: what ``make`` or ``territorial dataset`` wrote.

    Raises:
        DatasetError: if it is no data set, or a shard does not fit the manifest.
        OSError: if it cannot be read.

    Example:
        >>> import tempfile
        >>> import territorial
        >>> from territorial.training import Dataset, make
        >>> config = territorial.GameConfig(height=32, width=32, num_players=2, max_ticks=300)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = make(folder, config, ["banker", "novice"], games=2, processes=1)
        ...     for rows in Dataset(folder):
        ...         print(rows.own.shape[1], rows.pairs.shape[1:], sorted(set(rows.game.tolist())))
        34 (8, 26) [0, 1]

    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.manifest: DatasetManifest = read_manifest(self.folder)
        """What the data set was made of, its columns and shards."""

    def __len__(self) -> int:
        return len(self.manifest.shards)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [read_shard(self.folder, shard) for shard in self.manifest.shards[index]]
        return read_shard(self.folder, self.manifest.shards[index])

    def verify(self) -> None:
        """Read all files and compare their digests; DatasetError names the first that is not as it was."""
        for shard in self.manifest.shards:
            if not is_intact(self.folder, shard):
                raise DatasetError(f"{str(self.folder / shard.file)!r} is missing or altered")

    def __repr__(self) -> str:
        manifest = self.manifest
        games = f"{manifest.games:,} of {manifest.recipe.games:,} games"
        return f"Dataset({str(self.folder)!r}, {games}, {manifest.rows:,} rows)"


# ---- shards ---------------------------------------------------------------------------------------


def write_shard(path: Path, first_game: int, games: Sequence[Decisions]) -> Shard:
    """Write the decisions of ``games`` into a file: wholly or, if that fails, not at all."""
    columns = Decisions(*map(np.concatenate, zip(*games, strict=True)))
    size, digest = 0, _new_digest()
    with draft_of(own_file(path)) as draft, open(draft, "wb") as file:
        for piece in safetensors.pieces(columns._asdict()):
            size += file.write(piece)
            digest.update(piece)
    return Shard(path.name, first_game, len(games), len(columns.tick), size, digest.hexdigest())


def read_shard(folder: Path, shard: Shard) -> Decisions:
    """Return the rows of a shard, read-only arrays mapped from its file; DatasetError if they do not fit."""
    path = folder / shard.file
    try:
        with open(path, "rb") as file:
            arrays = safetensors.read(file).arrays
    except FileNotFoundError:
        raise DatasetError(f"{str(path)!r} is missing") from None
    except safetensors.FormatError as error:
        raise DatasetError(f"{str(path)!r} is not a shard: {error}") from None
    if set(arrays) != set(Decisions._fields):
        raise DatasetError(
            f"{str(path)!r} has the arrays {', '.join(sorted(arrays))}; it must have "
            f"{', '.join(Decisions._fields)}"
        )
    lengths = {len(array) for array in arrays.values() if array.ndim}
    if lengths != {shard.rows}:
        raise DatasetError(f"{str(path)!r} has {lengths} rows; the manifest says {shard.rows}")
    return Decisions(**arrays)


def is_intact(folder: Path, shard: Shard) -> bool:
    """Return whether the file of ``shard`` is there and as it was written."""
    path = folder / shard.file
    if not path.is_file() or path.stat().st_size != shard.bytes:
        return False
    with open(path, "rb") as file:
        return hashlib.file_digest(file, _new_digest).hexdigest() == shard.digest


# ---- making one --------------------------------------------------------------------------------------------


GAMES_PER_SHARD = 32
WRITER = ".writer"
"""The file of a folder that the process which makes a data set there has locked; it says which."""
MOST_GAMES_PER_SHARD = 10_000


def make(
    folder: str | os.PathLike[str],
    config: GameConfig,
    seats: Sequence[Seat],
    *,
    games: int,
    seed: int = 0,
    rows_of: Iterable[int | Seat] | None = None,
    every: int | None = None,
    num_candidates: int = NUM_CANDIDATES,
    discount: float = 1.0,
    chances: int | None = None,
    games_per_shard: int = GAMES_PER_SHARD,
    processes: int | None = None,
    play: Play | None = None,
    on_shard: Callable[[DatasetManifest], object] | None = None,
) -> DatasetManifest:
    """Play games of bots and write their decisions into ``folder``; return the data set.

    The folder gets files of rows and a manifest. A file is there whole or not at all, and counts when the
    manifest lists it. If the call is interrupted, the same call makes what is missing. One with more
    ``games`` adds them. The same arguments give the same files, whatever the number of processes.
    docs/datasets.md describes them.

    Args:
        folder: made if it is not there.
        config: rules, size, map and rewards of all games.
        seats: one bot per seat: a name, ``style:FILE``, ``net:FILE`` or a custom bot; the same in every game.
        games: N, the number of games; 1 to 10000000.
        seed: that of the first game; the next games have the next numbers; default 0.
        rows_of: whose decisions are written: seat numbers, names, and bots as in ``seats``; default None:
            those of all seats.
        every: ticks from one row of a seat to its next; default None: there is a row where it decided.
        num_candidates: C, the rows of ``pairs``; 1 to 250, default 8.
        discount: discount factor per environment step; 0 to 1, default 1.
        chances: games that are played on from each tick of ``every``, of which ``expected_place`` and
            ``chance`` are made; 1 to 10000000, default None: there are none, and both are 0.
        games_per_shard: games of one file; a process holds so many at a time; 1 to 10000, default 32.
        processes: of this machine, which share the work; default None: one per usable core.
        play: where games are played instead, such as on a cluster; default None: by ``processes``.
        on_shard: called with the manifest after every file, for lines of progress; default None.

    Raises:
        TypeError: for a value of a wrong type.
        ValueError: for a value out of range, and for seats that are no bots.
        DatasetError: if the folder has a data set that was made otherwise.
        BlockingIOError: if another process makes one there; the message says which.
        OSError: if the folder cannot be written, and if files of a data set are there without its manifest.

    """
    check_seats(seats, config.num_players)
    for i, seat in enumerate(seats):
        if seat in (AGENT, EXTERNAL):
            raise ValueError(f"seats[{i}] is {str(seat)!r}; every seat must be a bot, as no agent acts here")
    seats = with_bots_of_files(seats)
    asked = RowOptions.checked(_with_names(rows_of), every, num_candidates, discount, None)
    check_fits(config, asked)
    if chances is not None and every is None:
        raise ValueError(f"chances is {chances!r}; it works only with every, ticks between two rows")
    recipe = Recipe(
        config=config.to_dict(),
        config_digest=config.hexdigest,
        seats=[name_of(seat) for seat in seats],
        seed=whole_number("seed", seed, 0, LARGEST_SEED),
        games=whole_number("games", games, 1, MOST_GAMES),
        games_per_shard=whole_number("games_per_shard", games_per_shard, 1, MOST_GAMES_PER_SHARD),
        rows_of=None if asked.seats is None else list(asked.seats),
        every=asked.every,
        num_candidates=asked.num_candidates,
        discount=asked.discount,
        chances=None if chances is None else whole_number("chances", chances, 1, MOST_GAMES),
        code={
            seat.name: code_of(seat)
            for seat in seats
            if isinstance(seat, CustomBot) and seat.name not in RESERVED_NAMES
        },
    )
    whole_number("seed of the last game", recipe.seed + recipe.games - 1, 0, LARGEST_SEED)
    target = own_folder(Path(folder))
    with one_writer(target / WRITER):
        manifest = _open_manifest(target, DatasetManifest(recipe, current_columns(teams=recipe.has_teams)))
        # Its call returns a function of chunks, which keeps what all of them share.
        work = partial(partial, _shards_of, target, config, tuple(seats), asked, recipe)
        shards = {shard.file: shard for shard in manifest.shards}
        missing = [
            (file, chunk)
            for file, chunk in manifest.recipe.shards.items()
            if own_file(target / file).name not in shards
        ]
        written = time.monotonic()
        try:
            for shard in chain.from_iterable(
                (play or Processes(processes))(work, missing) if missing else ()
            ):
                shards[shard.file] = shard
                manifest = manifest.with_shards(shards.values())
                if time.monotonic() - written >= 5:  # the manifest of many shards takes as long as a shard
                    manifest.write(target)
                    written = time.monotonic()
                if on_shard is not None:
                    on_shard(manifest)
        finally:
            manifest.write(target)
        return manifest


# ---- in the process that was asked -------------------------------------------------------------------


def _open_manifest(folder: Path, manifest: DatasetManifest) -> DatasetManifest:
    """Return ``manifest`` with the shards that are in ``folder`` already; written there if there was none."""
    if own_file(folder / FILE).exists():
        found = read_manifest(folder)
        _check_same(folder, found, manifest)
        wanted = manifest.recipe.shards
        manifest = manifest.with_shards(
            one
            for one in found.shards
            if wanted.get(one.file) == range(one.first_game, one.first_game + one.games)
            and is_intact(folder, one)
        )
    check_unused(folder, (path.name for path in sorted(folder.glob(shard_name(0).replace("0", "?")))), FILE)
    manifest.write(folder)
    return manifest


def _check_same(folder: Path, found: DatasetManifest, wanted: DatasetManifest) -> None:
    """Raise DatasetError unless the games of ``wanted`` begin with the games of ``found``, made alike."""
    if found.recipe.games > wanted.recipe.games:
        raise DatasetError(
            f"games is {wanted.recipe.games:,}; the data set in {str(folder)!r} has "
            f"{found.recipe.games:,} games, and can only grow"
        )
    same = asdict(replace(found.recipe, games=wanted.recipe.games))
    pairs = (found.rules, wanted.rules), (found.columns, wanted.columns), (same, asdict(wanted.recipe))
    for name, (before, now) in zip(("rules", "columns", "recipe"), pairs, strict=True):
        for text in differences(name, before, now):
            raise DatasetError(f"{str(folder)!r} has a different data set: {text}. Choose another folder")


def _with_names(rows_of: Any) -> Any:
    """Return the requested seats, with names of bots instead of the bots or their files."""
    if not isinstance(rows_of, Iterable) or isinstance(rows_of, str):
        return rows_of
    return [name_of(one) for one in with_bots_of_files(list(rows_of), what="rows_of")]


# ---- in a process that plays -------------------------------------------------------------------------


def _shards_of(
    folder: Path,
    config: GameConfig,
    seats: tuple[Seat, ...],
    asked: RowOptions,
    recipe: Recipe,
    chunk: tuple[str, range],
) -> list[Shard]:
    """Play the games of a chunk and write their decisions."""
    name, games = chunk
    replays = play_games(config, seats, [recipe.seed + game for game in games])
    rows = [decisions_of(replay, game, asked) for game, replay in zip(games, replays, strict=True)]
    if recipe.chances is not None and any(len(of_game.tick) for of_game in rows):
        rows = [_with_chances(*one, seats, recipe.chances) for one in zip(rows, replays, strict=True)]
    return [write_shard(folder / name, games[0], rows)]


def _with_chances(rows: Decisions, replay: Replay, seats: tuple[Seat, ...], games: int) -> Decisions:
    """Return ``rows`` with what their seats could expect, by so many games played on from each tick."""
    ticks, moments = np.unique(rows.tick, return_inverse=True)
    players = dict(zip(replay.seats, seats, strict=True))
    found = chances_at(replay, ticks.tolist(), games, Processes(1), players=players, is_shown=False)
    places, wins = (part[moments, rows.seat - 1].astype(np.float32) for part in (found.places, found.wins))
    return rows._replace(expected_place=places, chance=wins)


def play_games(config: GameConfig, seats: Sequence[Seat], seeds: Sequence[int]) -> list[Replay]:
    """Return the replays of whole games of bots, one for each of ``seeds``."""
    game = VecGame(config, len(seeds), seats=seats, autoreset="disabled", observe=False)
    replays: dict[int, Replay] = {}
    with Recorder(game, replays.__setitem__):
        game.reset(seeds=seeds)
        while not game.is_idle.all():
            game.step()
    return [replays[k] for k in range(len(seeds))]
