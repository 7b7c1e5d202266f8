#!/usr/bin/env python3
"""Evaluates 64 mutated styles of a bot in one batch.

    python examples/style_search.py

A style is a bot as data (``territorial.bots.Style``), so a population needs neither Python while it plays
nor a compiler: its settings stand in a table of the batch.
"""

import argparse
from dataclasses import replace

import numpy as np

import territorial
from territorial.bots import FreeLand, Move, Style
from territorial.bots.targets import BY_FORCE

PARENT = Style(
    name="parent",
    interval=100,
    opening=200,
    free=FreeLand(send=20, later=30, tops_up=False),
    second=Move(by=BY_FORCE, from_=100, send=30, reserve=60),
    jitter=0,
)


def mutant(name: str, rng: np.random.Generator) -> Style:
    """Return a style whose numbers are a little different."""

    def near(value: int, low: int, high: int) -> int:
        return int(np.clip(round(value * np.exp(rng.normal(0, 0.3))), low, high))

    free, attack = PARENT.free, PARENT.second
    return replace(
        PARENT,
        name=name,
        interval=near(PARENT.interval, 10, 400),
        free=replace(free, send=near(free.send, 2, 100), later=near(free.later, 2, 100)),
        second=replace(
            attack,
            from_=near(attack.from_, 1, 150),
            send=near(attack.send, 2, 100),
            reserve=near(attack.reserve, 1, 150),
        ),
    )


def evaluate(population: list[Style], config: territorial.GameConfig, rounds: int, seed: int) -> np.ndarray:
    """Return the mean place of every style, of games in which all play ``rounds`` times, on drawn seats."""
    players, size = config.num_players, len(population)
    rng, games = np.random.default_rng(seed), rounds * size // players
    drawn = np.concatenate([rng.permutation(size) for _ in range(rounds)]).reshape(games, players)
    game = territorial.VecGame(config, games, autoreset="disabled", observe=False)
    for k in range(games):
        game.set_next_game(k, [population[i] for i in drawn[k]], seed=seed + k)
    game.reset()
    while not game.state.over.all():
        game.step()
    places = game.state.doubled_place[:, 1:] / 2
    return np.bincount(drawn.ravel(), places.ravel(), size) / rounds


def main() -> None:
    """Evaluate a population, and print those that did best."""
    parser = argparse.ArgumentParser(description="Evaluate a population of mutated styles.")
    for name, default, meaning in (
        ("styles", 64, "a multiple of 8"),
        ("games-per-style", 16, "games that each style plays"),
        ("seed", 0, "random seed"),
        ("max-ticks", 5000, "the game ends after this many ticks"),
    ):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{meaning} (default %(default)s)")
    parsed = parser.parse_args()
    rng = np.random.default_rng(parsed.seed)
    population = [PARENT, *(mutant(f"mutant-{i}", rng) for i in range(1, parsed.styles))]
    config = territorial.GameConfig(height=64, width=64, num_players=8, max_ticks=parsed.max_ticks)
    places = evaluate(population, config, parsed.games_per_style, parsed.seed)
    for i in np.argsort(places, kind="stable")[:8]:
        style = population[i]
        print(f"{style.name:12} place {places[i]:4.2f}  every {style.interval} ticks, {style.second}")


if __name__ == "__main__":
    main()
