"""The words of the command line: what each shared option means.

One option name has one meaning in all verbs, and one thing has one name. A verb may add details to a
meaning, such as the range and the default, but it uses the sentence of this table.
"""

from __future__ import annotations

from territorial.config import FIELDS


def _of_field(name: str) -> str:
    return str(FIELDS[name].metadata["help"])


MEANINGS = {
    "--address": "address of a running Ray cluster, HOST:PORT or the word auto, on which games are played",
    "--agent-seats": "seats of a game that learning agents control",
    "--animation": "write an animation of the game to FILE",
    "--capacity": "snapshots that the league keeps",
    "--env-runners": "processes that collect samples",
    "--every": "ticks from one frame to the next",
    "--frames": "boards in the stack of an observation",
    "--games": "games to play",
    "--height": _of_field("height"),
    "--iteration-steps": "environment steps of a training iteration, over all games and env runners",
    "--json": "write the result as JSON to FILE",
    "--map-seed": _of_field("map_seed"),
    "--max-ticks": _of_field("max_ticks"),
    "--minibatch": "rows of a minibatch, each one agent's step",
    "--minutes": "minutes of the run at most",
    "--no-picture": "do not write a picture",
    "--num-games": "games that run side by side",
    "--num-maps": "generated maps, whose seeds count up from the map seed",
    "--num-players": _of_field("num_players"),
    "--page": "write an HTML page that shows the game in a browser to FILE",
    "--picture": "write a picture to FILE, which must end in .png",
    "--plots": "draw plots into FOLDER (needs matplotlib)",
    "--seats": "who plays, by name and separated by commas",
    "--seed": "random seed",
    "--teams": _of_field("teams"),
    "--threads": "threads that step the games",
    "--width": _of_field("width"),
}
"""The meaning of every option that more than one verb has, or whose name could be mistaken for another's."""


def explained(option: str, *details: str, default: object = None) -> str:
    """Return the help of ``option``: its shared meaning, then details such as the range, then the default."""
    text = "; ".join((MEANINGS[option], *details))
    return text if default is None else f"{text} (default {default})"
