"""The examples of trainers, with tiny numbers, where the trainer is installed."""

import importlib
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from pettingzoo.utils import parallel_to_aec
from pettingzoo.utils.wrappers import BaseParallelWrapper

import territorial

pytestmark = pytest.mark.checkout

# What is imported, and what else has to be there.
TRAINERS = {
    "agilerl": (),
    "benchmarl": ("torchrl",),
    "cleanrl": ("supersuit",),
    "pufferlib": (),
    "tianshou": (),
    "torchrl": ("tensordict",),
}
# Games in which agents die early.
GAME = {
    "height": 16,
    "width": 16,
    "num_players": 4,
    "seats": ("agent", "full_sender", "agent", "full_sender"),
    "max_ticks": 600,
    "obs": "features",
}


class StepCounter(BaseParallelWrapper):
    """Counts steps, games that ended or were cut short by a death, and launches that were not legal.

    Those in the first step of a game are left out: a trainer may go by the masks of the game before.
    """

    count = Counter()  # noqa: RUF012 - of all copies together: SuperSuit copies environments
    has_lost = False

    def reset(self, seed=None, options=None):
        self.count.update(cut_short=int(self.has_lost))
        self.has_lost = False
        return self.env.reset(seed=seed, options=options)

    def step(self, actions):
        is_first = self.env.unwrapped.game.state.tick[0] == 0
        illegal, living = self.seen()
        results = self.env.step(actions)
        illegal_now, living_now = self.seen()
        self.has_lost = living_now < living and bool(self.env.agents)
        illegal = 0 if is_first else illegal_now - illegal
        self.count.update(steps=1, games=int(not self.env.agents), illegal=illegal)
        return results

    def seen(self):
        """Return how many launches were not legal in this game, and how many agents live."""
        env = self.env.unwrapped
        return int(env.game.state.illegal.sum()), int(
            env.game.state.alive[
                0, [1 + int(agent.removeprefix("player_")) for agent in env.possible_agents]
            ].sum()
        )


def counted(package, options):
    env = StepCounter(territorial.parallel_env(**options))
    return parallel_to_aec(env) if package == "tianshou" else env


@pytest.mark.parametrize("package", TRAINERS)
def test_the_example_trains_and_obeys_the_masks_it_asks_for(package, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # some leave files where they are
    needed = () if package == "cleanrl" else (package,)  # files to copy: the example has the loop
    for name in (*needed, "torch", *TRAINERS[package]):
        pytest.importorskip(name, reason=f"{name} is not installed")
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "examples"))
    example = importlib.import_module(f"with_{package}")
    StepCounter.count.clear()
    example.train(partial(counted, package, GAME | example.OPTIONS), 64)
    found = StepCounter.count
    assert found["steps"] > 50  # some count resets as steps
    assert found["games"] >= 1
    assert found["cut_short"] == 0
    assert found["illegal"] == 0 or example.OPTIONS["action_mask"] == "none"
