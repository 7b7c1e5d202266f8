"""Leagues of other environments: what ``add_league`` makes, who acts, how games end, and their memory."""

import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from threading import Event, current_thread, main_thread

import gymnasium as gym
import numpy as np
import pytest
import torch
import tree
from gymnasium import spaces
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.bc import BCConfig
from ray.rllib.algorithms.dqn import DQNConfig
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.algorithms.sac import SACConfig
from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.connectors.env_to_module import FlattenObservations, MeanStdFilter
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.rl_module import RLModule, RLModuleSpec
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from ray.rllib.utils.spaces.space_utils import unsquash_action

from rllib_adapters import add_league, predict_memory
from rllib_adapters.league.callback import LEAGUE_FILE, league_in
from rllib_adapters.league.control import freeze, of_spaces
from rllib_adapters.league.line_up import PLAYERS
from rllib_adapters.league.memory import sizes_of
from rllib_adapters.league.pool import ModuleNetworks, PlayError, actions_of, build_module
from territorial.league import (
    DamagedSnapshotError,
    Group,
    League,
    LeagueConfig,
    Learner,
    LineUpDistribution,
    Manifest,
    MismatchError,
    Opponents,
    Player,
    SnapshotStore,
    UnknownSnapshotError,
)
from territorial.league.checkpoints import Checkpoints
from territorial.league.store import WEIGHTS
from territorial.memory.measure import Memory, ProcessMemory
from territorial.memory.plan import BudgetError
from territorial.nets.frozen import Acting, FrozenPolicies
from tests.league.test_plan import item
from tests.rllib import kit
from tests.rllib.support import finish, started, train_on, wait_for
from tests.torch.reproducible import need

EXTRA = {"four": "pygame", "battle": "magent2", "archers": "pygame", "pistons": "pymunk", "spiel": "pyspiel"}


def made(env, path, algorithm="PPO", runners=0, rules=None, **changes):
    """Return the configuration of an environment's league."""
    if env in EXTRA:
        need(EXTRA[env], "rllib")
    kit.register()
    league, given = League(rules or kit.rules_of(env), rated=False), {**kit.LEAGUES[env][1], **changes}
    config = given.pop("config", None) or kit.config_of(env, algorithm, runners)
    return add_league(config, league, given.pop("store", path), **given)


@pytest.mark.parametrize(
    ("env", "algorithm", "runners"),
    [
        ("unlike", "PPO", 0),
        ("unlike", "APPO", 0),
        ("battle", "PPO", 0),
        ("four", "PPO", 2),
        ("four", "IMPALA", 0),
    ]
    + [
        pytest.param(env, algorithm, runners, marks=pytest.mark.slow)
        for env in kit.LEAGUES
        for algorithm in kit.ALGORITHMS
        for runners in (0, 2)
    ],
)
def test_a_league_trains_is_saved_and_goes_on(env, algorithm, runners, ends, tmp_path):
    trained = made(env, tmp_path / "store", algorithm, runners).build_algo()
    results = [trained.train()["league"] for _ in range(2)]
    learners = list(kit.LEAGUES[env][1]["modules"])
    assert all(result["games"] >= 0 for result in results)
    assert set(results[0]["frozen"]) <= {f"{name}-1" for name in learners}
    store = SnapshotStore(tmp_path / "store")
    assert {f"{name}-0" for name in learners} <= set(store.names())
    trained.save(str(tmp_path / "checkpoint"))
    before = league_in(trained)
    assert League.load(tmp_path / "store" / "league.npz").to_bytes() == before.to_bytes()
    trained.stop()
    resumed = ends(Algorithm.from_checkpoint(str(tmp_path / "checkpoint")))
    assert league_in(resumed).to_bytes() == before.to_bytes()
    resumed.train()
    assert league_in(resumed).num_games >= before.num_games
    assert set(league_in(resumed).snapshots) <= set(store.names())


# A run of connect four, from its last checkpoint if there is one, until it is killed.
RUN = """
import sys
from pathlib import Path

from ray.rllib.algorithms.algorithm import Algorithm

from territorial.league.checkpoints import Checkpoints
from tests.rllib import kit, test_kit
from tests.rllib.support import start_ray

folder = Path(sys.argv[1])
start_ray()
kit.register()
checkpoints = Checkpoints(folder / "checkpoints")
if latest := checkpoints.latest():
    algorithm = Algorithm.from_checkpoint(str(latest))
else:
    rules = kit.rules_of("four", capacity=3)
    algorithm = test_kit.made("four", folder / "store", rules=rules).build_algo()
while True:
    algorithm.train()
    checkpoints.write(algorithm.training_iteration, lambda path: algorithm.save(str(path)))
"""


@pytest.mark.verify
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is not there on Windows")
def test_a_run_killed_at_any_moment_goes_on_from_its_last_checkpoint(ends, tmp_path):
    need("pygame", "rllib")
    kit.register()
    moments, last = np.random.default_rng(0), 0
    checkpoints, store = Checkpoints(tmp_path / "checkpoints"), SnapshotStore(tmp_path / "store")
    for i in range(20):
        process, is_late = started("-c", RUN, str(tmp_path)), i % 4 < 3
        if is_late:
            wait_for(lambda: checkpoints.steps()[-1:] > [last], process)  # noqa: B023 - called at once
        time.sleep(moments.random() * (1 if is_late else 10))
        process.kill()
        finish(process, -signal.SIGKILL)
        last = checkpoints.steps()[-1]
    algorithm = ends(Algorithm.from_checkpoint(str(checkpoints.latest())))
    league = league_in(algorithm)
    assert (algorithm.training_iteration, league.steps) == (last, dict.fromkeys(("main", "rival"), last))
    for name, one in league.snapshots.items():
        assert store.load(name).manifest.metadata["step"] == one.step
    (newest,) = (name for name, one in league.snapshots.items() if one.step == last)
    np.testing.assert_equal(dict(store.load(newest)), algorithm.learner_group.get_weights(["main"])["main"])
    algorithm.train()


# ---- who acts, and how games end -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fragment", "count"),
    [(1, 12), (7, 12), *(pytest.param(fragment, 500, marks=pytest.mark.slow) for fragment in (1, 7))],
)
def test_the_players_that_were_drawn_act_and_outcomes_are_those_of_the_boards(
    fragment, count, ends, tmp_path
):
    columns = {"bot:left": 0, "bot:right": -1}
    rules = kit.rules_of("four")
    config = made(
        "four", tmp_path, rules=LeagueConfig(**{**vars(rules), "bots": tuple(kit.LEAGUES["four"][1]["bots"])})
    ).env_runners(num_envs_per_env_runner=1, rollout_fragment_length=fragment)
    algorithm = ends(config.build_algo())
    runner, league = algorithm.env_runner, league_in(algorithm)
    games, ended, drawn = runner.env.envs[0].unwrapped.games, [], {}
    games.clear()  # RLlib has tried the environment
    others = League(rules, rated=False)
    others.freeze_first()
    with pytest.raises(ValueError, match="the league draws 'zz'; add_league was given left, right"):
        runner.set_league(LineUpDistribution([Group(2, {Player("bot", "zz"): 1})]))
    while len(ended) < count:
        episodes = runner.sample(num_timesteps=fragment)
        for episode in (*episodes, *runner._ongoing_episodes):
            players = drawn.setdefault(episode.id_, dict(episode.custom_data[PLAYERS]))
            assert episode.custom_data[PLAYERS] == players, "a game in progress keeps its players"
            assert all(
                players[agent].startswith("trainable:")
                for agent in episode.agent_episodes
                if episode in episodes
            )
        ended += runner.take_outcomes()
        runner.set_league((league if len(ended) % 2 else others).table())
    for game, outcome, players in zip(games, ended, drawn.values(), strict=False):
        seats, (last, _, _, is_won) = sorted(players), game[-1]
        assert outcome.players == tuple(players[agent] for agent in seats)
        assert outcome.places == (tuple(1.0 + (agent != last) for agent in seats) if is_won else (1.5, 1.5))
        for agent, column, legal, _ in game:
            if players[agent] in columns:
                assert column == legal[columns[players[agent]]]


@pytest.mark.parametrize("steps", [1, 5, 40])
def test_returns_and_infos_are_those_of_the_environment(steps, ends, tmp_path):
    found = []
    config = made("unlike", tmp_path, config=kit.config_of("turns"), outcome=found.append)
    runner = ends(config.build_algo()).env_runner
    kit.Turns.GAMES.clear()
    for _ in range(160 // steps):
        runner.sample(num_timesteps=steps)
    games = [dict(game) for game in kit.Turns.GAMES if game["steps"] == 12]
    assert [{**ended.returns, "steps": ended.length} for ended in found] == games[: len(found)]
    assert len(found) > 8
    for ended in found:
        assert {agent: info["steps"] for agent, info in ended.infos.items()} == {"a": 12, "b": 10, "c": 11}


def test_seats_are_in_the_order_of_their_numbers(tmp_path):
    config = made("unlike", tmp_path, seat_of={"a": 10, "b": 9, "c": 2})
    assert config.seating.seats == (("c",), ("b",), ("a",))


class Marked(ConnectorV2):
    """Adds a column that follows from what an agent sees, as connectors of a user's may."""

    def __call__(self, *, batch, episodes, **_):
        for own in self.single_agent_episode_iterator(episodes, agents_that_stepped_only=True):
            first = np.ravel(tree.flatten(own.get_observations(-1))[0])[0]
            self.add_batch_item(batch, "mark", first, own)
        return batch


@pytest.mark.parametrize("env", ["unlike", "four"])
def test_rows_and_actions_are_those_of_the_connectors_of_rllib(env, ends, tmp_path):
    config = made(env, tmp_path, config=kit.config_of(env, env_to_module_connector=lambda *_, **__: Marked()))
    runner = ends(config.build_algo()).env_runner
    runner.sample(num_timesteps=5)
    episodes, shared = runner._ongoing_episodes, ({}, {})
    ours, theirs = (
        kind.build_env_to_module_connector(config, runner.env, runner.spaces)(
            rl_module=runner.module, batch={}, episodes=episodes, explore=False, shared_data=data
        )
        for kind, data in zip((type(config), PPOConfig), shared, strict=True)
    )
    agents, others = (data["memorized_map_structure"] for data in shared)
    assert set(ours) == set(theirs) == set(agents)
    for module, columns in theirs.items():
        order = [others[module].index(agent) for agent in agents[module]]
        for column in (Columns.OBS, "mark"):
            tree.assert_same_structure(ours[module][column], columns[column])
            for own, part in zip(*map(tree.flatten, (ours[module][column], columns[column])), strict=True):
                assert torch.equal(own, part[order])
    outputs = runner.module.forward_inference(ours)
    mine, rllibs = (
        kind.build_module_to_env_connector(config, runner.env, runner.spaces)(
            rl_module=runner.module,
            batch={module: dict(columns) for module, columns in outputs.items()},
            episodes=episodes,
            explore=False,
            shared_data=shared[0],
        )
        for kind in (type(config), PPOConfig)
    )
    mine.setdefault(Columns.ACTIONS_FOR_ENV, mine[Columns.ACTIONS])  # which RLlib's runner takes then
    np.testing.assert_equal(mine, rllibs)


def test_columns_that_a_connector_has_mapped_to_modules_are_refused(ends, tmp_path):
    runner = ends(made("four", tmp_path).build_algo()).env_runner
    given = {"batch": {"rival": {"mark": [1.0]}}, "episodes": [], "shared_data": {}}
    with pytest.raises(ValueError, match="has made columns of the modules rival; columns must be of agents"):
        runner._env_to_module(rl_module=runner.module, explore=False, **given)


def test_steps_are_counted_as_rllib_counts_them(ends, tmp_path):
    results = ends(made("unlike", tmp_path).build_algo()).train()["env_runners"]
    steps = results["num_env_steps_sampled"]
    assert results["num_agent_steps_sampled"] == dict.fromkeys("abc", steps)
    assert sum(results["num_module_steps_sampled"].values()) == 3 * steps


@pytest.mark.parametrize("module", [kit.Net, kit.Convolution, kit.Transformer, kit.DEFAULTS["PPO"]])
def test_a_snapshot_acts_as_its_module_did(module, tmp_path):
    is_own = issubclass(module, kit.Net)
    seen, acts = kit.SQUARE if is_own else kit.Unlike.SPACES["b"][0], kit.Unlike.SPACES["a"][1]
    from rllib_adapters.league.kit import _architectures, _spec

    config = made("unlike", tmp_path)
    spec = _spec(config, "main", module, {})
    store, weights = SnapshotStore(tmp_path / "own"), {}
    for i in range(3):
        one = build_module(spec, seen, acts, **spec.model_config)
        for buffer in one.buffers():  # as training changes them
            buffer.add_(1)
        weights[f"main-{i}"] = one
        about = {"architecture": module.__name__, "settings": spec.model_config, **of_spaces(seen, acts)}
        store.add(
            f"main-{i}", {name: part.numpy() for name, part in one.state_dict().items()}, Manifest(**about)
        )
    build = ModuleNetworks(_architectures(config, {"main": spec}, ()), of_spaces(seen, acts), seen, acts)
    players = FrozenPolicies(store, build)
    rows = torch.from_numpy(np.stack([seen.sample() for _ in range(6)]))
    acting, wanted = [], []
    for name, one in weights.items():
        snapshot = players._frozen(name, torch.device("cpu"))
        acting.append(Acting(name, snapshot, 2))
        wanted.append(one.forward_exploration({Columns.OBS: rows})[Columns.ACTION_DIST_INPUTS])
        with torch.no_grad():
            assert torch.equal(snapshot.network.run(snapshot.weights, rows), wanted[-1])
            together = snapshot.network.logits(acting, rows[: 2 * len(acting)])
    parts = [logits[2 * i : 2 * i + 2] for i, logits in enumerate(wanted)]
    torch.testing.assert_close(together, torch.cat(parts), atol=1e-4, rtol=0)
    assert players.act(["main-0", "main-2", "main-1"] * 2, rows).shape == (6,)


def test_a_module_that_chooses_actions_itself_does_so_as_a_snapshot(tmp_path):
    seen, acts = kit.Unlike.SPACES["b"][0], spaces.Discrete(2)
    store, spec = SnapshotStore(tmp_path), RLModuleSpec(module_class=kit.Decides, model_config={})
    weights = {name: part.numpy() for name, part in build_module(spec, seen, acts).state_dict().items()}
    store.add("own", weights, Manifest(architecture="Decides", **of_spaces(seen, acts)))
    players = FrozenPolicies(store, ModuleNetworks({"Decides": spec}, of_spaces(seen, acts), seen, acts))
    rows = torch.tensor([[-1.0, 1, 1], [1, -1, 1], [0.5, 1, -1]])
    assert players.act(["own"] * 3, rows).tolist() == [0, 1, 1]
    with pytest.raises(TypeError, match="what is seen is 'a'; it must be made of tensors"):
        players.act(["own"], ("a",))


def test_modules_read_what_connectors_make_of_observations(ends, tmp_path):
    config = kit.config_of("unlike", env_to_module_connector=lambda *_: FlattenObservations(multi_agent=True))
    modules = {"first": kit.DEFAULTS["PPO"], "second": kit.Net, "third": kit.Net}  # "first" sees a Dict
    made_config = made("unlike", tmp_path, config=config, modules=modules)
    assert predict_memory(made_config)[0].peak > 0
    assert ends(made_config.build_algo()).train()["league"]["frozen"]


def test_a_process_of_another_environment_loads_neither_the_engine_nor_numba():
    parts = ("bots", "decode", "engine", "envs", "game", "jit", "maps", "observation")
    names = ("numba", "llvmlite", *(f"territorial.{part}" for part in parts))
    code = (
        "import sys, rllib_adapters.league.old_stack; rllib_adapters.add_league, rllib_adapters.evaluate\n"
        f"print([name for name in {names} if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split("\n")[-2] == "[]"


# ---- bad input -------------------------------------------------------------------------------------------


class Stateful(kit.Net):
    """A module with memory."""

    def get_initial_state(self):
        return {"h": np.zeros(2, np.float32)}


def two(**more):
    return LeagueConfig(
        env="unlike", num_players=2, learners=(Learner(name="main", opponents=(Opponents(seats=1),)),), **more
    )


BAD = {
    "another number of seats": (
        "unlike",
        {"rules": two(), "modules": {"main": kit.Net}},
        "num_players of the league is 2; the environment has 3 seats",
    ),
    "one seat": ("unlike", {"seat_of": lambda agent: "all"}, "the environment has 1 seat"),
    "no seat": ("unlike", {"seat_of": {"a": 0, "b": 1}}, "seat_of gives agent 'c' the seat None; it must be"),
    "a list as seat": (
        "unlike",
        {"seat_of": lambda agent: [agent]},
        "agent 'a' the seat \\['a'\\]; it must be",
    ),
    "store": ("unlike", {"store": None}, "store is None; it must be a folder, or its SnapshotStore"),
    "seats": ("unlike", {"seat_of": "a"}, "seat_of is 'a'; it must be a function or a dict"),
    "outcome": ("unlike", {"outcome": "x"}, "outcome is 'x'; it must be a function"),
    "unlike agents": (
        "unlike",
        {"seat_of": {"a": 0, "b": 1, "c": 1}, "rules": two(), "modules": {"main": kit.Net}},
        "'b' and 'c' of one seat have unlike spaces",
    ),
    "shuffled": (
        "unlike",
        {"rules": kit.rules_of("unlike", shuffle=True)},
        "shuffle is True, but seats have unlike spaces",
    ),
    "modules": ("unlike", {"modules": {"first": kit.Net}}, "the modules are first; the learners"),
    "no module": (
        "unlike",
        {"modules": dict.fromkeys(kit.NAMES, dict)},
        "'first' is <class 'dict'>; it must be a subclass of TorchRLModule",
    ),
    "no values": (
        "unlike",
        {"modules": dict.fromkeys(kit.NAMES, TorchRLModule)},
        "'first' is <class .*; it must be a subclass of ValueFunctionAPI",
    ),
    "one class": ("unlike", {"modules": kit.Net}, "modules is <class .*; it must be a dict of classes"),
    "half a pair": (
        "unlike",
        {"modules": dict.fromkeys(kit.NAMES, (kit.Net, None))},
        "modules\\['first'\\] is \\(<class .*; it must be a class, or a pair of it and a model_config",
    ),
    "a number that JSON lacks": (
        "unlike",
        {"modules": dict.fromkeys(kit.NAMES, (kit.Net, {"rate": np.inf}))},
        "model_config of 'first' cannot be stored",
    ),
    "recurrent": (
        "unlike",
        {"modules": dict.fromkeys(kit.NAMES, Stateful)},
        "the module of 'first' is recurrent",
    ),
    "settings": (
        "unlike",
        {"modules": dict.fromkeys(kit.NAMES, (kit.Net, {"width": {1}}))},
        "model_config of 'first' cannot be stored",
    ),
    "bots": (
        "unlike",
        {"bots": {"left": kit.Column(0)}},
        "bots has an object for 'left'; the bots of the league are none",
    ),
    "no bots": ("four", {"bots": {"left": kit.Column(0)}}, "bots has no object for 'right'"),
    "no bot": (
        "four",
        {"bots": {"left": kit.Column(0), "right": print}},
        "bots\\['right'\\] is .*; it must be an object of a Bot class",
    ),
    "locked bot": (
        "four",
        {"bots": dict.fromkeys(("left", "right"), kit.Plays(Event()))},
        "bots\\['.*'\\] cannot be pickled, for other processes",
    ),
    "list of bots": ("four", {"bots": [kit.Column(0)]}, "bots is .*; it must be a dict of objects by name"),
    "this game": (
        "unlike",
        {"rules": LeagueConfig(**{**kit.LEAGUES["unlike"][0], "env": "territorial"})},
        "env of the league is 'territorial'",
    ),
    "no spaces": (
        "unlike",
        {"config": kit.config_of("spaceless")},
        "agent 'a' has the spaces .*; each must be a gymnasium space",
    ),
    "not in PyTorch": (
        "unlike",
        {"modules": dict.fromkeys(kit.NAMES, RLModule)},
        "'first' is <class .*RLModule'>; it must be a subclass of TorchRLModule",
    ),
    "DQN": (
        "unlike",
        {"config": DQNConfig().environment("unlike")},
        "algorithm DQN cannot be configured: add_league has no replay buffer; .*; use PPO, IMPALA or APPO",
    ),
    "SAC": (
        "unlike",
        {"config": SACConfig().environment("unlike")},
        "algorithm SAC cannot be configured: it learns a policy and two networks of values",
    ),
    "BC": (
        "unlike",
        {"config": BCConfig().environment("unlike")},
        "algorithm BC cannot be configured: it learns from recorded data",
    ),
    "old stack": (
        "unlike",
        {
            "config": kit.config_of("unlike").api_stack(
                enable_rl_module_and_learner=False, enable_env_runner_and_connector_v2=False
            )
        },
        "the configuration is for the old API stack",
    ),
    "policies": (
        "unlike",
        {"config": kit.config_of("unlike").multi_agent(policies={"x"})},
        "policies is .*; it must be unset",
    ),
    "mapping": (
        "unlike",
        {"config": kit.config_of("unlike").multi_agent(policy_mapping_fn=print)},
        "policy_mapping_fn is .*; it must be unset",
    ),
    "policies to train": (
        "unlike",
        {"config": kit.config_of("unlike").multi_agent(policies_to_train=["first"])},
        "policies_to_train is .*; it must be unset",
    ),
    "environment": (
        "unlike",
        {"config": kit.config_of("nobody")},
        "env is 'nobody'; it must be a registered",
    ),
    "specs": (
        "unlike",
        {"config": kit.config_of("unlike").rl_module(rl_module_spec=RLModuleSpec(module_class=kit.Net))},
        "rl_module_spec is .*; it must be unset",
    ),
    "runner": (
        "unlike",
        {"config": kit.config_of("unlike", env_runner_cls=SingleAgentEnvRunner)},
        "env_runner_cls is .*SingleAgentEnvRunner.*; it must be None",
    ),
    "asynchronous": (
        "unlike",
        {"config": kit.config_of("unlike", gym_env_vectorize_mode=gym.VectorizeMode.ASYNC)},
        "gym_env_vectorize_mode is .*ASYNC.*; it must be 'sync'",
    ),
    "tensorflow": (
        "unlike",
        {"config": kit.config_of("unlike").framework("tf2")},
        "framework is 'tf2'; it must be 'torch'",
    ),
    "state": (
        "battle",
        {
            "config": kit.config_of(
                "battle", env_to_module_connector=lambda *_, **__: MeanStdFilter(multi_agent=True)
            )
        },
        "the connector MeanStdFilter has a state",
    ),
    "learners": (
        "unlike",
        {"config": kit.config_of("unlike").learners(num_learners=2)},
        "num_learners is 2; it must be 0 or 1",
    ),
    "connectors": (
        "unlike",
        {"config": kit.config_of("unlike", add_default_connectors_to_env_to_module_pipeline=False)},
        "env_to_module_pipeline is False; it must be True",
    ),
    "connectors of actions": (
        "unlike",
        {"config": kit.config_of("unlike", add_default_connectors_to_module_to_env_pipeline=False)},
        "module_to_env_pipeline is False; it must be True",
    ),
}


@pytest.mark.parametrize(("env", "changes", "message"), BAD.values(), ids=BAD)
def test_what_cannot_be_is_refused(env, changes, message, tmp_path):
    with pytest.raises((TypeError, ValueError), match=message):
        made(env, tmp_path, **changes).build_algo()


@pytest.mark.parametrize(("algorithm", "runners"), [("PPO", 0), ("APPO", 1)])
def test_agents_that_come_late_are_named(algorithm, runners, ends, tmp_path):
    late = kit.config_of("late", algorithm, runners)
    config = made("unlike", tmp_path, config=late, modules=dict.fromkeys(kit.NAMES, kit.Net))
    with pytest.raises(ValueError, match=r"agent 'late' has no seat; the agents .* are a, b, c"):
        train_on(ends(config.build_algo()))


@pytest.mark.parametrize(
    ("outcome", "message", "runners"),
    [
        (lambda ended: [1, 2], "ValueError: outcome returned 2 numbers; .* each of the 3 seats", 0),
        (lambda ended: [1, np.nan, 2], "is nan; it must be a finite number", 0),
        (lambda ended: ["won", "lost", "lost"], "TypeError: what outcome returns for a seat is 'won'", 0),
        (lambda ended: {0: 3, 1: 2, 2: 1}, "TypeError: what outcome returns is {0: .*; it must be", 0),
        (lambda ended: 1.0, "TypeError: what outcome returns is 1.0; it must be a list", 0),
        (lambda ended: {}["nobody"], "KeyError: 'nobody'", 0),
        (lambda ended: {}["nobody"], "KeyError: 'nobody'", 1),
    ],
    ids=["length", "nan", "text", "dict", "number", "error", "error afar"],
)
def test_outcomes_that_cannot_be_are_errors_of_the_iteration(outcome, message, runners, ends, tmp_path):
    algorithm = ends(made("unlike", tmp_path, runners=runners, outcome=outcome).build_algo())
    with pytest.raises(ValueError, match=f"outcome of episode [0-9a-f]+: .*{message}"):
        train_on(algorithm)


@pytest.mark.parametrize(
    ("act", "runners", "message"),
    [
        (lambda *_: np.zeros(5, int), 0, r"the bot 'left' returned actions for \{5\} rows"),
        (lambda seen, _: np.full(len(seen["action_mask"]), 7), 0, "the action .*; it is none of Discrete"),
        (lambda *_: None, 0, "the bot 'left' returned None; it must return [12] actions of Discrete"),
        (lambda *_: 1 / 0, 0, "the bot 'left' failed: ZeroDivisionError: division by zero"),
        (lambda *_: 1 / 0, 1, "the bot 'left' failed: ZeroDivisionError: division by zero"),
    ],
)
def test_bots_that_fail_are_named(act, runners, message, ends, tmp_path):
    learners = (Learner(name="main", opponents=(Opponents(seats=1, among=("bots",)),)),)
    rules = kit.rules_of("four", learners=learners, shuffle=False, bots=("left",))
    more = {"modules": {"main": kit.Net}, "bots": {"left": kit.Plays(act)}}
    algorithm = ends(made("four", tmp_path, rules=rules, runners=runners, **more).build_algo())
    with pytest.raises(ValueError, match=message):
        train_on(algorithm)


@pytest.mark.parametrize(
    ("space", "action"),
    [
        (spaces.Box(-2, 6, (2,)), np.array([0.5, -1.5])),
        (spaces.Box(-np.inf, np.inf, (2,)), np.array([0.5, 70])),
        (spaces.Box(np.array([0, 3], "f4"), np.array([np.inf, 3], "f4")), np.array([5.0, 3])),
        (spaces.Box(np.array([0, 3], "f4"), np.array([1, 3], "f4")), np.array([0.5, 3])),
        (spaces.Box(5, 10, (2,), np.int32), np.array([7, 10])),
        (spaces.Box(0, 255, (2,), np.uint8), np.array([0, 255])),
        (spaces.MultiBinary(2), np.array([0, 1])),
        (spaces.MultiBinary(2), np.array([False, True])),
        (spaces.Box(-2, 6, (2,)), np.array([0, 5])),
    ],
)
def test_the_actions_of_bots_come_to_the_environment_as_they_are(space, action):
    found = actions_of("left", np.stack([action] * 3), 3, space, normalize=True)
    for row in found:
        np.testing.assert_allclose(unsquash_action(row, space), action, rtol=1e-6)
    if space.dtype == np.uint8:
        with pytest.raises(PlayError, match=r"256.*; it is none of Box"):
            actions_of("left", [action + 1], 1, space, normalize=True)


def changed(store, factor=1, **changes):
    """Give a snapshot another manifest, or other weights."""
    saved = store.load("first-0")
    weights = {name: factor * part for name, part in saved.items()}
    store.add("first-0", weights, replace(saved.manifest, **changes), replace=True)


def truncated(store):
    """Cut the end off a snapshot's weights."""
    path = store.path / "first-0" / WEIGHTS
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content[:-8])


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda store: store.remove("first-0"), UnknownSnapshotError, "'first-0', which is missing in"),
        (truncated, DamagedSnapshotError, "'first-0' .*bytes; it must have"),
        (partial(changed, observation="another"), MismatchError, "'first-0': observation is 'another'"),
        (partial(changed, architecture="Other"), MismatchError, "'first-0' is of the module 'Other'"),
        (partial(changed, metadata={"run": "x"}), FileExistsError, "'first-0' of another run is in"),
        (partial(changed, settings={"width": 9}), MismatchError, "'first-0' of 'Net': .*size mismatch"),
        (partial(changed, factor=np.nan), MismatchError, "'first-0' has weights that are not finite"),
    ],
    ids=["missing", "damaged", "spaces", "class", "run", "shapes", "nan"],
)
def test_a_run_does_not_go_on_with_snapshots_that_are_not_its_own(change, error, message, ends, tmp_path):
    trained = made("unlike", tmp_path / "store").build_algo()
    trained.save(str(tmp_path / "checkpoint"))
    trained.stop()
    change(SnapshotStore(tmp_path / "store"))

    def go_on():
        resumed = ends(Algorithm.from_checkpoint(str(tmp_path / "checkpoint")))
        resumed.env_runner.sample(num_episodes=40)

    with pytest.raises(error, match=message):
        go_on()


def test_a_run_takes_no_store_of_another_one(tmp_path):
    made("unlike", tmp_path / "store").build_algo().stop()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / LEAGUE_FILE).touch()
    for folder, what in (("store", "snapshot 'first-0'"), ("other", "league")):
        with pytest.raises(FileExistsError, match=f"the {what} of another run is in .*; each run needs its"):
            made("unlike", tmp_path / folder).build_algo()


def test_weights_that_are_not_finite_are_not_frozen(ends, tmp_path):
    algorithm = ends(made("unlike", tmp_path).build_algo())
    weights = algorithm.learner_group.get_weights(["first"])["first"]
    algorithm.learner_group.set_weights({"first": {name: part * np.nan for name, part in weights.items()}})
    with pytest.raises(ValueError, match="of module 'first' is not finite"):
        freeze(algorithm, tmp_path, "broken", module="first")
    assert "broken" not in SnapshotStore(tmp_path)


def test_snapshots_of_other_classes_or_spaces_do_not_play(tmp_path):
    seen, acts = kit.Unlike.SPACES["b"]
    store = SnapshotStore(tmp_path)
    for name, changes in {"class": {"architecture": "Other"}, "spaces": {"observation": "another"}}.items():
        store.add(
            name, {"x": np.zeros(1)}, Manifest(**{"architecture": "Net", **of_spaces(seen, acts), **changes})
        )
    players = FrozenPolicies(store, ModuleNetworks({}, of_spaces(seen, acts), seen, acts))
    for name, message in (("class", "is of the module 'Other'"), ("spaces", "observation is 'another'")):
        with pytest.raises(MismatchError, match=message):
            players.act([name], torch.zeros(1, 3))


# ---- memory ------------------------------------------------------------------------------------------


SIZES = {
    # Of each learner: inputs, width, inputs of the distribution.
    "first": (6, 16, 3),
    "second": (3, 8, 4),
    "third": (5, 16, 5),
}


def weights_of(sizes):
    seen, width, acts = sizes
    return 4 * ((seen + 1) * width + (width + 1) * (acts + 1))


def test_weights_and_what_backpropagation_keeps_are_counted(tmp_path):
    config = made("unlike", tmp_path)
    for name, (seen, width, acts) in SIZES.items():
        weights, kept, of_values = sizes_of(config.rl_module_spec.rl_module_specs[name], *config.spaces[name])
        assert weights == weights_of((seen, width, acts))
        # Two paths keep their inputs, what tanh gave, and that as the input of the next layer.
        assert kept == 2 * of_values == 2 * 4 * (seen + 2 * width)
    spec, acts = config.rl_module_spec.rl_module_specs["third"], config.spaces["third"][1]
    assert sizes_of(spec, gym.spaces.Discrete(7), acts)[1:] == (0, 0)


@pytest.mark.parametrize("algorithm", kit.ALGORITHMS)
def test_snapshots_are_modules_in_every_process_or_files(algorithm, tmp_path):
    plans = {
        (runners, capacity): predict_memory(
            made("unlike", tmp_path / "store", algorithm, runners, kit.rules_of("unlike", capacity=capacity))
        )
        for runners in (0, 2)
        for capacity in (10, 110)
    }
    largest = max(map(weights_of, SIZES.values()))
    for runners in (0, 2):
        few, many = plans[runners, 10], plans[runners, 110]
        of_league = item(many[0], "league").nbytes - item(few[0], "league").nbytes
        assert many[0].built - few[0].built == of_league > 0
        assert item(many[0], "snapshots").nbytes - item(few[0], "snapshots").nbytes == 100 * largest
        assert item(many[1], "snapshots").nbytes == 0
        for name in ("modules that play", "modules that learn"):
            more = item(many[1], name).nbytes - item(few[1], name).nbytes
            assert more == 100 * largest
        assert (
            many[1].of_item(item(many[1], "modules that play"))
            == (1 + runners) * item(many[1], "modules that play").nbytes
        )


def test_rows_are_those_of_the_spaces(tmp_path):
    plan, alone = predict_memory(made("unlike", tmp_path).evaluation(evaluation_num_env_runners=2))
    seen = 4 * (4 + 2 + 3 + 5)
    assert (plan.runners, item(plan, "experience").nbytes) == (2, 40 * (seen + 3 * 3_000))
    # A game is one learner's own: the most that one of them sees are six numbers.
    assert item(plan, "batch").nbytes == item(alone, "batch").nbytes == 2 * 40 * 4 * 6
    assert item(plan, "backpropagation").nbytes == 2 * 20 * 2 * 4 * (5 + 2 * 16 + 1)


def test_a_budget_is_checked_when_the_algorithm_is_built(tmp_path):
    need = predict_memory(made("unlike", tmp_path / "first"))[0].peak
    with pytest.raises(ValueError, match=r"memory is .* MB: the league needs .* MB \(add_league\).*imports"):
        made("unlike", tmp_path / "second", memory=need - 1).build_algo()
    with pytest.raises(ValueError, match="memory is 0; it must be a whole number of at least 1"):
        made("unlike", tmp_path / "third", memory=0)
    with pytest.raises(TypeError, match="config is a PPOConfig; it must be what add_league returned"):
        predict_memory(PPOConfig())


def test_training_ends_before_processes_hold_more_and_goes_on(ends, tmp_path, monkeypatch):
    algorithm, sampled, step = (
        ends(made("unlike", tmp_path, memory=2**50).build_algo()),
        Event(),
        kit.Unlike.step,
    )

    def measured(pids):
        if current_thread() is not main_thread():
            sampled.set()
        return Memory("PSS", (ProcessMemory(1, "greedy", 2**51, 2**51),))

    with monkeypatch.context() as patched:
        patched.setattr("territorial.memory.guard.measure", measured)
        patched.setattr("territorial.memory.guard.most_held", lambda pids: None)
        patched.setattr(kit.Unlike, "step", lambda *given: sampled.wait(60) and step(*given))
        with pytest.raises(BudgetError, match="greedy"):
            algorithm.train()
    assert algorithm.train()["league"]["games"] >= 0
