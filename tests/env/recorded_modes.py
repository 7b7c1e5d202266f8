"""Plays every environment in every mode, and writes a digest of what all steps returned: ``modes.json``.

Run by hand, and only if a change of games, rewards or infos is wanted:
``python -m tests.env.recorded_modes``.
With beginnings of names of modes, such as ``corner``, it replaces these alone; ``--show MODE`` prints one.
"""

import copy
import itertools
import pickle
from functools import partial
from pathlib import Path

import gymnasium
import numpy as np

import territorial
from territorial import GameConfig, VecGame
from territorial.bots import PythonBot
from territorial.constants import NUM_FRACTIONS
from territorial.engine.players import NEXT_ONES
from territorial.game.state import FIELDS
from tests.recordings import Recording, main

PATH = Path(__file__).parent / "modes.json"
PLAYERS, GAMES = 5, 3
MOST_STEPS = 60
"""Of a game that does not end, as none should."""
SMALL = {
    "height": 20,
    "width": 26,
    "num_players": PLAYERS,
    "decision_every": 25,
    "max_ticks": 600,
    "starting_troops": 1500,
    "death_divisor": 2,
    "defence_tenths": 2,
    "win_percent": 80,
}
"""A game in which players die early, and which may be won, or end without agents, or be cut."""
MAPS = {
    "open": {"map": "open", "num_maps": 1},
    "mixed": {"map": "2*lakes + islands:count=3", "num_maps": 4},
    "fresh": {"map": "lakes", "num_maps": 0},
    "named": {"num_maps": 1},
}
NAMED = ["lakes", "open", "islands"]
"""One map a game, for "named"."""
VALUES = {
    "autoreset": ("same_step", "next_step", "disabled"),
    "agent_death": ("remove", "keep"),
    "end_when": ("game", "no_agents"),
    "max_cycles": ("never", "17"),
    "obs": ("packed", "zero_copy", "features", "pooled", "onehot"),
    "action_mask": ("obs", "info", "none"),
    "action_format": ("discrete", "multi_discrete"),
    "reward_fn": ("no", "yes"),
    "seats": ("all", "some", "python", "per_game"),
    "game": tuple(MAPS),
    "middle": ("nothing", "reset_game", "reset", "restore", "restore_all", "clone", "pickle", "set_seats"),
}
"""What the columns of the tables below may hold. Every pair of values is in the tables."""

VECTOR = """
disabled  keep   game      17    features  none multi_discrete no  all      named clone
disabled  keep   game      17    features  obs  multi_discrete yes per_game open  reset
disabled  keep   game      17    pooled    info multi_discrete no  per_game mixed reset_game
disabled  keep   game      17    zero_copy obs  discrete       no  all      mixed nothing
disabled  keep   no_agents 17    features  none multi_discrete no  python   mixed nothing
disabled  keep   no_agents 17    onehot    info multi_discrete yes per_game named reset
disabled  keep   no_agents 17    zero_copy info multi_discrete yes all      fresh set_seats
disabled  keep   no_agents never packed    obs  multi_discrete yes some     fresh reset
disabled  remove game      17    onehot    info multi_discrete yes some     mixed clone
disabled  remove game      17    packed    obs  discrete       no  some     open  set_seats
disabled  remove game      17    pooled    obs  multi_discrete yes python   open  pickle
disabled  remove game      17    zero_copy info multi_discrete yes python   fresh restore_all
disabled  remove game      never pooled    none discrete       yes some     fresh restore
disabled  remove no_agents 17    packed    obs  discrete       yes per_game open  nothing
disabled  remove no_agents 17    zero_copy obs  discrete       no  all      mixed restore
disabled  remove no_agents never packed    obs  discrete       no  some     named reset_game
next_step keep   game      17    zero_copy obs  multi_discrete yes per_game fresh clone
next_step keep   game      never onehot    info discrete       yes some     fresh nothing
next_step keep   game      never pooled    info discrete       no  python   named reset
next_step keep   game      never zero_copy none multi_discrete yes python   named reset_game
next_step keep   no_agents 17    features  info multi_discrete no  per_game named restore
next_step keep   no_agents 17    packed    info discrete       no  python   mixed pickle
next_step remove game      17    features  info discrete       no  all      named pickle
next_step remove game      17    packed    info discrete       no  some     open  clone
next_step remove no_agents never onehot    obs  discrete       no  all      open  restore_all
next_step remove no_agents never pooled    obs  discrete       yes per_game mixed set_seats
same_step keep   game      17    onehot    none discrete       yes all      open  restore
same_step keep   game      17    packed    none multi_discrete yes per_game mixed restore_all
same_step keep   game      never onehot    none multi_discrete yes python   named set_seats
same_step keep   game      never pooled    none discrete       yes all      named restore_all
same_step keep   game      never zero_copy none discrete       yes some     open  pickle
same_step keep   no_agents 17    packed    obs  discrete       no  all      fresh reset_game
same_step keep   no_agents never onehot    none multi_discrete yes per_game open  reset_game
same_step keep   no_agents never packed    info discrete       no  python   open  restore
same_step keep   no_agents never pooled    info discrete       no  python   open  clone
same_step remove game      17    features  info discrete       yes some     named restore_all
same_step remove game      17    pooled    obs  multi_discrete no  all      named nothing
same_step remove game      never features  info discrete       no  per_game fresh set_seats
same_step remove no_agents 17    features  obs  discrete       yes some     fresh reset_game
same_step remove no_agents never onehot    obs  discrete       no  per_game fresh pickle
same_step remove no_agents never zero_copy none discrete       no  all      mixed reset
"""

PARALLEL = """
keep   game      17    features  none multi_discrete no  python mixed pickle
keep   game      17    packed    info multi_discrete yes python mixed pickle
keep   game      never features  info multi_discrete no  all    fresh nothing
keep   game      never features  obs  discrete       yes python open  reset
keep   game      never onehot    none multi_discrete yes python fresh reset
keep   game      never packed    none multi_discrete yes all    fresh pickle
keep   no_agents 17    onehot    info discrete       no  all    fresh reset
keep   no_agents 17    packed    obs  discrete       yes some   open  clone
keep   no_agents 17    pooled    info discrete       yes some   fresh nothing
keep   no_agents 17    pooled    obs  multi_discrete yes all    open  reset
keep   no_agents 17    zero_copy none multi_discrete yes some   mixed reset
keep   no_agents never packed    obs  discrete       no  some   mixed nothing
keep   no_agents never pooled    none multi_discrete no  python mixed clone
keep   no_agents never zero_copy obs  multi_discrete no  python open  pickle
remove game      17    onehot    info discrete       yes some   mixed clone
remove game      17    packed    none discrete       yes python open  nothing
remove game      17    pooled    obs  discrete       yes all    mixed pickle
remove game      17    zero_copy obs  discrete       yes some   fresh clone
remove game      never features  info multi_discrete yes some   mixed reset
remove game      never zero_copy info discrete       yes all    fresh nothing
remove no_agents 17    features  info multi_discrete no  all    open  clone
remove no_agents 17    onehot    none multi_discrete yes python fresh nothing
remove no_agents 17    onehot    obs  multi_discrete yes some   open  pickle
remove no_agents 17    packed    info discrete       yes python open  reset
"""


class Drummer(PythonBot):
    """A bot in Python: neutral land first, then the strongest neighbour, every other decision."""

    name, interval = "drummer-1", 20

    def decide(self, view):
        reached = view.fronts > 0
        reached[view.rows, view.seats] = False
        strongest = np.where(reached[:, 1:], view.troops[:, 1:], -1).argmax(axis=1) + 1
        return np.where(reached[:, 0], 0, np.where(reached[:, 1:].any(axis=1), strongest, -1)), 300


SEATS = {
    "all": ["agent"] * PLAYERS,
    "some": ["agent", "besieger", "agent", "opportunist", "metronome"],
    "python": ["agent", Drummer(), "metronome", "agent", "random"],
}
OTHER_SEATS = ["besieger", "agent", "agent", "banker", "settler"]


def line_ups(seats):
    """Return the line-up of each game, written out."""
    if seats != "per_game":
        return [SEATS[seats]] * GAMES
    return [SEATS["some"], OTHER_SEATS, SEATS["python"]]


def rows_of(table, columns):
    """Return the rows of a table as dicts."""
    return [dict(zip(columns, line.split(), strict=True)) for line in table.strip().splitlines()]


def own_rewards(previous, state, info):
    """Rewards of all that a reward function is told."""
    gained = (state.land - previous.land)[:, 1:] / 64 + 0.5 * info["terminated"]
    return gained + info["rewards"] / 4 + (state.over - previous.over)[:, None] + info["ended"][:, None] / 8


def options_of(row):
    """Return the keywords of an environment with the options of a row, each written out."""
    is_zero_copy = row["obs"] == "zero_copy"
    return {
        **SMALL,
        **MAPS[row["game"]],
        "obs": "packed" if is_zero_copy else row["obs"],
        "zero_copy": is_zero_copy,
        "frames": 3,
        "pool_factor": 8 if row["obs"] == "pooled" else None,
        "agent_death": row["agent_death"],
        "action_mask": row["action_mask"],
        "action_format": row["action_format"],
        "max_cycles": None if row["max_cycles"] == "never" else int(row["max_cycles"]),
        "end_when": row["end_when"],
        "reward_fn": own_rewards if row["reward_fn"] == "yes" else None,
        "rewards": {"land": 1.0, "placement": 1.0},
    }


# ---- actions ---------------------------------------------------------------------------------------


def choose(mask, rng):
    """Return a legal action of a flat mask of the format "discrete", mostly a launch of much."""
    legal = np.flatnonzero(mask)
    return int(rng.choice(legal[-len(legal) // 2 :])) if rng.random() < 0.6 else 0


def choose_parts(mask, rng):
    """Return a legal action of a mask of two parts, end to end."""
    targets = np.flatnonzero(mask[:-NUM_FRACTIONS])
    what = int(rng.choice(targets)) if rng.random() < 0.6 else 0
    return [what, int(rng.integers(NUM_FRACTIONS // 2, NUM_FRACTIONS)) if what else 0]


CHOOSE = {"discrete": choose, "multi_discrete": choose_parts}


# ---- the engine ------------------------------------------------------------------------------------


def add_tables(recording, game):
    """Add all that can be asked of the games of the engine."""
    for field in FIELDS:
        if field.name not in NEXT_ONES:  # how a game begins next time is shown when it does
            recording.add(f"state.{field.name}", getattr(game.state, field.name))
    recording.add("state.owner", game.state.owner)
    for name, of_game in (("seats_of", game.seats_of), ("digests", game.digest), ("terrain", game.terrain)):
        recording.add(name, [of_game(k) for k in range(game.num_games)])


def add_seen(recording, label, seen, games):
    """Add the observations of some games; of changes as many as are counted."""
    for name, array in seen._asdict().items():
        for k in games:
            listed = name in ("delta_index", "delta_code")
            recording.add(f"{label}.{name}", array[k, : max(0, seen.delta_count[k])] if listed else array[k])


def add_info(recording, info, autoreset):
    """Add an info of the engine: what is told of ended games where games ended."""
    shown = np.flatnonzero(info["ended"] | info["was_reset"])
    for name, value in info.items():
        if name == "final_obs":
            add_seen(recording, "final_obs", value, shown)
        elif name.startswith("final_"):
            recording.add(f"info.{name}", value[shown])
        else:
            recording.add(f"info.{name}", value)


def legal_actions(game, rng, least):
    """Return legal actions of all seats of all games, launches of the fraction ``least`` or a larger one."""
    bits = np.unpackbits(game.observations.masks, axis=-1, bitorder="little")[..., : PLAYERS + 2]
    actions = np.zeros((game.num_games, PLAYERS, 2), np.int64)
    for k, seat in np.ndindex(game.num_games, PLAYERS):
        if rng.random() < 0.6:
            actions[k, seat] = rng.choice(np.flatnonzero(bits[k, seat])), rng.integers(least, NUM_FRACTIONS)
    return actions


def engine_actions(game, rng):
    """Return legal actions of all seats of all games, and some that are not."""
    actions = legal_actions(game, rng, 4)
    illegal = rng.random(actions.shape[:2]) < 0.05
    actions[illegal, 0] = rng.integers(0, PLAYERS + 2, illegal.sum())
    return actions


def play_engine(recording, game, steps, rng, middle=None):
    """Play; ``middle`` is called before each step with its number, and may return the games to go on with."""
    for i in range(steps):
        game = (middle and middle(game, i)) or game
        seen, rewards, terminated, truncated, info = game.step(engine_actions(game, rng))
        add_seen(recording, "seen", seen, range(game.num_games))
        add_info(recording, info, game.autoreset)
        add_tables(recording, game)
        recording.end(rewards=rewards, terminated=terminated, truncated=truncated)
    return game


def make_engine(autoreset, end_when, seats="some", game="open", threads=1):
    """Return a batch with every option written out."""
    maps = NAMED if game == "named" else None
    batch = VecGame(
        GameConfig(**SMALL, **MAPS[game]),
        GAMES,
        11,
        threads,
        seats=line_ups(seats)[0],
        autoreset=autoreset,
        end_when=end_when,
        observe=True,
        frames=2,
        maps=maps,
    )
    for k, names in enumerate(line_ups(seats)):
        batch.set_seats(k, names)
    return batch


def begin_engine(recording, game, **seeds):
    """Reset the batch, and note what it shows."""
    add_seen(recording, "seen", game.reset(**seeds), range(game.num_games))
    add_tables(recording, game)
    recording.end()


def engine_case(autoreset, end_when, seats, game, threads):
    """Play with what may happen in between, all of it while games are on."""
    recording, rng, kept = Recording(), np.random.default_rng(5), {}
    batch = make_engine(autoreset, end_when, seats, game, threads)

    def middle(batch, i):
        if i == 4:
            kept["game"] = batch.save(1)
            batch.set_seats(0, OTHER_SEATS)
        if i == 9:
            batch.reset_game(0)
            batch.reset_game(2, 77)
            batch.restore(1, kept["game"])
        if i == 14:
            return batch.clone()
        if i == 19:
            return pickle.loads(pickle.dumps(batch))
        if i == 24:
            batch.set_seats(2, SEATS["all"])
        if autoreset == "disabled":
            for k in np.flatnonzero(batch.state.over) if i % 4 == 3 else ():
                batch.reset_game(int(k))
        return None

    begin_engine(recording, batch, seed=3)
    batch = play_engine(recording, batch, 60, rng, middle)
    begin_engine(recording, batch)
    play_engine(recording, batch, 5, rng)
    begin_engine(recording, batch, seeds=[5, 6, 2**64 - 1])
    play_engine(recording, batch, 5, rng)
    batch.close()
    return recording


def positions_case(autoreset):
    """Play from a given position, tick by tick and many ticks at once."""
    recording, rng = Recording(), np.random.default_rng(6)
    batch = make_engine(autoreset, "game")
    begin_engine(recording, batch, seed=3)
    board = np.zeros((SMALL["height"], SMALL["width"]), np.uint8)
    for seat in range(1, PLAYERS + 1):
        board[4:18, 4 * seat : 4 * seat + 4] = seat
    board[:2] = 255
    batch.set_position(1, board, tick=50, troops=[900] * PLAYERS, pools={(1, 2): 400, (3, 0): 90})
    batch = play_engine(recording, batch, 8, rng)
    for _ in range(4):
        batch.tick(0)
    batch.play(2, [], int(batch.state.tick[2]) + 30)
    add_tables(recording, batch)
    recording.end()
    batch.step(hold=True)
    play_engine(recording, batch, 30, rng)
    return recording


def stopped_case(autoreset, end_when):
    """Stop a game, and go on."""
    recording, rng = Recording(), np.random.default_rng(7)

    def middle(batch, i):
        if i in (5, 12):
            batch.stop_game(1)
        if i == 9:
            batch.reset_game(1)

    batch = make_engine(autoreset, end_when)
    begin_engine(recording, batch, seed=3)
    play_engine(recording, batch, 20, rng, middle)
    return recording


def restored_end_case(autoreset):
    """Restore a game that is over, and one that was over while another stands there."""
    recording, rng, kept = Recording(), np.random.default_rng(8), {}

    def middle(batch, i):
        if i == 28:
            kept["ended"] = ended.save(0)
            batch.restore(0, kept["ended"])
        if i == 34:
            batch.restore(2, kept["ended"])

    ended = make_engine("disabled", "game")
    ended.reset(9)
    while not ended.state.over[0]:
        ended.step(hold=True)
    batch = make_engine(autoreset, "game")
    begin_engine(recording, batch, seed=3)
    play_engine(recording, batch, 40, rng, middle)
    return recording


# ---- make_vec --------------------------------------------------------------------------------------


def make_vec(row):
    """Return a vector environment with the options of a row, each written out."""
    return territorial.make_vec(
        GAMES,
        seats=line_ups(row["seats"]),
        maps=NAMED if row["game"] == "named" else None,
        autoreset=row["autoreset"],
        num_threads=2 if row["game"] == "mixed" else 1,
        **options_of(row),
    )


def add_observation(recording, label, shown):
    """Add an observation, a dict or an array."""
    recording.add(label, shown if isinstance(shown, dict) else {"": shown})


def add_vec(recording, shown, info):
    """Add an observation and an info."""
    add_observation(recording, "shown", shown)
    for name, value in info.items():
        if name == "final_obs" and value is not None:
            add_observation(recording, "final_obs", value)
        else:
            recording.add(f"info.{name}", value)


def change_vec(env, row, i, kept):
    """Do what the row says is done in the middle; return the environment to go on with."""
    middle = row["middle"]
    if i == 6:
        kept["one"], kept["all"] = env.save(1), env.save_all()
    if i == 8 and middle == "set_seats":
        agents = env.num_agents
        env.set_seats(1, SEATS["all"] if agents == PLAYERS else OTHER_SEATS)
    if i != 13:
        return env
    if middle == "reset_game":
        env.reset_game(0)
        env.reset_game(2, 123)
    if middle == "restore":
        env.restore(1, kept["one"])
    if middle == "restore_all":
        env.restore_all(kept["all"])
    return {"clone": env.clone, "pickle": lambda: pickle.loads(pickle.dumps(env))}.get(middle, lambda: env)()


def vec_case(row, steps=45):
    """Play a vector environment with the options of a row."""
    recording, rng, kept = Recording(), np.random.default_rng(1), {}
    env, standing = make_vec(row), np.zeros(GAMES, int)
    pick = CHOOSE[row["action_format"]]
    add_vec(recording, *env.reset(seed=21))
    recording.end()
    for i in range(steps):
        env = change_vec(env, row, i, kept)
        if i == 13:
            add_observation(recording, "observe", env.observe())
            if row["middle"] == "reset":
                add_vec(recording, *env.reset())
        for k in np.flatnonzero(standing == 3) if row["autoreset"] == "disabled" else ():
            env.reset_game(int(k))
            standing[k] = 0
        masks = env.action_masks()
        actions = [[pick(mask, rng) for mask in of_game] for of_game in masks]
        shown, rewards, terminated, truncated, info = env.step(np.array(actions))
        standing += (standing > 0) | info["is_over"]
        add_vec(recording, shown, info)
        recording.end(
            rewards=rewards,
            terminated=terminated,
            truncated=truncated,
            masks=masks,
            digests=[env.game.digest(k) for k in range(GAMES)],
            agent_seats=env.agent_seats,
        )
    env.close()
    return recording


def standing_case(autoreset, end_when, steps=34):
    """Do to games that have ended, or are about to begin, what else is done to games that are played."""
    row = (
        {"autoreset": autoreset, "end_when": end_when}
        | END_REST
        | {"agent_death": "keep", "max_cycles": "17"}
    )
    recording, rng, kept = Recording(), np.random.default_rng(9), {}
    env = make_vec(row)
    add_vec(recording, *env.reset(seed=22))
    recording.end()
    for i in range(steps):
        masks = env.action_masks()
        shown, rewards, ends, cuts, info = env.step([[choose(mask, rng) for mask in one] for one in masks])
        add_vec(recording, shown, info)
        digests = [env.game.digest(k) for k in range(GAMES)]
        recording.end(rewards=rewards, ends=[ends, cuts], digests=digests)
        if info["is_over"].any() and "ended" not in kept:
            k = kept["k"] = int(info["is_over"].argmax())
            kept["ended"] = env.save(k)
            env = env.clone()
            env.set_seats(k, OTHER_SEATS)
            env.reset_game((k + 1) % GAMES)
        if i == 24:
            env.restore(kept["k"], kept["ended"])
            add_observation(recording, "observe", env.observe())
    env.close()
    return recording


END_REST = {
    "obs": "features",
    "action_mask": "obs",
    "action_format": "discrete",
    "reward_fn": "yes",
    "seats": "some",
    "game": "open",
    "middle": "nothing",
}


# ---- PettingZoo ------------------------------------------------------------------------------------


def make_parallel(row, make=territorial.parallel_env):
    """Return an environment of one game with the options of a row."""
    return make(seats=SEATS[row["seats"]], **options_of(row))


def merged(recording, label, by_agent):
    """Add what agents have under equal names together: one label a name."""
    for agent, value in by_agent.items():
        for name, one in value.items() if isinstance(value, dict) else [("", value)]:
            recording.add(f"{label}.{name}", agent)
            recording.add(f"{label}.{name}", one)


def parallel_case(row, games=3):
    """Play some games of one environment."""
    recording, rng = Recording(), np.random.default_rng(2)
    env = make_parallel(row)
    pick = CHOOSE[row["action_format"]]
    for i in range(games):
        shown, infos = env.reset(seed=31 if i == 0 else None)
        merged(recording, "shown", shown)
        merged(recording, "infos", infos)
        recording.end()
        for number in range(MOST_STEPS):
            if not env.agents or (row["middle"] == "reset" and i == 1 and number == 6):
                break
            if number == 5:
                env = COPIES.get(row["middle"], lambda env: env)(env)
            masks = env.action_masks()
            results = env.step({agent: pick(masks[agent], rng) for agent in env.agents})
            for label, result in zip(RESULTS, results, strict=True):
                merged(recording, label, result)
            recording.end(agents=env.agents, state=env.state(), digest=env.game.digest(0))
    env.close()
    return recording


RESULTS = ("shown", "rewards", "terminations", "truncations", "infos")
COPIES = {"clone": copy.deepcopy, "pickle": lambda env: pickle.loads(pickle.dumps(env))}


def turns_case(row, games=2):
    """Play some games turn by turn; what one round of agents is given is one step."""
    recording, rng = Recording(), np.random.default_rng(3)
    env = make_parallel(row, territorial.env)
    pick = CHOOSE[row["action_format"]]
    for i in range(games):
        env.reset(seed=31 if i == 0 else None)
        for turn, agent in enumerate(env.agent_iter(PLAYERS * MOST_STEPS)):
            shown, reward, termination, truncation, info = env.last()
            given = dict(zip(RESULTS, (shown, reward, termination, truncation, info), strict=True))
            for label, result in given.items():
                merged(recording, label, {agent: result})
            has_ended = termination or truncation
            env.step(None if has_ended else pick(env.action_masks()[agent], rng))
            recording.add("agents", env.agents)
            if turn % PLAYERS == PLAYERS - 1:
                recording.end()
        recording.end()
    env.close()
    return recording


# ---- Gymnasium -------------------------------------------------------------------------------------


def gym_row(**changes):
    """Return a row of options for Gymnasium's environments."""
    row = {"agent_death": "remove", "end_when": "game", "max_cycles": "never", "obs": "features"}
    row |= {"action_mask": "obs", "action_format": "discrete", "reward_fn": "no", "game": "open"}
    return row | changes


def gym_case(row, games=4):
    """Play the one agent among bots."""
    recording, rng = Recording(), np.random.default_rng(4)
    seats = ["besieger", "agent", "banker", "opportunist", "metronome"]
    env = gymnasium.make("territorial/Territorial-v0", seats=seats, **options_of(row))
    pick = CHOOSE[row["action_format"]]
    for i in range(games):
        add_vec(recording, *env.reset(seed=41 if i == 0 else None))
        for _ in range(MOST_STEPS):
            action = np.array(pick(env.unwrapped.action_masks(), rng))
            shown, reward, terminated, truncated, info = env.step(action)
            add_vec(recording, shown, info)
            recording.end(reward=reward, ends=[terminated, truncated])
            if terminated or truncated:
                break
    env.close()
    return recording


def gym_vector_case(row, steps=40):
    """Play a vector in which every agent is an environment."""
    recording, rng = Recording(), np.random.default_rng(5)
    options = options_of(row)
    del options["agent_death"]  # fixed by the environment
    env = gymnasium.make_vec("territorial/Territorial-v0", 4, seats=SEATS["some"], **options)
    pick = CHOOSE[row["action_format"]]
    add_vec(recording, *env.reset(seed=51))
    recording.end()
    for _ in range(steps):
        masks = env.unwrapped.action_masks()
        shown, rewards, ends, cuts, info = env.step(np.array([pick(mask, rng) for mask in masks]))
        add_vec(recording, shown, info)
        recording.end(rewards=rewards, ends=[ends, cuts])
    env.close()
    return recording


# ---- all cases -------------------------------------------------------------------------------------


def engine_cases():
    """Yield names and functions of the engine's cases."""
    ways = itertools.product(("same_step", "disabled"), ("game", "no_agents"))
    settings = [("some", "open", 1), ("python", "mixed", 2), ("per_game", "fresh", 1), ("all", "named", 1)]
    for (autoreset, end_when), (seats, game, threads) in itertools.product(ways, settings):
        name = f"engine {autoreset} {end_when} {seats} {game}"
        yield name, partial(engine_case, autoreset, end_when, seats, game, threads)
    for autoreset in ("same_step", "disabled"):
        yield f"engine position {autoreset}", partial(positions_case, autoreset)
        yield f"corner engine restored end {autoreset}", partial(restored_end_case, autoreset)
        for end_when in ("game", "no_agents"):
            yield f"corner engine stopped {autoreset} {end_when}", partial(stopped_case, autoreset, end_when)


def gym_cases():
    """Yield names and functions of the cases of Gymnasium's environments."""
    rows = [
        gym_row(),
        gym_row(obs="packed", action_format="multi_discrete", end_when="no_agents", game="fresh"),
        gym_row(obs="pooled", action_mask="info", max_cycles="17", reward_fn="yes"),
        gym_row(obs="onehot", action_mask="none", max_cycles="17", end_when="no_agents", game="mixed"),
    ]
    for row in rows:
        yield f"gym {' '.join(row.values())}", partial(gym_case, row)
        yield f"gym vector {' '.join(row.values())}", partial(gym_vector_case, row)


def cases():
    """Return functions by the names of the cases."""
    found = dict(engine_cases()) | dict(gym_cases())
    for row in rows_of(VECTOR, VALUES):
        found[f"vector {' '.join(row.values())}"] = partial(vec_case, row)
    for autoreset, end_when in itertools.product(VALUES["autoreset"], VALUES["end_when"]):
        found[f"corner vector standing {autoreset} {end_when}"] = partial(standing_case, autoreset, end_when)
    for i, row in enumerate(rows_of(PARALLEL, [name for name in VALUES if name != "autoreset"])):
        found[f"parallel {' '.join(row.values())}"] = partial(parallel_case, row)
        if i % 2 == 0:
            found[f"turns {' '.join(row.values())}"] = partial(turns_case, row)
    return found


if __name__ == "__main__":
    main(PATH, cases())
