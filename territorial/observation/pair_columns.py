"""Columns of the form "pairs", as data.

docs/observation.md defines them under "Pairs" and has its tables from here; ``observation.pairs`` computes
them. Columns are addressed by name and only ever appended. One whose value changes for any state gets the
next version.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

from territorial.observation.layout import positions

UNIT = 4096
"""Every number is stored as a whole number of parts of this size: int16 / UNIT, exact in float32."""
LOG_UNIT = 256
"""What 1 is in the logarithm to base 2 of the page: UNIT / 16."""
MOST_TROOPS = 2**40
"""What balances and pools count as at most."""
MOST = 2**48
"""What a number counts as at most in a logarithm or a ratio."""
LARGEST_RATIO = 4 * UNIT
LARGEST_LOG = LOG_UNIT * 48
GAP = 4
"""What differences of logarithms are stored times: a doubling is a quarter."""
LARGEST_GAP = 4 * UNIT


@dataclass(frozen=True)
class PairColumn:
    """One number: its value as a formula of the page, and the least and the largest that it can be."""

    name: str
    value: str
    high: int = UNIT
    low: int = 0
    version: int = 1


_ratio = partial(PairColumn, high=LARGEST_RATIO)
_log = partial(PairColumn, high=LARGEST_LOG)
_gap = partial(PairColumn, high=LARGEST_GAP, low=-LARGEST_GAP)


OWN: tuple[PairColumn, ...] = (
    _log("land", "log(L[p])"),
    _gap("crowding", "gap(log(L[p] * P) - log(M))"),
    PairColumn("land_share", "ratio(L[p], M)"),
    _ratio("density", "ratio(T[p], hard_cap * L[p])"),
    _ratio("over_soft_cap", "ratio(max(0, T[p] - soft_cap * L[p]), hard_cap * L[p])"),
    _log("troops", "log(T[p])"),
    _ratio("time", "ratio(tick, max_ticks)"),
    _log("time_left", "log(max(0, max_ticks - tick))"),
    PairColumn("opening", "ratio(max(0, early_interest_ticks - tick), early_interest_ticks)"),
    _ratio(
        "interest",
        'ratio(r, 1000), r as in "Interest" of the rules page (with the opening and above the soft '
        "cap) if it were paid at this tick; 0 without land",
    ),
    PairColumn("alive_share", "ratio(alive, P)"),
    _log("players", "log(P)"),
    PairColumn("neutral_share", "ratio(L[0], M)"),
    PairColumn("rank_by_land", "ratio(ahead, alive)"),
    PairColumn("rank_by_troops", "ratio(richer, alive)"),
    _ratio("peak_share", "ratio(L[p], peak[p])"),
    PairColumn("pools_out", "part(out[p], T[p])"),
    PairColumn("pools_in", "part(in[p], T[p])"),
    PairColumn("leader_share", "ratio(L[leader], M)"),
    _gap("leader_land", "gap(log(L[leader]) - log(L[p]))"),
    _ratio("leader_density", "ratio(T[leader], hard_cap * L[leader])"),
    _ratio("mean_density", "ratio(sumT, hard_cap * sumL)"),
    _gap("density_to_mean", "gap(dense[p] - (log(sumT) - log(sumL)))"),
    _ratio("neighbours", "ratio(near[p], 8)"),
    PairColumn("border_neutral", "ratio(n(p, 0), B[p])"),
    _gap("border", "gap(2 * log(B[p]) - log(L[p]))"),
    PairColumn("pool_on_neutral", "part(A[p][0], T[p])"),
    _ratio(
        "thinnest_neighbour",
        "the least ratio(T[q], hard_cap * L[q]) of all living players q with n(p, q) > 0, shown or not; 4096 "
        "if there is none",
    ),
    PairColumn("richest_neighbour", "the largest part(T[q], T[p]) of the same; 0 if there is none"),
    _ratio("wait", "ratio(max(0, next_step[p] - tick), launch_delay) if out[p] > 0, else 0"),
    _gap("force_to_mean", "gap(log(T[p] + out[p]) - log((sumT + sumOut) // alive))"),
    PairColumn("income_phase", "ratio(tick % income_every, income_every)"),
    PairColumn("first", "4096 if tick = 0, else 0"),
    PairColumn("top", "4096 // (1 + ahead)"),
    _ratio("decision_step", "ratio(decision_every, 50)"),
)

PAIRS: tuple[PairColumn, ...] = (
    PairColumn("there", "4096"),
    PairColumn("neutral", "4096 for neutral land, else 0"),
    PairColumn("legal", "4096 if a launch at q is legal now, else 0"),
    _log("front", "log(n(p, q))"),
    PairColumn("border_share", "ratio(n(p, q), B[p])"),
    PairColumn("need", 'part(need, T[p]), need as in "Launches" of the rules page'),
    PairColumn("pool", "part(A[p][q], T[p])"),
    _gap("pool_per_cell", "gap(max(0, log(A[p][q]) - log(n(p, q))))"),
    PairColumn("attack", "part(A[q][p], T[p])"),
    _gap("density", "gap(dense[q])"),
    _gap("troops_ratio", "gap(log(T[q]) - log(T[p]))"),
    _gap("land_ratio", "gap(log(L[q]) - log(L[p]))"),
    _gap("density_ratio", "gap(dense[q] - dense[p])"),
    PairColumn("attacked", "part(in[q] - A[p][q], T[q])"),
    PairColumn("sent", "part(out[q], T[q])"),
    _ratio("peak_share", "ratio(L[q], peak[q])"),
    PairColumn("land_share", "ratio(L[q], M)"),
    PairColumn("to_leader", "ratio(L[q], L[leader])"),
    PairColumn("border_neutral", "ratio(n(q, 0), B[q])"),
    PairColumn("border_ours", "ratio(n(q, p), B[q])"),
    PairColumn(
        "price",
        'part(cost, T[p]), cost of an attack on the whole front now as in "Attack steps" of the rules page: '
        "attack_cost * n + attackers_per_defender * def + A[q][p]; of neutral land neutral_cost * n(p, 0)",
    ),
    _gap("kill", "gap(log(k) - log(T[p])), k being about what it takes to bring q down to its death"),
    PairColumn("lost", "part(taken[q][p], L[p])"),
    PairColumn("taken", "part(taken[p][q], L[p])"),
    _ratio("neighbours", "ratio(near[q], 8)"),
    _gap("force", "gap(log(T[q] + out[q]) - log(T[p] + out[p]))"),
)

TEAM_PAIRS: tuple[PairColumn, ...] = (PairColumn("ally", "4096 for an ally, else 0; there with teams only"),)
"""The columns that pairs have after all others in games with teams."""

OF_OWN: Any = positions(OWN)
OF_PAIR: Any = positions(PAIRS + TEAM_PAIRS)
"""Where the columns are, by their names."""


def pair_columns(*, teams: bool) -> tuple[PairColumn, ...]:
    """Return the columns of pairs in games with or without ``teams``."""
    return PAIRS + TEAM_PAIRS if teams else PAIRS
