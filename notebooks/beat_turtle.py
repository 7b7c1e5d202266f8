# %% [markdown]
# # Write a bot and beat turtle
#
# A bot is a class with a name, an interval and a decision. This notebook writes three of them, shows why
# the first two lose, and measures that the third wins. The opponent is `turtle`, which stays at home, saves
# its troops and hits back, and which few bots of the library can invade. The notebook needs only the core.

# %%
import numpy as np

import territorial
from territorial.bots import HOLD_ALL, PythonBot

config = territorial.GameConfig(height=96, width=96, num_players=8, max_ticks=6000)


def against_turtle(bot, seed=0):
    """Return the ranking of 40 games: four seats of the bot, and four of turtle between them."""
    return territorial.match([bot, "turtle"] * 4, config, games=40, seed=seed, processes=1, progress=False)


# %% [markdown]
# With eight seats the mean place of equal players is 4.5, so a bot beats turtle if the whole interval of
# its mean place is below 4.5. The games have different maps and spawns, and the interval is that of the
# games.
#
# ## Eager
#
# The first bot sends half of its troops at every chance: at neutral land, else at the player with the
# fewest troops for its land. `decide` is called once for all seats of the bot in all games, with arrays
# that have one row per seat and one column per owner.


# %%
class Eager(PythonBot):
    name = "eager-1"
    interval = 10  # ticks from one decision to the next

    def decide(self, view):
        thinnest = view.least(
            view.troops, view.land
        )  # the least troops for its land, of those that can be attacked
        targets = np.where(view.legal[:, 0], 0, thinnest)  # 0 is neutral land
        return targets, np.full(len(targets), 512)  # 1024ths of the balance


eager = against_turtle(Eager())
print(eager.table())

# %% [markdown]
# Eager loses every time. A replay shows why: press play, and click on a seat of eager to follow it.


# %%
def one_game(bot, seed):
    """Return the replay of a game of four seats of the bot and four of turtle."""
    game = territorial.VecGame(config, 1, seats=[bot, "turtle"] * 4, autoreset="disabled", observe=False)
    recorder = territorial.Recorder(game)
    game.reset(seeds=[seed])
    while not game.state.over[0]:
        game.step()
    return recorder.replay()


one_game(Eager(), seed=3)

# %% [markdown]
# It grows fast, but all its troops are in the field, and a low balance makes its land cheap for others. In
# addition, every launch costs a tax of 1.2 % of the troops at home, which eager pays a hundred times in a
# thousand ticks.
#
# ## Patient
#
# Interest is paid on troops at home, and falls to nothing between 100 and 150 troops per cell. The second
# bot therefore opens with a tenth at a time, waits until it has 110 per cell, and then sends a quarter.


# %%
class Patient(PythonBot):
    name = "patient-1"
    interval = 100

    def decide(self, view):
        troops, land = view.own(view.troops), view.own(view.land)
        thinnest = view.least(view.troops, view.land)
        targets = np.where(view.legal[:, 0], 0, np.where(troops >= 110 * land, thinnest, HOLD_ALL))
        return targets, view.fraction(np.where(targets == 0, troops // 10, troops // 4))


patient = against_turtle(Patient())
print(patient.table())

# %% [markdown]
# This is better, but still below turtle. A quarter of the troops is too much, because of 110 per cell
# 82 are left, which is less than every turtle nearby has, and turtles attack players with few troops per
# cell.
#
# ## Thrifty
#
# The third bot never goes below 110 troops per cell for an attack: it sends only the surplus, which would
# earn next to nothing at home. It takes neutral land in large bites, because early land earns for longest.


# %%
class Thrifty(PythonBot):
    name = "thrifty-1"
    interval = 100

    def decide(self, view):
        troops, land = view.own(view.troops), view.own(view.land)
        surplus = troops - 110 * land
        thinnest = view.least(view.troops, view.land)
        targets = np.where(view.legal[:, 0], 0, np.where(surplus > 0, thinnest, HOLD_ALL))
        return targets, view.fraction(np.where(targets == 0, troops * 2 // 5, surplus))


thrifty = against_turtle(Thrifty())
print(thrifty.table())

# %% [markdown]
# ## Is it true?
#
# The numbers of thrifty were tuned on these games, so the test needs other games. Here are 40 with other
# seeds. The notebook fails if the interval does not lie below 4.5.

# %%
unseen = against_turtle(Thrifty(), seed=1_000_000)
place = unseen.standings[0].place
wins = unseen.standings[0].wins
print(unseen.table())
print()
print(
    f"mean place of thrifty: {place.value:.2f}, 95 % interval {place.low:.2f} to {place.high:.2f}; even: 4.5"
)
print(f"games won by a thrifty seat: {wins.value:.0%}, 95 % interval {wins.low:.0%} to {wins.high:.0%}")
assert unseen.standings[0].player == "thrifty-1"
assert place.high < 4.5
assert wins.low > 0.5

# %%
one_game(Thrifty(), seed=3)

# %% [markdown]
# ## Whom else?
#
# Beating turtle is no proof of strength, because bots beat each other in cycles. With `deal=True` a match
# draws the seats for every game from more players.

# %%
players = [Thrifty(), "turtle", "settler", "besieger", "vulture", "metronome", "banker", "upstart"]
field = territorial.match(players, config, games=60, deal=True, processes=1, progress=False)
print(field.table())

# %% [markdown]
# ## From here
#
# - In contests on the command line a bot is named by its module: `territorial match --seats
#   my_bots:Thrifty,turtle`.
# - The same rules as data, a `territorial.bots.Style`, play at the speed of the engine: [bots](../bots.md).
# - An example searches for better numbers: [evolving a style](../custom_bots.md#evolving-a-style).
