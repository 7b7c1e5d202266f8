"""Who plays which agent of an environment, drawn for every episode."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rllib_adapters.league.pool import PLAYERS, PlayError
from territorial.config.validation import checked_list, finite_number
from territorial.evaluation.outcome import Outcome
from territorial.league.seating import LineUps

MODULES, SEATS, LEARNS = "league_modules", "league_seats", "league_learns"
"""Keys of an episode's ``custom_data``: modules by agent, players by seat, agents that are learned from."""


def module_of_agent(agent_id: Any, episode: Any = None, **_: Any) -> str:
    """Return which module acts for an agent of an episode; this is RLlib's mapping function.

    RLlib asks while an episode is cut as well, before its successor has the data, and knows the answer then.
    """
    modules = episode._custom_data.get(MODULES) if hasattr(episode, "_custom_data") else None
    if modules is None:
        return ""
    if agent_id not in modules:
        raise PlayError(
            f"agent {agent_id!r} has no seat; the agents that add_league found in possible_agents are "
            f"{', '.join(map(str, modules))}"
        )
    return str(modules[agent_id])


class Ended(NamedTuple):
    """How an episode ended.

    Args:
        returns: the sum of the rewards that the environment gave, by agent.
        infos: the last infos by agent, and under "__common__" those for all.
        length: steps of the environment.
        is_cut: whether it was truncated.
        seats: the agents of every seat.

    """

    returns: Mapping[Any, float]
    infos: Mapping[Any, Mapping[str, Any]]
    length: int
    is_cut: bool
    seats: Sequence[Sequence[Any]]


def by_returns(ended: Ended) -> list[float]:
    """Return the sums of the returns of the agents of each seat."""
    return [sum(ended.returns.get(agent, 0.0) for agent in seat) for seat in ended.seats]


@dataclass(frozen=True)
class Seating:
    """The seats of an environment's games.

    Args:
        seats: the agents of each.
        pools: the pool that plays each.
        outcome: as of ``add_league``.

    """

    seats: tuple[tuple[Any, ...], ...]
    pools: tuple[str, ...]
    outcome: Callable[[Ended], Sequence[float] | None]

    def draw(self, table: LineUps, random: np.random.Generator) -> dict[str, Any]:
        """Return what ``custom_data`` of a new episode say: its players, drawn from ``table``."""
        players, learns = table.draw_game(random)
        data: dict[str, Any] = {SEATS: tuple(map(str, players)), PLAYERS: {}, MODULES: {}, LEARNS: []}
        for player, is_learned, agents, pool in zip(players, learns, self.seats, self.pools, strict=True):
            for agent in agents:
                data[PLAYERS][agent] = str(player)
                data[MODULES][agent] = player.name if player.kind == "trainable" else pool
            if is_learned:
                data[LEARNS] += agents
        return data

    def outcome_of(self, players: Sequence[str], ended: Ended) -> Outcome | None:
        """Return how a game ended; None: it does not count. ValueError for scores that cannot be."""
        scores = self.outcome(ended)
        if scores is None:
            return None
        scores = checked_list("what outcome returns", scores)
        if len(scores) != len(self.seats):
            raise ValueError(
                f"outcome returned {len(scores)} numbers; it must return one for each of the "
                f"{len(self.seats)} seats"
            )
        found = np.array([finite_number("what outcome returns for a seat", one) for one in scores])
        ahead, alike = (found[:, None] < found).sum(1), (found[:, None] == found).sum(1)
        return Outcome(tuple(players), tuple((ahead + (alike + 1) / 2).tolist()))
