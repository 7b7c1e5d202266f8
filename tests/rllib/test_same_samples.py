"""Samples and outcomes of both runners, game for game those that are recorded here.

All networks answer every board alike, so that no rounding of a processor can change a choice.
"""

import hashlib
import json

import numpy as np
import pytest

from rllib_adapters.envs.agent_names import MAIN
from rllib_adapters.envs.outcomes import taken_from
from rllib_adapters.modules.board import settings_of
from territorial import GameConfig
from territorial.league import SnapshotStore
from tests.rllib.support import BigModule, SmallModule, env_config, small_config
from tests.rllib.test_runner import finish_off

PLAYERS = {"config": GameConfig(height=24, width=24, num_players=6, max_ticks=1000)}
SAMPLES = (
    ((), {}),
    ((1,), {}),
    ((1, 2), {}),
    ((), {}),
    ((2,), {"num_timesteps": 40}),
    ((1, 2, 3, 4, 5), {}),
    ((), {"num_episodes": 4}),
    ((), {"num_timesteps": 7, "force_reset": True}),
    ((), {}),
)
"""The seats of game 1 that are finished off before a sample, and how it is asked for."""


def without_opinions(module):
    """Weights of a module's network that give the same logits for every board."""
    weights = module.make_policy(settings_of(env_config(**PLAYERS))).state_dict()
    return {name: np.zeros_like(array.numpy()) for name, array in weights.items()}


def make_runner(path, kind, end_when, max_cycles):
    store, settings = SnapshotStore(path), settings_of(env_config(**PLAYERS))
    for name, module in (("first", SmallModule), ("second", BigModule)):
        store.add(name, without_opinions(module), module.manifest(settings))
    env = {**PLAYERS, "end_when": end_when, "max_cycles": max_cycles}
    config = small_config(store, env=env, runner=kind)
    config.env_runners(num_envs_per_env_runner=3, rollout_fragment_length=12)
    config.debugging(seed=11)
    runner = config.env_runner_cls(config=config, worker_index=0, num_workers=0)
    weights = without_opinions(SmallModule)
    runner.module[MAIN].set_state({f"policy.{name}": array for name, array in weights.items()})
    return runner


def digest(parts):
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]


def told(episode):
    """What an episode says; ids and times are those of a run."""
    ends = [bool(end) for end in (episode.is_terminated, episode.is_truncated)]
    whole = [episode.env_t_started, episode.env_t, len(episode), *ends]
    return [*map(int, whole), {agent: told_by(own) for agent, own in episode.agent_episodes.items()}]


def told_by(own):
    seen = [
        hashlib.sha256(
            b"".join(each[key].tobytes() for key in ("observations", "action_mask", "seat"))
        ).hexdigest()
        for each in own.observations.data
    ]
    return [
        own.module_id,
        int(own.t_started),
        int(own.t),
        bool(own.is_terminated),
        bool(own.is_truncated),
        np.array(own.actions.data).tolist(),
        [float(reward) for reward in own.rewards.data],
        [dict(info) for info in own.infos.data],
        [own.observations.lookback, len(own.actions.data)],
        seen,
    ]


def play(runner):
    """Return the digests of all samples, and how often it happened what they are about."""
    told_of, counts = [], np.zeros(4, int)
    for seats, how in SAMPLES:
        if seats:
            finish_off(runner, 1, seats)
        sample = runner.sample(**how)
        runner.get_metrics()
        outcomes = sorted([list(one.players), list(one.places)] for one in taken_from(runner))
        told_of.append(([told(episode) for episode in sample], outcomes))
        counts += happened(sample)
    return [digest(parts) for parts in zip(*told_of, strict=True)], counts


def happened(sample):
    """How often an agent died before its game, and a game was cut, or ended, or goes on."""
    owns = [(whole, own) for whole in sample for own in whole.agent_episodes.values()]
    dead = sum(own.is_terminated and own.t < whole.env_t for whole, own in owns)
    cut, ended = (sum(getattr(one, name) for one in sample) for name in ("is_truncated", "is_terminated"))
    return np.array([dead, cut, ended, len(sample) - cut - ended])


RECORDED = {
    ("no_agents", 20): ["f2b91aec534f", "3988f8bb3b2c"],
    ("game", None): ["b4226f3c6875", "001953361053"],
}
"""Digests of episodes and of outcomes."""


@pytest.mark.usefixtures("choices_without_chance")
@pytest.mark.parametrize("kind", ["batched", "stock"])
@pytest.mark.parametrize(("end_when", "max_cycles"), RECORDED)
def test_samples_and_outcomes_are_those_that_were_recorded(tmp_path, kind, end_when, max_cycles):
    found, (dead, cut, ended, going_on) = play(make_runner(tmp_path, kind, end_when, max_cycles))
    assert found == RECORDED[end_when, max_cycles]
    assert min(dead, ended, going_on) > 0
    assert (cut > 0) == (max_cycles is not None)
