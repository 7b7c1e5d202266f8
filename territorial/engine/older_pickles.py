"""Pickles of batches that earlier releases made, in the form of this one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from territorial.config import GameConfig, team_table
from territorial.engine.batch_arrays import BatchArrays
from territorial.engine.batch_players import BatchPlayers
from territorial.engine.checks import checked_options
from territorial.engine.last_launches import allocate_launches
from territorial.engine.step import allocate_call, allocate_results, allocate_slots
from territorial.game.state import PLAYERS, State, with_new_fields

FORMER = (
    "blocks",
    "actions",
    "_actions",
    "_buffers",
    "_final_buffers",
    "_results",
    "_slots",
    "_launched",
    "_seed",
    "_guests",
    "_custom",
    "_params",
    "_autoreset",
    "_end_when",
    "_observes",
    "_owner",
    "_owner_is_current",
    "_position",
    "_watcher",
)
"""Attributes that a batch had, for what is in its parts now or is made again."""


def upgraded(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``VecGame.__setstate__`` takes for what ``__getstate__`` gave.

    Earlier revisions had all arrays, bots and options as attributes of the batch.
    """
    if "_arrays" in state:
        return {**state, "_arrays": _with_teams(state["_arrays"], state["config"])}
    kept = {name: value for name, value in state.items() if name not in FORMER}
    options = checked_options(state["_autoreset"], state["_end_when"], state["_observes"])
    arrays = _with_teams(_arrays_of(state), state["config"])
    return kept | {"_arrays": arrays, "_players": _players_of(state), "_options": options}


def _arrays_of(state: Mapping[str, Any]) -> BatchArrays:
    """Return the arrays of a batch that had them as attributes.

    The first revisions did not count the steps of games, and later ones did not note the last launches.
    """
    games, config = state["num_games"], state["config"]
    is_first = "_slots" not in state
    buffers = state["_buffers"]
    return BatchArrays(
        state=state["blocks"],
        buffers=buffers,
        final_buffers=state["_final_buffers"] or buffers,
        results=allocate_results(games, config.num_players, len(config.rewards))
        if is_first
        else state["_results"],
        slots=allocate_slots(games) if is_first else state["_slots"],
        launched=state.get("_launched") or allocate_launches(games, config.num_players),
        actions=state["_actions" if is_first else "actions"],
        seed=state["_seed"],
        call=allocate_call(games),
    )


def _with_teams(arrays: BatchArrays, config: GameConfig) -> BatchArrays:
    """Return ``arrays`` with the fields of teams, which earlier revisions did not have."""
    state, results = arrays.state, arrays.results
    if state.players.shape[1] == len(PLAYERS):
        return arrays
    state = State(*(with_new_fields(name, block, 1) for name, block in state._asdict().items()))
    final_players = with_new_fields("players", results.final_players, 1)
    for players in (state.players, final_players):
        players[:, PLAYERS["team"]] = team_table(config)
    return arrays._replace(state=state, results=results._replace(final_players=final_players))


def _players_of(state: Mapping[str, Any]) -> BatchPlayers:
    """Return the players of a batch; earlier revisions had no custom bots but those in Python."""
    players = BatchPlayers(state["config"])
    players.guests = state["_guests"]
    players.custom = state.get("_custom") or players.custom
    return players


def end_otherwise(game: Any, autoreset: str, end_when: str, max_cycles: int | None) -> None:
    """Let the episodes of a ``VecGame`` end as those of an environment, which used to end them itself."""
    options = checked_options(autoreset, end_when, game.observes)
    game.__setstate__(game.__getstate__() | {"_options": options})
    game.max_cycles = max_cycles
