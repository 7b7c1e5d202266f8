"""Panels of the pages, advice and agent view: of a game that is played, and of one that is watched."""

import base64
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.bots import Network
from territorial.bots.network import LOGIT_PARTS, POWERS_UNIT, Rows, choose_for_rows
from territorial.bots.network_file import FRACTION_OUTPUTS, TEMPERATURE_UNIT
from territorial.bots.network_layers import NUM_CANDIDATES, make_network_scratch
from territorial.browser.situation import is_ally
from territorial.config import GameConfig
from territorial.constants import FRACTIONS, NUM_FRACTIONS
from territorial.decode.numpy import Decoder
from territorial.engine.forecast import saved_without_players
from territorial.engine.seats import DRIVEN, CustomBot, Seat
from territorial.engine.vec_game import VecGame, new_copy
from territorial.evaluation.players import ActingPolicy, StochasticPolicy, in_games
from territorial.evaluation.schedule import CHAMPION
from territorial.observation.action_encoding import (
    HOW_MUCH,
    WHAT,
    num_flat_actions,
    owner_of_target,
)
from territorial.observation.action_encoding import NO_TARGET as HOLDS
from territorial.observation.pair_columns import OWN, UNIT, pair_columns
from territorial.replay import Replay
from territorial.replay.replay import player_of

LOGIT_UNIT = TEMPERATURE_UNIT * POWERS_UNIT // LOGIT_PARTS
"""Of the logits of a network: at temperature 1, what has one that is higher by this is twice as likely."""

Choose = Callable[[VecGame], npt.ArrayLike]
"""``choose(game)`` returns (2,), the action of a seat that a policy plays: what and how much."""


class Option(NamedTuple):
    """Something that a player may do.

    Args:
        owner: owner code of the target, 0 free land; -1: holds.
        part: how likely that is, 0 to 1.
        fraction: 1024ths of the balance that would be sent, the likeliest; 0: holds.

    """

    owner: int
    part: float
    fraction: int


def advice_of(
    player: CustomBot | Seat | ActingPolicy, game: VecGame, seat: int, seed: int
) -> Callable[[VecGame], list[Option]]:
    """Return a function that computes the moves of ``player`` on ``seat`` of game 0 of ``game``.

    It gives what the player may do there, the likeliest first. Networks tell how likely all that they may do
    is, as at temperature 1, and so do policies that are ``StochasticPolicy``. All others tell the one thing
    that they would do; bots as if they had just sat down. ``game`` is not changed. ``seed`` is of all that
    policies draw.
    """
    if isinstance(player, Network):
        return partial(_network_advises, player, make_network_scratch(), seat)
    if isinstance(player, CustomBot | str):
        return partial(_bot_advises, player, seat)
    if isinstance(player, StochasticPolicy):
        return partial(_distribution_advises, player.distribution(game.config, game.layout), seat)
    return partial(_policy_advises, chooser(player, seat, game, seed), seat)


def chooser(policy: ActingPolicy, seat: int, game: VecGame, seed: int) -> Choose:
    """Return a function that chooses the actions of a seat in game 0 of ``game``, which begins now."""
    act, games, seats = policy.start(game.config, game.layout, seed), np.array([0]), np.array([seat])
    return lambda game: np.asarray(act(game, games, seats))[0]


def _bot_advises(bot: Seat, seat: int, game: VecGame) -> list[Option]:
    copied = game.forecasts.position(0)
    copied.change_seats(0, {seat: bot})
    copied.step(hold=True)
    target, fraction, is_legal = (table[0, seat - 1] for table in copied.launches())
    return [Option(int(target), 1.0, int(fraction)) if is_legal else Option(HOLDS, 1.0, 0)]


def _policy_advises(choose: Choose, seat: int, game: VecGame) -> list[Option]:
    action = np.asarray(choose(game))
    owner = int(owner_of_target(action[WHAT], seat, game.config.num_players))
    return [Option(owner, 1.0, 0 if owner == HOLDS else FRACTIONS[action[HOW_MUCH]])]


def _distribution_advises(distribution: Callable[..., Any], seat: int, game: VecGame) -> list[Option]:
    probabilities = np.asarray(distribution(game, np.array([0]), np.array([seat])))[0]
    targets, fractions = np.split(probabilities, [-NUM_FRACTIONS])
    owners = owner_of_target(np.arange(len(targets)), seat, game.config.num_players)
    likeliest = FRACTIONS[fractions.argmax()]
    return _likeliest_first(owners, targets, [0 if owner == HOLDS else likeliest for owner in owners])


def _network_advises(network: Network, scratch: Any, seat: int, game: VecGame) -> list[Option]:
    num_candidates = int(network.row()[NUM_CANDIDATES])
    seen = game.pairs([0], [seat], num_candidates, "int16", num_allies=0)
    targets = seen.targets[0][seen.targets[0] > 0]
    rows = Rows(seen.own, seen.pairs, np.array([len(targets)]))
    logits = np.zeros((1, 1 + num_candidates, 1 + FRACTION_OUTPUTS), np.int64)
    numbers, chosen = np.zeros((1, 2), np.uint64), np.zeros((1, 2), np.int64)
    choose_for_rows(network.row(), scratch, rows, numbers, chosen, logits)
    owners = owner_of_target(targets, seat, game.config.num_players)
    legal = logits[0, : 1 + len(targets)]  # of holding, and of launches at these owners
    parts = np.exp2((legal[:, 0] - legal[:, 0].max()) / LOGIT_UNIT)
    fractions = [0, *(FRACTIONS[best] for best in legal[1:, 1:].argmax(1))]
    return _likeliest_first(np.concatenate([[HOLDS], owners]), parts / parts.sum(), fractions)


def _likeliest_first(owners: Any, parts: Any, fractions: Iterable[int]) -> list[Option]:
    """Return the possible options with ``owners`` and probabilities ``parts``, likeliest first."""
    found = [Option(*one) for one in zip(owners.tolist(), parts.tolist(), fractions, strict=True)]
    return sorted((option for option in found if option.part), key=lambda option: -option.part)


Look = Callable[[VecGame], Any]
"""``look(game)`` returns what a panel shows of the game as it stands, as values that JSON has."""


def agent_view(game: VecGame, seat: int) -> Look:
    """Return a function that computes the observation of ``seat`` in game 0, without changing ``game``.

    Values that JSON has: ``legal``, owner codes of legal targets; ``num_legal`` and ``num_actions``, of
    actions given as one number; ``owners``, the C candidates of "pairs", with the ``fronts`` in cells and
    ``needs`` in troops of each; ``own`` and ``pairs``, rows of a name and its number, or C numbers;
    ``planes``, the pooled planes with ``names``, ``height``, ``width`` and their ``data``, a byte a number,
    base64 each.
    """
    copy = new_copy(game.config, observe=True)

    def look(game: VecGame) -> dict[str, Any]:
        sizes, needs, is_legal = (pairs[seat] for pairs in game.fronts(0))
        seen = game.pairs([0], [seat])
        is_there = seen.targets[0] > 0
        owners = owner_of_target(seen.targets[0, is_there], seat, game.config.num_players)
        legal = np.flatnonzero(is_legal & ((sizes > 0) | is_ally(game, seat)))
        copy.restore(0, saved_without_players(game.blocks, 0, game.config.hexdigest))
        return {
            "legal": legal.tolist(),
            "num_legal": 1 + NUM_FRACTIONS * len(legal),
            "num_actions": num_flat_actions(game.config.num_players),
            "owners": owners.tolist(),
            "fronts": sizes[owners].tolist(),
            "needs": needs[owners].tolist(),
            "own": _named(OWN, seen.own[0]),
            "pairs": _named(pair_columns(teams=game.config.teams is not None), seen.pairs[0, is_there].T),
            "planes": _planes(copy, seat),
        }

    return look


def columns_shown(config: GameConfig) -> dict[str, Any]:
    """Return what ``page/observation.js`` cannot know: names of columns and planes, the unit, the actions."""
    has_teams = config.teams is not None
    return {
        "own": [column.name for column in OWN],
        "pairs": [column.name for column in pair_columns(teams=has_teams)],
        "unit": UNIT,
        "num_actions": num_flat_actions(config.num_players),
        "planes": plane_names(has_teams=has_teams),
    }


def _named(columns: Any, numbers: Any) -> list[tuple[str, Any]]:
    rounded = np.round(numbers.astype(np.float64), 3).tolist()
    return [(column.name, number) for column, number in zip(columns, rounded, strict=True)]


def plane_names(*, has_teams: bool) -> tuple[str, ...]:
    """Return the semantic planes of one frame, as docs/observation.md has them under "Other forms"."""
    allies = ("allies",) if has_teams else ()
    return ("own", "free", "others", "blocked", *allies, "troops a cell", "attacked")


def _planes(game: VecGame, seat: int) -> dict[str, Any]:
    seen = game.observations
    pooled = Decoder(game.layout, game.config).pooled(seen.planes, [seat], seen.players, seen.borders)[0]
    levels = np.round(255 * np.clip(pooled, 0, 1)).astype(np.uint8)
    return {
        "names": plane_names(has_teams=game.layout.teams),
        "height": levels.shape[1],
        "width": levels.shape[2],
        "data": [base64.b64encode(level.tobytes()).decode() for level in levels],
    }


# ---- moments of a watched game ---------------------------------------------------------------------------

ADVICE, AGENT_VIEW = "advice", "agent_view"


class Moments:
    """Looks at the seats of a game at its decisions, one request after the other.

    Args:
        replay: returns the game as far as it has been played. It is called under ``lock``, which whoever
            plays the game on holds meanwhile.
        players: by recorded names, the players that the library does not have.

    """

    def __init__(self, replay: Callable[[], Replay], players: Mapping[str, Seat] | None = None) -> None:
        self.lock = threading.Lock()
        self.replay, self.players = replay, players or {}

    def look(self, tick: int, seat: int, panel: str) -> Any:
        """Return what a panel, ADVICE or AGENT_VIEW, shows of ``seat`` at ``tick``, as values that JSON has.

        ADVICE has the ``name`` of the seat's player, or of the champion where it is not at hand, the
        ``options`` that it has, the likeliest first, and the ``forecast`` of the likeliest attack; None if
        there is none. None instead of all if the seat has nothing to decide. ValueError for a seat or tick
        that the game does not have.
        """
        with self.lock:
            replay = self.replay()
            game = replay.seek(tick)
            if not 1 <= seat <= replay.config.num_players:
                raise ValueError(f"seat is {seat}; the game has the seats 1 to {replay.config.num_players}")
            if game.state.over[0] or not game.state.alive[0, seat]:
                return None
            if panel == AGENT_VIEW:
                return agent_view(game, seat)(game)
            return self._advice(game, seat, replay.players_at(tick)[seat - 1], replay.seed)

    def _advice(self, game: VecGame, seat: int, name: str, seed: int) -> dict[str, Any]:
        player = player_of(name, self.players)
        if player is None or player in DRIVEN:
            name, player = CHAMPION, CHAMPION
        options = advice_of(in_games(player), game, seat, seed)(game)
        forecasts = (
            {"fraction": one.fraction, **game.forecasts(0, seat, one.owner, one.fraction)}
            for one in options
            if one.owner != HOLDS and not is_ally(game, seat)[one.owner]
        )
        return {
            "name": name,
            "options": [option._asdict() for option in options],
            "forecast": next(forecasts, None),  # of the likeliest launch at an enemy
        }
