"""Advice: what another player would do on a seat, as it stands."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from territorial.actions.encoding import HOW_MUCH, WHAT, owner_of_target
from territorial.actions.encoding import NO_TARGET as HOLDS
from territorial.bots import Network
from territorial.bots.network import LOGIT_PARTS, POWERS_UNIT, Rows, choose_for_rows
from territorial.bots.network_file import FRACTION_OUTPUTS, TEMPERATURE_UNIT
from territorial.bots.network_layers import NUM_CANDIDATES, make_network_scratch
from territorial.constants import FRACTIONS, NUM_FRACTIONS
from territorial.engine.seats import EXTERNAL, CustomBot, Seat
from territorial.engine.vec_game import VecGame
from territorial.evaluation.players import Acting, Stochastic
from territorial.play.mirror import Mirror

LOGIT_UNIT = TEMPERATURE_UNIT * POWERS_UNIT // LOGIT_PARTS
"""Of the logits of a network: at temperature 1, what has one that is higher by this is twice as likely."""

Choose = Callable[[VecGame], npt.ArrayLike]
"""``choose(game)`` returns (2,), the action of a seat that a policy plays: what and how much."""


class Option(NamedTuple):
    """Something that a player may do."""

    owner: int
    """Owner code of the target, 0 free land; -1: holds."""
    part: float
    """How likely that is, 0 to 1."""
    fraction: int
    """1024ths of the balance that would be sent, the likeliest; 0: holds."""


Advise = Callable[[VecGame], list[Option]]
"""``advise(game)`` returns what a player may do on a seat, the likeliest first."""


def advice_of(player: CustomBot | Seat | Acting, game: VecGame, seat: int, seed: int) -> Advise:
    """Return what tells what ``player`` would do at its turn on ``seat`` of game 0 of ``game``.

    Networks tell how likely all that they may do is, as at temperature 1, and so do policies that are
    ``Stochastic``. All others tell the one thing that they would do; bots as if they had just sat down.
    ``game`` is not changed. ``seed`` is of all that policies draw.
    """
    if isinstance(player, Network):
        return _advice_of_network(player, seat)
    if isinstance(player, CustomBot | str):
        return _advice_of_bot(player, game, seat)
    if isinstance(player, Stochastic):
        return _advice_of_distribution(player, game, seat)
    return _advice_of_policy(chooser(player, seat, game, seed), seat)


def chooser(policy: Acting, seat: int, game: VecGame, seed: int) -> Choose:
    """Return what chooses the actions of a seat in game 0 of ``game``, which begins now."""
    act, games, seats = policy.start(game.config, game.layout, seed), np.array([0]), np.array([seat])
    return lambda game: np.asarray(act(game, games, seats))[0]


def _advice_of_bot(bot: Seat, game: VecGame, seat: int) -> Advise:
    seats: list[Seat] = [EXTERNAL] * game.config.num_players
    seats[seat - 1] = bot
    mirror = Mirror(game, seats)

    def advise(game: VecGame) -> list[Option]:
        mirrored = mirror.of(game)
        mirrored.step()
        target, fraction, is_legal = (table[0, seat - 1] for table in mirrored.launches())
        return [Option(int(target), 1.0, int(fraction)) if is_legal else Option(HOLDS, 1.0, 0)]

    return advise


def _advice_of_policy(choose: Choose, seat: int) -> Advise:
    def advise(game: VecGame) -> list[Option]:
        action = np.asarray(choose(game))
        owner = int(owner_of_target(action[WHAT], seat, game.config.num_players))
        return [Option(owner, 1.0, 0 if owner == HOLDS else FRACTIONS[action[HOW_MUCH]])]

    return advise


def _advice_of_distribution(policy: Stochastic, game: VecGame, seat: int) -> Advise:
    tell, games, seats = policy.distribution(game.config, game.layout), np.array([0]), np.array([seat])

    def advise(game: VecGame) -> list[Option]:
        targets, fractions = np.split(np.asarray(tell(game, games, seats))[0], [-NUM_FRACTIONS])
        owners = owner_of_target(np.arange(len(targets)), seat, game.config.num_players)
        likeliest = FRACTIONS[fractions.argmax()]
        return _likeliest_first(owners, targets, [0 if owner == HOLDS else likeliest for owner in owners])

    return advise


def _advice_of_network(network: Network, seat: int) -> Advise:
    scratch, num_candidates = make_network_scratch(), int(network.row()[NUM_CANDIDATES])

    def advise(game: VecGame) -> list[Option]:
        seen = game.pairs([0], [seat], num_candidates, "int16", num_allies=0)
        targets = seen.targets[0][seen.targets[0] > 0]
        rows = Rows(seen.own, seen.pairs, np.array([len(targets)]))
        logits = np.zeros((1, 1 + num_candidates, 1 + FRACTION_OUTPUTS), np.int64)
        numbers, chosen = np.zeros((1, 2), np.uint64), np.zeros((1, 2), np.int64)
        choose_for_rows(network.row(), scratch, rows, numbers, chosen, logits)
        owners = owner_of_target(targets, seat, game.config.num_players)
        return _options(owners, logits[0, : 1 + len(targets)])

    return advise


def _options(owners: Any, logits: npt.NDArray[np.int64]) -> list[Option]:
    """Return what the logits say of holding, and of launches at ``owners``; not what is illegal."""
    parts = np.exp2((logits[:, 0] - logits[:, 0].max()) / LOGIT_UNIT)
    parts /= parts.sum()
    fractions = [0, *(FRACTIONS[best] for best in logits[1:, 1:].argmax(1))]
    return _likeliest_first(np.concatenate([[HOLDS], owners]), parts, fractions)


def _likeliest_first(owners: Any, parts: Any, fractions: Iterable[int]) -> list[Option]:
    """Return what has the owner codes ``owners`` and the probabilities ``parts``; not what has none."""
    found = [Option(*one) for one in zip(owners.tolist(), parts.tolist(), fractions, strict=True)]
    return sorted((option for option in found if option.part), key=lambda option: -option.part)
