"""SuperSuit's wrappers around the environments, as its own pages and the classic tutorials write them."""

import numpy as np
import pytest

import territorial

supersuit = pytest.importorskip("supersuit", reason="SuperSuit is not installed")

from pettingzoo.test import api_test, parallel_api_test  # noqa: E402 - only where SuperSuit is

SMALL = {"height": 24, "width": 24, "num_players": 4, "max_ticks": 1500, "decision_every": 25}


def features(**options):
    return territorial.parallel_env(**SMALL, obs="features", **options)


def planes(**options):
    return territorial.parallel_env(**SMALL, obs="pooled", frames=1, **options)


WRAPPERS = {
    "black_death_v3": supersuit.black_death_v3,
    "frame_stack_v1": lambda env: supersuit.frame_stack_v1(env, 3),
    "flatten_v0": supersuit.flatten_v0,
    "normalize_obs_v0": supersuit.normalize_obs_v0,
    "dtype_v0": lambda env: supersuit.dtype_v0(env, np.float64),
    "pad_observations_v0": supersuit.pad_observations_v0,
}


@pytest.mark.parametrize(("make", "action_mask"), [(features, "info"), (planes, "none")])
@pytest.mark.parametrize("name", WRAPPERS)
def test_a_wrapper_passes_the_parallel_api_test(name, make, action_mask):
    wrapped = WRAPPERS[name](
        make(action_mask=action_mask, seats=("agent", "metronome", "agent", "metronome"))
    )
    wrapped.action_space("player_0").seed(1)
    parallel_api_test(wrapped, num_cycles=100)  # a game has 60 steps
    seen, _ = wrapped.reset(seed=1)
    assert all(wrapped.observation_space(agent).contains(shown) for agent, shown in seen.items())


def test_wrappers_in_a_stack_go_around_the_turn_by_turn_form_too():
    env = territorial.env(**SMALL, obs="pooled", frames=1, action_mask="none", pool_factor=4)
    for wrap in (supersuit.normalize_obs_v0, supersuit.flatten_v0):
        env = wrap(env)
    env = supersuit.frame_stack_v1(env, 4)
    api_test(env, num_cycles=30)
    assert env.observation_space("player_0").shape == (6 * 6 * 6 * 4,)


def test_the_tutorial_of_pettingzoo_with_stable_baselines3_runs_as_it_is_written():
    """Train with parallel_env, through ends of games of 16 steps; play with env."""
    sb3 = pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed")
    env_fn, kwargs = territorial, SMALL | {"max_ticks": 400, "obs": "features", "action_mask": "none"}
    env = env_fn.parallel_env(**kwargs)
    env = supersuit.black_death_v3(env)
    env.reset(seed=0)
    env = supersuit.pettingzoo_env_to_vec_env_v1(env)
    env = supersuit.concat_vec_envs_v1(env, 2, num_cpus=0, base_class="stable_baselines3")
    model = sb3.PPO("MlpPolicy", env, n_steps=16, batch_size=64, n_epochs=1)
    model.learn(total_timesteps=512)
    env = env_fn.env(**kwargs)
    turns = dict.fromkeys(env.possible_agents, 0)
    env.reset(seed=0)
    for agent in env.agent_iter():
        obs, _, termination, truncation, _ = env.last()
        turns[agent] += 1
        env.step(None if termination or truncation else model.predict(obs, deterministic=True)[0])
    assert env.agents == []
    assert all(turns.values())
