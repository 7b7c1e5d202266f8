"""The feature vector as data: which numbers it has, in which order, how they are scaled and bounded."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from territorial.config import GameConfig, interest_rates
from territorial.observation.layout import BORDERS, LARGEST_NEED, TABLES, Column, columns, index
from territorial.observation.pair_columns import OWN, pair_columns

REVERSE = tuple(index(BORDERS, name) for name in ("front", "pool", "log_pool", "taken"))
"""Columns of the borders table of which an agent also sees the other direction."""

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


def scale_of(column: Column, config: GameConfig) -> float:
    """Return the factor that makes a feature of about 0..1 of a column's value."""
    cells = config.height * config.width
    scales = {
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
    return scales[column.scale]


def num_decisions(config: GameConfig) -> int:
    """Return how often a player decides in the longest game."""
    return -(-config.max_ticks // config.decision_every)


def scales(config: GameConfig) -> dict[str, float]:
    """Return the factor of every column by its name."""
    return {
        column.name: scale_of(column, config) for table in columns_of(config).values() for column in table
    }


def limits(config: GameConfig) -> dict[str, float]:
    """Return, for every column by its name, a value that no game can exceed; none is below 0.

    Most are reached. Pools have no cap of their own, so that theirs is all that a seat could be paid
    in the longest game, far above what ever happens.
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
