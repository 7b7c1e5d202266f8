"""The environment for RLlib's own runner: one game, of which the agents and the frozen seats are shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from ray.rllib.env.multi_agent_env import MultiAgentEnv

from rllib_adapters.options import LEAGUE, EnvOptions, Opponents
from rllib_adapters.spaces import action_space, encode_name, frozen_space, observation_space
from territorial import bots
from territorial.actions import pair_mask
from territorial.decode.numpy import Decoder
from territorial.engine import VecGame
from territorial.seats import AGENT

Observation = dict[str, npt.NDArray[Any]]

AGENT_PREFIX, FROZEN_PREFIX = "player_", "frozen_"


class TerritorialMultiAgentEnv(MultiAgentEnv):
    """One game of conquest for RLlib; the game itself is that of ``territorial.parallel_env``.

    **Agents.** ``player_i`` plays seat i + 1 and learns: one for every seat called "agent". Seats called
    "league" are drawn at every reset: one that a bot gets is played by the engine and not shown, one that
    a snapshot gets is shown as ``frozen_i``, for a ``FrozenPool`` to play. So an agent's name says for ever
    which module acts for it: ``configure.module_of`` is the mapping function.

    **Observations.** Flat dicts. The first four arrays are made anew for every step and are one object in
    the dicts of all agents:

    ================  ===========================  ======================================================
    key               ``Box``                      content
    ================  ===========================  ======================================================
    ``observations``  uint8 (F, B, H, ceil(W/8))   the board and the frames before it, packed
    ``players``       float32 (P, C)               one row per seat
    ``borders``       float32 (K, P + 1, P + 1)    from player to owner, by owner codes
    ``globals``       float32 (G,)                 what is the same for everybody
    ``seat``          int32 (1,)                   who looks, 1..P
    ``action_mask``   int8 (P + 12,)               1 for every legal target and fraction, in ego order
    ``opponent``      uint8 (128,)                 frozen seats alone: the snapshot's name in UTF-8
    ================  ===========================  ======================================================

    docs/observation.md has the bits and the columns. All agents of a kind have one space object.

    **Actions.** ``MultiDiscrete([P + 2, 10])``: what (0 holds, 1 neutral land, 2 oneself, 3.. the others in
    ego order) and how much, see ``territorial.actions``. What is not legal holds.

    **Rewards and ends** are those of ``territorial.TerritorialEnv``. The episode ends with the game, or
    when the last learning agent is out; frozen seats that are left are truncated then.

    **Infos** are empty but for agents that end: ``place`` (0.0 if cut before it was known), ``land`` and
    ``tick``.

    ``env_config`` is a dict of:

    Args:
        config: a ``territorial.GameConfig``: rules, size, map.
        seats: one name per seat: "agent", "league" or a bot; None: all agents.
        opponents: draws the league seats' players, see ``Opponents``.
        frames: F, the boards in a stack, 1 to 16.
        end_when: "no_agents" ends the episode with the last learning agent, "game" with the game.
        max_steps: decisions after which all who are left are truncated; None: never.

    """

    def __init__(self, env_config: Mapping[str, Any] | EnvOptions | None = None) -> None:
        options = self.options = EnvOptions.from_config(env_config)
        assert options.seats is not None
        entropy = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
        self._rng = np.random.default_rng(entropy)
        self.game = VecGame(options.config, 1, entropy, autoreset="disabled", frames=options.frames)
        self._decoder = Decoder(self.game.layout)
        self.opponents = options.opponents
        self._seats = {
            (AGENT_PREFIX if name == AGENT else FROZEN_PREFIX) + str(i): i + 1
            for i, name in enumerate(options.seats)
            if name in (AGENT, LEAGUE)
        }
        self.possible_agents: list[str] = list(self._seats)
        self.agents: list[str] = []
        self._opponent: dict[str, npt.NDArray[np.uint8]] = {}
        self._steps = 0
        seen = observation_space(self.game)
        by_kind = {AGENT_PREFIX: seen, FROZEN_PREFIX: frozen_space(seen)}
        acts = action_space(options.config.num_players)
        self.observation_spaces: dict[str, spaces.Space[Any]] = {
            agent: by_kind[_kind(agent)] for agent in self.possible_agents
        }
        self.action_spaces = dict.fromkeys(self.possible_agents, acts)
        super().__init__()

    def set_opponents(self, opponents: Opponents) -> None:
        """Let ``opponents`` draw the league seats from the next reset on."""
        if not callable(opponents):
            raise TypeError(f"opponents is {opponents!r}; it must be a function, see Opponents")
        self.opponents = opponents

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, float]]]:
        """Begin a game; return the observations of all who play and their empty infos.

        ``seed``: begins the first game of that seed, opponents included; None: the next game.
        ``options`` are ignored.
        """
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        seats = self._draw_seats()
        self.game.set_seats(0, seats)
        self.game.reset(seed)
        self.agents = [agent for agent, seat in self._seats.items() if seats[seat - 1] == AGENT]
        self._steps = 0
        return self._observe(), {agent: {} for agent in self.agents}

    def step(self, action_dict: Mapping[str, Any]) -> tuple[Any, ...]:
        """Play everybody's actions up to the next decision.

        Returns observations, rewards, terminateds, truncateds and infos of the agents that were alive;
        terminateds and truncateds have ``__all__``, too. ValueError for a missing or impossible action.
        """
        _, rewards, terminated, _, _ = self.game.step(self._actions(action_dict))
        self._steps += 1
        playing = self.agents
        ended = {agent: bool(terminated[0, self._seats[agent] - 1]) for agent in playing}
        living = [agent for agent in playing if not ended[agent]]
        is_cut = self.options.max_steps is not None and self._steps >= self.options.max_steps
        learners_left = any(_kind(agent) == AGENT_PREFIX for agent in living)
        is_over = not living or (self.options.end_when == "no_agents" and not learners_left)
        cut = dict.fromkeys(living, is_cut or is_over)
        results = (
            self._observe(),
            {agent: float(rewards[0, self._seats[agent] - 1]) for agent in playing},
            {**ended, "__all__": is_over},
            {**dict.fromkeys(playing, False), **cut, "__all__": is_cut and not is_over},
            {agent: self._ending(agent) if ended[agent] or cut[agent] else {} for agent in playing},
        )
        self.agents = [] if is_cut or is_over else living
        return results

    def close(self) -> None:
        """Free what the engine holds outside Python's memory."""
        self.game.close()

    # ---- within -----------------------------------------------------------------------------------

    def _draw_seats(self) -> list[str]:
        """Return who plays each seat in the engine, and remember the snapshots that were drawn."""
        seats = list(self.options.seats or ())
        open_seats = [i for i, name in enumerate(seats) if name == LEAGUE]
        self._opponent = {}
        if not open_seats:
            return seats
        assert self.opponents is not None
        names = list(self.opponents(self._rng, len(open_seats)))
        if len(names) != len(open_seats) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"opponents drew {names!r}; it must draw {len(open_seats)} names")
        for i, name in zip(open_seats, names, strict=True):
            seats[i] = name if name in bots.NAMES else AGENT
            if name not in bots.NAMES:
                self._opponent[f"{FROZEN_PREFIX}{i}"] = encode_name(name)
        return seats

    def _actions(self, action_dict: Mapping[str, Any]) -> npt.NDArray[np.int64]:
        actions = np.zeros((1, self.options.config.num_players, 2), np.int64)
        if not self.agents:
            raise RuntimeError("no agent is left in this game: call reset() to begin the next one")
        for agent in self.agents:
            if agent not in action_dict:
                raise ValueError(f"there is no action for {agent!r}, which is alive; [0, 0] holds")
            action = np.asarray(action_dict[agent])
            size = self.action_spaces[agent].nvec
            is_pair = action.shape == (2,) and action.dtype.kind in "iu"
            if not is_pair or (action < 0).any() or (action >= size).any():
                raise ValueError(
                    f"the action of {agent!r} is {action_dict[agent]!r}; it must be two whole numbers, "
                    f"the first from 0 to {size[0] - 1}, the second from 0 to {size[1] - 1}"
                )
            actions[0, self._seats[agent] - 1] = action
        return actions

    def _observe(self) -> dict[str, Observation]:
        """Return what ``agents`` see, in arrays made for this step alone."""
        seen = self.game.observations
        shared = {
            "observations": seen.planes[0].copy(),
            "players": seen.players[0].copy(),
            "borders": seen.borders[0].copy(),
            "globals": seen.globals[0].copy(),
        }
        seats = [self._seats[agent] for agent in self.agents]
        masks = pair_mask(self._decoder.action_mask(seen.masks, seats, np.zeros(len(seats), np.int64)))
        shown: dict[str, Observation] = {}
        for agent, seat, mask in zip(self.agents, seats, masks, strict=True):
            shown[agent] = {**shared, "seat": np.array([seat], np.int32), "action_mask": mask}
            if agent in self._opponent:
                shown[agent]["opponent"] = self._opponent[agent]
        return shown

    def _ending(self, agent: str) -> dict[str, float]:
        state, seat = self.game.state, self._seats[agent]
        return {
            "place": float(state.place2[0, seat]) / 2,
            "land": float(state.land[0, seat]),
            "tick": float(state.tick[0]),
        }


def _kind(agent: str) -> str:
    return FROZEN_PREFIX if agent.startswith(FROZEN_PREFIX) else AGENT_PREFIX
