"""Games of a batched runner: one engine batch, one view per game.

What came of games that are over is kept until the runner reads it.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from ray.rllib.env.multi_agent_env import MultiAgentEnv
from ray.rllib.env.vector.vector_multi_agent_env import VectorMultiAgentEnv

from rllib_adapters.envs.agent_interface import AgentInterface
from rllib_adapters.envs.env_config import POOL, EnvConfig, agents_of, learners_of, module_of
from rllib_adapters.league.runner import MOST
from territorial.bots import Network, PythonBot
from territorial.engine.batch_arrays import GameArrays, seed_of_episode
from territorial.engine.seats import AGENT, EXTERNAL, Seat
from territorial.engine.vec_game import VecGame, compile_steps
from territorial.evaluation.places import known_places, places_now
from territorial.files.arrays import WritableArrays
from territorial.files.room import check_room
from territorial.league import Outcome, Player, SnapshotStore, UnknownSnapshotError
from territorial.league.seating import LineUp, LineUps
from territorial.typing import Bools


def outcome(players: Sequence[Player], state: GameArrays, k: int, *, is_cut: bool) -> Outcome:
    """Return how game ``k`` stands, which is over for its environment.

    Those who live are placed by land if it was cut, since that is its result. If it was left because
    no module learns from it any more, their places are not known.
    """
    places = places_now(state, k) if is_cut else known_places(state, k)
    names = tuple(sys.intern(str(player)) for player in players)  # the same ones game after game
    teams = state.team[k, 1:]
    has_allies = int(teams.max()) < len(teams)
    return Outcome(names, tuple(places.tolist()), tuple(teams.tolist()) if has_allies else ())


class BatchStep(NamedTuple):
    """A step of E games with P seats. A game that had ended took no step and was reset.

    Args:
        stepped: (E,) the games that took the step.
        learners: (E, P) the learning seats that acted.
        frozen: (E, P) the frozen seats that acted.
        rewards: (E, P); 0 for games that took no step.
        terminated: (E, P) learning seats whose last step it was, by their end or the game's.
        truncated: (E, P) learning seats that were cut off alive.
        done: (E,) games that are over for RLlib.
        cut: (E,) games among these that were cut off by ``max_cycles``.
        new_games: the numbers of the games that were reset.

    """

    stepped: Bools
    learners: Bools
    frozen: Bools
    rewards: npt.NDArray[np.float32]
    terminated: Bools
    truncated: Bools
    done: Bools
    cut: Bools
    new_games: npt.NDArray[np.int64]


class GameView(MultiAgentEnv):
    """What RLlib and ``rllib_adapters.set_league`` ask of one game of a batch: agents, spaces and who plays.

    It is played through its ``TerritorialBatchEnv``. The players of the next game are drawn ahead; each time
    ``on_deal`` is called, and returns which of them are snapshots that act in the pool.

    Attributes:
        players: who plays the seats of the present game.
        learns: which of them are learned from.
        in_pool: which of them are snapshots that act in the pool.

    """

    def __init__(
        self,
        options: EnvConfig,
        observation_spaces: Mapping[str, spaces.Space[Any]],
        action_spaces: Mapping[str, spaces.Space[Any]],
        on_deal: Callable[[GameView], Sequence[bool]],
    ) -> None:
        self.options, self.league = options, options.table
        self.possible_agents: list[str] = list(observation_spaces)
        self.agents: list[str] = []
        self.observation_spaces, self.action_spaces = dict(observation_spaces), dict(action_spaces)
        self.players: tuple[Player, ...] = ()
        self.learns: Sequence[bool] = ()
        self.in_pool: Sequence[bool] = ()
        self._on_deal = on_deal
        super().__init__()

    def seed_with(self, seed: int) -> None:
        """Let the next game be the first one of ``seed``, opponents included."""
        self.seed, self._dealt = seed, -1  # the number of the game that was dealt last
        self._rng = np.random.default_rng(seed)
        self._deal()

    def begin(self) -> None:
        """Let the next game be the present one, and deal the one after it."""
        (self.players, self.learns), self.in_pool = self.next_line_up, self._next_in_pool
        self._deal()

    def _deal(self) -> None:
        self._dealt += 1
        self.next_seed = seed_of_episode(self.seed, self._dealt)
        self._undealt = self._rng.bit_generator.state  # to deal the same game again
        self._draw()

    def _draw(self) -> None:
        self.next_line_up = self.league.draw_game(self._rng)
        self._next_in_pool = self._on_deal(self)

    @property
    def snapshots(self) -> frozenset[str]:
        """The names of those that act in the pool in the present game."""
        return frozenset(who.name for who, acts in zip(self.players, self.in_pool, strict=True) if acts)

    def set_league(self, league: LineUps) -> None:
        """Let another table draw the players from the next game on.

        The next game is dealt again, with the same numbers, as if it had not been dealt yet. ValueError if
        the table draws a learner that the first did not name, or snapshots where the first drew none.
        """
        EnvConfig(config=self.options.config, league=league, obs=self.options.obs)
        for agent in agents_of(league):
            if agent not in self.observation_spaces:
                what = "snapshots" if module_of(agent) == POOL else f"trainable:{module_of(agent)}"
                raise ValueError(
                    f"the new league has {what}, which RLlib was built without; name them in the first "
                    "league: learners with the weight 0, snapshots with a small one"
                )
        self.league = league
        self._rng.bit_generator.state = self._undealt
        self._draw()


class TerritorialBatchEnv(WritableArrays, VectorMultiAgentEnv):
    """E games of ``TerritorialMultiAgentEnv`` in one batch of the engine, played with arrays.

    Games, opponents and ends are those of E such environments with the same seeds. A game that ends is
    shown as it ended; the next step resets it, while the others step.

    Args:
        env_config: as of ``TerritorialMultiAgentEnv``.
        num_envs: E.
        num_threads: of the engine.

    Attributes:
        interfaces: how agents see and act, by the forms that they have.
        learners, frozen: (E, P) bool: the seats that act in the next step.
        learned: (E, P) bool: the seats of learners that the games are learned from.
        names: of all who learn.
        who: (E, P): the place in ``names`` of who learns with a seat, -1 for all other seats.
        outcomes: the games that are over and have not been taken, in the order in which they ended.

    """

    def __init__(
        self, env_config: Mapping[str, Any] | EnvConfig | None, num_envs: int, *, num_threads: int = 1
    ) -> None:
        super().__init__()
        options = self.options = EnvConfig.from_config(env_config)
        compile_steps(options.config)  # while the runner is built: for a sample RLlib waits a minute
        self.game = VecGame(
            options.config,
            num_envs,
            autoreset="next_step",
            end_when="no_agents",
            max_cycles=options.max_cycles,
            frames=options.frames if any(part.shows_boards for part in options.parts) else 0,
            num_threads=num_threads,
            observe=options.observes,
        )
        check_room(f"{num_envs:,} games", self.game.nbytes, "fewer games take less")
        self.interfaces = {form: AgentInterface(form, options, self.game) for form in options.forms}
        self.frozen_form = options.frozen_form
        forms = {agent: options.form_of(module_of(agent)) for agent in agents_of(options.table)}
        # One object for all agents of a form.
        seen = {agent: self.interfaces[form].observation_space for agent, form in forms.items()}
        acts = {agent: self.interfaces[form].format.space for agent, form in forms.items()}
        self.single_observation_spaces, self.single_action_spaces = seen, acts
        self.single_observation_space, self.single_action_space = spaces.Dict({**seen}), spaces.Dict({**acts})
        self.num_envs = num_envs
        seats = num_envs, options.config.num_players
        self.learners, self.frozen = np.zeros(seats, np.bool_), np.zeros(seats, np.bool_)
        self.learned = np.zeros(seats, np.bool_)
        self.names = learners_of(options.table)
        self._numbers = {Player("trainable", name): n for n, name in enumerate(self.names)}
        self.who = np.full(seats, -1)
        self._learns_on = {
            form: np.array([*(options.form_of(name) == form for name in self.names), False])
            for form in self.interfaces
        }  # by places in ``names``, of which -1 is the last
        self._learn_on: dict[str, Bools] = {}  # the same of ``who``
        self.outcomes: deque[Outcome] = deque(maxlen=MOST)
        self._registry = BotRegistry(options)
        self.envs = [GameView(options, seen, acts, partial(self._set_next, k)) for k in range(num_envs)]
        for view in self.envs:
            view.seed_with(int(np.random.SeedSequence().generate_state(1, np.uint64)[0]))

    def reset(self, *, seed: int | None = None, options: Any = None) -> None:
        """Reset all games; ``seed``: game k plays the first one of ``seed + k``, None: the next."""
        for k, view in enumerate(self.envs):
            if seed is not None:
                view.seed_with(seed + k)
        self.game.reset()
        self._begin(range(self.num_envs))

    def on(self, form: str) -> Bools:
        """Return (E, P): the seats of learners on a form, and frozen seats that act, if it is theirs."""
        learn = self._learn_on[form]
        return learn | self.frozen if form == self.frozen_form else learn

    def holds(self) -> dict[str, npt.NDArray[np.int64]]:
        """Return actions (E, P, ...) by form that hold, in the format of each."""
        shapes = {form: (*self.who.shape, *own.format.shape) for form, own in self.interfaces.items()}
        return {form: np.zeros(shape, np.int64) for form, shape in shapes.items()}

    def step(self, actions: npt.NDArray[np.int64] | Mapping[str, npt.NDArray[np.int64]]) -> BatchStep:
        """Play the actions (E, P, ...) of all seats up to the next decision.

        They are in the agents' format: by form, or one array where all agents have one form.
        """
        self.game.step(self._engine_actions(actions), self.options.repeat)
        results = self.game.results
        stepped = ~results.was_reset
        step = BatchStep(
            stepped=stepped,
            learners=self.learners & stepped[:, None],
            frozen=self.frozen & stepped[:, None],
            rewards=results.rewards.copy(),
            terminated=self.learners & results.terminated,
            truncated=self.learners & results.truncated,
            done=results.is_over.copy(),
            cut=results.is_cut.copy(),
            new_games=np.flatnonzero(results.was_reset),
        )
        goes_on = ~(results.terminated | results.is_over[:, None])
        self.learners, self.frozen = self.learners & goes_on, self.frozen & goes_on
        for k in np.flatnonzero(step.done).tolist():
            self.outcomes.append(outcome(self.envs[k].players, self.game.state, k, is_cut=bool(step.cut[k])))
        self._begin(step.new_games.tolist())
        return step

    def _engine_actions(
        self, actions: npt.NDArray[np.int64] | Mapping[str, npt.NDArray[np.int64]]
    ) -> npt.NDArray[np.int64]:
        """Return the actions of those who act as the engine's pairs, (E, P, 2); all others hold."""
        pairs = np.zeros((*self.who.shape, 2), np.int64)
        for form, interface in self.interfaces.items():
            own = actions[form] if isinstance(actions, Mapping) else actions
            acts = self.on(form) & (self.learners | self.frozen)
            games, i = np.nonzero(acts)
            pairs[acts] = interface.engine_actions(own[acts], games, i + 1)
        return pairs

    def ending(self, k: int, seat: int) -> dict[str, float]:
        """Return the info of a seat, 1..P, of game ``k`` that has ended."""
        state = self.game.state
        return {
            "place": float(state.doubled_place[k, seat]) / 2,
            "land": float(state.land[k, seat]),
            "tick": float(state.tick[k]),
        }

    def close_extras(self, **_: Any) -> None:
        """Free what the engine holds outside Python's memory."""
        self.game.close()

    def _begin(self, games: Collection[int]) -> None:
        """Know who plays in games that have just begun."""
        for k in games:
            view = self.envs[k]
            view.begin()
            self.who[k] = [self._numbers.get(player, -1) for player in view.players]
            self.learners[k] = self.who[k] >= 0
            self.learned[k] = view.learns
            self.frozen[k] = view.in_pool
        if len(games):
            self._learn_on = {form: learns[self.who] for form, learns in self._learns_on.items()}

    def _set_next(self, k: int, view: GameView) -> list[bool]:
        seats = self._registry.seats(view.next_line_up, view.league)
        self.game.set_next_game(k, seats, view.next_seed)
        dealt = zip(view.next_line_up.players, seats, strict=True)
        return [player.kind == "snapshot" and not isinstance(seat, Network) for player, seat in dealt]


# ---- seats of the engine ---------------------------------------------------------------------------------


# The networks of this process, by file, content and interval: all its environments share them.
_open: WeakValueDictionary[tuple[str, str, int], Network] = WeakValueDictionary()


class BotRegistry:
    """The seats of one environment, with of each name the first bot in Python that came.

    Tables that are sent to a runner bring copies of them, which are other objects to the engine. Snapshots
    that were exported are networks of the engine, which decide whenever agents do. Each is opened when it
    first gets a seat. Where the episode goes on while a frozen seat lives, there are none: the engine knows
    of agents alone whether they live.
    """

    def __init__(self, options: EnvConfig) -> None:
        self._bots: dict[str, PythonBot] = {}
        goes_on = options.end_when == "game"
        # The engine's episode is over when no agent lives; frozen seats are agents if it goes on for them.
        self._of_frozen = AGENT if goes_on else EXTERNAL
        self._store, self._interval = None if goes_on else options.store, options.interval
        self._networks: dict[str, Network | None] = {}
        self._table = options.table

    def seats(self, line_up: LineUp, league: LineUps) -> list[Seat]:
        """Return what the engine calls the seats of the players that ``league`` has drawn.

        Learners that are not learned from have the seats of frozen ones, so that no episode waits for them.
        Other snapshots than those of ``league`` are released; the engine keeps those that play until their
        games end.
        """
        if league is not self._table:
            self._table = league
            kept = self._networks.keys() & league.names("snapshot")
            self._networks = {name: self._networks[name] for name in kept}
        return [self._seat(player, learns) for player, learns in zip(*line_up, strict=True)]

    def _seat(self, player: Player, learns: bool) -> Seat:
        if player.kind == "snapshot":
            return self.network(player.name) or self._of_frozen
        if player.kind == "trainable":
            return AGENT if learns else self._of_frozen
        bot = player.bot
        return self._bots.setdefault(bot.name, bot) if isinstance(bot, PythonBot) else bot or player.name

    def network(self, name: str) -> Network | None:
        """Return the network of a snapshot; None if it has none, or if there is no such snapshot yet.

        The pool plays it then, and says what is wrong. NetworkError for a file that is damaged.
        """
        if self._store is not None and name not in self._networks:
            with suppress(UnknownSnapshotError, FileNotFoundError):
                self._networks[name] = _opened(self._store, name, self._interval)
        return self._networks.get(name)


def _opened(store: SnapshotStore, name: str, interval: int) -> Network | None:
    found = store.network(name)
    if found is None:
        return None
    key = str(found.path), found.sha256, interval
    network = _open.get(key)
    if network is None:
        network = _open[key] = Network(found.path, interval=interval, is_mapped=True)
    return network
