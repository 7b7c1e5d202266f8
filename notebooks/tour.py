# %% [markdown]
# # A tour
#
# This notebook shows a game of bots as a film, lets an agent play, trains a network with PPO in less than
# three minutes, and seats it beside `champion-1`, the strongest bot of the library. It runs in Jupyter and
# on Colab: upload `notebooks/tour.ipynb` there, and choose "Run all".
#
# Only the training needs PyTorch and Stable-Baselines3, which the extra `sb3` installs. Nothing needs a GPU.

# %%
# %pip install -q "territorial-env[sb3]"

# %%
import time

import numpy as np
import torch
from PIL import Image
from sb3_contrib import MaskablePPO

import territorial
from territorial.envs.sb3 import MaskableVecEnv
from territorial.nets.sb3_pairs import MaskablePairActorCriticPolicy
from territorial.render import render_game

# %% [markdown]
# ## A game of bots
#
# A `GameConfig` has the rules, the size and the map. A `VecGame` plays games of it, here one, and `seats`
# lists the player of each seat. A `Recorder` records the game as a replay, which consists of the seed and
# all launches. The first step on a machine compiles the engine, and prints how long that takes.

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
# ## The film of it
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
last = {one.player: one.place.low for one in ranking.standings[-2:]}
assert last.keys() == {"novice-1", "random-1"}
assert min(last.values()) > 4.5  # both are below the middle, and surely so

# %% [markdown]
# ## PPO in three minutes
#
# Four seats of a smaller game learn with one network, among four of `metronome`, a bot that launches at
# regular intervals. `MaskableVecEnv` passes all agents of all games to Stable-Baselines3. They see "pairs",
# and act every 50 ticks (`decision_every`). The training takes about a minute of one core, longer on a slow
# or busy one.

# %%
torch.set_num_threads(1)
small = territorial.GameConfig(height=64, width=64, num_players=8, decision_every=50, max_ticks=6000)
env = MaskableVecEnv(
    32,
    config=small,
    seats=["agent", "metronome"] * 4,
    obs="pairs",
    action_format="pairs",
    end_when="no_agents",
)
model = MaskablePPO(
    MaskablePairActorCriticPolicy,
    env,
    learning_rate=1e-3,
    n_steps=32,
    batch_size=1024,
    n_epochs=3,
    ent_coef=0.003,
    seed=0,
    policy_kwargs={"size": "small"},
)
began = time.process_time()
model.learn(400_000)
print(f"{model.num_timesteps:,} decisions of agents, {time.process_time() - began:.0f} s of processor time")

# %% [markdown]
# ## The network in the engine
#
# `export` writes the network in whole numbers, and the engine plays this file like a bot, without PyTorch.
# The match has other seeds than the training. Eight equal players would all have the mean place 4.5, so the
# network is better than `metronome` if the whole interval of its place is below 4.5.

# %%
model.policy.network.export("mine.safetensors", interval=50)
duel = territorial.match(
    ["net:mine.safetensors", "metronome"] * 4, small, games=100, seed=1_000_000, processes=1, progress=False
)
print(duel.table())
(place,) = (one.place for one in duel.standings if one.player != "metronome-1")
print(f"mean place {place.value:.2f}, 95 % interval {place.low:.2f} to {place.high:.2f}; even: 4.5")
assert place.high < 4.5

# %% [markdown]
# ## A seat for the champion
#
# `champion-1` is a larger network of the same kind, which was trained for four hours. Here it has one seat,
# the network of this notebook has three, and the others have bots. Click on a player to follow it.

# %%
mine = "net:mine.safetensors"
seats = ["champion", mine, "settler", mine, "vulture", mine, "metronome", "banker"]
game = territorial.VecGame(small, 1, seats=seats, autoreset="disabled", observe=False)
names = [f"mine {seat}" if name == mine else name for seat, name in enumerate(seats, start=1)]
recorder = territorial.Recorder(game, names=names)
game.reset(seeds=[7])
while not game.state.over[0]:
    game.step()
recorder.replay()

# %% [markdown]
# ## From here
#
# - [PPO in one file](ppo.ipynb): all of PPO in PyTorch, without a library of algorithms
# - [Write a bot and beat turtle](beat_turtle.ipynb): fixed rules that win, and how to know that they do
# - [A league and its memory](league.ipynb): RLlib, frozen copies, and what they take
# - [Replays as data](replays_as_data.ipynb): launches and decisions as arrays
# - [From a game to planes](from_game_to_planes.ipynb): what agents see, bit by bit
