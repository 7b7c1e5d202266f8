"""Random observations, and a decoder in plain Python written from the text of the format."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
from hypothesis import strategies as st

from territorial import GameConfig
from territorial.observation.layout import BORDERS, PLAYERS, ObsLayout, columns, index

SMALL = ObsLayout(height=18, width=70, num_players=7, frames=3)
CONFIG = GameConfig(height=18, width=70, num_players=7)
SMALL_TEAMS = replace(SMALL, teams=True)
CONFIG_TEAMS = replace(CONFIG, teams=3)
POOL, DENSITY = index(BORDERS, "pool"), index(PLAYERS, "density")
ALLY = index(columns("borders", teams=True), "ally")


@st.composite
def layouts(draw):
    """Sizes of all kinds: widths that are no multiple of 8 or 64, few and many players."""
    return ObsLayout(
        height=draw(st.integers(16, 24)),
        width=draw(st.sampled_from([16, 17, 23, 63, 64, 65, 70]) | st.integers(16, 70)),
        num_players=draw(st.sampled_from([2, 6, 7, 30, 31, 250]) | st.integers(2, 250)),
        frames=draw(st.integers(1, 5)),
        teams=draw(st.booleans()),
    )


def config_of(layout):
    """A configuration of games that are observed so."""
    teams = 2 if layout.teams else None
    return GameConfig(height=layout.height, width=layout.width, num_players=layout.num_players, teams=teams)


def random_boards(layout, num_games, rng):
    """Owner codes uint8 (E, F, H, W), newest frame first: regions, specks, blocked cells, small changes."""
    shape = (num_games, layout.height, layout.width)
    codes = rng.integers(0, layout.num_players + 2, (num_games, 6, 6))
    newest = np.repeat(np.repeat(codes, -(-layout.height // 6), axis=1), -(-layout.width // 6), axis=2)
    newest = newest[:, : layout.height, : layout.width]
    frames = [newest]
    for _ in range(layout.frames - 1):
        specks = rng.integers(0, layout.num_players + 2, shape)
        frames.append(np.where(rng.random(shape) < rng.choice([0, 0.02, 1]), specks, frames[-1]))
    return np.stack(frames, axis=1).astype(np.uint8)


def bit_planes(codes, layout):
    """The bit planes of owner codes (..., H, W): uint8 (..., B, H, ceil(W/8))."""
    bits = np.stack([codes >> b & 1 for b in range(layout.num_planes)], axis=-3)
    return np.packbits(bits, axis=-1, bitorder="little")


def pack(boards, layout):
    """The ``planes`` of an observation of ``boards``, uint8 (E, F, H, W), as views of padded rows."""
    planes = bit_planes(boards, layout)
    planes[:, 1:] ^= planes[:, :-1].copy()
    padded = np.zeros((*planes.shape[:-1], -(-layout.row_bytes // 8) * 8), np.uint8)
    padded[..., : layout.row_bytes] = planes
    return padded[..., : layout.row_bytes]


def batch(layout=SMALL, num_games=3, num_entries=5, seed=0):
    """Boards of some games, packed, with entries that take some games twice and some not at all."""
    rng = np.random.default_rng(seed)
    boards = random_boards(layout, num_games, rng)
    seats = rng.integers(1, layout.num_players + 1, num_entries)
    return boards, pack(boards, layout), seats, rng.integers(0, num_games, num_entries)


def random_tables(layout, num_games, rng, hard_cap):
    """Players and borders of which only density, pools and allies are not zero; densities near all steps."""
    players = np.zeros((num_games, *layout.shape("players")), np.float32)
    steps = rng.integers(0, 300, players.shape[:2]) * hard_cap / 255
    players[..., DENSITY] = np.nextafter(steps.astype(np.float32), rng.choice([0, 1e9], players.shape[:2]))
    borders = np.zeros((num_games, *layout.shape("borders")), np.float32)
    borders[:, POOL, 1:] = rng.integers(0, 3, borders[:, POOL, 1:].shape) // 2
    if layout.teams:
        team = rng.integers(1, 4, players.shape[:2])
        others = ~np.eye(layout.num_players, dtype=bool)
        borders[:, ALLY, 1:, 1:] = (team[:, :, None] == team[:, None]) & others
    return players, borders


def arguments(layout=SMALL, config=CONFIG, seed=0, num_games=3, num_entries=5):
    """The arguments of every method of a decoder as arrays."""
    rng = np.random.default_rng(seed)
    _, planes, seats, games = batch(layout, num_games, num_entries, seed)
    players, borders = random_tables(layout, num_games, rng, config.hard_cap)
    globals_ = rng.random((num_games, *layout.shape("globals")), np.float32)
    masks = rng.integers(0, 256, (num_games, *layout.shape("masks"))).astype(np.uint8)
    return {
        "owners": (planes, seats, games),
        "onehot": (planes, seats, games),
        "semantic": (planes, seats, players, borders, games),
        "pooled": (planes, seats, players, borders, games),
        "features": (players, borders, globals_, seats, games),
        "action_mask": (masks, seats, games),
    }


# ---- the slow decoder ----------------------------------------------------------------------------


def slow_codes(planes, layout):
    """Owner codes (F, H, W) of one game, oldest frame first, bit by bit."""
    packed = planes[0].copy()
    frames = []
    for f in range(layout.frames):
        if f:
            packed = packed ^ planes[f]
        codes = np.zeros((layout.height, layout.width), int)
        for b, r, c in product(range(layout.num_planes), range(layout.height), range(layout.width)):
            codes[r, c] += (int(packed[b, r, c // 8]) >> c % 8 & 1) << b
        frames.insert(0, codes)
    return np.array(frames)


def slow_ego(code, seat, num_players):
    return (code - seat) % num_players + 1 if 1 <= code <= num_players else code


def slow_owners(codes, seat, layout):
    table = [slow_ego(code, seat, layout.num_players) for code in range(layout.num_players + 2)]
    return np.array([[[table[code] for code in row] for row in frame] for frame in codes])


def slow_onehot(codes, seat, layout):
    owners = slow_owners(codes, seat, layout)
    return np.array([frame == channel for frame in owners for channel in range(layout.num_players + 1)])


def slow_semantic(codes, seat, layout, players, borders, hard_cap):
    """Exact planes (S * F + 2, H, W) of one entry: whole numbers, densities as levels of 0..255."""
    num_players = layout.num_players
    planes = []
    for frame in codes:
        neutral, own, blocked = frame == 0, frame == seat, frame == num_players + 1
        others = ~(neutral | own | blocked)
        if layout.teams:
            allied = np.isin(frame, [t for t in range(1, num_players + 1) if borders[ALLY, seat, t]])
            planes += [own, neutral, others & ~allied, blocked, allied]
        else:
            planes += [own, neutral, others, blocked]
    levels, attacked = [0] * (num_players + 2), [0] * (num_players + 2)
    for p in range(1, num_players + 1):
        levels[p] = int(255 * min(1, Fraction(float(players[p - 1, DENSITY])) / hard_cap))
    for owner in range(num_players + 1):
        attacked[owner] = int(borders[POOL, seat, owner] > 0)
    planes += [np.array(levels)[codes[-1]], np.array(attacked)[codes[-1]]]
    return np.array(planes, int)


def slow_pooled(semantic, factor):
    """Means over squares of one entry's semantic planes, one division of float32 numbers each."""
    planes, height, width = semantic.shape
    rows, columns = np.arange(0, height, factor), np.arange(0, width, factor)
    sums = np.add.reduceat(np.add.reduceat(semantic, rows, axis=1), columns, axis=2)
    cells = np.outer(np.minimum(factor, height - rows), np.minimum(factor, width - columns))
    largest = np.where(np.arange(planes) == planes - 2, 255, 1)
    return sums.astype(np.float32) / (largest[:, None, None] * cells).astype(np.float32)
