"""The engine against the slow twin, field by field: tests/twin/differential.py."""

import dataclasses

import numpy as np
import pytest

from territorial import GameConfig, VecGame
from tests.twin import differential
from tests.twin.game import ReferenceGame

TEAM_OPTIONS = {"teams", "team_deal", "team_spawns"}
TICKS = 4_000


def test_engine_and_twin_agree_in_every_field_for_thousands_of_ticks():
    """One test, not one for each thing to look at: what is compared takes some seconds."""
    report = differential.run(TICKS)
    assert report.mismatches == []
    assert report.ticks >= TICKS
    assert min(report.events.values()) >= 10, f"the games compared are dull: {report.events}"
    # The twin plays no bots; tests/bots hands it what they start with.
    not_compared = {"handicap", *TEAM_OPTIONS}
    assert report.changed == {spec.name for spec in dataclasses.fields(GameConfig)} - not_compared


def test_engine_and_twin_agree_in_games_of_teams():
    report = differential.run(3_000, with_teams=True)
    assert report.mismatches == []
    often = [count for name, count in report.events.items() if name not in differential.RARE_WITH_TEAMS]
    assert min(often) >= 10, f"the games compared are dull: {report.events}"
    assert report.events["ticks in which gifts met the cap"] >= 10
    assert report.events["donations"] >= report.events["legal launches"] / 10
    assert {"rewards", *TEAM_OPTIONS} <= report.changed


@pytest.mark.parametrize("teams", [None, 9])
@pytest.mark.parametrize(
    ("num_players", "height", "width", "mode"), [(70, 44, 48, "step"), (250, 72, 70, "tick")]
)
def test_sets_of_owners_of_two_and_four_words_play_the_same_game(num_players, height, width, mode, teams):
    config = GameConfig(
        height=height, width=width, num_players=num_players, map="open", decision_every=3, teams=teams
    )
    setting = differential.DrawnGame(
        seed=1,
        config=config,
        num_games=1,
        autoreset="disabled",
        has_position=False,
        mode=mode,
        eagerness=0.08,
        ticks=40,
    )
    assert differential.Pair(setting).play().events["players' land taken"] > 0


# ---- the comparison can fail ----------------------------------------------------------------------


def test_a_changed_rule_is_noticed(monkeypatch):
    """A defence of 1.7 instead of 1.6 times the density shows within a few games."""
    from tests.twin import formulas

    def stronger(config, front_size, troops, land):
        return front_size * troops // (1 + 10 * land // (config.defence_tenths + 1))

    monkeypatch.setattr(formulas, "defence", stronger)
    assert len(differential.run(TICKS).mismatches) == 1


def test_engine_and_twin_agree_on_another_future_of_a_game():
    config = GameConfig(height=24, width=24, num_players=4, num_maps=1, launch_delay=0, max_ticks=1_000)
    game = VecGame(config, 1, seats=["external"] * 4, autoreset="disabled", observe=False)
    game.reset(seed=5)
    twins = [ReferenceGame(config, game.maps[0], int(game.state.seed[0])) for _ in range(2)]
    random = np.random.default_rng(0)
    for tick in range(300):
        if tick == 100:
            game.restore(0, game.save(0), future=77)
            twins[0].future = 77
        launches = []
        if tick % config.decision_every == 0:
            for seat, legal in enumerate(game.fronts(0)[2][1:], start=1):
                targets = np.flatnonzero(legal)[:2].tolist()
                launches += [(seat, target, 300) for target in targets if random.random() < 0.7]
        game.tick(0, launches)
        twins[0].step_tick(launches)
        assert game.digest(0) == twins[0].digest()
        twins[1].step_tick(launches)  # which keeps the first future
    assert twins[0].digest() != twins[1].digest()
