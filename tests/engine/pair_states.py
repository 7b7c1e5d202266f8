"""Random states for the form "pairs": games of bots, and positions with numbers of all sizes.

A seed decides everything: the size, the map, the rules, the number of seats, and who is eliminated.
"""

import random
from collections.abc import Iterator

import numpy as np

from territorial import GameConfig, VecGame
from territorial.bots import NAMES
from territorial.config.map_names import KINDS
from territorial.config.teams import DEALS
from territorial.constants import BLOCKED
from territorial.maps import capacity, make_maps
from tests.twin import ReferenceGame
from tests.twin.differential import random_rules

MOST = 2**36
"""Most troops that a position may have at home."""


def states(seed: int, *, teams: bool = False) -> Iterator[tuple[VecGame, ReferenceGame]]:
    """Yield a game of the engine and a reference game, put together into one random state after another."""
    rng = random.Random(f"pairs {seed}")
    config = random_config(rng)
    if teams:
        config = config.replace(teams=rng.randint(2, config.num_players), team_deal=rng.choice(DEALS))
    names = [rng.choice(NAMES) for _ in range(config.num_players)]
    game = VecGame(config, 1, seed, seats=names, autoreset="disabled", observe=False)
    game.reset()
    reference = ReferenceGame(config, game.land(0), 0)
    for _ in range(5):
        copy_state(game, reference)
        yield game, reference
        if rng.random() < 0.5:
            take_position(rng, game)
        for _ in range(rng.choice((0, 1, 1, 5, 20)) if config.num_players < 60 else 1):
            game.step()


def random_config(rng: random.Random) -> GameConfig:
    """Return a random size, map, number of seats (2 to 250), and the default rules or random ones."""
    side, num_players = rng.randint(16, 32), rng.choice((2, rng.randint(3, 12)))
    crowd = rng.random()
    if crowd < 0.02:
        side, num_players = rng.randint(44, 50), rng.randint(60, 130)
    elif crowd < 0.025:
        side, num_players = 72, 250
    rules = random_rules(random.Random(str(rng.getrandbits(64)))) if rng.random() < 0.6 else {}
    config = GameConfig(
        height=side,
        width=side + rng.randint(0, 8),
        num_players=2,
        map=rng.choice(sorted(KINDS)),
        map_seed=rng.getrandbits(64),
        num_maps=1,
        max_ticks=rng.choice((1, 60, 300, 10_000)),
        decision_every=rng.choice((1, 10, 50)),
        **rules,
    )
    (land,) = make_maps(config)
    return config.replace(num_players=max(2, min(num_players, capacity(land, num_players))))


def take_position(rng: random.Random, game: VecGame) -> None:
    """Put the game into a position with ragged borders, eliminated seats, and numbers of all sizes."""
    config, seats = game.config, range(1, game.config.num_players + 1)
    team = game.state.team[0]
    living = [p for p in seats if rng.random() < 0.8]
    owner = random_owner(rng, game, rng.choice((living, living[:2], living[:1])))
    last = config.max_ticks // config.decision_every
    game.set_position(
        0,
        owner,
        tick=rng.randint(0, rng.choice((min(1, last), last))) * config.decision_every,
        troops=[amount(rng) if p in living else 0 for p in seats],
        pools={
            (p, t): amount(rng)
            for p in living
            for t in [0, *living]
            if team[p] != team[t] and rng.random() < 0.4
        },
        peak=[rng.choice((0, 1, rng.randint(0, 2000), 2**20)) for _ in seats],
        next_step=[rng.randint(0, last * config.decision_every + 9) for _ in seats],
    )
    state, largest = game.state, rng.choice((3, 400, 2**20))
    state.alive[0, 1:] = [p in living for p in seats]
    state.taken[0, 1:] = np.random.default_rng(rng.getrandbits(32)).integers(
        0, largest, state.taken[0, 1:].shape
    )
    if rng.random() < 0.2:  # more than counts
        state.pools[0][state.pools[0] > 2**30] = 2 ** rng.randint(36, 53)
        state.troops[0][state.troops[0] > 2**30] = 2 ** rng.randint(36, 45)


def amount(rng: random.Random) -> int:
    """Return troops: few, many, or none."""
    return rng.choice(
        (0, rng.randint(0, 30), rng.randint(0, 5000), 2 ** rng.randint(0, 36) - rng.randint(0, 1))
    )


def random_owner(rng: random.Random, game: VecGame, living: list[int]) -> np.ndarray:
    """Return owner codes of patches of land, ragged, with neutral gaps or none; some may own nothing."""
    config, numbers = game.config, np.random.default_rng(rng.getrandbits(32))
    side = rng.choice((1, 3, 6, 12))
    codes = np.array(living if living and rng.random() < 0.3 else [0, *living])
    coarse = numbers.choice(codes, (-(-config.height // side), -(-config.width // side)))
    owner = np.kron(coarse, np.ones((side, side), np.int64))[: config.height, : config.width]
    noise = numbers.random(owner.shape) < rng.choice((0.0, 0.1))
    owner = np.where(noise, numbers.choice(codes, owner.shape), owner)
    blocked = game.state.owner[0, 1:-1, 1:-1] == BLOCKED
    return np.where(blocked, BLOCKED, owner).astype(np.uint8)


def copy_state(game: VecGame, reference: ReferenceGame) -> None:
    """Put the reference game into the state of the engine's, as far as observations go."""
    state = game.state
    reference.tick, reference.num_land = int(state.tick[0]), int(state.num_land[0])
    reference.owner = state.owner[0, 1:-1, 1:-1].tolist()
    reference.alive = [bool(alive) for alive in state.alive[0]]
    for name in ("team", "troops", "land", "peak", "next_step", "pools", "taken"):
        setattr(reference, name, getattr(state, name)[0].tolist())
