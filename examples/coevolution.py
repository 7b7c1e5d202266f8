"""Paired open-ended co-evolution: scenarios and players that qualify each other, by ``territorial.evaluate``.

After POET (Wang and others, 2019). There are pairs of a scenario and the player that does best in it. In
every round scenarios have children, with another map, size, set of bots or number of own seats. A child is
kept if it is neither too hard nor too easy for the players there are, and different from the others. Then
every player is improved in its own scenario, and a player that does better in another pair's scenario moves
in there. Everything is one call of ``evaluate``: all players in all scenarios.

    python examples/coevolution.py                     a few minutes on two cores
    python examples/coevolution.py --generations 20 --episodes 48
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace

import numpy as np
from tuned_bot import TunedBot

from territorial import GameConfig, Scenario, evaluate

FIELDS = ("novice", "turtle", "metronome", "banker")
MAPS = ("open", "lakes", "mountains", "islands")


@dataclass(frozen=True)
class Niche:
    """A scenario, described by what a child may have otherwise."""

    side: int = 32
    map: str = "open"
    field: tuple[str, ...] = ("novice",)
    own: int = 2
    players: int = 6

    def scenario(self) -> Scenario:
        """Return what is evaluated."""
        others = [self.field[i % len(self.field)] for i in range(self.players - self.own)]
        config = GameConfig(
            height=self.side,
            width=self.side,
            num_players=self.players,
            map=self.map,
            num_maps=4,
            max_ticks=3000,
        )
        return Scenario(config=config, seats=["agent"] * self.own + others)

    def child(self, rng: np.random.Generator) -> Niche:
        """Return a niche that differs in one thing."""
        change = rng.integers(4)
        if change == 0:
            return replace(self, side=int(np.clip(self.side + rng.choice([-8, 8]), 24, 64)))
        if change == 1:
            return replace(self, map=str(rng.choice(MAPS)))
        if change == 2:
            return replace(self, field=tuple(sorted({*self.field[-2:], str(rng.choice(FIELDS))})))
        return replace(self, own=int(np.clip(self.own + rng.choice([-1, 1]), 1, 3)))


def scores(args: argparse.Namespace, players: list[TunedBot], niches: list[Niche], seed: int) -> np.ndarray:
    """Return (players, niches): what part of the other seats each is above."""
    scenarios = {f"niche {i}": niche.scenario() for i, niche in enumerate(niches)}
    found = evaluate(
        {bot.name: bot for bot in players},
        scenarios,
        args.episodes,
        seed=seed,
        processes=args.processes,
        progress=False,
    )
    return found.matrix("score").value


def is_new(niche: Niche, niches: list[Niche], row: np.ndarray, columns: np.ndarray) -> bool:
    """Return whether players are ranked otherwise in it than in every niche there is."""
    if niche in niches:
        return False
    return all(np.abs(row - column).max() > 0.05 for column in columns.T)


def grow(args: argparse.Namespace, pairs: list, rng: np.random.Generator, seed: int) -> list:
    """Return the pairs with the children that qualify; the oldest make room."""
    players, niches = [bot for bot, _ in pairs], [niche for _, niche in pairs]
    children = [niches[int(rng.integers(len(niches)))].child(rng) for _ in range(args.children)]
    table = scores(args, players, [*niches, *children], seed)
    old, new = table[:, : len(niches)], table[:, len(niches) :]
    for j, niche in enumerate(children):
        best = new[:, j].max()
        if args.too_hard <= best <= args.too_easy and is_new(niche, niches, new[:, j], old):
            pairs = [*pairs, (players[int(new[:, j].argmax())], niche)]
            niches = [*niches, niche]
    return pairs[-args.pairs :]


def improve(args: argparse.Namespace, pairs: list, rng: np.random.Generator, round_: int) -> list:
    """Return the pairs, each with the best in its niche of all players and of their children."""
    niches = [niche for _, niche in pairs]
    family = {}
    for i, (bot, _) in enumerate(pairs):
        family[bot.name] = bot
        for c in range(args.offspring):
            child = bot.child(f"r{round_}-p{i}-c{c}", rng)
            family[child.name] = child
    players = list(family.values())
    table = scores(args, players, niches, seed=10_000 * round_)
    return [(players[int(table[:, j].argmax())], niche) for j, niche in enumerate(niches)]


def main(argv: list[str] | None = None) -> list[tuple[TunedBot, Niche]]:
    """Evolve, print what there is after every round, and return the last pairs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name, default, meaning in (
        ("generations", 5, "generations of the search"),
        ("pairs", 5, "pairs that are kept"),
        ("children", 4, "new scenarios tried in each generation"),
        ("offspring", 3, "children of each player in a generation"),
        ("episodes", 16, "episodes of each pair in an evaluation"),
        ("too-hard", 0.25, "score of the best player below which a scenario is too hard"),
        ("too-easy", 0.97, "score of the best player above which a scenario is too easy"),
        ("seed", 0, "random seed"),
    ):
        parser.add_argument(
            f"--{name}", type=type(default), default=default, help=f"{meaning} (default %(default)s)"
        )
    parser.add_argument(
        "--processes", type=int, help="worker processes that play the games (default one per usable core)"
    )
    args = parser.parse_args(argv)
    rng = np.random.default_rng(args.seed)
    pairs = [(TunedBot("first"), Niche())]
    for round_ in range(1, args.generations + 1):
        pairs = grow(args, pairs, rng, seed=10_000 * round_ + 5_000)
        pairs = improve(args, pairs, rng, round_)
        print(f"round {round_}: {len(pairs)} pairs, {len({bot.name for bot, _ in pairs})} players")
        for bot, niche in pairs:
            print(
                f"  {bot.name:12} interval {bot.interval}, share {bot.share}, daring {bot.daring} | {niche}"
            )
    return pairs


if __name__ == "__main__":
    main()
