"""P teams of one, played by the code of teams and without it: the same games, digest for digest.

Teams of one need no rule of teams, so the engine plays them with the code that has none. Here they are played
by the other code, too: where no seat has an ally, the two must not differ.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from territorial.config import GameConfig, make_params
from territorial.engine import calls
from territorial.engine.vec_game import VecGame
from tests.episodes import random_actions

CONFIG = GameConfig(height=40, width=40, num_players=8, map="lakes", max_ticks=600)
SEATS = ("agent", "metronome", "banker", "turtle", "novice", "random", "settler", "vulture")
# Ways to make teams of one.
WAYS: tuple[dict[str, Any], ...] = (
    {"teams": 8},
    {"teams": 8, "team_deal": "turn"},
    {"teams": 8, "team_deal": "random"},
    {"teams": 8, "team_spawns": "together"},
    {"teams": (3, 1, 8, 2, 5, 7, 6, 4), "team_spawns": "together"},
)


class SameGames(NamedTuple):
    """What was the same."""

    games: int
    ticks: int
    decisions: int
    deaths: int
    # Games that were not: how teams were made, the seed and the tick.
    different: tuple[str, ...]


@contextmanager
def code_of_teams() -> Iterator[None]:
    """Let batches that are made within run the code of teams, even if no seat has an ally.

    Spawns alone are found as without: that teams of one do not start together is decided before that code.
    """

    def with_teams(config: GameConfig) -> Any:
        params: Any = make_params(config)
        return params._replace(allied=(1,), starts_together=0)

    with mock.patch.object(calls, "make_params", with_teams):
        yield


def compare(num_games: int, seed: int = 0, batch: int = 250) -> SameGames:
    """Play ``num_games`` games in both ways, with the same actions, and compare digests after every decision.

    Rewards and ends are compared as well. ``seed`` is that of the first batch of games.
    """
    games = ticks = decisions = deaths = 0
    different: list[str] = []
    while games < num_games and not different:
        count, way = min(batch, num_games - games), WAYS[games // batch % len(WAYS)]
        plain = _started_game(CONFIG, count, seed + games)
        with code_of_teams():
            teams = _started_game(CONFIG.replace(**way), count, seed + games)
        rng = np.random.default_rng(seed + games)
        while not (plain.is_idle.all() or different):
            actions = random_actions(plain, rng)
            decisions += int((~plain.is_idle).sum())
            plain.step(actions)
            teams.step(actions)
            different = [
                f"{way}, seed {int(plain.state.seed[k])}, tick {int(plain.state.tick[k])}"
                for k in range(count)
                if not _are_same(plain, teams, k)
            ]
        games += count
        ticks += int(plain.state.tick.sum())
        deaths += int((plain.state.alive[:, 1:] == 0).sum())
    return SameGames(games, ticks, decisions, deaths, tuple(different))


def _are_same(plain: VecGame, teams: VecGame, k: int) -> bool:
    """Return whether game ``k`` of both is the same after a step, and its rewards and ends are."""
    names = ("rewards", "terminated", "truncated", "is_over")
    pairs = [(getattr(plain.results, name)[k], getattr(teams.results, name)[k]) for name in names]
    return all(np.array_equal(a, b) for a, b in pairs) and plain.digest(k) == teams.digest(k)


def _started_game(config: GameConfig, num_games: int, seed: int) -> VecGame:
    game = VecGame(config, num_games, seed=seed, seats=SEATS, autoreset="disabled", observe=False)
    game.reset()
    return game
