"""Writes what `test_older.py` loads: pickles and files as a revision of the project makes them.

Run at the root of a checkout of that revision: ``python -m tests.older.make FOLDER``. What is in the folder
``before_rooms`` was made by the revision before the modules moved into packages.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import territorial
from territorial import GameConfig, LandMask, Recorder, Setting, VecGame
from territorial.league import (
    Gate,
    Group,
    League,
    LeagueConfig,
    LeagueTable,
    Learner,
    Manifest,
    Opponents,
    Player,
    SnapshotStore,
)
from territorial.maps import MapMix

GAME = {"height": 32, "width": 32, "num_players": 4, "max_ticks": 600, "decision_every": 25, "map": "lakes"}
SEATS = ("agent", "metronome", "agent", "random")
ONE_AGENT = ("agent", "metronome", "banker", "random")
CONFIG = GameConfig(**GAME)
STEPS = 30
"""More than a game has, so that what was pickled plays through an end and a reset."""

LEAGUE = LeagueConfig(num_players=4, learners=(Learner(name="main", opponents=(Opponents(seats=3),)),))
MANIFEST = Manifest(
    architecture="mlp",
    observation="features",
    action_format="discrete",
    height=32,
    width=32,
    num_players=4,
    frames=0,
)
WEIGHTS = {"weight": np.arange(6, dtype=np.float32).reshape(2, 3), "bias": np.array([0.5, 1.5], np.float16)}


def mask() -> LandMask:
    """Return a map of which no two rows are the same."""
    return LandMask.from_array(np.tri(32, 32, 8, dtype=bool))


VALUES: dict[str, Callable[[], Any]] = {
    "GameConfig": lambda: CONFIG,
    "LandMask": mask,
    "MapMix": lambda: MapMix({"lakes": 1, "open": 3}),
    "LineUp": lambda: territorial.LINEUPS["mixed-1"],
    "Setting": lambda: Setting(config=CONFIG, max_cycles=7),
    "Gate": lambda: Gate(beats=0.7),
    "LeagueConfig": lambda: LEAGUE,
    "LeagueTable": lambda: LeagueTable([Group(4, {"bot:banker": 1})]),
    "Manifest": lambda: MANIFEST,
    "Player": lambda: Player("bot", "banker"),
}
"""What is equal to its copy."""


def begun(game: Any) -> Any:
    """Return an environment in the middle of its first game."""
    game.reset(seed=3)
    play(game, 5)
    return game


def vec(**options: Any) -> Any:
    """Return a vector environment of two games."""
    return territorial.make_vec(2, seats=SEATS, **GAME, **options)


PLAYED: dict[str, Callable[[], Any]] = {
    "VecGame": lambda: begun(VecGame(CONFIG, 2, seats=SEATS)),
    "TerritorialVec": lambda: begun(vec(obs="features")),
    "TerritorialEnv": lambda: begun(territorial.parallel_env(seats=SEATS, obs="features", **GAME)),
    "SeatEnv": lambda: begun(territorial.SeatEnv(seats=ONE_AGENT, obs="features", **GAME)),
    "SeatVectorEnv": lambda: begun(
        territorial.SeatVectorEnv(num_envs=4, seats=SEATS, obs="features", **GAME)
    ),
}
"""What plays on."""


def play(game: Any, steps: int) -> str:
    """Play ``steps`` steps in which all agents hold; return a digest of what they saw."""
    digest = hashlib.sha256()
    for _ in range(steps):
        for array in arrays(step(game)):
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def step(game: Any) -> Any:
    """Return what a step shows in which all agents hold; what a reset shows where a game has ended."""
    if isinstance(game, VecGame):
        return game.step()[:4]
    if isinstance(game, territorial.TerritorialVec):
        return game.step(np.zeros((2, 2), int))[:4]
    if isinstance(game, territorial.SeatVectorEnv):
        return game.step(np.zeros(4, int))[:4]
    if isinstance(game, territorial.TerritorialEnv):
        return game.step(dict.fromkeys(game.agents, 0))[:4] if game.agents else game.reset()[0]
    result = game.step(0)
    return game.reset()[0] if result[2] or result[3] else result[:4]


def arrays(value: Any) -> list[Any]:
    """Return the arrays and numbers within ``value``, in order."""
    if isinstance(value, dict):
        return [array for name in sorted(value) for array in arrays(value[name])]
    if isinstance(value, tuple | list):
        return [array for part in value for array in arrays(part)]
    return [np.asarray(value)]


def league() -> League:
    """Return a league of a few games, with a snapshot."""
    league, rng = League(LEAGUE, rated=False), np.random.default_rng(0)
    for _ in range(6):
        league.advance("main")
        league.record(league.draw("main"), rng.permutation(4) + 1)
    league.freeze("main")
    return league


def main(folder: Path) -> None:
    """Write everything into ``folder``."""
    folder.mkdir(parents=True)
    pickles = {name: pickle.dumps(make(), 5) for name, make in VALUES.items()}
    pickles |= {name: pickle.dumps(make(), 5) for name, make in PLAYED.items()}
    digests = {name: play(pickle.loads(pickles[name]), STEPS) for name in PLAYED}
    game, games = begun(VecGame(CONFIG, 2, seats=SEATS)), begun(vec(obs="features"))
    pickles["Snapshot"], pickles["VecSnapshot"] = (
        pickle.dumps(game.save(0), 5),
        pickle.dumps(games.save(1), 5),
    )
    game.restore(1, game.save(0))
    games.restore(0, games.save(1))
    digests["Snapshot"], digests["VecSnapshot"] = play(game, STEPS), play(games, STEPS)
    (folder / "pickles.pickle").write_bytes(pickle.dumps((pickles, digests), 5))

    SnapshotStore(folder / "store").add("first", WEIGHTS, MANIFEST)
    (folder / "league.league").write_bytes(league().to_bytes())
    territorial.maps.save(mask(), folder / "land.png")
    recorded = VecGame(CONFIG, 1, seats=("banker", "metronome", "novice", "random"), seed=4)
    with Recorder(recorded, folder / "game.replay"):
        recorded.reset(seed=4)
        recorded.step()
        while not recorded.step()[2].all():
            pass
    territorial.evaluate(
        ["banker", "novice"],
        {"small": Setting(config=CONFIG, max_cycles=10)},
        episodes=2,
        out=folder / "evaluation.jsonl",
        processes=1,
        progress=False,
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
