"""The option ``repeat``: steps of every environment equal as many steps that hold after the first."""

import gymnasium
import numpy as np
import pytest

import territorial
from tests.env.support import legal_choices
from tests.episodes import begun, difference

SMALL = {"height": 24, "width": 24, "num_players": 4, "max_ticks": 400, "obs": "features", "frames": 1}
SEATS = ["agent", "random", "agent", "opportunist"]
REPEAT = 3


def troops_gained(previous, state, info):
    """What a decision gave in troops, with its rewards and ends, so that these are looked at as well."""
    gained = (state.troops - previous.troops)[:, 1:] / 1000
    return gained + info["rewards"] / 3 + info["terminated"] / 7 + info["ended"][:, None] / 5


def by_hand(env, actions):
    """Step ``env``, of one game, as one step of REPEAT decisions would."""
    total = ()
    for i in range(REPEAT):
        shown, *given, info = env.step(actions if i == 0 else np.zeros_like(actions))
        parts = [info[name] for name in env.reward_names]
        if total:
            given = [total[0] + given[0], total[1] | given[1], total[2] | given[2]]
            parts = list(map(np.add, total[3], parts))
        total = *given, parts
        if info["is_over"][0] or info["was_reset"][0]:
            break
    return shown, *total[:3], info | dict(zip(env.reward_names, total[3], strict=True))


@pytest.mark.parametrize(
    ("autoreset", "agent_death", "reward_fn", "ends"),
    [
        ("same_step", "remove", None, {"max_cycles": 14}),
        ("same_step", "keep", troops_gained, {"end_when": "no_agents"}),
        ("next_step", "remove", troops_gained, {"max_cycles": 14}),
        ("next_step", "keep", None, {"end_when": "no_agents"}),
        ("disabled", "remove", troops_gained, {"end_when": "no_agents"}),
        ("disabled", "keep", None, {"max_cycles": 14}),
    ],
)
def test_a_step_of_a_vector_equals_as_many_steps_that_hold_after_the_first(
    autoreset, agent_death, reward_fn, ends
):
    options = SMALL | ends | {"agent_death": agent_death, "reward_fn": reward_fn, "autoreset": autoreset}
    env, alone = (territorial.make_vec(1, seats=SEATS, repeat=n, **options) for n in (REPEAT, 1))
    shown, _ = env.reset(seed=5)
    assert difference(shown, alone.reset(seed=5)[0]) is None
    rng, ended, rewarded = np.random.default_rng(1), 0, 0
    for _ in range(30):
        actions = legal_choices(shown["action_mask"], rng)
        steps = env.step(actions)
        assert difference(steps, by_hand(alone, actions)) is None
        shown, rewards, _, _, info = steps
        ended, rewarded = ended + int(info["is_over"].sum()), rewarded + np.count_nonzero(rewards)
        if info["is_over"][0] and autoreset == "disabled":
            for one in (env, alone):
                one.reset_game(0)
    assert ended >= 2
    assert rewarded >= 10


def test_games_of_a_batch_do_not_wait_for_each_other():
    env = begun(territorial.make_vec(4, seats=SEATS, repeat=5, max_cycles=7, num_threads=2, **SMALL), seed=1)
    env.game.num_cycles[:] = [0, 1, 2, 3]
    _, _, _, truncated, info = env.step(np.zeros((4, 2), int))
    assert info["is_over"].tolist() == [False, False, True, True]
    assert truncated.any(1).tolist() == [False, False, True, True]
    assert info["final_info"]["tick"][:, 0].tolist() == [50, 40]
    assert (env.game.num_cycles.tolist(), env.game.state.tick.tolist()) == ([5, 6, 0, 0], [50, 50, 0, 0])


def test_all_forms_of_environments_have_the_option():
    fields = {key: SMALL[key] for key in ("height", "width", "num_players", "obs")}
    turns = begun(territorial.env(repeat=4, **fields), seed=0)
    for _ in range(4):
        turns.step(0)
    assert turns.last()[4]["tick"] == 40
    one = begun(gymnasium.make("territorial/Territorial-v0", repeat=4, **fields), seed=0)
    assert one.step(0)[4]["tick"] == 40
    many = begun(gymnasium.make_vec("territorial/Territorial-v0", 4, repeat=4, **fields), seed=0)
    assert many.step(np.zeros(4, int))[4]["tick"].tolist() == [40] * 4


def test_a_reward_function_that_fails_inside_leaves_the_decisions_played():
    calls = []

    def fails(previous, state, info):
        calls.append(int(state.tick[0]))
        return np.full((1, 4), np.nan if len(calls) == 2 else 0.0)

    env = begun(territorial.make_vec(1, seats=SEATS, repeat=5, reward_fn=fails, **SMALL), seed=0)
    with pytest.raises(ValueError, match="it must be finite"):
        env.step(np.zeros((1, 2), int))
    assert (calls, env.game.state.tick[0], env.game.observations.globals[0, 0]) == ([10, 20], 20, 20)
    assert env.step(np.zeros((1, 2), int))[4]["tick"][0, 0] == 70
