"""A small network on pairs as a policy: masked logits and values, and its export into the engine."""

from __future__ import annotations

import os

import torch
from torch import Tensor

from territorial.bots.network import Rows
from territorial.constants import NUM_FRACTIONS
from territorial.nets.pair_export import ExportReport, export
from territorial.nets.pair_inference import computed
from territorial.nets.pair_network import PairNetwork
from territorial.nets.pair_weights import read_weights, write_weights
from territorial.nets.policy import MASKED


class PairPolicy(PairNetwork):
    """From the observation "pairs" to masked logits and values; docs/networks.md lists its layers.

    It plays on any map with any number of players and candidates: no weight depends on them. How much is sent
    follows whom it attacks: the logit of an action is log p(target) + log p(fraction | target).

    Args:
        size: "small" or "standard", which has some 67,000 weights; default "standard".
        teams: True for observations of games with teams, whose rows have the column ``ally``; default False.

    Raises:
        ValueError: for another size.

    Example:
        >>> import torch
        >>> from territorial.nets import PairPolicy
        >>> policy = PairPolicy("small")
        >>> own, pairs, mask = torch.zeros(2, 35), torch.zeros(2, 8, 26), torch.ones(2, 81)
        >>> logits, values = policy(own, pairs, mask)
        >>> logits.shape, values.shape
        (torch.Size([2, 81]), torch.Size([2]))

    """

    def __init__(self, size: str = "standard", *, teams: bool = False) -> None:
        super().__init__(size, teams=teams)

    def forward(self, own: Tensor, pairs: Tensor, action_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return the masked logits, float32 (B, 1 + 10 C), and the values, float32 (B,), of B states.

        Args:
            own: (B, 35), the columns of own; float32.
            pairs: (B, C, 26), the columns of pairs, zero where no candidate is there; with teams
                (B, C + D, 27), and so on.
            action_mask: (B, 1 + 10 C), above 0 for legal actions, of which holding is one.

        """
        at_once = computed(self, own, pairs, action_mask)
        if at_once is not None:
            return at_once
        found = self.choices(own, pairs)
        is_legal = action_mask > 0
        launches = is_legal[:, 1:].reshape(found.fractions.shape)
        targets = torch.where(launches.any(2), found.targets, MASKED)
        of_target = _log_shares(torch.cat([found.hold.unsqueeze(1), targets], dim=1))
        of_fraction = _log_shares(torch.where(launches, found.fractions, MASKED))
        launch = (of_target[:, 1:].unsqueeze(2) + of_fraction).flatten(1)
        logits = torch.cat([of_target[:, :1], launch], dim=1)
        return torch.where(is_legal, logits, MASKED), found.values

    @staticmethod
    def greedy(logits: Tensor) -> Tensor:
        """Return int64 (B,): the best target of every row of ``logits``, with its best fraction."""
        launches = logits[:, 1:].unflatten(1, (-1, NUM_FRACTIONS))
        target = torch.cat([logits[:, :1], launches.logsumexp(2)], dim=1).argmax(1)
        launch = (target - 1).clamp(min=0)
        fraction = launches[torch.arange(len(logits)), launch].argmax(1)
        return torch.where(target == 0, 0, 1 + NUM_FRACTIONS * launch + fraction)

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        interval: int = 50,
        temperature: float = 0.0,
        num_candidates: int = 8,
        rows: Rows | None = None,
        least_equal: float = 0.99,
    ) -> ExportReport:
        """Write the network in whole numbers, so that the engine can play it, and return how it was changed.

        Args:
            path: the file to write, ``.safetensors`` by custom; ``seats=["net:PATH"]`` plays it.
            interval: ticks from one of its decisions to the next, 1 to 10,000,000: those it was trained at;
                default 50.
            temperature: 0 plays the likeliest action, 1 draws actions as the policy does; 0 to 255,
                default 0.
            num_candidates: candidates that it is shown at most, 1 to 64; default 8.
            rows: states that activations are measured on and choices compared; default None: those of games
                between bots (``territorial.nets.pair_calibration.calibration_rows``).
            least_equal: the share of these states in which the greedy choice must stay, 0 to 1; default 0.99.

        Raises:
            ExportError: where fewer choices stay; it has the report, and nothing is written.
            ValueError: for a network of games with teams, as the engine shows networks no allies.

        """
        return export(
            self,
            path,
            interval=interval,
            temperature=temperature,
            num_candidates=num_candidates,
            rows=rows,
            least_equal=least_equal,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the weights as they are, so that :meth:`load` returns them; ``export`` is for the engine.

        Args:
            path: the file to write, ``.safetensors`` by custom; it is there whole or not at all.

        """
        write_weights(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PairPolicy:
        """Return the policy that :meth:`save` wrote.

        Args:
            path: the file.

        Raises:
            ValueError: the file holds something else, is damaged, or was made for other columns.
            OSError: it cannot be read.

        """
        try:
            size, teams, weights = read_weights(path)
            policy = cls(size, teams=teams)
            policy.load_state_dict(weights)
        except (ValueError, RuntimeError) as error:
            raise ValueError(
                f"{os.fspath(path)!r} does not hold the weights of a PairPolicy: {error}"
            ) from None
        return policy


def _log_shares(logits: Tensor) -> Tensor:
    """Return what ``log_softmax`` does of the last dimension; for ten entries, in a third of the time."""
    return logits - logits.logsumexp(-1, keepdim=True)
