"""Teams in the engine: donations, ends, places, rewards, and games that are equal though played otherwise.

That every rule is as docs/rules.md has it is what test_differential.py compares. Here is what is around them.
"""

import numpy as np
import pytest

from territorial import GameConfig, VecGame
from territorial.bots import NAMES
from territorial.game.state import FIELDS
from territorial.observation.action_encoding import target_of_owner
from territorial.observation.action_masks import target_masks
from territorial.observation.layout import BORDERS, PLAYERS
from tests.bots.support import python_bot
from tests.engine.support import board, game_on, parse, rows_of, same_observations
from tests.episodes import begun, random_actions
from tests.twin import ReferenceGame, place_spawns, teams_of_one
from tests.twin.invariants import check_games

CONFIG = GameConfig(height=40, width=40, num_players=9, map="lakes", max_ticks=400, teams=3)
DEALS = {
    "blocks": {},
    "in turn": {"team_deal": "turn"},
    "at random": {"team_deal": "random"},
    "together": {"team_spawns": "together"},
    "at random and together": {"team_deal": "random", "team_spawns": "together"},
    "listed": {"teams": (1, 2, 2, 2, 3, 2, 2, 3, 2), "team_spawns": "together"},
}


def new_game(config=CONFIG, num_games=2, seed=7, **options):
    return begun(VecGame(config, num_games, seed=seed, **options))


# ---- who is in which team, and where teams start ----------------------------------------------------


@pytest.mark.parametrize("name", DEALS)
def test_teams_are_dealt_and_start_where_the_reference_implementation_has_them(name):
    config = CONFIG.replace(**DEALS[name])
    game = new_game(config, num_games=6)
    for k in range(6):
        twin = ReferenceGame(config, game.maps[0], int(game.state.seed[k]))
        assert game.state.team[k].tolist() == twin.team == [0, *config.team_of(twin.seed)]
        assert game.digest(k) == twin.digest()


@pytest.mark.parametrize(("num_players", "teams"), [(2, 2), (64, 3), (130, 64), (250, 249)])
def test_many_teams_start_together_in_the_parts_that_the_rules_cut(num_players, teams):
    config = GameConfig(
        height=128, width=96, num_players=num_players, teams=teams, team_deal="random", team_spawns="together"
    )
    game = new_game(config, num_games=2, observe=False)
    for k in range(2):
        spawns = place_spawns(config, game.maps[0], int(game.state.seed[k]))
        owner = game.state.owner[k, 1:-1, 1:-1]
        assert all({owner[cell] for cell in cells} == {p} for p, cells in enumerate(spawns, start=1))


# ---- donations ------------------------------------------------------------------------------------


def test_masks_allow_what_the_rules_allow_and_a_launch_is_noted_as_legal_if_it_is():
    game, rng = (
        new_game(CONFIG.replace(team_deal="random", starting_troops=1795), num_games=3),
        np.random.default_rng(1),
    )
    games, seats = (axis.ravel() for axis in np.indices((3, 9)))
    donations = 0
    for _ in range(60):
        legal = np.stack([game.fronts(k)[2] for k in range(3)])
        masks = target_masks(game.observations.masks, games, seats + 1)
        for k, q, mask in zip(games, seats, masks, strict=True):
            for owner in range(10):
                shown = mask[target_of_owner(owner, q + 1, 9)] == 1
                assert shown == legal[k, q + 1, owner]
        illegal = game.state.illegal.copy()
        game.step(random_actions(game, rng))
        noted = game.launches()
        counted = game.state.illegal[:, 1:] - illegal[:, 1:]
        going_on = ~game.info["was_reset"]
        is_wrong = (noted.target >= 0) & ~noted.legal
        assert np.array_equal(is_wrong[going_on], counted[going_on] == 1)
        donations += game.state.donated.sum()
        check_games(game)
    assert donations > 0


# ---- the end, places, rewards, terminations ----------------------------------------------------------


def test_a_game_without_agents_ends_when_no_team_with_an_agent_lives():
    config = GameConfig(height=16, width=16, num_players=4, map="open", teams=(1, 1, 2, 3))
    seats = ["agent", "turtle", "turtle", "turtle"]
    owner = parse(rows_of(*["11223344........"] * 16))
    for peaks, is_over in (([200, 32, 32, 32], False), ([200, 200, 32, 32], True)):
        game = begun(VecGame(config, 1, seats=seats, end_when="no_agents", autoreset="disabled"))
        game.set_position(0, owner, peak=peaks)
        game.step(hold=True)
        assert (game.results.is_over[0], game.results.ended[0]) == (is_over, False)


def test_those_whose_team_lives_are_truncated_together():
    game = game_on(rows_of(*["1122334455"] * 16), teams=(1, 1, 2, 3, 3), peak=[200, 32, 200, 32, 32])
    game.max_cycles = 1
    _, _, terminated, truncated, _ = game.step(hold=True)
    assert terminated[0].tolist() == [False, False, True, False, False]
    assert truncated[0].tolist() == [True, True, False, True, True]


# ---- teams of one, and other ways to play the same game ---------------------------------------------


def test_teams_of_one_play_the_games_of_no_teams_by_either_code():
    found = teams_of_one.compare(60, seed=3, batch=12)
    assert (found.different, found.games) == ((), 60)
    assert found.deaths > 20


@pytest.mark.parametrize("fields", teams_of_one.WAYS)
def test_teams_of_one_are_observed_as_without_teams_by_either_code(fields):
    plain = new_game(teams_of_one.CONFIG, seats=teams_of_one.SEATS)
    with teams_of_one.code_of_teams():
        teams = new_game(teams_of_one.CONFIG.replace(**fields), seats=teams_of_one.SEATS)
    rng = np.random.default_rng(2)
    for _ in range(65):
        actions = random_actions(plain, rng)
        plain.step(actions)
        teams.step(actions)
        seen, columns = teams.observations, (len(PLAYERS), len(BORDERS))
        common = seen._replace(players=seen.players[..., : columns[0]], borders=seen.borders[:, : columns[1]])
        assert same_observations(plain.observations, common)
        assert np.array_equal(seen.players[..., columns[0]], teams.state.team[:, 1:])
        assert not seen.borders[:, columns[1] :].any()
    names = [f.name for f in FIELDS if f.name not in ("planes", "occupied", "stale", "team")]
    assert all(np.array_equal(getattr(plain.state, name), getattr(teams.state, name)) for name in names)


# ---- what is refused --------------------------------------------------------------------------------


def test_a_position_with_a_pool_between_allies_is_refused():
    game = game_on(rows_of(*["1.2.3"] * 16), troops=(100, 100, 100), teams=(1, 1, 2))
    with pytest.raises(
        ValueError, match=r"pools\[\(1, 2\)\] is 5; seats 1 and 2 are allies, of team 1, and no"
    ):
        game.set_position(0, board(game), pools={(1, 2): 5})
    game.set_position(0, board(game), pools={(1, 3): 5, (1, 0): 5})


def test_a_saved_game_with_a_pool_between_allies_is_refused():
    game = new_game()
    saved = game.save(0)
    game.state.pools[0, 1, 2] = 5
    damaged = game.save(0)
    with pytest.raises(ValueError, match="a pool of seat 1 against seat 2, its ally in team 1"):
        game.restore(0, damaged)
    game.restore(0, saved)


def test_a_saved_game_has_the_teams_that_its_seed_deals():
    game = new_game(CONFIG.replace(team_deal="random"))
    saved, teams = game.save(0), game.state.team[0].copy()
    saved.blocks[2][-1, :] = 1
    game.restore(1, saved)
    assert game.state.team[1].tolist() == teams.tolist()


# ---- bots and networks --------------------------------------------------------------------------------


def test_a_bot_in_python_may_give_to_allies():
    def give(view):
        assert not (view.legal & view.allies).any()
        assert not view.needs[view.allies].any()
        return view.least(view.land, among=view.gifts), 256

    game = new_game(seats=[python_bot(give)] * 9)
    for _ in range(20):
        game.step()
        check_games(game)
    assert game.state.donated.sum() > 1000
    assert game.state.illegal.sum() == 0


@pytest.mark.parametrize("seat", [*NAMES, "champion-1"])
def test_no_bot_ever_names_an_ally(seat):
    config = GameConfig(
        height=24, width=30, num_players=8, map="open", teams=2, team_deal="turn", max_ticks=700
    )
    game = new_game(config, 3, seats=[seat] * 8, observe=False)
    launched = 0
    for _ in range(70):
        team = game.state.team
        game.step()
        targets = game.launches().target
        for k, q in np.argwhere(targets > 0):
            assert team[k, q + 1] != team[k, targets[k, q]]
        launched += (targets >= 0).sum()
    assert launched > 20
    assert (game.state.illegal.sum(), game.state.donated.sum()) == (0, 0)


# ---- replays ----------------------------------------------------------------------------------------
