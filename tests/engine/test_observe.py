"""Every column of every table against a slow oracle: state arrays, a byte board, and plain Python numbers."""

import math

import numpy as np
import pytest

from territorial import GameConfig, VecGame
from territorial.constants import LARGEST_TROOPS, NEUTRAL
from territorial.decode.features import scales
from territorial.observation.layout import BORDERS, GLOBALS, PLAYERS, ObsLayout, columns, index
from tests.engine.support import board, game_on, rows_of
from tests.episodes import after_steps, begun, random_actions
from tests.twin import formulas

BOTS = ("metronome", "banker", "turtle", "novice", "random")
SETTINGS = {
    "default rules": {},
    "decisions every 3 ticks": {"decision_every": 3, "launch_delay": 20},
    "no deaths": {"deaths": False, "starting_troops": 3000, "win_percent": 100},
    "other payouts": {"interest_every": 7, "income_every": 30, "early_interest_ticks": 40, "soft_cap": 20},
}


# ---- the oracle -----------------------------------------------------------------------------------


def column(seen, table, name):
    """Return a column of a table of observations."""
    array = np.moveaxis(getattr(seen, table), 1 if table == "borders" else -1, 0)
    return array[index(columns(table, teams=True), name)]


def log2_straight(amount):
    """log2(1 + amount) at powers of two, straight lines between them."""
    exponent = int(math.log2(amount + 1))
    return exponent + (amount + 1) / 2**exponent - 1


def oracle_players(game, k, p):
    state, config = game.state, game.config
    land, troops = int(state.land[k, p]), int(state.troops[k, p])
    alive, peak = int(state.alive[k, p]), int(state.peak[k, p])
    tick, num_land = int(state.tick[k]), int(state.num_land[k])
    pools_out, pools_in = int(state.pools[k, p].sum()), int(state.pools[k, :, p].sum())
    rate = formulas.interest_rate(config, tick, troops, land, num_land) if alive and land else 0
    return {
        "alive": alive,
        "land": land,
        "troops": troops,
        "log_land": log2_straight(land),
        "log_troops": log2_straight(troops),
        "density": troops / max(1, land),
        "fill": troops / max(1, config.soft_cap * land),
        "interest": rate / 100,
        "land_share": land / num_land,
        "troops_share": troops / max(1, int(state.troops[k].sum())),
        "rank": oracle_rank(game, k, p),
        "pools_out": pools_out,
        "pools_in": pools_in,
        "log_pools_out": log2_straight(pools_out),
        "log_pools_in": log2_straight(pools_in),
        "peak": peak,
        "peak_ratio": land / peak if peak else 0,
        "ticks_to_step": max(0, int(state.next_step[k, p]) - tick) if pools_out else 0,
        "cadence": formulas.cadence(config, land),
        "illegal": state.illegal[k, p],
    }


def oracle_rank(game, k, p):
    """The final place where it is known, else the place among the living by land and troops."""
    state = game.state
    if state.doubled_place[k, p]:
        return state.doubled_place[k, p] / 2
    living = [q for q in range(1, game.config.num_players + 1) if state.alive[k, q]]
    strength = {q: (state.land[k, q], state.troops[k, q]) for q in living}
    better = sum(strength[q] > strength[p] for q in living)
    return better + (sum(strength[q] == strength[p] for q in living) + 1) / 2


def oracle_borders(game, k):
    """What launches need and which are legal is counted cell by cell in test_invariants.py."""
    state, pools = game.state, game.state.pools[k]
    sizes, needs, _ = game.fronts(k)
    return {
        "front": sizes,
        "pool": pools,
        "log_front": np.vectorize(log2_straight)(sizes),
        "log_pool": np.vectorize(log2_straight)(pools),
        "taken": state.taken[k],
        "need": np.minimum(4, needs / np.maximum(1, state.troops[k])[:, None]),
    }


def oracle_globals(game, k):
    config, tick = game.config, int(game.state.tick[k])
    to_payout = {
        name: next(wait for wait in range(every) if (tick + wait) % every == every - 1)
        for name, every in (("interest", config.interest_every), ("income", config.income_every))
    }
    return {
        "tick": tick,
        "ticks_to_interest": to_payout["interest"],
        "ticks_to_income": to_payout["income"],
        "neutral_share": (board(game, k) == NEUTRAL).sum() / game.state.num_land[k],
        "opening": max(0, 1 - tick / config.early_interest_ticks),
        "alive_share": game.state.alive[k].sum() / config.num_players,
    }


def assert_tables(game):
    tables = game.observations
    for table in tables:
        assert np.isfinite(table).all()
    for k in range(game.num_games):
        for name, value in oracle_globals(game, k).items():
            assert_close(tables.globals[k, index(GLOBALS, name)], value, name)
        for name, values in oracle_borders(game, k).items():
            shown = tables.borders[k, index(BORDERS, name)]
            assert not shown[NEUTRAL].any(), "row 0 is zero"
            assert_close(shown[1:], values[1:], name)
        for p in range(1, game.config.num_players + 1):
            for name, value in oracle_players(game, k, p).items():
                assert_close(tables.players[k, p - 1, index(PLAYERS, name)], value, f"{name} of {p}")
        assert_masks(game, k)


def assert_close(shown, value, name):
    assert np.allclose(shown, np.asarray(value, np.float32), rtol=1e-6, atol=1e-7), name


def assert_masks(game, k):
    """Bit 0 is always set, bit t + 1 where a launch at t is legal, and the padding is zero."""
    masks, players = game.observations.masks[k], game.config.num_players
    assert masks.shape == (players, -(-(players + 2) // 8))
    bits = np.unpackbits(masks, axis=1, bitorder="little")
    assert bits[:, 0].all()
    np.testing.assert_array_equal(bits[:, 1 : players + 2], game.fronts(k)[2][1:])
    assert not bits[:, players + 2 :].any()


# ---- the tests ------------------------------------------------------------------------------------


def test_the_oracle_knows_every_column():
    game = game_on(rows_of(*["1..2"] * 16))
    known = [list(oracle_players(game, 0, 1)), list(oracle_borders(game, 0)), list(oracle_globals(game, 0))]
    assert known == [[column.name for column in table] for table in (PLAYERS, BORDERS, GLOBALS)]


GAMES = {
    **{
        name: (GameConfig(height=18, width=70, num_players=7, map="lakes", **rules), BOTS + BOTS[:2], 3)
        for name, rules in SETTINGS.items()
    },
    "agents": (GameConfig(height=18, width=70, num_players=7, map="lakes"), ("agent",) * 7, 3),
    "70 seats": (GameConfig(height=48, width=66, num_players=70, map="open"), BOTS * 14, 20),
}


@pytest.mark.parametrize(("config", "seats", "every"), GAMES.values(), ids=GAMES)
def test_every_column_is_what_the_state_says_as_games_go_by(config, seats, every):
    game = begun(VecGame(config, 2, seed=3, seats=seats))
    assert_tables(game)
    rng = np.random.default_rng(4)
    for step in range(60):
        game.step(random_actions(game, rng))
        if step % every == 0:
            assert_tables(game)


def test_every_column_is_current_after_tick_restore_and_set_position():
    config = GameConfig(height=18, width=30, num_players=5, map="lakes")
    game = after_steps(VecGame(config, 2, seed=3, seats=BOTS), 10)
    saved = game.save(0)
    for _ in range(13):
        game.tick(0)
        assert_tables(game)
    game.restore(0, saved)
    assert_tables(game)
    game.restore(1, saved)
    assert_tables(game)
    game.set_position(1, board(game, 0), troops=[0, 1, 10**6, 5, 5], pools={(1, 0): 7, (3, 1): 900})
    assert_tables(game)


def test_a_player_that_never_owned_land_again_is_observed_with_numbers():
    """With deaths off, a peak sinks to the land: to 0, where a ratio of both says nothing."""
    drawing = rows_of("." * 16, *["2" * 16] * 15)
    game = game_on(drawing, (512, 512), peak=(3, 240), deaths=False, win_percent=100)
    for _ in range(5):
        game.tick(0)
    assert game.state.peak[0, 1] == 0
    assert np.isfinite(game.observations.players).all()


@pytest.mark.parametrize("tick", [0, 9, 100_000])
def test_the_largest_amounts_and_constants_that_are_allowed_do_not_overflow(tick):
    extreme = {
        "interest_base": 10_000,
        "early_interest_multiple": 100,
        "early_interest_ticks": 1_000_000,
        "interest_land_scale": 100_000_000,
        "interest_land_divisor": 1,
        "interest_levels": 4095,
        "soft_cap": 1,
        "hard_cap": 10_000,
        "over_cap_slope": 100,
        "launch_tax": 1023,
        "max_ticks": 10_000_000,
        "interest_every": 1,
    }
    for troops in (LARGEST_TROOPS, LARGEST_TROOPS // 3, 10_000):
        game = game_on(rows_of(*["1112"] * 16), (troops, troops), tick=tick, **extreme)
        config, land = game.config, game.state.land[0]
        shown = game.observations.players[0, :, index(PLAYERS, "interest")].tolist()
        for seat in (1, 2):
            rate = formulas.interest_rate(config, tick, troops, int(land[seat]), int(game.state.num_land[0]))
            assert shown[seat - 1] == np.float32(rate / 100)
        expected = [
            troops
            + formulas.interest_gain(config, tick, troops, int(land[seat]), int(game.state.num_land[0]))
            for seat in (1, 2)
        ]
        game.tick(0)
        assert game.state.troops[0, 1:].tolist() == expected


def test_scaled_columns_stay_near_the_unit_interval():
    config = GameConfig(height=24, width=24, num_players=5, map="lakes")
    game = VecGame(config, 4, seed=3, seats=BOTS)
    tables, largest = game.reset(), {}
    for _ in range(150):
        game.step()
        for table, columns_of_table in (("players", PLAYERS), ("borders", BORDERS), ("globals", GLOBALS)):
            for entry in columns_of_table:
                scaled = column(tables, table, entry.name) * scales(config)[entry.name]
                assert scaled.min() >= 0
                largest[entry.name] = max(largest.get(entry.name, 0), float(scaled.max()))
    # A column in per cent or in layers may exceed 1, as its range says: interest 7, need 4.
    assert max(size for name, size in largest.items() if name not in ("interest", "need")) <= 2
    assert largest["interest"] <= 7
    assert largest["need"] <= 4
    # These bots launch nothing that is not legal.
    assert largest.pop("illegal") == 0
    assert min(largest.values()) > 0


def test_games_with_teams_have_a_column_for_teams_and_one_for_allies():
    config = GameConfig(height=32, width=32, num_players=6, teams=3, team_deal="random", max_ticks=600)
    game = begun(VecGame(config, 3, 5, seats=(*BOTS, "novice")))
    other, fronts_of_allies = set(), 0
    for _ in range(130):
        game.step()
        for k in range(3):
            team = game.state.team[k]
            other.add(tuple(team))
            allied = (team[:, None] == team) & ~np.eye(7, dtype=bool)
            allied[0] = allied[:, 0] = False
            assert np.array_equal(column(game.observations, "players", "team")[k], team[1:])
            assert np.array_equal(column(game.observations, "borders", "ally")[k], allied)
            assert not column(game.observations, "borders", "need")[k][allied].any()
            fronts_of_allies += (column(game.observations, "borders", "front")[k][allied] > 0).sum()
    assert len(other) > 3, "each new game shows its own teams"
    assert fronts_of_allies > 0


@pytest.mark.parametrize("num_players", [2, 6, 7, 30, 31, 250])
def test_boards_have_as_many_planes_as_the_largest_code_has_bits(num_players):
    layout = ObsLayout(height=16, width=16, num_players=num_players, frames=1)
    assert 2 ** (layout.num_planes - 1) <= layout.blocked_code < 2**layout.num_planes
