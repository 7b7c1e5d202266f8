"""Short games written down by digests: every kind of map, few and many seats, every part of rewards.

Each is a few lines of text: a digest of the position every so many ticks, and what each seat came to.
"""

from typing import NamedTuple

import numpy as np

from territorial import RULES_VERSION, GameConfig, VecGame
from territorial.config.map_names import KINDS
from territorial.config.rewards import NAMES as REWARD_PARTS
from territorial.maps import MapMix
from tests.twin.differential import config_call

BOTS = ("metronome", "settler", "novice", "random", "full_sender", "opportunist", "turtle", "drip")
SMALL = GameConfig(height=40, width=40, num_players=4, max_ticks=600)


class ShortGame(NamedTuple):
    title: str
    config: GameConfig
    every: int
    """Ticks from one line to the next."""


BY_MAP = [
    *(ShortGame(f"map {name}", SMALL.replace(map=name, map_seed=5), 150) for name in (*KINDS, "europe")),
    ShortGame("map lakes, symmetric", SMALL.replace(map="lakes:symmetry=two_mirrors"), 150),
    ShortGame(
        "a mix of maps",
        SMALL.replace(map=MapMix({"maze": 1, "lakes:symmetry=half_turn": 1}), num_maps=3),
        150,
    ),
]
BY_SEATS = [
    ShortGame("2 seats", SMALL.replace(height=16, width=16, num_players=2), 100),
    ShortGame("8 seats", SMALL.replace(num_players=8, map="open"), 100),
    ShortGame("64 seats", SMALL.replace(height=64, width=64, num_players=64, map="open", max_ticks=300), 100),
    ShortGame(
        "250 seats", SMALL.replace(height=96, width=96, num_players=250, map="open", max_ticks=200), 50
    ),
]
BY_REWARD = [
    ShortGame(f"rewards {part}", SMALL.replace(num_players=6, rewards=((part, 1.0),)), 200)
    for part in REWARD_PARTS
]


def lines_of(games: list[ShortGame], title: str, *, is_about_rewards: bool = False) -> list[str]:
    """Return the text of several games."""
    lines = [title, f"rules version {RULES_VERSION}"]
    for short in games:
        lines += ["", *played(short, is_about_rewards=is_about_rewards)]
    return lines


def played(short: ShortGame, *, is_about_rewards: bool) -> list[str]:
    """Return the text of one game: digests on the way, and what the seats came to."""
    game = batch_of(short)
    about = [short.title, f"config {config_call(short.config)}", f"seed {int(game.state.seed[0])}"]
    lines, rewards = [*about, moment(game)], np.zeros(short.config.num_players)
    while not game.state.over[0]:
        rewards += game.step()[1][0]
        if game.state.tick[0] % short.every == 0 or game.state.over[0]:
            lines.append(moment(game))
    lines.append(in_line("land", game.state.land[0, 1:]))
    lines.append(in_line("places", game.state.doubled_place[0, 1:] / 2))
    return [*lines, in_line("rewards", rewards.round(3))] if is_about_rewards else lines


def batch_of(short: ShortGame) -> VecGame:
    """Return the game as it begins."""
    seats = [BOTS[p % len(BOTS)] for p in range(short.config.num_players)]
    game = VecGame(short.config, 1, seed=8, seats=seats, autoreset="disabled", observe=False)
    game.reset()
    return game


def moment(game: VecGame) -> str:
    state = game.state
    return f"tick {state.tick[0]}  digest {game.digest(0).hex()}  alive {int(state.alive[0].sum())}"


def in_line(name: str, values: np.ndarray) -> str:
    return f"{name} {' '.join(f'{value + 0:g}' for value in values.tolist())}"
