"""Vector environment: arrays with one row per game, one entry per agent."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any, Unpack, cast

import numpy as np
import numpy.typing as npt

from territorial.config import GameConfig
from territorial.config.fields import takes_keywords_of
from territorial.config.land_mask import LandMask
from territorial.config.validation import one_of, suggests_keywords, whole_number
from territorial.constants import AGENT_CODE, STREAM_START
from territorial.engine.pair_observations import PairCandidates
from territorial.engine.recording import Launches
from territorial.engine.saved_game import SavedGame
from territorial.engine.seats import Seat
from territorial.engine.step import AUTORESETS
from territorial.engine.vec_game import MAX_GAMES, Autoreset, EndWhen, VecGame
from territorial.envs.custom_rewards import CustomRewards, reward_names
from territorial.envs.forms import FORMS, Observation, only_key, space_of
from territorial.envs.infos import StepOutcome, agent_info, info_names, nothing_played, played_by
from territorial.envs.options import (
    EnvOptions,
    GameKeywords,
    agent_seats,
    checked_starts,
    config_of,
    options_in,
)
from territorial.files.arrays import WritableArrays
from territorial.files.room import check_room
from territorial.game.formulas import draw
from territorial.game.state import PLAYERS, SEATING, State, view
from territorial.observation.action_formats import ALL_GOOD, write_choices
from territorial.observation.copies import Copies
from territorial.observation.tables import Observations
from territorial.render import RENDER_MODES, BatchRenderer
from territorial.typing import Arrays, Ints

Info = dict[str, Any]
Steps = tuple[
    Observation, npt.NDArray[np.float32], npt.NDArray[np.bool_], npt.NDArray[np.bool_], dict[str, Any]
]


class TerritorialVec(WritableArrays):
    """Many games of one config, with A agents each, stepped by one call.

    Observations, actions, rewards and infos mean what they mean in :class:`~territorial.TerritorialEnv`,
    one game of which is one row here. E games, A agents a game, in the order of seats:

    ===============================  ==================================================================
    array                            shape
    ===============================  ==================================================================
    observations, "packed"           (E, ...): ``observation``, ``terrain``, ``players``, ``borders`` and
                                     ``globals``, there once for all agents of a game; ``seat`` (E, A, 1)
    observations, other forms        ``observation`` (E, A, ...); that array itself where masks are not in
                                     observations
    ``action_mask``                  int8 (E, A, M), where the option puts it; the masks of two parts are
                                     end to end, M = P + 12
    actions                          whole numbers (E, A), or (E, A, 2) for "multi_discrete"
    rewards                          float32 (E, A): those of ``config.rewards`` and of ``reward_fn``
    terminated, truncated            bool (E, A)
    info: ``info_names``             int64 (E, A), ``place`` float64
    info: ``reward_*``               float32 (E, A): the parts of the rewards of this step
    info: ``launches``               with that option: :class:`Launches`, three arrays (E, P) of all seats
    info: ``is_over``                bool (E,): the episode ended in this step, because its game ended, no
                                     agent lives or ``max_cycles`` cut it
    info: ``was_reset``              bool (E,): a new game is shown
    info: ``final_obs``              the last observation of the games that are over, in order, (N, ...);
    info: ``final_info``             and their ``info_names``, (N, A). Both None where none is over, or where
                                     the arrays above still show these games
    ===============================  ==================================================================

    **Eliminated agents** keep their entries: they see the game continue, may only hold, and what they do is
    ignored. With ``agent_death="remove"`` an agent is terminated at its death, and what follows up to the
    next game is padding (``info["alive"]`` 0). With teams it is terminated when its team is out
    (``info["place"]`` above 0). With "keep" all agents are terminated when their game ends.

    **Ends.** A game ends when it is over; with ``end_when="no_agents"`` also when no agent lives; after
    ``max_cycles`` decisions it is truncated. ``autoreset`` says what then happens:

    - "same_step": the next game takes its place at once; its first observation is shown.
    - "next_step": the last observation is shown; the next step ignores the actions and shows the next game.
    - "disabled": the game stands still, without rewards, until ``reset_game``.

    **Decisions.** With ``repeat=n`` a step is n decisions long: agents make their action in the first, and
    hold in the others. A game that ends in between stops there, and its next one takes no step in that call.
    ``max_cycles`` counts decisions.

    **Seeds.** Game k plays the games that game k of a ``VecGame`` with the same seed plays.

    What a step returns stays as it is as long as it is held, but with ``zero_copy``. Boards and terrain of
    "packed" are read-only. With ``zero_copy`` these and the tables are views of the engine's memory, and int8
    masks of owners in observations have memory of their own that stays where it is. All of these show what is
    new after the next step.

    Args:
        num_envs: E, the number of games; 1 to 1000000.
        config: rules, size and map of all games; default None: those of ``GameConfig()``.
        seats: one entry per seat: "agent", the name of a bot, or a bot in Python. Or a list of E such lists,
            one per game, with equally many agents. Default None: all seats are agents.
        maps: a list of E maps, names or ``LandMask`` objects, one a game; default None: games draw from the
            map of the config.
        autoreset: when the next game takes the place of one that has ended: "same_step", "next_step" or
            "disabled" (only ``reset_game`` begins it); default "same_step".
        num_threads: threads that share the games; results do not depend on it; 1 to 1024, default 1.
        options: the options that all environments have in common; default None: those of ``EnvOptions()``.
        render_mode: what ``render`` does. "rgb_array" returns a picture, uint8 (h, w, 3); "ansi" returns
            text; "human" shows game 0 in every step. Default None: ``render`` is an error.

    Raises:
        TypeError: for an unknown keyword or a value of a wrong type.
        ValueError: for a value out of range, for ``seats`` or ``maps`` of a wrong number, and for games with
            different numbers of agents or none.
        MemoryError: if games and an observation take more memory than is free; more than half of it is warned
            of.

    Example:
        >>> import numpy as np
        >>> import territorial
        >>> config = territorial.GameConfig(height=32, width=32, num_players=4)
        >>> env = territorial.TerritorialVec(2, config)
        >>> observations, info = env.reset(seed=0)
        >>> observations["action_mask"].shape
        (2, 4, 51)
        >>> saved = env.save(0)
        >>> _ = env.step(np.zeros((2, 4), int))  # 0 holds
        >>> env.restore(0, saved)

    """

    @suggests_keywords
    def __init__(
        self,
        num_envs: int,
        config: GameConfig | None = None,
        *,
        seats: Sequence[Seat] | Sequence[Sequence[Seat]] | None = None,
        maps: Sequence[str | LandMask] | None = None,
        autoreset: str = "same_step",
        num_threads: int = 1,
        options: EnvOptions | None = None,
        render_mode: str | None = None,
    ) -> None:
        one_of("autoreset", autoreset, AUTORESETS)
        if render_mode is not None:
            one_of("render_mode", render_mode, RENDER_MODES)
        self.options = EnvOptions() if options is None else options
        self.render_mode = render_mode
        self._renderer = BatchRenderer(render_mode)
        self.autoreset = autoreset
        # Custom rewards and some options read games that have ended, before the next ones replace them.
        looks = autoreset == "same_step" and (self.options.reward_fn is not None or self.options.reads_games)
        entropy = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
        self.game = VecGame(
            GameConfig() if config is None else config,
            whole_number("num_envs", num_envs, 1, MAX_GAMES),
            entropy,
            num_threads,
            autoreset=cast(Autoreset, "disabled" if looks else autoreset),
            end_when=cast(EndWhen, self.options.end_when),
            max_cycles=self.options.max_cycles,
            frames=self.options.frames if FORMS[self.options.obs].shows_boards else 0,
            maps=maps,
        )
        self.config = self.game.config
        self.num_envs = self.game.num_games
        self._starts = checked_starts(self.options.starts, self.config)
        players = self.config.num_players
        alive = [State(*start.blocks).players[PLAYERS["alive"]] for start in self._starts]
        self._alive_at_starts = np.array(alive).reshape(-1, players + 1)
        line_ups = _line_ups(seats, self.num_envs)
        self.num_agents = len(agent_seats(line_ups[0], players))
        """A, the agents of each game."""
        for k, names in enumerate(line_ups):
            self.set_seats(k, names)
        self._form = self.options.form(self.game)
        self.format = self.options.format(self.config)
        """The format of actions."""
        masks = self.options.mask_spaces(self.format.mask_space)
        self.spaces = self._form.keys()
        """The spaces of all that one agent sees, without masks."""
        self.single_observation_space = space_of(self.spaces | masks)
        """Of what one agent sees, the shared arrays included."""
        self._only_key = only_key(self.spaces | masks)
        self.single_action_space = self.format.space
        self.shared_keys = self._form.shared
        """The keys of observations that are there once a game."""
        self.reward_names = reward_names(self.config.rewards, self.options.reward_fn)
        """The names of the parts of rewards, in the order of ``StepOutcome.parts``."""
        self.number_names = info_names(self.config)
        reported_masks = ("action_mask",) if self.options.action_mask == "info" else ()
        self.info_names = (*self.number_names, *self.reward_names, *reported_masks)
        """The keys of infos with an entry for every agent."""
        # int64 (E * A,): the game of each agent.
        self._of = np.arange(self.num_envs).repeat(self.num_agents)
        num_rows = self.num_envs * self.num_agents
        self.check_room()
        self._mask_memory = (
            np.empty((num_rows, self.format.width), np.int8) if self.options.zero_copy else None
        )
        self._terrain = np.zeros((self.num_envs, *self.game.layout.shape("terrain")), np.uint8)

    def check_room(self, arrays_per_agent: int = 0) -> None:
        """Warn if games and one observation take much of the free memory; MemoryError if more than there is.

        ``arrays_per_agent``: how many arrays of the size of what an agent sees there are besides, for each.
        """
        nbytes = sum(
            box.low.nbytes * (arrays_per_agent + (1 / self.num_agents if key in self.shared_keys else 1))
            for key, box in self.spaces.items()
        )
        can_share = self._form.shows_boards and not self.shared_keys
        check_room(
            f"{self.num_envs:,} games and what {self.num_agents} agents of each see as {self.options.obs!r}",
            self.game.nbytes + len(self._of) * nbytes,
            ("obs='packed' has boards once a game; " if can_share else "") + "fewer games take less",
        )

    # ---- playing ----------------------------------------------------------------------------------

    def reset(
        self, seed: int | None = None, *, seeds: Iterable[int] | None = None
    ) -> tuple[Observation, Info]:
        """Begin new games everywhere; return their first observations and infos.

        ``seed``, for the batch, and ``seeds``, one a game, are those of ``VecGame.reset``.
        """
        self.begin(seed, seeds=seeds)
        return self.begun()

    def begun(self) -> tuple[Observation, Info]:
        """Return observations and infos of games of which some have just begun, as ``reset`` does."""
        if self.render_mode == "human":
            self.render()
        begun = nothing_played(self.num_envs, len(self.reward_names), self.num_agents, self.launches())
        return self.observe(), self._info(begun)

    def step(self, actions: npt.ArrayLike) -> Steps:
        """Play the actions of all agents up to their next decision; the class lists the returned arrays.

        ValueError or TypeError for anything but actions, and nothing has changed.
        """
        self._write_actions(actions)
        copies = self._form.new_copies()
        played = self.play(copies)
        if self.render_mode == "human":
            self.render()
        seen = self._look(self.game.observations, None, copies)
        return seen, played.rewards, played.terminated, played.truncated, self._info(played)

    def begin(self, seed: int | None = None, *, seeds: Iterable[int] | None = None) -> None:
        """Reset without observing."""
        self.game.reset(seed, seeds=seeds)
        self._begin_games(np.arange(self.num_envs))

    def play(self, copies: Copies | None = None) -> StepOutcome:
        """Play the actions in ``game.actions``, int64 (E, P, 2), which must be in range.

        ``copies``: arrays of ``game.new_copies``, in which the games that were played then are.
        """
        function = self.options.reward_fn
        hook = None if function is None else CustomRewards(function, self.game)
        results = self.game.step_unchecked(self.options.repeat, hook, copies)
        rewards, parts = (results.rewards, results.reward_parts) if hook is None else hook.given()
        is_kept = self.options.agent_death == "keep"
        given = played_by(results, rewards, parts, self.agent_seats, is_kept)
        played = StepOutcome(*given, self.launches())
        if self.autoreset == "same_step" and played.is_over.any():
            played = self._replace_ended(played, copies)
        elif played.was_reset.any():
            self._begin_games(np.flatnonzero(played.was_reset), copies)
        return played

    def reset_game(self, k: int, seed: int | None = None) -> None:
        """Reset game ``k``, with ``seed`` or with that of its next episode; ``observe`` shows it."""
        self.game.reset_game(k, seed)
        self._begin_games(np.array([k]))

    def set_seats(self, k: int, seats: Sequence[Seat] | None) -> None:
        """Let ``seats``, one name per seat, play game ``k`` from its next reset on; A of them are agents."""
        players = self.config.num_players
        names = ["agent"] * players if seats is None else seats
        agents = agent_seats(names, players)
        if len(agents) != self.num_agents:
            raise ValueError(
                f"the seats of game {k} have {len(agents)} agents; every game must have "
                f"{self.num_agents}, like the first game"
            )
        dead = np.argwhere(self._alive_at_starts[:, agents] == 0).tolist()
        if dead:
            start, agent = dead[0]
            raise ValueError(f"seats[{agents[agent] - 1}] is 'agent'; that seat is dead in starts[{start}]")
        self.game.set_seats(k, names)

    # ---- looking ----------------------------------------------------------------------------------

    def observe(self) -> Observation:
        """Return the observations of all agents as the games stand."""
        return self._look(self.game.observations)

    def see(self, games: Ints, seats: Ints) -> tuple[Arrays, Arrays]:
        """Return shared arrays (E, ...) by game, and own arrays (N, ...) of ``seats``, 1..P, of ``games``.

        Masks are not among these arrays.
        """
        seen = self.game.observations
        return self._form.per_game(seen, self._terrain), self._form.per_agent(seen, games, seats)

    def numbers(self, seats: Ints) -> Info:
        """Return new arrays (E, N) by ``number_names``, as in infos, for ``seats``, 1..P (E, N)."""
        blocks = self.game.blocks
        return agent_info(self.number_names, blocks.players, view(blocks, "tick"), seats)

    def masks_of(
        self, seen: Observations, games: Ints, seats: Ints, out: npt.NDArray[np.int8] | None = None
    ) -> npt.NDArray[np.int8]:
        """Return int8 (N, M), ``out`` or new: legal actions of ``seats`` of ``games``, by ``seen``."""
        if self.format.num_candidates:
            return self.format.masks_of(self._candidates(games, seats).legal)
        return self.format.masks(seen.masks, games, seats, out)

    def action_masks(self) -> npt.NDArray[np.int8]:
        """Return new int8 (E, A, M): 1 where an action of an agent is legal."""
        self.game.need_reset()
        masks = self.masks_of(self.game.observations, self._of, self.agent_seats.ravel())
        return masks.reshape(self.num_envs, self.num_agents, -1)

    def launches(self) -> Launches | None:
        """Return new arrays of the launches of all seats in the last step; None without that option."""
        if not self.options.launches:
            return None
        target, fraction, legal = self.game.launches()
        return Launches(target.copy(), fraction.copy(), legal.copy())

    def per_agent(self, shown: Observation) -> Observation:
        """Return ``shown``, an observation of N games, with one row an agent: (N * A, ...) arrays.

        What is shared is repeated for every agent: the boards of "packed" then take A times their memory.
        """
        if isinstance(shown, np.ndarray):
            return _by_agent(shown)
        return {
            key: array.repeat(self.num_agents, axis=0) if key in self.shared_keys else _by_agent(array)
            for key, array in shown.items()
        }

    # ---- saving -----------------------------------------------------------------------------------

    def save(self, k: int) -> SavedGame:
        """Return a copy of game ``k``; any environment of the same config can resume it."""
        return self.game.save(k)

    def restore(self, k: int, saved: SavedGame) -> None:
        """Put a saved game into slot ``k``; it goes on exactly as it would have, and ``observe`` shows it.

        Who plays there from the next reset on is up to the slot. ValueError unless the saved game has as
        many agents as those of this environment.
        """
        agents = self.num_agents
        if isinstance(saved, SavedGame):  # the engine refuses what is none
            agents = (State(*saved.blocks).seating[SEATING["seats"], 1:] == AGENT_CODE).sum()
        if agents != self.num_agents:
            raise ValueError(
                f"the saved game has {agents} agents; those of this environment have {self.num_agents}"
            )
        self.game.restore(k, saved)
        self._take_over(np.array([k]))

    def save_all(self) -> list[SavedGame]:
        """Return copies of all games, in their order."""
        return [self.save(k) for k in range(self.num_envs)]

    def restore_all(self, saved: Sequence[SavedGame]) -> None:
        """Put one saved game into every slot, as ``restore`` does; if one cannot be, nothing has changed."""
        if len(saved) != self.num_envs:
            raise ValueError(f"saved has {len(saved)} games; this environment has {self.num_envs}")
        before = self.save_all()
        try:
            for k, one in enumerate(saved):
                self.restore(k, one)
        except Exception:
            for k, one in enumerate(before):
                self.restore(k, one)
            raise

    def clone(self) -> TerritorialVec:
        """Return an independent copy of the whole batch; both go on identically."""
        return copy.deepcopy(self)

    def render(self, k: int = 0) -> npt.NDArray[np.uint8] | str | None:
        """Return a picture of game ``k``, or text, or show it: see ``render_mode``."""
        return self._renderer.draw(self.game, k)

    def close(self) -> None:
        """Stop the threads, and close the window if there is one; the next step starts new ones."""
        self.game.close()
        self._renderer.close()

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._terrain.flags.writeable = False

    def __repr__(self) -> str:
        return f"TerritorialVec({self.num_envs} x {self.num_agents} agents, {self.game!r})"

    # ---- within -----------------------------------------------------------------------------------

    def _replace_ended(self, played: StepOutcome, copies: Copies | None) -> StepOutcome:
        """Return ``played`` with the last observations and infos of ended games, replaced by new ones.

        These are in ``copies``, too.
        """
        games, results = np.flatnonzero(played.is_over), self.game.results
        shown = self._look(self.game.final_observations, games)
        ended = results.final_players[games], results.final_length[games]
        info = agent_info(self.number_names, *ended, self.agent_seats[games])
        if self.game.autoreset == "disabled":  # the games have been read as they ended
            for k in games.tolist():
                self.game.reset_game(k)
            if copies is not None:
                self.game.copy_again(copies, games)
        self._begin_games(games, copies)
        return played._replace(was_reset=played.is_over, final_obs=shown, final_info=info)

    def _begin_games(self, games: Ints, copies: Copies | None = None) -> None:
        """Put ``games``, which have just begun, at the starts that their seeds draw, and take them over.

        What is observed of them is in ``copies``, too. Those whom ``seats`` name play on: who has the seat in
        the saved game goes on, others sit down.
        """
        state, starts = self.game.state, self._starts
        if starts:
            drawn = draw(state.seed[games], STREAM_START, 0, 0) % np.uint64(len(starts))
            for k, number in zip(games.tolist(), drawn.tolist(), strict=True):
                seats, episode = dict(enumerate(self.game.seats_of(k), start=1)), int(state.episode[k])
                self.game.restore(k, starts[number])
                self.game.change_seats(k, seats)
                state.episode[k] = episode  # so that the seed of the slot's next game is another one
            if copies is not None:
                self.game.copy_again(copies, games)
        self._take_over(games)

    def _take_over(self, games: npt.NDArray[Any]) -> None:
        """Note the values that are constant in the games that now stand at ``games``."""
        is_agent = self.game.state.seats[:, 1:] == AGENT_CODE
        self.agent_seats = np.nonzero(is_agent)[1].reshape(self.num_envs, self.num_agents) + 1
        """int64 (E, A): the seats, 1..P, of the agents."""
        terrain = self._terrain.copy()
        self.game.write_terrain(games, terrain)
        terrain.flags.writeable = False  # with zero_copy it is shown itself, until the next game begins
        self._terrain = terrain

    def _look(
        self, seen: Observations, games: Ints | None = None, copies: Copies | None = None
    ) -> Observation:
        """Return the observations of all agents of ``games``, or of all games; ``seen``: of all games.

        ``copies``: what agents share, if a step has copied it.
        """
        if games is None:
            of, seats = self._of, self.agent_seats.ravel()
        else:
            of, seats = games.repeat(self.num_agents), self.agent_seats[games].ravel()
        own = self._form.per_agent(seen, of, seats)
        if self.options.action_mask == "obs":
            masks = self.masks_of(seen, of, seats, None if games is not None else self._mask_memory)
            own["action_mask"] = masks.astype(self.options.mask_dtype, copy=False)
        by_game = {key: array.reshape(-1, self.num_agents, *array.shape[1:]) for key, array in own.items()}
        shown = self._form.per_game(seen, self._terrain, games, copies) | by_game
        return shown if self._only_key is None else shown[self._only_key]

    def _info(self, played: StepOutcome) -> Info:
        """Return the info of all games."""
        info = self.numbers(self.agent_seats)
        info |= zip(self.reward_names, played.parts.swapaxes(0, 1), strict=True)
        for name in ("is_over", "was_reset", "final_obs", "final_info"):
            info[name] = getattr(played, name)
        if played.launches is not None:
            info["launches"] = played.launches
        if self.options.action_mask == "info":
            info["action_mask"] = self.action_masks()
        return info

    def _write_actions(self, actions: npt.ArrayLike) -> None:
        """Write all agents' actions into ``game.actions``; eliminated agents and all other seats hold."""
        self.game.need_reset()
        numbers = self.format.read(actions, self.num_envs, self.num_agents)
        bad = self.write_choices(numbers)
        if bad != ALL_GOOD:
            k, i = divmod(bad, self.num_agents)
            given = np.asarray(actions)[k, i].tolist()
            raise ValueError(f"actions[{k}, {i}] is {given}; it must be {self.format.wanted}")

    def write_choices(self, numbers: Ints) -> int:
        """Write actions of all agents, int64 (E, A, parts); return ALL_GOOD or the first out of range.

        Candidates are those of the games as they stand, in which the next step begins.
        """
        if self.format.num_candidates:
            flat = numbers.reshape(-1, numbers.shape[-1])
            bad = self.format.first_bad(flat)
            if bad is not None:
                return bad
            numbers = self.format.aimed(flat, self._candidates(self._of, self.agent_seats.ravel()).targets)
            numbers = numbers.reshape(self.num_envs, self.num_agents, -1)
        return write_choices(numbers, self.game.blocks.players, self.agent_seats, self.game.actions)

    def _candidates(self, games: Ints, seats: Ints) -> PairCandidates:
        return self.game.pair_observer.candidates(games, seats, self.options.pair_rows(self.config))


@takes_keywords_of(EnvOptions, GameConfig)
def make_vec(
    num_envs: int,
    *,
    seats: Sequence[Seat] | Sequence[Sequence[Seat]] | None = None,
    maps: Sequence[str | LandMask] | None = None,
    autoreset: str = "same_step",
    num_threads: int = 1,
    render_mode: str | None = None,
    config: GameConfig | None = None,
    **keywords: Unpack[GameKeywords],
) -> TerritorialVec:
    """Return many games as one vector environment: arrays with one row per game, one entry per agent.

    :class:`TerritorialVec` describes the arrays, the ends of episodes and the ways of autoreset.

    Args:
        num_envs: E, the number of games; 1 to 1000000.
        seats: one entry per seat: "agent", the name of a bot, or a bot in Python. Or a list of E such lists,
            one per game, with equally many agents. Default None: all seats are agents.
        maps: a list of E maps, names or ``LandMask`` objects, one a game; default None: games draw from the
            map of the config.
        autoreset: when the next game takes the place of one that has ended: "same_step", "next_step" or
            "disabled" (only ``reset_game`` begins it); default "same_step".
        num_threads: threads that share the games; results do not depend on it; 1 to 1024, default 1.
        render_mode: what ``render`` does. "rgb_array" returns a picture, uint8 (h, w, 3); "ansi" returns
            text; "human" shows game 0 in every step. Default None: ``render`` is an error.
        config: rules, size and map of all games; default None: those of ``GameConfig()``.
        keywords: options, those of :class:`~territorial.envs.options.EnvOptions`, and fields of
            :class:`~territorial.GameConfig`, such as ``height=64``, which change those of ``config``.

    Raises:
        TypeError: for an unknown keyword or a value of a wrong type.
        ValueError: for a value out of range, for an option that does not go with ``obs``, for ``seats`` or
            ``maps`` of a wrong number, and for games with different numbers of agents or none.
        MemoryError: if games and an observation take more memory than is free; more than half of it is warned
            of.

    Example:
        >>> import numpy as np
        >>> import territorial
        >>> env = territorial.make_vec(16, height=32, width=32, num_players=4, obs="features")
        >>> observations, info = env.reset(seed=0)
        >>> actions = np.zeros((16, 4), int)  # one per agent; 0 holds
        >>> observations, rewards, terminated, truncated, info = env.step(actions)
        >>> rewards.shape
        (16, 4)

    """
    return TerritorialVec(
        num_envs,
        config_of(config, keywords),
        seats=seats,
        maps=maps,
        autoreset=autoreset,
        num_threads=num_threads,
        options=EnvOptions(**options_in(keywords)),
        render_mode=render_mode,
    )


def _by_agent(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return (N * A, ...) of (N, A, ...)."""
    return array.reshape(-1, *array.shape[2:])


def _line_ups(seats: Any, num_envs: int) -> list[Sequence[Seat] | None]:
    """Return one line-up a game."""
    are_many = isinstance(seats, (Sequence, np.ndarray)) and len(seats) and not isinstance(seats[0], Seat)
    if isinstance(seats, str) or not are_many:
        return [seats] * num_envs
    if len(seats) != num_envs:
        raise ValueError(f"seats has {len(seats)} line-ups; there are {num_envs} games")
    return list(seats)
