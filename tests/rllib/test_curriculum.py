"""Settings of the games changed while training goes on."""

import os
from contextlib import ExitStack
from functools import cache

import numpy as np
import pytest
import torch

from rllib_adapters.curriculum import set_env
from rllib_adapters.envs.env_config import MAIN, EnvConfig
from rllib_adapters.league.control import freeze
from rllib_adapters.modules.board import BoardModule
from territorial import GameConfig
from territorial.constants import NUM_FRACTIONS
from territorial.league import Group, LineUpDistribution, SnapshotStore
from territorial.nets import Policy
from tests.rllib.support import SmallModule, env_config, fill, league, ppo, small_config

pytestmark = pytest.mark.usefixtures("running_ray")

FIRST = GameConfig(height=24, width=24, num_players=4, max_ticks=300)
SEATS = ["agent", "agent", "metronome", "metronome"]
HARDER = {
    "config": FIRST.replace(map="islands", decision_every=30, win_percent=60),
    "seats": ["agent", "banker", "banker", "banker"],
    "max_cycles": 7,
}
LARGER = {
    "config": GameConfig(height=40, width=32, num_players=9, max_ticks=300),
    "seats": ["agent"] * 3 + ["novice"] * 6,
}
FROZEN = LineUpDistribution([Group(1, {"trainable:main": 1}), Group(3, {"snapshot:first": 1})])
OTHER = LineUpDistribution([Group(1, {"trainable:rival": 1}), Group(3, {"bot:novice": 1})])


class Sizeless(Policy):
    """A policy whose weights fit games of any size: it reads what all seats share."""

    def __init__(self, layout, config, **settings):
        super().__init__(layout, config, **settings)
        self.layer = torch.nn.Linear(len(layout.columns("globals")), 4)
        self.head, self.value_head = torch.nn.Linear(4, 3), torch.nn.Linear(4, 1)

    def embed(self, seen):
        shared = seen["globals"]
        return self.layer(0.01 * (shared[seen["frame"].flatten()] if "frame" in seen else shared))

    def forward(self, seen):
        own = self.embed(seen)
        hold, attack, send = self.head(own).split(1, 1)
        raw = [hold, attack.expand(-1, self.num_targets - 1), send.expand(-1, NUM_FRACTIONS)]
        return self.masked(torch.cat(raw, 1), seen["action_mask"]), own


class SizelessModule(BoardModule):
    @classmethod
    def make_trunk(cls, layout, config):
        return Sizeless(layout, config)


def config_of(module=SizelessModule, runner="batched"):
    env = {"config": FIRST, "seats": SEATS, "frames": 1}
    return ppo(env, steps=8, minibatch=16, module=module, runner=runner)


def games_of(algorithm):
    """The games of all runners that play any."""
    found = algorithm.env_runner_group.foreach_env_runner(
        lambda runner: (
            runner.env
            and (
                runner.env.game.config,
                [[player.name for player in view.players] for view in runner.env.envs],
                runner.env.options.max_cycles,
            )
        )
    )
    return [games for games in found if games]


def test_map_line_up_decision_interval_and_win_share_change_and_nothing_else_does(ends):
    algorithm = ends(config_of().build_algo())
    algorithm.train()
    runner, module = algorithm.env_runner, algorithm.env_runner.module
    weights = algorithm.learner_group.get_weights([MAIN])
    set_env(algorithm, **HARDER)
    assert algorithm.env_runner is runner
    assert runner.module is module
    np.testing.assert_equal(algorithm.learner_group.get_weights([MAIN]), weights)
    result = algorithm.train()
    assert games_of(algorithm) == [(HARDER["config"], [["main", "banker", "banker", "banker"]] * 2, 7)]
    assert result["env_runners"]["num_episodes"] >= 2  # none is longer than seven steps
    episodes = runner.sample()
    assert max(episode.env_t for episode in episodes) <= 7
    assert {agent for episode in episodes for agent in episode.agent_ids} == {"player_0"}
    assert EnvConfig.from_config(algorithm.config.env_config).config == HARDER["config"]
    before = runner.env
    set_env(algorithm, **HARDER)  # all is as it was
    assert runner.env is before


@pytest.mark.verify
def test_more_players_on_a_larger_board_with_the_same_weights_runners_and_learners(ends, tmp_path):
    config = config_of()
    config.env_runners(num_env_runners=1, rollout_fragment_length=8)
    config.learners(num_learners=1)
    algorithm = ends(config.build_algo())
    algorithm.train()
    before = algorithm.learner_group.get_weights([MAIN])[MAIN]
    pids = algorithm.env_runner_group.foreach_env_runner(_pid, local_env_runner=False)
    set_env(algorithm, **LARGER)
    np.testing.assert_equal(algorithm.learner_group.get_weights([MAIN])[MAIN], before)
    result = algorithm.train()
    assert np.isfinite(result["learners"][MAIN]["total_loss"])
    assert algorithm.env_runner_group.foreach_env_runner(_pid, local_env_runner=False) == pids
    assert games_of(algorithm) == [(LARGER["config"], [["main"] * 3 + ["novice"] * 6] * 2, None)]
    after = algorithm.learner_group.get_weights([MAIN])[MAIN]
    assert any((array != before[name]).any() for name, array in after.items())
    freeze(algorithm, str(tmp_path / "store"), "larger")
    frozen = SnapshotStore(tmp_path / "store").manifest("larger")
    assert (frozen.num_players, frozen.height) == (9, 40)


def _pid(runner):
    return os.getpid()


@pytest.fixture(scope="module")
def built(running_ray):
    """Algorithms of ``config_of``, each built once: nothing changes in them."""
    with ExitStack() as stopped:

        @cache
        def algorithm(**made_with):
            made = config_of(**made_with).build_algo()
            stopped.callback(made.stop)
            return made

        yield algorithm


@pytest.mark.parametrize(
    ("made_with", "changes", "message"),
    [
        ({"runner": "stock"}, HARDER, "only batched env runners can change their games"),
        ({"module": SmallModule}, LARGER, "the network is made for .*num_players=4"),
        ({"module": SmallModule}, {"frames": 2}, "the network is made for .*frames=1"),
        ({}, {"seats": ["agent"] * 9}, "seats has 9 entries but num_players is 4"),
        (
            {},
            {"league": FROZEN},
            "frozen_obs of snapshots in the league is .* made the modules for none",
        ),
        ({}, {"league": OTHER}, "obs of trainable:rival is .* the modules for none"),
        ({}, {"height": 12}, "unexpected keyword argument 'height'"),
    ],
    ids=["stock", "sizes", "frames", "seats", "snapshots", "others", "unknown"],
)
def test_what_cannot_be_is_refused_and_nothing_has_changed(built, made_with, changes, message):
    algorithm = built(**made_with)
    with pytest.raises((ValueError, TypeError), match=message):
        set_env(algorithm, **changes)
    options = EnvConfig.from_config(algorithm.config.env_config)
    assert (options.config, options.seats) == (FIRST, SEATS)


def test_a_league_with_snapshots_keeps_its_size(ends, tmp_path):
    algorithm = ends(small_config(fill(tmp_path / "store"), runner="batched").build_algo())
    larger = env_config()["config"].replace(height=40)
    with pytest.raises(ValueError, match="a league that draws snapshots cannot change to"):
        set_env(algorithm, config=larger)
    other_map = env_config()["config"].replace(map="islands")
    set_env(algorithm, config=other_map, league=league("snapshot:second"))
    algorithm.train()
    assert algorithm.env_runner.env.game.config == other_map
    assert algorithm.config.table.to_dict() == league("snapshot:second").to_dict()
