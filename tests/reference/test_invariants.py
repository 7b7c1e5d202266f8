"""What must always hold between two games of the twin, in random play with random rules.

What must hold within one is checked on the engine, in tests/engine/test_invariants.py: it plays the same.
"""

import random

import pytest

from territorial.maps import make_maps
from tests.twin import ReferenceGame, place_spawns
from tests.twin.differential import random_config, setting_of

SEEDS = range(12)


class RelabelledGame(ReferenceGame):
    """A game whose seat p plays for seat ``original[p]`` of another, its order of play too."""

    original: dict[int, int]

    def order_key(self, p):
        return super().order_key(self.original[p])


def random_launches(rng, game, eagerness):
    """Return launches of some seats, many legal and some not, as clueless players send them."""
    targets = range(game.config.num_players + 1)
    launches = []
    for p in game.seats:
        while rng.random() < eagerness:
            legal = [t for t in targets if game.is_legal(p, t)]
            pool = legal if legal and rng.random() < 0.8 else targets
            launches.append((p, rng.choice(pool), rng.randint(1, rng.choice([64, 256, 1024]))))
    return launches


def seat_of(game, p):
    """Return everything of seat p that names no other seat."""
    fields = ("alive", "troops", "land", "peak", "next_step", "death_tick")
    counts = ("illegal", "raised", "bounced")
    ledger = [game.ledger[key][p] for key in game.ledger]
    return [getattr(game, name)[p] for name in (*fields, *counts)] + ledger


def random_teams(rng, num_players):
    """Return the team of each seat, at least two teams and none without a seat; sizes are uneven."""
    num_teams = rng.randint(2, num_players)
    teams = [*range(1, num_teams + 1), *(rng.randint(1, num_teams) for _ in range(num_players - num_teams))]
    rng.shuffle(teams)
    return tuple(teams)


def launches_now(rng, game, eagerness):
    """Return random launches, if this is a tick of decisions."""
    is_decision = game.tick % game.config.decision_every == 0
    return random_launches(rng, game, eagerness) if is_decision else []


@pytest.mark.parametrize("seed", SEEDS)
def test_other_numbers_for_seats_and_teams_rename_the_game(seed):
    """Every second game is without teams: there, each seat is a team."""
    rng = random.Random(seed)
    config = random_config(rng)
    land, num_players = make_maps(config)[0], config.num_players
    teams = random_teams(rng, num_players) if seed % 2 else tuple(range(1, num_players + 1))
    spawns = place_spawns(config, land, seed)
    original = dict(
        zip(range(1, num_players + 1), rng.sample(range(1, num_players + 1), num_players), strict=True)
    )
    new_code = {0: 0} | {old: new for new, old in original.items()}
    new_team = dict(zip(sorted(set(teams)), rng.sample(sorted(set(teams)), max(teams)), strict=True))
    renamed = [new_team[teams[original[p] - 1]] for p in range(1, num_players + 1)]
    if seed % 2:
        config, renamed_config = config.replace(teams=teams), config.replace(teams=renamed)
    else:
        renamed_config = config
    game = ReferenceGame(config, land, seed, spawns)
    twin = RelabelledGame(renamed_config, land, seed, [spawns[original[p] - 1] for p in game.seats])
    twin.original = original
    while not game.over and game.tick < 200:
        launches = launches_now(rng, game, 0.4)
        game.step_tick(launches)
        twin.step_tick([(new_code[p], new_code[t], f) for p, t, f in launches])
        assert twin.owner == [[new_code.get(code, code) for code in row] for row in game.owner]
        for p in game.seats:
            q = new_code[p]
            assert seat_of(twin, q) == seat_of(game, p)
            for t in range(num_players + 1):
                assert twin.pools[q][new_code[t]] == game.pools[p][t]
                assert twin.taken[q][new_code[t]] == game.taken[p][t]
    assert twin.over == game.over
    if game.over:
        placements = twin.placements()
        assert [placements[new_code[p] - 1] for p in game.seats] == game.placements()


@pytest.mark.parametrize("seed", range(6))
def test_the_order_of_the_seats_in_a_tick_does_not_matter(seed):
    rng, config = random.Random(seed), setting_of(seed, with_teams=True).config
    land = make_maps(config)[0]
    games = [ReferenceGame(config, land, seed) for _ in range(2)]
    while not games[0].over and games[0].tick < 200:
        launches = launches_now(rng, games[0], 0.6)
        seats = list(games[0].seats)
        random.Random(games[0].tick).shuffle(seats)
        games[0].step_tick(launches)
        games[1].step_tick(sorted(launches, key=lambda launch: seats.index(launch[0])))
        assert (games[0].digest(), games[0].ledger) == (games[1].digest(), games[1].ledger)
