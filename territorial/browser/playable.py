"""``playable``: what a page needs to play a recorded game on, without a server.

Seeds are text there, as JavaScript's numbers are exact to 2**53 alone.
"""

import base64
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, get_args

from territorial.bots import RESERVED_NAMES, PythonBot
from territorial.bots.settings import INTERVAL
from territorial.browser.film import film_header
from territorial.browser.page_image import LIBRARY, image_of
from territorial.browser.panels import columns_shown
from territorial.config import GameConfig, interest_rates
from territorial.config.map_names import ALL_MAPS, Terrain
from territorial.constants import OBS_VERSION, __version__
from territorial.engine.seats import DRIVEN, FIRST_CUSTOM_CODE, SEAT_NAMES, Seat, starting_troops
from territorial.engine.vec_game import VecGame
from territorial.evaluation import what_if
from territorial.evaluation.intervals import students_t
from territorial.evaluation.schedule import CHAMPION
from territorial.game.state import view
from territorial.maps.bank import ground_of
from territorial.replay import Replay
from territorial.replay.file_format import unpack
from territorial.replay.replay import play_to_tick, player_of


def playable(
    replay: Replay, given: Mapping[str, Seat], line_ups: Mapping[str, Sequence[Seat]] | None = None
) -> dict[str, Any]:
    """Return the engine, the game at tick 0 and its players, as values that JSON has.

    ``given``: by recorded names, styles and networks that the library does not have. Other players that it
    does not have, and those that were driven from outside, make their recorded launches again. ``line_ups``:
    by names of your own, the players of further games on the same map; None: there are none. ValueError where
    the package has no library for pages.
    """
    bots = {name: bot for name, bot in given.items() if not isinstance(bot, PythonBot)}
    game, sitting, repeat = play_to_tick(replay, 0, bots)
    start, changes = game.save(0), []
    for change in replay.changes:
        player = player_of(change.name, bots)
        code = _code_of(repeat if player in (None, *DRIVEN) else player, game)
        changes.append({"tick": change.tick, "seat": change.seat, "code": code, "name": change.name})
    codes = {"page": _code_of(repeat, game), "champion": _code_of(CHAMPION, game)}
    further = {name: _line_up(seats, game) for name, seats in (line_ups or {}).items()}
    game.restore(0, start)
    driven = [seat for seat, one in enumerate(sitting, start=1) if one in (None, *DRIVEN)]
    game.change_seats(0, dict.fromkeys(driven, repeat))
    description, memory = image_of(game)
    custom = enumerate(game._players.bot_names, start=FIRST_CUSTOM_CODE)
    films = {
        terrain: film_header(replay.config, replay.names, "", terrain=terrain, teams=replay.teams)
        for terrain in get_args(Terrain)
    }
    return {
        **description,
        **rules_of(replay.config),
        "template": replay_template(replay),
        "codes": {**codes, "champion_name": CHAMPION, "interval": INTERVAL},
        "shown": columns_shown(replay.config),
        "judging": {
            "launches": what_if.MOST_LAUNCHES,
            "few": what_if.FEW_GAMES,
            "finalists": what_if.MOST_FINALISTS,
            "many": what_if.MANY_GAMES,
            "students_t": students_t(what_if.MANY_GAMES - 1),
            "seconds": 5,
            "driven": list(DRIVEN),
        },
        "changes": changes,
        "bots": {name: code for code, name in (*enumerate(SEAT_NAMES), *custom) if name not in DRIVEN},
        "troops": {name: int(starting_troops([name], replay.config)[0]) for name in sorted(RESERVED_NAMES)},
        "looks": {
            terrain: {name: header[name] for name in ("colors", "border_colors")}
            for terrain, header in films.items()
        },
        "line_ups": further,
        "library": _packed(LIBRARY.read_bytes()),
        "memory": _packed(memory),
    }


def _code_of(player: Seat, game: VecGame) -> int:
    """Return the code of a player in ``game``, in which it takes seat 1."""
    game.change_seats(0, {1: player})
    return int(view(game.blocks, "seats")[0, 1])


def _line_up(seats: Sequence[Seat], game: VecGame) -> dict[str, Any]:
    """Return the codes of players in ``game``, in which they sit down, their names and starting troops."""
    game.change_seats(0, dict(enumerate(seats, start=1)))
    return {
        "codes": view(game.blocks, "seats")[0, 1:].tolist(),
        "troops": starting_troops(seats, game.config).tolist(),
        "seats": game.seats_of(0),
    }


def maps_of(config: GameConfig) -> dict[str, dict[str, str]]:
    """Return the maps with room for games of ``config``, by name: terrain, and the bits of the land."""
    found = {}
    for name in ALL_MAPS:
        with suppress(ValueError):  # of a size that it cannot have, or without room for all spawns
            ground = ground_of(config.replace(map=name, num_maps=1), 0)
            found[name] = {"terrain": ground.blocked, "land": _packed(ground.land.bits)}
    return found


def _packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 9)).decode()


def rules_of(config: GameConfig) -> dict[str, Any]:
    """Return the fields of ``config``, and what follows from them, as ``page/situation.js`` reads them."""
    return {
        "config": _with_text(config.to_dict(), "map_seed"),
        "derived": {"interest_rates": interest_rates(config).tolist()},
    }


def replay_template(replay: Replay) -> dict[str, Any]:
    """Return the header of games that go on from ``replay``, and the bits of the map in base64.

    What a branch changes of the header is up to ``branchHeader`` in ``page/replay_file.js``. This library
    records the branch, whichever release has recorded ``replay``.
    """
    header = unpack(replay.to_bytes()).header | {"library": __version__, "observations": OBS_VERSION}
    header["config"] = _with_text(header["config"], "map_seed")
    return {"header": _with_text(header, "seed"), "land": base64.b64encode(replay.land.bits).decode()}


def _with_text(values: dict[str, Any], name: str) -> dict[str, Any]:
    """Return ``values`` with one of them as text."""
    return values | {name: str(values[name])}
