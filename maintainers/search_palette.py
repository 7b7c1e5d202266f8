#!/usr/bin/env python3
"""Searches for 32 colours of seats that are far apart for all kinds of eyes: territorial/render/colors.py.

    PYTHONPATH=. python maintainers/search_palette.py                      the compromise in the package
    PYTHONPATH=. python maintainers/search_palette.py --only deuteranopia  the most that a single view permits

Prints the colours, in the order in which every seat is as far as can be from all seats before it, and the
least distances (CIEDE2000) among them and the terrain. The number of colours decides how far apart they can
be: people without one kind of cones see two dimensions of colour instead of three.
"""

import argparse
import sys

import numpy as np
import numpy.typing as npt

from territorial.render.colors import NEUTRAL_COLOR, TERRAIN_COLORS, VIEWS, seen
from tests.render.support import ciede2000, least_distance

NUM_SEATS = 32
LEVELS = 22
"""Of red, green and blue that candidates have."""
DARKEST, LIGHTEST = 45, 235
"""Luma of candidates, from those that ink can be told from to those that paper can."""
WEIGHTS = {"all cones": 1.9, "deuteranopia": 1.0, "protanopia": 1.0, "tritanopia": 0.9}
"""How far apart colours shall be in each view, in proportion: tritanopia is rare, all cones are common."""
PATIENCE = 150
"""Moves without gain after which some colours are thrown away."""

Floats = npt.NDArray[np.float32]


class PaletteSearch:
    """Moves one colour at a time to where it is furthest from all others, the worst ones first."""

    def __init__(self, weights: dict[str, float], seed: int) -> None:
        levels = np.linspace(0, 255, LEVELS).round().astype(np.uint8)
        grid = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1).reshape(-1, 3)
        luma = grid @ np.array([0.299, 0.587, 0.114])
        self.candidates = grid[(luma > DARKEST) & (luma < LIGHTEST)]
        self.terrain = np.array([NEUTRAL_COLOR, *TERRAIN_COLORS.values()], np.uint8)
        self._weights = weights
        self._seen = {view: seen(self.candidates, view) for view in weights}
        self._columns: dict[int, Floats] = {}
        self._random = np.random.default_rng(seed)
        fixed = [self._distance({view: seen(color, view) for view in weights}) for color in self.terrain]
        self._fixed = np.min(fixed, axis=0)

    def run(self, moves: int) -> npt.NDArray[np.uint8]:
        """Return the best 32 colours found."""
        chosen = self._random.choice(len(self.candidates), NUM_SEATS, replace=False)
        best, most, stale = chosen.copy(), -1.0, 0
        for move in range(moves):
            near, partner = self._nearest(chosen)
            if near.min() > most:
                best, most, stale = chosen.copy(), float(near.min()), 0
            stale += 1
            if stale > PATIENCE:
                chosen, stale = best.copy(), 0
                thrown = self._random.choice(NUM_SEATS, self._random.integers(2, 5), replace=False)
                chosen[thrown] = self._random.integers(len(self.candidates), size=len(thrown))
                continue
            self._improve(chosen, self._pick(near, partner))
            if move % 5000 == 0:
                print(f"{move:>8} moves: {most:.3f}", file=sys.stderr, flush=True)
        return self._ordered(best)

    def _distance(self, color: dict[str, npt.NDArray[np.float64]]) -> Floats:
        """Return (n,) how far all candidates are from a colour, in the view where they are least so."""
        views = [ciede2000(self._seen[view], color[view]) / weight for view, weight in self._weights.items()]
        least: Floats = np.min(views, axis=0).astype(np.float32)
        return least

    def _column(self, i: int) -> Floats:
        if i not in self._columns:
            self._columns[i] = self._distance({view: lab[i] for view, lab in self._seen.items()})
        return self._columns[i]

    def _nearest(self, chosen: npt.NDArray[np.int64]) -> tuple[Floats, npt.NDArray[np.int64]]:
        """Return how near another one is to every chosen colour, and which; 32 is the terrain."""
        pairs = np.stack([*(self._column(i)[chosen] for i in chosen), self._fixed[chosen]], axis=1)
        pairs[np.arange(NUM_SEATS), np.arange(NUM_SEATS)] = np.inf
        return pairs.min(axis=1), pairs.argmin(axis=1)

    def _pick(self, near: Floats, partner: npt.NDArray[np.int64]) -> int:
        """Return a colour of the nearest pair, now and then another."""
        if self._random.random() < 0.15:
            return int(self._random.integers(NUM_SEATS))
        worst = int(near.argmin())
        other = int(partner[worst])
        return other if other < NUM_SEATS and self._random.random() < 0.5 else worst

    def _improve(self, chosen: npt.NDArray[np.int64], seat: int) -> None:
        """Move one colour to the best place, or one of the best."""
        room = np.min([self._fixed, *(self._column(i) for i in np.delete(chosen, seat))], axis=0)
        good = np.argpartition(-room, 8)[:8]
        chosen[seat] = room.argmax() if self._random.random() < 0.6 else self._random.choice(good)

    def _ordered(self, chosen: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
        """Return the colours so that each is as far as can be from those before it."""
        room, left, order = self._fixed[chosen].copy(), np.ones(NUM_SEATS, np.bool_), []
        for _ in range(NUM_SEATS):
            order.append(int(np.where(left, room, -1).argmax()))
            left[order[-1]] = False
            room = np.minimum(room, self._column(chosen[order[-1]])[chosen])
        return self.candidates[chosen[order]]


def main() -> int:
    """Search, and print what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=VIEWS, help="look with these eyes alone")
    parser.add_argument("--moves", type=int, default=100_000, help="some minutes by default")
    parser.add_argument("--seed", type=int, default=0)
    parsed = parser.parse_args()
    search = PaletteSearch({parsed.only: 1.0} if parsed.only else WEIGHTS, parsed.seed)
    colors = search.run(parsed.moves)
    for i in range(0, NUM_SEATS, 8):
        packed = [int.from_bytes(color.tobytes()) for color in colors[i : i + 8]]
        print("    " + " ".join(f"0x{number:06X}," for number in packed))
    for view in VIEWS:
        print(f"{view:13} {least_distance(np.vstack([colors, search.terrain]), view):5.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
