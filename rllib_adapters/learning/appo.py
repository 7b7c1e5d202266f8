"""The learner of asynchronous PPO."""

from __future__ import annotations

from ray.rllib.algorithms.appo.torch.appo_torch_learner import APPOTorchLearner

from rllib_adapters.learning.learners import TerritorialIMPALALearner


class TerritorialAPPOLearner(TerritorialIMPALALearner, APPOTorchLearner):
    """APPO with the frames of a batch, which wait in the buffer with it, as in ``TerritorialIMPALALearner``.

    A batch may be learned from several times, with others in between: modules get its frames each time.
    """
