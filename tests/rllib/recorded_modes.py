"""Plays RLlib's environments in every mode, and writes a digest of what all steps returned: ``modes.json``.

Run by hand, and only if a change of games, rewards or infos is wanted:
``python -m tests.rllib.recorded_modes``.
With beginnings of names of modes, such as ``corner``, it replaces these alone; ``--show MODE`` prints one.
"""

import itertools
from functools import partial
from pathlib import Path

import numpy as np

from rllib_adapters.envs.batch import TerritorialBatchEnv
from rllib_adapters.envs.single import TerritorialMultiAgentEnv
from territorial import GameConfig
from territorial.bots import PythonBot
from territorial.league import Group, LineUpDistribution
from tests.env.recorded_modes import GAMES, MOST_STEPS, PLAYERS, SMALL, choose_parts, legal_actions
from tests.recordings import Recording, main

PATH = Path(__file__).parent / "modes.json"
GAME = SMALL | {"map": "lakes"}


class Drummer(PythonBot):
    """A bot in Python that always takes neutral land."""

    name, interval = "drummer-1", 50

    def decide(self, view):
        return np.where(view.fronts[:, 0] > 0, 0, -1), 400


DRUMMER = Drummer()


def table(*groups, shuffle=False):
    """Return a table of groups, each the number of its seats and the players that may have them."""
    return LineUpDistribution(
        [Group(seats, dict.fromkeys(players, 1)) for seats, *players in groups], shuffle=shuffle
    )


SNAPSHOTS = ("snapshot:first", "snapshot:second")
TABLES = {
    "frozen": table((2, "trainable:main"), (2, *SNAPSHOTS, "bot:banker"), (1, "bot:besieger")),
    "shuffled": table((1, "trainable:main"), (3, *SNAPSHOTS, "bot:metronome"), (1, DRUMMER), shuffle=True),
    "two learn": table((1, "trainable:main"), (2, "trainable:other", *SNAPSHOTS), (2, "bot:opportunist")),
}
LATER = {
    "frozen": table((2, "trainable:main"), (2, "snapshot:third"), (1, "bot:turtle")),
    "shuffled": table((1, "trainable:main"), (3, "bot:banker"), (1, "snapshot:third"), shuffle=True),
    "two learn": table((1, "trainable:main"), (2, "trainable:other"), (2, "bot:settler")),
}
"""What takes the place of each table in the middle."""
SEATS = {"all": ["agent"] * PLAYERS, "some": ["agent", "besieger", "agent", DRUMMER, "metronome"]}
MAPS = {"frozen": 1, "shuffled": 0, "two learn": 3, "all": 0, "some": 1}
"""``num_maps``."""


def options_of(who, end_when, max_cycles):
    """Return an ``env_config`` with every entry written out."""
    players = {"seats": SEATS[who]} if who in SEATS else {"league": TABLES[who]}
    config = GameConfig(**GAME, num_maps=MAPS[who], rewards={"land": 1.0, "placement": 1.0})
    return {"config": config, "frames": 2, "end_when": end_when, "max_cycles": max_cycles, **players}


def add_outcomes(recording, env):
    """Add the games that are over, and have the environment forget them."""
    recording.add("outcomes", [(game.players, game.places) for game in env.outcomes])
    env.outcomes.clear()


def single_case(who, end_when, max_cycles, games=5):
    """Play some games of the environment of RLlib's own runner, the last ones with another table."""
    recording, rng = Recording(), np.random.default_rng(1)
    env = TerritorialMultiAgentEnv(options_of(who, end_when, max_cycles))
    for i in range(games):
        if i == 2 and who in LATER:
            env.set_league(LATER[who])
        shown, infos = env.reset(seed=61 if i in (0, 3) else None)
        add_by_agent(recording, "shown", shown)
        recording.add("infos", infos)
        add_who_plays(recording, env)
        recording.end()
        for _ in range(MOST_STEPS):
            actions = {
                agent: np.array(choose_parts(seen["action_mask"], rng)) for agent, seen in shown.items()
            }
            shown, *results = env.step(actions)
            add_by_agent(recording, "shown", shown)
            for label, result in zip(("rewards", "terminateds", "truncateds", "infos"), results, strict=True):
                recording.add(label, result)
            add_who_plays(recording, env)
            add_outcomes(recording, env)
            recording.end()
            if not env.agents:
                break
    env.close()
    return recording


def add_by_agent(recording, label, shown):
    """Add what agents see: one label a key."""
    for agent, seen in shown.items():
        for key, array in seen.items():
            recording.add(f"{label}.{key}", agent)
            recording.add(f"{label}.{key}", array)


def add_who_plays(recording, env):
    """Add who plays the game, and where it stands."""
    recording.add("agents", env.agents)
    recording.add("snapshots", sorted(env.snapshots))
    recording.add("seats", seats_of(env, 0))
    recording.add("digest", env.game.digest(0))


def seats_of(env, k):
    """The seats of a game; frozen ones, which the engine does not count, were called agents once."""
    return tuple("agent" if seat == "external" else seat for seat in env.game.seats_of(k))


def add_batch(recording, env):
    """Add who plays, and what is asked of the batch between steps."""
    for name in ("learners", "frozen", "who"):
        recording.add(name, getattr(env, name))
    views = [(view.seed, view._dealt - 1, [str(player) for player in view.players]) for view in env.envs]
    recording.add("views", views)
    recording.add("snapshots", [sorted(view.snapshots) for view in env.envs])
    recording.add("seats", [seats_of(env, k) for k in range(GAMES)])
    recording.add("digests", [env.game.digest(k) for k in range(GAMES)])
    for name, array in env.game.observations._asdict().items():
        if not name.startswith("delta_"):
            recording.add(f"seen.{name}", array)
    add_outcomes(recording, env)


def batch_case(who, end_when, max_cycles, steps=50):
    """Play the games of the batched runner; in the middle another table, and all games anew."""
    recording, rng = Recording(), np.random.default_rng(2)
    env = TerritorialBatchEnv(options_of(who, end_when, max_cycles), GAMES, num_threads=1 + (who == "frozen"))
    env.reset(seed=71)
    add_batch(recording, env)
    recording.end()
    for i in range(steps):
        if i == 15 and who in LATER:
            for view in env.envs:
                view.set_league(LATER[who])
        if i == 38:
            env.reset()
        step = env.step(legal_actions(env.game, rng, 5))
        rewards = np.where(step.stepped[:, None], step.rewards, np.float32(0))  # others count for nothing
        for label, value in step._replace(rewards=rewards)._asdict().items():
            recording.add(label, value)
        for k in np.flatnonzero(step.done):
            recording.add("endings", [env.ending(int(k), seat) for seat in range(1, PLAYERS + 1)])
        add_batch(recording, env)
        recording.end()
    env.close_extras()
    return recording


def cases():
    """Return functions by the names of the cases."""
    ways = itertools.product((*TABLES, *SEATS), ("no_agents", "game"), (None, 13))
    found = {}
    for who, end_when, max_cycles in ways:
        name = f"{who} {end_when} {'never' if max_cycles is None else max_cycles}"
        found[f"single {name}"] = partial(single_case, who, end_when, max_cycles)
        found[f"batch {name}"] = partial(batch_case, who, end_when, max_cycles)
    return found


if __name__ == "__main__":
    main(PATH, cases())
