"""The options that all environments have in common, checked in one place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypedDict, cast

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from territorial.config import FIELDS, ConfigKeywords, GameConfig
from territorial.config.fields import about, check_values, documents_fields, option
from territorial.config.land_mask import LandMask
from territorial.config.validation import check_type, checked_list
from territorial.constants import MAX_ALLIES, MAX_CANDIDATES, MAX_SIDE
from territorial.engine.pair_observations import ShownRows, rows_shown
from territorial.engine.saved_game import SavedGame
from territorial.engine.seats import AGENT, EXTERNAL, Seat, check_seats
from territorial.engine.vec_game import VecGame
from territorial.envs.custom_rewards import RewardFunction
from territorial.envs.forms import FORMS, KEYS, Form, GameSizes, of_masks
from territorial.game.state import OVER, TICK, State
from territorial.observation.action_formats import FORMATS, OF_CANDIDATES, ActionFormat
from territorial.observation.layout import MAX_FRAMES


class EnvKeywords(TypedDict, total=False):
    """The options of all environments as keywords of functions: :class:`EnvOptions` says what each means."""

    obs: str
    obs_key: str
    frames: int
    pool_factor: int | None
    zero_copy: bool
    num_candidates: int | None
    num_allies: int | None
    agent_death: str
    action_mask: str
    action_format: str
    max_cycles: int | None
    end_when: str
    reward_fn: RewardFunction | None
    repeat: int
    launches: bool
    starts: Sequence[SavedGame] | None


class GameKeywords(EnvKeywords, ConfigKeywords, total=False):
    """Those of functions that take the fields of :class:`~territorial.GameConfig` as well."""


class VecKeywords(GameKeywords, total=False):
    """Those of environments that are made of a :func:`~territorial.make_vec`."""

    config: GameConfig | None
    maps: Sequence[str | LandMask] | None
    num_threads: int
    render_mode: str | None


@documents_fields
@dataclass(frozen=True, kw_only=True)
class EnvOptions:
    """How an environment shows a game and takes actions."""

    obs: str = option(
        "packed",
        'form of observations. "packed": bit planes of the board, and tables; "features": one vector without '
        'the board; "pooled": planes of low resolution; "onehot": one plane per owner; "pairs": numbers of '
        "an agent and of each owner that it can attack. See docs/observation.md",
        choices=FORMS,
    )
    obs_key: str = option(
        KEYS[0],
        'the key beside "action_mask" under which an agent sees one array: "observation", as PettingZoo has '
        'it, or "observations", as RLlib\'s example of masks has it, which reads masks of float32; for '
        '"features", "pooled" and "onehot" only',
        choices=KEYS,
    )
    frames: int = option(
        4,
        'F, boards in an observation: the newest and those of the steps before it; "features" has none',
        low=1,
        high=MAX_FRAMES,
    )
    pool_factor: int | None = option(
        None, 'cells a side of each square of "pooled"; for that form only', low=1, high=MAX_SIDE, none="8"
    )
    zero_copy: bool = option(
        False,
        'True: "packed" arrays are read-only views of engine memory, which the next step overwrites; in '
        "environments of one game those of the last step of an episode are copies; for that form only",
    )
    num_candidates: int | None = option(
        None,
        'C, the most owners that "pairs" shows to an agent; for that form, and for the formats of actions of '
        "that name",
        low=1,
        high=MAX_CANDIDATES,
        none="8",
    )
    num_allies: int | None = option(
        None,
        'D, the most living allies that "pairs" shows to an agent after those, in games with teams',
        low=0,
        high=MAX_ALLIES,
        none="4 with teams, else 0",
    )
    agent_death: str = option(
        "remove",
        'when the episode of an agent ends: "remove", at its death, or with teams when its team is out; '
        '"keep", with the game; see docs/agent_life.md',
        choices=("remove", "keep"),
    )
    action_mask: str = option(
        "obs",
        'where the masks of legal actions are: "obs", "info" or "none" (nowhere)',
        choices=("obs", "info", "none"),
    )
    action_format: str = option(
        "discrete",
        '"discrete": one number for target and amount; "multi_discrete": one number for each; "pairs" and '
        '"pairs_multi_discrete": the same, with a candidate of the form "pairs" for the target',
        choices=FORMATS,
    )
    max_cycles: int | None = option(None, "decisions after which agents are truncated", low=1, none="never")
    end_when: str = option(
        "game",
        '"game": a game is played to its end; "no_agents": it also ends when no agent is alive, or '
        "with teams no team with an agent",
        choices=("game", "no_agents"),
    )
    reward_fn: RewardFunction | None = option(
        None,
        "a function ``(previous, state, info) -> (E, P)``, for E games of P players. Its rewards are added "
        "to those of the config. See docs/rewards.md",
        none="no others",
    )
    repeat: int = option(
        1,
        "decisions that a step plays: agents act in the first and hold in the others, and rewards are summed",
        low=1,
    )
    launches: bool = option(
        False,
        'True: ``info["launches"]`` has what every seat of the game launched in the step, bots too: '
        "``Launches`` of docs/engine.md",
    )
    starts: Sequence[SavedGame] | None = field(
        default=None,
        metadata=about(
            "saved games of this config, of which each game draws one by its seed and begins there; "
            "``seats`` say who plays on. See docs/trainers.md",
            none="games begin at tick 0",
        ),
        repr=False,  # they hold large arrays, which have no single truth when they are compared
        compare=False,
    )

    def __post_init__(self) -> None:
        if self.reward_fn is not None and not callable(self.reward_fn):
            raise TypeError(
                f"reward_fn is {self.reward_fn!r}; it must be a function (previous, state, info) -> (E, P), "
                "or None"
            )
        check_values(self)
        for name in ("obs_key", "pool_factor", "zero_copy", "num_candidates", "num_allies"):
            heeded = [form for form in FORMS if name in FORMS[form].options]
            names_candidates = name.startswith("num_") and self.action_format in OF_CANDIDATES
            is_heeded = self.obs in heeded or names_candidates
            if getattr(self, name) != OPTIONS[name].default and not is_heeded:
                wanted = " or ".join(map(repr, heeded))
                wanted += " or an action_format of pairs" if name.startswith("num_") else ""
                raise ValueError(
                    f"{name} is {getattr(self, name)!r} and obs is {self.obs!r}; this option works only with "
                    f"obs = {wanted}"
                )

    @property
    def mask_dtype(self) -> type[np.int8 | np.float32]:
        """The type of masks, which RLlib's example of masks has among its numbers."""
        is_of_rllib = self.obs_key != KEYS[0] and self.action_mask == "obs"
        return np.float32 if is_of_rllib else np.int8

    def mask_spaces(self, space: spaces.Space[Any]) -> dict[str, spaces.Space[Any]]:
        """Return the entry of masks in the space of observations, if there is one; ``space``: of int8."""
        return {"action_mask": of_masks(space, self.mask_dtype)} if self.action_mask == "obs" else {}

    def form(self, game: VecGame | GameSizes) -> Form:
        """Return the form of observations for ``game``."""
        factor = 8 if self.pool_factor is None else self.pool_factor
        rows = self.pair_rows(game.config)
        return FORMS[self.obs](game, factor, bool(self.zero_copy), rows, self.obs_key)

    def format(self, config: GameConfig) -> ActionFormat:
        """Return the format of actions in games of ``config``."""
        return ActionFormat(self.action_format, config.num_players, self.pair_rows(config).total)

    def pair_rows(self, config: GameConfig) -> ShownRows:
        """Return the rows of the form "pairs", which are what actions of that name can name."""
        return rows_shown(config, self.num_candidates, self.num_allies)

    @property
    def reads_games(self) -> bool:
        """Whether observations or masks are made of the games as they stand, not of what the engine shows."""
        return FORMS[self.obs].reads_games or self.action_format in OF_CANDIDATES


OPTIONS = {spec.name: spec for spec in fields(EnvOptions)}
"""What each option means and may be."""
CHOICES: Mapping[str, tuple[str, ...]] = {
    name: tuple(spec.metadata["choices"]) for name, spec in OPTIONS.items() if "choices" in spec.metadata
}
"""What the options that have a name for a value may be; the first is the default."""


def options_in(keywords: Mapping[str, Any]) -> EnvKeywords:
    """Return those of ``keywords`` that are options of environments."""
    found = {name: keywords[name] for name in OPTIONS.keys() & keywords.keys()}
    return cast(EnvKeywords, found)


def config_of(config: GameConfig | None, keywords: Mapping[str, Any]) -> GameConfig:
    """Return ``config``, or the default, with the fields changed that are among ``keywords``."""
    base = GameConfig() if config is None else config
    check_type("config", base, GameConfig, "a territorial.GameConfig")
    changes = {name: value for name, value in keywords.items() if name in FIELDS}
    return base.replace(**cast(ConfigKeywords, changes))


def agent_seats(seats: Sequence[Seat] | None, num_players: int) -> npt.NDArray[np.int64]:
    """Return int64 (A,): the seats, 1..P, whose players are agents; at least one."""
    check_seats(seats, num_players)
    if seats is None:
        return np.arange(1, num_players + 1)
    if EXTERNAL in seats:
        raise ValueError(
            f"seats[{list(seats).index(EXTERNAL)}] is {EXTERNAL!r}; environments accept only "
            f"{AGENT!r} and bots, so use VecGame for external seats"
        )
    chosen = [seat for seat, name in enumerate(seats, start=1) if name == AGENT]
    if not chosen:
        raise ValueError(f"no seat is called {AGENT!r}; an environment needs at least one")
    return np.array(chosen, np.int64)


def checked_starts(starts: Sequence[SavedGame] | None, config: GameConfig) -> tuple[SavedGame, ...]:
    """Return saved games from which games of ``config`` can begin, with no steps taken; None: there are none.

    TypeError or ValueError names the first that cannot be one.
    """
    if starts is None:
        return ()
    checked, digest = checked_list("starts", starts, SavedGame), config.hexdigest
    if not checked:
        raise ValueError("starts is empty; it must have a saved game, or be None")
    for i, saved in enumerate(checked):
        if saved.config_digest != digest:
            raise ValueError(
                f"starts[{i}] has the config {saved.config_digest}; this environment plays "
                f"{digest}. Make it with the config of the saved games"
            )
        clock = State(*saved.blocks).clock
        if clock[OVER] or clock[TICK] % config.decision_every:
            raise ValueError(
                f"starts[{i}] stands at tick {clock[TICK]}; it must be a game that is not over, at a "
                f"multiple of {config.decision_every}"
            )
    return tuple(saved._replace(num_cycles=0, is_idle=False) for saved in checked)
