"""Films of games, for the page to show."""

from functools import cache

import territorial
from territorial.browser.film import film_header, write_film
from territorial.config.map_names import KINDS
from territorial.engine.seats import shown_names
from territorial.replay import Frame, LiveGame

FULL = territorial.GameConfig()
FULL_SEATS = shown_names(territorial.LINEUPS["mixed-1"].seats)
SMALL = territorial.GameConfig(height=40, width=56, num_players=5, map="mountains", max_ticks=3000)
SMALL_SEATS = ("metronome", "banker", "turtle", "novice", "random")


def frames_of(
    config: territorial.GameConfig, seats: tuple[str, ...], seed: int = 0, every: int = 10
) -> list[Frame]:
    """Return a game, frame by frame, ``every`` so many ticks."""
    game = territorial.VecGame(config, 1, seats=seats, autoreset="disabled", observe=False)
    game.reset(seeds=[seed])
    return list(LiveGame(game).frames(every))


def film_of(config: territorial.GameConfig, names: tuple[str, ...], frames: list[Frame]) -> bytes:
    """Return the film of these frames."""
    kind = str(config.map)
    return b"".join(
        write_film(
            film_header(config, names, "mixed-1, seed 0", terrain=KINDS[kind].terrain, map_kind=kind), frames
        )
    )


@cache
def full_game() -> tuple[list[Frame], bytes]:
    """Return the game of 32 bots on 256 x 256 cells that ``make run`` plays, and its film."""
    frames = frames_of(FULL, FULL_SEATS)
    return frames, film_of(FULL, FULL_SEATS, frames)


@cache
def small_game() -> tuple[list[Frame], bytes]:
    """Return a game of five bots among mountains, and its film."""
    frames = frames_of(SMALL, SMALL_SEATS, seed=1)
    return frames, film_of(SMALL, SMALL_SEATS, frames)
