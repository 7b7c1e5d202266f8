"""A bot with four parameters, for the examples that evolve players."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from territorial.bots import PythonBot


@dataclass
class TunedBot(PythonBot):
    """Takes neutral land while it grows fast, and attacks whom it can beat best.

    Args:
        name: under which it is known.
        interval: ticks from one decision to the next.
        share: 1024ths of the balance that it sends.
        reserve: troops a cell that it keeps at home before it sends anything.
        daring: how many times stronger a neighbour may be and still be attacked, in per cent.

    """

    name: str
    interval: int = 100
    share: int = 300
    reserve: int = 8
    daring: int = 80

    def decide(self, view):
        """Neutral land first, then the weakest neighbour for its size that is weak enough."""
        troops, land = view.own(view.troops), np.maximum(1, view.own(view.land))
        is_ready = troops >= self.reserve * land
        neighbours = view.legal.copy()
        neighbours[:, 0] = False
        neighbours &= 100 * view.troops <= self.daring * troops[:, None]
        prey = view.least(view.troops, np.maximum(1, view.land), among=neighbours)
        targets = np.where(view.legal[:, 0], 0, prey)
        return np.where(is_ready, targets, -1), np.full(len(land), self.share)

    def child(self, name: str, rng: np.random.Generator) -> TunedBot:
        """Return a bot whose numbers are a little different."""

        def near(value: int, low: int, high: int) -> int:
            return int(np.clip(round(value * np.exp(rng.normal(0, 0.35))), low, high))

        return replace(
            self,
            name=name,
            interval=near(self.interval, 10, 400),
            share=near(self.share, 50, 1024),
            reserve=near(self.reserve + 1, 1, 60) - 1,
            daring=near(self.daring, 10, 400),
        )
