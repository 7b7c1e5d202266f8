"""Several who learn in one game, on pairs, features and boards: everyone sees what its network reads."""

import copy
import json
import math
from collections import Counter

import numpy as np
import pytest
import torch
from ray.rllib.algorithms.ppo import PPOConfig

from rllib_adapters import configure, freeze, set_league
from rllib_adapters.curriculum import set_env
from rllib_adapters.envs.agent_interface import SHARED
from rllib_adapters.envs.batch import TerritorialBatchEnv
from rllib_adapters.envs.env_config import POOL, EnvConfig, module_of
from rllib_adapters.envs.single import TerritorialMultiAgentEnv
from rllib_adapters.modules.board import FeatureModule, settings_of
from rllib_adapters.modules.frozen_pool import candidate_mask, opponents_of, pool_settings
from territorial.league import Group, LineUpDistribution
from territorial.nets.frozen_seats import FrozenSeats
from tests.rllib.leagues import (
    FORMS,
    FORMS_ENV,
    FORMS_TABLE,
    FOUR_SEATS,
    FROZEN,
    LEARNERS,
    MIXTURE,
    MODULES,
    fill_forms,
    mixed_config,
    with_settings,
)
from tests.rllib.support import SmallModule, env_config, fill, legal_action, ppo, runner_of, trained

SEEN_BY = {
    "main": {"own", "pairs", "targets", "action_mask"},
    "scout": {*SHARED, "seat", "action_mask"},
    "rival": {*SHARED, "seat", "action_mask"},
    POOL: {*SHARED, "seat", "action_mask", "own", "pairs", "targets"},
}


def entries(**changes):
    return {**FORMS_ENV, **changes}


# ---- the environment -------------------------------------------------------------------------------


def test_every_agent_sees_what_its_module_reads():
    env, rng, found = TerritorialMultiAgentEnv(entries(max_cycles=40)), np.random.default_rng(3), set()
    seen, _ = env.reset(seed=3)
    assert list(seen) == ["player_0", "rival:player_2", "scout:player_1", "frozen_3", "frozen_4", "frozen_5"]
    while env.agents:
        for agent, own in seen.items():
            assert own.keys() == SEEN_BY[module_of(agent)]
            assert env.get_observation_space(agent).contains(own)
        boards = [own for own in seen.values() if "observations" in own]
        assert all(own[key] is boards[0][key] for own in boards for key in SHARED)
        pairs = env.batch.interfaces["pairs"]
        for agent in env.agents:
            if module_of(agent) == POOL:
                numbers = pairs.own(np.zeros(1, np.int64), np.array([env._seats[agent]]))
                targets = torch.from_numpy(seen[agent]["targets"])[None].long()
                mask = candidate_mask(torch.from_numpy(seen[agent]["action_mask"])[None], targets).numpy()
                candidates = numbers.pop("action_mask")[:, 1::10]
                np.testing.assert_array_equal(mask[:, 1:-10], candidates)
                found |= set(candidates.flat)
                np.testing.assert_equal({key: seen[agent][key][None] for key in numbers}, numbers)
        seen, *_ = env.step({agent: legal_action(seen[agent]["action_mask"], rng) for agent in env.agents})
    assert found == {0, 1}


def test_the_engine_observes_for_those_alone_who_look_at_boards():
    pairs = {"league": LineUpDistribution([Group(3, {"trainable:main": 1}), Group(3, FROZEN)])}
    for obs, frozen, observes in (("pairs", None, False), ("pairs", "both", True), ("packed", None, True)):
        env = TerritorialBatchEnv(entries(**pairs, obs=obs, frozen_obs=frozen), 2)
        assert (env.game.observes, env.frozen_form) == (observes, frozen or obs)
        env.close()


def test_options_come_back_from_plain_data_and_plain_leagues_are_as_before():
    options = EnvConfig.from_config(entries(action_format="pairs_multi_discrete", num_candidates=4))
    again = EnvConfig.from_config(json.loads(json.dumps(options.to_dict())))
    assert again.to_dict() == options.to_dict()
    assert [again.form_of(name) for name in FORMS] == list(FORMS.values())
    assert {form: again.options_of(form).action_format for form in again.forms} == {
        "packed": "multi_discrete",
        "pairs": "pairs_multi_discrete",
        "both": "multi_discrete",
    }
    assert EnvConfig.from_config(entries(obs="pairs")).forms == ("pairs",)


# ---- frozen seats ----------------------------------------------------------------------------------


def pool_of(path):
    settings = settings_of(entries(), learner="rival")
    classes = [with_settings(module)[0] for module in MODULES.values()]
    return opponents_of(pool_settings(settings, fill_forms(path), classes, "both"))


def test_every_snapshot_reads_its_part_of_the_rows_by_its_manifest(tmp_path, monkeypatch):
    pool, env, asked = pool_of(tmp_path), TerritorialMultiAgentEnv(entries()), []
    chosen = {"on-boards": [[1, 3]], "on-pairs": [[1, 5], [0, 7]]}

    def act(players, names, seen):
        asked.append((names, seen))
        return torch.tensor(chosen[names[0]])

    monkeypatch.setattr(FrozenSeats, "act", act)
    frozen = [own for agent, own in env.reset(seed=1)[0].items() if module_of(agent) == POOL]
    rows = {key: torch.from_numpy(np.stack([own[key] for own in frozen])) for key in frozen[0]}
    actions = pool.act(["on-pairs", "on-boards", "on-pairs"], rows)
    (on_boards, boards), (on_pairs, pairs) = asked
    assert (on_boards, on_pairs) == (["on-boards"], ["on-pairs", "on-pairs"])
    numbers = ("own", "pairs", "targets")
    masks = candidate_mask(rows["action_mask"], rows["targets"].long())
    wanted = {
        "boards": {key: part[[1]] for key, part in rows.items() if key not in numbers},
        "pairs": {"own": rows["own"][[0, 2]], "pairs": rows["pairs"][[0, 2]], "action_mask": masks[[0, 2]]},
    }
    torch.testing.assert_close({"boards": boards, "pairs": pairs}, wanted, rtol=0, atol=0)
    # The first candidate as the owner that it is, and an action that holds as no launch of anything.
    assert actions.tolist() == [[int(rows["targets"][0, 0]), 5], [1, 3], [0, 0]]


# ---- runners ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("running_ray")
@pytest.mark.parametrize("runner", ["batched", pytest.param("stock", marks=pytest.mark.verify)])
def test_a_league_of_all_forms_trains_and_freezes(ends, tmp_path, runner):
    store = fill_forms(tmp_path / "store")
    config = ppo(entries(max_cycles=12), module=MODULES, store=store, runner=runner)
    algorithm = ends(config.build_algo())
    result, learned = trained(algorithm)
    assert learned == FORMS.keys()
    assert all(math.isfinite(result["learners"][name]["total_loss"]) for name in FORMS)
    assert result["env_runners"]["num_module_steps_sampled"]["pool"] > 0
    for name, form in FORMS.items():
        freeze(algorithm, store, f"{name}-1", module=name)
        assert store.manifest(f"{name}-1").observation == form
    later = [f"snapshot:{name}-1" for name in FORMS]  # all sit in every game, whatever the seed
    set_league(
        algorithm, LineUpDistribution([*FORMS_TABLE.groups[:3], *(Group(1, {name: 1}) for name in later)])
    )
    with pytest.raises(ValueError, match=r"obs has the entry .rival.; it must be .* for each of main, scout"):
        set_league(
            algorithm, LineUpDistribution([*FORMS_TABLE.groups[:2], Group(4, dict.fromkeys(later, 1))])
        )
    if runner == "batched":
        with pytest.raises(
            ValueError, match=r"obs of trainable:.* is 'pairs', but configure.* the modules for 'packed'"
        ):
            set_env(algorithm, obs={**FORMS, "rival": "pairs"})
    algorithm.train()
    playing = algorithm.env_runner.module[POOL].opponents.names
    assert {"scout-1", "rival-1"} <= set(playing)  # "main-1" may sit in the engine


def test_snapshots_of_another_form_than_the_learners_join_by_their_architecture(tmp_path):
    groups = [Group(3, {"trainable:main": 1}), Group(3, FROZEN)]
    env = entries(league=LineUpDistribution(groups), obs="pairs")
    config = ppo(
        env,
        module=MODULES["main"],
        store=fill_forms(tmp_path),
        architectures=[SmallModule, FeatureModule],
        runner="batched",
    )
    assert EnvConfig.from_config(config.env_config).frozen_form == "both"
    runner = runner_of(config)
    episodes = runner.sample()
    assert {own.module_id for whole in episodes for own in whole.agent_episodes.values()} == {"main"}
    assert runner.module[POOL].opponents.names


def test_frozen_seats_may_have_one_form_among_learners_of_both(tmp_path):
    given = {"module": MODULES, "store": str(tmp_path)}
    config = configure(PPOConfig(), entries(frozen_obs="packed"), **given)
    pool = config.rl_module_spec.rl_module_specs[POOL].model_config
    assert (pool["obs"], pool["architectures"]) == ("packed", (FeatureModule, SmallModule))


# ---- modules of their own ----------------------------------------------------------------------------


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
                assert own <= FOUR_SEATS[name]
        (batch,) = batches
        assert {name: len(own) for name, own in batch.items()} == sampled
        for name, own in batch.items():
            assert {seat - 1 for seat in own["obs"]["seat"].flatten().tolist()} <= FOUR_SEATS[name]
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
