"""Panels: what an agent observes and an advisor would do, in games that are played and those watched."""

import base64
import json

import numpy as np
import pytest

import territorial
from territorial import Recorder
from territorial.bots import Network
from territorial.browser.panels import ADVICE, AGENT_VIEW, HOLDS, Moments, advice_of, agent_view
from territorial.constants import FRACTIONS
from territorial.decode.numpy import Decoder
from territorial.observation.action_encoding import action_owners, owner_of_target
from territorial.observation.pair_columns import OWN, PAIRS
from tests.bots.networks import TRAINED
from tests.bots.support import python_bot
from tests.episodes import advance, begun
from tests.league.support import Takes
from tests.replay.support import random_actions, recorded_game

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


def grab(view):
    """Attack the owner with the largest front that there is."""
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


GRABBER = python_bot(grab, "grabber-1", 70)


@pytest.mark.parametrize(
    ("player", "asked", "least"),
    [
        *((bot, bot, 6) for bot in ("banker", "upstart-1", GRABBER)),
        (Network(NETWORK, temperature=0), Network(NETWORK), 3),
    ],
)
def test_a_player_does_what_is_said_of_it_and_a_network_what_is_likeliest(player, asked, least):
    game = game_with(player)
    made, said = launches_and_advice(game, advice_of(asked, game, SEAT, seed=1))
    assert len(made) >= least
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


# ---- moments of a watched game -----------------------------------------------------------------------


TEAMS = territorial.GameConfig(height=40, width=40, num_players=6, max_ticks=900, teams=3)
TAUGHT = Network(TRAINED / "network.safetensors")
PLAYERS = ("champion", "banker", "agent", TAUGHT, "settler", "besieger")


@pytest.fixture(scope="module")
def replay():
    rng = np.random.default_rng(0)
    return recorded_game(TEAMS, PLAYERS, seed=3, actions=lambda game: random_actions(game, rng, 0.1))[1]


def test_each_seat_is_advised_by_its_own_player_and_an_agent_by_the_champion(replay):
    look = Moments(lambda: replay, {TAUGHT.name: TAUGHT}).look
    names = ["champion-1", "banker-1", "champion-1", TAUGHT.name, "settler-1", "besieger-1"]
    for tick, (seat, name) in [(200, one) for one in enumerate(names, start=1)]:
        found = look(tick, seat, ADVICE)
        assert found == json.loads(json.dumps(found))
        assert (found["name"], sum(option["part"] for option in found["options"])) == (name, pytest.approx(1))
        assert (len(found["options"]) > 1) == (name in ("champion-1", TAUGHT.name))
    assert Moments(lambda: replay).look(200, 4, ADVICE)["name"] == "champion-1"


def test_a_forecast_is_of_the_likeliest_attack_while_all_others_hold(replay):
    look, found = Moments(lambda: replay).look, 0
    for tick in range(50, 400, 50):
        game = replay.game(
            tick,
            seats=dict.fromkeys(range(1, 7), "external"),
            players={TAUGHT.name: TAUGHT},
        )
        foreseen = look(tick, 1, ADVICE)["forecast"]
        if foreseen is None:
            continue
        owner = foreseen["owner"]
        taken = game.state.taken[0, 1, owner].copy()
        game.play(0, [(tick, 1, owner, foreseen["fraction"])], tick + foreseen["ticks"])
        assert game.state.taken[0, 1, owner] - taken == foreseen["cells"]
        found += 1
    assert found > 2


def test_an_agent_sees_there_what_it_saw(replay):
    game = replay.seek(300)
    assert Moments(lambda: replay).look(300, 2, AGENT_VIEW) == agent_view(game, 2)(game)


def test_a_game_that_is_still_played_shows_the_same(replay):
    game = begun(territorial.VecGame(TEAMS, 1, seats=["champion", "settler"] * 3, observe=False), seeds=[7])
    with Recorder(game) as recorder:
        live = Moments(recorder.replay)
        advance(game, 60)
        at_200 = live.look(200, 1, ADVICE)
        digest = game.digest(0)
        whole = Moments(recorder.replay).look(200, 1, ADVICE)
    assert (at_200, game.digest(0)) == (whole, digest)
    assert at_200["options"]


def test_who_has_nothing_to_decide_has_nothing_to_show_and_what_is_not_there_is_refused(replay):
    look, deadly = Moments(lambda: replay).look, recorded_game(seed=3)[1]
    end = deadly.seek(deadly.num_ticks).state
    dead = int(end.alive[0, 1:].argmin()) + 1
    assert not end.alive[0, dead]
    last = (deadly.num_ticks - 1) // 10 * 10
    assert end.death_tick[0, dead] <= last
    for panel in (ADVICE, AGENT_VIEW):
        assert Moments(lambda: deadly).look(last, dead, panel) is None
        assert look(replay.num_ticks, 1, panel) is None  # the game is over
    for tick, seat, message in (
        (0, 0, "seat is 0; the game has the seats 1 to 6"),
        (0, 7, "seat is 7"),
        (10**6, 1, "tick is"),
    ):
        with pytest.raises(ValueError, match=message):
            look(tick, seat, ADVICE)
