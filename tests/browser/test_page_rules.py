"""What a page works out itself where it plays a game: situations, digests, and files of replays."""

import base64
import dataclasses
import hashlib
import json

import numpy as np
import pytest

from territorial import Recorder, Replay
from territorial.browser import web
from territorial.browser.playable import replay_template, rules_of
from territorial.browser.situation import situation_of, why_not
from territorial.constants import BLOCKED, LARGEST_SEED, LARGEST_TROOPS
from territorial.engine import step
from territorial.engine.seats import shown_names
from territorial.game.state import FIELDS, Position, allocate_positions, view
from territorial.replay import Checkpoint
from tests.replay.support import random_actions, random_setting, recorded_game, same_replay
from tests.replay.test_branch import DEALS, PLAYERS, a_game

pytestmark = pytest.mark.browser

SCRIPTS = ("film.js", "facts.js", "standings.js", "situation.js", "replay_file.js")
RULES = {  # of all that situations are computed with, extremes and the default
    "early_interest_multiple": (1, 7, 100),
    "early_interest_ticks": (1, 300, 1_000_000),
    "hard_cap": (150, 10_000),
    "income_every": (1, 100),
    "income_per_cell": (0, 1, 1000),
    "interest_base": (0, 100, 10_000),
    "interest_every": (1, 10),
    "interest_land_divisor": (1, 508),
    "interest_land_scale": (0, 25_600, 100_000_000),
    "interest_levels": (1, 511, 4095),
    "launch_tax": (0, 12, 1023),
    "layer_cost": (1, 3, 100),
    "layer_growth_divisor": (1, 8, 1000),
    "need_divisor": (1, 4, 1000),
    "over_cap_slope": (0, 2, 100),
    "soft_cap": (1, 100, 150),
}
CONVERT = """
    const bytesOf = (text) => Uint8Array.from(atob(text), (digit) => digit.charCodeAt(0));
    const textOf = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
"""
LOOK = f"""(text) => {{
    {CONVERT}
    return JSON.stringify(JSON.parse(text).map(({{ rules, fields, seed, position }}) => {{
        const game = {{ ...rules, field: (name) => BigInt64Array.from(fields[name], BigInt) }};
        const seats = fields.troops.map((_, seat) => seat), targets = [null, ...seats, BLOCKED];
        const situations = seats.map((seat) => situationOf(game, seat));
        const reasons = situations.map((now, seat) => targets.map((target) => whyNot(now, seat, target)));
        const numbers = BigInt64Array.from(position.numbers, BigInt), cells = bytesOf(position.cells);
        const digest = textOf(digestOf(seed, {{ cells, numbers }}));
        return {{ situations, reasons, digest }};
    }}));
}}"""
HASH = f"""(list) => {{
    {CONVERT}
    return list.map(([text, size]) => textOf(blake2b(bytesOf(text), size)));
}}"""
WRITE = f"""async (text) => {{
    {CONVERT}
    const {{ template, launches, checkpoints, ...branch }} = JSON.parse(text);
    return textOf(await replayBytes({{
        header: branchHeader(template.header, branch),
        land: bytesOf(template.land),
        launches: launches.map(([tick, seat, target, fraction]) => ({{ tick, seat, target, fraction }})),
        checkpoints: checkpoints.map(([tick, digest]) => ({{ tick, digest: bytesOf(digest) }})),
    }}));
}}"""
WRITE_TOO_MUCH = """({ header }) => {
    const land = new Uint8Array(2 ** 25);
    return replayBytes({ header, land, launches: [], checkpoints: [] }).catch((error) => error.message);
}"""


@pytest.fixture
def tab(open_page):
    tab = open_page("about:blank")
    tab.add_script_tag(content="\n".join(map(web._part, SCRIPTS)))
    return tab


def text_of(data):
    return base64.b64encode(data).decode()


# ---- situations and digests -------------------------------------------------------------------------


def games(n):
    """A game of any kind and rules, at some of its ticks, then in a position of the largest numbers."""
    rng = np.random.default_rng(n)
    config, seats = random_setting(rng)
    changed = {name: int(rng.choice(values)) for name, values in RULES.items()} if n % 3 else {}
    config = config.replace(**DEALS[n % len(DEALS)], max_ticks=int(rng.integers(100, 4000)), **changed)
    game, replay = recorded_game(
        config, seats, LARGEST_SEED - n, actions=lambda game: random_actions(game, rng)
    )
    yield from map(replay.seek, [0, *rng.integers(0, replay.num_ticks, 8).tolist(), replay.num_ticks])
    land, owners = replay.land.to_array(), config.num_players + 1
    owner = np.where(land, rng.integers(0, owners, land.shape), BLOCKED)
    team, pairs = game.state.team[0], rng.integers(0, owners, (20, 2)).tolist()
    pools = {(p, q): int(rng.integers(LARGEST_TROOPS)) for p, q in pairs if p and team[p] != team[q]}
    troops = rng.choice([0, 1, 5000, LARGEST_TROOPS], config.num_players).tolist()
    game.set_position(0, owner, tick=int(rng.integers(config.max_ticks)), troops=troops, pools=pools)
    yield game


def given_of(game):
    config, state, seed = game.config, game.blocks, int(game.state.seed[0])
    room = allocate_positions(1, config.num_players, config.height, config.width)
    position = Position(*(array[0] for array in room))
    step.position_of(state, 0, position)
    shown = {
        "cells": text_of(position.board[1:-1, 1:-1].tobytes()),
        "numbers": position.numbers.tolist(),
    }
    fields = {
        field.name: view(state, field.name)[0].ravel().tolist() for field in FIELDS if field.dtype == "int64"
    }
    return {"rules": rules_of(config), "fields": fields, "seed": str(seed), "position": shown}


def seen_by_python(game):
    seats = range(game.config.num_players + 1)
    situations = [situation_of(game, seat) for seat in seats]
    reasons = [
        [why_not(now, seat, target) for target in (None, *seats, BLOCKED)]
        for seat, now in enumerate(situations)
    ]
    shown = [
        now._asdict()
        | {
            "openings": [one._asdict() for one in now.openings],
            "allies": [one._asdict() for one in now.allies],
        }
        for now in situations
    ]
    return {"situations": shown, "reasons": reasons, "digest": text_of(game.digest(0))}


def test_a_page_sees_games_as_python_does(tab):
    situations = []
    for n in range(40):
        positions, expected = zip(*((given_of(game), seen_by_python(game)) for game in games(n)), strict=True)
        found = json.loads(tab.evaluate(LOOK, json.dumps(positions)))
        assert found == json.loads(json.dumps(expected)), n
        situations += [now for one in found for now in one["situations"][1:]]
    for name in ("is_alive", "is_over", "place", "openings", "allies", "attacks", "attackers"):
        assert {bool(now[name]) for now in situations} == {True, False}


def test_blake2b_is_that_of_python(tab):
    rng = np.random.default_rng(0)
    sizes = [0, 1, 127, 128, 129, 255, 256, 257, 2**16, 300_000, *rng.integers(0, 5_000, 40).tolist()]
    data = [(rng.bytes(size), 1 + n % 64) for n, size in enumerate(sizes)]
    found = tab.evaluate(HASH, [[text_of(one), size] for one, size in data])
    assert found == [text_of(hashlib.blake2b(one, digest_size=size).digest()) for one, size in data]


# ---- files of replays ---------------------------------------------------------------------------------


def branches(n):
    """Two games, the second of which goes on from the first, and each with what a page is told of it."""
    rng = np.random.default_rng(n)
    first, tick = a_game(LARGEST_SEED - n)
    before = dataclasses.replace(
        first,
        names=[f'"seed":"{i}" \\ é 😀' for i in range(first.config.num_players)],
        library_version="0.0.7",
        obs_version=1,
    )
    for _ in range(2):
        alive = (np.flatnonzero(before.seek(tick).state.alive[0, 1:]) + 1).tolist()
        others = {seat: str(rng.choice(["agent", "settler", "champion"])) for seat in alive[: n % 4]}
        game = before.game(tick, seats=others, players=PLAYERS)
        recorder = Recorder(game, before=before, checkpoint_every=50)
        seats = game.seats_of(0)
        for _ in range(rng.integers(1, 60)):
            game.step(random_actions(game, rng))
        branch = recorder.replay()
        players = [
            {"seat": seat, "player": player, "name": name}
            for seat, (player, name) in enumerate(zip(seats, shown_names(seats), strict=True), start=1)
            if seat in alive
        ]
        yield told(before, branch, tick, players), branch
        before = branch
        tick = int(rng.choice([tick, tick // 20 * 10, (branch.num_ticks - 1) // 10 * 10]))


def told(before, branch, tick, players):
    return {
        "template": replay_template(before),
        "tick": tick,
        "players": players,
        "ticks": branch.num_ticks,
        "isOver": branch.is_over,
        "launches": branch.launches.tolist(),
        "checkpoints": [(at, text_of(digest)) for at, digest in branch.checkpoints],
    }


def written(tab, given):
    return Replay.from_bytes(base64.b64decode(tab.evaluate(WRITE, json.dumps(given))))


def test_a_page_writes_the_replay_of_a_branch(tab):
    for n in range(20):
        for given, branch in branches(n):
            found = written(tab, given)
            assert same_replay(found, branch)
            found.verify()


def test_a_page_writes_the_longest_replays_and_refuses_what_no_file_holds(tab):
    short = recorded_game(steps=1)[1]
    end = 10_000_000
    long = dataclasses.replace(
        short,
        config=short.config.replace(max_ticks=end, decision_every=1),
        num_ticks=end,
        launches=[(0, 1, 0, 1), (end - 1, 1, 4, 1024)],
        checkpoints=(Checkpoint(end, short.digest),),
    )
    assert same_replay(written(tab, told(long, long, 0, [])), long)
    assert "at most 25,165,824 fit into a file" in tab.evaluate(WRITE_TOO_MUCH, replay_template(short))
