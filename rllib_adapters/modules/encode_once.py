"""The encode-once network as an RLModule, and batches whose minibatches have the rows of a frame together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import torch
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.core.columns import Columns
from torch import Tensor

from rllib_adapters.learning.learners import TerritorialPPOLearner
from rllib_adapters.learning.rows import rows_of
from rllib_adapters.modules.board import BoardModule
from rllib_adapters.observations.connector import FRAME
from territorial.config import GameConfig
from territorial.nets.encode_once import EncodeOncePolicy
from territorial.nets.policy import Policy
from territorial.observation.layout import ObsLayout


class EncodeOnceModule(BoardModule):
    """Plays and learns with an ``EncodeOncePolicy``: every distinct frame goes through the trunk once.

    With ``runner="batched"`` that is once a game and step for all seats. In a learner, only the frames of
    the minibatch at hand are decoded, and values go through the batch frame by frame; see
    :func:`rows_by_frame` for minibatches that have few frames.

    ``model_config`` is that of a ``BoardModule``; ``trunk={"size": ...}`` takes a key of
    ``territorial.nets.encode_once.SIZES``, and ``value_chunk`` counts frames.
    """

    @classmethod
    def make_trunk(cls, layout: ObsLayout, config: GameConfig, **settings: Any) -> Policy:
        """Return the whole network."""
        return EncodeOncePolicy(layout, config, **settings)

    @classmethod
    def assemble(cls, layout: ObsLayout, config: GameConfig, hold: float, **settings: Any) -> Policy:
        """Return the whole network."""
        return EncodeOncePolicy(layout, config, hold_probability=hold, **settings)

    def chunks(self, rows: Mapping[str, Tensor]) -> Iterator[Tensor]:
        """Yield the rows of ``value_chunk`` frames at a time."""
        if FRAME not in rows:
            return super().chunks(rows)
        return rows_of_frames(rows[FRAME].flatten(), self.value_chunk)


def rows_of_frames(frames: Tensor, size: int) -> Iterator[Tensor]:
    """Yield the rows, int64, of ``size`` distinct numbers in ``frames`` (N,) at a time."""
    _, numbers = torch.unique(frames, return_inverse=True)
    order = torch.argsort(numbers, stable=True)
    last = int(numbers.max()) + 1 if len(numbers) else 0
    starts = torch.arange(0, last + size, size, device=frames.device)
    bounds = torch.searchsorted(numbers[order], starts).tolist()
    for begin, end in pairwise(bounds):
        yield order[begin:end]


def rows_by_frame(config: AlgorithmConfig) -> AlgorithmConfig:
    """Let the minibatches of PPO have the rows of a frame together, and return ``config``.

    A game with A learning seats then goes through the trunk of an ``EncodeOnceModule`` once a minibatch
    for all of them, and not in A minibatches. Frames are shuffled once per train batch.
    """
    if not isinstance(config, PPOConfig):
        raise ValueError(f"the algorithm is {config.algo_class}; rows_by_frame works with PPO only")
    config.learners(learner_class=FrameByFrameLearner)
    config.training(shuffle_batch_per_epoch=False)
    return config


class FrameByFrameLearner(TerritorialPPOLearner):
    """PPO's learner, with the rows of a train batch ordered frame by frame."""

    def build(self) -> None:
        """Add ``RowsByFrame`` behind the computation of advantages, which needs episodes in one piece."""
        super().build()
        self._learner_connector.append(RowsByFrame())


class RowsByFrame(ConnectorV2):
    """The connector that puts the rows of a frame side by side, and the frames in a new random order."""

    def __call__(self, *, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Return ``batch``, of tensors by module, with its rows in another order."""
        for module_id, columns in batch.items():
            seen = columns.get(Columns.OBS)
            if isinstance(seen, Mapping) and FRAME in seen:
                frames = seen[FRAME].flatten()
                drawn = torch.randperm(int(frames.max()) + 1, device=frames.device)
                order = torch.argsort(drawn[frames], stable=True)
                batch[module_id] = rows_of(columns, order)
        return batch
