# %% [markdown]
# # A tour
#
# This notebook plays a game of bots, draws it and shows it as a page; then it adds an agent, plays many
# games at once, and compares players in a match. It needs only the core: `pip install territorial-env`. The
# first step compiles the engine once per machine, which takes about half a minute.

# %%
import numpy as np
from PIL import Image

import territorial
from territorial.render import render_game

# %% [markdown]
# ## A game of bots
#
# A `GameConfig` has the rules, the size and the map. A `VecGame` plays games of it, here one, and `seats`
# lists the player of each seat. A `Recorder` records the game as a replay, which consists of the seed and
# all launches.

# %%
config = territorial.GameConfig(height=96, width=128, num_players=8, map="lakes", max_ticks=6000)
seats = ["settler", "turtle", "vulture", "metronome", "banker", "besieger", "novice", "random"]
game = territorial.VecGame(config, num_games=1, seats=seats, autoreset="disabled")
recorder = territorial.Recorder(game)

game.reset(seeds=[5])
while game.state.tick[0] < 700:
    game.step()

Image.fromarray(render_game(game, 0, scale=5))

# %% [markdown]
# A step is one decision of all players, ten ticks by default. `game.state` has the complete state of the
# games, as arrays with a leading axis of games. Seat 1 is column 1; column 0 is neutral land.

# %%
state = game.state
print(f"tick {state.tick[0]}, {state.num_land[0]:,} cells of land, {state.land[0, 0]} of them neutral")
for seat, name in enumerate(game.seats_of(0), start=1):
    print(f"{seat} {name:12} {state.land[0, seat]:5} cells {state.troops[0, seat]:7,} troops")

# %% [markdown]
# ## To its end, and again
#
# The game continues to its end, and the replay then plays it again within this page: press play, go to any
# moment, point at a player. As a file it takes a few kilobytes, and `territorial watch FILE` opens it in
# the browser.

# %%
while not game.state.over[0]:
    game.step()

replay = recorder.replay()
replay.verify()  # raises an error if the game came out differently
print(f"{replay.num_ticks:,} ticks, {len(replay.launches):,} launches, {len(replay.to_bytes()):,} bytes")
replay

# %% [markdown]
# ## A seat for an agent
#
# `parallel_env` is the game in PettingZoo's form: every `"agent"` among the seats is an agent, and the
# others are bots. An observation contains an `action_mask` of the legal actions. This agent acts at random,
# so its place is poor.

# %%
env = territorial.parallel_env(
    height=64, width=64, num_players=4, seats=["agent", "settler", "banker", "turtle"]
)
observations, infos = env.reset(seed=1)
(agent,) = env.agents
for key, array in observations[agent].items():
    print(f"{key:12} {array.dtype!s:8} {array.shape}")

env.action_space(agent).seed(1)
total = 0.0
while env.agents:
    action = env.action_space(agent).sample(mask=observations[agent]["action_mask"])
    observations, rewards, terminations, truncations, infos = env.step({agent: action})
    total += rewards[agent]
print(f"place {infos[agent]['place']:g} of 4, sum of rewards {total:.2f}")

# %% [markdown]
# An action is one number. 0 holds, and 1 + 10 k + f launches at owner k in ego order, with fraction f of
# ten: k = 0 is neutral land. `action_format` has other forms. The reward is the change of the share of the
# land, and at the end the place, from 1 for the first to -1 for the last.
#
# ## Many games at once
#
# A training loop of your own works best with arrays, which have one row per game and one entry per agent.
# `obs` selects the observation: "features" is a vector of numbers, "pairs" has some numbers of each owner
# that the agent can attack, and "packed" has the whole board in bits, once for all agents of a game.

# %%
for obs in ("features", "pairs", "packed"):
    env = territorial.make_vec(16, height=64, width=64, num_players=4, obs=obs)
    observations, info = env.reset(seed=0)
    shapes = ", ".join(f"{key} {array.shape}" for key, array in observations.items())
    print(f"{obs}: {shapes}")

# %%
env = territorial.make_vec(16, height=64, width=64, num_players=4, obs="features")
observations, info = env.reset(seed=0)
rewards = np.zeros((16, 4))
for _ in range(50):
    expand = observations["action_mask"][:, :, 4]  # neutral land, the fourth of ten fractions: is it legal?
    actions = np.where(expand, 4, 0)
    observations, reward, terminated, truncated, info = env.step(actions)
    rewards += reward
print(
    f"land after 50 decisions: {100 * (rewards + 12 / env.game.state.num_land[:, None]).mean():.0f} % a seat"
)

# %% [markdown]
# ## Who is better?
#
# A match plays the same seats over many seeds, on all cores. The brackets contain the ends of 95 %
# intervals.

# %%
players = ["settler", "turtle", "novice", "random"]
ranking = territorial.match(players, config, games=40, processes=1, progress=False)
print(ranking.table())
assert ranking.standings[0].player == "settler-1"
assert ranking.standings[-1].place.low > 4.5  # who acts at random is below the middle, and surely so

# %% [markdown]
# ## From here
#
# - [PPO in one file](ppo.ipynb): a network that learns from pairs, in a minute
# - [Write a bot and beat turtle](beat_turtle.ipynb): fixed rules that win, and how to know that they do
# - [A league and its memory](league.ipynb): RLlib, frozen copies, and what they take
# - [Replays as data](replays_as_data.ipynb): launches and decisions as arrays
# - [From a game to planes](from_game_to_planes.ipynb): what agents see, bit by bit
