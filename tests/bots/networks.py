"""Networks of random and of trained weights, random rows of pairs and those of games, for the tests."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from territorial.bots.network import (
    Rows,
    choose_for_rows,
    places_in_layout,
    row_of,
)
from territorial.bots.network_file import (
    LAYERS,
    Description,
    NetworkFile,
    NetworkLayer,
    assembled,
    read,
    worst_sums,
    write,
)
from territorial.bots.network_layers import make_network_scratch
from territorial.config import GameConfig
from territorial.engine.vec_game import VecGame
from territorial.observation.pair_columns import OWN, PAIRS

# A small network that learned: README.md there says how.
TRAINED = Path(__file__).parent / "trained"
THERE, LEGAL = (
    next(i for i, column in enumerate(PAIRS) if column.name == name) for name in ("there", "legal")
)


def description(**fields: Any) -> Description:
    """Return a description of a small network, but for ``fields``."""
    given: dict[str, Any] = {
        "own_columns": tuple((column.name, column.version) for column in OWN),
        "pair_columns": tuple((column.name, column.version) for column in PAIRS),
        "candidate_width": 32,
        "context_width": 64,
        "num_candidates": 8,
        "interval": 50,
        "temperature": 0,
        "shifts": dict.fromkeys(LAYERS, 12) | {"score": 14, "hold": 14},
    }
    return Description(**given | fields)


def random_layers(about: Description, rng: np.random.Generator) -> dict[str, NetworkLayer]:
    """Return layers whose sums come close to the limit, one of each hidden layer as close as can be."""
    layers = {}
    for name, size in about.sizes().items():
        largest = min(
            32767,
            int(
                2**31
                * (0.2 if name == "hold" else 1.2)
                / (size.columns * 16384 + (size.inputs - size.columns) * 8191)
            ),
        )
        weights = rng.integers(-largest, largest, (size.inputs, size.outputs), np.int16, endpoint=True)
        biases = rng.integers(-(2**16), 2**16, size.outputs, np.int32)
        paired = weights.reshape(-1, 2, size.outputs).transpose(0, 2, 1)
        worst = worst_sums(size, paired, np.zeros(size.outputs, np.int32), about.shifts[name])
        room = 2**31 - 1 - worst
        if name not in ("score", "hold"):
            biases[0] = np.clip(rng.choice((-1, 1)) * room[0], -(2**31) + 1, 2**31 - 1)
        layers[name] = NetworkLayer(weights, biases, about.shifts[name])
    return layers


def random_file(path: Path, seed: int, **fields: Any) -> NetworkFile:
    """Return a network of random weights, written to ``path`` and read again."""
    about = description(**fields)
    write(path, assembled(about, random_layers(about, np.random.default_rng(seed))))
    return read(path)


def random_rows(amount: int, seed: int, num_candidates: int = 8) -> Rows:
    """Return rows of all numbers that columns can have, with 0 to ``num_candidates`` candidates."""
    rng = np.random.default_rng(seed)
    own = rng.integers(-(2**15), 2**15, (amount, len(OWN)), np.int16)
    pairs = rng.integers(-(2**15), 2**15, (amount, num_candidates, len(PAIRS)), np.int16)
    own[::2] //= 8
    pairs[::2] //= 8
    counts = rng.integers(0, num_candidates, amount, endpoint=True)
    is_there = np.arange(num_candidates) < counts[:, None]
    pairs[:, :, THERE] = 4096
    pairs[:, :, LEGAL] = 4096 * rng.integers(0, 2, pairs.shape[:2])
    pairs *= is_there[:, :, None]
    return Rows(own, pairs, counts.astype(np.int64))


def rows_of_games(
    amount: int, seats: Sequence[Any], config: GameConfig, *, num_games: int = 1, seed: int = 0
) -> Rows:
    """Return what the living seats of games see every 50 ticks, until there are ``amount`` rows."""
    game = VecGame(config, num_games=num_games, seats=seats, seed=seed, observe=False)
    game.reset()
    found: list[Any] = []
    while sum(len(seen.own) for seen in found) < amount:
        games, places = np.nonzero(game.state.alive[:, 1:])
        found.append(game.pairs(games, places + 1, 8, "int16"))
        game.step(repeat=50 // config.decision_every)
    own, pairs = (np.concatenate([seen[i] for seen in found])[:amount] for i in (0, 1))
    return Rows(own, pairs, (pairs[:, :, THERE] > 0).sum(1))


def choices(file: NetworkFile, rows: Rows, numbers: Any, temperature: int | None = None) -> tuple[Any, Any]:
    """Return what the engine's network chooses for ``rows``, and its logits."""
    heat = file.description.temperature if temperature is None else temperature
    row = row_of(file, places_in_layout(file), heat)
    chosen = np.zeros((len(rows.counts), 2), np.int64)
    logits = np.zeros((len(rows.counts), 1 + rows.pairs.shape[1], 11), np.int64)
    choose_for_rows(row, make_network_scratch(), rows, numbers, chosen, logits)
    return chosen, logits


def named(rows: Rows, b: int) -> tuple[dict[str, int], list[dict[str, int]]]:
    """Return row ``b`` as the reference implementation reads it: own columns and candidates by name."""
    names = [column.name for column in PAIRS]
    candidates = [dict(zip(names, row, strict=True)) for row in rows.pairs[b, : rows.counts[b]].tolist()]
    return dict(zip([column.name for column in OWN], rows.own[b].tolist(), strict=True)), candidates
