"""What must always hold between two games of the twin, in random play with random rules.

What must hold within one is checked on the engine, in tests/engine/test_invariants.py: it plays the same.
"""

import random

import numpy as np
import pytest

from territorial.maps import make_maps
from tests.reference.drawings import SEAT_FIELDS
from tests.twin import ReferenceGame, place_spawns
from tests.twin.differential import random_config


class RelabelledGame(ReferenceGame):
    """A game whose seat p plays for seat ``original[p]`` of another, its order of play too."""

    original: list[int]

    def order_key(self, p):
        return super().order_key(self.original[p])


def random_launches(rng, game):
    """Return launches of some seats, many legal and some not, as clueless players send them."""
    targets = range(game.config.num_players + 1)
    launches = []
    for p in game.seats:
        while rng.random() < 0.4:
            legal = [t for t in targets if game.is_legal(p, t)]
            pool = legal if legal and rng.random() < 0.8 else targets
            launches.append((p, rng.choice(pool), rng.randint(1, rng.choice([64, 256, 1024]))))
    return launches


def numbers_of(game, codes):
    """Return all numbers of a game by seat, and by seat and target, in the order of ``codes``."""
    fields = [np.array(getattr(game, name)) for name in SEAT_FIELDS]
    fields += map(np.array, game.ledger.values())
    return [field[np.ix_(*[codes] * field.ndim)] for field in fields]


@pytest.mark.parametrize("seed", range(12))
def test_other_numbers_for_seats_and_teams_rename_the_game(seed):
    """Every second game is one of teams of one, which play as if there were none."""
    rng = random.Random(seed)
    config = random_config(rng)
    land, codes = make_maps(config)[0], list(range(config.num_players + 1))
    num_teams = rng.randint(2, config.num_players) if seed % 2 else config.num_players
    teams = [*range(num_teams), *rng.choices(range(num_teams), k=config.num_players - num_teams)]
    rng.shuffle(teams)
    original = [0, *rng.sample(codes[1:], config.num_players)]
    new_code = np.argsort(original).tolist()
    new_team = rng.sample(range(1, num_teams + 1), num_teams)
    spawns = place_spawns(config, land, seed)
    game = ReferenceGame(config.replace(teams=[team + 1 for team in teams]), land, seed, spawns)
    renamed = config.replace(teams=[new_team[teams[p - 1]] for p in original[1:]])
    twin = RelabelledGame(renamed, land, seed, [spawns[p - 1] for p in original[1:]])
    twin.original = original
    while not game.over and game.tick < 200:
        launches = random_launches(rng, game) if game.tick % config.decision_every == 0 else []
        game.step_tick(launches)
        twin.step_tick([(new_code[p], new_code[t], f) for p, t, f in launches])
        assert twin.owner == [
            [new_code[code] if code in codes else code for code in row] for row in game.owner
        ]
        assert all(map(np.array_equal, numbers_of(twin, new_code), numbers_of(game, codes)))
    assert twin.over == game.over
    if game.over:
        placements = twin.placements()
        assert [placements[new_code[p] - 1] for p in game.seats] == game.placements()
