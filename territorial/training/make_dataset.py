"""Makes a data set from games of bots, shard by shard."""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from territorial.bots import RESERVED_NAMES
from territorial.config import GameConfig
from territorial.config.validation import whole_number
from territorial.constants import LARGEST_SEED, NUM_CANDIDATES
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
from territorial.files.atomic import check_unused, own_file, own_folder
from territorial.files.bounded import differences
from territorial.files.locks import one_writer
from territorial.replay import Decisions, Recorder, Replay
from territorial.replay.decision_rows import RowOptions, check_fits, decisions_of
from territorial.training.dataset import (
    FILE,
    DatasetError,
    DatasetManifest,
    Recipe,
    Shard,
    current_columns,
    is_intact,
    read_manifest,
    shard_name,
    write_shard,
)

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
