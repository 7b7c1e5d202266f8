"""Games written down: boards, standings, ledgers and digests in text, which a change of the rules changes.

The files lie in tests/golden. They are written anew with

    python -m tests.engine.test_golden --write

which refuses to overwrite a file that differs while RULES_VERSION is still the same; where not the rules
have changed but a game was added, or a bot, a line-up, a default or the form of the text has changed, say
--same-rules.
"""

import argparse
import difflib
import sys
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest

from territorial import LINEUPS, RULES_VERSION, GameConfig, VecGame
from territorial.config.map_names import KINDS
from territorial.config.rewards import NAMES as REWARD_PARTS
from territorial.maps import MapMix
from tests.engine.support import ROOT, board, draw, game_on, rows_of
from tests.episodes import begun
from tests.twin.differential import config_call
from tests.twin.game import LEDGER_KEYS

FOLDER = ROOT / "tests" / "golden"
WRITE = "python -m tests.engine.test_golden --write"
VERSION_LINE = f"rules version {RULES_VERSION}"


def header(title, game):
    return [title, VERSION_LINE, f"config {config_call(game.config)}", f"seed {int(game.state.seed[0])}", ""]


def standings(game):
    """Return a table with a line a seat: numbers, pools by target, and whether it lives."""
    state = game.state
    lines = [f"{'seat':>4} {'land':>6} {'troops':>8} {'peak':>6} {'next':>5} {'died':>5}  pools"]
    for p in range(1, game.config.num_players + 1):
        pools = [f"{t}:{amount}" for t, amount in enumerate(state.pools[0, p].tolist()) if amount]
        numbers = (
            f"{p:>4} {state.land[0, p]:>6} {state.troops[0, p]:>8} {state.peak[0, p]:>6} "
            f"{state.next_step[0, p]:>5} {state.death_tick[0, p]:>5}  {' '.join(pools) or '-'}"
        )
        lines.append(numbers)
    return lines


def ledger(game):
    """Return a table with a line a seat: every gain and loss of troops, and the place."""
    lines = ["seat " + " ".join(f"{key:>12}" for key in LEDGER_KEYS) + "  place"]
    for p in range(1, game.config.num_players + 1):
        amounts = " ".join(f"{getattr(game.state, key)[0, p]:>12}" for key in LEDGER_KEYS)
        lines.append(f"{p:>4} {amounts}  {game.state.doubled_place[0, p] / 2:>5}")
    return lines


def moment(game):
    return f"tick {game.state.tick[0]}  digest {game.digest(0).hex()}  neutral {game.state.land[0, 0]}"


def scene(game):
    return [moment(game), draw(board(game)), *standings(game), ""]


# ---- short games -----------------------------------------------------------------------------------

BOTS = ("metronome", "settler", "novice", "random", "full_sender", "opportunist", "turtle", "drip")
SMALL = GameConfig(height=40, width=40, num_players=4, max_ticks=600)


class ShortGame(NamedTuple):
    title: str
    config: GameConfig
    # Ticks from one line to the next.
    every: int


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
    lines = [title, VERSION_LINE]
    for short in games:
        lines += ["", *played(short, is_about_rewards=is_about_rewards)]
    return lines


def played(short: ShortGame, *, is_about_rewards: bool) -> list[str]:
    """Return the text of one game: digests on the way, and what the seats came to."""
    seats = [BOTS[p % len(BOTS)] for p in range(short.config.num_players)]
    game = begun(VecGame(short.config, 1, seed=8, seats=seats, autoreset="disabled", observe=False))
    about = [short.title, f"config {config_call(short.config)}", f"seed {int(game.state.seed[0])}"]
    lines, rewards = [*about, short_moment(game)], np.zeros(short.config.num_players)
    while not game.state.over[0]:
        rewards += game.step()[1][0]
        if game.state.tick[0] % short.every == 0 or game.state.over[0]:
            lines.append(short_moment(game))
    lines.append(in_line("land", game.state.land[0, 1:]))
    lines.append(in_line("places", game.state.doubled_place[0, 1:] / 2))
    return [*lines, in_line("rewards", rewards.round(3))] if is_about_rewards else lines


def short_moment(game: VecGame) -> str:
    return f"tick {game.state.tick[0]}  digest {game.digest(0).hex()}  alive {int(game.state.alive[0].sum())}"


def in_line(name: str, values: np.ndarray) -> str:
    return f"{name} {' '.join(f'{value + 0:g}' for value in values.tolist())}"


# ---- the games ------------------------------------------------------------------------------------


def bots_on_lakes():
    """Return a whole game of five bots, with the board every 100 ticks."""
    config = GameConfig(height=24, width=24, num_players=5, map="lakes", map_seed=3, max_ticks=1500)
    seats = ("metronome", "banker", "turtle", "novice", "random")
    game = begun(VecGame(config, 1, seed=8, seats=seats, autoreset="disabled", observe=False))
    lines = [*header("five bots on 24 x 24 cells with lakes", game), f"seats {' '.join(seats)}", ""]
    lines += scene(game)
    while not game.state.over[0]:
        game.step()
        if game.state.tick[0] % 100 == 0 and not game.state.over[0]:
            lines += scene(game)
    return [*lines, "the end", *scene(game), *ledger(game)]


SCRIPT_BOARD = rows_of(
    "11............22",
    "11............22",
    "11............22",
    "11....####....22",
    "11....####....22",
    "......#####.....",
    "................",
    "................",
    ".......333......",
    ".......333......",
    ".......333......",
    "................",
    "####............",
    "####........####",
    "....44......####",
    "....44..........",
)
SCRIPT = {
    0: [(1, 0, 300), (2, 0, 512), (3, 0, 100), (4, 0, 1024)],
    10: [(3, 0, 1), (4, 3, 512), (1, 4, 512)],
    20: [(1, 0, 200), (2, 0, 512), (3, 0, 512), (4, 0, 512)],
    30: [(1, 3, 1), (3, 1, 1), (3, 4, 1), (4, 3, 1), (2, 3, 1)],
    40: [(1, 3, 700), (2, 3, 1), (3, 1, 1), (4, 0, 900), (1, 4, 1)],
    50: [(2, 1, 1024), (3, 2, 500), (4, 3, 1), (4, 0, 16), (4, 1, 1)],
    60: [(1, 2, 100), (2, 2, 100), (3, 0, 900), (4, 3, 800)],
    80: [(1, 3, 512), (2, 3, 512), (3, 4, 400), (4, 1, 400)],
    100: [(1, 0, 256), (2, 1, 900), (3, 1, 900), (4, 2, 900)],
    120: [(1, 4, 1024), (2, 4, 1024), (3, 4, 1024), (4, 3, 1024)],
    140: [(1, 2, 600), (2, 3, 600), (3, 0, 600)],
    160: [(1, 3, 900), (2, 3, 900), (3, 2, 300)],
}


def scripted_launches():
    """Return 200 ticks of four seats with launches from a list, with the board every 10 ticks."""
    game = game_on(SCRIPT_BOARD, (900, 900, 600, 400), max_ticks=200)
    lines = [*header("four seats with launches from a list (seat, target, 1024ths)", game), *scene(game)]
    while not game.state.over[0]:
        launches = SCRIPT.get(int(game.state.tick[0]), ())
        if launches:
            lines.append(f"launches {' '.join(map(str, launches))}")
        game.tick(0, launches)
        if game.state.tick[0] % 10 == 0:
            lines += scene(game)
    counters = (
        f"{name} {getattr(game.state, name)[0, 1:].tolist()}" for name in ("illegal", "raised", "bounced")
    )
    return [*lines, "the end", *ledger(game), *counters]


def mixed_at_full_size():
    """Return a whole game of the line-up mixed-1, with a line every 500 ticks."""
    lineup = LINEUPS["mixed-1"]
    game = begun(
        VecGame(GameConfig(), 1, seats=lineup.seats, autoreset="disabled", observe=False),
        seeds=lineup.seeds[:1],
    )
    lines = header("the line-up mixed-1 on 256 x 256 cells", game)
    while not game.state.over[0]:
        if game.state.tick[0] % 500 == 0:
            lines.append(full_size_line(game))
        game.step()
    return [*lines, "", "the end", full_size_line(game), *standings(game), *ledger(game)]


def full_size_line(game):
    alive, land = int(game.state.alive[0].sum()), game.state.land[0, 1:]
    return f"{moment(game)}  alive {alive}  first is {int(land.argmax()) + 1} with {int(land.max())}"


GAMES = {
    "bots_on_lakes.txt": bots_on_lakes,
    "scripted_launches.txt": scripted_launches,
    "mixed_at_full_size.txt": mixed_at_full_size,
    "kinds_of_map.txt": partial(lines_of, BY_MAP, "games on maps of every kind"),
    "numbers_of_seats.txt": partial(lines_of, BY_SEATS, "games of few and of many seats"),
    "parts_of_rewards.txt": partial(
        lines_of, BY_REWARD, "games for every part of rewards", is_about_rewards=True
    ),
}


def text_of(lines):
    return "\n".join(line.rstrip() for line in "\n".join(lines).splitlines()) + "\n"


# ---- the tests ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
def test_a_game_plays_out_as_it_is_written_down(name):
    written, played = (FOLDER / name).read_text(), text_of(GAMES[name]())
    difference = "\n".join(
        difflib.unified_diff(
            written.splitlines(), played.splitlines(), name, "as played now", lineterm="", n=2
        )
    )
    assert not difference, (
        f"\n{difference}\n\nIf the rules were meant to change, move RULES_VERSION and say `{WRITE}`; "
        "if a game was added, or a bot, a line-up or the text changed, add --same-rules; else the engine "
        "has a bug."
    )


def test_every_written_game_is_played():
    assert {path.name for path in FOLDER.iterdir()} == set(GAMES)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog=WRITE.removesuffix(" --write"), description=__doc__)
    parser.add_argument("--write", action="store_true", required=True, help="write tests/golden anew")
    parser.add_argument(
        "--same-rules",
        action="store_true",
        help="a game was added, or only a bot, a line-up, a default or the text has changed",
    )
    options = parser.parse_args(arguments)
    FOLDER.mkdir(exist_ok=True)
    for name, play in GAMES.items():
        path, text = FOLDER / name, text_of(play())
        old = path.read_text() if path.exists() else ""
        if old != text and VERSION_LINE in old.splitlines() and not options.same_rules:
            sys.stderr.write(
                f"{path}: the games differ but the rules are still version {RULES_VERSION}. Move "
                "RULES_VERSION if that was meant, or add --same-rules if a game was added, or only a bot, a "
                "line-up, a default or the text has changed\n"
            )
            return 1
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
