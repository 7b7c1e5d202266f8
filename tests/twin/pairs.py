"""The observation form "pairs" in plain Python, written from docs/observation_pairs.md alone.

It is to be read beside the page: columns stand in the same order, and symbols have the same letters. ``p`` is
the seat that observes, ``q`` a candidate, ``r`` any other player, ``t`` an owner code (0 is neutral land).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from territorial.config import GameConfig
from territorial.constants import BLOCKED, HOLD, NEUTRAL, NUM_FRACTIONS, TARGET_NEUTRAL
from tests.twin import formulas
from tests.twin.game import ReferenceGame

OWN_COLUMNS = (
    "land",
    "crowding",
    "land_share",
    "density",
    "over_soft_cap",
    "troops",
    "time",
    "time_left",
    "opening",
    "interest",
    "alive_share",
    "players",
    "neutral_share",
    "rank_by_land",
    "rank_by_troops",
    "peak_share",
    "pools_out",
    "pools_in",
    "leader_share",
    "leader_land",
    "leader_density",
    "mean_density",
    "density_to_mean",
    "neighbours",
    "border_neutral",
    "border",
    "pool_on_neutral",
    "thinnest_neighbour",
    "richest_neighbour",
    "wait",
    "force_to_mean",
    "income_phase",
    "first",
    "top",
    "decision_step",
)
PAIR_COLUMNS = (
    "there",
    "neutral",
    "legal",
    "front",
    "border_share",
    "need",
    "pool",
    "pool_per_cell",
    "attack",
    "density",
    "troops_ratio",
    "land_ratio",
    "density_ratio",
    "attacked",
    "sent",
    "peak_share",
    "land_share",
    "to_leader",
    "border_neutral",
    "border_ours",
    "price",
    "kill",
    "lost",
    "taken",
    "neighbours",
    "force",
)
# What games with teams have after these.
TEAM_PAIR_COLUMNS = ("ally",)

ONE = 4096
MOST_RATIO = 4 * ONE
# As much as a single balance or pool counts.
MOST_TROOPS = 2**40
# As much as any number counts in a logarithm, ratio or part.
MOST_COUNTED = 2**48


@dataclass(frozen=True)
class PairsObservation:
    """What a seat observes: whole numbers, in 4096ths but for targets; C + D rows of pairs and targets."""

    own: list[int]
    pairs: list[list[int]]
    targets: list[int]

    @property
    def mask(self) -> list[int]:
        """The mask of ``action_format="pairs"``: 1 + 10 * (C + D) entries, hold first."""
        return [1] + [is_legal for is_legal in self._legal_rows for _ in range(NUM_FRACTIONS)]

    @property
    def masks_of_parts(self) -> tuple[list[int], list[int]]:
        """The masks of ``action_format="pairs_multi_discrete"``: 1 + C + D entries and 10."""
        return [1, *self._legal_rows], [1] * NUM_FRACTIONS

    @property
    def _legal_rows(self) -> list[int]:
        legal = PAIR_COLUMNS.index("legal")
        return [int(row[legal] > 0) for row in self.pairs]


def observe(
    game: ReferenceGame, p: int, num_candidates: int = 8, num_allies: int | None = None
) -> PairsObservation:
    """Return what seat p observes of the game as it stands."""
    if p not in game.seats:
        raise ValueError(f"seat is {p}; it must be from 1 to {game.config.num_players}")
    return _observe(Quantities(game), p, num_candidates, num_allies)


def observe_all(
    game: ReferenceGame, num_candidates: int = 8, num_allies: int | None = None
) -> list[PairsObservation]:
    """Return what each seat observes, those of 1..P in order; takes hardly longer than one of them."""
    w = Quantities(game)
    return [_observe(w, p, num_candidates, num_allies) for p in game.seats]


def _observe(w: Quantities, p: int, num_candidates: int, num_allies: int | None) -> PairsObservation:
    if num_candidates < 1:
        raise ValueError(f"num_candidates is {num_candidates}; it must be at least 1")
    num_allies = (4 if w.has_teams else 0) if num_allies is None else num_allies
    if not w.is_living[p]:
        rows, targets = _padded(w, [], [], num_candidates + num_allies)
        return PairsObservation([0] * len(OWN_COLUMNS), rows, targets)
    rows, targets = [], []
    for shown, count in ((candidates(w, p), num_candidates), (allies(w, p), num_allies)):
        shown = shown[:count]
        some = _padded(w, [pair_row(w, p, q) for q in shown], [target_of(w, p, q) for q in shown], count)
        rows, targets = rows + some[0], targets + some[1]
    return PairsObservation(own_row(w, p), rows, targets)


def _padded(
    w: Quantities, rows: list[list[int]], targets: list[int], count: int
) -> tuple[list[list[int]], list[int]]:
    missing = count - len(rows)
    nothing = [[0] * len(pair_columns(w)) for _ in range(missing)]
    return rows + nothing, targets + [0] * missing


def pair_columns(w: Quantities) -> tuple[str, ...]:
    """Return the columns of pairs in this game."""
    return PAIR_COLUMNS + TEAM_PAIR_COLUMNS if w.has_teams else PAIR_COLUMNS


# ---------------------------------------------------------------------- actions


def choice(action: int, targets: Sequence[int]) -> tuple[int, int]:
    """Return an action of the format "pairs" as the pair (what, how much); ``targets`` are those observed."""
    if not 0 <= action <= NUM_FRACTIONS * len(targets):
        raise ValueError(f"action is {action}; it must be from 0 to {NUM_FRACTIONS * len(targets)}")
    if action == HOLD:
        return HOLD, 0
    c, f = divmod(action - 1, NUM_FRACTIONS)
    return targets[c], f


def choice_of_parts(row: int, fraction: int, targets: Sequence[int]) -> tuple[int, int]:
    """Return an action of the format "pairs_multi_discrete" as the pair (what, how much)."""
    if not 0 <= row <= len(targets):
        raise ValueError(f"the first part is {row}; it must be from 0 to {len(targets)}")
    if not 0 <= fraction < NUM_FRACTIONS:
        raise ValueError(f"the second part is {fraction}; it must be from 0 to {NUM_FRACTIONS - 1}")
    return (HOLD, fraction) if row == 0 else (targets[row - 1], fraction)


# ---------------------------------------------------------------------- candidates


def candidates(w: Quantities, p: int) -> list[int]:
    """Return the owner codes of all candidates: neutral land, then enemies by front, troops and land."""
    players = [q for q in w.living if w.n[p][q] > 0 and w.team[q] != w.team[p]]
    players.sort(key=lambda q: (-w.n[p][q], -w.T[q], -w.L[q], (q - p) % w.P))
    return [NEUTRAL] * (w.n[p][NEUTRAL] > 0) + players


def allies(w: Quantities, p: int) -> list[int]:
    """Return all living allies, by land and troops."""
    players = [q for q in w.living if q != p and w.team[q] == w.team[p]]
    return sorted(players, key=lambda q: (-w.L[q], -w.T[q], (q - p) % w.P))


def target_of(w: Quantities, p: int, q: int) -> int:
    """Return the first part of an action of p against owner q: 1 neutral land, 3 the next seat."""
    return TARGET_NEUTRAL if q == NEUTRAL else (q - p) % w.P + 2


# ---------------------------------------------------------------------- words


def log(x: int) -> int:
    """Return log2(1 + x) in 256ths, straight between powers of two."""
    y = 1 + min(x, MOST_COUNTED)
    e = y.bit_length() - 1
    return 256 * e + 256 * (y - (1 << e)) // (1 << e)


def ratio(a: int, b: int) -> int:
    """Return a / b in 4096ths, 4 at most."""
    return min(MOST_RATIO, ONE * _counted(a) // max(1, _counted(b)))


def part(x: int, y: int) -> int:
    """Return the part that x has of x + y, in 4096ths."""
    return ONE * _counted(x) // (1 + _counted(x) + _counted(y))


def gap(x: int) -> int:
    """Return a difference of logarithms so that a doubling is a quarter."""
    return min(max(4 * x, -MOST_RATIO), MOST_RATIO)


def _counted(x: int) -> int:
    return min(x, MOST_COUNTED)


class Quantities:
    """The words and symbols of the page for one state of a game; lists are indexed by owner code."""

    def __init__(self, game: ReferenceGame) -> None:
        num_codes = game.config.num_players + 1
        self.config: GameConfig = game.config
        self.tick = game.tick
        self.P = game.config.num_players
        self.M = game.num_land
        self.L, self.peak, self.taken, self.next_step = game.land, game.peak, game.taken, game.next_step
        self.T = [min(troops, MOST_TROOPS) for troops in game.troops]
        self.A = [[min(pool, MOST_TROOPS) for pool in row] for row in game.pools]
        self.is_living, self.team, self.has_teams = game.alive, game.team, game.config.teams is not None
        self.living = game.living()

        self.n = front_sizes(game)
        self.B = [sum(self.n[q]) for q in range(num_codes)]
        self.out = [sum(self.A[q]) for q in range(num_codes)]
        self.into = [sum(self.A[r][q] for r in self.living) for q in range(num_codes)]
        self.near = [sum(self.n[q][r] > 0 for r in self.living) for q in range(num_codes)]
        self.dense = [log(self.T[q]) - log(self.L[q]) for q in range(num_codes)]

        self.alive = len(self.living)
        self.sum_T = sum(self.T[q] for q in self.living)
        self.sum_L = sum(self.L[q] for q in self.living)
        self.sum_out = sum(self.out[q] for q in self.living)
        self.leader = max(self.living, key=lambda q: (self.L[q], self.T[q]), default=NEUTRAL)
        # What hard_cap allows on the land: the page writes hard_cap * L.
        self.hard = [self.config.hard_cap * land for land in self.L]


def front_sizes(game: ReferenceGame) -> list[list[int]]:
    """Return n: ``n[p][t]`` is how many cells of t touch a cell of p, 0 for t = p."""
    n = [[0] * len(game.land) for _ in game.land]
    for row, around in zip(game.owner, game.neighbours, strict=True):
        for t, cells in zip(row, around, strict=True):
            for p in {game.owner[i][j] for i, j in cells} - {NEUTRAL, BLOCKED, t}:
                if t != BLOCKED:
                    n[p][t] += 1
    return n


# ---------------------------------------------------------------------- own columns


def own_row(w: Quantities, p: int) -> list[int]:
    """Return the columns of own, for a living seat."""
    values = {
        **_own_land(w, p),
        **_own_time(w, p),
        **_own_standing(w, p),
        **_own_leader(w, p),
        **_own_border(w, p),
        **_own_late(w, p),
    }
    return [values[name] for name in OWN_COLUMNS]


def _own_land(w: Quantities, p: int) -> dict[str, int]:
    """Columns 0 to 5: land and troops."""
    above_soft_cap = max(0, w.T[p] - w.config.soft_cap * w.L[p])
    return {
        "land": log(w.L[p]),
        "crowding": gap(log(w.L[p] * w.P) - log(w.M)),
        "land_share": ratio(w.L[p], w.M),
        "density": ratio(w.T[p], w.hard[p]),
        "over_soft_cap": ratio(above_soft_cap, w.hard[p]),
        "troops": log(w.T[p]),
    }


def _own_time(w: Quantities, p: int) -> dict[str, int]:
    """Columns 6 to 9: time, and the interest that falls with it."""
    opening = w.config.early_interest_ticks
    return {
        "time": ratio(w.tick, w.config.max_ticks),
        "time_left": log(max(0, w.config.max_ticks - w.tick)),
        "opening": ratio(max(0, opening - w.tick), opening),
        "interest": ratio(_interest_rate(w, p), 1000),
    }


def _interest_rate(w: Quantities, p: int) -> int:
    """Return r of the rules page, and 0 without land."""
    if w.L[p] == 0:
        return 0
    return formulas.interest_rate(w.config, w.tick, w.T[p], w.L[p], w.M)


def _own_standing(w: Quantities, p: int) -> dict[str, int]:
    """Columns 10 to 17: the place among the others, and pools."""
    return {
        "alive_share": ratio(w.alive, w.P),
        "players": log(w.P),
        "neutral_share": ratio(w.L[NEUTRAL], w.M),
        "rank_by_land": ratio(_ahead(w, p), w.alive),
        "rank_by_troops": ratio(sum(w.T[q] > w.T[p] for q in w.living), w.alive),
        "peak_share": ratio(w.L[p], w.peak[p]),
        "pools_out": part(w.out[p], w.T[p]),
        "pools_in": part(w.into[p], w.T[p]),
    }


def _ahead(w: Quantities, p: int) -> int:
    return sum(w.L[q] > w.L[p] for q in w.living)


def _own_leader(w: Quantities, p: int) -> dict[str, int]:
    """Columns 18 to 22: against the leader, and the mean."""
    return {
        "leader_share": ratio(w.L[w.leader], w.M),
        "leader_land": gap(log(w.L[w.leader]) - log(w.L[p])),
        "leader_density": ratio(w.T[w.leader], w.hard[w.leader]),
        "mean_density": ratio(w.sum_T, w.config.hard_cap * w.sum_L),
        "density_to_mean": gap(w.dense[p] - (log(w.sum_T) - log(w.sum_L))),
    }


def _own_border(w: Quantities, p: int) -> dict[str, int]:
    """Columns 23 to 28: the border and those behind it, shown as candidates or not."""
    neighbours = [q for q in w.living if w.n[p][q] > 0]
    return {
        "neighbours": ratio(w.near[p], 8),
        "border_neutral": ratio(w.n[p][NEUTRAL], w.B[p]),
        "border": gap(2 * log(w.B[p]) - log(w.L[p])),
        "pool_on_neutral": part(w.A[p][NEUTRAL], w.T[p]),
        "thinnest_neighbour": min((ratio(w.T[q], w.hard[q]) for q in neighbours), default=ONE),
        "richest_neighbour": max((part(w.T[q], w.T[p]) for q in neighbours), default=0),
    }


def _own_late(w: Quantities, p: int) -> dict[str, int]:
    """Columns 29 to 34."""
    mean_force = (w.sum_T + w.sum_out) // w.alive
    wait = max(0, w.next_step[p] - w.tick)
    return {
        "wait": ratio(wait, w.config.launch_delay) if w.out[p] > 0 else 0,
        "force_to_mean": gap(log(w.T[p] + w.out[p]) - log(mean_force)),
        "income_phase": ratio(w.tick % w.config.income_every, w.config.income_every),
        "first": ONE if w.tick == 0 else 0,
        "top": ONE // (1 + _ahead(w, p)),
        "decision_step": ratio(w.config.decision_every, 50),
    }


# ---------------------------------------------------------------------- pair columns


def pair_row(w: Quantities, p: int, q: int) -> list[int]:
    """Return the columns of pairs for candidate or ally q of a living seat p."""
    values = _pair_front(w, p, q)
    if q == NEUTRAL:
        values["price"] = part(w.config.neutral_cost * w.n[p][NEUTRAL], w.T[p])
        values = dict.fromkeys((*PAIR_COLUMNS[8:], *TEAM_PAIR_COLUMNS), 0) | values
        return [values[name] for name in pair_columns(w)]
    values |= {**_pair_strength(w, p, q), **_pair_place(w, p, q), **_pair_war(w, p, q), "ally": 0}
    if w.team[q] == w.team[p]:
        may_give = w.T[p] >= 1 and w.T[q] < w.hard[q]
        values |= {"legal": ONE if may_give else 0, "need": 0, "price": 0, "ally": ONE}
    return [values[name] for name in pair_columns(w)]


def _pair_front(w: Quantities, p: int, q: int) -> dict[str, int]:
    """Columns 0 to 7: the front and the pool, of neutral land as well."""
    need = formulas.launch_need(w.config, w.n[p][q], w.A[p][q])
    # Candidates live and have a front, so the need alone decides.
    is_legal = need <= formulas.largest_need(w.config, w.T[p])
    return {
        "there": ONE,
        "neutral": ONE if q == NEUTRAL else 0,
        "legal": ONE if is_legal else 0,
        "front": log(w.n[p][q]),
        "border_share": ratio(w.n[p][q], w.B[p]),
        "need": part(need, w.T[p]),
        "pool": part(w.A[p][q], w.T[p]),
        "pool_per_cell": gap(max(0, log(w.A[p][q]) - log(w.n[p][q]))),
    }


def _pair_strength(w: Quantities, p: int, q: int) -> dict[str, int]:
    """Columns 8 to 14: troops and pools of q, beside those of p."""
    return {
        "attack": part(w.A[q][p], w.T[p]),
        "density": gap(w.dense[q]),
        "troops_ratio": gap(log(w.T[q]) - log(w.T[p])),
        "land_ratio": gap(log(w.L[q]) - log(w.L[p])),
        "density_ratio": gap(w.dense[q] - w.dense[p]),
        "attacked": part(w.into[q] - w.A[p][q], w.T[q]),
        "sent": part(w.out[q], w.T[q]),
    }


def _pair_place(w: Quantities, p: int, q: int) -> dict[str, int]:
    """Columns 15 to 19: land and borders of q."""
    return {
        "peak_share": ratio(w.L[q], w.peak[q]),
        "land_share": ratio(w.L[q], w.M),
        "to_leader": ratio(w.L[q], w.L[w.leader]),
        "border_neutral": ratio(w.n[q][NEUTRAL], w.B[q]),
        "border_ours": ratio(w.n[q][p], w.B[q]),
    }


def _pair_war(w: Quantities, p: int, q: int) -> dict[str, int]:
    """Columns 20 to 25: what an attack costs, what has been taken, and forces."""
    return {
        "price": part(_attack_cost(w, p, q, w.n[p][q]), w.T[p]),
        "kill": gap(log(_price_of_death(w, p, q)) - log(w.T[p])),
        "lost": part(w.taken[q][p], w.L[p]),
        "taken": part(w.taken[p][q], w.L[p]),
        "neighbours": ratio(w.near[q], 8),
        "force": gap(log(w.T[q] + w.out[q]) - log(w.T[p] + w.out[p])),
    }


def _attack_cost(w: Quantities, p: int, q: int, n: int) -> int:
    """The cost of the rules, of an attack of p on n cells of q."""
    config = w.config
    defenders = formulas.defence(config, n, w.T[q], w.L[q])
    return config.attack_cost * n + config.attackers_per_defender * defenders + w.A[q][p]


def _price_of_death(w: Quantities, p: int, q: int) -> int:
    """Return k of the page: about what it takes to bring q down to its death."""
    cells = max(0, w.L[q] - w.peak[q] // w.config.death_divisor)
    return _attack_cost(w, p, q, cells)
