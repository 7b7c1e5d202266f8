#!/usr/bin/env python3
"""What opponents with networks cost: in the engine, in PyTorch, and in the pool of RLlib's runner.

    python benchmarks/bots/network_opponents.py                 some minutes
    python benchmarks/bots/network_opponents.py --rounds 1      whether it runs

Every seat of 64 games at full size is a network that decides every 50 ticks. The engine plays these games. At
some moments of them, as many decisions as a step has are made in four other ways, of seats drawn from those
that live, and nothing is done with what comes of it:

    batched        one network on pairs in PyTorch, called once for all seats of all games
    one by one     32 such networks, each called for its own seat of all games
    pool, features; pool, reference network
                   32 snapshots in the pool of frozen modules, of what RLlib's runner observes

Times are those of the processor, on one thread. Observing is part of each way, but of the pool's: there it is
the engine's own. The result, with the machine and the versions, goes to
benchmarks/results/network_opponents.json. Exit code 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

import territorial
from benchmarks import harness
from benchmarks.bots.network_cost import INTERVAL, in_games
from territorial.actions.masks import pair_masks
from territorial.bots import Network
from territorial.nets import PairPolicy
from territorial.nets.board_policy import BoardPolicy, MakeTrunk
from territorial.nets.features import FeatureTrunk
from territorial.nets.frozen import FrozenPolicies, manifest_of
from territorial.nets.reference_net import ReferenceTrunk
from territorial.observation.pair_columns import PAIRS, column
from territorial.snapshots.store import SnapshotStore

RESULT = harness.RESULTS / "network_opponents.json"
CONFIG = territorial.GameConfig()
NUM_GAMES, FRAMES = 64, 4
STEPS_BETWEEN = 100
MOMENTS = 4
LEGAL = column(PAIRS, "legal")
GOALS = {"batched": 1.3, "one by one": 10.0, "pool, reference network": 100.0}
"""How many times that of the engine a decision takes at least."""
TRUNKS: Mapping[str, MakeTrunk] = {"features": FeatureTrunk, "reference": ReferenceTrunk}
Way = Callable[[territorial.VecGame, np.ndarray, np.ndarray], object]
"""Decides for seats (N,) of games (N,) as they stand."""


def main(argv: list[str] | None = None) -> int:
    """Measure, print, write, and return the exit code: 1 if a goal is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    harness.add_rounds(parser, 3)
    harness.add_json(parser, RESULT)
    parsed = parser.parse_args(argv)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        policies = [opinionated() for _ in range(CONFIG.num_players)]
        path = Path(folder) / "network.safetensors"
        policies[0].export(path, interval=INTERVAL, least_equal=0)
        ways: dict[str, Way] = {
            "batched": batched(policies[0]),
            "one by one": one_by_one(policies),
            "pool, features": pool(Path(folder) / "features", "features"),
            "pool, reference network": pool(Path(folder) / "reference", "reference"),
        }
        network = Network(path)
        found = compared(in_games(network, CONFIG, parsed.rounds), measure(network, ways, parsed.rounds))
    print(text_of(found))
    harness.write(parsed.json, {**found, "games": NUM_GAMES, "versions": harness.versions_of("torch")})
    return int(any(found["ways"][name]["times_a_decision"] < goal for name, goal in GOALS.items()))


def opinionated() -> PairPolicy:
    """Return a network of random weights with logits some units apart, which launches where it may."""
    policy = PairPolicy()
    policy.hold.bias.fill_(-20.0)
    for layer in (policy.joint, policy.score, policy.context, policy.hold):
        layer.weight *= 3.0
    return policy


# ---- ways to decide ----------------------------------------------------------------------------------


def masked_pairs(game: territorial.VecGame, games: np.ndarray, seats: np.ndarray) -> tuple[torch.Tensor, ...]:
    """Return own, pairs and masks as a ``PairPolicy`` takes them."""
    seen = game.pairs(games, seats)
    legal = (seen.pairs[:, :, LEGAL] > 0).repeat(10, axis=1)
    mask = np.concatenate([np.ones((len(seats), 1), np.bool_), legal], axis=1)
    return torch.from_numpy(seen.own), torch.from_numpy(seen.pairs), torch.from_numpy(mask)


def batched(policy: PairPolicy) -> Way:
    """Return one network for all seats of all games."""

    def decide(game: territorial.VecGame, games: np.ndarray, seats: np.ndarray) -> object:
        logits, _ = policy(*masked_pairs(game, games, seats))
        return policy.greedy(logits)

    return decide


def one_by_one(policies: list[PairPolicy]) -> Way:
    """Return a network for each seat."""

    def decide(game: territorial.VecGame, games: np.ndarray, seats: np.ndarray) -> object:
        parts = masked_pairs(game, games, seats)
        chosen = []
        for seat in np.unique(seats):
            rows = torch.from_numpy(np.flatnonzero(seats == seat))
            logits, _ = policies[seat - 1](*(part[rows] for part in parts))
            chosen.append(policies[seat - 1].greedy(logits))
        return chosen

    return decide


def pool(folder: Path, architecture: str) -> Way:
    """Return 32 snapshots of networks on the observations of RLlib's runner, one a seat."""
    observed = territorial.VecGame(CONFIG, NUM_GAMES, autoreset="disabled", frames=FRAMES)
    observed.reset(0)
    layout, store = observed.layout, SnapshotStore(folder)
    for seat in range(1, CONFIG.num_players + 1):
        policy = BoardPolicy(layout, CONFIG, TRUNKS[architecture](layout, CONFIG))
        weights = {name: part.detach().numpy() for name, part in policy.state_dict().items()}
        store.add(f"seat-{seat}", weights, manifest_of(layout, architecture, {}))
    players = FrozenPolicies(store, layout, CONFIG, TRUNKS)

    def decide(game: territorial.VecGame, games: np.ndarray, seats: np.ndarray) -> object:
        seen = observed.observations
        rows = {"seat": seats[:, None], "action_mask": pair_masks(seen.masks, games, seats)}
        shared = {name: getattr(seen, name) for name in ("players", "borders", "globals")}
        arrays = {**rows, **shared, "observations": seen.planes, "frame": games[:, None]}
        tensors = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
        return players.act([f"seat-{seat}" for seat in seats], tensors)

    return decide


# ---- measuring ---------------------------------------------------------------------------------------


def measure(network: Network, ways: Mapping[str, Way], rounds: int) -> dict[str, float]:
    """Return the microseconds a decision of each way: the median over moments of whole games."""
    game = territorial.VecGame(CONFIG, NUM_GAMES, 0, seats=[network] * CONFIG.num_players, observe=False)
    game.reset(0)
    us: dict[str, list[float]] = {name: [] for name in ways}
    moments = MOMENTS * rounds
    rng = np.random.default_rng(0)
    for moment in range(moments):
        harness.tell(f"moment {moment + 1} of {moments}")
        for _ in range(STEPS_BETWEEN):
            game.step()
        games, seats = np.nonzero(game.state.alive[:, 1:])
        is_turn = rng.random(len(seats)) < CONFIG.decision_every / INTERVAL
        games, seats = games[is_turn], seats[is_turn]
        for name, decide in ways.items():
            started = time.process_time()
            decide(game, games, seats + 1)
            us[name].append(1e6 * (time.process_time() - started) / len(seats))
    harness.tell("")
    return {name: float(np.median(values)) for name, values in us.items()}


def compared(engine: Mapping[str, float], us: Mapping[str, float]) -> dict[str, Any]:
    """Return what a step costs in the engine, and what it would cost with each way to decide."""
    decisions = engine["living"] * CONFIG.decision_every / INTERVAL
    found: dict[str, Any] = {
        "engine": {**engine, "decisions_a_step": decisions, "steps_per_second": 1e6 / engine["step_us"]},
        "ways": {},
    }
    for name, us_a_decision in us.items():
        step_us = engine["step_us"] - engine["bots_us"] + us_a_decision * decisions
        found["ways"][name] = {
            "us_a_decision": us_a_decision,
            "step_us": step_us,
            "times_a_decision": us_a_decision / engine["us_a_decision"],
            "times_a_step": step_us / engine["step_us"],
        }
    return found


def text_of(found: Mapping[str, Any]) -> str:
    """Return what was found, in lines."""
    engine = found["engine"]
    lines = [
        "in the engine: {steps_per_second:,.0f} steps/s, {step_us:.1f} us a step with {living:.1f} living "
        "seats, {us_a_decision:.2f} us a decision".format(**engine)
    ]
    for name, way in found["ways"].items():
        lines.append(
            f"{name}: {way['us_a_decision']:,.1f} us a decision, {way['times_a_decision']:,.1f} times the "
            f"engine's; {way['step_us']:,.1f} us a step, {way['times_a_step']:,.1f} times"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
