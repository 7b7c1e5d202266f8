"""What is of a kind that some code has forgotten is refused by name, or shows: it acts as no other kind."""

from types import SimpleNamespace

import numpy as np
import pytest

import territorial
from territorial.bots import targets
from territorial.bots.style import MEASURES
from territorial.cli import options
from territorial.config.rewards import ALL_NAMES, BASE_NAMES, TEAM_BASE_NAMES
from territorial.constants import FRACTIONS
from territorial.game import rewards
from territorial.league import League, LeagueConfig, Learner, Player, matchmaking
from territorial.maps import make_maps
from territorial.play import commands
from territorial.play.session import Session
from territorial.render.games import make_drawer
from tests.engine.support import random_actions
from tests.twin import pairs as reference_pairs
from tests.twin.game import ReferenceGame

UNKNOWN = 99
PARTS = {"land": "land_gained", "team_land": "land_gained_by_team"}
"""The kernels of parts that have other names."""


@pytest.mark.parametrize("has_allies", [False, True])
def test_each_part_of_rewards_has_its_kernel_and_one_that_is_forgotten_is_no_number(monkeypatch, has_allies):
    names = (*BASE_NAMES, *TEAM_BASE_NAMES)
    kernels = {name: PARTS.get(name, name) for name in names}
    called = []
    for kernel in kernels.values():
        monkeypatch.setattr(rewards, kernel, lambda *_, kernel=kernel: called.append(kernel))
    monkeypatch.setattr(rewards, "has_allies", lambda _: has_allies)
    out = np.zeros(4)
    for kind in (*range(len(names)), len(names), UNKNOWN):
        called.clear()
        rewards.write_part.py_func(None, None, None, kind, out)
        if kind < len(names):
            name = "land" if not has_allies and names[kind] == "team_land" else names[kind]
            assert called == [kernels[name]]
            assert not out.any()
        else:
            assert not called, "an unknown part was paid out as another one"
            assert np.isnan(out[1:]).all()
            out[:] = 0


@pytest.mark.parametrize("name", ALL_NAMES)
def test_the_reference_pays_what_the_engine_pays_for_each_part(name):
    """Random play of all seats, in teams; seats die, and their parts end."""
    fields = {"height": 20, "width": 20, "num_players": 6, "teams": [1, 1, 2, 2, 3, 3], "max_ticks": 600}
    config = territorial.GameConfig(**fields, launch_delay=1, death_divisor=2, rewards={name: 1})
    game = territorial.VecGame(config, 1, seed=3, autoreset="disabled", observe=False)
    game.reset()
    twin = ReferenceGame(config, make_maps(config)[0], int(game.state.seed[0]))
    rng, paid = np.random.default_rng(1), 0
    while not twin.over:
        actions = random_actions(game, rng, 0.7)
        launches = [
            (p, 0 if what == 1 else (p + what - 3) % 6 + 1, FRACTIONS[how_much])
            for p, (what, how_much) in enumerate(actions[0].tolist(), start=1)
            if what > 0
        ]
        wanted = game.step(actions)[1][0]
        np.testing.assert_allclose(twin.environment_step(launches), wanted, atol=1e-6)
        paid += np.count_nonzero(wanted)
    assert game.state.over.all()
    assert paid, "this game has nothing to compare"


def test_the_reference_refuses_a_part_that_it_does_not_have():
    config = territorial.GameConfig(height=16, width=16, num_players=2)
    game = ReferenceGame(config, make_maps(config)[0], 0)
    object.__setattr__(config, "rewards", (("gold", 1.0),))
    with pytest.raises(KeyError, match="gold"):
        game.environment_step()


def test_every_measure_of_targets_is_its_own_and_another_number_prefers_nobody(monkeypatch):
    monkeypatch.setattr(targets, "distance", lambda *_: 1009)
    pools, taken, fronts = np.zeros((3, 3, 3), np.int64)
    pools[2, 1], taken[2, 1], fronts[1, 2] = 13, 17, 7
    game = SimpleNamespace(
        troops=np.array([0, 900, 701]),
        land=np.array([0, 80, 61]),
        peak=np.array([0, 90, 97]),
        pools=pools,
        taken=taken,
        fronts=fronts,
    )
    bot = targets.BotTurn(1, np.zeros(1000, np.int32), 0)
    found = [targets.score.py_func(game, bot, 2, by) for by in MEASURES.values()]
    assert len({over / under for over, under in found}) == len(MEASURES), found
    assert targets.score.py_func(game, bot, 2, UNKNOWN)[0] == 0


def test_a_session_does_no_command_that_it_does_not_know():
    session = Session.__new__(Session)
    with pytest.raises(AssertionError, match="dance"):
        session._do(commands.PlayerCommand("dance"))


def test_a_command_without_a_reader_is_not_read_as_one_without_fields(monkeypatch):
    monkeypatch.setitem(commands._FIELDS, "dance", ("steps",))
    with pytest.raises(AssertionError, match="dance"):
        commands.read_command(b'{"do": "dance", "steps": 3}')


def test_a_render_mode_without_a_drawer_is_refused():
    with pytest.raises(ValueError, match="svg"):
        make_drawer("svg", 2, ["a", "b"], 20)


def test_a_map_is_written_in_the_format_that_the_name_says(tmp_path, monkeypatch):
    mask = make_maps(territorial.GameConfig(height=16, width=16, num_players=2))[0]
    monkeypatch.setattr(territorial.maps.files, "SUFFIXES", (".png", ".npy", ".txt", ".gif"))
    with pytest.raises(KeyError, match="gif"):
        territorial.maps.save(mask, tmp_path / "map.gif")


def test_a_pool_that_is_not_there_is_not_all_snapshots():
    league = League(LeagueConfig(num_players=2, learners=[Learner(name="main", seats=2)]), rated=False)
    assert all(isinstance(league.pool(name), tuple) for name in matchmaking.POOLS)
    with pytest.raises(KeyError, match="bot"):
        league.pool("bot")


def test_a_player_of_a_kind_that_is_not_there_has_no_seat():
    with pytest.raises(KeyError, match="bots"):
        _ = Player("bots", "novice").seat


def test_a_field_of_a_type_that_cannot_be_written_as_text_is_not_a_text():
    class Spec:
        name, default, metadata = "speed", 0.5, {}

    with pytest.raises(AssertionError, match="speed"):
        options._value(Spec, "0.7")


def test_the_reference_leaves_no_column_of_neutral_land_out(monkeypatch):
    front = reference_pairs._pair_front
    monkeypatch.setattr(
        reference_pairs,
        "_pair_front",
        lambda *a: {name: value for name, value in front(*a).items() if name != "need"},
    )
    config = territorial.GameConfig(height=16, width=16, num_players=2)
    game = ReferenceGame(config, make_maps(config)[0], 0)
    with pytest.raises(KeyError, match="need"):
        reference_pairs.pair_row(reference_pairs.Quantities(game), 1, 0)
