#!/usr/bin/env python3
"""Whether a trained network in whole numbers, as the engine plays it, is what it was in PyTorch.

    python benchmarks/bots/network_rounding.py                4,000 games greedily, 4,000 drawn: some minutes
    python benchmarks/bots/network_rounding.py --games 40     whether it runs

The two have every other seat of each game. Every game is played twice, the second time with seats exchanged,
and the two together are one draw. Both decide at the same ticks: those of the engine's clock of the seat. In
every state in which PyTorch decides and a launch is legal, the greedy choice in whole numbers is compared
with its own. Greedily, each plays its likeliest action. Drawn, each plays actions by their probabilities.

The result, with the machine and the versions, goes to benchmarks/results/network_rounding.json. Exit code 1
if a goal is missed: with fewer choices equal, or one of the two better by more than the interval.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

import territorial
from benchmarks import goals, harness
from territorial.actions.encoding import unflatten
from territorial.actions.formats import PairsFormat
from territorial.bots import Network
from territorial.bots.network import Rows, choose_for_rows
from territorial.bots.network_layers import TEMPERATURE, make_network_scratch
from territorial.constants import NUM_FRACTIONS
from territorial.engine.pair_observations import PairObservations
from territorial.evaluation.statistics import Z
from territorial.files import safetensors
from territorial.nets import PairPolicy
from territorial.observation.pair_columns import NUM_CANDIDATES, PAIRS, UNIT, column

RESULT = harness.RESULTS / "network_rounding.json"
TRAINED = harness.EXAMPLES.parent / "tests" / "bots" / "trained"
CONFIG = territorial.GameConfig(height=64, width=64, num_players=8)
TEMPERATURES = {"greedy": 0.0, "drawn": 1.0}
BATCH = 500
"""Games side by side."""
THERE, LEGAL = column(PAIRS, "there"), column(PAIRS, "legal")
ACTIONS = PairsFormat(CONFIG.num_players)
LEAST_EQUAL = goals.bound("network_rounding", "ways/*/equal")


def main(argv: list[str] | None = None) -> int:
    """Play, print, write, and return the exit code: 1 if a goal is missed."""
    parsed = parse(argv)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    path, policy = parsed.trained / "network.safetensors", policy_of(parsed.trained / "weights.safetensors")
    found = {}
    for name, temperature in TEMPERATURES.items():
        found[name] = RoundedAgainstReal(Network(path, temperature=temperature), policy).play(
            parsed.games // 2
        )
        print(text_of(name, found[name]), flush=True)
    result = {"games": parsed.games, "height": CONFIG.height, "num_players": CONFIG.num_players}
    harness.write(parsed.json, {**result, "ways": found, "versions": harness.versions_of("torch")})
    return int(any(is_missed(one) for one in found.values()))


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Return the arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--games", type=even_number, default=4000, help="games to play; an even number (default %(default)s)"
    )
    parser.add_argument(
        "--trained", type=Path, default=TRAINED, help="folder of the network (default tests/bots/trained)"
    )
    harness.add_json(parser, RESULT)
    return parser.parse_args(argv)


def even_number(text: str) -> int:
    """Return the number of games that a text says."""
    number = int(text)
    if number < 4 or number % 2:
        raise argparse.ArgumentTypeError(f"it is {number}; it must be an even number, at least 4")
    return number


def policy_of(path: Path) -> PairPolicy:
    """Return the small network whose weights examples/ppo.py saved."""
    with open(path, "rb") as file:
        arrays = safetensors.read(file).arrays
    policy = PairPolicy("small")
    policy.load_state_dict(
        {name.removeprefix("policy."): torch.tensor(part) for name, part in arrays.items()}
    )
    return policy


class Agreement:
    """How many decisions there were, and in how many both chose the same."""

    def __init__(self) -> None:
        self.number = self.equal = self.equal_targets = 0

    def add(self, ours: npt.NDArray[np.int64], theirs: npt.NDArray[np.int64]) -> None:
        """Count the choices (N, 2) of both: what, and how much."""
        same = ours == theirs
        self.number += len(same)
        self.equal += int(same.all(axis=1).sum())
        self.equal_targets += int(same[:, 0].sum())


class RoundedAgainstReal:
    """Games between a network in the engine and the policy that it was.

    Args:
        network: in the engine.
        policy: in PyTorch.

    """

    def __init__(self, network: Network, policy: PairPolicy) -> None:
        self.network, self.policy = network, policy
        self.is_greedy = network.row()[TEMPERATURE] == 0
        self.decisions, self.scratch = Agreement(), make_network_scratch()

    def play(self, num_seeds: int) -> dict[str, Any]:
        """Return what comes of two games for each of the seeds 0, 1 ..."""
        parts = [
            self.places(np.arange(first, min(first + BATCH, num_seeds)))
            for first in range(0, num_seeds, BATCH)
        ]
        whole, real = np.concatenate(parts, axis=1)
        lead = real - whole
        return {
            "mean_place": {"whole numbers": float(whole.mean()), "PyTorch": float(real.mean())},
            "lead": float(lead.mean()),
            "half_interval": float(Z * lead.std(ddof=1) / len(lead) ** 0.5),
            "decisions": self.decisions.number,
            "equal": self.decisions.equal / self.decisions.number,
            "equal_targets": self.decisions.equal_targets / self.decisions.number,
        }

    def places(self, seeds: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return the mean places (2, N) of whole numbers and of PyTorch, over both games of each seed."""
        places: list[list[npt.NDArray[np.float64]]] = [[], []]
        for first in (0, 1):
            harness.tell(f"games of the seeds {seeds[0]} to {seeds[-1]}, {first + 1} of 2")
            is_real = np.arange(CONFIG.num_players) % 2 == first
            found = self.game(seeds, is_real)
            for which, seats in zip(places, (~is_real, is_real), strict=True):
                which.append(found[:, seats].mean(axis=1))
        harness.tell("")
        return np.array(places).mean(axis=1)

    def game(self, seeds: npt.NDArray[np.int64], is_real: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
        """Return the places (N, P) of whole games in which PyTorch has the seats of ``is_real``."""
        seats = ["external" if real else self.network for real in is_real]
        game = new_games(seeds, seats)
        wake = new_games(seeds, [self.network] * CONFIG.num_players).state.wake[:, 1:].copy()
        while not game.state.over.all():
            is_turn = is_real & (game.state.alive[:, 1:] != 0) & (game.state.over[:, None] == 0)
            games, places = np.nonzero(is_turn & (wake <= game.state.tick[:, None]))
            actions = np.zeros((len(seeds), CONFIG.num_players, 2), np.int64)
            actions[games, places] = self.chosen(game, games, places + 1)
            wake[games, places] += self.network.interval
            game.step(actions)
        return game.state.place2[:, 1:] / 2

    def chosen(
        self, game: territorial.VecGame, games: npt.NDArray[np.int64], seats: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int64]:
        """Return the actions (N, 2) of PyTorch, and count where whole numbers would have chosen the same."""
        seen = game.pairs(games, seats, NUM_CANDIDATES, "int16")
        legal = seen.pairs[:, :, LEGAL] > 0
        mask = torch.from_numpy(ACTIONS.masks_of(legal))
        own, pairs = (torch.from_numpy(array.astype(np.float32) / UNIT) for array in seen[:2])
        with torch.no_grad():
            logits, _ = self.policy(own, pairs, mask)
        likeliest = self.policy.greedy(logits)
        rows = np.flatnonzero(legal.any(axis=1))
        self.decisions.add(self.in_whole_numbers(seen, rows), unflatten(likeliest.numpy()[rows]))
        actions = likeliest if self.is_greedy else logits.exp().multinomial(1)[:, 0]
        return ACTIONS.aimed(actions.numpy()[:, None], seen.targets)

    def in_whole_numbers(self, seen: PairObservations, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
        """Return the likeliest actions (N, 2) in whole numbers, in the states ``rows`` of ``seen``."""
        own, pairs = seen.own[rows], seen.pairs[rows]
        states = Rows(own, pairs, (pairs[:, :, THERE] > 0).sum(axis=1))
        chosen = np.zeros((len(rows), 2), np.int64)
        logits = np.zeros((len(rows), 1 + pairs.shape[1], 1 + NUM_FRACTIONS), np.int64)
        numbers = np.zeros((len(rows), 2), np.uint64)
        net = self.network.row()
        net[TEMPERATURE] = 0
        choose_for_rows(net, self.scratch, states, numbers, chosen, logits)
        return chosen


def new_games(seeds: npt.NDArray[np.int64], seats: list[Any]) -> territorial.VecGame:
    """Return games as they begin, one for each seed."""
    game = territorial.VecGame(CONFIG, len(seeds), seats=seats, autoreset="disabled", observe=False)
    game.reset(seeds=seeds.tolist())
    return game


def is_missed(found: dict[str, Any]) -> bool:
    """Return whether too few choices are equal, or one of the two is better by more than the interval."""
    return found["equal"] < LEAST_EQUAL or abs(found["lead"]) > found["half_interval"]


def text_of(name: str, found: dict[str, Any]) -> str:
    """Return what was found, in a line."""
    return (
        "{name}: {equal:.2%} of {decisions:,} decisions equal, {equal_targets:.2%} with the same target; "
        "whole numbers place better by {lead:.3f} ± {half_interval:.3f}".format(name=name, **found)
    )


if __name__ == "__main__":
    sys.exit(main())
