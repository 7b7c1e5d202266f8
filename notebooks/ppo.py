# %% [markdown]
# # PPO in one file
#
# Two seats of a small game learn with one network, among two bots. This notebook contains all of PPO, takes
# about a minute of one core, and ends with a file that plays in the engine like a bot. It needs `pip
# install "territorial-env[torch,league]"`.

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch

import territorial
from territorial.nets import PairPolicy

torch.set_num_threads(1)
torch.manual_seed(0)
GAMES, STEPS, UPDATES = 32, 32, 60  # side by side, between two updates, and in all
config = territorial.GameConfig(height=32, width=32, num_players=4, decision_every=50, max_ticks=4000)
seats = ["agent", "agent", "metronome", "metronome"]

# %% [markdown]
# ## What agents see
#
# `obs="pairs"` shows each agent 35 numbers of its own, and 26 numbers of each of at most eight owners that
# it can attack. An action is one number: hold, or one of these owners with one of ten fractions of the
# troops. A `PairPolicy` reads this form. None of its weights depends on the number of players or on the map.

# %%
env = territorial.make_vec(
    GAMES, config=config, seats=seats, obs="pairs", action_format="pairs", end_when="no_agents"
)
observations, info = env.reset(seed=0)
for key in ("own", "pairs", "action_mask"):
    print(f"{key:12} {observations[key].shape}: games, agents, ...")

policy = PairPolicy("small")
print(f"{sum(part.numel() for part in policy.parameters()):,} weights")
untrained = policy.export("untrained.safetensors", interval=50)

# %% [markdown]
# ## A rollout
#
# All games play `STEPS` decisions. An eliminated agent keeps its row until its game ends; `info["alive"]`
# marks the living agents, and only their rows are used for learning. `end_when="no_agents"` begins the next
# game when no agent is left.


# %%
def look(observations):
    """Return log-probabilities of all actions, (N, 81), and values, (N,), of all agents of all games."""
    return policy(
        *(torch.from_numpy(observations[key]).flatten(0, 1) for key in ("own", "pairs", "action_mask"))
    )


def rollout(observations, info):
    """Play; return the rows, the last observations and infos, and the places of agents that ended."""
    kept = {
        key: []
        for key in ("own", "pairs", "action_mask", "action", "logp", "value", "reward", "done", "alive")
    }
    places = []
    for _ in range(STEPS):
        with torch.no_grad():
            logits, values = look(observations)
            actions = logits.exp().multinomial(1)
        for key in ("own", "pairs", "action_mask"):
            kept[key].append(torch.from_numpy(observations[key]).flatten(0, 1))
        kept["alive"].append(torch.from_numpy(info["alive"]).flatten())
        observations, rewards, terminated, truncated, info = env.step(actions.view(GAMES, -1).numpy())
        kept["action"].append(actions[:, 0])
        kept["logp"].append(logits.gather(1, actions)[:, 0])
        kept["value"].append(values)
        kept["reward"].append(torch.from_numpy(rewards).float().flatten())
        kept["done"].append(torch.from_numpy(terminated | truncated).float().flatten())
        if info["is_over"].any():
            places += info["final_info"]["place"].ravel().tolist()
    return {key: torch.stack(rows) for key, rows in kept.items()}, observations, info, places


# %% [markdown]
# ## Advantages
#
# An advantage is how much better the outcome was than the network expected. Generalised advantage
# estimation (GAE) computes it backwards through the rollout, and stops where an agent's game ends.


# %%
def advantages_of(kept, last_values, gamma=0.99, trace=0.95):
    """Return the advantages, (STEPS, N)."""
    result, running, following = torch.zeros_like(kept["value"]), torch.zeros_like(last_values), last_values
    for t in reversed(range(STEPS)):
        goes_on = 1 - kept["done"][t]
        error = kept["reward"][t] + gamma * following * goes_on - kept["value"][t]
        running = error + gamma * trace * goes_on * running
        result[t], following = running, kept["value"][t]
    return result


# %% [markdown]
# ## The update
#
# PPO's loss raises the probability of actions that went better than expected, but by at most a fifth in one
# update.


# %%
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)


def update(kept, advantages, epochs=3, minibatches=4):
    """Learn from the rows of living agents."""
    rows = {**kept, "advantage": advantages, "return": advantages + kept["value"]}
    rows = {key: part.flatten(0, 1)[kept["alive"].flatten().bool()] for key, part in rows.items()}
    for _ in range(epochs):
        for chosen in torch.randperm(len(rows["action"])).tensor_split(minibatches):
            batch = {key: part[chosen] for key, part in rows.items()}
            logits, values = policy(batch["own"], batch["pairs"], batch["action_mask"])
            ratio = (logits.gather(1, batch["action"][:, None])[:, 0] - batch["logp"]).exp()
            gain = (batch["advantage"] - batch["advantage"].mean()) / (batch["advantage"].std() + 1e-8)
            surrogate = torch.min(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
            value_error = (values - batch["return"]).square().mean()
            entropy = -(logits.exp() * logits).sum(1).mean()
            loss = -surrogate + 0.5 * value_error - 0.003 * entropy
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
            optimizer.step()


# %% [markdown]
# ## Training

# %%
curve = []
for number in range(1, UPDATES + 1):
    kept, observations, info, places = rollout(observations, info)
    with torch.no_grad():
        last_values = look(observations)[1]
    update(kept, advantages_of(kept, last_values))
    if places:
        curve.append((number * STEPS * GAMES, np.mean(places)))
    if number % 10 == 0:
        lately = np.mean([place for _, place in curve[-5:]])
        print(f"{number * STEPS * GAMES:6,} steps of games: mean place {lately:.2f}")

# %%
figure, axes = plt.subplots(figsize=(7, 3.5))
axes.plot(*zip(*curve, strict=True), color="tab:blue")
axes.axhline(2.5, color="grey", linestyle="--", linewidth=1)
axes.text(curve[0][0], 2.46, "as good as the bots", color="dimgrey")
axes.set(
    xlabel="steps of games",
    ylabel="mean place of the agents",
    ylim=(4, 1),
    title="Learning, exploration included",
)
figure.tight_layout()

# %% [markdown]
# ## Is it better, and by how much?
#
# `export` writes the network in whole numbers, and the engine plays this file like a bot, without PyTorch.
# A match can therefore compare it with the untrained network, over games with other seeds than in training.
# Four equal players would all have the mean place 2.5, and with two seats 1.5 is the best there can be.

# %%
trained = policy.export("trained.safetensors", interval=50)
found = {}
for name in ("untrained", "trained"):
    net = f"net:{name}.safetensors"
    ranking = territorial.match(
        [net, net, "metronome", "metronome"], config, games=100, seed=1_000_000, processes=1, progress=False
    )
    (place,) = (line.place for line in ranking.standings if line.player != "metronome-1")
    print(f"{name:10} mean place {place.value:.2f}, 95 % interval {place.low:.2f} to {place.high:.2f}")
    found[name] = place
assert found["trained"].high < found["untrained"].low
assert found["trained"].high < 2.5

# %% [markdown]
# ## A game of it
#
# P1 and P2 are the network.

# %%
game = territorial.VecGame(
    config, 1, seats=["net:trained.safetensors"] * 2 + ["metronome"] * 2, autoreset="disabled", observe=False
)
recorder = territorial.Recorder(game, names=["trained 1", "trained 2", "metronome 1", "metronome 2"])
game.reset(seeds=[7])
while not game.state.over[0]:
    game.step()
recorder.replay()

# %% [markdown]
# ## From here
#
# - `examples/ppo.py` is the same program with options, and with networks on boards and on features.
# - `examples/pairs_ppo.py` plays in one process, learns in another, and trains against a league of its own
#   copies.
# - [A league and its memory](league.ipynb) does it with RLlib.
