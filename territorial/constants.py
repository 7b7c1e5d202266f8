"""Names, codes and versions that all modules share; imports nothing.

Numbers that a user may change live in :class:`territorial.GameConfig`; what stands here is fixed
because files, digests and trained policies depend on it.
"""

__version__ = "0.1.0"
"""The release; the build reads it from here."""

RULES_VERSION = 1
"""Moves when, and only when, a game plays out differently from the same seed, map and actions."""
OBS_VERSION = 2
"""Moves when what an observation means changes; columns that are appended change nothing."""

# Owner codes of cells and pool targets.
NEUTRAL = 0
"""Owner code of free land; players are 1..P."""
BLOCKED = 255
"""Owner code of a cell that no player can ever own: water, mountains, and all that lies outside the map."""

MIN_PLAYERS, MAX_PLAYERS = 2, 250
MIN_SIDE, MAX_SIDE = 16, 1024
LARGEST_TROOPS = 2**36
"""Most troops that a balance or a pool may be given: no 64-bit product overflows.

The largest product is in the rate of interest above the soft cap: 100 (``over_cap_slope``) * 1,000,000 basis
points (``interest_base`` 10,000 times ``early_interest_multiple`` 100) * troops < 2**63. What is paid in play
ends at ``hard_cap`` 10,000 * 2**20 cells, which is less.
"""
LARGEST_SEED = 2**64 - 1

# Streams of the counter RNG, H(seed, stream, tick, index); each number is used for one purpose only.
STREAM_ORDER = 1
"""Order in which the due players of one tick step: tick, player."""
STREAM_EPISODE = 2
"""Seed of an episode: H(batch seed, 2, game index in the batch, episode index)."""
STREAM_MAP = 3
"""Which map of the bank a game plays on: 0, 0. The seed of a map for one game alone: 1, attempt."""
STREAM_SPAWN = 4
"""Candidate spawn positions: slot, candidate."""
STREAM_SPAWN_ORDER = 5
"""Which seat gets which spawn slot: 0, slot."""
STREAM_BOT_SETUP = 6
"""What a bot fixes once a game, such as the phase of its clock: player, draw."""
STREAM_BOT_MOVE = 7
"""What a bot draws at a decision: tick, player * 512 + draw."""
STREAM_MAP_GENERATOR = 8
"""Noise of generated maps: layer, lattice point (seeded by the map's seed, not the game's)."""
STREAM_TEAM_DEAL = 9
"""Order in which seats are dealt to teams at random: 0, player."""
STREAM_TEAM_ORDER = 10
"""Order in which teams get their parts of the map when allies start together: 0, team."""
STREAM_TEAM_SPAWN = 11
"""Order in which the players of a team get the spawns of its part: 0, player."""
STREAM_FUTURE = 12
"""Seeds of other endings of a game: the tick from which on they differ, number of the ending."""
STREAM_START = 13
"""Which of several saved games an environment's game begins from: 0, 0."""

# A player's choice is (what, how much): the second part indexes this table of 1024ths of the balance.
FRACTIONS = (16, 32, 64, 96, 128, 192, 256, 384, 512, 1024)
NUM_FRACTIONS = len(FRACTIONS)
FRACTION_UNIT = 1024

# First part of an action, an ego index: see territorial.observation.action_encoding.
HOLD = 0
TARGET_NEUTRAL = 1
TARGET_SELF = 2

# Codes of who plays a seat, in the state; bots follow in the order of territorial.bots.NAMES.
AGENT_CODE, EXTERNAL_CODE, FIRST_BOT_CODE = 0, 1, 2

NUM_CANDIDATES = 8
"""Owners that the form "pairs" shows to an agent, and its formats of actions can name, by default."""
MAX_CANDIDATES = MAX_PLAYERS
"""Neutral land and all other players."""
NUM_ALLIES = 4
"""Living allies that the form "pairs" shows to an agent in games with teams, by default."""
MAX_ALLIES = MAX_PLAYERS

SPAWN_SIDE = 4
"""A spawn is a 4 x 4 square without its four corners."""
SPAWN_CELLS = 12
SPAWN_CANDIDATES = 10
"""Free positions looked at for one spawn before the most distant of them is taken."""
SPAWN_TRIES = 64
"""Positions drawn for one spawn before the first free one in reading order is taken."""
