"""Plays the vector environment in every mode: digests of what all steps returned are those of ``modes.json``.

The other environments are compared with it: tests/env/test_vector.py, test_turns.py and test_gymnasium.py.
The file is written by hand, and only if a change of games, rewards or infos is wanted:
``python -m tests.env.test_recorded_modes``.
With beginnings of names of modes, such as ``corner``, it replaces these alone; ``--show MODE`` prints one.

A recording has labels such as ``info.place``, and a label has one value for each step. ``--show MODE``
prints a digest of each label and one character for each step. So a difference is found with its array and its
step by printing the mode in two revisions. A character is one of 64 and may hide a difference.
"""

import argparse
import base64
import hashlib
import itertools
import json
import pickle
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import territorial
from territorial.bots import PythonBot
from territorial.constants import NUM_FRACTIONS

PATH = Path(__file__).parent / "modes.json"
PLAYERS, GAMES = 5, 3
# Of a game that does not end, as none should.
MOST_STEPS = 60
# A game in which players die early, and which may be won, or end without agents, or be cut.
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
MAPS = {
    "open": {"map": "open", "num_maps": 1},
    "mixed": {"map": "2*lakes + islands:count=3", "num_maps": 4},
    "fresh": {"map": "lakes", "num_maps": 0},
    "named": {"num_maps": 1},
}
# One map a game, for "named".
NAMED = ["lakes", "open", "islands"]
# What the columns of the tables below may hold. Every pair of values is in the tables.
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


# ---- recordings --------------------------------------------------------------------------------------


class Recording:
    """Digests by label and step; ``add`` any number of values under a label, then ``end`` the step."""

    def __init__(self):
        self.steps, self._now = [], {}

    def add(self, label, value):
        """Add a value, or all values in a dict, in the order of its keys' names."""
        if isinstance(value, Mapping):
            for key in sorted(value):
                self.add(f"{label}.{key}", value[key])
            return
        self._now.setdefault(label, hashlib.blake2b(digest_size=12)).update(as_bytes(value))

    def end(self, **values):
        """Close the step, with these values by their labels."""
        for label, value in values.items():
            self.add(label, value)
        self.steps.append({label: seen.digest() for label, seen in self._now.items()})
        self._now = {}

    def lines(self):
        """Return a line for each label: its digest, and a character for each step."""
        for label in sorted({label for step in self.steps for label in step}):
            digests = [step.get(label) for step in self.steps]
            whole = hashlib.blake2b(b"|".join(one or b"" for one in digests), digest_size=9).digest()
            steps = "".join(base64.b64encode(one).decode()[0] if one else "." for one in digests)
            yield f"{label} {base64.b64encode(whole).decode()} {steps}"

    def digest(self):
        """Return the digest of all labels."""
        text = "\n".join(line.rpartition(" ")[0] for line in self.lines())
        return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


def as_bytes(value):
    """Return what tells a value from all others, the same on every machine."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype.str} {value.shape} ".encode() + np.ascontiguousarray(value).tobytes()
    if isinstance(value, np.generic):
        return f"{value.dtype.str} {value.item()!r} ".encode()
    if isinstance(value, Mapping):
        return b"{%s}" % b",".join(as_bytes(key) + as_bytes(value[key]) for key in sorted(value))
    if isinstance(value, (list, tuple)):
        return b"(%s)" % b",".join(map(as_bytes, value))
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return f"{type(value).__name__} {value!r} ".encode()
    raise TypeError(f"nothing is known of how to write down {value!r}")


# ---- actions ---------------------------------------------------------------------------------------


def choose(mask, rng):
    """Return a legal action of a flat mask of the format "discrete", mostly a launch of much."""
    legal = np.flatnonzero(mask)
    return int(rng.choice(legal[-len(legal) // 2 :])) if rng.random() < 0.6 else 0


def choose_parts(mask, rng):
    """Return a legal action of a mask of two parts, end to end."""
    what = int(rng.choice(np.flatnonzero(mask[:-NUM_FRACTIONS]))) if rng.random() < 0.6 else 0
    return [what, int(rng.integers(NUM_FRACTIONS // 2, NUM_FRACTIONS)) if what else 0]


CHOOSE = {"discrete": choose, "multi_discrete": choose_parts}


def legal_actions(game, rng, least):
    """Return legal actions of all seats of all games, launches of the fraction ``least`` or a larger one."""
    bits = np.unpackbits(game.observations.masks, axis=-1, bitorder="little")[..., : PLAYERS + 2]
    actions = np.zeros((game.num_games, PLAYERS, 2), np.int64)
    for k, seat in np.ndindex(game.num_games, PLAYERS):
        if rng.random() < 0.6:
            actions[k, seat] = rng.choice(np.flatnonzero(bits[k, seat])), rng.integers(least, NUM_FRACTIONS)
    return actions


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


def change_vec(env, row, i, kept, recording, is_over):
    """Do what the row says is done in the middle; return the environment to go on with."""
    middle = row["middle"]
    if middle == "standing" and is_over.any() and "ended" not in kept:
        k = kept["k"] = int(is_over.argmax())
        kept["ended"] = env.save(k)
        env = env.clone()
        env.set_seats(k, OTHER_SEATS)
        env.reset_game((k + 1) % GAMES)
    if i == 6:
        kept["one"], kept["all"] = env.save(1), env.save_all()
    if i == 8 and middle == "set_seats":
        env.set_seats(1, SEATS["all"] if env.num_agents == PLAYERS else OTHER_SEATS)
    if middle == "standing" and i == 25:
        env.restore(kept["k"], kept["ended"])
        add_observation(recording, "observe", env.observe())
    if i != 13 or middle == "standing":
        return env
    if middle == "reset_game":
        env.reset_game(0)
        env.reset_game(2, 123)
    if middle == "restore":
        env.restore(1, kept["one"])
    if middle == "restore_all":
        env.restore_all(kept["all"])
    env = {"clone": env.clone, "pickle": lambda: pickle.loads(pickle.dumps(env))}.get(middle, lambda: env)()
    add_observation(recording, "observe", env.observe())
    if middle == "reset":
        add_vec(recording, *env.reset())
    return env


def vec_case(row, steps=45):
    """Play a vector environment with the options of a row."""
    recording, rng, kept = Recording(), np.random.default_rng(1), {}
    env, standing = make_vec(row), np.zeros(GAMES, int)
    pick = CHOOSE[row["action_format"]]
    add_vec(recording, *env.reset(seed=21))
    recording.end()
    for i in range(steps):
        env = change_vec(env, row, i, kept, recording, standing == 1)
        is_begun_anew = row["autoreset"] == "disabled" and row["middle"] != "standing"
        for k in np.flatnonzero(standing == 3) if is_begun_anew else ():
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


# Ended games, and those about to begin, to which is done what else is done to games that are played.
STANDING = {
    "agent_death": "keep",
    "max_cycles": "17",
    "obs": "features",
    "action_mask": "obs",
    "action_format": "discrete",
    "reward_fn": "yes",
    "seats": "some",
    "game": "open",
    "middle": "standing",
}


# ---- all cases -------------------------------------------------------------------------------------


def cases():
    """Return functions by the names of the cases."""
    rows = [dict(zip(VALUES, line.split(), strict=True)) for line in VECTOR.strip().splitlines()]
    found = {f"vector {' '.join(row.values())}": partial(vec_case, row) for row in rows}
    for autoreset, end_when in itertools.product(VALUES["autoreset"], VALUES["end_when"]):
        row = {"autoreset": autoreset, "end_when": end_when, **STANDING}
        found[f"corner vector standing {autoreset} {end_when}"] = partial(vec_case, row)
    return found


CASES = cases()


@pytest.fixture(scope="module")
def recorded():
    return json.loads(PATH.read_text())


@pytest.mark.parametrize("case", CASES)
def test_a_mode_plays_what_was_recorded(case, recorded):
    assert CASES[case]().digest() == recorded[case], (
        f"python -m tests.env.test_recorded_modes --show '{case}'"
    )


def test_nothing_is_recorded_that_is_not_played(recorded):
    assert recorded.keys() == CASES.keys()


def main():
    """Play all modes and write their digests down, or print one of them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("beginnings", nargs="*", help="record modes whose names begin so; the others stay")
    parser.add_argument("--show", metavar="MODE", choices=CASES, help="print a mode, label by label")
    parsed = parser.parse_args()
    if parsed.show:
        sys.stdout.writelines(f"{line}\n" for line in CASES[parsed.show]().lines())
        return
    before = json.loads(PATH.read_text()) if parsed.beginnings else {}
    kept = {name: one for name, one in before.items() if name in CASES}
    chosen = [name for name in CASES if name.startswith(tuple(parsed.beginnings) or "")]
    found = kept | {name: CASES[name]().digest() for name in chosen}
    PATH.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
