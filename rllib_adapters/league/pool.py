"""Modules that play frozen seats: snapshots and bots, without parameters."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import torch
import tree
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.rl_module import RLModule, RLModuleSpec
from ray.rllib.utils.spaces.space_utils import get_base_struct_from_space
from torch import Tensor

from territorial.config.validation import shown
from territorial.evaluation.workers import cause
from territorial.league import Manifest, MismatchError, SnapshotStore
from territorial.league.store import SnapshotError
from territorial.nets.frozen import FrozenNetwork, FrozenPolicies, built, device_of, mapped


class PlayError(ValueError):
    """A player of a league cannot act; the message names it."""


MOVED = "a store that was moved is given as Algorithm.from_checkpoint(path, store=folder)"


PLAYER = "league_player"
"""The column with the number of the player that acts for a row of a pool."""
PLAYERS = "league_players"
"""The key of an episode's ``custom_data`` with the players of agents, such as "snapshot:main-3"."""


class PoolModule(RLModule):
    """Acts for frozen seats.

    It is a plain ``RLModule`` and no ``TorchRLModule``: it has no parameters, so that RLlib gives it no
    optimizer, and no state, so that nothing is synchronised or written into checkpoints. Snapshots are opened
    when they first act, from memory-mapped files; a learner, in which no module acts, never opens one. What
    frozen seats choose, they choose at random by their policy, in evaluations as well.

    Its ``model_config`` has ``store``, a ``SnapshotStore`` or its folder.
    """

    framework = "torch"
    opponents: FrozenPolicies

    def setup(self) -> None:
        """Know nobody yet; called by RLlib."""
        self._numbers: dict[str, int] = {}

    def number(self, player: str) -> int:
        """Return the number of a player, which it has in this process."""
        return self._numbers.setdefault(player, len(self._numbers))

    def players(self, batch: Mapping[str, Any]) -> list[str]:
        """Return who acts for each row of ``batch``, by the column ``PLAYER``."""
        players = list(self._numbers)
        return [players[number] for number in batch[PLAYER].flatten().tolist()]

    @abstractmethod
    def act(self, batch: Mapping[str, Any]) -> Any:
        """Return the actions of the rows of ``batch``."""

    def _forward_exploration(self, batch: Mapping[str, Any], **_: Any) -> dict[str, Any]:
        """Return actions; overrides ``RLModule._forward_exploration`` and ``RLModule._forward_inference``."""
        return {Columns.ACTIONS: self.act(batch)}

    _forward_inference = _forward_exploration

    def _forward_train(self, *_: Any, **__: Any) -> dict[str, Tensor]:
        """Raise NotImplementedError; overrides ``RLModule._forward_train`` and ``RLModule._forward``."""
        raise NotImplementedError(
            f"a {type(self).__name__} cannot be trained; set config.multi_agent(policies_to_train=[...]) "
            "to the other modules"
        )

    _forward = _forward_train

    def get_state(self, *_: Any, **__: Any) -> dict[str, Any]:
        """Return an empty dict: there is nothing to synchronise or to save."""
        return {}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Do nothing."""


def pools_of(config: Any) -> dict[str, Any]:
    """Return the specs of the modules of an algorithm's ``config`` that play frozen seats, by name."""
    spec = config._rl_module_spec
    specs = {} if spec is None else spec.rl_module_specs
    return {name: own for name, own in specs.items() if issubclass(own.module_class, PoolModule)}


def store_of(store: SnapshotStore | str) -> SnapshotStore:
    """Return the store, opened if ``store`` is its folder."""
    return store if isinstance(store, SnapshotStore) else SnapshotStore(store)


# ---- any environment -------------------------------------------------------------------------------------


class Bot:
    """The base class of players without a network; objects of it are given to ``add_league``.

    They are pickled, and each process has copies of its own.
    """

    def act(self, seen: Any, random: np.random.Generator) -> Any:
        """Return an action for every row of ``seen``.

        Args:
            seen: observations of N rows as arrays (N, ...), in dicts and tuples where their space has such.
            random: what to draw numbers with.

        Returns:
            Actions (N, ...) of the space of actions, in dicts and tuples where the space has such.

        """
        raise NotImplementedError(f"{type(self).__name__} must have a method act(seen, random)")


class LeaguePool(PoolModule):
    """Plays snapshots and bots of a league of any environment, by the column ``PLAYER``.

    ``model_config``, beside that of ``PoolModule``:

    Args:
        architectures: specs of modules by the names of their classes, which play snapshots of such.
        spaces: what the manifests must say of the spaces, ``observation`` and ``action_format``.
        bots: by name, ``Bot`` objects.
        normalize: whether the actions of modules are normalized, so that those of bots must be, too.

    """

    def setup(self) -> None:
        """Remember where the snapshots are; called by RLlib."""
        spaces = self.observation_space, self.action_space
        build = ModuleNetworks(self.model_config["architectures"], self.model_config["spaces"], *spaces)
        self.opponents = FrozenPolicies(store_of(self.model_config["store"]), build)
        super().setup()
        self.draw_anew()

    def draw_anew(self) -> None:
        """Let bots draw numbers that follow from the present seed of PyTorch, which RLlib sets."""
        self._random = np.random.default_rng(int(torch.randint(2**31, ())))

    def act(self, batch: Mapping[str, Any]) -> Any:
        """Return the actions of rows, each of its player."""
        seen, who = batch[Columns.OBS], self.players(batch)
        rows_of: dict[str, list[int]] = {}
        for row, player in enumerate(who):
            kind, _, name = player.partition(":")
            rows_of.setdefault("" if kind == "snapshot" else name, []).append(row)
        parts = []
        for bot, rows in rows_of.items():
            places = torch.tensor(rows)
            own = mapped(lambda part, places=places: part[places], seen)
            names = [who[row].partition(":")[2] for row in rows]
            try:
                parts.append(self._of_bot(bot, own, len(rows)) if bot else self.opponents.act(names, own))
            except (PlayError, SnapshotError):
                raise
            except (Exception, SystemExit) as error:
                whose = f"the bot {bot!r}" if bot else f"one of the snapshots {', '.join(sorted({*names}))}"
                raise PlayError(f"{whose} failed: {cause(error)}") from error
        order = torch.tensor([row for rows in rows_of.values() for row in rows]).argsort()
        return mapped(lambda *columns: torch.cat(columns)[order.to(columns[0].device)], *parts)

    def _of_bot(self, name: str, seen: Any, count: int) -> Any:
        """Return the actions of a bot for so many rows."""
        bot, device = self.model_config["bots"][name], device_of(seen)
        given = bot.act(mapped(lambda part: part.cpu().numpy(), seen), self._random)
        actions = actions_of(name, given, count, self.action_space, normalize=self.model_config["normalize"])
        return mapped(lambda part: torch.as_tensor(part).to(device), actions)


def actions_of(name: str, given: Any, count: int, space: Any, *, normalize: bool) -> Any:
    """Return what a bot gave for N rows as arrays (N, ...), in dicts and tuples where ``space`` has such.

    ``normalize``: make them what modules give, in ranges from -1 to 1. PlayError, which names the bot, for
    another number of rows, and for actions outside of ``space``.
    """
    struct = get_base_struct_from_space(space)
    try:
        actions = mapped(_of_space, struct, given)
        found = {len(part) for part in tree.flatten(actions)}
    except Exception:  # whatever comes of anything at all
        raise PlayError(
            f"the bot {name!r} returned {shown(given)}; it must return {count} actions of {space}"
        ) from None
    if found != {count}:
        raise PlayError(f"the bot {name!r} returned actions for {found} rows; it was asked for {count}")
    for row in range(count):
        action = mapped(lambda part, row=row: part[row], actions)
        if not space.contains(action):
            raise PlayError(f"the bot {name!r} returned the action {shown(action)}; it is none of {space}")
    return mapped(_normalized, struct, actions) if normalize else actions


def _of_space(space: Any, given: Any) -> Any:
    """Return actions as an array; numbers of another width are those of the space, if it has them."""
    found = np.asarray(given)
    kind, fitting = found.dtype.kind, "iuf" if space.dtype.kind == "f" else "biu"
    own = found.astype(space.dtype) if kind in fitting else found
    return own if kind == "f" or (own == found).all() else found


def _normalized(space: Any, actions: Any) -> Any:
    """Return what RLlib's ``unsquash_action`` makes the actions of, whose inverse its own is not quite."""
    if not isinstance(space, gym.spaces.Box) or not space.is_bounded():
        return actions
    if np.issubdtype(space.dtype, np.integer):
        return actions - space.low
    width = np.where(space.high > space.low, space.high - space.low, 1)
    return 2 * (actions - space.low) / width - 1 if space.dtype in (np.float32, np.float64) else actions


class ModuleNetwork(FrozenNetwork):
    """An RLModule of the user's as the network of its snapshots."""

    def read(self, rows: Any) -> Any:
        """Return the inputs of the distribution, (N, K); of a module that draws by itself, (actions,)."""
        found = self.module._forward_exploration({Columns.OBS: rows})
        if Columns.ACTIONS in found:
            return (mapped(torch.as_tensor, found[Columns.ACTIONS]),)
        return found[Columns.ACTION_DIST_INPUTS]

    def draw(self, logits: Any, numbers: Tensor | None) -> Any:
        """Return actions, which PyTorch draws."""
        if isinstance(logits, tuple):
            return logits[0]
        return self.module.get_exploration_action_dist_cls().from_logits(logits).sample()


class ModuleNetworks:
    """Builds the networks of snapshots from RLModules, for one space of observations and one of actions."""

    def __init__(
        self, known: Mapping[str, RLModuleSpec], wanted: Mapping[str, str], observations: Any, actions: Any
    ) -> None:
        self._known, self._wanted, self._spaces = known, wanted, (observations, actions)
        self._made: dict[str, ModuleNetwork] = {}

    def __call__(self, name: str, manifest: Manifest) -> ModuleNetwork:
        """Return the network of the snapshot ``name``; MismatchError for one of other classes or spaces."""
        manifest.require(f"snapshot {name!r}", **self._wanted)
        if manifest.architecture not in self._known:
            raise MismatchError(
                f"snapshot {name!r} is of the module {manifest.architecture!r}; modules and architectures of "
                f"add_league have {', '.join(sorted(self._known)) or 'none'}"
            )
        key = f"{manifest.architecture} {sorted(manifest.settings.items())}"
        if key not in self._made:
            make = partial(build_module, self._known[manifest.architecture], *self._spaces)
            self._made[key] = ModuleNetwork(built(name, manifest, make))
        return self._made[key]


def build_module(spec: RLModuleSpec, observations: Any, actions: Any, /, **settings: Any) -> Any:
    """Return a new module of the class of ``spec``, with its critic and without copies for learners."""
    return RLModuleSpec(
        module_class=spec.module_class,
        catalog_class=spec.catalog_class,
        observation_space=observations,
        action_space=actions,
        model_config=settings,
    ).build()
