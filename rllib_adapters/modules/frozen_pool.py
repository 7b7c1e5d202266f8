"""``FrozenPool``: the single module that plays all frozen seats."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.rl_module import RLModule
from torch import Tensor

from rllib_adapters.envs.env_config import BOTH, parts_of
from rllib_adapters.league.pool import PoolModule, store_of
from rllib_adapters.modules.board import BoardModule
from rllib_adapters.modules.pairs import PairModule
from rllib_adapters.observations.connector import ModuleFrames
from territorial.constants import NUM_FRACTIONS
from territorial.league import SnapshotStore
from territorial.nets.frozen import MAX_OPEN
from territorial.nets.frozen_seats import FrozenSeats, rows_of
from territorial.nets.pair_policy import PairRows
from territorial.observation.layout import ObsLayout

BASES = (BoardModule, PairModule)
"""What architectures have to be subclasses of."""


class FrozenPool(ModuleFrames, PoolModule):
    """Acts for every frozen seat of this game with the snapshot that has it.

    ``model_config``, which ``pool_settings`` makes, has ``layout`` and ``config`` as that of a
    ``BoardModule``, beside that of a ``PoolModule``, and:

    Args:
        architectures: ``BoardModule`` and ``PairModule`` classes, which play the snapshots that were made of
            them; ``PairModule`` alone with an ``action_format``.
        obs: what frozen seats observe, such as "pairs" or "both"; with "both", every snapshot reads its part
            by its manifest.

    """

    def setup(self) -> None:
        """Remember where the snapshots are; called by RLlib."""
        super().setup()
        self.opponents = opponents_of(self.model_config)

    def act(self, batch: Mapping[str, Any]) -> Tensor:
        """Return the actions of the rows of ``batch``."""
        return self.opponents.act(self.players(batch), self.with_frames(batch[Columns.OBS]))


def pool_settings(
    settings: Mapping[str, Any],
    store: SnapshotStore | str,
    architectures: Sequence[type[RLModule]],
    obs: str | None = None,
) -> dict[str, Any]:
    """Return the ``model_config`` of a ``FrozenPool`` beside modules of the ``model_config`` ``settings``.

    ``obs``: see ``FrozenPool``; default None: what these modules observe. TypeError for an architecture that
    does not read it.
    """
    pool = {name: settings[name] for name in ("layout", "config", "action_format", "obs")}
    pool["obs"] = obs or pool["obs"]
    seen = {part.name for part in parts_of(pool["obs"])}
    bases = tuple(base for base in BASES if base.reads in seen)
    for module in architectures:
        if not (isinstance(module, type) and issubclass(module, bases)):
            names = " or ".join(base.__name__ for base in bases or BASES)
            raise TypeError(
                f"{module!r} learns or is in architectures, and the league draws snapshots: it must be a "
                f"subclass of {names} then, as snapshots have its weights. In a league without snapshots a "
                "module may be any, and its network can play as a bot: docs/rllib.md, 'Networks of your own'"
            )
    return {**pool, "store": store_of(store), "architectures": tuple(architectures)}


def opponents_of(settings: Mapping[str, Any]) -> FrozenSeats:
    """Return the players that ``pool_settings`` describes."""
    kinds, is_union = settings["architectures"], settings["obs"] == BOTH
    has_two_parts = is_union or settings["action_format"] != "pairs"
    on_pairs = {"has_two_parts": has_two_parts}
    makers = {
        kind.architecture: partial(kind.make_trunk, **(on_pairs if issubclass(kind, PairModule) else {}))
        for kind in kinds
    }
    layout = ObsLayout.from_dict(settings["layout"])
    players = BothForms if is_union else FrozenSeats
    return players(store_of(settings["store"]), layout, settings["config"], makers)


# ---- both forms ------------------------------------------------------------------------------------------


Choose = Callable[[Sequence[str], Mapping[str, Tensor]], Tensor]
NUMBERS = ("own", "pairs", "targets")
"""What rows have of pairs, beside what those on boards have."""


class BothForms(FrozenSeats):
    """Snapshots of a store as players, whichever of two forms their manifests name.

    Rows are those of agents on boards, with ``own``, ``pairs`` and ``targets`` besides; all actions are
    "multi_discrete". Snapshots on pairs have actions of two parts.
    """

    def act(self, names: Sequence[str], seen: Mapping[str, Tensor], numbers: Tensor | None = None) -> Tensor:
        """Return int64 (N, 2): the actions that the snapshots ``names``, one a row, choose at random.

        Raises the errors of ``FrozenSeats.act``.
        """
        device = seen["action_mask"].device
        self._room = max(MAX_OPEN, len(set(names)))
        reads_pairs = [isinstance(self._frozen(name, device).network.module, PairRows) for name in names]
        actions = torch.empty((len(names), 2), dtype=torch.int64, device=device)
        for act in (_act_on_boards, _act_on_pairs):
            own = [i for i, is_so in enumerate(reads_pairs) if is_so == (act is _act_on_pairs)]
            if own:
                rows = torch.tensor(own, device=device)
                actions[rows] = act(super().act, [names[i] for i in own], rows_of(seen, rows))
        return actions


def _act_on_boards(choose: Choose, names: Sequence[str], seen: Mapping[str, Tensor]) -> Tensor:
    return choose(names, {name: part for name, part in seen.items() if name not in NUMBERS})


def _act_on_pairs(choose: Choose, names: Sequence[str], seen: Mapping[str, Tensor]) -> Tensor:
    """Return the actions of snapshots on pairs, with the targets of the candidates that they name."""
    targets = seen["targets"].long()
    own = {
        "own": seen["own"],
        "pairs": seen["pairs"],
        "action_mask": candidate_mask(seen["action_mask"], targets),
    }
    candidate, fraction = choose(names, own).unbind(1)
    named = targets.gather(1, (candidate - 1).clamp(min=0)[:, None])[:, 0]
    what = torch.where(candidate == 0, 0, named)
    return torch.stack([what, torch.where(what == 0, 0, fraction)], dim=1)


def candidate_mask(mask: Tensor, targets: Tensor) -> Tensor:
    """Return the mask of candidates and fractions, int8 (N, 1 + C + 10).

    ``mask``: of all owners and fractions; ``targets``: int64 (N, C), 0 where there is no candidate.
    """
    legal = torch.where(targets > 0, mask.gather(1, targets), 0)
    return torch.cat([mask[:, :1], legal, mask[:, -NUM_FRACTIONS:]], dim=1)
