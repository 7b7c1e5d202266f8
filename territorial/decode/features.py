"""Feature vectors: their numbers, order, scales and bounds."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.config import GameConfig, interest_rates
from territorial.decode.boards import Entries
from territorial.files.arrays import WritableArrays
from territorial.jit.decorators import kernel, njit
from territorial.observation.action_masks import read_only
from territorial.observation.layout import BORDERS, LARGEST_NEED, TABLES, Column, ObsLayout, columns, index
from territorial.observation.pair_columns import OWN, pair_columns
from territorial.typing import Floats32, Ints

REVERSE = tuple(index(BORDERS, name) for name in ("front", "pool", "log_pool", "taken"))
"""Columns of the borders table of which an agent also sees the other direction."""

LARGEST = np.float32(8)
"""What a feature counts as at most: pools, density and fill have no bound that games reach."""

ROUNDING = 1e-5
"""How far float32 may carry a feature above its exact bound, as a share of it."""


def feature_names(config: GameConfig) -> tuple[str, ...]:
    """Return the names of all N features of one agent, in their order.

    ``globals.*``; then ``player0.*`` (the agent itself), ``player1.*`` ... (the other seats in ego
    order); then, for neutral land and every player in the same order, ``to_*.*`` (from the agent to
    that owner) and ``from_*.*`` (from that owner to the agent).
    """
    players, tables = [f"player{i}" for i in range(config.num_players)], columns_of(config)
    names = [f"globals.{column.name}" for column in tables["globals"]]
    names += [f"{player}.{column.name}" for player in players for column in tables["players"]]
    for owner in ["neutral", *players]:
        names += [f"to_{owner}.{column.name}" for column in tables["borders"]]
        names += [f"from_{owner}.{BORDERS[i].name}" for i in REVERSE]
    return tuple(names)


def columns_of(config: GameConfig) -> dict[str, tuple[Column, ...]]:
    """Return the columns of players, borders and globals in games of ``config``."""
    return {table: columns(table, teams=config.teams is not None) for table in TABLES}


def pair_names(*, teams: bool = False) -> dict[str, tuple[str, ...]]:
    """Return the names of the columns of the form "pairs": of its arrays ``own`` and ``pairs``.

    ``teams``: whether the games have teams.
    """
    tables = {"own": OWN, "pairs": pair_columns(teams=teams)}
    return {array: tuple(column.name for column in table) for array, table in tables.items()}


def state_names(config: GameConfig) -> tuple[str, ...]:
    """Return the names of all S numbers of the tables end to end, by seats and owner codes.

    ``globals.*``; ``seat1.*`` ... ``seatP.*``; then one matrix after the other, ``front.0.0``,
    ``front.0.1`` ... by owner codes (player, target).
    """
    owners, tables = range(config.num_players + 1), columns_of(config)
    names = [f"globals.{column.name}" for column in tables["globals"]]
    names += [f"seat{p}.{column.name}" for p in owners[1:] for column in tables["players"]]
    names += [f"{column.name}.{p}.{t}" for column in tables["borders"] for p in owners for t in owners]
    return tuple(names)


def per_number(values: dict[str, float], config: GameConfig) -> npt.NDArray[np.float64]:
    """Return ``values``, given by name of column, for each number of the tables end to end: (S,)."""
    seats, pairs = config.num_players, (config.num_players + 1) ** 2
    of = {table: [values[column.name] for column in columns] for table, columns in columns_of(config).items()}
    return np.concatenate([of["globals"], np.tile(of["players"], seats), np.repeat(of["borders"], pairs)])


def scales(config: GameConfig) -> dict[str, float]:
    """Return, for every column by its name, the factor that makes a feature of about 0..1 of its value."""
    cells = config.height * config.width
    factors = {
        "1": 1.0,
        "cells": 1.0 / cells,
        "troops": 1.0 / (config.soft_cap * cells),
        "log": 1.0 / 32.0,
        "hard cap": 1.0 / config.hard_cap,
        "players": 1.0 / config.num_players,
        "decision": 1.0 / 10.0,
        "decisions": 1.0 / num_decisions(config),
        "game": 1.0 / config.max_ticks,
        "interest": 1.0 / config.interest_every,
        "income": 1.0 / config.income_every,
    }
    return {column.name: factors[column.scale] for table in columns_of(config).values() for column in table}


def num_decisions(config: GameConfig) -> int:
    """Return how often a player decides in the longest game."""
    return -(-config.max_ticks // config.decision_every)


def limits(config: GameConfig) -> dict[str, float]:
    """Return, for every column by its name, a value that no game can exceed; none is below 0.

    Most are reached. Pools have no cap of their own, so that theirs is all that a seat could be paid
    in the longest game, far above what ever happens; features of them are LARGEST at most.
    """
    cells, seats = config.height * config.width, config.num_players
    # Whatever is paid or refunded stops at the hard cap; only the start may lie above it.
    troops = max(config.starting_troops, config.hard_cap * cells)
    # Every tick may pay interest and income, and each of the two fills up to the cap at most.
    pools = config.starting_troops + 2 * config.max_ticks * config.hard_cap * cells
    opening = config.interest_base * config.early_interest_multiple
    return {
        "alive": 1,
        "land": cells,
        "troops": troops,
        "log_land": math.log2(1 + cells),
        "log_troops": math.log2(1 + troops),
        "density": troops,
        "fill": troops,
        "interest": max(opening, int(interest_rates(config).max())) / 100,
        "land_share": 1,
        "troops_share": 1,
        "rank": seats,
        "pools_out": pools,
        "pools_in": pools * seats,
        "log_pools_out": math.log2(1 + pools),
        "log_pools_in": math.log2(1 + pools * seats),
        "peak": cells,
        "peak_ratio": 1,
        "ticks_to_step": max(4, config.launch_delay),  # 4: the slowest cadence
        "cadence": 4,
        "illegal": num_decisions(config),
        "front": cells,
        "pool": pools,
        "log_front": math.log2(1 + cells),
        "log_pool": math.log2(1 + pools),
        "taken": cells * config.max_ticks,
        "need": LARGEST_NEED,
        "tick": config.max_ticks,
        "ticks_to_interest": config.interest_every,
        "ticks_to_income": config.income_every,
        "neutral_share": 1,
        "opening": 1,
        "alive_share": 1,
        "team": seats,
        "ally": 1,
    }


class FeatureDecoder(WritableArrays):
    """Turns the tables of a game into one feature vector per agent, each as that agent sees it.

    Args:
        config: of the game.

    The vector of a seat, float32 (N,), every number scaled to about 0..1 (see ``Column.scale``), 8 at most:

    ========  ===============  ====================================================================
    part      length           content
    ========  ===============  ====================================================================
    globals   G                the columns of ``observation.layout.GLOBALS``
    players   P * C            all columns of ``observation.layout.PLAYERS`` for each player in ego order:
                               the agent itself, then the seats that follow its own
    borders   (P + 1) * (B+4)  for neutral land, then each player in ego order: all columns of
                               ``observation.layout.BORDERS`` from the agent to that owner, then front,
                               pool, log_pool and taken from that owner to the agent
    ========  ===============  ====================================================================

    ``names`` lists all N features by name. What points from neutral land to a player or from the agent to
    itself is always 0; it stays in, so that the borders are a regular (P+1, 10) table. In games with teams
    players and borders have one more column each, ``team`` and ``ally``.

    """

    def __init__(self, config: GameConfig) -> None:
        self.names = feature_names(config)
        self.scale: Floats32 = per_number(scales(config), config).astype(np.float32)
        """float32 (S,): the factors of the numbers of ``state``."""
        self.reverse = np.array(REVERSE, np.int64)
        """int64: the columns of borders that are given in both directions."""
        self.index = _gather_index(ObsLayout.of(config, 0), self.reverse, len(self.names))
        """intp (P, N): where in ``state`` each feature of each seat lies."""
        exact = per_number(scales(config), config) * per_number(limits(config), config)
        self.state_high: Floats32 = np.minimum(exact * (1 + ROUNDING), LARGEST).astype(np.float32)
        """float32 (S,): what the numbers of ``state`` cannot exceed; the least of all is 0."""
        of_one = self.index[0]  # every seat's vector has the same columns in the same places
        self.feature_scale: Floats32 = self.scale[of_one]
        """float32 (N,): the factors of the features."""
        self.high: Floats32 = self.state_high[of_one]
        """float32 (N,): what the features cannot exceed; the least of all is 0."""

    @property
    def num_features(self) -> int:
        """N, the length of a feature vector."""
        return len(self.names)

    def of_entries(
        self, entries: Entries, players: Floats32, borders: Floats32, globals_: Floats32
    ) -> Floats32:
        """Return new float32 (n, N): the vectors of valid ``entries``, of tables by ``read_only``."""
        features = np.empty((len(entries.seats), self.num_features), np.float32)
        write_features(
            players,
            borders,
            globals_,
            self.reverse,
            self.feature_scale,
            entries.seats,
            entries.games,
            features,
        )
        return features

    def state(self, players: Floats32, borders: Floats32, globals_: Floats32) -> Floats32:
        """Return a new float32 (..., S): the tables end to end and scaled, in absolute seat order.

        Arguments: as for calling the decoder. ``layout.state_names`` lists the numbers.
        """
        lead = globals_.shape[:-1]
        flat = np.concatenate([globals_, players.reshape(*lead, -1), borders.reshape(*lead, -1)], axis=-1)
        flat *= self.scale
        np.minimum(flat, LARGEST, out=flat)
        return flat

    def __call__(self, players: Floats32, borders: Floats32, globals_: Floats32) -> Floats32:
        """Return a new float32 (..., P, N): the feature vectors of all seats, in their order.

        ``players``: float32 (..., P, columns); ``borders``: (..., columns, P+1, P+1); ``globals_``:
        (..., columns): one game, or a batch of games as ``VecGame`` returns it.
        """
        return self.state(players, borders, globals_).take(self.index, axis=-1)


def _gather_index(layout: ObsLayout, reverse: Ints, num_features: int) -> npt.NDArray[np.intp]:
    """Return where in the tables, laid end to end, each feature of each seat lies: (P, N).

    That is what the features are of tables that hold the places of their own numbers, which are exact, and
    scaled to less than LARGEST by a power of two.
    """
    seats, scale = np.arange(1, layout.num_players + 1), np.full(num_features, 2**-22, np.float32)
    sizes = {name: layout.shape(name) for name in ("globals", "players", "borders")}
    ends = np.cumsum([math.prod(shape) for shape in sizes.values()])
    parts = np.split(np.arange(ends[-1], dtype=np.float32), ends[:-1])
    tables = [read_only(part.reshape(1, *shape)) for part, shape in zip(parts, sizes.values(), strict=True)]
    places = np.empty((len(seats), num_features), np.float32)
    write_features(tables[1], tables[2], tables[0], reverse, scale, seats, np.zeros_like(seats), places)
    return (places * 2**22).astype(np.intp)


@kernel
def write_features(
    players: Any, borders: Any, globals_: Any, reverse: Any, scale: Any, seats: Any, games: Any, out: Any
) -> None:
    """Write the feature vector of every entry, as ``FeatureDecoder`` describes it.

    Args:
        players: float32 (E, P, C); the tables are what ``read_only`` returns.
        borders: float32 (E, B, P+1, P+1).
        globals_: float32 (E, G).
        reverse: int64 (R,), the columns of borders that are also told from the others to the agent.
        scale: float32 (N,), the factors of the features.
        seats: int64 (n,), 1..P.
        games: int64 (n,), 0..E-1.
        out: float32 (n, N), written.

    """
    num_players, width = players.shape[1], players.shape[2]
    of_globals = globals_.shape[1]
    of_players = of_globals + num_players * width
    for n in range(len(seats)):
        k, p, to = games[n], seats[n], out[n]
        write_scaled(globals_[k], scale[:of_globals], to[:of_globals])
        for i in range(num_players):  # in ego order: the seats from the own one on come first
            seat, first = (p - 1 + i) % num_players, of_globals + i * width
            write_scaled(players[k, seat], scale[first : first + width], to[first : first + width])
        write_borders(borders[k], p, reverse, scale[of_players:], to[of_players:])


@njit
def write_scaled(values: Any, scale: Any, out: Any) -> None:
    """Write ``values`` times ``scale``, LARGEST at most."""
    for i in range(len(out)):
        out[i] = min(values[i] * scale[i], LARGEST)


@njit
def write_borders(borders: Any, p: int, reverse: Any, scale: Any, out: Any) -> None:
    """Write the borders of player ``p`` with neutral land, then with each player in ego order."""
    num_columns, width = len(borders), len(borders) + len(reverse)
    for b in range(num_columns):
        write_ego(borders[b, p], p, scale[b], out[b::width])
    for r in range(len(reverse)):
        column = num_columns + r
        write_ego(borders[reverse[r], :, p], p, scale[column], out[column::width])


@njit
def write_ego(values: Any, p: int, factor: Any, out: Any) -> None:
    """Write ``values`` (P+1,), which lie in the order of owner codes, in the ego order of player ``p``."""
    after = len(values) - p  # from the own seat on
    out[0] = min(values[0] * factor, LARGEST)
    write_times(values[p:], factor, out[1 : 1 + after])
    write_times(values[1:p], factor, out[1 + after :])


@njit
def write_times(values: Any, factor: Any, out: Any) -> None:
    """Write ``values`` times ``factor``, LARGEST at most."""
    for i in range(len(values)):
        out[i] = min(values[i] * factor, LARGEST)
