"""Random games with teams: what must always hold, teams of one, and other names for seats and teams."""

import random

import pytest

from tests.reference.test_invariants import (
    RelabelledGame,
    WatchedGame,
    assert_every_seat_balances,
    assert_land_counts,
    assert_states_are_sound,
    assert_troops_balance,
    random_launches,
    random_setting,
    seat_of,
)
from tests.twin import ReferenceGame, place_spawns

SEEDS = range(14)


def random_teams(rng, num_players):
    """Return the team of each seat, at least two teams and none without a seat; sizes are uneven."""
    num_teams = rng.randint(2, num_players)
    teams = [*range(1, num_teams + 1), *(rng.randint(1, num_teams) for _ in range(num_players - num_teams))]
    rng.shuffle(teams)
    return tuple(teams)


def team_setting(seed):
    """Return a random small game with teams of any size, listed or dealt."""
    rng, land, config = random_setting(seed)
    if config.num_players == 2:
        config = config.replace(num_players=4)
    if rng.random() < 0.5:  # balances near the cap, which gifts then meet
        config = config.replace(starting_troops=12 * config.hard_cap - rng.randint(1, 100))
    if rng.random() < 0.5:
        return rng, land, config.replace(teams=random_teams(rng, config.num_players))
    deal, teams = rng.choice(("blocks", "turn", "random")), rng.randint(2, config.num_players - 1)
    spawns = rng.choice(("mixed", "together"))
    return rng, land, config.replace(teams=teams, team_deal=deal, team_spawns=spawns)


def launches_now(rng, game, eagerness):
    """Return random launches, if this is a tick of decisions."""
    is_decision = game.tick % game.config.decision_every == 0
    return random_launches(rng, game, eagerness) if is_decision else []


def assert_donations_balance(game):
    ledger = game.ledger
    assert sum(ledger["received"]) == sum(ledger["donated"])
    assert not any(game.gifts)


def assert_allies_have_no_pools(game):
    for p in game.seats:
        for t in game.seats:
            assert game.team[p] != game.team[t] or game.pools[p][t] == game.taken[p][t] == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_game_of_teams_keeps_every_promise_of_the_rules(seed):
    rng, land, config = team_setting(seed)
    game = WatchedGame(config, land, rng.getrandbits(64))
    eagerness, places = rng.choice([0.1, 0.4, 0.6]), {}
    while not game.over:
        game.step_tick(launches_now(rng, game, eagerness))
        assert_troops_balance(game)
        assert_every_seat_balances(game)
        assert_donations_balance(game)
        assert_allies_have_no_pools(game)
        assert_land_counts(game, land)
        assert_states_are_sound(game)
        for p in game.seats:
            if not game.is_in(game.team[p]):
                assert places.setdefault(p, game.place_of_dead(p)) == game.place_of_dead(p)
    placements = game.placements()
    of_team = dict(zip(game.team[1:], placements, strict=True))
    assert sum(of_team.values()) == config.num_teams * (config.num_teams + 1) / 2
    assert all(of_team[game.team[p]] == place for p, place in enumerate(placements, start=1))
    assert all(placements[p - 1] == place for p, place in places.items())


@pytest.mark.parametrize("seed", SEEDS)
def test_other_numbers_for_seats_and_teams_rename_the_game(seed):
    """Every second game is without teams: there, each seat is a team."""
    rng, land, config = random_setting(seed)
    num_players = config.num_players
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
    rng, land, config = team_setting(seed)
    games = [ReferenceGame(config, land, seed) for _ in range(2)]
    while not games[0].over and games[0].tick < 200:
        launches = launches_now(rng, games[0], 0.6)
        seats = list(games[0].seats)
        random.Random(games[0].tick).shuffle(seats)
        games[0].step_tick(launches)
        games[1].step_tick(sorted(launches, key=lambda launch: seats.index(launch[0])))
        assert games[0].digest() == games[1].digest()
        assert games[0].ledger == games[1].ledger
