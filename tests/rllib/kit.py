"""Environments, modules and bots of leagues that are not of this game."""

from collections import Counter
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces
from ray.rllib.algorithms.appo import APPOConfig
from ray.rllib.algorithms.appo.torch.default_appo_torch_rl_module import DefaultAPPOTorchRLModule
from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.algorithms.ppo.torch.default_ppo_torch_rl_module import DefaultPPOTorchRLModule
from ray.rllib.core.columns import Columns
from ray.rllib.core.distribution.torch.torch_distribution import TorchMultiCategorical
from ray.rllib.core.rl_module.apis import TARGET_NETWORK_ACTION_DIST_INPUTS, TargetNetworkAPI
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule
from ray.rllib.env.multi_agent_env import MultiAgentEnv
from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv, PettingZooEnv
from ray.tune.registry import register_env

from rllib_adapters import Bot
from territorial.league import Gate, LeagueConfig, Learner, Opponents

ALGORITHMS = {"PPO": PPOConfig, "IMPALA": IMPALAConfig, "APPO": APPOConfig}
LARGE, COLUMNS = -1e9, 7


def inputs_of(space: gym.Space[Any]) -> int:
    """Return how many inputs the distribution of actions of a space has."""
    return 2 * space.shape[0] if isinstance(space, spaces.Box) else spaces.flatdim(space)


class Net(TargetNetworkAPI, TorchRLModule, ValueFunctionAPI):
    """Two layers over whatever is seen; where that has a mask, illegal actions are never drawn."""

    def setup(self) -> None:
        width = self.model_config.get("width", 16)
        size, count = spaces.flatdim(self.observation_space), inputs_of(self.action_space)
        if isinstance(self.action_space, spaces.MultiDiscrete):  # which RLlib has no default for
            lens = self.action_space.nvec.tolist()
            self.action_dist_cls = TorchMultiCategorical.get_partial_dist_cls(input_lens=lens)
        self.body = torch.nn.Sequential(torch.nn.Linear(size, width), torch.nn.Tanh())
        self.logits, self.value = torch.nn.Linear(width, count), torch.nn.Linear(width, 1)

    def embed(self, seen: Any) -> torch.Tensor:
        parts = [seen[name] for name in sorted(seen)] if isinstance(seen, dict) else [seen]
        return self.body(torch.cat([part.float().flatten(1) for part in parts], 1))

    def _forward(self, batch: Any, **_: Any) -> Any:
        seen, logits = batch[Columns.OBS], self.logits(self.embed(batch[Columns.OBS]))
        if isinstance(seen, dict) and "action_mask" in seen:
            logits = torch.where(seen["action_mask"] > 0, logits, LARGE)
        return {Columns.ACTION_DIST_INPUTS: logits}

    def compute_values(self, batch: Any, embeddings: Any = None) -> Any:
        return self.value(self.embed(batch[Columns.OBS]))[:, 0]

    def make_target_networks(self) -> None:
        """Copy the layers, as APPO needs it."""
        self.old = torch.nn.Linear(self.logits.in_features, self.logits.out_features)
        self.old.load_state_dict(self.logits.state_dict())

    def get_target_network_pairs(self) -> Any:
        return [(self.logits, self.old)]

    def forward_target(self, batch: Any) -> Any:
        with torch.no_grad():
            return {TARGET_NETWORK_ACTION_DIST_INPUTS: self.old(self.embed(batch[Columns.OBS]))}


class Wide(Net):
    """Another architecture."""


class Decides(Net):
    """Chooses its actions itself: whether the first number that it sees is above 0."""

    def _forward_exploration(self, batch: Any, **_: Any) -> Any:
        return {Columns.ACTIONS: (batch[Columns.OBS][:, 0] > 0).long()}


class Convolution(Net):
    """A small network over a picture, with statistics that are no parameters."""

    def setup(self) -> None:
        super().setup()
        layers = torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten()
        self.body = torch.nn.Sequential(*layers, torch.nn.Linear(288, self.logits.in_features))

    def embed(self, seen: Any) -> torch.Tensor:
        return self.body(seen.permute(0, 3, 1, 2))


class Transformer(Net):
    """A small network over the rows of a picture, which drops numbers while it learns."""

    def setup(self) -> None:
        super().setup()
        layer = torch.nn.TransformerEncoderLayer(24, 2, 32, dropout=0.5, batch_first=True)
        encoder = torch.nn.TransformerEncoder(layer, 2)
        self.body = torch.nn.Sequential(
            encoder, torch.nn.Flatten(), torch.nn.Linear(192, self.logits.in_features)
        )

    def embed(self, seen: Any) -> torch.Tensor:
        return self.body(seen.flatten(2))


class Unlike(MultiAgentEnv):
    """Three agents of unlike spaces, rewarded at random, for a dozen steps."""

    SPACES: ClassVar = {
        "a": (spaces.Dict({"x": spaces.Box(-1, 1, (4,)), "y": spaces.Box(-1, 1, (2,))}), spaces.Discrete(3)),
        "b": (spaces.Box(-1, 1, (3,)), spaces.Box(-2, 2, (2,))),
        "c": (spaces.Box(0, 1, (5,)), spaces.MultiDiscrete([2, 3])),
    }

    def __init__(self, config: Any = None) -> None:
        super().__init__()
        self.agents = self.possible_agents = list(self.SPACES)
        self.observation_spaces = {agent: seen for agent, (seen, _) in self.SPACES.items()}
        self.action_spaces = {agent: act for agent, (_, act) in self.SPACES.items()}

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        self.steps = 0
        return {agent: space.sample() for agent, space in self.observation_spaces.items()}, {}

    def step(self, actions: Any) -> Any:
        """Reward everybody; actions outside of their spaces are an error."""
        assert all(self.action_spaces[agent].contains(action) for agent, action in actions.items()), actions
        self.steps += 1
        rewards = {agent: float(np.random.default_rng().random()) for agent in self.possible_agents}
        seen = {agent: space.sample() for agent, space in self.observation_spaces.items()}
        return seen, rewards, {"__all__": self.steps >= 12}, {"__all__": False}, {}


class Late(Unlike):
    """An agent comes that was not announced."""

    def step(self, actions: Any) -> Any:
        seen, rewards, *ends = super().step(actions)
        self.agents = [*self.possible_agents, "late"]
        self.observation_spaces["late"], self.action_spaces["late"] = self.SPACES["a"]
        return {**seen, "late": seen["a"]}, rewards, *ends


class Turns(Unlike):
    """One sees something at a time, and the others only when it is their turn; all are rewarded, and told."""

    GAMES: ClassVar[list[Any]] = []

    def reset(self, **options: Any) -> Any:
        self.game: Any = Counter()
        self.GAMES.append(self.game)
        return {"a": super().reset(**options)[0]["a"]}, {}

    def step(self, actions: Any) -> Any:
        seen, rewards, *ends, _ = super().step(actions)
        self.game.update({**rewards, "steps": 1})
        mover = self.possible_agents[self.steps % 3]
        return {mover: seen[mover]}, rewards, *ends, {mover: {"steps": self.steps}}


class Plays(Bot):
    """Plays what a function says."""

    def __init__(self, act: Any) -> None:
        self.act = act


class Spaceless(Unlike):
    """Nobody knows what agents see."""

    def __init__(self, config: Any = None) -> None:
        super().__init__()
        self.observation_spaces = self.action_spaces = None


class Column(Bot):
    """Plays the first legal column, or the last one."""

    def __init__(self, which: int) -> None:
        self.which = which

    def act(self, seen: Any, random: np.random.Generator) -> Any:
        legal = seen["action_mask"] > 0
        return legal.argmax(1) if self.which == 0 else COLUMNS - 1 - legal[:, ::-1].argmax(1)


def is_won(board: Any) -> bool:
    """Return whether four discs of a colour lie in a row."""
    cells = np.asarray(board).reshape(6, COLUMNS)
    for y, x in ((0, 1), (1, 0), (1, 1), (1, -1)):
        rows = [np.roll(np.pad(cells, 4), (i * y, i * x), (0, 1)) for i in range(4)]
        if ((rows[0] > 0) & np.all([row == rows[0] for row in rows], axis=0)).any():
            return True
    return False


class Four(PettingZooEnv):
    """Connect four that remembers who did what, and who won."""

    def __init__(self) -> None:
        from pettingzoo.classic import connect_four_v3

        super().__init__(connect_four_v3.env())
        self.games: list[Any] = []

    def reset(self, **options: Any) -> Any:
        self.games.append([])
        return super().reset(**options)

    def step(self, action: Any) -> Any:
        ((agent, column),) = action.items()
        legal = np.flatnonzero(self.env.observe(agent)["action_mask"])
        found = super().step(action)
        self.games[-1].append((agent, int(column), legal, is_won(self.env.unwrapped.board)))
        return found


def battle() -> Any:
    """Return two small armies."""
    from magent2.environments import battle_v4

    return ParallelPettingZooEnv(battle_v4.parallel_env(map_size=16, max_cycles=20))


def archers() -> Any:
    """Return archers and knights against zombies."""
    from pettingzoo.butterfly import knights_archers_zombies_v11

    env = knights_archers_zombies_v11.parallel_env(max_cycles=20)
    return ParallelPettingZooEnv(env)


def pistons() -> Any:
    """Return six pistons, the left ones against the right ones."""
    from pettingzoo.butterfly import pistonball_v6

    return ParallelPettingZooEnv(pistonball_v6.parallel_env(n_pistons=6, continuous=False, max_cycles=20))


def spiel() -> Any:
    """Return connect four as OpenSpiel has it."""
    import pyspiel
    from ray.rllib.env.wrappers.open_spiel import OpenSpielEnv

    return OpenSpielEnv(pyspiel.load_game("connect_four"))


def side_of(agent: str) -> str:
    """Return the army of a soldier."""
    return agent.split("_")[0]


def register() -> None:
    """Let RLlib know the environments by their names."""
    made = {"unlike": Unlike, "late": Late, "spaceless": Spaceless, "turns": Turns, "four": Four}
    made |= {"battle": battle, "archers": archers, "pistons": pistons, "spiel": spiel}
    for name, make in made.items():
        register_env(name, lambda _, make=make: make())


OFTEN, NAMES = Gate(max_steps=1), ("first", "second", "third")
TWO_SIDES = {
    "num_players": 2,
    "learners": (Learner(name="main", gate=OFTEN, opponents=(Opponents(seats=1),)),),
}
LEAGUES: dict[str, tuple[Any, dict[str, Any]]] = {
    # Of each environment the rules of a league, and what add_league gets.
    "unlike": (
        {
            "num_players": 3,
            "learners": tuple(
                Learner(
                    name=name,
                    gate=OFTEN,
                    opponents=tuple(Opponents(seats=1, of=(other,)) for other in NAMES if other != name),
                    opponents_before=i,
                )
                for i, name in enumerate(NAMES)
            ),
        },
        {"modules": {"first": Net, "second": (Wide, {"width": 8}), "third": Net}},
    ),
    "battle": (
        {**TWO_SIDES, "shuffle": True},
        {"modules": {"main": (Net, {"width": 8})}, "seat_of": side_of},
    ),
    "archers": (TWO_SIDES, {"modules": {"main": Net}, "seat_of": side_of}),
    "pistons": (
        TWO_SIDES,
        {"modules": {"main": (Net, {"width": 2})}, "seat_of": lambda agent: int(agent[-1]) // 3},
    ),
    "spiel": (TWO_SIDES, {"modules": {"main": Net}}),
    "four": (
        {
            "num_players": 2,
            "learners": (
                Learner(
                    name="main", gate=OFTEN, opponents=(Opponents(seats=1, among=("snapshots", "bots")),)
                ),
                Learner(
                    name="rival", role="main_exploiter", opponents=(Opponents(seats=1, among=("mains",)),)
                ),
            ),
            "bots": ("left", "right"),
            "shuffle": True,
        },
        {
            "modules": {"main": Net, "rival": (Wide, {"width": 8})},
            "bots": {"left": Column(0), "right": Column(-1)},
        },
    ),
}


def config_of(env: str, algorithm: str = "PPO", runners: int = 0, **settings: Any) -> Any:
    """Return RLlib's configuration for an environment."""
    config = ALGORITHMS[algorithm]().environment(env).training(train_batch_size_per_learner=40)
    config.env_runners(num_env_runners=runners, num_envs_per_env_runner=2, **settings)
    return (
        config.training(minibatch_size=20, num_epochs=1)
        if algorithm == "PPO"
        # Else an iteration takes ten seconds by default.
        else config.reporting(min_time_s_per_iteration=0, min_train_timesteps_per_iteration=40)
    )


def rules_of(env: str, **changes: Any) -> LeagueConfig:
    """Return the rules of an environment's league."""
    return LeagueConfig(env=env, **{**LEAGUES[env][0], **changes})


# RLlib's own modules, whose spaces are Box alone.
DEFAULTS = {"PPO": DefaultPPOTorchRLModule, "APPO": DefaultAPPOTorchRLModule}
SQUARE = gym.spaces.Box(-1, 1, (8, 8, 3))
