"""Learned bots of the library: their names take seats like those of all bots, and stay theirs."""

import pickle
from types import MappingProxyType

import pytest

from territorial import GameConfig, VecGame, bots, match, parallel_env
from territorial.bots import Network, Style
from territorial.bots import bot_files as library
from territorial.bots.bot_files import FOLDER, LEARNED, LEARNED_ALIASES, LearnedBot, bot_of_file, library_bot
from territorial.engine.seats import check_custom
from territorial.evaluation.players import Entrants
from territorial.league import Group, League, LeagueConfig, Learner, LineUpDistribution, Opponents
from territorial.training import Dataset, make
from tests.bots.networks import random_file
from tests.bots.support import python_bot
from tests.episodes import begun

CONFIG = GameConfig(height=16, width=16, num_players=4, max_ticks=300)


@pytest.fixture
def network(monkeypatch, tmp_path):
    """A network that the library has for the time of a test."""
    random_file(tmp_path / "thinker.safetensors", 1, interval=20)
    monkeypatch.setattr(library, "FOLDER", tmp_path)
    there_are = {"thinker-1": LearnedBot("thinker.safetensors", "it thinks", "Think more.")}
    monkeypatch.setattr(library, "LEARNED", MappingProxyType(there_are))
    monkeypatch.setattr(library, "LEARNED_ALIASES", MappingProxyType({"thinker": "thinker-1"}))
    yield library_bot("thinker")
    library._read.cache_clear()


@pytest.mark.parametrize("name", LEARNED)
def test_every_one_is_there_under_its_name(name):
    about, bot = LEARNED[name], library_bot(name)
    assert bot.name == name
    assert about.idea
    assert about.weakness
    assert library_bot(LEARNED_ALIASES[name.rpartition("-")[0]]) is bot
    kind = Style if about.file.endswith(".json") else Network
    assert isinstance(bot, kind)
    assert not {name, name.rpartition("-")[0]} & {*bots.NAMES, *bots.ALIASES}


def test_no_file_is_without_a_bot():
    assert {path.name for path in FOLDER.iterdir()} == {one.file for one in LEARNED.values()}


GIVERS = [*bots.GIVERS, *(name.rpartition("-")[0] for name in bots.GIVERS)]


@pytest.mark.parametrize("name", [*LEARNED, *LEARNED_ALIASES, *GIVERS, "net:", "style:"])
def test_they_take_seats_wherever_bots_do(name, tmp_path):
    """So do a network and a style of files of one's own."""
    if name == "net:":
        name += str(random_file(tmp_path / "net", 1, interval=20).path)
    if name == "style:":
        name += str(tmp_path / "style.json")
        Style(name="mine-1", interval=20).save(tmp_path / "style.json")
    full = bot_of_file("a seat", name).name if ":" in name else bots.full_name(name)
    assert full not in bots.NAMES
    game = begun(VecGame(CONFIG, 2, seats=[name, "banker", name, "turtle"], observe=False), seed=0)
    assert game.seats_of(0) == (full, "banker-1", full, "turtle-1")
    assert Entrants([name, "banker"]).names == (full, "banker-1")
    ranking = match([name, "banker"], CONFIG, 4, deal=True, processes=1, progress=False)
    assert set(ranking.players) == {"banker-1", full}
    env = begun(parallel_env(config=CONFIG, seats=["agent", name, "banker", name]), seed=0)
    assert env.game.seats_of(0) == ("agent", full, "banker-1", full)
    make(tmp_path / "set", CONFIG, [name, "banker"] * 2, games=1, rows_of=[name], processes=1)
    assert set(Dataset(tmp_path / "set")[0].seat) == {1, 3}


@pytest.mark.parametrize("name", [*LEARNED, *LEARNED_ALIASES])
def test_leagues_have_them_and_are_read_without_help(name):
    full = f"bot:{bots.full_name(name)}"
    opponents = (Opponents(seats=3, among=("bots",)),)
    config = LeagueConfig(
        num_players=4, learners=(Learner(name="main", opponents=opponents),), bots=(name, "banker")
    )
    league = League(config, rated=False)
    assert league.pool("bots") == (full, "bot:banker")
    assert League.from_bytes(league.to_bytes()).pool("bots") == league.pool("bots")
    league.record(["trainable:main", full, full, "bot:banker"], [1, 2, 3, 4])
    assert league.payoff.games("trainable:main", [full]).sum() > 0
    (player,) = LineUpDistribution([Group(4, {f"bot:{name}": 1.0})]).groups[0].players
    assert (str(player), player.written) == (full, full)


def test_a_network_has_its_name_on_every_machine(network):
    assert (network.name, network.text) == ("thinker-1", "thinker-1")
    assert pickle.loads(pickle.dumps(network)) is network
    assert b"thinker.safetensors" not in pickle.dumps(network)
    assert bot_of_file("a seat", "thinker-1") is network
    game = begun(VecGame(CONFIG, 1, seats=["thinker", "banker"] * 2, observe=False), seed=0)
    game.step(repeat=5)
    assert game.seats_of(0) == ("thinker-1", "banker-1") * 2
    assert Network(network.path) != network, "a file of yours is another bot"


def test_nobody_else_has_their_names():
    other = Style(name="upstart-1", interval=33)
    for bot in (other, python_bot(None, "upstart-1")):
        with pytest.raises(ValueError, match="has the name 'upstart-1', which"):
            check_custom(bot)
    check_custom(library_bot("upstart"))
    with pytest.raises(ValueError, match="'upstart-1' is the name of a built-in bot"):
        Entrants([other])
    with pytest.raises(ValueError, match=r"seats\[0\] is 'upstar' \(did you mean 'upstart'\?\)"):
        VecGame(CONFIG, 1, seats=["upstar", *["banker"] * 3])
