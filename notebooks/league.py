# %% [markdown]
# # A league and its memory
#
# In a league a network plays against bots, against itself, and against frozen copies of itself. This
# notebook predicts the memory of such a training run, builds a league with RLlib, trains it for some
# iterations, and measures its memory. It needs `pip install "territorial-env[rllib]"`.

# %%
import matplotlib.pyplot as plt
import numpy as np
import ray
from ray.rllib.algorithms.ppo import PPOConfig

import territorial
from rllib_adapters import configure_league
from rllib_adapters.league.callback import league_in
from territorial.league import Gate, League, LeagueConfig, Learner, Opponents
from territorial.memory.measure import measure
from territorial.memory.predict import predict
from territorial.memory.setup import Setup

MB = 2**20

# %% [markdown]
# ## What it would take
#
# The league of the README: 32 players on 256 x 256 cells, of which eight learn, and 32 frozen copies.
# `predict` adds up the memory of every part. "one-hot" is RLlib's old API stack with one-hot boards and a
# policy for each player; "packed" stores one board in bits for all agents, and with "pairs" agents observe
# no board at all.

# %%
full = Setup()
forms = {form: predict(full, form) for form in ("one-hot", "packed", "pairs")}
for form, plan in forms.items():
    built, peak = plan.built_over_idle / MB, plan.peak / MB
    print(f"{form:8} built in {built:8,.0f} MB over the imports; in all {peak:8,.0f} MB at the worst moment")

figure, axes = plt.subplots(figsize=(7, 2.4))
axes.barh(list(forms), [plan.peak / MB / 1024 for plan in forms.values()], color="tab:blue")
axes.set_xscale("log")
axes.set(xlabel="GB at the worst moment (logarithmic)", title="Memory of a league of 32 players, predicted")
for place, plan in enumerate(forms.values()):
    axes.text(plan.peak / MB / 1024, place, f" {plan.peak / MB / 1024:,.1f}", va="center")
axes.margins(x=0.15)
figure.tight_layout()

# %% [markdown]
# ## A small league
#
# One learner has two of six seats, frozen copies have two, for which hard opponents are drawn more often,
# and bots have two. The gate determines when a copy is frozen: here after every second iteration.

# %%
game = territorial.GameConfig(height=48, width=48, num_players=6, decision_every=50, max_ticks=3000)
main = Learner(
    name="main",
    seats=2,
    opponents=(
        Opponents(seats=2, strategy="pfsp", weighting="hard"),
        Opponents(seats=2, strategy="uniform", among=("bots",)),
    ),
    gate=Gate(max_steps=2),
)
league = League(
    LeagueConfig(num_players=6, learners=(main,), bots=("metronome", "novice"), capacity=8, seed=0)
)

# %% [markdown]
# `configure_league` puts it into RLlib's configuration. With "pairs" the engine itself plays the frozen
# copies, like bots, so they take no time in Python and a few kilobytes each.

# %%
ray.init(
    num_cpus=2,
    include_dashboard=False,
    log_to_driver=False,
    logging_level="error",
    object_store_memory=200 * MB,
)
before = measure().total

config = configure_league(
    PPOConfig(), {"config": game, "obs": "pairs"}, league, "snapshots", runner="batched", size="small"
)
config.env_runners(num_env_runners=0, num_envs_per_env_runner=16)
config.training(
    train_batch_size_per_learner=512,
    minibatch_size=256,
    num_epochs=3,
    lr=1e-3,
    entropy_coeff=0.003,
    grad_clip=0.5,
)
config.debugging(seed=0, log_level="ERROR")
algorithm = config.build_algo()
built = measure().total

# %% [markdown]
# ## Training
#
# After every iteration the league records the games that ended, and draws the players of the next games.

# %%
used = [built]
for number in range(1, 9):
    result = algorithm.train()
    used.append(measure().total)
    league = league_in(algorithm)
    print(
        f"iteration {number}: {league.num_games:3} games, {len(league.snapshots)} frozen copies, "
        f"mean place {result['env_runners'].get('place', float('nan')):.2f}"
    )

# %% [markdown]
# ## Who is where
#
# `league.payoff` has the probability that one player is placed above another in the same game, with a 95 %
# interval. One half is even; after so few games the intervals are wide.

# %%
for bot, found in league.met_bots().items():
    interval = f"{100 * found.low:.0f} to {100 * found.high:.0f}"
    print(f"main was placed above {bot:15} in {100 * found.above:.0f} % ({interval}), {found.games} games")
print("frozen:", ", ".join(league.snapshots))
assert len(league.snapshots) >= 4

# %% [markdown]
# ## What it took
#
# `measure` adds up the memory of this process and of all processes that it started, with shared memory
# counted once. Frozen copies are added, but memory hardly grows.

# %%
figure, axes = plt.subplots(figsize=(7, 3))
axes.plot(range(9), np.array(used) / MB, marker="o", label="all processes")
axes.axhline(before / MB, color="grey", linestyle="--", linewidth=1, label="imports and Ray alone")
axes.set(xlabel="iterations", ylabel="MB", ylim=(0, None), title="Memory of this league, measured")
axes.legend(frameon=False, loc="lower right")
figure.tight_layout()
over = [(nbytes - before) / MB for nbytes in (built, max(used))]
print(f"built in {over[0]:,.0f} MB over the imports, trained in {over[1]:,.0f} MB")
assert over[1] < 1500

# %% [markdown]
# ## A game of the newest copy
#
# A snapshot on pairs is a folder with the weights and the network in the form that the engine plays. P1 and
# P2 are the newest copy.

# %%
newest = list(league.snapshots)[-1]
file = f"snapshots/{newest}/network.safetensors"
seats = [f"net:{file}"] * 2 + ["metronome", "novice"] * 2
shown = territorial.VecGame(game, 1, seats=seats, autoreset="disabled", observe=False)
recorder = territorial.Recorder(
    shown, names=[newest, newest, "metronome 1", "novice 1", "metronome 2", "novice 2"]
)
shown.reset(seeds=[1])
while not shown.state.over[0]:
    shown.step()
replay = recorder.replay()
algorithm.stop()
ray.shutdown()
replay

# %% [markdown]
# ## From here
#
# - `territorial train runs/first --preset quick` is this as a command, with checkpoints, a log and a limit
#   of memory.
# - `territorial league show runs/first --plots plots/` draws ratings and payoffs.
# - `territorial info memory` prints the prediction for any league.
