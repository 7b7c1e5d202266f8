"""Behaviour cloning of a data set by a ``PairPolicy``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from territorial.config.fields import check_values, documents_fields, option
from territorial.files.atomic import check_unused, own_folder
from territorial.league.checkpoints import Checkpoints, keep_settings
from territorial.nets.pair_policy import PairPolicy
from territorial.observation.action_encoding import what_of
from territorial.observation.pair_columns import UNIT
from territorial.training import Dataset, DatasetError
from territorial.training.manifest import current_columns
from territorial.typing import Array

HELD_ONE_IN = 10
"""Of ten games in a row one is held out: its rows are not learned from, and say how well others are."""
SETTINGS, CHECKPOINTS, STATE = "settings.json", "checkpoints", "state.pt"


@documents_fields
@dataclass(frozen=True)
class CloneSettings:
    """How a policy is cloned.

    Raises:
        TypeError: for a value of another type.
        ValueError: for a value out of range.

    """

    size: str = option("standard", 'of the policy, "small" or "standard"')
    epochs: int = option(8, "passes over the data set", 1, 10_000)
    minibatch: int = option(1024, "rows of a minibatch", 1)
    learning_rate: float = option(1e-3, "that of Adam as it begins; it falls to 0", 1e-9)
    value_weight: float = option(
        0.5, "weight of the squared error of values against the returns of the data set", 0
    )
    seed: int = option(0, "of the first weights and of the order of rows", 0, 2**63 - 1)

    def __post_init__(self) -> None:
        check_values(self)


class CloneAgreement(NamedTuple):
    """How well a policy knows the decisions of games that it did not learn from.

    Args:
        rows: decisions that were compared.
        equal: share of them in which the likeliest action of the policy is the one taken.
        equal_targets: share in which it holds where the player held, and attacks whom the player attacked.
        cross_entropy: mean negative logarithm of the probability of the action, in nats.
        holds: share of decisions to hold: what a policy that always holds is right in.

    """

    rows: int
    equal: float
    equal_targets: float
    cross_entropy: float
    holds: float

    def __str__(self) -> str:
        return (
            f"of {self.rows:,} decisions of other games, {self.equal:.1%} are the policy's likeliest action "
            f"and {self.equal_targets:.1%} have its target; {self.holds:.1%} hold"
        )


class LearnedRows(NamedTuple):
    """Decisions to learn from."""

    own: Array  # int16 (N, 35)
    pairs: Array  # int16 (N, C, 26)
    mask: Array  # int8 (N, 1 + 10 C)
    action: Array  # int16 (N,)
    returns: Array  # float32 (N,)


class Cloning:
    """A policy that learns from a data set, epoch by epoch.

    With ``folder``, it is kept there after every epoch, and a new ``Cloning`` of the same settings and
    data set goes on from there; the result is the same as without an interruption.

    Args:
        data: the data set; its columns must be those of this release.
        settings: how it learns.
        folder: where it is kept; default None: nowhere.

    Raises:
        ValueError: for a data set with too few games or none that can be learned from, and for a folder
            in which another cloning was begun.
        FileExistsError: for a folder with checkpoints of something else.

    """

    def __init__(
        self,
        data: Dataset,
        settings: CloneSettings | None = None,
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        self.data, self.settings = data, settings or CloneSettings()
        _check_data(data)
        torch.manual_seed(self.settings.seed)
        self.policy = PairPolicy(self.settings.size, teams=data.manifest.recipe.has_teams)
        self.epochs = 0
        """Epochs that are done."""
        self._optimizer = torch.optim.Adam(self.policy.parameters(), fused=True)
        self._checkpoints: Checkpoints | None = None
        if folder is not None:
            self._open(Path(folder))

    def run(self, on_rows: Callable[[int, int, float], None] | None = None) -> CloneAgreement:
        """Learn to the end, and return how well the policy decides as the data set says.

        ``on_rows(epoch, rows, loss)`` is called after every minibatch: the epoch, from 1 on, its rows so far
        and the loss of the minibatch.
        """
        while self.epochs < self.settings.epochs:
            seen = 0
            for rows in self._minibatches():
                done = self.epochs + min(1.0, seen / self.data.manifest.rows)  # of all epochs
                rate = self.settings.learning_rate * (1 - done / self.settings.epochs)
                loss, seen = self._learn(rows, rate), seen + len(rows.action)
                if on_rows is not None:
                    on_rows(self.epochs + 1, seen, loss)
            self.epochs += 1
            if self._checkpoints is not None:
                self._checkpoints.write(self.epochs, self._fill)
        return self.agreement()

    @torch.no_grad()
    def agreement(self) -> CloneAgreement:
        """Return how well the policy decides as the held-out games of the data set say."""
        count, equal, targets, entropy, holds = 0, 0, 0, 0.0, 0
        for shard in self.data:
            rows = usable(shard, is_held_out(shard.game))
            for i in range(0, len(rows.action), self.settings.minibatch):
                part = LearnedRows(*(array[i : i + self.settings.minibatch] for array in rows))
                logits, _ = self.policy(*_seen(part))
                action, chosen = _actions(part), self.policy.greedy(logits)
                count += len(action)
                equal += int((chosen == action).sum())
                targets += int((what_of(chosen) == what_of(action)).sum())
                entropy += float(functional.nll_loss(logits, action, reduction="sum"))
                holds += int((action == 0).sum())
        return CloneAgreement(count, equal / count, targets / count, entropy / count, holds / count)

    # ---- learning ----------------------------------------------------------------------------------------

    def _minibatches(self) -> Iterator[LearnedRows]:
        """Return the rows of an epoch in an order that follows from the seed and its number."""
        rng = np.random.default_rng((self.settings.seed, self.epochs))
        for rows in self._mixed(rng):
            order = rng.permutation(len(rows.action))
            for i in range(0, len(order), self.settings.minibatch):
                chosen = order[i : i + self.settings.minibatch]
                yield LearnedRows(*(array[chosen] for array in rows))

    def _mixed(self, rng: np.random.Generator) -> Iterator[LearnedRows]:
        """Return all rows to learn from, several shards together."""
        parts: list[LearnedRows] = []
        for number in rng.permutation(len(self.data)).tolist():
            shard = self.data[number]
            parts.append(usable(shard, ~is_held_out(shard.game)))
            if sum(len(part.action) for part in parts) >= 2**18:  # some 130 MB
                yield _joined(parts)
                parts = []
        if parts:
            yield _joined(parts)

    def _learn(self, rows: LearnedRows, rate: float) -> float:
        """Learn from a minibatch, and return its loss."""
        self._optimizer.param_groups[0]["lr"] = rate
        logits, values = self.policy(*_seen(rows))
        loss = functional.nll_loss(logits, _actions(rows))
        errors = (values - torch.from_numpy(rows.returns)).square().mean()
        self._optimizer.zero_grad()
        (loss + self.settings.value_weight * errors).backward()
        torch.nn.utils.clip_grad_norm_(self.policy.parameters(), max_norm=1.0)
        self._optimizer.step()
        return float(loss.detach())

    # ---- its folder --------------------------------------------------------------------------------------

    def _open(self, folder: Path) -> None:
        """Resume the run in the folder, or begin one; ValueError if it has other settings."""
        check_unused(own_folder(folder), [CHECKPOINTS], SETTINGS)
        digests = " ".join(shard.digest[:8] for shard in self.data.manifest.shards)
        keep_settings(folder / SETTINGS, {**asdict(self.settings), "data": digests}, "cloning")
        self._checkpoints = Checkpoints(folder / CHECKPOINTS, keep=1)
        latest = self._checkpoints.latest()
        if latest is not None:
            self.epochs = self._checkpoints.steps()[-1]
            state = torch.load(latest / STATE, weights_only=True)
            self.policy.load_state_dict(state["policy"])
            self._optimizer.load_state_dict(state["optimizer"])

    def _fill(self, folder: Path) -> None:
        parts = {"policy": self.policy, "optimizer": self._optimizer}
        torch.save({name: part.state_dict() for name, part in parts.items()}, folder / STATE)


def usable(shard: Any, chosen: npt.NDArray[np.bool_]) -> LearnedRows:
    """Return the ``chosen`` rows of a shard with an action that is a legal candidate."""
    numbers = np.flatnonzero(chosen & (shard.action >= 0))
    mask = shard.action_mask[numbers]
    is_legal = mask[np.arange(len(numbers)), shard.action[numbers]] > 0
    numbers, mask = numbers[is_legal], mask[is_legal]
    return LearnedRows(
        shard.own[numbers], shard.pairs[numbers], mask, shard.action[numbers], shard.returns[numbers]
    )


def is_held_out(game: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """Return for each row whether its game is held out."""
    found: npt.NDArray[np.bool_] = game % HELD_ONE_IN == HELD_ONE_IN - 1
    return found


def _check_data(data: Dataset) -> None:
    """Raise ValueError for a data set that nothing can be learned from."""
    manifest = data.manifest
    if manifest.columns != current_columns(teams=manifest.recipe.has_teams):
        raise DatasetError(
            f"{str(data.folder)!r} has other columns than this release, so a policy cannot read it; "
            "make it again"
        )
    if manifest.games < HELD_ONE_IN:
        raise DatasetError(
            f"{str(data.folder)!r} has {manifest.games} games; it must have at least {HELD_ONE_IN}, of which "
            "one is held out"
        )


def _seen(rows: LearnedRows) -> tuple[Tensor, Tensor, Tensor]:
    own, pairs = (torch.from_numpy(array.astype(np.float32) / UNIT) for array in (rows.own, rows.pairs))
    return own, pairs, torch.from_numpy(rows.mask)


def _actions(rows: LearnedRows) -> Tensor:
    return torch.from_numpy(rows.action.astype(np.int64))


def _joined(parts: list[LearnedRows]) -> LearnedRows:
    return LearnedRows(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
