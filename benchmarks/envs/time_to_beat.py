#!/usr/bin/env python3
"""Measures how long a training takes to beat a game's best scripted bot.

    python benchmarks/envs/time_to_beat.py territorial battle --save RUNS
    python benchmarks/envs/time_to_beat.py generals orbit_wars --save RUNS    in an environment that has them
    python benchmarks/envs/time_to_beat.py --save RUNS                        only the table of what is there

Every row trains Stable-Baselines3's PPO, masked where the game has masks, on one thread against the bot in
all other seats. The score of a game is the share of the other players above whom the agent is placed; a draw
counts half, so that 0.5 is even in every game. After 0, 15, 30, 60, ... s of processor time the agent plays
200 games that the training has not seen, and draws its actions as in training. It is placed better than the
bot when the 95 % interval of the mean score lies above 0.5, and wins more when that of the games won lies
above the share of equal players; 200 further games must confirm either, or the training goes on. Only
training counts, in seconds of the processor, up to two hours; a stopped run goes on from where it was saved.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Box, Discrete
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

GAMES = 200
LIMIT_S = 2 * 60 * 60.0
FIRST_CHECK_S = 15.0
SAVED_EVERY_S = 120.0
NOT_HAD = {
    "MicroRTS: CoacAI": "gym-microrts 0.6.0 needs Python below 3.10; gym 0.18.3, for 0.4.3, fails to build",
    "Orbit Wars: starter": "installs, but 200 games at 2.8 ms a turn take 280 s of processor for each check",
}
"""Rows that are not there, and why."""


class Row(NamedTuple):
    """What is trained in which game, against bots alone."""

    algorithm: Any
    envs: VecEnv
    options: dict[str, Any]
    fair: float = 0.5
    """The share of games that one of equal players wins."""


def territorial(players: int = 8) -> Row:
    """territorial-env, 64 x 64 cells: one of 8 players, seven `upstart-1`"""
    from territorial.envs.sb3 import MaskableVecEnv
    from territorial.nets.sb3_pairs import MaskablePairActorCriticPolicy

    class Scored(MaskableVecEnv):
        """Reports scores of games."""

        def step_wait(self) -> Any:
            result = super().step_wait()
            for info in result[3]:
                if info:
                    info["score"] = (players - info["place"]) / (players - 1)
            return result

    seats = ["agent", *["upstart-1"] * (players - 1)]
    game = {"height": 64, "width": 64, "num_players": players, "seats": seats, "end_when": "no_agents"}
    envs = Scored(50, obs="pairs", action_format="pairs", repeat=5, **game)
    options = {"n_steps": 64, "batch_size": 800, "n_epochs": 4, "gamma": 0.997, "ent_coef": 0.01}
    policy = MaskablePairActorCriticPolicy
    options |= {"policy": policy, "policy_kwargs": {"size": "small"}}
    return Row(MaskablePPO, envs, options, fair=1 / players)


def duel() -> Row:
    """territorial-env, 64 x 64 cells, duel: `upstart-1`"""
    return territorial(players=2)


class Battle(VecEnv):
    """The 81 red agents of a battle as so many environments; blue attacks the nearest that it sees.

    The package has no scripted bot, so blue's is this one: it attacks a neighbour, or else steps towards the
    nearest enemy in view, or else to the side where red began. Eliminated agents observe zeros until the end.
    """

    MOVES = np.array([(x, y) for y in range(-2, 3) for x in range(-2, 3) if abs(x) + abs(y) <= 2])
    BLOWS = np.array([(x, y) for y in (-1, 0, 1) for x in (-1, 0, 1) if x or y])
    CELLS = np.array([(x, y) for y in range(-6, 7) for x in range(-6, 7)])
    render_mode = None

    def __init__(self) -> None:
        from magent2.environments import battle_v4

        self.game = battle_v4.parallel_env(max_cycles=200)
        super().__init__(81, Box(0, 2, (13 * 13 * 5,), np.float32), Discrete(21))

    def reset(self) -> Any:
        self.seen, _ = self.game.reset(seed=self._seeds[0])
        self._reset_seeds()
        self.was_alive = np.ones(81, bool)
        return self.rows(self.seen, np.zeros(845, np.float32))

    def rows(self, found: dict[str, Any], nothing: Any) -> Any:
        return np.array([np.ravel(found.get(f"red_{i}", nothing)) for i in range(81)], np.float32)

    def blue_moves(self, views: np.ndarray) -> np.ndarray:
        """Return the actions (N,) of agents with these views, (N, 13, 13, 5)."""
        away = (self.CELLS**2).sum(1) + 1000 * (views[..., 3].reshape(-1, 169) == 0)
        nearest = np.where(away.min(1, keepdims=True) < 1000, self.CELLS[away.argmin(1)], (-9, 0))
        blows = np.abs(self.BLOWS - nearest[:, None]).sum(2)
        x, y = 6 + self.MOVES.T
        is_taken = views[:, y, x][:, :, [0, 1, 3]].any(2)
        moves = ((self.MOVES - nearest[:, None]) ** 2).sum(2) + 1000 * is_taken
        is_near = np.abs(nearest).max(1) == 1
        return np.where(is_near, len(self.MOVES) + blows.argmin(1), moves.argmin(1))

    def step_async(self, actions: Any) -> None:
        red = {f"red_{i}": int(action) for i, action in enumerate(actions)}
        views = {name: view for name, view in self.seen.items() if name.startswith("blue")}
        blue = self.blue_moves(np.array(list(views.values())))
        self.actions = red | dict(zip(views, blue.tolist(), strict=True))

    def step_wait(self) -> Any:
        self.seen, rewards, *_ = self.game.step(self.actions)
        rows, gains = self.rows(self.seen, np.zeros(845)), self.rows(rewards, np.zeros(1))[:, 0]
        is_alive = np.array([f"red_{i}" in self.game.agents for i in range(81)])
        dones: Any = self.was_alive & ~is_alive
        infos: list[dict[str, Any]] = [{} for _ in range(81)]
        self.was_alive = is_alive
        self.seen = {name: self.seen[name] for name in self.game.agents}
        if not self.game.agents:
            red, blue = map(self.game.env.get_num, self.game.handles)
            infos[0] = {"score": (1 + np.sign(red - blue)) / 2}
            rows, dones = self.reset(), np.ones(81, bool)
        return rows, gains, dones, infos

    def close(self) -> None:
        self.game.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> Any:
        return [getattr(self, attr_name)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise NotImplementedError

    def env_method(self, method_name: str, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * self.num_envs


def battle() -> Row:
    """MAgent2 0.3.4, battle of 81 against 81, at most 200 steps: attack the nearest, our bot"""
    options = {"policy": "MlpPolicy", "n_steps": 128, "batch_size": 2048, "n_epochs": 4, "ent_coef": 0.01}
    return Row(PPO, Battle(), options)


def generals() -> Row:
    """generals-bots 2.5.0, duel on 10 x 10 cells, at most 500 turns: `ExpanderAgent`"""
    from generals.agents import ExpanderAgent
    from generals.core.action import Action, compute_valid_move_mask
    from generals.core.grid import GridFactory
    from generals.envs import GymnasiumGenerals

    class Duel(gymnasium.Env):
        """The first player; rewards are 1 or -1 at the end, and the change of the lead in land, in shares."""

        def __init__(self) -> None:
            grids = GridFactory(min_grid_dims=(10, 10), max_grid_dims=(10, 10), min_generals_distance=8)
            names = ["agent", "bot"]
            self.game = GymnasiumGenerals(names, grids, pad_observations_to=10, truncation=500)
            self.bot = ExpanderAgent()
            self.observation_space, self.action_space = Box(0, 20, (1500,), np.float32), Discrete(401)

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            seen, _ = self.game.reset(seed=seed)
            self.lead = 0
            return np.log1p(seen[0]).ravel(), {}

        def action_masks(self) -> np.ndarray:
            moves = compute_valid_move_mask(self.game.prior_observations["agent"])
            return np.concatenate([[True], moves.ravel()])

        def step(self, action: int) -> Any:
            cell, direction = divmod(int(action) - 1, 4)
            mine = Action(action == 0, cell // 10, cell % 10, direction)
            others = self.bot.act(self.game.prior_observations["bot"])
            seen, _, is_over, is_cut, infos = self.game.step([mine, others])
            lead = int(infos["agent"]["land"]) - int(infos["bot"]["land"])
            reward, self.lead = (lead - self.lead) / 100, lead
            won = int(infos["agent"]["winner"]) - int(infos["bot"]["winner"])
            info = {"score": (1 + won) / 2} if is_over or is_cut else {}
            return np.log1p(seen[0]).ravel(), reward + won, is_over, is_cut, info

    options = {"policy": "MlpPolicy", "n_steps": 256, "batch_size": 512, "n_epochs": 4, "ent_coef": 0.01}
    return Row(MaskablePPO, DummyVecEnv([Duel] * 8), options | {"gamma": 0.997})


ROWS: dict[str, Callable[[], Row]] = {
    "duel": duel,
    "territorial": territorial,
    "battle": battle,
    "generals": generals,
}


def play(model: Any, envs: VecEnv, seed: int) -> np.ndarray:
    """Return the scores of ``GAMES`` games, equally many of each environment: short ones are not favoured."""
    envs.seed(seed)
    seen, scores = envs.reset(), [list[float]() for _ in range(envs.num_envs)]
    is_masked = isinstance(model, MaskablePPO)
    slots = 1 if isinstance(envs, Battle) else envs.num_envs
    quota = math.ceil(GAMES / slots)
    while min(map(len, scores[:slots])) < quota:
        masks = {"action_masks": get_action_masks(envs)} if is_masked else {}
        actions, _ = model.predict(seen, **masks)
        seen, _, _, infos = envs.step(actions)
        for found, info in zip(scores, infos, strict=True):
            if "score" in info and len(found) < quota:
                found.append(info["score"])
    return np.concatenate(scores)


def summary(scores: np.ndarray) -> dict[str, float]:
    """Return the mean score with half of its 95 % interval, and the share of games won."""
    found = {"games": len(scores)}
    for name, values in (("score", scores), ("wins", scores == 1)):
        half = 1.96 * float(values.std()) / math.sqrt(len(values))
        found |= {name: float(values.mean()), f"{name}_half": half}
    return found


def beaten(check: dict[str, float], fair: float) -> set[str]:
    """Return those of "score" and "wins" whose interval lies above that of equal players."""
    even = {"score": 0.5, "wins": fair}
    return {name for name, value in even.items() if check[name] - check[f"{name}_half"] > value}


def train(name: str, seed: int, folder: Path, limit_s: float) -> None:
    """Train the row until the bot is beaten or the time is up; the checks are in ``folder``."""
    algorithm, envs, options, fair = ROWS[name]()
    state_file, model_file = folder / f"{name}-{seed}.json", folder / f"{name}-{seed}.zip"
    state: dict[str, Any] = {"seconds": 0.0, "checks": [], "beaten": {}}
    if state_file.exists():
        state = json.loads(state_file.read_text())
        model = algorithm.load(model_file, envs)
    else:
        model = algorithm(env=envs, seed=seed, **options)
    saved = state["seconds"]
    while len(state["beaten"]) < 2 and state["seconds"] < limit_s:
        until = min(limit_s, max(FIRST_CHECK_S, 2 * state["checks"][-1]["seconds"])) if state["checks"] else 0
        while state["seconds"] < until:
            start = time.process_time()
            model.learn(model.n_steps * envs.num_envs, reset_num_timesteps=False)
            state["seconds"] += time.process_time() - start
            if state["seconds"] - saved >= SAVED_EVERY_S:
                saved = save(model, model_file, state, state_file)
        tests = ROWS[name]().envs
        game_seed = 10**6 * (1 + seed) + 1000 * len(state["checks"])
        check = summary(play(model, tests, game_seed))
        passed = beaten(check, fair) - set(state["beaten"])
        if passed:
            check["again"] = summary(play(model, tests, game_seed + 500))
            passed &= beaten(check["again"], fair)
        state["beaten"] |= dict.fromkeys(passed, state["seconds"])
        tests.close()
        state["checks"].append(check | {"seconds": state["seconds"], "steps": model.num_timesteps})
        saved = save(model, model_file, state, state_file)
        print(name, seed, state["checks"][-1], flush=True)


def save(model: Any, model_file: Path, state: dict[str, Any], state_file: Path) -> float:
    """Write both files, each in the place of the last one at once; return the seconds of training in them."""
    for path, write in (
        (model_file, model.save),
        (state_file, lambda path: path.write_text(json.dumps(state))),
    ):
        fresh = path.with_name(f"{path.name}.new")
        write(fresh)
        fresh.replace(path)
    return float(state["seconds"])


def table(folder: Path) -> None:
    """Print a line for each row and training of ``folder``, and those that could not be had."""
    print("| game: bot | seed | placed better after | wins more after | untrained | trained | games won |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for file in sorted(folder.glob("*-*.json")):
        state, (name, seed) = json.loads(file.read_text()), file.stem.rsplit("-", 1)
        first, last = state["checks"][0], state["checks"][-1]
        times = [f"{state['beaten'].get(key, math.inf):.0f} s" for key in ("score", "wins")]
        times = [text.replace("inf", f"not in {state['seconds']:.0f}") for text in times]
        last = last.get("again", last)
        shown = [f"{check['score']:.2f} ± {check['score_half']:.2f}" for check in (first, last)]
        won = f"{last['wins']:.0%} ± {last['wins_half']:.0%}"
        print("|", " | ".join([str(ROWS[name].__doc__), seed, *times, *shown, won]), "|")
    for name, reason in NOT_HAD.items():
        print(f"| {name} | | not had: {reason} | | | | |")


def main() -> int:
    """Train the rows that are named and print the table."""
    as_it_is = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=as_it_is)
    parser.add_argument("rows", nargs="*", choices=[*ROWS, []], help="rows to train (default none)")
    parser.add_argument("--save", type=Path, required=True, help="folder of weights and checks")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="seeds of trainings (default 0)")
    parser.add_argument(
        "--limit", type=float, default=LIMIT_S, help="seconds of the processor (default %(default)s)"
    )
    parsed = parser.parse_args()
    torch.set_num_threads(1)
    parsed.save.mkdir(parents=True, exist_ok=True)
    for name in parsed.rows:
        for seed in parsed.seeds:
            try:
                train(name, seed, parsed.save, parsed.limit)
            except ImportError as error:
                print(f"{name}: {error}; install what the row imports")
    table(parsed.save)
    return 0


if __name__ == "__main__":
    sys.exit(main())
