"""Environments that earlier revisions pickled: they counted steps and began the next games by themselves."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from territorial.engine.older_pickles import end_otherwise


def upgraded_vec(state: dict[str, Any], autoreset: str) -> dict[str, Any]:
    """Return the attributes of a ``TerritorialVec`` for those that were pickled.

    ``autoreset``: what its engine is to do with games that end.
    """
    if "_cycles" not in state:
        return state
    options, game = state["options"], state["game"]
    end_otherwise(game, autoreset, options.end_when, options.max_cycles)
    game.num_cycles[:] = state["_cycles"]
    older = ("_cycles", "_stands", "_format")
    return {name: value for name, value in state.items() if name not in older} | {
        "format": state["_format"],
        "_mode": options.mode(game),
        "spaces": state["_mode"].keys(),
        "reward_names": state["_rewarding"].names,
    }


def upgraded_env(state: dict[str, Any]) -> dict[str, Any]:
    """Return what makes a ``TerritorialEnv``, of what was pickled: the arguments, and what it was in.

    ``arguments`` and ``attributes``, and ``game``, the batch that is in the middle of its game.
    """
    options, game = state["options"], state["game"]
    end_otherwise(game, "disabled", options.end_when, options.max_cycles)
    game.num_cycles[:] = state["_num_cycles"]
    agents = state["possible_agents"]
    seats = ["agent" if f"player_{i}" in agents else "novice" for i in range(game.config.num_players)]
    arguments = {"config": game.config, "seats": seats, "render_mode": state["render_mode"]}
    return {
        "arguments": arguments | {spec.name: getattr(options, spec.name) for spec in fields(options)},
        "attributes": {name: state[name] for name in ("agents", "_has_begun")},
        "game": game,
    }
