# %% [markdown]
# # Replays as data
#
# A replay is a seed, a map and all launches of a game, in a few kilobytes. This notebook records games,
# reads their launches as an array, follows land and troops over time, finds who fights whom, and makes rows
# for learning with observations, actions and returns. It needs the extra `league`, only for the plots.

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import territorial
from territorial.observation.action_encoding import convert_share
from territorial.replay import decisions

# %% [markdown]
# ## Recording
#
# Twelve games run side by side, and a `Recorder` writes a file for each one that ends.

# %%
config = territorial.GameConfig(height=96, width=96, num_players=8, max_ticks=5000)
seats = ["settler", "besieger", "vulture", "turtle", "metronome", "banker", "hard", "novice"]
game = territorial.VecGame(config, num_games=12, seats=seats, autoreset="disabled", observe=False)
with territorial.Recorder(game, "replays"):
    game.reset(seed=0)
    while not game.state.over.all():
        game.step()

paths = sorted(Path("replays").iterdir())
replays = [territorial.Replay.load(path) for path in paths]
print(f"{len(paths)} files, {sum(path.stat().st_size for path in paths):,} bytes in all")
assert len(replays) == 12

# %% [markdown]
# The first of them, as a page. `replay.names` has the players by seat.

# %%
replay = replays[0]
replay

# %% [markdown]
# ## Launches
#
# `replay.launches` is an array with one row per launch: tick, seat, owner code of the target, and the
# fraction of the balance in 1024ths. This table shows, over all games, how often and how much each bot
# launches, and how much of that at neutral land.

# %%
launches = np.concatenate([replay.launches for replay in replays])
tick, seat, target, part = launches.T
share = convert_share(part, "1024ths", "percent")
print(f"{len(launches):,} launches in {sum(replay.num_ticks for replay in replays):,} ticks\n")
print(f"{'':12}{'launches a game':>16}{'mean part':>12}{'at neutral land':>18}")
for number, name in enumerate(seats, start=1):
    own = seat == number
    print(
        f"{name:12}{own.sum() / len(replays):16.0f}{share[own].mean():10.0f} %"
        f"{100 * (target[own] == 0).mean():16.0f} %"
    )

# %% [markdown]
# ## Land over time
#
# `replay.frames` plays the game again and gives board, land, troops and attacks at any ticks.

# %%
frames = list(replay.frames(every=50))
ticks = np.array([frame.tick for frame in frames])
land = np.array([frame.land for frame in frames]) / replay.num_land
figure, axes = plt.subplots(figsize=(8, 4))
for number, name in enumerate(replay.names, start=1):
    axes.plot(ticks, 100 * land[:, number - 1], label=f"P{number} {name}")
axes.set(
    xlabel="ticks", ylabel="share of the land, %", title="Land of the players over one game", ylim=(0, None)
)
axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
figure.tight_layout()

# %% [markdown]
# ## Who fights whom
#
# `seek` returns the game at a tick. Its state contains how many cells each player has taken from each other
# player. Row and column are seats 1 to 8; the numbers are means over all games.

# %%
taken = sum(replay.seek(replay.num_ticks).state.taken[0, 1:, 1:].astype(np.int64) for replay in replays)
figure, axes = plt.subplots(figsize=(6, 5))
picture = axes.imshow(taken / len(replays), cmap="viridis")
axes.set_xticks(range(8), seats, rotation=45, ha="right")
axes.set_yticks(range(8), seats)
axes.set(xlabel="from", ylabel="taken by", title="Cells that one player has taken from another")
figure.colorbar(picture, label="cells a game")
figure.tight_layout()

# %% [markdown]
# ## A question, and its answer
#
# Does it help to be ahead early? The rank correlation of the land at tick 500 with the final place answers
# this. The interval is from games drawn again with replacement (bootstrap), as the eight players of a game
# are not independent.


# %%
def ranks(numbers):
    """Return the ranks of the numbers in the last axis, from 0 on."""
    return numbers.argsort(axis=-1).argsort(axis=-1)


early = np.array([replay.seek(500).state.land[0, 1:] for replay in replays])
places = np.array([replay.seek(replay.num_ticks).state.doubled_place[0, 1:] / 2 for replay in replays])


def correlation(games):
    """Return the mean rank correlation of early land and of how good the place is, over these games."""
    return np.mean([np.corrcoef(ranks(early[k]), ranks(-places[k]))[0, 1] for k in games])


rng = np.random.default_rng(0)
drawn = [correlation(rng.integers(len(replays), size=len(replays))) for _ in range(1000)]
low, high = np.percentile(drawn, [2.5, 97.5])
print(f"rank correlation {correlation(range(len(replays))):.2f}, 95 % interval {low:.2f} to {high:.2f}")

# %% [markdown]
# It is negative: players that are ahead at tick 500 tend to get worse places. Early land is bought with
# troops, and a player with few troops a cell is cheap to attack. The table of launches shows an example:
# novice sends nearly all of its troops.

# %% [markdown]
# ## Rows for learning
#
# `decisions` plays the games again and yields a row for each decision of a seat. `own` and `pairs` are the
# observation of a network, `action` is the seat's action, and `returns` and `place` are the outcome. A
# clone of a bot is trained on such rows.

# %%
rows = list(decisions("replays", seats=["settler"]))
actions = np.concatenate([part.action for part in rows])
place = np.concatenate([part.place for part in rows])
print(f"{len(actions):,} decisions of settler in {len(rows)} games")
print(f"of the first: own {rows[0].own.shape}, pairs {rows[0].pairs.shape}")
print(f"{100 * (actions == 0).mean():.0f} % hold, mean place {place.mean():.1f}")
assert len(rows) == 12
assert (actions >= -1).all()

# %% [markdown]
# ## From here
#
# - `territorial dataset` writes such rows of thousands of games to files that are mapped into memory.
# - [examples/clone.py](../datasets.md#a-network-from-a-data-set) trains a network on them.
# - The format of a replay is described byte by byte, with a parser of thirty lines that needs no library.
