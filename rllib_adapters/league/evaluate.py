"""``evaluate``: games between players of a league of any environment."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, combinations
from typing import Any

import numpy as np
import torch
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec

from rllib_adapters.league.any_env import AnyEnvConfig, AnyEnvRunner
from rllib_adapters.league.kit import creator_of
from rllib_adapters.league.line_up import Seating
from rllib_adapters.league.pool import pools_of
from territorial.config.validation import checked_list, shown, whole_number
from territorial.evaluation.outcome import Outcome, PlacedGame
from territorial.evaluation.progress import counted
from territorial.evaluation.standings import Standings
from territorial.evaluation.workers import Processes, StoppedError, cause
from territorial.league import Player, SnapshotStore
from territorial.nets.frozen import one_thread
from territorial.typing import Ints

LARGEST_SEED = 2**31 - 1
"""Of a game: what every environment takes."""


def evaluate(
    config: AnyEnvConfig,
    players: Sequence[str],
    episodes: int,
    processes: int | None = None,
    *,
    seed: int = 0,
    progress: bool = True,
) -> Standings:
    """Return how snapshots and bots of a league do against each other in the league's environment.

    The games are played by RLlib's env runner in processes that have the pools, and neither a learner nor
    Ray. Players are dealt evenly: the numbers of games that two players have had at a seat differ by at most
    one, if both fit it. Game k has the seed ``seed`` + k, from which Python, numpy, PyTorch and the
    environment draw. So where these determine it, and bots remember nothing of earlier games, the result is
    the same in any number of processes. Games that do not count, as ``outcome`` says, are left out.

    Args:
        config: what ``add_league`` returned, or the ``config`` of an algorithm that was built from it.
        players: at least two, such as "snapshot:main-9" and "bot:centre". A bot fits every seat; a snapshot
            fits those with the spaces of its module.
        episodes: how many games there are; at least one for each player that fits a seat.
        processes: number of processes that play; 1 plays in this process; 1 to 1024, default None: one per
            usable core.
        seed: seed of the first game; default 0.
        progress: True: a line on stderr says how many games have been played; default True.

    Ctrl-C (KeyboardInterrupt) ends it early: what has been played is returned, with ``is_complete`` False.

    Raises:
        TypeError: for a ``config`` that is not of ``add_league``.
        ValueError: for players or numbers that cannot be.
        StoppedError: if a player or the environment fails; its ``result`` has the games before.

    """
    if not isinstance(config, AnyEnvConfig) or config.seating is None:
        raise TypeError(f"config is a {type(config).__name__}; it must be what add_league returned")
    wanted = _listed(config, checked_list("players", players, str))
    episodes = whole_number("episodes", episodes, 1, LARGEST_SEED)
    seed = whole_number("seed", seed, 0, LARGEST_SEED - episodes)
    fitting = _fitting(config, config.seating, wanted)
    most = max(map(len, fitting))
    if episodes < most:
        raise ValueError(
            f"episodes is {episodes}, and a seat has {most} players; it must be at least {most}, so that "
            "each of them gets the seat"
        )
    make, play = partial(_player_of_games, _config_of_games(config), seed), Processes(processes)
    played: dict[int, Outcome | None] = {}
    try:
        with _randomness_kept(), one_thread():
            games = chain.from_iterable(play(make, list(enumerate(dealt(fitting, episodes)))))
            played.update(counted(games, episodes) if progress else games)
    except KeyboardInterrupt:
        pass
    except Exception as error:  # of a player, of the environment, or of where it plays
        raise StoppedError(cause(error), _standings(played, episodes, seed)) from error
    return _standings(played, episodes, seed)


def _standings(played: Mapping[int, Outcome | None], episodes: int, seed: int) -> Standings:
    records = [
        PlacedGame(game=number, seed=seed + number, seats=outcome.players, places=outcome.places)
        for number, outcome in sorted(played.items())
        if outcome is not None
    ]
    return Standings(records, is_complete=len(played) == episodes)


@contextmanager
def _randomness_kept() -> Iterator[None]:
    """Let the caller draw the same numbers after the block as without it."""
    of_python, of_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002  # environments may draw from it
    try:
        with torch.random.fork_rng():
            yield
    finally:
        random.setstate(of_python)
        np.random.set_state(of_numpy)  # noqa: NPY002  # as above


# ---- who plays -------------------------------------------------------------------------------------------


def _listed(config: AnyEnvConfig, given: Sequence[str]) -> list[Player]:
    """Return the players of texts; ValueError unless they are snapshots of the store, or bots."""
    pool = next(iter(pools_of(config).values())).model_config
    known = {f"bot:{name}": Player("bot", name) for name in pool["bots"]}
    known |= {f"snapshot:{name}": Player("snapshot", name) for name in pool["store"].names()}
    for text in given:
        if text not in known:
            raise ValueError(f"players has {shown(text)}; each must be one of {', '.join(known)}")
    if len(set(given)) < max(2, len(given)):
        raise ValueError(f"players is {shown(given)}; it must have at least two players, each of them once")
    return [known[text] for text in given]


def _fitting(config: AnyEnvConfig, seating: Seating, players: Sequence[Player]) -> list[tuple[Player, ...]]:
    """Return the players that fit each seat; ValueError for a player or a seat that nothing fits."""
    pools = pools_of(config)
    fitting = [tuple(one for one in players if _fits(one, pools[pool])) for pool in seating.pools]
    for player in players:
        if not any(player in found for found in fitting):
            raise ValueError(
                f"players has {str(player)!r}, which fits no seat; its class must be one of modules or "
                "architectures of add_league, and its spaces those of a seat"
            )
    for agents, found in zip(seating.seats, fitting, strict=True):
        if not found:
            seat, given = ", ".join(map(str, agents)), ", ".join(map(str, players))
            raise ValueError(f"players are {given}; the seat of {seat} needs one with its spaces")
    return fitting


def _fits(player: Player, pool: Any) -> bool:
    """Return whether a pool can play a player; of bots only games can tell."""
    if player.kind == "bot":
        return True
    own = pool.model_config
    manifest = own["store"].manifest(player.name)
    is_known = manifest.architecture in own["architectures"]
    return is_known and all(getattr(manifest, name) == value for name, value in own["spaces"].items())


def dealt(fitting: Sequence[tuple[Any, ...]], games: int) -> list[tuple[Any, ...]]:
    """Return who sits where in so many games; ``fitting``: those who can have each seat.

    In a round, as many games as a seat has players, each of them has the seat once. The seats that the same
    players fit are a fixed number of players apart within a round. Rounds take turns with these numbers, so
    that every two meet as often as others, either of them at the earlier seat.
    """
    deals: list[list[Any]] = [[None] * len(fitting) for _ in range(games)]
    for number, players in enumerate(dict.fromkeys(fitting), start=1):
        seats, count = [seat for seat, own in enumerate(fitting) if own == players], len(players)
        met = np.zeros(count, np.int64)
        for k in range(games):
            if k % count == 0:
                offsets = _offsets(met, len(seats))
            first = k + k // count**number  # so that those of other seats are not always the same
            for seat, offset in zip(seats, offsets, strict=True):
                deals[k][seat] = players[(first + offset) % count]
    return list(map(tuple, deals))


def _offsets(met: Ints, seats: int) -> list[int]:
    """Return by how many players seats are apart in a round, and count it in ``met`` of all rounds."""
    chosen: list[int] = []
    for _ in range(seats):
        apart = (np.arange(len(met))[:, None] - np.array(chosen, np.int64)) % len(met)
        order = np.lexsort((met[apart].sum(1), (apart == 0).sum(1)))  # nobody twice, if that can be
        chosen.append(int(order[0]))
    for one, other in combinations(chosen, 2):
        met[(other - one) % len(met)] += 1
    return chosen


# ---- where games are played ------------------------------------------------------------------------------


def _player_of_games(config: AnyEnvConfig, seed: int) -> Callable[[Any], Iterator[tuple[int, Any]]]:
    """Return what plays a game in this process, given its number and its players."""
    runner = AnyEnvRunner(config=config, worker_index=0)

    def play(game: tuple[int, Sequence[Player]]) -> Iterator[tuple[int, Outcome | None]]:
        number, seats = game
        yield number, runner.play(seats, seed + number)

    return play


def _config_of_games(config: AnyEnvConfig) -> AnyEnvConfig:
    """Return a configuration for a runner of its own, with the pools and no other modules."""
    own: AnyEnvConfig = config.copy(copy_frozen=False)
    own.env, own.seed, own.league_callback = creator_of(config), None, None
    own.env_runners(num_env_runners=0, num_envs_per_env_runner=1)
    pools = pools_of(own)
    own.rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs=pools))
    own.policies = {name: own.policies[name] for name in pools}
    own.move_store(SnapshotStore(next(iter(pools.values())).model_config["store"].path))
    return own
