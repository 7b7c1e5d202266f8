#!/usr/bin/env python3
"""Whether chances of winning come true: positions, play-outs from each, and one more ending as the truth.

    python benchmarks/bots/calibration.py                       1,000 positions of 100 games each, 10 minutes
    python benchmarks/bots/calibration.py --positions 50

Bins are made by the first half of the play-outs; the second half is what is predicted for the last ending, so
that being in a bin favours neither.
"""

import argparse

import numpy as np

import territorial
from territorial.engine.seats import EXTERNAL
from territorial.evaluation.intervals import wilson
from territorial.evaluation.what_if import Position, play_on
from territorial.evaluation.workers import Processes
from territorial.replay.replay import play_to_tick

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--positions", type=int, default=1000)
parser.add_argument("--games", type=int, default=100, help="play-outs from each position")
parser.add_argument("--seats", default="mixed-2", help="a line-up")
parser.add_argument("--processes", type=int)
BINS = 10


def recorded(seats: tuple[str, ...], count: int) -> list[territorial.Replay]:
    """Return so many games, each of a seed of its own."""
    found: list[territorial.Replay] = []
    game = territorial.VecGame(territorial.GameConfig(), 32, seed=1, seats=seats, observe=False)
    with territorial.Recorder(game, lambda _, replay: found.append(replay)):
        game.reset()
        while len(found) < count:
            game.step(repeat=50)
    return found[:count]


def main() -> None:
    """Print how often seats of each bin won, and what was predicted."""
    asked = parser.parse_args()
    random, predicted, won, places = np.random.default_rng(0), [], [], []
    for replay in recorded(territorial.LINEUPS[asked.seats].seats, asked.positions):
        tick = 10 * int(random.integers(replay.num_ticks // 10))
        game, sitting, _ = play_to_tick(replay, tick, {})
        position = {"": Position(game.save(0), [one or EXTERNAL for one in sitting], tick)}
        ended = play_on(replay, position, asked.games + 1, Processes(asked.processes))[0][""]
        alive = game.state.alive[0, 1:] != 0
        half, wins = asked.games // 2, ended[:, alive] == 1
        predicted.append(np.stack([wins[:half].mean(0), wins[half:-1].mean(0)], axis=1))
        won.append(wins[-1])
        places.append(np.stack([ended[:-1, alive].mean(0), ended[-1, alive]], axis=1))
    chances, truth, of_places = np.concatenate(predicted), np.concatenate(won), np.concatenate(places)
    print(f"{'chance':>12}{'seats':>9}{'predicted':>11}{'won':>8}  interval of 95 %")
    for low in np.arange(BINS) / BINS:
        within = (chances[:, 0] >= low) & ((chances[:, 0] < low + 1 / BINS) | (low + 1 / BINS >= 1))
        if within.any():
            share = wilson(float(truth[within].mean()), int(within.sum()))
            print(
                f"{low:5.1f} to {low + 1 / BINS:3.1f}{within.sum():9,}{chances[within, 1].mean():11.3f}"
                f"{share.value:8.3f}  {share.low:.3f} to {share.high:.3f}"
            )
    off = of_places[:, 1] - of_places[:, 0]
    print(f"place less expected place: {off.mean():+.3f}, {len(off):,} living seats")


if __name__ == "__main__":
    main()
