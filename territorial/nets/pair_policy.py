"""``PairPolicy``: small network on ``pairs`` observations, exportable to the engine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from territorial.bots.network import Rows
from territorial.bots.network_file import temperature_256ths, write
from territorial.config import GameConfig
from territorial.config.validation import raised_as, shown
from territorial.constants import NUM_FRACTIONS
from territorial.files import safetensors
from territorial.files.atomic import write_file
from territorial.files.bounded import open_file
from territorial.nets.pair_export import ExportReport, exported
from territorial.nets.pair_network import PairNetwork, computed
from territorial.nets.policy import MASKED, drawn_at
from territorial.observation.action_encoding import how_much_of, what_of
from territorial.observation.pair_columns import OWN, pair_columns

READS: Mapping[str, Any] = {"observation": "pairs", "action_format": "pairs"}
"""What manifests of these networks say; which of the two formats their actions have makes no difference."""
WEIGHTS_FORMAT = "territorial-pair-weights-1"
"""Of files of weights as they were learned; ``PairPolicy.export`` writes those that the engine plays."""


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

    def forward(self, own: Tensor, pairs: Tensor, action_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return the masked logits (B, 1 + 10 C) and the values (B,) of B states, of the weights' dtype.

        Args:
            own: (B, 35), the columns of own, of any dtype.
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

    def action_values(self, own: Tensor, pairs: Tensor, action_mask: Tensor) -> Tensor:
        """Return float32 (B, 1 + 10 C): what each action is worth, ``MASKED`` where it is not legal.

        A policy that learns values instead of probabilities reads the same layers so: the value of the state,
        plus the logit of the target, less by how much the fraction's logit is below that of the best fraction
        against it. So :meth:`greedy`, and the engine at temperature 0, choose the action that is worth most.
        Arguments are those of ``forward``.
        """
        found = self.choices(own, pairs)
        is_legal = action_mask > 0
        launches = is_legal[:, 1:].reshape(found.fractions.shape)
        fractions = torch.where(launches, found.fractions, MASKED)
        launch = found.targets.unsqueeze(2) + fractions - fractions.amax(2, keepdim=True)
        gains = torch.cat([found.hold.unsqueeze(1), launch.flatten(1)], dim=1)
        return torch.where(is_legal, found.values.unsqueeze(1) + gains, MASKED).float()

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
                between bots (``territorial.nets.pair_export.calibration_rows``).
            least_equal: the share of these states in which the greedy choice must stay, 0 to 1; default 0.99.

        Raises:
            ExportError: where fewer choices stay; it has the report, and nothing is written.
            ValueError: for a network of games with teams, as the engine shows networks no allies.

        """
        network, report = exported(
            self,
            rows,
            interval=interval,
            temperature=temperature_256ths(temperature),
            num_candidates=num_candidates,
            least_equal=least_equal,
        )
        write(path, network)
        return report

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the weights as float32, so that :meth:`load` returns them; ``export`` is for the engine.

        Args:
            path: the file to write, ``.safetensors`` by custom; it is there whole or not at all.

        """
        tensors = {name: part.detach().float().cpu().numpy() for name, part in self.state_dict().items()}
        write_file(path, safetensors.pieces(tensors, metadata=_about(self.size, self.teams)))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PairPolicy:
        """Return the policy that :meth:`save` wrote.

        Args:
            path: the file.

        Raises:
            ValueError: the file holds something else, is damaged, was made for other columns, or has weights
                that are not finite.
            OSError: it cannot be read.

        """
        with raised_as(
            ValueError,
            f"{os.fspath(path)!r} does not hold the weights of a PairPolicy: ",
            (ValueError, RuntimeError),
        ):
            with open_file(path) as file:
                found = safetensors.read(file)
            size, teams = found.metadata.get("size", ""), found.metadata.get("teams") == "1"
            for name, wanted in _about(size, teams).items():
                if found.metadata.get(name) != wanted:
                    given = shown(found.metadata.get(name))
                    raise ValueError(f"its {name} is {given}; it must be {shown(wanted)}")
            policy = cls(size, teams=teams)
            policy.load_state_dict(
                {name: torch.from_numpy(array.copy()) for name, array in found.arrays.items()}
            )
            if (wrong := policy.not_finite()) is not None:
                raise ValueError(
                    f"the parameter {wrong} has entries that are not finite; all of them must be"
                )
        return policy


def _log_shares(logits: Tensor) -> Tensor:
    """Return ``log_softmax`` over the last dimension; for ten entries, in a third of the time."""
    return logits - logits.logsumexp(-1, keepdim=True)


class PairRows(PairPolicy):
    """A ``PairPolicy`` with the methods by which ``FrozenPolicies`` calls any network.

    Args:
        size: that of the policy.
        teams: whether it is one for games with teams.
        has_two_parts: True: actions are those of the format "pairs_multi_discrete"; False: of "pairs".
        epsilon: how often an action is any legal one, and the best one else, see :func:`epsilon_greedy`;
            default None: actions are drawn by the policy.

    """

    def __init__(
        self,
        size: str = "standard",
        *,
        teams: bool = False,
        has_two_parts: bool = False,
        epsilon: float | None = None,
    ) -> None:
        super().__init__(size, teams=teams)
        self.has_two_parts, self.epsilon = has_two_parts, epsilon

    def forward(  # type: ignore[override]  # ``FrozenPolicies`` hands rows over by name
        self, seen: Mapping[str, Tensor]
    ) -> tuple[Tensor, Tensor]:
        """Return the masked logits and the values of rows with ``own``, ``pairs`` and ``action_mask``."""
        mask = flat_mask(seen["action_mask"], seen["pairs"].shape[1])
        return super().forward(seen["own"], seen["pairs"], mask)

    def draw(self, logits: Tensor, numbers: Tensor | None = None) -> Tensor:
        """Return an action drawn for every row of ``logits``, int64 (N,) or (N, 2).

        ``numbers``: float64 (N, 2) from 0 to below 1, of which the first decide; None: PyTorch draws.
        """
        parts = self.probabilities(logits)
        drawn = torch.multinomial(parts, 1) if numbers is None else drawn_at(parts, numbers[:, :1])
        return in_two_parts(drawn[:, 0]) if self.has_two_parts else drawn[:, 0]

    def probabilities(self, logits: Tensor) -> Tensor:
        """Return float32 (N, 1 + 10 C): the probabilities with which ``draw`` draws actions of one number."""
        return logits.softmax(1) if self.epsilon is None else epsilon_greedy(logits, self.epsilon)


def make_pair_rows(
    _: Any, config: GameConfig, *, teams: bool = False, has_two_parts: bool = True, **settings: Any
) -> PairRows:
    """Return a network with the settings of a snapshot; ValueError for games that show it other columns."""
    if teams != (config.teams is not None):
        raise ValueError(f"it was made for games with{'' if teams else 'out'} teams; here it must be others")
    return PairRows(**settings, teams=teams, has_two_parts=has_two_parts)


def epsilon_greedy(logits: Tensor, epsilon: float) -> Tensor:
    """Return float32 (N, 1 + 10 C): the probabilities of any legal action by ``epsilon``, else the best.

    ``logits``: as ``PairPolicy.forward`` returns them.
    """
    any_legal = (logits > MASKED / 2).float()
    best = functional.one_hot(PairPolicy.greedy(logits), logits.shape[1])
    return (1 - epsilon) * best + epsilon * any_legal / any_legal.sum(1, keepdim=True)


def flat_mask(mask: Tensor, num_candidates: int) -> Tensor:
    """Return the mask (N, 1 + 10 C) of actions of one number; ``mask`` may be that of two parts."""
    if mask.shape[1] == 1 + NUM_FRACTIONS * num_candidates:
        return mask
    launches = mask[:, 1 : 1 + num_candidates].repeat_interleave(NUM_FRACTIONS, dim=1)
    return torch.cat([mask[:, :1], launches], dim=1)


def in_two_parts(actions: Tensor) -> Tensor:
    """Return actions of one number, (N,), as int64 (N, 2)."""
    return torch.stack([what_of(actions), how_much_of(actions)], dim=-1)


def in_one_part(actions: Tensor) -> Tensor:
    """Return actions of two parts, (N, 2), as int64 (N,)."""
    candidate, fraction = actions[..., 0], actions[..., 1]
    return torch.where(candidate == 0, 0, 1 + NUM_FRACTIONS * (candidate - 1) + fraction)


def _about(size: str, teams: bool) -> dict[str, str]:
    """Return the header of a file of weights."""
    tables = {"own": OWN, "pairs": pair_columns(teams=teams)}
    columns = {
        f"columns of {name}": " ".join(f"{one.name}:{one.version}" for one in table)
        for name, table in tables.items()
    }
    return {"format": WEIGHTS_FORMAT, "size": size, **columns, **({"teams": "1"} if teams else {})}
