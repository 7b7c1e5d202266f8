"""Several who learn in one game: each through its own module, from its own rows."""

import copy
from collections import Counter

import numpy as np
import pytest
from ray.rllib.algorithms.ppo import PPOConfig

from rllib_adapters import configure, freeze, set_league
from rllib_adapters.envs.env_config import POOL, module_of
from rllib_adapters.envs.single import TerritorialMultiAgentEnv
from rllib_adapters.modules.board import FeatureModule
from territorial.league import Group, LineUpDistribution
from tests.rllib.mixture import LEARNERS, MIXTURE, SEATS, mixed_config
from tests.rllib.support import SmallModule, env_config, fill


def rows_by_module(samples):
    """The rows of every module, and the seats that they are of; a piece of an episode has one more."""
    rows, seats = Counter(), {}
    for episode in samples:
        for agent, own in episode.agent_episodes.items():
            rows[own.module_id] += len(own) + 1
            seats.setdefault(own.module_id, set()).add(int(agent.rpartition("_")[2]))
            assert module_of(agent) == own.module_id
    return rows, seats


def trained_rows(result):
    """How many rows each learned from in an iteration, of those who did.

    Of a module that learned before and not this time, Ray 2.60 says NaN; earlier it says nothing.
    """
    rows = {name: result["learners"][name].get("num_module_steps_trained", 0) for name in LEARNERS}
    return {name: count for name, count in rows.items() if count > 0}


def test_every_learner_gets_its_own_rows_and_nobody_elses(ends, tmp_path, running_ray):
    store, seen, batches = fill(tmp_path), [], []
    config = mixed_config(store, env={"max_cycles": 7})
    config.callbacks(on_sample_end=lambda *, samples, **_: seen.append(rows_by_module(samples)))
    algorithm = ends(config.build_algo())
    learner = algorithm.learner_group._learner
    make = learner._make_batch_if_necessary

    def watched(training_data):
        batch = make(training_data=training_data)
        batches.append(batch.policy_batches)
        return batch

    learner._make_batch_if_necessary = watched
    total, players, before = Counter(), set(), algorithm.learner_group.get_weights()
    before = copy.deepcopy({name: before[name] for name in LEARNERS})
    for iteration in range(50):  # seats are dealt at random: in three, somebody may have had none
        if iteration >= 3 and set(total) == players == set(LEARNERS):
            break
        seen.clear()
        batches.clear()
        result = algorithm.train()
        sampled = Counter()
        for rows, seats in seen:
            sampled += rows
            for name, own in seats.items():
                assert own <= SEATS[name]
        (batch,) = batches
        assert {name: len(own) for name, own in batch.items()} == sampled
        for name, own in batch.items():
            assert {seat - 1 for seat in own["obs"]["seat"].flatten().tolist()} <= SEATS[name]
        assert trained_rows(result) == sampled
        steps = result["env_runners"]["num_module_steps_sampled"]
        assert steps["main"] > 0
        assert not any(steps[name] > count for name, count in sampled.items())
        total += sampled
        players |= set(result["env_runners"]["players"])
    assert set(total) == players == set(LEARNERS)
    after = algorithm.learner_group.get_weights()
    for name in LEARNERS:
        assert any((before[name][key] != after[name][key]).any() for key in before[name])
    freeze(algorithm, store, "probe-1", module="probe")
    manifest = store.manifest("probe-1")
    assert (manifest.architecture, manifest.settings) == ("FeatureModule", {"width": 5})
    with pytest.raises(
        ValueError, match="module is 'pool'; the modules that learn are main, rival, scout, probe"
    ):
        freeze(algorithm, store, "pool-1", module="pool")
    frozen = Group(2, {"snapshot:probe-1": 1})
    set_league(
        algorithm, LineUpDistribution([*MIXTURE.groups[:2], frozen, frozen])
    )  # main and rival alone play on
    algorithm.train()  # the games under way end
    before = copy.deepcopy(algorithm.learner_group.get_weights())
    result = algorithm.train()
    assert trained_rows(result).keys() == {"main", "rival"}
    assert result["env_runners"]["num_module_steps_sampled"]["main"] > 0
    after = algorithm.learner_group.get_weights()
    for name in ("scout", "probe"):
        np.testing.assert_equal(after[name], before[name])
    assert "probe-1" in {name for name, _ in algorithm.env_runner.module[POOL].opponents._open}


def test_who_learns_is_dealt_to_seats_and_listed_with_weight_zero():
    table = LineUpDistribution(
        [Group(2, {"trainable:main": 1, "trainable:later": 0}), Group(4, {"bot:novice": 1})], shuffle=True
    )
    env = TerritorialMultiAgentEnv(env_config(league=table))
    assert env.possible_agents == [
        *(f"player_{i}" for i in range(6)),
        *(f"later:player_{i}" for i in range(6)),
    ]
    observations, _ = env.reset(seed=1)
    assert {module_of(agent) for agent in observations} == {"main"}
    later = LineUpDistribution([Group(2, {"trainable:later": 1}), Group(4, {"bot:novice": 1})], shuffle=True)
    env.set_league(later)
    observations, _ = env.reset()
    assert [module_of(agent) for agent in observations] == ["later", "later"]
    for agent, seen in observations.items():
        assert agent == f"later:player_{seen['seat'][0] - 1}"
    with pytest.raises(ValueError, match="the new league has trainable:new, which RLlib was built without"):
        env.set_league(LineUpDistribution([Group(2, {"trainable:new": 1}), Group(4, {"bot:novice": 1})]))
    with pytest.raises(ValueError, match="the new league has snapshots, which RLlib was built without"):
        env.set_league(LineUpDistribution([Group(2, {"trainable:main": 1}), Group(4, {"snapshot:first": 1})]))


def test_modules_are_those_of_the_league(tmp_path):
    options = env_config(league=MIXTURE)
    config = configure(PPOConfig(), options, module=SmallModule, store=tmp_path)
    specs = config.rl_module_spec.rl_module_specs
    assert {name: spec.module_class for name, spec in specs.items() if name != POOL} == dict.fromkeys(
        LEARNERS, SmallModule
    )
    assert list(config.policies_to_train) == list(LEARNERS)
    both = {name: (FeatureModule, {"trunk": {"width": n + 1}}) for n, name in enumerate(LEARNERS)}
    config = configure(PPOConfig(), options, module=both, store=tmp_path, value_chunk=3)
    settings = config.rl_module_spec.rl_module_specs["rival"].model_config
    assert (settings["trunk"], settings["value_chunk"]) == ({"width": 2}, 3)
