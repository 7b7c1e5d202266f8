"""Panels: what an agent observes, and what an advisor would do, while the game stays as it is."""

import base64

import numpy as np
import pytest

import territorial
from territorial.bots import Network, PythonBot
from territorial.browser.panels import HOLDS, advice_of, agent_view
from territorial.constants import FRACTIONS
from territorial.decode.numpy import Decoder
from territorial.observation.action_encoding import action_owners, owner_of_target
from territorial.observation.pair_columns import OWN, PAIRS
from tests.bots.networks import TRAINED
from tests.episodes import advance, begun
from tests.league.support import Takes

SEEN_CONFIG = territorial.GameConfig(height=40, width=56, num_players=5, max_ticks=1500)
SEEN_SEAT = 3


@pytest.fixture(scope="module")
def seen_game():
    """A game that agents observe, and what is shown of it."""
    seats = ["banker", "settler", "novice", "banker", "turtle"]
    game = begun(
        territorial.VecGame(SEEN_CONFIG, 1, seats=seats, autoreset="disabled", observe=True), seeds=[5]
    )
    look = agent_view(game, SEEN_SEAT)
    advance(game, 60)
    before, seen = game.digest(0), look(game)
    assert game.digest(0) == before
    return game, seen


def test_it_is_what_an_agent_observes(seen_game):
    game, seen = seen_game
    observed = game.observations
    mask = np.unpackbits(observed.masks[0, SEEN_SEAT - 1], bitorder="little")[1 : SEEN_CONFIG.num_players + 2]
    assert seen["legal"] == np.flatnonzero(mask).tolist()
    assert (seen["num_legal"], seen["num_actions"]) == (1 + 10 * mask.sum(), 61)
    pairs = game.pairs([0], [SEEN_SEAT])
    count = len(seen["owners"])
    assert count > 1
    assert seen["owners"] == owner_of_target(pairs.targets[0, :count], SEEN_SEAT, 5).tolist()
    assert [name for name, _ in seen["own"]] == [column.name for column in OWN]
    assert [name for name, _ in seen["pairs"]] == [column.name for column in PAIRS]
    np.testing.assert_allclose([number for _, number in seen["own"]], pairs.own[0], atol=5e-4)
    np.testing.assert_allclose([row for _, row in seen["pairs"]], pairs.pairs[0, :count].T, atol=5e-4)
    sizes, needs, _ = game.fronts(0)
    assert seen["fronts"] == [sizes[SEEN_SEAT, owner] for owner in seen["owners"]]
    assert seen["needs"] == [needs[SEEN_SEAT, owner] for owner in seen["owners"]]


def test_its_planes_are_the_pooled_ones(seen_game):
    planes, game = seen_game[1]["planes"], seen_game[0]
    seen = game.observations
    wanted = Decoder(game.layout, SEEN_CONFIG).pooled(seen.planes, [SEEN_SEAT], seen.players, seen.borders)[0]
    names = ("own", "free", "others", "blocked", "troops a cell", "attacked")
    assert (planes["names"], planes["height"], planes["width"]) == (names, 5, 7)
    assert len(planes["data"]) == len(names) == len(wanted)
    for data, plane in zip(planes["data"], wanted, strict=True):
        levels = np.frombuffer(base64.b64decode(data), np.uint8).reshape(5, 7)
        np.testing.assert_allclose(levels / 255, np.clip(plane, 0, 1), atol=0.5 / 255 + 1e-6)


CONFIG = territorial.GameConfig(height=48, width=48, num_players=6, max_ticks=1500)
NETWORK = TRAINED / "network.safetensors"
SEAT = 2


class Grabber(PythonBot):
    """Attacks the owner with the largest front that it can."""

    name = "grabber-1"
    interval = 70

    def decide(self, view):
        fronts = np.where(view.legal, view.fronts, 0)
        return np.where(fronts.any(1), fronts.argmax(1), -1), np.full(len(fronts), 300)


def game_with(player, *others):
    """A game with ``player`` on SEAT; it is asked what it does there as if it sat elsewhere, too."""
    seats = ["banker", player, *(others or ("settler", "novice", "turtle", "banker"))]
    return begun(territorial.VecGame(CONFIG, 1, seats=seats, autoreset="disabled", observe=False), seeds=[5])


def launches_and_advice(game, advise):
    """What the player on SEAT launched at its turns, and what had been said that it would do."""
    made, said = [], []
    while not game.state.over[0] and game.state.alive[0, SEAT]:
        before = game.digest(0)
        advice = advise(game)
        assert game.digest(0) == before
        game.step()
        target, fraction, is_legal = (table[0, SEAT - 1] for table in game.launches())
        if is_legal:
            made.append((int(target), int(fraction)))
            said.append((advice[0].owner, advice[0].fraction))
    return made, said


@pytest.mark.parametrize("player", ["banker", "upstart-1", Grabber()])
def test_a_bot_does_what_is_said_of_it(player):
    game = game_with(player)
    made, said = launches_and_advice(game, advice_of(player, game, SEAT, seed=1))
    assert len(made) >= 6
    assert said == made


def test_a_network_does_what_is_said_to_be_likeliest():
    game = game_with(Network(NETWORK, temperature=0))
    made, said = launches_and_advice(game, advice_of(Network(NETWORK), game, SEAT, seed=1))
    assert len(made) >= 3
    assert said == made


def test_probabilities_are_those_with_which_a_network_draws():
    """Over many games that differ in what is drawn alone: how often it does what, at temperature 1."""
    drawn = Network(NETWORK, temperature=1, interval=10)
    game = game_with(drawn)
    advise, count = advice_of(drawn, game, SEAT, seed=1), 400
    while len(advise(game)) < 3:
        game.step()
    options, saved = advise(game), game.save(0)
    assert sum(option.part for option in options) == pytest.approx(1)
    assert [option.part for option in options] == sorted((option.part for option in options), reverse=True)
    many = begun(
        territorial.VecGame(CONFIG, count, seats=[drawn] * 6, autoreset="disabled", observe=False), seed=1
    )
    for k in range(count):
        blocks = territorial.game.state.State(*saved.blocks)
        many.restore(k, saved._replace(blocks=blocks._replace(seed=np.full_like(blocks.seed, k))))
    many.step()
    targets = np.where(many.launches().legal, many.launches().target, HOLDS)[:, SEAT - 1]
    for option in options:
        share = (targets == option.owner).mean()
        assert share == pytest.approx(option.part, abs=4 * np.sqrt(0.25 / count))


class Simple(Takes):
    """Holds at first, then sends some to free land."""

    def start(self, config, layout, seed):
        return lambda game, games, seats: [[1, 4]] if game.state.tick[0] else [[0, 0]]


class Telling(Simple):
    """Tells the same probabilities at all times."""

    def distribution(self, config, layout):
        targets, fractions = [0.25, 0.0, 0.125, 0.0, 0.5, 0.0, 0.125, 0.0], [0.05] * 7 + [0.55, 0.05, 0.05]
        return lambda game, games, seats: np.array([targets + fractions] * len(seats))


def test_a_policy_is_asked_for_its_action():
    game = game_with("agent")
    advise = advice_of(Simple(), game, SEAT, seed=1)
    assert advise(game) == [(HOLDS, 1.0, 0)]
    game.step(hold=True)
    assert advise(game) == [(0, 1.0, FRACTIONS[4])]


def test_a_policy_that_tells_probabilities_is_asked_for_them():
    game = game_with("agent")
    owners = action_owners(CONFIG.num_players)[SEAT - 1]
    assert advice_of(Telling(), game, SEAT, seed=1)(game) == [
        (owners[4], 0.5, FRACTIONS[7]),
        (HOLDS, 0.25, 0),
        (owners[2], 0.125, FRACTIONS[7]),
        (owners[6], 0.125, FRACTIONS[7]),
    ]
