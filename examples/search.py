#!/usr/bin/env python3
"""One-ply search: tries moves in copies of the game.

    python examples/search.py                   a minute or two on one core
    python examples/search.py --games 4 --candidates 4 --rollouts 2     whether it runs

A game is saved, restored into as many slots of a second batch as there are moves times rollouts, and all
of them are played on by one call a step. The rollout policy mostly holds and else draws from what is legal.
It plays the same games on its own for comparison: places of 1 to 4 among bots, with 95 % intervals. Exit
code 1 if the search is not better with disjoint intervals; with fewer than 20 games nothing is judged.
"""

import argparse
import sys
from collections.abc import Callable

import numpy as np

import territorial
from territorial.evaluation.intervals import Z

GAME = {
    "height": 32,
    "width": 32,
    "num_players": 4,
    "seats": ("agent", "novice", "novice", "novice"),
    "decision_every": 50,
    "max_ticks": 3000,
    "obs": "features",
    "autoreset": "disabled",
    "end_when": "no_agents",
}
HOLD = 0.8
"""How often the rollout policy holds."""

Act = Callable[[territorial.TerritorialVec], np.ndarray]


def main(argv: list[str] | None = None) -> int:
    """Play, print places, and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name, default, meaning in (
        ("games", 60, "games to play"),
        ("candidates", 12, "moves that are tried"),
        ("rollouts", 4, "rollouts of each move that is tried"),
        ("horizon", 12, "steps of a rollout of the search"),
        ("seed", 0, "random seed"),
    ):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{meaning} (default %(default)s)")
    args = parser.parse_args(argv)
    rng = np.random.default_rng(args.seed)
    search = Search(args.candidates, args.rollouts, args.horizon, rng)
    players: dict[str, Act] = {"rollout policy": lambda vec: draw(vec, rng), "search": search.act}
    found = {name: interval(places(act, args)) for name, act in players.items()}
    for name, (mean, half) in found.items():
        print(f"{name}: mean place {mean:.2f} ± {half:.2f} of {args.games} games")
    (alone, alone_half), (searched, searched_half) = found.values()
    is_better = searched + searched_half < alone - alone_half
    print(f"the search is {'' if is_better else 'not '}better with disjoint intervals")
    return int(args.games >= 20 and not is_better)


def draw(vec: territorial.TerritorialVec, rng: np.random.Generator, hold: float = HOLD) -> np.ndarray:
    """Return an action for the agent of every game, (E, 1): holds, or something legal."""
    masks = vec.action_masks()
    legal = np.where(masks == 1, rng.random(masks.shape), -1).argmax(-1)
    return np.where(rng.random(legal.shape) < hold, 0, legal)


class Search:
    """Tries ``candidates`` moves, each ``rollouts`` times for ``horizon`` steps of the rollout policy."""

    def __init__(self, candidates: int, rollouts: int, horizon: int, rng: np.random.Generator) -> None:
        self.shape, self.horizon, self.rng = (candidates, rollouts), horizon, rng
        self.copies = territorial.make_vec(candidates * rollouts, **GAME)
        self.copies.reset(seed=0)

    def act(self, vec: territorial.TerritorialVec) -> np.ndarray:
        """Return the move for the agent of the only game of ``vec``, (1, 1)."""
        saved = vec.save(0)
        for k in range(self.copies.num_envs):
            self.copies.restore(k, saved)
        # The order of play is drawn from the seed: new ones, or the search would see what is to come.
        self.copies.game.state.future[:] = self.rng.integers(2**63, size=self.copies.num_envs)
        moves = draw(self.copies, self.rng, hold=0.0)[: self.shape[0]]
        moves[0] = 0  # holding is always tried
        actions = moves.repeat(self.shape[1], axis=0)
        values = np.zeros(self.copies.num_envs)
        for _ in range(self.horizon):
            _, rewards, _, _, info = self.copies.step(actions)
            values += rewards[:, 0]
            actions = draw(self.copies, self.rng)
        # Land is worth what is left to hold it with.
        troops = self.copies.game.state.troops[:, 1:]
        values += info["troops"][:, 0] / np.maximum(1, troops.sum(axis=1))
        return moves[values.reshape(self.shape).mean(axis=1).argmax()][None]


def places(act: Act, args: argparse.Namespace) -> np.ndarray:
    """Return the places of the agent in games that are the same for all policies, (games,)."""
    vec, found = territorial.make_vec(1, **GAME), []
    for game in range(args.games):
        _, info = vec.reset(seeds=[args.seed * 1000 + game])
        while not info["place"][0, 0]:
            *_, info = vec.step(act(vec))
        found.append(info["place"][0, 0])
        sys.stderr.write(f"\r{game + 1} of {args.games} games, place {np.mean(found):.2f} ")
    sys.stderr.write("\n")
    return np.array(found)


def interval(values: np.ndarray) -> tuple[float, float]:
    """Return the mean and half its 95 % interval."""
    return float(values.mean()), float(Z * values.std(ddof=1) / len(values) ** 0.5)


if __name__ == "__main__":
    sys.exit(main())
