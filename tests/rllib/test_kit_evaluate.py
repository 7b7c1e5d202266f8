"""Games between players of a league of any environment: who sits where, how they end, and what is refused."""

import random
import re
from collections import Counter
from functools import partial
from itertools import combinations

import gymnasium as gym
import numpy as np
import pytest
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.env.multi_agent_env import MultiAgentEnv
from ray.tune.registry import register_env

import rllib_adapters
from rllib_adapters import Bot, add_league
from rllib_adapters.league.control import of_spaces
from rllib_adapters.league.evaluate import dealt
from rllib_adapters.league.pool import build_module
from territorial.evaluation.workers import StoppedError
from territorial.league import League, LeagueConfig, Learner, Manifest, Opponents, SnapshotStore
from tests.rllib import kit
from tests.torch.reproducible import need

SEEN, ACTS, STEPS = gym.spaces.Box(0, 1, (2,)), gym.spaces.Discrete(9), 3
VALUES = {"none": 0, "some": 3, "more": 4, "most": 6}


def luck(seed):
    """What three seats get for nothing in a game."""
    return np.random.default_rng(seed).integers(4, size=3)


class Sums(MultiAgentEnv):
    """Each of three agents gets the sum of its actions, and what the seed says."""

    def __init__(self, config=None):
        super().__init__()
        self.agents = self.possible_agents = list("abc")
        self.observation_spaces, self.action_spaces = dict.fromkeys("abc", SEEN), dict.fromkeys("abc", ACTS)

    def reset(self, *, seed=None, options=None):
        self.luck, self.steps = luck(seed), 0
        return dict.fromkeys("abc", np.zeros(2, np.float32)), {}

    def step(self, actions):
        self.steps += 1
        rewards = {one: float(actions[one]) + self.luck[i] * (self.steps == 1) for i, one in enumerate("abc")}
        is_over = self.steps == STEPS
        return (
            dict.fromkeys("abc", np.ones(2, np.float32)),
            rewards,
            {"__all__": is_over},
            {"__all__": False},
            {},
        )


class Same(Bot):
    """Always plays one number."""

    def __init__(self, value):
        self.value = value

    def act(self, seen, random):
        return np.full(len(seen), self.value)


class Fails(Same):
    """Fails when it acts for the fourth time."""

    def act(self, seen, random):
        self.value += 1
        if self.value == 4:
            raise ArithmeticError("no more")
        return super().act(seen, random)


def sums(store, **changes):
    """Return the configuration of a league of ``Sums`` and its bots."""
    register_env("sums", Sums)
    bots = {name: Same(value) for name, value in VALUES.items()} | {"fails": Fails(0)}
    learner = Learner(name="main", opponents=(Opponents(seats=2, among=("bots",)),))
    rules = LeagueConfig(env="sums", num_players=3, learners=(learner,), bots=tuple(bots), shuffle=True)
    config = PPOConfig().environment("sums")
    return add_league(
        config, League(rules, rated=False), store, modules={"main": kit.Net}, bots=bots, **changes
    )


def freeze(config, path, module, names, spaces=(SEEN, ACTS), change=dict):
    """Put snapshots of a learner into the store, with what ``change`` makes of their weights."""
    spec = config.rl_module_spec.rl_module_specs[module]
    settings = spec.model_config or {}
    about = {"architecture": spec.module_class.__name__, "settings": settings, **of_spaces(*spaces)}
    for name in names:
        weights = change(build_module(spec, *spaces, **settings).state_dict())
        arrays = {key: part.numpy() for key, part in weights.items()}
        SnapshotStore(path).add(name, arrays, Manifest(**about))


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    """A league of ``Sums`` with snapshots of its learner, and one of another class."""
    store = tmp_path_factory.mktemp("store")
    found = sums(store)
    freeze(found, store, "main", ["main-0", "main-1"])
    about = {"architecture": "Other", **of_spaces(SEEN, ACTS)}
    SnapshotStore(store).add("other", {"x": np.zeros(1)}, Manifest(**about))
    SnapshotStore(store).add("blind", {"x": np.zeros(1)}, Manifest(**{**about, "observation": "unseen"}))
    return found


def evaluate(config, players, episodes, processes=1, **options):
    return rllib_adapters.evaluate(config, players, episodes, processes, **{"progress": False, **options})


# ---- who sits where --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seats", [2, 3, 5, 8])
@pytest.mark.parametrize("count", [2, 3, 4, 5, 8, 11])
def test_every_player_has_every_seat_as_often_and_meets_all_others(count, seats):
    players, rounds = tuple(range(count)), 4 * (count - 1)
    for games in (count * rounds, count * rounds + count // 2, 1):
        deals = dealt([players] * seats, games)
        for seat in range(seats):
            found = Counter(deal[seat] for deal in deals)
            assert max(found.values()) - min(found[player] for player in players) <= 1
        assert all(max(Counter(deal).values()) == -(-seats // count) for deal in deals)
        assert all(len(set(deal)) == min(seats, count) for deal in deals)
    met = Counter(pair for deal in dealt([players] * seats, count * rounds) for pair in combinations(deal, 2))
    apart = [met[one, other] for one in players for other in players if one != other]
    assert min(apart) > 0
    if seats == 2:
        assert max(apart) == min(apart), "each begins as often as the other"


@pytest.mark.parametrize("sizes", [(2, 2), (3, 4), (2, 2, 2), (1, 5, 3)])
def test_players_of_seats_with_spaces_of_their_own_meet(sizes):
    fitting = [tuple(f"{seat}-{i}" for i in range(size)) for seat, size in enumerate(sizes)]
    whole = int(np.prod(sizes))
    deals = dealt(fitting, 2 * whole * max(sizes))
    for seat, players in enumerate(fitting):
        found = Counter(deal[seat] for deal in deals)
        assert set(found) == set(players)
        assert max(found.values()) - min(found.values()) <= 1
    assert len(set(deals)) == whole


# ---- how games end ---------------------------------------------------------------------------------------


def reckoned(seats, seed):
    """Return the places of a game of ``Sums``."""
    scores = STEPS * np.array([VALUES[seat.removeprefix("bot:")] for seat in seats]) + luck(seed)
    return tuple(float(np.mean([1 + sum(scores > own), sum(scores >= own)])) for own in scores)


def test_places_payoffs_and_standings_are_those_of_an_own_reckoning(config, capsys):
    found = evaluate(config, [f"bot:{name}" for name in VALUES], 26, seed=5, progress=True)
    assert "26 of 26 games" in capsys.readouterr().err
    assert found.is_complete
    assert [(game.game, game.seed) for game in found.records] == [(k, 5 + k) for k in range(26)]
    won, met, seats = Counter(), Counter(), Counter()
    for game, outcome in zip(found.records, found.outcomes, strict=True):
        assert (game.seats, game.places) == outcome[:2]
        assert game.places == reckoned(game.seats, game.seed)
        seats.update(game.seats)
        for (one, place), (other, behind) in combinations(zip(game.seats, game.places, strict=True), 2):
            for pair, share in (((one, other), place < behind), ((other, one), place > behind)):
                met[pair] += 1
                won[pair] += share + 0.5 * (place == behind)
    for (one, other), games in met.items():
        payoff = found.payoff.of(one, other)
        assert payoff.games == games
        assert payoff.above == pytest.approx(won[one, other] / games)
        index = found.players.index(one), found.players.index(other)
        assert found.beats[index] == pytest.approx(payoff.above)
    assert {line.player: line.seats for line in found.standings} == seats
    assert (
        found.standings[0].player == max(found.ratings, key=lambda name: found.ratings[name].mu) == "bot:most"
    )
    lines = found.text().splitlines()
    assert (lines[1].split()[0], lines[-1]) == ("bot:most", "26 games")


@pytest.mark.parametrize("bots", [["bot:some", "bot:more"], []])
def test_nothing_depends_on_where_games_are_played_and_on_what_was_drawn_before(bots, config):
    players = ["snapshot:main-0", "snapshot:main-1", *bots]
    states = random.getstate(), torch.get_rng_state(), torch.get_num_threads()
    alone = evaluate(config, players, 12)
    assert states[0] == random.getstate()
    assert torch.equal(states[1], torch.get_rng_state())
    assert states[2] == torch.get_num_threads()
    torch.rand(3)
    assert evaluate(config, players, 12, 2).records == alone.records
    other = evaluate(config, players, 12, seed=7)
    assert [game.seats for game in other.records] == [game.seats for game in alone.records]
    assert other.outcomes[:5] == evaluate(config, players, 5, seed=7).outcomes
    assert other.records[0].places != alone.records[7].places or other.outcomes != alone.outcomes


def test_snapshots_play_connect_four_by_their_own_weights(tmp_path):
    need("pygame", "rllib")
    kit.register()
    given = {**kit.LEAGUES["four"][1]}
    config = add_league(kit.config_of("four"), League(kit.rules_of("four"), rated=False), tmp_path, **given)
    env = kit.Four()
    spaces = env.get_observation_space("player_0"), env.get_action_space("player_0")

    def always(column, weights):
        empty = {key: 0 * part for key, part in weights.items()}
        empty["logits.bias"][column] = 100.0
        return empty

    for name, column in (("first", 2), ("second", 5)):
        freeze(config, tmp_path, "main", [name], spaces, partial(always, column))
    found = evaluate(config, ["snapshot:first", "snapshot:second", "bot:left", "bot:right"], 12)
    # Whoever begins has four discs in its column first.
    assert all(game.places == (1.0, 2.0) for game in found.records)
    assert {line.place.value for line in found.standings} == {1.5}


def test_snapshots_sit_where_their_spaces_are(tmp_path):
    kit.register()
    modules = kit.LEAGUES["unlike"][1]["modules"]
    config = add_league(
        kit.config_of("unlike"), League(kit.rules_of("unlike"), rated=False), tmp_path, modules=modules
    )
    for name, spaces in zip(kit.NAMES, kit.Unlike.SPACES.values(), strict=True):
        freeze(config, tmp_path, name, [f"{name}-0", f"{name}-1"], spaces)
    players = [f"snapshot:{name}-{i}" for name in kit.NAMES for i in (0, 1)]
    for game in evaluate(config, players, 4).records:
        assert [seat.removeprefix("snapshot:").partition("-")[0] for seat in game.seats] == list(kit.NAMES)
    with pytest.raises(ValueError, match="the seat of c needs one with its spaces"):
        evaluate(config, players[:4], 4)


def test_games_that_do_not_count_leave_no_records(tmp_path):
    found = evaluate(sums(tmp_path, outcome=lambda ended: None), ["bot:some", "bot:more"], 2)
    assert found.is_complete
    with pytest.raises(ValueError, match="there are no records of games"):
        found.text()


# ---- what fails ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("processes", [1, 2])
def test_what_was_played_before_a_player_failed_is_kept(processes, config):
    with pytest.raises(StoppedError, match=r"ArithmeticError: no more \(.*test_kit_evaluate.py") as stopped:
        evaluate(config, ["bot:fails", "bot:some", "bot:more"], 6, processes)
    kept = stopped.value.result
    assert not kept.is_complete
    assert len(kept.records) in range(1, 6)


def test_an_environment_that_fails_is_named(config, monkeypatch):
    step, calls = Sums.step, []

    def broken(self, actions):
        calls.append(actions)
        if len(calls) > 10:
            raise ArithmeticError("no board")
        return step(self, actions)

    monkeypatch.setattr(Sums, "step", broken)
    with pytest.raises(StoppedError, match=r"ArithmeticError: no board \(.*test_kit_evaluate.py"):
        evaluate(config, ["bot:some", "bot:more"], 9)


def test_ctrl_c_returns_what_has_been_played(config, monkeypatch):
    act, calls = Same.act, []

    def interrupted(self, seen, random):
        calls.append(self)
        if len(calls) > 20:
            raise KeyboardInterrupt
        return act(self, seen, random)

    monkeypatch.setattr(Same, "act", interrupted)
    found = evaluate(config, ["bot:some", "bot:more"], 9)
    assert not found.is_complete
    assert 0 < len(found.records) < 9


BAD = {
    "config": ({"config": PPOConfig()}, TypeError, "config is a PPOConfig; it must be what add_league"),
    "no text": ({"players": [1, 2]}, TypeError, "players[0] is 1; it must be of the type str"),
    "no player": (
        {"players": ["main", "bot:some"]},
        ValueError,
        "players has 'main'; each must be one of",
    ),
    "one": ({"players": ["bot:some"]}, ValueError, "it must have at least two players"),
    "twice": ({"players": ["bot:some"] * 2}, ValueError, "at least two players, each of them once"),
    "no bot": (
        {"players": ["bot:x", "bot:some"]},
        ValueError,
        "each must be one of bot:none, bot:some",
    ),
    "no snapshot": ({"players": ["snapshot:x", "bot:some"]}, ValueError, "snapshot:main-1, snapshot:other"),
    "learner": (
        {"players": ["trainable:main", "bot:some"]},
        ValueError,
        "has 'trainable:main'; each must",
    ),
    "class": (
        {"players": ["snapshot:other", "bot:some"]},
        ValueError,
        "'snapshot:other', which fits no seat",
    ),
    "spaces": (
        {"players": ["snapshot:blind", "bot:some"]},
        ValueError,
        "'snapshot:blind', which fits no seat",
    ),
    "no games": ({"episodes": 0}, ValueError, "episodes is 0"),
    "few games": (
        {"episodes": 2},
        ValueError,
        "episodes is 2, and a seat has 3 players; it must be at least 3",
    ),
    "processes": ({"processes": 0}, ValueError, "processes is 0"),
    "seed": ({"seed": -1}, ValueError, "seed is -1"),
}


@pytest.mark.parametrize(("changes", "kind", "message"), BAD.values(), ids=BAD)
def test_what_cannot_be_is_refused(changes, kind, message, config):
    given = {"config": config, "players": ["bot:none", "bot:some", "bot:more"], "episodes": 3, "processes": 1}
    with pytest.raises(kind, match=re.escape(message)):
        rllib_adapters.evaluate(**{**given, **changes})
