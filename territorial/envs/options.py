"""The options that all environments have in common, checked in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from inspect import signature
from typing import Any

import numpy as np
import numpy.typing as npt

from territorial.actions.formats import FORMATS
from territorial.config import FIELD_NAMES, GameConfig
from territorial.config.validation import check_keywords, hint, true_or_false, whole_number
from territorial.constants import MAX_SIDE
from territorial.engine.seats import AGENT, EXTERNAL, Seat, guests_of, seat_codes
from territorial.engine.vec_game import VecGame
from territorial.envs.custom_rewards import RewardFunction, checked_function
from territorial.envs.observation_modes import MODES, Mode
from territorial.observation.layout import MAX_FRAMES

CHOICES: Mapping[str, tuple[str, ...]] = {
    "obs": tuple(MODES),
    "agent_death": ("remove", "keep"),
    "action_mask": ("obs", "info", "both", "none"),
    "action_format": tuple(FORMATS),
    "end_when": ("game", "no_agents"),
}
"""What the options that have a name for a value may be; the first is the default."""


@dataclass(frozen=True, kw_only=True)
class EnvOptions:
    """How an environment shows a game and takes actions.

    Args:
        obs: "packed", "features", "pooled" or "onehot", see ``TerritorialEnv``.
        frames: F, the boards in a stack, 1 to 16; "features" shows none.
        pool_factor: cells a side of the squares of "pooled", 1 to 1024; None: 8. No other form has it.
        zero_copy: True hands out read-only views of the engine's memory in the form "packed".
        agent_death: "remove" ends an agent's episode when it dies; "keep" ends all with the game.
        action_mask: "obs", "info", "both" or "none": where masks are.
        action_format: "discrete", or "multi_discrete": what and how much apart.
        max_cycles: steps after which agents are truncated; None: never.
        end_when: "game" plays every game to its end; "no_agents" ends it when no agent lives any more.
        reward_fn: a function ``(previous, state, info) -> (E, P)``, whose rewards are added to those of the
            config, ``GameConfig.rewards``: see ``envs.custom_rewards.RewardFunction``; None: no others.

    """

    obs: str = "packed"
    frames: int = 4
    pool_factor: int | None = None
    zero_copy: bool = False
    agent_death: str = "remove"
    action_mask: str = "obs"
    action_format: str = "discrete"
    max_cycles: int | None = None
    end_when: str = "game"
    reward_fn: RewardFunction | None = None

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            check_choice(name, getattr(self, name), choices)
        checked_function(self.reward_fn)
        whole_number("frames", self.frames, 1, MAX_FRAMES)
        if self.max_cycles is not None:
            whole_number("max_cycles", self.max_cycles, 1)
        if self.pool_factor is not None:
            whole_number("pool_factor", self.pool_factor, 1, MAX_SIDE)
            self._check_goes_with_obs("pool_factor")
        if true_or_false("zero_copy", self.zero_copy):
            self._check_goes_with_obs("zero_copy")

    @property
    def engine_frames(self) -> int:
        """How many boards the engine has to keep in a stack."""
        return self.frames if MODES[self.obs].shows_boards else 0

    @property
    def masks_obs(self) -> bool:
        """Whether masks are part of observations."""
        return self.action_mask in ("obs", "both")

    @property
    def masks_info(self) -> bool:
        """Whether masks are part of infos."""
        return self.action_mask in ("info", "both")

    def mode(self, game: VecGame) -> Mode:
        """Return the form of observations for ``game``."""
        factor = 8 if self.pool_factor is None else self.pool_factor
        return MODES[self.obs](game, factor, bool(self.zero_copy))

    def _check_goes_with_obs(self, option: str) -> None:
        """Raise ValueError where the form ``obs`` would not heed an option that was given."""
        forms = [name for name, mode in MODES.items() if option in mode.options]
        if self.obs not in forms:
            wanted = " or ".join(map(repr, forms))
            raise ValueError(
                f"{option} is {getattr(self, option)!r} and obs is {self.obs!r}; it goes with obs = {wanted} "
                "only"
            )


OPTION_NAMES = frozenset(field.name for field in fields(EnvOptions))


def check_choice(name: str, value: object, choices: Sequence[object]) -> None:
    """Raise ValueError unless ``value`` is one of ``choices``."""
    if value not in choices:
        wanted = " or ".join(map(repr, choices))
        raise ValueError(f"{name} is {value!r}{hint(value, choices)}; it must be {wanted}")


def config_from(
    config: GameConfig | None,
    height: int | None,
    width: int | None,
    num_players: int | None,
    config_fields: Mapping[str, Any],
    callee: Callable[..., Any],
) -> GameConfig:
    """Return ``config``, or the default, with sizes that are not None and all ``config_fields`` changed.

    TypeError for what is no field; ``callee`` is the function that it was given to, as one of many keywords.
    """
    named = [one.name for one in signature(callee).parameters.values() if one.kind != one.VAR_KEYWORD]
    check_keywords(
        callee.__name__, config_fields, dict.fromkeys((*named, *sorted(OPTION_NAMES), *FIELD_NAMES))
    )
    sizes = {"height": height, "width": width, "num_players": num_players}
    changed = dict(config_fields) | {name: size for name, size in sizes.items() if size is not None}
    base = GameConfig() if config is None else config
    if not isinstance(base, GameConfig):
        raise TypeError(f"config is {config!r}; it must be a territorial.GameConfig")
    return base.replace(**changed)


def agent_seats(seats: Sequence[Seat] | None, num_players: int) -> npt.NDArray[np.int64]:
    """Return int64 (A,): the seats, 1..P, whose players are agents; at least one."""
    seat_codes(seats, num_players, guests_of(seats))
    if seats is None:
        return np.arange(1, num_players + 1)
    if EXTERNAL in seats:
        raise ValueError(
            f"seats[{list(seats).index(EXTERNAL)}] is {EXTERNAL!r}: nobody could play it here, since every "
            f"action is an agent's; call it {AGENT!r}, or use VecGame"
        )
    chosen = [seat for seat, name in enumerate(seats, start=1) if name == AGENT]
    if not chosen:
        raise ValueError(f"none of the seats is called {AGENT!r}: an environment needs at least one")
    return np.array(chosen, np.int64)
