# %% [markdown]
# # From a game to planes
#
# This notebook follows an observation from the board to the input of a network. It needs only the core.
# [Observations](../observation.md) specifies the format.

# %%
import numpy as np
from PIL import Image

import territorial
from territorial.constants import BLOCKED
from territorial.decode import feature_names
from territorial.decode.numpy import Decoder
from territorial.observation.layout import PLAYERS, ObsLayout, index
from territorial.render import render_board


def side_by_side(*pictures):
    """Return pictures as one, which a notebook shows as the last line of a cell."""
    gap = np.full((pictures[0].shape[0], 6, 3), 170, np.uint8)
    return Image.fromarray(np.hstack([part for picture in pictures for part in (picture, gap)][:-1]))


def grey(plane, scale=4):
    """Return the picture of a plane of numbers from 0 (white) to 1 (black)."""
    levels = (255 * (1 - np.asarray(plane, np.float64))).astype(np.uint8)
    return np.repeat(levels.repeat(scale, axis=0).repeat(scale, axis=1)[:, :, None], 3, axis=2)


def board(codes, scale=4):
    """Return the picture of (H, W) owner codes in which blocked cells are P + 1."""
    owner = np.where(codes == config.num_players + 1, BLOCKED, codes).astype(np.uint8)
    return render_board(owner, config.num_players, scale)


# %% [markdown]
# ## A game
#
# Two games of six bots on a small map, and stacks of four frames. `step` returns one observation for all
# seats of a game, with a leading axis of games. Seat 1 sees the owner codes as they are (for other seats
# they are rotated, as shown below), so its decoded boards are used to look at the game. The game continues
# until much happens in a step while seat 1 attacks.

# %%
config = territorial.GameConfig(height=60, width=60, num_players=6, map="lakes")
layout = ObsLayout(height=60, width=60, num_players=6, frames=4)
seats = ["metronome", "banker", "turtle", "novice", "metronome", "banker"]
game = territorial.VecGame(config, num_games=2, seats=seats, seed=1, frames=layout.frames)

own_attacks = index(PLAYERS, "pools_out")
obs = game.reset()
while game.state.tick[0] < 200 or obs.delta_count[0] < 60 or obs.players[0, 0, own_attacks] == 0:
    before = Decoder(layout).owners(obs.planes, [1, 1])[0, -1]  # owner codes, newest frame
    obs, *_ = game.step()

owner = game.state.owner[0, 1:-1, 1:-1]  # the board as people look at it, without its walls
print(f"tick {game.state.tick[0]}, of two games with all their seats:")
for name, array in obs._asdict().items():
    print(f"  {name:12} {array.dtype!s:8} {array.shape}")

Image.fromarray(render_board(owner, config.num_players, 4))

# %% [markdown]
# ## Bits
#
# The newest board is entry 0 of `planes`: here three bit planes, since codes go up to 7, that of blocked
# cells. Plane 0 is the lowest bit. A cell takes three bits instead of a byte.

# %%
packed = obs.planes[0]
bits = np.unpackbits(packed, axis=-1, count=layout.width, bitorder="little")  # (frames, planes, H, W)

codes = sum(bits[0, b].astype(np.uint8) << b for b in range(layout.num_planes))
assert (codes == np.where(owner == BLOCKED, layout.blocked_code, owner)).all()
print(f"{codes.size:,} cells in {packed[0].nbytes:,} bytes")

side_by_side(*(grey(plane) for plane in bits[0]))

# %% [markdown]
# ## What changed
#
# The other entries are differences: entry i has a bit wherever the boards i - 1 and i steps back differ.
# They are nearly empty, and XOR restores the older boards.

# %%
newest_first = np.bitwise_xor.accumulate(bits, axis=0)
frames = sum(newest_first[:, b].astype(np.uint8) << b for b in range(layout.num_planes))
assert (frames[1] == before).all()
print("bits set in each entry:", [int(entry.sum()) for entry in bits])

side_by_side(*(grey(entry.max(axis=0)) for entry in bits[1:]))

# %% [markdown]
# The newest of these changes is also listed as the delta: the changed cells with their new owners. A reader
# that has the previous board needs nothing else.

# %%
count = int(obs.delta_count[0])  # below 0 it would be a key frame: take the whole board
after = before.copy()
after.reshape(-1)[obs.delta_index[0, :count]] = obs.delta_code[0, :count]
assert (after == codes).all()
print(f"{count} cells changed in the last step: {5 * count} bytes instead of {packed[0].nbytes:,}")

# %% [markdown]
# ## As a seat sees it
#
# A decoder converts the observation to the point of view of any seat. Every seat is 1 to itself, and the
# others follow in a circle, so every agent sees itself in the same colour.

# %%
decoder = Decoder(layout, config)
everyone = np.arange(1, 7)
first_game = np.zeros(6, np.int64)
owners = decoder.owners(obs.planes, everyone, first_game)  # (seats, frames, H, W), the oldest frame first

side_by_side(*(board(owners[p - 1, -1], 3) for p in everyone))

# %% [markdown]
# One-hot planes for a network have one plane for neutral land, one for the seat itself and one for each
# other player. This is the largest form.

# %%
onehot = decoder.onehot(obs.planes, everyone, first_game, dtype=np.int8)
newest = onehot[0, -(config.num_players + 1) :]  # seat 1, the newest frame
assert (newest.sum(axis=0) == (owner != BLOCKED)).all()
print(f"one-hot planes of all seats: {onehot.nbytes:,} bytes; packed: {packed.nbytes:,}")

side_by_side(*(grey(plane, 3) for plane in newest))

# %% [markdown]
# Semantic planes are fewer and mean the same for any number of players: own, neutral, others', blocked, the
# density of the owner, and the owners that this seat is attacking. The second row shows their means over 6
# x 6 cells.

# %%
tables = (obs.players, obs.borders)
semantic = decoder.semantic(obs.planes, everyone, *tables, first_game)
pooled = decoder.pooled(obs.planes, everyone, *tables, first_game, factor=6)
print(f"semantic {semantic.shape}, pooled {pooled.shape}")

side_by_side(*(grey(plane, 3) for plane in semantic[0, -6:]))

# %%
side_by_side(*(grey(plane, 18) for plane in pooled[0, -6:]))

# %% [markdown]
# ## Numbers and legal actions
#
# The tables are rotated in the same way: the first features of every seat describe itself. The mask marks
# the legal first parts of an action: holding, neutral land, oneself (never), the others.

# %%
features = decoder.features(obs.players, obs.borders, obs.globals, everyone, first_game)
names = feature_names(config)
share = features[:, names.index("player0.land_share")]
assert (share == obs.players[0, :, index(PLAYERS, "land_share")]).all()
print(f"{features.shape[1]} features for each of {features.shape[0]} seats")
masks = decoder.action_mask(obs.masks, everyone, first_game)
for p, mask in zip(everyone, masks, strict=True):
    print(f"seat {p}: {100 * share[p - 1]:4.1f} % of the land; legal: {mask.nonzero()[0].tolist()}")
