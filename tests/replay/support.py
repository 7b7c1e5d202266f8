"""Games to record: small ones, quickly played, in which something happens."""

import struct
import zlib

import numpy as np

from territorial import GameConfig, Recorder, Replay, VecGame, bots
from territorial.replay import file_format

SMALL = GameConfig(height=24, width=24, num_players=4, max_ticks=900, map="lakes")
BOTS = ("metronome", "banker", "random", "novice")


def recorded_game(config=SMALL, seats=BOTS, seed=0, steps=None, checkpoint_every=200, actions=None):
    """Play one game, to its end or for ``steps`` steps; return it and its replay."""
    game = VecGame(config, 1, seats=seats, autoreset="disabled", observe=False)
    recorder = Recorder(game, checkpoint_every=checkpoint_every)
    game.reset(seeds=[seed])
    while not game.state.over[0] and steps != 0:
        game.step(None if actions is None else actions(game), hold=actions is None)
        steps = None if steps is None else steps - 1
    return game, recorder.replay()


def small_replay():
    """A replay of less than a kilobyte: two bots, two who do anything."""
    rng = np.random.default_rng(0)
    seats = ("metronome", "agent", "external", "novice")
    return recorded_game(
        SMALL.replace(max_ticks=200),
        seats,
        checkpoint_every=90,
        actions=lambda game: random_actions(game, rng, 0.8),
    )[1]


def random_setting(rng):
    """A config of random size, rules and map, and who plays it."""
    players = int(rng.integers(2, 9))
    config = GameConfig(
        height=int(rng.integers(24, 70)),
        width=int(rng.integers(24, 140)),
        num_players=players,
        map=str(rng.choice(["open", "lakes", "mountains"])),
        map_seed=int(rng.integers(2**63)),
        num_maps=int(rng.integers(1, 3)),
        decision_every=int(rng.choice([1, 3, 10, 50])),
        max_ticks=int(rng.integers(1, 1000)),
        launch_delay=int(rng.integers(0, 10)),
        deaths=bool(rng.random() < 0.8),
    )
    return config, [str(seat) for seat in rng.choice(["agent", "external", *bots.NAMES], players)]


def random_actions(game, rng, share=0.3):
    """Actions of anybody against anybody, legal or not."""
    shape = (game.num_games, game.config.num_players)
    what = rng.integers(0, game.config.num_players + 2, shape) * (rng.random(shape) < share)
    return np.stack([what, rng.integers(0, 10, shape)], axis=-1)


def body_of(data):
    """The body of a file, decompressed."""
    return zlib.decompress(data[14:-8])


def file_of(body, length=None, version=1, stream=None):
    """A file with this body and a checksum that fits."""
    prefix = file_format.MAGIC + struct.pack("<HI", version, len(body) if length is None else length)
    data = prefix + (zlib.compress(body) if stream is None else stream)
    return data + file_format._checksum(data)


def changed(replay, part, change):
    """The file of a replay with one of its sections changed by a function."""
    sections = file_format.unpack(replay.to_bytes())
    return file_format.pack(sections._replace(**{part: change(getattr(sections, part))}))


def with_header(replay, **values):
    """The file of a replay with other values in its header; ... leaves one out."""

    def change(header):
        merged = header | values
        return {name: value for name, value in merged.items() if value is not ...}

    return changed(replay, "header", change)


def same_replay(a: Replay, b: Replay) -> bool:
    """Whether two replays are equal to the last bit."""
    return a.to_bytes() == b.to_bytes()
