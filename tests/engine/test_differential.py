"""The engine against the slow twin, field by field: tests/twin/differential.py."""

import dataclasses

import pytest

from territorial import GameConfig
from tests.twin import differential
from tests.twin.differential import Mismatch, compare_game, setting_of

TEAM_OPTIONS = {"teams", "team_deal", "team_spawns"}
TICKS = 4_000
TICKS_OF_TEAMS = 3_000


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
    report = differential.run(TICKS_OF_TEAMS, with_teams=True)
    assert report.mismatches == []
    often = [count for name, count in report.events.items() if name not in differential.RARE_WITH_TEAMS]
    assert min(often) >= 10, f"the games compared are dull: {report.events}"
    assert report.events["ticks in which gifts met the cap"] >= 10
    assert report.events["donations"] >= report.events["legal launches"] / 10
    assert {"rewards", *TEAM_OPTIONS} <= report.changed


def setting_for(config, mode, **changes):
    fields = {"num_games": 1, "autoreset": "disabled", "has_position": False, "eagerness": 0.0, "ticks": 40}
    return differential.DrawnGame(seed=1, config=config, mode=mode, **(fields | changes))


@pytest.mark.parametrize("teams", [None, 9])
@pytest.mark.parametrize(
    ("num_players", "height", "width", "mode"), [(70, 44, 48, "step"), (250, 72, 70, "tick")]
)
def test_sets_of_owners_of_two_and_four_words_play_the_same_game(num_players, height, width, mode, teams):
    config = GameConfig(
        height=height, width=width, num_players=num_players, map="open", decision_every=3, teams=teams
    )
    outcome = differential.Pair(setting_for(config, mode, eagerness=0.08), None).play()
    assert outcome.events["players' land taken"] > 0


# ---- the comparison can fail ----------------------------------------------------------------------


def first_seed(mode):
    """Return the first seed whose game is driven this way and lasts long enough to be altered."""
    return next(
        seed
        for seed in range(1000)
        if (setting := setting_of(seed)).mode == mode
        and setting.config.max_ticks >= 50
        and setting.config.decision_every == 1
        and not setting.has_position
    )


PLACES = {
    "owner": ("owner", 8, 8),
    "pools": ("pools", 1, 2),
    "taken": ("taken", 2, 1),
    "capped": ("ledger", "capped", 1),
    "fresh": ("is_fresh", 1, 2),
    "over": ("over",),
    "seed": ("seed",),
} | {
    name: (name, 2)
    for name in (
        *("alive", "troops", "land", "peak", "next_step", "death_tick"),
        *("illegal", "raised", "bounced"),
    )
}
"""A number of every field that is compared, by where it is in the twin."""


@pytest.mark.parametrize("field", PLACES)
def test_a_change_of_any_field_of_the_twin_is_noticed_at_once(field):
    *path, last = PLACES[field]

    def alter(twin):
        part = vars(twin)
        for key in path:
            part = part[key]
        if twin.tick == 4:
            part[last] ^= 1

    with pytest.raises(Mismatch) as caught:
        compare_game(first_seed("tick"), alter)
    assert (caught.value.field, caught.value.tick) == (field, 4)


def test_a_wrong_reward_is_noticed():
    seed = first_seed("step")
    pair = differential.Pair(setting_of(seed), None)
    twin = pair.twins[0]
    honest = twin.environment_step
    twin.environment_step = lambda launches: [reward + 0.001 for reward in honest(launches)]
    with pytest.raises(Mismatch, match="differ in rewards at tick 1"):
        pair.play()


def test_a_changed_rule_is_noticed(monkeypatch):
    """A defence of 1.7 instead of 1.6 times the density shows within a few games."""
    from tests.twin import formulas

    def stronger(config, front_size, troops, land):
        return front_size * troops // (1 + 10 * land // (config.defence_tenths + 1))

    monkeypatch.setattr(formulas, "defence", stronger)
    assert len(differential.run(TICKS).mismatches) == 1
