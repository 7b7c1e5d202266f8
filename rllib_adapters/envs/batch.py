"""The games of a batched runner: one batch of the engine, with a light view of every game for RLlib."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from ray.rllib.env.multi_agent_env import MultiAgentEnv
from ray.rllib.env.vector.vector_multi_agent_env import VectorMultiAgentEnv

from rllib_adapters.envs.env_config import EnvConfig, learners_of, roles_by_seat
from rllib_adapters.envs.outcomes import Outcomes
from rllib_adapters.envs.single import HouseBots, check_new_league, seats_of_agents, spaces_of_agents
from territorial.engine.vec_game import VecGame, compile_steps, seed_of_episode
from territorial.league import LeagueTable, Player
from territorial.typing import Bools


class BatchStep(NamedTuple):
    """A step of E games with P seats. A game that had ended took no step and was reset."""

    stepped: Bools
    """(E,) the games that took the step."""
    learners: Bools
    """(E, P) the learning seats that acted."""
    frozen: Bools
    """(E, P) the frozen seats that acted."""
    rewards: npt.NDArray[np.float32]
    """(E, P)"""
    terminated: Bools
    """(E, P) learning seats whose last step it was, by their end or the game's."""
    truncated: Bools
    """(E, P) learning seats that were cut off alive."""
    done: Bools
    """(E,) games that are over for RLlib."""
    cut: Bools
    """(E,) games among these that were cut off by ``max_steps``."""
    begun: npt.NDArray[np.int64]
    """The numbers of the games that were reset."""


class GameView(MultiAgentEnv):
    """What RLlib and ``configure.set_league`` ask of one game of a batch: agents, spaces and who plays.

    It is played through its ``TerritorialBatchEnv``.
    """

    def __init__(
        self,
        options: EnvConfig,
        observation_spaces: Mapping[str, spaces.Space[Any]],
        action_spaces: Mapping[str, spaces.MultiDiscrete],
    ) -> None:
        self.options, self.league = options, options.table
        self._roles = roles_by_seat(self.league)
        self.possible_agents: list[str] = list(observation_spaces)
        self.agents: list[str] = []
        self.observation_spaces, self.action_spaces = dict(observation_spaces), dict(action_spaces)
        self.players: tuple[Player, ...] = ()
        """Who plays the seats of the present game."""
        self.seed_with(int(np.random.SeedSequence().generate_state(1, np.uint64)[0]))
        super().__init__()

    def seed_with(self, seed: int) -> None:
        """Let the next game be the first one of ``seed``, opponents included."""
        self.seed, self.episode = seed, -1
        self._rng = np.random.default_rng(seed)

    def deal(self) -> tuple[Player, ...]:
        """Draw the players of the next game; ``seed`` and ``episode`` say which one it is."""
        self.episode += 1
        self.players = self.league.draw(self._rng)
        return self.players

    @property
    def snapshots(self) -> frozenset[str]:
        """The names of those that play in the present game."""
        return frozenset(player.name for player in self.players if player.kind == "snapshot")

    def set_league(self, league: LeagueTable) -> None:
        """Let another table draw the players from the next game on; as ``TerritorialMultiAgentEnv``."""
        check_new_league(self.options, self._roles, league)
        self.league = league


class TerritorialBatchEnv(VectorMultiAgentEnv):
    """E games of ``TerritorialMultiAgentEnv`` in one batch of the engine, played with arrays.

    Games, opponents and ends are those of E such environments with the same seeds. A game that ends is
    shown as it ended; the next step resets it, while the others step.

    Args:
        env_config: as of ``TerritorialMultiAgentEnv``.
        num_envs: E.
        num_threads: of the engine.

    """

    def __init__(
        self, env_config: Mapping[str, Any] | EnvConfig | None, num_envs: int, *, num_threads: int = 1
    ) -> None:
        super().__init__()
        options = self.options = EnvConfig.from_config(env_config)
        compile_steps(options.config)  # while the runner is built: for a sample RLlib waits a minute
        self.game = VecGame(
            options.config, num_envs, autoreset="disabled", frames=options.frames, num_threads=num_threads
        )
        self.game.reset()
        agents = list(seats_of_agents(roles_by_seat(options.table)))
        seen, acts = spaces_of_agents(self.game, agents)
        self.single_observation_spaces, self.single_action_spaces = seen, acts
        self.single_observation_space, self.single_action_space = spaces.Dict(seen), spaces.Dict({**acts})
        self.num_envs = num_envs
        self.envs = [GameView(options, seen, acts) for _ in range(num_envs)]
        seats = num_envs, options.config.num_players
        self.learners, self.frozen = np.zeros(seats, np.bool_), np.zeros(seats, np.bool_)
        """(E, P) bool: the seats that act in the next step."""
        self.names = learners_of(options.table)
        """Of all who learn."""
        self._numbers = {Player("trainable", name): n for n, name in enumerate(self.names)}
        self.who = np.full(seats, -1)
        """(E, P): the place in ``names`` of who learns with a seat, -1 for all other seats."""
        self._waits = np.ones(num_envs, np.bool_)
        self._steps = np.zeros(num_envs, np.int64)
        self.outcomes = Outcomes()
        self._house = HouseBots()

    def reset(self, *, seed: int | None = None, options: Any = None) -> None:
        """Reset all games; ``seed``: game k plays the first one of ``seed + k``, None: the next."""
        for k, view in enumerate(self.envs):
            if seed is not None:
                view.seed_with(seed + k)
        self._begin(range(self.num_envs))

    def step(self, actions: npt.NDArray[np.int64]) -> BatchStep:
        """Play the actions (E, P, 2) of all seats up to the next decision."""
        stepped, waited = ~self._waits, np.flatnonzero(self._waits)
        _, rewards, terminated, _, _ = self.game.step(actions)
        self._steps += stepped
        ended = terminated & stepped[:, None]
        learners, frozen = self.learners & ~ended, self.frozen & ~ended
        is_cut = self._reached_limit() & stepped
        is_over = stepped & ~learners.any(1)
        if self.options.end_when == "game":
            is_over &= ~frozen.any(1)
        done = is_cut | is_over
        step = BatchStep(
            stepped=stepped,
            learners=self.learners & stepped[:, None],
            frozen=self.frozen & stepped[:, None],
            rewards=rewards.copy(),
            terminated=self.learners & ended,
            truncated=learners & is_cut[:, None],
            done=done,
            cut=is_cut & ~is_over,
            begun=waited,
        )
        self.learners, self.frozen = learners & ~done[:, None], frozen & ~done[:, None]
        self._waits = done
        for k in map(int, np.flatnonzero(done)):
            self.outcomes.add(self.envs[k].players, self.game.state, k, is_cut=bool(step.cut[k]))
        self._begin(waited)
        return step

    def ending(self, k: int, seat: int) -> dict[str, float]:
        """Return the info of a seat, 1..P, of game ``k`` that has ended, as the one environment gives it."""
        state = self.game.state
        return {
            "place": float(state.place2[k, seat]) / 2,
            "land": float(state.land[k, seat]),
            "tick": float(state.tick[k]),
        }

    def close_extras(self, **_: Any) -> None:
        """Free what the engine holds outside Python's memory."""
        self.game.close()

    def _reached_limit(self) -> Bools:
        limit = self.options.max_steps
        return np.zeros(self.num_envs, np.bool_) if limit is None else self._steps >= limit

    def _begin(self, games: Iterable[int]) -> None:
        for k in map(int, games):
            view = self.envs[k]
            players = view.deal()
            self.game.set_seats(k, self._house.seats(players))
            self.game.reset_game(k, seed_of_episode(view.seed, view.episode))
            self.who[k] = [self._numbers.get(player, -1) for player in players]
            self.learners[k] = self.who[k] >= 0
            self.frozen[k] = [player.kind == "snapshot" for player in players]
            self._steps[k] = 0
            self._waits[k] = False
