"""The native vector environment: every row is one game as ``parallel_env`` and ``VecGame`` play it."""

import pickle

import numpy as np
import pytest

from territorial import LandMask, make_vec
from territorial.envs.infos import nothing_played
from territorial.envs.options import CHOICES
from territorial.envs.vector import AUTORESETS
from territorial.maps import make_maps
from tests.env.support import OBS_AND_FORMATS, SMALL, legal_choices, small_env
from tests.episodes import begun, difference

SEATS = ("agent", "metronome", "agent", "banker")
NUM_ENVS = 3


def small_vec(num_envs=NUM_ENVS, **changes):
    return make_vec(num_envs, **(SMALL | {"max_ticks": 600, "obs": "features"} | changes))


def steps(vec, count, rng_seed=0):
    """Play at random; yield the masks, the actions and what every step returned."""
    rng = np.random.default_rng(rng_seed)
    for _ in range(count):
        masks = vec.action_masks()
        actions = legal_choices(masks, rng, holds=0.7)
        yield masks, actions, vec.step(actions)


def troops_gained(previous, state, info):
    """A reward of a user's own: troops gained, in thousands."""
    return (state.troops - previous.troops)[:, 1:] / 1000


@pytest.mark.parametrize(
    ("number", "obs", "action_format"), [(i, *both) for i, both in enumerate(OBS_AND_FORMATS)]
)
def test_every_row_is_the_game_of_parallel_env(number, obs, action_format):
    seats = (None, SEATS)[number % 2]
    options = {"obs": obs, "action_format": action_format, "seats": seats, "agent_death": "keep"}
    options |= {"max_ticks": 300, "map": "lakes", "action_mask": "info", "repeat": 1 + number % 3}
    options |= {"rewards": {"land": 2, "kills_zero_sum": 1}, "reward_fn": troops_gained}
    vec = small_vec(2, autoreset="disabled", **options)
    rng = np.random.default_rng(1)
    seen, info = vec.reset(seeds=[5, 6])
    for k, seed in enumerate((5, 6)):
        env = small_env(**options)
        env.vec.begin(seeds=[seed])
        env._set_agents(env.possible_agents.copy())
        parts = np.zeros((2, len(vec.reward_names), vec.num_agents), np.float32)
        expected, infos = env._look(parts[0], None)
        row = vec.clone()
        seen, info = row.observe(), row._info(nothing_played(2, len(parts[0]), vec.num_agents, None))
        rewards = ends = dict.fromkeys(env.agents, 0)
        returned = terminated = np.zeros((2, vec.num_agents))
        while True:
            for i, agent in enumerate(expected):
                arrays, report = expected[agent], seen
                if isinstance(report, np.ndarray):
                    arrays, report = {"observation": arrays}, {"observation": report}
                for key, array in arrays.items():
                    shown = report[key][k] if key in vec.shared_keys else report[key][k, i]
                    assert np.array_equal(shown, array), key
                mask = np.hstack(infos[agent].pop("action_mask"))
                assert np.array_equal(info["action_mask"][k, i], mask)
                names = env.info_names
                assert {name: info[name][k, i] for name in names} == {
                    name: infos[agent][name] for name in names
                }
                assert (rewards[agent], ends[agent]) == (returned[k, i], terminated[k, i])
            if not env.agents:
                break
            actions = rng.integers(0, 6, (2, vec.num_agents, 2))
            if action_format in ("discrete", "pairs"):
                actions = actions[..., 0] * 8
            expected, rewards, ends, _, infos = env.step(dict(zip(env.agents, actions[k], strict=True)))
            seen, returned, terminated, _, info = row.step(actions)


@pytest.mark.parametrize(
    ("obs", "action_format"), [*((obs, "discrete") for obs in CHOICES["obs"]), ("features", "pairs")]
)
def test_final_observations_are_those_that_the_other_ways_show(obs, action_format):
    last, first_of_next = {}, {}
    options = {"obs": obs, "action_format": action_format, "max_ticks": 250, "map": "lakes"}
    for autoreset in AUTORESETS:
        vec = begun(small_vec(**options, autoreset=autoreset, decision_every=25), seed=9)
        for _ in range(10):
            seen, rewards, terminated, _, info = vec.step(np.zeros((3, 4), int))
        assert info["is_over"].all()
        assert terminated.all()
        last[autoreset] = {**(info["final_obs"] if autoreset == "same_step" else seen), "rewards": rewards}
        again, rewards, *flags, info = vec.step(np.zeros((3, 4), int))
        first_of_next[autoreset] = seen if autoreset == "same_step" else again
        assert not np.any(flags)
        assert info["final_obs"] is None
        if autoreset != "same_step":
            assert not rewards.any()
        if autoreset == "disabled":
            assert difference(again, seen) is None
            for k in range(3):
                vec.reset_game(k)
            first_of_next[autoreset] = vec.observe()
    for shown in (last, first_of_next):
        assert difference(shown["next_step"], shown["same_step"]) is None
        assert difference(shown["disabled"], shown["same_step"]) is None


def test_games_may_have_line_ups_of_their_own_with_equally_many_agents():
    line_ups = [("agent", "novice", "agent", "banker"), ("metronome", "agent", "agent", "turtle")]
    vec = begun(small_vec(2, seats=line_ups), seed=3)
    assert vec.agent_seats.tolist() == [[1, 3], [2, 3]]
    assert [vec.game.seats_of(k)[p - 1] for k, p in ((0, 1), (0, 3), (1, 2), (1, 3))] == ["agent"] * 4
    vec.set_seats(0, line_ups[1])
    assert vec.agent_seats.tolist() == [[1, 3], [2, 3]], "not before the next reset"
    vec.reset_game(0)
    assert vec.agent_seats.tolist() == [[2, 3], [2, 3]]
    with pytest.raises(ValueError, match="seats of game 1 have 1 agents; every game must have 2"):
        vec.set_seats(1, ("agent", "novice", "novice", "novice"))
    with pytest.raises(ValueError, match="seats has 2 line-ups; there are 3 games"):
        small_vec(3, seats=line_ups)


def test_views_show_what_is_new_and_a_copy_has_its_own():
    vec = small_vec(zero_copy=True, obs="packed", teams=2, team_deal="random")
    assert np.array_equal(vec.reset(seed=3)[1]["team_of"], vec.game.state.team[:, 1:])
    copied, seen = vec.clone(), vec.observe()
    before = {name: seen[name].copy() for name in ("observation", "players", "action_mask")}
    for _ in steps(vec, 12):
        pass
    for name, array in before.items():
        assert not np.array_equal(seen[name], array), name
        assert np.array_equal(copied.observe()[name], array), name


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        (np.zeros((3, 3), int), r"actions has shape \(3, 3\); it must be \(3, 4\)"),
        (np.zeros((3, 4)), "actions has dtype float64; it must hold whole numbers"),
        (np.full((3, 4), 51), r"actions\[0, 0\] is 51; it must be a whole number from 0 to 50"),
        (np.full((3, 4), 2**63 - 1), r"actions\[0, 0\] is 9223372036854775807; it must be"),
        ([[0, 0, 0, 0], [0, 0, -1, 0], [0, 0, 0, 0]], r"actions\[1, 2\] is -1; it must be"),
    ],
)
def test_bad_actions_are_errors_that_name_them_and_change_nothing(actions, message):
    vec = small_vec()
    with pytest.raises(RuntimeError, match=r"call reset\(\) first"):
        vec.step(np.zeros((3, 4), int))
    vec.reset(seed=0)
    before = [vec.game.digest(k) for k in range(3)]
    with pytest.raises((TypeError, ValueError), match=message):
        vec.step(actions)
    assert [vec.game.digest(k) for k in range(3)] == before


def test_every_game_may_have_a_map_of_its_own():
    island = np.ones((24, 24), bool)
    island[0], island[:, 3] = False, [i % 2 == 1 for i in range(24)]
    maps = ["lakes", LandMask.from_array(island), "mountains", "lakes"]
    vec = begun(small_vec(4, maps=maps, max_ticks=100), seed=6)
    assert [vec.game.terrain_name(k) for k in range(4)] == ["water", "water", "mountains", "water"]
    for _ in range(25):
        for k, one in enumerate(maps):
            assert vec.game.land(k) == make_maps(vec.config.replace(map=one))[0]
        vec.step(np.zeros((4, 4), int))
    assert vec.game.state.episode.tolist() == [2] * 4, "the next games are on the same maps"
    other = begun(small_vec(2, maps=maps[1:3], max_ticks=100), seed=0)
    with pytest.raises(ValueError, match="the saved game has the config"):
        other.restore(0, vec.save(0))


def test_games_can_be_looked_at():
    vec = small_vec(2, render_mode="rgb_array", seats=[SEATS, ("agent", "banker", "agent", "novice")])
    with pytest.raises(RuntimeError, match=r"call reset\(\) first"):
        vec.render()
    vec.reset(seed=1)
    first, second = vec.render(), vec.render(1)
    assert first.shape == second.shape == (768, 1152, 3)
    assert not np.array_equal(first, second)
    assert np.array_equal(pickle.loads(pickle.dumps(vec)).render(1), second)
    vec.close()
    assert "player_0" in begun(small_vec(render_mode="ansi"), seed=1).render(2)
    with pytest.raises(
        RuntimeError, match='render_mode is None; make the environment with render_mode="ansi"'
    ):
        small_vec().render()


def test_a_whole_batch_is_saved_and_restored_and_a_bad_game_loses_nothing():
    vec = begun(small_vec(seats=SEATS, max_cycles=30), seed=4)
    for _ in steps(vec, 8):
        pass
    saved, digests = vec.save_all(), [vec.game.digest(k) for k in range(3)]
    vec.step(np.zeros((3, 2), int))
    other = begun(small_vec(1, height=25, seats=SEATS))
    for bad, message in (
        ([saved[0], saved[1], other.save(0)], "the saved game has the config"),
        (saved[:2], "saved has 2 games; this environment has 3"),
    ):
        before = [vec.game.digest(k) for k in range(3)]
        with pytest.raises(ValueError, match=message):
            vec.restore_all(bad)
        assert [vec.game.digest(k) for k in range(3)] == before
    vec.restore_all(saved)
    assert [vec.game.digest(k) for k in range(3)] == digests


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (3, TypeError, "reward_fn is 3; it must be a function"),
        (
            lambda *_: np.zeros((3, 2)),
            ValueError,
            r"reward_fn returned float64 \(3, 2\); it must .* \(3, 4\)",
        ),
        (lambda *_: np.full((3, 4), np.nan), ValueError, "reward_fn returned nan for seat 1 of game 0"),
        (lambda *_: np.full((3, 4), "a"), ValueError, "reward_fn returned <U1"),
        (
            lambda previous, *_: previous.owner,
            AttributeError,
            "the state before the step has no field 'owner'; its",
        ),
    ],
)
def test_a_bad_reward_function_is_an_error_that_says_what_is_wrong(function, error, message):
    def play():
        begun(small_vec(reward_fn=function), seed=0).step(np.zeros((3, 4), int))

    with pytest.raises(error, match=message):
        play()
