"""Frames once: what runners and learners hand to modules, against observations that are whole."""

import numpy as np
import pytest
import torch
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.multi_agent_episode import MultiAgentEpisode

from rllib_adapters.envs.agent_names import MAIN, POOL, module_of
from rllib_adapters.envs.single import TerritorialMultiAgentEnv
from rllib_adapters.modules.board import settings_of
from rllib_adapters.modules.frozen_pool import FrozenPool, pool_settings
from rllib_adapters.observations.connector import FRAME, FramesOnce
from tests.rllib.support import BigModule, SmallModule, env_config, fill, league

pytestmark = pytest.mark.release


@pytest.fixture
def modules(tmp_path):
    """The two modules of a league, as an algorithm would build them."""
    env, settings = TerritorialMultiAgentEnv(env_config()), settings_of(env_config(), value_chunk=3)
    pool = pool_settings(settings, fill(tmp_path), [SmallModule, BigModule])
    spaces = {MAIN: "player_0", POOL: "frozen_2"}
    classes = {MAIN: (SmallModule, settings), POOL: (FrozenPool, pool)}
    specs = {
        name: RLModuleSpec(
            module_class=kind,
            model_config=model_config,
            observation_space=env.observation_spaces[spaces[name]],
            action_space=env.action_spaces[spaces[name]],
        )
        for name, (kind, model_config) in classes.items()
    }
    return MultiRLModuleSpec(rl_module_specs=specs).build()


def play(steps, seed=0):
    """An episode of lists, as runners make them with ``episodes_to_numpy=False``."""
    env = TerritorialMultiAgentEnv(env_config(league=league("snapshot:first", "snapshot:second")))
    observations, infos = env.reset(seed=seed)
    episode = MultiAgentEpisode(
        observation_space=env.observation_spaces,
        action_space=env.action_spaces,
        agent_to_module_mapping_fn=module_of,
    )
    episode.add_env_reset(observations=observations, infos=infos)
    for _ in range(steps):
        actions = {agent: np.array([1, 3]) for agent in env.agents}
        results = env.step(actions)
        names = ("observations", "rewards", "terminateds", "truncateds", "infos")
        episode.add_env_step(actions=actions, **dict(zip(names, results, strict=True)))
    return episode


def stacked(rows):
    return {name: torch.from_numpy(np.stack([row[name] for row in rows])) for name in rows[0]}


def test_rows_have_their_own_things_and_frames_are_stacked_once(modules):
    episodes = [play(5, seed) for seed in (1, 2)]
    learner = FramesOnce(as_learner_connector=True)
    batch = learner(rl_module=modules, batch={}, episodes=episodes, explore=False, shared_data={})
    frames = modules[MAIN].frames
    assert {len(array) for array in frames.values()} == {10}
    assert modules[POOL].frames is frames
    for episode in episodes:
        for agent, own in episode.agent_episodes.items():
            rows = batch[Columns.OBS][episode.id_, agent, module_of(agent)]
            assert len(rows) == len(own) == 5
            for row, seen in zip(rows, own.get_observations(slice(0, 5)), strict=True):
                assert "observations" not in row
                for name, array in frames.items():
                    np.testing.assert_array_equal(array[row[FRAME][0]], seen[name])


def test_the_runner_takes_the_last_step_of_those_who_act(modules):
    episode = play(3)
    batch = FramesOnce()(rl_module=modules, batch={}, episodes=[episode], explore=True, shared_data={})
    assert {agent for _, agent, _ in batch[Columns.OBS]} == set(episode.get_agents_to_act())
    assert len(modules[MAIN].frames["observations"]) == 1


def test_modules_give_the_same_for_frames_once_as_for_whole_observations(modules):
    episode = play(7)
    learner = FramesOnce(as_learner_connector=True)
    batch = learner(rl_module=modules, batch={}, episodes=[episode], explore=False, shared_data={})
    for agent in ("player_0", "player_1"):
        rows = batch[Columns.OBS][episode.id_, agent, MAIN]
        once = {Columns.OBS: stacked(rows)}
        whole = {Columns.OBS: stacked(episode.agent_episodes[agent].get_observations(slice(0, 7)))}
        module = modules[MAIN]
        for method in (module.forward_train, module.forward_inference):
            first, second = method(once), method(whole)
            for column, tensor in first.items():
                torch.testing.assert_close(tensor, second[column], rtol=1e-4, atol=1e-4)
        acts = module.forward_exploration(once) | module.forward_inference(once)
        assert not any(part.requires_grad for part in acts.values())
        in_chunks = module.compute_values(once)
        assert not in_chunks.requires_grad
        embedding = module.forward_train(whole)[Columns.EMBEDDINGS]
        at_once = module.compute_values(whole, embeddings=embedding)
        assert at_once.requires_grad
        torch.testing.assert_close(in_chunks, at_once.detach(), rtol=1e-4, atol=1e-4)


def test_the_pool_plays_every_seat_with_the_snapshot_that_it_names(modules):
    episode = play(2)
    batch = FramesOnce()(rl_module=modules, batch={}, episodes=[episode], explore=True, shared_data={})
    rows = [row for (_, _, name), own in batch[Columns.OBS].items() if name == POOL for row in own]
    assert len(rows) == 3
    for forward in (modules[POOL].forward_exploration, modules[POOL].forward_inference):
        actions = forward({Columns.OBS: stacked(rows)})[Columns.ACTIONS]
        assert actions.shape == (3, 2)
        for row, (what, how_much) in zip(rows, actions.tolist(), strict=True):
            assert row["action_mask"][what] == 1
            assert 0 <= how_much < 10


def test_the_pool_has_nothing_to_train_to_save_or_to_ship(modules):
    pool = modules[POOL]
    assert pool.get_state() == {}
    assert not isinstance(pool, torch.nn.Module)
    assert not pool.opponents._open  # nothing is opened before it acts
    pool.set_state({"whatever": 1})
    with pytest.raises(NotImplementedError, match="cannot be trained"):
        pool.forward_train({})


def test_what_does_not_fit_says_what_to_do(modules):
    learner = FramesOnce(as_learner_connector=True)
    arguments = {"batch": {}, "explore": False, "shared_data": {}}
    with pytest.raises(ValueError, match=r"set config.env_runners\(episodes_to_numpy=False\)"):
        learner(rl_module=modules, episodes=[play(2).to_numpy()], **arguments)
    main, modules._rl_modules[MAIN] = modules[MAIN], torch.nn.Linear(1, 1)
    modules[MAIN].unwrapped = lambda: modules[MAIN]
    with pytest.raises(TypeError, match="the module 'main' is a Linear, which cannot read shared frames"):
        learner(rl_module=modules, episodes=[play(2)], **arguments)
    modules._rl_modules[MAIN] = main
    modules[MAIN].frames = None
    row = {FRAME: torch.zeros(1, 1, dtype=torch.int64)}
    with pytest.raises(RuntimeError, match="the connector pipeline that made them must contain FramesOnce"):
        modules[MAIN].forward_train({Columns.OBS: row})
    with pytest.raises(ValueError, match="the model_config of SmallModule has no 'layout'"):
        SmallModule.make_policy({})
    with pytest.raises(TypeError, match="it must be a subclass of BoardModule"):
        pool_settings(settings_of(env_config()), "x", [torch.nn.Linear])
