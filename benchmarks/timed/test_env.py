"""Speed of the PettingZoo environment, in Python dicts, as trainers without a batch interface use it."""

import numpy as np

import territorial

GOAL = 6000
"""Environment steps a second of a 256 x 256 game with 32 living agents, observations and masks included."""

STEPS = 40


def test_steps_of_32_agents_with_feature_observations(benchmark):
    env = territorial.parallel_env(obs="features")
    rng = np.random.default_rng(0)
    # Opening moves of one game, all legal: chosen beforehand, so that only the environment is timed.
    script = []
    observations, _ = env.reset(seed=0)
    for _ in range(STEPS):
        legal = {agent: np.flatnonzero(seen["action_mask"]) for agent, seen in observations.items()}
        script.append(
            {agent: int(rng.choice(legal[agent])) if rng.random() < 0.1 else 0 for agent in env.agents}
        )
        observations, *_ = env.step(script[-1])
    assert len(env.agents) == 32  # no agent has died: every step timed serves all of them

    def play():
        for actions in script:
            env.step(actions)

    benchmark.pedantic(play, setup=lambda: env.reset(seed=0) and None, rounds=30, warmup_rounds=1)
    benchmark.extra_info["goal_env_steps_per_s"] = GOAL
    if benchmark.stats is not None:  # None where benchmarks run as tests
        benchmark.extra_info["env_steps_per_s"] = round(STEPS / benchmark.stats.stats.median)
