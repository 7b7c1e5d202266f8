"""What must always hold, checked on the twin in random play of small games with random rules."""

import random

import pytest

from territorial.config import GameConfig
from territorial.config.land_mask import LandMask
from tests.twin import ReferenceGame, place_spawns

SEEDS = range(24)
GAINS = ("interest", "income", "received")


class WatchedGame(ReferenceGame):
    """A game that checks, at every launch and capture, what the rules promise about it."""

    def launch(self, p, t, fraction):
        is_legal, before, num_illegal = self.is_legal(p, t), self.digest(), self.illegal[p]
        super().launch(p, t, fraction)
        assert (self.digest() != before) == is_legal, "a launch changes the game iff it is legal"
        assert self.illegal[p] == num_illegal + (not is_legal)

    def take(self, p, t, cells):
        for r, c in cells:
            around = [
                self.owner[i][j]
                for i, j in ((r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1))
                if 0 <= i < self.config.height and 0 <= j < self.config.width
            ]
            assert self.owner[r][c] == t
            assert p in around, "a taken cell had a neighbour owned by its taker"
        super().take(p, t, cells)


class RelabelledGame(ReferenceGame):
    """A game whose seat p plays for seat ``original[p]`` of another, its order of play too."""

    original: dict[int, int]

    def order_key(self, p):
        return super().order_key(self.original[p])


def random_land(rng):
    """Return a small map with some rectangles of water, most of it land."""
    height, width = rng.randint(16, 22), rng.randint(16, 22)
    rows = [[True] * width for _ in range(height)]
    for _ in range(rng.randint(0, 5)):
        top, left = rng.randrange(height), rng.randrange(width)
        for r in range(top, min(height, top + rng.randint(1, 4))):
            for c in range(left, min(width, left + rng.randint(1, 4))):
                rows[r][c] = False
    return LandMask.from_array(rows)


def random_config(rng, land):
    """Return the default rules half of the time, else rules with every number moved."""
    fields = {"num_players": rng.randint(2, 6), "max_ticks": rng.choice([1, 150, 400])}
    if rng.random() < 0.5:
        return GameConfig.for_map(land, **fields)
    min_layers = rng.randint(1, 4)
    return GameConfig.for_map(
        land,
        **fields,
        decision_every=rng.choice([1, 3, 10, 17]),
        starting_troops=rng.randint(50, 2000),
        launch_tax=rng.choice([0, 12, 100]),
        launch_delay=rng.randint(0, 9),
        layer_cost=rng.randint(1, 4),
        layer_growth_divisor=rng.randint(1, 9),
        need_divisor=rng.randint(1, 5),
        interest_every=rng.randint(1, 12),
        interest_base=rng.randint(0, 300),
        interest_levels=rng.choice([1, 511, 4095]),
        interest_land_divisor=rng.randint(1, 1000),
        early_interest_ticks=rng.choice([1, 100, 1920]),
        early_interest_multiple=rng.randint(1, 9),
        soft_cap=rng.randint(1, 100),
        hard_cap=rng.randint(100, 150),
        over_cap_slope=rng.randint(0, 3),
        income_every=rng.randint(1, 100),
        income_per_cell=rng.randint(0, 3),
        cadence_land=rng.choice([(1000, 10_000, 60_000), (20, 60, 120)]),
        min_layers=min_layers,
        neutral_cost=rng.randint(0, min_layers),
        attack_cost=rng.randint(0, min_layers),
        defence_tenths=rng.randint(1, 30),
        attackers_per_defender=rng.randint(1, 3),
        deaths=rng.random() < 0.8,
        death_divisor=rng.randint(2, 6),
        peak_decay_divisor=rng.choice([1, 50, 1000]),
        win_percent=rng.randint(60, 100),
    )


def random_launches(rng, game, eagerness):
    """Return launches of some seats, many legal and some not, as clueless players send them."""
    num_players = game.config.num_players
    targets = range(num_players + 1)
    launches = []
    for p in game.seats:
        while rng.random() < eagerness:
            legal = [t for t in targets if game.is_legal(p, t)]
            pool = legal if legal and rng.random() < 0.8 else targets
            launches.append((p, rng.choice(pool), rng.randint(1, rng.choice([64, 256, 1024]))))
    return launches


def random_setting(seed):
    rng = random.Random(seed)
    land = random_land(rng)
    return rng, land, random_config(rng, land)


def assert_troops_balance(game):
    ledger, seats = game.ledger, game.seats
    start = game.config.starting_troops
    lost = ("tax", "paid_neutral", "paid_attack", "killed", "cancelled", "capped", "destroyed")
    for key in ledger:
        assert ledger[key][0] == 0
        assert min(ledger[key]) >= 0
    total = sum(game.troops[p] + sum(game.pools[p]) for p in seats)
    gained = sum(ledger["interest"][p] + ledger["income"][p] for p in seats)
    assert total == start * len(seats) + gained - sum(ledger[key][p] for key in lost for p in seats)


def assert_every_seat_balances(game):
    """Each loss is booked at its owner; what a pool is refunded stays with the same player."""
    ledger = game.ledger
    for p in game.seats:
        gains = sum(ledger[key][p] for key in GAINS)
        losses = sum(ledger[key][p] for key in ledger if key not in GAINS)
        balance = game.troops[p] + sum(game.pools[p])
        assert balance == game.config.starting_troops + gains - losses


def assert_land_counts(game, land):
    cells = [code for row in game.owner for code in row]
    assert game.land == [cells.count(code) for code in range(game.config.num_players + 1)]
    assert sum(game.land) == game.num_land == land.num_land
    assert [[code != 255 for code in row] for row in game.owner] == land.to_array().tolist()


def assert_states_are_sound(game):
    assert min(game.troops) >= 0
    assert min(min(row) for row in game.pools) >= 0
    assert not any(game.pools[0])
    for p in game.seats:
        assert game.pools[p][p] == 0
        if not game.alive[p]:
            assert (game.troops[p], game.land[p], any(game.pools[p])) == (0, 0, False)
            assert not any(row[p] for row in game.pools)
            assert 0 <= game.death_tick[p] < game.tick
        else:
            assert game.death_tick[p] == -1
            if game.config.deaths:
                assert game.config.death_divisor * game.land[p] > game.peak[p]


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
def test_a_random_game_keeps_every_promise_of_the_rules(seed):
    """Every second game is without teams: there, each seat is a team."""
    rng, land, config = team_setting(seed) if seed % 2 else random_setting(seed)
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
            elif not config.deaths:
                assert game.land[p] == 12 + sum(game.taken[p]) - sum(row[p] for row in game.taken)
    placements = game.placements()
    of_team = dict(zip(game.team[1:], placements, strict=True))
    assert sum(of_team.values()) == len(of_team) * (len(of_team) + 1) / 2
    assert all(of_team[game.team[p]] == place for p, place in enumerate(placements, start=1))
    assert all(placements[p - 1] == place for p, place in places.items())
    assert game.tick <= config.max_ticks


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
        assert (games[0].digest(), games[0].ledger) == (games[1].digest(), games[1].ledger)
