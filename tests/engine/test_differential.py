"""The engine against the slow twin, field by field: tests/twin/differential.py."""

import dataclasses

import numpy as np
import pytest

from territorial import GameConfig
from territorial.config.teams import DEALS, SPAWNS, TEAM_OPTIONS
from tests.twin import differential
from tests.twin.differential import Mismatch, compare_game, random_config, setting_of

TICKS = 4_000
TICKS_OF_TEAMS = 3_000
GAMES_FOR_COVERAGE = 400


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
    assert min(report.events.values()) >= 10, f"the games compared are dull: {report.events}"
    assert report.events["donations"] >= report.events["legal launches"] / 10
    assert {"rewards", *TEAM_OPTIONS} <= report.changed


def test_the_seeds_cover_teams_of_every_kind():
    plain = [setting_of(seed) for seed in range(GAMES_FOR_COVERAGE)]
    settings = [setting_of(seed, with_teams=True) for seed in range(GAMES_FOR_COVERAGE)]
    for one, other in zip(plain, settings, strict=True):
        changed = differential.changed(
            other.config.replace(
                **{name: getattr(one.config, name) for name in ("rewards", "starting_troops", *TEAM_OPTIONS)}
            )
        )
        assert changed == differential.changed(one.config), "teams change nothing else"
    configs = [setting.config for setting in settings]
    assert {config.team_deal for config in configs} == set(DEALS)
    assert {config.team_spawns for config in configs} == set(SPAWNS)
    assert any(isinstance(config.teams, tuple) for config in configs)
    sizes = [sorted(np.bincount(config.dealt_teams)[1:].tolist()) for config in configs]
    assert any(max(size) > 2 * min(size) for size in sizes), "teams of unequal sizes"
    assert any(max(size) == 1 for size in sizes), "teams of one"
    assert {setting.is_near_cap for setting in settings} == {False, True}


def test_the_seeds_cover_every_kind_of_game():
    settings = [setting_of(seed) for seed in range(GAMES_FOR_COVERAGE)]
    configs = [setting.config for setting in settings]
    assert {config.decision_every for config in configs} == {1, 3, 10, 50}
    assert {config.map for config in configs} == {"open", "lakes", "mountains"}
    assert {65, 70, 130} <= {config.width for config in configs}
    assert any(config.width % 8 for config in configs)
    assert {config.num_players for config in configs} >= set(range(2, 13))
    assert any(config.num_players >= 64 for config in configs), "sets of owners of two words"
    assert any(config.num_maps > 1 for config in configs)
    assert {setting.mode for setting in settings} == {"tick", "step"}
    assert {setting.autoreset for setting in settings} == {"disabled", "same_step"}
    assert {setting.has_position for setting in settings} == {False, True}


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


def alter_owner(twin):
    row = next(r for r in range(len(twin.owner)) if twin.owner[r][0] != 255)
    twin.owner[row][0] = twin.owner[row][0] % 2 + 1


def add_one(name):
    def alter(twin):
        getattr(twin, name)[2] += 1

    return alter


def alter_pool(twin):
    twin.pools[1][2] += 1


def alter_taken(twin):
    twin.taken[2][1] += 1


def alter_ledger(twin):
    twin.ledger["capped"][1] += 1


def alter_fresh(twin):
    twin.is_fresh[1][2] = not twin.is_fresh[1][2]


def alter_alive(twin):
    twin.alive[2] = not twin.alive[2]


def alter_over(twin):
    twin.over = not twin.over


def alter_seed(twin):
    twin.seed ^= 1


ALTERATIONS = {
    "owner": alter_owner,
    "alive": alter_alive,
    "pools": alter_pool,
    "taken": alter_taken,
    "capped": alter_ledger,
    "fresh": alter_fresh,
    "over": alter_over,
    "seed": alter_seed,
} | {
    name: add_one(name)
    for name in ("troops", "land", "peak", "next_step", "death_tick", "illegal", "raised", "bounced")
}


@pytest.mark.parametrize("field", ALTERATIONS)
def test_a_change_of_any_field_of_the_twin_is_noticed_at_once(field):
    def alter(twin):
        if twin.tick == 4:
            ALTERATIONS[field](twin)

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


def test_the_report_names_the_seed_the_config_the_tick_and_both_values():
    seed = first_seed("tick")

    def alter(twin):
        if twin.tick == 4:
            twin.troops[2] += 7

    with pytest.raises(Mismatch) as caught:
        compare_game(seed, alter)
    message = str(caught.value)
    values = [int(line.split()[1]) for line in message.splitlines()[1:3]]
    assert "differ in troops[2] at tick 4" in message
    assert values[1] - values[0] == 7
    assert f"seed   {seed}, driven by tick" in message
    assert f"height={setting_of(seed).config.height}" in message
    assert f"python -m tests.twin.differential --seed {seed} --ticks 1" in message


def test_the_config_in_a_report_can_be_pasted_into_python():
    import random

    for seed in range(20):
        config = random_config(random.Random(seed))
        assert eval(differential.config_call(config)) == config


def test_the_command_reports_success_and_failure(capsys, monkeypatch):
    assert differential.main(["--ticks", "1", "--seed", "3"]) == 0
    assert "agree, seeds 3 to 3" in capsys.readouterr().out
    monkeypatch.setattr(differential, "outcome_or_message", lambda seed, with_teams: f"no good: {seed}")
    assert differential.main(["--seed", "3"]) == 1
    assert "no good: 3" in capsys.readouterr().err
