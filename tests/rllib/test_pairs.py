"""The form "pairs" with RLlib: the same games in both runners, and networks that can be taken out."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns

from rllib_adapters import configure_league, policy_of
from rllib_adapters.curriculum import set_env
from rllib_adapters.envs.env_config import MAIN
from rllib_adapters.envs.single import TerritorialMultiAgentEnv
from rllib_adapters.league.callback import league_in
from rllib_adapters.league.control import weights_of
from rllib_adapters.modules.pairs import TwoPartActions
from territorial import GameConfig, parallel_env
from territorial.bots import Network
from territorial.league import Gate, League, LeagueConfig, Learner, Opponents
from territorial.nets import PairPolicy
from territorial.nets.pair_export import rows_of_config
from territorial.nets.pair_policy import PairRows
from territorial.observation.action_encoding import unflatten
from territorial.observation.action_formats import FORMATS
from tests.bots.networks import random_file, random_rows
from tests.rllib.leagues import GAME, SEATS
from tests.rllib.support import CONFIG, legal_action, ppo, trained
from tests.torch.test_pair_policy import inputs
from tests.torch.test_pair_policy import policy_of as network_of


def entries(**changes):
    return {"config": GAME, "seats": SEATS, "obs": "pairs", **changes}


# ---- the environment -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        *({"obs": "pairs", "num_candidates": 3, "action_format": action_format} for action_format in FORMATS),
        {"obs": "packed", "frames": 2, "action_format": "multi_discrete"},
    ],
    ids=str,
)
def test_it_plays_the_game_of_the_pettingzoo_environment(options):
    options = {**options, "max_cycles": 80, "repeat": 2}
    mine, rng = TerritorialMultiAgentEnv(entries(**options)), np.random.default_rng(5)
    other = parallel_env(config=GAME, seats=SEATS, **options)
    (seen, report), (theirs, _) = mine.reset(seed=5), other.reset(seed=5)
    while mine.agents:
        assert list(seen) == other.agents
        for agent, own in seen.items():
            assert mine.get_observation_space(agent).contains(own)
            wanted = theirs[agent] | {"action_mask": np.hstack(theirs[agent]["action_mask"])}
            if options["obs"] == "packed":  # the terrain is not among what agents are shown by RLlib
                del wanted["terrain"]
                wanted["observations"] = wanted.pop("observation")
            np.testing.assert_equal(own, wanted)
        actions = {agent: legal_action(mask, rng) for agent, mask in other.action_masks().items()}
        seen, rewards, ends, cuts, report = mine.step(actions)
        theirs, their_rewards, their_ends, their_cuts, their_infos = other.step(actions)
        assert (rewards, {agent: ends[agent] for agent in rewards}) == (their_rewards, their_ends)
        assert all(their_cuts.values()) == cuts["__all__"]
        assert all(
            report[agent]["place"] == their_infos[agent]["place"] for agent in filter(ends.get, rewards)
        )
        if not other.agents:  # the last observations are those of all who were there
            break
        seen = {agent: seen[agent] for agent in mine.agents}
    assert mine.agents == []
    assert max(info["tick"] for info in report.values()) > 100


# ---- the module ------------------------------------------------------------------------------------


def test_actions_of_two_parts_are_as_likely_as_those_of_one_number():
    logits = torch.randn(50, 31, generator=torch.Generator().manual_seed(0))
    dist = TwoPartActions.from_logits(logits)
    drawn = dist.sample()
    flat = torch.arange(31).expand(50, 31)
    both = torch.from_numpy(unflatten(flat.numpy()))
    assert drawn.shape == (50, 2)
    found = torch.stack([dist.logp(both[:, i]) for i in range(31)], 1)
    torch.testing.assert_close(found, dist._dist.logits, rtol=1e-5, atol=1e-5)
    greedy = dist.to_deterministic()
    assert (greedy.sample().numpy() == unflatten(PairPolicy.greedy(dist._dist.logits).numpy())).all()
    assert greedy.logp(greedy.sample()).tolist() == [0.0] * 50


@pytest.mark.usefixtures("running_ray")
def test_a_network_that_has_learned_is_taken_out_and_plays_in_the_engine(ends, tmp_path):
    config = ppo(entries(repeat=2), runner="batched", size="small")
    config.evaluation(evaluation_interval=1, evaluation_duration=1, evaluation_config={"explore": False})
    algorithm = ends(config.build_algo())
    result, learned = trained(algorithm)
    assert learned == {MAIN}
    policy = policy_of(algorithm)
    assert math.isfinite(result["learners"][MAIN]["total_loss"])
    module, rows = algorithm.env_runner.module[MAIN], algorithm.env_runner._source.rows
    seen = rows("pairs", algorithm.env_runner.env.learners, "cpu")
    logits, values = policy(seen["own"], seen["pairs"], seen["action_mask"])
    found = module.forward_train({Columns.OBS: seen})[Columns.ACTION_DIST_INPUTS]
    torch.testing.assert_close(found, logits, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(module.compute_values({Columns.OBS: seen}), values, rtol=1e-4, atol=1e-4)
    policy.export(tmp_path / "mine.safetensors", interval=20, least_equal=0.0, rows=random_rows(200, 0))
    assert Network(tmp_path / "mine.safetensors").interval == 20
    set_env(algorithm, config=GameConfig(height=32, width=32, num_players=3), seats=["agent"] * 3)
    algorithm.train()  # the weights fit any game
    with pytest.raises(ValueError, match=r"num_candidates is .*, but configure.* has made the modules for"):
        set_env(algorithm, num_candidates=3)


@pytest.mark.usefixtures("running_ray")
@pytest.mark.parametrize(
    ("runner", "runners", "action_format", "frozen_seats"),
    [
        ("batched", 1, "pairs", "engine"),
        pytest.param("stock", 0, "pairs_multi_discrete", "pool", marks=pytest.mark.verify),
    ],
)
def test_snapshots_and_networks_play_in_both_runners(
    ends, tmp_path, monkeypatch, runner, runners, action_format, frozen_seats
):
    monkeypatch.chdir(tmp_path)  # runners may be elsewhere
    random_file(Path("net.safetensors"), 1, interval=20)
    parts = (Opponents(seats=3, strategy="pfsp"), Opponents(seats=1, strategy="uniform", among=("bots",)))
    main = Learner(name="main", seats=2, opponents=parts, gate=Gate(max_steps=1))
    league = League(LeagueConfig(num_players=6, learners=(main,), bots=("net:net.safetensors",)), rated=False)
    env = {"config": CONFIG, "obs": "pairs", "action_format": action_format, "max_cycles": 12}
    where = {"runner": runner, "frozen_seats": frozen_seats}
    config = configure_league(PPOConfig(), env, league, str(tmp_path / "store"), **where, size="small")
    config.env_runners(num_env_runners=runners, num_envs_per_env_runner=2, rollout_fragment_length="auto")
    config.training(train_batch_size_per_learner=48, minibatch_size=32, num_epochs=1)
    algorithm = ends(config.build_algo())
    for _ in range(2):
        result = algorithm.train()
    steps = result["env_runners"]["num_module_steps_sampled"]
    assert (steps.get("pool", 0) > 0) == (frozen_seats == "pool")
    league, network = league_in(algorithm), Network("net.safetensors")
    assert sorted(league.snapshots) == ["main-0", "main-1", "main-2"]
    games = league.payoff.games("trainable:main", [f"bot:{network.name}", "snapshot:main-0"])
    assert games.min() > 0
    store = algorithm.league_callback.store
    frozen, now = store.load("main-2"), policy_of(algorithm).state_dict()
    assert frozen.manifest.settings == {"size": "small"}
    exported = Network(store.network("main-2").path)
    assert (exported.interval, exported.temperature) == (CONFIG.decision_every, 1.0)
    again, rows = tmp_path / "again.safetensors", rows_of_config(CONFIG, 8)
    policy_of(algorithm).export(again, interval=CONFIG.decision_every, temperature=1, rows=rows)
    assert exported.digest == Network(again).digest
    assert all((frozen[name] == values.numpy()).all() for name, values in now.items())


def learners_with(start, folder, size="small"):
    """Return the config of a main agent and its exploiter, which begin with the weights of a file."""
    main = Learner(name="main", seats=2, opponents=(Opponents(seats=2),), gate=Gate(max_steps=9))
    exploiter = Learner(name="exploiter", role="main_exploiter", seats=2, reset_chance=1.0)
    league = League(LeagueConfig(num_players=6, learners=(main, exploiter), games="shared"), rated=False)
    env = {"config": CONFIG, "obs": "pairs", "max_cycles": 12}
    config = configure_league(PPOConfig(), env, league, str(folder / "store"), start=start, size=size)
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=2, rollout_fragment_length="auto")
    return config.training(train_batch_size_per_learner=48, minibatch_size=32, num_epochs=1)


@pytest.mark.usefixtures("running_ray")
def test_learners_begin_with_the_weights_of_a_file_once(ends, tmp_path):
    policy, start = network_of(), tmp_path / "start.safetensors"
    policy.save(start)
    wanted = {name: part.numpy() for name, part in policy.state_dict().items()}
    algorithm = ends(learners_with(start, tmp_path).build_algo())
    store = algorithm.league_callback.store
    for module in ("main", "exploiter"):
        acting = algorithm.env_runner.module[module].get_state()
        np.testing.assert_equal(weights_of(algorithm, module), wanted)
        np.testing.assert_equal(dict(store.load(f"{module}-0")), wanted)
        np.testing.assert_equal({name: acting[f"policy.{name}"] for name in wanted}, wanted)
    np.testing.assert_array_equal(store.load("exploiter-start")["hold.bias"], wanted["hold.bias"])
    algorithm.train()
    learned = weights_of(algorithm, "main")
    assert any((array != wanted[name]).any() for name, array in learned.items())
    algorithm.save_to_path(str(tmp_path / "kept"))
    algorithm.stop()
    start.unlink()  # a run that goes on needs it no more
    resumed = ends(Algorithm.from_checkpoint(str(tmp_path / "kept")))
    np.testing.assert_equal(weights_of(resumed, "main"), learned)


@pytest.mark.usefixtures("running_ray")
def test_weights_that_no_learner_can_begin_with_are_named(tmp_path):
    start = tmp_path / "start.safetensors"
    with pytest.raises(ValueError, match=r"start is '.*start.safetensors', which cannot be read"):
        learners_with(start, tmp_path)
    start.write_bytes(b"no weights")
    with pytest.raises(ValueError, match=r"start\.safetensors"):
        learners_with(start, tmp_path)
    network_of().save(start)
    with pytest.raises(ValueError, match=r"of size 'small'; the network of module 'main' is another one"):
        learners_with(start, tmp_path, size="standard").build_algo()


@pytest.mark.parametrize("has_two_parts", [False, True])
def test_frozen_networks_draw_as_the_policy_does(has_two_parts):
    policy, (own, pairs, mask) = network_of(), inputs(3)
    frozen = PairRows("small", has_two_parts=has_two_parts)
    frozen.load_state_dict(policy.state_dict())
    flat = mask if not has_two_parts else torch.cat([mask[:, :1], mask[:, 1::10], torch.ones(3, 10)], 1)
    logits, _ = frozen({"own": own, "pairs": pairs, "action_mask": flat})
    torch.testing.assert_close(logits, policy(own, pairs, mask)[0], rtol=1e-4, atol=1e-4)
    many, steps = logits[:1].expand(4000, -1), torch.linspace(0, 1 - 1e-9, 4000, dtype=torch.float64)
    drawn = frozen.draw(many, steps[:, None].expand(-1, 2))
    if has_two_parts:
        drawn = torch.where(drawn[:, 0] == 0, 0, 1 + 10 * (drawn[:, 0] - 1) + drawn[:, 1])
    shares = np.bincount(drawn.numpy(), minlength=81) / 4000
    np.testing.assert_allclose(shares, logits[0].softmax(0).detach().numpy(), atol=1e-3)
    assert frozen.draw(logits).shape == ((3, 2) if has_two_parts else (3,))
