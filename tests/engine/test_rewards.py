"""Rewards: every part against a slow count of what happened, their sums and their weights."""

import numpy as np
import pytest

from territorial import GameConfig, VecGame
from territorial.config.rewards import BASE_NAMES, DEFAULT, NAMES, ZERO_SUM, checked_rewards, part_names
from tests.engine.support import board, game_on, random_actions, rows_of
from tests.episodes import begun

SMALL = GameConfig(height=24, width=24, num_players=5, max_ticks=900, map="lakes")
EVERYTHING = {name: 0.25 * (i + 1) for i, name in enumerate(NAMES)}


class Before:
    """What a step is compared with, copied in plain Python."""

    def __init__(self, game, k=0):
        state = game.state
        self.land, self.taken = state.land[k].tolist(), state.taken[k].tolist()
        self.alive, self.tick = state.alive[k].tolist(), int(state.tick[k])


def slow_parts(game, before, k=0):
    """Return what every part gives every seat, from the rules' words and the states around a step."""
    state, config = game.state, game.config
    seats, land = range(1, config.num_players + 1), int(state.num_land[k])
    alive, taken = state.alive[k].tolist(), state.taken[k].tolist()
    found = {name: dict.fromkeys(seats, 0.0) for name in BASE_NAMES}
    for p in seats:
        if not before.alive[p]:
            continue
        found["land"][p] = state.land[k, p] / land - before.land[p] / land
        if not alive[p] or state.over[k]:
            place = state.doubled_place[k, p] / 2
            found["placement"][p] = 1 - 2 * (place - 1) / (config.num_players - 1)
        last = int(state.tick[k]) if alive[p] else int(state.death_tick[k, p]) + 1
        found["survival"][p] = (last - before.tick) / config.max_ticks
        found["taken"][p] = (sum(taken[p]) - sum(before.taken[p])) / land
        for dead in seats:
            if before.alive[dead] and not alive[dead]:
                most = max(taken[q][dead] for q in seats)
                takers = [q for q in seats if taken[q][dead] == most > 0]
                found["kills"][p] += (p in takers) / max(1, len(takers))
    living = [p for p in seats if before.alive[p]]
    for name in BASE_NAMES:
        mean = sum(found[name][p] for p in living) / max(1, len(living))
        found[name + ZERO_SUM] = {p: found[name][p] - mean if p in living else 0.0 for p in seats}
    return {name: [row[p] for p in seats] for name, row in found.items()}


@pytest.mark.parametrize("eager", [0.3, 0.7])
def test_every_part_is_what_a_slow_count_says_and_the_reward_is_their_weighted_sum(eager):
    game = begun(VecGame(SMALL.replace(rewards=EVERYTHING), 3, seed=4, autoreset="disabled", observe=False))
    rng, deaths, seen = np.random.default_rng(0), 0, dict.fromkeys(NAMES, 0)
    for _ in range(90):
        before = [Before(game, k) for k in range(3)]
        was_over = game.state.over.copy()
        _, rewards, _, _, info = game.step(random_actions(game, rng, eager))
        for k in range(3):
            if was_over[k]:
                assert not rewards[k].any()
                assert not any(info[name][k].any() for name in part_names(game.config.rewards))
                continue
            wanted = slow_parts(game, before[k], k)
            for name in NAMES:
                np.testing.assert_allclose(info[f"reward_{name}"][k], wanted[name], atol=1e-6, err_msg=name)
                seen[name] += np.count_nonzero(wanted[name])
            total = sum(EVERYTHING[name] * np.array(wanted[name]) for name in NAMES)
            np.testing.assert_allclose(rewards[k], total, atol=1e-5)
            for name in BASE_NAMES:
                assert abs(info[f"reward_{name}{ZERO_SUM}"][k].sum()) < 1e-5
            deaths += sum(before[k].alive) - int(game.state.alive[k].sum())
    assert deaths >= 1
    assert min(seen.values()) >= 1, seen


def test_the_default_is_land_and_placement_and_games_do_not_depend_on_it():
    default, other = (VecGame(config, 2, seed=1) for config in (SMALL, SMALL.replace(rewards={"kills": 1})))
    default.reset()
    _, rewards, _, _, info = default.step(hold=True)
    assert np.array_equal(rewards, (info["reward_land"] + info["reward_placement"]).astype(np.float32))
    assert SMALL.rewards == DEFAULT
    assert SMALL.hexdigest == other.config.hexdigest
    other.reset()
    other.restore(0, default.save(0))
    assert other.digest(0) == default.digest(0)


def test_whoever_took_most_of_the_dead_is_credited_and_equals_share():
    drawing = rows_of("11111333333322222", *["11111333333322222"] * 14, "#" * 17)
    config = {"rewards": {"kills": 1, "kills_zero_sum": 1}, "decision_every": 50, "death_divisor": 2}
    game = game_on(drawing, troops=[9000, 9000, 1], **config)
    launches = np.zeros((1, 3, 2), np.int64)
    launches[0, 0] = [
        4,
        9,
    ]  # the third seat is the second of the others to the first, the first to the second
    launches[0, 1] = [3, 9]
    _, rewards, terminated, _, info = game.step(launches)
    assert terminated[0].tolist() == [False, False, True], board(game)
    taken = game.state.taken[0]
    assert taken[1, 3] == taken[2, 3] > 0
    assert info["reward_kills"][0].tolist() == [0.5, 0.5, 0]
    np.testing.assert_allclose(info["reward_kills_zero_sum"][0], [1 / 6, 1 / 6, -1 / 3], atol=1e-6)
    assert rewards[0, 0] == pytest.approx(0.5 + 1 / 6)


def test_without_any_part_all_rewards_are_zero():
    game = begun(VecGame(SMALL.replace(rewards={}), 1, autoreset="disabled"))
    _, rewards, _, _, info = game.step(hold=True)
    assert not rewards.any()
    assert not [name for name in info if name.startswith("reward")]


@pytest.mark.parametrize(
    ("given", "weights"),
    [
        ({"kills": 2, "land": 1}, (("land", 1.0), ("kills", 2.0))),
        ("kills=2, land", (("land", 1.0), ("kills", 2.0))),
        ([["land_zero_sum", 0.5]], (("land_zero_sum", 0.5),)),
        ("", ()),
    ],
)
def test_weights_may_be_a_mapping_pairs_or_a_text(given, weights):
    config = GameConfig(rewards=given)
    assert config.rewards == weights == checked_rewards(weights)
    assert hash(config) == hash(GameConfig(rewards=weights))


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (
            {"lnad": 1},
            ValueError,
            r"a part of rewards is 'lnad' \(did you mean 'land'\?\); it must be one of land, placement, ",
        ),
        (
            {"land": "much"},
            TypeError,
            "the weight of 'land' in rewards is 'much'; it must be a finite number",
        ),
        ({"land": float("nan")}, ValueError, "the weight of 'land' in rewards is nan"),
        ({"land": True}, TypeError, "the weight of 'land' in rewards is True"),
        ("land,land=2", ValueError, "rewards has the part 'land' twice"),
        (3, TypeError, "rewards is 3; it must map parts to weights"),
    ],
)
def test_bad_weights_are_errors_that_name_them(given, error, message):
    with pytest.raises(error, match=message):
        GameConfig(rewards=given)
