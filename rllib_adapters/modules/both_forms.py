"""Frozen policies of either form of observations side by side, each of which reads its part of the rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import torch
from torch import Tensor

from rllib_adapters.envs.env_config import PACKED, PAIRS
from rllib_adapters.envs.spaces import SHARED
from rllib_adapters.observations.frame_bank import FRAME
from territorial.constants import NUM_FRACTIONS
from territorial.league import MismatchError, SnapshotStore
from territorial.nets.frozen import FrozenPolicies

NUMBERS = ("own", "pairs", "targets")
"""What rows have of pairs, beside what those on boards have."""


class BothForms:
    """Snapshots of a store as players, like ``FrozenPolicies``, whichever of two forms their manifests name.

    Rows are those of agents on boards, with ``own``, ``pairs`` and ``targets`` besides; all actions are
    "multi_discrete".

    Args:
        boards: plays the snapshots on boards.
        pairs: plays those on pairs, with actions of the format "pairs_multi_discrete".

    """

    def __init__(self, boards: FrozenPolicies, pairs: FrozenPolicies) -> None:
        self.by_form = {PACKED: boards, PAIRS: pairs}
        self._form_of: dict[str, str] = {}

    @property
    def store(self) -> SnapshotStore:
        """Where the snapshots are."""
        return self.by_form[PACKED].store

    @property
    def names(self) -> list[str]:
        """The snapshots that are open."""
        return [name for players in self.by_form.values() for name in players.names]

    def act(self, names: Sequence[str], seen: Mapping[str, Tensor]) -> Tensor:
        """Return int64 (N, 2): the actions that the snapshots ``names``, one a row, choose at random.

        Raises the errors of ``FrozenPolicies.act``.
        """
        forms = [self.form_of(name) for name in names]
        actions = torch.empty((len(names), 2), dtype=torch.int64, device=seen["action_mask"].device)
        for form, players in self.by_form.items():
            own = [i for i, found in enumerate(forms) if found == form]
            if own:
                rows = torch.tensor(own, device=actions.device)
                part = _rows(seen, rows)
                wanted = [names[i] for i in own]
                actions[rows] = (
                    _act_on_pairs(players, wanted, part) if form == PAIRS else _act(players, wanted, part)
                )
        return actions

    def form_of(self, name: str) -> str:
        """Return the form that a snapshot reads; MismatchError if it is another one."""
        if name not in self._form_of:
            form = self.store.manifest(name).observation
            if form not in self.by_form:
                raise MismatchError(
                    f"snapshot {name!r} reads the form {form!r}; it must be one of {', '.join(self.by_form)}"
                )
            self._form_of[name] = form
        return self._form_of[name]

    def keep(self, playing: Collection[str], others: Collection[str] = ()) -> None:
        """Have the snapshots ``playing`` open, and release all that are neither these nor ``others``."""
        self._form_of = {name: form for name, form in self._form_of.items() if name in {*playing, *others}}
        for form, players in self.by_form.items():
            players.keep([name for name in playing if self.form_of(name) == form], others)

    def close(self) -> None:
        """Release all snapshots."""
        self._form_of.clear()
        for players in self.by_form.values():
            players.close()


def _rows(seen: Mapping[str, Tensor], rows: Tensor) -> dict[str, Tensor]:
    """Return ``rows`` of what belongs to rows, and all of what rows share."""
    shares = FRAME in seen
    return {name: part if shares and name in SHARED else part[rows] for name, part in seen.items()}


def _act(players: FrozenPolicies, names: Sequence[str], seen: Mapping[str, Tensor]) -> Tensor:
    return players.act(names, {name: part for name, part in seen.items() if name not in NUMBERS})


def _act_on_pairs(players: FrozenPolicies, names: Sequence[str], seen: Mapping[str, Tensor]) -> Tensor:
    """Return the actions of snapshots on pairs, with the targets of the candidates that they name."""
    targets = seen["targets"].long()
    own = {
        "own": seen["own"],
        "pairs": seen["pairs"],
        "action_mask": candidate_mask(seen["action_mask"], targets),
    }
    candidate, fraction = players.act(names, own).unbind(1)
    named = targets.gather(1, (candidate - 1).clamp(min=0)[:, None])[:, 0]
    what = torch.where(candidate == 0, 0, named)
    return torch.stack([what, torch.where(what == 0, 0, fraction)], dim=1)


def candidate_mask(mask: Tensor, targets: Tensor) -> Tensor:
    """Return the mask of candidates and fractions, int8 (N, 1 + C + 10).

    ``mask``: of all owners and fractions; ``targets``: int64 (N, C), 0 where there is no candidate.
    """
    legal = torch.where(targets > 0, mask.gather(1, targets), 0)
    return torch.cat([mask[:, :1], legal, mask[:, -NUM_FRACTIONS:]], dim=1)
