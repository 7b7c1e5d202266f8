"""Exports a trained ``PairPolicy`` to whole numbers, by calibration."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from territorial.bots import ALIASES
from territorial.bots.network import Rows, choose_for_rows, places_in_layout, row_of
from territorial.bots.network_file import (
    ACTIVATION_LIMIT,
    LANES,
    MOST_SHIFT,
    SUM_LIMIT,
    Description,
    LayerSize,
    NetworkFile,
    NetworkLayer,
    assembled,
    check_description,
    even,
    worst_sums,
)
from territorial.bots.network_layers import make_network_scratch
from territorial.config import GameConfig
from territorial.config.validation import finite_number
from territorial.constants import NUM_CANDIDATES, NUM_FRACTIONS
from territorial.engine.seats import LINEUPS
from territorial.engine.vec_game import VecGame
from territorial.nets.pair_network import PairNetwork
from territorial.observation.pair_columns import OF_PAIR, OWN, PAIRS, UNIT
from territorial.typing import Array

GAMES = (
    (GameConfig(), LINEUPS["mixed-2"].seats, 4),
    (GameConfig(height=96, width=96, num_players=12), tuple(ALIASES)[:12], 4),
    (GameConfig(height=64, width=64, num_players=8, handicap=True), tuple(ALIASES)[-8:], 4),
)
"""What is played: the configuration, its seats, and how many games."""
TICKS = 50
"""From one state of a game to the next."""
MOST_ROWS = 8192
"""Rows that are kept of these; a process keeps 4 MB of them."""


def calibration_rows(seed: int = 0, *, num_candidates: int = NUM_CANDIDATES) -> Rows:
    """Return observations of living seats in bot games, every 50 ticks, the same for the same seed.

    Args:
        seed: of the games, 0 to 2**64 - 1; default 0.
        num_candidates: rows of ``pairs``, 1 to 64; default 8.

    """
    games = (_games(config, seats, count, seed) for config, seats, count in GAMES)
    return _joined([seen for game in games for seen in _states_of(game, num_candidates)])


def rows_of_config(config: GameConfig, num_candidates: int) -> Rows:
    """Return observations of seats in bot games of ``config``: at most ``MOST_ROWS`` rows.

    Always the same for the same arguments; from the first state of a game on.
    """
    game = _games(config, list(islice(cycle(ALIASES), config.num_players)), count=16, seed=0)
    rows = _joined([_seen(game, num_candidates), *_states_of(game, num_candidates)])
    every = -(-len(rows.counts) // MOST_ROWS)
    return _part(rows, np.arange(0, len(rows.counts), every))


def _games(config: GameConfig, seats: Sequence[str], count: int, seed: int) -> VecGame:
    game = VecGame(config, num_games=count, seats=seats, seed=seed, autoreset="disabled", observe=False)
    game.reset()
    return game


def _joined(found: Sequence[tuple[np.ndarray, np.ndarray]]) -> Rows:
    own, pairs = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Rows(own, pairs, (pairs[:, :, OF_PAIR.there] > 0).sum(1))


def _states_of(game: VecGame, num_candidates: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the rows of all living seats of whole games, one pair of arrays for each state."""
    while not game.state.over.all():
        for _ in range(max(1, TICKS // game.config.decision_every)):
            game.step()
        yield _seen(game, num_candidates)


def _seen(game: VecGame, num_candidates: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of all living seats of the games as they stand."""
    games, seats = np.nonzero((game.state.alive[:, 1:] != 0) & (game.state.over[:, None] == 0))
    seen = game.pairs(games, seats + 1, num_candidates, "int16", num_allies=0)
    return seen.own, seen.pairs


COLUMN_EXPONENT = UNIT.bit_length() - 1
LOGIT_EXPONENT = 12
"""Logits are in 4096ths of a power of two."""
MOST_EXPONENT = 40


@dataclass(frozen=True)
class ExportReport:
    """How a network changed when it was put into whole numbers.

    Args:
        num_rows: states that were compared: those in which a launch is legal.
        equal: share of them in which the greedy choice is the same, target and fraction.
        equal_targets: share in which the target is.
        largest_error: how far a logit of holding or of a legal target or fraction is off at most.
        mean_error: how far on average.
        nbytes: weights and biases.

    """

    num_rows: int
    equal: float
    equal_targets: float
    largest_error: float
    mean_error: float
    nbytes: int

    def __str__(self) -> str:
        return (
            f"of {self.num_rows:,} states, {self.equal:.2%} have the same greedy choice and "
            f"{self.equal_targets:.2%} the same target; logits are off by {self.mean_error:.4f} on average "
            f"and by {self.largest_error:.4f} at most"
        )


class ExportError(ValueError):
    """A network changes too much when it is put into whole numbers; ``report`` says how."""

    def __init__(self, message: str, report: ExportReport | None = None) -> None:
        super().__init__(message)
        self.report = report


def exported(
    policy: PairNetwork,
    rows: Rows | None,
    *,
    interval: int,
    temperature: int,
    num_candidates: int,
    least_equal: float = 0.99,
) -> tuple[NetworkFile, ExportReport]:
    """Return the file of :meth:`PairPolicy.export`, and the report; ``temperature``: 256ths.

    Scales are measured on half of the rows, and choices are compared in the others.
    """
    least = finite_number("least_equal", least_equal, 0, 1)
    description = _description(policy, interval, temperature, num_candidates)
    check_description(description)
    states = calibration_rows() if rows is None else rows
    if (name := policy.not_finite()) is not None:
        raise ExportError(f"the parameter {name} has entries that are not finite; all of them must be")
    network = quantized(policy, description, _part(states, slice(0, None, 2)))
    report = compare(policy, network, _part(states, slice(1, None, 2)))
    if report.equal < least:
        raise ExportError(
            f"{report}. At least {least:.2%} must have the same greedy choice: least_equal", report
        )
    return network, report


def _description(policy: PairNetwork, interval: int, temperature: int, num_candidates: int) -> Description:
    """Return the description of a policy, with shifts still to be found."""
    if policy.teams:
        raise ValueError(
            "teams is True; only a network made with teams=False can be exported, as the engine shows "
            "networks no allies"
        )
    return Description(
        own_columns=tuple((one.name, one.version) for one in OWN),
        pair_columns=tuple((one.name, one.version) for one in PAIRS),
        candidate_width=policy.hidden.out_features,
        context_width=policy.summary.out_features,
        num_candidates=num_candidates,
        interval=interval,
        temperature=temperature,
        shifts=dict.fromkeys(_parameters(policy), 1),
    )


def _part(rows: Rows, chosen: Any) -> Rows:
    return Rows(rows.own[chosen], rows.pairs[chosen], rows.counts[chosen])


# ---- scales ------------------------------------------------------------------------------------------


@torch.no_grad()
def quantized(policy: PairNetwork, description: Description, rows: Rows) -> NetworkFile:
    """Return the network in whole numbers, with the activations of ``rows`` well within their limits."""
    most = _largest_activations(policy, rows)
    exponents = {name: _activation_exponent(most[name]) for name in ACTIVATIONS}
    layers, sizes = {}, description.sizes()
    for name, (weights, biases) in _parameters(policy).items():
        bits = [np.full(sizes[source].outputs, exponents[source]) for source in SOURCES[name]]
        inputs = np.concatenate([np.full(sizes[name].columns, COLUMN_EXPONENT), *bits])
        to = exponents.get(name, LOGIT_EXPONENT)
        layers[name] = _whole_layer(name, sizes[name], weights, biases, inputs, to)
    shifts = {name: layer.shift for name, layer in layers.items()}
    return assembled(replace(description, shifts=shifts), layers)


ACTIVATIONS = ("candidate", "hidden", "context", "summary", "joint")
"""The hidden layers, whose outputs are activations."""
SOURCES: Mapping[str, tuple[str, ...]] = {
    "candidate": (),
    "hidden": ("candidate",),
    "context": ("hidden", "hidden"),
    "summary": ("context",),
    "joint": ("hidden", "summary"),
    "score": ("joint",),
    "hold": ("summary",),
}
"""By layer: the layers whose activations are its inputs, behind its columns."""


def _activation_exponent(most: float) -> int:
    """Return how many bits behind the point activations have that become ``most``."""
    room = ACTIVATION_LIMIT / max(1.25 * most, 2**-8)  # it may become larger than any that was measured
    return min(math.floor(math.log2(room)), COLUMN_EXPONENT + 8)


def _parameters(policy: PairNetwork) -> dict[str, tuple[Array, Array]]:
    """Return weights (inputs, outputs) and biases of all layers, inputs in the order of the engine."""
    to_power_of_two = 1 / math.log(2)
    own, pair = _filled_up(_transposed(policy.own)), _filled_up(_transposed(policy.candidate))
    context = _transposed(policy.context)
    return {
        "candidate": (np.concatenate([own, pair]), _biases(policy.own)),
        "hidden": (_transposed(policy.hidden), _biases(policy.hidden)),
        "context": (
            np.concatenate([_filled_up(context[: len(OWN)]), context[len(OWN) :]]),
            _biases(policy.context),
        ),
        "summary": (_transposed(policy.summary), _biases(policy.summary)),
        "joint": (_transposed(policy.joint), _biases(policy.joint)),
        "score": _last(policy.score, to_power_of_two),
        "hold": _last(policy.hold, to_power_of_two),
    }


def _transposed(layer: Any) -> Array:
    return np.asarray(layer.weight.detach().double().cpu()).T


def _biases(layer: Any) -> Array:
    return np.asarray(layer.bias.detach().double().cpu())


def _filled_up(weights: Array) -> Array:
    """Return weights of an even number of inputs."""
    return np.pad(weights, ((0, even(len(weights)) - len(weights)), (0, 0)))


def _last(layer: Any, factor: float) -> tuple[Array, Array]:
    """Return a last layer times ``factor``, with as many outputs as the engine computes at once."""
    spare = LANES - layer.out_features
    weights, biases = np.pad(_transposed(layer), ((0, 0), (0, spare))), np.pad(_biases(layer), (0, spare))
    return weights * factor, biases * factor


def _whole_layer(
    name: str, size: LayerSize, weights: Array, biases: Array, inputs: Array, to: int
) -> NetworkLayer:
    """Return a layer in whole numbers, as exact as its sums have room for; its outputs have ``to`` bits."""
    for exponent in range(min(MOST_EXPONENT, to + MOST_SHIFT), to, -1):
        whole = np.rint(weights * 2.0 ** (exponent - inputs)[:, None])
        offsets = np.rint(biases * 2.0**exponent)
        if np.abs(whole).max() <= 32767 and np.abs(offsets).max() <= SUM_LIMIT:
            layer = NetworkLayer(whole.astype(np.int16), offsets.astype(np.int32), exponent - to)
            paired = layer.weights.reshape(-1, 2, size.outputs).transpose(0, 2, 1)
            if worst_sums(size, paired, layer.biases, layer.shift).max() <= SUM_LIMIT:
                return layer
    raise ExportError(
        f"the layer {name} has weights of up to {np.abs(weights).max():g} and biases of up to "
        f"{np.abs(biases).max():g}, which saturate whole numbers; smaller ones, as weight decay makes them, "
        "do not"
    )


# ---- what has changed --------------------------------------------------------------------------------


def _batches(rows: Rows, size: int = 4096) -> Iterator[tuple[Tensor, Tensor]]:
    for i in range(0, len(rows.counts), size):
        yield tuple(torch.from_numpy(array[i : i + size].astype(np.float32) / UNIT) for array in rows[:2])


def _largest_activations(policy: PairNetwork, rows: Rows) -> dict[str, float]:
    """Return the largest activation of each hidden layer."""
    found = dict.fromkeys(ACTIVATIONS, 0.0)
    for own, pairs in _batches(rows):
        for name, values in policy.activations(own, pairs).items():
            if values.numel():
                found[name] = max(float(values.max()), found[name])  # NaN, if there is any
            if not math.isfinite(found[name]):
                raise ExportError(
                    f"the layer {name} has activations that are not finite; smaller weights, as weight decay "
                    "makes them, keep them finite"
                )
    return found


@torch.no_grad()
def compare(policy: PairNetwork, network: NetworkFile, rows: Rows) -> ExportReport:
    """Return the differences of ``network`` and ``policy`` in the ``rows`` with a legal launch."""
    legal = (rows.pairs[:, :, OF_PAIR.legal] > 0) & (rows.pairs[:, :, OF_PAIR.there] > 0)
    asked, legal = _part(rows, legal.any(1)), legal[legal.any(1)]
    if not len(legal):
        raise ExportError("the rows to calibrate on have no state in which a launch is legal; some must")
    wanted = _real_logits(policy, asked)
    chosen, found = _whole_logits(network, asked)
    wanted[:, 1:, 0] = np.where(legal, wanted[:, 1:, 0], -np.inf)
    targets = wanted[:, :, 0].argmax(1)
    fractions = np.where(targets == 0, 0, wanted[np.arange(len(targets)), targets, 1:].argmax(1))
    is_target = chosen[:, 0] == targets
    counts = np.concatenate(
        [np.zeros((len(legal), 1, 11), bool), np.repeat(legal[:, :, None], 11, 2)], axis=1
    )
    counts[:, 0, 0] = True
    errors = np.abs(found - wanted)[counts]
    return ExportReport(
        num_rows=len(legal),
        equal=float((is_target & (chosen[:, 1] == fractions)).mean()),
        equal_targets=float(is_target.mean()),
        largest_error=float(errors.max()),
        mean_error=float(errors.mean()),
        nbytes=sum(tensor.nbytes for tensor in network.tensors.values()),
    )


def _real_logits(policy: PairNetwork, rows: Rows) -> Array:
    """Return float32 (B, 1 + C, 1 + 10): logits of targets, holding first, and of the fractions."""
    parts = []
    for own, pairs in _batches(rows):
        found = policy.choices(own, pairs)
        logits = torch.zeros(len(own), 1 + pairs.shape[1], 1 + NUM_FRACTIONS)
        logits[:, 0, 0] = found.hold
        logits[:, 1:, 0], logits[:, 1:, 1:] = found.targets, found.fractions
        parts.append(logits)
    return torch.cat(parts).numpy()


def _whole_logits(network: NetworkFile, rows: Rows) -> tuple[Array, Array]:
    """Return int64 (B, 2), the engine's choices for ``rows``, and its logits as ``_real_logits`` does."""
    num_rows, num_candidates = rows.pairs.shape[:2]
    chosen = np.zeros((num_rows, 2), np.int64)
    logits = np.zeros((num_rows, 1 + num_candidates, 1 + NUM_FRACTIONS), np.int64)
    places, numbers = places_in_layout(network), np.zeros((num_rows, 2), np.uint64)
    row = row_of(network, places, temperature=0)
    choose_for_rows(row, make_network_scratch(), rows, numbers, chosen, logits)
    return chosen, logits * (math.log(2) / 2**LOGIT_EXPONENT)
