"""Pickles of batches that earlier releases made, in the form of this one."""

from __future__ import annotations

from typing import Any

from territorial.engine.custom_bots import CustomBots
from territorial.engine.last_launches import allocate_launches
from territorial.engine.step import allocate_results, allocate_slots


def upgraded(state: dict[str, Any]) -> dict[str, Any]:
    """Return what ``VecGame.__setstate__`` takes for what ``__getstate__`` gave.

    Earlier revisions had no custom bots but those in Python, and did not note the last launches. The first
    ones did not count the steps of games, and knew no limit for them.
    """
    games, config = state["num_games"], state["config"]
    newer = {"_custom": CustomBots(), "_launched": allocate_launches(games, config.num_players)}
    state = newer | state
    if "_slots" in state:
        return state
    results = allocate_results(games, config.num_players, len(config.rewards))
    newer = {"actions": state["_actions"], "_results": results, "_slots": allocate_slots(games)}
    return {name: value for name, value in state.items() if name != "_actions"} | newer


def end_otherwise(game: Any, autoreset: str, end_when: str, max_cycles: int | None) -> None:
    """Let the episodes of a ``VecGame`` end as those of an environment, which used to end them itself."""
    state = game.__getstate__() | {"_autoreset": autoreset, "_end_when": end_when}
    game.__setstate__(state)
    game.max_cycles = max_cycles
