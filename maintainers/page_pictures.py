#!/usr/bin/env python3
"""Makes the pictures of docs/playing.md and docs/watching.md in Chromium.

PYTHONPATH=. python maintainers/page_pictures.py docs/images
PYTHONPATH=. python maintainers/page_pictures.py docs/images play-teams watch     some of them
"""

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page

import territorial
from territorial.browser.commands import LEVELS, PANELS
from territorial.browser.film import film_header, write_film
from territorial.browser.web import page, write_page
from territorial.config.map_names import ALL_MAPS
from territorial.engine.seats import shown_names
from territorial.replay import LiveGame
from tests.browser import chromium
from tests.browser.chromium import open_tab, soon
from tests.browser.games import FULL, full_game
from tests.play.sessions import served
from tests.replay.team_games import begin

CONFIG = territorial.GameConfig(max_ticks=3000)
SEATS = ("agent", "champion-1", *territorial.LINEUPS["mixed-1"].seats[2:])
TEAMS = CONFIG.replace(num_players=12, height=128, width=160, teams=3, team_spawns="together")
TEAM_SEATS = ("agent", "champion-1", *territorial.LINEUPS["mixed-1"].seats[2:12])
SEED = 7
MOMENTS = (200, 500, 900)
WINDOWS = ((1100, 700), (390, 844))
"""A desktop's and a phone's, in pixels."""
SHEET_HEIGHT = 360
"""Of a small picture, in pixels."""
CARD = {"level": "easy", "players": 32, "map": "lakes", "name": "you", "seed": str(SEED), "given": {}}
CARD |= {"levels": list(LEVELS), "maps": list(ALL_MAPS)}
FREE_LAND_UNTIL = 400
"""Ticks in which the player of the pictures takes free land."""
WATCHED_TICK = 1500
"""What the pictures of a page without a player show."""
ATTACK = "page.game.attack(page.game.now.openings.filter((one) => !one.reason).map((one) => one.owner)[0])"


def main(argv: list[str]) -> int:
    """Write the named pictures, or all, into the first argument, a folder, and return the exit code."""
    if not argv or not set(argv[1:]) <= PICTURES.keys() or chromium.find() is None:
        names, programs = ", ".join(PICTURES), " or ".join(chromium.NAMES)
        sys.stderr.write(f"{__doc__}\nThe pictures are {names}. It needs {programs}.\n")
        return 2
    for name in argv[1:] or PICTURES:
        PICTURES[name](Path(argv[0]))
    return 0


def write_pictures_of_playing(folder: Path) -> None:
    """Write the pictures of a game that a player wins or loses, from the start card to the ending."""
    with shown(CONFIG, SEATS, 700, advisor="champion-1", card=CARD, is_paused=True) as (tab, made):
        sheet = MomentSheet(tab, made)
        soon(tab, "element('start').open")
        picture(tab, folder / "play-start.png")
        tab.keyboard.press("Enter")
        soon(tab, "!page.game.now.is_paused")
        for tick in MOMENTS[:-1]:
            play_to(tab, tick)
            sheet.take(f"playing-{tick}")
        toggle_panels(tab)
        hold_until_it_attacks(tab)
        picture(tab, folder / "play-panels.png")
        toggle_panels(tab)
        play_to(tab, 700)
        picture(tab, folder / "play-page.png")
        play_to(tab, MOMENTS[-1])
        sheet.take(f"playing-{MOMENTS[-1]}")
        resize(tab, *WINDOWS[1])
        tab.evaluate("page.setTheme('dark')")
        picture(tab, folder / "play-phone.png")
        resize(tab, *WINDOWS[0])
        tab.evaluate("page.setTheme('light')")
        tab.evaluate("page.game.setPace(1000)")
        soon(tab, "document.querySelector('#ending h2').textContent.startsWith('The end')")
        tab.evaluate(f"put(document.querySelector('#ending code'), 'territorial-{SEED}.replay')")
        picture(tab, folder / "play-end.png")
        tab.evaluate("element('ending').close(), page.game.watchAgain()")
        for tick in MOMENTS:
            tab.evaluate(f"page.play(false), page.seek({tick})")
            sheet.take(f"watching-{tick}")
        sheet.write(folder / "play-moments.png")


def write_picture_of_teams(folder: Path) -> None:
    """Write a picture of a game of four teams, soon after the player gave to an ally."""
    with shown(TEAMS, TEAM_SEATS, 820) as (tab, _):
        play_to(tab, MOMENTS[1])
        tab.evaluate("page.game.give()")
        soon(tab, f"page.game.now.tick > {MOMENTS[1]} && page.film.lastTick === page.game.now.tick")
        picture(tab, folder / "play-teams.png")


def write_picture_of_watching(folder: Path) -> None:
    """Write a picture of a film of 32 bots."""
    film_picture(full_game()[1], folder / "watch.png")


def write_picture_of_watched_teams(folder: Path) -> None:
    """Write a picture of four teams, of which every other player gives to its allies, in few colours."""
    config, path = FULL.replace(teams=4, team_spawns="together"), folder / "watch-teams.png"
    live = LiveGame(begin(config, seed=0))
    title = "four teams of eight"
    header = film_header(config, live.names, title, map_kind=str(config.map), teams=live.teams)
    frames = (frame for frame in live.frames() if frame.tick <= 2 * WATCHED_TICK)
    film_picture(b"".join(write_film(header, frames)), path)
    Image.open(path).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


def film_picture(film: bytes, path: Path) -> None:
    """Write what the page shows of a film at ``WATCHED_TICK``, in the light theme."""
    with tempfile.TemporaryDirectory() as made, chromium.started() as browser:
        html = Path(made) / "game.html"
        write_page(html, film)
        tab = open_tab(browser, html.as_uri(), width=1040, height=650)
        soon(tab, "page.film.isComplete")
        tab.evaluate(f"page.setTheme('light'), page.play(false), page.seek({WATCHED_TICK})")
        soon(tab, f"element('clock').textContent.startsWith('tick {WATCHED_TICK:,} ')")
        tab.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        tab.screenshot(path=path)
    sys.stdout.write(f"picture: {path}\n")


PICTURES: Mapping[str, Callable[[Path], None]] = {
    "play": write_pictures_of_playing,
    "play-teams": write_picture_of_teams,
    "watch": write_picture_of_watching,
    "watch-teams": write_picture_of_watched_teams,
}


@contextmanager
def shown(
    config: territorial.GameConfig, seats: tuple[str, ...], height: int, **options: Any
) -> Iterator[tuple[Page, Path]]:
    """Give the page of a game of this config, in the light theme, and a folder for a while."""
    names = ("you", *shown_names(seats)[1:])
    about = {
        "seed": SEED,
        "names": names,
        "title": f"You against {len(seats) - 1} players",
        "has_page": False,
    } | options
    with (
        tempfile.TemporaryDirectory() as made,
        chromium.started() as browser,
        served(
            Path(made) / "game.replay", page(is_played=True), config=config, seats=seats, **about
        ) as played,
    ):
        tab = open_tab(browser, played.server.url, width=1100, height=height)
        soon(tab, "page.game?.now && page.painter && page.frame >= 0")
        tab.evaluate("page.setTheme('light')")
        yield tab, Path(made)


class MomentSheet:
    """Small pictures of one page at some moments: in a window, and on a phone in the other theme."""

    def __init__(self, tab: Page, folder: Path) -> None:
        self._tab, self._folder = tab, folder
        self._rows = dict[str, list[Image.Image]]()

    def take(self, name: str) -> None:
        """Add a moment to the row of what ``name`` says before its hyphen; every second one is dark."""
        what, _ = name.split("-")
        row = self._rows.setdefault(what, [])
        is_dark = (len(row) // 2 + len(self._rows)) % 2 == 0
        for width, height in WINDOWS:
            resize(self._tab, width, height)
            self._tab.evaluate(f"page.setTheme('{'dark' if is_dark else 'light'}')")
            path = self._folder / "moment.png"
            picture(self._tab, path, is_reported=False)
            image = Image.open(path).convert("RGB")
            row.append(image.resize((SHEET_HEIGHT * width // height, SHEET_HEIGHT), Image.Resampling.LANCZOS))
            is_dark = not is_dark
        resize(self._tab, *WINDOWS[0])
        self._tab.evaluate("page.setTheme('light')")

    def write(self, path: Path) -> None:
        """Write all pictures as one, in few colours."""
        gap, rows = 8, list(self._rows.values())
        width = max(sum(image.width + gap for image in row) for row in rows) - gap
        sheet = Image.new("RGB", (width, len(rows) * (SHEET_HEIGHT + gap) - gap), "white")
        for number, row in enumerate(rows):
            x = 0
            for image in row:
                sheet.paste(image, (x, number * (SHEET_HEIGHT + gap)))
                x += image.width + gap
        sheet.quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)
        sys.stdout.write(f"picture: {path}\n")


def resize(tab: Page, width: int, height: int) -> None:
    """Give the page a window of this size, in CSS pixels."""
    tab.set_viewport_size({"width": width, "height": height})


def play_to(tab: Page, until: int) -> None:
    """Play simply: every third decision is a launch."""
    while (tick := tab.evaluate("page.game.now.tick")) < until:
        free = tick < FREE_LAND_UNTIL and tab.evaluate("page.game.whyNot(0) === ''")
        any_legal = tab.evaluate("page.game.now.openings.some((one) => !one.reason)")
        if tick % 30 == 0 and any_legal:
            tab.evaluate("page.game.attack(0)" if free else ATTACK)
        else:
            tab.evaluate("page.game.hold()")
        soon(tab, f"page.game.now.tick > {tick} && page.film.lastTick === page.game.now.tick")


def hold_until_it_attacks(tab: Page) -> None:
    """Hold until the advisor would attack somebody."""
    while tab.evaluate("page.game.now.panels.advice.options[0].owner") < 0:
        tick = tab.evaluate("page.game.now.tick")
        tab.evaluate("page.game.hold()")
        soon(tab, f"page.game.now.tick > {tick} && page.film.lastTick === page.game.now.tick")


def toggle_panels(tab: Page) -> None:
    """Open or close what can be shown beside the game."""
    for panel in PANELS:
        before = tab.evaluate(f"element('{panel}').hidden")
        tab.evaluate(f"page.game.toggle('{panel}')")
        soon(tab, f"element('{panel}').hidden !== {str(before).lower()}")


def picture(tab: Page, path: Path, *, is_reported: bool = True) -> None:
    """Write what is seen to ``path``, once it is that."""
    soon(tab, "!page.game || page.film.ticks[page.frame] === page.film.lastTick")
    tab.evaluate("new Promise((done) => setTimeout(done, 300))")
    tab.screenshot(path=path)
    if is_reported:
        sys.stdout.write(f"picture: {path}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
